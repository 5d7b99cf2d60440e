#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Endpoints follow the peer, and only the peer; replies come from the address
# that was spoken to; routes, marks, ports and NAT may change under way.
#
#   +------ a ------+  u0: 192.0.2.0/24 2001:db8::/64   +------ b ------+
#   | $A :51001     |----------------------------------| $B :51002     |
#   | 10.9.0.1      |----------------------------------| 10.9.0.2      |
#   | fd00:9::1     |  u1: 198.51.100.0/24             | fd00:9::2     |
#   +---------------+      2001:db8:1::/64             +---------------+
#
# and for NAT, whose inside only a's side can open:
#
#   c $C :51003 -- n0 192.168.77.0/24 -- m (masquerade) -- n1 203.0.113.0/24 -- b
# shellcheck disable=SC2317 # checks call functions by name
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

topology() {
	ns_new a b c m
	link_new a u0 b u0
	link_new a u1 b u1
	address_add a u0 192.0.2.1/24 2001:db8::1/64
	address_add b u0 192.0.2.2/24 2001:db8::2/64
	address_add a u1 198.51.100.1/24 2001:db8:1::1/64
	address_add b u1 198.51.100.2/24 2001:db8:1::2/64
	link_new c n0 m n0
	link_new m n1 b n1
	address_add c n0 192.168.77.2/24
	address_add m n0 192.168.77.1/24
	address_add m n1 203.0.113.1/24
	address_add b n1 203.0.113.2/24
	key_new a b c
}

tunnel_up() { # KIND-A KIND-B
	daemon_start "$1" a "$A"
	daemon_start "$2" b "$B"
	lane_up a "$A" a 51001 10.9.0.1/24 fd00:9::1/64
	lane_up b "$B" b 51002 10.9.0.2/24 fd00:9::2/64
	wg set "$A" peer "$(pub b)" allowed-ips 10.9.0.2/32,fd00:9::2/128 endpoint 192.0.2.2:51002
	wg set "$B" peer "$(pub a)" allowed-ips 10.9.0.1/32,fd00:9::1/128
	pings a 1 10.9.0.2
}

# ---- the peer moves

follows() { # TEXT WANT DEVICE KEY
	check "$1" eventually 2 is_equal "$2" endpoint "$3" "$4"
}

# wireguard-go goes on sending from an address that the host has lost, until a
# handshake fails or the endpoint is set anew. sealaned needs no help.
help_go() { # KIND DEVICE KEY
	[[ $1 != go* ]] || wg set "$2" peer "$(pub "$3")" endpoint "$(endpoint "$2" "$3")"
}

# wireguard-go 0.0.20260522 takes what it sends to from a pool: the first IPv6 addresses after
# IPv4 ones there end after 4 bytes, and what goes to them is lost. Each is wrong only once.
use_up_go_pool() { # KIND-A KIND-B ADDRESS
	[[ "$1 $2" != *go* ]] || at a ping -n -c 8 -i 0.02 -W 1 "$3" >/dev/null 2>&1 || true
}

# A family at a time; each side moves, talks, and the other must have noticed.
roaming() { # KIND-A KIND-B
	local name="$1 and $2"
	tunnel_up "$1" "$2"
	follows "$name: an endpoint is learnt from a handshake" 192.0.2.1:51001 "$B" a

	ip -n "$id-a" address delete 192.0.2.1/24 dev u0
	address_add a u0 192.0.2.3/24
	help_go "$1" "$A" b
	check "$name: a has another address" pings a 3 10.9.0.2
	follows "$name: b follows it" 192.0.2.3:51001 "$B" a

	ip -n "$id-b" address delete 192.0.2.2/24 dev u0
	address_add b u0 192.0.2.4/24
	help_go "$2" "$B" a
	check "$name: b has another address" pings b 3 10.9.0.1
	follows "$name: a follows it" 192.0.2.4:51002 "$A" b

	wg set "$A" listen-port 51011
	check "$name: a has another port" pings a 3 10.9.0.2
	follows "$name: b follows that" 192.0.2.3:51011 "$B" a
	wg set "$B" listen-port 51012
	check "$name: b has another port" pings b 3 10.9.0.1
	follows "$name: a follows that" 192.0.2.4:51012 "$A" b

	wg set "$A" peer "$(pub b)" endpoint '[2001:db8::2]:51012'
	use_up_go_pool "$1" "$2" 10.9.0.2
	check "$name: a goes on over IPv6" pings a 3 10.9.0.2
	follows "$name: b follows to IPv6" '[2001:db8::1]:51011' "$B" a
	wg set "$B" peer "$(pub a)" endpoint 192.0.2.3:51011
	check "$name: b goes back to IPv4" pings b 3 10.9.0.1
	follows "$name: a follows back" 192.0.2.4:51012 "$A" b

	daemon_stop "$A" "$B"
	ip -n "$id-a" address delete 192.0.2.3/24 dev u0
	ip -n "$id-b" address delete 192.0.2.4/24 dev u0
	address_add a u0 192.0.2.1/24
	address_add b u0 192.0.2.2/24
}

