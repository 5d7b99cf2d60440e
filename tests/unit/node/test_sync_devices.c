/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/sync.h"

#include "sync_world.h"

#include "overlay/bigtcp.h"

static const char show_ov0[] = "ip -d link show dev ov0";
static const char show_lane[] = "ip link show dev sealane0";

static void sync_both(struct world *w)
{
	pass(w, sync_devices_add);
	sync_devices_remove(w->nl, &w->desired, &w->report);
}

static void test_lane(void **state)
{
	struct world *w = world_new(CONFIG_PORT);

	(void)state;
	w->desired.n_overlays = 0;
	sync_both(w);
	expect_did(w, 0, 3, 0); /* mark, MTU, up */
	expect(w, show_lane, ",UP");
	expect(w, show_lane, "mtu 1420");
	expect(w, show_lane, "alias sealane lane sealane0\n");
	expect_quiet(w, sync_devices_add, sync_devices_remove);

	run("ip link set dev sealane0 mtu 1300 down");
	sync_both(w);
	expect_did(w, 0, 2, 0);
	expect(w, show_lane, ",UP");
	expect(w, show_lane, "mtu 1420");
	world_free(w);
}

/* By a release that knew no other mark. */
static void test_lane_of_old_mark(void **state)
{
	struct world *w = world_new(CONFIG_PORT);

	(void)state;
	w->desired.n_overlays = 0;
	run("ip link set dev sealane0 alias sealane");
	sync_both(w);
	expect_did(w, 0, 3, 0);
	expect(w, show_lane, "alias sealane lane sealane0\n");
	run("ip link set dev sealane0 alias 'sealane of mine'");
	expect_quiet(w, sync_devices_add, sync_devices_remove);
	world_free(w);
}

static void test_lane_alias_of_others(void **state)
{
	struct world *w = world_new(CONFIG_PORT);

	(void)state;
	w->desired.n_overlays = 0;
	run("ip link set dev sealane0 alias mine");
	sync_both(w);
	expect_did(w, 0, 2, 0);
	expect(w, show_lane, "alias mine");
	expect_quiet(w, sync_devices_add, sync_devices_remove);
	world_free(w);
}

/* Somebody else's devices of these names: no mark, MTU, address or route is put on
 * them, and so no clean-up takes them away. */
static void test_foreign_devices(void **state)
{
	struct world *w = world_new(CONFIG_PORT);

	(void)state;
	run("ip link delete dev sealane0");
	run("ip link add sealane0 type bridge");
	run("ip link add ov0 type bridge");
	run("ip link set dev ov0 up");
	sync_both(w);
	assert_int_equal(w->report.failed, 2);
	expect_fault(w, "sealane0: a device of this name is there and not ours (bridge)");
	pass(w, sync_addresses_add);
	pass(w, sync_stations_add);
	pass(w, sync_routes_add);
	expect(w, show_lane, "mtu 1500");
	expect_not(w, show_lane, "alias");
	expect_not(w, show_lane, ",UP");
	expect(w, show_ov0, "mtu 1500");
	expect_not(w, "ip -o address show dev sealane0", "scope global");
	expect_not(w, "ip -o address show dev ov0", "scope global");
	expect_not(w, "ip -4 route show", "dev ov0");
	expect_not(w, "ip -4 route show", "dev sealane0");
	world_free(w);
}

static void test_lane_away(void **state)
{
	struct world *w = world_new(CONFIG_VXLAN);

	(void)state;
	strcpy(w->config.lane.interface, "nosuch0");
	sync_both(w);
	expect_fault(w, "nosuch0");
	assert_int_equal(w->report.failed, 1);
	expect_not(w, show_ov0, "ov0");
	assert_int_equal(world_n_changes, 0);
	world_free(w);
}

/* What the lane makes is not missed while there is none: it comes by itself. */
static void test_lane_awaited(void **state)
{
	static const enum config_type types[] = {CONFIG_PORT, CONFIG_VXLAN};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct world *w = world_new(types[i]);

		strcpy(w->config.lane.interface, "nosuch0");
		fresh_report(w);
		w->report.lane_away = true;
		sync_devices_make_way(w->nl, &w->desired, &w->report);
		sync_devices_add(w->nl, &w->desired, &w->report);
		sync_devices_remove(w->nl, &w->desired, &w->report);
		expect_did(w, 0, 0, 0);
		assert_int_equal(w->report.awaited, 1);
		assert_string_equal(w->log, "");
		assert_int_equal(world_n_changes, 0);
		world_free(w);
	}
}

