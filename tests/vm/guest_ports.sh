#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in a virtual machine: VXLAN ports of the lane on a kernel that is not this
# machine's. Which kind of device a port gets there, what passes and how large, and
# that nothing of it reaches the stack of the host under the lane.
#
#   +--- p ---+ +--------- a --------+                 +--------- b ---------+
#   | ov0, at | | ov0 10.10.0.1      |                 |      10.10.0.2  ov0 |
#   | the end | |  |  fd00:10::1     |                 |     fd00:10::2   |  |
#   +---------+ | port of $A         |                 |    port or kernel   |
#               | $A  10.9.0.1       | u0           u0 |       10.9.0.2  $B  |
#               |     :51001         |-----------------| :51002              |
#               +--------------------+ 192.0.2.1    .2 +---------------------+
# shellcheck disable=SC2317 # checks call functions by name
set -euo pipefail

# The libraries ask for these; nothing here uses them, and they are large.
export WIREGUARD_GO_DEBIAN=true
python3() { false; }
ethtool() { false; }

# shellcheck source=tests/netns/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../netns/lib.sh"
# shellcheck source=tests/netns/port_lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../netns/port_lib.sh"

exchanged=500000 # bytes each way
streamed=3145728 # bytes one way, which fit into a window that has grown
datagrams=480000 # bytes in datagrams, 40 of 1200 bytes a send
large=40000 # bytes a read has at least, on average, where the limit is 64 KB
legacy=65536 # and where it is 192 KB
lost_percent=5 # of a stream's segments sent again, at most
marker=SEALANE-SECRET01
name=

in_both() { # COMMAND...
	at a "$@"
	at b "$@"
}

# However slow the machine is, TCP makes superpackets as long as it may, and sends
# again what is lost only: neither waits for answers (see wide_windows).
topology() {
	ns_new a b p
	sysctl -qw net.core.rmem_max=16777216
	in_both sysctl -qw net.ipv4.tcp_tso_rtt_log=31 net.ipv4.tcp_min_tso_segs=32 \
		net.ipv4.tcp_early_retrans=0 net.ipv4.tcp_slow_start_after_idle=0 \
		net.ipv4.tcp_rmem='4096 16000000 32000000' net.ipv4.tcp_wmem='4096 16000000 32000000'
	link_new a u0 b u0
	address_add a u0 192.0.2.1/24
	address_add b u0 192.0.2.2/24
	key_new a b
	head -c "$datagrams" /dev/urandom >"$work/datagrams"
	head -c "$streamed" /dev/urandom >"$work/data"
}

lanes_up() { # [NAME=VALUE...]
	daemon_start auto a "$A" "$@"
	daemon_start auto b "$B" "$@"
	lane_up a "$A" a 51001 10.9.0.1/24 fd00:9::1/64
	lane_up b "$B" b 51002 10.9.0.2/24 fd00:9::2/64
	wg set "$A" peer "$(pub b)" allowed-ips 10.9.0.2/32,fd00:9::2/128 endpoint 192.0.2.2:51002
	wg set "$B" peer "$(pub a)" allowed-ips 10.9.0.1/32,fd00:9::1/128 endpoint 192.0.2.1:51001
	check 'the lanes are connected' eventually 20 pings a 1 10.9.0.2
}

# ---- which kind of device

# What the kernel needs for the drop at a lane end, tried one without the other. No
# module comes by itself here.
kinds() {
	kind_is 'left to choose, with tc' veth 'packet socket; host.s stack kept off by tc'
	without cls_bpf sch_ingress
	kind_is 'without tc' veth 'packet socket; host.s stack kept off by nftables'
	without nf_tables
	kind_is 'without either' tap 'no veth: the lane end cannot be kept from the host.s stack'
	check_fails 'without either: a veth is refused' port "$A" add ov0 vtep 10.9.0.1 vni 42 kind veth
	check 'without either: and leaves nothing' has_no_port "$A" ov0
	with nf_tables sch_ingress cls_bpf
	check_fails 'no device is left of all that' any_lane_end
}

