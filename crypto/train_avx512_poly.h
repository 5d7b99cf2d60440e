/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Poly1305 (RFC 8439) of four messages of one length, one in each 64-bit lane of
 * registers of 256 bits: multiplications in wider ones make CPUs lower their
 * clock, for everything else too, which costs more than they gain.
 *
 * Numbers are three limbs of 44, 44 and 42 bits, which IFMA's products of 52
 * bits have room for. Products come as two halves; the upper one weighs 2^52,
 * which is 2^8 of the next limb; and 2^132 = 4 * 2^130 = 20 modulo 2^130 - 5.
 */
#ifndef SEALANE_CRYPTO_TRAIN_AVX512_POLY_H
#define SEALANE_CRYPTO_TRAIN_AVX512_POLY_H

#include "train_avx512_chacha.h"

enum { POLY_LANES = 4, POLY_BLOCK_LEN = 16, POLY_STRIDE = 4 /* blocks with one carry */ };
enum { POLY_STRIDE_LEN = POLY_STRIDE * POLY_BLOCK_LEN };
enum { POLY_WHOLE = 0xffff }; /* every byte of a block */

/* A number of each lane. Between two strides: the first limb below 2^44, the
 * second below 2^44 + 2^10, the third below 2^42. */
struct poly_limbs {
	__m256i limb[3];
};

struct poly_factor {
	struct poly_limbs r;
	__m256i r1_20, r2_20; /* limbs 1 and 2 times 20 */
};

/* The two 64-bit words of a block of every text. */
struct poly_words {
	__m256i lo, hi;
};

struct poly {
	struct poly_factor power[POLY_STRIDE]; /* r to the power of 1, 2, 3, 4 */
	struct poly_limbs sum;
	struct poly_words pad; /* the other half of the key */
};

/* Lower and upper halves of products, by the limb they belong to. */
struct poly_products {
	struct poly_limbs lo, hi;
};

AVX512_INLINE __m256i poly_mask(unsigned bits)
{
	return _mm256_set1_epi64x((long long)(((uint64_t)1 << bits) - 1));
}

/* 16 bytes at @at of every text, of which @mask says which to load; the rest are
 * zeros. */
AVX512_INLINE struct poly_words poly_load(const uint8_t *const text[POLY_LANES], size_t at,
					  __mmask16 mask)
{
	__m256i even = _mm256_castsi128_si256(_mm_maskz_loadu_epi8(mask, text[0] + at));
	__m256i odd = _mm256_castsi128_si256(_mm_maskz_loadu_epi8(mask, text[1] + at));

	even = _mm256_inserti64x2(even, _mm_maskz_loadu_epi8(mask, text[2] + at), 1);
	odd = _mm256_inserti64x2(odd, _mm_maskz_loadu_epi8(mask, text[3] + at), 1);
	return (struct poly_words){_mm256_unpacklo_epi64(even, odd),
				   _mm256_unpackhi_epi64(even, odd)};
}

/* Of 128 bits. */
AVX512_INLINE struct poly_limbs poly_split(struct poly_words w)
{
	__m256i middle = _mm256_or_si256(_mm256_srli_epi64(w.lo, 44), _mm256_slli_epi64(w.hi, 20));

	return (struct poly_limbs){{_mm256_and_si256(w.lo, poly_mask(44)),
				    _mm256_and_si256(middle, poly_mask(44)),
				    _mm256_srli_epi64(w.hi, 24)}};
}

/* A whole block counts 2^128 more than its bytes. */
AVX512_INLINE struct poly_limbs poly_block(struct poly_words w)
{
	struct poly_limbs block = poly_split(w);

	block.limb[2] = _mm256_or_si256(block.limb[2], _mm256_set1_epi64x(1LL << 40));
	return block;
}

AVX512_INLINE struct poly_limbs poly_add(struct poly_limbs a, struct poly_limbs b)
{
#pragma GCC unroll 3
	for (unsigned i = 0; i < 3; i++)
		a.limb[i] = _mm256_add_epi64(a.limb[i], b.limb[i]);
	return a;
}

AVX512_INLINE struct poly_factor poly_factor(struct poly_limbs r)
{
	__m256i r1_4 = _mm256_slli_epi64(r.limb[1], 2), r2_4 = _mm256_slli_epi64(r.limb[2], 2);

	return (struct poly_factor){
		.r = r,
		.r1_20 = _mm256_add_epi64(_mm256_slli_epi64(r1_4, 2), r1_4),
		.r2_20 = _mm256_add_epi64(_mm256_slli_epi64(r2_4, 2), r2_4),
	};
}