/* Somebody else's device of its name is no matter of waiting. */
static void test_lane_awaited_in_vain(void **state)
{
	struct world *w = world_new(CONFIG_PORT);

	(void)state;
	run("ip link delete dev sealane0");
	run("ip link add sealane0 type bridge");
	fresh_report(w);
	w->report.lane_away = true;
	sync_devices_add(w->nl, &w->desired, &w->report);
	expect_fault(w, "not ours (bridge)");
	assert_int_equal(w->report.awaited, 0);
	world_free(w);
}

static void sync_both_with_vxlan(struct world *w)
{
	sync_both(w);
	if (w->report.failed == 1 && strstr(w->report.faults[0], "CONFIG_VXLAN")) {
		world_free(w);
		print_message("skipped: this kernel has no VXLAN\n");
		skip();
		return;
	}
	if (w->report.failed)
		fail_msg("%s", w->report.faults[0]);
}

/* The first pass makes ov0, a VXLAN device. */
static struct world *vxlan_world(void)
{
	struct world *w = world_new(CONFIG_VXLAN);

	sync_both_with_vxlan(w);
	return w;
}

static void expect_vxlan(struct world *w)
{
	static const char *const texts[] = {
		"vxlan id 42 local 10.10.0.1 dev sealane0",
		"dstport 4789",
		"nolearning",
		"ttl 64",
		"noudpcsum",
		"mtu 1370",
		",UP",
		"link/ether 02:00:00:00:00:01",
		"alias sealane",
		"gso_max_size 65536",
		"gro_max_size 65536",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		expect(w, show_ov0, texts[i]);
}

static void test_vxlan(void **state)
{
	struct world *w = vxlan_world();

	(void)state;
	assert_int_equal(w->report.added, 1);
	expect_vxlan(w);
	expect_quiet(w, sync_devices_add, sync_devices_remove);
	world_free(w);
}

static void test_vxlan_over_ipv6(void **state)
{
	struct world *w = world_new(CONFIG_VXLAN);

	(void)state;
	w->desired_overlay.vtep = addr("fd10::1");
	w->desired_overlay.csum = true;
	w->desired_overlay.mtu = 1350; /* 20 bytes more outside */
	w->overlay.outer6 = true;
	sync_both_with_vxlan(w);
	expect(w, show_ov0, "local fd10::1");
	expect(w, show_ov0, " udpcsum");
	expect_quiet(w, sync_devices_add, sync_devices_remove);
	world_free(w);
}

/* What can be changed in place is, and the device stays the same one. */
static void test_vxlan_changed_in_place(void **state)
{
	static const char *const commands[] = {
		"ip link set dev ov0 mtu 1200",
		"ip link set dev ov0 address 02:00:00:00:00:99",
		"ip link set dev ov0 down",
		"ip link set dev ov0 gso_max_size 30000",
		"ip link set dev ov0 gro_max_size 30000",
	};
	struct world *w = vxlan_world();
	const unsigned ifindex = if_nametoindex("ov0");

	(void)state;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		run("%s", commands[i]);
		sync_both(w);
		expect_did(w, 0, 1, 0);
		expect_vxlan(w);
		assert_int_equal(if_nametoindex("ov0"), ifindex);
		expect_quiet(w, sync_devices_add, sync_devices_remove);
	}
	world_free(w);
}

static void test_vxlan_gone(void **state)
{
	struct world *w = vxlan_world();

	(void)state;
	run("ip link del dev ov0");
	sync_both(w);
	assert_int_equal(w->report.failed, 0);
	assert_int_equal(w->report.added, 1);
	expect_vxlan(w);
	world_free(w);
}

#define UNSUMMED "noudpcsum udp6zerocsumtx udp6zerocsumrx"
#define PLAIN	 UNSUMMED " nolearning"

/* What cannot be changed in place: somebody made it anew, marked as ours. */
static void test_vxlan_differs(void **state)
{
	static const struct {
		const char *options;
		const char *want_why;
	} cases[] = {
		{"vxlan id 7 dstport 4789 local 10.10.0.1 dev sealane0 ttl 64 " PLAIN,
		 "vni 7, not 42"},
		{"vxlan id 42 dstport 8472 local 10.10.0.1 dev sealane0 ttl 64 " PLAIN,
		 "port 8472, not 4789"},
		{"vxlan id 42 dstport 4789 local 10.10.0.9 dev sealane0 ttl 64 " PLAIN,
		 "local 10.10.0.9, not 10.10.0.1"},
		{"vxlan id 42 dstport 4789 local 10.10.0.1 dev sealane0 ttl 64 " UNSUMMED
		 " learning",
		 "learning"},
	};
	struct world *w = vxlan_world();

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		run("ip link del dev ov0 && ip link add ov0 type %s && "
		    "ip link set dev ov0 alias sealane",
		    cases[i].options);
		sync_both(w);
		assert_int_equal(w->report.failed, 0);
		if (!strstr(w->log, cases[i].want_why))
			fail_msg("no \"%s\" in the log:\n%s", cases[i].want_why, w->log);
		expect_vxlan(w);
		expect_quiet(w, sync_devices_add, sync_devices_remove);
	}
	world_free(w);
}

