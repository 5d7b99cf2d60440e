#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A kernel VXLAN over two lanes, and over a lane and wireguard-go: TCP without a
# stall, no bad checksum, congestion marks, DSCP, fragmentation, padding, and
# what a sender is told when there is no way.
#
#   +--------- a ----------+                   +--------- b ----------+
#   | vx0 10.10.0.1        |                   |        10.10.0.2 vx0 |
#   |  |  vni 42 mtu 1370  |                   |                   |  |
#   | $A  10.9.0.1         |  u0           u0  |         10.9.0.2  $B |
#   |     fd00:9::1 :51001 |-------------------|  :51002 fd00:9::2    |
#   +----------------------+  192.0.2.1    .2  +----------------------+
#                             2001:db8::1 ::2
# shellcheck disable=SC2317 # checks call functions by name
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

topology() {
	ns_new a b
	link_new a u0 b u0
	address_add a u0 192.0.2.1/24 2001:db8::1/64
	address_add b u0 192.0.2.2/24 2001:db8::2/64
	key_new a b c
}

tunnel_up() { # KIND-A KIND-B
	daemon_start "$1" a "$A"
	daemon_start "$2" b "$B"
	lane_up a "$A" a 51001 10.9.0.1/24 fd00:9::1/64
	lane_up b "$B" b 51002 10.9.0.2/24 fd00:9::2/64
	wg set "$A" peer "$(pub b)" allowed-ips 10.9.0.2/32,fd00:9::2/128 endpoint 192.0.2.2:51002
	wg set "$B" peer "$(pub a)" allowed-ips 10.9.0.1/32,fd00:9::1/128 endpoint 192.0.2.1:51001
}

vxlan_up() { # UDPCSUM
	ip -n "$id-a" link add vx0 mtu 1370 type vxlan id 42 dstport 4789 local 10.9.0.1 remote 10.9.0.2 "$1"
	ip -n "$id-b" link add vx0 mtu 1370 type vxlan id 42 dstport 4789 local 10.9.0.2 remote 10.9.0.1 "$1"
	address_add a vx0 10.10.0.1/24
	address_add b vx0 10.10.0.2/24
	ip -n "$id-a" link set vx0 up
	ip -n "$id-b" link set vx0 up
}

vxlan_down() {
	ip -n "$id-a" link delete vx0
	ip -n "$id-b" link delete vx0
}

# ---- TCP

# Bytes received, or why it was no flow: every full second must have brought some.
judge_flow() { # JSON
	python3 - "$1" <<'PYTHON'
import json, sys

r = json.load(open(sys.argv[1]))
if "error" in r:
    sys.exit(r["error"])
seconds = [i["sum"] for i in r["intervals"] if i["sum"]["seconds"] > 0.5]
if not seconds:
    sys.exit("no interval at all")
stalls = [round(s["start"], 1) for s in seconds if not s["bytes"]]
if stalls:
    sys.exit("nothing sent in the seconds from %s" % stalls)
print(r["end"]["sum_received"]["bytes"])
PYTHON
}

flow() { # SECONDS [-R]
	local server status=0
	ip netns exec "$id-b" iperf3 -s -1 >"$work/iperf3.log" 2>&1 &
	server=$!
	eventually 5 is_listening b tcp 5201 || return 1
	timeout $(($1 + 20)) ip netns exec "$id-a" iperf3 -c 10.10.0.2 -J -t "$@" >"$work/iperf3.json" || status=$?
	kill "$server" 2>/dev/null || true
	wait "$server" 2>/dev/null || true
	[ "$status" = 0 ] || cat "$work/iperf3.json"
	judge_flow "$work/iperf3.json"
}

tcp() { # KIND-A KIND-B UDPCSUM SECONDS
	local name="$1 and $2, $3"
	tunnel_up "$1" "$2"
	vxlan_up "$3"
	check "$name: ping through the VXLAN" pings a 3 10.10.0.2
	check "$name: $4 s of TCP" flow "$4"
	check "$name: and back" flow "$4" -R
	vxlan_down
	daemon_stop "$A" "$B"
}

tcp_matrix() {
	tcp tap tap noudpcsum "$SEALANE_SECONDS"
	tcp tun go noudpcsum "$SEALANE_SECONDS"
	tcp tap tun udpcsum 2
	tcp tun tun noudpcsum 1
	tcp tun tun udpcsum 1
	tcp tap go udpcsum 1
	tcp tap go noudpcsum 1
	[ -z "$WIREGUARD_GO" ] || tcp tap go-new noudpcsum 2
}

no_bad_checksums() {
	local ns
	for ns in a b; do
		check_equal "no bad checksum was received in $ns" 0 "$(bad_checksums "$ns")"
	done
}

