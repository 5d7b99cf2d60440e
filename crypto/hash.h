/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BLAKE2s (RFC 7693), its keyed form, HMAC-BLAKE2s (RFC 2104) and the KDF of
 * the WireGuard paper, section 5.4. Pure; any thread; every secret intermediate
 * is wiped before return. All digests are at most 32 bytes.
 */
#ifndef SEALANE_CRYPTO_HASH_H
#define SEALANE_CRYPTO_HASH_H

#include <stddef.h>
#include <stdint.h>

enum { BLAKE2S_BLOCK_LEN = 64, BLAKE2S_HASH_LEN = 32, BLAKE2S_KEY_LEN = 32 };

struct blake2s_state {
	uint32_t h[8];
	uint64_t count; /* bytes compressed so far */
	uint8_t buf[BLAKE2S_BLOCK_LEN];
	size_t buf_len;
	size_t out_len;
};

/* @out_len 1..32, @key_len 0..32 (asserted: these are our own constants). */
void blake2s_init(struct blake2s_state *s, size_t out_len, const uint8_t *key, size_t key_len);
void blake2s_update(struct blake2s_state *s, const void *in, size_t in_len);
/* Writes out_len bytes and wipes @s. */
void blake2s_final(struct blake2s_state *s, uint8_t *out);
/* One shot. */
void blake2s(uint8_t *out, size_t out_len, const void *in, size_t in_len, const uint8_t *key,
	     size_t key_len);

void hmac_blake2s(uint8_t out[BLAKE2S_HASH_LEN], const uint8_t *key, size_t key_len, const void *in,
		  size_t in_len);

/*
 * KDFn(chaining_key, input): outputs that are not wanted are NULL from the
 * right (KDF1: out2 = out3 = NULL). Outputs may alias @chaining_key.
 */
void kdf(uint8_t out1[BLAKE2S_HASH_LEN], uint8_t *out2, uint8_t *out3,
	 const uint8_t chaining_key[BLAKE2S_HASH_LEN], const void *in, size_t in_len);

#endif
