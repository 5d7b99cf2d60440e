# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the suites about VXLAN ports share. Sourced after lib.sh.
#
# Overlay devices are called ov0, whether a lane terminates them or the kernel's
# vxlan does, and have 10.10.0.N and fd00:10::N: a is 1, b is 2, c is 3.

# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154 # id, work: lib.sh's

command -v ethtool >/dev/null || skip 'needs ethtool'

port_tool=${PORT_TOOL:-$repo/packaging/sealane-port}
frames_py=$repo/tests/netns/frames.py
numbered_py=$repo/tests/netns/numbered_udp.py
export broadcast=ff:ff:ff:ff:ff:ff
overlay_mtu=1350

[ -x "$port_tool" ] || skip "needs $port_tool"

port() { # LANE VERB...
	timeout 20 "$port_tool" "$@"
}

port_field() { # LANE NAME KEY: what a `show` says
	port "$1" show "$2" | sed -n "s/^$3=//p"
}

port_stat() { # LANE NAME FIELD
	port "$1" show "$2" | awk -v key="$3" '$1 == "port_stat=" key { print $2 }'
}

# A tool that lists names only, or with more behind them.
has_port() { # LANE NAME
	port "$1" list | awk -v name="$2" '$1 == name { found = 1 } END { exit !found }'
}

has_no_port() { ! has_port "$@"; } # LANE NAME

number_of() { # NAMESPACE: a letter's place
	case $1 in
	a) echo 1 ;;
	b) echo 2 ;;
	*) echo 3 ;;
	esac
}

mac_of() { # NAMESPACE DEVICE
	at "$1" cat "/sys/class/net/$2/address"
}

overlay_ready() { # NAMESPACE
	address_add "$1" ov0 "10.10.0.$(number_of "$1")/24" "fd00:10::$(number_of "$1")/64"
	ip -n "$id-$1" link set ov0 up
}

overlay_port() { # NAMESPACE LANE LOCAL REMOTE [KEY VALUE]...
	local ns=$1 lane=$2 local=$3 remote=$4
	shift 4
	port "$lane" add ov0 vtep "$local" vni 42 flood "$remote" mtu "$overlay_mtu" "$@"
	overlay_ready "$ns"
}

overlay_kernel() { # NAMESPACE LOCAL REMOTE [OPTION...]
	local ns=$1 local=$2 remote=$3
	shift 3
	ip -n "$id-$ns" link add ov0 mtu "$overlay_mtu" type vxlan id 42 dstport 4789 \
		local "$local" remote "$remote" "$@"
	overlay_ready "$ns"
}

# Quiet first: a datagram without checksum that finds its socket gone counts as one
# with a bad checksum.
overlay_kernel_down() { # NAMESPACE
	at "$1" nft 'table inet quiet { chain c { type filter hook input priority 0; udp dport 4789 drop; }; }'
	sleep 0.1
	ip -n "$id-$1" link delete ov0
	at "$1" nft delete table inet quiet
}

# A namespace's counters of bad checksums since the last call for it.
declare -A bad_before=()
bad_checksums_mark() { # NAMESPACE...
	local ns
	for ns in "$@"; do
		bad_before[$ns]=$(bad_checksums "$ns")
	done
}

no_bad_checksums() { # NAME NAMESPACE...
	local name=$1 ns
	shift
	for ns in "$@"; do
		check_equal "$name: no bad checksum in $ns" "${bad_before[$ns]}" "$(bad_checksums "$ns")"
	done
}

# Reasons that counted since the mark, with how often.
new_drops() { # LANE
	control_get "$1" | grep '^drop=' | sort >"$work/drops"
	sort "$work/drops.$1" | comm -13 - "$work/drops" | sed 's/^drop=//' | tr '\n' ' '
}

drops_mark() { # LANE...
	local lane
	for lane in "$@"; do
		control_get "$lane" | grep '^drop=' >"$work/drops.$lane"
	done
}

# ---- three nodes

# Node N of a, b, c: 192.0.2.N and 2001:db8::N on u0, on a bridge in s; 10.9.0.N and
# fd00:9::N on the tunnel device, UDP port 5100N, VTEP 172.31.0.N.
declare -A lane=([a]=$A [b]=$B [c]=$C)

mesh_links() {
	local ns n
	ns_new s a b c
	ip -n "$id-s" link add br0 type bridge
	ip -n "$id-s" link set br0 up
	for ns in a b c; do
		n=$(number_of "$ns")
		link_new s "u$ns" "$ns" u0
		ip -n "$id-s" link set "u$ns" master br0
		address_add "$ns" u0 "192.0.2.$n/24" "2001:db8::$n/64"
	done
	key_new a b c
}

