/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ChaCha20 (RFC 8439) for a group of messages under one key: 16 blocks a pass,
 * one 32-bit word of all of them in one register. The blocks of the group are
 * numbered through, so that every pass but the last has 16 of use: first block 0
 * of every message, which is its Poly1305 key, then those of the first text, of
 * the second and so on.
 */
#ifndef SEALANE_CRYPTO_TRAIN_AVX512_CHACHA_H
#define SEALANE_CRYPTO_TRAIN_AVX512_CHACHA_H

#include <immintrin.h>

#include "train_engine.h"

#define AVX512	      __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,avx512ifma")))
#define AVX512_INLINE AVX512 __attribute__((always_inline)) static inline

enum { CHACHA_LANES = 16, CHACHA_BLOCK_LEN = 64, CHACHA_DOUBLE_ROUNDS = 10 };

struct chacha {
	__m512i key[WG_KEY_LEN / 4]; /* each word in every lane */
	/* Halves of the counter of the n-th message in the n-th lane. */
	__m512i nonce_lo, nonce_hi;
	/* Of the pass to come: the block's number in its message (below 1: a block
	 * before the first text's), and the message's number. */
	__m512i block, message;
	unsigned n_messages;
	unsigned n_blocks; /* of one text */
};

typedef uint8_t chacha_stream[CHACHA_LANES][CHACHA_BLOCK_LEN];

AVX512_INLINE __m512i chacha_lane_numbers(void)
{
	return _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
}

AVX512_INLINE void chacha_set_key(struct chacha *c, const uint8_t key[WG_KEY_LEN])
{
	for (unsigned i = 0; i < WG_KEY_LEN / 4; i++)
		c->key[i] = _mm512_set1_epi32((int)le32_load(key + 4 * i));
}

/* @n cars, at most CHACHA_LANES, all with texts as long as the first one's. */
AVX512_INLINE void chacha_set_group(struct chacha *c, const struct train_car *cars, unsigned n)
{
	uint32_t lo[CHACHA_LANES] = {0}, hi[CHACHA_LANES] = {0};

	for (unsigned i = 0; i < n; i++) {
		lo[i] = (uint32_t)cars[i].counter;
		hi[i] = (uint32_t)(cars[i].counter >> 32);
	}
	c->nonce_lo = _mm512_loadu_si512(lo);
	c->nonce_hi = _mm512_loadu_si512(hi);
	c->n_messages = n;
	c->n_blocks = (unsigned)((cars[0].text_len + CHACHA_BLOCK_LEN - 1) / CHACHA_BLOCK_LEN);
	c->block = _mm512_sub_epi32(chacha_lane_numbers(), _mm512_set1_epi32((int)n - 1));
	c->message = _mm512_setzero_si512();
}

/* Blocks behind the end of a text belong to the next one. */
AVX512_INLINE void chacha_wrap(struct chacha *c)
{
	/* Without texts nobody uses what comes behind the keys. */
	__m512i n_blocks = _mm512_set1_epi32(c->n_blocks ? (int)c->n_blocks : CHACHA_LANES);
	__mmask16 behind = _mm512_cmpgt_epi32_mask(c->block, n_blocks);

	while (behind) {
		c->block = _mm512_mask_sub_epi32(c->block, behind, c->block, n_blocks);
		c->message = _mm512_mask_add_epi32(c->message, behind, c->message,
						   _mm512_set1_epi32(1));
		behind = _mm512_cmpgt_epi32_mask(c->block, n_blocks);
	}
}

/* Words 12 to 15 of every lane, and on to the next pass. */
AVX512_INLINE void chacha_next_words(struct chacha *c, __m512i words[4])
{
	__mmask16 is_key;
	__m512i message;

	chacha_wrap(c);
	is_key = _mm512_cmplt_epi32_mask(c->block, _mm512_set1_epi32(1));
	message = _mm512_mask_mov_epi32(c->message, is_key, chacha_lane_numbers());
	words[0] = _mm512_maskz_mov_epi32((__mmask16)~is_key, c->block);
	words[1] = _mm512_setzero_si512();
	words[2] = _mm512_permutexvar_epi32(message, c->nonce_lo);
	words[3] = _mm512_permutexvar_epi32(message, c->nonce_hi);
	c->block = _mm512_add_epi32(c->block, _mm512_set1_epi32(CHACHA_LANES));
}

#define CHACHA_UNROLL _Pragma("GCC unroll 4") for (unsigned col = 0; col < 4; col++)

/* One step of four quarter rounds: to += from; x = (x ^ to) <<< bits. The rows
 * are turned so that diagonals are columns, by numbers alone. */
