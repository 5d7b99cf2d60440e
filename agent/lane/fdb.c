/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules: who may enter, who must go. The table keeps learned entries in the order
 * they were last heard from, so ageing needs no timer and no search: an aged entry is
 * unknown to lookups from its hour on, keeps its place until that is wanted, and when
 * a limit is reached the oldest entry alone says whether there is room. If it has not
 * aged, none has.
 */
#include "fdb.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fdb_table.h"
#include "offload/neigh.h"

struct fdb {
	struct fdb_config config;
	struct fdb_table table;
	size_t n_flood;
	struct vtep flood[FDB_FLOOD_MAX];
};

static size_t n_entries(const struct fdb *f)
{
	return f->table.n_static + f->table.n_learned;
}

static void remove_oldest(struct fdb *f)
{
	fdb_table_remove(&f->table, fdb_table_oldest(&f->table));
}

bool vtep_equal(const struct vtep *a, const struct vtep *b)
{
	assert(a->addr_len <= sizeof(a->addr));
	return a->addr_len == b->addr_len && !memcmp(a->addr, b->addr, a->addr_len);
}

static bool aged(const struct fdb *f, const struct fdb_entry *e, uint64_t now_ns)
{
	return !e->is_static && now_ns >= e->seen_ns && now_ns - e->seen_ns >= f->config.age_ns;
}

static bool is_config(const struct fdb_config *c)
{
	return c->limit <= FDB_LIMIT_MAX && c->learned_limit <= c->limit &&
	       (c->age_ns || !c->learning);
}

int fdb_new(const struct fdb_config *config, const uint8_t hash_key[16], struct fdb **ret)
{
	struct fdb *f;

	if (!is_config(config))
		return -EINVAL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	if (fdb_table_init(&f->table, hash_key, config->limit) < 0) {
		fdb_free(f);
		return -ENOMEM;
	}
	f->config = *config;
	*ret = f;
	return 0;
}

void fdb_free(struct fdb *f)
{
	if (!f)
		return;
	fdb_table_done(&f->table);
	free(f);
}

int fdb_configure(struct fdb *f, const struct fdb_config *config)
{
	if (!is_config(config))
		return -EINVAL;
	if (f->table.n_static > config->limit)
		return -ENOSPC;
	if (config->limit > f->table.capacity && fdb_table_reserve(&f->table, config->limit) < 0)
		return -ENOMEM;
	f->config = *config;
	while (f->table.n_learned > config->learned_limit || n_entries(f) > config->limit)
		remove_oldest(f);
	return 0;
}

void fdb_forget_aged(struct fdb *f, uint64_t now_ns)
{
	while (f->table.n_learned && aged(f, &fdb_table_oldest(&f->table)->e, now_ns))
		remove_oldest(f);
}

int fdb_set(struct fdb *f, const uint8_t mac[FDB_MAC_LEN], const struct vtep *vtep)
{
	struct fdb_entry e = {.is_static = true, .vtep = *vtep};
	struct fdb_node *n;

	if (!neigh_is_station(mac))
		return -EINVAL;
	memcpy(e.mac, mac, FDB_MAC_LEN);
	n = fdb_table_find(&f->table, mac);
	if (n)
		fdb_table_remove(&f->table, n);
	else if (f->table.n_static >= f->config.limit)
		return -ENOSPC;
	else if (n_entries(f) >= f->config.limit)
		remove_oldest(f); /* strangers do not lock the owner out */
	fdb_table_add(&f->table, &e);
	return 0;
}

int fdb_remove(struct fdb *f, const uint8_t mac[FDB_MAC_LEN])
{
	struct fdb_node *n = fdb_table_find(&f->table, mac);

	if (!n)
		return -ENOENT;
	fdb_table_remove(&f->table, n);
	return 0;
}

void fdb_flush_learned(struct fdb *f)
{
	while (f->table.n_learned)
		remove_oldest(f);
}

