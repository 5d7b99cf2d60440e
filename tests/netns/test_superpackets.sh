#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Superpackets stay whole from one host's TCP to the other's: every byte is right,
# no checksum is wrong, and what reads, writes and receives them sees large ones.
# A zero outer checksum of a VXLAN is still zero where it is taken off, and a
# filled in one is right there.
#
#   +------------ a -------------+               +-------------- b -----------+
#   | vx0 10.10.0.1 fd00:10::1   |               |   10.10.0.2 fd00:10::2 vx0 |
#   |  |  vni 42                 |               |                         |  |
#   | $A  10.9.0.1  fd00:9::1    | u0         u0 |   10.9.0.2 fd00:9::2   $B  |
#   |     :51001                 |---------------|                 :51002     |
#   +----------------------------+ 192.0.2.1  .2 | 10.9.3.1 v0                |
#                                2001:db8::1 ::2 +----------|-----------------+
#   +----------------------------+               +----------|---------- c ----+
#   | In `forwarded` the VXLAN   |               | 10.9.3.2 v0                |
#   | ends in c instead of in b. |               |   10.10.0.2 vx0            |
#   +----------------------------+               +----------------------------+
# shellcheck disable=SC2317 # checks call functions by name
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

command -v ethtool >/dev/null || skip 'needs ethtool'

exchanged=4000000 # bytes each way
streamed=64000000 # bytes one way
large=30000       # bytes a read or write has on average, at least
large_skb=20000

topology() {
	ns_new a b c
	link_new a u0 b u0
	link_new b v0 c v0
	address_add a u0 192.0.2.1/24 2001:db8::1/64
	address_add b u0 192.0.2.2/24 2001:db8::2/64
	address_add b v0 10.9.3.1/24
	address_add c v0 10.9.3.2/24
	ip -n "$id-c" route add 10.9.0.0/24 via 10.9.3.1
	at b sysctl -qw net.ipv4.ip_forward=1
	at a sysctl -qw net.ipv4.tcp_ecn=1
	at b sysctl -qw net.ipv4.tcp_ecn=1
	key_new a b
}

endpoint_of() { # 4|6 NAMESPACE
	local host=1 port=51001
	[ "$2" = a ] || host=2 port=51002
	if [ "$1" = 4 ]; then echo "192.0.2.$host:$port"; else echo "[2001:db8::$host]:$port"; fi
}

tunnel_up() { # KIND-A KIND-B OUTER-FAMILY
	daemon_start "$1" a "$A"
	daemon_start "$2" b "$B"
	lane_up a "$A" a 51001 10.9.0.1/24 fd00:9::1/64
	lane_up b "$B" b 51002 10.9.0.2/24 fd00:9::2/64
	wg set "$A" peer "$(pub b)" allowed-ips 10.9.0.2/32,10.9.3.0/24,fd00:9::2/128 \
		endpoint "$(endpoint_of "$3" b)"
	wg set "$B" peer "$(pub a)" allowed-ips 10.9.0.1/32,fd00:9::1/128 endpoint "$(endpoint_of "$3" a)"
}

# A datagram without checksum that finds no IPv6 socket counts as one with a bad checksum.
quiet() { # add|delete NAMESPACE...
	local ns
	for ns in "${@:2}"; do
		case $1 in
		add) at "$ns" nft 'table inet quiet { chain c { type filter hook output priority 0; udp dport 4789 drop; }; }' ;;
		delete) at "$ns" nft delete table inet quiet ;;
		esac
	done
}

# vx0 between two addresses, with 10.10.0.x on it.
vxlan_up() { # NAMESPACE LOCAL NAMESPACE LOCAL OPTION...
	local first=$1 local1=$2 second=$3 local2=$4
	shift 4
	ip -n "$id-$first" link add vx0 mtu 1350 type vxlan id 42 dstport 4789 local "$local1" remote "$local2" "$@"
	ip -n "$id-$second" link add vx0 mtu 1350 type vxlan id 42 dstport 4789 local "$local2" remote "$local1" "$@"
	address_add "$first" vx0 10.10.0.1/24 fd00:10::1/64
	address_add "$second" vx0 10.10.0.2/24 fd00:10::2/64
	quiet add "$first"
	ip -n "$id-$first" link set vx0 up
	ip -n "$id-$second" link set vx0 up
	quiet delete "$first"
}

