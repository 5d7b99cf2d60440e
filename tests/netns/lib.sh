#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the suites of this folder share; each sources it first and ends with
# `finish`. A suite that stops early, by error or signal, has failed.
#
# Names: network namespaces and devices carry an identifier made of the process
# id, for configuration sockets are seen by every namespace of a host. Functions
# take the short name (a, b, ...): `at a COMMAND` runs in namespace a, and `$A`,
# `$B`, ... are the lanes' device names.
set -Eeuo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
SEALANED=${SEALANED:-$repo/build/bin/sealaned}
WIREGUARD_GO_DEBIAN=${WIREGUARD_GO_DEBIAN:-/usr/bin/wireguard-go}
WIREGUARD_GO=${WIREGUARD_GO:-}
export SEALANE_SECONDS=${SEALANE_SECONDS:-5}

skip() { # REASON
	printf '%s\n' "$1"
	exit 77
}

base36() { # NUMBER
	local n=$1 digits=0123456789abcdefghijklmnopqrstuvwxyz text=
	while [ "$n" -gt 0 ]; do
		text=${digits:n%36:1}$text
		n=$((n / 36))
	done
	printf '%s' "$text"
}

id=sl$(base36 $$)
A=${id}a B=${id}b C=${id}c
export A B C

[ "$(id -u)" = 0 ] || skip 'needs root'
[ -c /dev/net/tun ] || skip 'needs /dev/net/tun'
for program in "$SEALANED" "$WIREGUARD_GO_DEBIAN" wg ip nft socat python3 tcpdump iperf3; do
	command -v "$program" >/dev/null || skip "needs $program"
done

work=$(mktemp -d)
n_checks=0 n_failed=0
namespaces=()
declare -A daemon_pid=() pinger_pid=()

# ---- the end

stop_namespace_processes() {
	local ns pids
	for ns in "${namespaces[@]}"; do
		pids=$(ip netns pids "$ns" 2>/dev/null || true)
		# shellcheck disable=SC2086 # one word per process
		[ -z "$pids" ] || kill -s "$1" $pids 2>/dev/null || true
	done
}

