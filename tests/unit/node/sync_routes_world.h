/* SPDX-License-Identifier: Apache-2.0 */
/* The world of sync_world.h with devices and addresses as they should be, and what is
 * expected of its routes. */
#ifndef SYNC_ROUTES_WORLD_H
#define SYNC_ROUTES_WORLD_H

#include "sync_world.h"

#include "overlay/nl_batch.h"
#include "overlay/owner.h"
#include "overlay/routes.h"

static const char show4[] = "ip -4 route show";
static const char show6[] = "ip -6 route show";

static void sync_both(struct world *w)
{
	pass(w, sync_routes_add);
	sync_routes_remove(w->nl, &w->desired, &w->report);
}

/* Devices and addresses as they should be; ov0 is a veth marked as ours, which serves
 * for every type here. */
static struct world *route_world(enum config_type type)
{
	struct world *w = world_new(type);

	make_port(w);
	run("ip link set dev ov0 up mtu 1370 alias sealane");
	run("ip link set dev sealane0 up mtu 1420");
	pass(w, sync_addresses_add);
	expect_did(w, 4, 0, 0);
	return w;
}

/* Looking one up */

struct search {
	struct route want;
	bool same, equal;
	unsigned n;
};

static int on_route(const struct route *route, void *arg)
{
	struct search *search = arg;

	search->n++;
	search->same |= route_same_entry(route, &search->want);
	search->equal |= route_equal(route, &search->want);
	return 0;
}

static bool has_entry(struct world *w, const struct route *want)
{
	struct search search = {.want = *want};

	assert_int_equal(route_list(w->nl, want->protocol, on_route, &search), 0);
	return search.same;
}

static void expect_route(struct world *w, const char *dst, struct route want)
{
	struct search search = {.want = want};

	search.want.dst = prefix(dst);
	search.want.protocol = OWNER_PROTOCOL;
	assert_int_equal(route_list(w->nl, OWNER_PROTOCOL, on_route, &search), 0);
	if (!search.equal)
		fail_msg("%s: %s", dst, search.same ? "another route" : "no route");
}

static void expect_closed(struct world *w, const char *dst)
{
	expect_route(w, dst, (struct route){.metric = 1 << 30, .unreachable = true});
}

static void expect_no_route(struct world *w, const char *dst, uint32_t metric)
{
	const struct route route = {
		.dst = prefix(dst), .metric = metric, .protocol = OWNER_PROTOCOL};

	if (has_entry(w, &route))
		fail_msg("there is a route %s metric %u", dst, metric);
}

static void expect_n_routes(struct world *w, unsigned n)
{
	struct search search = {.n = 0};

	assert_int_equal(route_list(w->nl, OWNER_PROTOCOL, on_route, &search), 0);
	assert_int_equal(search.n, n);
}

static struct ip_addr none(void)
{
	return (struct ip_addr){.len = 0};
}

static struct route by_lane(struct world *w, const char *src)
{
	return (struct route){.oif = w->lane_ifindex, .src = src ? addr(src) : none()};
}

static struct route by_overlay(const char *via, const char *src)
{
	return (struct route){
		.oif = (int)if_nametoindex("ov0"),
		.via = via ? addr(via) : none(),
		.onlink = via,
		.src = src ? addr(src) : none(),
	};
}

/* The overlay's own networks are the kernel's to route, ours only to close. */
enum { N_LANE = 3, N_OVERLAY = 3, N_OWN = 2, N_ALL = 2 * (N_LANE + N_OVERLAY) + N_OWN };

static void expect_lane_routes(struct world *w)
{
	expect_route(w, "10.10.0.2/32", by_lane(w, "10.10.0.1"));
	expect_route(w, "fd10::2/128", by_lane(w, "fd10::1"));
	expect_route(w, "10.10.0.3/32", by_lane(w, "10.10.0.1"));
	expect_closed(w, "10.10.0.2/32");
	expect_closed(w, "fd10::2/128");
	expect_closed(w, "10.10.0.3/32");
}

static void expect_closed_overlay(struct world *w)
{
	expect_closed(w, "10.244.2.0/24");
	expect_closed(w, "fd44:2::/64");
	expect_closed(w, "10.244.3.0/24");
	expect_closed(w, "10.20.0.0/24");
	expect_closed(w, "fd20::/64");
}

static void expect_all(struct world *w)
{
	expect_lane_routes(w);
	expect_route(w, "10.244.2.0/24", by_overlay("10.20.0.2", "10.20.0.1"));
	expect_route(w, "fd44:2::/64", by_overlay("fd20::2", "fd20::1"));
	/* gamma has no IPv4 address on the overlay. */
	expect_route(w, "10.244.3.0/24", by_overlay("fd20::3", "10.20.0.1"));
	expect_closed_overlay(w);
	expect_n_routes(w, N_ALL);
}

static struct world *synced_world(void)
{
	struct world *w = route_world(CONFIG_PORT);

	sync_both(w);
	expect_did(w, N_ALL, 0, 0);
	return w;
}

#endif
