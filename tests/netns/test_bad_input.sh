#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A stranger sends a lane datagrams of every kind and length while a peer talks
# to it: the peer does not notice, each is counted, none is logged, nothing grows.
#
#   +------ a ------+           u0: 192.0.2.0/24        +------ b ------+
#   | $A :51001     |----------------------------------| $B :51002     |
#   | 10.9.0.1      |           2001:db8::/64          | 10.9.0.2      |
#   +---------------+                                  | the stranger  |
#                                                      | 192.0.2.66    |
#                                                      +---------------+
# shellcheck disable=SC2317 # checks call functions by name
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

topology() {
	ns_new a b
	link_new a u0 b u0
	address_add a u0 192.0.2.1/24 2001:db8::1/64
	address_add b u0 192.0.2.2/24 192.0.2.66/24 2001:db8::2/64 2001:db8::66/64
	key_new a b
}

tunnel_up() { # KIND
	daemon_start "$1" a "$A"
	daemon_start tun b "$B"
	lane_up a "$A" a 51001 10.9.0.1/24
	lane_up b "$B" b 51002 10.9.0.2/24
	wg set "$A" peer "$(pub b)" allowed-ips 10.9.0.2/32
	wg set "$B" peer "$(pub a)" allowed-ips 10.9.0.1/32 endpoint 192.0.2.1:51001
}

write_stranger() {
	cat >"$work/stranger.py" <<'PYTHON'
"""stranger.py SEED PUBLIC-KEY KIND...: sends a's lane what KIND names, prints how many datagrams."""
import base64, hashlib, os, random, socket, struct, sys, time

random.seed(int(sys.argv[1]))
public_key = base64.b64decode(sys.argv[2])
sockets = [socket.socket(f, socket.SOCK_DGRAM) for f in (socket.AF_INET, socket.AF_INET6)]
sockets[0].bind(("192.0.2.66", 0))
sockets[1].bind(("2001:db8::66", 0))
sockets[0].connect(("192.0.2.1", 51001))
sockets[1].connect(("2001:db8::1", 51001))
n = 0


def send(datagram):
    global n
    sockets[n % 2].send(datagram)
    n += 1
    if n % 64 == 0:
        time.sleep(0.002)  # the receiver is to see them all


def with_mac1(message):
    key = hashlib.blake2s(b"mac1----" + public_key).digest()
    mac = hashlib.blake2s(message, key=key, digest_size=16).digest()
    return message + mac + bytes(16)


def every_length():
    for kind in (0, 1, 2, 3, 4, 5, 255):
        for length in range(201):
            send((struct.pack("<I", kind) + random.randbytes(200))[:length])


def reserved_bytes():
    for kind, length in ((1, 148), (2, 92), (3, 64), (4, 32), (4, 128)):
        for place in (1, 2, 3):
            head = bytearray(struct.pack("<I", kind))
            head[place] = 1
            send(bytes(head) + random.randbytes(length - 4))


def large():
    for length in (1451, 1452, 1453, 2000, 9000, 16384, 32768, 65000, 65507):
        for kind in (1, 2, 3, 4, 9):
            if n % 2:  # room for the IPv6 header
                length = min(length, 65487)
            send(struct.pack("<I", kind) + random.randbytes(length - 4))


def noise():
    for _ in range(2000):
        send(random.randbytes(random.randrange(1500)))


def right_mac1(pairs=150):
    """What only the handshake itself can tell is wrong."""
    for _ in range(pairs):
        send(with_mac1(struct.pack("<I", 1) + random.randbytes(112)))
        send(with_mac1(struct.pack("<I", 2) + random.randbytes(56)))


def warm_up():
    """Touches all of the handshake queue, and in bursts every buffer."""
    right_mac1(2500)
    burst = random.randbytes(60000)
    for _ in range(400):
        sockets[0].send(burst)


for name in sys.argv[3:]:
    globals()[name]()
print(n)
PYTHON
}

# Datagrams of the peer, from a capture, as they were and with one bit flipped,
# from the stranger's address; prints how many.
write_parrot() {
	cat >"$work/parrot.py" <<'PYTHON'
import socket, struct, sys

data = open(sys.argv[1], "rb").read()
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("192.0.2.66", 0))
at, n = 24, 0
while at < len(data):
    length = struct.unpack_from("<I", data, at + 8)[0]
    payload = data[at + 16 + 14 + 20 + 8:at + 16 + length]
    at += 16 + length
    s.sendto(payload, ("192.0.2.1", 51001))
    n += 1
    for bit in range(0, len(payload) * 8, 37):
        broken = bytearray(payload)
        broken[bit // 8] ^= 1 << bit % 8
        s.sendto(bytes(broken), ("192.0.2.1", 51001))
        n += 1
    for length in range(0, len(payload), 5):
        s.sendto(payload[:length], ("192.0.2.1", 51001))
        n += 1
print(n)
PYTHON
}

