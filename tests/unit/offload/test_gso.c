/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/gso.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "gso_kinds.h"

#define N_ELEMENTS(a) (sizeof(a) / sizeof(*(a)))

/* Cuts the superpacket of @s and compares every segment with the one built from
 * the description. All memory is exact, so that AddressSanitizer sees every byte
 * beyond. */
static void check_cut(const struct spec *s)
{
	const uint32_t len = spec_hdr_len(s) + s->payload_len;
	uint8_t *payload = spec_payload(s->payload_len), *super = malloc(len);
	const struct vnet v = spec_vnet(s);
	uint8_t *dst, *expected;
	uint32_t i, seg_len;
	struct gso g;

	assert_int_equal(spec_build(s, payload, true, super), len);
	assert_true(vnet_check(&v, super, len));
	assert_true(gso_begin(&g, super, len, &v));
	assert_int_equal(g.n_segments, spec_segments(s));
	for (i = 0; i < g.n_segments; i++) {
		seg_len = gso_segment_len(&g, i);
		dst = malloc(seg_len);
		expected = malloc(seg_len + s->mss + 1u);
		assert_int_equal(spec_build_segment(s, payload, i, expected), seg_len);
		assert_int_equal(gso_next(&g, dst), seg_len);
		assert_memory_equal(dst, expected, seg_len);
		free(dst);
		free(expected);
	}
	assert_int_equal(gso_segment_len(&g, i), 0);
	assert_int_equal(gso_next(&g, NULL), 0);
	free(super);
	free(payload);
}

static const struct spec plain = {
	.family = 4,
	.tcp_flags = TCP_FLAG_ACK,
	.mss = 1000,
	.payload_len = 3500,
	.id = 0xfffe, /* wraps within the train */
	.outer_id = 0x1234,
	.seq = 0xfffffc18, /* wraps with the second segment */
};

static void test_sizes(void **state)
{
	static const struct {
		uint16_t mss;
		uint32_t payload;
	} sizes[] = {
		{1000, 0},    {1000, 1},    {1000, 999},   {1000, 1000},  {1000, 1001},
		{1000, 1999}, {1000, 2000}, {1000, 2001},  {1001, 3003},  {1001, 3004},
		{1, 5},	      {2, 5},	    {65534, 1000}, {1448, 64000}, {1200, 128 * 1200},
	};
	struct spec s = plain;
	size_t i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(sizes); i++) {
		s.mss = sizes[i].mss;
		s.payload_len = sizes[i].payload;
		for_each_kind(s, check_cut);
	}
}

static void test_headers(void **state)
{
	struct spec s = plain;

	(void)state;
	s.ip_options = 8;
	for_each_kind(s, check_cut);
	s.ip_options = 40;
	s.tcp_options = 12;
	for_each_kind(s, check_cut);
	s.ip_options = 0;
	s.tcp_options = 40;
	s.tos = 0xbb;
	for_each_kind(s, check_cut);
}

/* 64 KB and beyond, where length fields are 0 and the length is @len alone. */
static void test_large(void **state)
{
	struct spec s = plain;

	(void)state;
	s.mss = 1448;
	for (s.payload_len = 65535 - 64; s.payload_len <= 65535 - 16; s.payload_len++)
		check_cut(&s);
	s.payload_len = 200000;
	for_each_kind(s, check_cut);
	s.mss = 9000;
	s.payload_len = 512 * 1024;
	for_each_kind(s, check_cut);
}

/* Two to the eight of flags; the rules are in spec_build_segment(). */
static void test_tcp_flags(void **state)
{
	struct spec s = plain;
	unsigned flags;

	(void)state;
	for (flags = 0; flags < 256; flags++) {
		s.tcp_flags = (uint8_t)flags;
		s.ecn = flags & TCP_FLAG_CWR;
		s.payload_len = 3500;
		check_cut(&s);
		s.payload_len = 1000; /* the only segment is first and last */
		check_cut(&s);
	}
}

/* Some flags by hand, so that the rules above are not the only witness. */
static void test_flags_literal(void **state)
{
	uint8_t payload[250] = {0}, super[290], dst[140];
	struct spec s = plain;
	struct vnet v;
	struct gso g;

	(void)state;
	s.mss = 100;
	s.payload_len = 250;
	s.tcp_flags = 0xd9; /* CWR, ECE, ACK, PSH, FIN */
	s.ecn = true;
	spec_build(&s, payload, true, super);
	v = spec_vnet(&s);
	assert_true(gso_begin(&g, super, sizeof(super), &v));
	assert_int_equal(gso_next(&g, dst), 140);
	assert_int_equal(dst[33], 0xd0);
	assert_int_equal(gso_next(&g, dst), 140);
	assert_int_equal(dst[33], 0x50);
	assert_int_equal(gso_next(&g, dst), 90);
	assert_int_equal(dst[33], 0x59);
	assert_int_equal(gso_next(&g, dst), 0);
}

