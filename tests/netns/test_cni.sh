#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# sealane-cni with Debian's host-local: what each operation makes, checks and takes
# away, what the spec says about errors, and that nothing stays behind.
#
#   +------- h (host) -------+        +---- p ----+
#   | slcXXXXXXXXXXXX (per   |--------| eth0      |   q the same
#   |   container)           |        | 10.244.5.x|
#   | ov0 mtu 1370 (a veth)  |        | fd00:5::x |
#   +------------------------+        +-----------+
# shellcheck disable=SC2016,SC2317 # texts of plugins; checks call functions by name
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

SEALANE_CNI=${SEALANE_CNI:-$(dirname "$SEALANED")/sealane-cni}
plugins=/usr/lib/cni
[ -x "$plugins/host-local" ] || skip "needs $plugins/host-local"
command -v jq >/dev/null || skip 'needs jq'
store=$work/ipam

config() { # VERSION [JQ-FILTER]
	jq -n --arg v "$1" --arg store "$store" '{cniVersion: $v, name: "pods", type: "sealane-cni",
		device: "ov0", ipam: {type: "host-local", dataDir: $store,
		ranges: [[{subnet: "10.244.5.0/24"}], [{subnet: "fd00:5::/64"}]]}}' |
		jq -c "${2:-.}"
}

# The plugin on the host; the answer and the status are kept.
cni() { # COMMAND CONTAINER CONFIG [NAME=VALUE...]
	local command=$1 container=$2 text=$3
	shift 3
	env CNI_COMMAND="$command" CNI_CONTAINERID="$container" CNI_NETNS="/run/netns/$id-${container%%.*}" \
		CNI_IFNAME=eth0 CNI_PATH="$work/plugins:$plugins" "$@" \
		ip netns exec "$id-h" "$SEALANE_CNI" <<<"$text" 2>>"$work/cni.log"
}

# The code of the error object, or the whole answer where there is none.
code() { # COMMAND...
	local out
	if out=$("$@"); then printf 'succeeded: %s\n' "$out"; else jq -e .code <<<"$out" || printf '%s\n' "$out"; fi
}

# All that a call could leave, without what changes by itself.
state() {
	local ns
	for ns in h p q; do
		ip -n "$id-$ns" -o link | sed 's/^[0-9]*: //; s/@[^:]*//' | sort
		ip -n "$id-$ns" -o addr show up | sed 's/^[0-9]*: //' | sort
		ip -n "$id-$ns" route show table all
		ip -n "$id-$ns" -6 route show table all
		ip -n "$id-$ns" rule
		ip -n "$id-$ns" neigh show nud permanent
	done
	find "$store" -type f ! -name 'last_reserved_ip*' ! -name lock 2>/dev/null || true
}

# A plugin that says that it was called and then does what the argument tells.
ipam_new() { # NAME SHELL-TEXT
	mkdir -p "$work/plugins"
	printf '#!/bin/bash\necho "$CNI_COMMAND" >>%q\n%s\n' "$work/$1.calls" "$2" >"$work/plugins/$1"
	chmod +x "$work/plugins/$1"
}

pings() { at "$1" ping -c 1 -W 5 "$2" || at "$1" ping -c 1 -W 5 "$2"; }

ns_new h p q
ip -n "$id-h" link add ov0 mtu 1370 type veth peer name ov1 mtu 1370
ip -n "$id-h" link set ov0 addrgenmode none up
ip -n "$id-h" link set ov1 addrgenmode none up
address_add h lo 10.1.1.1/32 fd00:1::1/128
# Once, so that what it loads and switches is not taken for something left behind.
at h sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
before=$(state)

# What is known to work (overlay/bigtcp.h): above 64 KB on a veth from Linux 6.18.
want_limit=65536
[ "$(printf '%s\n' 6.18 "$(uname -r)" | sort -V | head -n 1)" != 6.18 ] || want_limit=196608

limit() { ip -n "$id-$1" -j -d link show "$2" | jq '.[0].gso_max_size'; } # NAMESPACE DEVICE

