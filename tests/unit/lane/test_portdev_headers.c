/* SPDX-License-Identifier: Apache-2.0 */
/* Tags put back and jumbo headers taken out, without a device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/lane/portdev_internal.h"
#include "offload/be.h"

enum { FRAME_LEN = 80000, JUMBO = 8 };

/* Memory of the exact length, so that a sanitizer sees every byte too far. */
struct frame {
	uint8_t *memory;
	struct portdev_read r;
};

static struct frame new_frame(uint32_t len)
{
	struct frame f = {.memory = malloc(PORTDEV_HEADROOM + len)};

	assert_non_null(f.memory);
	f.r.frame = f.memory + PORTDEV_HEADROOM;
	f.r.len = len;
	for (uint32_t i = 0; i < len; i++)
		f.r.frame[i] = (uint8_t)(i % 251);
	return f;
}

static void test_put_vlan(void **state)
{
	static const uint32_t lengths[] = {12, 13, 14, 60, 70000};

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct frame f = new_frame(lengths[i]);
		uint8_t *before = f.r.frame;

		f.r.vnet = (struct vnet){
			.needs_csum = true, .csum_start = 34, .gso = VNET_GSO_TCP4, .hdr_len = 54};
		portdev_put_vlan(&f.r, 0x88a8, 0xa123);
		assert_ptr_equal(f.r.frame, before - 4);
		assert_int_equal(f.r.len, lengths[i] + 4);
		for (uint8_t k = 0; k < 12; k++)
			assert_int_equal(f.r.frame[k], k);
		assert_int_equal(be32_load(f.r.frame + 12), 0x88a8a123);
		for (uint32_t k = 12; k < lengths[i]; k++)
			assert_int_equal(f.r.frame[k + 4], k % 251);
		assert_int_equal(f.r.vnet.csum_start, 38);
		assert_int_equal(f.r.vnet.hdr_len, 58);
		free(f.memory);
	}
}

static void test_put_vlan_leaves_alone(void **state)
{
	struct frame f = new_frame(11);

	(void)state;
	portdev_put_vlan(&f.r, 0x8100, 1);
	assert_int_equal(f.r.len, 11);
	free(f.memory);

	f = new_frame(60);
	portdev_put_vlan(&f.r, 0x8100, 1);
	assert_int_equal(f.r.vnet.csum_start, 0); /* means nothing here */
	assert_int_equal(f.r.vnet.hdr_len, 0);
	free(f.memory);
}

static const struct jumbo_case {
	const char *what;
	unsigned n_tags;
	uint32_t len;	    /* 0: FRAME_LEN */
	uint32_t change_at; /* from the IPv6 header; 0: nothing */
	uint8_t change_to;
	bool single;
	bool want;
} jumbo_cases[] = {
	{"as the kernel makes it", 0, 0, 0, 0, false, true},
	{"one tag", 1, 0, 0, 0, false, true},
	{"two tags", 2, 0, 0, 0, false, true},
	{"six tags", 6, 0, 0, 0, false, false},
	{"no superpacket", 0, 0, 0, 0, true, false},
	{"payload length", 0, 0, 5, 1, false, false},
	{"no hop-by-hop header", 0, 0, 6, 6, false, false},
	{"two units long", 0, 0, 41, 1, false, false},
	{"another option", 0, 0, 42, 0xc3, false, false},
	{"another option length", 0, 0, 43, 5, false, false},
	{"another length", 0, 0, 47, 0xff, false, false},
	{"nothing behind", 0, 14 + 48, 0, 0, false, true},
	{"one byte short", 0, 14 + 47, 0, 0, false, false},
	{"no IPv6 header", 0, 14 + 5, 0, 0, false, false},
	{"no type", 0, 13, 0, 0, false, false},
};

static void put_jumbo(struct frame *f, const struct jumbo_case *c, uint32_t len)
{
	uint32_t off = 12;
	uint8_t head[14 + 6 * 4 + 48] = {0};

	memcpy(head, f->r.frame, 12);
	for (unsigned i = 0; i < c->n_tags; i++, off += 4)
		be32_store(head + off, i & 1 ? 0x81000007 : 0x88a80008);
	be16_store(head + off, 0x86dd);
	off += 2;
	head[off] = 0x60;
	head[off + 40] = 6;
	head[off + 42] = 0xc2;
	head[off + 43] = 4;
	be32_store(head + off + 44, len - off - 40);
	if (c->change_at)
		head[off + c->change_at] = c->change_to;
	memcpy(f->r.frame, head, off + 48 < len ? off + 48 : len);
	f->r.vnet = (struct vnet){
		.needs_csum = true,
		.csum_start = (uint16_t)(off + 48),
		.gso = c->single ? VNET_GSO_NONE : VNET_GSO_TCP6,
		.hdr_len = (uint16_t)(off + 68),
	};
}

static void test_strip_jumbo(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(jumbo_cases) / sizeof(jumbo_cases[0]); i++) {
		const struct jumbo_case *c = &jumbo_cases[i];
		uint32_t len = c->len ? c->len : FRAME_LEN, ip = 14 + 4 * c->n_tags;
		struct frame f = new_frame(len);
		uint8_t *copy = malloc(len);

		put_jumbo(&f, c, len);
		memcpy(copy, f.r.frame, len);
		portdev_strip_jumbo(&f.r);
		if (f.r.len != len - (c->want ? JUMBO : 0))
			fail_msg("%s: %u bytes", c->what, f.r.len);
		if (!c->want) {
			assert_memory_equal(f.r.frame, copy, len);
		} else {
			assert_memory_equal(f.r.frame, copy, ip + 6);
			assert_int_equal(f.r.frame[ip + 6], 6);
			assert_memory_equal(f.r.frame + ip + 7, copy + ip + 7, 33);
			assert_memory_equal(f.r.frame + ip + 40, copy + ip + 48, len - ip - 48);
			assert_int_equal(f.r.vnet.csum_start, ip + 40);
			assert_int_equal(f.r.vnet.hdr_len, ip + 60);
		}
		free(copy);
		free(f.memory);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_put_vlan),
		cmocka_unit_test(test_put_vlan_leaves_alone),
		cmocka_unit_test(test_strip_jumbo),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
