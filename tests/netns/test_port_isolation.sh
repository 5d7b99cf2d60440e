#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a VXLAN port keeps apart: its overlay and the host under the lane, which
# would forward everything; its overlay and the wire, where nothing is in clear;
# and three nodes from each other's copies of a broadcast.
#
#   +- p -+   +---- a -----+     +--- s ---+     +---- b -----+
#   | ov0 |---| lane end   |     |         |     |  port ov0  |
#   +-----+   | $A  u0     |-----| bridge  |-----|  u0  $B    |
#             +------------+     |         |     +------------+
#                                |         |     +---- c -----+
#                                |         |-----|  u0  $C    |
#                                +---------+     |  port ov0  |
#                                                +------------+
# Node N has 192.0.2.N and 2001:db8::N, 10.9.0.N and fd00:9::N on its tunnel device,
# VTEP 172.31.0.N. The overlay end of a is in p.
# shellcheck disable=SC2317 # checks call functions by name
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=port_lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/port_lib.sh"

marker=SEALANE-SECRET01 control=SEALANE-NOTICED1
nowhere=203.0.113.9 nowhere6=2001:db8:9::9
name=isolation

# Everything that makes a host pass on what it should not have got.
promiscuous_host() { # NAMESPACE
	at "$1" sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 \
		net.ipv4.conf.all.accept_local=1 net.ipv4.conf.default.accept_local=1 \
		net.ipv4.conf.all.route_localnet=1
	ip -n "$id-$1" route add default via 192.0.2.2 dev u0
	ip -n "$id-$1" route add default via 2001:db8::2 dev u0
}

topology() {
	mesh_links
	ns_new p
	promiscuous_host a
}

lanes_up() {
	local ns
	for ns in a b c; do
		mesh_lane_up "$ns"
	done
}

ports_up() {
	port "$A" add ov0 vtep 172.31.0.1 vni 42 kind veth flood 172.31.0.2 flood 172.31.0.3
	port "$B" add ov0 vtep 172.31.0.2 vni 42 flood 172.31.0.1 flood 172.31.0.3
	port "$C" add ov0 vtep 172.31.0.3 vni 42 flood 172.31.0.1 flood 172.31.0.2
	ip -n "$id-a" link set ov0 netns "$id-p"
	address_add p ov0 10.10.0.1/24 fd00:10::1/64
	ip -n "$id-p" link set ov0 up
	overlay_ready b
	overlay_ready c
	check "$name: a and b" eventually 10 pings p 1 10.10.0.2
	check "$name: a and c" eventually 10 pings p 1 10.10.0.3
	check "$name: b and c" eventually 10 pings b 1 10.10.0.3
}

# ---- the lane end

lane_end() {
	ip -n "$id-a" -o link show | sed -n 's/^[0-9]*: \(slport[0-9]*\)@.*/\1/p'
}

bare_lane_end() {
	local device
	device=$(lane_end)
	check_equal "$name: the lane end has no address" '' \
		"$(ip -n "$id-a" -o address show dev "$device")"
	check "$name: it does no ARP" grep -q NOARP <<<"$(ip -n "$id-a" link show "$device")"
	check "$name: it is up" grep -q LOWER_UP <<<"$(ip -n "$id-a" link show "$device")"
}

# Counts what the stack of a takes from a lane end.
watch_stack() {
	at a nft -f - <<-'NFT'
		table inet watch {
			counter stack {}
			chain c {
				type filter hook prerouting priority -400;
				iifname "slport*" counter name stack
			}
		}
	NFT
}

seen_by_stack() {
	at a nft -j list counter inet watch stack | python3 -c '
import json, sys
print([x["counter"]["packets"] for x in json.load(sys.stdin)["nftables"] if "counter" in x][0])'
}

socket_start() {
	rm -f "$work/heard"
	ip netns exec "$id-a" socat -u UDP6-RECV:7777,ipv6only=0 "CREATE:$work/heard" &
	socket_pid=$!
	eventually 10 is_listening a udp 7777 >/dev/null
}

socket_heard() {
	kill "$socket_pid"
	wait "$socket_pid" 2>/dev/null || true
	wc -c <"$work/heard"
}

