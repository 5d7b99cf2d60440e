/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "agent/lane/decimal.h"
#include "agent/lane/endpoint.h"

static void test_good(void **state)
{
	static const struct {
		const char *text, *printed;
		sa_family_t family;
		uint16_t port;
		uint32_t scope;
	} rows[] = {
		{"192.0.2.1:51820", "192.0.2.1:51820", AF_INET, 51820, 0},
		{"0.0.0.0:0", "0.0.0.0:0", AF_INET, 0, 0},
		{"255.255.255.255:65535", "255.255.255.255:65535", AF_INET, 65535, 0},
		{"192.0.2.1:00080", "192.0.2.1:80", AF_INET, 80, 0},
		{"[2001:db8::1]:51820", "[2001:db8::1]:51820", AF_INET6, 51820, 0},
		{"[2001:DB8:0:0:0:0:0:1]:1", "[2001:db8::1]:1", AF_INET6, 1, 0},
		{"[::]:65535", "[::]:65535", AF_INET6, 65535, 0},
		{"[::ffff:192.0.2.1]:7", "[::ffff:192.0.2.1]:7", AF_INET6, 7, 0},
		{"[fe80::1%4000000000]:9", "[fe80::1%4000000000]:9", AF_INET6, 9, 4000000000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct endpoint ep = {.has_source = true};
		char buf[ENDPOINT_STRLEN];

		assert_int_equal(endpoint_parse(rows[i].text, &ep), 0);
		assert_int_equal(ep.dst.family, rows[i].family);
		assert_false(ep.has_source);
		if (rows[i].family == AF_INET) {
			assert_int_equal(ntohs(ep.dst.in4.sin_port), rows[i].port);
			assert_int_equal(endpoint_dst_len(&ep), sizeof(struct sockaddr_in));
		} else {
			assert_int_equal(ntohs(ep.dst.in6.sin6_port), rows[i].port);
			assert_int_equal(ep.dst.in6.sin6_scope_id, rows[i].scope);
			assert_int_equal(endpoint_dst_len(&ep), sizeof(struct sockaddr_in6));
		}
		assert_ptr_equal(endpoint_format(&ep, buf), buf);
		assert_string_equal(buf, rows[i].printed);
	}
}

static void test_bad(void **state)
{
	static const char *const rows[] = {
		"",
		":",
		":1",
		"1.2.3.4",
		"1.2.3.4:",
		"1.2.3.4:65536",
		"1.2.3.4:-1",
		"1.2.3.4:+1",
		"1.2.3.4: 1",
		" 1.2.3.4:1",
		"1.2.3.4:1 ",
		"1.2.3.4:0x10",
		"1.2.3:1",
		"1.2.3.256:1",
		"01.2.3.4:1",
		"1.2.3.4:99999999999999999999",
		"[1.2.3.4]:1",
		"::1:1",
		"2001:db8::1:51820",
		"[::1]",
		"[::1]:",
		"[]:1",
		"[:1",
		"]:1",
		"[::1:1",
		"::1]:1",
		"[::1]]:1",
		"[[::1]:1",
		"[::1%]:1",
		"[::1%0]:1",
		"[::1%no-such-if0]:1",
		"[::1%4294967296]:1",
		"[::1%a-name-far-too-long-for-any-interface]:1",
		"[%1]:1",
		"[1.2.3.4%1]:1",
		"localhost:1",
		"example.com:51820",
		"[00000000000000000000000000000000000000000000000000000000000000000000000000001]:1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct endpoint ep, before;

		memset(&ep, 0x5a, sizeof(ep));
		before = ep;
		if (endpoint_parse(rows[i], &ep) != -EINVAL)
			fail_msg("accepted \"%s\"", rows[i]);
		assert_memory_equal(&ep, &before, sizeof(ep));
	}
}

/* Every machine and namespace has lo, index 1. */
static void test_zone_names(void **state)
{
	char buf[ENDPOINT_STRLEN];
	struct endpoint ep;

	(void)state;
	if (if_nametoindex("lo") != 1)
		skip();
	assert_int_equal(endpoint_parse("[fe80::1%lo]:5", &ep), 0);
	assert_int_equal(ep.dst.in6.sin6_scope_id, 1);
	assert_string_equal(endpoint_format(&ep, buf), "[fe80::1%lo]:5");
	assert_int_equal(endpoint_parse("[fe80::1%1]:5", &ep), 0);
	assert_string_equal(endpoint_format(&ep, buf), "[fe80::1%lo]:5");
}

static void test_longest_fits(void **state)
{
	struct endpoint ep = {.dst.family = AF_INET6};
	char buf[ENDPOINT_STRLEN];

	(void)state;
	memset(&ep.dst.in6.sin6_addr, 0xee, 16);
	ep.dst.in6.sin6_port = htons(65535);
	ep.dst.in6.sin6_scope_id = 4294967295U;
	endpoint_format(&ep, buf);
	assert_string_equal(buf, "[eeee:eeee:eeee:eeee:eeee:eeee:eeee:eeee%4294967295]:65535");
}

static void test_none(void **state)
{
	struct endpoint none = {0}, other = {.has_source = true}, some;
	uint8_t bytes[ENDPOINT_COOKIE_LEN_MAX];
	char buf[ENDPOINT_STRLEN];

	(void)state;
	assert_string_equal(endpoint_format(&none, buf), "");
	assert_int_equal(endpoint_dst_len(&none), 0);
	assert_int_equal(endpoint_cookie_bytes(&none, bytes), 0);
	assert_true(endpoint_same_dst(&none, &other));
	assert_int_equal(endpoint_parse("0.0.0.0:0", &some), 0);
	assert_false(endpoint_same_dst(&none, &some));
}

static void test_same_dst(void **state)
{
	static const struct {
		const char *a, *b;
		bool same;
	} rows[] = {
		{"192.0.2.1:1", "192.0.2.1:1", true},
		{"192.0.2.1:1", "192.0.2.1:2", false},
		{"192.0.2.1:1", "192.0.2.2:1", false},
		{"192.0.2.1:1", "[::ffff:192.0.2.1]:1", false},
		{"[fe80::1%7]:1", "[fe80::1%7]:1", true},
		{"[fe80::1%7]:1", "[fe80::1%8]:1", false},
		{"[fe80::1%7]:1", "[fe80::1%7]:2", false},
		{"[fe80::1%7]:1", "[fe80::2%7]:1", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct endpoint a, b;

		assert_int_equal(endpoint_parse(rows[i].a, &a), 0);
		assert_int_equal(endpoint_parse(rows[i].b, &b), 0);
		a.has_source = true;
		a.source.in4.s_addr = 1;
		b.dst.in6.sin6_flowinfo = a.dst.family == AF_INET6 ? 1 : b.dst.in6.sin6_flowinfo;
		assert_int_equal(endpoint_same_dst(&a, &b), rows[i].same);
		assert_int_equal(endpoint_same_dst(&b, &a), rows[i].same);
	}
}

static void test_cookie_bytes(void **state)
{
	static const uint8_t want4[] = {192, 0, 2, 1, 0xca, 0x6c};
	static const uint8_t want6[] = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0,    0,
					0,    0,    0,	  0,	0, 0, 1, 0x01, 0x02};
	uint8_t bytes[ENDPOINT_COOKIE_LEN_MAX];
	struct endpoint ep;

	(void)state;
	assert_int_equal(endpoint_parse("192.0.2.1:51820", &ep), 0);
	assert_int_equal(endpoint_cookie_bytes(&ep, bytes), sizeof(want4));
	assert_memory_equal(bytes, want4, sizeof(want4));
	assert_int_equal(endpoint_parse("[2001:db8::1]:258", &ep), 0);
	assert_int_equal(endpoint_cookie_bytes(&ep, bytes), sizeof(want6));
	assert_memory_equal(bytes, want6, sizeof(want6));
}

static void test_decimal(void **state)
{
	static const struct {
		const char *text;
		uint32_t max;
		int err;
		uint32_t number;
	} rows[] = {
		{"0", 65535, 0, 0},
		{"000065535", 65535, 0, 65535},
		{"65536", 65535, -EINVAL, 0},
		{"4294967295", UINT32_MAX, 0, UINT32_MAX},
		{"4294967296", UINT32_MAX, -EINVAL, 0},
		{"18446744073709551617", UINT32_MAX, -EINVAL, 0},
		{"", 9, -EINVAL, 0},
		{"-0", 9, -EINVAL, 0},
		{"+1", 9, -EINVAL, 0},
		{" 1", 9, -EINVAL, 0},
		{"1 ", 9, -EINVAL, 0},
		{"1_0", 99, -EINVAL, 0},
		{"0x1", 99, -EINVAL, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t number = 77;

		assert_int_equal(decimal_parse(rows[i].text, rows[i].max, &number), rows[i].err);
		assert_int_equal(number, rows[i].err ? 77 : rows[i].number);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),	     cmocka_unit_test(test_bad),
		cmocka_unit_test(test_zone_names),   cmocka_unit_test(test_longest_fits),
		cmocka_unit_test(test_none),	     cmocka_unit_test(test_same_dst),
		cmocka_unit_test(test_cookie_bytes), cmocka_unit_test(test_decimal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
