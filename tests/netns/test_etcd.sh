#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Nodes that know each other from etcd, Debian's: from one configuration file each they come up,
# find each other and have traffic; others join and leave; etcd is away, forgets, asks for
# passwords and certificates, or loses its leader.
#
#   a, b, c, d: 192.0.2.1 to .4 on eth0 ---- bridge in namespace "hub", 192.0.2.100, with etcd
#
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=agent_lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/agent_lib.sh"

for program in etcd etcdctl openssl; do
	command -v "$program" >/dev/null || skip "needs $program"
done

hub=192.0.2.100
up=20 # seconds
declare -A etcd_pid=()

number_of() { # NAMESPACE
	case $1 in
	a) echo 1 ;;
	b) echo 2 ;;
	c) echo 3 ;;
	*) echo 4 ;;
	esac
}

network_new() {
	local ns
	ns_new hub a b c d
	ip -n "$id-hub" link add br0 type bridge
	ip -n "$id-hub" link set br0 up
	address_add hub br0 "$hub/24"
	for ns in a b c d; do
		link_new hub "to-$ns" "$ns" eth0
		ip -n "$id-hub" link set "to-$ns" master br0
		address_add "$ns" eth0 "192.0.2.$(number_of "$ns")/24"
		key_new "$ns"
	done
}

configure() { # NAMESPACE [LINE-OF-ETCD...]
	local ns=$1
	shift
	{
		config_node "$ns"
		printf 'overlays:\n'
		config_overlay "$ns" port
		printf 'etcd:\n'
		printf '  %s\n' "$@"
	} >"$work/$ns.yaml"
}

# ---- etcd

etcd_start() { # NAME [OPTION...]
	local name=$1
	shift
	ip netns exec "$id-hub" etcd --name "$name" --data-dir "$work/etcd.$name" "$@" \
		>>"$work/etcd.$name.out" 2>&1 </dev/null &
	etcd_pid[$name]=$!
}

etcd_alone() {
	etcd_start one --listen-client-urls "http://$hub:2379" --advertise-client-urls "http://$hub:2379"
	check 'etcd is there' eventually "$up" etcdctl_at endpoint health
}

etcd_stop() { # NAME
	kill -s KILL "${etcd_pid[$1]}" 2>/dev/null || true
	wait "${etcd_pid[$1]}" 2>/dev/null || true
}

etcd_options=(--endpoints "http://$hub:2379")
etcdctl_at() { ETCDCTL_API=3 at hub etcdctl "${etcd_options[@]}" "$@"; }
record_of() { etcdctl_at get --print-value-only "/sealane/nodes/$1"; } # NAMESPACE
has_record() { grep -qF "$(pub "$1")" <<<"$(record_of "$1")"; }	       # NAMESPACE
has_no_record() { ! has_record "$1"; }				       # NAMESPACE

# ---- nodes

etcd_of() { status_of "$1" ".discovery[] | select(.kind == \"etcd\") | $2"; } # NAMESPACE JQ
members_of() { etcd_of "$1" .members; }					      # NAMESPACE
tells_fault() { grep -F -- "$2" <<<"$(etcd_of "$1" '.faults[]')"; }	      # NAMESPACE TEXT
tells_none() { is_equal '' etcd_of "$1" '.faults[]'; }			      # NAMESPACE

reaches() { # NAMESPACE...: everybody everybody, over the overlay
	local from to
	for from in "$@"; do
		for to in "$@"; do
			[ "$from" = "$to" ] || pings_once "$from" 1 "10.10.0.$(number_of "$to")" || return 1
		done
	done
}

