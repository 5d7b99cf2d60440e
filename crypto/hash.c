/* SPDX-License-Identifier: Apache-2.0 */
#include "hash.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include <sodium.h>

#include "le.h"

enum { BLAKE2S_ROUNDS = 10 };

/* RFC 7693, section 2.6: the first 32 bits of the fractional parts of the
 * square roots of the first eight primes. */
static const uint32_t blake2s_iv[8] = {
	0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
	0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

/* RFC 7693, section 2.7: which message words each round mixes in. */
static const uint8_t sigma[BLAKE2S_ROUNDS][16] = {
	{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
	{14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
	{11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
	{7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
	{9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
	{2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
	{12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
	{13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
	{6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
	{10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

static inline uint32_t rotr32(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

/* G of RFC 7693, section 3.1. */
static inline void mix(uint32_t *a, uint32_t *b, uint32_t *c, uint32_t *d, uint32_t x, uint32_t y)
{
	*a += *b + x;
	*d = rotr32(*d ^ *a, 16);
	*c += *d;
	*b = rotr32(*b ^ *c, 12);
	*a += *b + y;
	*d = rotr32(*d ^ *a, 8);
	*c += *d;
	*b = rotr32(*b ^ *c, 7);
}

static void mix_round(uint32_t v[16], const uint32_t m[16], const uint8_t order[16])
{
	/* Columns, then diagonals: column i moves row r along by r places. */
	for (unsigned i = 0; i < 4; i++)
		mix(&v[i], &v[4 + i], &v[8 + i], &v[12 + i], m[order[2 * i]], m[order[2 * i + 1]]);
	for (unsigned i = 0; i < 4; i++)
		mix(&v[i], &v[4 + (i + 1) % 4], &v[8 + (i + 2) % 4], &v[12 + (i + 3) % 4],
		    m[order[8 + 2 * i]], m[order[9 + 2 * i]]);
}

/* F of RFC 7693, section 3.2, over the whole of s->buf, of which @n bytes are
 * input (fewer than a block only in the last one, which is zero-padded). */
static void compress(struct blake2s_state *s, size_t n, bool last)
{
	uint32_t v[16], m[16];

	s->count += n;
	for (unsigned i = 0; i < 16; i++)
		m[i] = le32_load(s->buf + 4 * i);
	memcpy(v, s->h, sizeof(s->h));
	memcpy(v + 8, blake2s_iv, sizeof(blake2s_iv));
	v[12] ^= (uint32_t)s->count;
	v[13] ^= (uint32_t)(s->count >> 32);
	if (last)
		v[14] = ~v[14];

	for (unsigned i = 0; i < BLAKE2S_ROUNDS; i++)
		mix_round(v, m, sigma[i]);

	for (unsigned i = 0; i < 8; i++)
		s->h[i] ^= v[i] ^ v[8 + i];
	sodium_memzero(v, sizeof(v));
	sodium_memzero(m, sizeof(m));
}

void blake2s_init(struct blake2s_state *s, size_t out_len, const uint8_t *key, size_t key_len)
{
	assert(out_len >= 1 && out_len <= BLAKE2S_HASH_LEN);
	assert(key_len <= BLAKE2S_KEY_LEN);

	memset(s, 0, sizeof(*s));
	memcpy(s->h, blake2s_iv, sizeof(blake2s_iv));
	/* Parameter block, section 2.5: fanout 1, depth 1, key and digest length. */
	s->h[0] ^= 0x01010000 ^ (uint32_t)key_len << 8 ^ (uint32_t)out_len;
	s->out_len = out_len;
	if (key_len > 0) {
		/* The key is a block of its own, even when no input follows. */
		memcpy(s->buf, key, key_len);
		s->buf_len = BLAKE2S_BLOCK_LEN;
	}
}

void blake2s_update(struct blake2s_state *s, const void *in, size_t in_len)
{
	const uint8_t *p = in;

	while (in_len > 0) {
		size_t n;

		/* A full block waits for the next byte, which proves it is not
		 * the last one. */
		if (s->buf_len == BLAKE2S_BLOCK_LEN) {
			compress(s, BLAKE2S_BLOCK_LEN, false);
			s->buf_len = 0;
		}
		n = BLAKE2S_BLOCK_LEN - s->buf_len;
		if (n > in_len)
			n = in_len;
		memcpy(s->buf + s->buf_len, p, n);
		s->buf_len += n;
		p += n;
		in_len -= n;
	}
}

void blake2s_final(struct blake2s_state *s, uint8_t *out)
{
	uint8_t digest[BLAKE2S_HASH_LEN];

	memset(s->buf + s->buf_len, 0, BLAKE2S_BLOCK_LEN - s->buf_len);
	compress(s, s->buf_len, true);
	for (unsigned i = 0; i < 8; i++)
		le32_store(digest + 4 * i, s->h[i]);
	memcpy(out, digest, s->out_len);

	sodium_memzero(digest, sizeof(digest));
	sodium_memzero(s, sizeof(*s));
}

void blake2s(uint8_t *out, size_t out_len, const void *in, size_t in_len, const uint8_t *key,
	     size_t key_len)
{
	struct blake2s_state s;

	blake2s_init(&s, out_len, key, key_len);
	blake2s_update(&s, in, in_len);
	blake2s_final(&s, out);
}

/* One of the two hashes of RFC 2104: H(key block ^ pad || in). */
static void hmac_half(uint8_t out[BLAKE2S_HASH_LEN], const uint8_t key[BLAKE2S_BLOCK_LEN],
		      uint8_t pad, const void *in, size_t in_len)
{
	struct blake2s_state s;
	uint8_t block[BLAKE2S_BLOCK_LEN];

	for (unsigned i = 0; i < sizeof(block); i++)
		block[i] = key[i] ^ pad;
	blake2s_init(&s, BLAKE2S_HASH_LEN, NULL, 0);
	blake2s_update(&s, block, sizeof(block));
	blake2s_update(&s, in, in_len);
	blake2s_final(&s, out);
	sodium_memzero(block, sizeof(block));
}

void hmac_blake2s(uint8_t out[BLAKE2S_HASH_LEN], const uint8_t *key, size_t key_len, const void *in,
		  size_t in_len)
{
	uint8_t key_block[BLAKE2S_BLOCK_LEN] = {0}, inner[BLAKE2S_HASH_LEN];

	if (key_len > sizeof(key_block))
		blake2s(key_block, BLAKE2S_HASH_LEN, key, key_len, NULL, 0);
	else if (key_len > 0)
		memcpy(key_block, key, key_len);

	hmac_half(inner, key_block, 0x36, in, in_len);
	hmac_half(out, key_block, 0x5c, inner, sizeof(inner));
	sodium_memzero(key_block, sizeof(key_block));
	sodium_memzero(inner, sizeof(inner));
}

void kdf(uint8_t out1[BLAKE2S_HASH_LEN], uint8_t *out2, uint8_t *out3,
	 const uint8_t chaining_key[BLAKE2S_HASH_LEN], const void *in, size_t in_len)
{
	uint8_t *const outs[3] = {out1, out2, out3};
	uint8_t secret[BLAKE2S_HASH_LEN], t[BLAKE2S_HASH_LEN + 1];
	size_t t_len = 0;

	hmac_blake2s(secret, chaining_key, BLAKE2S_HASH_LEN, in, in_len);
	/* T1 = HMAC(secret, 1), Tn = HMAC(secret, T(n-1) || n). */
	for (unsigned i = 0; i < 3 && outs[i]; i++) {
		t[t_len] = (uint8_t)(i + 1);
		hmac_blake2s(t, secret, sizeof(secret), t, t_len + 1);
		memcpy(outs[i], t, BLAKE2S_HASH_LEN);
		t_len = BLAKE2S_HASH_LEN;
	}
	sodium_memzero(secret, sizeof(secret));
	sodium_memzero(t, sizeof(t));
}
