#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every escape hatch does what it says: seen in the system calls of the lane, on
# the wire and in what the lane tells of itself. Traffic flows all the same.
#
#   +--------- a ----------+                   +--------- b ----------+
#   | vx0 10.10.0.1        |                   |        10.10.0.2 vx0 |
#   |  |  vni 42 noudpcsum |                   |                   |  |
#   | $A  10.9.0.1  :51001 |-------------------| :51002  10.9.0.2  $B |
#   +---------|------------+ u0 192.0.2.1-2 u0 +----------------------+
#     v0 10.9.3.1
#   +---------|------------+
#   | v0 10.9.3.2          |   In `zero_csum` the VXLAN ends in c, behind a. $A is
#   +--------- c ----------+   the lane that is watched.
# shellcheck disable=SC2317 # checks call functions by name
set -euo pipefail

# What the functional probe leaves has one fixed place; here that is another one's.
if [ "${1:-}" != inside ] && [ "$(id -u)" = 0 ]; then
	exec unshare --mount --propagation private "$0" inside
fi
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
command -v strace >/dev/null || skip 'needs strace'
mount -t tmpfs tmpfs /var/lib

exchanged=2000000 # bytes each way
single=1458       # an MTU of 1420, 24 of vnet header, 14 of Ethernet
large=10000
# Not every strace has a name for the types of control messages.
is_run='UDP_SEGMENT|SOL_UDP, cmsg_type=0x67'
is_gro='(UDP_GRO|SOL_UDP, cmsg_type=0x68)'
numbers=$(dirname "${BASH_SOURCE[0]}")/numbered_udp.py

topology() {
	ns_new a b c
	link_new a u0 b u0
	link_new a v0 c v0
	address_add a u0 192.0.2.1/24
	address_add b u0 192.0.2.2/24
	address_add a v0 10.9.3.1/24
	address_add c v0 10.9.3.2/24
	ip -n "$id-c" route add default via 10.9.3.1
	at a sysctl -qw net.ipv4.ip_forward=1
	key_new a b
}

# sealaned with its system calls in $work/trace, from the first one on. -D: the
# process is sealaned itself, the tracer is its grandchild.
untraced=$SEALANED
make_traced() {
	cat >"$work/traced" <<-SH
		#!/bin/sh
		export ASAN_OPTIONS=detect_leaks=0
		exec strace -D -f -qq -y -s 64 -A -o "$work/trace" \
			-e trace=ioctl,setsockopt,sendmsg,sendmmsg,recvmmsg,readv,writev \
			"$untraced" "\$@"
	SH
	chmod +x "$work/traced"
}

tunnel_up() { # [NAME=VALUE...]
	: >"$work/trace"
	SEALANED=$work/traced
	daemon_start auto a "$A" "$@"
	SEALANED=$untraced
	daemon_start auto b "$B"
	lane_up a "$A" a 51001 10.9.0.1/24
	lane_up b "$B" b 51002 10.9.0.2/24
	wg set "$A" peer "$(pub b)" allowed-ips 10.9.0.2/32 endpoint 192.0.2.2:51002
	wg set "$B" peer "$(pub a)" allowed-ips 10.9.0.1/32,10.9.3.0/24 endpoint 192.0.2.1:51001
	ip -n "$id-b" route add 10.9.3.0/24 dev "$B"
	cp "$work/trace" "$work/trace.start"
}

tunnel_down() {
	daemon_stop "$A" "$B"
	vxlan_down
}

vxlan_up() { # NAMESPACE LOCAL: towards b
	ip -n "$id-$1" link add vx0 mtu 1370 type vxlan id 42 dstport 4789 local "$2" remote 10.9.0.2 noudpcsum
	ip -n "$id-b" link add vx0 mtu 1370 type vxlan id 42 dstport 4789 local 10.9.0.2 remote "$2" noudpcsum
	address_add "$1" vx0 10.10.0.1/24
	address_add b vx0 10.10.0.2/24
	ip -n "$id-$1" link set vx0 up
	ip -n "$id-b" link set vx0 up
}

vxlan_down() {
	local ns
	for ns in a b c; do
		ip -n "$id-$ns" link delete vx0 2>/dev/null || true
	done
}

# ---- traffic, with the trace of it alone

