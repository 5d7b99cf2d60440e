#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Four threads carry the packets: numbered datagrams and TCP of several flows, through the
# tunnel and through a port, while peers, addresses and ports change; and how many threads
# there are to be.
#
#   +------- a -------+ u0 192.0.2.0/24 u0 +------- b -------+
#   | $A  10.9.0.1    |--------------------| 10.9.0.2  $B    |
#   | ov0 10.10.0.1   |                    | 10.10.0.2  ov0  |
#   +-----------------+                    +-----------------+
# shellcheck disable=SC2317 # checks call functions by name
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=port_lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/port_lib.sh"

intact='lost=0 doubled=0 reordered=0 changed=0'
n_flows=4

topology() {
	ns_new a b
	link_new a u0 b u0
	address_add a u0 192.0.2.1/24
	address_add b u0 192.0.2.2/24 192.0.2.3/24
	key_new a b
}

peers() {
	wg set "$A" peer "$(pub b)" allowed-ips 10.9.0.2/32 endpoint 192.0.2.2:51002
	wg set "$B" peer "$(pub a)" allowed-ips 10.9.0.1/32 endpoint 192.0.2.1:51001
}

tunnel_up() { # WORKERS
	daemon_start auto a "$A" "SEALANE_WORKERS=$1"
	daemon_start auto b "$B" "SEALANE_WORKERS=$1"
	lane_up a "$A" a 51001 10.9.0.1/24
	lane_up b "$B" b 51002 10.9.0.2/24
	peers
	check "$1 workers: the tunnel" eventually 10 pings a 1 10.9.0.2
}

workers_of() { control_get "$1" | sed -n 's/^capability=workers //p'; } # DEVICE

threads_of() { # DEVICE
	local name
	for name in "/proc/${daemon_pid[$1]}"/task/*/comm; do
		cat "$name" 2>/dev/null || true
	done | grep -c '^worker ' || true
}

# How often threads that carry packets slept: those that never were awake have not.
busy_threads() { # DEVICE
	local status
	for status in "/proc/${daemon_pid[$1]}"/task/*/status; do
		awk '/^Name:/ { worker = $2 == "worker" } /^voluntary/ && worker && $2 > 5' "$status"
	done | grep -c . || true
}

how_many() {
	check_equal 'the capability' 'on 4, SEALANE_WORKERS=4' "$(workers_of "$A")"
	check_equal 'threads' 4 "$(threads_of "$A")"
}

# Several numbered flows at once; sets $flows_result to what each was.
flows() { # ADDRESS N SIZE PER-SEND PAUSE-MS
	local i servers=() senders=()
	for ((i = 0; i < n_flows; i++)); do
		at b python3 "$numbered_py" receive $((6000 + i)) "$2" >"$work/flow.$i" &
		servers+=("$!")
	done
	for ((i = 0; i < n_flows; i++)); do
		eventually 10 is_listening b udp $((6000 + i)) >/dev/null || return 1
	done
	for ((i = 0; i < n_flows; i++)); do
		at a python3 "$numbered_py" send "$1" $((6000 + i)) "$2" "$3" "$4" "$5" >/dev/null &
		senders+=("$!")
	done
	wait "${senders[@]}" "${servers[@]}"
	sort -u "$work"/flow.*
}

flows_intact() { is_equal "$intact" flows "$@"; }

traffic() { # NAME ADDRESS
	check "$1: numbered flows" flows_intact "$2" 500 1000 1 2
	check "$1: numbered superpackets" flows_intact "$2" 2000 1200 20 10
	check "$1: TCP, both ways" tcp_exchange a b "$2" 5000000
}

# What an administrator does meanwhile; nothing of it is a reason to lose a packet.
change_everything() { # SECONDS
	local i end=$((SECONDS + $1))
	for ((i = 0; SECONDS < end; i++)); do
		wg set "$A" peer "$(pub b)" allowed-ips "10.9.0.2/32,10.99.$((i % 200)).0/24"
		wg set "$B" peer "$(pub a)" persistent-keepalive $((i % 20 + 1)) \
			allowed-ips 10.9.0.1/32,172.31.0.1/32
		wg show "$A" dump >/dev/null
		control_get "$B" >/dev/null
		port "$A" add "spare$((i % 3))" vtep 172.31.0.1 vni $((100 + i)) flood 172.31.0.2 >/dev/null
		port "$A" del "spare$((i % 3))" >/dev/null
		ip -n "$id-a" route add 198.51.100.0/24 via 192.0.2.2
		ip -n "$id-a" route del 198.51.100.0/24
	done
	echo "$i" >"$work/changes"
}

