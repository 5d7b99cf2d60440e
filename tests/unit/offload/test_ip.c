/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/ip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "naive.h"

#define N_ELEMENTS(a) (sizeof(a) / sizeof(*(a)))

/* Parses a copy in memory of exactly @len bytes, so that AddressSanitizer sees
 * every byte read beyond the packet. */
static bool parse_exact(const uint8_t *p, size_t len, struct ip_view *ret)
{
	uint8_t *copy = malloc(len ? len : 1);
	bool ok;

	assert_non_null(copy);
	memcpy(copy, p, len);
	ok = ip_parse(copy, len, ret);
	free(copy);
	return ok;
}

static void assert_rejected(const uint8_t *p, size_t len)
{
	struct ip_view v, before;

	memset(&v, 0xa5, sizeof(v));
	memset(&before, 0xa5, sizeof(before));
	assert_false(parse_exact(p, len, &v));
	assert_memory_equal(&v, &before, sizeof(v));
}

static void test_v4_plain(void **state)
{
	static const uint8_t p[] = {
		0x45, 0xb9, 0x00, 0x1c, 0x12, 0x34, 0x00, 0x00, 0x40, 0x11, 0x00, 0x00, 0x0a, 0x00,
		0x00, 0x01, 0x0a, 0x00, 0x00, 0x02, 0x00, 0x35, 0x00, 0x35, 0x00, 0x08, 0x00, 0x00,
	};
	struct ip_view v;

	(void)state;
	assert_true(parse_exact(p, sizeof(p), &v));
	assert_int_equal(v.version, 4);
	assert_int_equal(v.tos, 0xb9);
	assert_int_equal(v.proto, 17);
	assert_false(v.fragment);
	assert_true(v.first_fragment);
	assert_true(v.has_l4);
	assert_int_equal(v.addr_len, 4);
	assert_int_equal(p[v.src_off + 3], 1);
	assert_int_equal(p[v.dst_off + 3], 2);
	assert_int_equal(v.l4_off, 20);
	assert_int_equal(v.total_len, 28);
	assert_int_equal(ip_ecn(&v), 1);
}

/* Header length, total length and bytes at hand against each other. */
static void test_v4_lengths(void **state)
{
	static const struct {
		uint8_t first_byte;
		uint16_t total;
		size_t len;
		bool ok;
	} cases[] = {
		{0x45, 20, 20, true},  {0x45, 20, 19, false}, {0x45, 19, 20, false},
		{0x45, 0, 20, false},  {0x45, 21, 20, false}, {0x45, 21, 21, true},
		{0x45, 20, 64, true}, /* padding behind the packet */
		{0x44, 20, 20, false}, {0x40, 20, 20, false}, {0x46, 24, 24, true},
		{0x46, 23, 24, false}, {0x46, 24, 23, false}, {0x4f, 60, 60, true},
		{0x4f, 59, 60, false}, {0x4f, 60, 59, false}, {0x4f, 64, 64, true},
		{0x35, 20, 20, false}, {0x55, 20, 20, false}, {0x05, 20, 20, false},
		{0xf5, 20, 20, false}, {0x75, 20, 20, false}, {0x45, 20, 1, false},
		{0x45, 20, 0, false},
	};
	uint8_t p[64] = {0};
	struct ip_view v;
	size_t i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(cases); i++) {
		p[0] = cases[i].first_byte;
		p[2] = (uint8_t)(cases[i].total >> 8);
		p[3] = (uint8_t)cases[i].total;
		if (!cases[i].ok) {
			assert_rejected(p, cases[i].len);
			continue;
		}
		assert_true(parse_exact(p, cases[i].len, &v));
		assert_int_equal(v.total_len, cases[i].total);
		assert_int_equal(v.l4_off, (cases[i].first_byte & 15) * 4);
		assert_true(v.has_l4);
	}
}

static void test_v4_largest(void **state)
{
	uint8_t *p = calloc(1, 65535);
	struct ip_view v;

	(void)state;
	assert_non_null(p);
	p[0] = 0x45;
	p[2] = p[3] = 0xff;
	assert_true(ip_parse(p, 65535, &v));
	assert_int_equal(v.total_len, 65535);
	assert_false(ip_parse(p, 65534, &v));
	free(p);
}

