#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The device and the sockets follow what is done to them from outside; what
# cannot be had is one line on stderr and exit status 1.
#
#   +------ a ------+  u0: 192.0.2.0/24 2001:db8::/64   +------ b ------+
#   | $A :51001     |----------------------------------| $B :51002     |
#   | 10.9.0.1      |                                  | 10.9.0.2      |
#   +---------------+                                  +---------------+
#
#   +------ c ------+   $A is moved to here, its sockets stay in a
#   +---------------+
# shellcheck disable=SC2317 # checks call functions by name
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

topology() {
	ns_new a b c
	link_new a u0 b u0
	address_add a u0 192.0.2.1/24 2001:db8::1/64
	address_add b u0 192.0.2.2/24 2001:db8::2/64
	key_new a b
}

configure_a() {
	lane_up a "$A" a 51001 10.9.0.1/24 fd00:9::1/64
	wg set "$A" peer "$(pub b)" allowed-ips 10.9.0.2/32,fd00:9::2/128 endpoint 192.0.2.2:51002
}

start_b() {
	daemon_start tun b "$B"
	lane_up b "$B" b 51002 10.9.0.2/24 fd00:9::2/64
	wg set "$B" peer "$(pub a)" allowed-ips 10.9.0.1/32,fd00:9::1/128 endpoint 192.0.2.1:51001
}

tunnel_up() { # KIND
	daemon_start "$1" a "$A"
	configure_a
	start_b
	pings a 1 10.9.0.2
}

has_ended() { # PID
	! kill -0 "$1" 2>/dev/null
}

control_has() { # DEVICE LINE
	grep -qxF -- "$2" <<<"$(control_get "$1")"
}

leaves_nothing() { # NAMESPACE DEVICE
	local file
	for file in /var/run/wireguard/"$2".sock /var/run/sealane/"$2".sock; do
		[ ! -e "$file" ] || { echo "$file is still there"; return 1; }
	done
	! ip -n "$id-$1" link show "$2" 2>/dev/null
}

# Its netlink socket overflows while it stands still: it reads everything anew, and
# goes on to listen.
overrun() {
	local n end
	daemon_start tun a "$A"
	"$repo/packaging/sealane-port" "$A" add ov0 vtep 10.9.0.1 vni 42
	end=$(ip -n "$id-a" -o link show | sed -n 's/^[0-9]*: \(slport[0-9]*\)@.*/\1/p')
	for ((n = 0; n < 30000; n++)); do
		printf 'route add 10.%d.%d.%d/32 dev lo\n' $((100 + n / 65536)) $((n / 256 % 256)) $((n % 256))
	done >"$work/routes"
	kill -s STOP "${daemon_pid[$A]}"
	ip -n "$id-a" -batch "$work/routes"
	ip -n "$id-a" link set "$A" mtu 1300
	kill -s CONT "${daemon_pid[$A]}"
	check 'lost events: what they told of is known' eventually 10 control_has "$A" mtu=1300
	ip -n "$id-a" link set "$A" mtu 1310
	check 'lost events: later ones are heard' eventually 10 control_has "$A" mtu=1310
	at a tc qdisc delete dev "$end" clsact
	check 'lost events: those of other devices, too' eventually 10 grep -q 'closed again' "$work/$A.log"
	daemon_stop "$A"
	sed -i 's/add/delete/' "$work/routes"
	ip -n "$id-a" -batch "$work/routes"
}

# ---- what is done to the device

mtu() { # KIND
	local size name="$1, MTU"
	tunnel_up "$1"
	check "$name: 1420 at first" control_has "$A" mtu=1420
	check "$name: full packets" pings a 2 10.9.0.2 -s 1392 -M "do"
	for size in 1280 9000 576 65000; do
		ip -n "$id-a" link set "$A" mtu "$size"
		ip -n "$id-b" link set "$B" mtu "$size"
		# As wide a way, or what may not be fragmented is answered.
		ip -n "$id-a" link set u0 mtu $((size < 1400 ? 1500 : size + 100))
		ip -n "$id-b" link set u0 mtu $((size < 1400 ? 1500 : size + 100))
		check "$name: $size is noticed" eventually 2 control_has "$A" "mtu=$size"
		check "$name: $size, full packets" pings a 2 10.9.0.2 -s $((size - 28)) -M "do"
		check "$name: $size, small packets" pings a 2 10.9.0.2 -s 0
		check "$name: $size, full packets back" pings b 2 10.9.0.1 -s $((size - 28)) -M "do"
	done
	narrow_way "$name"
	daemon_stop "$A" "$B"
}

