/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/sync.h"

#include <time.h>

#include "sync_world.h"

#include "overlay/neighbours.h"
#include "overlay/nl_batch.h"
#include "overlay/owner.h"

static const char show_neighbours[] = "ip neigh show dev ov0";
static const char show_fdb[] = "bridge fdb show dev ov0";

static void sync_both(struct world *w)
{
	pass(w, sync_stations_add);
	sync_stations_remove(w->nl, &w->desired, &w->report);
}

static void devices_and_addresses(struct world *w)
{
	pass(w, sync_devices_add);
	if (w->report.failed) {
		print_message("skipped: %s\n", w->report.faults[0]);
		world_free(w);
		skip();
	}
	pass(w, sync_addresses_add);
	assert_int_equal(w->report.failed, 0);
}

enum { N_NEIGHBOURS = 3, N_ENDS = 4 };

static struct world *vxlan_world(void)
{
	struct world *w = world_new(CONFIG_VXLAN);

	devices_and_addresses(w);
	sync_both(w);
	expect_did(w, N_NEIGHBOURS + N_ENDS, 0, 0);
	return w;
}

struct counts {
	unsigned n, n_ours;
};

static int count_end(const struct fdb_end *e, void *arg)
{
	struct counts *counts = arg;

	counts->n++;
	counts->n_ours += e->ours;
	return 0;
}

static int count_neighbour(const struct neighbour *n, void *arg)
{
	struct counts *counts = arg;

	counts->n++;
	counts->n_ours += n->protocol == OWNER_PROTOCOL;
	return 0;
}

/* The kernel has neighbours of its own, for groups: only ours are counted. */
static void expect_counts(struct world *w, unsigned n_neighbours, unsigned n_ends,
			  unsigned n_ours_ends)
{
	const int ifindex = (int)if_nametoindex("ov0");
	struct counts neighbours = {0}, ends = {0};

	assert_int_equal(neighbour_list(w->nl, ifindex, count_neighbour, &neighbours), 0);
	assert_int_equal(fdb_end_list(w->nl, ifindex, count_end, &ends), 0);
	assert_int_equal(neighbours.n_ours, n_neighbours);
	assert_int_equal(ends.n, n_ends);
	assert_int_equal(ends.n_ours, n_ours_ends);
}

static void expect_all(struct world *w)
{
	expect(w, show_neighbours, "10.20.0.2 lladdr 02:00:00:00:00:02 PERMANENT");
	expect(w, show_neighbours, "fd20::2 lladdr 02:00:00:00:00:02 PERMANENT");
	expect(w, show_neighbours, "fd20::3 lladdr 02:00:00:00:00:03 PERMANENT");
	expect(w, show_fdb, "02:00:00:00:00:02 dst 10.10.0.2 ");
	expect(w, show_fdb, "02:00:00:00:00:03 dst 10.10.0.3 ");
	expect(w, show_fdb, "00:00:00:00:00:00 dst 10.10.0.2 ");
	expect(w, show_fdb, "00:00:00:00:00:00 dst 10.10.0.3 ");
}

static void test_vxlan(void **state)
{
	struct world *w = vxlan_world();

	(void)state;
	expect_all(w);
	expect_counts(w, N_NEIGHBOURS, N_ENDS, N_ENDS);
	expect_quiet(w, sync_stations_add, sync_stations_remove);
	world_free(w);
}

