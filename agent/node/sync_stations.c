/* SPDX-License-Identifier: Apache-2.0 */
#include "sync.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "overlay/neighbours.h"
#include "overlay/owner.h"
#include "report.h"
#include "sync_kernel.h"

/* Wanted and there, each in order (compare_neighbour(), compare_end()). */
struct state {
	struct sync_list want_neighbours, neighbours;
	struct sync_list want_ends, ends;
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

static int compare_neighbour(const void *a, const void *b)
{
	const struct neighbour *x = a, *y = b;

	if (x->ifindex != y->ifindex)
		return x->ifindex < y->ifindex ? -1 : 1;
	return ip_addr_compare(&x->addr, &y->addr);
}

/* The device is ours, so what else is there under an address gives way. */
static int neighbour_additions(const struct state *s, struct sync_list *changes)
{
	int err = 0;

	for (size_t i = 0; !err && i < s->want_neighbours.n; i++) {
		const struct neighbour *want = sync_list_at(&s->want_neighbours, i);
		const struct neighbour *have = sync_list_find(&s->neighbours, want,
							      compare_neighbour);

		if (!have)
			err = sync_change_add(changes, SYNC_ADD, want);
		else if (!have->permanent || have->protocol != want->protocol ||
			 memcmp(have->mac, want->mac, sizeof(want->mac)) != 0)
			err = sync_change_add(changes, SYNC_CHANGE, want);
	}
	return err;
}

static int neighbour_removals(const struct state *s, struct sync_list *changes)
{
	int err = 0;

	for (size_t i = 0; !err && i < s->neighbours.n; i++) {
		const struct neighbour *have = sync_list_at(&s->neighbours, i);

		if (have->protocol == OWNER_PROTOCOL &&
		    !sync_list_find(&s->want_neighbours, have, compare_neighbour))
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

static const struct sync_kind neighbour_kind = {put_neighbour, remove_neighbour,
						describe_neighbour};

/* The forwarding database of VXLAN devices */

static int compare_mac(const void *a, const void *b)
{
	const struct fdb_end *x = a, *y = b;

	if (x->ifindex != y->ifindex)
		return x->ifindex < y->ifindex ? -1 : 1;
	return memcmp(x->mac, y->mac, sizeof(x->mac));
}

static int compare_end(const void *a, const void *b)
{
	const struct fdb_end *x = a, *y = b;
	const int order = compare_mac(a, b);

	return order ? order : ip_addr_compare(&x->remote, &y->remote);
}

static bool is_flooding(const struct fdb_end *e)
{
	static const uint8_t zero[sizeof(e->mac)];

	return !memcmp(e->mac, zero, sizeof(zero));
}

/*
 * A MAC that leads elsewhere. The kernel replaces the end of an entry but leaves it
 * whose it was, so that a foreign one has to go first: else it would be nobody's to
 * remove later.
 */
static int end_changes(const struct state *s, const struct fdb_end *want, size_t first,
		       struct sync_list *changes)
{
	int err = 0;

	for (size_t i = first; !err && i < s->ends.n; i++) {
		const struct fdb_end *have = sync_list_at(&s->ends, i);

		if (compare_mac(have, want) != 0)
			break;
		if (!have->ours)
			err = sync_change_add(changes, SYNC_MAKE_ROOM, have);
	}
	return err ? err : sync_change_add(changes, SYNC_CHANGE, want);
}

static int end_additions(const struct state *s, struct sync_list *changes)
{
	int err = 0;

	for (size_t i = 0; !err && i < s->want_ends.n; i++) {
		const struct fdb_end *want = sync_list_at(&s->want_ends, i);
		size_t first;

		/* Right is right, whosever it is. */
		if (sync_list_find(&s->ends, want, compare_end))
			continue;
		first = sync_list_lower(&s->ends, want, compare_mac);
		if (is_flooding(want) || first == s->ends.n ||
		    compare_mac(sync_list_at(&s->ends, first), want) != 0)
			err = sync_change_add(changes, SYNC_ADD, want);
		else
			err = end_changes(s, want, first, changes);
	}
	return err;
}

static int end_removals(const struct state *s, struct sync_list *changes)
{
	int err = 0;

	for (size_t i = 0; !err && i < s->ends.n; i++) {
		const struct fdb_end *have = sync_list_at(&s->ends, i);

		if (have->ours && !sync_list_find(&s->want_ends, have, compare_end))
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

static const struct sync_kind end_kind = {put_end, remove_end, describe_end};

/* What is wanted, and what is there */

static int want_neighbours(const struct desired_station *station, int ifindex, struct state *s)
{
	struct neighbour n = {.ifindex = ifindex, .permanent = true, .protocol = OWNER_PROTOCOL};
	int err = 0;

	memcpy(n.mac, station->mac, sizeof(n.mac));
	for (size_t i = 0; !err && i < station->n_addresses; i++) {
		n.addr = station->addresses[i];
		err = sync_list_add(&s->want_neighbours, &n);
	}
	return err;
}

static int want_ends(const struct desired_station *station, int ifindex, bool flood,
		     struct state *s)
{
	struct fdb_end e = {.ifindex = ifindex, .remote = station->vtep, .ours = true};
	int err = flood ? sync_list_add(&s->want_ends, &e) : 0;

	memcpy(e.mac, station->mac, sizeof(e.mac));
	return err ? err : sync_list_add(&s->want_ends, &e);
}

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
	const struct config_overlay *config = overlay->config;
	const bool has_fdb = config->type == CONFIG_VXLAN;
	int ifindex, err;

	if (config->type == CONFIG_BAREUDP)
		return 0;
	err = sync_overlay_ifindex(nl, overlay, &ifindex);
	if (err || !ifindex)
		return err;
	for (size_t i = 0; !err && i < overlay->n_stations; i++) {
		err = want_neighbours(&overlay->stations[i], ifindex, s);
		if (!err && has_fdb)
			err = want_ends(&overlay->stations[i], ifindex, config->flood, s);
	}
	if (!err)
		err = neighbour_list(nl, ifindex, on_neighbour, &s->neighbours);
	if (!err && has_fdb)
		err = fdb_end_list(nl, ifindex, on_end, &s->ends);
	return err;
}

static int read_state(struct nl *nl, const struct desired *d, struct state *s)
{
	int err = 0;

	*s = (struct state){.want_neighbours = {.item_len = sizeof(struct neighbour)},
			    .neighbours = {.item_len = sizeof(struct neighbour)},
			    .want_ends = {.item_len = sizeof(struct fdb_end)},
			    .ends = {.item_len = sizeof(struct fdb_end)}};
	for (size_t i = 0; !err && i < d->n_overlays; i++)
		err = read_overlay(nl, &d->overlays[i], s);
	sync_list_sort(&s->want_neighbours, compare_neighbour);
	sync_list_sort(&s->neighbours, compare_neighbour);
	sync_list_sort(&s->want_ends, compare_end);
	sync_list_sort(&s->ends, compare_end);
	return err;
}

static void done_state(struct state *s)
{
	sync_list_done(&s->want_neighbours);
	sync_list_done(&s->neighbours);
	sync_list_done(&s->want_ends);
	sync_list_done(&s->ends);
}