/* A device of the same name, even of the same kind, without our mark. */
static void test_foreign_name(void **state)
{
	static const char *const types[] = {
		"vxlan id 7 dstport 8472",
		"veth peer name ov0x",
	};
	struct world *w = vxlan_world();
	unsigned ifindex;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		run("ip link del dev ov0 && ip link add ov0 type %s", types[i]);
		ifindex = if_nametoindex("ov0");
		sync_both(w);
		expect_fault(w, "ov0: a device of this name is there and not ours");
		assert_int_equal(w->report.failed, 1);
		assert_int_equal(world_n_changes, 0);
		assert_int_equal(if_nametoindex("ov0"), ifindex);
		expect_not(w, show_ov0, ",UP");
		expect_not(w, show_ov0, "alias");
	}
	world_free(w);
}

/* Somebody took the mark off it; or another device has its name, or says whose it is. */
static void test_lost_mark(void **state)
{
	static const char cure[] = "not ours; if it was, `ip link set dev ov0 alias sealane` makes "
				   "it so again";
	struct world *w = vxlan_world();
	unsigned ifindex = if_nametoindex("ov0");

	(void)state;
	run("ip link set dev ov0 alias ''");
	sync_both(w);
	expect_did(w, 0, 1, 0);
	expect(w, show_ov0, "alias sealane\n");
	assert_int_equal(if_nametoindex("ov0"), ifindex);
	expect_quiet(w, sync_devices_add, sync_devices_remove);

	run("ip link set dev ov0 alias mine");
	sync_both(w);
	expect_fault(w, cure);
	expect(w, show_ov0, "alias mine\n");
	run("ip link set dev ov0 alias '' && ip link set dev ov0 address 02:00:00:00:00:99");
	sync_both(w);
	expect_fault(w, cure);
	expect(w, show_ov0, "02:00:00:00:00:99");
	run("ip link set dev ov0 alias sealane");
	sync_both(w);
	expect_did(w, 0, 1, 0); /* the MAC */
	world_free(w);
}

static void test_superpacket_limit(void **state)
{
	struct world *w = world_new(CONFIG_VXLAN);

	(void)state;
	w->overlay.gso_max_size = 40000;
	sync_both_with_vxlan(w);
	expect(w, show_ov0, "gso_max_size 40000");
	expect(w, show_ov0, "gro_max_size 40000");
	expect_quiet(w, sync_devices_add, sync_devices_remove);

	/* More than is known to work is cut to that: the lane's device is a TUN. */
	w->overlay.gso_max_size = 196608;
	sync_both(w);
	expect_did(w, 0, 1, 0);
	expect(w, show_ov0, "gso_max_size 65536");
	expect_quiet(w, sync_devices_add, sync_devices_remove);
	world_free(w);
}

/* The kernel has the type, and then makes it; or else the fault names the option. */
static void test_other_types(void **state)
{
	static const struct {
		enum config_type type;
		const char *name, *option;
	} cases[] = {
		{CONFIG_GENEVE, "geneve", "CONFIG_GENEVE"},
		{CONFIG_BAREUDP, "bareudp", "CONFIG_BAREUDP"},
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct world *w = world_new(cases[i].type);

		w->overlay.udp_port = 6081;
		sync_both(w);
		if (w->report.failed) {
			assert_int_equal(w->report.failed, 1);
			expect_fault(w, cases[i].option);
			expect_fault(w, "`type: port`");
			expect_not(w, show_ov0, "ov0");
		} else {
			expect(w, show_ov0, cases[i].name);
			expect(w, show_ov0, "mtu 1370");
			expect(w, show_ov0, ",UP");
			expect_quiet(w, sync_devices_add, sync_devices_remove);
		}
		world_free(w);
	}
}