/* What others did to ours: it is as it should be after one pass. */
static void test_changed_behind_back(void **state)
{
	static const struct {
		const char *command;
		unsigned added, changed, removed, requests;
	} cases[] = {
		{"ip neigh del 10.20.0.2 dev ov0", 1, 0, 0, 1},
		{"ip neigh del fd20::3 dev ov0", 1, 0, 0, 1},
		{"ip neigh replace 10.20.0.2 lladdr 02:00:00:00:00:99 dev ov0", 0, 1, 0, 1},
		{"ip neigh replace fd20::2 lladdr 02:00:00:00:00:02 nud stale dev ov0", 0, 1, 0, 1},
		{"ip neigh replace fd20::2 lladdr 02:00:00:00:00:02 protocol 77 dev ov0", 0, 1, 0,
		 1},
		{"bridge fdb del 02:00:00:00:00:02 dev ov0", 1, 0, 0, 1},
		{"bridge fdb del 00:00:00:00:00:00 dev ov0 dst 10.10.0.3", 1, 0, 0, 1},
		{"bridge fdb replace 02:00:00:00:00:02 dev ov0 dst 10.10.0.9 extern_learn", 0, 1, 0,
		 1},
		{"bridge fdb append 00:00:00:00:00:00 dev ov0 dst 10.10.0.9 extern_learn", 0, 0, 1,
		 1},
		{"bridge fdb add 02:00:00:00:00:77 dev ov0 dst 10.10.0.2 extern_learn", 0, 0, 1, 1},
		/* Each takes our mark away: all ends of the MAC go, and come again. */
		{"bridge fdb append 02:00:00:00:00:02 dev ov0 dst 10.10.0.9", 0, 1, 0, 2},
		{"bridge fdb replace 02:00:00:00:00:02 dev ov0 dst 10.10.0.2", 0, 1, 0, 2},
		{"bridge fdb replace 02:00:00:00:00:02 dev ov0 dst 10.10.0.9", 0, 1, 0, 2},
		{"bridge fdb append 00:00:00:00:00:00 dev ov0 dst 10.10.0.3", 0, 2, 0, 4},
		{"bridge fdb append 00:00:00:00:00:00 dev ov0 dst 10.10.0.9", 0, 2, 1, 5},
		{"bridge fdb append 00:00:00:00:00:00 dev ov0 dst 10.10.0.9;"
		 "bridge fdb del 00:00:00:00:00:00 dev ov0 dst 10.10.0.2",
		 1, 1, 1, 4},
		{"ip neigh add 10.20.0.77 lladdr 02:00:00:00:00:02 protocol 94 dev ov0", 0, 0, 1,
		 1},
		{"ip neigh add fd20::77 lladdr 02:00:00:00:00:02 protocol 94 dev ov0", 0, 0, 1, 1},
	};
	struct world *w = vxlan_world();

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		run("%s", cases[i].command);
		sync_both(w);
		if (w->report.failed || w->report.added != cases[i].added ||
		    w->report.changed != cases[i].changed || w->report.removed != cases[i].removed)
			fail_msg("%s: %u added, %u changed, %u removed, %u failed:\n%s%s",
				 cases[i].command, w->report.added, w->report.changed,
				 w->report.removed, w->report.failed, w->log, w->report.faults[0]);
		assert_int_equal(world_n_changes, cases[i].requests); /* in one go */
		expect_all(w);
		expect_counts(w, N_NEIGHBOURS, N_ENDS, N_ENDS);
		expect_quiet(w, sync_stations_add, sync_stations_remove);
	}
	world_free(w);
}

static void test_foreign_left_alone(void **state)
{
	struct world *w = vxlan_world();

	(void)state;
	run("ip neigh add 10.20.0.88 lladdr 02:00:00:00:00:88 dev ov0");
	run("ip neigh add fd20::88 lladdr 02:00:00:00:00:88 protocol 77 dev ov0");
	run("bridge fdb add 02:00:00:00:00:88 dev ov0 dst 10.10.0.8");
	/* Ours by the mark, but on a device that is no overlay's. */
	run("ip link add other0 type veth peer name other1 && ip link set dev other0 up");
	run("ip neigh add 10.20.0.89 lladdr 02:00:00:00:00:89 protocol 94 dev other0");
	expect_quiet(w, sync_stations_add, sync_stations_remove);
	expect_counts(w, N_NEIGHBOURS, N_ENDS + 1, N_ENDS);
	expect(w, show_neighbours, "10.20.0.88 lladdr 02:00:00:00:00:88 PERMANENT");
	expect(w, show_neighbours, "fd20::88 lladdr 02:00:00:00:00:88 ");
	expect(w, show_fdb, "02:00:00:00:00:88 dst 10.10.0.8 ");
	expect(w, "ip neigh show dev other0", "10.20.0.89");
	world_free(w);
}

