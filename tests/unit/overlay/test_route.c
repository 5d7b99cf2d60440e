/* SPDX-License-Identifier: Apache-2.0 */
#include "overlay/route.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include <net/if.h>
#include <sys/socket.h>

#include "overlay/nl.h"

/* Two dummy-like ends of a veth pair, a default route by one, a prefix by the
 * other, and another table for one mark. Made with ip(8) in a namespace of our
 * own. */
static int setup(void **state)
{
	static bool ready;

	*state = &ready;
	if (geteuid() || unshare(CLONE_NEWNET))
		return 0;
	ready = true;
	return system("ip link add ra type veth peer name rb && ip link set ra up && "
		      "ip link set lo up && ip link set rb mtu 1400 up && "
		      "ip addr add 192.0.2.1/24 dev ra && "
		      "ip addr add 198.51.100.1/24 dev rb && "
		      "ip route add default via 192.0.2.2 && "
		      "ip route add 203.0.113.77 via 192.0.2.2 mtu 1290 && "
		      "ip route add default via 198.51.100.2 table 77 && "
		      "ip rule add fwmark 0x4d table 77 && "
		      "ip -6 addr add 2001:db8::1/64 dev rb nodad");
}

static void test_way(void **state)
{
	static const struct {
		int family;
		uint8_t dst[16];
		uint32_t fwmark;
		const char *oif; /* NULL: no route */
		uint32_t mtu;
		bool local;
	} rows[] = {
		{AF_INET, {203, 0, 113, 9}, 0, "ra", 1500, false},
		{AF_INET, {198, 51, 100, 7}, 0, "rb", 1400, false},
		{AF_INET, {203, 0, 113, 9}, 0x4d, "rb", 1400, false},
		{AF_INET, {203, 0, 113, 9}, 0x4e, "ra", 1500, false},
		{AF_INET, {203, 0, 113, 77}, 0, "ra", 1290, false},
		{AF_INET, {198, 51, 100, 1}, 0, "lo", 65536, true},
		{AF_INET6, {0x20, 0x01, 0x0d, 0xb8, [15] = 5}, 0, "rb", 1400, false},
		{AF_INET6, {0x20, 0x01, 0x0d, 0xb9, [15] = 5}, 0, NULL, 0, false},
	};
	struct nl *nl = NULL;

	if (!*(const bool *)*state) {
		print_message("skipped: needs root and a network namespace of its own\n");
		skip();
	}
	assert_int_equal(nl_open(&nl), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct route_way way = {.oif = -1};
		int err = route_get_way(nl, rows[i].family, rows[i].dst, rows[i].fwmark, &way);

		assert_int_equal(err, rows[i].oif ? 0 : -ENETUNREACH);
		assert_int_equal(way.oif, rows[i].oif ? (int)if_nametoindex(rows[i].oif) : -1);
		assert_int_equal(way.mtu, rows[i].mtu);
		assert_int_equal(way.local, rows[i].local);
	}
	nl_close(nl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_way),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
