#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in a virtual machine whose first process is systemd: the units of a lane and
# of the node agent, which keep this machine a node that can reach another one.
#
#   the machine: sealaned@sealane0, sealane-agent    namespace b: a lane by hand
#   ov0       10.20.0.1   VXLAN by the lane          ov0   10.20.0.2   by the kernel
#   sealane0  10.10.0.1                              $B    10.10.0.2
#   eth0      192.0.2.1   ------- veth -------       eth0  192.0.2.2
# shellcheck disable=SC2317 # checks call functions by name
set -euo pipefail

export PATH=/usr/local/sbin:$PATH SYSTEMD_COLORS=0 SYSTEMD_PAGER=
SEALANED=$(command -v sealaned)

# lib.sh asks for these; nothing here uses them, and they are large.
export WIREGUARD_GO_DEBIAN=true
python3() { false; }

# shellcheck source=tests/netns/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../netns/lib.sh"

lane=sealaned@sealane0
agent=sealane-agent
probe=sealane-probe
config=/etc/sealane/sealane.yaml
route=10.244.2.0/24
other_route=10.244.3.0/24
patience=20 # seconds; nothing takes that long, but an emulated machine may be busy

# ---- this node and the other

topology() {
	ns_new b
	ip link add eth0 type veth peer name eth0 netns "$id-b"
	ip link set eth0 up
	ip address add 192.0.2.1/24 dev eth0
	ip -n "$id-b" link set eth0 up
	address_add b eth0 192.0.2.2/24
	key_new b
}

# What the units print, for there is no journal here.
keep_output() {
	mkdir -p /etc/systemd/system/service.d
	cat >/etc/systemd/system/service.d/output.conf <<-CONF
		[Service]
		StandardOutput=append:$work/%p.log
		StandardError=append:$work/%p.log
	CONF
	systemctl daemon-reload
}

