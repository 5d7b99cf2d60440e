#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A VXLAN port of the lane against another, against a kernel VXLAN over a lane and
# over wireguard-go: everything an Ethernet carries arrives as it was sent, in both
# directions, no checksum is wrong, nothing is dropped, and superpackets stay whole.
#
#   +--------- a ----------+                   +--------- b ----------+
#   | ov0 10.10.0.1        |                   |        10.10.0.2 ov0 |
#   |  |  fd00:10::1       |                   |       fd00:10::2  |  |
#   | port of $A           |                   |      port or kernel  |
#   | $A  10.9.0.1         |  u0           u0  |         10.9.0.2  $B |
#   |     fd00:9::1 :51001 |-------------------|  :51002 fd00:9::2    |
#   +----------------------+  192.0.2.1    .2  +----------------------+
#
# A port's VTEP may be the tunnel device's address or one that no device has, such
# as 172.31.0.1: then only the port knows it.
# shellcheck disable=SC2317 # checks call functions by name
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=port_lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/port_lib.sh"

exchanged=2000000 # bytes each way
streamed=16000000 # bytes one way
big_stream=${PORT_BYTES:-300000000}
large=60000
relay_py=$repo/tests/netns/vlan_relay.py

topology() {
	ns_new a b
	link_new a u0 b u0
	address_add a u0 192.0.2.1/24
	address_add b u0 192.0.2.2/24
	at b sysctl -qw net.ipv4.icmp_echo_ignore_broadcasts=0
	key_new a b
}

tunnel_up() { # KIND-A KIND-B
	daemon_start "$1" a "$A"
	daemon_start "$2" b "$B"
	lane_up a "$A" a 51001 10.9.0.1/24 fd00:9::1/64
	lane_up b "$B" b 51002 10.9.0.2/24 fd00:9::2/64
	wg set "$A" peer "$(pub b)" allowed-ips 10.9.0.2/32,fd00:9::2/128,172.31.0.2/32,fd00:31::2/128 \
		endpoint 192.0.2.2:51002
	wg set "$B" peer "$(pub a)" allowed-ips 10.9.0.1/32,fd00:9::1/128,172.31.0.1/32,fd00:31::1/128 \
		endpoint 192.0.2.1:51001
	ip -n "$id-b" route add 172.31.0.1/32 dev "$B"
	ip -n "$id-b" route add fd00:31::1/128 dev "$B"
	check "$name: the tunnel" eventually 10 pings a 1 10.9.0.2
}

tunnel_down() {
	daemon_stop "$A" "$B"
}

# ---- what an overlay carries

resolution() {
	local ns
	for ns in a b; do
		ip -n "$id-$ns" neigh flush dev ov0
	done
	check "$name: ARP by flooding" pings a 1 10.10.0.2
	check "$name: ND by flooding" pings b 1 fd00:10::1
	check "$name: ARP found the right address" resolved a 10.10.0.2 "$(mac_of b ov0)"
	check "$name: ND found the right address" resolved b fd00:10::1 "$(mac_of a ov0)"
}

resolved() { # NAMESPACE ADDRESS MAC
	ip -n "$id-$1" neigh show "$2" dev ov0 | grep "lladdr $3"
}

# An ICMP header and 20 or 40 bytes of IP around each.
echoes() { # MTU
	local size
	for size in 0 1 17 500 $(($1 - 29)) $(($1 - 28)); do
		check "$name: ping with $size bytes" pings a 1 10.10.0.2 -s "$size" -M "do"
	done
	for size in 0 1 18 500 $(($1 - 48)); do
		check "$name: ping over IPv6 with $size bytes" pings b 1 fd00:10::1 -s "$size" -M "do"
	done
	for size in $(($1 - 27)) 3000 20000; do
		check "$name: ping in fragments, $size bytes" pings b 1 10.10.0.1 -s "$size" -M dont
		check "$name: ping over IPv6 in fragments, $size bytes" pings a 1 fd00:10::2 -s $((size + 20)) -M dont
	done
}

# What a TCP does without and with its options; ECN is asked for in both ends.
tcp_options() { # 0|1
	local ns ecn=$1
	for ns in a b; do
		at "$ns" sysctl -qw "net.ipv4.tcp_timestamps=$1" "net.ipv4.tcp_sack=$1" "net.ipv4.tcp_ecn=$ecn"
	done
}