kind_is() { # TEXT KIND REASON
	local shown reason
	port "$A" add ov0 vtep 10.9.0.1 vni 42
	shown=$(port "$A" show ov0)
	reason=$(sed -n 's/^port_reason=//p' <<<"$shown")
	check "$1: the kind of a port" grep -x "port_kind=$2" <<<"$shown"
	check "$1: why" grep "^$3" <<<"$reason"
	printf '%s: %s\n' "$1" "$reason"
	port "$A" del ov0
}

# A filter is freed some time after its device.
without() { # MODULE...
	local module
	for module in "$@"; do
		check "$module can be unloaded" eventually 20 rmmod "$module"
	done
}

with() { # MODULE...
	local module
	for module in "$@"; do
		check "$module can be loaded" insmod "/modules/$module.ko"
	done
}

any_lane_end() { ip -n "$id-a" -o link show | grep slport; }

lane_end() {
	ip -n "$id-a" -o link show | sed -n 's/^[0-9]*: \(slport[0-9]*\)@.*/\1/p'
}

# ---- what arrives

# Counts packets that a stack takes, by rules of nft; from zero.
watch() { # NAMESPACE RULE...
	local ns=$1
	shift
	{
		printf '%s\n' 'add table inet watch' 'delete table inet watch' 'table inet watch {' \
			'chain c {' 'type filter hook prerouting priority -400;'
		printf '%s counter\n' "$@"
		printf '%s\n' '}' '}'
	} | at "$ns" nft -f -
}

watched() { # NAMESPACE: the numbers, in the rules' order
	at "$1" nft list table inet watch | sed -n 's/.* counter packets \([0-9]*\) .*/\1/p' | paste -sd ' '
}

broken() { # NAMESPACE: packets with wrong checksums or headers
	at "$1" nstat -asz TcpInCsumErrors TcpInErrs UdpInCsumErrors UdpInErrors Udp6InCsumErrors \
		Udp6InErrors IpInHdrErrors Ip6InHdrErrors IpInTruncatedPkts Ip6InTruncatedPkts |
		awk '!/^#/ { n += $2 } END { print n + 0 }'
}

# ---- how large

# How much the counters of the ports have grown since the last call.
declare -A before=() grown=()
count() { # LANE...
	local lane field value
	for lane in "$@"; do
		while read -r field value; do
			field=$lane.$field
			grown[$field]=$((value - ${before[$field]:-0}))
			before[$field]=$value
		done < <(port "$lane" show ov0 | sed -n 's/^port_stat=//p')
	done
}

mean() { # LANE in|out
	local n=${grown[$1.frames_$2]}
	echo $((${grown[$1.bytes_$2]} / (n ? n : 1)))
}

limit_is() { # NAMESPACE LIMIT VALUE
	ip -n "$id-$1" -d link show ov0 | grep -w "$2 $3"
}

capability() { # LANE NAME: on|off REASON
	control_get "$1" | sed -n "s/^capability=$2 //p"
}

default_limit() {
	local big
	big=$(capability "$A" big_tcp)
	printf 'big_tcp: %s\n' "$big"
	if kernel_at_least 6 18; then
		check "$name: big_tcp is on" grep -q '^on' <<<"$big"
		check "$name: 192 KB in a" limit_is a gso_max_size 196608
		check "$name: 192 KB in b" limit_is b gso_max_size 196608
	else
		check "$name: big_tcp is off, and why" grep -q '^off .*before 6.18' <<<"$big"
		check "$name: 64 KB in a" limit_is a gso_max_size 65536
		check "$name: 64 KB in b" limit_is b gso_max_size 65536
	fi
}

segments() { at a nstat -asz TcpOutSegs TcpRetransSegs | awk '$1 == "'"$1"'" { print $2 }'; } # COUNTER

# $work/data from a to b over one connection, twice: windows grow in the first time,
# and in the second one every superpacket is as long as it may be.
stream_start() { # ADDRESS
	rm -f "$work/got" "$work/again"
	ip netns exec "$id-b" socat -u "TCP6-LISTEN:5001,ipv6only=0,reuseaddr" "CREATE:$work/got" &
	stream_server=$!
	eventually 20 is_listening b tcp 5001 >/dev/null
	# shellcheck disable=SC2016 # for that shell
	timeout 120 ip netns exec "$id-a" bash -c '
		exec 5>"/dev/tcp/$1/5001"
		dd bs=1M if="$2/data" status=none >&5
		until [ -e "$2/again" ]; do sleep 0.05; done
		dd bs=1M if="$2/data" status=none >&5' - "$1" "$work" &
	stream_client=$!
}

