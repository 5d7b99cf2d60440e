/* SPDX-License-Identifier: Apache-2.0 */
/* Which routes are wanted, by type of overlay, addresses and endpoints. */
#include "agent/node/sync.h"

#include "sync_routes_world.h"

static struct route with_encap(struct route route, const char *remote, const char *local)
{
	route.encap = (struct route_encap){
		.present = true, .id = 42, .remote = addr(remote), .local = addr(local), .ttl = 64};
	return route;
}

static void expect_external(struct world *w, bool ethernet)
{
	static const struct {
		const char *dst, *via, *src, *remote;
	} rows[] = {
		{"10.20.0.2/32", NULL, "10.20.0.1", "10.10.0.2"},
		{"fd20::2/128", NULL, "fd20::1", "10.10.0.2"},
		{"fd20::3/128", NULL, "fd20::1", "10.10.0.3"},
		{"10.244.2.0/24", "10.20.0.2", "10.20.0.1", "10.10.0.2"},
		{"fd44:2::/64", "fd20::2", "fd20::1", "10.10.0.2"},
		{"10.244.3.0/24", "fd20::3", "10.20.0.1", "10.10.0.3"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct route way = by_overlay(ethernet ? rows[i].via : NULL, rows[i].src);

		expect_route(w, rows[i].dst, with_encap(way, rows[i].remote, "10.10.0.1"));
		expect_closed(w, rows[i].dst);
	}
	expect_n_routes(w, N_ALL + 2 * 3);
}

static void test_geneve(void **state)
{
	struct world *w = route_world(CONFIG_GENEVE);

	(void)state;
	sync_both(w);
	expect_did(w, N_ALL + 2 * 3, 0, 0);
	expect_lane_routes(w);
	expect_external(w, true);
	expect_quiet(w, sync_routes_add, sync_routes_remove);

	/* The tunnel's end moves: the routes follow in place. */
	w->stations[0].vtep = addr("10.10.0.7");
	sync_both(w);
	expect_did(w, 0, 4, 0);
	expect_route(w, "fd44:2::/64",
		     with_encap(by_overlay("fd20::2", "fd20::1"), "10.10.0.7", "10.10.0.1"));
	expect_quiet(w, sync_routes_add, sync_routes_remove);
	world_free(w);
}

static void test_geneve_over_ipv6(void **state)
{
	struct world *w = route_world(CONFIG_GENEVE);
	struct route want;

	(void)state;
	w->desired_overlay.vtep = addr("fd10::1");
	w->desired_overlay.csum = true;
	w->stations[0].vtep = addr("fd10::2");
	w->desired_overlay.n_stations = 1;
	sync_both(w);
	assert_int_equal(w->report.failed, 0);
	want = with_encap(by_overlay("10.20.0.2", "10.20.0.1"), "fd10::2", "fd10::1");
	want.encap.csum = true;
	expect_route(w, "10.244.2.0/24", want);
	expect_quiet(w, sync_routes_add, sync_routes_remove);
	world_free(w);
}

static void test_bareudp(void **state)
{
	struct world *w = route_world(CONFIG_BAREUDP);

	(void)state;
	sync_both(w);
	expect_did(w, N_ALL + 2 * 3, 0, 0);
	expect_external(w, false);
	expect_quiet(w, sync_routes_add, sync_routes_remove);
	world_free(w);
}

/* IPv6 has no gateways of the other family. */
static void test_no_gateway(void **state)
{
	struct world *w = route_world(CONFIG_PORT);

	(void)state;
	w->stations[0].n_addresses = 1; /* IPv4 */
	sync_both(w);
	assert_int_equal(w->report.failed, 1);
	expect_fault(w, "route fd44:2::/64 to beta: it has no address on ov0 to go by");
	assert_int_equal(w->report.added, N_ALL - 1);
	expect_closed(w, "fd44:2::/64");
	expect_no_route(w, "fd44:2::/64", 1024);
	world_free(w);
}

static void test_no_own_address(void **state)
{
	struct world *w = route_world(CONFIG_PORT);

	(void)state;
	w->overlay.n_addresses = 0;
	w->config.node.tunnel[1].len = 0;
	sync_both(w);
	expect_did(w, N_ALL - N_OWN, 0, 0);
	expect_route(w, "10.244.2.0/24", by_overlay("10.20.0.2", NULL));
	expect_route(w, "fd10::2/128", by_lane(w, NULL));
	world_free(w);
}

/* Prefixes in which an endpoint of any member is, 192.0.2.2 or 2001:db8::3, would lead the
 * encrypted packets into the lane again. */
static void test_covered_endpoints(void **state)
{
	static const struct {
		const char *dst;
		bool want;
	} cases[] = {
		{"192.0.2.0/24", false},   {"192.0.2.2/32", false},
		{"128.0.0.0/1", false},	   {"0.0.0.0/0", false},
		{"192.0.2.0/31", true},	   {"192.0.2.3/32", true},
		{"192.0.2.128/25", true},  {"0.0.0.0/1", true},
		{"2001:db8::/32", false},  {"2001:db8::3/128", false},
		{"2001:db8::2/128", true}, {"2001:db8:1::/48", true},
		{"::/0", false},	   {"::/3", true},
		{"2000::/3", false},
	};
	struct world *w = synced_world();

	(void)state;
	/* In another order than that of the addresses. */
	endpoint(&w->members[0], "2001:db8::3");
	endpoint(&w->members[1], "192.0.2.2");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		w->allowed[1][1] = prefix(cases[i].dst);
		w->peers[1].n_allowed = 2;
		sync_both(w);
		if (w->report.failed != !cases[i].want || w->report.added != 2 * cases[i].want)
			fail_msg("%s: %u added, %u failed: %s", cases[i].dst, w->report.added,
				 w->report.failed, w->report.faults[0]);
		if (!cases[i].want)
			expect_fault(w, " to gamma: not made");
		w->peers[1].n_allowed = 1;
		sync_both(w);
		expect_did(w, 0, 0, 2 * cases[i].want);
		expect_all(w);
	}
	world_free(w);
}

