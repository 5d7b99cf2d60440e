/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/vnet.h"

#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "superpacket.h"

#define N_ELEMENTS(a) (sizeof(a) / sizeof(*(a)))

/* A 16-bit field at @i in the host's byte order, as the kernel writes it. */
static void native16(uint8_t *hdr, size_t i, uint16_t v)
{
	memcpy(hdr + i, &v, sizeof(v));
}

static void fill(uint8_t *hdr, const uint8_t flags_type[2], const uint16_t fields[4])
{
	size_t i;

	memcpy(hdr, flags_type, 2);
	for (i = 0; i < 4; i++)
		native16(hdr, 2 + 2 * i, fields[i]);
}

static bool same(const struct vnet *a, const struct vnet *b)
{
	return a->needs_csum == b->needs_csum && a->data_valid == b->data_valid &&
	       a->ecn == b->ecn && a->gso == b->gso && a->tunnel == b->tunnel &&
	       a->tunnel_csum == b->tunnel_csum && a->gso_size == b->gso_size &&
	       a->hdr_len == b->hdr_len && a->csum_start == b->csum_start &&
	       a->csum_offset == b->csum_offset && a->outer_l4_off == b->outer_l4_off &&
	       a->inner_l3_off == b->inner_l3_off;
}

/* Header bytes of include/uapi/linux/virtio_net.h, fields hdr_len, gso_size,
 * csum_start, csum_offset; then what they mean. On a TAP, so 14 is taken off. */
static const struct {
	uint8_t flags_type[2];
	uint16_t fields[4];
	struct vnet v;
} plain[] = {
	{{0, 0}, {0}, {0}},
	{{2, 0}, {0}, {.data_valid = true}},
	{{1, 0}, {0, 0, 34, 6}, {.needs_csum = true, .csum_start = 20, .csum_offset = 6}},
	{{1, 0}, {0, 0, 14, 0}, {.needs_csum = true}},
	{{1, 1},
	 {54, 1448, 34, 16},
	 {.needs_csum = true,
	  .gso = VNET_GSO_TCP4,
	  .gso_size = 1448,
	  .hdr_len = 40,
	  .csum_start = 20,
	  .csum_offset = 16}},
	{{1, 0x81},
	 {14, 1, 34, 16},
	 {.needs_csum = true,
	  .ecn = true,
	  .gso = VNET_GSO_TCP4,
	  .gso_size = 1,
	  .csum_start = 20,
	  .csum_offset = 16}},
	{{3, 0x84},
	 {65535, 65535, 65535, 65535},
	 {.needs_csum = true,
	  .data_valid = true,
	  .ecn = true,
	  .gso = VNET_GSO_TCP6,
	  .gso_size = 65535,
	  .hdr_len = 65521,
	  .csum_start = 65521,
	  .csum_offset = 65535}},
	{{1, 5},
	 {14, 1200, 54, 6},
	 {.needs_csum = true,
	  .gso = VNET_GSO_UDP,
	  .gso_size = 1200,
	  .csum_start = 40,
	  .csum_offset = 6}},
};

static void test_plain(void **state)
{
	static const size_t sizes[] = {10, 12, 24};
	uint8_t hdr[24], out[24];
	struct vnet v;
	size_t i, k;

	(void)state;
	for (i = 0; i < N_ELEMENTS(plain); i++) {
		for (k = 0; k < N_ELEMENTS(sizes); k++) {
			memset(hdr, 0xee, sizeof(hdr)); /* the kernel's leftovers */
			fill(hdr, plain[i].flags_type, plain[i].fields);
			memset(&v, 0xa5, sizeof(v));
			assert_true(vnet_decode(hdr, sizes[k], 14, &v));
			assert_true(same(&v, &plain[i].v));

			memset(hdr + 10, 0, 14);
			memset(out, 0xcc, sizeof(out));
			assert_true(vnet_encode(&plain[i].v, out, sizes[k], 14));
			assert_memory_equal(out, hdr, sizes[k]);
			if (sizes[k] < 24)
				assert_int_equal(out[sizes[k]], 0xcc);
		}
	}
}

/* Fields that mean nothing are not even looked at. */
static void test_ignored_fields(void **state)
{
	const uint16_t small[4] = {3, 77, 5, 99};
	const struct vnet none = {0};
	uint8_t hdr[24] = {0};
	struct vnet v;

	(void)state;
	fill(hdr, (const uint8_t[]){0, 0}, small);
	assert_true(vnet_decode(hdr, 10, 14, &v));
	assert_true(same(&v, &none));
	/* hdr_len is a hint, so it may be anything. */
	fill(hdr, (const uint8_t[]){1, 1}, (const uint16_t[]){13, 77, 14, 99});
	assert_true(vnet_decode(hdr, 10, 14, &v));
	assert_int_equal(v.hdr_len, 0);
	assert_int_equal(v.csum_start, 0);
	/* "The outer checksum was verified": news, but not of a superpacket. */
	fill(hdr, (const uint8_t[]){10, 0}, small);
	assert_true(vnet_decode(hdr, 24, 14, &v));
	assert_false(v.tunnel_csum);
	assert_true(v.data_valid);
}