resident_kb() { awk '/^VmRSS/ { print $2 }' "/proc/${daemon_pid[$A]}/status"; }

overflows() { # datagrams that found the socket's queue full
	at a nstat -asz UdpRcvbufErrors Udp6RcvbufErrors | awk '!/^#/ { n += $2 } END { print n + 0 }'
}

n_log_lines() { wc -l <"$work/$A.log"; }

stranger() { at b python3 "$work/stranger.py" "$1" "$(pub a)" "${@:2}"; }

has_counted() { # DROPS-BEFORE OVERFLOWS-BEFORE SENT
	local counted=$(($(n_drops "$A") - $1 + $(overflows) - $2))
	[ "$counted" = "$3" ] || { echo "$counted of $3"; return 1; }
}

# One kind of bad input, and the drop reason that it must at least raise.
onslaught() { # NAME REASON SENDER...
	local name=$1 reason=$2 before overflowed reason_before n
	shift 2
	before=$(n_drops "$A") overflowed=$(overflows)
	reason_before=$(counter "$A" "drop=$reason")
	n=$("$@")
	check "$name: every one of $n is counted" eventually 5 has_counted "$before" "$overflowed" "$n"
	check_at_least "$name: as $reason among others" 1 $(($(counter "$A" "drop=$reason") - reason_before))
}

parrot() { at b python3 "$work/parrot.py" "$work/peer.pcap"; }

# Pools and queues have a size from the start, but take memory only as they are
# used, and how many datagrams one batch finds is chance: what a first round leaves
# untouched a later one may use. A leak grows with every round.
stops_growing() {
	local before grown round
	for round in {1..6}; do
		before=$(resident_kb)
		for seed in "${round}1" "${round}2" "${round}3"; do
			stranger "$seed" every_length large noise right_mac1 >/dev/null
		done
		sleep 0.3
		grown=$(($(resident_kb) - before))
		[ "$grown" -gt 128 ] || return 0
		printf 'round %d: %d kB more\n' "$round" "$grown"
	done
	return 1
}

memory() { # KIND
	check "$1: resident memory stops growing" stops_growing
}

bad_input() { # KIND
	local lines sent_before overflowed lost
	capture_start peer a u0 udp dst port 51001 and src host 192.0.2.2
	tunnel_up "$1"
	pings b 5 10.9.0.1
	capture_stop
	lines=$(n_log_lines)
	stranger 10 warm_up >/dev/null
	sleep 1.5 # until the lane is no longer under load
	overflowed=$(overflows)
	pinger_start peer b 10.9.0.1 100000 0.02
	pinger_start back a 10.9.0.2 100000 0.02
	sent_before=$(sent "$A" b)

	onslaught "$1, every type and length" bad_message stranger 1 every_length
	onslaught "$1, nonzero reserved bytes" bad_message stranger 2 reserved_bytes
	onslaught "$1, large ones" unknown_index stranger 3 large
	onslaught "$1, random ones" bad_message stranger 4 noise
	onslaught "$1, handshakes with a right mac1" bad_handshake stranger 5 right_mac1
	onslaught "$1, the peer's own, again" replay parrot
	onslaught "$1, the peer's own, broken" auth parrot
	memory "$1"

	pinger_stop peer
	lost=$pinger_lost
	pinger_stop back
	overflowed=$(($(overflows) - overflowed)) # none, unless the machine was busy elsewhere
	check_at_most "$1: no packet of the peer was lost" "$overflowed" "$lost"
	check_at_most "$1: nor to the peer" "$overflowed" "$pinger_lost"
	check_at_least "$1: many were sent" $((sent_before + 12800)) "$(sent "$A" b)"
	check_equal "$1: the endpoint has not moved" 192.0.2.2:51002 "$(endpoint "$A" b)"
	check_equal "$1: nothing was logged" "$lines" "$(n_log_lines)"
	check_equal "$1: the peers are what they were" "$(pub b)" "$(wg show "$A" peers)"
	daemon_stop "$A" "$B"
}

# Without a private key there is nobody to talk to; with it, the same again.
no_identity() {
	daemon_start tap a "$A"
	wg set "$A" listen-port 51001
	ip -n "$id-a" link set "$A" up
	onslaught 'without a key' no_identity stranger 6 every_length right_mac1
	check 'without a key: it lives' wg show "$A"
	daemon_stop "$A"
}

topology
write_stranger
write_parrot
bad_input tap
bad_input tun
no_identity
finish
