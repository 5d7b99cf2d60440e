/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receiver index -> entry (a keypair or a handshake in flight). Open addressing
 * over random 32-bit indices, grown by doubling on the control thread, lookup
 * without allocation. Also used with 32-byte keys for public key -> peer.
 */
#ifndef SEALANE_LANE_INDEXTAB_H
#define SEALANE_LANE_INDEXTAB_H

#include <stddef.h>
#include <stdint.h>

struct keypair;
struct peer;

struct indextab_entry {
	uint32_t index;
	struct peer *peer;	 /* NULL: empty slot */
	struct keypair *keypair; /* NULL: a handshake in flight */
};

struct indextab {
	struct indextab_entry *slots;
	size_t n_slots; /* power of two */
	size_t n_used;
};

int indextab_init(struct indextab *t); /* 0 or -ENOMEM */
void indextab_done(struct indextab *t);
/* -EEXIST when the index is taken, -ENOMEM. */
int indextab_insert(struct indextab *t, uint32_t index, struct peer *peer, struct keypair *kp);
/* The handshake at @index became the session @kp. -ENOENT when absent. */
int indextab_promote(struct indextab *t, uint32_t index, struct keypair *kp);
void indextab_remove(struct indextab *t, uint32_t index); /* absent: nothing */
/* NULL when absent. Valid until the next insert or remove. */
const struct indextab_entry *indextab_find(const struct indextab *t, uint32_t index);

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