static void test_v4_fragments(void **state)
{
	static const struct {
		uint16_t word;
		bool fragment, first;
	} cases[] = {
		{0x0000, false, true}, {0x4000, false, true}, /* DF */
		{0x8000, false, true},			      /* reserved bit */
		{0xc000, false, true}, {0x2000, true, true},  /* MF */
		{0x6000, true, true},  {0x2001, true, false}, {0x0001, true, false},
		{0x4001, true, false}, {0x1000, true, false}, {0x1fff, true, false},
		{0xffff, true, false},
	};
	uint8_t p[28] = {0x45, 0, 0, 28, 0, 0, 0, 0, 64, 6};
	struct ip_view v;
	size_t i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(cases); i++) {
		p[6] = (uint8_t)(cases[i].word >> 8);
		p[7] = (uint8_t)cases[i].word;
		assert_true(parse_exact(p, sizeof(p), &v));
		assert_int_equal(v.fragment, cases[i].fragment);
		assert_int_equal(v.first_fragment, cases[i].first);
		assert_int_equal(v.has_l4, cases[i].first);
		assert_int_equal(v.proto, 6);
		assert_int_equal(v.l4_off, 20);
	}
}

static size_t v6_packet(uint8_t *out, uint8_t next, const uint8_t *payload, size_t payload_len)
{
	size_t i;

	memset(out, 0, 40);
	out[0] = 0x60;
	out[4] = (uint8_t)(payload_len >> 8);
	out[5] = (uint8_t)payload_len;
	out[6] = next;
	out[7] = 64;
	for (i = 0; i < 32; i++)
		out[8 + i] = (uint8_t)i;
	if (payload_len)
		memcpy(out + 40, payload, payload_len);
	return 40 + payload_len;
}

static void test_v6_plain(void **state)
{
	static const uint8_t payload[8] = {0};
	uint8_t p[64];
	struct ip_view v;
	size_t len = v6_packet(p, 58, payload, sizeof(payload));

	(void)state;
	/* Traffic class 0xa6 and a flow label that must not leak into it. */
	p[0] = 0x6a;
	p[1] = 0x6f;
	p[2] = p[3] = 0xff;
	assert_true(parse_exact(p, len, &v));
	assert_int_equal(v.version, 6);
	assert_int_equal(v.tos, 0xa6);
	assert_int_equal(ip_ecn(&v), 2);
	assert_int_equal(v.proto, 58);
	assert_false(v.fragment);
	assert_true(v.first_fragment);
	assert_true(v.has_l4);
	assert_int_equal(v.addr_len, 16);
	assert_int_equal(p[v.src_off], 0);
	assert_int_equal(p[v.dst_off], 16);
	assert_int_equal(v.l4_off, 40);
	assert_int_equal(v.total_len, 48);
}

static void test_v6_lengths(void **state)
{
	static const struct {
		uint16_t payload;
		size_t len;
		bool ok;
	} cases[] = {
		{0, 40, true},	{0, 39, false},	 {0, 64, true},	      {1, 40, false}, {1, 41, true},
		{24, 64, true}, {25, 64, false}, {0xffff, 64, false}, {0, 1, false},
	};
	uint8_t p[64];
	struct ip_view v;
	size_t i;

	(void)state;
	v6_packet(p, 17, NULL, 0);
	for (i = 0; i < N_ELEMENTS(cases); i++) {
		p[4] = (uint8_t)(cases[i].payload >> 8);
		p[5] = (uint8_t)cases[i].payload;
		if (!cases[i].ok) {
			assert_rejected(p, cases[i].len);
			continue;
		}
		assert_true(parse_exact(p, cases[i].len, &v));
		assert_int_equal(v.total_len, 40 + cases[i].payload);
		assert_true(v.has_l4);
	}
}

struct chain {
	const char *what;
	uint8_t next;
	uint8_t payload[48];
	size_t len;
	bool has_l4;
	uint8_t proto;
	uint16_t l4_off;
	bool fragment, first;
};

