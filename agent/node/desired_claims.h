/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has what: keys, prefixes, addresses and MACs that more than one node claims.
 * Claims are made in the order of their right, so the first one gets it, for good;
 * the others get a line that says who was first. Any thread, one at a time.
 *
 * Addresses and MACs are claimed on one overlay, where they mean something; prefixes
 * and keys everywhere at once, for there is one routing table and one lane.
 */
#ifndef SEALANE_NODE_DESIRED_CLAIMS_H
#define SEALANE_NODE_DESIRED_CLAIMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config_overlay;
struct desired_arena;
struct desired_claims;
struct ip_addr;
struct ip_prefix;
struct member;

struct claimant {
	const struct member *member;	      /* NULL: this node */
	const struct config_overlay *overlay; /* NULL: the lane itself */
};

/* Room for @n_max claims. Lines are allocated from *@arena. NULL: no memory. */
struct desired_claims *desired_claims_new(size_t n_max, struct desired_arena **arena);
void desired_claims_free(struct desired_claims *c); /* NULL is fine */

/* The order of right, for qsort() of pointers to members: the newest first, then the
 * larger public key; total for all that differ in key, name, address or endpoint. */
int desired_claims_order(const void *a, const void *b);

/* True: the claimant has it from now on. False: somebody else has it, which is a line
 * now, or itself: no line if on the same overlay. */
bool desired_claim_key(struct desired_claims *c, struct claimant by, const uint8_t *public_key);
bool desired_claim_prefix(struct desired_claims *c, struct claimant by,
			  const struct ip_prefix *network);
bool desired_claim_address(struct desired_claims *c, struct claimant by,
			   const struct ip_addr *addr);
bool desired_claim_mac(struct desired_claims *c, struct claimant by, const uint8_t mac[6]);

/* Another line. */
void desired_claims_note(struct desired_claims *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* All lines, sorted, none twice, from the arena. 0 or -ENOMEM, also if it was a line that found no
 * memory. */
int desired_claims_lines(const struct desired_claims *c, char ***ret, size_t *ret_n);

#endif
