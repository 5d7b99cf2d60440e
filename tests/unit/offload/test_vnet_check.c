/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/vnet.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "superpacket.h"

#define N_ELEMENTS(a) (sizeof(a) / sizeof(*(a)))

/* A superpacket to spoil: VXLAN over IPv4 or IPv6, or plain. */
struct sample {
	struct vnet v;
	uint8_t pkt[1024];
	uint32_t len;
};

static void make_sample(struct sample *t, uint8_t family, bool udp, uint8_t outer)
{
	const struct spec s = {
		.family = family,
		.udp = udp,
		.outer = outer,
		.outer_csum = true,
		.mss = 100,
		.payload_len = 250,
	};
	uint8_t payload[250] = {0};

	t->len = spec_build(&s, payload, true, t->pkt);
	t->v = spec_vnet(&s);
}

/* From memory of exactly the packet's size. */
static bool check(const struct sample *t)
{
	uint8_t *copy = malloc(t->len ? t->len : 1);
	bool ok;

	memcpy(copy, t->pkt, t->len);
	ok = vnet_check(&t->v, copy, t->len);
	free(copy);
	return ok;
}

/* Any field one bit past what it must be. */
static void test_check_fields(void **state)
{
	static const struct {
		uint8_t family;
		bool udp;
		uint8_t outer;
	} kinds[] = {{4, false, 0}, {6, false, 0}, {4, true, 0}, {6, true, 0},	{4, false, 4},
		     {6, false, 4}, {4, true, 6},  {6, true, 6}, {4, false, 6}, {6, true, 4}};
	struct sample good, t;
	size_t i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(kinds); i++) {
		make_sample(&good, kinds[i].family, kinds[i].udp, kinds[i].outer);
		assert_true(check(&good));
#define REFUSED(change)                                                                            \
	do {                                                                                       \
		t = good;                                                                          \
		change;                                                                            \
		assert_false(check(&t));                                                           \
	} while (0)
		REFUSED(t.v.needs_csum = false);
		REFUSED(t.v.gso_size = 0);
		REFUSED(t.v.gso_size = 0xffff);
		REFUSED(t.v.csum_start++);
		REFUSED(t.v.csum_start--);
		REFUSED(t.v.csum_start = 0);
		REFUSED(t.v.csum_start = 0xffff);
		REFUSED(t.v.csum_offset++);
		REFUSED(t.v.csum_offset = t.v.csum_offset == 6 ? 16 : 6);
		REFUSED(t.v.gso = t.v.gso == VNET_GSO_UDP ? VNET_GSO_TCP4 : VNET_GSO_UDP);
		REFUSED(t.v.gso = t.v.gso == VNET_GSO_TCP4 ? VNET_GSO_TCP6 : VNET_GSO_TCP4);
		REFUSED(t.len--);
		REFUSED(t.len++);
		REFUSED(t.len = 0);
		if (kinds[i].udp)
			REFUSED(t.v.ecn = true);
		if (!kinds[i].outer) {
			REFUSED(t.v.tunnel_csum = true);
			REFUSED(t.v.tunnel = VNET_TUNNEL_V4);
			continue;
		}
		REFUSED(t.v.tunnel = VNET_TUNNEL_V4 + VNET_TUNNEL_V6 - t.v.tunnel);
		REFUSED(t.v.tunnel = VNET_TUNNEL_NONE);
		REFUSED(t.v.outer_l4_off++);
		REFUSED(t.v.outer_l4_off--);
		REFUSED(t.v.outer_l4_off = 0);
		REFUSED(t.v.outer_l4_off = t.v.inner_l3_off);
		REFUSED(t.v.inner_l3_off++);
		REFUSED(t.v.inner_l3_off--);
		REFUSED(t.v.inner_l3_off = 0);
		REFUSED(t.v.inner_l3_off = t.v.outer_l4_off + 7);
		REFUSED(t.v.inner_l3_off = 0xffff);
		REFUSED(t.pkt[t.v.outer_l4_off + 5]++); /* UDP length */
	}
}

