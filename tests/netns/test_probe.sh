#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The functional probe: what it says, what it leaves behind, and that a lane goes
# by it. Tunnel superpackets are switched off, so that a zero-checksum VXLAN can
# only be merged as plain UDP, which takes a kernel that is known to be fixed.
#
#   +--------- a ----------+                   +--------- b ----------+
#   | vx0 10.10.0.1        |                   |        10.10.0.2 vx0 |
#   |  |  vni 42 noudpcsum |                   |                   |  |
#   | $A  10.9.0.1  :51001 |-------------------| :51002  10.9.0.2  $B |
#   +----------------------+ u0 192.0.2.1-2 u0 +----------------------+
# shellcheck disable=SC2317 # checks call functions by name
set -euo pipefail

# The probe's file has one fixed place; here that is another one's, empty.
if [ "${1:-}" != inside ] && [ "$(id -u)" = 0 ]; then
	exec unshare --mount --propagation private "$0" inside
fi
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
mount -t tmpfs tmpfs /var/lib

file=/var/lib/sealane/kernel-probe
streamed=64000000 # bytes one way

# Without IPv6 nobody sends anything that is not counted below.
topology() {
	ns_new a b
	at a sysctl -qw net.ipv6.conf.default.disable_ipv6=1
	at b sysctl -qw net.ipv6.conf.default.disable_ipv6=1
	link_new a u0 b u0
	address_add a u0 192.0.2.1/24
	address_add b u0 192.0.2.2/24
	key_new a b
}

# ---- the probe itself

this_kernel() { # WORD: its line in the file
	printf '%s\t%s\t%s' "$1" "$(uname -r)" "$(uname -v)"
}

namespaces_seen() { readlink /proc/self/ns/net; ip -o link | wc -l; }

probes() {
	local before out
	before=$(namespaces_seen)
	out=$("$SEALANED" --probe) || { printf '%s\n' "$out"; return 1; }
	printf '%s\n' "$out"
	grep -q ': passed: 4 of the 4 ' <<<"$out" && is_equal "$before" namespaces_seen
}