mesh_peer() { # NAMESPACE OTHER [ALLOWED-IPS]
	local n
	n=$(number_of "$2")
	wg set "${lane[$1]}" peer "$(pub "$2")" endpoint "192.0.2.$n:5100$n" \
		allowed-ips "${3:-10.9.0.$n/32,fd00:9::$n/128,172.31.0.$n/32,172.31.1.$n/32}"
}

mesh_lane_up() { # NAMESPACE [NAME=VALUE...]
	local ns=$1 other n
	shift
	n=$(number_of "$ns")
	daemon_start auto "$ns" "${lane[$ns]}" "$@"
	lane_up "$ns" "${lane[$ns]}" "$ns" "5100$n" "10.9.0.$n/24" "fd00:9::$n/64"
	for other in a b c; do
		[ "$ns" = "$other" ] || mesh_peer "$ns" "$other"
	done
}

# ---- frames by hand

frames() { python3 "$frames_py" "$@"; }

# Sent in one namespace, each comes in exactly once in the other.
frames_pass() { # FROM TO FILE
	frames_count_start "$2" "$3" || return 1
	frames_send "$1" "$3" || return 1
	is_equal 1 frames_distinct "$2"
}

declare -A counting_pid=()
frames_count_start() { # NAMESPACE FILE [DEVICE]
	rm -f "$work/count.$1"
	ip netns exec "$id-$1" python3 "$frames_py" count "${3:-ov0}" "$2" 20 >"$work/count.$1" &
	counting_pid[$1]=$!
	eventually 10 grep -q ready "$work/count.$1" >/dev/null
}

frames_send() { # NAMESPACE FILE [DEVICE]
	at "$1" python3 "$frames_py" send "${3:-ov0}" "$2"
}

# How often each came in.
frames_counted() { # NAMESPACE
	while kill -0 "${counting_pid[$1]}" 2>/dev/null; do
		sleep 0.02
	done
	tail -n 1 "$work/count.$1"
}

frames_distinct() { # NAMESPACE: 1 if each came in once
	local counted
	counted=$(frames_counted "$1")
	printf '%s\n' "$counted" >&2
	tr ' ' '\n' <<<"$counted" | sort -u | tr '\n' ' ' | sed 's/ $//'
}

# ---- streams

# Bytes one way by iperf3; `retransmits` and `rate` tell of the last one.
stream() { # FROM TO ADDRESS BYTES [OPTION...]
	local from=$1 to=$2 address=$3 bytes=$4 server status=0
	shift 4
	ip netns exec "$id-$to" iperf3 -s -1 >"$work/iperf3.log" 2>&1 &
	server=$!
	eventually 10 is_listening "$to" tcp 5201 || return 1
	timeout 60 ip netns exec "$id-$from" iperf3 -c "$address" -J -n "$bytes" "$@" \
		>"$work/iperf3.json" || status=$?
	kill "$server" 2>/dev/null || true
	wait "$server" 2>/dev/null || true
	[ "$status" = 0 ] || { tail -n 20 "$work/iperf3.json"; return 1; }
	stream_moved "$bytes"
}

stream_field() { # EXPRESSION
	python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
print(int(eval(sys.argv[2], {"end": r["end"]})))' "$work/iperf3.json" "$1"
}

# All but what was still in socket buffers when the sender had done its part.
stream_moved() { # BYTES
	local got
	got=$(stream_field 'end["sum_received"]["bytes"]')
	[ "$got" -ge $(($1 / 4)) ] || { echo "$got of $1 bytes"; return 1; }
}

stream_rate() { stream_field 'end["sum_received"]["bits_per_second"]'; }
stream_retransmits() { stream_field 'end["sum_sent"]["retransmits"]'; }

may_lose=no # datagrams, where somebody else's queue is on the way
numbered() { # FROM TO ADDRESS SIZE PER-SEND
	local server n=$(($5 > 1 ? 400 : 50))
	at "$2" python3 "$numbered_py" receive 5002 "$n" >"$work/numbers" &
	server=$!
	eventually 10 is_listening "$2" udp 5002 || return 1
	at "$1" python3 "$numbered_py" send "$3" 5002 "$n" "$4" "$5" 3 >"$work/numbers.sent" || return 1
	wait "$server"
	[ "$may_lose" = no ] || sed -i 's/^lost=[0-9]* /lost=0 /' "$work/numbers"
	is_equal 'lost=0 doubled=0 reordered=0 changed=0' cat "$work/numbers" || return 1
	is_equal 'failed=0' cat "$work/numbers.sent"
}

kernel_at_least() { # MAJOR MINOR
	local major minor
	IFS=.- read -r major minor _ < <(uname -r)
	[ "$major" -gt "$1" ] || { [ "$major" = "$1" ] && [ "$minor" -ge "$2" ]; }
}
