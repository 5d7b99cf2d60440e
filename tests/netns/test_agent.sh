#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two nodes by their agents: what is made, that it is kept whatever is done to it,
# that nothing is lost while agents come and go, and that nothing stays at the end.
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=agent_lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/agent_lib.sh"

configure() { # NAMESPACE PEER [ROUTE-OF-PEER...]
	local ns=$1 peer=$2
	shift 2
	{
		config_node "$ns"
		printf 'overlays:\n'
		config_overlay "$ns" port
		printf 'peers:\n'
		config_peer "$peer" "$@"
	} >"$work/$ns.yaml"
}

traffic() { # TEXT
	check "$1: IPv4 through the overlay" pings a 3 10.10.0.2
	check "$1: IPv6 through the overlay" pings a 3 fd00:10::2
}

changes_of() { status_of "$1" '"\(.added) \(.changed) \(.removed) \(.failed_passes)"'; } # NAMESPACE

test_start() {
	state_of a >"$work/before.a"
	state_of b >"$work/before.b"
	configure a b 10.244.2.0/24 fd00:244:2::/64
	configure b a 10.244.1.0/24
	check 'start: --check finds the files fine' "$SEALANE_AGENT" --check --config "$work/a.yaml"
	agent_start a
	agent_start b
	check 'start: both are ready' agents_ready a b
	traffic start
	check 'start: the tunnel itself' pings a 2 10.9.0.2
	# A station behind b.
	address_add b lo 10.244.2.1/32 fd00:244:2::1/128
	check 'start: an IPv4 network behind the other' pings a 2 10.244.2.1
	check 'start: an IPv6 network behind the other' pings a 2 fd00:244:2::1
	check_equal 'start: superpackets of the port' 196608 \
		"$(ip -n "$id-a" -d -j link show ov0 | jq -r '.[0].gso_max_size')"
	check_equal 'start: MTU of the lane' 1440 "$(ip -n "$id-a" -j link show "$A" | jq -r '.[0].mtu')"
	check_equal 'start: MTU of the overlay' 1390 "$(ip -n "$id-a" -j link show ov0 | jq -r '.[0].mtu')"
}

test_quiet() {
	local before
	sleep 2
	before=$(changes_of a)
	at a timeout 3 ip -t monitor link address route neigh >"$work/monitor" 2>&1 || true
	check_equal 'quiet: nothing is changed any more' "$before" "$(changes_of a)"
	check_at_most 'quiet: at most the first pass, which found no lane, failed' 1 "$(status_of a .failed_passes)"
	# Neighbour entries that the kernel confirms by itself are no change of ours.
	check_fails 'quiet: the kernel tells of no change of ours' grep -E 'proto 94|PERMANENT' "$work/monitor"
}

test_told() {
	local out
	out=$(sealane a status)
	check 'told: status names the overlay' grep -q ov0 <<<"$out"
	check_equal 'told: JSON names the peer' b "$(status_of a '.peers[0].name')"
	check 'told: peers' grep -q 192.0.2.2 <<<"$(sealane a peers)"
	check 'told: drops' sealane a drops
	check 'told: doctor finds nothing wrong' sealane a doctor
	out=$(http_get a /metrics)
	check 'told: metrics of the lane' grep -q '^sealane_lane_udp_datagrams_out_total [1-9]' <<<"$out"
	check 'told: metrics of the port' grep -q '^sealane_port_frames_in_total{port="ov0"} [1-9]' <<<"$out"
	check_equal 'told: healthy' 200 "$(http_get a /healthz | tail -n 1)"
	check_equal 'told: nothing else' 404 "$(http_get a /etc/passwd | tail -n 1)"
	key=$(cat "$work/a.key")
	check_fails 'told: no private key anywhere' grep -rqF "$key" "$work/a.agent.log" - \
		<<<"$out$(sealane a status --json)"
}

has_peer() { grep -qF "$(pub "$2")" <<<"$(wg show "$1" peers)"; } # LANE PEER

goes_via() { grep -q "$3" <<<"$(ip -n "$id-$1" route show "$2")"; } # NAMESPACE PREFIX WAY

# What somebody does to it, and how to see that it is undone.
repairs=(
	'a route|ip route delete 10.244.2.0/24 metric 0|ip route get 10.244.2.1 | grep -q ov0'
	'the closed route|ip route delete unreachable 10.244.2.0/24|ip route | grep -q "unreachable 10.244.2.0/24"'
	'an IPv6 route|ip -6 route delete fd00:244:2::/64 dev ov0|ip route get fd00:244:2::1 | grep -q ov0'
	'a route to a tunnel address|ip route delete 10.9.0.2 dev LANE|ip route get 10.9.0.2 | grep -q LANE'
	'an address|ip address delete 10.10.0.1/24 dev ov0|ip address show dev ov0 | grep -q "10.10.0.1/24"'
	'all addresses|ip address flush dev ov0|ip address show dev ov0 | grep -q "fd00:10::1/64"'
	'a neighbour|ip neighbour delete 10.10.0.2 dev ov0|ip neighbour show 10.10.0.2 dev ov0 | grep -q PERMANENT'
	'the overlay down|ip link set ov0 down|ip link show ov0 | grep -q "state UP"'
	'the overlay MTU|ip link set ov0 mtu 1280|ip link show ov0 | grep -q "mtu 1390"'
	'the lane down|ip link set LANE down|ip link show LANE | grep -q LOWER_UP'
	'the lane MTU|ip link set LANE mtu 1300|ip link show LANE | grep -q "mtu 1440"'
	'the overlay deleted|ip link delete ov0|ip address show dev ov0 | grep -q "10.10.0.1/24"'
)