vxlan_down() { # NAMESPACE NAMESPACE
	local ns
	quiet add "$@"
	sleep 0.1
	for ns in "$@"; do
		ip -n "$id-$ns" link delete vx0
	done
	quiet delete "$@"
}

# Bytes one way, compared; what came of it stays in got.1.
tcp_stream() { # NAMESPACE NAMESPACE ADDRESS BYTES
	local server address=$3
	[[ $address != *:* ]] || address="[$address]"
	head -c "$4" /dev/urandom >"$work/sent.1"
	rm -f "$work/got.1"
	at "$2" socat -u "TCP6-LISTEN:5001,ipv6only=0,reuseaddr" "CREATE:$work/got.1" &
	server=$!
	eventually 5 is_listening "$2" tcp 5001 || return 1
	timeout 60 ip netns exec "$id-$1" socat -u -b 262144 "OPEN:$work/sent.1,rdonly" "TCP:$address:5001" || return 1
	wait "$server" || return 1
	cmp "$work/sent.1" "$work/got.1"
}

# Packets with a header a receiver found broken.
bad_headers() { # NAMESPACE
	at "$1" nstat -asz IpInHdrErrors Ip6InHdrErrors IpInTruncatedPkts Ip6InTruncatedPkts | awk '!/^#/ { n += $2 } END { print n + 0 }'
}

nothing_broken() {
	local ns
	for ns in a b c; do
		check_equal "no bad checksum was received in $ns" 0 "$(bad_checksums "$ns")"
		check_equal "no bad header was received in $ns" 0 "$(bad_headers "$ns")"
	done
}

# ---- every combination

exchanges() { # KIND-A KIND-B OUTER-FAMILY
	local name="$1 and $2 over IPv$3" option
	tunnel_up "$@"
	check "$name, IPv4 inside" tcp_exchange a b 10.9.0.2 "$exchanged"
	check "$name, IPv6 inside" tcp_exchange a b fd00:9::2 "$exchanged"
	for option in noudpcsum udpcsum; do
		vxlan_up a 10.9.0.1 b 10.9.0.2 "$option"
		check "$name, VXLAN $option, IPv4 inside" tcp_exchange a b 10.10.0.2 "$exchanged"
		check "$name, VXLAN $option, IPv6 inside" tcp_exchange a b fd00:10::2 "$exchanged"
		vxlan_down a b
	done
	for option in noudp6zerocsumtx udp6zerocsumtx; do
		vxlan_up a fd00:9::1 b fd00:9::2 "$option" udp6zerocsumrx
		check "$name, VXLAN over IPv6 $option, IPv4 inside" tcp_exchange a b 10.10.0.2 "$exchanged"
		check "$name, VXLAN over IPv6 $option, IPv6 inside" tcp_exchange a b fd00:10::2 "$exchanged"
		vxlan_down a b
	done
	[ "$1" = go ] || merged_all "$name, $1" "$A"
	[ "$2" = go ] || merged_all "$name, $2" "$B"
	daemon_stop "$A" "$B"
}

# Nothing was dropped but what a full socket buffer lost on the way to the wire.
merged_all() { # NAME DEVICE
	check_equal "$1: the kernel took every merged packet" 0 "$(counter "$2" stat=merges_refused)"
	check_equal "$1: the kernel took every run" 0 "$(counter "$2" stat=runs_refused)"
	check_equal "$1: nothing was dropped" 0 "$(n_drops "$2")"
}

matrix() {
	local family
	for family in 4 6; do
		exchanges tap tap "$family"
		exchanges tun tun "$family"
	done
	exchanges tap tun 4
	exchanges tap go 4
	exchanges go tap 4
	exchanges tun go 4
}