AVX512_INLINE struct poly_products poly_no_products(void)
{
	__m256i zero = _mm256_setzero_si256();

	return (struct poly_products){{{zero, zero, zero}}, {{zero, zero, zero}}};
}

AVX512_INLINE void poly_product(struct poly_products *p, unsigned i, __m256i a, __m256i b)
{
	p->lo.limb[i] = _mm256_madd52lo_epu64(p->lo.limb[i], a, b);
	p->hi.limb[i] = _mm256_madd52hi_epu64(p->hi.limb[i], a, b);
}

/* p += a * f. Limbs of @a are below 2^46, those of @f below 2^49, so that sums
 * of four times three products have room in 64 bits. */
AVX512_INLINE void poly_multiply_add(struct poly_products *p, struct poly_limbs a,
				     const struct poly_factor *f)
{
	poly_product(p, 0, a.limb[0], f->r.limb[0]);
	poly_product(p, 1, a.limb[0], f->r.limb[1]);
	poly_product(p, 2, a.limb[0], f->r.limb[2]);
	poly_product(p, 0, a.limb[1], f->r2_20);
	poly_product(p, 1, a.limb[1], f->r.limb[0]);
	poly_product(p, 2, a.limb[1], f->r.limb[1]);
	poly_product(p, 0, a.limb[2], f->r1_20);
	poly_product(p, 1, a.limb[2], f->r2_20);
	poly_product(p, 2, a.limb[2], f->r.limb[0]);
}

AVX512_INLINE __m256i poly_times_5(__m256i v)
{
	return _mm256_add_epi64(v, _mm256_slli_epi64(v, 2));
}

AVX512_INLINE struct poly_limbs poly_carry(struct poly_limbs lo, struct poly_limbs hi)
{
	__m256i d0 = lo.limb[0], d1, d2, c, h0, h1;

	d1 = _mm256_add_epi64(lo.limb[1], _mm256_slli_epi64(hi.limb[0], 8));
	d1 = _mm256_add_epi64(d1, _mm256_srli_epi64(d0, 44));
	d2 = _mm256_add_epi64(lo.limb[2], _mm256_slli_epi64(hi.limb[1], 8));
	d2 = _mm256_add_epi64(d2, _mm256_srli_epi64(d1, 44));
	/* The third limb has 42 bits, so for it 2^52 is 2^10 of what wraps. */
	c = _mm256_add_epi64(_mm256_srli_epi64(d2, 42), _mm256_slli_epi64(hi.limb[2], 10));
	h0 = _mm256_add_epi64(_mm256_and_si256(d0, poly_mask(44)), poly_times_5(c));
	h1 = _mm256_add_epi64(_mm256_and_si256(d1, poly_mask(44)), _mm256_srli_epi64(h0, 44));
	return (struct poly_limbs){
		{_mm256_and_si256(h0, poly_mask(44)), h1, _mm256_and_si256(d2, poly_mask(42))}};
}

AVX512_INLINE struct poly_limbs poly_multiply(struct poly_limbs a, const struct poly_factor *f)
{
	struct poly_products p = poly_no_products();

	poly_multiply_add(&p, a, f);
	return poly_carry(p.lo, p.hi);
}

/* Takes the keys from @key_block, the first block of each message's key stream. */
AVX512_INLINE void poly_start(struct poly *poly, const uint8_t *const key_block[POLY_LANES])
{
	struct poly_words r = poly_load(key_block, 0, POLY_WHOLE);
	__m256i zero = _mm256_setzero_si256();

	r.lo = _mm256_and_si256(r.lo, _mm256_set1_epi64x(0x0ffffffc0fffffff));
	r.hi = _mm256_and_si256(r.hi, _mm256_set1_epi64x(0x0ffffffc0ffffffc));
	poly->power[0] = poly_factor(poly_split(r));
	for (unsigned i = 1; i < POLY_STRIDE; i++)
		poly->power[i] = poly_factor(poly_multiply(poly->power[i - 1].r, &poly->power[0]));
	poly->sum = (struct poly_limbs){{zero, zero, zero}};
	poly->pad = poly_load(key_block, POLY_BLOCK_LEN, POLY_WHOLE);
}

/* (sum + block 0) * r^4 + block 1 * r^3 + block 2 * r^2 + block 3 * r. Two sets of
 * products, as additions to one would wait for each other. */
