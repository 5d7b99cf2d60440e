/* SPDX-License-Identifier: Apache-2.0 */
#include "checksum.h"

#include "checksum_variants.h"

/* Below this a call through the pointer costs more than it gains. */
enum { SHORT_LEN = 64 };

/* Written by checksum_select() alone, before there are other threads. */
static const struct checksum_ops *selected = &checksum_portable;

/* The last 0 to 7 bytes: whatever their place in a word, 16-bit words have
 * weight 1 after folding, and a single byte is the first of its word. */
static inline uint64_t tail_add(uint64_t sum, const uint8_t *p, size_t len)
{
	uint32_t dword;
	uint16_t word;

	if (len & 4) {
		memcpy(&dword, p, sizeof(dword));
		sum += dword;
		p += sizeof(dword);
	}
	if (len & 2) {
		memcpy(&word, p, sizeof(word));
		sum += word;
		p += sizeof(word);
	}
	if (len & 1) {
		word = 0;
		memcpy(&word, p, 1);
		sum += word;
	}
	return sum;
}

static inline void tail_copy(uint8_t *dst, const uint8_t *src, size_t len)
{
	size_t at = len & 4;

	if (len & 4)
		memcpy(dst, src, 4);
	if (len & 2)
		memcpy(dst + at, src + at, 2);
	if (len & 1)
		dst[len - 1] = src[len - 1];
}

static inline uint64_t portable_add(uint64_t sum, const uint8_t *p, size_t len)
{
	uint64_t whole = 0, upper = 0, word;

	for (; len >= sizeof(word); p += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		whole += word;
		upper += word >> 32;
	}
	return sum + checksum_fold_swap(tail_add(checksum_halves(whole, upper), p, len));
}

static inline uint64_t portable_copy(uint8_t *restrict dst, const uint8_t *restrict src, size_t len,
				     uint64_t sum)
{
	uint64_t whole = 0, upper = 0, word;
	size_t at;

	for (at = 0; len - at >= sizeof(word); at += sizeof(word)) {
		memcpy(&word, src + at, sizeof(word));
		memcpy(dst + at, &word, sizeof(word));
		whole += word;
		upper += word >> 32;
	}
	tail_copy(dst + at, src + at, len - at);
	return sum +
	       checksum_fold_swap(tail_add(checksum_halves(whole, upper), src + at, len - at));
}

static uint64_t call_portable_add(uint64_t sum, const uint8_t *p, size_t len)
{
	return portable_add(sum, p, len);
}

static uint64_t call_portable_copy(uint8_t *dst, const uint8_t *src, size_t len, uint64_t sum)
{
	return portable_copy(dst, src, len, sum);
}

const struct checksum_ops checksum_portable = {
	.name = "portable",
	.add = call_portable_add,
	.copy = call_portable_copy,
};

uint64_t checksum_add(uint64_t sum, const uint8_t *p, size_t len)
{
	if (len < SHORT_LEN)
		return portable_add(sum, p, len);
	return selected->add(sum, p, len);
}

uint64_t checksum_copy(uint8_t *dst, const uint8_t *src, size_t len, uint64_t sum)
{
	if (len < SHORT_LEN)
		return portable_copy(dst, src, len, sum);
	return selected->copy(dst, src, len, sum);
}

#ifdef __x86_64__
unsigned checksum_variants(const struct checksum_ops *ret[CHECKSUM_VARIANTS_MAX])
{
	unsigned n = 0;

	ret[n++] = &checksum_portable;
	if (__builtin_cpu_supports("avx2"))
		ret[n++] = &checksum_avx2;
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"))
		ret[n++] = &checksum_avx512;
	return n;
}
#else
unsigned checksum_variants(const struct checksum_ops *ret[CHECKSUM_VARIANTS_MAX])
{
	ret[0] = &checksum_portable;
	return 1;
}
#endif

void checksum_select(bool allow_simd)
{
	const struct checksum_ops *variants[CHECKSUM_VARIANTS_MAX];
	unsigned n = checksum_variants(variants);

	selected = allow_simd ? variants[n - 1] : &checksum_portable;
}

const char *checksum_name(void)
{
	return selected->name;
}

uint64_t checksum_pseudo(const uint8_t *src, const uint8_t *dst, size_t addr_len, uint8_t proto,
			 uint32_t l4_len)
{
	uint64_t sum = portable_add(portable_add(0, src, addr_len), dst, addr_len);

	/* The upper half of l4_len has weight 2^16, which folds to 1. */
	return sum + proto + l4_len;
}

uint16_t checksum_finish(uint64_t sum)
{
	return (uint16_t)~checksum_fold(sum);
}

uint16_t checksum_update(uint16_t check, uint16_t from, uint16_t to)
{
	return checksum_finish((uint64_t)(uint16_t)~check + (uint16_t)~from + to);
}