test_repairs() {
	local entry what spoil good started
	for entry in "${repairs[@]}"; do
		entry=${entry//LANE/$A}
		IFS='|' read -r what spoil good <<<"${entry/ | grep/ ¦ grep}"
		good=${good//¦/|}
		check "repairs: $what: can be spoilt" at a sh -c "$spoil"
		started=$(date +%s%3N)
		check "repairs: $what" eventually "$agents_up" at a sh -c "$good"
		printf '  after %d ms\n' $(($(date +%s%3N) - started))
	done
	check 'repairs: all is well again' agents_ready a
	traffic repairs
	# In the lane, of which the kernel tells nothing: the next comparison finds it.
	wg set "$A" peer "$(pub b)" remove
	agent_signal HUP a
	check 'repairs: a peer' eventually "$agents_up" has_peer "$A" b
	check 'repairs: traffic by that peer' eventually "$agents_up" pings_once a 2 10.10.0.2
}

test_foreign() {
	ip -n "$id-a" route add 10.77.0.0/16 dev ov0
	ip -n "$id-a" route add 10.78.0.0/16 dev "$A" metric 7
	address_add a ov0 10.99.0.1/24
	ip -n "$id-a" neighbour add 10.10.0.99 lladdr 02:00:00:00:00:99 dev ov0 nud permanent
	ip -n "$id-a" link add mine type dummy 2>/dev/null || ip -n "$id-a" link add mine type bridge
	agent_signal HUP a
	sleep 1.5
	check 'foreign: a route' grep -q 10.77.0.0/16 <<<"$(ip -n "$id-a" route)"
	check 'foreign: a route of the lane' grep -q 10.78.0.0/16 <<<"$(ip -n "$id-a" route)"
	check 'foreign: an address' grep -q 10.99.0.1/24 <<<"$(ip -n "$id-a" address)"
	check 'foreign: a neighbour' grep -q 10.10.0.99 <<<"$(ip -n "$id-a" neighbour)"
	check 'foreign: a device' ip -n "$id-a" link show mine
}

test_reload() {
	configure a b 10.244.2.0/24 fd00:244:2::/64 10.245.0.0/24
	agent_signal HUP a
	check 'reload: a new route' eventually "$agents_up" goes_via a 10.245.0.0/24 'via 10.10.0.2 dev ov0'
	sed -i 's/vni: 42/vni: 99999999/; s/^  - name: b/  - nome: b/' "$work/a.yaml"
	agent_signal HUP a
	check 'reload: faults are told with their lines' eventually "$agents_up" \
		grep -qE 'a.yaml:[0-9]+: .*vni' "$work/a.agent.log"
	check 'reload: all of them' grep -qE 'a.yaml:[0-9]+: .*nome' "$work/a.agent.log"
	traffic 'reload with faults'
	configure a b 10.244.2.0/24 fd00:244:2::/64
	agent_signal HUP a
	check 'reload: a route taken back' eventually "$agents_up" is_equal '' ip -n "$id-a" route show 10.245.0.0/24
}

# The datagrams are more than a second's worth on both sides of what happens.
test_agent_restarts() {
	local how
	for how in KILL TERM; do
		stream_start a b 10.10.0.2 6
		sleep 1
		agent_signal "$how" a
		sleep 1
		agent_start a
		check "$how: ready again" agents_ready a
		stream_wait
		check_equal "$how of the agent: nothing lost" 'lost=0 doubled=0 reordered=0 changed=0' "$stream_result"
	done
}

# Everything on the underlay that is not WireGuard, ARP or ND.
plain_filter='not (udp port 51820) and not arp and not icmp6'

test_lane_killed() {
	local pid n
	capture_start plain a eth0 "$plain_filter"
	pid=$(lane_pid a)
	pinger_start overlay a 10.10.0.2 250 0.02
	pinger_start behind a 10.244.2.1 250 0.02
	sleep 0.5
	kill -9 "$pid"
	for n in overlay behind; do
		pinger_wait "$n"
		# Of five seconds; how long it really takes is told, for the machine may be busy.
		check_at_most "lane killed: pings lost ($n)" 200 "$pinger_lost"
		printf '  away for about %d ms\n' $((pinger_lost * 20))
	done
	check 'lane killed: ready again' agents_ready a
	capture_stop
	check_equal 'lane killed: nothing went out in clear' 0 "$(captured plain)"
	check_fails 'lane killed: it is another one' [ "$pid" = "$(lane_pid a)" ]
	traffic 'lane killed'
}

test_end() {
	agent_signal TERM a
	check 'end: the agent leaves everything' pings a 2 10.10.0.2
	check_fails 'end: cleanup wants no agent' sealane b cleanup
	agent_signal TERM b
	check 'end: cleanup of a' sealane a cleanup --verbose
	check 'end: cleanup of b' sealane b cleanup
	check 'end: twice is fine' sealane b cleanup
	check 'end: the foreign device stays' ip -n "$id-a" link show mine
	ip -n "$id-a" link delete mine
	ip -n "$id-b" address delete 10.244.2.1/32 dev lo
	ip -n "$id-b" address delete fd00:244:2::1/128 dev lo
	for ns in a b; do
		check "end: $ns is as it was before" eventually 5 same_state "$ns"
	done
	check_equal 'end: no lane runs' '' "$(lane_pid a)$(lane_pid b)"
}

same_state() { diff <(state_of "$1") "$work/before.$1"; } # NAMESPACE

underlay_new
test_start
test_quiet
test_told
test_repairs
test_foreign
test_reload
test_agent_restarts
test_lane_killed
test_end
finish