static void test_port(void **state)
{
	struct world *w = world_new(CONFIG_PORT);

	(void)state;
	make_port(w);
	sync_both(w);
	expect_did(w, 0, 6, 0); /* three of the lane's; MTU, MAC, up */
	expect(w, show_ov0, "mtu 1370");
	expect(w, show_ov0, ",UP");
	/* Its mark and the rest are the lane's business. */
	expect_not(w, show_ov0, "alias");
	expect_quiet(w, sync_devices_add, sync_devices_remove);

	run("ip link set dev ov0 address 02:00:00:00:00:99");
	sync_both(w);
	expect_did(w, 0, 1, 0);
	expect(w, show_ov0, "02:00:00:00:00:01");
	expect_quiet(w, sync_devices_add, sync_devices_remove);
	world_free(w);
}

/* The lane end's are the measure. */
static void test_port_sizes(void **state)
{
	static const char *const changes[] = {"gso_max_size 20000", "gro_max_size 20000",
					      "gso_max_size 9000 gro_max_size 9000"};
	struct world *w = world_new(CONFIG_PORT);
	struct bigtcp sizes;

	(void)state;
	make_port(w);
	run("ip link set dev ov0-lane gso_max_size 40000 gro_max_size 40000");
	sync_both(w);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		run("ip link set dev ov0 %s", changes[i]);
		sync_both(w);
		expect_did(w, 0, 1, 0);
		assert_int_equal(bigtcp_get(w->nl, (int)if_nametoindex("ov0"), &sizes), 0);
		assert_int_equal(sizes.gso_max_size, 40000);
		assert_int_equal(sizes.gro_max_size, 40000);
		expect_quiet(w, sync_devices_add, sync_devices_remove);
	}
	world_free(w);
}

static void test_port_elsewhere(void **state)
{
	struct world *w = world_new(CONFIG_PORT);

	(void)state;
	sync_both(w);
	expect_did(w, 0, 3, 0);
	if (!strstr(w->log, "not in this network namespace: device ov0"))
		fail_msg("not told: %s", w->log);
	world_free(w);
}

static void test_removal(void **state)
{
	struct world *w = vxlan_world();

	(void)state;
	run("ip link add other0 type vxlan id 9 dstport 8472");
	run("ip link add ours0 type vxlan id 10 dstport 8473");
	run("ip link set dev ours0 alias sealane");
	/* Ours, but no tunnel device of the kernel: the lane's. */
	run("ip link add port0 type veth peer name port0x");
	run("ip link set dev port0 alias sealane");
	sync_both(w);
	expect_did(w, 0, 0, 1);
	assert_int_equal(if_nametoindex("ours0"), 0);
	assert_int_not_equal(if_nametoindex("other0"), 0);
	assert_int_not_equal(if_nametoindex("port0"), 0);
	assert_int_not_equal(if_nametoindex("sealane0"), 0);
	assert_int_not_equal(if_nametoindex("ov0"), 0);

	w->desired.n_overlays = 0;
	pass(w, sync_devices_add);
	expect_did(w, 0, 0, 0);
	assert_int_not_equal(if_nametoindex("ov0"), 0);
	sync_devices_remove(w->nl, &w->desired, &w->report);
	expect_did(w, 0, 0, 1);
	assert_int_equal(if_nametoindex("ov0"), 0);
	world_free(w);
}

/* A VXLAN device whose overlay has become a port makes room for the port's. */
static void test_becomes_port(void **state)
{
	struct world *w = vxlan_world();

	(void)state;
	w->overlay.type = CONFIG_PORT;
	pass(w, sync_devices_remove);
	expect_did(w, 0, 0, 1);
	assert_int_equal(if_nametoindex("ov0"), 0);
	world_free(w);
}

/* ... and before the lane is asked for it. */
static void test_makes_way_for_port(void **state)
{
	struct world *w = vxlan_world();

	(void)state;
	pass(w, sync_devices_make_way);
	expect_did(w, 0, 0, 0);
	w->overlay.type = CONFIG_PORT;
	pass(w, sync_devices_make_way);
	expect_did(w, 0, 0, 1);
	assert_int_equal(if_nametoindex("ov0"), 0);
	pass(w, sync_devices_make_way);
	expect_did(w, 0, 0, 0);
	world_free(w);
}

static void make_way_and_sync(struct world *w)
{
	pass(w, sync_devices_make_way);
	sync_devices_add(w->nl, &w->desired, &w->report);
	sync_devices_remove(w->nl, &w->desired, &w->report);
}

/* Two VXLAN overlays, ov0 with VNI 42 and ov1 with 43. */
struct two {
	struct config_overlay configs[2];
	struct desired_overlay overlays[2];
};

static struct world *world_of_two(struct two *two)
{
	struct world *w = vxlan_world();

