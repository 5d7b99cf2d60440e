/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/encap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "superpacket.h"

#define N_ELEMENTS(a) (sizeof(a) / sizeof(*(a)))

static void test_table(void **state)
{
	struct encap_table t;
	unsigned port;

	(void)state;
	memset(&t, 0xa5, sizeof(t));
	encap_table_default(&t);
	assert_int_equal(encap_table_find(&t, 4789), ENCAP_VXLAN);
	assert_int_equal(encap_table_find(&t, 8472), ENCAP_VXLAN);
	assert_int_equal(encap_table_find(&t, 6081), ENCAP_GENEVE);
	assert_int_equal(encap_table_find(&t, 6635), ENCAP_BAREUDP_MPLS);
	assert_int_equal(encap_table_find(&t, 0), ENCAP_NONE);
	assert_int_equal(encap_table_find(&t, 51820), ENCAP_NONE);

	assert_true(encap_table_set(&t, 4789, ENCAP_BAREUDP_IP));
	assert_int_equal(t.n, 4);
	assert_int_equal(encap_table_find(&t, 4789), ENCAP_BAREUDP_IP);
	for (port = 1; port <= 28; port++)
		assert_true(encap_table_set(&t, (uint16_t)port, ENCAP_GENEVE));
	assert_int_equal(t.n, 32);
	assert_false(encap_table_set(&t, 29, ENCAP_GENEVE));
	assert_int_equal(encap_table_find(&t, 29), ENCAP_NONE);
	assert_int_equal(encap_table_find(&t, 28), ENCAP_GENEVE);
	assert_true(encap_table_set(&t, 28, ENCAP_NONE)); /* full, but it replaces */
	assert_int_equal(encap_table_find(&t, 28), ENCAP_NONE);
}

static const struct {
	const char *text;
	unsigned n; /* rows afterwards, 0: refused */
	uint16_t port;
	enum encap_kind kind;
} lists[] = {
	{"", 4, 4789, ENCAP_VXLAN},
	{"1=vxlan", 5, 1, ENCAP_VXLAN},
	{"65535=geneve", 5, 65535, ENCAP_GENEVE},
	{"5555=ip", 5, 5555, ENCAP_BAREUDP_IP},
	{"5555=mpls", 5, 5555, ENCAP_BAREUDP_MPLS},
	{"05555=ip", 5, 5555, ENCAP_BAREUDP_IP},
	{"7000=ip,7001=mpls,7002=geneve", 7, 7001, ENCAP_BAREUDP_MPLS},
	{"7000=ip,7001=mpls,7002=geneve", 7, 7002, ENCAP_GENEVE},
	{"6635=ip", 4, 6635, ENCAP_BAREUDP_IP},
	{"7000=ip,7000=vxlan", 5, 7000, ENCAP_VXLAN}, /* the last one counts */
	{"0=ip", 0, 0, ENCAP_NONE},
	{"65536=ip", 0, 0, ENCAP_NONE},
	{"4294972851=ip", 0, 5555, ENCAP_NONE}, /* 2^32 + 5555 */
	{"=ip", 0, 0, ENCAP_NONE},
	{"ip", 0, 0, ENCAP_NONE},
	{"5555", 0, 5555, ENCAP_NONE},
	{"5555=", 0, 5555, ENCAP_NONE},
	{"5555=i", 0, 5555, ENCAP_NONE},
	{"5555=ipv4", 0, 5555, ENCAP_NONE},
	{"5555=none", 0, 5555, ENCAP_NONE},
	{"5555=IP", 0, 5555, ENCAP_NONE},
	{"5555:ip", 0, 5555, ENCAP_NONE},
	{"+5555=ip", 0, 5555, ENCAP_NONE},
	{"-1=ip", 0, 65535, ENCAP_NONE},
	{" 5555=ip", 0, 5555, ENCAP_NONE},
	{"5555=ip ", 0, 5555, ENCAP_NONE},
	{"5555 =ip", 0, 5555, ENCAP_NONE},
	{"0x15=ip", 0, 21, ENCAP_NONE},
	{"5555=ip,", 0, 5555, ENCAP_NONE},
	{",5555=ip", 0, 5555, ENCAP_NONE},
	{"5555=ip,,5556=ip", 0, 5555, ENCAP_NONE},
	{"5555=ip;5556=ip", 0, 5555, ENCAP_NONE},
	{"5555=ip,5556", 0, 5555, ENCAP_NONE},
	{",", 0, 0, ENCAP_NONE},
};