operations() { # VERSION
	local v=$1 one two host
	one=$(cni ADD p "$(config "$v")")
	two=$(cni ADD q "$(config "$v")")
	check_equal "$v: the result has its version" "$v" "$(jq -r .cniVersion <<<"$one")"
	check_equal "$v: both families, by the container's end" '10.244.5 fd00:5: 1 1' \
		"$(jq -r '[(.ips[].address | sub("[.:][0-9a-f]+/.*"; "")), (.ips[].interface)] | join(" ")' <<<"$one")"
	check_equal "$v: \"version\" of an address only before 1.0.0" "$([ "$v" = 0.4.0 ] && echo true || echo false)" \
		"$(jq '.ips[0] | has("version")' <<<"$one")"
	host=$(jq -r '.interfaces[0].name' <<<"$one")
	check_equal "$v: the container's end is told with its namespace" "eth0 /run/netns/$id-p" \
		"$(jq -r '.interfaces[1] | .name + " " + .sandbox' <<<"$one")"
	check_equal "$v: the MAC told is the device's" "$(ip -n "$id-p" -j link show eth0 | jq -r '.[0].address')" \
		"$(jq -r '.interfaces[1].mac' <<<"$one")"
	check_equal "$v: both ends have the overlay's MTU" '1370 1370' \
		"$(ip -n "$id-h" -j link show "$host" | jq '.[0].mtu') $(ip -n "$id-p" -j link show eth0 | jq '.[0].mtu')"
	check_equal "$v: superpackets on both ends" "$want_limit $want_limit" "$(limit h "$host") $(limit p eth0)"
	check "$v: the host end is marked" grep -q 'alias cni sealane' <<<"$(ip -n "$id-h" link show "$host")"
	# What is a container's is no agent's to take away.
	check_equal "$v: a clean-up finds nothing" 'removed 0 routes, 0 neighbours, 0 addresses, 0 devices, 0 ports, 0 sockets' \
		"$(ip netns exec "$id-h" "$(dirname "$SEALANED")/sealane" cleanup --force)"
	traffic "$v" "$one" "$two"
	check_equal "$v: CHECK is silent" '' "$(cni CHECK p "$(config "$v" ". + {prevResult: $one}")")"
	check_equal "$v: a second ADD fails" 101 "$(code cni ADD p "$(config "$v")")"
	check_equal "$v: and takes nothing from the first" '' "$(cni CHECK p "$(config "$v" ". + {prevResult: $one}")")"
	damage "$v" "$one" "$host"
	check_equal "$v: DEL is silent" '' "$(cni DEL p "$(config "$v" ". + {prevResult: $one}")")"
	check_equal "$v: DEL again too" '' "$(cni DEL p "$(config "$v")")"
	check_equal "$v: DEL without CNI_NETNS too" '' "$(cni DEL q "$(config "$v")" CNI_NETNS=)"
	check_equal "$v: nothing is left" "$before" "$(state)"
}

traffic() { # VERSION RESULT RESULT
	local p q
	for family in 0 1; do
		p=$(jq -r ".ips[$family].address" <<<"$2") q=$(jq -r ".ips[$family].address" <<<"$3")
		check "$1: the host reaches ${p%/*}" pings h "${p%/*}"
		check "$1: one container reaches ${q%/*}" pings p "${q%/*}"
	done
	check "$1: a container reaches the host" pings p 10.1.1.1
	check "$1: with IPv6 too" pings p fd00:1::1
}

# What CHECK must see, and see again as right.
damage() { # VERSION RESULT HOST-END
	local text p
	text=$(config "$1" ". + {prevResult: $2}")
	p=$(jq -r '.ips[0].address' <<<"$2")
	check_equal "$1: CHECK needs prevResult" 7 "$(code cni CHECK p "$(config "$1")")"
	ip -n "$id-h" route delete "${p%/*}"
	check_equal "$1: CHECK misses the host's route" 102 "$(code cni CHECK p "$text")"
	ip -n "$id-h" route add "${p%/*}" dev "$3"
	ip -n "$id-p" route delete default
	check_equal "$1: CHECK misses the container's route" 102 "$(code cni CHECK p "$text")"
	ip -n "$id-p" route add default via 169.254.1.1 dev eth0 onlink
	check_equal "$1: CHECK is content again" '' "$(cni CHECK p "$text")"
	ip -n "$id-p" address delete "${p%/*}/32" dev eth0
	check_equal "$1: CHECK misses the address" 102 "$(code cni CHECK p "$text")"
	ip -n "$id-h" link set "$3" down
	check_equal "$1: CHECK sees that the device is down" 102 "$(code cni CHECK p "$text")"
}

