#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Superpacket limits of a network device, which not every ip(8) knows.

  limits.py show DEVICE          gso_max_size=N gso_ipv4_max_size=N gro_... one a line
  limits.py set DEVICE KEY=N...  in the order given

Kernels before 6.3 have no limits of IPv4: they are not shown, and setting one fails.
"""
import os
import socket
import struct
import sys

RTM_NEWLINK, RTM_GETLINK, REQUEST, ACK, ERROR = 16, 18, 1, 4, 2
KEYS = {"gso_max_size": 41, "gro_max_size": 58, "gso_ipv4_max_size": 63, "gro_ipv4_max_size": 64}


def ask(kind, index, attributes=b"", flags=REQUEST):
    body = struct.pack("BxHiII", socket.AF_UNSPEC, 0, index, 0, 0) + attributes
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as sock:
        sock.send(struct.pack("IHHII", 16 + len(body), kind, flags, 1, 0) + body)
        answer = sock.recv(1 << 16)
    if struct.unpack_from("IH", answer)[1] == ERROR:
        err = -struct.unpack_from("i", answer, 16)[0]
        if err:
            sys.exit(os.strerror(err))
    return answer


def attributes(answer):
    at, end = 32, struct.unpack_from("I", answer)[0]
    while at + 4 <= end:
        length, kind = struct.unpack_from("HH", answer, at)
        yield kind, answer[at + 4:at + length]
        at += (length + 3) & ~3


command, device, *arguments = sys.argv[1:]
device = socket.if_nametoindex(device)
if command == "show":
    found = dict(attributes(ask(RTM_GETLINK, device)))
    for key, kind in KEYS.items():
        if kind in found:
            print("%s=%d" % (key, struct.unpack("I", found[kind])[0]))
else:
    for argument in arguments:
        key, value = argument.split("=")
        ask(RTM_NEWLINK, device, struct.pack("HHI", 8, KEYS[key], int(value)), REQUEST | ACK)
