/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Known neighbours of one port: IP address -> MAC address, from which ARP requests
 * and neighbour solicitations are answered on the spot instead of being flooded.
 * All entries are given by the operator or the agent. Bounded; no allocation on
 * the packet path. Lane's thread. Pointers handed out are good until the next
 * change.
 */
#ifndef SEALANE_LANE_NEIGHTAB_H
#define SEALANE_LANE_NEIGHTAB_H

#include <stddef.h>
#include <stdint.h>

enum { NEIGHTAB_LIMIT_MAX = 1 << 20 };

struct neighbour {
	uint8_t addr[16];
	uint8_t addr_len; /* 4 or 16 */
	uint8_t mac[6];
};

struct neightab;

/* An empty table of at most @limit <= NEIGHTAB_LIMIT_MAX entries; memory grows with
 * what is entered. @hash_key: SipHash key. 0, -EINVAL, -ENOMEM. */
int neightab_new(size_t limit, const uint8_t hash_key[16], struct neightab **ret);
void neightab_free(struct neightab *t); /* NULL is fine */

/* Enters or replaces. 0; with nothing changed: -EINVAL (an address that is no host's
 * as neigh_is_host() has it: length, unspecified, loopback, multicast, broadcast; a
 * multicast or zero MAC), -ENOSPC, -ENOMEM. The last two not when it replaces. */
int neightab_set(struct neightab *t, const struct neighbour *n);
/* 0, -ENOENT. */
int neightab_remove(struct neightab *t, const uint8_t *addr, size_t addr_len);
void neightab_clear(struct neightab *t);

/* NULL: unknown. */
const struct neighbour *neightab_find(const struct neightab *t, const uint8_t *addr,
				      size_t addr_len);
/* Iterates: start with *pos = 0; NULL at the end. */
const struct neighbour *neightab_next(const struct neightab *t, size_t *pos);
size_t neightab_count(const struct neightab *t);

#endif
