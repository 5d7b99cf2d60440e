#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The configuration socket of a running daemon: with wg as people use it, with a
# raw client as nobody should, and what ends the daemon.
#
# One namespace, one device without addresses; nothing is sent over it. The
# sockets' folder is shared with the host unless the caller has its own mount
# namespace, so names carry the process id.
set -euo pipefail

if [ "${1:-}" != inside ]; then
	if ! unshare --net true 2>/dev/null; then
		echo 'needs the right to make a network namespace'
		exit 77
	fi
	exec unshare --net "${BASH_SOURCE[0]}" inside
fi

daemon=${SEALANED:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/build/bin/sealaned}
for tool in wg socat ip stat; do
	command -v $tool >/dev/null || { echo "needs $tool"; exit 77; }
done
[ -c /dev/net/tun ] || { echo 'needs /dev/net/tun'; exit 77; }
[ -x "$daemon" ] || { echo "no daemon at $daemon"; exit 1; }

dev=su$$a
sock=/var/run/wireguard/$dev.sock
control=/var/run/sealane/$dev.sock
work=$(mktemp -d)
pid=
helpers=()

clean_up() {
	[ -z "$pid" ] || kill -9 "$pid" 2>/dev/null || true
	[ ${#helpers[@]} = 0 ] || kill "${helpers[@]}" 2>/dev/null || true
	rm -rf "$work" "$sock" "$control"
}
trap clean_up EXIT
trap 'exit 1' INT TERM

fail() {
	echo "FAILED: $*"
	echo '--- log of the daemon'
	tail -n 20 "$work/log" 2>/dev/null || true
	exit 1
}

passed() { echo "ok: $*"; }

equal() { # WHAT GOT WANTED
	[ "$2" = "$3" ] || fail "$1: got '$2', wanted '$3'"
	passed "$1"
}

# ---- the daemon

start() {
	"$daemon" -f "$dev" 2>"$work/log" &
	pid=$!
	local n
	for n in {1..100}; do
		! wg show "$dev" >/dev/null 2>&1 || return 0
		kill -0 "$pid" 2>/dev/null || fail 'the daemon did not start'
		sleep 0.05
	done
	fail "the daemon does not answer (tried $n times)"
}

# The daemon must be gone within a second, with status 0, leaving no file.
ends() { # HOW
	local n
	for n in {1..20}; do
		kill -0 "$pid" 2>/dev/null || break
		[ "$n" != 20 ] || fail "$1: still there after a second"
		sleep 0.05
	done
	wait "$pid" || fail "$1: exit status $?"
	pid=
	[ ! -e "$sock" ] || fail "$1: $sock is left"
	[ ! -e "$control" ] || fail "$1: $control is left"
	! ip link show "$dev" >/dev/null 2>&1 || fail "$1: the device is left"
	passed "ends within a second: $1"
}

# ---- clients

# Says TEXT (printf escapes), closes its side, prints the whole answer.
raw() { printf '%b' "$1" | timeout 5 socat -t 5 - "UNIX-CONNECT:$sock" 2>/dev/null | tr '\n' ' '; }

# As raw, but its side stays open until the answer must have come.
raw_open() {
	{ printf '%b' "$1"; sleep 0.3; } | timeout 5 socat - "UNIX-CONNECT:$sock" 2>/dev/null |
		tr '\n' ' '
}

answers() { # WHAT TEXT WANTED
	equal "$1" "$(raw_open "$2")" "$3"
}

field() { # PEER COLUMN of wg show dump: 2 psk 3 endpoint 4 allowed-ips 8 keepalive
	wg show "$dev" dump | awk -F'\t' -v p="$1" -v c="$2" 'NR > 1 && $1 == p {print $c}'
}

peers() { wg show "$dev" peers | sort | tr '\n' ' '; }

hex() { base64 -d <<<"$1" | od -An -v -tx1 | tr -d ' \n'; }

private=$(wg genkey)
key_a=$(wg genkey | wg pubkey)
key_b=$(wg genkey | wg pubkey)
key_c=$(wg genkey | wg pubkey)
psk=$(wg genpsk)
sorted_ab=$(printf '%s\n' "$key_a" "$key_b" | sort | tr '\n' ' ')

# ---- what is checked

fresh_device() {
	equal 'a fresh device has no settings' "$(wg show "$dev" dump)" $'(none)\t(none)\t0\toff'
	equal 'the socket is its owner'"'"'s alone' "$(stat -c '%a %F' "$sock")" '600 socket'
	equal 'and so is the control socket' "$(stat -c '%a %F' "$control")" '600 socket'
}

wg_set() {
	wg set "$dev" private-key <(echo "$private") listen-port 41820 fwmark 0xca6c
	equal 'private key' "$(wg show "$dev" private-key)" "$private"
	equal 'public key' "$(wg show "$dev" public-key)" "$(wg pubkey <<<"$private")"
	equal 'listen port' "$(wg show "$dev" listen-port)" 41820
	equal 'fwmark' "$(wg show "$dev" fwmark)" 0xca6c
	wg set "$dev" fwmark 0
	equal 'fwmark off' "$(wg show "$dev" fwmark)" off

	wg set "$dev" peer "$key_a" preshared-key <(echo "$psk") endpoint 192.0.2.1:51820 \
		persistent-keepalive 25 allowed-ips 10.1.2.3/8,fd00::1/64 2>/dev/null
	equal 'preshared key' "$(field "$key_a" 2)" "$psk"
	equal 'IPv4 endpoint' "$(field "$key_a" 3)" 192.0.2.1:51820
	equal 'allowed-ips are masked' "$(field "$key_a" 4 | tr , '\n' | sort | tr '\n' ' ')" \
		'10.0.0.0/8 fd00::/64 '
	equal 'keepalive' "$(field "$key_a" 8)" 25
	equal 'no handshake yet' "$(wg show "$dev" latest-handshakes)" "$key_a"$'\t0'
	equal 'no traffic yet' "$(wg show "$dev" transfer)" "$key_a"$'\t0\t0'
	wg set "$dev" peer "$key_a" preshared-key /dev/null persistent-keepalive off
	equal 'preshared key cleared' "$(field "$key_a" 2)" '(none)'
	equal 'keepalive off' "$(field "$key_a" 8)" off
	wg set "$dev" peer "$key_a" endpoint '[2001:db8::1]:51820'
	equal 'IPv6 endpoint' "$(field "$key_a" 3)" '[2001:db8::1]:51820'
	wg set "$dev" peer "$key_a" endpoint "[fe80::1%$dev]:51820"
	equal 'IPv6 endpoint with a zone' "$(field "$key_a" 3)" "[fe80::1%$dev]:51820"

	wg set "$dev" peer "$key_b" allowed-ips 10.0.0.0/8
	equal 'a prefix moves to the peer that asks last' "$(field "$key_a" 4) $(field "$key_b" 4)" \
		'fd00::/64 10.0.0.0/8'
	wg set "$dev" peer "$key_b" remove peer "$key_c" remove
	equal 'a peer is removed' "$(peers)" "$key_a "
	wg set "$dev" private-key /dev/null
	equal 'private key cleared' "$(wg show "$dev" private-key)" '(none)'
}

wg_conf() {
	printf '[Interface]\nPrivateKey = %s\nListenPort = 41821\n' "$private" >"$work/a.conf"
	printf '[Peer]\nPublicKey = %s\nAllowedIPs = 10.0.0.0/24\nEndpoint = 192.0.2.7:7\n' \
		"$key_a" >>"$work/a.conf"
	printf '[Peer]\nPublicKey = %s\nAllowedIPs = 10.0.1.0/24\n' "$key_b" >"$work/b.conf"
	wg setconf "$dev" "$work/a.conf"
	equal 'setconf replaces all' "$(peers)$(wg show "$dev" listen-port)" "$key_a 41821"
	wg addconf "$dev" "$work/b.conf"
	equal 'addconf adds' "$(peers)" "$sorted_ab"
	equal 'addconf keeps the rest' "$(field "$key_a" 3)" 192.0.2.7:7
	wg syncconf "$dev" "$work/a.conf"
	equal 'syncconf removes what is not named' "$(peers)" "$key_a "
	equal 'syncconf keeps the rest' "$(field "$key_a" 4)" 10.0.0.0/24
	wg showconf "$dev" >"$work/shown.conf"
	wg setconf "$dev" "$work/shown.conf"
	wg showconf "$dev" >"$work/again.conf"
	cmp "$work/shown.conf" "$work/again.conf" || fail 'showconf, setconf, showconf differ'
	passed 'showconf gives what setconf takes'
	: >"$work/empty.conf"
	wg setconf "$dev" "$work/empty.conf"
	equal 'an empty configuration empties' "$(wg show "$dev" private-key) $(peers)" '(none) '
}

taken_port() {
	socat -u UDP4-RECV:41900 - >/dev/null &
	helpers+=($!)
	local n state text
	for n in {1..50}; do
		! ss -Hlun 'sport = :41900' 2>/dev/null | grep -q . || break
		sleep 0.02
	done
	for state in down up; do
		ip link set "$dev" "$state"
		sleep 0.2
		wg set "$dev" listen-port 41830
		if text=$(wg set "$dev" listen-port 41900 2>&1); then
			fail "a taken port was accepted ($state, $n)"
		fi
		[[ $text = *'Address already in use'* ]] || fail "wg said '$text'"
		equal "a taken port is refused, the old one kept (device $state)" \
			"$(wg show "$dev" listen-port)" 41830
	done
	[ -n "$(ss -Hlun 'sport = :41830')" ] || fail 'the old port is not listened on any more'
	wg set "$dev" listen-port 0
	[ "$(wg show "$dev" listen-port)" != 0 ] || fail 'no port was chosen'
	passed 'port 0 chooses one'
	ip link set "$dev" down
}

raw_errors() {
	local a b own
	a=$(hex "$key_a") b=$(hex "$key_b")
	answers 'set of nothing' 'set=1\n\n' 'errno=0  '
	answers 'no equals sign: EPROTO' 'set=1\nnonsense\n\n' 'errno=-71  '
	answers 'unknown key: EINVAL' 'set=1\nnonsense=1\n\n' 'errno=-22  '
	answers 'one carriage return before a newline is no matter' 'set=1\nfwmark=0\r\n\r\n' 'errno=0  '
	answers 'two are: EINVAL' 'set=1\nfwmark=1\r\r\n\n' 'errno=-22  '
	answers 'odd hex: EINVAL' 'set=1\nprivate_key=abc\n\n' 'errno=-22  '
	answers 'port too large: EINVAL' 'set=1\nlisten_port=65536\n\n' 'errno=-22  '
	answers 'taken port: EADDRINUSE' 'set=1\nlisten_port=41900\n\n' 'errno=-98  '
	answers 'cidr too large: EINVAL' "set=1\npublic_key=$a\nallowed_ip=1.2.3.4/33\n\n" 'errno=-22  '
	answers 'endpoint by name: EINVAL' "set=1\npublic_key=$a\nendpoint=localhost:1\n\n" 'errno=-22  '
	answers 'device key in a peer: EINVAL' "set=1\npublic_key=$a\nfwmark=1\n\n" 'errno=-22  '
	answers 'get without a blank line: EINVAL' 'get=1\nx\n' 'errno=22  '
	answers 'unknown operation: closed without a word' 'what=1\n\n' ''
	answers 'errors are not the end of a connection' 'set=1\nx\ny\n\nset=1\n\n' \
		'errno=-71  errno=0  '
	equal 'what stood before the error is applied' "$(peers)" "$key_a "

	answers 'upper case hex' "set=1\nreplace_peers=true\npublic_key=${b^^}\n\n" 'errno=0  '
	equal 'and it is the same key' "$(peers)" "$key_b "
	answers 'update_only does not create' \
		"set=1\npublic_key=$a\nupdate_only=true\nallowed_ip=::/0\n\n" 'errno=0  '
	answers 'removing an unknown peer is nothing' "set=1\npublic_key=$a\nremove=true\n\n" 'errno=0  '
	equal 'neither did anything' "$(peers)" "$key_b "
	own=$(wg pubkey <<<"$private")
	answers 'our own key is passed over' \
		"set=1\nprivate_key=$(hex "$private")\npublic_key=$(hex "$own")\n\n" 'errno=0  '
	equal 'no peer with our key' "$(peers)" "$key_b "

	answers 'prefixes are added' \
		"set=1\npublic_key=$b\nallowed_ip=10.0.0.0/8\nallowed_ip=fd00::/8\n\n" 'errno=0  '
	answers 'and taken off, unless they are another peer'"'"'s' \
		"set=1\npublic_key=$a\nallowed_ip=-10.0.0.0/8\npublic_key=$b\nallowed_ip=-fd00::/8\n\n" \
		'errno=0  '
	equal 'as wg sees it' "$(field "$key_a" 4) $(field "$key_b" 4)" '(none) 10.0.0.0/8'
	answers 'several operations on one connection' \
		"set=1\nreplace_peers=true\nprivate_key=$(printf %064d 0)\n\nset=1\nlisten_port=41831\n\nget=1\n\n" \
		'errno=0  errno=0  listen_port=41831 errno=0  '
}

raw_limits() {
	local line
	line=$(printf '%065536d' 0)
	equal '64 KiB + 1 in a line: EIO' "$(raw_open "set=1\nfwmark=1\n$line\n\n")" 'errno=-5  '
	wg show "$dev" >/dev/null || fail 'the daemon does not answer any more'
	line=${line:2}
	answers 'a longer value than any key has: EINVAL' "set=1\nx=${line:2}\n\n" 'errno=-22  '

	# Gone in the middle of a set, in the middle of a line.
	printf 'set=1\nlisten_port=41832\nfwmark=4' | socat -u - "UNIX-CONNECT:$sock"
	equal 'a client that leaves: whole lines stay' \
		"$(wg show "$dev" listen-port) $(wg show "$dev" fwmark)" '41832 0x1'
	equal 'end of input ends a set' "$(raw 'set=1\nfwmark=0\n')" 'errno=0  '

	{ printf 'get=1\n\nset=1\n\n'; sleep 0.3; } | timeout 5 socat - "UNIX-CONNECT:$control" |
		tr '\n' ' ' >"$work/control"
	[[ $(<"$work/control") = 'version=1 '*' errno=0  error='*' errno=-22  ' ]] ||
		fail "the control socket said $(<"$work/control")"
	passed 'the control socket tells, and refuses an empty command'
}

# A client that has begun a set and sleeps.
sets_do_not_mix() {
	{ printf 'set=1\nlisten_port=41840\n'; sleep 1; printf 'fwmark=9\n\n'; sleep 0.2; } |
		socat - "UNIX-CONNECT:$sock" >"$work/sleeper" &
	helpers+=($!)
	sleep 0.3
	equal 'nobody sees half a set' "$(wg show "$dev" listen-port) $(wg show "$dev" fwmark)" \
		'41840 0x9'
}

second_daemon() {
	local status=0
	timeout 5 "$daemon" -f "$dev" >"$work/second" 2>&1 || status=$?
	equal 'a second daemon of that name fails' "$status" 1
	equal 'with one line' "$(wc -l <"$work/second")" 1
	echo "    $(<"$work/second")"
	wg show "$dev" >/dev/null || fail 'the first one was hurt'
	passed 'the first goes on'
}

stale_socket() {
	kill -9 "$pid"
	wait "$pid" 2>/dev/null || true
	pid=
	[ -S "$sock" ] || fail 'kill -9 should have left the socket'
	start
	passed 'a stale socket is no obstacle'
}

endings() {
	kill -TERM "$pid"
	ends SIGTERM
	start
	kill -INT "$pid"
	ends SIGINT
	start
	ip link del "$dev"
	ends 'ip link del'
	start
	rm "$sock"
	ends 'the socket is removed'
	start
	: >"$work/file"
	mv -f "$work/file" "$sock"
	for n in {1..20}; do
		kill -0 "$pid" 2>/dev/null || break
		[ "$n" != 20 ] || fail 'still there although its socket was replaced'
		sleep 0.05
	done
	[ -f "$sock" ] || fail 'removed a file that is not its own'
	passed 'ends within a second: the socket is replaced (and the new file left)'
	rm "$sock"
	pid=
	start
	# With a client in the middle of a set.
	{ printf 'set=1\nfwmark=1\n'; sleep 3; } | socat - "UNIX-CONNECT:$sock" >/dev/null 2>&1 &
	helpers+=($!)
	sleep 0.2
	kill -TERM "$pid"
	ends 'SIGTERM during a set'
}

# N lines: key, endpoint, v4 prefix, v6 prefix. A key is 252 random bits and four
# zero bits, so that it needs no arithmetic.
make_peers() { # N
	head -c $((33 * $1)) /dev/urandom | base64 -w 44 | awk '{
		printf "%sA=\t192.0.2.%d:%d\t10.%d.%d.%d/32\tfd00::%x:%x/128\n", substr($0, 1, 42),
			NR % 256, NR % 60000 + 1, NR / 65536, NR / 256 % 256, NR % 256,
			NR / 65536 + 1, NR % 65536 + 1
	}'
}

now_ms() { date +%s%3N; }

# Sets N peers, reads them back; leaves the time in $took.
many_peers() { # N
	local begun
	make_peers "$1" >"$work/peers"
	printf '[Interface]\nPrivateKey = %s\n' "$private" >"$work/many.conf"
	awk -F'\t' '{printf "[Peer]\nPublicKey = %s\nEndpoint = %s\nAllowedIPs = %s, %s\n",
		$1, $2, $3, $4}' "$work/peers" >>"$work/many.conf"
	wg setconf "$dev" "$work/empty.conf"
	begun=$(now_ms)
	wg setconf "$dev" "$work/many.conf"
	wg show "$dev" dump >"$work/dump"
	took=$(($(now_ms) - begun))
	awk -F'\t' 'NR > 1 {
		split($4, ip, ",")
		if (ip[1] ~ /:/) { t = ip[1]; ip[1] = ip[2]; ip[2] = t }
		print $1 "\t" $3 "\t" ip[1] "\t" ip[2]
	}' "$work/dump" | sort >"$work/got"
	sort "$work/peers" | cmp - "$work/got" || fail "$1 peers: dump is not the configuration"
	passed "$1 peers by setconf, dump equal to the configuration: $took ms"
}

scale() {
	local twenty took
	many_peers 20000
	twenty=$took
	[ "$twenty" -lt 15000 ] || fail "20,000 peers took $twenty ms"
	many_peers 40000
	[ "$took" -lt $((twenty * 5 / 2 + 300)) ] ||
		fail "40,000 peers took $took ms, 20,000 took $twenty ms"
	passed 'time grows with the number of peers, not with its square'
	equal 'removing all of them' "$(wg setconf "$dev" "$work/empty.conf" && peers)" ''
}

ip link set lo up
start
fresh_device
wg_set
wg_conf
taken_port
raw_errors
raw_limits
sets_do_not_mix
second_daemon
scale
stale_socket
endings
