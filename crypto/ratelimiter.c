/* SPDX-License-Identifier: Apache-2.0 */
#include "ratelimiter.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "le.h"

#define COST_NS	   (NSEC_PER_SEC / RATELIMITER_PER_SECOND)
#define CREDIT_MAX (COST_NS * RATELIMITER_BURST)
#define IDLE_NS	   NSEC_PER_SEC

/* An entry that is given away must have regained all its credit: then a source
 * gains nothing from having been forgotten. */
static_assert(CREDIT_MAX <= IDLE_NS, "idle entries are full");
static_assert((RATELIMITER_BUCKETS & (RATELIMITER_BUCKETS - 1)) == 0, "power of two");
static_assert(crypto_shorthash_BYTES == 8 && crypto_shorthash_KEYBYTES == 16, "SipHash-2-4");

void ratelimiter_init(struct ratelimiter *r, const uint8_t hash_key[16])
{
	memset(r, 0, sizeof(*r));
	memcpy(r->hash_key, hash_key, sizeof(r->hash_key));
}

static struct ratelimiter_entry *bucket_of(struct ratelimiter *r, uint8_t family,
					   const uint8_t addr[8])
{
	uint8_t in[9], out[crypto_shorthash_BYTES];

	in[0] = family;
	memcpy(in + 1, addr, 8);
	crypto_shorthash(out, in, sizeof(in), r->hash_key);
	return r->entry[le64_load(out) & (RATELIMITER_BUCKETS - 1)];
}

/* The entry of this source, else one to be reused, else NULL. */
static struct ratelimiter_entry *find(struct ratelimiter_entry *bucket, uint64_t now_ns,
				      uint8_t family, const uint8_t addr[8])
{
	struct ratelimiter_entry *reusable = NULL, *e;

	for (e = bucket; e < bucket + RATELIMITER_WAYS; e++) {
		if (e->family == family && memcmp(e->addr, addr, sizeof(e->addr)) == 0)
			return e;
		if (!e->family || now_ns - e->last_ns > IDLE_NS)
			reusable = e;
	}
	return reusable;
}

static bool take_token(struct ratelimiter_entry *e, uint64_t now_ns)
{
	uint64_t tokens_ns = e->tokens_ns + (now_ns - e->last_ns);
	bool enough;

	if (tokens_ns > CREDIT_MAX)
		tokens_ns = CREDIT_MAX;
	enough = tokens_ns >= COST_NS;
	e->tokens_ns = enough ? tokens_ns - COST_NS : tokens_ns;
	e->last_ns = now_ns;
	return enough;
}

bool ratelimiter_allow(struct ratelimiter *r, uint64_t now_ns, int version, const uint8_t *addr)
{
	const uint8_t family = version == 4 ? 4 : 6;
	struct ratelimiter_entry *e;
	uint8_t key[8] = {0};

	assert(version == 4 || version == 6);
	memcpy(key, addr, family == 4 ? 4 : 8);

	e = find(bucket_of(r, family, key), now_ns, family, key);
	if (!e)
		return false;

	if (e->family != family || memcmp(e->addr, key, sizeof(key)) != 0) {
		e->family = family;
		memcpy(e->addr, key, sizeof(key));
		e->tokens_ns = CREDIT_MAX;
		e->last_ns = now_ns;
	}
	return take_token(e, now_ns);
}
