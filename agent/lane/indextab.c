/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both tables probe linearly from the hash on and are at most half full. A
 * removal closes the gap it makes by moving later entries back, so there are no
 * tombstones and a search stays as short after years of rekeying as on day one.
 */
#include "indextab.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "crypto/messages.h"

#define INITIAL_SLOTS 16 /* a power of two, as every later size */

static_assert(sizeof(((struct keytab *)0)->hash_key) == crypto_shorthash_KEYBYTES, "SipHash key");
static_assert(crypto_shorthash_BYTES == sizeof(uint64_t), "SipHash output");

static bool must_grow(size_t n_used, size_t n_slots)
{
	return n_used + 1 > n_slots / 2;
}

/*
 * An entry at @at whose search starts at @home may fill the gap @hole, which
 * lies before @at, if a search from @home passes the gap. Distances wrap.
 */
static bool may_fill(size_t hole, size_t at, size_t home, size_t mask)
{
	return ((at - home) & mask) >= ((at - hole) & mask);
}

/* Our indices are random and need no mixing, but nothing breaks should another
 * source of indices be less so. The constant is 2^32 divided by the golden
 * ratio. */
static size_t index_home(const struct index_slots *s, uint32_t index)
{
	uint32_t h = index * 0x9e3779b1U;

	return (h ^ h >> 16) & (s->n - 1);
}

/* The slot that holds @index, or the empty one that ends the search. */
static struct indextab_entry *index_slot(struct index_slots *s, uint32_t index)
{
	size_t i = index_home(s, index);

	while (s->slot[i].peer && s->slot[i].index != index)
		i = (i + 1) & (s->n - 1);
	return &s->slot[i];
}

static struct index_slots *slots_new(size_t n)
{
	struct index_slots *s = calloc(1, sizeof(*s) + n * sizeof(s->slot[0]));

	if (s)
		s->n = n;
	return s;
}

int indextab_init(struct indextab *t)
{
	struct index_slots *slots = slots_new(INITIAL_SLOTS);

	if (!slots)
		return -ENOMEM;
	*t = (struct indextab){.now = slots};
	return 0;
}

void indextab_done(struct indextab *t)
{
	struct index_slots *s;

	while ((s = t->now)) {
		t->now = s->outgrown;
		free(s);
	}
	*t = (struct indextab){0};
}

/*
 * Changing while others read: a sequence lock, as in endpoint_cell.c. What a reader finds
 * in the middle of a change may be anything that was ever written; it looks again.
 */

static void begin_change(struct indextab *t)
{
	__atomic_store_n(&t->seq, t->seq + 1, __ATOMIC_RELAXED);
}

static void end_change(struct indextab *t)
{
	__atomic_store_n(&t->seq, t->seq + 1, __ATOMIC_RELEASE);
}

static void put_entry(struct indextab_entry *to, const struct indextab_entry *from)
{
	__atomic_store_n(&to->index, from->index, __ATOMIC_RELEASE);
	__atomic_store_n(&to->peer, from->peer, __ATOMIC_RELEASE);
	__atomic_store_n(&to->keypair, from->keypair, __ATOMIC_RELEASE);
}

/* What is in the slot, entry or none. */
static void get_entry(const struct indextab_entry *from, struct indextab_entry *ret)
{
	ret->index = __atomic_load_n(&from->index, __ATOMIC_ACQUIRE);
	ret->peer = __atomic_load_n(&from->peer, __ATOMIC_ACQUIRE);
	ret->keypair = __atomic_load_n(&from->keypair, __ATOMIC_ACQUIRE);
}

static int index_grow(struct indextab *t)
{
	struct index_slots *s = t->now, *bigger = slots_new(2 * s->n);

	if (!bigger)
		return -ENOMEM;
	for (size_t i = 0; i < s->n; i++) {
		if (s->slot[i].peer)
			*index_slot(bigger, s->slot[i].index) = s->slot[i];
	}
	bigger->outgrown = s;
	begin_change(t);
	__atomic_store_n(&t->now, bigger, __ATOMIC_RELEASE);
	end_change(t);
	return 0;
}

int indextab_insert(struct indextab *t, uint32_t index, struct peer *peer, struct keypair *kp)
{
	const struct indextab_entry e = {.index = index, .peer = peer, .keypair = kp};

	assert(peer);
	if (index_slot(t->now, index)->peer)
		return -EEXIST;
	if (must_grow(t->n_used, t->now->n) && index_grow(t))
		return -ENOMEM;
	begin_change(t);
	put_entry(index_slot(t->now, index), &e);
	end_change(t);
	t->n_used++;
	return 0;
}

int indextab_promote(struct indextab *t, uint32_t index, struct keypair *kp)
{
	struct indextab_entry *e = index_slot(t->now, index);

	if (!e->peer)
		return -ENOENT;
	__atomic_store_n(&e->keypair, kp, __ATOMIC_RELEASE);
	return 0;
}

