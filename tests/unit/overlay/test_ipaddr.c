/* SPDX-License-Identifier: Apache-2.0 */
#include "overlay/ipaddr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#define N(array) (sizeof(array) / sizeof((array)[0]))

static struct ip_addr addr_of(const char *text)
{
	struct ip_addr addr;

	if (!ip_addr_parse(text, &addr))
		fail_msg("%s is no address", text);
	return addr;
}

static struct ip_prefix prefix_of(const char *text)
{
	struct ip_prefix prefix;

	if (!ip_prefix_parse(text, &prefix))
		fail_msg("%s is no prefix", text);
	return prefix;
}

static void test_addr_parse(void **state)
{
	static const struct {
		const char *text;
		struct ip_addr want; /* len 0: no address */
	} rows[] = {
		{"10.0.0.1", {{10, 0, 0, 1}, 4}},
		{"255.255.255.255", {{255, 255, 255, 255}, 4}},
		{"0.0.0.0", {{0}, 4}},
		{"::", {{0}, 16}},
		{"fd00::1", {{0xfd, [15] = 1}, 16}},
		{"FD00::A", {{0xfd, [15] = 10}, 16}},
		{"1:2:3:4:5:6:7:8", {{0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8}, 16}},
		{"::ffff:192.0.2.1", {{[10] = 255, 255, 192, 0, 2, 1}, 16}},
		{"", {.len = 0}},
		{"10.0.0", {.len = 0}},
		{"10.0.0.256", {.len = 0}},
		{"10.0.0.01", {.len = 0}},
		{"10.0.0.1 ", {.len = 0}},
		{" 10.0.0.1", {.len = 0}},
		{"10.0.0.1/24", {.len = 0}},
		{"10.0.0.1.", {.len = 0}},
		{"0x0a000001", {.len = 0}},
		{"fd00::1%eth0", {.len = 0}},
		{"fd00::1::", {.len = 0}},
		{"[fd00::1]", {.len = 0}},
		{"host", {.len = 0}},
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		struct ip_addr got, before;

		memset(&got, 0x5a, sizeof(got));
		before = got;
		if (ip_addr_parse(rows[i].text, &got) != (rows[i].want.len != 0))
			fail_msg("\"%s\" %s", rows[i].text, rows[i].want.len ? "refused" : "taken");
		if (memcmp(&got, rows[i].want.len ? &rows[i].want : &before, sizeof(got)) != 0)
			fail_msg("\"%s\": other bytes", rows[i].text);
	}
}

static void test_prefix_parse(void **state)
{
	static const struct {
		const char *text;
		int want_len; /* -1: no prefix */
		struct ip_addr want;
	} rows[] = {
		{"10.0.0.7/24", 24, {{10, 0, 0, 7}, 4}},
		{"10.0.0.7", 32, {{10, 0, 0, 7}, 4}},
		{"0.0.0.0/0", 0, {{0}, 4}},
		{"10.0.0.7/32", 32, {{10, 0, 0, 7}, 4}},
		{"fd00::1/64", 64, {{0xfd, [15] = 1}, 16}},
		{"fd00::1", 128, {{0xfd, [15] = 1}, 16}},
		{"::/0", 0, {{0}, 16}},
		{"fd00::/128", 128, {{0xfd}, 16}},
		{"10.0.0.7/33", -1, {.len = 0}},
		{"fd00::1/129", -1, {.len = 0}},
		{"fd00::1/1280", -1, {.len = 0}},
		{"10.0.0.7/", -1, {.len = 0}},
		{"10.0.0.7/024", -1, {.len = 0}},
		{"10.0.0.7/00", -1, {.len = 0}},
		{"10.0.0.7/-1", -1, {.len = 0}},
		{"10.0.0.7/+8", -1, {.len = 0}},
		{"10.0.0.7/ 8", -1, {.len = 0}},
		{"10.0.0.7/8 ", -1, {.len = 0}},
		{"10.0.0.7/8/8", -1, {.len = 0}},
		{"10.0.0.7/255.0.0.0", -1, {.len = 0}},
		{"10.0.0.7/256", -1, {.len = 0}},
		{"10.0.0.7/264", -1, {.len = 0}}, /* 8 in a byte */
		{"/8", -1, {.len = 0}},
		{"", -1, {.len = 0}},
		{"1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa/8", -1, {.len = 0}},
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		const struct ip_prefix before = {{{1, 2, 3}, 77}, 99};
		struct ip_prefix got = before;

		if (ip_prefix_parse(rows[i].text, &got) != (rows[i].want_len >= 0))
			fail_msg("\"%s\" %s", rows[i].text,
				 rows[i].want_len < 0 ? "taken" : "refused");
		if (rows[i].want_len < 0) {
			assert_memory_equal(&got, &before, sizeof(got));
			continue;
		}
		assert_int_equal(got.len, rows[i].want_len);
		assert_memory_equal(&got.addr, &rows[i].want, sizeof(got.addr));
	}
}

