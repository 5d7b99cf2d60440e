#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in a virtual machine: the kernel's WireGuard in namespace a, sealaned in b.
# What a packet or an error looks like is compared with what the kernel does.
#
#   +--------- a ---------+                  +--------- b ---------+
#   | kernel $A           |                  |         sealaned $B |
#   | 10.9.0.1 fd00:9::1  |   u0        u0   |  10.9.0.2 fd00:9::2 |
#   |         :51001      |------------------|      :51002         |
#   | vxlan 10.10.0.1     |  192.0.2.1   .2  |     vxlan 10.10.0.2 |
#   +---------------------+  2001:db8::1 ::2 +---------------------+
set -euo pipefail

# lib.sh asks for these; nothing here uses them, and they are large.
export WIREGUARD_GO_DEBIAN=true
python3() { false; }

# shellcheck source=tests/netns/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../netns/lib.sh"

# A kernel's device is seen by wg in its own namespace only.
wg() {
	case ${2:-} in
	"$id"[ab]) at "${2#"$id"}" wg "$@" ;;
	*) command wg "$@" ;;
	esac
}

topology() {
	ns_new a b
	link_new a u0 b u0
	address_add a u0 192.0.2.1/24 2001:db8::1/64
	address_add b u0 192.0.2.2/24 2001:db8::2/64
	key_new a a2 b b2 nobody
	(umask 077 && wg genpsk >"$work/psk")
}

outer_address() { # HOST-NUMBER OUTER
	if [ "$2" = v4 ]; then printf '192.0.2.%s' "$1"; else printf '[2001:db8::%s]' "$1"; fi
}

peer_set() { # DEVICE KEY PSK HOST-NUMBER OUTER
	wg set "$1" peer "$(pub "$2")" preshared-key "$3" endpoint "$(outer_address "$4" "$5"):5100$4" \
		allowed-ips "10.9.0.$4/32,fd00:9::$4/128"
}

tunnel_up() { # KIND-B OUTER PSK(/dev/null: none)
	ip -n "$id-a" link add "$A" type wireguard
	daemon_start "$1" b "$B"
	lane_up a "$A" a 51001 10.9.0.1/24 fd00:9::1/64
	lane_up b "$B" b 51002 10.9.0.2/24 fd00:9::2/64
	peer_set "$A" b "$3" 2 "$2"
	peer_set "$B" a "$3" 1 "$2"
}

tunnel_down() {
	daemon_stop "$B"
	ip -n "$id-a" link delete "$A"
}

# Down and up, and seen to be down in between.
forget_sessions() {
	ip -n "$id-b" link set "$B" down
	eventually 5 is_down >/dev/null
	ip -n "$id-b" link set "$B" up
}

is_down() { grep -qx 'up=0' <<<"$(control_get "$B")"; }

# ---- sessions and traffic

# From a cold start: one handshake (148 and 92 bytes) and ten default pings each
# way (84 bytes, padded to 96, and 32 of overhead).
exact_counters() { # NAME INITIATOR(a|b)
	local from="$A" from_peer=b to="$B" to_peer=a address=10.9.0.2
	[ "$2" = a ] || { from=$B from_peer=a to=$A to_peer=b address=10.9.0.1; }
	check "$1: the first ping brings the session up" pings "$2" 10 "$address"
	check_equal "$1: initiator sent" 1428 "$(sent "$from" "$from_peer")"
	check_equal "$1: responder received" 1428 "$(received "$to" "$to_peer")"
	check_equal "$1: responder sent" 1372 "$(sent "$to" "$to_peer")"
	check_equal "$1: initiator received" 1372 "$(received "$from" "$from_peer")"
	check_at_least "$1: handshake time at a" 1000000000 "$(handshake_time "$A" b)"
	check_at_least "$1: handshake time at b" 1000000000 "$(handshake_time "$B" a)"
}

# 104 bytes of IPv6, padded to 112, and 32 of overhead.
exact_counters_v6() { # NAME
	local sent_before received_before
	sent_before=$(sent "$B" a) received_before=$(received "$B" a)
	check "$1: IPv6 inside" pings b 10 fd00:9::1
	check_equal "$1: IPv6 sent" 1440 $(($(sent "$B" a) - sent_before))
	check_equal "$1: IPv6 received" 1440 $(($(received "$B" a) - received_before))
	check_equal "$1: the kernel received what was sent" "$(sent "$B" a)" "$(received "$A" b)"
	check_equal "$1: what the kernel sent was received" "$(sent "$A" b)" "$(received "$B" a)"
}