static void test_changed(void **state)
{
	struct encap_table t, more = {.n = 0}, before;
	uint16_t port;

	(void)state;
	encap_table_default(&t);
	assert_true(encap_table_remove(&t, 4789));
	assert_false(encap_table_remove(&t, 4789));
	assert_int_equal(t.n, 3);
	assert_int_equal(encap_table_find(&t, 4789), ENCAP_NONE);
	assert_int_equal(encap_table_find(&t, 8472), ENCAP_VXLAN);
	assert_int_equal(encap_table_find(&t, 6635), ENCAP_BAREUDP_MPLS);

	assert_true(encap_table_set(&more, 6635, ENCAP_BAREUDP_IP));
	for (port = 1; port <= 29; port++)
		assert_true(encap_table_set(&more, port, ENCAP_GENEVE));
	assert_true(encap_table_merge(&t, &more));
	assert_int_equal(t.n, 32);
	assert_int_equal(encap_table_find(&t, 6635), ENCAP_BAREUDP_IP);
	assert_int_equal(encap_table_find(&t, 29), ENCAP_GENEVE);
	before = t;
	assert_true(encap_table_set(&more, 6635, ENCAP_BAREUDP_MPLS));
	assert_true(encap_table_set(&more, 30, ENCAP_GENEVE));
	assert_false(encap_table_merge(&t, &more));
	assert_memory_equal(&t, &before, sizeof(t));
}

static void test_kinds(void **state)
{
	static const struct {
		enum encap_kind kind;
		const char *name;
	} kinds[] = {
		{ENCAP_VXLAN, "vxlan"},
		{ENCAP_GENEVE, "geneve"},
		{ENCAP_BAREUDP_IP, "ip"},
		{ENCAP_BAREUDP_MPLS, "mpls"},
	};
	unsigned i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(kinds); i++) {
		assert_string_equal(encap_kind_name(kinds[i].kind), kinds[i].name);
		assert_int_equal(encap_kind_of(kinds[i].name, strlen(kinds[i].name)),
				 kinds[i].kind);
	}
	assert_null(encap_kind_name(ENCAP_NONE));
	assert_int_equal(encap_kind_of("vxlan", 4), ENCAP_NONE);
	assert_int_equal(encap_kind_of("vxlan,", 6), ENCAP_NONE);
	assert_int_equal(encap_kind_of("", 0), ENCAP_NONE);
}

static void test_lists(void **state)
{
	struct encap_table t, before;
	size_t i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(lists); i++) {
		encap_table_default(&t);
		before = t;
		if (encap_table_parse(&t, lists[i].text) != !!lists[i].n)
			fail_msg("row %zu: %s", i, lists[i].text);
		if (!lists[i].n)
			assert_memory_equal(&t, &before, sizeof(t));
		else
			assert_int_equal(t.n, lists[i].n);
		assert_int_equal(encap_table_find(&t, lists[i].port), lists[i].kind);
	}
}

/* Four rows are taken from the start: 28 more fit. */
static void test_long_list(void **state)
{
	char text[29 * 8 + 1] = "";
	struct encap_table t;
	unsigned port;

	(void)state;
	for (port = 100; port < 128; port++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%u=ip",
			 port == 100 ? "" : ",", port);
	encap_table_default(&t);
	assert_true(encap_table_parse(&t, text));
	assert_int_equal(encap_table_find(&t, 127), ENCAP_BAREUDP_IP);

	strcat(text, ",128=ip");
	encap_table_default(&t);
	assert_false(encap_table_parse(&t, text));
	assert_int_equal(t.n, 4);
}

/* IPv4 and UDP to @port, then @shim, then a small UDP packet over IPv4 or IPv6. */
static size_t packet(uint8_t *out, uint16_t port, const uint8_t *shim, size_t shim_len,
		     uint8_t family)
{
	const struct spec inner = {.family = family, .udp = true, .mss = 100, .payload_len = 4};
	const size_t inner_len = spec_build(&inner, (const uint8_t *)"data", false,
					    out + 28 + shim_len);
	const size_t len = 28 + shim_len + inner_len;

	build_ip(out, 4, 0, 17, 0, 0, (uint32_t)len);
	put16(out + 20, 50000);
	put16(out + 22, port);
	put16(out + 24, (uint32_t)len - 20);
	put16(out + 26, 0);
	memcpy(out + 28, shim, shim_len);
	return len;
}

