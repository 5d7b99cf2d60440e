#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes hash.txt: BLAKE2s, HMAC-BLAKE2s and the KDF, from Python's hashlib and
hmac, which share no code with crypto/hash.c. Inputs are SHAKE128 of a label."""

import hashlib
import hmac
import pathlib

LENGTHS = (0, 1, 3, 31, 32, 63, 64, 65, 127, 128, 129, 192, 255, 256, 1000)
OUT_LENGTHS = (1, 16, 20, 28, 32)
KEY_LENGTHS = (0, 1, 16, 31, 32)
HMAC_KEY_LENGTHS = (0, 1, 32, 63, 64, 65, 100)
HMAC_LENGTHS = (0, 1, 33, 64, 200)
KDF_LENGTHS = (0, 1, 32, 63, 64, 65)


def sample(label, length):
    return hashlib.shake_128(f"{label} {length}".encode()).digest(length)


def line(name, *fields):
    return " ".join([name] + [f.hex() or "-" for f in fields]) + "\n"


def hmac_blake2s(key, data):
    return hmac.new(key, data, hashlib.blake2s).digest()


def kdf(chaining_key, data):
    """The paper's KDF3; KDF1 and KDF2 are its first outputs."""
    secret = hmac_blake2s(chaining_key, data)
    t1 = hmac_blake2s(secret, b"\x01")
    t2 = hmac_blake2s(secret, t1 + b"\x02")
    return t1, t2, hmac_blake2s(secret, t2 + b"\x03")


def vectors():
    yield "# Written by generate_hash.py.\n"
    yield "# blake2s key in out\n"
    for length in LENGTHS:
        # All output lengths without a key, all key lengths at full output.
        for out_length in OUT_LENGTHS:
            data = sample("in", length)
            yield line("blake2s", b"", data,
                       hashlib.blake2s(data, digest_size=out_length).digest())
        for key_length in KEY_LENGTHS[1:]:
            key = sample("key", key_length)
            yield line("blake2s", key, data, hashlib.blake2s(data, key=key).digest())
        # The macs of the protocol: a 32-byte key, 16 bytes out.
        key = sample("mac key", 32)
        yield line("blake2s", key, data,
                   hashlib.blake2s(data, key=key, digest_size=16).digest())
    yield "# hmac key in out\n"
    for key_length in HMAC_KEY_LENGTHS:
        for length in HMAC_LENGTHS:
            key, data = sample("hmac key", key_length), sample("hmac in", length)
            yield line("hmac", key, data, hmac_blake2s(key, data))
    yield "# kdf chaining_key in out1 out2 out3\n"
    for length in KDF_LENGTHS:
        key, data = sample("chaining key", 32), sample("kdf in", length)
        yield line("kdf", key, data, *kdf(key, data))


if __name__ == "__main__":
    # RFC 7693, appendix B.
    assert hashlib.blake2s(b"abc").hexdigest() == (
        "508c5e8c327c14e2e1a72ba34eeb452f37458b209ed63a294d999b4c86675982")
    pathlib.Path(__file__).with_name("hash.txt").write_text("".join(vectors()))