plain() {
	: >"$work/trace"
	tcp_exchange a b 10.9.0.2 "$exchanged"
}

vxlan() {
	vxlan_up a 10.9.0.1
	: >"$work/trace"
	tcp_exchange a b 10.10.0.2 "$exchanged"
}

udp() {
	: >"$work/trace"
	udp_numbers a b 10.9.0.2 && udp_numbers b a 10.9.0.1
}

# 1200-byte datagrams, 20 a send.
udp_numbers() { # NAMESPACE NAMESPACE ADDRESS
	local server
	at "$2" python3 "$numbers" receive 5002 1000 >"$work/numbers" &
	server=$!
	eventually 5 is_listening "$2" udp 5002 || return 1
	at "$1" python3 "$numbers" send "$3" 5002 1000 1200 20 || return 1
	wait "$server"
	is_equal 'lost=0 doubled=0 reordered=0 changed=0' cat "$work/numbers"
}

# ---- what the trace and the kernel say

largest() { # readv|writev: in bytes, of the device
	awk -v call=" $1\\\\([0-9]+</dev/net/tun" '
		$0 ~ call && / = [0-9]+$/ && $NF > max { max = $NF }
		END { print max + 0 }' "$work/trace"
}

# The mask the device got in the end: a throw-away device may have been tried before.
offload_mask() {
	grep 'TUNSETOFFLOAD' "$work/trace.start" | grep ' = 0$' | tail -n 1 | sed 's/.*TUNSETOFFLOAD, \(0x[0-9a-f]*\|0\)).*/\1/'
}

n_traced() { # EXPRESSION: lines of start and traffic
	cat "$work/trace.start" "$work/trace" | grep -cE "$1" || true
}

device_is() { # WORDS: what the kernel says of the device
	ip -n "$id-a" -d link show "$A" | grep -F -- "$1"
}

capability() { # NAME: "on ..." or "off ..."
	control_get "$A" | sed -n "s/^capability=$1 //p"
}

check_small() { # TEXT CALL
	check_at_least "$1: the $2 was seen" 100 "$(largest "$2")"
	check_at_most "$1: single packets by $2" "$single" "$(largest "$2")"
}

check_large() { # TEXT CALL
	check_at_least "$1: superpackets by $2" "$large" "$(largest "$2")"
}

check_off() { # VARIABLE CAPABILITY
	check_equal "$1: $2 is off, and why" "off switched off by $1" "$(capability "$2")"
}

# ---- none open: what the checks below must not find is there

none() {
	local name='no hatch'
	tunnel_up
	check "$name: the vnet header" device_is 'tun type tap pi off vnet_hdr on'
	check_equal "$name: offloads" 0x1e7 "$(offload_mask)"
	check "$name: traffic" plain
	check_large "$name" readv
	check_large "$name" writev
	check_at_least "$name: runs" 10 "$(n_traced "$is_run")"
	check_at_least "$name: UDP_GRO" 1 "$(n_traced "setsockopt.*$is_gro")"
	check_at_least "$name: receives of several" 10 "$(n_traced "recvmmsg.*$is_gro")"
	check "$name: numbered UDP" udp
	check_large "$name, UDP" readv
	check_large "$name, UDP" writev
	check "$name: VXLAN" vxlan
	check_large "$name, VXLAN" readv
	check_large "$name, VXLAN" writev
	tunnel_down
}

# ---- the device

vnet_hdr() {
	local name=SEALANE_DISABLE_VNET_HDR kind capability
	for kind in tap tun; do
		tunnel_up "$name=1" "SEALANE_DEVICE=$kind"
		check "$name: $kind" device_is "tun type $kind pi off vnet_hdr off"
		check_off "$name" vnet_hdr
		for capability in tun_gso tun_tcp_gro tun_udp_gro tunnel_gso; do
			check_equal "$name: nor $capability" \
				"off needs the vnet header, switched off by $name" "$(capability "$capability")"
		done
		for traffic in plain udp vxlan; do
			check "$name: $traffic, $kind" "$traffic"
			check_small "$name, $traffic, $kind" readv
			check_small "$name, $traffic, $kind" writev
		done
		tunnel_down
	done
}

