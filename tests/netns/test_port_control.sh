#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# VXLAN ports under their owner's hands: commands and refusals, forwarding tables,
# kinds of devices, limits that change under traffic, an overlay end that is moved,
# renamed or deleted, and the lane's end. The topology is port_lib.sh's: a, b and c,
# each with a lane; p is an empty namespace.
# shellcheck disable=SC2317 # checks call functions by name
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=port_lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/port_lib.sh"

limits_py=$repo/tests/netns/limits.py
file_bytes=${PORT_BYTES:-200000000}
src=02:00:00:00:00:0a from_b=02:00:00:00:00:0b from_c=02:00:00:00:00:0c

topology() {
	mesh_links
	ns_new p
}

# Ports on all three with full flooding lists; quiet: no IPv6 on them, which speaks
# whenever it likes.
ports_up() { # [quiet]
	local ns other n
	for ns in a b c; do
		n=$(number_of "$ns")
		port "${lane[$ns]}" add ov0 vtep "172.31.0.$n" vni 42
		for other in 1 2 3; do
			port "${lane[$ns]}" flood add ov0 "172.31.0.$other"
		done
		[ "${1:-}" != quiet ] || at "$ns" sysctl -qw net.ipv6.conf.ov0.disable_ipv6=1
		address_add "$ns" ov0 "10.10.0.$n/24"
		[ "${1:-}" = quiet ] || address_add "$ns" ov0 "fd00:10::$n/64"
		ip -n "$id-$ns" link set ov0 up
	done
}

ports_down() {
	local ns
	for ns in a b c; do
		port "${lane[$ns]}" del ov0
	done
}

# ---- commands

# What there is to be told, but what counts and ages by itself.
state() { # LANE
	local name
	port "$1" list | sed 's/ fdb_learned [0-9]*//'
	port "$1" list | while read -r name _; do
		port "$1" show "$name" </dev/null | grep -vE '^port_stat=|^port_fdb_learned=|^fdb=.*learned'
	done
}

is_refused() { # PATTERN VERB...
	local pattern=$1 status=0
	shift
	state "$A" >"$work/before.refused"
	port "$A" "$@" >"$work/refused.out" 2>"$work/refused.err" || status=$?
	cat "$work/refused.err"
	[ "$status" = 1 ] || { echo "exit status $status"; return 1; }
	grep -q -- "$pattern" "$work/refused.err" || { echo "does not say '$pattern'"; return 1; }
	[ ! -s "$work/refused.out" ] || { echo 'something on stdout'; return 1; }
	diff "$work/before.refused" <(state "$A")
}

refused() { # PATTERN VERB...
	check "refused: ${*:2}" is_refused "$@"
}

commands() {
	port "$A" add ov0 vtep 172.31.0.1 vni 42 mac 02:00:00:00:00:aa mtu 1300 ttl 9 flood 172.31.0.2
	check 'add: it is listed' has_port "$A" ov0
	check 'add: it is a device' ip -n "$id-a" link show ov0
	check_equal 'add: MAC address' 02:00:00:00:00:aa "$(mac_of a ov0)"
	check_equal 'add: MTU' 1300 "$(at a cat /sys/class/net/ov0/mtu)"
	check_equal 'add: ttl' 9 "$(port_field "$A" ov0 ttl)"
	check_equal 'add: flooding list' 172.31.0.2 "$(port_field "$A" ov0 flood)"
	port "$A" set ov0 ttl 10 dscp inherit
	check_equal 'set: ttl' 10 "$(port_field "$A" ov0 ttl)"
	check_equal 'set: dscp' inherit "$(port_field "$A" ov0 dscp)"
	port "$A" fdb add ov0 "$from_b" 172.31.0.2
	port "$A" neigh add ov0 10.10.0.2 "$from_b"
	check_equal 'fdb add' "$from_b 172.31.0.2 static" "$(port_field "$A" ov0 fdb)"
	check_equal 'neigh add' "10.10.0.2 $from_b" "$(port_field "$A" ov0 neighbour)"
	refusals
	conflicts
	half_a_command
	port "$A" save ov0 >"$work/saved"
	state "$A" >"$work/before"
	port "$A" fdb del ov0 "$from_b"
	port "$A" neigh del ov0 10.10.0.2
	port "$A" flood del ov0 172.31.0.2
	check_equal 'entries are gone' '' \
		"$(port "$A" show ov0 | grep -E '^(fdb|neighbour|flood)=' || true)"
	port "$A" del ov0
	check 'del: not listed' has_no_port "$A" ov0
	check_fails 'del: no device' ip -n "$id-a" link show ov0
	check_equal 'del: no lane end' '' "$(lane_ends a)"
	port "$A" apply "$work/saved"
	check 'save and apply: the same port' diff "$work/before" <(state "$A")
	port "$A" del ov0
}

