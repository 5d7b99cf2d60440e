/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/sync.h"

#include "sync_world.h"

#include "agent/node/sync_kernel.h"

/* A lane's: it marks the lane end. */
static void make_marked_port(struct world *w)
{
	make_port(w);
	run("ip link set dev ov0-lane alias 'sealane port ov0'");
}

static void sync_all(struct world *w)
{
	pass(w, sync_names_keep);
	sync_devices_add(w->nl, &w->desired, &w->report);
	sync_devices_remove(w->nl, &w->desired, &w->report);
}

static void expect_renamed_back(struct world *w, unsigned ifindex)
{
	pass(w, sync_names_keep);
	expect_did(w, 0, 1, 0);
	assert_int_equal(if_nametoindex("ov0"), ifindex);
	assert_int_equal(if_nametoindex("foo"), 0);
	if (!strstr(w->log, "changed device ov0: its name, which was foo"))
		fail_msg("not told: %s", w->log);
}

static struct world *lane_world(void)
{
	struct world *w = world_new(CONFIG_PORT);

	w->desired.n_overlays = 0;
	run("ip link set dev sealane0 alias 'sealane lane sealane0'");
	return w;
}

static void test_lane(void **state)
{
	struct world *w = lane_world();
	const unsigned ifindex = if_nametoindex("sealane0");

	(void)state;
	pass(w, sync_names_keep);
	expect_did(w, 0, 0, 0);
	run("ip link set dev sealane0 down && ip link set dev sealane0 name foo");
	pass(w, sync_names_keep);
	expect_did(w, 0, 1, 0);
	assert_int_equal(if_nametoindex("sealane0"), ifindex);
	if (!strstr(w->log, "changed device sealane0: its name, which was foo"))
		fail_msg("not told: %s", w->log);
	world_free(w);
}

/* Another has its name by now, or it is another lane's. */
static void test_lane_name_taken(void **state)
{
	struct world *w = lane_world();
	int ifindex;

	(void)state;
	run("ip link set dev sealane0 down && ip link set dev sealane0 name foo && "
	    "ip link add sealane0 type bridge");
	pass(w, sync_names_keep);
	expect_fault(w, "device sealane0: somebody named it foo, and another device has its name: "
			"rename or delete that one");
	/* It serves under the name it has, and the other is left alone. */
	assert_int_equal(sync_ifindex(w->nl, "sealane0", &ifindex), 0);
	assert_int_equal(ifindex, (int)if_nametoindex("foo"));
	pass(w, sync_devices_add);
	assert_int_equal(w->report.failed, 0);
	expect(w, "ip link show dev foo", ",UP");
	expect_not(w, "ip link show dev sealane0", ",UP");
	run("ip link delete dev sealane0 && "
	    "ip link set dev foo alias 'sealane lane sealane00'");
	pass(w, sync_names_keep);
	expect_did(w, 0, 0, 0);
	assert_int_equal(w->report.failed, 0);
	assert_int_not_equal(if_nametoindex("foo"), 0);
	world_free(w);
}

static void test_port(void **state)
{
	struct world *w = world_new(CONFIG_PORT);
	unsigned ifindex;

	(void)state;
	make_marked_port(w);
	ifindex = if_nametoindex("ov0");
	pass(w, sync_names_keep);
	expect_did(w, 0, 0, 0);
	run("ip link set dev ov0 name foo");
	expect_renamed_back(w, ifindex);
	/* And while it is up, where the kernel lets that be. */
	run("ip link set dev ov0 name foo && ip link set dev foo up");
	expect_renamed_back(w, ifindex);
	expect(w, "ip link show dev ov0", ",UP");
	world_free(w);
}

/* Somebody took the name, be it with a device of the kind that a lane makes. It is not
 * touched; ours is found all the same. */
static void test_port_name_taken(void **state)
{
	static const char *const others[] = {"type bridge", "type veth peer name ov0x"};

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct world *w = world_new(CONFIG_PORT);
		unsigned ours;
		int ifindex;

		make_marked_port(w);
		ours = if_nametoindex("ov0");
		run("ip link set dev ov0 name foo && ip link add ov0 %s", others[i]);
		sync_all(w);
		expect_fault(w, "device ov0: somebody named it foo, and another device has its "
				"name");
		assert_int_equal(w->report.failed, 1);
		assert_int_equal(if_nametoindex("foo"), ours);
		assert_int_not_equal(if_nametoindex("ov0"), ours);
		expect(w, "ip link show dev ov0", "mtu 1500");
		expect_not(w, "ip link show dev ov0", ",UP");
		expect(w, "ip link show dev foo", "mtu 1370");
		assert_int_equal(sync_overlay_ifindex(w->nl, &w->desired_overlay, &ifindex), 0);
		assert_int_equal(ifindex, ours);
		pass(w, sync_addresses_add);
		expect(w, "ip -o address show dev foo", "10.20.0.1/24");
		expect_not(w, "ip -o address show dev ov0", "10.20.0.1/24");

		run("ip link del dev ov0");
		expect_renamed_back(w, ours);
		world_free(w);
	}
}

