/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table probes linearly from the hash of the address on and is at most half
 * full. A removal closes the gap it makes by moving later entries back, so there are
 * no tombstones. The hash is keyed: whoever asks cannot choose addresses that are
 * long searched for.
 */
#include "neightab.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "offload/neigh.h"

#define INITIAL_SLOTS 16 /* a power of two, as every later size */

struct neightab {
	struct neighbour *slots; /* addr_len 0: empty */
	size_t n_slots;		 /* 0: no memory yet */
	size_t n_used, limit;
	uint8_t hash_key[16];
};

static_assert(sizeof(((struct neightab *)0)->hash_key) == crypto_shorthash_KEYBYTES, "SipHash key");
static_assert(crypto_shorthash_BYTES == sizeof(uint64_t), "SipHash output");

static bool is_addr_len(size_t addr_len)
{
	return addr_len == 4 || addr_len == 16;
}

static bool has_addr(const struct neighbour *n, const uint8_t *addr, size_t addr_len)
{
	return n->addr_len == addr_len && !memcmp(n->addr, addr, addr_len);
}

/* SipHash takes the length in, so that a v4 address is no prefix of a v6 one. */
static size_t home_of(const struct neightab *t, const uint8_t *addr, size_t addr_len)
{
	uint64_t h;

	crypto_shorthash((unsigned char *)&h, addr, addr_len, t->hash_key);
	return (size_t)h & (t->n_slots - 1);
}

/* The slot that holds the address, or the empty one that ends the search. */
static struct neighbour *find_slot(const struct neightab *t, const uint8_t *addr, size_t addr_len)
{
	size_t i = home_of(t, addr, addr_len);

	while (t->slots[i].addr_len && !has_addr(&t->slots[i], addr, addr_len))
		i = (i + 1) & (t->n_slots - 1);
	return &t->slots[i];
}

/* NULL: unknown. */
static struct neighbour *find(const struct neightab *t, const uint8_t *addr, size_t addr_len)
{
	struct neighbour *n;

	if (!t->n_used || !is_addr_len(addr_len))
		return NULL;
	n = find_slot(t, addr, addr_len);
	return n->addr_len ? n : NULL;
}

static int grow(struct neightab *t)
{
	struct neightab bigger = *t;
	size_t i;

	bigger.n_slots = t->n_slots ? 2 * t->n_slots : INITIAL_SLOTS;
	bigger.slots = calloc(bigger.n_slots, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (i = 0; i < t->n_slots; i++) {
		const struct neighbour *n = &t->slots[i];

		if (n->addr_len)
			*find_slot(&bigger, n->addr, n->addr_len) = *n;
	}
	free(t->slots);
	t->slots = bigger.slots;
	t->n_slots = bigger.n_slots;
	return 0;
}

int neightab_new(size_t limit, const uint8_t hash_key[16], struct neightab **ret)
{
	struct neightab *t;

	if (limit > NEIGHTAB_LIMIT_MAX)
		return -EINVAL;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->limit = limit;
	memcpy(t->hash_key, hash_key, sizeof(t->hash_key));
	*ret = t;
	return 0;
}

void neightab_free(struct neightab *t)
{
	if (!t)
		return;
	neightab_clear(t);
	sodium_memzero(t->hash_key, sizeof(t->hash_key));
	free(t);
}

int neightab_set(struct neightab *t, const struct neighbour *n)
{
	struct neighbour *known;

	if (!neigh_is_host(n->addr, n->addr_len) || !neigh_is_station(n->mac))
		return -EINVAL;
	known = find(t, n->addr, n->addr_len);
	if (known) {
		*known = *n;
		return 0;
	}
	if (t->n_used >= t->limit)
		return -ENOSPC;
	if (t->n_used + 1 > t->n_slots / 2 && grow(t) < 0)
		return -ENOMEM;
	*find_slot(t, n->addr, n->addr_len) = *n;
	t->n_used++;
	return 0;
}

/* An entry further on moves into the gap if its own search, from its home on, passes
 * the gap. Distances wrap. */
int neightab_remove(struct neightab *t, const uint8_t *addr, size_t addr_len)
{
	const struct neighbour *gone = find(t, addr, addr_len);
	const size_t mask = t->n_slots - 1;
	size_t hole, at;

	if (!gone)
		return -ENOENT;
	hole = (size_t)(gone - t->slots);
	for (at = (hole + 1) & mask; t->slots[at].addr_len; at = (at + 1) & mask) {
		const struct neighbour *n = &t->slots[at];
		const size_t home = home_of(t, n->addr, n->addr_len);

		if (((at - home) & mask) >= ((at - hole) & mask)) {
			t->slots[hole] = *n;
			hole = at;
		}
	}
	t->slots[hole] = (struct neighbour){0};
	t->n_used--;
	return 0;
}

void neightab_clear(struct neightab *t)
{
	free(t->slots);
	t->slots = NULL;
	t->n_slots = 0;
	t->n_used = 0;
}

const struct neighbour *neightab_find(const struct neightab *t, const uint8_t *addr,
				      size_t addr_len)
{
	return find(t, addr, addr_len);
}

const struct neighbour *neightab_next(const struct neightab *t, size_t *pos)
{
	while (*pos < t->n_slots) {
		const struct neighbour *n = &t->slots[(*pos)++];

		if (n->addr_len)
			return n;
	}
	return NULL;
}

size_t neightab_count(const struct neightab *t)
{
	return t->n_used;
}