cell() { # KIND-B OUTER PSK INITIATOR
	local name="$1, outer $2, $3, begun by $4" psk=/dev/null
	[ "$3" != psk ] || psk=$work/psk
	tunnel_up "$1" "$2" "$psk"
	exact_counters "$name" "$4"
	exact_counters_v6 "$name"
	check "$name: the largest packet" pings a 3 10.9.0.2 -s 1392 -M "do"
	check "$name: a fragmented packet" pings b 3 10.9.0.1 -s 4000
	check "$name: TCP both ways over IPv4" tcp_exchange a b 10.9.0.2 2000000
	check "$name: TCP both ways over IPv6" tcp_exchange b a fd00:9::1 1000000
	tunnel_down
}

vxlan_up() { # NAMESPACE DEVICE OWN-NUMBER OTHER-NUMBER
	ip -n "$id-$1" link add vxlan0 mtu 1370 type vxlan id 42 dstport 4789 \
		local "10.9.0.$3" remote "10.9.0.$4" dev "$2"
	address_add "$1" vxlan0 "10.10.0.$3/24"
	ip -n "$id-$1" link set vxlan0 up
}

vxlan() {
	vxlan_up a "$A" 1 2
	vxlan_up b "$B" 2 1
	check 'vxlan: ping' pings a 10 10.10.0.2
	check 'vxlan: the largest packet' pings b 3 10.10.0.1 -s 1342 -M "do"
	check 'vxlan: TCP both ways' tcp_exchange a b 10.10.0.2 2000000
	ip -n "$id-a" link delete vxlan0
	ip -n "$id-b" link delete vxlan0
}

# ---- new keys and new addresses

# A side with a new private key is a stranger until the other has its public key.
rekey() { # PSK
	wg set "$A" private-key "$work/a2.key"
	check 'a new private key at a: no session' no_ping a 10.9.0.2
	wg set "$B" peer "$(pub a)" remove
	peer_set "$B" a2 "$1" 1 v4
	check 'a new private key at a: b knows it' pings b 3 10.9.0.1
	check 'a new private key at a: and a b' pings a 3 10.9.0.2

	wg set "$B" private-key "$work/b2.key"
	check 'a new private key at b: no session' no_ping b 10.9.0.1
	wg set "$A" peer "$(pub b)" remove
	peer_set "$A" b2 "$1" 2 v4
	check 'a new private key at b: a knows it' pings a 3 10.9.0.2
	check 'a new private key at b: and b a' pings b 3 10.9.0.1
}

new_psk() {
	wg set "$A" peer "$(pub b)" preshared-key "$work/psk"
	forget_sessions
	check 'preshared key at a only: no session' no_ping b 10.9.0.1
	wg set "$B" peer "$(pub a)" preshared-key "$work/psk"
	check 'preshared key at b too' eventually 8 pings b 1 10.9.0.1
}

follows() { # TEXT WANT DEVICE KEY
	check "$1" eventually 2 is_equal "$2" endpoint "$3" "$4"
}

roaming() {
	ip -n "$id-a" address delete 192.0.2.1/24 dev u0
	address_add a u0 192.0.2.3/24
	check 'roaming: a has another address' pings a 3 10.9.0.2
	follows 'roaming: b follows it' 192.0.2.3:51001 "$B" a
	ip -n "$id-b" address delete 192.0.2.2/24 dev u0
	address_add b u0 192.0.2.4/24
	check 'roaming: b has another address' pings b 3 10.9.0.1
	follows 'roaming: a follows it' 192.0.2.4:51002 "$A" b
	wg set "$B" listen-port 51012
	check 'roaming: b has another port' pings b 3 10.9.0.1
	follows 'roaming: a follows that' 192.0.2.4:51012 "$A" b
	wg set "$A" peer "$(pub b)" endpoint '[2001:db8::2]:51012'
	check 'roaming: a goes on over IPv6' pings a 3 10.9.0.2
	follows 'roaming: b follows to IPv6' '[2001:db8::1]:51001' "$B" a
	ip -n "$id-a" address delete 192.0.2.3/24 dev u0
	ip -n "$id-b" address delete 192.0.2.4/24 dev u0
	address_add a u0 192.0.2.1/24
	address_add b u0 192.0.2.2/24
}

