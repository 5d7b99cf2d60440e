#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ways that are narrower than the lane's MTU: no black hole and no stall, senders
# are told what fits where the lane can know, the rest goes in fragments. Other
# peers of the lane keep their runs.
#
#   +-------- a --------+ u0 1280          u0 +--------- b ---------+
#   | vx0 10.10.0.1     |---------------------| 10.9.0.2 $B :51002  |
#   | $A 10.9.0.1       | 192.0.2.1        .2 | 10.10.0.2 vx0       |
#   |    fd00:9::1      | 2001:db8::1     ::2 |                     |
#   |    :51001         |                     | s1 198.51.100.2     |
#   +--u1----------r0---+                     +----------s0---------+
#       | 1500      | 1500                               | 1280
#   +--u1-- c ---+ +r0-- r ----------------------------s0+
#   | $C :51003  | |  .2/::2       203.0.113.1  2001:db8:3::1
#   | 10.9.0.3   | +-------------------------------------+
#   +------------+   b is 203.0.113.2 and 2001:db8:3::2 behind r
# shellcheck disable=SC2317 # checks call functions by name
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

exchanged=4000000 # bytes each way
seconds=2

topology() {
	ns_new a b c r
	link_new a u0 b u0
	link_new a u1 c u1
	link_new a r0 r r0
	link_new r s0 b s0
	address_add a u0 192.0.2.1/24 2001:db8::1/64
	address_add b u0 192.0.2.2/24 2001:db8::2/64
	address_add a u1 192.0.3.1/24
	address_add c u1 192.0.3.2/24
	address_add a r0 198.51.100.1/24 2001:db8:2::1/64
	address_add r r0 198.51.100.2/24 2001:db8:2::2/64
	address_add r s0 203.0.113.1/24 2001:db8:3::1/64
	address_add b s0 203.0.113.2/24 2001:db8:3::2/64
	at r sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
	ip -n "$id-a" route add 203.0.113.0/24 via 198.51.100.2
	ip -n "$id-b" route add 198.51.100.0/24 via 203.0.113.1
	ip -n "$id-a" route add 2001:db8:3::/64 via 2001:db8:2::2
	ip -n "$id-b" route add 2001:db8:2::/64 via 2001:db8:3::1
	key_new a b c
}

direct_mtu() { # MTU
	ip -n "$id-a" link set u0 mtu "$1"
	ip -n "$id-b" link set u0 mtu "$1"
}

tunnel_up() { # KIND ENDPOINT-OF-A ENDPOINT-OF-B
	daemon_start "$1" a "$A"
	daemon_start "$1" b "$B"
	daemon_start tun c "$C"
	lane_up a "$A" a 51001 10.9.0.1/24 fd00:9::1/64
	lane_up b "$B" b 51002 10.9.0.2/24 fd00:9::2/64
	lane_up c "$C" c 51003 10.9.0.3/24
	wg set "$A" peer "$(pub b)" allowed-ips 10.9.0.2/32,fd00:9::2/128 endpoint "$3:51002" \
		peer "$(pub c)" allowed-ips 10.9.0.3/32 endpoint 192.0.3.2:51003
	wg set "$B" peer "$(pub a)" allowed-ips 10.9.0.1/32,fd00:9::1/128 endpoint "$2:51001"
	wg set "$C" peer "$(pub a)" allowed-ips 10.9.0.1/32 endpoint 192.0.3.1:51001
	vxlan_up
}

# The MTU is what the lane's device suggests, whatever the way is like.
vxlan_up() {
	local ns self far
	for ns in a b; do
		if [ "$ns" = a ]; then self=1 far=2; else self=2 far=1; fi
		ip -n "$id-$ns" link add vx0 mtu 1370 type vxlan id 42 dstport 4789 \
			local "10.9.0.$self" remote "10.9.0.$far" noudpcsum
		address_add "$ns" vx0 "10.10.0.$self/24" "fd00:10::$self/64"
		ip -n "$id-$ns" link set vx0 up
	done
}

