/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Permanent neighbour entries (IP address -> MAC address) and entries of a tunnel
 * device's forwarding database (MAC address -> tunnel end). Control thread.
 */
#ifndef SEALANE_OVERLAY_NEIGHBOURS_H
#define SEALANE_OVERLAY_NEIGHBOURS_H

#include <stdbool.h>
#include <stdint.h>

#include "ipaddr.h"

struct nl;
struct nl_batch;
struct nlmsghdr;

struct neighbour {
	int ifindex;
	struct ip_addr addr;
	uint8_t mac[6];	  /* zero: not known (yet) */
	bool permanent;	  /* as listed; those we put are */
	uint8_t protocol; /* NDA_PROTOCOL, 0: none */
};

/* Gather one request into @b, which tells the outcome. 0, -EINVAL for what cannot be
 * (then there is no answer), or an error of nl_batch_add(). A put adds or replaces; a
 * removal (-ENOENT: none there) goes by device and address alone, so it is the
 * caller's to know whose entry it is. */
int neighbour_put(struct nl_batch *b, const struct neighbour *n, void *cookie);
int neighbour_remove(struct nl_batch *b, const struct neighbour *n, void *cookie);
/* Of one device, both families, in every state. As route_list() otherwise. */
typedef int (*neighbour_fn)(const struct neighbour *n, void *arg);
int neighbour_list(struct nl *nl, int ifindex, neighbour_fn fn, void *arg);
/* One that a message tells of, there or gone. Never an FDB entry. Any thread. */
bool neighbour_parse(const struct nlmsghdr *nlh, struct neighbour *ret);

/*
 * The all-zero MAC is the flooding list, with any number of ends; every other MAC has
 * one. Ours carry NTF_EXT_LEARNED. The kernel keeps that mark per MAC, not per end: an
 * end put to a MAC that a user has given an end remains unmarked, and an unmarked end
 * that is put to a marked MAC, or put there again, unmarks all of it (drivers/net/vxlan,
 * vxlan_fdb_update_existing()); it is told of one end alone.
 */
struct fdb_end {
	int ifindex;
	uint8_t mac[6];
	struct ip_addr remote;
	bool ours; /* as listed; a put tries to mark, a removal pays no heed */
};

/* As the neighbours' (-EINVAL also for a group's MAC). A put of the all-zero MAC
 * appends, of another adds or replaces. A removal is of this end only; where the MAC
 * has others alone the kernel answers 0, where it has none -ENOENT. */
int fdb_end_put(struct nl_batch *b, const struct fdb_end *e, void *cookie);
int fdb_end_remove(struct nl_batch *b, const struct fdb_end *e, void *cookie);
typedef int (*fdb_end_fn)(const struct fdb_end *e, void *arg);
int fdb_end_list(struct nl *nl, int ifindex, fdb_end_fn fn, void *arg);
/* As neighbour_parse(). A bridge's entry, which leads to no tunnel's end, is none. */
bool fdb_end_parse(const struct nlmsghdr *nlh, struct fdb_end *ret);

#endif
