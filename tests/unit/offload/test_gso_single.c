/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/gso.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "gso_kinds.h"

#define N_ELEMENTS(a) (sizeof(a) / sizeof(*(a)))

/* Without GSO: copied, and the one partial checksum finished. */
static void check_single(const struct spec *s)
{
	const uint32_t len = spec_hdr_len(s) + s->payload_len;
	uint8_t *payload = spec_payload(s->payload_len), *pkt = malloc(len);
	uint8_t *expected = malloc(len), *dst = malloc(len);
	struct vnet v = {.needs_csum = true,
			 .csum_start = (uint16_t)spec_l4_off(s),
			 .csum_offset = s->udp ? 6 : 16};
	const uint32_t field = v.csum_start + v.csum_offset;
	uint8_t *partial = malloc(len);
	struct gso g;

	spec_build(s, payload, true, partial);
	spec_build(s, payload, false, expected);
	/* The outer checksum is finished already: local checksum offload. */
	memcpy(pkt, expected, len);
	memcpy(pkt + field, partial + field, 2);
	assert_true(vnet_check(&v, pkt, len));
	assert_true(gso_begin(&g, pkt, len, &v));
	assert_int_equal(g.n_segments, 1);
	assert_int_equal(gso_segment_len(&g, 0), len);
	assert_int_equal(gso_next(&g, dst), len);
	assert_memory_equal(dst, expected, len);
	assert_int_equal(gso_next(&g, dst), 0);

	v = (struct vnet){0};
	assert_true(gso_begin(&g, pkt, len, &v));
	assert_int_equal(gso_next(&g, dst), len);
	assert_memory_equal(dst, pkt, len);
	free(partial);
	free(dst);
	free(expected);
	free(pkt);
	free(payload);
}

static void test_single(void **state)
{
	struct spec s = {.tcp_flags = TCP_FLAG_ACK, .mss = 1000, .payload_len = 3500};

	(void)state;
	for_each_kind(s, check_single);
	s.payload_len = 0;
	for_each_kind(s, check_single);
	s.payload_len = 7;
	for_each_kind(s, check_single);
}

/* The bytes sum up to 0xffff: no protocol gets a 0 (as the kernel does it), and
 * the place may be at any offset and in any protocol. */
static void test_single_odd_places(void **state)
{
	static const struct {
		uint8_t pkt[7];
		uint16_t start, offset;
		uint8_t expected[7];
	} cases[] = {
		{{0, 0, 0, 0xff, 0xff, 0, 0}, 1, 0, {0, 0xff, 0xff, 0xff, 0xff, 0, 0}},
		{{9, 0, 0, 0xff, 0xff, 0, 0}, 3, 2, {9, 0, 0, 0xff, 0xff, 0xff, 0xff}},
		{{9, 1, 2, 3, 4, 5, 6}, 3, 2, {9, 1, 2, 3, 4, 0xf7, 0xf5}},
		{{9, 1, 2, 3, 4, 5, 6}, 4, 0, {9, 1, 2, 3, 0xf5, 0xfa, 6}},
		{{9, 1, 2, 3, 4, 5, 6}, 5, 0, {9, 1, 2, 3, 4, 0xfa, 0xf9}},
	};
	uint8_t dst[7];
	struct gso g;
	size_t i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(cases); i++) {
		const struct vnet v = {.needs_csum = true,
				       .csum_start = cases[i].start,
				       .csum_offset = cases[i].offset};

		assert_true(vnet_check(&v, cases[i].pkt, 7));
		assert_true(gso_begin(&g, cases[i].pkt, 7, &v));
		assert_int_equal(gso_next(&g, dst), 7);
		if (memcmp(dst, cases[i].expected, 7))
			fail_msg("row %zu", i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_single),
		cmocka_unit_test(test_single_odd_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