# Datagrams to a's own addresses, to far away and to groups, in frames for the lane
# end, for everybody and for a group.
hostile_frames() { # LANE-END-MAC [WORD]: in $work/hostile
	local to address word=${2:-$marker} src=02:00:00:00:00:77
	for to in "$1" "$broadcast" 01:00:5e:00:00:01; do
		for address in 192.0.2.1 10.9.0.1 127.0.0.1 "$nowhere" 255.255.255.255 224.0.0.1; do
			echo "udp $src $to 10.10.0.77 $address 7777 $word"
		done
		echo "udp $src $to 192.0.2.1 10.9.0.1 7777 $word"
		echo "udp $src $to 10.9.0.2 192.0.2.1 7777 $word"
		for address in 2001:db8::1 fd00:9::1 "$nowhere6" ff02::1; do
			echo "udp $src $to fd00:10::77 $address 7777 $word"
		done
	done | frames make - >"$work/hostile"
}

questions() { # LANE-END-MAC: in $work/questions
	local address src=02:00:00:00:00:77
	for address in 192.0.2.1 10.9.0.1; do
		echo "arp $src $broadcast 10.10.0.77 $address"
		echo "arp $src $1 192.0.2.77 $address"
	done >"$work/asked"
	for address in 2001:db8::1 fd00:9::1; do
		echo "nd $src 33:33:ff:00:00:01 fd00:10::77 $address"
	done >>"$work/asked"
	echo "text $src $broadcast the-end" >>"$work/asked"
	frames make - <"$work/asked" >"$work/questions"
}

wire_start() { capture_start "$1" s any -s 0; } # NAME
in_clear() { grep -acF "${2:-$marker}" "$work/$1.pcap" || true; } # NAME [WORD]
# Neither WireGuard nor what the underlay needs for itself, which begins with a
# hop-by-hop header when it is about groups.
strangers() { # NAME
	captured "$1" 'not (udp and portrange 51001-51003) and not arp and not icmp6 and not igmp and not (ip6 and ip6[6] = 0)'
}

# Would this suite notice? The same frames to a host that has a plain veth in place
# of a lane end.
noticed() {
	local text='a lane end that is no lane end'
	ip link add t0 netns "$id-p" type veth peer name slport99 netns "$id-a"
	ip -n "$id-p" link set t0 up
	ip -n "$id-a" link set slport99 up
	hostile_frames "$(mac_of a slport99)" "$control"
	# What waits for these would go its way only later.
	check "$text: the way out" eventually 10 pings a 1 192.0.2.2
	check "$text: the way out, IPv6" eventually 10 pings a 1 2001:db8::2
	socket_start
	wire_start plain
	frames_send p "$work/hostile" t0
	check "$text: the capture would notice" eventually 10 wire_has_plain
	capture_stop
	check_at_least "$text: the stack's counter would notice" 10 "$(seen_by_stack)"
	check_at_least "$text: a socket would notice" 10 "$(socket_heard)"
	check_at_least "$text: strangers would be counted" 1 "$(strangers plain)"
	ip -n "$id-a" link delete slport99
	at a nft reset counters >/dev/null
}

wire_has_plain() { [ "$(in_clear plain "$control")" -gt 0 ]; }

from_the_overlay() {
	local frames_before device
	device=$(lane_end)
	hostile_frames "$(mac_of a "$device")"
	questions "$(mac_of a "$device")"
	cat "$work/questions" >>"$work/hostile"
	frames_before=$(port_stat "$A" ov0 frames_in)
	socket_start
	wire_start wire
	capture_answers_start
	check "$name: what goes into the overlay comes out of it" frames_pass p b "$work/hostile"
	check "$name: a ping with the marker" eventually 10 pings p 2 10.10.0.2 -s 1200 -p "$(printf '%s' "$marker" | xxd_plain)"
	check_at_least "$name: the port read it all" $((frames_before + $(wc -l <"$work/hostile"))) \
		"$(port_stat "$A" ov0 frames_in)"
	capture_answers_stop
	capture_stop
	check_equal "$name: nobody on the lane end answers for the host" 0 \
		"$(captured answers 'arp[6:2] = 2 and not src host 10.10.0.2')"
	check_equal "$name: nor a solicitation" 0 \
		"$(captured answers 'icmp6 and ip6[40] = 136 and not src net fd00:10::/64 and not src net fe80::/10')"
	judge 'from the overlay' wire
}

judge() { # TEXT CAPTURE
	check_equal "$name: $1, nothing reached the stack" 0 "$(seen_by_stack)"
	check_equal "$name: $1, nothing reached a socket" 0 "$(socket_heard)"
	check_equal "$name: $1, nothing is in clear on the wire" 0 "$(in_clear "$2")"
	check_equal "$name: $1, only WireGuard is on the wire" 0 "$(strangers "$2")"
	check_at_least "$name: $1, which was looked at" 5 "$(captured "$2" 'udp and portrange 51001-51003')"
}

