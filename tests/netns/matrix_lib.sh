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
matrix_datagrams=200
whole=5000 # bytes that superpackets have at least, on average: of an MTU of 1390 it is three and a half
legacy=65536
lost_percent=5 # of a stream's segments sent again, at most; where superpackets are cut it is 50
matrix_vni=100 # of the last overlay: each has its own, by which a reload is seen to be done

kernel_at_least() { # MAJOR MINOR
	local major minor
	IFS=.- read -r major minor _ <<<"$release"
	[ "$major" -gt "$1" ] || { [ "$major" = "$1" ] && [ "$minor" -ge "$2" ]; }
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
	done < <(awk 'NR == FNR { before[$1] = $2; next } { print $1, $2 - before[$1] }' \
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

# Its report is in iperf3.json.
iperf3_run() { # ADDRESS OPTION...
	local status=0
	iperf3_server || return 1
	timeout 60 ip netns exec "$id-a" iperf3 -c "$1" -J "${@:2}" >"$work/iperf3.json" || status=$?
	kill "$server_pid" 2>/dev/null || true
	wait "$server_pid" 2>/dev/null || true
	[ "$status" = 0 ] || { tail -n 20 "$work/iperf3.json"; return 1; }
}

iperf3_field() { # JQ-EXPRESSION
	jq -r "$1" "$work/iperf3.json"
}

# All of them, for the second that they take nothing else goes on; what is lost is lost by us.
datagrams_pass() { # ADDRESS
	iperf3_run "$1" -u -k "$matrix_datagrams" -l 1000 -b 8M || return 1
	is_equal "$matrix_datagrams 0 0" \
		iperf3_field '.end.sum | "\(.packets) \(.lost_packets) \(.out_of_order // 0)"'
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
# - a port, always: a packet socket reads and writes them on every kernel
# - a kernel's tunnel where the lane's device takes superpackets of tunnels, which is a TAP from
#   6.17 on; before, the kernel cuts them for the lane (reads), and takes them cut only (writes)
expect_sizes() { # TYPE
	if [ "$1" = port ] || [ "$lane_is_able" = yes ]; then
		is_above 'mean size of a read' "$whole" "$read_size" || return 1
		is_above 'mean size of a write' "$whole" "$write_size" || return 1
		is_above 'mean size of what the far stack got' "$whole" "$received_size" || return 1
	fi
}

is_above() { # TEXT LEAST VALUE
	[ "$3" -ge "$2" ] || { printf '%s: want at least %s, got %s\n' "$@"; return 1; }
}

line_holds() { # TYPE ADDRESS
	local before
	before=$(broken)
	pings_once a 2 "$2" -i 0.02 || return 1
	received_mark
	counters_mark
	iperf3_run "$2" "${matrix_stream[@]}" || return 1
	counters_grown
	measure "$1"
	printf '%s Mbit/s, read %s, written %s, received %s (%s above 64 KB), again %s of %s\n' "$rate" "$read_size" \
		"$write_size" "$received_size" "$n_huge" "$n_again" "$n_segments" >"$work/line"
	expect_sizes "$1" || return 1
	[ "$n_again" -le $((20 + n_segments * lost_percent / 100)) ] ||
		{ printf '%s segments of %s were sent again\n' "$n_again" "$n_segments"; return 1; }
	datagrams_pass "$2" || return 1
	is_equal "$before" broken
}

line_name() { # TYPE OUTER INNER CHECKSUM LIMITS
	printf '%s, outer %s, inner %s, underlay tx checksum %s, limits %s' "$@"
}

line() { # TYPE OUTER INNER CHECKSUM LIMITS
	local address=10.10.0.2
	[ "$3" = ipv4 ] || address=fd00:10::2
	: >"$work/line"
	check "$(line_name "$@")" line_holds "$1" "$address"
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

# After the agents are there: what is known of the lane's device.
lane_learn() {
	lane_is_able=no
	! control_get "$(lane_of a)" | grep -q '^capability=tunnel_gso on' || lane_is_able=yes
	control_get "$(lane_of a)" | grep -E '^(device_kind|capability=tunnel_gso)'
}