# ---- only the peer moves it

# Sends the payload of captured datagrams, as they are and with a flipped bit,
# and junk of every type, from an address of the second link.
replay_from_elsewhere() {
	at a python3 - "$work/real.pcap" <<'PYTHON'
import os, socket, struct, sys

data = open(sys.argv[1], "rb").read()
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("198.51.100.1", 40000))
at, n = 24, 0
while at < len(data):
    length = struct.unpack_from("<I", data, at + 8)[0]
    payload = data[at + 16 + 14 + 20 + 8:at + 16 + length]
    at += 16 + length
    s.sendto(payload, ("198.51.100.2", 51002))
    s.sendto(payload[:-1] + bytes([payload[-1] ^ 1]), ("198.51.100.2", 51002))
    n += 1
for kind, length in ((1, 148), (2, 92), (3, 64), (4, 32), (4, 128), (9, 50)):
    s.sendto(bytes([kind, 0, 0, 0]) + os.urandom(length - 4), ("198.51.100.2", 51002))
sys.exit(0 if n >= 4 else "too few datagrams captured: %d" % n)
PYTHON
}

only_authenticated() {
	capture_start real b u0 udp dst port 51002
	tunnel_up tap tun
	pings a 3 10.9.0.2
	capture_stop
	check 'captured datagrams, altered ones and junk come from elsewhere' replay_from_elsewhere
	check 'replayed data is counted' eventually 2 counter_above "$B" drop=replay 0
	check 'a replayed initiation is counted' eventually 2 counter_above "$B" drop=old_timestamp 0
	check 'altered data is counted' eventually 2 counter_above "$B" drop=auth 0
	check_equal 'the endpoint has not moved' 192.0.2.1:51001 "$(endpoint "$B" a)"
	check 'traffic goes on' pings b 3 10.9.0.1
	daemon_stop "$A" "$B"
}

counter_above() { # DEVICE LINE LIMIT
	[ "$(counter "$1" "$2")" -gt "$3" ]
}

# ---- the source address

# a speaks to the second address of b, which must answer from it.
sticky() { # KIND-B NAME SECOND-ADDRESS PREFIX FIRST-ADDRESS
	local kind=$1 name="$2, $1" second=$3 prefix=$4 first=$5 want_second want_first
	want_second=$second:51002 want_first=$first:51002
	[[ $second != *:* ]] || { want_second=[$second]:51002; want_first=[$first]:51002; }
	address_add b u0 "$second/$prefix"
	tunnel_up tap "$kind"
	wg set "$A" peer "$(pub b)" endpoint "$want_second"
	lane_restart a "$A"
	capture_start sticky a u0 udp src port 51002
	check "$name: speaking to the second address" pings a 3 10.9.0.2
	check "$name: b begins to speak" pings b 3 10.9.0.1
	capture_stop
	check_at_least "$name: answers come from the second" 6 "$(captured sticky "src host $second")"
	check_equal "$name: and from nowhere else" 0 "$(captured sticky "not src host $second")"
	check_equal "$name: a still sees the second" "$want_second" "$(endpoint "$A" b)"

	ip -n "$id-b" address delete "$second/$prefix" dev u0
	check "$name: the second is removed, b goes on" pings b 3 10.9.0.1
	follows "$name: from its first address" "$want_first" "$A" b
	check "$name: and a reaches it there" pings a 3 10.9.0.2
	daemon_stop "$A" "$B"
}

# The route to a changes to the other link, whose address is then the source.
better_route() { # KIND-B
	local name="a better route, $1"
	tunnel_up tap "$1"
	check_equal "$name: first the one link" 192.0.2.2:51002 "$(endpoint "$A" b)"
	ip -n "$id-b" route add 192.0.2.1/32 dev u1 src 198.51.100.2
	check "$name: traffic goes on" pings b 3 10.9.0.1
	follows "$name: it takes over, with its source address" 198.51.100.2:51002 "$A" b
	ip -n "$id-b" route delete 192.0.2.1/32 dev u1
	check "$name: it leaves again" pings b 3 10.9.0.1
	follows "$name: back on the first link" 192.0.2.2:51002 "$A" b
	daemon_stop "$A" "$B"
}

better_route_v6() {
	local name='a better route over IPv6'
	tunnel_up tap tun
	wg set "$A" peer "$(pub b)" endpoint '[2001:db8::2]:51002'
	pings a 1 10.9.0.2
	ip -n "$id-b" route add 2001:db8::1/128 via 2001:db8:1::1 src 2001:db8:1::2
	check "$name: traffic goes on" pings b 3 10.9.0.1
	follows "$name: it takes over, with its source address" '[2001:db8:1::2]:51002' "$A" b
	ip -n "$id-b" route delete 2001:db8::1/128 via 2001:db8:1::1
	daemon_stop "$A" "$B"
}

