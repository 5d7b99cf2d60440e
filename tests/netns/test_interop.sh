#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# sealaned with itself and with wireguard-go: each side as initiator, outer and
# inner IPv4 and IPv6, with and without a preshared key; exact counters,
# keepalives, TCP both ways, no bad checksum anywhere.
#
#   +--------- a ---------+                  +--------- b ---------+
#   | lane $A             |                  |             lane $B |
#   | 10.9.0.1 fd00:9::1  |   u0        u0   |  10.9.0.2 fd00:9::2 |
#   |         :51001      |------------------|      :51002         |
#   +---------------------+  192.0.2.1   .2  +---------------------+
#                            2001:db8::1 ::2
# shellcheck disable=SC2317 # checks call functions by name
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

topology() {
	ns_new a b
	link_new a u0 b u0
	address_add a u0 192.0.2.1/24 2001:db8::1/64
	address_add b u0 192.0.2.2/24 2001:db8::2/64
	key_new a b
	(umask 077 && wg genpsk >"$work/psk")
}

outer_address() { # HOST-NUMBER OUTER
	if [ "$2" = v4 ]; then printf '192.0.2.%s' "$1"; else printf '[2001:db8::%s]' "$1"; fi
}

tunnel_up() { # KIND-A KIND-B OUTER PSK(/dev/null: none)
	daemon_start "$1" a "$A"
	daemon_start "$2" b "$B"
	lane_up a "$A" a 51001 10.9.0.1/24 fd00:9::1/64
	lane_up b "$B" b 51002 10.9.0.2/24 fd00:9::2/64
	wg set "$A" peer "$(pub b)" preshared-key "$4" allowed-ips 10.9.0.2/32,fd00:9::2/128 \
		endpoint "$(outer_address 2 "$3"):51002"
	wg set "$B" peer "$(pub a)" preshared-key "$4" allowed-ips 10.9.0.1/32,fd00:9::1/128 \
		endpoint "$(outer_address 1 "$3"):51001"
}

# One handshake (148 and 92 bytes) and ten default pings each way (84 bytes,
# padded to 96, and 32 of overhead), from a cold start; both sides agree. The
# initiator may have confirmed the session with a keepalive of its own.
exact_counters() { # NAME
	check "$1: the first ping brings the session up" ten_pings 10.9.0.2
	check "$1: responder sent" eventually 10 is_equal 1372 sent "$B" a
	check "$1: initiator received as much" eventually 10 is_equal 1372 received "$A" b
	check_one_of "$1: initiator sent" "$(sent "$A" b)" 1428 1460
	check "$1: responder received as much" eventually 10 is_equal "$(sent "$A" b)" received "$B" a
	check_at_least "$1: the handshake has a time at the initiator" 1000000000 "$(handshake_time "$A" b)"
	check_at_least "$1: and at the responder" 1000000000 "$(handshake_time "$B" a)"
}

# Exactly ten. That each is answered the counters say: on a busy machine ping itself may
# not wait long enough for the last answer, and a second try would be counted, too.
ten_pings() { # ADDRESS
	local out
	out=$(at a ping -n -c 10 -i 0.1 -W 3 "$1" || true)
	grep -q '^10 packets transmitted, [1-9]' <<<"$out" || { printf '%s\n' "$out"; return 1; }
}

# 104 bytes of IPv6, padded to 112, and 32 of overhead.
exact_counters_v6() { # NAME
	local sent_before received_before
	sent_before=$(sent "$A" b) received_before=$(received "$A" b)
	check "$1: IPv6 inside" ten_pings fd00:9::2
	check "$1: IPv6 sent" eventually 10 is_equal $((sent_before + 1440)) sent "$A" b
	check "$1: IPv6 received" eventually 10 is_equal $((received_before + 1440)) received "$A" b
}

cell() { # KIND-A KIND-B OUTER PSK
	local name="$1 -> $2, outer $3, $4"
	case $4 in
	psk) tunnel_up "$1" "$2" "$3" "$work/psk" ;;
	*) tunnel_up "$1" "$2" "$3" /dev/null ;;
	esac
	exact_counters "$name"
	exact_counters_v6 "$name"
	check "$name: the other direction" pings b 3 10.9.0.1
	check "$name: the largest packet" pings a 3 10.9.0.2 -s 1392 -M "do"
	check "$name: a fragmented packet" pings a 3 10.9.0.2 -s 4000
	check "$name: TCP both ways over IPv4" tcp_exchange a b 10.9.0.2 3000000
	check "$name: TCP both ways over IPv6" tcp_exchange b a fd00:9::1 3000000
	daemon_stop "$A" "$B"
}

matrix() {
	local outer psk go
	for outer in v4 v6; do
		for psk in psk no-psk; do
			cell tap tun "$outer" "$psk"
			for go in $(go_kinds); do
				cell tap "$go" "$outer" "$psk"
				cell "$go" tun "$outer" "$psk"
			done
		done
	done
	cell tun tap v4 psk
}

wrong_psk() {
	tunnel_up tap go v4 "$work/psk"
	wg set "$A" peer "$(pub b)" preshared-key <(wg genpsk)
	check 'different preshared keys give no session' no_ping a 10.9.0.2
	check_equal 'and no handshake time' 0 "$(handshake_time "$A" b)"
	daemon_stop "$A" "$B"
}

# Keepalives are 32 bytes, one per interval, and are not answered.
persistent_keepalive() { # KIND-A KIND-B
	local name="$1 keeps alive to $2" sent_a sent_b grown
	tunnel_up "$1" "$2" v4 /dev/null
	pings a 1 10.9.0.2
	wg set "$A" peer "$(pub b)" persistent-keepalive 1
	sleep 0.3
	sent_a=$(sent "$A" b) sent_b=$(sent "$B" a)
	sleep 3.5
	grown=$(($(sent "$A" b) - sent_a))
	check_one_of "$name: one every second for 3.5 s" "$grown" 96 128
	check_equal "$name: all arrive" "$(sent "$A" b)" "$(received "$B" a)"
	check_equal "$name: none is answered" "$sent_b" "$(sent "$B" a)"
	daemon_stop "$A" "$B"
}

# Ten seconds after data that nothing answered the receiver shows it is alive.
passive_keepalive() {
	local sent_b
	tunnel_up tap tun v4 /dev/null
	pings a 1 10.9.0.2
	at b nft 'table inet t { chain c { type filter hook output priority 0; meta l4proto icmp drop; }; }'
	sent_b=$(sent "$B" a)
	printf x | at a socat -u - UDP:10.9.0.2:9
	sleep 5
	check_equal 'passive keepalive: none before 10 s' "$sent_b" "$(sent "$B" a)"
	sleep 6.5
	check_equal 'passive keepalive: one after 10 s' $((sent_b + 32)) "$(sent "$B" a)"
	at b nft delete table inet t
	daemon_stop "$A" "$B"
}

no_bad_checksums() {
	local ns
	for ns in a b; do
		check_equal "no bad checksum was received in $ns" 0 "$(bad_checksums "$ns")"
	done
}

topology
matrix
wrong_psk
persistent_keepalive tap go
persistent_keepalive go tun
passive_keepalive
no_bad_checksums
finish