under_change() {
	local changing
	change_everything 4 &
	changing=$!
	check 'changes of all kinds: nothing lost' flows_intact 10.9.0.2 600 800 1 5
	wait "$changing"
	check_at_least 'changes: how many' 1 "$(cat "$work/changes")"
	echo "# $(cat "$work/changes") rounds of changes"
	wg set "$B" peer "$(pub a)" allowed-ips 10.9.0.1/32
}

# Replies leave from the address the peer is known by; b is reached at another.
roaming() {
	local moving
	(sleep 1 && wg set "$A" peer "$(pub b)" endpoint 192.0.2.3:51002 &&
		sleep 1 && wg set "$A" peer "$(pub b)" endpoint 192.0.2.2:51002) &
	moving=$!
	check 'another way to the peer: nothing lost' flows_intact 10.9.0.2 600 800 1 5
	wait "$moving"
}

ports() {
	overlay_port a "$A" 10.9.0.1 10.9.0.2
	overlay_port b "$B" 10.9.0.2 10.9.0.1
	check 'port: reached' eventually 10 pings a 1 10.10.0.2
	traffic port 10.10.0.2
	check_equal 'port: no drops of the kernel' 0 "$(counter "$B" drop=port_kernel)"
	check_at_least 'how many threads were awake at a' 2 "$(busy_threads "$A")"
}

down_and_up() {
	lane_restart b "$B"
	check 'down and up: works again' eventually 20 pings a 1 10.9.0.2
	wg set "$B" listen-port 51012
	check 'another port: works again' eventually 20 pings b 1 10.9.0.1
	wg set "$B" listen-port 51002
	check 'and back' eventually 20 pings b 1 10.9.0.1
}

has_ended() { ! kill -0 "$1" 2>/dev/null; } # PID

deleted() {
	local pid=${daemon_pid[$B]}
	ip -n "$id-b" link del "$B"
	check 'the device is deleted: it ends' eventually 10 has_ended "$pid"
	wait "$pid" || true
	unset "daemon_pid[$B]"
}

# A device that one thread had is taken over by many with its one queue, and the other
# way round.
taken_over() {
	local before workers want
	for workers in 1 4 1; do
		env WG_PROCESS_FOREGROUND=1 SEALANE_WORKERS="$workers" ip netns exec "$id-b" \
			"$SEALANED" --persist "$B" >>"$work/$B.log" 2>&1 </dev/null &
		daemon_pid[$B]=$!
		eventually 10 is_answering b "$B" >/dev/null || fail "$workers on what was left: starts"
		want="on $workers, SEALANE_WORKERS=$workers"
		[ "$workers" = 1 ] && want="off 1, SEALANE_WORKERS=1"
		[ "$workers" = 4 ] && want+=', but the device has one queue'
		check_equal "$workers workers on what was left" "$want" "$(workers_of "$B")"
		[ -n "${before:-}" ] || address_add b "$B" 10.9.0.2/24
		before=yes
		wg set "$B" private-key "$work/b.key" listen-port 51002 peer "$(pub a)" \
			allowed-ips 10.9.0.1/32 endpoint 192.0.2.1:51001
		ip -n "$id-b" link set "$B" up
		check "$workers workers on what was left: works" eventually 20 pings b 1 10.9.0.1
		daemon_signal KILL "$B"
	done
	ip -n "$id-b" link del "$B"
}

refused() { # VALUE
	local status=0
	SEALANE_WORKERS=$1 timeout 5 "$SEALANED" -f sl9 >"$work/refused" 2>&1 || status=$?
	check_equal "SEALANE_WORKERS=$1: refused" \
		"1 sealaned: SEALANE_WORKERS=$1: must be auto or 1 to 64" "$status $(cat "$work/refused")"
}

by_cpus() {
	local n
	n=$(nproc)
	daemon_start auto b "$B" SEALANE_WORKERS=auto
	check_equal 'auto' "$n CPU$([ "$n" = 1 ] || echo s) by affinity" \
		"$(workers_of "$B" | sed "s/^o[nf]* $n, //")"
	daemon_stop "$B"
	taskset -c "$(taskset -pc $$ | sed 's/.*: \([0-9]*\).*/\1/')" \
		env SEALANE_WORKERS=auto WG_PROCESS_FOREGROUND=1 ip netns exec "$id-b" "$SEALANED" "$B" \
		>>"$work/$B.log" 2>&1 </dev/null &
	daemon_pid[$B]=$!
	eventually 10 is_answering b "$B" >/dev/null || fail 'auto on one CPU: starts'
	check_equal 'auto on one CPU' 'off 1, 1 CPU by affinity' "$(workers_of "$B")"
	daemon_stop "$B"
}

topology
tunnel_up 4
how_many
traffic tunnel 10.9.0.2
under_change
roaming
ports
down_and_up
deleted
taken_over
by_cpus
for value in 0 65 -1 x 4x 'auto '; do refused "$value"; done
daemon_stop "$A"
finish