static const struct chain chains[] = {
	{"hop-by-hop", 0, {17, 0}, 16, true, 17, 48, false, true},
	{"hop-by-hop of 16", 0, {6, 1}, 24, true, 6, 56, false, true},
	{"routing", 43, {6, 2}, 32, true, 6, 64, false, true},
	{"destination", 60, {58, 0}, 16, true, 58, 48, false, true},
	{"AH of 16 bytes", 51, {6, 2}, 24, true, 6, 56, false, true},
	{"AH of 24 bytes", 51, {6, 4}, 32, true, 6, 64, false, true},
	{"AH of 12 bytes", 51, {6, 1}, 12, true, 6, 52, false, true},
	{"mobility", 135, {59, 0}, 8, false, 59, 48, false, true},
	{"mobility, then TCP", 135, {6, 0}, 8, true, 6, 48, false, true},
	{"HIP", 139, {6, 1}, 16, true, 6, 56, false, true},
	{"shim6", 140, {6, 1}, 16, true, 6, 56, false, true},
	{"no next header", 59, {0}, 8, false, 59, 40, false, true},
	{"hop-by-hop, no next header", 0, {59, 0}, 8, false, 59, 48, false, true},
	{"ESP is opaque", 50, {0, 0xff}, 8, true, 50, 40, false, true},
	{"unknown upper layer", 200, {0}, 0, true, 200, 40, false, true},
	{"first fragment", 44, {6, 0, 0, 0x01}, 16, true, 6, 48, true, true},
	{"atomic fragment", 44, {6, 0, 0, 0x00}, 16, true, 6, 48, true, true},
	{"reserved bits", 44, {6, 0, 0, 0x06}, 16, true, 6, 48, true, true},
	{"fragment's reserved byte", 44, {6, 0xff}, 16, true, 6, 48, true, true},
	{"offset 8", 44, {6, 0, 0, 0x08}, 16, false, 6, 48, true, false},
	{"offset 8, more", 44, {6, 0, 0, 0x09}, 16, false, 6, 48, true, false},
	{"largest offset", 44, {6, 0, 0xff, 0xf8}, 16, false, 6, 48, true, false},
	{"later fragment is not walked",
	 44,
	 {60, 0, 0, 8, 0, 0, 0, 0, 6},
	 24,
	 false,
	 60,
	 48,
	 true,
	 false},
	{"hop-by-hop, destination, routing, TCP",
	 0,
	 {60, 0, 0, 0, 0, 0, 0, 0, 43, 0, 0, 0, 0, 0, 0, 0, 6, 0},
	 28,
	 true,
	 6,
	 64,
	 false,
	 true},
	{"first fragment, destination, UDP",
	 44,
	 {60, 0, 0, 1, 0, 0, 0, 0, 17, 0},
	 24,
	 true,
	 17,
	 56,
	 true,
	 true},
	{"hop-by-hop, later fragment",
	 0,
	 {44, 0, 0, 0, 0, 0, 0, 0, 17, 0, 0, 16},
	 24,
	 false,
	 17,
	 56,
	 true,
	 false},
	/* The chain runs out: the walk stops at the header that does not fit. */
	{"nothing behind next header 0 (jumbogram)", 0, {0}, 0, false, 0, 40, false, true},
	{"hop-by-hop cut at 7", 0, {17, 0}, 7, false, 0, 40, false, true},
	{"hop-by-hop longer than the packet", 0, {17, 1}, 15, false, 0, 40, false, true},
	{"hop-by-hop ends the packet", 0, {17, 0}, 8, true, 17, 48, false, true},
	{"destination of 2048", 60, {17, 0xff}, 48, false, 60, 40, false, true},
	{"AH of 1028", 51, {17, 0xff}, 48, false, 51, 40, false, true},
	{"AH cut by one", 51, {6, 4}, 23, false, 51, 40, false, true},
	{"fragment header cut", 44, {6, 0, 0, 8}, 7, false, 44, 40, false, true},
	{"second header cut", 0, {60, 0, 0, 0, 0, 0, 0, 0, 6, 0}, 15, false, 60, 48, false, true},
};

static void test_v6_chains(void **state)
{
	uint8_t p[128];
	struct ip_view v;
	size_t i, len;

	(void)state;
	for (i = 0; i < N_ELEMENTS(chains); i++) {
		const struct chain *c = &chains[i];

		print_message("%s\n", c->what);
		len = v6_packet(p, c->next, c->payload, c->len);
		assert_true(parse_exact(p, len, &v));
		assert_int_equal(v.has_l4, c->has_l4);
		assert_int_equal(v.proto, c->proto);
		assert_int_equal(v.l4_off, c->l4_off);
		assert_int_equal(v.fragment, c->fragment);
		assert_int_equal(v.first_fragment, c->first);
		assert_int_equal(v.total_len, len);
	}
}

/* The payload length bounds the walk, not the bytes that happen to follow. */
static void test_v6_payload_bounds_the_walk(void **state)
{
	static const uint8_t payload[24] = {60, 0, 0, 0, 0, 0, 0, 0, 6, 0};
	uint8_t p[64];
	struct ip_view v;
	uint8_t payload_len;

	(void)state;
	v6_packet(p, 0, payload, sizeof(payload));
	for (payload_len = 0; payload_len <= sizeof(payload); payload_len++) {
		p[5] = payload_len;
		assert_true(parse_exact(p, 64, &v));
		assert_int_equal(v.total_len, 40 + payload_len);
		assert_int_equal(v.has_l4, payload_len >= 16);
	}
}

