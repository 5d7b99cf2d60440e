#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in a virtual machine: UDP tunnels of the kernel over two lanes, one after
# the other. What the kernel hands over as a superpacket must go through whole,
# what it hands over cut must go through right.
#
#   +------------- a --------------+                +------------- b --------------+
#   | t0 10.10.0.1 fd00:10::1      |                |      10.10.0.2 fd00:10::2 t0 |
#   |  |  the tunnel under test    |                |                           |  |
#   | $A 10.9.0.1  fd00:9::1       | u0          u0 |       10.9.0.2 fd00:9::2  $B |
#   |    :51001                    |----------------|                       :51002 |
#   +------------------------------+ 192.0.2.1   .2 +------------------------------+
# shellcheck disable=SC2317 # checks call functions by name
set -euo pipefail

# lib.sh asks for these; nothing here uses them, and they are large.
export WIREGUARD_GO_DEBIAN=true
python3() { false; }

# shellcheck source=tests/netns/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../netns/lib.sh"

n_bytes=2000000 # of a stream; there is one each way
large=5000      # bytes a read or write has on average, at least, if it is whole
single=1500     # and at most, if it is not
v4=(10.10.0.2 10.10.0.1)
v6=(fd00:10::2 fd00:10::1)

in_both() { # COMMAND...
	at a "$@"
	at b "$@"
}

topology() {
	ns_new a b
	# A slow machine's TCP would make small superpackets.
	in_both sysctl -qw net.ipv4.tcp_min_tso_segs=32
	link_new a u0 b u0
	address_add a u0 192.0.2.1/24
	address_add b u0 192.0.2.2/24
	key_new a b
	head -c "$n_bytes" /dev/urandom >"$work/data"
}

lanes_up() { # ENCAP_PORTS
	daemon_start auto a "$A" "SEALANE_ENCAP_PORTS=$1"
	daemon_start auto b "$B" "SEALANE_ENCAP_PORTS=$1"
	lane_up a "$A" a 51001 10.9.0.1/24 fd00:9::1/64
	lane_up b "$B" b 51002 10.9.0.2/24 fd00:9::2/64
	wg set "$A" peer "$(pub b)" allowed-ips 10.9.0.2/32,fd00:9::2/128 endpoint 192.0.2.2:51002
	wg set "$B" peer "$(pub a)" allowed-ips 10.9.0.1/32,fd00:9::1/128 endpoint 192.0.2.1:51001
	check 'the lanes are connected' eventually 5 pings a 1 10.9.0.2
}

has_line() { grep -q "^$2" <<<"$(control_get "$1")"; } # DEVICE PATTERN

is_able() { # DEVICE
	check "$1: a TAP was chosen" has_line "$1" 'device_kind=tap'
	check "$1: tunnel superpackets pass" has_line "$1" 'capability=tunnel_gso on'
}

# ---- a tunnel

# One end in each namespace, MTU and addresses on it. The options of `ip link add`
# have @ for the number of the own side and % for the other's.
tunnel_up() { # MTU OPTION...
	local mtu=$1
	shift
	tunnel_end a 1 2 "$mtu" "$@"
	tunnel_end b 2 1 "$mtu" "$@"
}

tunnel_end() { # NAMESPACE OWN OTHER MTU OPTION...
	local ns=$1 own=$2 other=$3 mtu=$4 options=("${@:5}")
	options=("${options[@]//@/$own}")
	ip -n "$id-$ns" link add t0 mtu "$mtu" type "${options[@]//%/$other}"
	address_add "$ns" t0 "10.10.0.$own/24" "fd00:10::$own/64"
	ip -n "$id-$ns" link set t0 up
}

tunnel_down() {
	ip -n "$id-a" link delete t0
	ip -n "$id-b" link delete t0
}

# ---- traffic

stream() { # NAMESPACE NAMESPACE ADDRESS
	local server address=$3
	[[ $address != *:* ]] || address="[$address]"
	rm -f "$work/got"
	at "$2" socat -u "TCP6-LISTEN:5001,ipv6only=0,reuseaddr" "CREATE:$work/got" &
	server=$!
	eventually 5 is_listening "$2" tcp 5001 || return 1
	timeout 60 ip netns exec "$id-$1" socat -u -b 262144 "OPEN:$work/data,rdonly" "TCP:$address:5001" ||
		return 1
	wait "$server" || return 1
	cmp "$work/data" "$work/got"
}