# ---- congestion marks, DSCP, fragmentation: what is seen outside

# What the wire shows of a lane's data messages: their type is at udp[8].
is_data='udp[8:4] = 0x04000000 and greater 120'
is_data_v6='ip6[48:4] = 0x04000000 and greater 140'

# Of three pings; six if they were tried twice (lib.sh).
check_three() { # TEXT PACKETS
	check_at_least "$1" 3 "$2"
	check_at_most "$1: and no more" 6 "$2"
}

# Inner codepoint -> outer: as it is, but CE becomes ECT(0), whose mark the
# inner header keeps.
# Time between the packets, for two in one batch leave as one that is captured.
ecn_out() {
	local inner outer address
	for address in 10.9.0.2 fd00:9::2; do
		for inner in 0 1 2 3; do
			outer=$inner
			[ "$inner" != 3 ] || outer=2
			capture_start out b u0 udp dst port 51002
			check "ECN $inner inside, to $address" pings a 3 "$address" -Q "$inner" -i 0.2
			capture_stop
			check_three "ECN $inner inside is $outer outside, to $address" \
				"$(captured out "$is_data and ip[1] & 3 = $outer")"
			check_equal "ECN $inner inside: nothing else outside, to $address" 0 \
				"$(captured out "$is_data and ip[1] & 3 != $outer")"
		done
	done
}

ecn_out_v6() {
	wg set "$A" peer "$(pub b)" endpoint '[2001:db8::2]:51002'
	capture_start out b u0 udp dst port 51002
	pings a 3 10.9.0.2 -Q 1 -i 0.2
	capture_stop
	check_three 'ECN 1 inside is 1 outside, over IPv6' \
		"$(captured out "$is_data_v6 and ip6[1] & 0x30 = 0x10")"
	wg set "$A" peer "$(pub b)" endpoint 192.0.2.2:51002
	pings a 1 10.9.0.2
}

# On its way each datagram meets congestion; the mark arrives inside, where
# there is a codepoint to carry it.
ecn_in() { # ADDRESS ip|ip6 KIND-B
	local name="congestion outside, $2 inside, $3" inner want broken=0
	[ "$3" = go ] || broken=$(counter "$B" stat=ecn_broken)
	at b nft -f - <<-NFT
		table inet t {
			counter ce {}
			counter plain {}
			chain underlay {
				type filter hook prerouting priority -300;
				iifname u0 udp dport 51002 ip ecn set ce
			}
			chain lane {
				type filter hook input priority 0;
				iifname $B $2 ecn ce counter name ce
				iifname $B $2 ecn not-ect counter name plain
			}
		}
	NFT
	for inner in 1 2 3; do
		at b nft reset counters >/dev/null
		check "$name: ECN $inner gets there" pings a 3 "$1" -Q "$inner"
		check_three "$name: ECN $inner arrives as CE" "$(nft_packets ce)"
	done
	at b nft reset counters >/dev/null
	check "$name: not capable gets there all the same" pings a 3 "$1" -Q 0
	want=$(nft_packets plain)
	check_three "$name: unmarked" "$want"
	want=$((broken + want))
	check_equal "$name: but counted" "$want" "$(counter "$B" stat=ecn_broken)"
	at b nft delete table inet t
}

nft_packets() { # COUNTER
	at b nft -j list counter inet t "$1" | python3 -c '
import json, sys
print([x["counter"]["packets"] for x in json.load(sys.stdin)["nftables"] if "counter" in x][0])'
}

headers() {
	tunnel_up tap tun
	capture_start headers a u0 udp port 51002
	pings a 3 10.9.0.2 -Q 0xb8 -M "do"
	pings a 2 10.9.0.2 -s 3000
	capture_stop
	check_equal 'the initiation carries AF41' 1 \
		"$(captured headers 'udp[8:4] = 0x01000000 and ip[1] = 0x88')"
	check_equal 'the response carries AF41' 1 \
		"$(captured headers 'udp[8:4] = 0x02000000 and ip[1] = 0x88')"
	check_at_least 'data messages were seen' 6 "$(captured headers "$is_data")"
	check_equal 'data carries no DSCP, whatever is inside' 0 \
		"$(captured headers 'udp[8:4] = 0x04000000 and ip[1] & 0xfc != 0')"
	check_equal 'no datagram forbids fragments, whatever is inside' 0 \
		"$(captured headers 'ip[6] & 0x40 != 0')"
	check_equal 'every datagram has a checksum' 0 "$(captured headers 'udp[6:2] = 0')"
	wg set "$A" peer "$(pub b)" endpoint '[2001:db8::2]:51002'
	lane_restart a "$A"
	capture_start headers a u0 udp port 51002
	pings a 3 10.9.0.2 -Q 0xb8
	capture_stop
	# The traffic class lies across the first two bytes.
	check_equal 'the initiation carries AF41 over IPv6' 1 \
		"$(captured headers 'ip6[48:4] = 0x01000000 and ip6[0:2] & 0xff0 = 0x880')"
	check_equal 'the response carries AF41 over IPv6' 1 \
		"$(captured headers 'ip6[48:4] = 0x02000000 and ip6[0:2] & 0xff0 = 0x880')"
	check_at_least 'data messages were seen over IPv6' 6 "$(captured headers "$is_data_v6")"
	check_equal 'data carries no DSCP over IPv6' 0 \
		"$(captured headers 'ip6[48:4] = 0x04000000 and ip6[0:2] & 0xfc0 != 0')"
	daemon_stop "$A" "$B"
}

