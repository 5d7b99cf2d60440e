/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/sync.h"

#include "sync_world.h"

/* Two ways out: up0 with 192.0.2.0/24 and 2001:db8::/64, up1 with 198.51.100.0/24. */
static struct world *path_world(void)
{
	struct world *w = world_new(CONFIG_PORT);

	run("ip link add up0 mtu 1500 type veth peer name up0x");
	run("ip link add up1 mtu 1400 type veth peer name up1x");
	run("ip link set dev up0x up && ip link set dev up0 up");
	run("ip link set dev up1x up && ip link set dev up1 up");
	run("ip addr add 192.0.2.1/24 dev up0 && ip addr add 198.51.100.1/24 dev up1");
	run("ip -6 addr add 2001:db8::1/64 dev up0 nodad");
	run("ip link set dev sealane0 mtu 1300 up && ip addr add 10.10.0.1/32 dev sealane0");
	run("ip route add 203.0.113.0/24 dev sealane0");
	return w;
}

static void test_cases(void **state)
{
	static const struct {
		const char *what;
		const char *endpoints[2];
		uint32_t want;
	} cases[] = {
		{"nobody", {NULL, NULL}, 0},
		{"IPv4", {"192.0.2.2", NULL}, 1440},
		{"IPv6", {"2001:db8::3", NULL}, 1420},
		{"the smaller, last", {"192.0.2.2", "2001:db8::3"}, 1420},
		{"the smaller, first", {"198.51.100.7", "192.0.2.2"}, 1340},
		{"no way", {"100.64.0.1", NULL}, 0},
		{"no way for one", {"100.64.0.1", "192.0.2.2"}, 1440},
		{"by the lane, a loop", {"203.0.113.9", NULL}, 0},
		{"a loop for one", {"192.0.2.2", "203.0.113.9"}, 1440},
	};
	struct world *w = path_world();

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t mtu;

		memset(w->members, 0, sizeof(w->members));
		for (size_t j = 0; j < 2; j++) {
			if (cases[i].endpoints[j])
				endpoint(&w->members[j], cases[i].endpoints[j]);
		}
		mtu = sync_path_mtu(w->nl, w->members, 2, 0, "sealane0");
		if (mtu != cases[i].want)
			fail_msg("%s: %u, not %u", cases[i].what, mtu, cases[i].want);
	}
	assert_int_equal(sync_path_mtu(w->nl, NULL, 0, 0, "sealane0"), 0);
	world_free(w);
}

static void test_follows_routes(void **state)
{
	struct world *w = path_world();

	(void)state;
	endpoint(&w->members[0], "192.0.2.2");
	run("ip route add 192.0.2.2/32 dev up0 mtu 1234");
	assert_int_equal(sync_path_mtu(w->nl, w->members, 1, 0, "sealane0"), 1174);
	run("ip route del 192.0.2.2/32");
	run("ip route add unreachable 192.0.2.2/32");
	assert_int_equal(sync_path_mtu(w->nl, w->members, 1, 0, "sealane0"), 0);
	run("ip route del unreachable 192.0.2.2/32");
	run("ip link set dev up0 mtu 1450");
	assert_int_equal(sync_path_mtu(w->nl, w->members, 1, 0, "sealane0"), 1390);
	world_free(w);
}

/* The mark decides: a table of its own leads another way than main, into the lane. */
static void test_mark(void **state)
{
	struct world *w = path_world();

	(void)state;
	endpoint(&w->members[0], "203.0.113.9");
	run("ip rule add fwmark 0x51 table 77");
	run("ip route add default dev up1 table 77");
	assert_int_equal(sync_path_mtu(w->nl, w->members, 1, 0, "sealane0"), 0);
	assert_int_equal(sync_path_mtu(w->nl, w->members, 1, 0x51, "sealane0"), 1340);
	world_free(w);
}

/* Where there is no lane yet no device is the lane's. */
static void test_lane_away(void **state)
{
	struct world *w = path_world();

	(void)state;
	endpoint(&w->members[0], "203.0.113.9");
	assert_int_equal(sync_path_mtu(w->nl, w->members, 1, 0, "nosuch0"), 1240);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_follows_routes),
		cmocka_unit_test(test_mark),
		cmocka_unit_test(test_lane_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