#define CHACHA_STEP(to, to_turn, from, from_turn, x, x_turn, bits)                                 \
	CHACHA_UNROLL                                                                              \
	{                                                                                          \
		__m512i *sum = &(to)[(col + (to_turn)) % 4];                                       \
		__m512i *mixed = &(x)[(col + (x_turn)) % 4];                                       \
                                                                                                   \
		*sum = _mm512_add_epi32(*sum, (from)[(col + (from_turn)) % 4]);                    \
		*mixed = _mm512_rol_epi32(_mm512_xor_si512(*mixed, *sum), bits);                   \
	}

#define CHACHA_ROUND(s, turn)                                                                      \
	do {                                                                                       \
		CHACHA_STEP((s), 0, (s) + 4, (turn), (s) + 12, 3 * (turn), 16)                     \
		CHACHA_STEP((s) + 8, 2 * (turn), (s) + 12, 3 * (turn), (s) + 4, (turn), 12)        \
		CHACHA_STEP((s), 0, (s) + 4, (turn), (s) + 12, 3 * (turn), 8)                      \
		CHACHA_STEP((s) + 8, 2 * (turn), (s) + 12, 3 * (turn), (s) + 4, (turn), 7)         \
	} while (0)

/* Four rows of 32-bit words, one lane a block, to four registers whose n-th has
 * the four words of blocks n, n + 4, n + 8 and n + 12. */
AVX512_INLINE void chacha_transpose_words(__m512i row[4])
{
	__m512i a = _mm512_unpacklo_epi32(row[0], row[1]);
	__m512i b = _mm512_unpackhi_epi32(row[0], row[1]);
	__m512i c = _mm512_unpacklo_epi32(row[2], row[3]);
	__m512i d = _mm512_unpackhi_epi32(row[2], row[3]);

	row[0] = _mm512_unpacklo_epi64(a, c);
	row[1] = _mm512_unpackhi_epi64(a, c);
	row[2] = _mm512_unpacklo_epi64(b, d);
	row[3] = _mm512_unpackhi_epi64(b, d);
}

/* The block whose words are the @quarter-th ones of four such registers: by
 * stores, as what moves quarters between registers is what a pass waits for.
 * Loads of whole blocks right behind would wait for these stores. */
#define CHACHA_STORE_BLOCK(block, s, n, quarter)                                                   \
	_Pragma("GCC unroll 4") for (unsigned row = 0; row < 4; row++)                             \
	{                                                                                          \
		_mm_store_si128((__m128i *)(block) + row,                                          \
				_mm512_extracti32x4_epi32((s)[4 * row + (n)], quarter));           \
	}

AVX512_INLINE void chacha_store_blocks(chacha_stream stream, const __m512i s[16], unsigned n){
	CHACHA_STORE_BLOCK(stream[n], s, n, 0) CHACHA_STORE_BLOCK(stream[n + 4], s, n, 1)
		CHACHA_STORE_BLOCK(stream[n + 8], s, n, 2)
			CHACHA_STORE_BLOCK(stream[n + 12], s, n, 3)}

AVX512_INLINE void chacha_start(const struct chacha *c, const __m512i words[4], __m512i s[16])
{
	/* "expand 32-byte k" */
	s[0] = _mm512_set1_epi32(0x61707865);
	s[1] = _mm512_set1_epi32(0x3320646e);
	s[2] = _mm512_set1_epi32(0x79622d32);
	s[3] = _mm512_set1_epi32(0x6b206574);
#pragma GCC unroll 8
	for (unsigned i = 0; i < 8; i++)
		s[4 + i] = c->key[i];
#pragma GCC unroll 4
	for (unsigned i = 0; i < 4; i++)
		s[12 + i] = words[i];
}

/* The key stream of the next 16 blocks, 64-byte aligned. */
AVX512_INLINE void chacha_pass(struct chacha *c, chacha_stream stream)
{
	__m512i s[16], first[16], words[4];

	chacha_next_words(c, words);
	chacha_start(c, words, s);
#pragma GCC unroll 10
	for (unsigned i = 0; i < CHACHA_DOUBLE_ROUNDS; i++) {
		CHACHA_ROUND(s, 0);
		CHACHA_ROUND(s, 1);
	}
	chacha_start(c, words, first);
#pragma GCC unroll 16
	for (unsigned i = 0; i < 16; i++)
		s[i] = _mm512_add_epi32(s[i], first[i]);
#pragma GCC unroll 4
	for (unsigned i = 0; i < 4; i++)
		chacha_transpose_words(s + 4 * i);
#pragma GCC unroll 4
	for (unsigned i = 0; i < 4; i++)
		chacha_store_blocks(stream, s, i);
}

#endif