/* Others' entries for what we want give way, right ones too: without our mark they would
 * stay for good. */
static void test_foreign_in_the_way(void **state)
{
	struct world *w = world_new(CONFIG_VXLAN);

	(void)state;
	devices_and_addresses(w);
	run("bridge fdb add 02:00:00:00:00:02 dev ov0 dst 10.10.0.2");
	run("bridge fdb add 02:00:00:00:00:03 dev ov0 dst 10.10.0.9");
	run("ip neigh add 10.20.0.2 lladdr 02:00:00:00:00:99 dev ov0");
	run("ip neigh add fd20::3 lladdr 02:00:00:00:00:03 dev ov0");
	sync_both(w);
	/* fd20::2 and the flooding list were not there; four entries give way. */
	expect_did(w, 3, 4, 0);
	expect_all(w);
	expect_counts(w, N_NEIGHBOURS, N_ENDS, N_ENDS);
	expect_quiet(w, sync_stations_add, sync_stations_remove);
	world_free(w);
}

static void test_station_leaves(void **state)
{
	struct world *w = vxlan_world();

	(void)state;
	w->desired_overlay.n_stations = 1;
	pass(w, sync_stations_add);
	expect_did(w, 0, 0, 0);
	expect_all(w);
	sync_stations_remove(w->nl, &w->desired, &w->report);
	expect_did(w, 0, 0, 3);
	expect_not(w, show_neighbours, "fd20::3");
	expect_not(w, show_fdb, "10.10.0.3");
	expect_quiet(w, sync_stations_add, sync_stations_remove);
	world_free(w);
}

/* What was unmarked and marked again goes with its station. */
static void test_marked_again_leaves(void **state)
{
	struct world *w = vxlan_world();

	(void)state;
	run("bridge fdb append 00:00:00:00:00:00 dev ov0 dst 10.10.0.9");
	run("bridge fdb append 02:00:00:00:00:03 dev ov0 dst 10.10.0.9");
	sync_both(w);
	w->desired_overlay.n_stations = 1;
	sync_both(w);
	expect_did(w, 0, 0, 3);
	expect_not(w, show_fdb, "10.10.0.3");
	expect_not(w, show_fdb, "10.10.0.9");
	world_free(w);
}

/* Where we want no flooding list, it is whose it is. */
static void test_foreign_flooding(void **state)
{
	struct world *w = vxlan_world();

	(void)state;
	w->overlay.flood = false;
	sync_both(w);
	run("bridge fdb append 00:00:00:00:00:00 dev ov0 dst 10.10.0.9");
	expect_quiet(w, sync_stations_add, sync_stations_remove);
	expect(w, show_fdb, "00:00:00:00:00:00 dst 10.10.0.9 ");
	world_free(w);
}

static void test_no_flooding(void **state)
{
	struct world *w = vxlan_world();

	(void)state;
	w->overlay.flood = false;
	sync_both(w);
	expect_did(w, 0, 0, 2);
	expect_not(w, show_fdb, "00:00:00:00:00:00");
	expect_quiet(w, sync_stations_add, sync_stations_remove);
	world_free(w);
}

static void test_vtep_moves(void **state)
{
	struct world *w = vxlan_world();

	(void)state;
	w->stations[0].vtep = addr("10.10.0.7");
	sync_both(w);
	expect_did(w, 1, 1, 1); /* the flooding list by one and by one */
	expect(w, show_fdb, "02:00:00:00:00:02 dst 10.10.0.7 ");
	expect(w, show_fdb, "00:00:00:00:00:00 dst 10.10.0.7 ");
	expect_not(w, show_fdb, "10.10.0.2 ");
	expect_quiet(w, sync_stations_add, sync_stations_remove);
	world_free(w);
}

/* A port's forwarding database is in the lane. Geneve has none: its routes have it. */
static void test_neighbours_only(void **state)
{
	static const enum config_type types[] = {CONFIG_PORT, CONFIG_GENEVE};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct world *w = world_new(types[i]);

		make_port(w);
		run("ip link set dev ov0 up alias sealane");
		sync_both(w);
		expect_did(w, N_NEIGHBOURS, 0, 0);
		expect(w, show_neighbours, "10.20.0.2 lladdr 02:00:00:00:00:02 PERMANENT");
		expect_quiet(w, sync_stations_add, sync_stations_remove);
		world_free(w);
	}
}