	for (int i = 0; i < 2; i++) {
		two->configs[i] = w->overlay;
		two->overlays[i] = w->desired_overlay;
		two->overlays[i].config = &two->configs[i];
	}
	strcpy(two->configs[1].name, "ov1");
	two->configs[1].vni = 43;
	two->overlays[1].mac[5] = 9;
	w->config.overlays = two->configs;
	w->config.n_overlays = w->desired.n_overlays = 2;
	w->desired.overlays = two->overlays;
	make_way_and_sync(w);
	assert_int_equal(w->report.failed, 0);
	expect(w, "ip -d link show dev ov1", "vxlan id 43");
	return w;
}

static void expect_two(struct world *w)
{
	expect(w, "ip -d link show dev ov0", "vxlan id 43");
	expect(w, "ip -d link show dev ov1", "vxlan id 42");
	make_way_and_sync(w);
	expect_did(w, 0, 0, 0);
	if (world_n_changes)
		fail_msg("%u requests for changes", world_n_changes);
}

/* Neither can be made while the other has what it is to have. */
static void test_two_change_places(void **state)
{
	struct two two;
	struct world *w = world_of_two(&two);

	(void)state;
	two.configs[0].vni = 43;
	two.configs[1].vni = 42;
	make_way_and_sync(w);
	assert_int_equal(w->report.failed, 0);
	expect_two(w);
	world_free(w);
}

/* One that is no more, and another that has its VNI now. */
static void test_successor(void **state)
{
	struct two two;
	struct world *w = world_of_two(&two);

	(void)state;
	strcpy(two.configs[0].name, "ov7");
	two.configs[0].vni = 42;
	two.overlays[0].mac[5] = 7; /* not the old one under a new name */
	two.configs[0].ttl = 9;
	make_way_and_sync(w);
	assert_int_equal(w->report.failed, 0);
	assert_int_equal(if_nametoindex("ov0"), 0);
	expect(w, "ip -d link show dev ov7", "vxlan id 42");
	world_free(w);
}

/* Two that cannot be together: the one that is there stays, or they would take turns. */
static void test_no_way_between_equals(void **state)
{
	struct two two;
	struct world *w = world_of_two(&two);
	const unsigned first = if_nametoindex("ov0");

	(void)state;
	two.configs[1].vni = 42;
	for (int i = 0; i < 2; i++) {
		make_way_and_sync(w);
		expect_fault(w, "device ov1: another device has UDP port 4789");
		assert_int_equal(if_nametoindex("ov0"), first);
	}
	world_free(w);
}

/* The pair that a lane which has ended left under the name of what is no port now. */
static void test_abandoned_pair(void **state)
{
	struct world *w = vxlan_world();

	(void)state;
	run("ip link delete dev ov0");
	make_port(w);
	run("ip link set dev ov0-lane alias 'sealane port ov9'");
	make_way_and_sync(w);
	expect_fault(w, "ov0: a device of this name is there and not ours");
	run("ip link set dev ov0-lane alias 'sealane port ov0'");
	make_way_and_sync(w);
	assert_int_equal(w->report.failed, 0);
	expect(w, show_ov0, "vxlan id 42");
	assert_int_equal(if_nametoindex("ov0-lane"), 0);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lane),
		cmocka_unit_test(test_lane_of_old_mark),
		cmocka_unit_test(test_lane_alias_of_others),
		cmocka_unit_test(test_foreign_devices),
		cmocka_unit_test(test_lane_away),
		cmocka_unit_test(test_lane_awaited),
		cmocka_unit_test(test_lane_awaited_in_vain),
		cmocka_unit_test(test_vxlan),
		cmocka_unit_test(test_vxlan_over_ipv6),
		cmocka_unit_test(test_vxlan_changed_in_place),
		cmocka_unit_test(test_vxlan_gone),
		cmocka_unit_test(test_vxlan_differs),
		cmocka_unit_test(test_foreign_name),
		cmocka_unit_test(test_lost_mark),
		cmocka_unit_test(test_superpacket_limit),
		cmocka_unit_test(test_other_types),
		cmocka_unit_test(test_port),
		cmocka_unit_test(test_port_sizes),
		cmocka_unit_test(test_port_elsewhere),
		cmocka_unit_test(test_removal),
		cmocka_unit_test(test_becomes_port),
		cmocka_unit_test(test_makes_way_for_port),
		cmocka_unit_test(test_two_change_places),
		cmocka_unit_test(test_successor),
		cmocka_unit_test(test_no_way_between_equals),
		cmocka_unit_test(test_abandoned_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
