/* SPDX-License-Identifier: Apache-2.0 */
/* What is told where a device takes no IPv6. */
#include "agent/node/sync_ipv6.h"

#include "sync_world.h"

static struct world *ipv6_world(void)
{
	struct world *w = world_new(CONFIG_PORT);

	if (access("/proc/sys/net/ipv6", F_OK) < 0) {
		world_free(w);
		print_message("skipped: needs IPv6\n");
		skip();
	}
	make_port(w);
	run("ip link set dev ov0 up mtu 1370 alias sealane");
	run("ip link set dev sealane0 up mtu 1420");
	return w;
}

static const char *why(const char *device, int err)
{
	static char buf[SYNC_IPV6_WHY_LEN];

	return sync_ipv6_why((int)if_nametoindex(device), err, buf);
}

#define MTU_OF_OV0                                                                                 \
	"the MTU of ov0 is 1230 and IPv6 needs 1280: raise lane.mtu, or the MTU of the ways to "   \
	"the peers, by 50"
#define OFF_ON_OV0 "IPv6 is off on ov0: write 0 to /proc/sys/net/ipv6/conf/ov0/disable_ipv6"

static void test_why(void **state)
{
	struct world *w = ipv6_world();

	(void)state;
	assert_string_equal(why("ov0", -EINVAL), "");
	assert_string_equal(why("ov0", -EACCES), "");
	assert_string_equal(why("none", -EINVAL), "");
	assert_string_equal(why("ov0", -EOPNOTSUPP),
			    "this kernel has IPv6 switched off (ipv6.disable=1) or has none");
	set_sysctl("/proc/sys/net/ipv6/conf/ov0/disable_ipv6", "1");
	assert_string_equal(why("ov0", -EACCES), OFF_ON_OV0);
	assert_string_equal(why("ov0", -EEXIST), "");
	run("ip link set dev ov0 mtu 1280");
	assert_string_equal(why("ov0", -EACCES), OFF_ON_OV0);
	run("ip link set dev ov0 mtu 1279");
	assert_non_null(strstr(why("ov0", -EINVAL), "is 1279 and IPv6 needs 1280"));
	assert_non_null(strstr(why("ov0", -ENODEV), ", by 1"));
	assert_string_equal(why("ov0", -ENOBUFS), "");
	world_free(w);
}

static void pass_all(struct world *w)
{
	fresh_report(w);
	sync_addresses_add(w->nl, &w->desired, &w->report);
	sync_stations_add(w->nl, &w->desired, &w->report);
	sync_routes_add(w->nl, &w->desired, &w->report);
}

/* Whatever the kernel calls it: an address, neighbours and a route are refused, each with
 * another error. IPv4 is not concerned. */
static void test_small_mtu(void **state)
{
	struct world *w = ipv6_world();

	(void)state;
	run("ip link set dev ov0 mtu 1230");
	pass_all(w);
	expect_fault(w, "address fd20::1/64 dev ov0: " MTU_OF_OV0);
	expect_fault(w, "route fd44:2::/64 via fd20::2 dev ov0: " MTU_OF_OV0);
	expect_fault(w, "route 10.244.3.0/24 via fd20::3 dev ov0: " MTU_OF_OV0);
	for (unsigned i = 0; i < w->report.failed; i++) {
		if (!strstr(w->report.faults[i], MTU_OF_OV0))
			fail_msg("%s", w->report.faults[i]);
	}
	expect(w, "ip address show dev ov0", "10.20.0.1/24");
	/* As it was told to do. */
	run("ip link set dev ov0 mtu 1280");
	pass_all(w);
	assert_int_equal(w->report.failed, 0);
	world_free(w);
}

static void test_switched_off(void **state)
{
	struct world *w = ipv6_world();

	(void)state;
	set_sysctl("/proc/sys/net/ipv6/conf/ov0/disable_ipv6", "1");
	pass_all(w);
	expect_fault(w, "address fd20::1/64 dev ov0: " OFF_ON_OV0);
	expect_fault(w, "route fd44:2::/64 via fd20::2 dev ov0: " OFF_ON_OV0);
	for (unsigned i = 0; i < w->report.failed; i++) {
		if (!strstr(w->report.faults[i], OFF_ON_OV0))
			fail_msg("%s", w->report.faults[i]);
	}
	set_sysctl("/proc/sys/net/ipv6/conf/ov0/disable_ipv6", "0");
	pass_all(w);
	assert_int_equal(w->report.failed, 0);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_why),
		cmocka_unit_test(test_small_mtu),
		cmocka_unit_test(test_switched_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