operations 0.4.0
operations 1.0.0

# ---- behind Debian's bridge and ptp

# PLUGIN runs in h as the plugin does; the same arguments as cni().
other() { # PLUGIN COMMAND CONFIG
	env CNI_COMMAND="$2" CNI_CONTAINERID=p CNI_NETNS="/run/netns/$id-p" CNI_IFNAME=eth0 CNI_PATH="$plugins" \
		ip netns exec "$id-h" "$plugins/$1" <<<"$3"
}

chain() { # VERSION PLUGIN
	local first result ours
	first=$(config "$1" ".type = \"$2\" | .bridge = \"cb0\" | .isGateway = true |
		.ipam.routes = [{dst: \"0.0.0.0/0\"}, {dst: \"::/0\"}]")
	result=$(other "$2" ADD "$first")
	ours=$(config "$1" "del(.ipam) + {prevResult: $result}")
	check_equal "$1 behind $2: CHECK before ADD" 102 "$(code cni CHECK p "$ours")"
	check_equal "$1 behind $2: the result is passed on" "$(jq -S . <<<"$result")" "$(cni ADD p "$ours" | jq -S .)"
	check_equal "$1 behind $2: CHECK after it" '' "$(cni CHECK p "$ours")"
	check "$1 behind $2: the default route has the MTU" grep -q 'mtu 1370' <<<"$(ip -n "$id-p" route show default)"
	check "$1 behind $2: IPv6 too" grep -q 'mtu 1370' <<<"$(ip -n "$id-p" -6 route show default)"
	check_equal "$1 behind $2: its own CHECK is content" '' "$(other "$2" CHECK "$(jq -c ". + {prevResult: $result}" <<<"$first")")"
	check "$1 behind $2: the device keeps its MTU" grep -q 'mtu 1500' <<<"$(ip -n "$id-p" link show eth0)"
	check_equal "$1 behind $2: superpackets" "$want_limit" "$(limit p eth0)"
	check_equal "$1 behind $2: DEL" '' "$(cni DEL p "$ours")"
	other "$2" DEL "$first"
	ip -n "$id-h" link delete cb0 2>/dev/null || true
	check_equal "$1 behind $2: nothing is left" "$before" "$(state)"
}
chain 0.4.0 ptp
chain 1.0.0 ptp
chain 1.0.0 bridge
check_equal 'a chained ADD needs prevResult' 7 "$(code cni ADD p "$(config 1.0.0 'del(.ipam)')")"
check_equal 'chained and ipam' 7 "$(code cni ADD p "$(config 1.0.0 '.chained = true')")"
check_equal 'neither' 7 "$(code cni ADD p "$(config 1.0.0 'del(.ipam) | .chained = false')")"
check_equal 'ipam behind another plugin' 7 "$(code cni ADD p "$(config 1.0.0 '.prevResult = {}')")"

# ---- 1.1.0, which Debian's host-local does not speak

ipam_new ipam11 'case $CNI_COMMAND in
ADD) echo "{\"cniVersion\":\"1.1.0\",\"ips\":[{\"address\":\"10.9.9.9/24\"}],\"routes\":[{\"dst\":\"10.8.0.0/16\"}],\"dns\":{\"nameservers\":[\"10.8.0.10\"]}}" ;;
esac'
config11=$(config 1.1.0 '.ipam = {type: "ipam11"}')
result=$(cni ADD p "$config11")
check_equal '1.1.0: interfaces and routes tell the MTU' '1370 1370' \
	"$(jq -r '"\(.interfaces[1].mtu) \(.routes[0].mtu)"' <<<"$result")"
check_equal '1.1.0: the IPAM plugin'\''s DNS is passed on' 10.8.0.10 "$(jq -r '.dns.nameservers[0]' <<<"$result")"
check_equal '1.1.0: the IPAM plugin'\''s routes, no default' '10.8.0.0/16' "$(jq -r '.routes[].dst' <<<"$result")"
check 'the route has its MTU' grep -q 'via 169.254.1.1 .*mtu 1370' <<<"$(ip -n "$id-p" route show 10.8.0.0/16)"

valid() { jq -c --argjson v "$1" '. + {"cni.dev/valid-attachments": $v}' <<<"$config11"; }
check_equal 'GC without its list removes nothing' 7 "$(code cni GC p "$config11")"
check_equal 'GC with a malformed list removes nothing' 7 "$(code cni GC p "$(valid '[{"containerID": "p"}]')")"
check_equal 'GC keeps what is valid' '' "$(cni GC p "$(valid '[{"containerID": "p", "ifname": "eth0"}]')")"
check 'it is still there' ip -n "$id-p" link show eth0
check_equal 'GC of another network keeps it' '' "$(cni GC p "$(valid '[]' | jq -c '.name = "others"')")"
check 'it is there yet' ip -n "$id-p" link show eth0
check_equal 'GC removes what is not valid' '' "$(cni GC p "$(valid '[]')")"
check_equal 'nothing is left after GC' "$before" "$(state)"
check 'the IPAM plugin was told' grep -qx GC "$work/ipam11.calls"

check_equal 'STATUS of a node that is ready' '' "$(cni STATUS p "$config11")"
check 'the IPAM plugin was asked' grep -qx STATUS "$work/ipam11.calls"
ip -n "$id-h" link set ov0 down
check_equal 'STATUS while the device is down' 50 "$(code cni STATUS p "$config11")"
ip -n "$id-h" link set ov0 up
absent=$(jq -c '.device = "ov9"' <<<"$config11")
check_equal 'STATUS without the device' 50 "$(code cni STATUS p "$absent")"
check_equal 'ADD without the device' 11 "$(code cni ADD p "$absent")"
ipam_new ipam51 'echo "{\"code\":51,\"msg\":\"limited\"}"; exit 1'
check_equal 'STATUS with what the IPAM plugin says' 51 "$(code cni STATUS p "$(config 1.1.0 '.ipam.type = "ipam51"')")"
check_equal 'GC needs 1.1.0' 1 "$(code cni GC p "$(config 1.0.0)")"
check_equal 'STATUS needs 1.1.0' 1 "$(code cni STATUS p "$(config 1.0.0)")"

# ---- errors

check_equal 'VERSION tells the versions' '["0.4.0","1.0.0","1.1.0"]' "$(cni VERSION p '{"cniVersion":"9.0"}' | jq -c .supportedVersions)"
good=$(config 1.0.0)
check_equal 'an unknown version' 1 "$(code cni ADD p "$(config 0.3.1)")"
check_equal 'a mode that there is not' 2 "$(code cni ADD p "$(config 1.0.0 '.mode = "bridge"')")"
check_equal 'no such namespace' 3 "$(code cni ADD p "$good" CNI_NETNS=/run/netns/none)"
check_equal 'a file that is no namespace' 4 "$(code cni ADD p "$good" CNI_NETNS=/etc/passwd)"
check_equal 'the namespace of the plugin itself' 4 "$(code cni ADD p "$good" "CNI_NETNS=/run/netns/$id-h")"
check_equal 'no container' 4 "$(code cni ADD p "$good" CNI_CONTAINERID=)"
check_equal 'a container that is no name' 4 "$(code cni ADD p "$good" CNI_CONTAINERID=../p)"
check_equal 'a device that is no name' 4 "$(code cni ADD p "$good" CNI_IFNAME=eth/0)"
check_equal 'no operation' 4 "$(code cni ADDD p "$good")"
check_equal 'no JSON' 6 "$(code cni ADD p '{')"
check_equal 'no name' 7 "$(code cni ADD p "$(config 1.0.0 'del(.name)')")"
check_equal 'an MTU that cannot be' 7 "$(code cni ADD p "$(config 1.0.0 '.mtu = 67')")"
check_equal 'an IPAM plugin with a path' 7 "$(code cni ADD p "$(config 1.0.0 '.ipam.type = "../host-local"')")"
check_equal 'no such IPAM plugin' 103 "$(code cni ADD p "$(config 1.0.0 '.ipam.type = "none"')")"
check_equal 'nothing is left by any of them' "$before" "$(state)"

# ---- a failure at each step

ipam_new refuses 'echo "{\"code\":11,\"msg\":\"no address\"}"; [ "$CNI_COMMAND" != ADD ]'
ipam_new babbles 'echo hello'
ipam_new twice 'echo "{\"ips\":[{\"address\":\"10.7.0.2/24\"},{\"address\":\"10.7.0.2/24\"}]}"'
ipam_new unaddressed 'echo "{\"ips\":[]}"'
ipam_new taken 'echo "{\"ips\":[{\"address\":\"10.7.0.9/24\"}]}"'
for failure in refuses:11 babbles:103 twice:100 unaddressed:103; do
	check_equal "an IPAM plugin that ${failure%:*}" "${failure#*:}" \
		"$(code cni ADD p "$(config 1.0.0 ".ipam.type = \"${failure%:*}\"")")"
	check_equal "is told to DEL" 'ADD DEL' "$(paste -sd' ' "$work/${failure%:*}.calls")"
	check_equal "and nothing is left" "$before" "$(state)"
done
ip -n "$id-h" route add 10.7.0.9 dev ov0
check_equal 'an address that the host has a route to' 100 "$(code cni ADD p "$(config 1.0.0 '.ipam.type = "taken"')")"
check 'the route is still there' grep -q 'dev ov0' <<<"$(ip -n "$id-h" route show 10.7.0.9)"
ip -n "$id-h" route delete 10.7.0.9 dev ov0
ip -n "$id-p" link add eth0 type veth peer name eth9
check_equal 'a container with such a device' 101 "$(code cni ADD p "$good")"
ip -n "$id-p" link delete eth0
full() { env CNI_COMMAND=ADD CNI_CONTAINERID=p CNI_NETNS="/run/netns/$id-p" CNI_IFNAME=eth0 CNI_PATH="$plugins" \
	ip netns exec "$id-h" "$SEALANE_CNI" <<<"$good" >/dev/full; }
check_fails 'a result that cannot be printed' full
check_equal 'nothing is left' "$before" "$(state)"

# ---- ended in the middle of ADD: DEL takes away what there is

ipam_new hangs "if [ \"\$CNI_COMMAND\" = ADD ]; then echo \$\$ >$work/hangs.pid; exec sleep 600; fi"
hanging=$(config 1.0.0 '.ipam.type = "hangs"')
env CNI_COMMAND=ADD CNI_CONTAINERID=p CNI_NETNS="/run/netns/$id-p" CNI_IFNAME=eth0 CNI_PATH="$work/plugins" \
	ip netns exec "$id-h" "$SEALANE_CNI" <<<"$hanging" >/dev/null &
pid=$!
eventually 20 test -s "$work/hangs.pid" >/dev/null
check 'the pair is there' ip -n "$id-p" link show eth0
kill -KILL "$pid" "$(cat "$work/hangs.pid")"
wait "$pid" 2>/dev/null || true
check_equal 'DEL after it was killed' '' "$(cni DEL p "$hanging")"
check_equal 'nothing is left of a killed ADD' "$before" "$(state)"

# ---- many at once

many=()
for n in $(seq 20); do
	ip netns add "$id-m$n"
	namespaces+=("$id-m$n")
done
for n in $(seq 20); do
	cni ADD "m$n" "$good" >"$work/many.$n" & many+=($!)
done
n_ok=0
for pid in "${many[@]}"; do wait "$pid" && n_ok=$((n_ok + 1)); done
check_equal '20 ADD at once' 20 "$n_ok"
check_equal 'with 40 different addresses' 40 "$(jq -r '.ips[].address' "$work"/many.* | sort -u | wc -l)"
check 'the last of them works' pings m20 10.1.1.1
many=()
for n in $(seq 20); do
	cni DEL "m$n" "$good" & many+=($!)
done
n_ok=0
for pid in "${many[@]}"; do wait "$pid" && n_ok=$((n_ok + 1)); done
check_equal '20 DEL at once' 20 "$n_ok"
check_equal 'nothing is left of the 20' "$before" "$(state)"

finish