xxd_plain() { python3 -c 'import sys; print(sys.stdin.buffer.read().hex())'; }

# A second capture beside that of the wire.
capture_answers_start() {
	wire_pid=$capture_pid
	capture_start answers p ov0 -Q in
}

capture_answers_stop() {
	capture_stop
	capture_pid=$wire_pid
}

# The same from another node: what comes out of the tunnel for the overlay.
from_the_tunnel() {
	hostile_frames "$(mac_of a "$(lane_end)")"
	socket_start
	wire_start wire2
	check "$name: what another node sends comes out" frames_pass b p "$work/hostile"
	capture_stop
	judge 'from the tunnel' wire2
}

# ---- three nodes

# What the other two got is known first, then a last frame of b tells the time to a.
split_horizon() {
	local src=02:00:00:00:00:0a to ns got_b got_c
	rm -f "$work/flood"
	for to in "$broadcast" 01:00:5e:01:02:03 33:33:00:01:02:03 02:00:00:0d:0d:0d; do
		frames make text "$src" "$to" once >>"$work/flood"
	done
	frames make text "$src" 02:00:00:0d:0d:0e last >>"$work/flood"
	frames make text 02:00:00:00:00:0b "$broadcast" over >"$work/over"
	cat "$work/flood" "$work/over" >"$work/flood_and_over"
	for ns in b c; do
		frames_count_start "$ns" "$work/flood"
	done
	frames_count_start p "$work/flood_and_over"
	frames_send p "$work/flood"
	got_b=$(frames_counted b) got_c=$(frames_counted c)
	frames_send b "$work/over"
	check_equal 'split horizon: b has each frame once' '1 1 1 1 1' "$got_b"
	check_equal 'split horizon: c has each frame once' '1 1 1 1 1' "$got_c"
	check_equal 'split horizon: a has none of its own back' '0 0 0 0 0 1' "$(frames_counted p)"
}

# An address that is said to be behind our own VTEP, then one for everybody.
hairpin() {
	local src=02:00:00:00:00:0a ns
	port "$A" fdb add ov0 02:00:00:0e:0e:0e 172.31.0.1
	frames make text "$src" 02:00:00:0e:0e:0e back >"$work/hairpin"
	frames make text "$src" "$broadcast" behind-it >>"$work/hairpin"
	for ns in b c; do
		frames_count_start "$ns" "$work/hairpin"
	done
	frames_send p "$work/hairpin"
	check_equal 'hairpin: b has only the second' '0 1' "$(frames_counted b)"
	check_equal 'hairpin: c has only the second' '0 1' "$(frames_counted c)"
	check_equal 'hairpin: counted' 1 "$(counter "$A" drop=port_hairpin)"
	port "$A" fdb del ov0 02:00:00:0e:0e:0e
}

# Our own address as a sender, far away: never learned, never let in.
own_address() {
	local before
	before=$(counter "$A" drop=port_loop)
	frames make text "$(mac_of p ov0)" 02:00:00:00:00:77 stolen >"$work/own"
	frames make text 02:00:00:00:00:0b "$broadcast" behind-that >>"$work/own"
	frames_count_start p "$work/own"
	frames_send b "$work/own"
	check_equal 'own address from elsewhere: not let in' '0 1' "$(frames_counted p)"
	check_equal 'own address from elsewhere: counted' $((before + 1)) "$(counter "$A" drop=port_loop)"
}

# ---- allowed-ips

not_sent() {
	local text='a VTEP no peer may have' src=02:00:00:00:00:0a before
	before=$(counter "$A" drop=no_peer)
	port "$A" fdb add ov0 02:00:00:0f:0f:0f 172.31.0.9
	frames make text "$src" 02:00:00:0f:0f:0f lost >"$work/lost"
	frames make text "$src" "$broadcast" found >>"$work/lost"
	frames_count_start b "$work/lost"
	frames_send p "$work/lost"
	check_equal "$text: not sent to anybody" '0 1' "$(frames_counted b)"
	check_equal "$text: counted" $((before + 1)) "$(counter "$A" drop=no_peer)"
	port "$A" fdb del ov0 02:00:00:0f:0f:0f
}

