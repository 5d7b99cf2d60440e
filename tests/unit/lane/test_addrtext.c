/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/lane/addrtext.h"

/* On the heap, so that a sanitizer sees what is read behind the end. */
static int parse_mac(const char *text, uint8_t ret[FDB_MAC_LEN])
{
	char *copy = strdup(text);
	int err = addrtext_parse_mac(copy, ret);

	free(copy);
	return err;
}

static void test_mac(void **state)
{
	static const char *const bad[] = {
		"",
		"0",
		"02:00:00:00:00",
		"02:00:00:00:00:0",
		"02:00:00:00:00:011",
		"02:00:00:00:00:01 ",
		" 02:00:00:00:00:01",
		"02:00:00:00:00:01:",
		"02-00-00-00-00-01",
		"02:00:00:00:00:g1",
		"02:00:00:00:00:1g",
		"2:0:0:0:0:1",
		"02:00:00:00:00-01",
		"020000000001",
		"0x:00:00:00:00:01",
	};
	const uint8_t expected[FDB_MAC_LEN] = {0x02, 0xab, 0xCD, 0x9e, 0xf0, 0x1f};
	uint8_t mac[FDB_MAC_LEN] = {9, 9, 9, 9, 9, 9};
	const uint8_t nines[FDB_MAC_LEN] = {9, 9, 9, 9, 9, 9};
	char buf[ADDRTEXT_MAC_LEN];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(parse_mac(bad[i], mac), -EINVAL);
		assert_memory_equal(mac, nines, sizeof(mac));
	}
	assert_int_equal(parse_mac("02:aB:cd:9E:f0:1F", mac), 0);
	assert_memory_equal(mac, expected, sizeof(mac));
	assert_string_equal(addrtext_format_mac(mac, buf), "02:ab:cd:9e:f0:1f");
}

static void test_ip(void **state)
{
	static const char *const bad[] = {
		"",	   "10.9.0",	 "10.9.0.256", "10.9.0.1/24", "10.9.0.1 ",  "host",
		"fd00::g", "fe80::1%lo", "[fd00::1]",  ":",	      "10.9.0.01x",
	};
	static const struct {
		const char *text;
		uint8_t addr_len;
		uint8_t first, last;
		const char *again;
	} good[] = {
		{"10.9.0.1", 4, 10, 1, "10.9.0.1"},
		{"0.0.0.0", 4, 0, 0, "0.0.0.0"},
		{"255.255.255.255", 4, 255, 255, "255.255.255.255"},
		{"FD00:0::1", 16, 0xfd, 1, "fd00::1"},
		{"::", 16, 0, 0, "::"},
		{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 16, 0xff, 0xff,
		 "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
	};
	struct vtep addr = {.addr_len = 7};
	char buf[ADDRTEXT_IP_LEN];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(addrtext_parse_ip(bad[i], &addr), -EINVAL);
		assert_int_equal(addr.addr_len, 7);
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(addrtext_parse_ip(good[i].text, &addr), 0);
		assert_int_equal(addr.addr_len, good[i].addr_len);
		assert_int_equal(addr.addr[0], good[i].first);
		assert_int_equal(addr.addr[addr.addr_len - 1], good[i].last);
		assert_string_equal(addrtext_format_ip(addr.addr, addr.addr_len, buf),
				    good[i].again);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mac),
		cmocka_unit_test(test_ip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
