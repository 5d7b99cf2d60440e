/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/sync.h"

#include <time.h>

#include "sync_routes_world.h"

static void test_port(void **state)
{
	struct world *w = synced_world();

	(void)state;
	expect_all(w);
	/* As another program sees it. */
	expect(w, show4, "10.10.0.2 dev sealane0 ");
	expect(w, show4, "10.244.2.0/24 via 10.20.0.2 dev ov0 ");
	expect(w, show4, "10.244.3.0/24 via inet6 fd20::3 dev ov0 ");
	expect(w, show4, "unreachable 10.244.2.0/24 ");
	expect(w, show6, "unreachable fd44:2::/64 ");
	expect_quiet(w, sync_routes_add, sync_routes_remove);
	world_free(w);
}

static void test_changed_behind_back(void **state)
{
	static const struct {
		const char *command;
		unsigned added, changed, removed;
		unsigned n_requests;
	} cases[] = {
		{"ip route del 10.244.2.0/24 metric 0", 1, 0, 0, 1},
		{"ip route del 10.10.0.2/32 metric 0", 1, 0, 0, 1},
		{"ip -6 route del fd44:2::/64 metric 1024", 1, 0, 0, 1},
		{"ip route del unreachable 10.244.3.0/24 metric 1073741824", 1, 0, 0, 1},
		{"ip -6 route del unreachable fd44:2::/64 metric 1073741824", 1, 0, 0, 1},
		{"ip route replace 10.244.2.0/24 dev sealane0 protocol 94", 0, 1, 0, 1},
		{"ip route replace 10.10.0.2/32 dev sealane0 protocol 94", 0, 1, 0, 1},
		{"ip route replace 10.244.2.0/24 via 10.20.0.9 dev ov0 protocol 94", 0, 1, 0, 1},
		{"ip -6 route replace fd44:2::/64 via fd20::9 dev ov0 protocol 94", 0, 1, 0, 1},
		{"ip -6 route del fd44:2::/64 metric 1024 && "
		 "ip -6 route add fd44:2::/64 dev ov0 protocol 94",
		 0, 1, 0, 2},
		{"ip -6 route del fd10::2/128 metric 1024 && "
		 "ip -6 route add fd10::2/128 via fd20::9 dev ov0 protocol 94",
		 0, 1, 0, 2},
		{"ip route add 10.99.0.0/16 dev sealane0 protocol 94", 0, 0, 1, 1},
		{"ip route add unreachable 10.99.0.0/16 protocol 94", 0, 0, 1, 1},
		{"ip route add 10.244.2.0/24 dev sealane0 metric 5 protocol 94", 0, 0, 1, 1},
		{"ip route add 10.244.2.0/24 dev sealane0 table 77 protocol 94", 0, 0, 1, 1},
		{"ip -6 route add fd99::/64 via fd20::2 dev ov0 protocol 94", 0, 0, 1, 1},
		{"ip -6 route add unreachable fd99::/64 protocol 94", 0, 0, 1, 1},
	};
	struct world *w = synced_world();

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		run("%s", cases[i].command);
		sync_both(w);
		if (w->report.failed || w->report.added != cases[i].added ||
		    w->report.changed != cases[i].changed || w->report.removed != cases[i].removed)
			fail_msg("%s: %u added, %u changed, %u removed, %u failed:\n%s%s",
				 cases[i].command, w->report.added, w->report.changed,
				 w->report.removed, w->report.failed, w->log, w->report.faults[0]);
		assert_int_equal(world_n_changes, cases[i].n_requests);
		expect_all(w);
		expect_quiet(w, sync_routes_add, sync_routes_remove);
	}
	world_free(w);
}

