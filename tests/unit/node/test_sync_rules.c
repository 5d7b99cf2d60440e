/* SPDX-License-Identifier: Apache-2.0 */
/* Routes that have an endpoint in them, by the rules of the host. */
#include "agent/node/sync_rules.h"

#include "sync_routes_world.h"

enum { MARK = 0xca6c };

static uint32_t table_of(struct world *w, int family, uint32_t mark)
{
	uint32_t table = 12345;

	assert_int_equal(sync_unmarked_table(w->nl, family, mark, &table), 0);
	return table;
}

/* Each row's rules are taken away again. */
static void test_tables(void **state)
{
	static const struct {
		const char *rules[3];
		uint32_t want;
	} rows[] = {
		{{NULL}, 0},
		{{"not fwmark 0xca6c lookup 51820"}, 51820},
		{{"not fwmark 0xca6c lookup 99"}, 99},
		{{"fwmark 0/0xca6c lookup 99"}, 99},
		{{"not fwmark 0xca6d lookup 51820"}, 0},
		{{"fwmark 0xca6c lookup 51820"}, 0},
		/* The lane's datagrams do not come past it, but not all others do either. */
		{{"not fwmark 0xca6c iif lo lookup 51820"}, 0},
		{{"iif lo fwmark 0/0xca6c lookup 51820"}, 0},
		/* Everything looks there anyway. */
		{{"not fwmark 0xca6c lookup main"}, 0},
		{{"not fwmark 0xca6c lookup 51820", "lookup 51820"}, 0},
		{{"not fwmark 0xca6c lookup 51820", "fwmark 0xca6c lookup 51820"}, 0},
		{{"not fwmark 0xca6c lookup 51820", "iif lo lookup 51820"}, 0},
		{{"not fwmark 0xca6c lookup 51820", "fwmark 0xca6c lookup 7"}, 51820},
		{{"not fwmark 0xca6c lookup 7 pref 200", "not fwmark 0xca6c lookup 8 pref 100"}, 8},
		{{"not fwmark 0xca6c lookup 7 pref 200", "not fwmark 0xca6c lookup 8 pref 100",
		  "iif lo lookup 8"},
		 7},
		{{"not fwmark 0xca6c prohibit"}, 0},
	};
	struct world *w = world_new(CONFIG_PORT);

	(void)state;
	for (int v = 4; v <= 6; v += 2) {
		const int family = v == 4 ? AF_INET : AF_INET6;

		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			uint32_t table;

			for (int j = 0; j < 3 && rows[i].rules[j]; j++)
				run("ip -%d rule add %s", v, rows[i].rules[j]);
			table = table_of(w, family, MARK);
			if (table != rows[i].want)
				fail_msg("IPv%d row %zu: %u", v, i, table);
			assert_int_equal(table_of(w, family, 0), 0);
			for (int j = 0; j < 3 && rows[i].rules[j]; j++)
				run("ip -%d rule delete %s", v, rows[i].rules[j]);
		}
	}
	world_free(w);
}

/* As it is with IPv6 where the kernel has none. */
static void test_family_without_rules(void **state)
{
	struct world *w = world_new(CONFIG_PORT);

	(void)state;
	assert_int_equal(table_of(w, AF_X25, MARK), 0);
	world_free(w);
}

static struct world *all_by_gamma(void)
{
	struct world *w = route_world(CONFIG_PORT);

	w->config.lane.fwmark = MARK;
	w->allowed[1][1] = prefix("0.0.0.0/0");
	w->allowed[1][2] = prefix("::/0");
	w->peers[1].n_allowed = 3;
	return w;
}

static struct route in_table(struct route route, uint32_t table)
{
	route.table = table;
	return route;
}

static void test_needs_rules(void **state)
{
	struct world *w = all_by_gamma();

	(void)state;
	sync_both(w);
	assert_int_equal(w->report.failed, 2);
	expect_fault(w, "route 0.0.0.0/0 to gamma: not made, it needs 'ip -4 rule add not fwmark "
			"0xca6c table N', see sealane.yaml(5), for 192.0.2.2, the endpoint of "
			"beta, is in it");
	expect_fault(w, "route ::/0 to gamma: not made, it needs 'ip -6 rule add not fwmark 0xca6c "
			"table N', see sealane.yaml(5), for 2001:db8::3, the endpoint of gamma, is "
			"in it");
	expect_all(w);
	world_free(w);
}

