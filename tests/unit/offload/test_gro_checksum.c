/* SPDX-License-Identifier: Apache-2.0 */
/* Packets with wrong checksums are never merged, nor are those whose right ones
 * cutting would write in another way. */
#include "gro_rows.h"

static void test_checksums(void **state)
{
	static const struct row rows[] = {
		{"bad heads",
		 .p = {{TCP4, .corrupt = true},
		       {.k = 1},
		       {.k = 2},
		       {UDP4, .corrupt = true},
		       {UDP4, .k = 1},
		       {UDP4, .k = 2}},
		 .expected = "0 12 3 45"},
		{"bad second closes, and is no head",
		 .p = {{TCP4}, {.k = 1, .corrupt = true}, {.k = 2}, {.k = 3}},
		 .expected = "0 1 23"},
		{"bad third",
		 .p = {{UDP6},
		       {UDP6, .k = 1},
		       {UDP6, .k = 2, .corrupt = true},
		       {UDP6, .k = 2},
		       {UDP6, .k = 3}},
		 .expected = "01 2 34"},
		{"bad only", .p = {{TCP6, .corrupt = true}, {TCP6, .k = 1, .corrupt = true}},
		 .expected = "0 1"},
		{"bad inside a tunnel",
		 .p = {{.encap = PKT_VXLAN},
		       {.encap = PKT_VXLAN, .k = 1, .corrupt = true},
		       {.encap = PKT_VXLAN, .k = 1}},
		 .expected = "0 1 2"},
	};

	(void)state;
	run_rows(rows, N_ELEMENTS(rows));
}

/* A checksum of 0 may be written as 0xffff, which adds up too, but cutting would
 * not write it. The first payload word makes the L4 checksum 0. */
static void add_l4_zero(uint8_t proto, uint32_t k, bool minus)
{
	const struct pkt_shape s = {.version = 4, .proto = proto};
	uint8_t p[300];
	const struct pkt_offsets o = pkt_build(p, &s, k, 100);
	uint8_t *check = p + o.l4 + (proto == PKT_TCP ? 16 : 6), *word = p + o.payload;
	const uint32_t sum = pkt_get16(word) + pkt_get16(check);

	pkt_put16(word, sum > 0xffff ? sum - 0xffff : sum);
	pkt_put16(check, minus ? 0xffff : 0);
	batch_add(&batch, p, o.len);
}

/* The ID of segment 1 makes the IPv4 header checksum 0. */
static void add_ip_zero(uint32_t k, bool minus)
{
	static const struct pkt_shape s = {.version = 4, .proto = PKT_TCP};
	uint8_t p[300];
	struct pkt_offsets o = pkt_write(p, &s, 1, 100);
	unsigned id;

	pkt_put16(p + 4, 0);
	pkt_fix_ip(p);
	id = pkt_get16(p + 10);
	o = pkt_write(p, &s, k, 100);
	pkt_put16(p + 4, id + k - 1);
	pkt_fix(p, &o, PKT_TCP, false);
	assert_int_equal(pkt_get16(p + 10) == 0, k == 1);
	if (minus)
		pkt_put16(p + 10, 0xffff);
	batch_add(&batch, p, o.len);
}

static void test_minus_zero(void **state)
{
	static const char *const expected[] = {"0 12", "0 1 2", "01 2", "012"};

	(void)state;
	for (uint32_t minus = 0; minus < 4; minus++) {
		batch_init(&batch);
		for (uint32_t k = 0; k < 3; k++)
			add_l4_zero(PKT_TCP, k, minus == k);
		check_groups(expected[minus]);
	}
	for (uint32_t minus = 0; minus < 2; minus++) {
		batch_init(&batch);
		for (uint32_t k = 0; k < 3; k++)
			add_ip_zero(k, minus && k == 1);
		check_groups(minus ? "0 1 2" : "012");
	}
	/* UDP has no other way to write it (RFC 768). */
	batch_init(&batch);
	for (uint32_t k = 0; k < 3; k++)
		add_l4_zero(PKT_UDP, k, true);
	check_groups("012");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_checksums),
		cmocka_unit_test(test_minus_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
