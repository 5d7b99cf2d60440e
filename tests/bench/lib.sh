#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What udp_loss, compare and port share: pairs of network namespaces with a veth, a
# WireGuard daemon in each and VXLAN on top.
#
#   namespace $id-NAMEa                              namespace $id-NAMEb
#   vx1  10.10.0.1  VXLAN over the tunnel            vx1  10.10.0.2
#   ...  10.9.0.1   the tunnel                       ...  10.9.0.2
#   vx0  10.8.0.1   VXLAN over the veth              vx0  10.8.0.2
#   u0   192.0.2.1                ---- veth ----     u0   192.0.2.2
#
# Everything made here carries an identifier of this process in its name and is
# gone at the end, whatever the end is.
set -Eeuo pipefail

underlay_mtu=1500
tunnel_mtu=1420
vxlan_overhead=50
quiet_percent=15 # of the machine, busy with others

say() { printf '%s\n' "$*"; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 2; }

need() { # PROGRAM...
	local program
	[ "$(id -u)" = 0 ] || die 'needs root'
	for program in "$@"; do
		command -v "$program" >/dev/null || die "needs $program"
	done
}

# Device names have room for 15 characters: 4 of the process id in base 36.
make_id() {
	local n=$$ digits=0123456789abcdefghijklmnopqrstuvwxyz text=
	while [ "$n" -gt 0 ]; do
		text=${digits:n%36:1}$text
		n=$((n / 36))
	done
	printf 'bn%s' "$text"
}

id=$(make_id)
work=$(mktemp -d)
namespaces=()
daemon_pids=()

