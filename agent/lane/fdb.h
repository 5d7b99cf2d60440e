/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forwarding database of one VXLAN port: MAC address -> VTEP, static and learned,
 * and the list that broadcast, unknown and multicast frames are replicated to.
 * Bounded memory, no allocation on the packet path: the table is sized when the
 * port is made, and again only when its limit is raised. Lane's thread. Times never
 * go back. Pointers handed out are good until the next change.
 */
#ifndef SEALANE_LANE_FDB_H
#define SEALANE_LANE_FDB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FDB_MAC_LEN = 6, FDB_LIMIT_MAX = 1 << 20, FDB_FLOOD_MAX = 1024 };

/* An address of the underlay inside the tunnel: what allowed-ips route. */
struct vtep {
	uint8_t addr[16];
	uint8_t addr_len; /* 4 or 16 */
};

struct fdb_entry {
	uint8_t mac[FDB_MAC_LEN];
	bool is_static;
	struct vtep vtep;
	uint64_t seen_ns; /* learned: last heard from */
};

struct fdb;

struct fdb_config {
	size_t limit;	      /* entries in all, <= FDB_LIMIT_MAX; 0: floods all */
	size_t learned_limit; /* of those, learned ones; <= limit */
	bool learning;
	uint64_t age_ns; /* learned entries not heard of for that long are gone;
			  * 0 only without learning */
};

/* 0, -EINVAL, -ENOMEM. @hash_key: SipHash key, MACs are chosen by others. */
int fdb_new(const struct fdb_config *config, const uint8_t hash_key[16], struct fdb **ret);
void fdb_free(struct fdb *f); /* NULL is fine */
/* Learning, age and limits may change. Learned entries that no longer fit go, those
 * not heard from for longest first. 0; with nothing changed: -EINVAL, -ENOMEM (only
 * for a raised limit), -ENOSPC: more static entries than the new limit. */
int fdb_configure(struct fdb *f, const struct fdb_config *config);

/* Before the age is raised: what has aged must not come back. */
void fdb_forget_aged(struct fdb *f, uint64_t now_ns);

/* Static entries. 0, -EINVAL (multicast or zero MAC), -ENOSPC. Replaces a learned
 * or static one. In a full table the learned entry not heard from for longest makes
 * room; -ENOSPC when all are static. */
int fdb_set(struct fdb *f, const uint8_t mac[FDB_MAC_LEN], const struct vtep *vtep);
/* A static or learned one. 0, -ENOENT. */
int fdb_remove(struct fdb *f, const uint8_t mac[FDB_MAC_LEN]);
void fdb_flush_learned(struct fdb *f);
/* Entries at a VTEP that is gone. It stays in the flooding list. */
void fdb_remove_vtep(struct fdb *f, const struct vtep *vtep, bool learned_only);

/* Where frames to @mac go, NULL: unknown (flood). An aged entry is unknown. */
const struct vtep *fdb_lookup(const struct fdb *f, const uint8_t mac[FDB_MAC_LEN], uint64_t now_ns);

enum fdb_learned {
	FDB_KNOWN,   /* nothing new (or learning is off: static entries are not asked) */
	FDB_NEW,     /* entered; also one that had aged */
	FDB_MOVED,   /* was elsewhere */
	FDB_REFUSED, /* a static entry says otherwise: the frame is not trusted */
	FDB_FULL,    /* no room; the frame goes on, unlearned */
	FDB_BAD,     /* a multicast or zero source: drop the frame */
};
/* A frame from @mac came from @vtep. Never overwrites a static entry. At a limit, an
 * aged entry makes room; a live one never does. */
enum fdb_learned fdb_learn(struct fdb *f, const uint8_t mac[FDB_MAC_LEN], const struct vtep *vtep,
			   uint64_t now_ns);

/* Flooding list, in the order added. 0, -EEXIST, -ENOSPC; remove: 0, -ENOENT. */
int fdb_flood_add(struct fdb *f, const struct vtep *vtep);
int fdb_flood_remove(struct fdb *f, const struct vtep *vtep);
size_t fdb_flood_list(const struct fdb *f, const struct vtep **ret);

/* Iterates entries (aged ones left out): start with *pos = 0; NULL at the end. What
 * stays is seen once, whatever is removed between two calls. */
const struct fdb_entry *fdb_next(const struct fdb *f, size_t *pos, uint64_t now_ns);
/* Learned entries, with the aged ones that are not yet replaced; or static ones. */
size_t fdb_count(const struct fdb *f, bool learned);

bool vtep_equal(const struct vtep *a, const struct vtep *b);

#endif
