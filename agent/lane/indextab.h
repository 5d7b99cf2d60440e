/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receiver index -> entry (a keypair or a handshake in flight). Open addressing
 * over random 32-bit indices, grown by doubling. One thread at a time changes it;
 * any may look up with indextab_get(), which waits for nobody.
 */
#ifndef SEALANE_LANE_INDEXTAB_H
#define SEALANE_LANE_INDEXTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct keypair;
struct peer;

struct indextab_entry {
	uint32_t index;
	struct peer *peer;	 /* NULL: empty slot */
	struct keypair *keypair; /* NULL: a handshake in flight */
};

/* Slots are never freed before the table is: a reader may be in them. All that were
 * outgrown are together no larger than those in use. */
struct index_slots {
	struct index_slots *outgrown;
	size_t n; /* a power of two */
	struct indextab_entry slot[];
};

struct indextab {
	struct index_slots *now; /* with all it has outgrown */
	uint32_t seq;		 /* odd while it is changed */
	size_t n_used;
};

int indextab_init(struct indextab *t); /* 0 or -ENOMEM */
void indextab_done(struct indextab *t);
/* -EEXIST when the index is taken, -ENOMEM. */
int indextab_insert(struct indextab *t, uint32_t index, struct peer *peer, struct keypair *kp);
/* The handshake at @index became the session @kp. -ENOENT when absent. */
int indextab_promote(struct indextab *t, uint32_t index, struct keypair *kp);
void indextab_remove(struct indextab *t, uint32_t index); /* absent: nothing */
/* NULL when absent. Valid until the next insert or remove; for the thread that makes
 * those. */
const struct indextab_entry *indextab_find(const struct indextab *t, uint32_t index);

/* False when absent. What *ret points to stays as long as the caller sees to it. Any
 * thread. */
bool indextab_get(const struct indextab *t, uint32_t index, struct indextab_entry *ret);

/* Public key -> peer. The hash is keyed (SipHash): keys are chosen by others. */
struct keytab {
	struct peer **slots;
	size_t n_slots, n_used;
	uint8_t hash_key[16];
	/* Where the 32-byte key lies within struct peer. */
	size_t key_offset;
};

int keytab_init(struct keytab *t, size_t key_offset, const uint8_t hash_key[16]);
void keytab_done(struct keytab *t);
int keytab_insert(struct keytab *t, struct peer *peer); /* -EEXIST, -ENOMEM */
/* Absent: nothing. The key of a peer in the table never changes, and @key may be
 * the peer's own. */
void keytab_remove(struct keytab *t, const uint8_t key[32]);
/* NULL when absent. */
struct peer *keytab_find(const struct keytab *t, const uint8_t key[32]);

#endif