static bool parse_exact(const uint8_t *p, size_t len, struct encap_view *ret)
{
	uint8_t *copy = malloc(len);
	struct encap_table t;
	struct ip_view v;
	bool ok;

	memcpy(copy, p, len);
	encap_table_default(&t);
	assert_true(encap_table_set(&t, 7000, ENCAP_BAREUDP_IP));
	assert_true(ip_parse(copy, len, &v));
	ok = encap_parse(&t, copy, &v, ret);
	free(copy);
	return ok;
}

static void assert_refused(const uint8_t *p, size_t len)
{
	struct encap_view e, before;

	memset(&e, 0xa5, sizeof(e));
	memset(&before, 0xa5, sizeof(before));
	assert_false(parse_exact(p, len, &e));
	assert_memory_equal(&e, &before, sizeof(e));
}

#define ETH4	   2, 2, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 8, 0
#define ETH6	   2, 2, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 0x86, 0xdd
#define VNI	   0, 0, 42, 0
#define VLAN(type) 2, 2, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4, type, 0, 5, 8, 0

static const struct {
	uint16_t port;
	uint8_t family;
	uint8_t shim_len;
	enum encap_kind kind; /* ENCAP_NONE: refused */
	uint8_t shim[80];
} shims[] = {
	{4789, 4, 22, ENCAP_VXLAN, {8, 0, 0, 0, VNI, ETH4}},
	{8472, 6, 22, ENCAP_VXLAN, {8, 0, 0, 0, VNI, ETH6}},
	{4790, 4, 22, ENCAP_NONE, {8, 0, 0, 0, VNI, ETH4}},    /* port */
	{4789, 4, 22, ENCAP_NONE, {0, 0, 0, 0, VNI, ETH4}},    /* no VNI */
	{4789, 4, 22, ENCAP_NONE, {12, 0, 0, 0, VNI, ETH4}},   /* GPE */
	{4789, 4, 22, ENCAP_NONE, {0x88, 0, 0, 0, VNI, ETH4}}, /* group policy */
	{4789, 4, 22, ENCAP_NONE, {8, 1, 0, 0, VNI, ETH4}},
	{4789, 4, 22, ENCAP_NONE, {8, 0, 1, 0, VNI, ETH4}},
	{4789, 4, 22, ENCAP_NONE, {8, 0, 0, 1, VNI, ETH4}},
	{4789, 4, 22, ENCAP_NONE, {8, 0, 0, 0, 0, 0, 42, 1, ETH4}},
	{4789, 4, 22, ENCAP_NONE, {8, 0, 0, 0, VNI, ETH6}}, /* type is not what is there */
	{4789, 6, 22, ENCAP_NONE, {8, 0, 0, 0, VNI, ETH4}},
	{4789, 4, 22, ENCAP_NONE, {8, 0, 0, 0, VNI, 2, 2, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 8, 6}},
	{4789, 4, 26, ENCAP_NONE, {8, 0, 0, 0, VNI, VLAN(0x81)}},
	{4789, 4, 26, ENCAP_NONE, {8, 0, 0, 0, VNI, VLAN(0x88)}},
	{6081, 4, 22, ENCAP_GENEVE, {0, 0, 0x65, 0x58, VNI, ETH4}},
	{6081, 6, 22, ENCAP_GENEVE, {0, 0x3f, 0x65, 0x58, VNI, ETH6}}, /* reserved: ignored */
	{6081, 4, 8, ENCAP_GENEVE, {0, 0, 8, 0, VNI}},
	{6081, 6, 8, ENCAP_GENEVE, {0, 0, 0x86, 0xdd, VNI}},
	{6081, 6, 8, ENCAP_NONE, {0, 0, 8, 0, VNI}},
	{6081, 4, 8, ENCAP_NONE, {0, 0, 0x88, 0x47, VNI}},
	{6081,
	 4,
	 34,
	 ENCAP_GENEVE,
	 {3, 0, 0x65, 0x58, VNI, 1, 2, 3, 2, 5, 6, 7, 8, 9, 10, 11, 12, ETH4}},
	{6081, 4, 22, ENCAP_NONE, {0x40, 0, 0x65, 0x58, VNI, ETH4}}, /* version */
	{6081, 4, 22, ENCAP_NONE, {0x80, 0, 0x65, 0x58, VNI, ETH4}},
	{6081, 4, 22, ENCAP_NONE, {0, 0x80, 0x65, 0x58, VNI, ETH4}}, /* OAM */
	{6081, 4, 22, ENCAP_NONE, {0, 0x40, 0x65, 0x58, VNI, ETH4}}, /* critical */
	{6081, 4, 22, ENCAP_NONE, {0x3f, 0, 0x65, 0x58, VNI, ETH4}}, /* options outside */
	{6635, 4, 4, ENCAP_BAREUDP_MPLS, {0, 0, 0x11, 64}},
	{6635, 6, 8, ENCAP_BAREUDP_MPLS, {0, 0, 0x10, 64, 0, 0, 0x11, 64}},
	{6635, 4, 32, ENCAP_BAREUDP_MPLS, {[30] = 1}},
	{6635, 4, 36, ENCAP_NONE, {[34] = 1}}, /* nine labels */
	{6635, 4, 4, ENCAP_NONE, {0, 0, 0x10, 64}},
	{7000, 4, 0, ENCAP_BAREUDP_IP, {0}},
	{7000, 6, 0, ENCAP_BAREUDP_IP, {0}},
	{7000, 4, 4, ENCAP_NONE, {0x54}},
};