not_accepted() {
	local text='a VTEP its peer may not have' before
	before=$(counter "$A" drop=spoofed)
	mesh_peer a b 10.9.0.2/32
	frames make text 02:00:00:00:00:0b "$broadcast" from-b >"$work/spoofed"
	frames make text 02:00:00:00:00:0c "$broadcast" from-c >"$work/honest"
	cat "$work/spoofed" "$work/honest" >"$work/both"
	frames_count_start p "$work/both"
	frames_count_start c "$work/spoofed"
	frames_send b "$work/spoofed"
	check_equal "$text: c has it" 1 "$(frames_counted c)"
	check "$text: a has the packet" eventually 10 spoofed_more "$before"
	frames_send c "$work/honest"
	check_equal "$text: a does not take it" '0 1' "$(frames_counted p)"
	mesh_peer a b
	check "$text: once it may, it does" eventually 10 pings p 1 10.10.0.2
}

spoofed_more() { [ "$(counter "$A" drop=spoofed)" -gt "$1" ]; } # BEFORE

# ---- somebody opens the lane end

is_closed() { grep -q bpf <<<"$(at a tc filter show dev "$(lane_end)" ingress)"; }

opened() {
	local text='after the qdisc was deleted'
	if ! is_closed; then
		pass "$text: (closed by nftables, which nobody else can take away)"
		return
	fi
	check "$text: it can be" at a tc qdisc del dev "$(lane_end)" clsact
	check "$text: closed again" eventually 10 is_closed
	check "$text: told" eventually 10 grep -q 'closed again' "$work/$A.log"
	hostile_frames "$(mac_of a "$(lane_end)")"
	socket_start
	wire_start opened
	check "$text: what goes into the overlay comes out of it" frames_pass p b "$work/hostile"
	capture_stop
	judge "$text" opened
}

# ---- somebody sets the lane end down

lane_end_is_up() {
	grep -q 'NOARP,UP,LOWER_UP.* mtu 65535 ' <<<"$(ip -n "$id-a" link show dev "$(lane_end)")"
}

has_lane_end() { [ -n "$(lane_end)" ]; }

times_put_back() { grep -c 'somebody set .*; put back$' "$work/$A.log" || true; }

set_down() {
	local text='after the lane end was set down' before n stop
	check "$text: it can be" ip -n "$id-a" link set dev "$(lane_end)" down
	check "$text: up again" eventually 10 lane_end_is_up
	check "$text: told" grep -q 'port ov0: somebody set its lane end down; put back' "$work/$A.log"
	check "$text: pings" eventually 10 pings p 1 10.10.0.2
	check "$text: closed" is_closed
	ip -n "$id-a" link set dev "$(lane_end)" mtu 1200 arp on
	check "$text: its MTU, too" eventually 10 lane_end_is_up
	check "$text: long pings" eventually 10 pings p 1 10.10.0.2 -s 1300
	# Before Linux 6.2 it cannot be while it is up.
	ip -n "$id-a" link set dev "$(lane_end)" name elsewhere0 2>/dev/null || true
	check "$text: its name, too" eventually 10 has_lane_end
	bare_lane_end

	# Against somebody who never stops it goes on, but not ever faster.
	before=$(times_put_back)
	stop=$((SECONDS + 3)) n=0
	while [ "$SECONDS" -lt "$stop" ]; do
		ip -n "$id-a" link set dev "$(lane_end)" down
		n=$((n + 1))
	done
	check_at_least "$text: somebody does so again and again" 10 "$n"
	check_at_most "$text: and is answered a few times" $((before + 8)) "$(times_put_back)"
	check "$text: in the end it is up" eventually 15 lane_end_is_up
	check "$text: and works" eventually 10 pings p 1 10.10.0.2
}

# ---- the lane's sudden end

# What a killed lane leaves must not be a hole.
crashed() {
	local text='after kill -9'
	daemon_signal KILL "$A"
	if [ -z "$(lane_end)" ]; then
		pass "$text: no lane end is left"
		return
	fi
	hostile_frames "$(mac_of a "$(lane_end)")"
	socket_start
	wire_start crashed
	frames_send p "$work/hostile"
	capture_stop
	check_equal "$text: nothing reaches the stack" 0 "$(seen_by_stack)"
	check_equal "$text: nothing reaches a socket" 0 "$(socket_heard)"
	check_equal "$text: nothing is in clear on the wire" 0 "$(in_clear crashed)"
}

topology
watch_stack
noticed
lanes_up
ports_up
bare_lane_end
from_the_overlay
from_the_tunnel
split_horizon
hairpin
own_address
not_sent
not_accepted
opened
set_down
crashed
finish