write_config() { # ROUTE [LINE...]: what is behind the other node
	mkdir -p "${config%/*}"
	cat >"$config" <<-YAML
		node:
		  name: alpha
		  tunnel_addresses: [10.10.0.1]
		overlays:
		  - name: ov0
		    vni: 42
		    addresses: [10.20.0.1/24]
		peers:
		  - name: beta
		    public_key: $(pub b)
		    endpoint: 192.0.2.2:51820
		    tunnel_addresses: [10.10.0.2]
		    overlays:
		      - name: ov0
		        mac: "02:00:00:00:00:02"
		        addresses: [10.20.0.2]
		        routes: [$1]
	YAML
	shift
	[ $# = 0 ] || printf '%s\n' "$@" >>"$config"
}

# This node's key is known once its agent has run.
other_node() {
	daemon_start auto b "$B"
	lane_up b "$B" b 51820 10.10.0.2/24
	wg set "$B" peer "$(sealane pubkey </var/lib/sealane/private-key)" \
		allowed-ips 10.10.0.1/32 endpoint 192.0.2.1:51820
	ip -n "$id-b" link add ov0 address 02:00:00:00:00:02 type vxlan id 42 dstport 4789 \
		local 10.10.0.2 remote 10.10.0.1
	address_add b ov0 10.20.0.2/24
	ip -n "$id-b" link set ov0 up
}

# ---- units and what they keep

property() { systemctl show -P "$2" "$1"; } # UNIT NAME
is_in_state() { is_equal "$2" property "$1" ActiveState; } # UNIT STATE

main_pid() { property "$1" MainPID; } # UNIT

is_replaced() { # UNIT PID: it has another main process, and runs
	local pid
	pid=$(main_pid "$1")
	[ "$pid" != 0 ] && [ "$pid" != "$2" ] && is_in_state "$1" active
}

lane_answers() { wg show sealane0; }
lane_has_sockets() { lane_answers && control_get sealane0 | grep '^errno=0'; }
agent_says() { sealane status --json | jq -e ".agent | $1"; } # JQ-CONDITION

overlay_pings() { ping -n -c 3 -i 0.1 -W 3 10.20.0.2 | grep ' 3 received'; }
has_route() { ip route show "$1" | grep -q 'dev ov0'; } # PREFIX
has_no_route() { ! has_route "$1"; }

# What the end of an agent must not change: devices with their numbers, routes.
made() {
	ip -o link | grep -oE '^[0-9]+: (sealane0|ov0)'
	ip route show table all proto 94 | sort
}

of_process() { # UNIT FIELD: of /proc/PID/status
	awk -v key="$2:" '$1 == key { print $2 }' "/proc/$(main_pid "$1")/status"
}

# Until the next one, or none.
drop_in() { # [SETTING]: of the agent's unit
	local folder=/run/systemd/system/$agent.service.d
	rm -rf "$folder"
	if [ $# -gt 0 ]; then
		mkdir -p "$folder"
		printf '[Service]\n%s\n' "$1" >"$folder/test.conf"
	fi
	systemctl daemon-reload
}

# ---- the checks

correct() {
	local unit
	for unit in "$probe" "$lane" "$agent"; do
		check_equal "$unit: systemd-analyze has nothing to say" '' \
			"$(systemd-analyze verify --man=no "$unit.service" 2>&1)"
	done
	check 'they can be enabled' systemctl enable "$lane" "$agent"
	check_equal 'and are' 'enabled enabled' "$(systemctl is-enabled "$lane" "$agent" | paste -sd ' ')"
}

# Neither is there before it can do its work, nor given up.
faulty() {
	mkdir -p /etc/default
	printf 'SEALANE_ENCAP_PORTS=5556=gre\n' >/etc/default/sealaned
	check_fails 'a lane with a bad environment does not start' systemctl start "$lane"
	# More often, and faster, than systemd itself puts up with.
	check 'but is tried again and again' eventually 40 tries_at_least "$lane" 6
	rm /etc/default/sealaned
	check 'and starts without' eventually "$patience" is_in_state "$lane" active
	check 'and answers' lane_answers

	write_config "$route" 'nonsense: 1'
	check_fails 'an agent with a bad configuration does not start' systemctl start "$agent"
	drop_in RestartSec=100ms
	systemctl restart --no-block "$agent"
	check 'but is tried again and again' eventually 40 tries_at_least "$agent" 6
	drop_in
	write_config "$route"
	check 'and starts with a good one' eventually "$patience" is_in_state "$agent" active
	check 'and has done its work' has_route "$route"
}

tries_at_least() { [ "$(property "$1" NRestarts)" -ge "$2" ]; } # UNIT NUMBER

# By whatever lane came first, before it, and no more.
probed() {
	local began
	check_equal 'the kernel was probed' 'active exited success' \
		"$(property "$probe" ActiveState) $(property "$probe" SubState) $(property "$probe" Result)"
	check_equal 'and what was found is kept' "passed	$(uname -r)	$(uname -v)" "$(sed -n 2p /var/lib/sealane/kernel-probe)"
	check_at_least 'before a lane began' "$(property "$probe" ExecMainExitTimestampMonotonic)" \
		"$(property "$lane" ExecMainStartTimestampMonotonic)"
	began=$(property "$probe" ExecMainStartTimestampMonotonic)
	check 'another start of a lane' systemctl restart "$lane"
	check_equal 'is no reason to do it again' "$began" "$(property "$probe" ExecMainStartTimestampMonotonic)"
}

# What is said to be active can be used without waiting.
ready() {
	systemctl stop "$agent" "$lane"
	check_fails 'a lane that is stopped does not answer' lane_answers
	sealane cleanup
	check_fails 'so that there is no device' ip link show sealane0
	check 'a lane starts' systemctl start "$lane"
	check 'and answers at once' lane_answers
	check_equal 'as its main process' "$(main_pid "$lane")" "$(sealane status --json | jq .lane.pid)"
	check 'an agent starts' systemctl start "$agent"
	check 'and the overlay is there at once' has_route "$route"
	check 'with nothing left to do' eventually "$patience" agent_says '.ready and .synced'
	check_equal 'its process is the unit'"'"'s' "$(main_pid "$agent")" "$(agent_says .pid)"
	other_node
	check 'the other node can be reached' eventually "$patience" overlay_pings
}

hardened() {
	local unit
	check_equal 'the agent has CAP_NET_ADMIN alone' 0000000000001000 "$(of_process "$agent" CapEff)"
	check_equal 'the lane CAP_NET_RAW as well' 0000000000003000 "$(of_process "$lane" CapEff)"
	for unit in "$lane" "$agent"; do
		check_equal "$unit: no more than that ever" "$(of_process "$unit" CapEff)" "$(of_process "$unit" CapBnd)"
		check_equal "$unit: no new privileges" 1 "$(of_process "$unit" NoNewPrivs)"
		check_equal "$unit: system calls are filtered" 2 "$(of_process "$unit" Seccomp)"
		check "$unit: / is read-only" grep -qE '^([^ ]+ ){4}/ ro' "/proc/$(main_pid "$unit")/mountinfo"
	done
	check_equal 'the key is its owner'"'"'s alone' '700 600' \
		"$(stat -c %a /var/lib/sealane /var/lib/sealane/private-key | paste -sd ' ')"
}

has_text() { [[ $(property "$agent" StatusText) == *"$1"* ]]; } # TEXT

# What the unit forbids is nothing that a lane makes use of.
as_able() {
	check_equal 'the lane is as able as one by hand' "$(control_get "$B" | grep '^capability=')" \
		"$(control_get sealane0 | grep '^capability=')"
	check 'and so is its port' grep -q '^port_kind=veth' <<<"$(control_get sealane0)"
	check 'the doctor finds nothing wrong' sealane doctor
}

reloads() {
	local pid
	pid=$(main_pid "$agent")
	write_config "$other_route"
	check 'a reload' systemctl reload "$agent"
	check 'applies what is new' eventually "$patience" has_route "$other_route"
	check 'and takes back what is old' eventually "$patience" has_no_route "$route"

	write_config "$route" 'nonsense: 1'
	check 'a reload of a bad configuration' systemctl reload "$agent"
	check 'is told' eventually "$patience" agent_says '.config_error != null'
	check 'in the state of the unit, too' eventually "$patience" has_text refused
	check 'changes nothing' has_route "$other_route"
	check 'and leaves the unit active' is_in_state "$agent" active

	write_config "$route"
	check 'a reload of a good one' systemctl reload "$agent"
	check 'is applied' eventually "$patience" has_route "$route"
	check 'in the state of the unit, too' eventually "$patience" has_text 'in sync'
	check 'active as before' is_in_state "$agent" active
	check_equal 'all by the same process' "$pid" "$(main_pid "$agent")"
}

lane_killed() {
	local pid agent_pid
	pid=$(main_pid "$lane") agent_pid=$(main_pid "$agent")
	kill -s KILL "$pid"
	check 'a lane that was killed is there again' eventually "$patience" is_replaced "$lane" "$pid"
	check 'with all that it had' eventually "$patience" overlay_pings
	check_equal 'by the same agent' "$agent_pid" "$(main_pid "$agent")"
	check 'which knows' agent_says '.lane.returns >= 1'
}

agent_killed() {
	local pid lane_pid before
	lane_pid=$(main_pid "$lane") before=$(made)
	pid=$(main_pid "$agent")
	kill -s KILL "$pid"
	check 'without an agent the overlay is there' overlay_pings
	check 'an agent that was killed is there again' eventually "$patience" is_replaced "$agent" "$pid"
	check_equal 'the lane is the same' "$lane_pid" "$(main_pid "$lane")"
	check_equal 'devices and routes are the same' "$before" "$(made)"
}

# Watched with little patience from here on, which takes a restart.
agent_restarted() {
	local pinger pid lane_pid before
	lane_pid=$(main_pid "$lane") before=$(made)
	check_equal 'the agent is watched' 30s "$(property "$agent" WatchdogUSec)"
	drop_in WatchdogSec=8
	ping -n -c 200 -i 0.05 -W 5 10.20.0.2 >"$work/restart.pinger" 2>&1 &
	pinger=$!
	check 'an agent is restarted' systemctl restart "$agent"
	check 'while packets are on their way' kill -0 "$pinger"
	pid=$(main_pid "$agent")
	wait "$pinger" || true
	check 'none of them is lost' grep -q ' 200 received' "$work/restart.pinger"
	check_equal 'the lane is the same' "$lane_pid" "$(main_pid "$lane")"
	check_equal 'devices and routes are the same' "$before" "$(made)"
	check 'the lane still has its sockets' lane_has_sockets
	check_equal 'an agent that works is left alone' "$pid" "$(main_pid "$agent")"
}

agent_hangs() {
	local pid
	pid=$(main_pid "$agent")
	kill -s STOP "$pid"
	check 'an agent that hangs is replaced' eventually 40 is_replaced "$agent" "$pid"
	drop_in
	systemctl restart "$agent"
}

# Stopped, what it made stays; the lane takes its own along, and cleanup the rest.
stopped() {
	check 'the agent stops' systemctl stop "$agent"
	check_equal 'without a complaint' 'inactive success' "$(property "$agent" ActiveState) $(property "$agent" Result)"
	check 'the overlay stays' overlay_pings
	check 'the lane stops' systemctl stop "$lane"
	check_equal 'without a complaint' 'inactive success' "$(property "$lane" ActiveState) $(property "$lane" Result)"
	check_equal 'its sockets are gone' '' "$(find /run/sealane /run/wireguard -name 'sealane0.sock')"
	check 'those of others are there' is_answering b "$B"
	check 'nothing goes unencrypted' grep -q unreachable <<<"$(ip route show table all proto 94)"
	check 'the rest is cleaned up' sealane cleanup
	check_equal 'there is nothing' '' "$(ip route show table all proto 94; ip -o link | grep -F ov0 || true)"
}

# As a machine does when it comes up.
booted() {
	check 'multi-user.target is reached' systemctl start multi-user.target
	check 'with the lane' is_in_state "$lane" active
	check 'and the agent' is_in_state "$agent" active
	check 'the other node can be reached' eventually "$patience" overlay_pings
}

# The administrator's way to end a lane.
deleted() {
	local restarts
	restarts=$(property "$lane" NRestarts)
	ip link delete sealane0
	check 'a lane without its device ends' eventually "$patience" is_in_state "$lane" inactive
	check_equal 'for good' "success $restarts" "$(property "$lane" Result) $(property "$lane" NRestarts)"
	check 'the agent waits for it' is_in_state "$agent" active
	check 'it starts again' systemctl start "$lane"
	check 'with all that it had' eventually "$patience" overlay_pings
	systemctl stop "$agent" "$lane"
	check_equal 'no unit has failed' '' "$(systemctl --failed --no-legend)"
}

uname -rv
systemctl --version | head -n 1
topology
keep_output
for part in correct faulty probed ready hardened as_able reloads lane_killed agent_killed agent_restarted agent_hangs \
	stopped booted deleted; do
	printf -- '---- %s, after %s s\n' "$part" "$SECONDS"
	"$part"
done
finish