/* Bytes of the packet that contradict. Offsets from the IP header in question. */
static void test_check_bytes(void **state)
{
	static const struct {
		uint8_t family;
		uint16_t off;
		uint8_t flip;
	} bytes[] = {
		{4, 0, 0x20},						/* version 6 */
		{4, 0, 0x10},						/* version 5 */
		{4, 0, 0x01},						/* header length 16 */
		{4, 0, 0x03},						/* 24 */
		{4, 0, 0x0a},						/* 60 */
		{4, 2, 0x80}, {4, 3, 0x01},				/* total length */
		{4, 6, 0x20}, {4, 6, 0x01}, {4, 6, 0x10}, {4, 7, 0x01}, /* fragments */
		{4, 9, 0x80},						/* protocol */
		{6, 0, 0x20},						/* version 4 */
		{6, 4, 0x80}, {6, 5, 0x01},				/* payload length */
		{6, 6, 0x80},						/* next header */
	};
	struct sample good, t;
	size_t i;
	int kind;

	(void)state;
	for (i = 0; i < N_ELEMENTS(bytes); i++) {
		for (kind = 0; kind < 2; kind++) {
			make_sample(&good, bytes[i].family, kind, 0);
			t = good;
			t.pkt[bytes[i].off] ^= bytes[i].flip;
			assert_false(check(&t));

			make_sample(&good, bytes[i].family, kind, bytes[i].family);
			t = good;
			t.pkt[bytes[i].off] ^= bytes[i].flip;
			assert_false(check(&t));
			t = good;
			t.pkt[t.v.inner_l3_off + bytes[i].off] ^= bytes[i].flip;
			assert_false(check(&t));
		}
	}
	/* DF and the reserved bit are free. */
	make_sample(&t, 4, false, 0);
	t.pkt[6] ^= 0xc0;
	assert_true(check(&t));
	make_sample(&t, 4, true, 0);
	t.pkt[25]++; /* UDP length */
	assert_false(check(&t));
}

/* Cut down to nothing: no length at which a byte beyond is read. */
static void test_check_every_length(void **state)
{
	struct sample t;
	int kind;

	(void)state;
	for (kind = 0; kind < 8; kind++) {
		make_sample(&t, kind & 1 ? 4 : 6, kind & 2, kind & 4 ? 4 : 0);
		while (t.len--)
			assert_false(check(&t));
	}
}

/* Headers that are too short or too long, and all that was claimed fits them. */
static void test_check_short_headers(void **state)
{
	static const struct {
		uint8_t family, first_byte, next;
		uint16_t len, csum_start;
		bool ok;
	} cases[] = {
		{4, 0x45, 6, 40, 20, true},   {4, 0x45, 6, 39, 20, false},
		{4, 0x44, 6, 40, 16, false},  {4, 0x40, 6, 40, 0, false},
		{4, 0x4f, 6, 80, 60, true},   {4, 0x4f, 6, 79, 60, false},
		{4, 0x4f, 6, 60, 60, false},  {4, 0x4f, 6, 59, 60, false},
		{4, 0x45, 17, 28, 20, true},  {4, 0x45, 17, 27, 20, false},
		{6, 0x60, 6, 60, 40, true},   {6, 0x60, 6, 59, 40, false},
		{6, 0x60, 17, 48, 40, true},  {6, 0x60, 17, 47, 40, false},
		{6, 0x60, 60, 40, 48, false}, {6, 0x60, 60, 47, 48, false},
		{6, 0x60, 60, 68, 48, true}, /* the option header is all zeroes but this */
		{6, 0x60, 60, 67, 48, false},
	};
	struct sample t;
	size_t i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(cases); i++) {
		const bool udp = cases[i].next == 17, v4 = cases[i].family == 4;

		make_sample(&t, cases[i].family, udp, 0);
		t.pkt[0] = cases[i].first_byte;
		t.pkt[v4 ? 9 : 6] = cases[i].next;
		t.len = cases[i].len;
		put16(t.pkt + (v4 ? 2 : 4), v4 ? t.len : t.len - 40u);
		if (udp)
			put16(t.pkt + cases[i].csum_start + 4, t.len - cases[i].csum_start);
		if (cases[i].next == 60)
			memcpy(t.pkt + 40, (const uint8_t[]){6, 0}, 2);
		t.v.csum_start = cases[i].csum_start;
		if (check(&t) != cases[i].ok)
			fail_msg("row %zu", i);
	}
}

/* The outer headers once more in the role of the inner ones. */
static void test_check_overlap(void **state)
{
	struct sample t;

	(void)state;
	make_sample(&t, 4, true, 0);
	t.v.tunnel = VNET_TUNNEL_V4;
	t.v.outer_l4_off = 20;
	t.v.inner_l3_off = 0;
	assert_false(check(&t));
}

/* A TCP packet over IPv6 with the given headers between. */
static bool check_chain(uint8_t first, const uint8_t *chain, uint32_t chain_len)
{
	struct sample t;
	uint32_t moved;

	make_sample(&t, 6, false, 0);
	moved = t.len - 40;
	memmove(t.pkt + 40 + chain_len, t.pkt + 40, moved);
	memcpy(t.pkt + 40, chain, chain_len);
	t.pkt[6] = first;
	put16(t.pkt + 4, moved + chain_len);
	t.len += chain_len;
	t.v.csum_start = (uint16_t)(40 + chain_len);
	return check(&t);
}

/* An extension header that says the L4 header is behind the packet. */
static bool check_outside(void)
{
	struct sample t;

	make_sample(&t, 6, false, 0);
	t.pkt[6] = 60;
	t.pkt[40] = 6;
	t.pkt[41] = 255;
	t.v.csum_start = 40 + 256 * 8;
	return check(&t);
}