# A device of 65000 on a way of 1500: 28 bytes of IP and UDP, 32 of WireGuard.
narrow_way() { # NAME
	ip -n "$id-a" link set u0 mtu 1500
	ip -n "$id-b" link set u0 mtu 1500
	check "$1: the way is narrower, full packets in fragments" \
		pings a 2 10.9.0.2 -s 8000 -M "dont"
	check "$1: what may not be fragmented is answered with what fits" \
		contains_output "mtu ?= ?1440" at a ping -n -c 1 -W 1 -s 8000 -M "do" 10.9.0.2
	check "$1: and that passes" pings a 2 10.9.0.2 -s $((1440 - 28)) -M "do"
}

# The command's output matches; its status does not matter.
contains_output() { # EXPRESSION COMMAND...
	local text=$1
	shift
	("$@" 2>&1 || true) | grep -E "$text"
}

up_and_down() { # KIND
	local name="$1, up and down"
	tunnel_up "$1"
	check "$name: the port is open" is_listening a udp 51001
	ip -n "$id-a" link set "$A" down
	check "$name: down closes it" eventually 2 is_closed a 51001
	check "$name: and is told" control_has "$A" up=0
	ip -n "$id-a" link set "$A" up
	check "$name: up opens it" eventually 2 is_listening a udp 51001
	check "$name: traffic flows again" pings a 3 10.9.0.2
	for _ in {1..10}; do
		ip -n "$id-a" link set "$A" down
		ip -n "$id-a" link set "$A" up
	done
	check "$name: and after ten times in a row" eventually 6 pings a 3 10.9.0.2
	daemon_stop "$A" "$B"
}

is_closed() { # NAMESPACE PORT
	! is_listening "$1" udp "$2"
}

# The configuration socket keeps its first name.
renamed() { # KIND
	tunnel_up "$1"
	ip -n "$id-a" link set "$A" down
	ip -n "$id-a" link set "$A" name "${A}x"
	ip -n "$id-a" link set "${A}x" up
	check "$1, renamed: traffic flows" eventually 6 pings a 3 10.9.0.2
	check "$1, renamed: wg reaches it by its first name" wg show "$A"
	daemon_stop "$A" "$B"
}

made_up() { ip -n "$id-a" -o -6 address show dev "$A" scope link; }

# Below 1280 there is no IPv6, and the kernel would begin it anew as for any device.
narrow_and_wide() { # KIND
	local mode
	tunnel_up "$1"
	ip -n "$id-a" link set "$A" mtu 1200
	sleep 0.2
	ip -n "$id-a" link set "$A" mtu 1420
	check "$1, narrow and wide: no address of its own" eventually 10 is_equal '' made_up
	mode=$(ip -n "$id-a" -d -j link show "$A" | jq -r '.[0].inet6_addr_gen_mode')
	check_equal "$1, narrow and wide: nor will it get one" none "$mode"
	check "$1, narrow and wide: traffic flows" pings a 2 10.9.0.2
	daemon_stop "$A" "$B"
}