lane_ends() { # NAMESPACE
	ip -n "$id-$1" -o link show | sed -n 's/^[0-9]*: \(slport[0-9]*\)@.*/\1/p'
}

refusals() {
	refused 'needs a vtep' add ov1 vni 5
	refused 'needs a vni' add ov1 vtep 172.31.0.1
	refused 'there is a port ov0 already' add ov0 vtep 172.31.0.1 vni 5
	refused 'no port ov9' set ov9 ttl 5
	refused 'no port ov9' del ov9
	refused 'no such port' show ov9
	refused '1 to 15 printable' add a/b vtep 172.31.0.1 vni 5
	refused 'vni: must be 0 to 16777215' set ov0 vni 16777216
	refused 'udp_port: must be 1 to 65535' set ov0 udp_port 0
	refused 'ttl: must be 1 to 255' set ov0 ttl 0
	refused 'dscp: must be 0 to 63' set ov0 dscp 64
	refused 'mtu: must be 68' add ov1 vtep 172.31.0.1 vni 5 mtu 67
	refused 'mac: must be a unicast' add ov1 vtep 172.31.0.1 vni 5 mac 01:00:00:00:00:01
	refused 'kind: must be auto, veth or tap' add ov1 vtep 172.31.0.1 vni 5 kind bridge
	refused 'gso_max_size: must be 65536' add ov1 vtep 172.31.0.1 vni 5 gso_max_size 1000
	refused 'checksum: must be true or false' set ov0 checksum maybe
	refused 'is no key' set ov0 colour red
	refused 'ttl: given twice' set ov0 ttl 5 ttl 6
	refused 'vtep: must be' set ov0 vtep 224.0.0.1
	refused 'other address family' set ov0 vtep fd00:31::1
	refused 'an IPv4 address, as vtep' flood add ov0 fd00:31::2
	refused 'in the list already' flood add ov0 172.31.0.2
	refused 'not in the list' flood del ov0 172.31.0.77
	refused 'no such entry' fdb del ov0 02:00:00:00:00:77
	refused 'unicast MAC' fdb add ov0 03:00:00:00:00:01 172.31.0.2
	refused 'no such entry' neigh del ov0 10.10.0.77
	refused 'address of one host' neigh add ov0 224.0.0.1 "$from_b"
	refused 'mtu: given when a port is created' set ov0 mtu 1400
	refused 'fdb_limit' set ov0 fdb_limit 0
	refused 'learned_limit' set ov0 learned_limit 2000 fdb_limit 1000
	refused 'age_s' set ov0 age_s 0
	refused 'vni: must be' set ov0 ttl 77 vni 16777216
	refused 'no such entry' set ov0 ttl 77 fdb_remove 02:00:00:00:00:77
}