tun_gso() {
	local name=SEALANE_DISABLE_TUN_GSO kind
	for kind in tap tun; do
		tunnel_up "$name=1" "SEALANE_DEVICE=$kind"
		check_one_of "$name: no offload, $kind" "$(offload_mask)" '' 0 0x0
		check_off "$name" tun_gso
		for traffic in plain udp vxlan; do
			check "$name: $traffic, $kind" "$traffic"
			check_small "$name, $traffic, $kind" readv
		done
		tunnel_down
	done
}

tun_gro() {
	local name
	for name in SEALANE_DISABLE_TUN_TCP_GRO TS_TUN_DISABLE_TCP_GRO; do
		tunnel_up "$name=1"
		check_off "$name" tun_tcp_gro
		check "$name: traffic" plain
		check_large "$name" readv
		check_small "$name" writev
		check "$name: numbered UDP" udp
		check_large "$name, UDP" writev
		tunnel_down
	done
	for name in SEALANE_DISABLE_TUN_UDP_GRO TS_TUN_DISABLE_UDP_GRO; do
		tunnel_up "$name=true"
		check_off "$name" tun_udp_gro
		check "$name: numbered UDP" udp
		check_large "$name" readv
		check_small "$name" writev
		check "$name: traffic" plain
		check_large "$name, TCP" writev
		tunnel_down
	done
}

tunnel_gso() {
	local name=SEALANE_DISABLE_TUNNEL_GSO kind
	for kind in auto tap; do
		tunnel_up "$name=1" "SEALANE_DEVICE=$kind" SEALANE_ZERO_CSUM_GRO=off
		check "$name: the device, $kind" device_is "tun type ${kind/auto/tun} "
		check_equal "$name: offloads, $kind" 0x67 "$(offload_mask)"
		check_off "$name" tunnel_gso
		check "$name: VXLAN, $kind" vxlan
		check_small "$name, VXLAN, $kind" readv
		check_small "$name, VXLAN, $kind" writev
		check "$name: traffic, $kind" plain
		check_large "$name, plain, $kind" readv
		check_large "$name, plain, $kind" writev
		tunnel_down
	done
}

device() {
	local kind
	for kind in tap tun; do
		tunnel_up "SEALANE_DEVICE=$kind"
		check "SEALANE_DEVICE=$kind" device_is "tun type $kind "
		check "SEALANE_DEVICE=$kind: why" grep -F "SEALANE_DEVICE=$kind" <<<"$(capability tap_device)"
		check "SEALANE_DEVICE=$kind: traffic" plain
		tunnel_down
	done
}

# ---- the sockets

udp_gso() {
	local name
	for name in SEALANE_DISABLE_UDP_GSO TS_DEBUG_DISABLE_UDP_GSO; do
		tunnel_up "$name=1"
		check "$name: traffic" plain
		check_equal "$name: never UDP_SEGMENT" 0 "$(n_traced "$is_run")"
		check_off "$name" udp_gso
		check_equal "$name: one datagram a send" "$(counter "$A" stat=udp_datagrams_out)" \
			"$(counter "$A" stat=udp_runs_out)"
		tunnel_down
	done
}

udp_gro() {
	local name
	for name in SEALANE_DISABLE_UDP_GRO TS_DEBUG_DISABLE_UDP_GRO; do
		tunnel_up "$name=1"
		check "$name: traffic" plain
		check_equal "$name: never UDP_GRO" 0 "$(n_traced "$is_gro")"
		check_off "$name" udp_gro
		check_equal "$name: one datagram a receive" "$(counter "$A" stat=udp_datagrams_in)" \
			"$(counter "$A" stat=udp_messages_in)"
		tunnel_down
	done
}

ecn() {
	local name=SEALANE_DISABLE_ECN
	tunnel_up "$name=1"
	check_off "$name" ecn
	pings a 1 10.9.0.2
	capture_start ecn b u0 udp dst port 51002
	check "$name: traffic" pings a 3 10.9.0.2 -Q 2
	capture_stop
	check_equal "$name: no codepoint outside" 3 \
		"$(captured ecn 'udp[8:4] = 0x04000000 and ip[1] = 0')"
	at a nft 'table inet t { counter ce {}; chain u { type filter hook prerouting priority -300; iifname u0 udp dport 51001 ip ecn set ce; }; }'
	at a nft "add chain inet t lane { type filter hook input priority 0; }; add rule inet t lane iifname $A ip ecn ce counter name ce"
	check "$name: traffic under congestion" pings a 3 10.9.0.2 -Q 2
	check_equal "$name: no mark goes inside" 1 "$(at a nft list counter inet t ce | grep -c 'packets 0 ')"
	at a nft delete table inet t
	tunnel_down
}

