#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes train.txt: transport data messages, sealed by the ChaCha20-Poly1305
below, which follows RFC 8439 and shares no code with libsodium. Before that it
proves itself, and an X25519 after RFC 7748, on primitives.txt."""

import hashlib
import pathlib
import struct

HERE = pathlib.Path(__file__).parent
LENGTHS = (0, 1, 15, 16, 17, 63, 64, 65, 1420, 65535)
FULL_TEXT_MAX = 100  # longer messages are given by their SHA-256 alone
# (1 << 64) - 8131 is the last counter that may be used.
COUNTERS = (0, 1, 0x0123456789ABCDEF, (1 << 60) + 1, (1 << 64) - 8131)
TRAIN_MAX = 64


def quarter_round(x, a, b, c, d):
    for i, j, k, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        x[i] = (x[i] + x[j]) & 0xFFFFFFFF
        t = x[k] ^ x[i]
        x[k] = (t << bits | t >> (32 - bits)) & 0xFFFFFFFF


def chacha20_rounds(state):
    x = list(state)
    for _ in range(10):
        for i in range(4):
            quarter_round(x, i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter_round(x, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return x


def initial_state(key, tail):
    return struct.unpack("<16I", b"expand 32-byte k" + key + tail)


def chacha20_block(key, counter, nonce):
    state = initial_state(key, struct.pack("<I", counter) + nonce)
    mixed = chacha20_rounds(state)
    return struct.pack("<16I", *((a + b) & 0xFFFFFFFF for a, b in zip(state, mixed)))


def chacha20_xor(key, counter, nonce, text):
    out = bytearray()
    for at in range(0, len(text), 64):
        block = chacha20_block(key, counter + at // 64, nonce)
        out += bytes(a ^ b for a, b in zip(text[at:at + 64], block))
    return bytes(out)


def hchacha20(key, nonce16):
    x = chacha20_rounds(initial_state(key, nonce16))
    return struct.pack("<8I", *x[:4], *x[12:])


def poly1305(key, data):
    r = int.from_bytes(key[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    acc = 0
    for at in range(0, len(data), 16):
        acc = (acc + int.from_bytes(data[at:at + 16] + b"\x01", "little")) * r % ((1 << 130) - 5)
    return ((acc + int.from_bytes(key[16:], "little")) % (1 << 128)).to_bytes(16, "little")


def aead_seal(key, nonce, aad, text):
    """ChaCha20-Poly1305; a 24-byte nonce makes it XChaCha20-Poly1305."""
    if len(nonce) == 24:
        key, nonce = hchacha20(key, nonce[:16]), bytes(4) + nonce[16:]
    sealed = chacha20_xor(key, 1, nonce, text)
    mac_data = b"".join(part + bytes(-len(part) % 16) for part in (aad, sealed))
    mac_data += struct.pack("<QQ", len(aad), len(sealed))
    return sealed, poly1305(chacha20_block(key, 0, nonce)[:32], mac_data)


def x25519(scalar, u):
    p = 2**255 - 19
    k = bytearray(scalar)
    k[0] &= 248
    k[31] = k[31] & 127 | 64
    k = int.from_bytes(k, "little")
    x1 = (int.from_bytes(u, "little") & (1 << 255) - 1) % p
    x2, z2, x3, z3, swap = 1, 0, x1, 1, 0
    for t in reversed(range(255)):
        bit = k >> t & 1
        if swap ^ bit:
            x2, x3, z2, z3 = x3, x2, z3, z2
        swap = bit
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        aa, bb, da, cb = a * a % p, b * b % p, d * a % p, c * b % p
        e = aa - bb
        x3, z3 = (da + cb) ** 2 % p, x1 * (da - cb) ** 2 % p
        x2, z2 = aa * bb % p, e * (aa + 121665 * e) % p
    if swap:
        x2, z2 = x3, z3
    return (x2 * pow(z2, p - 2, p) % p).to_bytes(32, "little")


def check_primitive(name, f):
    if name in ("chacha20poly1305", "xchacha20poly1305"):
        assert aead_seal(*f[:4]) == (f[4], f[5])
    elif name == "x25519":
        assert x25519(f[0], f[1]) == f[2]
    elif name == "x25519_iterated":
        k = u = b"\x09" + bytes(31)
        for _ in range(int.from_bytes(f[0], "big")):
            k, u = x25519(k, u), k
        assert k == f[1]
    elif name == "x25519_exchange":
        base = b"\x09" + bytes(31)
        assert x25519(f[0], base) == f[1] and x25519(f[2], base) == f[3]
        assert x25519(f[0], f[3]) == x25519(f[2], f[1]) == f[4]
    elif name == "x25519_zero":
        for label in (b"a", b"b", b"c"):
            assert x25519(hashlib.sha256(label).digest(), f[0]) == bytes(32)
    else:
        raise AssertionError(name)


def check_primitives():
    # RFC 8439, sections 2.3.2 and 2.5.2.
    assert chacha20_block(bytes(range(32)), 1, bytes.fromhex("000000090000004a00000000")).hex() == (
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
        "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e")
    assert poly1305(
        bytes.fromhex("85d6be7857556d337f4452fe42d506a80103808afb0db2fd4abff6af4149f51b"),
        b"Cryptographic Forum Research Group").hex() == "a8061dc1305136c6c22b8baf0c0127a9"
    for text in (HERE / "primitives.txt").read_text().splitlines():
        if text and not text.startswith("#"):
            name, *fields = text.split()
            check_primitive(name, [bytes.fromhex(f.replace("-", "")) for f in fields])


def pattern(length, counter):
    """The text of a message; test_train.c has the same formula."""
    return bytes((i * 131 + (i >> 8) * 17 + length + counter) & 0xFF for i in range(length))


def message(key, remote_index, counter, text_length):
    sealed, tag = aead_seal(key, bytes(4) + struct.pack("<Q", counter), b"",
                            pattern(text_length, counter))
    return struct.pack("<IIQ", 4, remote_index, counter) + sealed + tag


def train_text_length(i):
    return i * 37 % 200


def vectors():
    key = hashlib.sha256(b"transport key").digest()
    index = 0xA1B2C3D4
    head = f"{key.hex()} {index:08x}"
    yield "# Written by generate_train.py. Numbers are big-endian.\n"
    yield "# message key remote_index counter text_len message sha256(message); \"-\": too long to print\n"
    for length in LENGTHS:
        for counter in COUNTERS if length <= FULL_TEXT_MAX else COUNTERS[2:3]:
            m = message(key, index, counter, length)
            text = m.hex() if length <= FULL_TEXT_MAX else "-"
            yield (f"message {head} {counter:016x} {length:08x} {text} "
                   f"{hashlib.sha256(m).hexdigest()}\n")
    yield "# train key remote_index first_counter n sha256(all messages in order)\n"
    for n in range(1, TRAIN_MAX + 1):
        first = (1 << 32) - 10 + n * 1000
        whole = b"".join(message(key, index, first + i, train_text_length(i)) for i in range(n))
        yield f"train {head} {first:016x} {n:08x} {hashlib.sha256(whole).hexdigest()}\n"


if __name__ == "__main__":
    check_primitives()
    (HERE / "train.txt").write_text("".join(vectors()))