# What others have already.
conflicts() {
	ip -n "$id-a" link add br9 type bridge
	refused 'br9' add br9 vtep 172.31.0.1 vni 5
	check 'a device of another is left alone' ip -n "$id-a" link show br9 type bridge
	ip -n "$id-a" link delete br9
	refused 'ov0 has this VTEP' add ov1 vtep 172.31.0.1 vni 42

	ip -n "$id-a" link add vx0 type vxlan id 7 dstport 4790 local 10.9.0.1 remote 10.9.0.2
	ip -n "$id-a" link set vx0 up
	refused "VXLAN device vx0" add ov1 vtep 10.9.0.1 vni 8 udp_port 4790
	check 'another UDP port beside a kernel VXLAN' port "$A" add ov1 vtep 10.9.0.1 vni 42 udp_port 4791
	refused "VXLAN device vx0" set ov1 udp_port 4790
	refused 'ov0 has this VTEP' set ov1 vtep 172.31.0.1 udp_port 4789
	port "$A" del ov1
	ip -n "$id-a" link delete vx0
	check 'once it is gone: its UDP port' port "$A" add ov1 vtep 10.9.0.1 vni 42 udp_port 4790
	port "$A" del ov1
}

# A client that goes away in the middle has changed nothing, and wrong usage is told
# from a refusal.
half_a_command() {
	local status=0
	state "$A" >"$work/before.half"
	printf 'set=1\nport=ov0\nttl=99\n' | timeout 5 socat - "UNIX-CONNECT:/var/run/sealane/$A.sock" >/dev/null
	check 'half a command changes nothing' diff "$work/before.half" <(state "$A")
	port "$A" set ov0 ttl >/dev/null 2>&1 || status=$?
	check_equal 'wrong usage: exit status' 2 "$status"
}

# ---- two overlays

two_vnis() {
	local ns n
	for ns in a b; do
		n=$(number_of "$ns")
		port "${lane[$ns]}" add ov0 vtep "172.31.0.$n" vni 42 flood "172.31.0.$((3 - n))"
		port "${lane[$ns]}" add ov1 vtep "172.31.0.$n" vni 43 flood "172.31.0.$((3 - n))"
		ip -n "$id-$ns" link set ov0 up
		ip -n "$id-$ns" link set ov1 up
	done
	frames make text "$src" "$broadcast" of-ov1 >"$work/of_ov1"
	frames make text "$src" "$broadcast" of-ov0 >"$work/of_ov0"
	cat "$work/of_ov1" "$work/of_ov0" >"$work/both"
	frames_count_start b "$work/both" ov0
	frames_send a "$work/of_ov1" ov1
	frames_send a "$work/of_ov0" ov0
	check_equal 'two VNIs: ov0 has its own only' '0 1' "$(frames_counted b)"
	cat "$work/of_ov0" "$work/of_ov1" >"$work/both"
	frames_count_start b "$work/both" ov1
	frames_send a "$work/of_ov0" ov0
	frames_send a "$work/of_ov1" ov1
	check_equal 'two VNIs: ov1 has its own only' '0 1' "$(frames_counted b)"
	for ns in a b; do
		port "${lane[$ns]}" del ov0
		port "${lane[$ns]}" del ov1
	done
}

# ---- forwarding tables

learned_at() { # MAC VTEP
	port "$A" show ov0 | grep -E "^fdb=$1 $2 learned"
}

unknown_to_a() { # MAC
	! port "$A" show ov0 | grep "^fdb=$1 "
}

# A frame from there, which has come in here.
say() { # NAMESPACE SOURCE
	frames make text "$2" "$broadcast" "from-$1" >"$work/say"
	check "learning: $1 as $2 is heard" frames_pass "$1" a "$work/say"
}

# How often b and c got a frame of a to that address.
reach() { # MAC
	local ns
	printf '%s\n' "text $src $1 to-one" "text $src $broadcast to-all" | frames make - >"$work/reach"
	for ns in b c; do
		frames_count_start "$ns" "$work/reach"
	done
	frames_send a "$work/reach"
	printf '%s / %s' "$(frames_counted b)" "$(frames_counted c)"
}

