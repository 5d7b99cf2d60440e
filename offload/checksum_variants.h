/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands behind checksum_add() and checksum_copy(): one table of functions
 * per instruction set. For checksum*.c, the tests and the benchmark; everybody
 * else includes checksum.h.
 */
#ifndef SEALANE_OFFLOAD_CHECKSUM_VARIANTS_H
#define SEALANE_OFFLOAD_CHECKSUM_VARIANTS_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct checksum_ops {
	const char *name;
	uint64_t (*add)(uint64_t sum, const uint8_t *p, size_t len);
	uint64_t (*copy)(uint8_t *dst, const uint8_t *src, size_t len, uint64_t sum);
};

extern const struct checksum_ops checksum_portable;
/* x86-64 only; to be called only where the CPU has the instructions. */
extern const struct checksum_ops checksum_avx2, checksum_avx512;

enum { CHECKSUM_VARIANTS_MAX = 3 };

/* The variants this CPU can run, portable first, fastest last; how many. */
unsigned checksum_variants(const struct checksum_ops *ret[CHECKSUM_VARIANTS_MAX]);

/*
 * One's complement addition does not care about byte order (RFC 1071, 2(B)) nor
 * about word size (2(C)), so all variants add wide words in memory order, to be
 * folded once and swapped once, by checksum_fold_swap().
 *
 * A wide word's upper half is added up by itself (@upper) and the whole word in
 * an accumulator that may wrap (@whole): the sum of the lower halves is then
 * whole - 2^32 upper, exact because it cannot reach 2^64 below 2^35 bytes. One
 * operation less per word than masking the lower half out.
 */
static inline uint64_t checksum_halves(uint64_t whole, uint64_t upper)
{
	return whole - (upper << 32) + upper;
}

static inline uint16_t checksum_fold(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* The sum of words in memory order as a sum of big-endian words. */
static inline uint16_t checksum_fold_swap(uint64_t memory_order)
{
	return be16toh(checksum_fold(memory_order));
}

#endif