stream_end() {
	kill "$stream_client" "$stream_server" 2>/dev/null || true
	wait "$stream_client" "$stream_server" 2>/dev/null || true
}

has_got() { [ "$(stat -c %s "$work/got")" -ge "$1" ]; } # BYTES
has_twice() { cat "$work/data" "$work/data" | cmp - "$work/got"; }

# Size of what the lane read in a stream and of what it wrote at the other end, and
# that little is sent twice. SOME or NONE of the packets in b are above 64 KB.
sized_stream() { # FAMILY ADDRESS LEAST-READ some|none
	local text="$name: IPv$1" sent again beyond
	stream_start "$2"
	check "$text, a stream begins" eventually 60 has_got "$streamed"
	sent=$(segments TcpOutSegs) again=$(segments TcpRetransSegs)
	watch b "iifname ov0 meta length > $legacy meta nfproto ipv$1"
	count "$A" "$B"
	: >"$work/again"
	check "$text, a stream ends" eventually 60 has_got $((2 * streamed))
	count "$A" "$B"
	sent=$(($(segments TcpOutSegs) - sent)) again=$(($(segments TcpRetransSegs) - again))
	beyond=$(watched b)
	stream_end
	check "$text, the data of a stream" has_twice
	printf '%s: reads of %d, writes of %d bytes; %d of %d segments sent again, %d packets above 64 KB\n' \
		"$text" "$(mean "$A" in)" "$(mean "$B" out)" "$again" "$sent" "$beyond"
	check_at_least "$text, mean size of a read" "$3" "$(mean "$A" in)"
	check_at_most "$text, segments sent again" $((sent * lost_percent / 100)) "$again"
	case $4 in
	some) check_at_least "$text, some arrive above 64 KB" 1 "$beyond" ;;
	none) check_equal "$text, none arrives above 64 KB" 0 "$beyond" ;;
	esac
}

# ---- what passes

# A device that comes up says something to the other side, which may still be down:
# that is dropped and counted, and no matter here.
settle() { # LANE...
	check "$name: the overlay" eventually 20 pings a 1 10.10.0.2
	check "$name: the overlay, IPv6" eventually 20 pings b 1 fd00:10::1
	drops_mark "$@"
	bad_before[a]=$(broken a) bad_before[b]=$(broken b)
	count "$A"
}

# The tunnel device is the host's, which says what it likes there.
nothing_wrong() { # LANE...
	local ns lane drops
	for lane in "$@"; do
		drops=$(new_drops "$lane" | sed -E 's/(not_ip|no_peer) [0-9]+ //g')
		check_equal "$name: no drop in ${lane#"$id"}" '' "$drops"
	done
	for ns in a b; do
		check_equal "$name: nothing broken was received in $ns" "${bad_before[$ns]}" "$(broken "$ns")"
	done
	check_equal "$name: nothing merged was refused" 0 "$(port_stat "$A" ov0 merges_refused)"
}

# python3's place in port_lib.sh.
stream_moved() { # BYTES
	local got
	got=$(awk '/"sum_received"/ { on = 1 } on && /"bytes":/ { printf "%.0f", $2; exit }' "$work/iperf3.json")
	[ "$got" -ge $(($1 / 4)) ] || { echo "$got of $1 bytes"; return 1; }
}

traffic() {
	check "$name: pings" pings a 5 10.10.0.2
	check "$name: pings, IPv6, back" pings b 5 fd00:10::1
	check "$name: a ping in fragments" pings b 2 10.10.0.1 -s 9000
	check "$name: TCP both ways" tcp_exchange a b 10.10.0.2 "$exchanged"
	check "$name: TCP both ways, IPv6" tcp_exchange b a fd00:10::1 "$exchanged"
	count "$A"
	check "$name: UDP superpackets" udp_exchange a b 10.10.0.2
	check "$name: UDP superpackets, IPv6" udp_exchange a b fd00:10::2
	count "$A"
	# The header of a packet socket knows no UDP before.
	if kernel_at_least 6 2; then
		check_at_least "$name: which come whole, mean size" 20000 "$(mean "$A" in)"
	else
		check_at_most "$name: which come in pieces, mean size" 1400 "$(mean "$A" in)"
	fi
	check "$name: UDP superpackets, back" udp_exchange b a 10.10.0.1
}