static void test_format(void **state)
{
	static const struct {
		struct ip_prefix prefix;
		const char *addr, *text;
	} rows[] = {
		{{{{10, 0, 0, 1}, 4}, 24}, "10.0.0.1", "10.0.0.1/24"},
		{{{{0}, 4}, 0}, "0.0.0.0", "0.0.0.0/0"},
		{{{{0xfd, [15] = 1}, 16}, 64}, "fd00::1", "fd00::1/64"},
		{{{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		    0xff, 0xff, 0xff},
		   16},
		  128},
		 "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
		 "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128"},
		{{{{0}, 0}, 0}, "none", "none"},
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		char addr[IP_ADDR_TEXT_LEN], text[IP_PREFIX_TEXT_LEN];

		assert_ptr_equal(ip_addr_format(&rows[i].prefix.addr, addr), addr);
		assert_string_equal(addr, rows[i].addr);
		assert_ptr_equal(ip_prefix_format(&rows[i].prefix, text), text);
		assert_string_equal(text, rows[i].text);
	}
}

/* In ascending order; every pair is compared. */
static const char *const ascending[] = {
	"0.0.0.0/0", "0.0.0.0/8",  "10.0.0.0/8",   "10.0.0.0/9", "10.0.0.1/8", "10.0.1.0/7",
	"200.0.0.0", "::/0",	   "::/128",	   "::1/3",	 "0:0:0:1::",  "a00::/0",
	"fd00::/8",  "fd00::1/64", "fd00::1:0/64", "fe80::1",
};

static int sign(int order)
{
	return (order > 0) - (order < 0);
}

static void test_compare(void **state)
{
	(void)state;
	for (size_t i = 0; i < N(ascending); i++) {
		for (size_t k = 0; k < N(ascending); k++) {
			const struct ip_prefix a = prefix_of(ascending[i]);
			const struct ip_prefix b = prefix_of(ascending[k]);
			const int want = (i > k) - (i < k);

			if (sign(ip_prefix_compare(&a, &b)) != want)
				fail_msg("%s and %s", ascending[i], ascending[k]);
			assert_int_equal(ip_prefix_equal(&a, &b), i == k);
		}
	}
}

static void test_addr_compare(void **state)
{
	const struct ip_addr none = {.len = 0}, zero4 = addr_of("0.0.0.0"), zero6 = addr_of("::");
	const struct ip_addr high = addr_of("10.0.0.2"), low = addr_of("10.0.0.1");

	(void)state;
	assert_true(ip_addr_compare(&low, &high) < 0);
	assert_true(ip_addr_compare(&high, &low) > 0);
	assert_int_equal(ip_addr_compare(&low, &low), 0);
	assert_true(ip_addr_compare(&none, &zero4) < 0);
	assert_true(ip_addr_compare(&zero4, &zero6) < 0);
	assert_true(ip_addr_compare(&high, &zero6) < 0);
	assert_false(ip_addr_equal(&zero4, &zero6));
	assert_false(ip_addr_equal(&low, &high));
	assert_true(ip_addr_equal(&low, &low));
	assert_true(ip_addr_equal(&none, &none));
}