simd() {
	local name=SEALANE_DISABLE_SIMD
	tunnel_up "$name=1"
	check "$name: simd is off, and why" grep -x "off switched off by $name, portable checksums" <<<"$(capability simd)"
	check "$name: traffic" plain
	check "$name: VXLAN" vxlan
	tunnel_down
}

# ---- VXLAN without checksum where it can be merged as plain UDP only

zero_csum() { # KNOB [FORWARDED]
	local name="SEALANE_ZERO_CSUM_GRO=$1${2:+, forwarded}"
	tunnel_up "SEALANE_ZERO_CSUM_GRO=$1" SEALANE_DISABLE_TUNNEL_GSO=1
	if [ -z "${2:-}" ]; then
		check "$name: VXLAN" vxlan
	else
		vxlan_up c 10.9.3.2
		: >"$work/trace"
		check "$name: VXLAN" tcp_exchange c b 10.10.0.2 "$exchanged"
	fi
}

zero_csums() {
	tunnel_up SEALANE_ZERO_CSUM_GRO=off SEALANE_DISABLE_TUNNEL_GSO=1
	check_equal 'SEALANE_ZERO_CSUM_GRO=off: why' 'off SEALANE_ZERO_CSUM_GRO=off' "$(capability zero_csum_gro)"
	tunnel_down
	"$SEALANED" --probe >"$work/probe" || true
	zero_csum off
	check_small SEALANE_ZERO_CSUM_GRO=off writev
	tunnel_down
	if ! grep -q ': passed' "$work/probe"; then
		pass "SEALANE_ZERO_CSUM_GRO=on, auto: left out, $(tail -n 1 "$work/probe")"
		return 0
	fi
	zero_csum auto
	check_large SEALANE_ZERO_CSUM_GRO=auto writev
	tunnel_down
	zero_csum auto forwarded
	check_small 'SEALANE_ZERO_CSUM_GRO=auto, forwarded' writev
	tunnel_down
	zero_csum on forwarded
	check_large 'SEALANE_ZERO_CSUM_GRO=on, forwarded' writev
	tunnel_down
}

# ---- names and values

lines_of() { # NAME=VALUE...: stderr of a lane that ends at once or after a moment
	rm -f "$work/lines"
	env "$@" timeout -s TERM 1 ip netns exec "$id-a" "$SEALANED" -f "$C" 2>"$work/lines" || lines_status=$?
	grep -v 'stopping: SIGTERM' "$work/lines" || true
}

unknown() { # NAME NEAREST
	local lines
	lines=$(lines_of "$1=1")
	check_equal "$1 is warned of in one line" 1 "$(wc -l <<<"$lines")"
	check "$1: which names what is near" \
		grep -xE "sealaned:( $C:)? environment: $1 is not known${2:+; did you mean $2\?}" <<<"$lines"
}

bad_value() { # NAME VALUE
	local lines_status=0 lines
	lines=$(
		lines_of "$1=$2"
		exit "$lines_status"
	) || lines_status=$?
	check_equal "$1=$2: exit status" 1 "$lines_status"
	check_equal "$1=$2: one line" 1 "$(wc -l <<<"$lines")"
	check "$1=$2: which names it" grep -F "$1=$2" <<<"$lines"
}

names() {
	unknown SEALANE_DISABLE_TUN_GOS SEALANE_DISABLE_TUN_GSO
	unknown SEALANE_DEVISE SEALANE_DEVICE
	unknown SEALANE_ZERO_CSUM SEALANE_ZERO_CSUM_GRO
	unknown SEALANE_SOMETHING_ELSE ''
	bad_value SEALANE_DEVICE tapp
	bad_value SEALANE_ZERO_CSUM_GRO maybe
	bad_value SEALANE_ENCAP_PORTS 4789
}

topology
make_traced
none
vnet_hdr
tun_gso
tun_gro
tunnel_gso
device
udp_gso
udp_gro
ecn
simd
zero_csums
names
finish
