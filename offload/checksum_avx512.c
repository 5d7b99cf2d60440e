/* SPDX-License-Identifier: Apache-2.0 */
/* The checksum 128 bytes a turn; the rest by loads and stores under a mask,
 * which touch no byte outside it. */
#ifdef __x86_64__

#include <immintrin.h>

#include "checksum_variants.h"

#define AVX512 __attribute__((target("avx512f,avx512bw")))

/* Sums of the 64-bit words of two streams of 64 bytes. See checksum_halves(). */
struct lanes {
	__m512i whole[2], upper[2];
};

AVX512 static inline void lanes_add(struct lanes *l, unsigned i, __m512i v)
{
	l->whole[i] = _mm512_add_epi64(l->whole[i], v);
	l->upper[i] = _mm512_add_epi64(l->upper[i], _mm512_srli_epi64(v, 32));
}

/* _mm512_reduce_add_epi64() is signed in places, where wrapping is undefined. */
AVX512 static inline uint64_t across(__m512i v)
{
	__m256i half = _mm256_add_epi64(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
	__m128i quarter = _mm_add_epi64(_mm256_castsi256_si128(half),
					_mm256_extracti128_si256(half, 1));

	return (uint64_t)_mm_cvtsi128_si64(quarter) + (uint64_t)_mm_extract_epi64(quarter, 1);
}

AVX512 static inline uint16_t lanes_sum(const struct lanes *l)
{
	uint64_t whole = across(_mm512_add_epi64(l->whole[0], l->whole[1]));
	uint64_t upper = across(_mm512_add_epi64(l->upper[0], l->upper[1]));

	return checksum_fold_swap(checksum_halves(whole, upper));
}

/* @len in [0, 64). */
static inline __mmask64 first_bytes(size_t len)
{
	return ((uint64_t)1 << len) - 1;
}

/* Without the empty asm gcc folds the load into both operations that use it and
 * so loads twice, across cache lines. */
AVX512 static inline __m512i load(const uint8_t *p)
{
	__m512i v = _mm512_loadu_si512(p);

	__asm__("" : "+v"(v));
	return v;
}

AVX512 static uint64_t add(uint64_t sum, const uint8_t *p, size_t len)
{
	struct lanes l = {0};

	for (; len >= 128; p += 128, len -= 128) {
		lanes_add(&l, 0, load(p));
		lanes_add(&l, 1, load(p + 64));
	}
	if (len >= 64) {
		lanes_add(&l, 0, load(p));
		p += 64;
		len -= 64;
	}
	lanes_add(&l, 1, _mm512_maskz_loadu_epi8(first_bytes(len), p));
	return sum + lanes_sum(&l);
}

AVX512 static inline __m512i move(uint8_t *dst, const uint8_t *src)
{
	__m512i v = load(src);

	_mm512_storeu_si512(dst, v);
	return v;
}

AVX512 static inline __m512i move_first(uint8_t *dst, const uint8_t *src, size_t len)
{
	__m512i v = _mm512_maskz_loadu_epi8(first_bytes(len), src);

	_mm512_mask_storeu_epi8(dst, first_bytes(len), v);
	return v;
}

AVX512 static uint64_t copy(uint8_t *dst, const uint8_t *src, size_t len, uint64_t sum)
{
	struct lanes l = {0};

	for (; len >= 128; src += 128, dst += 128, len -= 128) {
		lanes_add(&l, 0, move(dst, src));
		lanes_add(&l, 1, move(dst + 64, src + 64));
	}
	if (len >= 64) {
		lanes_add(&l, 0, move(dst, src));
		src += 64;
		dst += 64;
		len -= 64;
	}
	lanes_add(&l, 1, move_first(dst, src, len));
	return sum + lanes_sum(&l);
}

const struct checksum_ops checksum_avx512 = {.name = "avx512", .add = add, .copy = copy};

#endif