# ---- how large they are

# GRO of the vxlan device itself would make large packets of small ones.
count_skbs_start() { # NAMESPACE DEVICE
	at "$1" ethtool -K "$2" gro off >/dev/null
	at "$1" nft -f - <<-NFT
		table netdev t {
			counter data {}
			chain c {
				type filter hook ingress device $2 priority 0;
				meta length > 200 counter name data
			}
		}
	NFT
}

mean_skb() { # NAMESPACE
	at "$1" nft -j list counter netdev t data | python3 -c '
import json, sys
c = [x["counter"] for x in json.load(sys.stdin)["nftables"] if "counter" in x][0]
print(c["bytes"] // max(1, c["packets"]))'
}

quotient() { # DEVICE LINE LINE BYTES-BEFORE PACKETS-BEFORE
	echo $((($(counter "$1" "$2") - $4) / ($(counter "$1" "$3") - $5)))
}

size_of_stream() { # NAME ADDRESS
	local bytes_in packets_in bytes_out packets_out
	bytes_in=$(counter "$A" stat=device_bytes_in)
	packets_in=$(counter "$A" stat=device_packets_in)
	bytes_out=$(counter "$B" stat=device_bytes_out)
	packets_out=$(counter "$B" stat=device_packets_out)
	check "$1: the stream" tcp_stream a b "$2" "$streamed"
	check_at_least "$1: mean size of a read" "$large" \
		"$(quotient "$A" stat=device_bytes_in stat=device_packets_in "$bytes_in" "$packets_in")"
	check_at_least "$1: mean size of a write" "$large" \
		"$(quotient "$B" stat=device_bytes_out stat=device_packets_out "$bytes_out" "$packets_out")"
}

sizes() { # UDPCSUM
	local name="sizes, VXLAN $1"
	tunnel_up tap tap 4
	vxlan_up a 10.9.0.1 b 10.9.0.2 "$1"
	count_skbs_start b vx0
	size_of_stream "$name" 10.10.0.2
	check_at_least "$name: mean size on the far vxlan device" "$large_skb" "$(mean_skb b)"
	at b nft delete table netdev t
	vxlan_down a b
	daemon_stop "$A" "$B"
}

sizes_plain() { # KIND
	local name="sizes, plain, $1"
	tunnel_up "$1" "$1" 4
	count_skbs_start b "$B"
	size_of_stream "$name" 10.9.0.2
	check_at_least "$name: mean size on the far device" "$large_skb" "$(mean_skb b)"
	at b nft delete table netdev t
	daemon_stop "$A" "$B"
}

# ---- the outer checksum

data_of_vxlan='udp dst port 4789 and greater 300'

zero_checksum() { # KIND
	local name="noudpcsum, $1"
	tunnel_up "$1" "$1" 4
	vxlan_up a 10.9.0.1 b 10.9.0.2 noudpcsum
	pings a 1 10.10.0.2
	capture_start zero b "$B" udp dst port 4789
	check "$name: a stream" tcp_stream a b 10.10.0.2 "$exchanged"
	capture_stop
	check_at_least "$name: it was seen" 20 "$(captured zero "$data_of_vxlan")"
	check_equal "$name: every outer checksum is zero where it ends" 0 "$(captured zero 'udp[6:2] != 0')"
	vxlan_down a b
	daemon_stop "$A" "$B"
}

# Cut and filled in on its way out of b, into packets whose checksums c can judge.
no_offloads() { # NAMESPACE DEVICE
	at "$1" ethtool -K "$2" tx off >/dev/null
	ip -n "$id-$1" link set "$2" gso_max_size 1500
}

forwarded() { # UDPCSUM WANT-ZERO
	local name="forwarded, $1" n
	tunnel_up tap tap 4
	ip -n "$id-a" route add 10.9.3.0/24 dev "$A"
	no_offloads b v0
	vxlan_up a 10.9.0.1 c 10.9.3.2 "$1"
	pings a 1 10.10.0.2
	capture_start forwarded c v0 -s 2000 udp dst port 4789 and src host 10.9.0.1
	check "$name: a stream" tcp_stream a c 10.10.0.2 "$exchanged"
	capture_stop
	n=$(captured forwarded "$data_of_vxlan")
	check_at_least "$name: single packets were seen" $((exchanged / 1400)) "$n"
	if [ "$1" = noudpcsum ]; then
		check_equal "$name: every outer checksum is zero" 0 "$(captured forwarded 'udp[6:2] != 0')"
	else
		check_equal "$name: no outer checksum is zero" 0 "$(captured forwarded 'udp[6:2] = 0')"
		check_equal "$name: every outer checksum is right" 0 "$(wrong_checksums forwarded)"
	fi
	check_at_least "$name: b wrote superpackets" 1 "$(counter "$B" stat=packets_merged)"
	vxlan_down a c
	daemon_stop "$A" "$B"
}

# UDP checksums of a capture, computed here.
wrong_checksums() { # NAME
	python3 - "$work/$1.pcap" <<-'PYTHON'
		import struct, sys
		data = open(sys.argv[1], "rb").read()
		at, wrong, whole = 24, 0, 0
		while at < len(data):
		    kept, length = struct.unpack_from("<II", data, at + 8)
		    ip = data[at + 16 + 14:at + 16 + kept]
		    at += 16 + kept
		    if kept < length:
		        continue
		    whole += 1
		    udp = ip[20:struct.unpack_from(">H", ip, 2)[0]]
		    text = ip[12:20] + struct.pack(">HH", 17, len(udp)) + udp
		    text += b"\0" * (len(text) % 2)
		    total = sum(struct.unpack(">%dH" % (len(text) // 2), text))
		    wrong += total % 0xffff != 0
		print(wrong if whole else "no whole packet was captured")
	PYTHON
}

# ---- what TCP negotiates

connection_to() { # NAMESPACE PORT
	at "$1" ss -Htion state established "dport = :$2" | grep .
}

tcp_options() { # KIND
	local name="TCP options, $1" server ss ce
	tunnel_up "$1" "$1" 4
	vxlan_up a 10.9.0.1 b 10.9.0.2 noudpcsum
	at b nft 'table inet t { chain c { type filter hook prerouting priority -300; iifname u0 udp dport 51002 numgen inc mod 8 == 0 ip ecn set ce; }; }'
	head -c "$exchanged" /dev/urandom >"$work/sent.1"
	rm -f "$work/got.1"
	at b socat -u TCP4-LISTEN:5001,reuseaddr "CREATE:$work/got.1" &
	server=$!
	eventually 5 is_listening b tcp 5001 >/dev/null
	ce=$(at a nstat -asz TcpExtTCPDeliveredCE | awk '/CE/ { print $2 }')
	ip netns exec "$id-a" socat -u "EXEC:'sh -c \"cat $work/sent.1; sleep 1\"'" TCP:10.10.0.2:5001 &
	ss=$(eventually 5 connection_to a 5001)
	check "$name: timestamps" grep -qw ts <<<"$ss"
	check "$name: SACK" grep -qw sack <<<"$ss"
	check "$name: ECN" grep -qw ecn <<<"$ss"
	wait "$server"
	check "$name: every byte" cmp "$work/sent.1" "$work/got.1"
	check_at_least "$name: congestion marks got to the sender" $((ce + 1)) \
		"$(at a nstat -asz TcpExtTCPDeliveredCE | awk '/CE/ { print $2 }')"
	at b nft delete table inet t
	vxlan_down a b
	daemon_stop "$A" "$B"
}

topology
matrix
sizes noudpcsum
sizes udpcsum
sizes_plain tap
sizes_plain tun
zero_checksum tap
zero_checksum tun
forwarded noudpcsum
forwarded udpcsum
tcp_options tap
tcp_options tun
nothing_broken
finish