moved() { # KIND
	local name="$1, moved to c" pid
	tunnel_up "$1"
	pid=${daemon_pid[$A]}
	ip -n "$id-a" link set "$A" netns "$id-c"
	address_add c "$A" 10.9.0.1/24 fd00:9::1/64
	ip -n "$id-c" link set "$A" up
	check "$name: traffic flows" eventually 6 pings c 3 10.9.0.2
	check "$name: IPv6 as well" pings c 3 fd00:9::2
	check "$name: from the other side" pings b 3 10.9.0.1
	check "$name: the sockets have stayed" is_listening a udp 51001
	check "$name: c has none" is_closed c 51001
	ip -n "$id-c" link set "$A" mtu 1300
	check "$name: MTU is followed" eventually 2 control_has "$A" mtu=1300
	ip -n "$id-c" link set "$A" down
	check "$name: down closes the port" eventually 2 is_closed a 51001
	ip -n "$id-c" link set "$A" up
	check "$name: up opens it" eventually 2 is_listening a udp 51001
	check "$name: traffic flows again" eventually 6 pings c 3 10.9.0.2
	ip -n "$id-c" link set "$A" netns "$id-a"
	address_add a "$A" 10.9.0.1/24
	ip -n "$id-a" link set "$A" up
	check "$name: moved back, traffic flows" eventually 6 pings a 3 10.9.0.2
	ip -n "$id-a" link set "$A" netns "$id-c"
	check "$name: and away again, the daemon stays" wg show "$A"
	ip -n "$id-c" link delete "$A"
	check "$name: deleted there, the daemon ends" eventually 1 has_ended "$pid"
	check "$name: and leaves nothing" leaves_nothing c "$A"
	unset "daemon_pid[$A]"
	daemon_stop "$B"
}

# ---- the ways to end

ends() { # TEXT DEVICE COMMAND...: within a second, with status 0, leaving nothing
	local text=$1 device=$2 pid=${daemon_pid[$2]} status=0
	shift 2
	"$@"
	check "$text: the daemon ends" eventually 1 has_ended "$pid"
	wait "$pid" || status=$?
	check_equal "$text: with success" 0 "$status"
	check "$text: and leaves nothing" leaves_nothing a "$device"
	unset "daemon_pid[$device]"
}

endings() { # KIND
	daemon_start "$1" a "$A"
	ends "$1, SIGTERM" "$A" kill -s TERM "${daemon_pid[$A]}"
	daemon_start "$1" a "$A"
	configure_a
	ends "$1, ip link delete" "$A" ip -n "$id-a" link delete "$A"
	daemon_start "$1" a "$A"
	ends "$1, its socket is removed" "$A" rm "/var/run/wireguard/$A.sock"
	daemon_start "$1" a "$A"
	configure_a
	ip -n "$id-a" link set "$A" down
	ends "$1, ip link delete while down" "$A" ip -n "$id-a" link delete "$A"
}

# A daemon that was killed leaves a socket that nobody answers at.
stale_socket() {
	daemon_start tap a "$A"
	daemon_signal KILL "$A"
	check 'a socket has been left' test -S "/var/run/wireguard/$A.sock"
	check 'and is no hindrance' daemon_start tap a "$A"
	# It was started in the check's shell.
	ip -n "$id-a" link delete "$A"
	check 'the second one ends' eventually 2 leaves_nothing a "$A"
}

# Somebody lists devices all the time, and removes, as wg does, socket files that
# nobody listens at. There must be no moment at which ours is one.
watched_start() {
	local watcher n_alive=0
	python3 - "/var/run/wireguard/$A.sock" <<-'PYTHON' &
		import os, socket, sys, time
		while os.getppid() != 1:
		    s = socket.socket(socket.AF_UNIX)
		    try:
		        s.connect(sys.argv[1])
		    except ConnectionRefusedError:
		        try:
		            os.unlink(sys.argv[1])
		        except FileNotFoundError:
		            pass
		    except OSError:
		        pass
		    s.close()
		    time.sleep(0.0003)  # or it would take all of the daemon's clients
	PYTHON
	watcher=$!
	for _ in {1..12}; do
		WG_PROCESS_FOREGROUND=1 ip netns exec "$id-a" "$SEALANED" "$A" >>"$work/$A.log" 2>&1 &
		daemon_pid[$A]=$!
		# One that lost its socket ends, and never answers.
		! eventually 5 wg show "$A" >/dev/null || n_alive=$((n_alive + 1))
		daemon_stop "$A"
	done
	kill "$watcher"
	wait "$watcher" 2>/dev/null || true
	check_equal 'started while wg looks for devices: it keeps its socket' 12 "$n_alive"
}

background() {
	local name='in the background'
	check "$name: the start returns when it answers" starts_in_background
	check "$name: it goes on" wg show "$A"
	configure_a
	start_b
	check "$name: traffic flows" pings a 3 10.9.0.2
	ip -n "$id-a" link delete "$A"
	check "$name: it ends" eventually 1 leaves_nothing a "$A"
	daemon_stop "$B"
}

