#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A path of mixed limits: a pod's device sends superpackets of 192 KB, the overlay's takes
# 64 KB at most, so that the kernel cuts each down to single segments. The doctor finds it,
# says what it costs and what cures it; and so it does.
#
#   +------ p ------+         +------------ a -------------+        +--------- b --------+
#   | eth0          |         | pod0         ov0, a vxlan  |        | ov0                |
#   | 10.244.1.2    |---------| 10.244.1.1      10.10.0.1  |--------| 10.10.0.2          |
#   | fd00:244:1::2 | 192 KB  | fd00:244:1::1  fd00:10::1  | 64 KB  | fd00:10::2         |
#   +---------------+         +----------------------------+        +--------------------+
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=agent_lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/agent_lib.sh"
# shellcheck source-path=SCRIPTDIR source=matrix_lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/matrix_lib.sh"

limits_py=$repo/tests/netns/limits.py

configure() { # NAMESPACE PEER [ROUTE-OF-PEER...]
	{
		config_node "$1"
		printf 'overlays:\n'
		config_overlay "$1" vxlan
		printf 'peers:\n'
		config_peer "${@:2}"
	} >"$work/$1.yaml"
}

# An MTU that is less than the overlay's by more than 8: before 7.0 superpackets of IPv6 above 64 KB
# have an option of 8 bytes, which forwarding counts, so that it drops those that just fit.
pod_new() {
	ns_new p
	link_new p eth0 a pod0
	address_add p eth0 10.244.1.2/24 fd00:244:1::2/64
	address_add a pod0 10.244.1.1/24 fd00:244:1::1/64
	ip -n "$id-p" route add default via 10.244.1.1
	ip -n "$id-p" route add default via fd00:244:1::1
	ip -n "$id-p" link set eth0 mtu 1350
	ip -n "$id-a" link set pod0 mtu 1350
	at a sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
}

# A kernel before 6.3 has none for IPv4.
pod_limits_set() { # SIZE
	local all=("gso_max_size=$1" "gro_max_size=$1")
	! kernel_at_least 6 3 || all+=("gso_ipv4_max_size=$1" "gro_ipv4_max_size=$1")
	at p python3 "$limits_py" set eth0 "${all[@]}"
	at a python3 "$limits_py" set pod0 "${all[@]}"
}

# From the pod to the other node, by both families: sets, for each, how long the lane's reads are on
# average, and how much passes.
declare -A reads=() rates=()
pod_streams() { # NAME
	local family address
	iperf3_from=p
	for family in ipv4 ipv6; do
		address=10.10.0.2
		[ "$family" = ipv4 ] || address=fd00:10::2
		received_mark
		counters_mark
		check "$1, $family: a stream" iperf3_run "$address" -t 2
		counters_grown
		measure vxlan
		reads[$1.$family]=$read_size rates[$1.$family]=$rate
		printf '  %s, %s: %s Mbit/s, read %s, again %s of %s\n' "$1" "$family" "$rate" "$read_size" \
			"$n_again" "$n_segments"
	done
}

finding() { # FIELD: of what the doctor says of the way into the overlay, "" if it has nothing to say
	{ sealane a doctor --json || true; } | jq -r ".findings[] | select(.what == \"path to ov0\") | .$1"
}

test_right() {
	check_equal 'right: the doctor has nothing to say of it' '' "$(finding text)"
	pod_streams right
	for family in ipv4 ipv6; do
		check_at_least "right, $family: whole superpackets" "$whole" "${reads[right.$family]}"
	done
}

test_mixed() {
	pod_limits_set 196608
	pod_streams mixed
	for family in ipv4 ipv6; do
		# A kernel that cuts them to what the next device may have loses nothing.
		if [ "${reads[mixed.$family]}" -ge "$whole" ]; then
			printf '  %s: this kernel (%s) does not cut them to single segments\n' "$family" "$release"
		else
			check_at_most "mixed, $family: single segments" 1500 "${reads[mixed.$family]}"
		fi
	done
	check_fails 'mixed: the doctor finds something' sealane a doctor
	check_equal 'mixed: it is wrong' wrong "$(finding level)"
	check 'mixed: what takes how much' grep -F 'it takes superpackets of at most 65536 bytes' <<<"$(finding text)"
	check 'mixed: what gives it more' grep -F 'from pod0 (196608)' <<<"$(finding text)"
	check 'mixed: the loss to expect' grep -E '[0-9]+ to [0-9]+ % of the throughput is lost' <<<"$(finding text)"
}

# The command, and, as it says, the same at the other end of the pair.
test_cured() {
	local cure
	cure=$(finding cure | grep '^ip link set')
	printf '  %s\n' "$cure"
	check_equal 'cured: one command' 1 "$(wc -l <<<"$cure")"
	check 'cured: both ends are named' grep -F 'inside the namespace of a pod' <<<"$(finding cure)"
	check 'cured: it can be done' at a sh -c "$cure"
	check 'cured: and at the other end' at p sh -c "${cure/pod0/eth0}"
	check 'cured: the doctor finds nothing wrong' sealane a doctor
	check_equal 'cured: and has nothing to say of it' '' "$(finding text)"
	pod_streams cured
	for family in ipv4 ipv6; do
		check_at_least "cured, $family: whole superpackets again" "$whole" "${reads[cured.$family]}"
		tell_rates "$family" "${rates[right.$family]}" "${rates[mixed.$family]}" "${rates[cured.$family]}"
	done
}

tell_rates() { # FAMILY RIGHT MIXED CURED
	printf '  %s: %s Mbit/s right, %s mixed, %s cured: %s %% were lost\n' "$@" \
		$((100 - 100 * $3 / ($4 + 1)))
}

underlay_new
pod_new
configure a b
configure b a 10.244.1.0/24 fd00:244:1::/64
agent_start a
agent_start b
check 'both nodes are ready' agents_ready a b
check 'the pod reaches the other node, IPv4' eventually 10 pings_once p 1 10.10.0.2
check 'the pod reaches the other node, IPv6' eventually 10 pings_once p 1 fd00:10::2
lane_learn
test_right
test_mixed
test_cured
finish
