#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the kernel refuses at run time is not lost, not doubled and not reordered;
# what is given up for it reaches as far as the fault does; and congestion or a
# firewall are no reason to give up anything.
#
#   +------- a -------+ u0 192.0.2.0/24 u0 +------- b -------+
#   | $A  10.9.0.1    |--------------------| 10.9.0.2  $B    |
#   |     :51001      |                    |     :51002      |
#   +-----------------+                    +-----------------+
#          | u1 192.0.3.0/24            u1 +------- c -------+
#          +-------------------------------| 10.9.0.3  $C    |
#                                          |     :51003      |
#                                          +-----------------+
# shellcheck disable=SC2317 # checks call functions by name
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
command -v strace >/dev/null || skip 'needs strace'

numbers=$(dirname "${BASH_SOURCE[0]}")/numbered_udp.py
n=2000 per_send=40
intact='lost=0 doubled=0 reordered=0 changed=0'

# Without IPv6 on the way, whose addresses come a while after the link: they would
# be a change of routes.
topology() {
	local ns
	ns_new a b c
	for ns in a b c; do
		at "$ns" sysctl -qw net.ipv6.conf.default.disable_ipv6=1
	done
	link_new a u0 b u0
	link_new a u1 c u1
	address_add a u0 192.0.2.1/24
	address_add b u0 192.0.2.2/24
	address_add a u1 192.0.3.1/24
	address_add c u1 192.0.3.2/24
	key_new a b c
}

tunnel_up() { # KIND
	rm -f "$work/$A.log" "$work/$B.log"
	daemon_start "$1" a "$A"
	daemon_start "$1" b "$B"
	daemon_start "$1" c "$C"
	lane_up a "$A" a 51001 10.9.0.1/24
	lane_up b "$B" b 51002 10.9.0.2/24
	lane_up c "$C" c 51003 10.9.0.3/24
	wg set "$A" peer "$(pub b)" allowed-ips 10.9.0.2/32 endpoint 192.0.2.2:51002 \
		peer "$(pub c)" allowed-ips 10.9.0.3/32 endpoint 192.0.3.2:51003
	wg set "$B" peer "$(pub a)" allowed-ips 10.9.0.1/32 endpoint 192.0.2.1:51001
	wg set "$C" peer "$(pub a)" allowed-ips 10.9.0.1/32 endpoint 192.0.3.1:51001
	pings a 3 10.9.0.2 >/dev/null
	pings a 3 10.9.0.3 >/dev/null
}

tunnel_down() {
	daemon_stop "$A" "$B" "$C"
}

# ---- traffic

numbers_sent() { # NAMESPACE ADDRESS [SIZE]: what the receiver says
	local server
	at "$1" python3 "$numbers" receive 5002 "$n" >"$work/numbers" &
	server=$!
	eventually 5 is_listening "$1" udp 5002 >/dev/null || return 1
	at a python3 "$numbers" send "$2" 5002 "$n" "${3:-1200}" "$per_send" >"$work/sent"
	wait "$server"
	cat "$work/numbers"
}

arrives() { # NAMESPACE ADDRESS [SIZE]
	is_equal "$intact" numbers_sent "$@"
}

sends() { # sets what numbers_sent took: $n_runs and $n_datagrams
	n_runs=$(($(counter "$A" stat=udp_runs_out) - n_runs))
	n_datagrams=$(($(counter "$A" stat=udp_datagrams_out) - n_datagrams))
}

check_runs() { # NAME NAMESPACE ADDRESS
	local n_runs n_datagrams
	n_runs=$(counter "$A" stat=udp_runs_out) n_datagrams=$(counter "$A" stat=udp_datagrams_out)
	check "$1: everything arrives" arrives "$2" "$3"
	sends
	check_at_least "$1: in runs" $((n_runs * 4)) "$n_datagrams"
}

check_single() { # NAME NAMESPACE ADDRESS
	local n_runs n_datagrams
	n_runs=$(counter "$A" stat=udp_runs_out) n_datagrams=$(counter "$A" stat=udp_datagrams_out)
	check "$1: everything arrives" arrives "$2" "$3"
	sends
	check_equal "$1: one by one" "$n_datagrams" "$n_runs"
}

