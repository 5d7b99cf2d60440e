/* SPDX-License-Identifier: Apache-2.0 */
/* Little-endian loads and stores on byte arrays of any alignment. */
#ifndef SEALANE_CRYPTO_LE_H
#define SEALANE_CRYPTO_LE_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t le32_load(const uint8_t p[4])
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static inline void le32_store(uint8_t p[4], uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
}

static inline uint64_t le64_load(const uint8_t p[8])
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

static inline void le64_store(uint8_t p[8], uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof(v));
}

#endif