tcp() {
	check "$name: TCP both ways" tcp_exchange a b 10.10.0.2 "$exchanged"
	check "$name: TCP over IPv6 both ways" tcp_exchange b a fd00:10::1 "$exchanged"
	tcp_options 0
	check "$name: a stream without TCP options" stream a b 10.10.0.2 "$streamed"
	check "$name: a stream without TCP options, IPv6, back" stream a b fd00:10::2 "$streamed" -R
	tcp_options 1
	check "$name: a stream with ECN, SACK, timestamps, back" stream a b 10.10.0.2 "$streamed" -R
	check "$name: a stream with ECN, SACK, timestamps, IPv6" stream a b fd00:10::2 "$streamed"
}

udp() {
	check "$name: UDP superpackets" numbered a b 10.10.0.2 1200 40
	check "$name: UDP superpackets, back" numbered b a 10.10.0.1 1001 40
	check "$name: UDP superpackets, IPv6" numbered b a fd00:10::1 1200 40
	check "$name: single datagrams" numbered a b fd00:10::2 700 1
}

groups() {
	check "$name: an answer to a broadcast" eventually 5 pings a 1 10.10.0.255 -b -I ov0
	check "$name: an answer to a multicast" eventually 5 pings a 1 224.0.0.1 -I ov0
	check "$name: an answer to an IPv6 multicast" answers_from 'ff02::1%ov0' "$(link_local b)"
}

link_local() { # NAMESPACE
	ip -n "$id-$1" -6 -o address show dev ov0 scope link | awk '{ sub("/.*", "", $4); print $4 }'
}

answers_from() { # MULTICAST ADDRESS
	eventually 5 answers_once_from "$@"
}

answers_once_from() {
	at a ping -n -c 2 -i 0.1 -W 2 "$1" | grep -F "from $2"
}

# Every kind to the far end's address, and from one side to a group, from the other
# to everybody.
odd_frames() {
	frames_to "$(mac_of a ov0)" "$(mac_of b ov0)" 03:00:00:00:00:07 >"$work/frames.ab"
	frames_to "$(mac_of b ov0)" "$(mac_of a ov0)" "$broadcast" >"$work/frames.ba"
	check "$name: tiny, tagged and unknown frames" frames_pass a b "$work/frames.ab"
	check "$name: tiny, tagged and unknown frames, back" frames_pass b a "$work/frames.ba"
}

frames_to() { # SOURCE DESTINATION...
	local src=$1 to
	shift
	for to in "$@"; do
		printf '%s\n' "tiny $src $to" "types $src $to" "tags $src $to $overlay_mtu"
	done | frames make -
}

# Addresses of a device on top of an overlay end; up.
stack() { # NAMESPACE DEVICE PREFIX
	local host
	host=$(number_of "$1")
	address_add "$1" "$2" "10.10.$3.$host/24" "fd00:10:$3::$host/64"
	ip -n "$id-$1" link set "$2" up
}

stacked_traffic() { # TEXT PREFIX
	check "$name: ping through $1" pings a 1 "10.10.$2.2"
	check "$name: ping over IPv6 through $1" pings b 1 "fd00:10:$2::1"
	check "$name: TCP through $1" tcp_exchange a b "10.10.$2.2" "$exchanged"
	check "$name: TCP over IPv6 through $1" tcp_exchange b a "fd00:10:$2::1" "$exchanged"
	check "$name: UDP superpackets through $1" numbered a b "10.10.$2.2" 1100 20
}

# Kernels are built without VLAN devices, too; there is a stand-in for those.
has_vlan() {
	ip -n "$id-a" link add link lo name probe.1 type vlan id 1 2>/dev/null || return 1
	ip -n "$id-a" link delete probe.1
}

stack_vlans() { # NAMESPACE
	ip -n "$id-$1" link add vlan5 link ov0 mtu $((overlay_mtu - 4)) type vlan id 5
	ip -n "$id-$1" link add vlan7 link ov0 mtu $((overlay_mtu - 4)) type vlan proto 802.1ad id 7
	ip -n "$id-$1" link set vlan7 up
	ip -n "$id-$1" link add vlan8 link vlan7 mtu $((overlay_mtu - 8)) type vlan id 8
	stack "$1" vlan5 5
	stack "$1" vlan8 8
}