learning() {
	local moved
	ports_up quiet
	say b "$from_b"
	check 'learning: from b' learned_at "$from_b" 172.31.0.2
	check_equal 'learning: b alone is sent to' '1 1 / 0 1' "$(reach "$from_b")"
	moved=$(port_stat "$A" ov0 moved)
	say c "$from_b"
	check 'learning: moved to c' learned_at "$from_b" 172.31.0.3
	check_equal 'learning: the move is counted' $((moved + 1)) "$(port_stat "$A" ov0 moved)"
	check_equal 'learning: c alone is sent to' '0 1 / 1 1' "$(reach "$from_b")"
	port "$A" set ov0 age_s 1
	check 'learning: forgotten with age' eventually 20 unknown_to_a "$from_b"
	check_equal 'learning: then sent to all' '1 1 / 1 1' "$(reach "$from_b")"
	port "$A" set ov0 age_s 300 learning false flush_learned true
	say b "$from_b"
	check 'learning off: nothing is learned' unknown_to_a "$from_b"
	static_entries
	table_full
	ports_down
}

static_entries() {
	local refused
	port "$A" set ov0 learning true
	port "$A" fdb add ov0 "$from_c" 172.31.0.2
	refused=$(counter "$A" drop=port_source)
	printf '%s\n' "text $from_c $broadcast stolen" "text $from_b $broadcast own" |
		frames make - >"$work/stolen"
	frames_count_start a "$work/stolen"
	frames_send c "$work/stolen"
	check_equal 'static: from elsewhere it is not let in' '0 1' "$(frames_counted a)"
	check_equal 'static: and counted' $((refused + 1)) "$(counter "$A" drop=port_source)"
	check 'static: it stays' grep -x "fdb=$from_c 172.31.0.2 static" <(port "$A" show ov0)
	check_equal 'static: b alone is sent to' '1 1 / 0 1' "$(reach "$from_c")"
	port "$A" fdb del ov0 "$from_c"
}

table_full() {
	local n
	port "$A" set ov0 flush_learned true fdb_limit 3
	for n in 1 2 3 4 5 6; do
		echo "text 02:00:00:00:0f:0$n $broadcast many"
	done | frames make - >"$work/many"
	check 'a full table: every frame comes in' frames_pass b a "$work/many"
	check_equal 'a full table: as many as may be' 3 "$(port_field "$A" ov0 port_fdb_learned)"
	check_equal 'a full table: the rest is counted' 3 "$(port_stat "$A" ov0 fdb_full)"
}

# ---- neighbours

# Was the question sent to b?
asked() {
	printf '%s\n' "arp $src $broadcast 10.10.0.1 10.10.0.9" \
		"nd $src 33:33:ff:00:00:09 fd00:10::1 fd00:10::9" \
		"text $src $broadcast after-it" | frames make - >"$work/asked"
	frames_count_start b "$work/asked"
	frames_send a "$work/asked"
	frames_counted b
}

knows_neighbour() { # ADDRESS
	at a ping -n -c 1 -W 1 "$1" >/dev/null || true
	ip -n "$id-a" neigh show "$1" dev ov0 | grep "lladdr $from_c"
}

neighbours() {
	ports_up
	check_equal 'neighbours: questions are sent on' '1 1 1' "$(asked)"
	port "$A" neigh add ov0 10.10.0.9 "$from_c"
	port "$A" neigh add ov0 fd00:10::9 "$from_c"
	check_equal 'neighbours: also known ones, unless told to answer' '1 1 1' "$(asked)"
	port "$A" set ov0 answer_neighbours true
	check_equal 'neighbours: known ones are not sent on' '0 0 1' "$(asked)"
	check 'neighbours: ARP is answered' eventually 10 knows_neighbour 10.10.0.9
	check 'neighbours: so is a solicitation' eventually 10 knows_neighbour fd00:10::9
	check_at_least 'neighbours: answers are counted' 4 "$(port_stat "$A" ov0 answered)"
	port "$A" neigh del ov0 10.10.0.9
	port "$A" neigh del ov0 fd00:10::9
	check_equal 'neighbours: sent on again' '1 1 1' "$(asked)"
	ports_down
}

