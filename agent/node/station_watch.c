/* SPDX-License-Identifier: Apache-2.0 */
#include "station_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "desired.h"
#include "overlay/monitor.h"
#include "overlay/owner.h"
#include "sync_stations_internal.h"

struct station_watch {
	struct sync_stations want;
};

static int want_overlay(struct nl *nl, const struct desired_overlay *overlay,
			struct sync_stations *want)
{
	int ifindex, err = sync_stations_ifindex(nl, overlay, &ifindex);

	return err || !ifindex ? err : sync_stations_want(overlay, ifindex, want);
}

int station_watch_new(struct nl *nl, const struct desired *d, struct station_watch **ret)
{
	struct station_watch *w = calloc(1, sizeof(*w));
	int err = 0;

	if (!w)
		return -ENOMEM;
	sync_stations_begin(&w->want);
	for (size_t i = 0; !err && i < d->n_overlays; i++)
		err = want_overlay(nl, &d->overlays[i], &w->want);
	if (err) {
		station_watch_free(w);
		return err;
	}
	sync_stations_sort(&w->want);
	*ret = w;
	return 0;
}

void station_watch_free(struct station_watch *w)
{
	if (!w)
		return;
	sync_stations_done(&w->want);
	free(w);
}

static bool neighbour_wants_pass(const struct sync_list *list, const struct neighbour *n, bool gone)
{
	const struct neighbour device = {.ifindex = n->ifindex}, *next;
	const struct neighbour *want = sync_list_find(list, n, sync_compare_neighbour);
	size_t i;

	if (want)
		return gone || !sync_same_neighbour(n, want);
	/* One that seems to be ours has nothing to do there, if the device is an overlay's.
	 * What is not permanent (any more) may be one that we are just removing. */
	if (gone || !n->permanent || n->protocol != OWNER_PROTOCOL)
		return false;
	i = sync_list_lower(list, &device, sync_compare_neighbour);
	next = i < list->n ? sync_list_at(list, i) : NULL;
	return next && next->ifindex == n->ifindex;
}

/*
 * Of a MAC that is wanted no other end may be, and none without our mark: it tells that the
 * whole MAC has none (neighbours.h). One that goes and had none is one that a pass makes again,
 * or will, as it was told when the mark went.
 */
static bool end_wants_pass(const struct sync_list *list, const struct fdb_end *e, bool gone)
{
	const struct fdb_end device = {.ifindex = e->ifindex};
	const struct fdb_end *next;
	size_t i;

	if (sync_list_find(list, e, sync_compare_end))
		return gone == e->ours;
	if (gone)
		return false;
	if (sync_list_find(list, e, sync_compare_mac))
		return true;
	if (!e->ours)
		return false;
	i = sync_list_lower(list, &device, sync_compare_mac);
	next = i < list->n ? sync_list_at(list, i) : NULL;
	return next && next->ifindex == e->ifindex;
}

bool station_watch_wants_pass(const struct station_watch *w, const struct monitor_event *ev)
{
	const struct monitor_neigh *m = &ev->neigh;
	struct neighbour n = {.ifindex = ev->ifindex,
			      .addr = m->addr,
			      .permanent = m->permanent,
			      .protocol = m->protocol};
	struct fdb_end e = {.ifindex = ev->ifindex, .remote = m->addr, .ours = m->ours};

	if (!w)
		return false;
	memcpy(n.mac, m->mac, sizeof(n.mac));
	memcpy(e.mac, m->mac, sizeof(e.mac));
	return ev->family == AF_BRIDGE ? end_wants_pass(&w->want.ends, &e, m->gone)
				       : neighbour_wants_pass(&w->want.neighbours, &n, m->gone);
}