/* The way of a packet, as the kernel finds it. */
static void expect_way(struct world *w, const char *dst, const char *device)
{
	char command[128];

	snprintf(command, sizeof(command), "ip route get %s", dst);
	expect(w, command, device);
}

/* In the table that the rule leads to, the closed one behind it. What is encrypted goes as
 * it went, and the rest into the lane. */
static void test_with_rules(void **state)
{
	static const struct route closed = {.metric = 1 << 30, .unreachable = true, .table = 51820};
	struct world *w = all_by_gamma();

	(void)state;
	run("ip link add u type veth peer name u2 && ip link set u up && ip link set u2 up");
	run("ip address add 198.51.100.1/24 dev u && ip -6 address add 2001:db8:1::1/64 dev u "
	    "nodad");
	run("ip route add default dev u && ip -6 route add default dev u");
	run("ip -4 rule add not fwmark 0xca6c table 51820");
	run("ip -4 rule add table main suppress_prefixlength 0");
	run("ip -6 rule add not fwmark 0xca6c table 51820");
	run("ip -6 rule add table main suppress_prefixlength 0");
	sync_both(w);
	expect_did(w, N_ALL + 4, 0, 0);
	expect_route(w, "0.0.0.0/0", in_table(by_lane(w, "10.10.0.1"), 51820));
	expect_route(w, "::/0", in_table(by_lane(w, "fd10::1"), 51820));
	expect_route(w, "0.0.0.0/0", closed);
	expect_route(w, "::/0", closed);
	assert_non_null(strstr(w->log, "added route 0.0.0.0/0 dev sealane0 table 51820\n"));
	assert_non_null(strstr(w->log, "added unreachable route ::/0 table 51820\n"));
	expect_quiet(w, sync_routes_add, sync_routes_remove);
	expect_way(w, "192.0.2.2", "dev sealane0");
	expect_way(w, "192.0.2.2 mark 0xca6c", "dev u");
	expect_way(w, "2001:db8::3", "dev sealane0");
	expect_way(w, "2001:db8::3 mark 0xca6c", "dev u");
	expect_way(w, "10.244.2.1", "dev ov0");
	expect_way(w, "198.51.100.2", "dev u");

	/* The rule has gone: so does the route, which would be of no use. */
	run("ip -4 rule delete not fwmark 0xca6c table 51820");
	sync_both(w);
	assert_int_equal(w->report.failed, 1);
	assert_int_equal(w->report.removed, 2);
	expect_route(w, "::/0", in_table(by_lane(w, "fd10::1"), 51820));
	w->peers[1].n_allowed = 1;
	sync_both(w);
	expect_did(w, 0, 0, 2);
	expect_all(w);
	world_free(w);
}

/* Without an endpoint in it a route is one for everybody, whatever rules there are. */
static void test_uncovered(void **state)
{
	struct world *w = route_world(CONFIG_PORT);

	(void)state;
	w->config.lane.fwmark = MARK;
	run("ip -4 rule add not fwmark 0xca6c table 51820");
	sync_both(w);
	expect_did(w, N_ALL, 0, 0);
	expect_all(w);
	world_free(w);
}

/* Behind a station, too. */
static void test_behind_station(void **state)
{
	struct world *w = route_world(CONFIG_PORT);

	(void)state;
	w->config.lane.fwmark = MARK;
	w->routes[1][0] = prefix("192.0.0.0/16");
	run("ip -4 rule add not fwmark 0xca6c table 51820");
	sync_both(w);
	expect_did(w, N_ALL, 0, 0);
	expect_route(w, "192.0.0.0/16", in_table(by_overlay("fd20::3", "10.20.0.1"), 51820));
	world_free(w);
}

/* They are every link's, and no others are closed behind them. */
static void test_link_local_and_groups(void **state)
{
	static const char *const networks[] = {"224.0.0.0/4", "ff02::5/128", "fe80::/64"};
	struct world *w = synced_world();

	(void)state;
	for (size_t i = 0; i < 3; i++)
		w->allowed[1][1 + i] = prefix(networks[i]);
	w->peers[1].n_allowed = 4;
	expect_quiet(w, sync_routes_add, sync_routes_remove);
	expect_all(w);
	w->own[1] = prefix("fe80::1/64");
	sync_both(w);
	expect_no_route(w, "fe80::/64", 1 << 30);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_family_without_rules),
		cmocka_unit_test(test_needs_rules),
		cmocka_unit_test(test_with_rules),
		cmocka_unit_test(test_uncovered),
		cmocka_unit_test(test_behind_station),
		cmocka_unit_test(test_link_local_and_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
