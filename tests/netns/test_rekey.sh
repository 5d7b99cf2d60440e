#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Keys, peers and allowed-ips change while traffic flows; daemons end and begin.
#
#   +----- a -----+        +----- h -----+        +----- b -----+
#   | $A :51001   | u0     |  bridge hub |     u0 | $B :51002   |
#   | 10.9.0.1    |--------|             |--------| 10.9.0.2    |
#   | fd00:9::1   |        |             |        | 10.9.0.9    |
#   +-------------+        +------|------+        +-------------+
#    192.0.2.1                    | u0             192.0.2.2
#                          +----- c -----+
#                          | $C :51003   |
#                          | 10.9.0.3    |
#                          | 10.9.0.9    |
#                          +-------------+
#                           192.0.2.3
# shellcheck disable=SC2317 # checks call functions by name
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

topology() {
	local ns n=1
	ns_new h a b c
	ip -n "$id-h" link add hub type bridge
	ip -n "$id-h" link set hub up
	for ns in a b c; do
		link_new "$ns" u0 h "p$ns"
		ip -n "$id-h" link set "p$ns" master hub
		address_add "$ns" u0 "192.0.2.$n/24"
		n=$((n + 1))
	done
	key_new a b c other
}

start_a() { # KIND
	daemon_start "$1" a "$A"
	lane_up a "$A" a 51001 10.9.0.1/24 fd00:9::1/64
	wg set "$A" peer "$(pub b)" allowed-ips 10.9.0.2/32,10.9.0.9/32,fd00:9::2/128 \
		endpoint 192.0.2.2:51002
}

start_b() { # KIND
	daemon_start "$1" b "$B"
	lane_up b "$B" b 51002 10.9.0.2/24 10.9.0.9/32 fd00:9::2/64
	wg set "$B" peer "$(pub a)" allowed-ips 10.9.0.1/32,fd00:9::1/128 endpoint 192.0.2.1:51001
}

start_c() { # KIND
	daemon_start "$1" c "$C"
	lane_up c "$C" c 51003 10.9.0.3/24 10.9.0.9/32
	wg set "$C" peer "$(pub a)" allowed-ips 10.9.0.1/32 endpoint 192.0.2.1:51001
}

tunnel_up() { # KIND-A KIND-B
	start_a "$1"
	start_b "$2"
	pings a 1 10.9.0.2
}

# ---- keys

private_key() { # KIND-A KIND-B
	local name="$1 has another private key, $2 is told"
	tunnel_up "$1" "$2"
	pinger_start flow a 10.9.0.2 60 0.05
	sleep 1
	wg set "$B" peer "$(pub other)" allowed-ips 10.9.0.1/32,fd00:9::1/128 endpoint 192.0.2.1:51001
	wg set "$A" private-key "$work/other.key"
	check "$name: a new handshake at once" eventually 3 has_handshake "$B" other
	pinger_wait flow
	check_at_most "$name: few packets lost" 10 "$pinger_lost"
	wg set "$B" peer "$(pub a)" remove
	check "$name: the old one is not missed" pings b 3 10.9.0.1
	check "$name: IPv6 has moved too" pings a 3 fd00:9::2
	daemon_stop "$A" "$B"
}

has_handshake() { # DEVICE KEY
	[ "$(handshake_time "$1" "$2")" -gt 0 ]
}

# A lane whose own key becomes that of a peer has no use for this peer.
own_key() {
	tunnel_up tap tun
	wg set "$A" private-key "$work/b.key"
	check_equal 'a peer with our own key is gone' '' "$(wg show "$A" peers)"
	wg set "$A" private-key "$work/a.key" peer "$(pub a)" allowed-ips 10.9.0.7/32
	check_equal 'and is not taken' '' "$(wg show "$A" peers)"
	daemon_stop "$A" "$B"
}

preshared_key() { # KIND-A KIND-B
	local name="$1 and $2 change the preshared key"
	tunnel_up "$1" "$2"
	(umask 077 && wg genpsk >"$work/psk")
	wg set "$A" peer "$(pub b)" preshared-key "$work/psk"
	check "$name: the session goes on" pings a 3 10.9.0.2
	lane_restart a "$A"
	check "$name: one side only, no new one" no_ping a 10.9.0.2
	wg set "$B" peer "$(pub a)" preshared-key "$work/psk"
	lane_restart a "$A"
	check "$name: both sides, a new one" pings a 3 10.9.0.2
	wg set "$B" peer "$(pub a)" preshared-key /dev/null
	wg set "$A" peer "$(pub b)" preshared-key /dev/null
	lane_restart a "$A"
	check "$name: taken away again" pings a 3 10.9.0.2
	daemon_stop "$A" "$B"
}

# Both begin at once from cold; they must agree on a session and lose nothing
# that could be kept waiting. One round without a session would lose 12.
crossed() { # KIND-A KIND-B
	local round lost=0
	tunnel_up "$1" "$2"
	for round in {1..8}; do
		lane_restart a "$A" &
		lane_restart b "$B"
		wait $!
		sleep 0.05
		pinger_start a a 10.9.0.2 6 0.1
		pinger_start b b 10.9.0.1 6 0.1
		pinger_wait a
		lost=$((lost + pinger_lost))
		pinger_wait b
		lost=$((lost + pinger_lost))
		check "$1 and $2 begin at once, $round: both can speak" both_speak
	done
	check_at_most "$1 and $2 begin at once: few packets lost" 11 "$lost"
	daemon_stop "$A" "$B"
}