# ---- kinds

start_is_refused() { # PATTERN COMMAND...
	local pattern=$1 status=0
	shift
	timeout 10 env WG_PROCESS_FOREGROUND=1 "$@" >"$work/start.out" 2>&1 </dev/null || status=$?
	cat "$work/start.out"
	[ "$status" = 1 ] && grep -q "$pattern" "$work/start.out"
}

a_restart() { # [NAME=VALUE...]
	[ -z "${daemon_pid[$A]:-}" ] || daemon_stop "$A"
	: >"$work/$A.log"
	mesh_lane_up a "$@"
}

# A port against b's, of this kind.
kind_works() { # TEXT KIND
	port "$A" add ov0 vtep 172.31.0.1 vni 42 flood 172.31.0.2
	overlay_ready a
	check_equal "$1: kind" "$2" "$(port_field "$A" ov0 port_kind)"
	check "$1: traffic" eventually 10 pings a 1 10.10.0.2
	check "$1: TCP" tcp_exchange a b 10.10.0.2 1000000
	port "$A" del ov0
	check_fails "$1: no device is left" ip -n "$id-a" link show ov0
}

kinds() {
	local sealaned=$SEALANED
	overlay_port b "$B" 172.31.0.2 172.31.0.1
	a_restart SEALANE_PORT=tap
	kind_works SEALANE_PORT=tap tap
	a_restart SEALANE_PORT=veth
	kind_works SEALANE_PORT=veth veth
	daemon_stop "$A"
	check 'SEALANE_PORT=nonsense is refused' start_is_refused 'SEALANE_PORT=nonsense' \
		env SEALANE_PORT=nonsense ip netns exec "$id-a" "$SEALANED" "$A"

	printf '#!/bin/sh\nexec setpriv --bounding-set=-net_raw --inh-caps=-net_raw "%s" "$@"\n' \
		"$SEALANED" >"$work/no_raw"
	chmod +x "$work/no_raw"
	SEALANED=$work/no_raw
	a_restart
	kind_works 'no CAP_NET_RAW' tap
	check_equal 'no CAP_NET_RAW: one line tells' 1 "$(grep -c CAP_NET_RAW "$work/$A.log")"
	refused 'CAP_NET_RAW' add ov0 vtep 172.31.0.1 vni 42 kind veth
	check_fails 'no CAP_NET_RAW: no device is left' ip -n "$id-a" link show ov0
	check_equal 'no CAP_NET_RAW: nor a lane end' '' "$(lane_ends a)"
	SEALANED=$sealaned
	no_big_tcp
	a_restart
	port "$B" del ov0
}

no_big_tcp() {
	local name=SEALANE_DISABLE_BIG_TCP=1
	a_restart "$name"
	overlay_port a "$A" 172.31.0.1 172.31.0.2 gso_max_size 196608
	check_equal "$name: limits of the overlay end" 65536 \
		"$(limits a | sed 's/.*=//' | sort -nu | tr '\n' ' ' | sed 's/ $//')"
	check "$name: traffic" eventually 10 pings a 1 10.10.0.2
	capture_start small a ov0 -Q out greater 65600
	check "$name: a stream" stream a b 10.10.0.2 50000000
	check "$name: a stream back" stream a b 10.10.0.2 50000000 -R
	capture_stop
	check_equal "$name: no frame is larger" 0 "$(captured small)"
	port "$A" del ov0
}

limits() { # NAMESPACE [DEVICE]
	at "$1" python3 "$limits_py" show "${2:-ov0}"
}

limits_set() { # NAMESPACE SIZE [DEVICE]
	at "$1" python3 "$limits_py" set "${3:-ov0}" "gso_max_size=$2" "gso_ipv4_max_size=$2" \
		"gro_max_size=$2" "gro_ipv4_max_size=$2"
}

# ---- an overlay end that is moved and renamed

