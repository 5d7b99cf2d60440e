#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What run and udp_loss share: pairs of network namespaces with a veth, a WireGuard
# daemon in each and VXLAN on top; the machine; a UDP flow.
#
#   namespace $id-NAMEa                              namespace $id-NAMEb
#   vx1  10.10.0.1  VXLAN over the tunnel            vx1  10.10.0.2
#   vx2  10.12.0.1  the same with UDP checksums      vx2  10.12.0.2
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
declare -A pid_of=() # by namespace: its daemon

# All that runs in the namespaces and all daemons, by their ids.
our_processes() {
	local ns
	for ns in "${namespaces[@]}"; do ip netns pids "$ns" 2>/dev/null || true; done
	printf '%s\n' "${pid_of[@]}"
}

are_gone() { # PID...
	! kill -0 "$@" 2>/dev/null
}

stop_everything() {
	local ns pids signal
	for signal in TERM KILL; do
		mapfile -t pids < <(our_processes)
		kill -s "$signal" "${pids[@]}" 2>/dev/null || true
		eventually 2 are_gone "${pids[@]}" || true
	done
	# The shell would tell of each that had to be killed.
	wait 2>/dev/null
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

# With all that runs in it; another may take its name.
pair_delete() { # NAME
	local ns left=() other
	for ns in "$1a" "$1b"; do
		[ -z "${pid_of[$ns]:-}" ] || daemon_stop "$ns"
		ip netns delete "$id-$ns"
	done
	for other in "${namespaces[@]}"; do
		[ "$other" = "$id-$1a" ] || [ "$other" = "$id-$1b" ] || left+=("$other")
	done
	namespaces=("${left[@]}")
}

end_up() { # NAMESPACE DEVICE ADDRESS MTU
	ip -n "$id-$1" address add "$3/24" dev "$2"
	ip -n "$id-$1" link set "$2" mtu "$4" up
}

vxlan_new() { # NAME VXLAN DEVICE-A DEVICE-B UNDERLAY-PREFIX PREFIX MTU [noudpcsum|udpcsum]
	local vni=${2#vx} checksum=${8:-noudpcsum}
	ip -n "$id-$1a" link add "$2" type vxlan id "$((vni + 42))" dstport 4789 "$checksum" \
		local "$5.1" remote "$5.2" dev "$3"
	ip -n "$id-$1b" link add "$2" type vxlan id "$((vni + 42))" dstport 4789 "$checksum" \
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
	pid_of[$ns]=$!
	eventually 10 is_answering "$ns" "$device" || die "$program does not answer in $id-$ns"
}

daemon_stop() { # NAMESPACE
	local pid=${pid_of[$1]}
	kill "$pid" 2>/dev/null || true
	eventually 5 are_gone "$pid" || kill -s KILL "$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || true
	unset "pid_of[$1]"
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
	vxlan_new "$name" vx2 "$a" "$b" 10.9.0 10.12.0 "$((tunnel_mtu - vxlan_overhead))" udpcsum
}

# To be asked for some seconds: whoever speaks before the other end is there tries again
# after five.
is_reached() { # NAME ADDRESS
	at "${1}a" ping -n -c 1 -W 1 "$2"
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

# User and system seconds of a process so far.
process_seconds() { # PID
	sed 's/^.*) //' "/proc/$1/stat" | awk -v hz="$(getconf CLK_TCK)" '{ printf "%.2f %.2f\n", $12 / hz, $13 / hz }'
}

# Nanoseconds that all threads of a process ran, finer than the clock above.
process_run_ns() { # PID
	cat "/proc/$1/task"/*/schedstat | awk '{ ns += $1 } END { printf "%.0f\n", ns }'
}

# How often its threads stopped running, by themselves or not.
context_switches() { # PID
	cat "/proc/$1/task"/*/status | awk '/ctxt_switches/ { n += $2 } END { printf "%.0f\n", n }'
}

resident_kb() { # PID
	awk '/^VmRSS/ { print $2 }' "/proc/$1/status"
}

# ---- a UDP flow with superpackets

field() { # JSON-LINE NAME: the number
	sed -n "s/.*\"$2\": \([0-9.]*\).*/\1/p" <<<"$1"
}

is_bound() { # NAMESPACE PORT
	at "$1" ss -Hlnu "sport = :$2" | grep -q .
}

udp_port=40000 # another one for each flow: no datagram of one is taken for another's

# Runs a receiver in one namespace and a sender in the other, sets sender_told and
# receiver_told. Status 1: damaged or doubled datagrams; 2: one of them failed.
udpseg_run() { # FROM TO ADDRESS MBIT SECONDS
	local receiver status=0
	udp_port=$((udp_port + 1))
	at "$2" "$UDPSEG_FLOW" receive "$udp_port" $((${5%.*} + 10)) >"$work/received" &
	receiver=$!
	eventually 5 is_bound "$2" "$udp_port" || return 2
	at "$1" "$UDPSEG_FLOW" send "$3" "$udp_port" "$4" "$5" >"$work/sent" || return 2
	wait "$receiver" || status=$?
	[ "$status" -le 1 ] || return 2
	# shellcheck disable=SC2034 # for the caller
	sender_told=$(<"$work/sent") receiver_told=$(<"$work/received")
	return "$status"
}
