/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Token buckets per source address (IPv4 address or IPv6 /64), consulted only
 * under load and only after a valid mac2 (kernel ratelimiter.c): 20 messages per
 * second, burst 5. Fixed memory; a full table refuses new sources; entries idle
 * for a second are reused. Control thread.
 */
#ifndef SEALANE_CRYPTO_RATELIMITER_H
#define SEALANE_CRYPTO_RATELIMITER_H

#include <stdbool.h>
#include <stdint.h>

#include "messages.h"

#define RATELIMITER_PER_SECOND 20
#define RATELIMITER_BURST      5
enum { RATELIMITER_BUCKETS = 1024, RATELIMITER_WAYS = 8 };

struct ratelimiter_entry {
	uint8_t addr[8]; /* IPv4: 4 bytes, rest zero; IPv6: the /64 */
	uint64_t last_ns;
	uint64_t tokens_ns; /* credit in nanoseconds */
	uint8_t family;	    /* 0 = free, else 4 or 6 */
};

struct ratelimiter {
	uint8_t hash_key[16]; /* SipHash key, random: buckets cannot be aimed at */
	struct ratelimiter_entry entry[RATELIMITER_BUCKETS][RATELIMITER_WAYS];
};

void ratelimiter_init(struct ratelimiter *r, const uint8_t hash_key[16]);

/* @version 4: @addr has 4 bytes; 6: 16 bytes. True: one token was taken. */
bool ratelimiter_allow(struct ratelimiter *r, uint64_t now_ns, int version, const uint8_t *addr)
	__attribute__((warn_unused_result));

#endif
