/* SPDX-License-Identifier: Apache-2.0 */
/* Big-endian loads and stores on byte arrays of any alignment. */
#ifndef SEALANE_OFFLOAD_BE_H
#define SEALANE_OFFLOAD_BE_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t be16_load(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return be16toh(v);
}

static inline void be16_store(uint8_t *p, uint16_t v)
{
	v = htobe16(v);
	memcpy(p, &v, sizeof(v));
}

static inline uint32_t be32_load(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

static inline void be32_store(uint8_t *p, uint32_t v)
{
	v = htobe32(v);
	memcpy(p, &v, sizeof(v));
}

#endif
