/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Internet checksum (RFC 1071, RFC 1624). Pure; any thread. Partial sums are
 * plain integers: the packet's big-endian 16-bit words, read as numbers and not
 * yet folded. They may be added to each other and to words in host order.
 */
#ifndef SEALANE_OFFLOAD_CHECKSUM_H
#define SEALANE_OFFLOAD_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Sum of @len bytes added to @sum; an odd last byte counts as the high one, so
 * only the last piece of a chain may be odd. */
uint64_t checksum_add(uint64_t sum, const uint8_t *p, size_t len);
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
