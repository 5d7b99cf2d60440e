# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The matrix of overlays: every type, over and around IPv4 and IPv6, on an underlay that
# computes checksums or leaves that to the sender, with the default length of superpackets
# and the greatest there is. Sourced after agent_lib.sh, whose two namespaces it uses; the
# nodes are made by their agents, and go from one overlay to the next by a reload.
#
# A line of the matrix is one stream, some pings and datagrams. It holds if they arrive, in
# superpackets where this type has them on this kernel (expect_sizes), without a storm of
# what is sent again, and nobody finds a wrong checksum.
# shellcheck disable=SC2317 # checks call functions by name

# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154 # id, work, ...: the libraries'

for program in ethtool nstat; do
	command -v "$program" >/dev/null || skip "needs $program"
done

release=$(uname -r)
matrix_stream=(-t 1) # how long a stream is, as iperf3 is told
matrix_has_python=yes
whole=5000 # bytes that superpackets have at least, on average: of an MTU of 1390 it is three and a half
legacy=65536
lost_percent=5 # of a stream's segments sent again, at most; where superpackets are cut it is 50
matrix_vni=100 # of the last overlay: each has its own, by which a reload is seen to be done

# What IANA has for MPLS is what bareudp is given here; a lane has to be told.
export SEALANE_ENCAP_PORTS=6635=ip

kernel_at_least() { # MAJOR MINOR [PATCH]
	local major minor patch
	IFS=.-+ read -r major minor patch _ <<<"$release"
	[[ $patch =~ ^[0-9]+$ ]] || patch=0
	[ $((major * 1000000 + minor * 1000 + patch)) -ge $(($1 * 1000000 + $2 * 1000 + ${3:-0})) ]
}

# ---- the overlay under test

matrix_config() { # NAMESPACE PEER TYPE OUTER LIMITS
	local options=("family: $4")
	[ "$5" = default ] || options+=("gso_max_size: $5")
	{
		config_node "$1"
		printf 'overlays:\n'
		config_overlay "$1" "$3" "${options[@]}" | sed "s/vni: 42/vni: $matrix_vni/"
		printf 'peers:\n'
		config_peer "$2"
	} >"$work/$1.yaml"
}

is_configured() { # NAMESPACE
	[ "$(status_of "$1" '.overlays[0].vni')" = "$matrix_vni" ]
}

# Not in a subshell: it may start the agents.
overlay_change() { # TYPE OUTER LIMITS
	local ns
	matrix_vni=$((matrix_vni + 1))
	matrix_config a b "$@"
	matrix_config b a "$@"
	for ns in a b; do
		if [ -z "${agent_pid[$ns]:-}" ]; then agent_start "$ns"; else agent_signal HUP "$ns"; fi
	done
}

overlay_is_known() {
	eventually "$agents_up" is_configured a && eventually "$agents_up" is_configured b
}

overlay_works() {
	overlay_is_known && agents_ready a b &&
		eventually "$agents_up" pings_once a 1 10.10.0.2 &&
		eventually "$agents_up" pings_once a 1 fd00:10::2
}

limit_of() { # NAMESPACE FAMILY: of superpackets that are sent
	local key=gso_max_size
	[ "$2" = ipv6 ] || key=gso_ipv4_max_size
	ip -n "$id-$1" -d -j link show ov0 | jq -r ".[0] | .$key // .gso_max_size // \"unknown\""
}

# What it should be: a port has 192 KB where that is known to work, the kernel's tunnels on the
# lane's device never.
expected_limit() { # TYPE
	if [ "$1" = port ] && kernel_at_least 6 18; then echo 196608; else echo "$legacy"; fi
}

# Does the underlay compute UDP checksums, or does who sends?
underlay_checksums() { # on|off
	at a ethtool -K eth0 tx "$1" >/dev/null
	at b ethtool -K eth0 tx "$1" >/dev/null
}

# ---- what is measured

# TCP that comes out of the overlay, as the host's stack sees it, from now on.
received_mark() {
	at b nft -f - <<-'NFT'
		table inet matrix { }
		delete table inet matrix
		table inet matrix {
			chain received {
				type filter hook prerouting priority -300;
				iifname "ov0" meta l4proto tcp meta length > 65535 counter
				iifname "ov0" meta l4proto tcp counter
			}
		}
	NFT
}

received() { # HUGE-PACKETS PACKETS BYTES
	at b nft list table inet matrix | awk '
		/length > 65535/ { huge = $(NF - 2) }
		/counter/ { n = $(NF - 2); bytes = $NF }
		END { print huge, n, bytes }'
}