# What the counters of both lanes were before, and how much they have grown since.
declare -A before=() grown=() drops=()
count() {
	local device key name value
	for device in "$A" "$B"; do
		drops[$device]=0
		while IFS='= ' read -r key name value; do
			name=$device.$name
			if [ "$key" = drop ]; then
				drops[$device]=$((drops[$device] + value))
			else
				grown[$name]=$((value - ${before[$name]:-0}))
				before[$name]=$value
			fi
		done < <(control_get "$device" | grep -E '^(stat|drop)=' | grep -vE '^drop=(not_ip|no_peer) ')
	done
}

mean() { # DEVICE COUNTER COUNTER
	local n=${grown[$1.$3]}
	echo $((${grown[$1.$2]} / (n ? n : 1)))
}

# A stream, and what is read at its one end and written at the other: superpackets
# (whole), single packets many at a time (single) or perhaps one by one (slow), some
# that were merged (merged), or anything.
one_way() { # NAME FROM TO ADDRESS READS WRITES
	local from=$A to=$B name="$1, $2 to $3"
	[ "$2" = a ] || from=$B to=$A
	check "$name: the data" stream "$2" "$3" "$4"
	count
	size "$name: mean size of a read" "$5" "$(mean "$from" device_bytes_in device_packets_in)"
	size "$name: mean size of a write" "$6" "$(mean "$to" device_bytes_out device_packets_out)"
	[ "$6" != merged ] || check_at_least "$name: merged packets" 1 "${grown[$to.packets_merged]}"
	[ "$5" = slow ] ||
		check_at_least "$name: datagrams a send" 2 "$(mean "$from" udp_datagrams_out udp_runs_out)"
}

size() { # TEXT whole|single|slow|merged|any MEAN
	case $2 in
	whole) check_at_least "$1" "$large" "$3" ;;
	single | slow) check_at_most "$1" "$single" "$3" ;;
	esac
}

# A stream each way; IPv6 is inside of the second if addresses are not given.
carries() { # NAME READS WRITES [ADDRESS-OF-B ADDRESS-OF-A]
	local broken_a broken_b
	check "$1: pings" eventually 5 pings a 3 "${4:-10.10.0.2}"
	# What one end said while the other was not there is not in question.
	broken_a=$(broken a) broken_b=$(broken b)
	count
	one_way "$1" a b "${4:-10.10.0.2}" "$2" "$3"
	one_way "$1" b a "${5:-fd00:10::1}" "$2" "$3"
	check_equal "$1: nothing broken was received" "$broken_a $broken_b" "$(broken a) $(broken b)"
	check_equal "$1: nothing was dropped" '0 0' "${drops[$A]} ${drops[$B]}"
	check_equal "$1: no merge was refused" '0 0' "${before[$A.merges_refused]} ${before[$B.merges_refused]}"
}

broken() { # NAMESPACE: packets with wrong checksums or headers
	at "$1" nstat -asz TcpInCsumErrors TcpInErrs UdpInCsumErrors UdpInErrors Udp6InCsumErrors \
		Udp6InErrors IpInHdrErrors Ip6InHdrErrors IpInTruncatedPkts Ip6InTruncatedPkts |
		awk '!/^#/ { n += $2 } END { print n + 0 }'
}

# ---- the list of ports

bad_list() {
	local status=0
	timeout 20 ip netns exec "$id-a" env SEALANE_ENCAP_PORTS=5556=gre "$SEALANED" -f "$A" >"$work/bad" 2>&1 ||
		status=$?
	check_equal 'a list with an unknown kind: exit status' 1 "$status"
	check 'a list with an unknown kind: why' grep -q 'SEALANE_ENCAP_PORTS=5556=gre: must be' "$work/bad"
}

# ---- superpackets: VXLAN, GENEVE