# The datagrams come in on another interface than the one that has the address.
foreign_address() {
	local name='an address of another interface'
	tunnel_up tap tun
	address_add b lo 192.0.2.99/32
	wg set "$A" peer "$(pub b)" endpoint 192.0.2.99:51002
	lane_restart a "$A"
	check "$name: is reached" pings a 3 10.9.0.2
	check_equal "$name: and answers" 192.0.2.99:51002 "$(endpoint "$A" b)"
	ip -n "$id-b" address delete 192.0.2.99/32 dev lo
	daemon_stop "$A" "$B"
}

# ---- ports, marks, NAT

port_under_traffic() {
	local port
	tunnel_up tap tun
	pinger_start there a 10.9.0.2 60 0.05
	pinger_start back b 10.9.0.1 60 0.05
	for port in 51021 51022 51023; do
		sleep 0.7
		wg set "$B" listen-port "$port"
	done
	pinger_wait there
	check_at_most 'three new ports under traffic: few packets lost there' 12 "$pinger_lost"
	pinger_wait back
	check_at_most 'and back' 12 "$pinger_lost"
	follows 'the last port is known' 192.0.2.2:51023 "$A" b
	check_fails 'the first port is closed' is_listening b udp 51002
	daemon_stop "$A" "$B"
}

# Without the mark the endpoint is unreachable, with it another table leads there.
fwmark() { # ENDPOINT LOCAL-ADDRESS FAMILY VIA
	local name="fwmark, $3" family=-${3#v}
	tunnel_up tap tun
	address_add b lo "$2"
	ip -n "$id-a" "$family" route add unreachable "$2"
	ip -n "$id-a" "$family" rule add fwmark 0x51 table 151
	ip -n "$id-a" "$family" route add "$2" via "$4" table 151
	wg set "$A" peer "$(pub b)" endpoint "$1:51002"
	check "$name: without it there is no way" no_ping a 10.9.0.2
	wg set "$A" fwmark 0x51
	check "$name: with it there is" eventually 8 pings a 1 10.9.0.2
	check_equal "$name: the endpoint is the marked one" "$1:51002" "$(endpoint "$A" b)"
	wg set "$A" fwmark 0
	check "$name: it is taken back" no_ping a 10.9.0.2
	ip -n "$id-a" "$family" rule delete fwmark 0x51 table 151
	ip -n "$id-a" "$family" route delete unreachable "$2"
	ip -n "$id-b" address delete "$2" dev lo
	daemon_stop "$A" "$B"
}

# m forgets a mapping after 2 s; keepalives every second keep it alive.
nat() { # KIND-C KIND-B
	local name="NAT, $1 inside, $2 outside" outside_port
	ip -n "$id-c" route replace default via 192.168.77.1
	at m sysctl -qw net.ipv4.ip_forward=1
	at m nft 'table ip t { chain c { type nat hook postrouting priority 100; oifname "n1" masquerade; }; }'
	at m sysctl -qw net.netfilter.nf_conntrack_udp_timeout=2 \
		net.netfilter.nf_conntrack_udp_timeout_stream=2
	daemon_start "$1" c "$C"
	daemon_start "$2" b "$B"
	lane_up c "$C" c 51003 10.9.0.3/24
	lane_up b "$B" b 51002 10.9.0.2/24
	wg set "$B" peer "$(pub c)" allowed-ips 10.9.0.3/32
	wg set "$C" peer "$(pub b)" allowed-ips 10.9.0.2/32 endpoint 203.0.113.2:51002 \
		persistent-keepalive 1
	check "$name: from inside" pings c 3 10.9.0.2
	outside_port=$(endpoint "$B" c)
	check_equal "$name: seen with the outside address" 203.0.113.1 "${outside_port%:*}"
	sleep 4
	check "$name: keepalives keep it open" pings b 3 10.9.0.3

	# The way of telling has to be able to tell: without keepalives it closes.
	wg set "$C" peer "$(pub b)" persistent-keepalive off
	sleep 4
	check "$name: without them it closes" no_ping b 10.9.0.3
	check "$name: and opens again from inside" pings c 3 10.9.0.2
	at m nft delete table ip t
	daemon_stop "$C" "$B"
}

topology
roaming tap tun
for go in $(go_kinds); do
	roaming tun "$go"
	roaming "$go" tap
done
only_authenticated
sticky tap 'sticky source IPv4' 192.0.2.22 24 192.0.2.2
sticky tun 'sticky source IPv6' 2001:db8::22 64 2001:db8::2
better_route tap
better_route_v6
foreign_address
port_under_traffic
fwmark 203.0.113.99 203.0.113.99/32 v4 192.0.2.2
nat tap tun
nat tun go
finish
