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


def policy_inputs():
    """Flags, release, version: see fuzz_policy.c."""
    texts = {
        "release": ("6.18.44", ""),
        "candidate": ("7.1.0-rc5", ""),
        "debian-12": ("6.1.0-35-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.137-1 (2025-05-07)"),
        "debian-13": ("6.12.74+deb13+1-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.12.74-2 (2026-03-08)"),
        "debian-candidate": ("6.1.0-0-amd64", "#1 SMP Debian 6.1~rc7-1~exp1 (2022-12-01)"),
        "ubuntu": ("6.8.0-31-generic", "#31-Ubuntu SMP PREEMPT_DYNAMIC Sat Apr 20 00:40:06 UTC 2024"),
        "nothing": ("", ""),
    }
    for i, (name, (release, version)) in enumerate(texts.items()):
        yield name, bytes([i * 37 & 0xFF]) + f"{release}\0{version}".encode()


def policy_env_inputs():
    """Value, name: see fuzz_policy_env.c."""
    return {
        "true": b"true\0SEALANE_DISABLE_UDP_GSO",
        "one": b"1\0SEALANE_DISABLE_TUN_UPD_GRO=1",
        "false": b"FALSE\0SEALANE_WORKER",
        "odd": b"yes\0SEALANE_ZERO_CHECKSUM_GRO=on",
        "far": b"0\0SEALANE_PORT_51820_UDP_ADDR",
        "long": b"\0SEALANE_DISABLE_" + b"A" * 25,
    }


def udpseg_inputs():
    """Limit, flags, datagrams: see fuzz_udpseg.c."""

    def train(limit, flags, *lens, flow=7):
        return bytes([limit, flags]) + b"".join(struct.pack("!BH", flow, n) for n in lens)

    return {
        "equal": train(64, 0, *[1440] * 50),
        "never-equal": train(64, 1, *[1440] * 46, 96),
        "short-tail": train(128, 0, 1408, 1408, 96, 1408),
        "growing": train(64, 0, 100, 101, 102),
        "empty": train(64, 0, 0, 0, 5, 0),
        "two-flows": train(3, 0, 9, 9, 9, 9) + train(0, 0, 9, 9, flow=8)[2:],
        "bytes-limit": train(128, 16, 32350, 32350, 64700, 1, 64701, 1),
    }


def gro_inputs():
    """Configuration, packets: see fuzz_gro.c."""
    ethernet = bytes(12) + b"\x08\x00"
    tcp = struct.pack("!HHIIBBHHH", 1, 2, 0xFFFFFFC0, 1, 0x50, 0x10, 3000, 0, 0) + bytes(100)

    def udp(port, payload, check):
        return struct.pack("!HHHH", 1, port, 8 + len(payload), check) + payload

    inner = {
        "tcp4": ipv4(TCP, tcp),
        "tcp6": ipv6(TCP, tcp),
        "udp4": ipv4(UDP, udp(2, bytes(100), 1)),
        "udp6": ipv6(UDP, udp(2, bytes(100), 1)),
    }
    kinds = dict(inner)
    for name, packet in inner.items():
        frame = (ethernet if name[-1] == "4" else bytes(12) + b"\x86\xdd") + packet
        vxlan = struct.pack("!II", 0x08000000, 42 << 8) + frame
        geneve = struct.pack("!BBHI", 0, 0, 0x6558, 42 << 8) + frame
        kinds[f"vxlan-{name}"] = ipv4(UDP, udp(4789, vxlan, 0))
        kinds[f"geneve-{name}"] = ipv6(UDP, udp(6081, geneve, 1))
        kinds[f"bareudp-{name}"] = ipv4(UDP, udp(6636, packet, 1))

    def raw(packet, fix=1):
        return struct.pack("!BH", 0x80 | fix, len(packet)) + packet

    step = struct.pack("!BHB", 0, 0, 0)
    for name, packet in kinds.items():
        yield f"run-{name}", bytes([0]) + raw(packet) + step * 2 + struct.pack("!BHB", 0x30, 0, 0)
        yield f"plain-{name}", bytes([4 | 8 | 16]) + raw(packet) + step * 2
    changed = struct.pack("!BHB", 0, 8, 1) + struct.pack("!BHB", 5, 120, 1) + step
    yield "changed", bytes([0]) + raw(kinds["tcp4"]) + step + changed
    mixed = b"".join(raw(p) for p in list(kinds.values())[:4])
    yield "mixed", bytes([0]) + mixed + struct.pack("!BHB", 3, 0, 0) * 8
    yield "raw", bytes([0]) + b"".join(raw(p, 0) for p in packets().values())
    for name, header in (("tcp4", ipv4), ("tcp6", ipv6)):
        yield f"big-{name}", bytes([32]) + raw(header(TCP, tcp + bytes(1800))) + step * 60
        tagged = bytes(12) + b"\x81\0\0\5" + (b"\x08\0" if name == "tcp4" else b"\x86\xdd")
        framed = raw(tagged + header(TCP, tcp), 1 | 2 << 1)
        other_vlan = struct.pack("!BHB", 8, 15, 3)
        yield f"vlans-{name}", bytes([0]) + framed + other_vlan + struct.pack("!BHB", 1, 0, 0) * 6