starts_in_background() {
	at a "$SEALANED" "$A" && wg show "$A"
}

# ---- other hosts

no_ipv6() { # KIND
	at a sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
	daemon_start "$1" a "$A"
	lane_up a "$A" a 51001 10.9.0.1/24
	wg set "$A" peer "$(pub b)" allowed-ips 10.9.0.2/32 endpoint 192.0.2.2:51002
	start_b
	check "$1, IPv6 switched off: traffic flows" pings a 3 10.9.0.2
	check "$1, IPv6 switched off: from the other side" pings b 3 10.9.0.1
	daemon_stop "$A" "$B"
	at a sysctl -qw net.ipv6.conf.all.disable_ipv6=0 net.ipv6.conf.default.disable_ipv6=0
	address_add a u0 2001:db8::1/64
}

# The supervisor that opens device and socket itself and hands them over.
handed_over() { # FLAG
	local name="WG_TUN_FD and WG_UAPI_FD, $1"
	ip netns exec "$id-a" python3 - "$A" "$SEALANED" "$1" >"$work/handed.log" 2>&1 <<'PYTHON' &
import fcntl, os, socket, struct, sys

name, program, kind = sys.argv[1:]
IFF_TUN, IFF_TAP, IFF_NO_PI, TUNSETIFF = 1, 2, 0x1000, 0x400454CA
tun = os.open("/dev/net/tun", os.O_RDWR)
flags = (IFF_TAP if kind == "tap" else IFF_TUN) | IFF_NO_PI
fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", name.encode(), flags))
uapi = socket.socket(socket.AF_UNIX)
uapi.bind("/var/run/wireguard/%s.sock" % name)
uapi.listen()
os.set_inheritable(tun, True)
uapi.set_inheritable(True)
os.environ.update(WG_TUN_FD=str(tun), WG_UAPI_FD=str(uapi.fileno()))
os.execv(program, [program, "-f", name])
PYTHON
	daemon_pid[$A]=$!
	check "$name: it answers" eventually 5 is_answering a "$A"
	check "$name: it knows what it got" control_has "$A" "device_kind=$1"
	configure_a
	start_b
	check "$name: traffic flows" pings a 3 10.9.0.2
	daemon_stop "$A" "$B"
	rm -f "/var/run/wireguard/$A.sock"
}

# ---- what cannot be had

# Status 1, one line on stderr that says so, nothing on stdout, nothing left.
is_refused() { # PATTERN COMMAND...
	local pattern=$1 status=0
	shift
	timeout 10 "$@" >"$work/refused.out" 2>"$work/refused.err" </dev/null || status=$?
	cat "$work/refused.err"
	[ "$status" = 1 ] || { echo "exit status $status"; return 1; }
	[ ! -s "$work/refused.out" ] || { echo 'something on stdout'; return 1; }
	[ "$(wc -l <"$work/refused.err")" = 1 ] || { echo 'not one line'; return 1; }
	grep -qi -- "$pattern" "$work/refused.err" || { echo "does not say '$pattern'"; return 1; }
}

# A word LOG_LEVEL does not know is told about and does not stop anybody (as with wireguard-go).
unknown_log_level() {
	local lines
	lines=$(timeout 3 env WG_PROCESS_FOREGROUND=1 LOG_LEVEL=loud ip netns exec "$id-a" \
		"$SEALANED" "$A" 2>&1 || true)
	check 'LOG_LEVEL=loud is told about' grep -q 'LOG_LEVEL=loud is none of' <<<"$lines"
	check 'and the lane runs' grep -q 'stopping: SIGTERM' <<<"$lines"
}

refused() { # TEXT PATTERN COMMAND...: in the background and in the foreground
	local text=$1 pattern=$2
	shift 2
	check "$text" is_refused "$pattern" env -u WG_PROCESS_FOREGROUND ip netns exec "$id-a" "$@"
	check "$text, in the foreground" is_refused "$pattern" env WG_PROCESS_FOREGROUND=1 \
		ip netns exec "$id-a" "$@"
}

