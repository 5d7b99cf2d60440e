#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ethernet frames made by hand, sent and counted through packet sockets.

  frames.py make KIND SOURCE-MAC DESTINATION-MAC [ARGUMENT...]
      one frame a line, in hexadecimal; `make -` reads such commands, a line each:
      tiny       14 to 60 bytes, an ethertype nobody knows
      types      ethertypes and length fields nobody has a handler for
      tags MTU   802.1Q, priority only, 802.1ad with 802.1Q inside, up to full size
      text WORD  one short frame of an unknown ethertype with WORD in it
      udp SOURCE DESTINATION PORT WORD   one datagram, IPv4 or IPv6
      arp SENDER TARGET                  one request
      nd SENDER TARGET                   one solicitation
  frames.py send DEVICE FILE
  frames.py count DEVICE FILE SECONDS [SETTLE]
      says "ready", then how often each frame of FILE came in; ends SETTLE seconds
      (0.3) after its last one has come, or when the time is over
"""
import select
import socket
import struct
import sys
import time

ETH_P_ALL, SOL_PACKET, PACKET_AUXDATA, PACKET_OUTGOING, SO_RCVBUFFORCE = 3, 263, 8, 4, 33
VLAN_VALID, TPID_VALID = 0x10, 0x40
UNKNOWN = 0x88B5


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


def numbers(n, first=0):
    return bytes((first + i) & 0xFF for i in range(n))


def csum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(">%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def address(text):
    return socket.inet_pton(socket.AF_INET6 if ":" in text else socket.AF_INET, text)


def tiny(src, dst):
    head = mac(dst) + mac(src) + struct.pack(">H", UNKNOWN)
    return [head + numbers(n - 14, n) for n in range(14, 61)]


def types(src, dst):
    pair = mac(dst) + mac(src)
    known_to_nobody = (0x88B5, 0x88B6, 0x1234, 0x0600, 0xFFFF, 0x8906)
    frames = [pair + struct.pack(">H", t) + numbers(200, t) for t in known_to_nobody]
    # A length instead of a type, LLC behind it.
    return frames + [pair + struct.pack(">H", n) + b"\xaa\xaa\x03" + numbers(n - 3) for n in (46, 1000)]


def tags(src, dst, mtu):
    pair = mac(dst) + mac(src)
    tag = {
        "vlan": struct.pack(">HH", 0x8100, 5),
        "priority": struct.pack(">HH", 0x8100, 7 << 13),
        "drop eligible": struct.pack(">HH", 0x8100, 3 << 13 | 1 << 12 | 4095),
        "qinq": struct.pack(">HHHH", 0x88A8, 7, 0x8100, 8),
        "twice": struct.pack(">HHHH", 0x8100, 9, 0x8100, 10),
    }
    # Two bytes behind a tag are what the kernel wants of a frame.
    frames = []
    for t in tag.values():
        for size in (2, 3, 46, 500, int(mtu) - len(t)):
            frames.append(pair + t + struct.pack(">H", UNKNOWN) + numbers(size, size))
    return frames


def text(src, dst, word):
    return [mac(dst) + mac(src) + struct.pack(">H", UNKNOWN) + word.encode() + bytes(40)]


def udp(src, dst, source, destination, port, word):
    a, b, data = address(source), address(destination), word.encode() + bytes(30)
    head = struct.pack(">HHHH", 7, int(port), 8 + len(data), 0)
    sum_ = csum(a + b + struct.pack(">II", 8 + len(data), 17) + head + data) or 0xFFFF
    body = head[:6] + struct.pack(">H", sum_) + data
    if len(a) == 16:
        ip = struct.pack(">IHBB", 6 << 28, len(body), 17, 64) + a + b
        return [mac(dst) + mac(src) + b"\x86\xdd" + ip + body]
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(body), 1, 0, 64, 17, 0) + a + b
    ip = ip[:10] + struct.pack(">H", csum(ip)) + ip[12:]
    return [mac(dst) + mac(src) + b"\x08\x00" + ip + body]


def arp(src, dst, sender, target):
    body = struct.pack(">HHBBH", 1, 0x0800, 6, 4, 1)
    body += mac(src) + address(sender) + bytes(6) + address(target)
    return [mac(dst) + mac(src) + b"\x08\x06" + body]


def nd(src, dst, sender, target):
    to = address("ff02::1:ff00:0")[:13] + address(target)[13:]
    body = struct.pack(">BBHI", 135, 0, 0, 0) + address(target) + b"\x01\x01" + mac(src)
    sum_ = csum(address(sender) + to + struct.pack(">II", len(body), 58) + body)
    body = body[:2] + struct.pack(">H", sum_) + body[4:]
    ip = struct.pack(">IHBB", 6 << 28, len(body), 58, 255) + address(sender) + to
    return [mac(dst) + mac(src) + b"\x86\xdd" + ip + body]


def make(kind, *arguments):
    if kind == "-":
        for line in sys.stdin:
            make(*line.split())
        return
    kinds = {"tiny": tiny, "types": types, "tags": tags, "text": text, "udp": udp, "arp": arp, "nd": nd}
    for frame in kinds[kind](*arguments):
        print(frame.hex())


def read_frames(name):
    with open(name) as file:
        return [bytes.fromhex(line) for line in file.read().split()]


def send(device, name):
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sock.bind((device, 0))
    for i, frame in enumerate(read_frames(name)):
        sock.send(frame)
        if i % 8 == 7:
            time.sleep(0.001)


# The kernel takes the outermost tag off and tells about it beside the frame.
def with_tag(data, control):
    for level, kind, aux in control:
        if level != SOL_PACKET or kind != PACKET_AUXDATA:
            continue
        status, _, _, _, _, tci, tpid = struct.unpack_from("IIIHHHH", aux)
        if status & VLAN_VALID:
            tpid = tpid if status & TPID_VALID else 0x8100
            return data[:12] + struct.pack(">HH", tpid, tci) + data[12:]
    return data


def count(device, name, seconds, settle=0.3):
    wanted = read_frames(name)
    seen = dict.fromkeys(wanted, 0)
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sock.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 26)
    sock.bind((device, ETH_P_ALL))
    print("ready", flush=True)
    end, settling = time.monotonic() + float(seconds), False
    while select.select([sock], [], [], max(0, end - time.monotonic()))[0]:
        data, control, _, sender = sock.recvmsg(70000, 200)
        if sender[2] == PACKET_OUTGOING:
            continue
        data = with_tag(data, control)
        if data in seen:
            seen[data] += 1
        if not settling and seen[wanted[-1]]:
            settling, end = True, time.monotonic() + float(settle)
    print(*[seen[frame] for frame in wanted])


{"make": make, "send": send, "count": count}[sys.argv[1]](*sys.argv[2:])
