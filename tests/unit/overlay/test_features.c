/* SPDX-License-Identifier: Apache-2.0 */
#include "overlay/features.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static const char *skip_reason;

static void need_netns(void)
{
	if (skip_reason) {
		print_message("skipped: %s\n", skip_reason);
		skip();
	}
}

static bool is_on(const char *ifname, const char *name)
{
	bool on;

	assert_int_equal(features_get(ifname, name, &on), 0);
	return on;
}

static void test_off(void **state)
{
	static const char *const names[] = {"tx-checksum-sctp", "no-such-feature",
					    "tx-udp-segmentation", NULL};
	static const char *const none[] = {NULL};

	(void)state;
	need_netns();
	assert_int_equal(system("ip link add va type veth peer name vb"), 0);
	assert_true(is_on("va", "tx-checksum-sctp"));
	assert_true(is_on("va", "tx-udp-segmentation"));
	assert_true(is_on("va", "tx-tcp-segmentation"));
	assert_false(is_on("va", "no-such-feature"));

	assert_int_equal(features_off("va", none), 0);
	assert_true(is_on("va", "tx-checksum-sctp"));
	assert_int_equal(features_off("va", names), 0);
	assert_false(is_on("va", "tx-checksum-sctp"));
	assert_false(is_on("va", "tx-udp-segmentation"));
	assert_true(is_on("va", "tx-tcp-segmentation"));
	assert_true(is_on("vb", "tx-udp-segmentation"));
	/* again */
	assert_int_equal(features_off("va", names), 0);
	assert_int_equal(system("ip link del va"), 0);
}

static void test_any_on(void **state)
{
	static const char *const names[] = {"no-such-feature", "tx-checksum-sctp",
					    "tx-udp-segmentation", NULL};
	static const char *const others[] = {"tx-tcp-segmentation", NULL};
	/* One that no veth can switch off. */
	static const char *const fixed[] = {"tx-lockless", NULL};
	bool on = false;

	(void)state;
	need_netns();
	assert_int_equal(system("ip link add va type veth peer name vb"), 0);
	assert_int_equal(features_any_on("va", names, &on), 0);
	assert_true(on);
	assert_int_equal(features_off("va", names + 2), 0);
	assert_int_equal(features_any_on("va", names, &on), 0);
	assert_true(on);
	assert_int_equal(features_off("va", names), 0);
	assert_int_equal(features_any_on("va", names, &on), 0);
	assert_false(on);
	assert_int_equal(features_any_on("va", others, &on), 0);
	assert_true(on);
	assert_int_equal(features_any_on("va", fixed, &on), 0);
	assert_false(on);
	assert_int_equal(features_any_on("nosuch", names, &on), -ENODEV);
	assert_int_equal(system("ip link del va"), 0);
}

static void test_refused(void **state)
{
	static const char *const names[] = {"tx-checksum-sctp", NULL};
	bool on = true;

	(void)state;
	need_netns();
	assert_int_equal(features_off("nosuch", names), -ENODEV);
	assert_int_equal(features_off("a-name-of-many-letters", names), -ENODEV);
	assert_int_equal(features_get("nosuch", names[0], &on), -ENODEV);
	assert_true(on);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_off),
		cmocka_unit_test(test_any_on),
		cmocka_unit_test(test_refused),
	};

	if (unshare(CLONE_NEWNET) < 0)
		skip_reason = "no network namespace of our own: run as root";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