# shellcheck disable=SC2016 # for the inner shell
without_tun='mount -t tmpfs tmpfs /dev/net && exec "$0" "$@"'

refusals() {
	ip -n "$id-a" link add "$A" type bridge
	refused 'the name is taken by a link' "$A.*taken" "$SEALANED" "$A"
	ip -n "$id-a" link delete "$A"

	daemon_start tap a "$A"
	refused 'the name is taken by a daemon here' "$A.*\(taken\|runs\)" "$SEALANED" "$A"
	check 'which goes on' wg show "$A"
	daemon_stop "$A"

	daemon_start go b "$A"
	refused 'the name is taken by a daemon elsewhere' 'another WireGuard daemon' "$SEALANED" "$A"
	check 'which goes on, too' wg show "$A"
	check_fails 'no device of that name is left' ip -n "$id-a" link show "$A"
	daemon_stop "$A"

	refused 'no /dev/net/tun' 'no /dev/net/tun.*modprobe tun' unshare -m sh -c "$without_tun" "$SEALANED" "$A"
	refused 'no CAP_NET_ADMIN' 'CAP_NET_ADMIN' setpriv --bounding-set=-net_admin --inh-caps=-net_admin "$SEALANED" "$A"
	refused 'SEALANE_DEVICE=bridge' 'SEALANE_DEVICE=bridge.*auto, tap or tun' env SEALANE_DEVICE=bridge "$SEALANED" "$A"
	unknown_log_level
	refused 'a name with a slash' 'not a usable name' "$SEALANED" a/b
	refused 'a name of 16 characters' 'not a usable name' "$SEALANED" abcdefghijklmnop
	refused 'an empty name' 'not a usable name' "$SEALANED" ''
	refused 'WG_TUN_FD is no descriptor' 'WG_TUN_FD=77' env WG_TUN_FD=77 "$SEALANED" "$A"
	refused 'WG_TUN_FD is something else' 'WG_TUN_FD=0' env WG_TUN_FD=0 "$SEALANED" "$A"
	check 'nothing is left of all that' leaves_nothing a "$A"
}

# ---- ports

taken_ports() {
	local holder
	tunnel_up tap
	# A port for every family, as other lanes have them.
	ip netns exec "$id-a" socat -u "UDP6-RECV:51009,ipv6only=0" /dev/null &
	holder=$!
	eventually 5 is_listening a udp 51009 >/dev/null
	check_fails 'a taken port is refused' wg set "$A" listen-port 51009
	check_equal 'the old one is kept' 51001 "$(wg show "$A" listen-port)"
	check 'and works' pings a 3 10.9.0.2
	ip -n "$id-a" link set "$A" down
	eventually 2 control_has "$A" up=0
	check_fails 'a taken port is refused while down' wg set "$A" listen-port 51009
	kill "$holder"
	wait "$holder" 2>/dev/null || true

	ip netns exec "$id-a" socat -u "UDP6-RECV:51001,ipv6only=0" /dev/null &
	holder=$!
	eventually 5 is_listening a udp 51001 >/dev/null
	ip -n "$id-a" link set "$A" up
	check 'a port lost while down is told about' eventually 2 grep -q 'cannot listen on UDP port 51001' "$work/$A.log"
	check_equal 'once' 1 "$(grep -c 'cannot listen' "$work/$A.log")"
	wg set "$A" listen-port 51010
	check 'another port will do' pings a 3 10.9.0.2
	kill "$holder"
	wait "$holder" 2>/dev/null || true
	daemon_stop "$A" "$B"

	daemon_start tun a "$A"
	ip -n "$id-a" link set "$A" up
	check 'without a port one is chosen' eventually 2 has_port "$A"
	check 'and open' is_listening a udp "$(wg show "$A" listen-port)"
	daemon_stop "$A"
}

has_port() { # DEVICE
	[ "$(wg show "$1" listen-port)" -gt 0 ]
}

topology
for kind in tap tun; do
	mtu "$kind"
	up_and_down "$kind"
	moved "$kind"
	endings "$kind"
	no_ipv6 "$kind"
	handed_over "$kind"
done
renamed tap
narrow_and_wide tap
narrow_and_wide tun
stale_socket
watched_start
background
refusals
taken_ports
overrun
finish