def tunnels():
    """Tunnel packets by kind: the packet, the offset of its inner IP header."""
    inner = {"v4": ipv4(TCP, tcp_header() + bytes(300)), "v6": ipv6(UDP, udp_header(308) + bytes(300))}
    shims = {
        "vxlan": (4789, bytes([8, 0, 0, 0, 0, 0, 42, 0]), True),
        "geneve": (6081, bytes([2, 0, 0x65, 0x58, 0, 0, 42, 0]) + b"\1\2\3\1abcd", True),
        "geneve-ip": (6081, None, False),
        "mpls": (6635, bytes([0, 0, 0x10, 64, 0, 0, 0x11, 64]), False),
        "bareudp": (7000, b"", False),
    }
    for family, packet in inner.items():
        ethertype = b"\x08\0" if family == "v4" else b"\x86\xdd"
        for name, (port, shim, ethernet) in shims.items():
            if shim is None:
                shim = bytes(2) + ethertype + bytes([0, 0, 42, 0])
            if ethernet:
                shim += bytes(12) + ethertype
            udp = struct.pack("!HHHH", 50000, port, 8 + len(shim + packet), 0) + shim + packet
            yield f"{name}-{family}-in-v4", ipv4(UDP, udp), 28 + len(shim)
            yield f"{name}-{family}-in-v6", ipv6(UDP, udp), 48 + len(shim)


def tcp_header():
    return struct.pack("!HHIIBBHHH", 40000, 443, 7, 9, 0x50, 0x99, 500, 0x4321, 0)


def udp_header(length):
    return struct.pack("!HHHH", 40000, 443, length, 0x4321)


def superpackets():
    """A 24-byte vnet header, the packet: see fuzz_gso.c."""

    def vnet(kind, start, offset, outer=0, inner=0, flags=1, size=100):
        return struct.pack("<BBHHHH10xHH", flags, kind, 0, size, start, offset, outer, inner)

    yield "tcp4", vnet(0x81, 20, 16) + ipv4(TCP, tcp_header() + bytes(301))
    yield "tcp4-options", vnet(1, 24, 16) + ipv4(TCP, tcp_header() + bytes(9), options=bytes([1] * 4))
    yield "tcp6", vnet(4, 40, 16) + ipv6(TCP, tcp_header() + bytes(200))
    yield "tcp6-extension", vnet(4, 48, 16) + ipv6(60, extension(TCP) + tcp_header() + bytes(200))
    yield "udp4", vnet(5, 20, 6) + ipv4(UDP, udp_header(208) + bytes(200))
    yield "udp6-one", vnet(5, 40, 6, size=1000) + ipv6(UDP, udp_header(208) + bytes(200))
    yield "single", vnet(0, 20, 6, size=0) + ipv4(UDP, udp_header(12) + b"data")
    for name, packet, inner in tunnels():
        v4, outer = "-v4-" in name, 20 if name.endswith("in-v4") else 40
        kind, start, offset = (1, inner + 20, 16) if v4 else (5, inner + 40, 6)
        kind |= 0x20 if outer == 20 else 0x40
        yield name, vnet(kind, start, offset, outer, inner) + packet
        yield f"{name}-csum", vnet(kind, start, offset, outer, inner, flags=9) + packet


def vnet_inputs():
    """Sizes, the rest as in superpackets(): see fuzz_vnet.c."""
    for name, data in superpackets():
        yield name, b"\2" + data
    yield "short", b"\0" + bytes([1, 1, 0, 0, 100, 0, 20, 0, 16, 0]) + ipv4(TCP, tcp_header() + bytes(301))
    yield "link-layer", b"\5" + bytes([1, 0, 0, 0, 0, 0, 34, 0, 6, 0, 0, 0]) + ipv4(UDP, udp_header(8))


