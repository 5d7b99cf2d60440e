/* SPDX-License-Identifier: Apache-2.0 */
#include "checksum.h"

#include <endian.h>
#include <string.h>

static uint16_t fold(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/*
 * One's complement addition does not care about byte order (RFC 1071, 2(B)) nor
 * about word size (2(C)): 64-bit loads in memory order, split into halves that
 * cannot overflow their accumulators below 2^35 bytes, folded once and swapped
 * once. Two accumulators without a carry between them are what compilers
 * vectorise.
 */
uint64_t checksum_add(uint64_t sum, const uint8_t *p, size_t len)
{
	uint64_t low = 0, high = 0, word;

	for (; len >= sizeof(word); p += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		low += (uint32_t)word;
		high += word >> 32;
	}
	if (len) {
		word = 0;
		memcpy(&word, p, len);
		low += (uint32_t)word;
		high += word >> 32;
	}
	return sum + be16toh(fold(low + high));
}

uint64_t checksum_pseudo(const uint8_t *src, const uint8_t *dst, size_t addr_len, uint8_t proto,
			 uint32_t l4_len)
{
	uint64_t sum = checksum_add(checksum_add(0, src, addr_len), dst, addr_len);

	/* The upper half of l4_len has weight 2^16, which folds to 1. */
	return sum + proto + l4_len;
}

uint16_t checksum_finish(uint64_t sum)
{
	return (uint16_t)~fold(sum);
}

uint16_t checksum_update(uint16_t check, uint16_t from, uint16_t to)
{
	return checksum_finish((uint64_t)(uint16_t)~check + (uint16_t)~from + to);
}