# ---- keepalives

# They are 32 bytes, one per second here, and are not answered.
persistent_keepalive() { # NAME DEVICE KEY OTHER-DEVICE OTHER-KEY
	local name="keepalives of $1" sent_there received_there n started_ms most
	shift
	wg set "$1" peer "$(pub "$2")" persistent-keepalive 1
	sleep 0.3
	started_ms=$(date +%s%3N)
	sent_there=$(sent "$3" "$4") received_there=$(received "$3" "$4")
	sleep 3.5
	n=$((($(received "$3" "$4") - received_there) / 32))
	most=$((($(date +%s%3N) - started_ms) / 1000 + 1))
	check_at_least "$name: one every second, not less" 3 "$n"
	check_at_most "$name: nor more" "$most" "$n"
	wg set "$1" peer "$(pub "$2")" persistent-keepalive off
	check "$name: all arrive" eventually 2 counters_agree "$1" "$2" "$3" "$4"
	check_equal "$name: none is answered" "$sent_there" "$(sent "$3" "$4")"
}

counters_agree() { # DEVICE KEY OTHER-DEVICE OTHER-KEY: what one sent, the other received
	is_equal "$(sent "$1" "$2")" received "$3" "$4"
}

# Ten seconds after data that nothing answered the receiver shows it is alive.
passive_keepalive() {
	local sent_before
	at b nft 'table inet t { chain c { type filter hook output priority 0; meta l4proto icmp drop; }; }'
	sent_before=$(sent "$B" a)
	printf x | at a socat -u - UDP:10.9.0.2:9
	sleep 5
	check_equal 'passive keepalive: none before 10 s' "$sent_before" "$(sent "$B" a)"
	sleep 6.5
	check_equal 'passive keepalive: one after 10 s' $((sent_before + 32)) "$(sent "$B" a)"
	check_equal 'passive keepalive: the kernel received it' "$(sent "$B" a)" "$(received "$A" b)"
	at b nft delete table inet t
}

# ---- headers as the kernel makes them

# The TOS or class of the packets of a capture, in their order.
captured_tos() { # NAME FILTER...
	local name=$1
	shift
	tcpdump -n -x -r "$work/$name.pcap" "$@" 2>/dev/null |
		awk '$1 == "0x0000:" { printf "%s ", substr($2, substr($2, 1, 1) == 4 ? 3 : 2, 2) }'
}

ping_every_tos() { # NAMESPACE ADDRESS TOS...
	local ns=$1 address=$2 tos
	shift 2
	for tos in "$@"; do
		pings "$ns" 1 "$address" -Q "$tos" || return 1
	done
}

# What a side's pings of some TOS look like outside. Of data only: a handshake
# or a keepalive may come between.
outer_tos() { # NAMESPACE PORT ADDRESS TOS...
	local ns=$1 port=$2
	capture_start outer "$ns" u0 udp src port "$port"
	shift 2
	ping_every_tos "$ns" "$@" || return 1
	capture_stop
	captured_tos outer '(udp[8] = 4 or ip6[48] = 4) and greater 120'
}

# The ECN bits go out as they are, but a mark of congestion stays inside; nothing
# else of the inner TOS shows.
ecn_out() { # INNER(v4|v6)
	local kernel ours a=10.9.0.1 b=10.9.0.2 tos=(0 1 2 3 0xb8 0xba)
	[ "$1" = v4 ] || a=fd00:9::1 b=fd00:9::2
	kernel=$(outer_tos a 51001 "$b" "${tos[@]}")
	ours=$(outer_tos b 51002 "$a" "${tos[@]}")
	check_equal "outer TOS of inner $1 ${tos[*]}" '00 01 02 02 00 02 ' "$ours"
	check_equal "outer TOS of inner $1: as the kernel" "$kernel" "$ours"
}