geneve() {
	local option
	for option in noudpcsum udpcsum; do
		tunnel_up 1370 geneve id 42 remote 10.9.0.% "$option"
		carries "geneve $option" whole whole
		tunnel_down
	done
	tunnel_up 1350 geneve id 42 remote fd00:9::% udp6zerocsumtx udp6zerocsumrx
	carries 'geneve over IPv6, zero checksum' whole whole
	tunnel_down
	# No Ethernet inside.
	tunnel_up 1370 geneve id 42 remote 10.9.0.% udpcsum innerprotoinherit
	carries 'geneve, IP inside' whole whole
	tunnel_down
}

# Options go with the routes of an external device; nobody asks for neighbours there.
geneve_options() {
	local ns own other
	tunnel_up 1350 geneve external
	for ns in a b; do
		own=1 other=2
		[ "$ns" = a ] || own=2 other=1
		ip -n "$id-$ns" link set t0 address "02:00:00:00:00:0$own"
		ip -n "$id-$ns" neighbour add "10.10.0.$other" lladdr "02:00:00:00:00:0$other" dev t0
		ip -n "$id-$ns" route add "10.10.0.$other/32" src "10.10.0.$own" \
			encap ip id 42 dst "10.9.0.$other" geneve_opts 0102:01:01020304,0102:02:0506070809101112 \
			dev t0
	done
	carries 'geneve with options' whole whole 10.10.0.2 10.10.0.1
	tunnel_down
}

vxlan_v6() {
	local option
	for option in noudp6zerocsumtx udp6zerocsumtx; do
		tunnel_up 1350 vxlan id 42 dstport 4789 local fd00:9::@ remote fd00:9::% "$option" udp6zerocsumrx
		carries "vxlan over IPv6, $option" whole whole
		tunnel_down
	done
}

# A port that nobody listed is right, and a tunnel's once it is.
other_port() { # NAME WRITES
	tunnel_up 1370 geneve id 42 remote 10.9.0.% dstport 7777 noudpcsum
	carries "$1" whole "$2"
	tunnel_down
}

# ---- bareudp

# BPF makes of what is routed into the lane what bareudp would (bareudp.bpf.c). FOU
# takes it off: on the wire they are the same.
bareudp() {
	local ns own other device
	fou_port 5556 4
	tunnel_up 1380 ipip local 10.9.0.@ remote 10.9.0.% ttl 64 encap fou encap-sport auto encap-dport 5556
	for ns in a b; do
		own=1 other=2 device=$A
		[ "$ns" = a ] || own=2 other=1 device=$B
		at "$ns" tc qdisc add dev "$device" clsact
		at "$ns" tc filter add dev "$device" egress bpf direct-action object-file "$BAREUDP" section tc
		ip -n "$id-$ns" route add "10.10.0.$other/32" dev "$device" src "10.10.0.$own" mtu lock 1380
	done
	carries 'bareudp, IP' whole whole "${v4[@]}"
	for ns in a b; do
		device=$A
		[ "$ns" = a ] || device=$B
		at "$ns" tc qdisc delete dev "$device" clsact
	done
	ip -n "$id-a" route delete 10.10.0.2/32
	ip -n "$id-b" route delete 10.10.0.1/32
	tunnel_down
}

# MPLS is always cut before it gets into a tunnel; it is merged where it arrives.
mpls() {
	local ns own other
	fou_port 6635 137
	tunnel_up 1380 ipip mode mplsip local 10.9.0.@ remote 10.9.0.% ttl 64 \
		encap fou encap-sport auto encap-dport 6635 encap-csum
	for ns in a b; do
		own=1 other=2
		[ "$ns" = a ] || own=2 other=1
		at "$ns" sysctl -qw net.mpls.platform_labels=1000 net.mpls.conf.t0.input=1 \
			net.mpls.conf.lo.input=1
		ip -n "$id-$ns" -family mpls route add "10$own" dev lo
		ip -n "$id-$ns" route add "10.10.0.$other/32" encap mpls "200/10$other" dev t0 src "10.10.0.$own"
		ip -n "$id-$ns" -family mpls route add 200 dev lo
	done
	carries 'MPLS' slow merged "${v4[@]}"
	tunnel_down
}

