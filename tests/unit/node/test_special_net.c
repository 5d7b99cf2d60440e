/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/special_net.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "overlay/ipaddr.h"

static struct ip_prefix prefix(const char *text)
{
	struct ip_prefix ret;

	assert_true(ip_prefix_parse(text, &ret));
	return ret;
}

/* The first and last of each, and the nearest that are none. */
static void test_networks(void **state)
{
	static const struct {
		const char *network;
		enum special_net want;
	} rows[] = {
		{"0.0.0.0", SPECIAL_UNSPECIFIED},
		{"0.255.255.255", SPECIAL_UNSPECIFIED},
		{"1.0.0.0", SPECIAL_NONE},
		{"0.0.0.0/8", SPECIAL_UNSPECIFIED},
		{"0.0.0.0/7", SPECIAL_NONE},
		{"126.255.255.255", SPECIAL_NONE},
		{"127.0.0.0", SPECIAL_LOOPBACK},
		{"127.255.255.255", SPECIAL_LOOPBACK},
		{"128.0.0.0", SPECIAL_NONE},
		{"223.255.255.255", SPECIAL_NONE},
		{"224.0.0.0", SPECIAL_MULTICAST},
		{"239.255.255.255", SPECIAL_MULTICAST},
		{"240.0.0.0", SPECIAL_NONE},
		{"224.0.0.0/3", SPECIAL_NONE},
		{"255.255.255.254", SPECIAL_NONE},
		{"255.255.255.255", SPECIAL_BROADCAST},
		{"255.255.255.254/31", SPECIAL_NONE},
		{"::", SPECIAL_UNSPECIFIED},
		{"::1", SPECIAL_LOOPBACK},
		{"::2", SPECIAL_NONE},
		{"::/127", SPECIAL_NONE},
		{"fe80::", SPECIAL_LINK_LOCAL},
		{"febf:ffff::1", SPECIAL_LINK_LOCAL},
		{"fec0::", SPECIAL_NONE},
		{"fe7f::", SPECIAL_NONE},
		{"ff00::", SPECIAL_MULTICAST},
		{"ffff::1", SPECIAL_MULTICAST},
		{"fe00::/7", SPECIAL_NONE},
		{"::ffff:0:0", SPECIAL_MAPPED},
		{"::ffff:255.255.255.255", SPECIAL_MAPPED},
		{"::1:0:0:0", SPECIAL_NONE},
		{"::fffe:ffff:ffff", SPECIAL_NONE},
		{"::ffff:0:0/95", SPECIAL_NONE},
		{"10.0.0.1", SPECIAL_NONE},
		{"2001:db8::1", SPECIAL_NONE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct ip_prefix p = prefix(rows[i].network);

		if (special_net_of(&p) != rows[i].want)
			fail_msg("%s: %s", rows[i].network, special_net_name(special_net_of(&p)));
		if (p.len == 8 * p.addr.len)
			assert_int_equal(special_net_of_host(&p.addr), rows[i].want);
	}
	assert_string_equal(special_net_name(SPECIAL_LOOPBACK), "loopback");
	assert_string_equal(special_net_name(SPECIAL_NONE), "");
}

static void test_broadcast(void **state)
{
	static const struct {
		const char *network, *addr;
		bool want;
	} rows[] = {
		{"10.0.0.1/24", "10.0.0.255", true},
		{"10.0.0.1/24", "10.0.0.254", false},
		{"10.0.0.1/24", "10.0.1.255", false},
		{"10.0.0.1/24", "10.0.0.0", false},
		{"10.0.0.0/22", "10.0.3.255", true},
		{"10.0.0.0/22", "10.0.0.255", false},
		{"10.0.0.1/30", "10.0.0.3", true},
		{"10.0.0.0/31", "10.0.0.1", false},
		{"10.0.0.1/32", "10.0.0.1", false},
		{"0.0.0.0/0", "255.255.255.255", true},
		{"fd00::/64", "fd00::ffff:ffff:ffff:ffff", false},
		{"10.0.0.0/24", "fd00::ff", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct ip_prefix network = prefix(rows[i].network);
		const struct ip_prefix host = prefix(rows[i].addr);

		if (special_net_is_broadcast(&network, &host.addr) != rows[i].want)
			fail_msg("%s in %s", rows[i].addr, rows[i].network);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_networks),
		cmocka_unit_test(test_broadcast),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