# What the lanes counted by now: "a.device_bytes_in 123". A port's own counters are prefixed, too.
counters() {
	local ns
	for ns in a b; do
		control_get "$(lane_of "$ns")" |
			sed -nE "s/^stat=/$ns./p; s/^port_stat=/$ns.port_/p; s/^drop=/$ns.drop_/p"
	done
}

declare -A grown=()
counters_mark() { counters >"$work/counters.before"; }

counters_grown() {
	local key value
	counters >"$work/counters.after"
	while read -r key value; do
		grown[$key]=$value
	# Not print: mawk's of a number above 2^31 is "2.2e+09".
	done < <(awk 'NR == FNR { before[$1] = $2; next } { printf "%s %.0f\n", $1, $2 - before[$1] }' \
		"$work/counters.before" "$work/counters.after")
}

mean() { # BYTES PACKETS
	echo $(($1 / ($2 ? $2 : 1)))
}

broken() { # packets that a receiver found broken, in both namespaces
	printf '%s %s\n' "$(bad_checksums a)" "$(bad_checksums b)"
}

# ---- traffic

iperf3_server() { # sets server_pid
	ip netns exec "$id-b" iperf3 -s -1 >"$work/iperf3.log" 2>&1 &
	server_pid=$!
	eventually 10 is_listening b tcp 5201 >/dev/null
}

# Its report is in iperf3.json. From namespace a, or iperf3_from.
iperf3_run() { # ADDRESS OPTION...
	local status=0
	iperf3_server || return 1
	timeout 60 ip netns exec "$id-${iperf3_from:-a}" iperf3 -c "$1" -J "${@:2}" >"$work/iperf3.json" || status=$?
	kill "$server_pid" 2>/dev/null || true
	wait "$server_pid" 2>/dev/null || true
	[ "$status" = 0 ] || { tail -n 20 "$work/iperf3.json"; return 1; }
}

iperf3_field() { # JQ-EXPRESSION
	jq -r "$1" "$work/iperf3.json"
}

# All that one end sends comes out at the other, in its order.
datagrams_pass() { # ADDRESS
	local server address=$1 status=0
	[[ $address != *:* ]] || address="[$address]"
	[ -s "$work/datagrams" ] || head -c 50000 /dev/urandom >"$work/datagrams"
	rm -f "$work/got.datagrams"
	ip netns exec "$id-b" socat -u UDP6-RECV:6001,ipv6only=0 "CREATE:$work/got.datagrams" &
	server=$!
	eventually 10 is_listening b udp 6001 &&
		at a socat -u -b 1000 "OPEN:$work/datagrams,rdonly" "UDP:$address:6001" &&
		eventually 10 cmp "$work/datagrams" "$work/got.datagrams" || status=1
	kill "$server"
	wait "$server" 2>/dev/null || true
	return "$status"
}

# Likewise superpackets of UDP: 20 datagrams at a time.
segments_pass() { # ADDRESS
	local server n=200
	at b python3 "$numbered_py" receive 6002 "$n" >"$work/numbers" &
	server=$!
	eventually 10 is_listening b udp 6002 || return 1
	at a python3 "$numbered_py" send "$1" 6002 "$n" 1000 20 2 >"$work/numbers.sent" || return 1
	wait "$server"
	is_equal 'lost=0 doubled=0 reordered=0 changed=0' cat "$work/numbers" || return 1
	is_equal 'failed=0' cat "$work/numbers.sent"
}

# ---- one line

# How long what is read and written is on average, by the lane's word, and what the far stack got.
measure() { # TYPE
	local n bytes kind=device_ what=packets
	[ "$1" != port ] || kind=port_ what=frames
	read -r n_huge n bytes < <(received)
	received_size=$(mean "$bytes" "$n")
	read_size=$(mean "${grown[a.${kind}bytes_in]}" "${grown[a.$kind${what}_in]}")
	write_size=$(mean "${grown[b.${kind}bytes_out]}" "${grown[b.$kind${what}_out]}")
	rate=$(iperf3_field '.end.sum_received.bits_per_second / 1e6 | round')
	n_again=$(iperf3_field '.end.sum_sent.retransmits')
	n_segments=$(iperf3_field '(.end.sum_sent.bytes / 1200) | round')
}