tunnel_down() { # NAME
	local device
	for device in "$A" "$B" "$C"; do
		check_equal "$1: no send failed in ${device#"$id"}" 0 "$(counter "$device" drop=send)"
	done
	ip -n "$id-a" link delete vx0
	ip -n "$id-b" link delete vx0
	daemon_stop "$A" "$B" "$C"
}

# ---- traffic

# Every full half second must have brought some bytes.
judge_flow() { # JSON
	python3 - "$1" <<'PYTHON'
import json, sys

r = json.load(open(sys.argv[1]))
if "error" in r:
    sys.exit(r["error"])
parts = [i["sum"] for i in r["intervals"] if i["sum"]["seconds"] > 0.25]
if not parts:
    sys.exit("no interval at all")
n = gap = 0
for p in parts:
    gap = 0 if p["bytes"] else gap + 1
    if gap >= 2:
        sys.exit("nothing for a second, at %.1f s" % p["start"])
print(r["end"]["sum_received"]["bytes"])
PYTHON
}

flow() { # ADDRESS [-R]
	local server status=0
	ip netns exec "$id-b" iperf3 -s -1 >"$work/iperf3.log" 2>&1 &
	server=$!
	eventually 5 is_listening b tcp 5201 || return 1
	timeout 30 ip netns exec "$id-a" iperf3 -J -i 0.5 -t "$seconds" -c "$@" >"$work/iperf3.json" || status=$?
	kill "$server" 2>/dev/null || true
	wait "$server" 2>/dev/null || true
	[ "$status" = 0 ] || cat "$work/iperf3.json"
	judge_flow "$work/iperf3.json"
}

passes() { # NAME
	check "$1: TCP, every byte" tcp_exchange a b 10.9.0.2 "$exchanged"
	check "$1: TCP over IPv6, every byte" tcp_exchange a b fd00:9::2 "$exchanged"
	check "$1: VXLAN, every byte" tcp_exchange a b 10.10.0.2 "$exchanged"
	check "$1: VXLAN, IPv6 inside, every byte" tcp_exchange a b fd00:10::2 "$exchanged"
	check "$1: TCP without a stall" flow 10.9.0.2
	check "$1: VXLAN without a stall" flow 10.10.0.2
	check "$1: full packets that may be fragmented" pings a 3 10.9.0.2 -s 1392 -M dont
	check "$1: larger ones" pings a 3 10.9.0.2 -s 8000 -M dont
	check "$1: through the VXLAN" pings a 3 10.10.0.2 -s 1342 -M dont
	check "$1: and larger ones" pings a 3 10.10.0.2 -s 8000 -M dont
}

is_told() { # NUMBER PING-ARGUMENT...
	local mtu=$1 out
	shift
	out=$(at a ping -n -c 1 -W 2 "$@") && { printf 'answered:\n%s\n' "$out"; return 1; }
	grep -qE "(mtu ?= ?|mtu=)$mtu\\b" <<<"$out" || { printf '%s\n' "$out"; return 1; }
}

# What the sender is told once per size; a host keeps it for the destination.
forget_told() {
	ip -n "$id-a" route flush cache
	ip -n "$id-a" -6 route flush cache
}

told() { # NAME MTU
	forget_told
	check "$1: what may not be fragmented is told" is_told "$2" 10.9.0.2 -s 1392 -M "do"
	check "$1: and what was told passes" pings a 2 10.9.0.2 -s $(($2 - 28)) -M "do"
	forget_told
	check "$1: one byte more is told, too" is_told "$2" 10.9.0.2 -s $(($2 - 27)) -M "do"
	# IPv6 takes no less than 1280; that goes in fragments of the datagram.
	check "$1: IPv6 is told" is_told $(($2 < 1280 ? 1280 : $2)) fd00:9::2 -s 1372 -M "do"
	check "$1: and what was told passes" pings a 2 fd00:9::2 -s $((($2 < 1280 ? 1280 : $2) - 48)) -M "do"
	forget_told
}

# Runs to c go on, whatever the way to b is like.
other_peer() { # NAME
	local datagrams runs
	datagrams=$(counter "$A" stat=udp_datagrams_out)
	runs=$(counter "$A" stat=udp_runs_out)
	check "$1: TCP to another peer" tcp_exchange a c 10.9.0.3 "$exchanged"
	datagrams=$(($(counter "$A" stat=udp_datagrams_out) - datagrams))
	runs=$(($(counter "$A" stat=udp_runs_out) - runs))
	check_at_least "$1: datagrams to it" 2000 "$datagrams"
	check_at_least "$1: times as many as sends" 4 $((datagrams / runs))
}

