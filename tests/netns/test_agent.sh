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
	# Not the first one either, which found no lane.
	check_equal 'quiet: no pass failed' 0 "$(status_of a .failed_passes)"
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
	check 'told: what a drop means' grep -E "^no_peer +[0-9]+ +no peer's allowed-ips cover the destination\$" \
		<<<"$(sealane a drops --all)"
	check_equal 'told: what every drop means' 'true 0' "$(sealane a drops --all --json |
		jq -r '"\(.drops | length > 30) \([.meanings[] | select(. == null)] | length)"')"
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

# A peer may come to be there by roaming, whatever the configuration says.
test_endpoint_inside() {
	local was
	was=$(wg show "$A" endpoints | awk '{ print $2 }')
	check 'endpoint inside: the doctor says so' eventually "$agents_up" inside_is_told
	wg set "$A" peer "$(pub b)" endpoint "$was"
	check 'endpoint inside: it can be put right' pings a 2 10.10.0.2
	check 'endpoint inside: and is' sealane a doctor
}

# Until b is heard from the next time, which may be at once.
inside_is_told() {
	wg set "$A" peer "$(pub b)" endpoint 10.244.2.7:51820
	grep -F '10.244.2.7:51820 of b is reached through ov0, which is inside the tunnel' \
		<<<"$(sealane a doctor || true)"
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
	'a changed neighbour|ip neighbour replace 10.10.0.2 lladdr 02:00:00:00:00:99 dev ov0 nud permanent|! ip neighbour show 10.10.0.2 dev ov0 | grep -q 02:00:00:00:00:99'
	'a neighbour that ages|ip neighbour replace 10.10.0.2 dev ov0 nud stale|ip neighbour show 10.10.0.2 dev ov0 | grep -q PERMANENT'
	'the overlay down|ip link set ov0 down|ip link show ov0 | grep -q "state UP"'
	'the overlay MTU|ip link set ov0 mtu 1280|ip link show ov0 | grep -q "mtu 1390"'
	'the overlay renamed|ip link set ov0 down; ip link set ov0 name foo|ip address show dev ov0 | grep -q "state UP"'
	'the lane down|ip link set LANE down|ip link show LANE | grep -q LOWER_UP'
	'the lane MTU|ip link set LANE mtu 1300|ip link show LANE | grep -q "mtu 1440"'
	'the lane renamed|ip link set LANE down; ip link set LANE name foo|ip link show LANE | grep -q LOWER_UP'
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

gso_size() { ip -n "$id-a" -d -j link show ov0 | jq '.[0].gso_max_size'; }

has_mac() { [ "$(ip -n "$id-a" -j link show ov0 | jq -r '.[0].address')" = "$1" ]; }

# The port's device is changed back and not made again.
test_changed_port() {
	local ifindex mac size
	read -r ifindex mac < <(ip -n "$id-a" -j link show ov0 | jq -r '"\(.[0].ifindex) \(.[0].address)"')
	size=$(gso_size)
	pinger_start changed a 10.10.0.2 100 0.05
	ip -n "$id-a" link set ov0 address 02:00:00:00:00:99
	check 'changed port: it has its MAC again' eventually "$agents_up" has_mac "$mac"
	pinger_wait changed
	# A pass comes a second after the one before at the latest, and the machine may be busy.
	check_at_most 'changed port: pings lost' 60 "$pinger_lost"
	ip -n "$id-a" link set ov0 gso_max_size 30000
	agent_signal HUP a
	check 'changed port: and its limits' eventually "$agents_up" is_equal "$size" gso_size
	check_equal 'changed port: it is the same device' "$ifindex" \
		"$(ip -n "$id-a" -j link show ov0 | jq '.[0].ifindex')"
	traffic 'changed port'
}

# What has another MAC address in another namespace is not there for us to change.
test_moved_port() {
	local text='device ov0, in another network namespace: its MAC address is' mac=02:00:00:00:00:77
	ns_new m
	ip -n "$id-a" link set ov0 netns "$id-m"
	sed -i "s/^    vni: 42/&\n    mac: \"$mac\"/" "$work/a.yaml"
	agent_signal HUP a
	check 'moved port: another MAC is to be set there' eventually "$agents_up" is_told a "$text"
	ip -n "$id-m" link set ov0 address "$mac"
	agent_signal HUP a
	check 'moved port: that is all' eventually "$agents_up" agents_ready a
	ip -n "$id-m" link set ov0 netns "$id-a"
	configure a b 10.244.2.0/24 fd00:244:2::/64
	agent_signal HUP a
	check 'moved port: back, and as before' eventually "$agents_up" traffic_once
	check 'moved port: all is well' agents_ready a
}

# Neighbours that come, change and go all the time, on a device that is not ours.
test_churn() {
	local before i
	before=$(status_of a .passes)
	for i in {1..30}; do
		ip -n "$id-a" neighbour replace 192.0.2.77 lladdr "02:00:00:00:00:$i" dev eth0 nud reachable
		ip -n "$id-a" neighbour replace 192.0.2.77 lladdr "02:00:00:00:01:$i" dev eth0 nud permanent
		ip -n "$id-a" neighbour delete 192.0.2.77 dev eth0
		sleep 0.05
	done
	# The one that may come by itself, each minute.
	check_at_most 'churn: others'"'"' neighbours want no passes' $((before + 1)) "$(status_of a .passes)"
}

# Somebody else has the name of ours, which goes on to work under its own.
test_name_taken() {
	check 'name taken: a device can be renamed' eventually "$agents_up" rename_to_foo
	# Until it is named back, if the agent was faster.
	ip -n "$id-a" link add ov0 type bridge 2>/dev/null || {
		pass 'name taken: (the agent was faster)'
		return
	}
	check 'name taken: a fault says so' eventually "$agents_up" is_told a 'somebody named it foo'
	ip -n "$id-a" link delete ov0
	agent_signal HUP a
	check 'name taken: ours has it again' eventually "$agents_up" is_gone a foo
	check 'name taken: all is well' eventually "$agents_up" agents_ready a
	traffic 'name taken'
	check_equal 'name taken: one port' 1 "$(control_get "$A" | grep -c ^port=)"
}

# The same of the lane's own device: what goes by it goes on.
test_lane_name_taken() {
	check 'lane name taken: it can be renamed' eventually "$agents_up" lane_renamed_and_taken
	check 'lane name taken: a fault says so' eventually "$agents_up" is_told a \
		'somebody named it foo, and another device has its name: rename or delete that one'
	check 'lane name taken: the tunnel works' eventually "$agents_up" pings_once a 2 10.9.0.2
	check 'lane name taken: the overlay works' eventually "$agents_up" traffic_once
	ip -n "$id-a" link delete "$A"
	check 'lane name taken: ours has it again' eventually "$agents_up" is_gone a foo
	check 'lane name taken: all is well' agents_ready a
	traffic 'lane name taken'
}

# The agent may be faster than the one who takes the name.
lane_renamed_and_taken() {
	ip -n "$id-a" link set "$A" down
	ip -n "$id-a" link set "$A" name foo || return 1
	ip -n "$id-a" link add "$A" type bridge
}

# Before Linux 6.2 it must be down, which the agent is against.
rename_to_foo() {
	ip -n "$id-a" link set ov0 down && ip -n "$id-a" link set ov0 name foo
}

is_told() { status_of "$1" '.faults[]' | grep -F "$2"; }		   # NAMESPACE TEXT
is_gone() { ! ip -n "$id-$1" link show dev "$2" >/dev/null 2>&1; } # NAMESPACE DEVICE

# A tunnel of the kernel's on a port that nobody knows: the lanes are told, and pass its
# superpackets whole both ways.
test_udp_port() {
	local kind=vxlan read write
	if ! ip -n "$id-a" link add probe type vxlan id 1 dstport 1 2>/dev/null; then
		pass 'UDP port: (this kernel has no VXLAN)'
		return
	fi
	ip -n "$id-a" link delete probe
	udp_port_configure vxlan 'udp_port: 14789'
	check 'UDP port: both lanes know it' eventually "$agents_up" both_know 14789 vxlan
	check 'UDP port: pings' eventually "$agents_up" pings_once a 2 10.10.0.2
	if ! grep -q '^capability=tunnel_gso on' <<<"$(control_get "$A")"; then
		pass 'UDP port: (this kernel cuts superpackets of tunnels)'
	else
		read=$(device_counters "$A" in) write=$(device_counters "$B" out)
		check 'UDP port: a stream' stream_of_bytes a b 10.10.0.2
		check_at_least 'UDP port: superpackets are read' 5000 "$(mean_since "$read" "$A" in)"
		check_at_least 'UDP port: superpackets are written' 5000 "$(mean_since "$write" "$B" out)"
	fi
	check 'UDP port: its device can be renamed' eventually "$agents_up" rename_to_foo
	check 'UDP port: a renamed device has its name again' eventually "$agents_up" is_gone a foo
	check 'UDP port: and works' eventually "$agents_up" pings_once a 2 10.10.0.2
	check 'UDP port: its forwarding entries are marked' eventually "$agents_up" all_are_marked
	bridge -n "$id-a" fdb append 00:00:00:00:00:00 dev ov0 dst 10.9.0.77
	check 'UDP port: and again after an end that took the mark off' \
		eventually "$agents_up" all_are_marked
	check_equal 'UDP port: there is one' 1 "$(ip -n "$id-a" -o link show type vxlan | wc -l)"
	configure a b 10.244.2.0/24 fd00:244:2::/64
	configure b a 10.244.1.0/24
	agent_signal HUP a
	agent_signal HUP b
	check 'UDP port: taken back' eventually "$agents_up" neither_knows 14789
	check 'UDP port: a port again' eventually "$agents_up" traffic_once
}

all_are_marked() {
	local fdb
	fdb=$(bridge -n "$id-a" fdb show dev ov0 | grep ' dst ') && ! grep -qv extern_learn <<<"$fdb"
}

udp_port_configure() { # TYPE [LINE...]
	local ns peer
	for ns in a b; do
		peer=$([ "$ns" = a ] && echo b || echo a)
		{
			config_node "$ns"
			printf 'overlays:\n'
			config_overlay "$ns" "$@"
			printf 'peers:\n'
			config_peer "$peer"
		} >"$work/$ns.yaml"
		agent_signal HUP "$ns"
	done
}

both_know() { # UDP-PORT KIND
	[ "$({ control_get "$A"; control_get "$B"; } | grep -cx "encap=$1 $2 set")" = 2 ]
}

neither_knows() { ! grep "^encap=$1 " <<<"$({ control_get "$A"; control_get "$B"; })"; } # UDP-PORT
traffic_once() { pings_once a 2 10.10.0.2 && pings_once a 2 fd00:10::2; }

device_counters() { # LANE in|out: bytes and packets
	printf '%s %s\n' "$(counter "$1" "stat=device_bytes_$2")" "$(counter "$1" "stat=device_packets_$2")"
}

mean_since() { # COUNTERS LANE in|out
	local bytes n bytes_before n_before
	read -r bytes_before n_before <<<"$1"
	read -r bytes n <<<"$(device_counters "$2" "$3")"
	echo $(((bytes - bytes_before) / (n > n_before ? n - n_before : 1)))
}

# As much as makes superpackets.
stream_of_bytes() { # FROM TO ADDRESS
	local server
	ip netns exec "$id-$2" iperf3 -s -1 >"$work/iperf3.log" 2>&1 &
	server=$!
	eventually 10 is_listening "$2" tcp 5201 || return 1
	timeout 60 ip netns exec "$id-$1" iperf3 -c "$3" -n 50M || return 1
	wait "$server"
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

# Another agent beside that of a, with a socket of its own.
second_agent() { # LOG CONFIG [NAME=VALUE...]
	local log=$1 config=$2
	shift 2
	at a env SEALANE_AGENT_SOCKET="$work/second.sock" "$@" "$SEALANE_AGENT" --config "$config" \
		>"$log" 2>&1 </dev/null
}

is_told_once() { # LOG TEXT
	grep -qF "$2" "$1" && [ "$(wc -l <"$1")" = 1 ]
}

test_second_agent() {
	local before holder
	holder="is kept by process ${agent_pid[a]} (sealane-agent, lane $A), which has the lock /var/run/sealane"
	before=$(changes_of a)
	check_fails 'second agent: none for the same lane' second_agent "$work/second" "$work/a.yaml"
	check 'second agent: one line says who has the lane' \
		is_told_once "$work/second" "lane $A $holder/$A.agent.lock"
	sed "s/interface: .*/interface: ${id}z/" "$work/a.yaml" >"$work/z.yaml"
	check_fails 'second agent: none in the same namespace' second_agent "$work/second" "$work/z.yaml"
	check 'second agent: one line says who has the namespace' \
		is_told_once "$work/second" "this network namespace $holder/netns-"
	check_fails 'second agent: no lane was started' ip -n "$id-a" link show "${id}z"
	check_equal 'second agent: nothing was changed' "$before" "$(changes_of a)"
	at a env SEALANE_AGENT_SOCKET="$work/second.sock" "$SEALANE" cleanup --json >"$work/second" || true
	check 'second agent: cleanup refuses, too, and as a document' \
		grep -qF "$holder" <<<"$(jq -r .error "$work/second")"
	traffic 'second agent'
}

# An upgrade: the next one is started while the last one still runs, and takes over.
test_agents_overlap() {
	local old=${agent_pid[a]}
	stream_start a b 10.10.0.2 5
	agent_start a
	sleep 0.5
	kill -9 "$old"
	wait "$old" 2>/dev/null || true
	check 'overlap: ready again' agents_ready a
	check_equal 'overlap: it is the next one' "${agent_pid[a]}" "$(status_of a .pid)"
	stream_wait
	check_equal 'overlap: nothing lost' 'lost=0 doubled=0 reordered=0 changed=0' "$stream_result"
}

ov0_is() { # NAMESPACE KIND
	[ "$(ip -n "$id-$1" -d -j link show ov0 | jq -r '.[0].linkinfo.info_kind')" = "$2" ]
}

# Whatever the overlay is, one pass makes it so: what it was is in nobody's way.
test_type_changes() {
	local kind failed
	failed=$(status_of a .failed_passes)
	for kind in vxlan veth; do
		[ "$kind" = vxlan ] && sed -i 's/type: port/type: vxlan/' "$work/a.yaml"
		[ "$kind" = veth ] && sed -i 's/type: vxlan/type: port/' "$work/a.yaml"
		agent_signal HUP a
		check "type changes: ov0 is a $kind" eventually "$agents_up" ov0_is a "$kind"
		check "type changes: all is well with a $kind" agents_ready a
		check "type changes: traffic by a $kind" eventually "$agents_up" pings_once a 2 10.10.0.2
	done
	check_equal 'type changes: no pass failed' "$failed" "$(status_of a .failed_passes)"
}

test_misspelt() {
	at a env SEALANE_NODE_NAMES=x SEALANE_DISABLE_ECM=1 SEALANE_DISABLE_ECN=0 \
		"$SEALANE_AGENT" --check --config "$work/a.yaml" >"$work/misspelt" 2>&1
	check 'misspelt: a variable of the agent' \
		grep -qF 'SEALANE_NODE_NAMES is not known; did you mean SEALANE_NODE_NAME?' "$work/misspelt"
	check 'misspelt: a variable of the lane' \
		grep -qF 'SEALANE_DISABLE_ECM is not known; did you mean SEALANE_DISABLE_ECN?' "$work/misspelt"
	check_equal 'misspelt: no other' 2 "$(grep -c 'is not known' "$work/misspelt")"
}

# Everything on the underlay that is not WireGuard, ARP or ND, a host's word that nobody listens
# at WireGuard's port, or which groups it is in (behind a hop-by-hop header).
plain_filter='not (udp port 51820) and not arp and not icmp6 and not (icmp[icmptype] = icmp-unreach) and not (ip6[6] = 0 and ip6[40] = 58)'

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

tells() { grep -qF "$2" <<<"$(status_of "$1" '.faults[]')"; } # NAMESPACE TEXT

ipv6_of() { printf '/proc/sys/net/ipv6/conf/%s/disable_ipv6' "$1"; } # DEVICE

# What the kernel calls "Permission denied" and "Invalid argument".
test_no_ipv6() {
	check 'no IPv6: switched off' at a sh -c "echo 1 >$(ipv6_of ov0)"
	check 'no IPv6: told' eventually "$agents_up" tells a \
		"address fd00:10::1/64 dev ov0: IPv6 is off on ov0: write 0 to $(ipv6_of ov0)"
	check 'no IPv6: switched on as told' at a sh -c "echo 0 >$(ipv6_of ov0)"
	agent_signal HUP a
	check 'no IPv6: all is well again' agents_ready a
	# The lane is left 1240 and takes 1280.
	ip -n "$id-a" link set eth0 mtu 1300
	check 'no IPv6: a small MTU is told' eventually "$agents_up" tells a \
		'address fd00:10::1/64 dev ov0: the MTU of ov0 is 1230 and IPv6 needs 1280: raise lane.mtu'
	ip -n "$id-a" link set eth0 mtu 1500
	check 'no IPv6: the MTU is right again' eventually "$agents_up" agents_ready a
	traffic 'no IPv6'
}

has_default() { grep -q "^default dev $2" <<<"$(ip -n "$id-$1" route show table 51820)"; } # NAMESPACE DEVICE

# The lane's own datagrams keep out of it by their mark and a rule.
test_everything() {
	address_add b lo 198.51.100.1/32
	sed -i 's/^lane:/&\n  fwmark: 0xca6c/; s/^    endpoint:.*/&\n    allowed_ips: [0.0.0.0\/0]/' "$work/a.yaml"
	agent_signal HUP a
	check 'everything: needs a rule' eventually "$agents_up" tells a \
		"route 0.0.0.0/0 to b: not made, it needs 'ip -4 rule add not fwmark 0xca6c table N'"
	traffic 'everything, without a rule'
	ip -n "$id-a" -4 rule add not fwmark 0xca6c table 51820
	ip -n "$id-a" -4 rule add table main suppress_prefixlength 0
	check 'everything: with the rule' agents_ready a
	check 'everything: a route in its table' eventually "$agents_up" has_default a "$A"
	check 'everything: far away through the tunnel' eventually "$agents_up" pings_once a 2 198.51.100.1
	traffic everything
	configure a b 10.244.2.0/24 fd00:244:2::/64
	agent_signal HUP a
	check 'everything: taken back' eventually "$agents_up" is_equal '' ip -n "$id-a" route show table 51820
	ip -n "$id-a" -4 rule delete not fwmark 0xca6c table 51820
	ip -n "$id-a" -4 rule delete table main suppress_prefixlength 0
	check 'everything: all is well again' agents_ready a
	ip -n "$id-b" address delete 198.51.100.1/32 dev lo
}

is_silent() { [ "$(status_of "$1" .lane.silent)" = true ]; } # NAMESPACE

lane_starts() { grep -c 'started a lane' "$work/$1.agent.log" || true; } # NAMESPACE

# Its sockets are there and accept, but nothing answers.
test_lane_stopped() {
	local pid started starts out n
	pid=$(lane_pid a)
	starts=$(lane_starts a)
	kill -STOP "$pid"
	check 'lane stopped: not ready' eventually "$agents_up" is_not_ready a
	check_equal 'lane stopped: /readyz' 503 "$(http_get a /readyz | tail -n 1)"
	check 'lane stopped: the reason' grep -q 'does not answer' <<<"$(http_get a /readyz)"
	check 'lane stopped: as JSON' is_silent a
	# If each of them waited for the lane, it would take more than 20 s.
	started=$(date +%s%3N)
	for n in 1 2 3 4 5; do
		out=$(sealane a status)
		http_get a /metrics >"$work/metrics"
	done
	check_at_most 'lane stopped: milliseconds to be told so ten times' 10000 \
		$(($(date +%s%3N) - started))
	check 'lane stopped: status tells it' grep -q 'NOT in sync (lane .* does not answer)' <<<"$out"
	check 'lane stopped: the metric' grep -qx 'sealane_lane_silent 1' "$work/metrics"
	agent_signal TERM a
	agent_start a
	check 'lane stopped: a new agent finds out, too' eventually "$agents_up" is_silent a
	sleep 1.5
	check_equal 'lane stopped: no other runs' "$pid" "$(lane_pid a)"
	check_equal 'lane stopped: and none was tried' "$starts" "$(lane_starts a)"
	kill -CONT "$pid"
	check 'lane continued: ready again' agents_ready a
	check_equal 'lane continued: the same' "$pid" "$(lane_pid a)"
	check_equal 'lane continued: not silent' false "$(status_of a .lane.silent)"
	traffic 'lane continued'
}

test_end() {
	agent_signal TERM a
	check 'end: the agent leaves everything' pings a 2 10.10.0.2
	check_fails 'end: cleanup wants no agent' sealane b cleanup
	agent_signal TERM b
	check 'end: the port is named before' grep -Fx "port ov0 (of lane $A)" <<<"$(sealane a cleanup --dry-run)"
	check 'end: cleanup of a' sealane a cleanup --verbose
	kill -9 "$(lane_pid b)"
	check 'end: a killed lane is gone' eventually 10 is_equal '' lane_pid b
	check 'end: cleanup of b' sealane b cleanup
	check_equal 'end: no socket stays' '' "$(find -L /var/run/wireguard /var/run/sealane -name "$id*.sock")"
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
test_endpoint_inside
test_repairs
test_changed_port
test_moved_port
test_churn
test_name_taken
test_lane_name_taken
test_udp_port
test_foreign
test_reload
test_agent_restarts
test_second_agent
test_agents_overlap
test_type_changes
test_misspelt
test_lane_killed
test_lane_stopped
test_no_ipv6
test_everything
test_end
finish