def vxlan_inputs():
    """Flags, a 24-byte vnet header, a frame or a packet: see fuzz_vxlan.c."""
    macs, none = bytes(range(12)), bytes(24)

    def frame(packet, tags=b""):
        return macs + tags + (b"\x08\0" if packet[0] >> 4 == 4 else b"\x86\xdd") + packet

    def moved(vnet, by):
        """The offsets that count from the Ethernet header, if they are there."""
        fields = list(struct.unpack("<BBHHHH10xHH", vnet))
        fields[4] += by
        fields[6:] = [field and field + by for field in fields[6:]]
        return struct.pack("<BBHHHH10xHH", *fields)

    for i, (name, data) in enumerate(superpackets()):
        tags = (b"", b"\x81\0\0\5", b"\x88\xa8\0\7\x81\0\0\5")[i % 3]
        vnet = moved(data[:24], 14 + len(tags))
        yield f"push-{name}", bytes([i & 3]) + vnet + frame(data[24:], tags)
    for i, (name, packet) in enumerate(packets().items()):
        yield f"push-plain-{name}", bytes([i & 3]) + none + frame(packet)
    for name, packet, _ in tunnels():
        if name.startswith("vxlan"):
            yield f"parse-{name}", b"\x80" + none + packet
            at = 28 if name.endswith("in-v4") else 48
            yield f"parse-reserved-{name}", b"\x80" + none + packet[:at] + b"\xff" + packet[at + 1 :]
            yield f"nested-{name}", b"\3" + none + frame(packet)
    yield "arp", b"\2" + none + macs + b"\x08\x06" + bytes(28)
    yield "short", b"\0" + none + macs


def neigh_inputs():
    """Flags, a frame: see fuzz_neigh.c."""
    asker = bytes([2, 0, 0, 0, 0, 10])
    hosts = [ipaddress.ip_address(f"{net}{n}").packed for net in ("10.0.0.", "2001:db8::") for n in (10, 11)]
    tags = {"": b"", "-vlan": b"\x81\0\x60\5", "-qinq": b"\x88\xa8\0\7\x81\0\x20\5"}
    nonce, source = b"\x0e\1" + bytes(6), b"\1\1" + asker
    options = {"": b"", "-source": source, "-options": nonce + b"\xfd\2" + bytes(14) + source * 2}

    def arp(sender, operation=1):
        return struct.pack("!HHBBH", 1, 0x0800, 6, 4, operation) + asker + sender + bytes(6) + hosts[1]

    def solicitation(sender, options, hop_limit=255):
        group = ipaddress.IPv6Address("ff02::1:ff00:11").packed
        body = bytes(4) + hosts[3] + options
        pseudo = sender + group + struct.pack("!II", 4 + len(body), ICMP6)
        sum16 = checksum(pseudo + bytes([135, 0, 0, 0]) + body)
        header = struct.pack("!IHBB", 6 << 28, 4 + len(body), ICMP6, hop_limit)
        return header + sender + group + struct.pack("!BBH", 135, 0, sum16) + body

    def frame(ethertype, packet, tag=b"", flags=0):
        return bytes([flags]) + b"\xff" * 6 + asker + tag + struct.pack("!H", ethertype) + packet

    for name, tag in tags.items():
        yield f"arp{name}", frame(0x0806, arp(hosts[0]), tag)
        for suffix, extra in options.items():
            yield f"nd{name}{suffix}", frame(0x86DD, solicitation(hosts[2], extra), tag)
    yield "arp-padded", frame(0x0806, arp(hosts[0]) + bytes(18))
    yield "arp-probe", frame(0x0806, arp(bytes(4)))
    yield "arp-gratuitous", frame(0x0806, arp(hosts[1]))
    yield "arp-reply", frame(0x0806, arp(hosts[0], 2))
    yield "nd-fixed", frame(0x86DD, solicitation(hosts[2], options["-options"]), flags=1)
    yield "nd-duplicate", frame(0x86DD, solicitation(bytes(16), nonce), flags=1)
    yield "nd-hop-limit", frame(0x86DD, solicitation(hosts[2], source, 64), flags=1)
    yield "nd-half-option", frame(0x86DD, solicitation(hosts[2], source[:5]), flags=1)