# What a side's pings of some TOS look like inside when they arrive, if every
# datagram met congestion.
inner_tos() { # FROM TO DEVICE-OF-TO ADDRESS-OF-TO TOS...
	local from=$1
	at "$from" nft 'table inet t { chain c { type filter hook postrouting priority 0;
		oifname "u0" meta l4proto udp ip ecn set ce; }; }'
	capture_start inner "$2" "$3" 'icmp[icmptype] = icmp-echo'
	shift 3
	ping_every_tos "$from" "$@" || return 1
	capture_stop
	at "$from" nft delete table inet t
	captured_tos inner
}

ecn_in() {
	local kernel ours tos=(0 1 2 3)
	kernel=$(inner_tos b a "$A" 10.9.0.1 "${tos[@]}")
	ours=$(inner_tos a b "$B" 10.9.0.2 "${tos[@]}")
	check_equal "inner TOS ${tos[*]} after congestion" '00 03 03 03 ' "$ours"
	check_equal 'inner TOS after congestion: as the kernel' "$kernel" "$ours"
}

# Handshakes are class AF41, data may be fragmented on its way.
outer_header() {
	local ns port
	capture_start header b u0 udp port 51001
	tunnel_up auto v4 /dev/null
	pings a 3 10.9.0.2
	forget_sessions
	sleep 5.5
	pings b 3 10.9.0.1
	capture_stop
	for ns in a b; do
		port=51001
		[ "$ns" = a ] || port=51002
		check_equal "$ns: an initiation and a response" '1 1' \
			"$(captured header "src port $port and udp[8] = 1") $(captured header "src port $port and udp[8] = 2")"
		check_equal "$ns: handshakes are AF41" 2 \
			"$(captured header "src port $port and udp[8] < 3 and ip[1] = 0x88")"
		check_equal "$ns: no datagram forbids fragments" 0 \
			"$(captured header "src port $port and ip[6] & 0x40 != 0")"
		check_equal "$ns: every datagram has a checksum" 0 \
			"$(captured header "src port $port and udp[6:2] = 0")"
	done
	tunnel_down
}

# ---- errors as the kernel tells them

# What ping was told, without the sender: the kernel's error comes from the side's
# own address, which no kernel would take from a TUN, so sealaned's comes from the
# address that was spoken to.
errors_seen() { # NAMESPACE ADDRESS
	{ at "$1" ping -n -c 2 -i 0.3 -W 1 "$2" 2>&1 || true; } |
		sed -nE 's/^From [0-9a-f.:]+ (icmp_seq=)/\1/p'
}

same_errors() { # TEXT ADDRESS WANT
	local kernel ours
	kernel=$(errors_seen a "$2")
	ours=$(errors_seen b "$2")
	check "$1: $3" grep -q "^icmp_seq=1 .*$3" <<<"$ours"
	check_equal "$1: as the kernel" "$kernel" "$ours"
}

unreachable() {
	local ns device
	for ns in a b; do
		device=$A
		[ "$ns" = a ] || device=$B
		ip -n "$id-$ns" route add 10.99.0.0/16 dev "$device"
		ip -n "$id-$ns" route add fd00:99::/32 dev "$device"
		wg set "$device" peer "$(pub nobody)" allowed-ips 10.99.1.0/24,fd00:99:1::/48
	done
	same_errors 'no peer' 10.99.0.1 'Destination Host Unreachable'
	same_errors 'no peer, IPv6' fd00:99::1 'Address unreachable'
	same_errors 'no endpoint' 10.99.1.1 'Destination Host Unreachable'
	same_errors 'no endpoint, IPv6' fd00:99:1::1 'Address unreachable'
}

no_bad_checksums() {
	local ns
	for ns in a b; do
		check_equal "no bad checksum was received in $ns" 0 "$(bad_checksums "$ns")"
	done
}

topology
cell auto v4 no-psk a
cell auto v6 psk b
cell tun v4 psk b
cell tun v6 no-psk a

tunnel_up auto v4 /dev/null
pings a 1 10.9.0.2
vxlan
ecn_out v4
ecn_in
persistent_keepalive 'the kernel' "$A" b "$B" a
persistent_keepalive sealaned "$B" a "$A" b
passive_keepalive
unreachable
roaming
tunnel_down

tunnel_up auto v4 /dev/null
pings a 1 10.9.0.2
new_psk
rekey "$work/psk"
tunnel_down

tunnel_up auto v6 /dev/null
ecn_out v6
tunnel_down
outer_header
no_bad_checksums
finish
