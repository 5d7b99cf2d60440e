/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the offload tests compare with: the Internet checksum as RFC 1071
 * section 1 words it, sixteen bits at a time with an end-around carry, and a
 * reproducible source of bytes.
 */
#ifndef SEALANE_TESTS_OFFLOAD_NAIVE_H
#define SEALANE_TESTS_OFFLOAD_NAIVE_H

#include <stddef.h>
#include <stdint.h>

static inline uint16_t naive_sum(uint16_t sum, const uint8_t *p, size_t len)
{
	size_t i;

	for (i = 0; i < len; i += 2) {
		const uint32_t word = (uint32_t)p[i] << 8 | (i + 1 < len ? p[i + 1] : 0);
		const uint32_t next = sum + word;

		sum = (uint16_t)(next > 0xffff ? next - 0xffff : next);
	}
	return sum;
}

static inline uint16_t naive_checksum(const uint8_t *p, size_t len)
{
	return (uint16_t)(0xffff - naive_sum(0, p, len));
}

/* xorshift64 (Marsaglia 2003, triple 13, 7, 17). */
static inline uint64_t naive_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static inline void naive_random_bytes(uint64_t *state, uint8_t *p, size_t len)
{
	while (len--)
		*p++ = (uint8_t)(naive_random(state) >> 32);
}

#endif
