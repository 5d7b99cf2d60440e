#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Peers from a folder of files, as a ConfigMap is mounted: links into a folder that is replaced
# as a whole. One folder serves both nodes. Nodes come and go, files are bad, the folder is away
# while an agent starts: what cannot be read changes nothing. The topology is agent_lib.sh's.
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=agent_lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/agent_lib.sh"

folder=$work/peers
turn=0

configure() { # NAMESPACE
	{
		config_node "$1"
		printf 'overlays:\n'
		config_overlay "$1" port
		printf 'peer_directory: %s\n' "$folder"
	} >"$work/$1.yaml"
}

# What is mounted there from now on: a file for each.
mount_peers() { # NAMESPACE...
	local old ns
	old=$(readlink "$folder/..data" || true)
	mkdir "$folder/..$((++turn))"
	for ns in "$@"; do
		{ printf 'peers:\n'; config_peer "$ns" "10.244.$(number_of "$ns").0/24"; } >"$folder/..$turn/$ns.yaml"
	done
	ln -s "..$turn" "$folder/..tmp"
	mv -T "$folder/..tmp" "$folder/..data"
	# As the kubelet does: links of what is new, then none of what has gone.
	for ns in "$@"; do
		[ -L "$folder/$ns.yaml" ] || ln -s "..data/$ns.yaml" "$folder/$ns.yaml"
	done
	for ns in a b; do
		[ -e "$folder/$ns.yaml" ] || rm -f "$folder/$ns.yaml"
	done
	[ -z "$old" ] || rm -r "${folder:?}/$old"
}

members_of() { status_of "$1" '.discovery[0].members'; } # NAMESPACE

traffic() { # NAME
	check "$1: traffic" eventually "$agents_up" pings_once a 2 10.10.0.2
	check "$1: and back, IPv6" eventually "$agents_up" pings_once b 2 fd00:10::1
}

reason_of() { http_get "$1" /readyz; } # NAMESPACE

test_awaited() {
	agent_start a
	agent_start b
	check 'awaited: the reason is told' eventually "$agents_up" eval \
		"grep -F 'peers are awaited from directory $folder; $folder: cannot be read: No such file' <<<\"\$(reason_of a)\""
	check 'awaited: it is not ready' is_not_ready a
	mkdir "$folder"
	mount_peers a b
	check 'awaited: both are ready' agents_ready a b
	check_equal 'awaited: the node itself is no peer of it' '1 1' "$(members_of a) $(members_of b)"
	traffic awaited
	check 'awaited: status tells where they are from' grep -Fx "discovery  directory $folder: 1 peers" \
		<<<"$(sealane a status)"
	check 'awaited: the doctor is content' sealane a doctor
	check 'awaited: metrics' grep -Fx 'sealane_discovery_peers{kind="directory"} 1' <<<"$(http_get a /metrics)"
}

has_no_peer() { is_equal '' wg show "$1" peers; } # LANE

test_leave_and_join() {
	local before
	mount_peers a
	check 'leave: b is no peer of a' eventually "$agents_up" has_no_peer "$A"
	check_fails 'leave: its route has gone' grep -q via <<<"$(ip -n "$id-a" route show 10.244.2.0/24)"
	check_equal 'leave: on b nothing changed, where a is' 1 "$(members_of b)"
	check 'leave: a is ready, without anybody' agents_ready a
	before=$(status_of a .pid)
	mount_peers a b
	check 'join: b is back' eventually "$agents_up" is_equal 1 members_of a
	traffic join
	check_equal 'join: it took no restart' "$before" "$(status_of a .pid)"
}

tells_fault() { status_of "$1" '.discovery[0].faults[]' | grep -F "$2"; } # NAMESPACE TEXT
tells_none() { is_equal '' status_of "$1" '.discovery[0].faults[]'; }	 # NAMESPACE

test_bad_file() {
	printf 'peers: [{name: c, public_key: no}]\n' >"$folder/c.yaml"
	check 'bad file: told with its line' eventually "$agents_up" tells_fault a "$folder/c.yaml:1: peers[0].public_key"
	check_equal 'bad file: the others stay' 1 "$(members_of a)"
	check_fails 'bad file: the doctor says so' sealane a doctor
	check 'bad file: the agent is ready all the same' is_ready a
	traffic 'bad file'
	rm "$folder/c.yaml"
	check 'bad file: gone' eventually "$agents_up" tells_none a
}

# What an agent does not know yet it does not take away.
test_folder_away() {
	local lane
	lane=$(lane_pid a)
	pinger_start away a 10.10.0.2 200 0.02
	mv "$folder" "$folder.away"
	check 'folder away: told' eventually "$agents_up" tells_fault a 'cannot be read'
	check 'folder away: still ready' is_ready a
	agent_signal TERM a
	agent_start a
	check 'folder away: after a restart it is not' eventually "$agents_up" eval \
		"grep -F 'peers are awaited' <<<\"\$(reason_of a)\""
	pinger_wait away
	# A busy machine may answer late.
	check_at_most 'folder away: nothing was lost' 2 "$pinger_lost"
	check_equal 'folder away: nobody was removed' "$(pub b)" "$(wg show "$A" peers)"
	check_equal 'folder away: the lane is the same' "$lane" "$(lane_pid a)"
	mv "$folder.away" "$folder"
	check 'folder away: back' agents_ready a
	check_equal 'folder away: and nothing to change' '0 0' "$(status_of a '"\(.removed) \(.failed_passes)"')"
	traffic 'folder away'
}

test_end() {
	local ns
	agent_signal TERM a
	agent_signal TERM b
	for ns in a b; do
		check "end: cleanup of $ns" sealane "$ns" cleanup
	done
}

underlay_new
configure a
configure b
test_awaited
test_leave_and_join
test_bad_file
test_folder_away
test_end
finish
