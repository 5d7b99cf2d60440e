/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What agent/lane/fdb.c does, done with a list in the order of last being set or heard
 * from. For its unit test and its fuzzer. VTEPs are told apart by their pointers, MACs
 * are numbers, times never go back.
 */
#ifndef SEALANE_TESTS_FDB_TWIN_H
#define SEALANE_TESTS_FDB_TWIN_H

#include <errno.h>
#include <string.h>

#include "agent/lane/fdb.h"

enum fdb_twin_what {
	TWIN_LEARN,
	TWIN_SET,
	TWIN_REMOVE,
	TWIN_REMOVE_VTEP,
	TWIN_REMOVE_LEARNED_VTEP,
	TWIN_FLUSH,
	TWIN_CONFIGURE,
	TWIN_N_OPERATIONS,
};

struct fdb_twin_op {
	enum fdb_twin_what what;
	uint8_t name; /* below FDB_TWIN_MAX */
	const struct vtep *vtep;
	struct fdb_config config;
	uint64_t now_ns;
};

/* More names than this never come up. */
#define FDB_TWIN_MAX 96

struct fdb_twin {
	struct fdb_config config;
	size_t n, n_static;
	size_t n_learned[FDB_BAD]; /* how often each was the answer */
	struct {
		uint32_t name;
		bool is_static;
		const struct vtep *vtep;
		uint64_t seen_ns;
	} e[FDB_TWIN_MAX];
};

static inline size_t twin_find(const struct fdb_twin *w, uint32_t name)
{
	size_t i = 0;

	while (i < w->n && w->e[i].name != name)
		i++;
	return i;
}

static inline void twin_drop(struct fdb_twin *w, size_t i)
{
	w->n_static -= w->e[i].is_static;
	w->n--;
	memmove(&w->e[i], &w->e[i + 1], (w->n - i) * sizeof(w->e[0]));
}

static inline void twin_put(struct fdb_twin *w, uint32_t name, bool is_static,
			    const struct vtep *vtep, uint64_t now_ns)
{
	w->e[w->n].name = name;
	w->e[w->n].is_static = is_static;
	w->e[w->n].vtep = vtep;
	w->e[w->n++].seen_ns = now_ns;
	w->n_static += is_static;
}

static inline bool twin_gone(const struct fdb_twin *w, size_t i, uint64_t now_ns)
{
	return i == w->n || (!w->e[i].is_static && now_ns - w->e[i].seen_ns >= w->config.age_ns);
}

static inline size_t twin_oldest(const struct fdb_twin *w)
{
	size_t i = 0;

	while (i < w->n && w->e[i].is_static)
		i++;
	return i;
}

static inline enum fdb_learned twin_learn(struct fdb_twin *w, uint32_t name,
					  const struct vtep *vtep, uint64_t now_ns)
{
	enum fdb_learned learned = FDB_NEW;
	size_t i = twin_find(w, name), oldest = twin_oldest(w);

	if (!w->config.learning)
		return FDB_KNOWN;
	if (i < w->n) {
		if (w->e[i].is_static)
			return w->e[i].vtep == vtep ? FDB_KNOWN : FDB_REFUSED;
		if (!twin_gone(w, i, now_ns))
			learned = w->e[i].vtep == vtep ? FDB_KNOWN : FDB_MOVED;
		twin_drop(w, i);
	} else if (w->n == w->config.limit || w->n - w->n_static == w->config.learned_limit) {
		if (oldest == w->n || !twin_gone(w, oldest, now_ns))
			return FDB_FULL;
		twin_drop(w, oldest);
	}
	twin_put(w, name, false, vtep, now_ns);
	return learned;
}

static inline int twin_set(struct fdb_twin *w, uint32_t name, const struct vtep *vtep)
{
	size_t i = twin_find(w, name);

	if (i == w->n && w->n == w->config.limit) {
		i = twin_oldest(w);
		if (i == w->n)
			return -ENOSPC;
	}
	if (i < w->n)
		twin_drop(w, i);
	twin_put(w, name, true, vtep, 0);
	return 0;
}

static inline int twin_configure(struct fdb_twin *w, const struct fdb_config *c)
{
	if (c->learned_limit > c->limit || (c->learning && !c->age_ns))
		return -EINVAL;
	if (c->limit < w->n_static)
		return -ENOSPC;
	w->config = *c;
	while (w->n > c->limit || w->n - w->n_static > c->learned_limit)
		twin_drop(w, twin_oldest(w));
	return 0;
}

/* @vtep NULL: wherever they are. */
static inline void twin_drop_all(struct fdb_twin *w, const struct vtep *vtep, bool learned_only)
{
	for (size_t i = w->n; i-- > 0;)
		if ((!vtep || w->e[i].vtep == vtep) && !(learned_only && w->e[i].is_static))
			twin_drop(w, i);
}

/* Runs an operation on both. False: they answered differently. */
static inline bool twin_step(struct fdb *f, struct fdb_twin *w, const struct fdb_twin_op *op)
{
	const uint8_t mac[FDB_MAC_LEN] = {2, [3] = op->name};
	const bool learned_only = op->what != TWIN_REMOVE_VTEP;
	const size_t i = twin_find(w, op->name);
	enum fdb_learned learned;

	switch (op->what) {
	case TWIN_SET:
		return fdb_set(f, mac, op->vtep) == twin_set(w, op->name, op->vtep);
	case TWIN_REMOVE:
		if (i == w->n)
			return fdb_remove(f, mac) == -ENOENT;
		twin_drop(w, i);
		return fdb_remove(f, mac) == 0;
	case TWIN_REMOVE_VTEP:
	case TWIN_REMOVE_LEARNED_VTEP:
		fdb_remove_vtep(f, op->vtep, learned_only);
		twin_drop_all(w, op->vtep, learned_only);
		return true;
	case TWIN_FLUSH:
		fdb_flush_learned(f);
		twin_drop_all(w, NULL, true);
		return true;
	case TWIN_CONFIGURE:
		return fdb_configure(f, &op->config) == twin_configure(w, &op->config);
	default:
		learned = twin_learn(w, op->name, op->vtep, op->now_ns);
		w->n_learned[learned]++;
		return fdb_learn(f, mac, op->vtep, op->now_ns) == learned;
	}
}

/* Both hold the same. */
static inline bool twin_agrees(const struct fdb *f, const struct fdb_twin *w, uint64_t now_ns)
{
	const struct fdb_entry *e;
	size_t i, pos = 0, n = 0;
	uint8_t name;

	for (name = 0; name < FDB_TWIN_MAX; name++) {
		const uint8_t mac[FDB_MAC_LEN] = {2, [3] = name};
		const struct vtep *found = fdb_lookup(f, mac, now_ns);

		i = twin_find(w, name);
		if (!found != twin_gone(w, i, now_ns) ||
		    (found && !vtep_equal(found, w->e[i].vtep)))
			return false;
		n += found != NULL;
	}
	for (; (e = fdb_next(f, &pos, now_ns)); n--) {
		i = twin_find(w, e->mac[3]);
		if (twin_gone(w, i, now_ns) || e->is_static != w->e[i].is_static ||
		    e->seen_ns != w->e[i].seen_ns || fdb_lookup(f, e->mac, now_ns) != &e->vtep)
			return false;
	}
	return n == 0 && fdb_count(f, false) == w->n_static &&
	       fdb_count(f, true) == w->n - w->n_static;
}

#endif
