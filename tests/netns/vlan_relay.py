#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A VLAN device for kernels without one: a TAP whose frames leave by another device
with VLAN tags, and come back without. Superpackets and unfinished checksums stay
what they are.

  vlan_relay.py TAP DEVICE TPID:ID...   outermost first; says "ready"
"""
import fcntl
import os
import select
import socket
import struct
import sys

TUNSETIFF, TUNSETOFFLOAD, IFF_TAP, IFF_NO_PI, IFF_VNET_HDR = 0x400454CA, 0x400454D0, 2, 0x1000, 0x4000
CSUM_TSO4_TSO6_ECN = 0xF
ETH_P_ALL, SOL_PACKET, PACKET_AUXDATA, PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING = 3, 263, 8, 15, 23
VLAN_VALID = 0x10
VNET = struct.Struct("=BBHHHH")  # flags, GSO type, header length, GSO size, where checksums begin, go
NEEDS_CSUM = 1


def open_tap(name):
    tap = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI | IFF_VNET_HDR))
    fcntl.ioctl(tap, TUNSETOFFLOAD, CSUM_TSO4_TSO6_ECN)
    return tap


def open_device(name):
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    for option in (PACKET_VNET_HDR, PACKET_AUXDATA, PACKET_IGNORE_OUTGOING):
        sock.setsockopt(SOL_PACKET, option, 1)
    sock.setsockopt(socket.SOL_SOCKET, 33, 1 << 25)  # SO_RCVBUFFORCE
    sock.setsockopt(socket.SOL_SOCKET, 32, 1 << 25)  # SO_SNDBUFFORCE
    sock.bind((name, ETH_P_ALL))
    return sock


def moved(header, by):
    flags, gso, length, size, start, offset = VNET.unpack(header)
    if flags & NEEDS_CSUM:
        start += by
    return VNET.pack(flags, gso, length + by if gso else length, size, start, offset)


def outward(tap, sock, tags):
    data = os.read(tap, 70000)
    frame = data[10:]
    try:
        sock.send(moved(data[:10], len(tags)) + frame[:12] + tags + frame[12:])
    except OSError:
        pass  # a queue is full: as on any wire


def inward(tap, sock, tags):
    data, control, *_ = sock.recvmsg(270000, 200)
    header, frame, by = data[:10], data[10:], -len(tags)
    for level, kind, aux in control:
        if level == SOL_PACKET and kind == PACKET_AUXDATA:
            status, _, _, _, _, tci, tpid = struct.unpack_from("IIIHHHH", aux)
            if status & VLAN_VALID:
                frame = frame[:12] + struct.pack(">HH", tpid, tci) + frame[12:]
                by += 4
    if frame[12:12 + len(tags)] == tags:
        try:
            os.write(tap, moved(header, by) + frame[:12] + frame[12 + len(tags):])
        except OSError:
            pass  # not up yet


tap, sock = open_tap(sys.argv[1]), open_device(sys.argv[2])
tags = b"".join(struct.pack(">HH", *(int(n, 0) for n in word.split(":"))) for word in sys.argv[3:])
print("ready", flush=True)
while True:
    ready, _, _ = select.select([tap, sock], [], [])
    if tap in ready:
        outward(tap, sock, tags)
    if sock in ready:
        inward(tap, sock, tags)
