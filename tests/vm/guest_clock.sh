#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in a virtual machine: two nodes while the wall clock of both jumps. A node's handshakes
# are accepted all the same, from a lane that goes on and from one that was killed, for its
# stamps never go back; and what lane and agent do after a time does not wait for the clock.
# shellcheck disable=SC2317 # functions are called by name
set -euo pipefail

# lib.sh asks for these; nothing here uses them, and they are large.
export WIREGUARD_GO_DEBIAN=true
python3() { false; }

# shellcheck source=tests/netns/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../netns/lib.sh"
# shellcheck source=tests/netns/agent_lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../netns/agent_lib.sh"

agents_up=60

configure() { # NAMESPACE PEER
	{
		config_node "$1"
		printf 'overlays:\n'
		config_overlay "$1" port
		printf 'peers:\n'
		config_peer "$2"
	} >"$work/$1.yaml"
}

set_clock() { # SECONDS-FROM-NOW
	date -s "@$(($(date +%s) + $1))" >/dev/null
}

# Two, for one more may still wait for the handshake.
works() { eventually "$agents_up" pings_once a 2 10.10.0.2; }

is_other_lane() { [ -n "$(lane_pid a)" ] && [ "$(lane_pid a)" != "$1" ]; } # PID

# b keeps what it knows of a's stamps.
new_handshake() { # TEXT
	local before
	before=$(counter "$B" stat=handshakes_done)
	lane_restart a "$A"
	check "$1: traffic after a new handshake of the lane" works
	check_at_least "$1: there was one" $((before + 1)) "$(counter "$B" stat=handshakes_done)"
}

has_neighbour() { ip -n "$id-a" neighbour show 10.10.0.2 dev ov0 | grep -q PERMANENT; }

age_of_handshake() { # NAMESPACE
	status_of "$1" '.peers[0].last_handshake' | awk -v now="$(date +%s)" '{ print now - $1 }'
}

all_is_well() { # TEXT
	local pid
	check "$1: traffic goes on" pings a 3 10.10.0.2
	new_handshake "$1"
	pid=$(lane_pid a)
	kill -9 "$pid"
	check "$1: a killed lane is started again" eventually "$agents_up" is_other_lane "$pid"
	check "$1: traffic of the new lane" works
	check_equal "$1: no initiation was taken for an old one" '0 0' \
		"$(counter "$A" drop=old_timestamp) $(counter "$B" drop=old_timestamp)"
	check_at_least "$1: the handshake is not of the future" 0 "$(age_of_handshake a)"
	check_at_most "$1: nor long ago" 600 "$(age_of_handshake a)"
	agent_signal TERM a
	agent_start a
	check "$1: both agents are ready" agents_ready a b
	ip -n "$id-a" neighbour delete 10.10.0.2 dev ov0
	check "$1: the agent repairs" eventually "$agents_up" has_neighbour
}

uname -rv
mkdir -p /var/lib
underlay_new
configure a b
configure b a
agent_start a
agent_start b
check 'before: both agents are ready' agents_ready a b
check 'before: traffic' works
set_clock 21600
all_is_well 'six hours forth'
set_clock -43200
all_is_well 'twelve hours back'
finish
