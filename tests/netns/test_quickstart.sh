#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# quickstart does what it promises, and leaves nothing behind: not after success,
# not after a signal at any step, not when the daemon fails, not after --clean.
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "FAILED: $*"
	cat "$work/log" 2>/dev/null
	exit 1
}

quickstart() { TMPDIR=$work/tmp SEALANED=$daemon "$repo/packaging/quickstart" "$@" >"$work/log" 2>&1; }

# Everything that a run could leave, one a line.
leftovers() {
	ip netns list
	ip -o link show type vxlan
	ip -o link show type veth
	find /run/sealane-quickstart /var/run/wireguard /var/run/sealane -mindepth 1 2>/dev/null || true
	find /var/lib/sealane -name 'sl[0-9]*.tai64n' -newer "$work/begun" 2>/dev/null || true
	find "$work/tmp" -mindepth 1
	# shellcheck disable=SC2009 # pgrep's patterns are too short
	ps -eo comm= | grep -xE 'sealaned|sealane-agent|iperf3|socat|ping' || true
}

expect_nothing_left() {
	local n
	for n in {1..30}; do
		[ -n "$(leftovers)" ] || return 0
		[ "$n" = 30 ] || sleep 0.1
	done
	fail "left behind after $1: $(leftovers)"
}

expect_in_log() { grep -q -- "$1" "$work/log" || fail "the output lacks '$1'"; }

succeeds() {
	quickstart || fail 'quickstart failed'
	expect_in_log 'bits/sec'
	expect_in_log 'sha256 equal'
	expect_in_log 'handshake [0-9]* s ago'
	expect_in_log 'device *t[ua][np]'
	expect_nothing_left success
}

interrupted_at() { # STEP [SECONDS-INTO-IT]
	local pid n
	# Emptied here: the process in the background may take its time to.
	: >"$work/log"
	TMPDIR=$work/tmp SEALANED=$daemon "$repo/packaging/quickstart" >>"$work/log" 2>&1 &
	pid=$!
	for n in {1..300}; do
		! grep -q "^\* $1" "$work/log" 2>/dev/null || break
		[ "$n" != 300 ] || fail "never came to the step '$1'"
		sleep 0.05
	done
	sleep "${2:-0}"
	kill -s TERM "$pid"
	if wait "$pid"; then fail "a signal at '$1' did not end it"; fi
	expect_in_log 'interrupted at'
	expect_nothing_left "a signal at '$1'"
}

# Where it waits for a listener, whose search is a silent function: the word about
# the interruption must not become silent with it.
interrupted_in_silence() {
	local PATH=$work/slow:$PATH
	mkdir "$work/slow"
	printf '#!/bin/sh\nsleep 3\nexit 1\n' >"$work/slow/ss"
	chmod +x "$work/slow/ss"
	interrupted_at 'send TCP' 0.5
}

daemon_fails() {
	local daemon=$work/broken/sealaned
	mkdir "$work/broken"
	printf '#!/bin/sh\necho "cannot do it" >&2\nexit 1\n' >"$daemon"
	chmod +x "$daemon"
	ln -s "$(dirname "${SEALANED:-$repo/build/bin/sealaned}")/sealane-agent" "$work/broken/"
	if quickstart; then fail 'succeeded without a daemon'; fi
	expect_in_log 'FAILED at: start a node'
	expect_in_log 'cannot do it'
	expect_nothing_left 'a failing daemon'
}

kept_and_cleaned() {
	local ns
	quickstart --keep || fail 'quickstart --keep failed'
	ns=$(ip netns list | awk '/^sealane-qs-.*-a/ { print $1 }')
	ip netns exec "$ns" ping -c 1 -W 2 10.10.0.2 >/dev/null || fail 'what was kept does not work'
	quickstart --clean || fail 'quickstart --clean failed'
	expect_nothing_left '--clean'
}

daemon=${SEALANED:-$repo/build/bin/sealaned}
mkdir "$work/tmp"
: >"$work/begun"
succeeds
for step in 'make two' 'make a key' 'start a node' 'send TCP' 'copy a'; do
	interrupted_at "$step"
done
interrupted_in_silence
daemon_fails
kept_and_cleaned
