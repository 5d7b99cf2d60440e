/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/node/member.h"

static const struct member zero;

/* Owns its arrays as a provider's member does. */
static struct member build(void)
{
	struct member m = {
		.name = "beta", .has_psk = true, .psk = {7}, .keepalive_s = 25, .since = 9};

	m.n_allowed_ips = 2;
	m.allowed_ips = calloc(2, sizeof(*m.allowed_ips));
	m.n_overlays = 2;
	m.overlays = calloc(2, sizeof(*m.overlays));
	assert_true(m.allowed_ips && m.overlays);
	assert_true(ip_prefix_parse("10.0.0.0/8", &m.allowed_ips[1]));
	strcpy(m.overlays[1].name, "ov1");
	m.overlays[1].n_addresses = m.overlays[1].n_routes = 1;
	m.overlays[1].addresses = calloc(1, sizeof(*m.overlays[1].addresses));
	m.overlays[1].routes = calloc(1, sizeof(*m.overlays[1].routes));
	assert_true(m.overlays[1].addresses && m.overlays[1].routes);
	assert_true(ip_addr_parse("fd00::1", m.overlays[1].addresses));
	assert_true(ip_prefix_parse("fd00::/64", m.overlays[1].routes));
	return m;
}

/* The copy has everything, and goes on without the original. */
static void test_copy(void **state)
{
	struct member m = build(), copy;
	char text[IP_PREFIX_TEXT_LEN];

	(void)state;
	assert_int_equal(member_copy(&m, &copy), 0);
	assert_ptr_not_equal(copy.overlays, m.overlays);
	assert_ptr_not_equal(copy.allowed_ips, m.allowed_ips);
	assert_ptr_not_equal(copy.overlays[1].routes, m.overlays[1].routes);
	assert_ptr_not_equal(copy.overlays[1].addresses, m.overlays[1].addresses);
	member_clear(&m);
	assert_memory_equal(&m, &zero, sizeof(m));
	assert_string_equal(copy.name, "beta");
	assert_true(copy.has_psk);
	assert_int_equal(copy.psk[0], 7);
	assert_int_equal(copy.keepalive_s, 25);
	assert_int_equal(copy.since, 9);
	assert_int_equal(copy.n_allowed_ips, 2);
	assert_string_equal(ip_prefix_format(&copy.allowed_ips[1], text), "10.0.0.0/8");
	assert_int_equal(copy.n_overlays, 2);
	assert_null(copy.overlays[0].addresses);
	assert_string_equal(copy.overlays[1].name, "ov1");
	assert_string_equal(ip_addr_format(copy.overlays[1].addresses, text), "fd00::1");
	assert_string_equal(ip_prefix_format(copy.overlays[1].routes, text), "fd00::/64");
	member_clear(&copy);
}

static void test_empty(void **state)
{
	struct member m = {.name = "gamma"}, copy;

	(void)state;
	assert_int_equal(member_copy(&m, &copy), 0);
	assert_null(copy.overlays);
	assert_null(copy.allowed_ips);
	assert_string_equal(copy.name, "gamma");
	member_clear(&copy);
	member_clear(&copy);
	assert_memory_equal(&copy, &zero, sizeof(copy));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