mesh() { # TEXT NAMESPACE...
	local text=$1 ns
	shift
	for ns in "$@"; do
		check "$text: $ns knows the others" eventually "$up" is_equal $(($# - 1)) members_of "$ns"
	done
	check "$text: traffic between all" eventually "$up" reaches "$@"
}

nodes_stop() { # NAMESPACE...
	local ns
	for ns in "$@"; do
		[ -z "${agent_pid[$ns]:-}" ] || agent_signal TERM "$ns"
	done
}

nodes_clean() { # NAMESPACE...
	local ns
	nodes_stop "$@"
	for ns in "$@"; do
		sealane "$ns" cleanup >/dev/null || true
	done
}

now_ms() { date +%s%3N; }

# ---- tests

test_start() {
	local ns begin_ms took_ms
	for ns in a b c d; do configure "$ns" "endpoints: [\"http://$hub:2379\"]"; done
	begin_ms=$(now_ms)
	for ns in a b c; do agent_start "$ns"; done
	check 'start: full mesh' eventually "$up" reaches a b c
	took_ms=$(($(now_ms) - begin_ms))
	printf 'full mesh of three after %d ms\n' "$took_ms"
	check_at_most 'start: within 20 s' 20000 "$took_ms"
	mesh start a b c
	check 'start: all are ready' agents_ready a b c
	check 'start: the doctor is content' sealane a doctor
	check 'start: where it is reached was found out' grep -F '"endpoint":"192.0.2.1:51820"' <<<"$(record_of a)"
}

# What the others' agents told their lanes is counted by the lanes.
handshakes_of() { wg show "$(lane_of "$1")" latest-handshakes | sort; } # NAMESPACE

test_join_and_leave() {
	local before ns
	before=$(handshakes_of a | grep -vF "$(pub d)")
	agent_start d
	mesh join a b c d
	check_equal 'join: no new handshake with those who were there' "$before" \
		"$(handshakes_of a | grep -vF "$(pub d)")"
	agent_signal TERM d
	sleep 1
	check_equal 'leave: an agent that ended is still a member' 3 "$(members_of a)"
	etcdctl_at del /sealane/nodes/d >/dev/null
	for ns in a b c; do
		check "leave: $ns has forgotten it" eventually "$up" is_equal 2 members_of "$ns"
		check "leave: so has its lane" eventually "$up" eval \
			"! grep -qF '$(pub d)' <<<\"\$(wg show '$(lane_of "$ns")' peers)\""
	done
	sealane d cleanup >/dev/null
	mesh leave a b c
}

test_bad_record() {
	etcdctl_at put /sealane/nodes/x '{"public_key":"no"}' >/dev/null
	check 'bad record: told' eventually "$up" tells_fault a 'etcd node x:1: peers[0].public_key'
	check_equal 'bad record: the others stay' 2 "$(members_of a)"
	etcdctl_at put /sealane/nodes/x \
		"{\"public_key\":\"$(pub d)\",\"preshared_key_file\":\"/etc/shadow\",\"tunnel_addresses\":[\"10.9.0.9\"]}" >/dev/null
	check 'bad record: a good one counts' eventually "$up" is_equal 3 members_of a
	check 'bad record: no file is read for it' tells_none a
	etcdctl_at put /sealane/nodes/x '[]' >/dev/null
	check 'bad record: told again' eventually "$up" tells_fault a 'etcd node x: is no JSON object'
	check_equal 'bad record: the last good one stays' 3 "$(members_of a)"
	etcdctl_at del /sealane/nodes/x >/dev/null
	check 'bad record: gone' eventually "$up" tells_none a
	check_equal 'bad record: all as before' 2 "$(members_of a)"
}

test_own_record() {
	etcdctl_at del /sealane/nodes/a >/dev/null
	check 'own record: removed, it is there again' eventually "$up" has_record a
	etcdctl_at put /sealane/nodes/a '{}' >/dev/null
	check 'own record: overwritten, it is there again' eventually "$up" has_record a
	mesh 'own record' a b c
}

# An agent that restarts while etcd is away, and another that does not.
test_outage() {
	local lane
	lane=$(lane_pid a)
	stream_start a b 10.10.0.2 12
	etcd_stop one
	check 'outage: told' eventually "$up" tells_fault b "no connection"
	check 'outage: still ready' is_ready b
	agent_signal TERM a
	agent_start a
	check 'outage: after a restart it waits' eventually "$up" is_not_ready a
	etcd_alone
	check 'outage: it is ready again' agents_ready a b
	check 'outage: nothing is told any more' eventually "$up" tells_none b
	stream_wait
	printf 'stream: %s\n' "$stream_result"
	check 'outage: no numbered packet was lost' grep -F 'lost=0' <<<"$stream_result"
	check_equal 'outage: the lane is the same' "$lane" "$(lane_pid a)"
	check_equal 'outage: and nothing was removed' 0 "$(status_of a .removed)"
	mesh outage a b c
}

# What changed while a node did not look, and was forgotten since.
test_compaction() {
	local revision
	kill -s STOP "${agent_pid[b]}"
	ip -n "$id-hub" link set to-b down
	etcd_stop one # so that b's watch has to begin again
	etcd_alone
	etcdctl_at put /sealane/nodes/x \
		"{\"public_key\":\"$(pub d)\",\"tunnel_addresses\":[\"10.9.0.9\"]}" >/dev/null
	etcdctl_at del /sealane/nodes/x >/dev/null
	etcdctl_at put /sealane/nodes/y \
		"{\"public_key\":\"$(pub d)\",\"tunnel_addresses\":[\"10.9.0.9\"]}" >/dev/null
	revision=$(etcdctl_at endpoint status --write-out json | jq -r '.[0].Status.header.revision')
	etcdctl_at compact "$revision" >/dev/null
	ip -n "$id-hub" link set to-b up
	kill -s CONT "${agent_pid[b]}"
	check 'compaction: all was read again' eventually $((3 * up)) is_equal 3 members_of b
	check 'compaction: it was one' eventually "$up" grep -F 'etcd has forgotten' "$work/b.agent.log"
	etcdctl_at del /sealane/nodes/y >/dev/null
	mesh compaction a b c
}

test_lease() {
	local lease
	nodes_clean a b c
	etcdctl_at del --prefix /sealane/ >/dev/null
	configure a "endpoints: [\"http://$hub:2379\"]" 'lease_ttl: 5'
	configure b "endpoints: [\"http://$hub:2379\"]" 'lease_ttl: 5'
	agent_start a
	agent_start b
	mesh lease a b
	sleep 7
	check 'lease: kept alive' has_record b
	agent_signal TERM b
	check 'lease: it ended, and so did the record' eventually "$up" has_no_record b
	check 'lease: everywhere' eventually "$up" is_equal 0 members_of a
	for lease in $(etcdctl_at lease list | grep -x '[0-9a-f]*'); do
		etcdctl_at lease revoke "$lease" >/dev/null
	done
	check 'lease: one that was revoked is made again' eventually "$up" has_record a
	nodes_clean a b
}

test_auth() {
	etcdctl_at user add root:secret >/dev/null
	etcdctl_at user grant-role root root >/dev/null
	etcdctl_at role add sealane >/dev/null
	etcdctl_at role grant-permission sealane --prefix=true readwrite /sealane/ >/dev/null
	etcdctl_at user add node:pass >/dev/null
	etcdctl_at user grant-role node sealane >/dev/null
	etcdctl_at auth enable >/dev/null
	printf 'wrong\n' >"$work/password"
	configure a "endpoints: [\"http://$hub:2379\"]" 'username: node' "password_file: $work/password"
	configure b "endpoints: [\"http://$hub:2379\"]" 'username: node' "password_file: $work/password"
	agent_start a
	agent_start b
	check 'auth: a wrong password is told' eventually "$up" tells_fault a 'status 400'
	check 'auth: and is no member' is_not_ready a
	printf 'pass\n' >"$work/password"
	mesh auth a b
	# etcd forgets its tokens when it starts again.
	etcd_stop one
	etcd_options=(--endpoints "http://$hub:2379" --user root:secret)
	etcd_alone
	etcdctl_at del /sealane/nodes/b >/dev/null
	check 'auth: new tokens: put again' eventually $((3 * up)) has_record b
	mesh 'auth: new tokens' a b
	nodes_clean a b
	etcd_stop one
	etcd_options=(--endpoints "http://$hub:2379")
}

certificate() { # NAME CA SUBJECT-ALT-NAME
	openssl req -newkey rsa:2048 -nodes -keyout "$work/$1.pem" -subj "/CN=$1" \
		-out "$work/$1.csr" 2>/dev/null
	printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth,clientAuth\n' "$3" >"$work/$1.ext"
	openssl x509 -req -in "$work/$1.csr" -CA "$work/$2.crt" -CAkey "$work/$2.pem" -CAcreateserial \
		-days 2 -extfile "$work/$1.ext" -out "$work/$1.crt" 2>/dev/null
}

authority() { # NAME
	openssl req -x509 -newkey rsa:2048 -nodes -keyout "$work/$1.pem" -subj "/CN=$1" -days 2 \
		-out "$work/$1.crt" 2>/dev/null
}

test_tls() {
	authority ca
	authority other
	certificate server ca "IP:$hub"
	certificate node ca DNS:node
	cp "$work/other.crt" "$work/trusted.crt"
	etcd_options=(--endpoints "https://$hub:2379" --cacert "$work/ca.crt" --cert "$work/node.crt"
		--key "$work/node.pem")
	etcd_start tls --listen-client-urls "https://$hub:2379" --advertise-client-urls "https://$hub:2379" \
		--client-cert-auth --trusted-ca-file "$work/ca.crt" --cert-file "$work/server.crt" \
		--key-file "$work/server.pem"
	check 'tls: etcd is there' eventually "$up" etcdctl_at endpoint health
	configure a "endpoints: [\"https://$hub:2379\"]" "ca_file: $work/trusted.crt" \
		"cert_file: $work/node.crt" "key_file: $work/node.pem"
	configure b "endpoints: [\"https://$hub:2379\"]" "ca_file: $work/ca.crt" \
		"cert_file: $work/node.crt" "key_file: $work/node.pem"
	configure c "endpoints: [\"https://$hub:2379\"]" "ca_file: $work/ca.crt"
	agent_start a
	agent_start b
	agent_start c
	check 'tls: a server of another authority is refused' eventually "$up" tells_fault a 'TLS: '
	check 'tls: without a certificate none is let in' eventually "$up" tells_fault c 'TLS: '
	check 'tls: both wait' is_not_ready a
	check 'tls: both wait' is_not_ready c
	cp "$work/ca.crt" "$work/trusted.crt" # replaced, and the agent is told nothing
	mesh tls a b
	nodes_clean a b c
	etcd_stop tls
}

leader_of_three() { # prints the client's URL
	etcdctl_at endpoint status --write-out json 2>/dev/null |
		jq -r '.[] | select(.Status.leader == .Status.header.member_id) | .Endpoint'
}

test_three() {
	local n leader urls cluster=''
	for n in 1 2 3; do cluster+="m$n=http://$hub:${n}2380,"; done
	for n in 1 2 3; do
		etcd_start "m$n" --listen-client-urls "http://$hub:${n}2379" \
			--advertise-client-urls "http://$hub:${n}2379" --listen-peer-urls "http://$hub:${n}2380" \
			--initial-advertise-peer-urls "http://$hub:${n}2380" --initial-cluster "${cluster%,}"
	done
	urls="http://$hub:12379,http://$hub:22379,http://$hub:32379"
	etcd_options=(--endpoints "$urls")
	check 'three: etcd is there' eventually "$up" etcdctl_at endpoint health
	leader=$(leader_of_three)
	# The leader is the one that is asked first.
	configure a "endpoints: [\"$leader\", \"${urls//,/\", \"}\"]"
	configure b "endpoints: [\"$leader\", \"${urls//,/\", \"}\"]"
	agent_start a
	agent_start b
	mesh three a b
	pinger_start leader a 10.10.0.2 100 0.05
	n=${leader##*:}
	etcd_stop "m${n:0:1}"
	check 'three: another leads' eventually $((2 * up)) etcdctl_at put /sealane/nodes/y \
		"{\"public_key\":\"$(pub d)\",\"tunnel_addresses\":[\"10.9.0.9\"]}"
	check 'three: what is new is seen' eventually $((3 * up)) is_equal 2 members_of a
	check 'three: nothing is told any more' eventually $((2 * up)) tells_none a
	check 'three: ready all the time' is_ready a
	pinger_wait leader
	check_at_most 'three: traffic went on' 2 "$pinger_lost"
	nodes_clean a b
}

network_new
etcd_alone
test_start
test_join_and_leave
test_bad_record
test_own_record
test_outage
test_compaction
test_lease
test_auth
test_tls
test_three
finish