/* Whichever it is, it is the same one in every pass. */
static void test_prefix_twice(void **state)
{
	struct world *w = route_world(CONFIG_PORT);

	(void)state;
	w->allowed[1][1] = prefix("10.244.2.0/24");
	w->peers[1].n_allowed = 2;
	sync_both(w);
	expect_did(w, N_ALL, 0, 0);
	expect_quiet(w, sync_routes_add, sync_routes_remove);
	world_free(w);
}

static void test_covered_behind_station(void **state)
{
	struct world *w = route_world(CONFIG_PORT);

	(void)state;
	w->routes[1][0] = prefix("192.0.0.0/16");
	sync_both(w);
	assert_int_equal(w->report.failed, 1);
	expect_fault(w, "route 192.0.0.0/16 to gamma: not made, it needs lane.fwmark and a rule, "
			"see sealane.yaml(5), for 192.0.2.2, the endpoint of beta, is in it");
	expect_no_route(w, "192.0.0.0/16", 0);
	expect_no_route(w, "192.0.0.0/16", 1 << 30);
	world_free(w);
}

/* Where no endpoint is in the way, but nothing is closed behind it. */
static void test_default_route(void **state)
{
	struct world *w = route_world(CONFIG_PORT);

	(void)state;
	memset(&w->members[0].endpoint, 0, sizeof(w->members[0].endpoint));
	w->allowed[1][1] = prefix("0.0.0.0/0");
	w->peers[1].n_allowed = 2;
	sync_both(w);
	expect_did(w, N_ALL + 1, 0, 0);
	expect_route(w, "0.0.0.0/0", by_lane(w, "10.10.0.1"));
	expect_no_route(w, "0.0.0.0/0", 1 << 30);
	expect_quiet(w, sync_routes_add, sync_routes_remove);
	world_free(w);
}

/* The host's own default route is in the way of ours. */
static void test_default_route_of_others(void **state)
{
	struct world *w = route_world(CONFIG_PORT);

	(void)state;
	run("ip route add default dev lo");
	memset(&w->members[0].endpoint, 0, sizeof(w->members[0].endpoint));
	w->allowed[1][1] = prefix("0.0.0.0/0");
	w->peers[1].n_allowed = 2;
	sync_both(w);
	assert_int_equal(w->report.failed, 1);
	expect(w, show4, "default dev lo");
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_geneve),
		cmocka_unit_test(test_geneve_over_ipv6),
		cmocka_unit_test(test_bareudp),
		cmocka_unit_test(test_no_gateway),
		cmocka_unit_test(test_no_own_address),
		cmocka_unit_test(test_covered_endpoints),
		cmocka_unit_test(test_prefix_twice),
		cmocka_unit_test(test_covered_behind_station),
		cmocka_unit_test(test_default_route),
		cmocka_unit_test(test_default_route_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