# ---- cut by the kernel: FOU, GUE, nested tunnels

fou_port() { # PORT PROTOCOL|gue [-6]
	local ns kind=(ipproto "$2")
	[ "$2" != gue ] || kind=(gue)
	for ns in a b; do
		ip -n "$id-$ns" ${3:+"$3"} fou add port "$1" "${kind[@]}"
	done
}

fou() {
	local encap=(local 10.9.0.@ remote 10.9.0.% ttl 64)
	fou_port 5551 4
	fou_port 5552 47
	fou_port 5553 gue
	fou_port 5554 41
	tunnel_up 1380 ipip "${encap[@]}" encap fou encap-sport auto encap-dport 5551 noencap-csum
	carries 'FOU, IPIP' single any "${v4[@]}"
	tunnel_down
	tunnel_up 1380 gre "${encap[@]}" encap fou encap-sport auto encap-dport 5552 encap-csum
	carries 'FOU, GRE, checksum outside' single any
	tunnel_down
	tunnel_up 1380 sit "${encap[@]}" encap fou encap-sport auto encap-dport 5554 encap-csum
	carries 'FOU, SIT, checksum outside' single any "${v6[@]}"
	tunnel_down
}

gue() {
	local encap=(local 10.9.0.@ remote 10.9.0.% ttl 64)
	local gue=(encap gue encap-sport auto encap-dport 5553)
	tunnel_up 1370 ipip "${encap[@]}" "${gue[@]}" encap-csum
	carries 'GUE, IPIP, checksum outside' single any "${v4[@]}"
	tunnel_down
	tunnel_up 1370 sit "${encap[@]}" "${gue[@]}" noencap-csum
	carries 'GUE, SIT' single any "${v6[@]}"
	tunnel_down
	tunnel_up 1370 gre "${encap[@]}" csum "${gue[@]}" encap-csum
	carries 'GUE, GRE, checksums outside and inside' single any
	tunnel_down
	tunnel_up 1360 gre "${encap[@]}" "${gue[@]}" encap-csum encap-remcsum
	carries 'GUE, GRE, remote checksum' single any
	tunnel_down
}

fou_v6() {
	fou_port 5552 47 -6
	tunnel_up 1350 ip6gre local fd00:9::@ remote fd00:9::% encaplimit none \
		encap fou encap-sport auto encap-dport 5552 encap-udp6-csum
	carries 'FOU over IPv6, GRE' single any
	tunnel_down
}

# Cut on its way out, but bareudp to the lane where it arrives.
fou_listed() {
	tunnel_up 1380 ipip local 10.9.0.@ remote 10.9.0.% ttl 64 encap fou encap-sport auto encap-dport 5556 \
		noencap-csum
	carries 'FOU, IPIP, port listed as ip' single whole "${v4[@]}"
	tunnel_down
}

nested() { # UDPCSUM
	local ns own other
	tunnel_up 1370 geneve id 42 remote 10.9.0.% "$1"
	for ns in a b; do
		own=1 other=2
		[ "$ns" = a ] || own=2 other=1
		ip -n "$id-$ns" link add t1 mtu 1320 type vxlan id 43 dstport 4789 \
			local "10.10.0.$own" remote "10.10.0.$other" "$1"
		address_add "$ns" t1 "10.11.0.$own/24" "fd00:11::$own/64"
		ip -n "$id-$ns" link set t1 up
	done
	carries "vxlan in geneve, $1" single any 10.11.0.2 fd00:11::1
	ip -n "$id-a" link delete t1
	ip -n "$id-b" link delete t1
	tunnel_down
}

topology
bad_list
lanes_up 5556=ip
is_able "$A"
is_able "$B"
geneve
geneve_options
vxlan_v6
other_port 'geneve at a port that is not listed' single
fou
gue
fou_v6
bareudp
fou_listed
mpls
nested noudpcsum
nested udpcsum
daemon_stop "$A" "$B"

lanes_up 5556=ip,7777=geneve
other_port 'geneve at a port that is listed' whole
daemon_stop "$A" "$B"
finish