def fdb_inputs():
    """A configuration, operations: see fuzz_fdb.c."""
    learn, fix, remove, remove_vtep, remove_learned, flush, configure = range(7)

    def op(what, value, later=0, vtep=0):
        return bytes([what | vtep << 3, value, later])

    def many(what, first, n, later=1, vtep=0):
        return b"".join(op(what, i, later, vtep) for i in range(first, first + n))

    def limits(values, less):
        return b"".join(op(configure, n, n - less, 3) for n in values)

    small, large = bytes([8, 5, 50, 0]), bytes([90, 80, 200, 0])
    yield "full", small + many(learn, 1, 6) + many(fix, 20, 9)
    late = op(learn, 1, 44) + op(learn, 9, 2) + op(learn, 2, 1) + op(learn, 9, 50, 2)
    yield "aged", small + many(learn, 1, 5) + late
    moves = op(learn, 1, 1, 2) + op(fix, 1, 0, 3) + op(learn, 1) + op(learn, 1, 1, 3)
    yield "moves", small + op(learn, 1) + moves
    refill = many(remove, 5, 40) + many(learn, 30, 50, 0, 1) + many(fix, 0, 60, 2, 2)
    yield "refill", large + many(learn, 0, 80) + refill
    shrink = many(fix, 0, 10) + many(learn, 10, 60) + limits((60, 30, 12, 9, 10), 0)
    yield "shrink", large + shrink
    grow = many(fix, 0, 3) + many(learn, 3, 5) + limits((9, 17, 33, 70), 1)
    yield "grow", small + grow + many(learn, 8, 60)
    mixed = many(fix, 0, 4) + many(fix, 4, 4, 0, 2) + many(learn, 8, 20, 0, 2) + many(learn, 28, 9)
    gone = op(remove_learned, 0, 0, 2) + op(remove_vtep, 0) + many(learn, 0, 9) + op(flush, 0)
    yield "vtep", large + mixed + gone
    learning = op(configure, 8, 5, 31) + many(learn, 0, 8)
    yield "unlearning", bytes([8, 8, 0, 1]) + many(fix, 0, 4) + many(learn, 0, 8) + learning


def control_set_inputs():
    """What is refused, commands: see fuzz_control_set.c."""
    create = "port=vx0\ncreate=true\nvtep=10.9.0.1\nvni=7\n"
    macs = [f"02:00:00:00:00:{i:02x}" for i in range(40)]
    fdb = "".join(f"fdb={mac} 10.9.0.2\n" for mac in macs)
    flood = "".join(f"flood=10.9.0.{i}\n" for i in range(2, 12))
    neighbours = "".join(f"neighbour=10.1.0.{i + 1} {mac}\n" for i, mac in enumerate(macs))
    tables = create + fdb + flood + neighbours

    def seed(*commands, refused=0):
        return bytes([refused]) + "\n".join(commands).encode()

    yield "create", seed(create, "port=vx0\nremove=true\n", "version=1\n" + create)
    yield "device", seed(
        create + "kind=veth\nmtu=1400\nmac=02:00:00:00:00:01\ngso_max_size=131072\n",
        "port=vx0\nudp_port=8472\nttl=3\ndscp=inherit\nchecksum=true\n",
        "port=vx0\nmtu=1300\n",
    )
    yield "bridge", seed(
        create + "learning=false\nage_s=0\nfdb_limit=40\nlearned_limit=3\nanswer_neighbours=true\n",
        "port=vx0\nlearning=true\n",
        "port=vx0\nflush_learned=true\n",
    )
    yield "tables", seed(tables, "port=vx0\nfdb_remove=" + macs[3] + "\nflood_remove=10.9.0.3\n")
    replace = "replace_fdb=true\nreplace_flood=true\nreplace_neighbours=true\n"
    yield "replace", seed(tables, "port=vx0\n" + replace + "neighbour=fd01::1 " + macs[0] + "\n")
    yield "family", seed(tables, "port=vx0\nvtep=fd00::1\n", "port=vx0\nvtep=fd00::1\n" + replace)
    yield "limit", seed(tables, "port=vx0\nfdb_limit=39\n", f"port=vx0\nfdb_limit=39\nfdb_remove={macs[0]}\n")
    two = create.replace("vx0", "vx1").replace("vni=7", "vni=8")
    late = "port=vx0\nvni=8\n" + neighbours
    yield "taken", seed(create, two, late, late.replace("vni=8", "vni=9"))
    yield "no-device", seed(create, two + fdb, refused=1)
    yield "no-vtep", seed(create, late, refused=2)
    yield "removes-nothing", seed(create, "port=vx0\nttl=1\nneighbour_remove=10.1.0.1\n")
    yield "misspelt", seed(create + "vtepp=10.9.0.1\n", "port=vx0", "ttl=3\n", "")


def main():
    seeds = {
        "encap": {name: packet for name, packet, _ in tunnels()},
        "gso": dict(superpackets()),
        "vnet": dict(vnet_inputs()),
        "gro": dict(gro_inputs()),
        "ip": packets(),
        "icmp": dict(icmp_inputs()),
        "message": messages(),
        "handshake": dict(handshake_inputs()),
        "policy": dict(policy_inputs()),
        "policy_env": policy_env_inputs(),
        "udpseg": udpseg_inputs(),
        "vxlan": dict(vxlan_inputs()),
        "neigh": dict(neigh_inputs()),
        "fdb": dict(fdb_inputs()),
        "control_set": dict(control_set_inputs()),
    }
    for what, files in seeds.items():
        folder = CORPUS / what
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