udp_exchange() { # FROM TO ADDRESS
	local receiver status=0 address=$3
	[[ $address != *:* ]] || address="[$address]"
	rm -f "$work/got"
	ip netns exec "$id-$2" socat -u UDP6-RECV:5002,ipv6only=0,rcvbuf=8000000 "CREATE:$work/got" &
	receiver=$!
	eventually 20 is_listening "$2" udp 5002 || return 1
	at "$1" socat -u -b 48000 "OPEN:$work/datagrams,rdonly" \
		"UDP:$address:5002,setsockopt-int=17:103:1200" || status=$?
	eventually 20 cmp "$work/datagrams" "$work/got" || status=$?
	kill "$receiver"
	wait "$receiver" 2>/dev/null || true
	return "$status"
}

ports_up() { # [KEY VALUE]...
	overlay_port a "$A" 10.9.0.1 10.9.0.2 "$@"
	overlay_port b "$B" 10.9.0.2 10.9.0.1 "$@"
	wide_windows a
	wide_windows b
}

# As much of a stream as the other end has room for may be sent at once.
wide_windows() { # NAMESPACE
	local window=(dev ov0 proto kernel initcwnd 4000 rto_min 5s)
	ip -n "$id-$1" route change 10.10.0.0/24 "${window[@]}" scope link src "10.10.0.$(number_of "$1")"
	ip -n "$id-$1" route change fd00:10::/64 "${window[@]}" metric 256
}

ports_down() {
	port "$A" del ov0
	port "$B" del ov0
}

# ---- pairs

port_and_port() {
	local least=$large big4=none big6=none
	name='port and port'
	if kernel_at_least 6 18; then
		least=$legacy big4=some
	fi
	! kernel_at_least 7 0 || big6=some
	ports_up
	check_equal "$name: the kind" 'veth veth' \
		"$(port_field "$A" ov0 port_kind) $(port_field "$B" ov0 port_kind)"
	default_limit
	settle "$A" "$B"
	traffic
	check "$name: iperf3" stream a b 10.10.0.2 "$streamed" -w 256K
	check "$name: iperf3, IPv6, back" stream a b fd00:10::2 "$streamed" -w 256K -R
	sized_stream 4 10.10.0.2 "$least" "$big4"
	sized_stream 6 fd00:10::2 "$least" "$big6"
	nothing_wrong "$A" "$B"
	ports_down
}

# More is asked for than a port has by itself: refused with a word, or nothing is lost.
# Such superpackets are read, of IPv4 since 6.3, and written, of IPv4 only.
asked_for_192() {
	local least4=$large big4=none why
	name='192 KB asked for'
	if ! why=$(port "$A" add ov0 vtep 10.9.0.1 vni 42 gso_max_size 196608 2>&1); then
		printf '%s: %s\n' "$name" "$why"
		check "$name: refused, and why" grep -q . <<<"$why"
		check "$name: and leaves nothing" has_no_port "$A" ov0
		return
	fi
	port "$A" del ov0
	if kernel_at_least 6 3; then
		least4=$legacy big4=some
	fi
	ports_up gso_max_size 196608
	settle "$A" "$B"
	check "$name: TCP both ways" tcp_exchange a b 10.10.0.2 "$exchanged"
	check "$name: TCP both ways, IPv6" tcp_exchange b a fd00:10::1 "$exchanged"
	sized_stream 4 10.10.0.2 "$least4" "$big4"
	sized_stream 6 fd00:10::2 "$legacy" none
	nothing_wrong "$A" "$B"
	ports_down
}

port_and_kernel() {
	name='port and kernel'
	overlay_port a "$A" 10.9.0.1 10.9.0.2
	overlay_kernel b 10.9.0.2 10.9.0.1
	settle "$A" "$B"
	traffic
	nothing_wrong "$A" "$B"
	overlay_kernel_down b
	port "$A" del ov0
}

