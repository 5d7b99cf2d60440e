#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in a virtual machine with an old kernel: sealaned finds out what that
# cannot do, takes a TUN device, and works.
#
#   a: $A 10.9.0.1 fd00:9::1 -- u0 192.0.2.0/24 2001:db8::/64 -- b: $B 10.9.0.2 fd00:9::2
set -euo pipefail

# lib.sh asks for these; nothing here uses them, and they are large.
export WIREGUARD_GO_DEBIAN=true
python3() { false; }

# shellcheck source=tests/netns/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../netns/lib.sh"

topology() {
	ns_new a b
	link_new a u0 b u0
	address_add a u0 192.0.2.1/24 2001:db8::1/64
	address_add b u0 192.0.2.2/24 2001:db8::2/64
	key_new a b
}

tunnel_up() { # ENDPOINT-OF-A ENDPOINT-OF-B
	daemon_start auto a "$A"
	daemon_start auto b "$B"
	lane_up a "$A" a 51001 10.9.0.1/24 fd00:9::1/64
	lane_up b "$B" b 51002 10.9.0.2/24 fd00:9::2/64
	wg set "$A" peer "$(pub b)" allowed-ips 10.9.0.2/32,fd00:9::2/128 endpoint "$2:51002"
	wg set "$B" peer "$(pub a)" allowed-ips 10.9.0.1/32,fd00:9::1/128 endpoint "$1:51001"
}

device_kind() { control_get "$1" | sed -n 's/^device_kind=//p'; }
device_reason() { control_get "$1" | sed -n 's/^capability=tap_device off //p'; }

falls_back() {
	check_equal "left to choose, it takes a TUN" tun "$(device_kind "$A")"
	check_at_least 'and tells why' 5 "$(device_reason "$A" | wc -c)"
	printf 'the reason: %s\n' "$(device_reason "$A")"
	check 'the kernel has a TUN too' grep -q 'tun type tun' <<<"$(ip -d -n "$id-a" link show "$A")"
}

traffic() { # NAME
	check "$1: ping" pings a 10 10.9.0.2
	check "$1: ping over IPv6, other direction" pings b 10 fd00:9::1
	check "$1: a fragmented packet" pings a 3 10.9.0.2 -s 4000
	check "$1: TCP both ways" tcp_exchange a b 10.9.0.2 3000000
	check "$1: TCP both ways over IPv6" tcp_exchange b a fd00:9::1 3000000
}

uname -r
topology
tunnel_up 192.0.2.1 192.0.2.2
falls_back
traffic 'outer IPv4'
daemon_stop "$A" "$B"
tunnel_up '[2001:db8::1]' '[2001:db8::2]'
traffic 'outer IPv6'
daemon_stop "$A" "$B"
check_equal 'no bad checksum was received' '0 0' "$(bad_checksums a) $(bad_checksums b)"
finish