static void test_check_extensions(void **state)
{
	uint8_t many[17 * 8] = {0};
	size_t i;

	(void)state;
	assert_true(check_chain(0, (const uint8_t[16]){60, 0, [8] = 6, 0}, 16));
	assert_true(check_chain(43, (const uint8_t[24]){6, 2, 4, 1}, 24));
	assert_true(check_chain(60, (const uint8_t[8]){6, 0}, 8));
	assert_false(check_chain(60, (const uint8_t[8]){6, 1}, 8)); /* longer than it is */
	assert_false(check_chain(60, (const uint8_t[8]){6, 255}, 8));
	assert_false(check_outside());
	assert_false(check_chain(60, (const uint8_t[8]){59, 0}, 8));
	assert_false(check_chain(60, (const uint8_t[8]){17, 0}, 8));
	assert_false(check_chain(44, (const uint8_t[8]){6, 0}, 8));   /* fragment */
	assert_false(check_chain(51, (const uint8_t[8]){6, 0}, 8));   /* AH */
	assert_false(check_chain(51, (const uint8_t[16]){6, 2}, 16)); /* AH */
	assert_false(check_chain(135, (const uint8_t[8]){6, 0}, 8));  /* mobility */
	for (i = 0; i < 16; i++)
		many[i * 8] = i < 15 ? 60 : 6;
	assert_true(check_chain(60, many, 16 * 8));
	many[15 * 8] = 60;
	many[16 * 8] = 6;
	assert_false(check_chain(60, many, 17 * 8));
}

/* Length fields of superpackets around and beyond 65535. */
static void test_check_large(void **state)
{
	static uint8_t pkt[70000 + SUPERPACKET_HDR_MAX];
	struct spec s = {.family = 4, .mss = 1000};
	uint8_t *payload = spec_payload(70000);
	struct vnet v;
	uint32_t len;
	int kind;

	(void)state;
	for (kind = 0; kind < 8; kind++) {
		s.family = kind & 1 ? 4 : 6;
		s.udp = kind & 2;
		s.outer = kind & 4 ? 4 : 0;
		for (s.payload_len = 65530 - spec_hdr_len(&s); s.payload_len < 70000;
		     s.payload_len += s.payload_len < 65545 ? 1 : 4455) {
			len = spec_build(&s, payload, true, pkt);
			v = spec_vnet(&s);
			assert_true(vnet_check(&v, pkt, len));
			pkt[s.outer == 4 || s.family == 4 ? 3 : 5] ^= 1;
			assert_false(vnet_check(&v, pkt, len));
		}
	}
	/* A jumbo option would have to go from the segments. */
	s = (struct spec){.family = 6, .ip_options = 8, .mss = 1000, .payload_len = 69000};
	len = spec_build(&s, payload, true, pkt);
	v = spec_vnet(&s);
	assert_true(vnet_check(&v, pkt, len));
	pkt[6] = 0;
	assert_false(vnet_check(&v, pkt, len));
	free(payload);
}

/* Without GSO: bounds, and nothing else. */
static void test_check_single(void **state)
{
	static const struct {
		struct vnet v;
		size_t len;
		bool ok;
	} cases[] = {
		{{0}, 0, true},
		{{.csum_start = 65535, .gso_size = 0}, 1, true},
		{{.data_valid = true}, 1, true},
		{{.needs_csum = true, .csum_start = 20, .csum_offset = 6}, 28, true},
		{{.needs_csum = true, .csum_start = 20, .csum_offset = 6}, 27, false},
		{{.needs_csum = true, .csum_start = 84, .csum_offset = 16}, 102, true},
		{{.needs_csum = true, .csum_start = 84, .csum_offset = 16}, 101, false},
		{{.needs_csum = true}, 2, true},
		{{.needs_csum = true}, 1, false},
		{{.needs_csum = true, .csum_start = 65535, .csum_offset = 65535}, 131071, false},
		{{.needs_csum = true, .csum_start = 65535, .csum_offset = 1}, 10, false},
		{{.tunnel = VNET_TUNNEL_V4}, 100, false},
		{{.tunnel_csum = true}, 100, false},
		{{.ecn = true}, 100, false},
	};
	uint8_t p[128] = {0};
	size_t i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(cases); i++)
		if (vnet_check(&cases[i].v, p, cases[i].len) != cases[i].ok)
			fail_msg("row %zu", i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check_fields),
		cmocka_unit_test(test_check_bytes),
		cmocka_unit_test(test_check_every_length),
		cmocka_unit_test(test_check_short_headers),
		cmocka_unit_test(test_check_overlap),
		cmocka_unit_test(test_check_extensions),
		cmocka_unit_test(test_check_large),
		cmocka_unit_test(test_check_single),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