void indextab_remove(struct indextab *t, uint32_t index)
{
	static const struct indextab_entry none;
	struct index_slots *s = t->now;
	struct indextab_entry *e = index_slot(s, index);
	size_t hole = (size_t)(e - s->slot), at;

	if (!e->peer)
		return;
	begin_change(t);
	for (at = (hole + 1) & (s->n - 1); s->slot[at].peer; at = (at + 1) & (s->n - 1)) {
		if (may_fill(hole, at, index_home(s, s->slot[at].index), s->n - 1)) {
			put_entry(&s->slot[hole], &s->slot[at]);
			hole = at;
		}
	}
	put_entry(&s->slot[hole], &none);
	end_change(t);
	t->n_used--;
}

const struct indextab_entry *indextab_find(const struct indextab *t, uint32_t index)
{
	const struct indextab_entry *e = index_slot(t->now, index);

	return e->peer ? e : NULL;
}

/* One search, which ends in any case, also amid a change. */
static bool search(const struct index_slots *s, uint32_t index, struct indextab_entry *ret)
{
	size_t i = index_home(s, index);

	for (size_t n = 0; n < s->n; n++, i = (i + 1) & (s->n - 1)) {
		get_entry(&s->slot[i], ret);
		if (!ret->peer)
			return false;
		if (ret->index == index)
			return true;
	}
	return false;
}

bool indextab_get(const struct indextab *t, uint32_t index, struct indextab_entry *ret)
{
	uint32_t before;
	bool found;

	do {
		before = __atomic_load_n(&t->seq, __ATOMIC_ACQUIRE);
		found = search(__atomic_load_n(&t->now, __ATOMIC_ACQUIRE), index, ret);
	} while (before & 1 || __atomic_load_n(&t->seq, __ATOMIC_RELAXED) != before);
	return found;
}

static const uint8_t *key_of(const struct keytab *t, const struct peer *peer)
{
	return (const uint8_t *)peer + t->key_offset;
}

static size_t key_home(const struct keytab *t, const uint8_t *key)
{
	uint64_t h;

	crypto_shorthash((unsigned char *)&h, key, WG_KEY_LEN, t->hash_key);
	return (size_t)h & (t->n_slots - 1);
}

/* Public keys are no secret, so memcmp() will do. */
static struct peer **key_slot(const struct keytab *t, const uint8_t *key)
{
	size_t i = key_home(t, key);

	while (t->slots[i] && memcmp(key_of(t, t->slots[i]), key, WG_KEY_LEN) != 0)
		i = (i + 1) & (t->n_slots - 1);
	return &t->slots[i];
}

int keytab_init(struct keytab *t, size_t key_offset, const uint8_t hash_key[16])
{
	struct peer **slots = calloc(INITIAL_SLOTS, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	*t = (struct keytab){.slots = slots, .n_slots = INITIAL_SLOTS, .key_offset = key_offset};
	memcpy(t->hash_key, hash_key, sizeof(t->hash_key));
	return 0;
}

void keytab_done(struct keytab *t)
{
	free(t->slots);
	sodium_memzero(t, sizeof(*t));
}

static int key_grow(struct keytab *t)
{
	struct peer **old = t->slots, **slots = calloc(2 * t->n_slots, sizeof(*slots));
	const size_t n_old = t->n_slots;
	size_t i;

	if (!slots)
		return -ENOMEM;
	t->slots = slots;
	t->n_slots = 2 * n_old;
	for (i = 0; i < n_old; i++) {
		if (old[i])
			*key_slot(t, key_of(t, old[i])) = old[i];
	}
	free(old);
	return 0;
}

int keytab_insert(struct keytab *t, struct peer *peer)
{
	const uint8_t *key = key_of(t, peer);

	if (*key_slot(t, key))
		return -EEXIST;
	if (must_grow(t->n_used, t->n_slots) && key_grow(t))
		return -ENOMEM;
	*key_slot(t, key) = peer;
	t->n_used++;
	return 0;
}

void keytab_remove(struct keytab *t, const uint8_t key[32])
{
	const size_t mask = t->n_slots - 1;
	struct peer **slot = key_slot(t, key);
	size_t hole = (size_t)(slot - t->slots), at;

	if (!*slot)
		return;
	for (at = (hole + 1) & mask; t->slots[at]; at = (at + 1) & mask) {
		if (may_fill(hole, at, key_home(t, key_of(t, t->slots[at])), mask)) {
			t->slots[hole] = t->slots[at];
			hole = at;
		}
	}
	t->slots[hole] = NULL;
	t->n_used--;
}

struct peer *keytab_find(const struct keytab *t, const uint8_t key[32])
{
	return *key_slot(t, key);
}
