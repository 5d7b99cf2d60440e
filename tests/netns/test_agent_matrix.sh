#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The matrix of overlays (matrix_lib.sh) on this machine's kernel: a result for every line,
# also of the types that it lacks. And an agent that goes and comes back while datagrams
# pass one of the kernel's overlays.
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=agent_lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/agent_lib.sh"
# shellcheck source-path=SCRIPTDIR source=matrix_lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/matrix_lib.sh"

# Of the kernel's types one in another's place, so that each is made by the agent that is stopped.
test_restart() { # TYPE OUTER
	local before
	overlay_change "$1" "$2" default
	check "restart, $1: both nodes" overlay_works
	before=$(ip -n "$id-a" -o link show ov0)
	stream_start a b 10.10.0.2 4
	sleep 0.5
	agent_signal TERM a
	sleep 1
	agent_start a
	check "restart, $1: ready again" agents_ready a
	stream_wait
	check_equal "restart, $1: nothing lost" 'lost=0 doubled=0 reordered=0 changed=0' "$stream_result"
	check_equal "restart, $1: the same device" "$before" "$(ip -n "$id-a" -o link show ov0)"
	check_equal "restart, $1: nothing to do" '0 0 0' "$(status_of a '"\(.added) \(.changed) \(.removed)"')"
}

underlay_new
overlay_change port ipv4 default
check 'a port, to begin with' overlay_works
lane_learn
for type in port vxlan geneve bareudp; do
	type_matrix "$type"
done
for type in vxlan geneve bareudp; do
	! kernel_has "$type" || test_restart "$type" ipv4
done
finish