static void test_tunnel(void **state)
{
	static const struct {
		uint8_t flags, type;
		bool csum, ecn;
		enum vnet_gso gso;
		enum vnet_tunnel tunnel;
	} cases[] = {
		{9, 0x21, true, false, VNET_GSO_TCP4, VNET_TUNNEL_V4},
		{1, 0x24, false, false, VNET_GSO_TCP6, VNET_TUNNEL_V4},
		{1, 0xc4, false, true, VNET_GSO_TCP6, VNET_TUNNEL_V6},
		{9, 0x45, true, false, VNET_GSO_UDP, VNET_TUNNEL_V6},
	};
	uint8_t hdr[24], out[24];
	struct vnet v;
	size_t i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(cases); i++) {
		const struct vnet expected = {
			.needs_csum = true,
			.ecn = cases[i].ecn,
			.gso = cases[i].gso,
			.tunnel = cases[i].tunnel,
			.tunnel_csum = cases[i].csum,
			.gso_size = 1398,
			.hdr_len = 90,
			.csum_start = 0x146,
			.csum_offset = 16,
			.outer_l4_off = 0x114,
			.inner_l3_off = 0x132,
		};

		memset(hdr, 0, sizeof(hdr));
		fill(hdr, (const uint8_t[]){cases[i].flags, cases[i].type},
		     (const uint16_t[]){104, 1398, 0x154, 16});
		memcpy(hdr + 20, "\x22\x01\x40\x01", 4); /* little-endian everywhere */
		assert_true(vnet_decode(hdr, 24, 14, &v));
		assert_true(same(&v, &expected));
		assert_true(vnet_encode(&expected, out, 24, 14));
		assert_memory_equal(out, hdr, 24);
		assert_false(vnet_encode(&expected, out, 12, 14));
		assert_false(vnet_encode(&expected, out, 10, 14));
	}
}

static void test_decode_refuses(void **state)
{
	static const struct {
		uint8_t flags, type;
		size_t len;
		uint16_t start, outer, inner;
	} cases[] = {
		{4, 0, 10, 34, 0, 0}, /* RSC_INFO: other fields than we know */
		{16, 0, 24, 34, 0, 0},	   {0x80, 0, 10, 34, 0, 0},   {8, 0, 12, 34, 0, 0},
		{1, 2, 10, 34, 0, 0},	   {1, 3, 10, 34, 0, 0}, /* UFO */
		{1, 6, 10, 34, 0, 0},	   {1, 0x11, 10, 34, 0, 0},   {1, 0x80, 10, 34, 0, 0},
		{1, 0x85, 10, 34, 0, 0},   {1, 0x20, 24, 84, 34, 64}, {1, 0x40, 24, 84, 54, 64},
		{1, 0x23, 24, 84, 34, 64}, {1, 0x61, 24, 84, 34, 64}, {1, 0x21, 12, 84, 34, 64},
		{1, 0x44, 10, 84, 34, 64}, {1, 0, 10, 13, 0, 0},      {1, 0x01, 10, 13, 0, 0},
		{1, 0x21, 24, 84, 13, 64}, {1, 0x21, 24, 84, 34, 13}, {0, 0, 9, 34, 0, 0},
		{0, 0, 0, 34, 0, 0},	   {0, 0, 11, 34, 0, 0},      {0, 0, 20, 34, 0, 0},
	};
	struct vnet v, before;
	uint8_t hdr[24];
	size_t i;

	(void)state;
	memset(&before, 0xa5, sizeof(before));
	for (i = 0; i < N_ELEMENTS(cases); i++) {
		memset(hdr, 0, sizeof(hdr));
		fill(hdr, (const uint8_t[]){cases[i].flags, cases[i].type},
		     (const uint16_t[]){100, 1000, cases[i].start, 16});
		hdr[20] = (uint8_t)cases[i].outer;
		hdr[22] = (uint8_t)cases[i].inner;
		memset(&v, 0xa5, sizeof(v));
		if (vnet_decode(hdr, cases[i].len, 14, &v))
			fail_msg("row %zu", i);
		assert_memory_equal(&v, &before, sizeof(v));
	}
}

static void test_encode_refuses(void **state)
{
	struct vnet v = {.needs_csum = true, .csum_start = 65521};
	uint8_t hdr[24];

	(void)state;
	memset(hdr, 0xcc, sizeof(hdr));
	assert_false(vnet_encode(&v, hdr, 11, 14));
	assert_false(vnet_encode(&v, hdr, 20, 14));
	v.csum_start++;
	assert_false(vnet_encode(&v, hdr, 10, 14));
	v.csum_start = 0;
	v.gso = VNET_GSO_TCP4;
	v.hdr_len = 65522;
	assert_false(vnet_encode(&v, hdr, 10, 14));
	v.hdr_len = 0;
	v.tunnel = VNET_TUNNEL_V4;
	v.outer_l4_off = 65522;
	assert_false(vnet_encode(&v, hdr, 24, 14));
	v.outer_l4_off = 0;
	v.inner_l3_off = 65522;
	assert_false(vnet_encode(&v, hdr, 24, 14));
	assert_int_equal(hdr[0], 0xcc);
	v.inner_l3_off = 65521;
	assert_true(vnet_encode(&v, hdr, 24, 14));
	assert_true(vnet_encode(&v, hdr, 24, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),	       cmocka_unit_test(test_ignored_fields),
		cmocka_unit_test(test_tunnel),	       cmocka_unit_test(test_decode_refuses),
		cmocka_unit_test(test_encode_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