AVX512_INLINE struct poly_limbs poly_stride(const struct poly_factor power[POLY_STRIDE],
					    struct poly_limbs sum,
					    const uint8_t *const text[POLY_LANES], size_t at)
{
	struct poly_products p = poly_no_products(), q = p;
	struct poly_limbs block[POLY_STRIDE];

#pragma GCC unroll 4
	for (unsigned i = 0; i < POLY_STRIDE; i++)
		block[i] = poly_block(poly_load(text, at + i * POLY_BLOCK_LEN, POLY_WHOLE));
	poly_multiply_add(&p, block[1], &power[2]);
	poly_multiply_add(&q, block[2], &power[1]);
	poly_multiply_add(&p, block[3], &power[0]);
	poly_multiply_add(&q, poly_add(sum, block[0]), &power[3]);
	return poly_carry(poly_add(p.lo, q.lo), poly_add(p.hi, q.hi));
}

AVX512_INLINE struct poly_limbs poly_one(const struct poly_factor *r, struct poly_limbs sum,
					 struct poly_words w)
{
	return poly_multiply(poly_add(sum, poly_block(w)), r);
}

/* @len bytes at @text[] and then what RFC 8439 puts behind them: zeros up to a
 * whole block, the lengths of the (empty) AAD and of the text. */
AVX512_INLINE void poly_add_texts(struct poly *poly, const uint8_t *const text[POLY_LANES],
				  size_t len)
{
	struct poly_words lengths = {_mm256_setzero_si256(), _mm256_set1_epi64x((long long)len)};
	struct poly_limbs sum = poly->sum;
	size_t at = 0;

	for (; len - at >= POLY_STRIDE_LEN; at += POLY_STRIDE_LEN)
		sum = poly_stride(poly->power, sum, text, at);
	for (; len - at >= POLY_BLOCK_LEN; at += POLY_BLOCK_LEN)
		sum = poly_one(&poly->power[0], sum, poly_load(text, at, POLY_WHOLE));
	if (at < len)
		sum = poly_one(&poly->power[0], sum,
			       poly_load(text, at, (__mmask16)((1U << (len - at)) - 1)));
	poly->sum = poly_one(&poly->power[0], sum, lengths);
}

/* Brings the limbs to 44, 44 and 42 bits, returns what is left over of 2^130. */
AVX512_INLINE __m256i poly_carry_through(struct poly_limbs *h, __m256i carry)
{
	static const unsigned bits[3] = {44, 44, 42};

	for (unsigned i = 0; i < 3; i++) {
		h->limb[i] = _mm256_add_epi64(h->limb[i], carry);
		carry = _mm256_srlv_epi64(h->limb[i], _mm256_set1_epi64x(bits[i]));
		h->limb[i] = _mm256_and_si256(h->limb[i], poly_mask(bits[i]));
	}
	return carry;
}

/* The one number below 2^130 - 5 that equals the sum. */
AVX512_INLINE struct poly_limbs poly_reduce(struct poly_limbs h)
{
	struct poly_limbs minus_p;
	__mmask8 not_below;
	__m256i carry = poly_carry_through(&h, _mm256_setzero_si256());

	/* At most 1, and then the limbs are so small that it is absorbed. */
	poly_carry_through(&h, poly_times_5(carry));
	/* h - p = h + 5 - 2^130 is not negative if adding 5 carries out. */
	minus_p = h;
	carry = poly_carry_through(&minus_p, _mm256_set1_epi64x(5));
	not_below = _mm256_test_epi64_mask(carry, carry);
	for (unsigned i = 0; i < 3; i++)
		h.limb[i] = _mm256_mask_mov_epi64(h.limb[i], not_below, minus_p.limb[i]);
	return h;
}

AVX512_INLINE void poly_tags(const struct poly *poly, uint8_t tag[POLY_LANES][WG_TAG_LEN])
{
	struct poly_limbs h = poly_reduce(poly->sum);
	__m256i lo = _mm256_or_si256(h.limb[0], _mm256_slli_epi64(h.limb[1], 44));
	__m256i hi = _mm256_or_si256(_mm256_srli_epi64(h.limb[1], 20),
				     _mm256_slli_epi64(h.limb[2], 24));
	__m256i even, odd;
	__mmask8 carry;

	lo = _mm256_add_epi64(lo, poly->pad.lo);
	carry = _mm256_cmplt_epu64_mask(lo, poly->pad.lo);
	hi = _mm256_add_epi64(hi, poly->pad.hi);
	hi = _mm256_mask_add_epi64(hi, carry, hi, _mm256_set1_epi64x(1));
	even = _mm256_unpacklo_epi64(lo, hi);
	odd = _mm256_unpackhi_epi64(lo, hi);
	_mm_storeu_si128((__m128i *)tag[0], _mm256_castsi256_si128(even));
	_mm_storeu_si128((__m128i *)tag[1], _mm256_castsi256_si128(odd));
	_mm_storeu_si128((__m128i *)tag[2], _mm256_extracti128_si256(even, 1));
	_mm_storeu_si128((__m128i *)tag[3], _mm256_extracti128_si256(odd, 1));
}

#endif