/* Every byte by hand: UDP over IPv4, "abcde" in twos, IDs from 7. Sums (RFC 1071)
 * worked out on paper: pseudo header 0a00+0001+0a00+0002+0011 = 1414. */
static void test_udp_literal(void **state)
{
	static const uint8_t super[] = {
		0x45,
		0,
		0,
		33,
		0,
		7,
		0x40,
		0,
		64,
		17,
		0xbe,
		0xef,
		10,
		0,
		0,
		1,
		10,
		0,
		0,
		2,
		/* check: 1414 + 13 bytes */
		0x00,
		0x35,
		0x00,
		0x36,
		0,
		13,
		0x14,
		0x21,
		'a',
		'b',
		'c',
		'd',
		'e',
	};
	/* header: 4500+001e+0007+4000+4011+0a00+0001+0a00+0002 = d939
	 * udp: 1414+000a+0035+0036+000a+6162 = 75f5 */
	static const uint8_t first[] = {
		0x45, 0,  0, 30, 0, 7,	  0x40, 0,    64,   17, 0x26, 0xc6, 10,	  0,   0,
		1,    10, 0, 0,	 2, 0x00, 0x35, 0x00, 0x36, 0,	10,   0x8a, 0x0a, 'a', 'b',
	};
	/* header: d939 - 1 + 2; udp: 1414+0009+0035+0036+0009+6500 = 7991 */
	static const uint8_t last[] = {
		0x45, 0,  0, 29, 0, 9,	  0x40, 0,    64,   17, 0x26, 0xc5, 10,	  0,   0,
		1,    10, 0, 0,	 2, 0x00, 0x35, 0x00, 0x36, 0,	9,    0x86, 0x6e, 'e',
	};
	const struct vnet v = {.needs_csum = true,
			       .gso = VNET_GSO_UDP,
			       .gso_size = 2,
			       .csum_start = 20,
			       .csum_offset = 6};
	uint8_t dst[30];
	struct gso g;

	(void)state;
	assert_true(vnet_check(&v, super, sizeof(super)));
	assert_true(gso_begin(&g, super, sizeof(super), &v));
	assert_int_equal(gso_next(&g, dst), 30);
	assert_memory_equal(dst, first, 30);
	assert_int_equal(gso_next(&g, dst), 30);
	assert_int_equal(gso_next(&g, dst), 29);
	assert_memory_equal(dst, last, 29);
}

static void test_checksum_zero(void **state)
{
	struct spec s = plain;
	uint8_t *payload, *super, *dst;
	uint32_t len, field;
	struct vnet v;
	struct gso g;
	int udp;

	(void)state;
	s.payload_len = 3000;
	for (udp = 0; udp < 2; udp++) {
		s.udp = udp;
		payload = spec_payload(s.payload_len);
		super = malloc(SUPERPACKET_HDR_MAX + s.payload_len);
		dst = malloc(SUPERPACKET_HDR_MAX + s.mss);
		spec_zero_checksums(&s, payload);
		len = spec_build(&s, payload, true, super);
		field = spec_l4_off(&s) + (udp ? 6 : 16);
		v = spec_vnet(&s);
		assert_true(gso_begin(&g, super, len, &v));
		while (gso_next(&g, dst)) {
			assert_int_equal(dst[field], udp ? 0xff : 0);
			assert_int_equal(dst[field + 1], udp ? 0xff : 0);
		}
		free(dst);
		free(super);
		free(payload);
	}
}

/* The outer checksum: 0 stays 0; what NAT made of a 0 is replaced by a right one. */
static void test_outer_checksum_unannounced(void **state)
{
	uint8_t payload[300] = {1, 2, 3}, super[600], dst[400], expected[400];
	struct spec s = plain;
	uint32_t i, len, udp;
	struct vnet v;
	struct gso g;

	(void)state;
	s.mss = 100;
	s.payload_len = 300;
	for (s.outer = 4; s.outer <= 6; s.outer += 2) {
		udp = spec_ip_len(s.outer, 0);
		s.outer_csum = true;
		len = spec_build(&s, payload, true, super);
		put16(super + udp + 6, 0xdead);
		v = spec_vnet(&s);
		v.tunnel_csum = false;
		assert_true(vnet_check(&v, super, len));
		assert_true(gso_begin(&g, super, len, &v));
		for (i = 0; i < 3; i++) {
			len = spec_build_segment(&s, payload, i, expected);
			assert_int_equal(gso_next(&g, dst), len);
			assert_memory_equal(dst, expected, len);
		}
	}
}