/* Into a network namespace that ends with us. */
static void move_away(const char *name)
{
	static const char here[] = "/proc/thread-self/ns/net";
	const int home = open(here, O_RDONLY | O_CLOEXEC);
	int away;

	assert_true(home >= 0);
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	away = open(here, O_RDONLY | O_CLOEXEC);
	assert_true(away >= 0);
	assert_int_equal(setns(home, CLONE_NEWNET), 0);
	run("ip link set dev %s netns /proc/%d/fd/%d", name, getpid(), away);
	close(home);
}

/* What has the mark of another port, or was moved away, is not ours to name. */
static void test_port_not_here(void **state)
{
	struct world *w = world_new(CONFIG_PORT);

	(void)state;
	make_marked_port(w);
	run("ip link set dev ov0-lane alias 'sealane port ov00'");
	run("ip link set dev ov0 name foo");
	pass(w, sync_names_keep);
	expect_did(w, 0, 0, 0);
	assert_int_not_equal(if_nametoindex("foo"), 0);
	run("ip link set dev ov0-lane alias 'sealane port ov0'");
	move_away("foo");
	pass(w, sync_names_keep);
	expect_did(w, 0, 0, 0);
	assert_int_equal(if_nametoindex("ov0"), 0);
	world_free(w);
}

static struct world *vxlan_world(void)
{
	struct world *w = world_new(CONFIG_VXLAN);

	sync_all(w);
	if (w->report.failed && strstr(w->report.faults[0], "CONFIG_VXLAN")) {
		world_free(w);
		print_message("skipped: this kernel has no VXLAN\n");
		skip(); /* does not return */
		return NULL;
	}
	assert_int_equal(w->report.failed, 0);
	return w;
}

static unsigned count_tunnels(struct world *w)
{
	const char *text = output(w, "ip -o link show type vxlan");
	unsigned n = 0;

	for (; (text = strchr(text, '\n')); text++)
		n++;
	return n;
}

static void test_vxlan(void **state)
{
	struct world *w = vxlan_world();
	const unsigned ifindex = if_nametoindex("ov0");

	(void)state;
	pass(w, sync_names_keep);
	expect_did(w, 0, 0, 0);
	run("ip link set dev ov0 down && ip link set dev ov0 name foo");
	expect_renamed_back(w, ifindex);
	sync_all(w);
	expect_did(w, 0, 1, 0); /* up */
	assert_int_equal(count_tunnels(w), 1);
	expect_quiet(w, sync_devices_add, sync_devices_remove);
	world_free(w);
}

/* One that differs besides is made again, and not a second one. */
static void test_vxlan_differs(void **state)
{
	struct world *w = vxlan_world();

	(void)state;
	run("ip link set dev ov0 down && ip link set dev ov0 name foo");
	w->overlay.udp_port = 8472;
	pass(w, sync_names_keep);
	expect_did(w, 0, 0, 0);
	sync_devices_make_way(w->nl, &w->desired, &w->report);
	sync_all(w);
	assert_int_equal(w->report.failed, 0);
	assert_int_equal(count_tunnels(w), 1);
	expect(w, "ip -d link show dev ov0", "dstport 8472");
	world_free(w);
}

/* Somebody else's of the same settings, or one that is another overlay's. */
static void test_vxlan_of_others(void **state)
{
	struct world *w = vxlan_world();

	(void)state;
	run("ip link set dev ov0 down && ip link set dev ov0 name foo && "
	    "ip link set dev foo alias mine");
	pass(w, sync_names_keep);
	expect_did(w, 0, 0, 0);
	assert_int_not_equal(if_nametoindex("foo"), 0);
	run("ip link set dev foo alias sealane && ip link add ov0 type bridge");
	pass(w, sync_names_keep);
	expect_did(w, 0, 0, 0);
	assert_int_not_equal(if_nametoindex("foo"), 0);
	world_free(w);
}

/* It has a name by which another overlay goes: that one's, to be made again. */
static void test_vxlan_named_as_another(void **state)
{
	struct world *w = vxlan_world();
	struct config_overlay config = w->overlay;
	struct desired_overlay both[2] = {w->desired_overlay, w->desired_overlay};

	(void)state;
	run("ip link set dev ov0 down && ip link set dev ov0 name foo");
	strcpy(config.name, "foo");
	config.vni = 43;
	both[1].config = &config;
	w->desired.overlays = both;
	w->desired.n_overlays = 2;
	pass(w, sync_names_keep);
	expect_did(w, 0, 0, 0);
	assert_int_not_equal(if_nametoindex("foo"), 0);
	world_free(w);
}

/* All of it, as a pass does it. */
static void test_first_of_all(void **state)
{
	struct world *w = vxlan_world();
	const unsigned ifindex = if_nametoindex("ov0");

	(void)state;
	run("ip link set dev ov0 down && ip link set dev ov0 name foo");
	pass(w, sync_devices_make_way);
	assert_int_equal(w->report.removed, 0);
	assert_int_equal(if_nametoindex("ov0"), ifindex);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lane),
		cmocka_unit_test(test_lane_name_taken),
		cmocka_unit_test(test_port),
		cmocka_unit_test(test_port_name_taken),
		cmocka_unit_test(test_port_not_here),
		cmocka_unit_test(test_vxlan),
		cmocka_unit_test(test_vxlan_differs),
		cmocka_unit_test(test_vxlan_of_others),
		cmocka_unit_test(test_vxlan_named_as_another),
		cmocka_unit_test(test_first_of_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
