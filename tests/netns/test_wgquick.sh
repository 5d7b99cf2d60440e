#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wg-quick with ordinary configuration files, and wg's ways to load one; the
# peer is wireguard-go.
#
#   +------ a ------+  u0: 192.0.2.0/24 2001:db8::/64   +------ b ------+
#   | $A :51001     |----------------------------------| $B :51002     |
#   | 10.9.0.1/24   |                                  | 10.9.0.2      |
#   | fd00:9::1/64  |                                  | fd00:9::2     |
#   +---------------+                    10.77.0.1, fd00:77::1 on lo  |
#    wg-quick up $A                                    +---------------+
# shellcheck disable=SC2317 # checks call functions by name
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Where the kernel has a WireGuard of its own, wg-quick asks no other.
! ip link add "${id}k" type wireguard 2>/dev/null || {
	ip link delete "${id}k"
	skip "this kernel's own WireGuard is what wg-quick would use"
}
[ ! -e /sys/module/wireguard ] || skip 'the module wireguard is loaded: wg-quick would use no other'
command -v wg-quick >/dev/null || skip 'needs wg-quick'

conf=$work/$A.conf

topology() {
	ns_new a b
	link_new a u0 b u0
	address_add a u0 192.0.2.1/24 2001:db8::1/64
	address_add b u0 192.0.2.2/24 2001:db8::2/64
	address_add b lo 10.77.0.1/32 fd00:77::1/128
	key_new a b c
	(umask 077 && wg genpsk >"$work/psk")
	daemon_start go b "$B"
	lane_up b "$B" b 51002 10.9.0.2/24 fd00:9::2/64
	wg set "$B" peer "$(pub a)" preshared-key "$work/psk" allowed-ips 10.9.0.1/32,fd00:9::1/128
}

write_conf() { # ALLOWED-IPS [LINE-OF-INTERFACE...]
	local allowed=$1
	shift
	(
		umask 077
		printf '%s\n' '[Interface]' 'Address = 10.9.0.1/24, fd00:9::1/64' 'ListenPort = 51001' \
			"PrivateKey = $(cat "$work/a.key")" "$@" '' '# the other side' '[Peer]' \
			"PublicKey = $(pub b)" "PresharedKey = $(cat "$work/psk")" \
			"AllowedIPs = $allowed" 'Endpoint = 192.0.2.2:51002' 'PersistentKeepalive = 25' >"$conf"
	)
}

quick() { # up|down|save|strip
	WG_QUICK_USERSPACE_IMPLEMENTATION=$SEALANED ip netns exec "$id-a" wg-quick "$1" "$conf"
}

lane_pid() { pgrep -f "^$SEALANED $A\$"; }

is_gone() {
	! ip -n "$id-a" link show "$A" 2>/dev/null && ! lane_pid &&
		[ ! -e "/var/run/wireguard/$A.sock" ] && [ ! -e "/var/run/sealane/$A.sock" ]
}

device_mtu() { at a cat "/sys/class/net/$A/mtu"; }

plain() {
	write_conf '10.9.0.2/32, fd00:9::2/128' 'MTU = 1380' \
		"PostUp = echo up %i >$work/hooks" "PreDown = echo down %i >>$work/hooks"
	check 'up' quick up
	check 'the hook has run' grep -qx "up $A" "$work/hooks"
	check 'it is sealaned' control_get "$A"
	check_equal 'MTU' 1380 "$(device_mtu)"
	check 'IPv4' pings a 3 10.9.0.2
	check 'IPv6' pings a 3 fd00:9::2
	check 'from the other side' pings b 3 10.9.0.1
	check 'TCP' tcp_exchange a b 10.9.0.2 1000000
	check_fails 'a second up is refused' quick up
	check 'and harms nothing' pings a 1 10.9.0.2
	check 'down' quick down
	check 'the other hook has run' grep -qx "down $A" "$work/hooks"
	check 'nothing is left' eventually 2 is_gone
}

# All traffic goes into the tunnel, but for its own datagrams, which carry a mark.
everything() {
	local before after
	before=$(at a ip rule; at a ip -6 rule; at a nft list ruleset)
	write_conf '0.0.0.0/0, ::/0'
	check 'default routes: up' quick up
	check 'default routes: a mark is set' test "$(wg show "$A" fwmark)" != off
	check 'default routes: the peer' pings a 3 10.9.0.2
	check 'default routes: what is behind it' pings a 3 10.77.0.1
	check 'default routes: IPv6 behind it' pings a 3 fd00:77::1
	check 'default routes: a route through the tunnel' route_is_through_tunnel 198.51.100.1
	check_equal 'default routes: MTU by the endpoint' 1420 "$(device_mtu)"
	check 'default routes: TCP' tcp_exchange a b 10.77.0.1 1000000
	check 'default routes: down' quick down
	check 'default routes: nothing is left' eventually 2 is_gone
	after=$(at a ip rule; at a ip -6 rule; at a nft list ruleset)
	check_equal 'default routes: rules and filters are as before' "$before" "$after"
}

route_is_through_tunnel() { at a ip route get "$1" | grep -w "$A"; }

# What runs, written down and loaded again, is the same.
save_and_strip() {
	local running
	write_conf '10.9.0.2/32, fd00:9::2/128'
	check 'up again' quick up
	pings a 1 10.9.0.2
	wg set "$A" peer "$(pub c)" allowed-ips 10.9.0.3/32,10.10.0.0/16 persistent-keepalive 7
	running=$(wg showconf "$A")
	check 'save' quick save
	check 'the new peer is in the file' grep -qF "$(pub c)" "$conf"
	quick strip >"$work/stripped" 2>"$work/strip.log"
	check_equal 'strip gives what runs' "$running" "$(cat "$work/stripped")"
	check 'syncconf' wg syncconf "$A" "$work/stripped"
	check_equal 'changes nothing' "$running" "$(wg showconf "$A")"
	check_at_least 'not even the session' 1 "$(handshake_time "$A" b)"
	check 'traffic goes on' pings a 3 10.9.0.2

	grep -v PersistentKeepalive "$work/stripped" | sed "/$(pub c | tr / .)/,\$d" >"$work/less"
	sed -i '${/\[Peer\]/d}' "$work/less"
	check 'syncconf with a peer less' wg syncconf "$A" "$work/less"
	check_equal 'removes it' "$(pub b)" "$(wg show "$A" peers)"
	check 'and keeps the other' pings a 3 10.9.0.2
	printf '[Peer]\nPublicKey = %s\nAllowedIPs = 10.9.0.3/32\n' "$(pub c)" >"$work/more"
	check 'addconf' wg addconf "$A" "$work/more"
	check_equal 'adds it' 2 "$(wg show "$A" peers | wc -l)"
	check 'setconf' wg setconf "$A" "$work/less"
	check_equal 'replaces all' "$(pub b)" "$(wg show "$A" peers)"
	check 'with a new session' pings a 3 10.9.0.2
	check 'down with SaveConfig absent' quick down
	check 'nothing is left after that' eventually 2 is_gone
	check 'the saved file comes up' quick up
	check_equal 'as it was' "$running" "$(wg showconf "$A")"
	check 'and works' eventually 6 pings a 3 10.9.0.2
	check 'down at last' quick down
	check 'nothing is left at last' eventually 2 is_gone
}

topology
plain
everything
save_and_strip
finish
