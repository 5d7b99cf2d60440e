#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in a virtual machine: the unit tests of the node's devices ($PROGRAMS), each of
# which compares what it made with what ip(8) shows. They pass over a type that the
# kernel has not; those in $KINDS it must have, and bareudp if it was built for that.
set -euo pipefail

n_failed=0

fail() { # TEXT
	printf 'FAIL %s\n' "$1"
	n_failed=$((n_failed + 1))
}

has_kind() { # KIND
	local options=()
	case $1 in
	vxlan) options=(external dstport 4789) ;;
	geneve) options=(external) ;;
	bareudp) options=(dstport 9 ethertype ip) ;;
	esac
	ip link add probe type "$1" "${options[@]}" && ip link delete probe
}

run() { # PROGRAM
	local output status=0
	output=$("$1" 2>&1) || status=$?
	printf '%s\n' "$output"
	[ "$status" = 0 ] || fail "${1##*/}: exit status $status"
	! grep -q '^skipped' <<<"$output" || fail "${1##*/}: skipped"
}

uname -rv
# What system() and popen() run.
ln -s bash /usr/bin/sh
[[ $(uname -r) != *-small ]] || KINDS+=' bareudp'
for kind in $KINDS; do
	if has_kind "$kind"; then
		printf 'ok   the kernel has %s\n' "$kind"
	else
		fail "the kernel has no $kind"
	fi
done
for program in $PROGRAMS; do
	run "$program"
done
[ "$n_failed" = 0 ]