static void test_shims(void **state)
{
	struct encap_view e;
	uint8_t p[256];
	size_t i, len;

	(void)state;
	for (i = 0; i < N_ELEMENTS(shims); i++) {
		len = packet(p, shims[i].port, shims[i].shim, shims[i].shim_len, shims[i].family);
		if (shims[i].kind == ENCAP_NONE) {
			assert_refused(p, len);
			continue;
		}
		if (!parse_exact(p, len, &e))
			fail_msg("row %zu", i);
		assert_int_equal(e.kind, shims[i].kind);
		assert_int_equal(e.outer_l4_off, 20);
		assert_int_equal(e.inner_l3_off, 28 + shims[i].shim_len);
		assert_int_equal(e.inner.version, shims[i].family);
		assert_int_equal(e.inner.proto, 17);
		assert_int_equal(e.inner.l4_off, shims[i].family == 4 ? 20 : 40);
		assert_int_equal(e.inner.total_len, len - 28 - shims[i].shim_len);
	}
}

/* Behind an IPv6 header with options, too. */
static void test_outer_v6(void **state)
{
	static const uint8_t options[8] = {17, 0, 1, 4};
	struct encap_view e;
	uint8_t v4[256], p[256];
	size_t len = packet(v4, 4789, shims[0].shim, 22, 4);

	(void)state;
	build_ip(p, 6, 0, 60, 0, 0, (uint32_t)(len - 20 + 48));
	memcpy(p + 40, options, 8);
	memcpy(p + 48, v4 + 20, len - 20);
	assert_true(parse_exact(p, len + 28, &e));
	assert_int_equal(e.outer_l4_off, 48);
	assert_int_equal(e.inner_l3_off, 48 + 8 + 22);
	/* What is behind the packet is not its business. */
	memset(p + len + 28, 0x45, 10);
	assert_true(parse_exact(p, len + 38, &e));
	assert_int_equal(e.inner.total_len, 32);
}

static void test_outer_refused(void **state)
{
	uint8_t good[256], p[256];
	const size_t len = packet(good, 4789, shims[0].shim, 22, 4);

	(void)state;
	memcpy(p, good, len);
	p[9] = 6;
	assert_refused(p, len);
	memcpy(p, good, len);
	p[6] = 0x20; /* the first fragment has a UDP header */
	assert_refused(p, len);
	p[6] = 0;
	p[7] = 1;
	assert_refused(p, len);
	memcpy(p, good, len);
	p[25]--;
	assert_refused(p, len);
	p[25] += 2;
	assert_refused(p, len);
	p[24] = p[25] = 0;
	assert_refused(p, len);
}

/* Both lengths tell of every shorter packet: nothing beyond is read. */
static void test_truncated(void **state)
{
	static const size_t rows[] = {0, 1, 15, 17, 21, 27, 28, 29, 32, 33};
	uint8_t p[256];
	size_t i, len;

	(void)state;
	for (i = 0; i < N_ELEMENTS(rows); i++) {
		len = packet(p, shims[rows[i]].port, shims[rows[i]].shim, shims[rows[i]].shim_len,
			     shims[rows[i]].family);
		while (--len >= 20) {
			put16(p + 2, (uint32_t)len);
			put16(p + 24, (uint32_t)len - 20);
			assert_refused(p, len);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),	  cmocka_unit_test(test_shims),
		cmocka_unit_test(test_outer_v6),  cmocka_unit_test(test_outer_refused),
		cmocka_unit_test(test_truncated), cmocka_unit_test(test_lists),
		cmocka_unit_test(test_long_list), cmocka_unit_test(test_changed),
		cmocka_unit_test(test_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