stop_everything() {
	local ns pids signal
	for signal in TERM KILL; do
		[ ${#daemon_pids[@]} = 0 ] || kill -s "$signal" "${daemon_pids[@]}" 2>/dev/null || true
		for ns in "${namespaces[@]}"; do
			pids=$(ip netns pids "$ns" 2>/dev/null || true)
			# shellcheck disable=SC2086 # one word per process
			[ -z "$pids" ] || kill -s "$signal" $pids 2>/dev/null || true
		done
		sleep 0.2
	done
	for ns in "${namespaces[@]}"; do
		ip netns delete "$ns" 2>/dev/null || true
	done
	rm -f /var/run/wireguard/"$id"*.sock /var/run/sealane/"$id"*.sock
	rm -rf "$work"
}

on_exit() {
	local status=$?
	trap '' INT TERM HUP
	if [ "$status" != 0 ]; then
		tail -n 5 "$work"/*.log 2>/dev/null >&2 || true
	fi
	stop_everything
	exit "$status"
}

trap on_exit EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'printf "%s:%s: failed: %s\n" "${BASH_SOURCE[0]##*/}" "$LINENO" "$BASH_COMMAND" >&2' ERR

# ---- namespaces, links, daemons

at() { # NAMESPACE COMMAND...
	local ns=$1
	shift
	ip netns exec "$id-$ns" "$@"
}

eventually() { # SECONDS COMMAND...
	local until_ms
	until_ms=$(($(date +%s%3N) + $1 * 1000))
	shift
	while ! "$@" >/dev/null 2>&1; do
		[ "$(date +%s%3N)" -lt "$until_ms" ] || return 1
		sleep 0.05
	done
}

# $congestion: of TCP in the new namespaces; empty: the kernel's choice.
pair_new() { # NAME
	local ns
	for ns in "$1a" "$1b"; do
		ip netns add "$id-$ns"
		namespaces+=("$id-$ns")
		ip -n "$id-$ns" link set lo up
		[ -z "${congestion:-}" ] || at "$ns" sysctl -qw "net.ipv4.tcp_congestion_control=$congestion"
	done
	ip link add u0 netns "$id-$1a" type veth peer name u0 netns "$id-$1b"
	end_up "$1a" u0 192.0.2.1 "$underlay_mtu"
	end_up "$1b" u0 192.0.2.2 "$underlay_mtu"
}

end_up() { # NAMESPACE DEVICE ADDRESS MTU
	ip -n "$id-$1" address add "$3/24" dev "$2"
	ip -n "$id-$1" link set "$2" mtu "$4" up
}

vxlan_new() { # NAME VXLAN DEVICE-A DEVICE-B UNDERLAY-PREFIX PREFIX MTU
	local vni=${2#vx}
	ip -n "$id-$1a" link add "$2" type vxlan id "$((vni + 42))" dstport 4789 noudpcsum \
		local "$5.1" remote "$5.2" dev "$3"
	ip -n "$id-$1b" link add "$2" type vxlan id "$((vni + 42))" dstport 4789 noudpcsum \
		local "$5.2" remote "$5.1" dev "$4"
	end_up "$1a" "$2" "$6.1" "$7"
	end_up "$1b" "$2" "$6.2" "$7"
}

# wg removes a socket file that nobody listens at, as it is for a moment between
# bind() and listen(): it may be asked only after that.
is_answering() { # NAMESPACE DEVICE
	at "$1" ss -Hxl | grep -qF " /var/run/wireguard/$2.sock" && wg show "$2"
}

tunnel_device() { # NAMESPACE
	printf '%s%s' "$id" "$1"
}

daemon_start() { # NAMESPACE PROGRAM [NAME=VALUE...]
	local ns=$1 program=$2 device
	device=$(tunnel_device "$ns")
	shift 2
	env WG_PROCESS_FOREGROUND=1 LOG_LEVEL=error "$@" ip netns exec "$id-$ns" "$program" "$device" \
		>>"$work/$ns.log" 2>&1 </dev/null &
	daemon_pids+=($!)
	eventually 10 is_answering "$ns" "$device" || die "$program does not answer in $id-$ns"
}

# The tunnel of a pair, and VXLAN over it.
tunnel_new() { # NAME PROGRAM [NAME=VALUE...]
	local name=$1 side a b
	a=$(tunnel_device "$1a") b=$(tunnel_device "$1b")
	for side in a b; do
		daemon_start "$name$side" "${@:2}"
		(umask 077 && wg genkey >"$work/$name$side.key")
	done
	wg set "$a" private-key "$work/${name}a.key" listen-port 51001 \
		peer "$(wg pubkey <"$work/${name}b.key")" allowed-ips 10.9.0.2/32 endpoint 192.0.2.2:51002
	wg set "$b" private-key "$work/${name}b.key" listen-port 51002 \
		peer "$(wg pubkey <"$work/${name}a.key")" allowed-ips 10.9.0.1/32 endpoint 192.0.2.1:51001
	end_up "${name}a" "$a" 10.9.0.1 "$tunnel_mtu"
	end_up "${name}b" "$b" 10.9.0.2 "$tunnel_mtu"
	vxlan_new "$name" vx1 "$a" "$b" 10.9.0 10.10.0 "$((tunnel_mtu - vxlan_overhead))"
	at "${name}a" ping -n -c 3 -i 0.2 -W 2 10.10.0.2 >/dev/null || die "no way through the tunnel of $name"
}

control_get() { # DEVICE: what a lane tells; nothing of other daemons
	[ -S "/var/run/sealane/$1.sock" ] || return 0
	printf 'get=1\n\n' | timeout 5 socat -t 5 - "UNIX-CONNECT:/var/run/sealane/$1.sock" | sed '/^$/d'
}

# ---- the machine

# Seconds of all CPUs since boot: busy, stolen by the hypervisor, all.
cpu_seconds() {
	awk -v hz="$(getconf CLK_TCK)" '/^cpu / {
		busy = $2 + $3 + $4 + $7 + $8
		printf "%.2f %.2f %.2f\n", busy / hz, $9 / hz, (busy + $5 + $6 + $9) / hz
	}' /proc/stat
}

# How busy others keep the machine while we do nothing, per cent; half a second.
busy_without_us() {
	local before
	before=$(cpu_seconds)
	sleep 0.5
	printf '%s %s\n' "$before" "$(cpu_seconds)" | awk '{ printf "%.0f\n", 100 * ($4 - $1 + $5 - $2) / ($6 - $3) }'
}

# The same, after waiting up to $patience seconds for others to be quiet.
busy_when_quiet() {
	local until busy
	until=$(($(date +%s) + ${patience:-0}))
	busy=$(busy_without_us)
	while [ "$busy" -gt "$quiet_percent" ] && [ "$(date +%s)" -lt "$until" ]; do
		busy=$(busy_without_us)
	done
	printf '%s\n' "$busy"
}

median() { # numbers on stdin, one a line
	sort -g | awk '{ v[NR] = $1 } END { if (NR) print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

describe_machine() {
	say "kernel $(uname -r), $(nproc) CPUs ($(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1))"
	say "load average $(cut -d ' ' -f 1-3 /proc/loadavg)"
}

# ---- one TCP stream, measured

: "${seconds:=4}" "${n_runs:=5}" # the script's choice

# A run is a line "CELL Gbit/s retransmitted sent busy-seconds Gbit machine-busy".
results=$work/results
others=$work/others
touch "$results" "$others"

segments_of() { # NAMESPACE: retransmitted and sent, since the namespace began
	at "$1" nstat -asz TcpRetransSegs TcpOutSegs |
		awk '/^TcpRetransSegs/ { r = $2 } /^TcpOutSegs/ { o = $2 } END { print r + 0, o + r }'
}

is_served() { # NAMESPACE
	at "$1" ss -Hlnt 'sport = :5201' | grep -q .
}

# iperf3's rate leaves out the first second; bytes, CPU and segments are of all.
read_iperf() { # FILE: Gbit/s, Gbit
	python3 - "$1" <<'PYTHON'
import json, sys
told = json.load(open(sys.argv[1]))
if "error" in told:
    sys.exit("iperf3: " + told["error"])
total = sum(i["sum"]["bytes"] for i in told["intervals"])
print(told["end"]["sum_received"]["bits_per_second"] / 1e9, total * 8 / 1e9)
PYTHON
}

run() { # CELL PAIR ADDRESS
	local cell=$1 pair=$2 address=$3 server cpu segments rates
	busy_when_quiet >>"$others"
	ip netns exec "$id-${pair}b" iperf3 -s -1 >/dev/null 2>&1 &
	server=$!
	eventually 5 is_served "${pair}b" || die "iperf3 does not listen"
	segments=$(segments_of "${pair}a")
	cpu=$(cpu_seconds)
	at "${pair}a" timeout $((seconds + 20)) iperf3 -c "$address" -t "$seconds" -O 1 -J >"$work/iperf.json" ||
		die "iperf3 failed in $cell: $(tail -n 3 "$work/iperf.json")"
	cpu="$cpu $(cpu_seconds)"
	segments="$segments $(segments_of "${pair}a")"
	wait "$server" || true
	rates=$(read_iperf "$work/iperf.json")
	printf '%s %s %s %s\n' "$cell" "$rates" "$cpu" "$segments" | awk '{
		printf "%s %f %d %d %f %f %f\n", $1, $2, $12 - $10, $13 - $11, $7 - $4, $3, ($7 - $4) / ($9 - $6)
	}' >>"$results"
	printf '.' >&2
}

print_table() {
	say "busy with others, just before each run: median $(median <"$others") %, at most $(sort -g "$others" | tail -n 1) %"
	[ "$(median <"$others" | cut -d . -f 1)" -le "$quiet_percent" ] ||
		say "NOT QUIET: rates are too low, CPU seconds are also those of others; only ratios mean something"
	say "medians of $n_runs runs of $seconds s in turns; ratio: to wireguard-go, same way; retransmitted: of all segments"
	say "sent; CPU: busy seconds of the whole machine"
	python3 - "$results" <<'PYTHON'
import collections, statistics, sys
cells = collections.defaultdict(list)
for line in open(sys.argv[1]):
    cell, *numbers = line.split()
    cells[cell].append([float(n) for n in numbers])
median = {c: statistics.median(r[0] for r in runs) for c, runs in cells.items()}
print(f"{'':24s} {'Gbit/s':>7s} {'lowest':>7s} {'highest':>7s} {'ratio':>6s} {'retransmitted':>13s} "
      f"{'CPU s/Gbit':>10s} {'busy':>5s}")
for cell, runs in cells.items():
    what, way = cell.rsplit("/", 1)
    other = median.get("wireguard-go/" + way)
    ratio = f"{median[cell] / other:.1f}x" if other else "-"
    rates = [r[0] for r in runs]
    resent = sum(r[1] for r in runs) / max(sum(r[2] for r in runs), 1)
    cpu = statistics.median(r[3] / r[4] for r in runs)
    busy = statistics.median(r[5] for r in runs)
    print(f"{what.replace('_', ' ') + ', ' + way:24s} {median[cell]:7.3f} {min(rates):7.3f} {max(rates):7.3f} "
          f"{ratio:>6s} {resent:12.4%} {cpu:10.3f} {busy:5.0%}")
PYTHON
}