both_speak() { pings a 2 10.9.0.2 && pings b 2 10.9.0.1; }

# ---- peers and allowed-ips

remove_and_add() { # KIND-A KIND-B
	local name="$2 removes $1"
	tunnel_up "$1" "$2"
	wg set "$B" peer "$(pub a)" remove
	check "$name: no way there" no_ping a 10.9.0.2
	check "$name: no way back" no_ping b 10.9.0.1
	wg set "$B" peer "$(pub a)" allowed-ips 10.9.0.1/32 endpoint 192.0.2.1:51001
	check "$name: added again, it speaks at once" pings b 3 10.9.0.1
	check "$name: and is spoken to" pings a 3 10.9.0.2
	check_equal "$name: with new counters" "$((92 + 6 * 128))" "$(received "$B" a)"
	daemon_stop "$A" "$B"
}

moving_allowed_ips() {
	local sent_b sent_c
	tunnel_up tap tun
	start_c go
	wg set "$A" peer "$(pub c)" allowed-ips 10.9.0.3/32 endpoint 192.0.2.3:51003
	check 'a speaks to c' pings a 1 10.9.0.3
	check 'the shared address is at b' pings a 3 10.9.0.9
	wg set "$A" peer "$(pub c)" allowed-ips 10.9.0.3/32,10.9.0.9/32
	check_equal 'it has left b' '10.9.0.2/32 fd00:9::2/128' "$(of_peer allowed-ips "$A" b)"
	sent_b=$(sent "$A" b) sent_c=$(sent "$A" c)
	check 'the shared address is at c' pings a 3 10.9.0.9
	check_equal 'nothing went to b' "$sent_b" "$(sent "$A" b)"
	check_equal 'all went to c' $((sent_c + 3 * 128)) "$(sent "$A" c)"

	# Under traffic, back and forth; b, of 10.9.0.0/24, is shadowed by c.
	pinger_start flow a 10.9.0.9 80 0.02
	for _ in {1..10}; do
		wg set "$A" peer "$(pub b)" allowed-ips 10.9.0.2/32,10.9.0.9/32
		wg set "$A" peer "$(pub c)" allowed-ips 10.9.0.3/32,10.9.0.9/32
		sleep 0.05
	done
	pinger_wait flow
	check_at_most 'back and forth under traffic: few packets lost' 10 "$pinger_lost"
	wg set "$A" peer "$(pub b)" allowed-ips 10.9.0.0/24
	check_equal 'a wider prefix leaves the narrower one' '10.9.0.3/32 10.9.0.9/32' "$(of_peer allowed-ips "$A" c)"
	check 'which is still preferred' pings a 3 10.9.0.9
	daemon_stop "$C"
	check 'it does not fall back to b' no_ping a 10.9.0.9
	wg set "$A" peer "$(pub c)" remove
	check 'until c is removed' pings a 3 10.9.0.9
	daemon_stop "$A" "$B"
}

source_filter() {
	local n
	tunnel_up tap tun
	start_c tap
	address_add b "$B" 10.9.0.77/32 fd00:9::77/128
	ip -n "$id-b" route add 10.9.0.1/32 dev "$B" src 10.9.0.77
	check 'a source that is not allowed is not answered' no_ping b 10.9.0.1
	check_equal 'and counted' 2 "$(counter "$A" drop=spoofed)"
	check_fails 'nor over IPv6' at b ping -n -c 1 -W 1 -I fd00:9::77 fd00:9::1
	check_equal 'and counted too' 3 "$(counter "$A" drop=spoofed)"
	wg set "$A" peer "$(pub b)" allowed-ips 10.9.0.0/24
	check 'with a wider prefix it is' pings b 3 10.9.0.1

	# A more specific prefix of another peer blocks the source.
	wg set "$A" peer "$(pub c)" allowed-ips 10.9.0.77/32
	n=$(counter "$A" drop=spoofed)
	check 'with the address at another peer it is not' no_ping b 10.9.0.1
	check_equal 'and counted again' $((n + 2)) "$(counter "$A" drop=spoofed)"
	daemon_stop "$A" "$B" "$C"
}

# ---- a daemon ends and begins

restart() { # KIND-A KIND-B SIGNAL
	local name="$2 ends by SIG$3 and begins again, $1 stays"
	tunnel_up "$1" "$2"
	at b nft 'table inet t { chain c { type filter hook output priority 0; oifname "sl*" meta l4proto icmp icmp type echo-request drop; }; }'
	daemon_signal "$3" "$B"
	start_b "$2"
	# Only a speaks, so a must find out by itself: after 15 s without an answer.
	check "$name: traffic is back" eventually 22 at a ping -n -c 1 -W 0.5 10.9.0.2
	check "$name: in full" pings a 3 10.9.0.2
	at b nft delete table inet t
	daemon_stop "$A" "$B"
}

# The restarted side speaks first: no need to wait.
restart_and_speak() { # KIND-A KIND-B
	tunnel_up "$1" "$2"
	daemon_signal KILL "$A"
	start_a "$1"
	check "$1 ends, begins again and speaks to $2" pings a 3 10.9.0.2
	daemon_stop "$A" "$B"
}

topology
private_key tap tun
private_key tun go
private_key go tap
own_key
preshared_key tap tun
preshared_key tap go
crossed tap tun
crossed tap go
remove_and_add tap tun
remove_and_add go tun
moving_allowed_ips
source_filter
restart_and_speak tap tun
restart_and_speak tun go
restart tap tun KILL
finish
