/* SPDX-License-Identifier: Apache-2.0 */
#include "sync.h"

#include <linux/rtnetlink.h>
#include <stdint.h>
#include <stdio.h>

#include "overlay/owner.h"
#include "report.h"
#include "sync_kernel.h"
#include "sync_routes_internal.h"

/* Struct sync_route that are wanted and struct route of ours that are there, in the
 * order of sync_route_compare(). */
struct state {
	struct sync_list want, have;
};

static int read_state(struct nl *nl, const struct desired *d, struct report *r, struct state *s);
static void done_state(struct state *s);
static int additions(const struct state *s, struct sync_list *changes, struct report *r);
static int mark_blocked(struct nl *nl, struct state *s);
static int removals(const struct state *s, struct sync_list *changes);

static const struct sync_kind route_kind;

/* Foreign routes are of interest only when there is something to put. */
void sync_routes_add(struct nl *nl, const struct desired *d, struct report *r)
{
	struct sync_list changes = {.item_len = sizeof(struct sync_change)};
	struct state s;
	int err = read_state(nl, d, r, &s);

	if (!err)
		err = additions(&s, &changes, r);
	if (!err && changes.n) {
		changes.n = 0;
		err = mark_blocked(nl, &s);
		if (!err)
			err = additions(&s, &changes, r);
	}
	if (err)
		report_fault(r, err, "the list of routes");
	else
		sync_changes_apply(nl, &changes, &route_kind, r);
	sync_list_done(&changes);
	done_state(&s);
}

void sync_routes_remove(struct nl *nl, const struct desired *d, struct report *r)
{
	struct sync_list changes = {.item_len = sizeof(struct sync_change)};
	struct state s;
	int err = read_state(nl, d, NULL, &s);

	if (!err)
		err = removals(&s, &changes);
	if (err)
		report_fault(r, err, "the list of routes");
	else
		sync_changes_apply(nl, &changes, &route_kind, r);
	sync_list_done(&changes);
	done_state(&s);
}

static int on_route(const struct route *route, void *arg)
{
	return sync_list_add(arg, route);
}

static int read_state(struct nl *nl, const struct desired *d, struct report *r, struct state *s)
{
	int err;

	*s = (struct state){.want = {.item_len = sizeof(struct sync_route)},
			    .have = {.item_len = sizeof(struct route)}};
	err = sync_routes_want(nl, d, r, &s->want);
	if (!err)
		err = route_list(nl, OWNER_PROTOCOL, on_route, &s->have);
	sync_list_sort(&s->have, sync_route_compare);
	return err;
}

static void done_state(struct state *s)
{
	sync_list_done(&s->want);
	sync_list_done(&s->have);
}

/* What is to be put */

/* IPv6 replaces a route only by one that has a gateway, too, or has none, too. */
static bool is_in_the_way(const struct route *have, const struct route *want)
{
	return want->dst.addr.len == 16 && !have->via.len != !want->via.len;
}

static int make_room(const struct state *s, size_t first, const struct route *want,
		     struct sync_list *changes)
{
	int err = 0;

	for (size_t i = first; !err && i < s->have.n; i++) {
		const struct route *have = sync_list_at(&s->have, i);

		if (sync_route_compare(have, want) != 0)
			break;
		if (is_in_the_way(have, want))
			err = sync_change_add(changes, SYNC_MAKE_ROOM, have);
	}
	return err;
}

static bool have_equal(const struct state *s, size_t first, const struct route *want)
{
	for (size_t i = first; i < s->have.n; i++) {
		const struct route *have = sync_list_at(&s->have, i);

		if (sync_route_compare(have, want) != 0)
			break;
		if (route_equal(have, want))
			return true;
	}
	return false;
}

static void describe_route(const void *thing, char *buf, size_t buf_len)
{
	char dst[IP_PREFIX_TEXT_LEN], via[IP_ADDR_TEXT_LEN], name[IFNAMSIZ], table[24] = "";
	const struct route *route = thing;

	ip_prefix_format(&route->dst, dst);
	if (route->table != RT_TABLE_MAIN)
		snprintf(table, sizeof(table), " table %u", route->table);
	if (route->unreachable)
		snprintf(buf, buf_len, "unreachable route %s%s", dst, table);
	else if (route->via.len)
		snprintf(buf, buf_len, "route %s via %s dev %s%s", dst,
			 ip_addr_format(&route->via, via), sync_ifname(route->oif, name), table);
	else
		snprintf(buf, buf_len, "route %s dev %s%s", dst, sync_ifname(route->oif, name),
			 table);
}

static int add_one(const struct state *s, const struct sync_route *wanted,
		   struct sync_list *changes, struct report *r)
{
	const struct route *want = &wanted->route;
	const size_t first = sync_list_lower(&s->have, want, sync_route_compare);
	char text[160];
	int err = 0;

	if (have_equal(s, first, want) || wanted->foreign == SYNC_FOREIGN_EQUAL)
		return 0;
	if (wanted->foreign == SYNC_FOREIGN_OTHER) {
		describe_route(want, text, sizeof(text));
		report_fault(r, 0, "%s: another of this prefix and metric is there and not ours",
			     text);
		return 0;
	}
	if (first == s->have.n || sync_route_compare(sync_list_at(&s->have, first), want) != 0)
		return sync_change_add(changes, SYNC_ADD, want);
	err = make_room(s, first, want, changes);
	return err ? err : sync_change_add(changes, SYNC_CHANGE, want);
}

static int additions(const struct state *s, struct sync_list *changes, struct report *r)
{
	int err = 0;

	for (size_t i = 0; !err && i < s->want.n; i++)
		err = add_one(s, sync_list_at(&s->want, i), changes, r);
	return err;
}

/* Whose routes may be in the way: to put one would replace them. */

static int on_foreign(const struct route *route, void *arg)
{
	const struct state *s = arg;
	struct sync_route *wanted = sync_list_find(&s->want, route, sync_route_compare);
	struct route same = *route;

	if (!wanted || route->protocol == OWNER_PROTOCOL)
		return 0;
	same.protocol = wanted->route.protocol;
	wanted->foreign = route_equal(&same, &wanted->route) ? SYNC_FOREIGN_EQUAL
							     : SYNC_FOREIGN_OTHER;
	return 0;
}

static int mark_blocked(struct nl *nl, struct state *s)
{
	return route_list(nl, 0, on_foreign, s);
}

/* What is to be removed */

static int removals(const struct state *s, struct sync_list *changes)
{
	int err = 0;

	for (size_t i = 0; !err && i < s->have.n; i++) {
		const struct route *have = sync_list_at(&s->have, i);

		if (!sync_list_find(&s->want, have, sync_route_compare))
			err = sync_change_add(changes, SYNC_REMOVE, have);
	}
	return err;
}

static int put_route(struct nl_batch *b, const void *thing, void *cookie)
{
	return route_put(b, thing, cookie);
}

static int remove_route(struct nl_batch *b, const void *thing, void *cookie)
{
	return route_remove(b, thing, cookie);
}

/* A gateway of IPv6 needs it, too, whatever goes by it. */
static int ipv6_device(const void *thing)
{
	const struct route *route = thing;

	return route->dst.addr.len == 16 || route->via.len == 16 ? route->oif : 0;
}

static const struct sync_kind route_kind = {put_route, remove_route, describe_route, ipv6_device};