probe_says() {
	check 'the probe passes and leaves nothing but its file' probes
	check_equal 'the file has this kernel in its second line' "$(this_kernel passed)" "$(sed -n 2p "$file")"
	check_equal 'and the folder has nothing else' kernel-probe "$(ls -A "${file%/*}")"
	printf 'failed\tother\t#1\n' >>"$file"
	check 'it may run again' probes
	check_equal 'and keeps what is said of other kernels' \
		"$(this_kernel passed)"$'\n'$'failed\tother\t#1' "$(tail -n +2 "$file")"
	check_fails 'the probe takes no device' "$SEALANED" --probe wg0
}

without_rights() {
	local out status=0
	out=$(setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all "$SEALANED" --probe) || status=$?
	check_equal 'without rights it fails' 1 "$status"
	check 'and says that it was not possible' grep -q ': not possible: .*run as root' <<<"$out"
	check_equal 'what is known stays' "$(this_kernel passed)" "$(sed -n 2p "$file")"
}

# ---- lanes

tunnel_up() { # NAME=VALUE...
	daemon_start tun a "$A" SEALANE_DISABLE_TUNNEL_GSO=1 "$@"
	daemon_start tun b "$B" SEALANE_DISABLE_TUNNEL_GSO=1 "$@"
	lane_up a "$A" a 51001 10.9.0.1/24
	lane_up b "$B" b 51002 10.9.0.2/24
	wg set "$A" peer "$(pub b)" allowed-ips 10.9.0.2/32 endpoint 192.0.2.2:51002
	wg set "$B" peer "$(pub a)" allowed-ips 10.9.0.1/32 endpoint 192.0.2.1:51001
	ip -n "$id-a" link add vx0 mtu 1370 type vxlan id 42 dstport 4789 local 10.9.0.1 remote 10.9.0.2 noudpcsum
	ip -n "$id-b" link add vx0 mtu 1370 type vxlan id 42 dstport 4789 local 10.9.0.2 remote 10.9.0.1 noudpcsum
	address_add a vx0 10.10.0.1/24
	address_add b vx0 10.10.0.2/24
	ip -n "$id-a" link set vx0 up
	ip -n "$id-b" link set vx0 up
}

tunnel_down() {
	ip -n "$id-a" link delete vx0
	ip -n "$id-b" link delete vx0
	daemon_stop "$A" "$B"
}

capability() { control_get "$B" | sed -n "s/^capability=$1 //p"; } # NAME

# Bytes from a to b, compared.
stream() {
	local server
	head -c "$streamed" /dev/urandom >"$work/sent"
	rm -f "$work/got"
	at b socat -u TCP4-LISTEN:5001,reuseaddr "CREATE:$work/got" &
	server=$!
	eventually 5 is_listening b tcp 5001 || return 1
	timeout 60 ip netns exec "$id-a" socat -u -b 262144 "OPEN:$work/sent,rdonly" TCP4:10.10.0.2:5001 || return 1
	wait "$server" || return 1
	cmp "$work/sent" "$work/got"
}

# Each datagram that a's device gave was one packet for the tunnel device in b.
all_arrived() {
	local sent got
	sent=$(counter "$A" stat=device_packets_in)
	got=$(at b cat /sys/class/net/vx0/statistics/rx_packets)
	[ "$sent" -gt $((streamed / 1400)) ] && is_equal "$sent" echo "$got"
}

# Datagrams that went to b's device in one write with others.
n_merged() { counter "$B" stat=packets_merged; }
n_lost_in_vxlan() {
	at b ip -s -j link show vx0 | sed -n 's/.*"rx":{[^}]*"errors":\([0-9]*\),"dropped":\([0-9]*\).*/\1 \2/p'
}

carries() { # NAME
	check "$1: 64 MB of TCP through the VXLAN" stream
	check "$1: every datagram arrived in the tunnel device" eventually 2 all_arrived
	check_equal "$1: the tunnel's receiver refused nothing" '0 0' "$(n_lost_in_vxlan)"
	check_equal "$1: the kernel took every merged packet" 0 "$(counter "$B" stat=merges_refused)"
	check_equal "$1: nothing was dropped" '0 0' "$(n_drops "$A") $(n_drops "$B")"
}

merges() { # NAME REASON
	check_equal "$1: zero-checksum datagrams may be merged" "on $2" "$(capability zero_csum_gro)"
	check_equal "$1: others, too" "on $2" "$(capability encap_udp_gro)"
	carries "$1"
	check_at_least "$1: datagrams were merged" $((streamed / 1400 / 4)) "$(n_merged)"
}

merges_not() { # NAME REASON
	check_equal "$1: zero-checksum datagrams are not merged" "off $2" "$(capability zero_csum_gro)"
	carries "$1"
	check_equal "$1: no datagram was merged" 0 "$(n_merged)"
}

# A kernel numbered as upstream's is known by its number alone.
is_vendor_numbered() { [[ $(capability encap_udp_gro) == *'numbered by a vendor'* ]]; }

unprobed='off release unknown or numbered by a vendor, and the functional probe has not passed'

by_the_number() {
	rm -rf "${file%/*}"
	tunnel_up
	if is_vendor_numbered; then
		merges_not unprobed "${unprobed#off } (never run here: sealaned --probe)"
		vendor=yes
	else
		printf '%s has a number of its own: %s\n' "$(uname -r)" "$(capability encap_udp_gro)"
		vendor=no
	fi
	tunnel_down
}

by_the_probe() {
	"$SEALANED" --probe >/dev/null
	tunnel_up
	if [ "$vendor" = yes ]; then
		merges probed 'the functional probe passed on this kernel'
	else
		merges probed "$(capability encap_udp_gro | sed 's/^on //')"
	fi
	tunnel_down
	tunnel_up SEALANE_ZERO_CSUM_GRO=off
	merges_not 'switched off' 'SEALANE_ZERO_CSUM_GRO=off'
	tunnel_down
}

by_a_failed_probe() {
	printf 'sealane-kernel-probe 1\n%s\n' "$(this_kernel failed)" >"$file"
	tunnel_up SEALANE_ZERO_CSUM_GRO=on
	merges_not 'probe failed' 'the functional probe failed on this kernel'
	check 'the log tells that it is refused' grep -q 'SEALANE_ZERO_CSUM_GRO=on is refused: ' "$work/$B.log"
	tunnel_down
}

by_a_broken_file() {
	printf 'sealane-kernel-probe 1\nnonsense\n' >"$file"
	: >"$work/$B.log"
	tunnel_up
	check 'a broken file: the log tells' grep -q "$file: malformed" "$work/$B.log"
	[ "$vendor" = no ] ||
		check_equal 'a broken file is none' "$unprobed (its file is malformed)" "$(capability zero_csum_gro)"
	tunnel_down
}

topology
probe_says
without_rights
by_the_number
by_the_probe
by_a_failed_probe
by_a_broken_file
check_equal 'no bad checksum was received' '0 0' "$(bad_checksums a) $(bad_checksums b)"
finish
