/* SPDX-License-Identifier: Apache-2.0 */
/* Which neighbour and FDB entries there should be, for sync_stations.c. */
#include "sync_stations_internal.h"

#include <string.h>

#include "overlay/owner.h"

/* Order and equality */

int sync_compare_neighbour(const void *a, const void *b)
{
	const struct neighbour *x = a, *y = b;

	if (x->ifindex != y->ifindex)
		return x->ifindex < y->ifindex ? -1 : 1;
	return ip_addr_compare(&x->addr, &y->addr);
}

bool sync_same_neighbour(const struct neighbour *a, const struct neighbour *b)
{
	return a->permanent == b->permanent && a->protocol == b->protocol &&
	       !memcmp(a->mac, b->mac, sizeof(a->mac));
}

int sync_compare_mac(const void *a, const void *b)
{
	const struct fdb_end *x = a, *y = b;

	if (x->ifindex != y->ifindex)
		return x->ifindex < y->ifindex ? -1 : 1;
	return memcmp(x->mac, y->mac, sizeof(x->mac));
}

int sync_compare_end(const void *a, const void *b)
{
	const struct fdb_end *x = a, *y = b;
	const int order = sync_compare_mac(a, b);

	return order ? order : ip_addr_compare(&x->remote, &y->remote);
}

bool sync_end_is_flooding(const struct fdb_end *e)
{
	static const uint8_t zero[sizeof(e->mac)];

	return !memcmp(e->mac, zero, sizeof(zero));
}

/* Both lists */

void sync_stations_begin(struct sync_stations *s)
{
	*s = (struct sync_stations){.neighbours = {.item_len = sizeof(struct neighbour)},
				    .ends = {.item_len = sizeof(struct fdb_end)}};
}

void sync_stations_sort(struct sync_stations *s)
{
	sync_list_sort(&s->neighbours, sync_compare_neighbour);
	sync_list_sort(&s->ends, sync_compare_end);
}

void sync_stations_done(struct sync_stations *s)
{
	sync_list_done(&s->neighbours);
	sync_list_done(&s->ends);
}

/* What is wanted */

int sync_stations_ifindex(struct nl *nl, const struct desired_overlay *overlay, int *ret)
{
	*ret = 0;
	return overlay->config->type == CONFIG_BAREUDP ? 0 : sync_overlay_ifindex(nl, overlay, ret);
}

static int want_neighbours(const struct desired_station *station, int ifindex,
			   struct sync_stations *ret)
{
	struct neighbour n = {.ifindex = ifindex, .permanent = true, .protocol = OWNER_PROTOCOL};
	int err = 0;

	memcpy(n.mac, station->mac, sizeof(n.mac));
	for (size_t i = 0; !err && i < station->n_addresses; i++) {
		n.addr = station->addresses[i];
		err = sync_list_add(&ret->neighbours, &n);
	}
	return err;
}

static int want_ends(const struct desired_station *station, int ifindex, bool flood,
		     struct sync_stations *ret)
{
	struct fdb_end e = {.ifindex = ifindex, .remote = station->vtep, .ours = true};
	int err = flood ? sync_list_add(&ret->ends, &e) : 0;

	memcpy(e.mac, station->mac, sizeof(e.mac));
	return err ? err : sync_list_add(&ret->ends, &e);
}

int sync_stations_want(const struct desired_overlay *overlay, int ifindex,
		       struct sync_stations *ret)
{
	const bool has_fdb = overlay->config->type == CONFIG_VXLAN,
		   floods = desired_floods(overlay);
	int err = 0;

	for (size_t i = 0; !err && i < overlay->n_stations; i++) {
		err = want_neighbours(&overlay->stations[i], ifindex, ret);
		if (!err && has_fdb)
			err = want_ends(&overlay->stations[i], ifindex, floods, ret);
	}
	return err;
}