moved() {
	ports_up
	ip -n "$id-a" link set ov0 down
	ip -n "$id-a" link set ov0 name eth9
	ip -n "$id-a" link set eth9 netns "$id-p"
	address_add p eth9 10.10.0.1/24
	ip -n "$id-p" link set eth9 up
	check 'moved and renamed: traffic' eventually 10 pings p 1 10.10.0.2
	check 'moved and renamed: TCP' tcp_exchange p b 10.10.0.2 4000000
	check 'moved and renamed: the port keeps its name' has_port "$A" ov0
	check 'moved and renamed: a change' port "$A" set ov0 ttl 7
	limits_set p 65536 eth9
	largest 'moved: a lower limit' b p eth9 10.10.0.1 0
	! big_tcp || { limits_set p 196608 eth9; largest 'moved: a higher limit' b p eth9 10.10.0.1 1; }
	ip -n "$id-p" link set eth9 netns "$id-a" name ov0
	address_add a ov0 10.10.0.1/24
	ip -n "$id-a" link set ov0 up
	check 'moved back: traffic' eventually 10 pings a 1 10.10.0.2
	check 'moved back: TCP' tcp_exchange a b 10.10.0.2 4000000
	ports_down
}

big_tcp() { kernel_at_least 6 18; }

# Are there frames above 64 KB in what comes in? A limit is read again every 100 ms,
# which a slow host may stretch.
largest() { # TEXT FROM TO DEVICE ADDRESS LEAST
	sleep 0.5
	capture_start largest "$3" "$4" -Q in greater 65600
	check "$1: a stream" stream "$2" "$3" "$5" 200000000
	capture_stop
	if [ "$6" = 0 ]; then
		check_equal "$1: no frame is larger than 64 KB" 0 "$(captured largest)"
	else
		check_at_least "$1: there are larger frames" "$6" "$(captured largest)"
	fi
}

# ---- limits under traffic

segments() { # NAMESPACE FIELD
	at "$1" nstat -asz "$2" | awk '!/^#/ { print $2 }'
}

got_it_twice() { cat "$work/sent.1" "$work/sent.1" | cmp - "$work/got.1"; }

limits_under_traffic() {
	local server sender resent sent n_changes=0
	ports_up
	check 'limits: the overlay' eventually 10 pings a 1 10.10.0.2
	head -c "$file_bytes" /dev/urandom >"$work/sent.1"
	at b socat -u TCP-LISTEN:5001,reuseaddr "CREATE:$work/got.1" &
	server=$!
	eventually 10 is_listening b tcp 5001 >/dev/null
	resent=$(segments a TcpRetransSegs) sent=$(segments a TcpOutSegs)
	# The file twice, with so many changes at least before the second, be the machine busy or fast.
	rm -f "$work/changed"
	at a timeout 60 sh -c "{ cat '$work/sent.1'; until [ -e '$work/changed' ]; do sleep 0.05; done; cat '$work/sent.1'; } |
		socat -u -b 262144 STDIN TCP:10.10.0.2:5001" &
	sender=$!
	while kill -0 "$sender" 2>/dev/null; do
		n_changes=$((n_changes + 1))
		[ "$n_changes" -le 2 ] || touch "$work/changed"
		limits_set "$([ $((n_changes % 3)) = 0 ] && echo a || echo b)" \
			"$([ $((n_changes % 2)) = 0 ] && big_tcp && echo 196608 || echo 65536)"
		sleep 0.05
	done
	check 'limits that change under a stream: it ends' wait "$sender"
	wait "$server" || true
	check 'limits that change under a stream: every byte' got_it_twice
	check_at_least 'limits that change under a stream: they did' 2 "$n_changes"
	resent=$(($(segments a TcpRetransSegs) - resent)) sent=$(($(segments a TcpOutSegs) - sent))
	check_at_most "limits that change under a stream: of $sent segments few were sent again" \
		$((sent / 20)) "$resent"
	rm -f "$work/sent.1" "$work/got.1"
	limits_set a 65536
	limits_set b 65536
	largest 'lowered limits' a b ov0 10.10.0.2 0
	! big_tcp || raised_limits
	ports_down
}

