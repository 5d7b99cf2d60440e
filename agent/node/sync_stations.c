/* SPDX-License-Identifier: Apache-2.0 */
#include "sync.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "overlay/neighbours.h"
#include "overlay/owner.h"
#include "report.h"
#include "sync_stations_internal.h"

struct state {
	struct sync_stations want, there;
};

static int read_state(struct nl *nl, const struct desired *d, struct state *s);
static void done_state(struct state *s);
static int neighbour_additions(const struct state *s, struct sync_list *changes);
static int end_additions(const struct state *s, struct sync_list *changes);
static int neighbour_removals(const struct state *s, struct sync_list *changes);
static int end_removals(const struct state *s, struct sync_list *changes);

static const struct sync_kind neighbour_kind, end_kind;

/* One half of the work: both kinds are compared before the first is changed. */
struct half {
	int (*neighbours)(const struct state *s, struct sync_list *changes);
	int (*ends)(const struct state *s, struct sync_list *changes);
};

static void sync_half(struct nl *nl, const struct desired *d, const struct half *half,
		      struct report *r)
{
	struct sync_list neighbours = {.item_len = sizeof(struct sync_change)};
	struct sync_list ends = {.item_len = sizeof(struct sync_change)};
	struct state s;
	int err = read_state(nl, d, &s);

	if (!err)
		err = half->neighbours(&s, &neighbours);
	if (!err)
		err = half->ends(&s, &ends);
	if (err) {
		report_fault(r, err, "the lists of neighbours");
	} else {
		sync_changes_apply(nl, &neighbours, &neighbour_kind, r);
		sync_changes_apply(nl, &ends, &end_kind, r);
	}
	sync_list_done(&neighbours);
	sync_list_done(&ends);
	done_state(&s);
}

void sync_stations_add(struct nl *nl, const struct desired *d, struct report *r)
{
	static const struct half half = {neighbour_additions, end_additions};

	sync_half(nl, d, &half, r);
}

void sync_stations_remove(struct nl *nl, const struct desired *d, struct report *r)
{
	static const struct half half = {neighbour_removals, end_removals};

	sync_half(nl, d, &half, r);
}

/* Neighbours */

/* The device is ours, so what else is there under an address gives way. */
static int neighbour_additions(const struct state *s, struct sync_list *changes)
{
	int err = 0;

	for (size_t i = 0; !err && i < s->want.neighbours.n; i++) {
		const struct neighbour *want = sync_list_at(&s->want.neighbours, i);
		const struct neighbour *have = sync_list_find(&s->there.neighbours, want,
							      sync_compare_neighbour);

		if (!have)
			err = sync_change_add(changes, SYNC_ADD, want);
		else if (!sync_same_neighbour(have, want))
			err = sync_change_add(changes, SYNC_CHANGE, want);
	}
	return err;
}

static int neighbour_removals(const struct state *s, struct sync_list *changes)
{
	int err = 0;

	for (size_t i = 0; !err && i < s->there.neighbours.n; i++) {
		const struct neighbour *have = sync_list_at(&s->there.neighbours, i);

		if (have->protocol == OWNER_PROTOCOL &&
		    !sync_list_find(&s->want.neighbours, have, sync_compare_neighbour))
			err = sync_change_add(changes, SYNC_REMOVE, have);
	}
	return err;
}

static int put_neighbour(struct nl_batch *b, const void *thing, void *cookie)
{
	return neighbour_put(b, thing, cookie);
}

static int remove_neighbour(struct nl_batch *b, const void *thing, void *cookie)
{
	return neighbour_remove(b, thing, cookie);
}

static void describe_neighbour(const void *thing, char *buf, size_t buf_len)
{
	const struct neighbour *n = thing;
	char addr[IP_ADDR_TEXT_LEN], name[IFNAMSIZ];

	snprintf(buf, buf_len, "neighbour %s at %02x:%02x:%02x:%02x:%02x:%02x dev %s",
		 ip_addr_format(&n->addr, addr), n->mac[0], n->mac[1], n->mac[2], n->mac[3],
		 n->mac[4], n->mac[5], sync_ifname(n->ifindex, name));
}

static int ipv6_device(const void *thing)
{
	const struct neighbour *n = thing;

	return n->addr.len == 16 ? n->ifindex : 0;
}

static const struct sync_kind neighbour_kind = {put_neighbour, remove_neighbour, describe_neighbour,
						ipv6_device};

/* The forwarding database of VXLAN devices */

/*
 * The mark is the MAC's, not an end's. Who appends or replaces an end without it takes it off
 * all of them, and the kernel gives it to none that is there. So all have to go first, others'
 * too: else ours would be nobody's to remove later.
 */
