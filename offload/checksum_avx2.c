/* SPDX-License-Identifier: Apache-2.0 */
/* The checksum 64 bytes a turn; what is left goes to the portable code. */
#ifdef __x86_64__

#include <immintrin.h>

#include "checksum_variants.h"

#define AVX2 __attribute__((target("avx2")))

/* Sums of the 64-bit words of two streams of 32 bytes. See checksum_halves(). */
struct lanes {
	__m256i whole[2], upper[2];
};

AVX2 static inline void lanes_add(struct lanes *l, __m256i a, __m256i b)
{
	l->whole[0] = _mm256_add_epi64(l->whole[0], a);
	l->whole[1] = _mm256_add_epi64(l->whole[1], b);
	l->upper[0] = _mm256_add_epi64(l->upper[0], _mm256_srli_epi64(a, 32));
	l->upper[1] = _mm256_add_epi64(l->upper[1], _mm256_srli_epi64(b, 32));
}

AVX2 static inline uint64_t across(__m256i v)
{
	__m128i half = _mm_add_epi64(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));

	return (uint64_t)_mm_cvtsi128_si64(half) + (uint64_t)_mm_extract_epi64(half, 1);
}

/* The lanes are added with wrapping too, which checksum_halves() allows. */
AVX2 static inline uint16_t lanes_sum(const struct lanes *l)
{
	uint64_t whole = across(_mm256_add_epi64(l->whole[0], l->whole[1]));
	uint64_t upper = across(_mm256_add_epi64(l->upper[0], l->upper[1]));

	return checksum_fold_swap(checksum_halves(whole, upper));
}

/* Without the empty asm gcc folds the load into both operations that use it and
 * so loads twice, across cache lines. */
AVX2 static inline __m256i load(const uint8_t *p)
{
	__m256i v = _mm256_loadu_si256((const __m256i *)p);

	__asm__("" : "+x"(v));
	return v;
}

AVX2 static uint64_t add(uint64_t sum, const uint8_t *p, size_t len)
{
	struct lanes l = {0};

	for (; len >= 64; p += 64, len -= 64)
		lanes_add(&l, load(p), load(p + 32));
	return checksum_portable.add(sum + lanes_sum(&l), p, len);
}

AVX2 static uint64_t copy(uint8_t *dst, const uint8_t *src, size_t len, uint64_t sum)
{
	struct lanes l = {0};

	for (; len >= 64; src += 64, dst += 64, len -= 64) {
		__m256i a = load(src), b = load(src + 32);

		_mm256_storeu_si256((__m256i *)dst, a);
		_mm256_storeu_si256((__m256i *)(dst + 32), b);
		lanes_add(&l, a, b);
	}
	return checksum_portable.copy(dst, src, len, sum + lanes_sum(&l));
}

const struct checksum_ops checksum_avx2 = {.name = "avx2", .add = add, .copy = copy};

#endif