/* The last byte of the destination, of the IP header at @off, became another. */
static void check_address_changed(const struct spec *s, uint32_t off)
{
	uint8_t payload[300] = {9, 8, 7}, super[600], dst[400], expected[400];
	const struct vnet v = spec_vnet(s);
	uint32_t i, len;
	struct gso g;

	len = spec_build(s, payload, true, super);
	super[off + 39] = 0x77;
	assert_true(gso_begin(&g, super, len, &v));
	for (i = 0; i < 3; i++) {
		len = spec_build_segment(s, payload, i, expected);
		expected[off + 39] = 0x77;
		assert_int_equal(gso_next(&g, dst), len);
		assert_memory_equal(dst, expected, len);
	}
}

/* A routing header: the pseudo header holds the final destination, which only
 * the partial sum knows (RFC 8200 8.1). */
static void test_partial_sum_is_kept(void **state)
{
	struct spec s = plain;

	(void)state;
	s.family = 6;
	s.mss = 100;
	s.payload_len = 300;
	check_address_changed(&s, 0);
	s.outer = 6;
	s.outer_csum = true;
	check_address_changed(&s, 0);
}

static void assert_refused(const uint8_t *pkt, uint32_t len, const struct vnet *v)
{
	struct gso g, before;

	memset(&g, 0xa5, sizeof(g));
	memcpy(&before, &g, sizeof(g));
	assert_true(vnet_check(v, pkt, len));
	assert_false(gso_begin(&g, pkt, len, v));
	assert_memory_equal(&g, &before, sizeof(g));
}

static void test_data_offset(void **state)
{
	uint8_t payload[40] = {0}, super[80];
	struct spec s = plain;
	struct vnet v;
	uint32_t len;
	struct gso g;

	(void)state;
	s.mss = 8;
	s.payload_len = 24;
	len = spec_build(&s, payload, true, super);
	v = spec_vnet(&s);
	super[32] = 4 << 4;
	assert_refused(super, len, &v);
	super[32] = 12 << 4; /* more than there is */
	assert_refused(super, len, &v);
	super[32] = 11 << 4; /* options to the last byte */
	assert_true(gso_begin(&g, super, len, &v));
	assert_int_equal(g.payload_len, 0);
	assert_int_equal(g.n_segments, 1);
	assert_int_equal(gso_segment_len(&g, 0), 64);
}

/* The largest segment that IP can describe, and one byte more. */
static void test_segment_too_long(void **state)
{
	static const struct {
		uint8_t family, outer;
		uint16_t mss;
	} fits[] = {
		{4, 0, 65535 - 40},
		{6, 0, 65535 - 20},
		{6, 4, 65535 - 28 - 22 - 60},
		{4, 6, 65535 - 8 - 22 - 40},
	};
	struct spec s = plain;
	uint8_t *payload, *super;
	struct vnet v;
	uint32_t len;
	size_t i;

	(void)state;
	s.shim = SHIM_VXLAN;
	s.payload_len = 140000;
	payload = spec_payload(s.payload_len);
	super = malloc(SUPERPACKET_HDR_MAX + s.payload_len);
	for (i = 0; i < N_ELEMENTS(fits); i++) {
		s.family = fits[i].family;
		s.outer = fits[i].outer;
		s.mss = fits[i].mss;
		check_cut(&s);
		s.mss++;
		len = spec_build(&s, payload, true, super);
		v = spec_vnet(&s);
		if (s.mss != 0xffff)
			assert_refused(super, len, &v);
	}
	free(super);
	free(payload);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_tcp_flags),
		cmocka_unit_test(test_flags_literal),
		cmocka_unit_test(test_udp_literal),
		cmocka_unit_test(test_checksum_zero),
		cmocka_unit_test(test_outer_checksum_unannounced),
		cmocka_unit_test(test_partial_sum_is_kept),
		cmocka_unit_test(test_data_offset),
		cmocka_unit_test(test_segment_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