vlans() {
	local ns
	has_vlan || return 0
	for ns in a b; do
		stack_vlans "$ns"
	done
	stacked_traffic 'a VLAN' 5
	stacked_traffic 'a VLAN in a VLAN' 8
	for ns in a b; do
		ip -n "$id-$ns" link delete vlan5
		ip -n "$id-$ns" link delete vlan7
	done
}

relay_start() { # NAMESPACE DEVICE PREFIX TAG...
	local ns=$1 device=$2 prefix=$3
	shift 3
	ip netns exec "$id-$ns" python3 "$relay_py" "$device" ov0 "$@" >"$work/$device.$ns" &
	relay_pids+=($!)
	eventually 10 grep -q ready "$work/$device.$ns" >/dev/null
	ip -n "$id-$ns" link set "$device" mtu $((overlay_mtu - 4 * $#))
	stack "$ns" "$device" "$prefix"
}

relayed_vlans() {
	local ns
	relay_pids=()
	for ns in a b; do
		relay_start "$ns" relay5 15 0x8100:5
		relay_start "$ns" relay8 18 0x88a8:7 0x8100:8
	done
	stacked_traffic 'a relayed VLAN' 15
	stacked_traffic 'a relayed VLAN in a VLAN' 18
	kill "${relay_pids[@]}"
	wait "${relay_pids[@]}" 2>/dev/null || true
	rm -f "$work"/relay?.?
}

nested() {
	local ns host
	for ns in a b; do
		host=$(number_of "$ns")
		ip -n "$id-$ns" link add nx0 mtu $((overlay_mtu - 50)) type vxlan id 77 dstport 8472 \
			local "10.10.0.$host" remote "10.10.0.$((3 - host))"
		stack "$ns" nx0 77
	done
	stacked_traffic 'a VXLAN inside' 77
	for ns in a b; do
		ip -n "$id-$ns" link set nx0 down
		ip -n "$id-$ns" link delete nx0
	done
}

everything() {
	resolution
	echoes "$overlay_mtu"
	tcp
	udp
	groups
	odd_frames
	vlans
	relayed_vlans
	nested
}

# What differs by the outer headers, or by the far end.
essentials() {
	resolution
	echoes "$overlay_mtu"
	tcp
	udp
	odd_frames
}

# A device that comes up says something to the other side, which may still be down:
# that is dropped and counted, and no matter here.
settle() { # LANE...
	check "$name: the overlay" eventually 10 pings a 1 10.10.0.2
	check "$name: the overlay, IPv6" eventually 10 pings b 1 fd00:10::1
	drops_mark "$@"
	bad_checksums_mark a b
}

nothing_wrong() { # LANE...
	local lane
	for lane in "$@"; do
		check_equal "$name: no drop in ${lane#"$id"}" '' "$(new_drops "$lane")"
	done
	no_bad_checksums "$name" a b
}

# ---- pairs

port_and_port() { # KIND-OF-PORT VTEP-A VTEP-B WHAT
	name="$1 port and port, VTEP $2"
	tunnel_up auto auto
	overlay_port a "$A" "$2" "$3" kind "$1"
	overlay_port b "$B" "$3" "$2" kind "$1"
	check_equal "$name: the kind of the port" "$1" "$(port_field "$A" ov0 port_kind)"
	settle "$A" "$B"
	"$4"
	check_equal "$name: nothing merged was refused" '0 0' \
		"$(port_stat "$A" ov0 merges_refused) $(port_stat "$B" ov0 merges_refused)"
	nothing_wrong "$A" "$B"
	tunnel_down
}

port_and_kernel() { # KIND-B VTEP-A VTEP-B WHAT
	local lanes=("$A")
	name="port and kernel over $1, VTEP $2"
	tunnel_up auto "$1"
	overlay_port a "$A" "$2" "$3"
	overlay_kernel b "$3" "$2"
	[[ $1 == go* ]] || lanes+=("$B")
	settle "${lanes[@]}"
	"$4"
	check_equal "$name: nothing merged was refused" 0 "$(port_stat "$A" ov0 merges_refused)"
	nothing_wrong "${lanes[@]}"
	overlay_kernel_down b
	tunnel_down
}

# wireguard-go loses packets where it has to wait, which costs a TCP without SACK
# its time.
port_and_go() { # KIND-B VTEP-A VTEP-B WHAT
	local may_lose=yes streamed=3000000
	port_and_kernel "$@"
}

# ---- frames of 9000 bytes

jumbo() {
	local overlay_mtu=8850 ns
	name='jumbo frames'
	tunnel_up auto auto
	for ns in a b; do
		ip -n "$id-$ns" link set u0 mtu 9000
	done
	ip -n "$id-a" link set "$A" mtu 8920
	ip -n "$id-b" link set "$B" mtu 8920
	check "$name: the lane follows" eventually 5 control_says "$A" mtu=8920
	check "$name: and the other" eventually 5 control_says "$B" mtu=8920
	port "$A" add ov0 vtep 172.31.0.1 vni 42 flood 172.31.0.2
	check_equal "$name: a port's MTU leaves room for outer headers" 8870 \
		"$(at a cat /sys/class/net/ov0/mtu)"
	port "$A" del ov0
	overlay_port a "$A" 172.31.0.1 10.9.0.2
	overlay_kernel b 10.9.0.2 172.31.0.1
	settle "$A" "$B"
	essentials
	nothing_wrong "$A" "$B"
	overlay_kernel_down b
	for ns in a b; do
		ip -n "$id-$ns" link set u0 mtu 1500
	done
	tunnel_down
}

control_says() { control_get "$1" | grep -x "$2"; } # DEVICE LINE

# ---- superpackets

mean() { # LANE in|out BYTES-BEFORE FRAMES-BEFORE
	local bytes frames
	bytes=$(port_stat "$1" ov0 "bytes_$2")
	frames=$(port_stat "$1" ov0 "frames_$2")
	echo $(((bytes - $3) / (frames - $4)))
}

sizes_of_stream() { # TEXT ADDRESS LEAST-READ LEAST-WRITE MOST-WRITE
	local bytes_in frames_in bytes_out frames_out
	bytes_in=$(port_stat "$A" ov0 bytes_in)
	frames_in=$(port_stat "$A" ov0 frames_in)
	bytes_out=$(port_stat "$B" ov0 bytes_out)
	frames_out=$(port_stat "$B" ov0 frames_out)
	check "$name: $1, the stream" stream a b "$2" "$big_stream"
	check_at_least "$name: $1, mean size of a read" "$3" "$(mean "$A" in "$bytes_in" "$frames_in")"
	check_at_least "$name: $1, mean size of a write" "$4" "$(mean "$B" out "$bytes_out" "$frames_out")"
	check_at_most "$name: $1, no more than may be written" "$5" "$(mean "$B" out "$bytes_out" "$frames_out")"
}

superpackets() {
	name='superpackets'
	local most6=65549 ns
	! kernel_at_least 7 0 || most6=196608
	tunnel_up auto auto
	overlay_port a "$A" 172.31.0.1 172.31.0.2
	overlay_port b "$B" 172.31.0.2 172.31.0.1
	settle "$A" "$B"
	if [ "$(port_field "$A" ov0 port_kind)" = veth ] && kernel_at_least 6 18; then
		for ns in a b; do
			check "$name: 192 KB by default in $ns" limit_is "$ns" gso_max_size 196608
		done
		sizes_of_stream IPv4 10.10.0.2 "$large" "$large" 196608
		sizes_of_stream IPv6 fd00:10::2 "$large" 30000 "$most6"
	else
		check "$name: 64 KB by default" limit_is a gso_max_size 65536
		sizes_of_stream IPv4 10.10.0.2 30000 30000 65549
	fi
	nothing_wrong "$A" "$B"
	tunnel_down
}

limit_is() { # NAMESPACE LIMIT VALUE
	ip -n "$id-$1" -d link show ov0 | grep -w "$2 $3"
}

topology
port_and_port veth 172.31.0.1 172.31.0.2 everything
port_and_port tap 10.9.0.1 10.9.0.2 essentials
port_and_port veth fd00:31::1 fd00:31::2 essentials
port_and_kernel auto 172.31.0.1 10.9.0.2 everything
port_and_kernel auto fd00:9::1 fd00:9::2 essentials
port_and_go go 172.31.0.1 10.9.0.2 everything
[ -z "$WIREGUARD_GO" ] || port_and_go go-new fd00:9::1 fd00:9::2 essentials
jumbo
superpackets
finish