ecn() {
	tunnel_up tap tun
	pings a 1 10.9.0.2
	ecn_out
	ecn_out_v6
	ecn_in 10.9.0.2 ip tun
	ecn_in fd00:9::2 ip6 tun
	daemon_stop "$A" "$B"
	tunnel_up tun tap
	pings a 1 10.9.0.2
	ecn_in 10.9.0.2 ip tap
	daemon_stop "$A" "$B"
}

# ---- padding

# The wire takes 1359 bytes of IPv4 and no more: 1299 of MTU, 32 of overhead and
# 28 of headers. Text is padded to 16 bytes, which from 1297 would be 1312.
padding() { # KIND
	local size name="padding, $1"
	tunnel_up "$1" tun
	ip -n "$id-a" link set "$A" mtu 1299
	ip -n "$id-b" link set "$B" mtu 1299
	check "$name: the lane follows its MTU" eventually 3 is_equal mtu=1299 grep_control "$A" ^mtu=
	at a nft 'table inet t { chain c { type filter hook output priority 0; oifname "u0" ip length > 1359 drop; }; }'
	capture_start padding a u0 udp dst port 51002
	# ICMP and IPv4 headers are 28 bytes.
	for size in 1252 1253 1260 1264 1268 1269 1270 1271; do
		check "$name: $((size + 28)) bytes in an MTU of 1299" pings a 2 10.9.0.2 -s "$size" -M "do"
	done
	capture_stop
	check_at_least "$name: the largest was seen" 2 "$(captured padding 'ip[2:2] = 1359')"
	check_equal "$name: none was larger" 0 "$(captured padding 'ip[2:2] > 1359')"
	check_fails "$name: more than the MTU does not leave" at a ping -c 1 -W 1 -s 1272 -M "do" 10.9.0.2
	at a nft delete table inet t
	daemon_stop "$A" "$B"
}

grep_control() { control_get "$1" | grep "$2"; }

# ---- no way there

is_told() { # TEXT PING-ARGUMENT...
	local text=$1 out
	shift
	out=$(at a ping -n -c 1 -W 5 "$@") && { printf 'answered:\n%s\n' "$out"; return 1; }
	grep -q "$text" <<<"$out" || { printf '%s\n' "$out"; return 1; }
}

unreachable() { # KIND
	local name="unreachable, $1" n
	tunnel_up "$1" tun
	wg set "$A" peer "$(pub c)" allowed-ips 10.9.0.3/32,fd00:9::3/128
	check "$name: no peer, IPv4" is_told 'Destination Host Unreachable' 10.9.0.200
	check "$name: no peer, IPv6" is_told 'Destination unreachable: Address unreachable' fd00:9::200
	check_equal "$name: counted" 2 "$(counter "$A" drop=no_peer)"
	check "$name: no endpoint, IPv4" is_told 'Destination Host Unreachable' 10.9.0.3
	check "$name: no endpoint, IPv6" is_told 'Destination unreachable: Address unreachable' fd00:9::3
	check_equal "$name: counted as well" 2 "$(counter "$A" drop=no_endpoint)"
	check "$name: TCP is told too" tcp_is_told 10.9.0.200
	n=$(counter "$A" stat=icmp_sent)
	check_fails "$name: multicast is not answered" at a ping -c 1 -W 1 -I "$A" 224.0.0.9
	check_equal "$name: nor an error sent for it" "$n" "$(counter "$A" stat=icmp_sent)"
	daemon_stop "$A" "$B"
}

tcp_is_told() { # ADDRESS
	local out
	out=$(timeout 5 ip netns exec "$id-a" socat -u /dev/null "TCP:$1:9" 2>&1) && return 1
	grep -q 'No route to host' <<<"$out" || { printf '%s\n' "$out"; return 1; }
}

topology
headers
ecn
padding tap
padding tun
unreachable tap
unreachable tun
tcp_matrix
no_bad_checksums
finish
