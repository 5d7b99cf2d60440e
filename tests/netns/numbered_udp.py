#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Numbered UDP datagrams, which tell what was lost, doubled, reordered or changed.

  numbered_udp.py receive PORT N_DATAGRAMS
  numbered_udp.py send ADDRESS PORT N_DATAGRAMS SIZE [PER_SEND [PAUSE_MS]]

The receiver ends when it has the last datagram, or nothing came for two seconds,
and prints "lost=0 doubled=0 reordered=0 changed=0". Datagrams of one
send (PER_SEND > 1) leave by UDP_SEGMENT. The sender prints how many sends failed.
"""
import collections
import random
import socket
import struct
import sys
import time

SOL_UDP, UDP_SEGMENT, SO_RCVBUFFORCE = 17, 103, 33


def datagram(number, size):
    return struct.pack(">II", number, size) + random.Random(number).randbytes(size - 8)


def is_right(data):
    if len(data) < 8:
        return False
    number, size = struct.unpack_from(">II", data)
    return size == len(data) and data == datagram(number, size)


def receive(port, n):
    sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 27)
    sock.bind(("::", port))
    sock.settimeout(20)
    got = []
    try:
        while not got or struct.unpack_from(">I", got[-1].ljust(4, b"\xff"))[0] != n - 1:
            got.append(sock.recv(65536))
            sock.settimeout(2)
        # What is doubled may come behind the last.
        sock.settimeout(0.3)
        while True:
            got.append(sock.recv(65536))
    except TimeoutError:
        pass
    numbers = [struct.unpack_from(">I", d)[0] for d in got if len(d) >= 8]
    seen = collections.Counter(numbers)
    print("lost=%d doubled=%d reordered=%d changed=%d" % (
        sum(i not in seen for i in range(n)), sum(k - 1 for k in seen.values()),
        sum(b < a for a, b in zip(numbers, numbers[1:])), sum(not is_right(d) for d in got)))


def send(address, port, n, size, per_send=1, pause_ms=1):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_DGRAM)
    if per_send > 1:
        sock.setsockopt(SOL_UDP, UDP_SEGMENT, size)
    failed = 0
    for first in range(0, n, per_send):
        last = min(n, first + per_send)
        try:
            sock.sendto(b"".join(datagram(i, size) for i in range(first, last)), (address, port))
        except OSError:
            failed += 1
        time.sleep(pause_ms / 1000)
    print("failed=%d" % failed)


if sys.argv[1] == "receive":
    receive(*map(int, sys.argv[2:]))
else:
    send(sys.argv[2], *map(int, sys.argv[3:]))
