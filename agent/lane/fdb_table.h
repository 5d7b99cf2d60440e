/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where fdb.c keeps its entries: found by MAC, counted, the learned ones in the
 * order they were last heard from. It knows neither limits nor ages. Everything is
 * O(1) but fdb_table_reserve(), which alone allocates. Lane's thread.
 */
#ifndef SEALANE_LANE_FDB_TABLE_H
#define SEALANE_LANE_FDB_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fdb.h"

struct fdb_node {
	struct fdb_entry e;    /* vtep.addr_len 0: not in use */
	uint32_t newer, older; /* learned: ring through node 0; not in use: older is the next */
};

struct fdb_slot {
	uint32_t node; /* 0: empty */
	uint32_t hash;
};

struct fdb_table {
	struct fdb_node *nodes; /* [0] closes the ring: its older is the newest of all */
	struct fdb_slot *slots;
	size_t n_slots;
	size_t capacity;      /* nodes besides [0] */
	uint32_t n_touched;   /* of these, those used so far: the rest is not initialised */
	uint32_t unused_node; /* 0: none below n_touched */
	size_t n_static, n_learned;
	uint8_t hash_key[16];
};

/* 0, -ENOMEM. */
int fdb_table_init(struct fdb_table *t, const uint8_t hash_key[16], size_t capacity);
void fdb_table_done(struct fdb_table *t);
/* Room for @capacity entries, no fewer than now. 0; -ENOMEM, nothing changed. Moves
 * the nodes. */
int fdb_table_reserve(struct fdb_table *t, size_t capacity);

/* NULL: no such entry. */
struct fdb_node *fdb_table_find(const struct fdb_table *t, const uint8_t mac[FDB_MAC_LEN]);
/* The MAC is not in the table, which is not full. A learned entry is the newest. */
void fdb_table_add(struct fdb_table *t, const struct fdb_entry *e);
void fdb_table_remove(struct fdb_table *t, struct fdb_node *n);
/* The learned entry not heard from for longest. There is one. */
struct fdb_node *fdb_table_oldest(const struct fdb_table *t);
/* The learned entry @n was just heard from. */
void fdb_table_renew(struct fdb_table *t, struct fdb_node *n);
/* The first node after @pos that is in use (start with 0); NULL at the end. */
struct fdb_node *fdb_table_next(const struct fdb_table *t, size_t *pos);

#endif