# The same of b, which the lane has learnt to send shorter messages to.
same_peer() { # NAME
	local datagrams runs
	datagrams=$(counter "$A" stat=udp_datagrams_out)
	runs=$(counter "$A" stat=udp_runs_out)
	check "$1: TCP to b" tcp_exchange a b 10.9.0.2 "$exchanged"
	datagrams=$(($(counter "$A" stat=udp_datagrams_out) - datagrams))
	runs=$(($(counter "$A" stat=udp_runs_out) - runs))
	check_at_least "$1: runs to the narrow peer, too" 4 $((datagrams / runs))
}

# ---- where

direct() { # KIND
	local name="device of 1280, $1"
	direct_mtu 1280
	tunnel_up "$1" 192.0.2.1 192.0.2.2
	told "$name" 1220
	passes "$name"
	same_peer "$name"
	other_peer "$name"
	tunnel_down "$name"
	direct_mtu 1500
}

# The device shrinks while a flow is on its way, and grows again.
shrinking() { # KIND
	local name="device shrinks, $1"
	tunnel_up "$1" 192.0.2.1 192.0.2.2
	check "$name: wide at first" pings a 1 10.9.0.2 -s 1392 -M "do"
	seconds=3
	(
		sleep 1
		direct_mtu 1280
	) &
	check "$name: TCP without a stall" flow 10.9.0.2
	wait $!
	direct_mtu 1500
	(
		sleep 1
		direct_mtu 1280
	) &
	check "$name: VXLAN without a stall" flow 10.10.0.2
	wait $!
	seconds=2
	check_fails "$name: runs are not given up for it" grep 'are refused' "$work/$A.log"
	told "$name" 1220
	direct_mtu 1500
	forget_told
	check "$name: wide again" eventually 3 pings a 1 10.9.0.2 -s 1392 -M "do"
	tunnel_down "$name"
}

route() { # KIND
	local name="route of 1300, $1"
	ip -n "$id-a" route add 192.0.2.2/32 dev u0 mtu 1300
	tunnel_up "$1" 192.0.2.1 192.0.2.2
	told "$name" 1240
	passes "$name"
	other_peer "$name"
	ip -n "$id-a" route delete 192.0.2.2/32
	forget_told
	check "$name: gone, and full packets pass" eventually 3 pings a 1 10.9.0.2 -s 1392 -M "do"
	tunnel_down "$name"
}

# Nothing tells the lane: outer datagrams may be fragmented and are.
behind() { # KIND
	local name="narrow behind a router, $1" n
	ip -n "$id-r" link set s0 mtu 1280
	ip -n "$id-b" link set s0 mtu 1280 # or what is longer is lost between veths
	tunnel_up "$1" 198.51.100.1 203.0.113.2
	passes "$name"
	check "$name: what may not be fragmented passes" pings a 2 10.9.0.2 -s 1392 -M "do"
	n=$(at r nstat -asz IpFragCreates | awk '/Frag/ { print $2 }')
	check_at_least "$name: the router cut" 1000 "$n"
	tunnel_down "$name"
}

# The router of an IPv6 way cuts nothing, but tells, and the kernel keeps it.
behind_v6() { # KIND
	local name="narrow behind an IPv6 router, $1"
	tunnel_up "$1" '[2001:db8:2::1]' '[2001:db8:3::2]'
	passes "$name"
	check_at_least "$name: the router told" 1 \
		"$(at r nstat -asz Icmp6OutPktTooBigs | awk '/Big/ { print $2 }')"
	other_peer "$name"
	tunnel_down "$name"
}

no_bad_checksums() {
	local ns
	for ns in a b c; do
		check_equal "no bad checksum was received in $ns" 0 "$(bad_checksums "$ns")"
	done
}

topology
direct tap
route tun
shrinking tap
behind tap
behind_v6 tap
no_bad_checksums
finish
