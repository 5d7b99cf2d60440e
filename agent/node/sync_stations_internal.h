/* SPDX-License-Identifier: Apache-2.0 */
/* The neighbour and FDB entries that there should be: for who makes them
 * (sync_stations.c), and who looks whether they stay so (station_watch.c). Control
 * thread. */
#ifndef SEALANE_NODE_SYNC_STATIONS_INTERNAL_H
#define SEALANE_NODE_SYNC_STATIONS_INTERNAL_H

#include <stdbool.h>

#include "overlay/neighbours.h"
#include "sync_kernel.h"

struct sync_stations {
	struct sync_list neighbours; /* struct neighbour, by device and address */
	struct sync_list ends;	     /* struct fdb_end, by device, MAC and end */
};
void sync_stations_begin(struct sync_stations *s);
void sync_stations_sort(struct sync_stations *s);
void sync_stations_done(struct sync_stations *s);

/* The overlay's device. 0 with its index, or with 0: it has none, or one that has no
 * such entries; or -errno. */
int sync_stations_ifindex(struct nl *nl, const struct desired_overlay *overlay, int *ret);
/* Adds what is wanted there to @ret, which is to be sorted then. 0 or -ENOMEM. */
int sync_stations_want(const struct desired_overlay *overlay, int ifindex,
		       struct sync_stations *ret);

int sync_compare_neighbour(const void *a, const void *b);
bool sync_same_neighbour(const struct neighbour *a,
			 const struct neighbour *b); /* but for its place */
int sync_compare_mac(const void *a, const void *b);
int sync_compare_end(const void *a, const void *b);
bool sync_end_is_flooding(const struct fdb_end *e);

#endif