void fdb_remove_vtep(struct fdb *f, const struct vtep *vtep, bool learned_only)
{
	const struct vtep gone = *vtep; /* which may be an entry's own */
	struct fdb_node *n;
	size_t pos = 0;

	while ((n = fdb_table_next(&f->table, &pos))) {
		if (vtep_equal(&n->e.vtep, &gone) && !(learned_only && n->e.is_static))
			fdb_table_remove(&f->table, n);
	}
}

const struct vtep *fdb_lookup(const struct fdb *f, const uint8_t mac[FDB_MAC_LEN], uint64_t now_ns)
{
	const struct fdb_node *n = fdb_table_find(&f->table, mac);

	return n && !aged(f, &n->e, now_ns) ? &n->e.vtep : NULL;
}

/* Room for one more learned entry, if need be that of an aged one. */
static bool make_room(struct fdb *f, uint64_t now_ns)
{
	if (f->table.n_learned < f->config.learned_limit && n_entries(f) < f->config.limit)
		return true;
	if (!f->table.n_learned || !aged(f, &fdb_table_oldest(&f->table)->e, now_ns))
		return false;
	remove_oldest(f);
	return true;
}

static enum fdb_learned learn_again(struct fdb *f, struct fdb_node *n, const struct vtep *vtep,
				    uint64_t now_ns)
{
	const bool same = vtep_equal(&n->e.vtep, vtep);
	enum fdb_learned learned = same ? FDB_KNOWN : FDB_MOVED;

	if (n->e.is_static)
		return same ? FDB_KNOWN : FDB_REFUSED;
	if (aged(f, &n->e, now_ns))
		learned = FDB_NEW;
	n->e.vtep = *vtep;
	n->e.seen_ns = now_ns;
	fdb_table_renew(&f->table, n);
	return learned;
}

enum fdb_learned fdb_learn(struct fdb *f, const uint8_t mac[FDB_MAC_LEN], const struct vtep *vtep,
			   uint64_t now_ns)
{
	struct fdb_entry e = {.vtep = *vtep, .seen_ns = now_ns};
	struct fdb_node *n;

	if (!neigh_is_station(mac))
		return FDB_BAD;
	if (!f->config.learning)
		return FDB_KNOWN;
	n = fdb_table_find(&f->table, mac);
	if (n)
		return learn_again(f, n, &e.vtep, now_ns);
	memcpy(e.mac, mac, FDB_MAC_LEN);
	if (!make_room(f, now_ns))
		return FDB_FULL;
	fdb_table_add(&f->table, &e);
	return FDB_NEW;
}

static size_t flood_find(const struct fdb *f, const struct vtep *vtep)
{
	size_t i = 0;

	while (i < f->n_flood && !vtep_equal(&f->flood[i], vtep))
		i++;
	return i;
}

int fdb_flood_add(struct fdb *f, const struct vtep *vtep)
{
	assert(vtep->addr_len == 4 || vtep->addr_len == 16);
	if (flood_find(f, vtep) < f->n_flood)
		return -EEXIST;
	if (f->n_flood == FDB_FLOOD_MAX)
		return -ENOSPC;
	f->flood[f->n_flood++] = *vtep;
	return 0;
}

int fdb_flood_remove(struct fdb *f, const struct vtep *vtep)
{
	const size_t i = flood_find(f, vtep);

	if (i == f->n_flood)
		return -ENOENT;
	f->n_flood--;
	memmove(&f->flood[i], &f->flood[i + 1], (f->n_flood - i) * sizeof(f->flood[0]));
	return 0;
}

size_t fdb_flood_list(const struct fdb *f, const struct vtep **ret)
{
	*ret = f->flood;
	return f->n_flood;
}

const struct fdb_entry *fdb_next(const struct fdb *f, size_t *pos, uint64_t now_ns)
{
	const struct fdb_node *n;

	do {
		n = fdb_table_next(&f->table, pos);
	} while (n && aged(f, &n->e, now_ns));
	return n ? &n->e : NULL;
}

size_t fdb_count(const struct fdb *f, bool learned)
{
	return learned ? f->table.n_learned : f->table.n_static;
}
