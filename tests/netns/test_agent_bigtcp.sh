#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A path of mixed limits: a pod's device sends superpackets of 192 KB, the overlay's takes
# 64 KB at most, so that the kernel cuts each down to single segments. And one where the overlay,
# a port, takes 192 KB as well, but a kernel before 7.0 refuses to forward such IPv6. The doctor
# finds both, says what they cost and what cures them; and so it does.
#
#   +------ p ------+         +------------ a -------------+        +--------- b --------+
#   | eth0          |         | pod0  ov0, vxlan or port   |        | ov0                |
#   | 10.244.1.2    |---------| 10.244.1.1      10.10.0.1  |--------| 10.10.0.2          |
#   | fd00:244:1::2 | 192 KB  | fd00:244:1::1  fd00:10::1  |        | fd00:10::2         |
#   +---------------+         +----------------------------+        +--------------------+
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=agent_lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/agent_lib.sh"
# shellcheck source-path=SCRIPTDIR source=matrix_lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/matrix_lib.sh"

limits_py=$repo/tests/netns/limits.py

overlay=vxlan

configure() { # NAMESPACE PEER [ROUTE-OF-PEER...]
	{
		config_node "$1"
		printf 'overlays:\n'
		config_overlay "$1" "$overlay"
		printf 'peers:\n'
		config_peer "${@:2}"
	} >"$work/$1.yaml"
}

nodes_configure() {
	configure a b
	configure b a 10.244.1.0/24 fd00:244:1::/64
}

pod_new() {
	ns_new p
	link_new p eth0 a pod0
	address_add p eth0 10.244.1.2/24 fd00:244:1::2/64
	address_add a pod0 10.244.1.1/24 fd00:244:1::1/64
	ip -n "$id-p" route add default via 10.244.1.1
	ip -n "$id-p" route add default via fd00:244:1::1
	pod_mtu_set 1350
	at a sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
}

# Less than the overlay's by more than 8, but where that is tried: before 7.0 superpackets of IPv6
# above 64 KB have an option of 8 bytes, which forwarding counts, so that it refuses what just fits.
pod_mtu_set() { # BYTES
	ip -n "$id-p" link set eth0 mtu "$1"
	ip -n "$id-a" link set pod0 mtu "$1"
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
		measure "$overlay"
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
	check 'mixed: the loss to expect' grep -E 'a third to a half of the throughput is lost$' <<<"$(finding text)"
}

