/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Internet checksum (RFC 1071, RFC 1624). Pure; any thread. Partial sums are
 * plain integers: the packet's big-endian 16-bit words, read as numbers and not
 * yet folded. They may be added to each other and to words in host order.
 *
 * Portable code does the work until checksum_select() has chosen what suits the
 * CPU; the partial sums of two variants may differ, the folded values do not.
 */
#ifndef SEALANE_OFFLOAD_CHECKSUM_H
#define SEALANE_OFFLOAD_CHECKSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Once, at start, before there are other threads: the fastest variant this CPU
 * can run, or the portable one. */
void checksum_select(bool allow_simd);
/* The variant in use: "portable", "avx2" or "avx512". */
const char *checksum_name(void);

/* Sum of @len bytes added to @sum; an odd last byte counts as the high one, so
 * only the last piece of a chain may be odd. */
uint64_t checksum_add(uint64_t sum, const uint8_t *p, size_t len);
/* Copies @len bytes and adds them to @sum as checksum_add() does, in one pass.
 * The two must not overlap. */
uint64_t checksum_copy(uint8_t *dst, const uint8_t *src, size_t len, uint64_t sum);
/* Pseudo header: addresses of @addr_len 4 or 16 bytes each, protocol, L4
 * length. */
uint64_t checksum_pseudo(const uint8_t *src, const uint8_t *dst, size_t addr_len, uint8_t proto,
			 uint32_t l4_len);
/* Folds and complements: the value for the checksum field, host order. */
uint16_t checksum_finish(uint64_t sum);
/* RFC 1624 eqn. 3: new field value after a 16-bit word changed from @from to
 * @to; all host order. Like a full computation, except when all the data turns
 * zero (0 instead of 0xffff), which no header with a version in it can do. */
uint16_t checksum_update(uint16_t check, uint16_t from, uint16_t to);

#endif