/* Sixteen headers are walked, the seventeenth is not. */
static void test_v6_chain_bound(void **state)
{
	uint8_t payload[17 * 8] = {0}, p[40 + sizeof(payload)];
	struct ip_view v;
	size_t n;

	(void)state;
	for (n = 1; n <= 17; n++) {
		memset(payload, 0, sizeof(payload));
		for (size_t i = 0; i < n; i++)
			payload[i * 8] = i == n - 1 ? 6 : 60;
		assert_true(parse_exact(p, v6_packet(p, 60, payload, n * 8), &v));
		assert_int_equal(v.has_l4, n <= 16);
		assert_int_equal(v.proto, n <= 16 ? 6 : 60);
		assert_int_equal(v.l4_off, 40 + 8 * (n <= 16 ? n : 16));
	}
}

/* The longest chain the bound allows stays within 16 bits of l4_off. */
static void test_v6_longest_chain(void **state)
{
	enum { EXTENSION = 2048, N = 16 };
	uint8_t *payload = calloc(N, EXTENSION), *p = malloc(40 + N * EXTENSION);
	struct ip_view v;
	size_t i;

	(void)state;
	assert_non_null(payload);
	assert_non_null(p);
	for (i = 0; i < N; i++) {
		payload[i * EXTENSION] = i == N - 1 ? 17 : 60;
		payload[i * EXTENSION + 1] = 0xff;
	}
	assert_true(ip_parse(p, v6_packet(p, 60, payload, N * EXTENSION), &v));
	assert_true(v.has_l4);
	assert_int_equal(v.proto, 17);
	assert_int_equal(v.l4_off, 40 + 32768);
	assert_int_equal(v.l4_off, v.total_len);
	free(payload);
	free(p);
}

static void fill_checksum(uint8_t *p, size_t header_len)
{
	uint16_t check;

	p[10] = p[11] = 0;
	check = naive_checksum(p, header_len);
	p[10] = (uint8_t)(check >> 8);
	p[11] = (uint8_t)check;
}

/* Sets @ecn on a copy of @before; the result must be what a sender that had
 * meant @ecn from the start would have written. */
static void check_set_ecn_v4(const uint8_t *before, size_t header_len, uint8_t ecn)
{
	uint8_t p[60], expected[60];
	struct ip_view v;

	memcpy(p, before, header_len);
	memcpy(expected, before, header_len);
	expected[1] = (uint8_t)((before[1] & 0xfc) | ecn);
	fill_checksum(expected, header_len);

	assert_true(ip_parse(p, header_len, &v));
	assert_int_equal(ip_ecn(&v), before[1] & 3);
	ip_set_ecn(p, &v, ecn);
	assert_memory_equal(p, expected, header_len);
	assert_int_equal(naive_checksum(p, header_len), 0);
	assert_int_equal(ip_ecn(&v), ecn);
	assert_int_equal(v.tos, expected[1]);
}

static void test_set_ecn_v4_random(void **state)
{
	uint64_t seed = 7;
	unsigned round;
	uint8_t p[60], change;

	(void)state;
	for (round = 0; round < 20000; round++) {
		const uint8_t header_len = (uint8_t)(20 + 4 * (round % 11));

		naive_random_bytes(&seed, p, sizeof(p));
		p[0] = (uint8_t)(0x40 | header_len / 4);
		p[2] = 0;
		p[3] = header_len;
		for (change = 0; change < 16; change++) {
			p[1] = (uint8_t)((p[1] & 0xfc) | change >> 2);
			fill_checksum(p, header_len);
			check_set_ecn_v4(p, header_len, change & 3);
		}
	}
}

/* The identification takes the checksum through each of its values, 0x0000 and
 * 0xfffe among them. */
static void test_set_ecn_v4_every_checksum(void **state)
{
	uint8_t p[20] = {0x45, 0, 0, 20, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2};
	bool seen_zero = false, seen_last = false;
	uint32_t id;
	uint8_t change;

	(void)state;
	for (id = 0; id <= 0xffff; id++) {
		p[4] = (uint8_t)(id >> 8);
		p[5] = (uint8_t)id;
		for (change = 0; change < 16; change++) {
			p[1] = change >> 2;
			fill_checksum(p, sizeof(p));
			seen_zero |= !p[10] && !p[11];
			seen_last |= p[10] == 0xff && p[11] == 0xfe;
			check_set_ecn_v4(p, sizeof(p), change & 3);
		}
	}
	assert_true(seen_zero);
	assert_true(seen_last);
}