# The command, and, as it says, the same at the other end of the pair.
test_cured() {
	local cure
	cure=$(finding cure | grep '^ip link set')
	printf '  %s\n' "$cure"
	check_equal 'cured: one command' 1 "$(wc -l <<<"$cure")"
	check 'cured: both ends are named' grep -F 'inside the namespace of a pod' <<<"$(finding cure)"
	check 'cured: it can be done' at a sh -c "$cure"
	check 'cured: the other end is still seen' grep -F "from pod0's other end (196608)" <<<"$(finding text)"
	check 'cured: and can be done likewise' at p sh -c "${cure/pod0/eth0}"
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

# ---- IPv6 above 64 KB, forwarded

overlay_is_port() { # NAMESPACE
	is_equal veth eval "ip -n $id-$1 -d -j link show ov0 | jq -r '.[0].linkinfo.info_kind'"
}

port_instead() {
	local ns
	overlay=port
	nodes_configure
	for ns in a b; do
		agent_signal HUP "$ns"
		check "port: $ns has one" eventually "$agents_up" overlay_is_port "$ns"
	done
	check 'port: both nodes are ready' agents_ready a b
	check 'port: the pod reaches the other node, IPv4' eventually 10 pings_once p 1 10.10.0.2
	check 'port: the pod reaches the other node, IPv6' eventually 10 pings_once p 1 fd00:10::2
}

n_refused() { # packets of IPv6 that were too big to be forwarded
	at a nstat -asz Ip6InTooBigErrors | awk '$1 == "Ip6InTooBigErrors" { print $2 }'
}

# As a doctor's commands say. An ip(8) before 6.3 has no word for the limits of IPv4.
do_as_told() { # NAMESPACE DEVICE COMMANDS
	local line words
	while read -r line; do
		read -ra words <<<"${line/ pod0 / $2 }"
		if [[ $line != *ipv4* ]] || grep -q gso_ipv4_max_size <<<"$(ip link help 2>&1)"; then
			at "$1" "${words[@]}" || return 1
		else
			at "$1" python3 "$limits_py" set "$2" "${words[5]}=${words[6]}" ${words[7]:+"${words[7]}=${words[8]}"} || return 1
		fi
	done <<<"$3"
}

limits_of() { # NAMESPACE DEVICE
	at "$1" python3 "$limits_py" show "$2" | sort | paste -sd ' '
}

# Every segment fits as it is, but not with 8 bytes more.
test_refused() {
	local before
	pod_limits_set 196608
	pod_mtu_set "$overlay_mtu"
	before=$(n_refused)
	pod_streams refused
	check_at_least 'refused: what just fits' 1 $(($(n_refused) - before))
	check_fails 'refused: the doctor finds something' sealane a doctor
	check_equal 'refused: it is wrong' wrong "$(finding level)"
	check 'refused: where from, and the loss to expect' \
		grep -F 'from pod0 (196608): 99 % of the throughput of IPv6 is lost' <<<"$(finding text)"
}

test_allowed() {
	local cure before
	cure=$(finding cure | grep '^ip link set')
	printf '  %s\n' "${cure/$'\n'/$'\n'  }"
	check 'allowed: it can be done' do_as_told a pod0 "$cure"
	check 'allowed: the other end is still seen' grep -F "from pod0's other end (196608)" <<<"$(finding text)"
	check 'allowed: and can be done likewise' do_as_told p eth0 "$cure"
	for end in 'a pod0' 'p eth0'; do
		# shellcheck disable=SC2086 # two words
		check_equal "allowed: IPv6 alone is shorter ($end)" \
			'gro_ipv4_max_size=196608 gro_max_size=65536 gso_ipv4_max_size=196608 gso_max_size=65536' \
			"$(limits_of $end)"
	done
	check 'allowed: the doctor finds nothing wrong' sealane a doctor
	check_equal 'allowed: and has nothing to say of it' '' "$(finding text)"
	before=$(n_refused)
	pod_streams allowed
	check_equal 'allowed: nothing is refused' "$before" "$(n_refused)"
	for family in ipv4 ipv6; do
		check_at_least "allowed, $family: whole superpackets" "$whole" "${reads[allowed.$family]}"
	done
	printf '  ipv6: %s Mbit/s refused, %s allowed\n' "${rates[refused.ipv6]}" "${rates[allowed.ipv6]}"
}

# What is proposed instead, or a kernel without the option: nothing is shorter.
test_long() { # NAME MTU
	local before
	pod_limits_set 196608
	pod_mtu_set "$2"
	check_equal "$1: the doctor has nothing to say of it" '' "$(finding text)"
	before=$(n_refused)
	pod_streams "$1"
	check_equal "$1: nothing is refused" "$before" "$(n_refused)"
	for family in ipv4 ipv6; do
		check_at_least "$1, $family: whole superpackets" "$whole" "${reads[$1.$family]}"
	done
}

cut_for_pods() { # FIELD: of what the doctor says of the way out of the port
	{ sealane a doctor --json || true; } | jq -r ".findings[] | select(.what == \"path from ov0\") | .$1"
}

# Out of the port the kernel cuts what is longer than the pod's end takes of IPv4.
test_out_of_the_port() {
	if [ "$(limit_of a ipv4)" -le "$legacy" ]; then
		check_equal 'out of the port: nothing to say' '' "$(cut_for_pods text)"
		return
	fi
	check 'out of the port: the doctor says so' grep -F 'are forwarded to pod0: a fifth' <<<"$(cut_for_pods text)"
	check 'out of the port: and what helps' do_as_told a pod0 "$(cut_for_pods cure | grep '^ip link set')"
	check_equal 'out of the port: nothing to say any more' '' "$(cut_for_pods text)"
}

test_forwarded_ipv6() {
	port_instead
	test_out_of_the_port
	overlay_mtu=$(ip -n "$id-a" -j link show ov0 | jq '.[0].mtu')
	if [ "$(limit_of a ipv6)" -le "$legacy" ]; then
		printf '  a port of this kernel (%s) takes 64 KB, as the other overlays\n' "$release"
	elif kernel_at_least 7 0; then
		test_long 'without the option' "$overlay_mtu"
	else
		test_refused
		test_allowed
		test_long 'shorter by the option' $((overlay_mtu - 8))
	fi
}

underlay_new
pod_new
nodes_configure
agent_start a
agent_start b
check 'both nodes are ready' agents_ready a b
check 'the pod reaches the other node, IPv4' eventually 10 pings_once p 1 10.10.0.2
check 'the pod reaches the other node, IPv6' eventually 10 pings_once p 1 fd00:10::2
lane_learn
test_right
test_mixed
test_cured
test_forwarded_ipv6
finish