static int make_room(const struct state *s, size_t first, struct sync_list *changes)
{
	const struct fdb_end *mac = sync_list_at(&s->there.ends, first);
	int err = 0;

	for (size_t i = first; !err && i < s->there.ends.n; i++) {
		const struct fdb_end *have = sync_list_at(&s->there.ends, i);

		if (sync_compare_mac(have, mac) != 0)
			break;
		/* One more in the flooding list is in no other's place. */
		if (sync_end_is_flooding(have) &&
		    !sync_list_find(&s->want.ends, have, sync_compare_end))
			err = sync_change_add(changes, SYNC_REMOVE, have);
		else
			err = sync_change_add(changes, SYNC_MAKE_ROOM, have);
	}
	return err;
}

static bool is_first_of_mac(const struct sync_list *ends, size_t i)
{
	return !i || sync_compare_mac(sync_list_at(ends, i - 1), sync_list_at(ends, i)) != 0;
}

/* The one at @i of those that are wanted. */
static int end_addition(const struct state *s, size_t i, struct sync_list *changes)
{
	const struct sync_list *there = &s->there.ends;
	const struct fdb_end *want = sync_list_at(&s->want.ends, i);
	const size_t first = sync_list_lower(there, want, sync_compare_mac);
	const struct fdb_end *have = first < there->n ? sync_list_at(there, first) : NULL;
	const bool has_mac = have && sync_compare_mac(have, want) == 0;
	const bool is_there = sync_list_find(there, want, sync_compare_end);
	int err = 0;

	if (is_there && has_mac && have->ours)
		return 0;
	if (has_mac && !have->ours && is_first_of_mac(&s->want.ends, i))
		err = make_room(s, first, changes);
	if (err)
		return err;
	return sync_change_add(changes,
			       is_there || (has_mac && !sync_end_is_flooding(want)) ? SYNC_CHANGE
										    : SYNC_ADD,
			       want);
}

static int end_additions(const struct state *s, struct sync_list *changes)
{
	int err = 0;

	for (size_t i = 0; !err && i < s->want.ends.n; i++)
		err = end_addition(s, i, changes);
	return err;
}

static int end_removals(const struct state *s, struct sync_list *changes)
{
	int err = 0;

	for (size_t i = 0; !err && i < s->there.ends.n; i++) {
		const struct fdb_end *have = sync_list_at(&s->there.ends, i);

		if (have->ours && !sync_list_find(&s->want.ends, have, sync_compare_end))
			err = sync_change_add(changes, SYNC_REMOVE, have);
	}
	return err;
}

static int put_end(struct nl_batch *b, const void *thing, void *cookie)
{
	return fdb_end_put(b, thing, cookie);
}

static int remove_end(struct nl_batch *b, const void *thing, void *cookie)
{
	return fdb_end_remove(b, thing, cookie);
}

static void describe_end(const void *thing, char *buf, size_t buf_len)
{
	const struct fdb_end *e = thing;
	char addr[IP_ADDR_TEXT_LEN], name[IFNAMSIZ];

	snprintf(buf, buf_len, "fdb %02x:%02x:%02x:%02x:%02x:%02x dst %s dev %s", e->mac[0],
		 e->mac[1], e->mac[2], e->mac[3], e->mac[4], e->mac[5],
		 ip_addr_format(&e->remote, addr), sync_ifname(e->ifindex, name));
}

static const struct sync_kind end_kind = {put_end, remove_end, describe_end, NULL};

/* What is there */

static int on_neighbour(const struct neighbour *n, void *arg)
{
	return sync_list_add(arg, n);
}

static int on_end(const struct fdb_end *e, void *arg)
{
	return sync_list_add(arg, e);
}

static int read_overlay(struct nl *nl, const struct desired_overlay *overlay, struct state *s)
{
	int ifindex, err = sync_stations_ifindex(nl, overlay, &ifindex);

	if (err || !ifindex)
		return err;
	err = sync_stations_want(overlay, ifindex, &s->want);
	if (!err)
		err = neighbour_list(nl, ifindex, on_neighbour, &s->there.neighbours);
	if (!err && overlay->config->type == CONFIG_VXLAN)
		err = fdb_end_list(nl, ifindex, on_end, &s->there.ends);
	return err;
}

static int read_state(struct nl *nl, const struct desired *d, struct state *s)
{
	int err = 0;

	sync_stations_begin(&s->want);
	sync_stations_begin(&s->there);
	for (size_t i = 0; !err && i < d->n_overlays; i++)
		err = read_overlay(nl, &d->overlays[i], s);
	sync_stations_sort(&s->want);
	sync_stations_sort(&s->there);
	return err;
}

static void done_state(struct state *s)
{
	sync_stations_done(&s->want);
	sync_stations_done(&s->there);
}
