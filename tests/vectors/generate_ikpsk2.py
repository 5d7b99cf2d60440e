#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes ikpsk2.txt and cookie.txt: WireGuard handshakes computed without sealane.

Everything below the standard library's BLAKE2s and HMAC is written out here and
checked against published vectors before a line is produced: generic Noise IKpsk2
against cacophony_ikpsk2.txt, XChaCha20-Poly1305 against draft-irtf-cfrg-xchacha-03
(2.2.1 and A.3.1). The keys in the output are fixed, so a second run must leave
both files as they are.
"""

import hashlib
import hmac
import struct
from pathlib import Path

HERE = Path(__file__).resolve().parent

# X25519 (RFC 7748)

P = 2**255 - 19
BASE = (9).to_bytes(32, "little")


def x25519(scalar, u):
    k = int.from_bytes(scalar, "little")
    k = (k & ~7 & ~(1 << 255)) | 1 << 254
    x1 = (int.from_bytes(u, "little") & ((1 << 255) - 1)) % P
    x2, z2, x3, z3 = 1, 0, x1, 1
    for bit in range(254, -1, -1):
        if k >> bit & 1:
            x3, z3, x2, z2 = ladder_step(x1, x3, z3, x2, z2)
        else:
            x2, z2, x3, z3 = ladder_step(x1, x2, z2, x3, z3)
    return (x2 * pow(z2, P - 2, P) % P).to_bytes(32, "little")


def ladder_step(x1, x2, z2, x3, z3):
    """Doubles point 2 and adds it to point 3; their difference is x1."""
    a, b = (x2 + z2) % P, (x2 - z2) % P
    aa, bb = a * a % P, b * b % P
    e = (aa - bb) % P
    da, cb = (x3 - z3) * a % P, (x3 + z3) * b % P
    return (
        aa * bb % P,
        e * (aa + 121665 * e) % P,
        (da + cb) ** 2 % P,
        x1 * (da - cb) ** 2 % P,
    )


# ChaCha20-Poly1305 (RFC 8439) and its X form (draft-irtf-cfrg-xchacha-03)

SIGMA = struct.unpack("<4I", b"expand 32-byte k")


def rotl(v, n):
    return (v << n | v >> (32 - n)) & 0xFFFFFFFF


def quarter_round(s, a, b, c, d):
    for x, y, z, n in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        s[x] = (s[x] + s[y]) & 0xFFFFFFFF
        s[z] = rotl(s[z] ^ s[x], n)


def chacha20_rounds(state):
    s = list(state)
    for _ in range(10):
        for i in range(4):
            quarter_round(s, i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter_round(s, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return s


def chacha20(key, counter, nonce, text):
    out = b""
    for i in range(0, len(text), 64):
        state = [*SIGMA, *struct.unpack("<8I", key), counter + i // 64, *struct.unpack("<3I", nonce)]
        words = chacha20_rounds(state)
        stream = struct.pack("<16I", *((w + s) & 0xFFFFFFFF for w, s in zip(words, state)))
        out += bytes(t ^ k for t, k in zip(text[i : i + 64], stream))
    return out


def hchacha20(key, nonce):
    s = chacha20_rounds([*SIGMA, *struct.unpack("<8I", key), *struct.unpack("<4I", nonce)])
    return struct.pack("<8I", *s[:4], *s[12:])


def poly1305(key, text):
    r = int.from_bytes(key[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    acc = 0
    for i in range(0, len(text), 16):
        acc = (acc + int.from_bytes(text[i : i + 16] + b"\x01", "little")) * r % (2**130 - 5)
    acc += int.from_bytes(key[16:], "little")
    return (acc & (2**128 - 1)).to_bytes(16, "little")


def aead_seal(key, nonce, text, aad):
    sealed = chacha20(key, 1, nonce, text)
    padded = b"".join(part + bytes(-len(part) % 16) for part in (aad, sealed))
    lengths = struct.pack("<QQ", len(aad), len(sealed))
    return sealed + poly1305(chacha20(key, 0, nonce, bytes(32)), padded + lengths)


def xaead_seal(key, nonce, text, aad):
    return aead_seal(hchacha20(key, nonce[:16]), bytes(4) + nonce[16:], text, aad)


# Noise (revision 34), the parts that IKpsk2 needs


def blake2s(data):
    return hashlib.blake2s(data).digest()


def mac(key, data):
    return hashlib.blake2s(data, key=key, digest_size=16).digest()


def hkdf(ck, data, n):
    temp = hmac.new(ck, data, hashlib.blake2s).digest()
    outs = [b""]
    for i in range(n):
        outs.append(hmac.new(temp, outs[-1] + bytes([i + 1]), hashlib.blake2s).digest())
    return outs[1:]


class Cipher:
    def __init__(self, key):
        self.key = key
        self.n = 0

    def seal(self, text, aad=b""):
        sealed = aead_seal(self.key, struct.pack("<4xQ", self.n), text, aad)
        self.n += 1
        return sealed


class Symmetric:
    def __init__(self, name, prologue):
        self.h = name.ljust(32, b"\0") if len(name) <= 32 else blake2s(name)
        self.ck = self.h
        self.cipher = None
        self.mix_hash(prologue)

    def mix_hash(self, data):
        self.h = blake2s(self.h + data)

    def mix_key(self, data):
        self.ck, key = hkdf(self.ck, data, 2)
        self.cipher = Cipher(key)

    def mix_key_and_hash(self, data):
        self.ck, temp, key = hkdf(self.ck, data, 3)
        self.mix_hash(temp)
        self.cipher = Cipher(key)

    def encrypt_and_hash(self, text):
        sealed = self.cipher.seal(text, self.h) if self.cipher else text
        self.mix_hash(sealed)
        return sealed


class Key:
    """A key pair. One whose public key was forced to a point of low order has no
    private key; whatever it is combined with, the shared secret is zero."""

    def __init__(self, private, public=None):
        self.private = private
        self.public = public or x25519(private, BASE)

    def dh(self, other):
        if self.private is None or other.private is None:
            return bytes(32)
        return x25519(self.private, other.public)


NAME = b"Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s"


class Exchange:
    """Both sides of one IKpsk2 handshake: this script knows every private key,
    so one symmetric state plays sender and receiver at once."""

    def __init__(self, prologue, s_i, e_i, s_r, e_r, psk):
        self.s_i, self.e_i, self.s_r, self.e_r, self.psk = s_i, e_i, s_r, e_r, psk
        self.sym = Symmetric(NAME, prologue)
        self.sym.mix_hash(s_r.public)

    def e(self, key):
        self.sym.mix_hash(key.public)
        # A psk handshake mixes ephemeral keys into the chaining key as well.
        self.sym.mix_key(key.public)
        return key.public

    def first(self, payload):
        """-> e, es, s, ss"""
        out = self.e(self.e_i)
        self.sym.mix_key(self.e_i.dh(self.s_r))
        out += self.sym.encrypt_and_hash(self.s_i.public)
        self.sym.mix_key(self.s_i.dh(self.s_r))
        return out + self.sym.encrypt_and_hash(payload)

    def second(self, payload):
        """<- e, ee, se, psk"""
        out = self.e(self.e_r)
        self.sym.mix_key(self.e_r.dh(self.e_i))
        self.sym.mix_key(self.e_r.dh(self.s_i))
        self.sym.mix_key_and_hash(self.psk)
        return out + self.sym.encrypt_and_hash(payload)

    def split(self):
        return [Cipher(key) for key in hkdf(self.sym.ck, b"", 2)]


# Published vectors


def check_cacophony():
    lines = (HERE / "cacophony_ikpsk2.txt").read_text().splitlines()
    pairs = (line.split() for line in lines if line and line[0] != "#")
    v = {name: bytes.fromhex(value) for name, value in pairs}
    keys = [Key(v[n]) for n in ("init_static", "init_ephemeral", "resp_static", "resp_ephemeral")]
    x = Exchange(v["prologue"], *keys, v["psk"])

    assert keys[2].public == v["resp_static_public"]
    assert x.first(v["payload_0"]) == v["ciphertext_0"]
    assert x.second(v["payload_1"]) == v["ciphertext_1"]
    assert x.sym.h == v["handshake_hash"]
    ciphers = x.split()
    for i in range(2, 6):
        assert ciphers[i % 2].seal(v[f"payload_{i}"]) == v[f"ciphertext_{i}"]


def check_xchacha():
    subkey = hchacha20(bytes(range(32)), bytes.fromhex("000000090000004a0000000031415927"))
    assert subkey.hex() == "82413b4227b27bfed30e42508a877d73a0f9e4d58a74a853c12ec41326d3ecdc"

    text = (
        b"Ladies and Gentlemen of the class of '99: If I could offer you "
        b"only one tip for the future, sunscreen would be it."
    )
    sealed = xaead_seal(
        bytes(range(0x80, 0xA0)),
        bytes(range(0x40, 0x58)),
        text,
        bytes.fromhex("50515253c0c1c2c3c4c5c6c7"),
    )
    assert sealed.hex() == (
        "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb"
        "731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6708c54c216cb96b72e1213b452"
        "2f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff9"
        "21f9664c97637da9768812f615c68b13b52e"
        "c0875924c1c7987947deafd8780acf49"
    )


# WireGuard (paper 5.4)

PROLOGUE = b"WireGuard v1 zx2c4 Jason@zx2c4.com"
TIMESTAMP = struct.pack(">QI", 0x400000000000000A + 1700000000, 25 << 24)
INDEX_I, INDEX_R = 0x1B2C3D4E, 0xF1E2D3C4

# Every u-coordinate of a point of order at most 8, on the curve or its twist, with
# the unreduced encodings that fit in 255 bits.
LOW_ORDER = [
    0,
    1,
    325606250916557431795983626356110631294008115727848805560023387167927233504,
    39382357235489614581723060781553021112529911719440698176882885853963445705823,
    P - 1,
    P,
    P + 1,
]


def secret(label):
    """A fixed 32-byte secret that X25519 has to clamp at both ends."""
    s = bytearray(blake2s(b"sealane test key: " + label.encode()))
    s[0] |= 7
    s[31] = (s[31] | 0x80) & ~0x40
    return bytes(s)


def add_mac1(msg, receiver):
    return msg + mac(blake2s(b"mac1----" + receiver.public), msg)


def new_exchange(psk=bytes(32), s_i=None, e_i=None, e_r=None):
    return Exchange(
        PROLOGUE,
        s_i or Key(secret("initiator static")),
        e_i or Key(secret("initiator ephemeral")),
        Key(secret("responder static")),
        e_r or Key(secret("responder ephemeral")),
        psk,
    )


def initiation(x):
    msg = struct.pack("<II", 1, INDEX_I) + x.first(TIMESTAMP)
    return add_mac1(msg, x.s_r) + bytes(16)


def response(x):
    msg = struct.pack("<III", 2, INDEX_R, INDEX_I) + x.second(b"")
    return add_mac1(msg, x.s_i) + bytes(16)


def data(cipher, receiver_index, text):
    return struct.pack("<IIQ", 4, receiver_index, cipher.n) + cipher.seal(text)


def common(x):
    return [
        ("init_static_private", x.s_i.private),
        ("init_static_public", x.s_i.public),
        ("init_ephemeral_private", x.e_i.private),
        ("resp_static_private", x.s_r.private),
        ("resp_static_public", x.s_r.public),
        ("resp_ephemeral_private", x.e_r.private),
        ("psk", x.psk),
        ("timestamp", TIMESTAMP),
        ("init_index_le32", struct.pack("<I", INDEX_I)),
        ("resp_index_le32", struct.pack("<I", INDEX_R)),
    ]


def exchange_section(psk):
    x = new_exchange(psk)
    out = common(x)
    out += [("initiation", initiation(x)), ("response", response(x))]
    to_resp, to_init = x.split()
    out += [("init_send_key", to_resp.key), ("init_recv_key", to_init.key)]
    out += [("init_text", b"a packet from the initiator".ljust(32, b"\0"))]
    out += [("init_data", data(to_resp, INDEX_R, out[-1][1]))]
    out += [("resp_text", b"an answer".ljust(16, b"\0"))]
    out += [("resp_data", data(to_init, INDEX_I, out[-1][1]))]
    return out


def low_order_section(point):
    """Messages of a peer that has @point as one of its public keys and treats the
    shared secret as zero. They authenticate for whoever accepts a zero secret."""
    forged = Key(None, point)
    as_response = new_exchange(e_r=forged)
    initiation(as_response)
    return [
        ("point", point),
        ("as_init_ephemeral", initiation(new_exchange(e_i=forged))),
        ("as_init_static", initiation(new_exchange(s_i=forged))),
        ("as_resp_ephemeral", response(as_response)),
    ]


def cookie_section(msg, checker, src):
    """A cookie reply to @msg, and @msg again with the cookie's mac2."""
    cookie_secret, nonce = secret("cookie secret"), bytes(range(0xA0, 0xB8))
    mac1 = msg[-32:-16]
    cookie = mac(cookie_secret, src)
    key = blake2s(b"cookie--" + checker.public)
    sealed = xaead_seal(key, nonce, cookie, mac1)
    return [
        ("public_key", checker.public),
        ("mac1_key", blake2s(b"mac1----" + checker.public)),
        ("cookie_key", key),
        ("secret", cookie_secret),
        ("src", src),
        ("cookie", cookie),
        ("nonce", nonce),
        ("msg", msg),
        ("reply", struct.pack("<I", 3) + msg[4:8] + nonce + sealed),
        ("msg_with_mac2", msg[:-16] + mac(cookie, msg[:-16])),
    ]


