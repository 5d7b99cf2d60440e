/* SPDX-License-Identifier: Apache-2.0 */
/* Devices as ip(8) shows them, in a namespace of our own. */
#include "overlay/vxlan.h"

#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "overlay/nl.h"

static const struct vxlan_args good = {
	.name = "vx0",
	.vni = 0xabcdef,
	.port = 8472,
	.local = {192, 0, 2, 77},
	.mac = {2, 3, 4, 5, 6, 7},
};

static const char *skip_reason;

static int setup(void **state)
{
	struct nl *nl = NULL;

	if (geteuid() || unshare(CLONE_NEWNET))
		skip_reason = "needs root and a network namespace of its own";
	else if (nl_open(&nl))
		return -1;
	*state = nl;
	return 0;
}

static int teardown(void **state)
{
	nl_close(*state);
	return 0;
}

static void need_netns(void)
{
	if (skip_reason) {
		print_message("skipped: %s\n", skip_reason);
		skip();
	}
}

static void assert_ip_shows(const char *arguments, const char *text)
{
	char command[128], got[4096];
	FILE *pipe;
	size_t len;

	snprintf(command, sizeof(command), "ip %s", arguments);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	len = fread(got, 1, sizeof(got) - 1, pipe);
	assert_int_equal(pclose(pipe), 0);
	got[len] = '\0';
	if (!strstr(got, text))
		fail_msg("no \"%s\" in: %s", text, got);
}

static void test_create(void **state)
{
	need_netns();
	assert_int_equal(vxlan_create(*state, &good), 0);
	assert_ip_shows("-d link show vx0", "vxlan id 11259375 local 192.0.2.77 ");
	assert_ip_shows("-d link show vx0", " dstport 8472 nolearning ");
	assert_ip_shows("link show vx0", "link/ether 02:03:04:05:06:07 ");
	assert_ip_shows("link show vx0", " state DOWN ");
	assert_int_equal(vxlan_create(*state, &good), -EEXIST);
	assert_int_equal(system("ip link delete vx0"), 0);
}

static void test_create_refuses(void **state)
{
	struct vxlan_args args;

	need_netns();
	args = good;
	args.name = "";
	assert_int_equal(vxlan_create(*state, &args), -EINVAL);
	args.name = "0123456789abcdef"; /* IFNAMSIZ characters */
	assert_int_equal(vxlan_create(*state, &args), -EINVAL);
	args = good;
	args.vni = 1 << 24;
	assert_int_equal(vxlan_create(*state, &args), -EINVAL);
	args = good;
	args.port = 0;
	assert_int_equal(vxlan_create(*state, &args), -EINVAL);
	args = good;
	args.mac[0] = 1;
	assert_int_equal(vxlan_create(*state, &args), -EADDRNOTAVAIL);
	assert_int_equal(if_nametoindex("vx0"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_create),
		cmocka_unit_test(test_create_refuses),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