# The receiver of what is read at 192 KB takes 64 KB: it is cut anew, not to pieces.
raised_limits() {
	local whole
	limits_set a 196608
	limits_set b 196608
	largest 'raised limits' a b ov0 10.10.0.2 1
	whole=$(stream_rate)
	limits_set b 65536
	largest '192 KB into 64 KB' a b ov0 10.10.0.2 0
	check "192 KB into 64 KB: not below a third of $whole" eventually 30 rate_at_least $((whole / 3))
}

rate_at_least() { # BITS
	stream a b 10.10.0.2 200000000 || return 1
	[ "$(stream_rate)" -ge "$1" ] || { stream_rate; return 1; }
}

# ---- the end of a port

lane_carries() { # TEXT
	check "$1: the lane goes on" eventually 10 pings a 1 10.9.0.2
	check "$1: no lane end is left" eventually 10 is_equal '' lane_ends a
	port "$A" add ov0 vtep 172.31.0.1 vni 42 flood 172.31.0.2
	overlay_ready a
	check "$1: a port of that name again" eventually 10 pings a 1 10.10.0.2
}

deleted() {
	local kind
	overlay_port b "$B" 172.31.0.2 172.31.0.1
	for kind in veth tap; do
		overlay_port a "$A" 172.31.0.1 172.31.0.2 kind "$kind"
		check "deleted, $kind: traffic before" eventually 10 pings a 1 10.10.0.2
		ip -n "$id-a" link delete ov0
		check "deleted, $kind: not listed" eventually 10 has_no_port "$A" ov0
		lane_carries "deleted, $kind"
		port "$A" del ov0
	done
	overlay_port a "$A" 172.31.0.1 172.31.0.2
	ip -n "$id-a" link set ov0 down
	ip -n "$id-a" link delete ov0
	check 'deleted while down: not listed' eventually 10 has_no_port "$A" ov0
	lane_carries 'deleted while down'
}

namespace_gone() {
	ip netns add "$id-q"
	ip -n "$id-a" link set ov0 netns "$id-q"
	ip -n "$id-q" address add 10.10.0.1/24 dev ov0
	ip -n "$id-q" link set ov0 up
	check 'its namespace deleted: traffic before' eventually 10 \
		ip netns exec "$id-q" ping -c 1 -W 1 10.10.0.2
	ip netns delete "$id-q"
	check 'its namespace deleted: not listed' eventually 20 has_no_port "$A" ov0
	lane_carries 'its namespace deleted'
}

nothing_left() { # NAMESPACE
	[ -z "$(lane_ends "$1")" ] && ! ip -n "$id-$1" link show ov0
}

lane_stopped() {
	local mac
	daemon_stop "$A"
	check 'lane stopped: the pair is gone' eventually 10 nothing_left a
	mesh_lane_up a
	overlay_port a "$A" 172.31.0.1 172.31.0.2
	check 'lane started again: traffic' eventually 10 pings a 1 10.10.0.2
	mac=$(mac_of a ov0)
	daemon_signal KILL "$A"
	mesh_lane_up a
	check 'after kill -9: the port can be made again' port "$A" add ov0 vtep 172.31.0.1 vni 42 flood 172.31.0.2
	check_equal 'after kill -9: its MAC address stays' "$mac" "$(mac_of a ov0)"
	check 'after kill -9: traffic with the addresses it had' eventually 10 pings a 1 10.10.0.2
	check_equal 'after kill -9: one lane end' 1 "$(lane_ends a | wc -l)"
}

topology
for ns in a b c; do
	mesh_lane_up "$ns"
done
commands
two_vnis
learning
neighbours
moved
limits_under_traffic
kinds
deleted
namespace_gone
lane_stopped
finish