cleanup() {
	local ns
	stop_namespace_processes TERM
	[ ${#daemon_pid[@]} = 0 ] || kill "${daemon_pid[@]}" 2>/dev/null || true
	sleep 0.2
	stop_namespace_processes KILL
	for ns in "${namespaces[@]}"; do
		ip netns delete "$ns" 2>/dev/null || true
	done
	rm -f /var/run/wireguard/"$id"*.sock /var/run/sealane/"$id"*.sock /var/lib/sealane/"$id"*.tai64n
	rm -rf "$work" "/etc/netns/$id"*
}

on_exit() {
	local status=$?
	trap '' INT TERM HUP
	[ "$status" = 0 ] || [ "$status" = 77 ] || show_logs
	cleanup
	exit "$status"
}

show_logs() {
	local log
	for log in "$work"/*.log; do
		[ -s "$log" ] || continue
		printf -- '---- end of %s\n' "${log##*/}"
		tail -n 15 "$log"
	done
}

trap on_exit EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'printf "FAIL %s:%s: %s\n" "${BASH_SOURCE[0]##*/}" "$LINENO" "$BASH_COMMAND" >&2' ERR

# Last line of every suite.
finish() {
	check 'no sanitizer report, no assertion in any log' no_reports
	printf '%d checks, %d failed\n' "$n_checks" "$n_failed"
	[ "$n_failed" = 0 ] || exit 1
	exit 0
}

no_reports() { ! grep -hE 'ERROR: |runtime error:|Assertion|panic' "$work"/*.log; }

# ---- checks

pass() { # TEXT
	n_checks=$((n_checks + 1))
	printf 'ok %s\n' "$1"
}

fail() { # TEXT [DETAIL]
	n_checks=$((n_checks + 1))
	n_failed=$((n_failed + 1))
	printf 'FAIL %s\n' "$1"
	[ -z "${2:-}" ] || printf '%s\n' "$2" | sed 's/^/    | /'
}

# The command runs in a subshell; what it prints is shown if it fails.
check() { # TEXT COMMAND...
	local text=$1 out
	shift
	if out=$("$@" 2>&1); then pass "$text"; else fail "$text" "$out"; fi
}

check_fails() { # TEXT COMMAND...
	local text=$1 out
	shift
	if out=$("$@" 2>&1); then fail "$text" "succeeded: $out"; else pass "$text"; fi
}

check_equal() { # TEXT WANT GOT
	if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "want $2, got $3"; fi
}

check_one_of() { # TEXT GOT WANT...
	local text=$1 got=$2 want
	shift 2
	for want in "$@"; do
		[ "$got" != "$want" ] || { pass "$text"; return 0; }
	done
	fail "$text" "want one of: $*; got $got"
}

check_at_least() { # TEXT WANT GOT
	if [ "$3" -ge "$2" ]; then pass "$1"; else fail "$1" "want at least $2, got $3"; fi
}

check_at_most() { # TEXT WANT GOT
	if [ "$3" -le "$2" ]; then pass "$1"; else fail "$1" "want at most $2, got $3"; fi
}

# Tries until it succeeds; its output is that of the last try.
eventually() { # SECONDS COMMAND...
	local until_ms out
	until_ms=$(($(date +%s%3N) + $1 * 1000))
	shift
	while ! out=$("$@" 2>&1); do
		if [ "$(date +%s%3N)" -ge "$until_ms" ]; then
			printf 'still not: %s\n%s\n' "$*" "$out"
			return 1
		fi
		sleep 0.05
	done
	printf '%s\n' "$out"
}

is_equal() { # WANT COMMAND...
	local want=$1 got
	shift
	got=$("$@") || return 1
	[ "$got" = "$want" ] || { printf 'want %s, got %s\n' "$want" "$got"; return 1; }
}

# ---- namespaces and links

at() { # NAMESPACE COMMAND...
	local ns=$1
	shift
	ip netns exec "$id-$ns" "$@"
}

ns_new() { # NAMESPACE...
	local ns
	for ns in "$@"; do
		ip netns add "$id-$ns"
		namespaces+=("$id-$ns")
		ip -n "$id-$ns" link set lo up
		at "$ns" sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0
	done
}

# A veth between two namespaces; both ends up.
link_new() { # NAMESPACE DEVICE NAMESPACE DEVICE
	ip link add "$2" netns "$id-$1" type veth peer name "$4" netns "$id-$3"
	ip -n "$id-$1" link set "$2" up
	ip -n "$id-$3" link set "$4" up
}

address_add() { # NAMESPACE DEVICE ADDRESS...
	local ns=$1 device=$2 address
	shift 2
	for address in "$@"; do
		case $address in
		*:*) ip -n "$id-$ns" address add "$address" dev "$device" nodad ;;
		*) ip -n "$id-$ns" address add "$address" dev "$device" ;;
		esac
	done
}

# ---- daemons and keys

key_new() { # NAME...
	local name
	for name in "$@"; do
		(umask 077 && wg genkey >"$work/$name.key")
		wg pubkey <"$work/$name.key" >"$work/$name.pub"
	done
}

pub() { cat "$work/$1.pub"; }

# What this kind of peer is called in checks; absent kinds are not listed.
go_kinds() {
	printf '%s\n' go
	[ -z "$WIREGUARD_GO" ] || printf '%s\n' go-new
}

# KIND: tap, tun or auto (sealaned), go (Debian's wireguard-go), go-new (the newest).
# Further arguments are set in its environment.
daemon_start() { # KIND NAMESPACE DEVICE [NAME=VALUE...]
	local kind=$1 ns=$2 device=$3 program=$SEALANED environment=()
	shift 3
	case $kind in
	tap | tun) environment=("SEALANE_DEVICE=$kind") ;;
	go) program=$WIREGUARD_GO_DEBIAN ;;
	go-new) program=$WIREGUARD_GO ;;
	esac
	env WG_PROCESS_FOREGROUND=1 LOG_LEVEL=verbose "${environment[@]}" "$@" \
		ip netns exec "$id-$ns" "$program" "$device" >>"$work/$device.log" 2>&1 </dev/null &
	daemon_pid[$device]=$!
	eventually 10 is_answering "$ns" "$device" >/dev/null || {
		cat "$work/$device.log"
		return 1
	}
}

# wg removes a socket file that nobody listens at, as it is for a moment between
# bind() and listen(): it may be asked only after that.
is_answering() { # NAMESPACE DEVICE
	grep -qF " /var/run/wireguard/$2.sock" <<<"$(at "$1" ss -Hxl)" && wg show "$2"
}

daemon_signal() { # SIGNAL DEVICE
	kill -s "$1" "${daemon_pid[$2]}" 2>/dev/null || true
	wait "${daemon_pid[$2]}" 2>/dev/null || true
	unset "daemon_pid[$2]"
}

daemon_stop() { # DEVICE...
	local device
	for device in "$@"; do
		daemon_signal TERM "$device"
	done
}

# A private key, a port and addresses; up.
lane_up() { # NAMESPACE DEVICE KEY PORT ADDRESS...
	local ns=$1 device=$2
	wg set "$device" private-key "$work/$3.key" listen-port "$4"
	shift 4
	address_add "$ns" "$device" "$@"
	ip -n "$id-$ns" link set "$device" up
}

# Sessions are forgotten, the next packet begins a handshake. A peer takes none
# within 20 ms of the last.
lane_restart() { # NAMESPACE DEVICE
	ip -n "$id-$1" link set "$2" down
	sleep 0.05
	ip -n "$id-$1" link set "$2" up
}

# ---- what a lane tells

of_peer() { # FIELD DEVICE KEY: a field of `wg show DEVICE FIELD`
	wg show "$2" "$1" | awk -v key="$(pub "$3")" '$1 == key { $1 = ""; print substr($0, 2) }'
}

endpoint() { of_peer endpoints "$@"; } # DEVICE KEY
received() { of_peer transfer "$@" | cut -d ' ' -f 1; }
sent() { of_peer transfer "$@" | cut -d ' ' -f 2; }
handshake_time() { of_peer latest-handshakes "$@"; }

control_get() { # DEVICE
	printf 'get=1\n\n' | timeout 5 socat -t 5 - "UNIX-CONNECT:/var/run/sealane/$1.sock" | sed '/^$/d'
}

counter() { # DEVICE LINE: the number of a line such as "drop=spoofed" or "stat=icmp_sent"
	control_get "$1" | awk -v key="$2" '$1 == key { print $2 }'
}

n_drops() { # DEVICE: all of them
	control_get "$1" | awk '/^drop=/ { n += $2 } END { print n + 0 }'
}

# ---- traffic

# Once it had an answer, ping waits for the last one only as long as between two packets, or twice
# the slowest answer: on a busy host 20 ms are too few.
# Every one is answered, at the second try at the latest: a busy machine may lose a
# packet anywhere, and suites that count losses send numbered ones.
pings() { # NAMESPACE COUNT ADDRESS [OPTION...]
	pings_once "$@" || { pings_once "$@" && printf 'only at the second try\n' >&2; }
}

pings_once() { # NAMESPACE COUNT ADDRESS [OPTION...]
	local ns=$1 count=$2 address=$3 out
	shift 3
	out=$(at "$ns" ping -n -c "$count" -i 0.1 -W 3 "$@" "$address") || { printf '%s\n' "$out"; return 1; }
	grep -q " $count received" <<<"$out" || { printf '%s\n' "$out"; return 1; }
}

no_ping() { # NAMESPACE ADDRESS
	! at "$1" ping -n -c 2 -i 0.1 -W 1 "$2"
}

# A ping in the background; pinger_wait sets how many were not answered.
pinger_start() { # NAME NAMESPACE ADDRESS COUNT INTERVAL
	ip netns exec "$id-$2" ping -n -c "$4" -i "$5" -W 1 "$3" >"$work/$1.pinger" 2>&1 &
	pinger_pid[$1]=$!
}

pinger_wait() { # NAME
	wait "${pinger_pid[$1]}" || true
	pinger_lost=$(awk '/packets transmitted/ { print $1 - $4 }' "$work/$1.pinger")
	export pinger_lost
}

# Ends one before its count. The answer to its last packet may still be on its way: that one
# is not lost.
pinger_stop() { # NAME
	kill -s INT "${pinger_pid[$1]}" 2>/dev/null || true
	pinger_wait "$1"
	local n_sent
	n_sent=$(awk '/packets transmitted/ { print $1 }' "$work/$1.pinger")
	grep -q "icmp_seq=$n_sent " "$work/$1.pinger" || pinger_lost=$((pinger_lost - 1))
}

is_listening() { # NAMESPACE tcp|udp PORT
	grep -q . <<<"$(at "$1" ss -Hln"${2:0:1}" "sport = :$3")"
}

# Both ends send a file to each other over one TCP connection.
tcp_exchange() { # NAMESPACE NAMESPACE ADDRESS-OF-SECOND BYTES
	local from=$1 to=$2 address=$3 server port=5001
	[[ $address != *:* ]] || address="[$address]"
	head -c "$4" /dev/urandom >"$work/sent.1"
	head -c "$4" /dev/urandom >"$work/sent.2"
	rm -f "$work"/got.[12]
	at "$to" socat -t 30 "TCP6-LISTEN:$port,ipv6only=0,reuseaddr" \
		"OPEN:$work/sent.2,rdonly!!CREATE:$work/got.1" &
	server=$!
	eventually 5 is_listening "$to" tcp "$port" || return 1
	timeout 60 ip netns exec "$id-$from" socat -t 30 "TCP:$address:$port" \
		"OPEN:$work/sent.1,rdonly!!CREATE:$work/got.2" || return 1
	wait "$server" || return 1
	cmp "$work/sent.1" "$work/got.1" && cmp "$work/sent.2" "$work/got.2"
}

# ---- looking at the wire

bad_checksums() { # NAMESPACE: packets a receiver found broken, of every protocol
	at "$1" nstat -asz TcpInCsumErrors UdpInCsumErrors Udp6InCsumErrors Icmp6InCsumErrors IcmpInCsumErrors |
		awk '!/^#/ { n += $2 } END { print n + 0 }'
}

capture_start() { # NAME NAMESPACE DEVICE FILTER...
	local name=$1 ns=$2 device=$3
	shift 3
	# Not by `at`: the process to end later would be a shell around it.
	ip netns exec "$id-$ns" tcpdump -n -U --immediate-mode -s 256 -i "$device" -w "$work/$name.pcap" "$@" \
		2>"$work/$name.tcpdump" &
	capture_pid=$!
	eventually 5 grep -q 'listening on' "$work/$name.tcpdump" >/dev/null
}

capture_stop() {
	sleep 0.2
	kill -s TERM "$capture_pid"
	wait "$capture_pid" 2>/dev/null || true
}

captured() { # NAME FILTER...: how many packets of the capture match
	local name=$1
	shift
	tcpdump -n -r "$work/$name.pcap" "$@" 2>/dev/null | wc -l
}
