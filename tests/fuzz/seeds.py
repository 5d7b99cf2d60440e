#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the fuzzers' hand-made seeds into tests/fuzz/corpus/<what>/.

The files are committed; running this again gives the same bytes. Inputs that
once broke something are added to those folders by hand and are not touched.
"""

import ipaddress
import pathlib
import struct

CORPUS = pathlib.Path(__file__).resolve().parent / "corpus"
ICMP, TCP, UDP, ICMP6 = 1, 6, 17, 58


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ipv4(proto, payload, tos=0, frag=0x4000, options=b"", src="192.0.2.7", dst="198.51.100.9"):
    header_len = 20 + len(options)
    header = struct.pack(
        "!BBHHHBBH4s4s",
        0x40 | header_len // 4,
        tos,
        header_len + len(payload),
        0x1234,
        frag,
        64,
        proto,
        0,
        ipaddress.IPv4Address(src).packed,
        ipaddress.IPv4Address(dst).packed,
    ) + options
    return header[:10] + struct.pack("!H", checksum(header)) + header[12:] + payload


def ipv6(next_header, payload, tclass=0, src="2001:db8::7", dst="2001:db8::9"):
    return struct.pack(
        "!IHBB16s16s",
        6 << 28 | tclass << 20 | 0x12345,
        len(payload),
        next_header,
        64,
        ipaddress.IPv6Address(src).packed,
        ipaddress.IPv6Address(dst).packed,
    ) + payload


def extension(next_header, units=0):
    return bytes([next_header, units]) + bytes(6 + 8 * units)


def packets():
    udp = struct.pack("!HHHH", 53, 53, 12, 0) + b"data"
    echo = struct.pack("!BBHHH", 8, 0, 0, 1, 1) + b"ping"
    chain = extension(60) + extension(43, 1) + extension(44)
    return {
        "v4-udp": ipv4(UDP, udp, tos=0x02),
        "v4-options": ipv4(TCP, bytes(20), tos=0xB9, options=b"\x94\x04\0\0"),
        "v4-first-fragment": ipv4(UDP, udp, frag=0x2000),
        "v4-last-fragment": ipv4(UDP, udp, frag=0x0010),
        "v4-echo": ipv4(ICMP, echo),
        "v4-error": ipv4(ICMP, bytes([3, 1]) + bytes(6) + ipv4(UDP, udp)),
        "v4-broadcast": ipv4(UDP, udp, dst="255.255.255.255"),
        "v4-padded": ipv4(UDP, udp) + bytes(16),
        "v4-large": ipv4(UDP, bytes(600)),
        "v6-udp": ipv6(UDP, udp, tclass=0x03),
        "v6-chain": ipv6(0, chain + bytes([51, 0, 0, 1, 0, 0, 0, 0]) + bytes([UDP, 4]) + bytes(22) + udp),
        "v6-cut-chain": ipv6(0, extension(60) + bytes([UDP, 9])),
        "v6-last-fragment": ipv6(44, bytes([UDP, 0, 0, 8, 0, 0, 0, 1]) + udp),
        "v6-no-next-header": ipv6(59, b""),
        "v6-echo": ipv6(ICMP6, bytes([128]) + bytes(7)),
        "v6-error": ipv6(ICMP6, bytes([1, 3]) + bytes(6) + ipv6(UDP, udp)),
        "v6-multicast": ipv6(UDP, udp, dst="ff02::1"),
        "v6-large": ipv6(UDP, bytes(1400)),
    }


def icmp_inputs():
    """Reason, MTU, packet: see fuzz_icmp.c."""
    for i, (name, packet) in enumerate(packets().items()):
        yield name, struct.pack("!BI", i % 3, 1280 + i) + packet


def messages():
    def message(kind, size):
        return struct.pack("<I", kind) + bytes(i & 0xFF for i in range(4, size))

    return {
        "initiation": message(1, 148),
        "initiation-short": message(1, 147),
        "response": message(2, 92),
        "response-long": message(2, 93),
        "cookie-reply": message(3, 64),
        "keepalive": message(4, 32),
        "data": message(4, 32 + 96),
        "data-short": message(4, 31),
        "reserved-bits": message(0x01000001, 148),
        "padding-clamped": struct.pack("<II", 1419, 1420),
        "padding-beyond-mtu": struct.pack("<II", 3000, 1420),
        "padding-no-mtu": struct.pack("<II", 1, 0),
    }


def handshake_inputs():
    """Which message, mask: see fuzz_handshake.c."""
    for kind, (name, size) in enumerate([("initiation", 148), ("response", 92), ("reply", 64)]):
        yield f"{name}-authentic", bytes([kind]) + bytes(size)
        yield f"{name}-index", bytes([kind]) + bytes(4) + b"\xff" * 4
        yield f"{name}-key-top-bit", bytes([kind]) + bytes(8 + 31) + b"\x80"
        yield f"{name}-last-byte", bytes([kind]) + bytes(size - 33) + b"\x01"
        yield f"{name}-garbage", bytes([kind]) + bytes(i * 37 & 0xFF for i in range(size))


def main():
    seeds = {
        "ip": packets(),
        "icmp": dict(icmp_inputs()),
        "message": messages(),
        "handshake": dict(handshake_inputs()),
    }
    for what, files in seeds.items():
        folder = CORPUS / what
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
