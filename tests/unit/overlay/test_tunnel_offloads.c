/* SPDX-License-Identifier: Apache-2.0 */
#include "overlay/tunnel.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "overlay/features.h"

static const char *skip_reason;

static void need_netns(void)
{
	if (skip_reason) {
		print_message("skipped: %s\n", skip_reason);
		skip();
	}
}

/* A pair of veth has every offload that bare UDP has, and the same names for them. */
static const struct {
	const char *name;
	bool stays4, stays6; /* over IPv4, over IPv6 */
} features[] = {
	{"tx-tcp-segmentation", true, false},	{"tx-tcp6-segmentation", false, false},
	{"tx-udp-segmentation", false, false},	{"tx-sctp-segmentation", false, false},
	{"tx-gso-list", false, false},		{"tx-generic-segmentation", true, true},
	{"tx-checksum-ip-generic", true, true}, {"tx-scatter-gather", true, true},
};

static void expect(const char *ifname, bool outer6)
{
	for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
		bool on, want = outer6 ? features[i].stays6 : features[i].stays4;

		assert_int_equal(features_get(ifname, features[i].name, &on), 0);
		if (on != want)
			fail_msg("%s is %s", features[i].name, on ? "on" : "off");
	}
}

static void check(bool outer6)
{
	bool changed = false;

	need_netns();
	assert_int_equal(system("ip link add va type veth peer name vb"), 0);
	assert_int_equal(tunnel_cut_before("va", outer6, &changed), 0);
	assert_true(changed);
	expect("va", outer6);
	/* It is so: nothing is changed. */
	assert_int_equal(tunnel_cut_before("va", outer6, &changed), 0);
	assert_false(changed);
	expect("va", outer6);
	assert_int_equal(system("ip link del va"), 0);
}

static void test_over_ipv4(void **state)
{
	(void)state;
	check(false);
}

static void test_over_ipv6(void **state)
{
	(void)state;
	check(true);
}

/* What is outside changes, and the device stays. */
static void test_family_changes(void **state)
{
	static const bool outer6[] = {true, false, true, false};
	bool changed;

	(void)state;
	need_netns();
	assert_int_equal(system("ip link add va type veth peer name vb"), 0);
	for (size_t i = 0; i < sizeof(outer6); i++) {
		assert_int_equal(tunnel_cut_before("va", outer6[i], &changed), 0);
		assert_true(changed);
		expect("va", outer6[i]);
		assert_int_equal(tunnel_cut_before("va", outer6[i], &changed), 0);
		assert_false(changed);
	}
	assert_int_equal(system("ip link del va"), 0);
}

/* One of them alone is on, the last of the list. */
static void test_one(void **state)
{
	bool changed = false;

	(void)state;
	need_netns();
	assert_int_equal(system("ip link add va type veth peer name vb"), 0);
	assert_int_equal(tunnel_cut_before("va", true, &changed), 0);
	if (system("ethtool -K va tx-gso-list on >/dev/null")) {
		print_message("skipped: needs ethtool\n");
		skip();
	}
	assert_int_equal(tunnel_cut_before("va", true, &changed), 0);
	assert_true(changed);
	expect("va", true);
	assert_int_equal(system("ip link del va"), 0);
}

static void test_no_device(void **state)
{
	bool changed = true;

	(void)state;
	need_netns();
	assert_int_equal(tunnel_cut_before("nosuch", false, &changed), -ENODEV);
	assert_false(changed);
}

static void test_cuts_right(void **state)
{
	static const struct {
		enum tunnel_type type;
		unsigned major, minor, patch;
		bool right;
	} table[] = {
		{TUNNEL_VXLAN, 6, 1, 0, true},	   {TUNNEL_GENEVE, 0, 0, 0, true},
		{TUNNEL_VXLAN, 7, 2, 0, true},	   {TUNNEL_BAREUDP, 0, 0, 0, false},
		{TUNNEL_BAREUDP, 6, 1, 0, false},  {TUNNEL_BAREUDP, 6, 18, 44, false},
		{TUNNEL_BAREUDP, 7, 1, 11, false}, {TUNNEL_BAREUDP, 7, 2, 10, false},
		{TUNNEL_BAREUDP, 7, 2, 11, true},  {TUNNEL_BAREUDP, 7, 3, 0, true},
		{TUNNEL_BAREUDP, 8, 0, 0, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		assert_int_equal(tunnel_cuts_right(table[i].type, table[i].major, table[i].minor,
						   table[i].patch),
				 table[i].right);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_over_ipv4),  cmocka_unit_test(test_over_ipv6),
		cmocka_unit_test(test_one),	   cmocka_unit_test(test_no_device),
		cmocka_unit_test(test_cuts_right), cmocka_unit_test(test_family_changes),
	};

	if (unshare(CLONE_NEWNET) < 0)
		skip_reason = "no network namespace of our own: run as root";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