def write(name, sections):
    lines = ["# Written by generate_ikpsk2.py; see there."]
    for title, values in sections:
        lines += [""] + [f"{title}.{key} {value.hex()}" for key, value in values]
    (HERE / name).write_text("\n".join(lines) + "\n")


def main():
    check_cacophony()
    check_xchacha()

    sections = [("zero_psk", exchange_section(bytes(32)))]
    sections += [("psk", exchange_section(secret("preshared")))]
    for i, u in enumerate(LOW_ORDER):
        point = u.to_bytes(32, "little")
        # Order at most 8: no clamped scalar gets anywhere but zero.
        assert x25519(secret("initiator static"), point) == bytes(32)
        sections += [(f"low_order_{i}", low_order_section(point))]
    write("ikpsk2.txt", sections)

    x = new_exchange()
    ipv4 = bytes([192, 0, 2, 33]) + struct.pack(">H", 51820)
    ipv6 = bytes.fromhex("20010db8000100020003000400050006") + struct.pack(">H", 4500)
    first = initiation(x)
    write(
        "cookie.txt",
        [
            ("initiation_ipv4", cookie_section(first, x.s_r, ipv4)),
            ("response_ipv6", cookie_section(response(x), x.s_i, ipv6)),
        ],
    )


if __name__ == "__main__":
    main()