static void test_covers(void **state)
{
	static const struct {
		const char *outer, *inner;
		bool want;
	} rows[] = {
		{"10.0.0.0/8", "10.1.2.3/32", true},
		{"10.0.0.0/8", "10.0.0.0/8", true},
		{"10.9.9.9/8", "10.1.2.3/24", true}, /* host bits do not matter */
		{"10.0.0.0/8", "11.0.0.0/8", false},
		{"10.0.0.0/8", "10.0.0.0/7", false},
		{"10.0.0.0/32", "10.0.0.1/32", false},
		{"0.0.0.0/0", "255.255.255.255", true},
		{"0.0.0.0/0", "::/0", false},
		{"::/0", "0.0.0.0/0", false},
		{"10.0.0.128/25", "10.0.0.129/32", true},
		{"10.0.0.128/25", "10.0.0.127/32", false},
		{"10.0.0.0/13", "10.7.255.255", true},
		{"10.0.0.0/13", "10.8.0.0", false},
		{"fd00:0:0:1::/64", "fd00:0:0:1:ffff::", true},
		{"fd00:0:0:1::/64", "fd00:0:0:2::", false},
		{"fd00::1/128", "fd00::1", true},
		{"fd00::1/127", "fd00::", true},
		{"fd00::1/128", "fd00::", false},
	};
	const struct ip_prefix none = {.len = 0};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		const struct ip_prefix outer = prefix_of(rows[i].outer);
		const struct ip_prefix inner = prefix_of(rows[i].inner);

		if (ip_prefix_covers(&outer, &inner) != rows[i].want)
			fail_msg("%s and %s", rows[i].outer, rows[i].inner);
	}
	assert_false(ip_prefix_covers(&none, &none));
}

static void test_network(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{"10.1.2.3/24", "10.1.2.0/24"},
		{"255.255.255.255/0", "0.0.0.0/0"},
		{"255.255.255.255/1", "128.0.0.0/1"},
		{"255.255.255.255/15", "255.254.0.0/15"},
		{"255.255.255.255/32", "255.255.255.255/32"},
		{"fd00:1:2:3:4:5:6:7/64", "fd00:1:2:3::/64"},
		{"fd00:1:2:3:4:5:6:7/127", "fd00:1:2:3:4:5:6:6/127"},
		{"fd00:1:2:3:4:5:6:7/128", "fd00:1:2:3:4:5:6:7/128"},
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		const struct ip_prefix prefix = prefix_of(rows[i].text);
		const struct ip_prefix network = ip_prefix_network(&prefix);
		char text[IP_PREFIX_TEXT_LEN];

		assert_string_equal(ip_prefix_format(&network, text), rows[i].want);
	}
}

static void test_host_and_family(void **state)
{
	static const struct ip_addr want4 = {.bytes = {192, 0, 2, 1}, .len = 4};
	static const uint8_t bytes[16] = {192, 0, 2, 1, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
	struct ip_addr addr = {{9}, 9}, none = {.len = 0};
	struct ip_prefix host;

	(void)state;
	assert_false(ip_addr_from_bytes(bytes, 5, &addr));
	assert_int_equal(addr.len, 9);
	assert_true(ip_addr_from_bytes(bytes, 4, &addr));
	assert_memory_equal(&addr, &want4, sizeof(addr));
	assert_int_equal(ip_addr_family(&addr), AF_INET);
	host = ip_prefix_of_host(&addr);
	assert_int_equal(host.len, 32);
	assert_memory_equal(&host.addr, &addr, sizeof(addr));

	assert_true(ip_addr_from_bytes(bytes, 16, &addr));
	assert_memory_equal(addr.bytes, bytes, 16);
	assert_int_equal(ip_addr_family(&addr), AF_INET6);
	assert_int_equal(ip_prefix_of_host(&addr).len, 128);
	assert_int_equal(ip_addr_family(&none), AF_UNSPEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addr_parse),   cmocka_unit_test(test_prefix_parse),
		cmocka_unit_test(test_format),	     cmocka_unit_test(test_compare),
		cmocka_unit_test(test_addr_compare), cmocka_unit_test(test_covers),
		cmocka_unit_test(test_network),	     cmocka_unit_test(test_host_and_family),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