/* Nothing: bare UDP has no MAC addresses, the others have no device of ours. */
static void test_nothing_to_do(void **state)
{
	static const struct {
		enum config_type type;
		const char *alias; /* of ov0; NULL: there is none */
	} cases[] = {
		{CONFIG_BAREUDP, "sealane"},
		{CONFIG_VXLAN, "mine"},
		{CONFIG_VXLAN, NULL},
		{CONFIG_PORT, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct world *w = world_new(cases[i].type);

		if (cases[i].alias) {
			make_port(w);
			run("ip link set dev ov0 up alias %s", cases[i].alias);
		}
		expect_quiet(w, sync_stations_add, sync_stations_remove);
		world_free(w);
	}
}

static void test_refused(void **state)
{
	struct world *w = world_new(CONFIG_PORT);

	(void)state;
	make_port(w);
	run("ip link set dev ov0 up");
	/* Below IPv6's least MTU a device has no IPv6. */
	run("ip link set dev ov0 mtu 1000");
	sync_both(w);
	assert_int_equal(w->report.failed, 2);
	assert_int_equal(w->report.added, 1);
	expect_fault(w, "neighbour fd20::2 at 02:00:00:00:00:02 dev ov0: ");
	expect(w, show_neighbours, "10.20.0.2 lladdr 02:00:00:00:00:02 PERMANENT");
	world_free(w);
}

/* Many */

enum { N_MANY = 1000 };

struct crowd {
	struct desired_station stations[N_MANY];
	struct ip_addr addresses[N_MANY];
};

static struct crowd *make_crowd(struct world *w)
{
	struct crowd *crowd = calloc(1, sizeof(*crowd));

	assert_non_null(crowd);
	for (unsigned i = 0; i < N_MANY; i++) {
		const uint8_t high = (uint8_t)(i / 250), low = (uint8_t)(2 + i % 250);

		crowd->addresses[i] = (struct ip_addr){.len = 4, .bytes = {10, 20, high, low}};
		crowd->stations[i] = (struct desired_station){
			.member = &w->members[0],
			.vtep = {.len = 4, .bytes = {10, 10, high, low}},
			.mac = {2, 0, 0, 1, high, low},
			.addresses = &crowd->addresses[i],
			.n_addresses = 1,
		};
	}
	w->own[0] = prefix("10.20.0.1/16");
	w->desired_overlay.stations = crowd->stations;
	w->desired_overlay.n_stations = N_MANY;
	return crowd;
}

static void test_many(void **state)
{
	struct world *w = world_new(CONFIG_VXLAN);
	struct crowd *crowd = make_crowd(w);
	struct timespec begin, end;

	(void)state;
	devices_and_addresses(w);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	sync_both(w);
	clock_gettime(CLOCK_MONOTONIC, &end);
	print_message("%d stations: %ld ms\n", N_MANY,
		      (end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000);
	expect_did(w, 3 * N_MANY, 0, 0);
	expect_counts(w, N_MANY, 2 * N_MANY, 2 * N_MANY);
	expect_quiet(w, sync_stations_add, sync_stations_remove);

	w->desired_overlay.n_stations = 0;
	sync_both(w);
	expect_did(w, 0, 0, 3 * N_MANY);
	expect_counts(w, 0, 0, 0);
	free(crowd);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vxlan),
		cmocka_unit_test(test_changed_behind_back),
		cmocka_unit_test(test_foreign_left_alone),
		cmocka_unit_test(test_foreign_in_the_way),
		cmocka_unit_test(test_station_leaves),
		cmocka_unit_test(test_marked_again_leaves),
		cmocka_unit_test(test_foreign_flooding),
		cmocka_unit_test(test_no_flooding),
		cmocka_unit_test(test_vtep_moves),
		cmocka_unit_test(test_neighbours_only),
		cmocka_unit_test(test_nothing_to_do),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