# Where superpackets have to come through whole:
# - a port: everywhere, for a packet socket reads and writes them on every kernel
# - a tunnel of the kernel on a TAP that takes its superpackets (from 6.17 on): everywhere, but that
#   those are not read which the kernel has to cut before (bare UDP before 7.2.11, see tunnel.h)
# - such a tunnel on a TUN: never read, for the kernel cuts them; written as superpackets of the
#   outer UDP where a TUN takes them (from 6.2 on) and that can be trusted, and merged by the
#   tunnel's device
expect_sizes() { # TYPE OUTER INNER
	local reads=yes writes=yes
	if [ "$1" != port ]; then
		[ "$lane_takes_tunnels" = yes ] || reads=no writes=$lane_merges_outer
		[ "$1" != bareudp ] || [ "$2 $3" = 'ipv4 ipv4' ] || kernel_at_least 7 2 11 || reads=no
	fi
	[ "$reads" = no ] || is_above 'mean size of a read' "$whole" "$read_size" || return 1
	[ "$writes" = no ] || is_above 'mean size of a write' "$whole" "$write_size" || return 1
	[ "$writes" = no ] || is_above 'mean size of what the far stack got' "$whole" "$received_size"
}

is_above() { # TEXT LEAST VALUE
	[ "$3" -ge "$2" ] || { printf '%s: want at least %s, got %s\n' "$@"; return 1; }
}

line_holds() { # TYPE OUTER INNER
	local address=10.10.0.2 before
	[ "$3" = ipv4 ] || address=fd00:10::2
	before=$(broken)
	pings a 2 "$address" || return 1
	received_mark
	counters_mark
	iperf3_run "$address" "${matrix_stream[@]}" || return 1
	counters_grown
	measure "$1"
	printf '%s Mbit/s, read %s, written %s, received %s (%s above 64 KB), again %s of %s\n' "$rate" \
		"$read_size" "$write_size" "$received_size" "$n_huge" "$n_again" "$n_segments" >"$work/line"
	expect_sizes "$@" || return 1
	[ "$n_again" -le $((20 + n_segments * lost_percent / 100)) ] ||
		{ printf '%s segments of %s were sent again\n' "$n_again" "$n_segments"; return 1; }
	datagrams_pass "$address" || return 1
	[ "$matrix_has_python" = no ] || segments_pass "$address" || return 1
	is_equal "$before" broken
}

line_name() { # TYPE OUTER INNER CHECKSUM LIMITS
	printf '%s, outer %s, inner %s, underlay tx checksum %s, limits %s' "$@"
}

line() { # TYPE OUTER INNER CHECKSUM LIMITS
	: >"$work/line"
	check "$(line_name "$@")" line_holds "$1" "$2" "$3"
	sed 's/^/  /' "$work/line"
}

# ---- all lines

outers=(ipv4 ipv6)
inners=(ipv4 ipv6)
checksums=(on off)
limits=(default 196608)

kernel_has() { # TYPE
	local options
	case $1 in
	vxlan) options=(vxlan id 1 dstport 1) ;;
	geneve) options=(geneve external) ;;
	bareudp) options=(bareudp dstport 1 ethertype ip) ;;
	*) return 0 ;;
	esac
	ip -n "$id-a" link add probe type "${options[@]}" 2>/dev/null && ip -n "$id-a" link delete probe
}

# Every line of it, with a result that says why.
type_missing() { # TYPE
	local outer inner checksum limit
	overlay_change "$1" ipv4 default
	check "$1: the agent says what is missing" eventually "$agents_up" is_refused "$1"
	for outer in "${outers[@]}"; do
		for limit in "${limits[@]}"; do
			for checksum in "${checksums[@]}"; do
				for inner in "${inners[@]}"; do
					pass "$(line_name "$1" "$outer" "$inner" "$checksum" "$limit"): this kernel has no such type ($release)"
				done
			done
		done
	done
}

is_refused() { # TYPE
	status_of a '.faults[]' | grep -F "this kernel has no $1 (CONFIG_${1^^})"
}

type_matrix() { # TYPE
	local outer inner checksum limit name
	kernel_has "$1" || { type_missing "$1"; return; }
	for outer in "${outers[@]}"; do
		for limit in "${limits[@]}"; do
			name="$1, outer $outer, limits $limit"
			overlay_change "$1" "$outer" "$limit"
			check "$name: both nodes" overlay_works
			check_equal "$name: in force" "$(expected_limit "$1") $(expected_limit "$1")" \
				"$(limit_of a ipv4) $(limit_of a ipv6)"
			for checksum in "${checksums[@]}"; do
				underlay_checksums "$checksum"
				for inner in "${inners[@]}"; do
					line "$1" "$outer" "$inner" "$checksum" "$limit"
				done
			done
		done
	done
}

# What the lanes can do here, once they run.
lane_learn() {
	local is
	is=$(control_get "$(lane_of a)" | grep -E '^(device_kind=|capability=(tunnel_gso|encap_udp_gro|big_tcp) )')
	lane_takes_tunnels=no lane_merges_outer=no
	[[ $is != *'capability=tunnel_gso on'* ]] || lane_takes_tunnels=yes
	[[ $is != *'capability=encap_udp_gro on'* ]] || lane_merges_outer=yes
	printf '%s\n' "$is"
}
