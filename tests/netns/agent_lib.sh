# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the suites about the node agent share. Sourced after lib.sh.
#
#   namespace a                                  namespace b
#   ov0   10.10.0.1 fd00:10::1                   ov0   10.10.0.2 fd00:10::2
#   $A    10.9.0.1  fd00:9::1   (the lane)       $B    10.9.0.2  fd00:9::2
#   eth0  192.0.2.1 fd00:2::1   ---- veth ----   eth0  192.0.2.2 fd00:2::2
#
# and likewise c, which is 3, on a bridge between them where a suite has three.

# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154 # id, work: lib.sh's

SEALANE_AGENT=${SEALANE_AGENT:-$(dirname "$SEALANED")/sealane-agent}
SEALANE=${SEALANE:-$(dirname "$SEALANED")/sealane}
numbered_py=$repo/tests/netns/numbered_udp.py
export numbered_py

for program in "$SEALANE_AGENT" "$SEALANE" jq; do
	command -v "$program" >/dev/null || skip "needs $program"
done

declare -A agent_pid=()
agents_up=10 # seconds: nothing takes that long, but a machine may be busy

number_of() { # NAMESPACE: a letter's place
	case $1 in
	a) echo 1 ;;
	b) echo 2 ;;
	*) echo 3 ;;
	esac
}

lane_of() { printf '%s%s' "$id" "$1"; } # NAMESPACE

# ---- configuration files, of named parts that a suite may replace

# The node itself and its lane.
config_node() { # NAMESPACE
	local n
	n=$(number_of "$1")
	cat <<-YAML
		node:
		  name: $1
		  tunnel_addresses: [10.9.0.$n, "fd00:9::$n"]
		  private_key_file: $work/$1.key
		lane:
		  interface: $(lane_of "$1")
		  start: always
		  program: $SEALANED
		http:
		  listen: 127.0.0.1:9586
		log_level: debug
	YAML
}

# One overlay, ov0.
config_overlay() { # NAMESPACE TYPE [LINE...]
	local n type=$2
	n=$(number_of "$1")
	shift 2
	cat <<-YAML
		  - name: ov0
		    type: $type
		    vni: 42
		    addresses: [10.10.0.$n/24, "fd00:10::$n/64"]
	YAML
	[ $# = 0 ] || printf '    %s\n' "$@"
}

config_peer() { # NAMESPACE [ROUTE...]
	local n peer=$1 routes
	n=$(number_of "$1")
	shift
	routes=$(printf '"%s", ' "$@")
	[ $# -gt 0 ] || routes=
	cat <<-YAML
		  - name: $peer
		    public_key: $(pub "$peer")
		    endpoint: 192.0.2.$n:51820
		    tunnel_addresses: [10.9.0.$n, "fd00:9::$n"]
		    overlays:
		      - name: ov0
		        addresses: [10.10.0.$n, "fd00:10::$n"]
		        routes: [${routes%, }]
	YAML
}

# ---- the agents

underlay_new() { # both namespaces, joined
	ns_new a b
	link_new a eth0 b eth0
	address_add a eth0 192.0.2.1/24 fd00:2::1/64
	address_add b eth0 192.0.2.2/24 fd00:2::2/64
	key_new a b
}

# The socket of an agent: those of all namespaces would have one.
agent_socket() { printf '%s/%s.agent.sock' "$work" "$1"; } # NAMESPACE

agent_start() { # NAMESPACE [NAME=VALUE...]
	local ns=$1
	shift
	env SEALANE_AGENT_SOCKET="$(agent_socket "$ns")" "$@" \
		ip netns exec "$id-$ns" "$SEALANE_AGENT" -f --config "$work/$ns.yaml" \
		>>"$work/$ns.agent.log" 2>&1 </dev/null &
	agent_pid[$ns]=$!
}

agent_signal() { # SIGNAL NAMESPACE
	kill -s "$1" "${agent_pid[$2]}" 2>/dev/null || true
	[ "$1" = HUP ] && return 0
	wait "${agent_pid[$2]}" 2>/dev/null || true
	unset "agent_pid[$2]"
}

sealane() { # NAMESPACE COMMAND...
	local ns=$1
	shift
	SEALANE_AGENT_SOCKET=$(agent_socket "$ns") ip netns exec "$id-$ns" "$SEALANE" "$@"
}

http_get() { # NAMESPACE PATH: status line and body
	at "$1" curl -s -m 5 -w '%{http_code}\n' "http://127.0.0.1:9586$2"
}

is_ready() { # NAMESPACE
	[ "$(http_get "$1" /readyz | tail -n 1)" = 200 ]
}

is_not_ready() { ! is_ready "$1"; } # NAMESPACE

agents_ready() { # NAMESPACE...
	local ns
	for ns in "$@"; do
		eventually "$agents_up" is_ready "$ns" || { http_get "$ns" /readyz; return 1; }
	done
}

status_of() { # NAMESPACE JQ-EXPRESSION
	sealane "$1" status --json | jq -r ".agent | $2"
}

lane_pid() { pgrep -f "^[^ ]*sealaned .*$(lane_of "$1")\$" || true; } # NAMESPACE

# The namespace as ip and bridge show it, what changes by itself left out.
state_of() { # NAMESPACE
	ip -n "$id-$1" -o link | sed 's/ qlen [0-9]*//; s/^[0-9]*: //; s/@if[0-9]*/@/'
	ip -n "$id-$1" -o address | sed '/ fe80:/d; s/^[0-9]*: //'
	ip -n "$id-$1" route show table all | grep -v 'fe80\|multicast\|ff00' | sort
	ip -n "$id-$1" -6 route show table all | grep -v 'fe80\|multicast\|ff00' | sort
	ip -n "$id-$1" neighbour show nud permanent | sort
	ip -n "$id-$1" rule | sort
}

# Numbered datagrams from one node to another while commands run: 200 a second.
stream_start() { # FROM TO ADDRESS SECONDS
	stream_n=$(($4 * 200))
	at "$2" python3 "$numbered_py" receive 6000 "$stream_n" >"$work/stream" 2>&1 &
	stream_receiver=$!
	eventually 5 is_listening "$2" udp 6000 >/dev/null
	at "$1" python3 "$numbered_py" send "$3" 6000 "$stream_n" 400 1 5 >"$work/stream.sent" 2>&1 &
	stream_sender=$!
}

stream_wait() { # sets stream_result
	wait "$stream_sender" || true
	wait "$stream_receiver" || true
	stream_result=$(cat "$work/stream")
	export stream_result
}