n_lines() { # DEVICE EXPRESSION: of its log
	grep -cE "$2" "$work/$1.log" || true
}

refused='are refused|the kernel refused'

nothing_given_up() { # NAME
	check_equal "$1: no run was refused" 0 "$(counter "$A" stat=runs_refused)"
	check_equal "$1: nothing was given up" 0 "$(n_lines "$A" "$refused")"
	check_runs "$1: afterwards" b 10.9.0.2
}

# ---- system calls that fail in place of the kernel's

# `when` counts from here on: 5, 5..8, 5+.
inject_start() { # DEVICE CALLS ERROR WHEN [OPTION...]
	local device=$1 calls=$2 error=$3 when=$4
	shift 4
	strace -f -p "${daemon_pid[$device]}" -o "$work/injected" "$@" -e "trace=$calls" \
		-e "inject=$calls:error=$error:when=$when" 2>"$work/strace" &
	inject_pid=$!
	eventually 5 grep -q attached "$work/strace" >/dev/null
}

inject_stop() {
	kill -s INT "$inject_pid"
	wait "$inject_pid" 2>/dev/null || true
	n_injected=$(grep -c '(INJECTED)' "$work/injected" || true)
}

# ---- the run as such is refused

run_refused() { # ERROR KIND
	local name="a run gets $1, $2"
	tunnel_up "$2"
	inject_start "$A" sendmmsg "$1" 10
	check "$name: everything arrives" arrives b 10.9.0.2
	inject_stop
	check_equal "$name: it did" 1 "$n_injected"
	check_equal "$name: it is counted" 1 "$(counter "$A" stat=runs_refused)"
	check_equal "$name: and told once" 1 "$(n_lines "$A" 'sends of several datagrams to 192.0.2.2:51002 are refused')"
	check_single "$name, from now on" b 10.9.0.2
	check_runs "$name, another peer" c 10.9.0.3
	check_equal "$name: told once in all" 1 "$(n_lines "$A" "$refused")"
	check_equal "$name: nothing was dropped" 0 "$(n_drops "$A")"
	ip -n "$id-a" route add 198.51.100.0/24 dev u0
	check_runs "$name, after a change of routes" b 10.9.0.2
	ip -n "$id-a" route delete 198.51.100.0/24
	tunnel_down
}

# The source address is what the kernel does not like.
source_refused() {
	local name='a source gets EINVAL'
	tunnel_up tap
	inject_start "$A" sendmmsg EINVAL 10
	check "$name: everything arrives" arrives b 10.9.0.2
	inject_stop
	check_equal "$name: it did" 1 "$n_injected"
	nothing_given_up "$name"
	tunnel_down
}

# The way becomes narrower and wider while datagrams are cut for the other.
mtu_changes() {
	local name='the MTU changes' changer
	tunnel_up tap
	(
		for _ in {1..10}; do
			ip -n "$id-a" link set u0 mtu 1280
			sleep 0.03
			ip -n "$id-a" link set u0 mtu 1500
			sleep 0.03
		done
	) &
	changer=$!
	n=20000
	check "$name: everything arrives" arrives b 10.9.0.2 1390
	n=2000
	wait "$changer"
	check_equal "$name: nothing was given up" 0 "$(n_lines "$A" "$refused")"
	check_equal "$name: nothing was dropped" 0 "$(n_drops "$A")"
	check_runs "$name: afterwards" b 10.9.0.2
	tunnel_down
}

# ---- what is no reason to give up anything

lost() { local first=${1%% *}; echo "${first#lost=}"; }
rest() { echo "${1#* }"; }

firewall() {
	local name='a firewall' got
	tunnel_up tap
	at a nft 'table inet t { chain c { type filter hook output priority 0; udp dport 51002 numgen inc mod 5 == 2 drop; }; }'
	got=$(numbers_sent b 10.9.0.2)
	at a nft delete table inet t
	check_at_least "$name: takes something" 1 "$(lost "$got")"
	check_equal "$name: and nothing else happens" "${intact#* }" "$(rest "$got")"
	# Either the kernel says so, or it does not; then it is not to be counted.
	check_one_of "$name: what is counted" "$(counter "$A" drop=send)" "$(lost "$got")"
	nothing_given_up "$name"
	tunnel_down
}