/* A device that was down has lost its routes, and one that is away keeps none. */
static void test_device_away(void **state)
{
	struct world *w = synced_world();

	(void)state;
	run("ip link set dev sealane0 down && ip link set dev sealane0 up");
	pass(w, sync_addresses_add);
	sync_both(w);
	assert_int_equal(w->report.failed, 0);
	expect_all(w);

	run("ip link del dev ov0");
	expect_quiet(w, sync_routes_add, sync_routes_remove);
	expect_lane_routes(w);
	expect_closed_overlay(w);
	expect_n_routes(w, 2 * N_LANE + N_OVERLAY + N_OWN);

	run("ip link del dev sealane0");
	expect_quiet(w, sync_routes_add, sync_routes_remove);
	expect_closed(w, "10.10.0.2/32");
	expect_closed_overlay(w);
	expect_n_routes(w, N_LANE + N_OVERLAY + N_OWN);
	world_free(w);
}

/* Nothing of ours leads by a device that only has the name. */
static void test_foreign_device(void **state)
{
	struct world *w = route_world(CONFIG_VXLAN);

	(void)state;
	run("ip link set dev ov0 alias mine");
	sync_both(w);
	expect_did(w, 2 * N_LANE + N_OVERLAY + N_OWN, 0, 0);
	expect_closed_overlay(w);
	expect_no_route(w, "10.244.2.0/24", 0);
	world_free(w);
}

static void test_foreign_left_alone(void **state)
{
	static const char *const commands[] = {
		"ip route add 10.97.0.0/16 dev ov0",
		"ip route add 10.97.1.0/24 dev ov0 protocol static",
		"ip route add 10.97.2.0/24 dev ov0 protocol 77",
		"ip route add 10.244.2.0/24 dev ov0 metric 7",
		"ip -6 route add fd97::/64 dev ov0",
	};
	struct world *w = synced_world();

	(void)state;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		run("%s", commands[i]);
	expect_quiet(w, sync_routes_add, sync_routes_remove);
	w->desired.n_overlays = 0;
	w->desired.n_peers = 0;
	sync_both(w);
	expect_did(w, 0, 0, N_ALL);
	expect_n_routes(w, 0);
	expect(w, show4, "10.97.0.0/16 dev ov0");
	expect(w, show4, "10.97.1.0/24 dev ov0");
	expect(w, show4, "10.97.2.0/24 dev ov0");
	expect(w, show4, "10.244.2.0/24 dev ov0");
	expect(w, show6, "fd97::/64 dev ov0");
	/* The kernel's own, too: the network of ov0's address. */
	expect(w, show4, "10.20.0.0/24 dev ov0");
	world_free(w);
}

