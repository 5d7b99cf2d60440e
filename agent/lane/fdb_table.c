/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries are nodes of an array and keep their place. A table of slots, at most half
 * full, finds them by linear probing from the hash of the MAC on; a removal closes
 * the gap that it makes by moving later slots back, so there are no tombstones.
 * The hash is keyed: who sends frames cannot choose MACs that share a run of slots,
 * and at half load the longest run of a million entries is about a hundred slots.
 */
#include "fdb_table.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define MIN_SLOTS 4 /* a power of two, as every size */

static_assert(sizeof(((struct fdb_table *)0)->hash_key) == crypto_shorthash_KEYBYTES,
	      "SipHash key");
static_assert(crypto_shorthash_BYTES == sizeof(uint64_t), "SipHash output");
static_assert(FDB_LIMIT_MAX < UINT32_MAX / 4, "a hash of 32 bits reaches every slot");

static bool in_use(const struct fdb_node *n)
{
	return n->e.vtep.addr_len > 0;
}

static uint32_t hash_of(const struct fdb_table *t, const uint8_t mac[FDB_MAC_LEN])
{
	uint64_t h;

	crypto_shorthash((unsigned char *)&h, mac, FDB_MAC_LEN, t->hash_key);
	return (uint32_t)h;
}

/* The slot that holds @mac, or the empty one that ends the search. */
static struct fdb_slot *find_slot(const struct fdb_table *t, const uint8_t mac[FDB_MAC_LEN],
				  uint32_t hash)
{
	const size_t mask = t->n_slots - 1;
	size_t i = hash & mask;

	for (; t->slots[i].node; i = (i + 1) & mask) {
		if (t->slots[i].hash == hash &&
		    !memcmp(t->nodes[t->slots[i].node].e.mac, mac, FDB_MAC_LEN))
			break;
	}
	return &t->slots[i];
}

/* @node's MAC is not in the table. */
static void enter_slot(struct fdb_table *t, uint32_t node)
{
	const uint8_t *mac = t->nodes[node].e.mac;
	const uint32_t hash = hash_of(t, mac);

	*find_slot(t, mac, hash) = (struct fdb_slot){.node = node, .hash = hash};
}

/* Closes the gap at @hole: a slot further on moves into it if its own search,
 * from its home on, passes the gap. Distances wrap. */
static void empty_slot(struct fdb_table *t, size_t hole)
{
	const size_t mask = t->n_slots - 1;
	size_t at;

	for (at = (hole + 1) & mask; t->slots[at].node; at = (at + 1) & mask) {
		if (((at - t->slots[at].hash) & mask) >= ((at - hole) & mask)) {
			t->slots[hole] = t->slots[at];
			hole = at;
		}
	}
	t->slots[hole] = (struct fdb_slot){0};
}

static void ring_remove(struct fdb_table *t, const struct fdb_node *n)
{
	t->nodes[n->newer].older = n->older;
	t->nodes[n->older].newer = n->newer;
}

static void ring_add_newest(struct fdb_table *t, struct fdb_node *n)
{
	const uint32_t node = (uint32_t)(n - t->nodes);

	n->newer = 0;
	n->older = t->nodes[0].older;
	t->nodes[n->older].newer = node;
	t->nodes[0].older = node;
}

int fdb_table_init(struct fdb_table *t, const uint8_t hash_key[16], size_t capacity)
{
	*t = (struct fdb_table){0};
	memcpy(t->hash_key, hash_key, sizeof(t->hash_key));
	if (fdb_table_reserve(t, capacity) < 0)
		return -ENOMEM;
	t->nodes[0] = (struct fdb_node){0};
	return 0;
}

void fdb_table_done(struct fdb_table *t)
{
	free(t->slots);
	free(t->nodes);
	sodium_memzero(t, sizeof(*t));
}

int fdb_table_reserve(struct fdb_table *t, size_t capacity)
{
	size_t n_slots = MIN_SLOTS;
	struct fdb_node *nodes;
	struct fdb_slot *slots;
	uint32_t i;

	assert(capacity >= t->capacity && capacity <= FDB_LIMIT_MAX);
	while (n_slots < 2 * capacity)
		n_slots *= 2;
	slots = calloc(n_slots, sizeof(*slots));
	nodes = slots ? realloc(t->nodes, (capacity + 1) * sizeof(*nodes)) : NULL;
	if (!nodes) {
		free(slots);
		return -ENOMEM;
	}
	free(t->slots);
	t->slots = slots;
	t->n_slots = n_slots;
	t->nodes = nodes;
	t->capacity = capacity;
	for (i = 1; i <= t->n_touched; i++) {
		if (in_use(&nodes[i]))
			enter_slot(t, i);
	}
	return 0;
}

struct fdb_node *fdb_table_find(const struct fdb_table *t, const uint8_t mac[FDB_MAC_LEN])
{
	const uint32_t node = find_slot(t, mac, hash_of(t, mac))->node;

	return node ? &t->nodes[node] : NULL;
}

void fdb_table_add(struct fdb_table *t, const struct fdb_entry *e)
{
	uint32_t node = t->unused_node;

	assert(e->vtep.addr_len && t->n_static + t->n_learned < t->capacity);
	if (node)
		t->unused_node = t->nodes[node].older;
	else
		node = ++t->n_touched;
	t->nodes[node] = (struct fdb_node){.e = *e};
	enter_slot(t, node);
	if (e->is_static) {
		t->n_static++;
	} else {
		ring_add_newest(t, &t->nodes[node]);
		t->n_learned++;
	}
}

void fdb_table_remove(struct fdb_table *t, struct fdb_node *n)
{
	const struct fdb_slot *s = find_slot(t, n->e.mac, hash_of(t, n->e.mac));

	empty_slot(t, (size_t)(s - t->slots));
	if (n->e.is_static) {
		t->n_static--;
	} else {
		ring_remove(t, n);
		t->n_learned--;
	}
	n->e.vtep.addr_len = 0;
	n->older = t->unused_node;
	t->unused_node = (uint32_t)(n - t->nodes);
}

struct fdb_node *fdb_table_oldest(const struct fdb_table *t)
{
	assert(t->n_learned);
	return &t->nodes[t->nodes[0].newer];
}

void fdb_table_renew(struct fdb_table *t, struct fdb_node *n)
{
	ring_remove(t, n);
	ring_add_newest(t, n);
}

struct fdb_node *fdb_table_next(const struct fdb_table *t, size_t *pos)
{
	while (*pos < t->n_touched) {
		struct fdb_node *n = &t->nodes[++*pos];

		if (in_use(n))
			return n;
	}
	return NULL;
}
