/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Longest-prefix trie: prefix -> owner, one for IPv4 and one for IPv6. An owner
 * keeps a list of its prefixes, so that listing and removing them does not walk
 * the trie. Last writer wins: inserting a prefix another owner holds moves it.
 * Cost: lookup O(prefix bits) with no allocation; insert/remove O(bits).
 * Control thread writes; lookups on the same thread (the walks).
 */
#ifndef SEALANE_LANE_ALLOWEDIPS_H
#define SEALANE_LANE_ALLOWEDIPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct allowedips_node;
TAILQ_HEAD(allowedips_list, allowedips_node);

/* Embedded by what owns prefixes (struct peer). Zero-initialised = none. */
struct allowedips_owner {
	struct allowedips_list prefixes; /* oldest first, as wg shows them */
};

struct allowedips {
	struct allowedips_node *root4, *root6;
};

/* @addr_len 4 or 16; host bits of @addr are ignored. 0, -EINVAL (another length,
 * or a cidr beyond the address) or -ENOMEM; the trie is unchanged on failure. An
 * owner's own prefix inserted again keeps its place in the list. */
int allowedips_insert(struct allowedips *t, const uint8_t *addr, size_t addr_len, uint8_t cidr,
		      struct allowedips_owner *owner);

/* Removes the exact prefix if @owner holds it; otherwise nothing (0). -EINVAL
 * as above. */
int allowedips_remove(struct allowedips *t, const uint8_t *addr, size_t addr_len, uint8_t cidr,
		      const struct allowedips_owner *owner);

/* Removes all prefixes of @owner. */
void allowedips_remove_owner(struct allowedips *t, struct allowedips_owner *owner);

/* Owner of the longest prefix covering @addr, or NULL. */
struct allowedips_owner *allowedips_lookup(const struct allowedips *t, const uint8_t *addr,
					   size_t addr_len);

struct allowedips_prefix {
	uint8_t addr[16];
	uint8_t addr_len, cidr;
};

/* Iterates @owner's prefixes: start with *cursor = NULL; false at the end. The
 * trie must not change in between. */
bool allowedips_next(const struct allowedips_owner *owner, struct allowedips_node **cursor,
		     struct allowedips_prefix *ret);

/* Frees every node (owners' lists become empty, so owners must still exist). */
void allowedips_done(struct allowedips *t);

#endif