/* To put ours would replace a foreign one of the same prefix and metric. */
static void test_foreign_in_the_way(void **state)
{
	static const struct {
		const char *command, *show, *text;
	} cases[] = {
		{"ip route add 10.244.2.0/24 dev lo protocol static", show4,
		 "10.244.2.0/24 dev lo"},
		{"ip route add 10.244.2.0/24 dev lo", show4, "10.244.2.0/24 dev lo"},
		{"ip route add unreachable 10.244.2.0/24", show4, "unreachable 10.244.2.0/24"},
		{"ip route add blackhole 10.244.2.0/24", show4, "blackhole 10.244.2.0/24"},
		{"ip route add 10.244.2.0/24 dev lo protocol 199", show4,
		 "10.244.2.0/24 dev lo proto 199"},
		{"ip -6 route add fd44:2::/64 dev lo", show6, "fd44:2::/64 dev lo"},
		{"ip -6 route add fd44:2::/64 via fd20::9 dev ov0", show6,
		 "fd44:2::/64 via fd20::9 dev ov0"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct world *w = route_world(CONFIG_PORT);

		run("%s", cases[i].command);
		sync_both(w);
		assert_int_equal(w->report.failed, 1);
		expect_fault(w, "is there and not ours");
		assert_int_equal(w->report.added, N_ALL - 1);
		expect(w, cases[i].show, cases[i].text);

		pass(w, sync_routes_add);
		assert_int_equal(w->report.failed, 1);
		assert_int_equal(world_n_changes, 0);
		world_free(w);
	}
}

/* Somebody else made the very route. */
static void test_foreign_accepted(void **state)
{
	struct world *w = route_world(CONFIG_PORT);

	(void)state;
	run("ip route add 10.244.2.0/24 via 10.20.0.2 dev ov0 onlink src 10.20.0.1");
	run("ip -6 route add fd44:2::/64 via fd20::2 dev ov0 onlink src fd20::1");
	sync_both(w);
	expect_did(w, N_ALL - 2, 0, 0);
	expect_quiet(w, sync_routes_add, sync_routes_remove);
	world_free(w);
}

static void test_refused(void **state)
{
	struct world *w = route_world(CONFIG_PORT);

	(void)state;
	run("ip addr flush dev ov0 && ip link set dev ov0 down");
	sync_both(w);
	assert_int_equal(w->report.failed, N_OVERLAY);
	assert_int_equal(w->report.added, N_ALL - N_OVERLAY);
	expect_fault(w, "route 10.244.2.0/24 via 10.20.0.2 dev ov0: ");
	expect_closed_overlay(w);
	world_free(w);
}

/* Many */

enum { N_MANY = 1000 };

struct crowd {
	struct desired_station stations[N_MANY];
	struct desired_peer peers[N_MANY];
	struct ip_addr addresses[N_MANY];
	struct ip_prefix routes[N_MANY], allowed[N_MANY];
};

static struct crowd *make_crowd(struct world *w)
{
	struct crowd *crowd = calloc(1, sizeof(*crowd));

	assert_non_null(crowd);
	for (unsigned i = 0; i < N_MANY; i++) {
		const uint8_t high = (uint8_t)(i / 250), low = (uint8_t)(2 + i % 250);

		crowd->addresses[i] = (struct ip_addr){.len = 4, .bytes = {10, 20, high, low}};
		crowd->allowed[i] = (struct ip_prefix){
			.addr = {.len = 4, .bytes = {10, 10, high, low}}, .len = 32};
		crowd->routes[i] = (struct ip_prefix){
			.addr = {.len = 4, .bytes = {100, high, low, 0}}, .len = 24};
		crowd->peers[i] = (struct desired_peer){
			.member = &w->members[0], .allowed = &crowd->allowed[i], .n_allowed = 1};
		crowd->stations[i] = (struct desired_station){
			.member = &w->members[0],
			.vtep = crowd->allowed[i].addr,
			.mac = {2, 0, 0, 1, high, low},
			.addresses = &crowd->addresses[i],
			.n_addresses = 1,
			.routes = &crowd->routes[i],
			.n_routes = 1,
		};
	}
	w->desired_overlay.stations = crowd->stations;
	w->desired_overlay.n_stations = N_MANY;
	w->desired.peers = crowd->peers;
	w->desired.n_peers = N_MANY;
	return crowd;
}

static void test_many(void **state)
{
	struct world *w = route_world(CONFIG_PORT);
	struct crowd *crowd = make_crowd(w);
	struct timespec begin, end;

	(void)state;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	sync_both(w);
	clock_gettime(CLOCK_MONOTONIC, &end);
	print_message("%d stations: %ld ms\n", N_MANY,
		      (end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000);
	expect_did(w, 4 * N_MANY + N_OWN, 0, 0);
	expect_n_routes(w, 4 * N_MANY + N_OWN);
	expect_quiet(w, sync_routes_add, sync_routes_remove);

	w->desired_overlay.n_stations = 0;
	w->desired.n_peers = 0;
	sync_both(w);
	expect_did(w, 0, 0, 4 * N_MANY);
	expect_n_routes(w, N_OWN);
	free(crowd);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_port),
		cmocka_unit_test(test_changed_behind_back),
		cmocka_unit_test(test_device_away),
		cmocka_unit_test(test_foreign_device),
		cmocka_unit_test(test_foreign_left_alone),
		cmocka_unit_test(test_foreign_in_the_way),
		cmocka_unit_test(test_foreign_accepted),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