interrupted() {
	local name='an interrupted send'
	tunnel_up tap
	inject_start "$A" sendmmsg EINTR 10..20
	check "$name: everything arrives" arrives b 10.9.0.2
	inject_stop
	check_equal "$name: it did" 11 "$n_injected"
	nothing_given_up "$name"
	tunnel_down
}

congestion() { # ERROR
	local name="congestion, $1" got
	tunnel_up tap
	inject_start "$A" sendmmsg "$1" 10..11
	check "$name, short: everything arrives" arrives b 10.9.0.2
	inject_stop
	check_equal "$name, short: it did" 2 "$n_injected"
	check_equal "$name, short: nothing was dropped" 0 "$(n_drops "$A")"
	inject_start "$A" sendmmsg "$1" 10..40
	got=$(numbers_sent b 10.9.0.2)
	inject_stop
	check_equal "$name, long: it did" 31 "$n_injected"
	check_at_least "$name, long: something was dropped" "$per_send" "$(lost "$got")"
	check_equal "$name, long: and that is counted" "$(lost "$got")" "$(counter "$A" drop=send_full)"
	check_equal "$name, long: and nothing else happens" "${intact#* }" "$(rest "$got")"
	nothing_given_up "$name"
	tunnel_down
}

has_dropped() { [ "$(counter "$A" drop=send_full)" -gt 0 ]; }

# A slow line keeps what was sent, until the socket may send no more.
slow_line() {
	local name='a slow line' got dropped
	tunnel_up tap
	ip netns exec "$id-a" tc qdisc add dev u0 root tbf rate 2mbit burst 100kb limit 100mb
	(
		eventually 20 has_dropped >/dev/null || true
		ip netns exec "$id-a" tc qdisc change dev u0 root tbf rate 400mbit burst 100kb limit 100mb
	) &
	n=40000
	got=$(numbers_sent b 10.9.0.2)
	n=2000
	wait $!
	dropped=$(counter "$A" drop=send_full)
	check_at_least "$name: something was dropped" 1 "$dropped"
	# The device's queue overflows behind a lane that waits.
	check_equal "$name: and that is counted" "$(lost "$got")" \
		$((dropped + $(at a cat "/sys/class/net/$A/statistics/tx_dropped")))
	check_equal "$name: and nothing else happens" "${intact#* }" "$(rest "$got")"
	ip netns exec "$id-a" tc qdisc delete dev u0 root
	nothing_given_up "$name"
	tunnel_down
}

# ---- the device

write_refused() { # KIND
	local name="a merged write gets EINVAL, $1" merged
	tunnel_up "$1"
	inject_start "$B" writev EINVAL 10
	check "$name: everything arrives" arrives b 10.9.0.2
	inject_stop
	check_equal "$name: it did" 1 "$n_injected"
	check_equal "$name: it is counted" 1 "$(counter "$B" stat=merges_refused)"
	check_equal "$name: and told once" 1 "$(n_lines "$B" 'the kernel refused a merged UDP packet')"
	check_equal "$name: nothing was dropped" 0 "$(n_drops "$B")"
	merged=$(counter "$B" stat=packets_merged)
	check "$name, from now on: everything arrives" arrives b 10.9.0.2
	check_equal "$name, from now on: one by one" "$merged" "$(counter "$B" stat=packets_merged)"
	check "$name: TCP arrives" tcp_exchange a b 10.9.0.2 2000000
	check_at_least "$name: TCP is merged as before" $((merged + 500)) "$(counter "$B" stat=packets_merged)"
	check_equal "$name: told once in all" 1 "$(n_lines "$B" "$refused")"
	tunnel_down
}

topology
run_refused EIO tap
run_refused EMSGSIZE tun
source_refused
mtu_changes
firewall
interrupted
congestion EAGAIN
congestion ENOBUFS
slow_line
write_refused tap
write_refused tun
finish