taps() {
	name='taps'
	lanes_up SEALANE_PORT=tap
	ports_up
	check_equal "$name: the kind" 'tap tap' \
		"$(port_field "$A" ov0 port_kind) $(port_field "$B" ov0 port_kind)"
	settle "$A" "$B"
	check "$name: TCP both ways" tcp_exchange a b 10.10.0.2 "$exchanged"
	check "$name: UDP superpackets, IPv6" udp_exchange a b fd00:10::2
	sized_stream 4 10.10.0.2 "$large" none
	sized_stream 6 fd00:10::2 "$large" none
	nothing_wrong "$A" "$B"
	ports_down
	daemon_stop "$A" "$B"
}

# ---- the host under the lane

# Passes on whatever it gets.
promiscuous_host() { # NAMESPACE
	at "$1" sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 \
		net.ipv4.conf.all.accept_local=1 net.ipv4.conf.default.accept_local=1
}

socket_start() {
	rm -f "$work/heard"
	ip netns exec "$id-a" socat -u UDP6-RECV:7777,ipv6only=0 "CREATE:$work/heard" &
	socket_pid=$!
	eventually 20 is_listening a udp 7777 >/dev/null
}

socket_heard() {
	kill "$socket_pid"
	wait "$socket_pid" 2>/dev/null || true
	[ ! -e "$work/heard" ] || wc -c <"$work/heard"
}

# From p, to addresses of a and beyond it, in frames to one MAC address.
hostile() { # DEVICE MAC
	local address
	ip -n "$id-p" neigh replace 10.10.0.66 lladdr "$2" dev "$1"
	ip -n "$id-p" neigh replace fd00:10::66 lladdr "$2" dev "$1"
	for address in 192.0.2.1 10.9.0.1 192.0.2.2; do
		ip -n "$id-p" route replace "$address/32" via 10.10.0.66 dev "$1"
		printf '%s' "$marker" | at p socat -u - "UDP:$address:7777"
	done
	for address in fd00:9::1 fd00:9::2; do
		ip -n "$id-p" route replace "$address/128" via fd00:10::66 dev "$1"
		printf '%s' "$marker" | at p socat -u - "UDP:[$address]:7777"
	done
}
n_hostile=5
from_lane_end='iifname "slport*"'

# Would this notice? A plain veth stands for a lane end.
noticed() {
	local text='a lane end that is none'
	ip link add t0 netns "$id-p" type veth peer name slport99 netns "$id-a"
	ip -n "$id-a" link set slport99 up
	ip -n "$id-p" link set t0 up
	address_add p t0 10.10.0.1/24 fd00:10::1/64
	socket_start
	hostile t0 "$(mac_of a slport99)"
	check "$text: a socket would notice" eventually 20 grep -q "$marker" "$work/heard"
	check "$text: the stack's counter would notice" eventually 20 stack_saw "$n_hostile"
	check_at_least "$text: which heard" 1 "$(socket_heard)"
	ip -n "$id-a" link delete slport99
}

stack_saw() { [ "$(watched a)" -ge "$1" ]; } # LEAST

isolation() {
	local to read_before
	name='isolation'
	promiscuous_host a
	watch a "$from_lane_end"
	noticed
	watch a "$from_lane_end"
	ports_up
	ip -n "$id-a" link set ov0 netns "$id-p"
	address_add p ov0 10.10.0.1/24 fd00:10::1/64
	ip -n "$id-p" link set ov0 up
	check "$name: the overlay, from a third namespace" eventually 20 pings p 1 10.10.0.2
	read_before=$(port_stat "$A" ov0 frames_in)
	socket_start
	for to in "$(mac_of a "$(lane_end)")" "$broadcast"; do
		hostile ov0 "$to"
	done
	check "$name: the overlay, still" pings p 1 10.10.0.2
	check "$name: the lane has all that was sent" eventually 20 has_read $((read_before + 2 * n_hostile))
	check_equal "$name: nothing reached the stack" 0 "$(watched a)"
	check_equal "$name: nothing reached a socket" '' "$(socket_heard | sed 's/^0$//')"
	ports_down
}

has_read() { [ "$(port_stat "$A" ov0 frames_in)" -ge "$1" ]; } # LEAST

uname -r
topology
lanes_up
kinds
port_and_port
kernel_at_least 6 18 || asked_for_192
port_and_kernel
isolation
daemon_stop "$A" "$B"
# Once will do: on the oldest, which needs it most.
kernel_at_least 6 2 || taps
finish