/* A header with 0xffff where 0x0000 would be canonical verifies, and still does
 * after each change. A wrong checksum stays wrong: damage is not papered over. */
static void test_set_ecn_v4_odd_checksums(void **state)
{
	uint8_t p[20] = {0x45, 0, 0, 20, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2};
	uint16_t id;
	struct ip_view v;
	uint8_t change, copy[20];

	(void)state;
	for (change = 0; change < 16; change++) {
		p[1] = change >> 2;
		p[4] = p[5] = 0;
		fill_checksum(p, sizeof(p));
		/* The identification soaks up the checksum: 0 would be right now. */
		id = (uint16_t)(p[10] << 8 | p[11]);
		p[4] = (uint8_t)(id >> 8);
		p[5] = (uint8_t)id;
		p[10] = p[11] = 0xff;
		assert_int_equal(naive_checksum(p, sizeof(p)), 0);

		memcpy(copy, p, sizeof(copy));
		assert_true(ip_parse(copy, sizeof(copy), &v));
		ip_set_ecn(copy, &v, change & 3);
		assert_int_equal(naive_checksum(copy, sizeof(copy)), 0);

		memcpy(copy, p, sizeof(copy));
		copy[11] = 0xfd;
		assert_true(ip_parse(copy, sizeof(copy), &v));
		ip_set_ecn(copy, &v, change & 3);
		assert_int_not_equal(naive_checksum(copy, sizeof(copy)), 0);
	}
}

static void test_set_ecn_v6(void **state)
{
	uint8_t before[40], p[40], expected[40];
	uint64_t seed = 8;
	unsigned round;
	uint8_t change;
	struct ip_view v;

	(void)state;
	for (round = 0; round < 1000; round++) {
		naive_random_bytes(&seed, before, sizeof(before));
		before[0] = (uint8_t)(0x60 | (before[0] & 0x0f));
		before[4] = before[5] = 0;
		for (change = 0; change < 16; change++) {
			const uint8_t from = change >> 2, to = change & 3;

			before[1] = (uint8_t)((before[1] & 0xcf) | from << 4);
			memcpy(p, before, sizeof(p));
			memcpy(expected, before, sizeof(expected));
			expected[1] = (uint8_t)((before[1] & 0xcf) | to << 4);

			assert_true(ip_parse(p, sizeof(p), &v));
			assert_int_equal(ip_ecn(&v), from);
			ip_set_ecn(p, &v, to);
			assert_memory_equal(p, expected, sizeof(p));
			assert_int_equal(ip_ecn(&v), to);
			/* Parsing the result gives the view that was updated. */
			assert_int_equal(v.tos, (p[0] & 15) << 4 | p[1] >> 4);
		}
	}
}

/* A value beyond two bits must not reach the DSCP or the flow label. */
static void test_set_ecn_masks(void **state)
{
	uint8_t v4[20] = {0x45, 0xb8, 0, 20}, v6[40] = {0x60, 0x05};
	struct ip_view v;

	(void)state;
	fill_checksum(v4, sizeof(v4));
	assert_true(ip_parse(v4, sizeof(v4), &v));
	ip_set_ecn(v4, &v, 0xfe);
	assert_int_equal(v4[1], 0xba);
	assert_int_equal(naive_checksum(v4, sizeof(v4)), 0);

	assert_true(ip_parse(v6, sizeof(v6), &v));
	ip_set_ecn(v6, &v, 0xfe);
	assert_int_equal(v6[0], 0x60);
	assert_int_equal(v6[1], 0x25);
	assert_int_equal(v.tos, 0x02);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_v4_plain),
		cmocka_unit_test(test_v4_lengths),
		cmocka_unit_test(test_v4_largest),
		cmocka_unit_test(test_v4_fragments),
		cmocka_unit_test(test_v6_plain),
		cmocka_unit_test(test_v6_lengths),
		cmocka_unit_test(test_v6_chains),
		cmocka_unit_test(test_v6_payload_bounds_the_walk),
		cmocka_unit_test(test_v6_chain_bound),
		cmocka_unit_test(test_v6_longest_chain),
		cmocka_unit_test(test_set_ecn_v4_random),
		cmocka_unit_test(test_set_ecn_v4_every_checksum),
		cmocka_unit_test(test_set_ecn_v4_odd_checksums),
		cmocka_unit_test(test_set_ecn_v6),
		cmocka_unit_test(test_set_ecn_masks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
