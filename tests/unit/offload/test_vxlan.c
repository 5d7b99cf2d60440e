/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/gso.h"
#include "offload/vxlan.h"

#include "vxlan_frames.h"
#include "vxlan_kernel.h"

static uint32_t unhex(const char *hex, uint8_t *out)
{
	uint32_t n;

	for (n = 0; hex[2 * n]; n++)
		out[n] = (uint8_t)strtoul((const char[]){hex[2 * n], hex[2 * n + 1], 0}, NULL, 16);
	return n;
}

/* Puts @to into the word at @at and corrects the checksum at @check, unless it is
 * 0, which means none. */
static void replace_word(uint8_t *p, uint32_t at, uint32_t check, uint16_t to)
{
	uint8_t words[6];

	put16(words, 0xffffu - (p[check] << 8 | p[check + 1]));
	put16(words + 2, 0xffffu - (p[at] << 8 | p[at + 1]));
	put16(words + 4, to);
	put16(p + at, to);
	if (p[check] || p[check + 1])
		put16(p + check, naive_checksum(words, 6));
}

static void check_device(size_t d, size_t n)
{
	struct vxlan_template t = devices[d].v6 ? template_v6() : template_v4();
	const uint32_t ip_len = devices[d].v6 ? 40 : 20;
	uint8_t bytes[200], expected[VXLAN_OUTER_MAX_LEN];
	struct vnet v = {.data_valid = true};
	struct frame f;
	uint32_t len;

	t.dst_port = devices[d].dst_port;
	t.checksum = devices[d].checksum;
	t.inherit_dscp = devices[d].inherit_dscp;
	t.dscp = devices[d].dscp;
	t.ttl = devices[d].ttl;
	len = unhex(frames[n], bytes);
	f = frame_new(bytes, len);
	len = unhex(outers[d][n], expected);
	if (!devices[d].v6)
		t.ip_id = (uint16_t)(expected[4] << 8 | expected[5]);
	replace_word(expected, ip_len, ip_len + 6, vxlan_source_port(f.p, f.len));

	assert_int_equal(vxlan_push(&t, f.p, f.len, &v), len);
	assert_memory_equal(f.p - len, expected, len);
	assert_memory_equal(f.p, bytes, f.len);
	assert_plain(&v);
	frame_free(&f);
}

static void test_as_kernel(void **state)
{
	size_t d, n;

	(void)state;
	for (d = 0; d < N_ELEMENTS(devices); d++)
		for (n = 0; n < N_ELEMENTS(frames); n++)
			check_device(d, n);
}

static const struct spec plain = {
	.family = 4,
	.tcp_flags = TCP_FLAG_ACK | TCP_FLAG_PSH,
	.tos = 0xba,
	.mss = 1000,
	.payload_len = 3500,
	.id = 0xfffe,
	.seq = 0xfffffc18,
};

/* Segment @i of @s: what gso.h made of the pushed superpacket, and what pushing the
 * segment gives, is what the naive builder says. */
static void check_segment(const struct vxlan_template *t, const struct spec *s,
			  const uint8_t *payload, unsigned tags, struct gso *g, uint32_t i)
{
	const uint32_t l3 = 14 + 4 * tags, first = VXLAN_OUTER_MAX_LEN - outer_len(t);
	uint8_t *built = malloc(SUPERPACKET_HDR_MAX + s->mss), *expected, *dst;
	const uint32_t len = l3 + spec_build_segment(s, payload, i, built + l3);
	struct vnet v = {0};
	struct frame f;

	put_ethernet(built, tags, family_ethertype(s->family));
	f = frame_new(built, len);
	expected = malloc(outer_len(t) + len);
	dst = malloc(outer_len(t) + len);
	naive_push(t, &f, s->tos & 3, (uint16_t)(t->ip_id + i), expected);

	assert_int_equal(gso_segment_len(g, i), outer_len(t) + len);
	assert_int_equal(gso_next(g, dst), outer_len(t) + len);
	assert_memory_equal(dst, expected, outer_len(t) + len);

	naive_push(t, &f, s->tos & 3, t->ip_id, expected);
	assert_int_equal(vxlan_push(t, f.p, len, &v), outer_len(t));
	assert_memory_equal(f.memory + first, expected, outer_len(t) + len);
	assert_plain(&v);
	frame_free(&f);
	free(built);
	free(expected);
	free(dst);
}

static void check_super(const struct vxlan_template *t, const struct spec *s,
			const uint8_t *payload, unsigned tags)
{
	struct frame f = spec_frame(s, payload, tags, true);
	const uint32_t outer = outer_len(t), len = outer + f.len;
	struct vnet v = spec_frame_vnet(s, tags);
	uint32_t i;
	struct gso g;

	v.hdr_len = 0xffff; /* a hint that is a lie */
	assert_int_equal(vxlan_push(t, f.p, f.len, &v), outer);
	assert_true(vnet_check(&v, f.p - outer, len));
	assert_int_equal(v.tunnel, t->addr_len == 4 ? VNET_TUNNEL_V4 : VNET_TUNNEL_V6);
	assert_int_equal(v.tunnel_csum, t->checksum);
	assert_int_equal(v.outer_l4_off, outer - 16);
	assert_int_equal(v.inner_l3_off, outer + 14 + 4 * tags);
	assert_int_equal(v.hdr_len, len - s->payload_len);
	assert_int_equal(v.gso_size, s->mss);
	assert_int_equal(v.ecn, s->ecn);
	assert_true(gso_begin(&g, f.p - outer, len, &v));
	assert_int_equal(g.n_segments, spec_segments(s));
	for (i = 0; i < g.n_segments; i++)
		check_segment(t, s, payload, tags, &g, i);
	assert_int_equal(gso_next(&g, NULL), 0);
	frame_free(&f);
}

static void for_each_way(struct spec s)
{
	uint8_t *payload = spec_payload(s.payload_len);
	struct vxlan_template t;
	unsigned way;

	for (way = 0; way < 48; way++) {
		t = way & 1 ? template_v4() : template_v6();
		t.checksum = way & 2;
		s.family = way & 4 ? 4 : 6;
		s.udp = way & 8;
		check_super(&t, &s, payload, way / 16);
	}
	free(payload);
}

/* The property: cutting after the push is the push after cutting. */
static void test_cut_after_push(void **state)
{
	static const struct {
		uint16_t mss;
		uint32_t payload;
	} sizes[] = {
		{1000, 0},
		{1000, 1},
		{1000, 1000},
		{1000, 1001},
		{1, 5},
		{1001, 3004},
		{1448, 63000},
		{1448, 65535 - 40 - 20},
		{9000, 65535 - 20 - 50},
		{1448, 196608},
		{8948, 524280},
	};
	struct spec s = plain;
	size_t i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(sizes); i++) {
		s.mss = sizes[i].mss;
		s.payload_len = sizes[i].payload;
		for_each_way(s);
	}
}

/* One length after another while first the outer and then the inner ones get too
 * long for 16 bits. */
static void test_lengths_around_64k(void **state)
{
	uint8_t *payload = spec_payload(65600);
	struct spec s = plain;
	struct vxlan_template t;

	(void)state;
	s.mss = 40000;
	for (s.payload_len = 65535 - 130; s.payload_len <= 65535; s.payload_len++) {
		t = s.payload_len & 1 ? template_v4() : template_v6();
		t.checksum = s.payload_len & 2;
		s.family = s.payload_len & 4 ? 4 : 6;
		check_super(&t, &s, payload, 1);
	}
	free(payload);
}

static void for_each_tcp(struct spec s)
{
	uint8_t *payload = spec_payload(s.payload_len);
	const struct vxlan_template v4 = template_v4(), v6 = template_v6();

	for (s.family = 4; s.family <= 6; s.family += 2) {
		check_super(&v4, &s, payload, 0);
		check_super(&v6, &s, payload, 2);
	}
	free(payload);
}

static void test_header_options(void **state)
{
	struct spec s = plain;

	(void)state;
	s.ip_options = 40;
	s.tcp_options = 40;
	s.ecn = true;
	s.tcp_flags = 0xd9;
	s.tos = 0xb9;
	for_each_tcp(s);
	s.tos = 0x02;
	for_each_tcp(s);
}

/* A single packet whose checksum is partial: finished, like any other then. */
static void test_partial_single(void **state)
{
	uint8_t payload[101] = {1, 2, 3}, expected[300];
	struct frame f, finished;
	struct vxlan_template t;
	struct spec s = plain;
	struct vnet v;
	unsigned way;
	uint32_t len;

	(void)state;
	s.payload_len = 101;
	for (way = 0; way < 48; way++) {
		t = way & 1 ? template_v4() : template_v6();
		t.checksum = way & 2;
		s.family = way & 4 ? 4 : 6;
		s.udp = way & 8;
		f = spec_frame(&s, payload, way / 16, true);
		finished = spec_frame(&s, payload, way / 16, false);
		v = (struct vnet){.needs_csum = true,
				  .csum_start = spec_frame_vnet(&s, way / 16).csum_start,
				  .csum_offset = s.udp ? 6 : 16};
		len = naive_push(&t, &finished, s.tos & 3, t.ip_id, expected);
		assert_int_equal(vxlan_push(&t, f.p, f.len, &v), outer_len(&t));
		assert_memory_equal(f.p - outer_len(&t), expected, len);
		assert_plain(&v);
		frame_free(&f);
		frame_free(&finished);
	}
}

/* A UDP checksum that comes out as 0 is 0xffff: the inner one, and the outer. */
static void test_checksum_zero(void **state)
{
	uint8_t payload[64] = {0};
	struct vxlan_template t = template_v4();
	struct spec s = plain;
	struct vnet v = {.needs_csum = true, .csum_start = 34, .csum_offset = 6};
	struct frame f;

	(void)state;
	s.udp = true;
	s.payload_len = s.mss = sizeof(payload);
	spec_zero_checksums(&s, payload);
	f = spec_frame(&s, payload, 0, true);
	assert_int_equal(vxlan_push(&t, f.p, f.len, &v), 36);
	assert_memory_equal(f.p + 40, "\xff\xff", 2);

	t.checksum = true;
	memset(&v, 0, sizeof(v));
	put16(f.p + f.len - 2, 0);
	assert_int_equal(vxlan_push(&t, f.p, f.len, &v), 36);
	memcpy(f.p + f.len - 2, f.p - 10, 2); /* what is missing to 0xffff */
	assert_int_equal(vxlan_push(&t, f.p, f.len, &v), 36);
	assert_memory_equal(f.p - 10, "\xff\xff", 2);
	frame_free(&f);
}

static void test_refused_single(void **state)
{
	static const struct {
		uint32_t len4, len6;
		struct vnet v;
		bool ok;
	} cases[] = {
		{13, 13, {0}, false},
		{14, 14, {0}, true},
		{65535 - 36, 65535 - 16, {0}, true},
		{65535 - 35, 65535 - 15, {0}, false},
		{60, 60, {.needs_csum = true, .csum_start = 52, .csum_offset = 6}, true},
		{60, 60, {.needs_csum = true, .csum_start = 52, .csum_offset = 7}, false},
		{60, 60, {.needs_csum = true, .csum_start = 65535, .csum_offset = 65535}, false},
		{60, 60, {.needs_csum = true, .csum_start = 14, .csum_offset = 0}, true},
		{60, 60, {.needs_csum = true, .csum_start = 13, .csum_offset = 6}, false},
		{60, 60, {.tunnel = VNET_TUNNEL_V4}, false},
		{60, 60, {.tunnel_csum = true}, false},
	};
	struct vxlan_template t;
	struct frame f;
	struct vnet v;
	size_t i;

	(void)state;
	for (i = 0; i < 2 * N_ELEMENTS(cases); i++) {
		t = i & 1 ? template_v4() : template_v6();
		f = frame_new(NULL, i & 1 ? cases[i / 2].len4 : cases[i / 2].len6);
		memset(f.p, 0, f.len);
		v = cases[i / 2].v;
		if (!cases[i / 2].ok)
			assert_not_pushed(&t, &f, &v);
		else
			assert_int_equal(vxlan_push(&t, f.p, f.len, &v), outer_len(&t));
		frame_free(&f);
	}
}

/* A checksum over the frame's own headers, whose field could be in them. */
static void test_refused_start(void **state)
{
	static const struct {
		uint8_t family;
		uint16_t start[3]; /* the first that is allowed, by the number of tags */
	} cases[] = {{4, {34, 38, 42}}, {6, {54, 58, 62}}};
	const struct vxlan_template t = template_v4();
	uint8_t payload[64] = {0};
	struct spec s = plain;
	struct frame f;
	struct vnet v;
	unsigned i;

	(void)state;
	s.payload_len = sizeof(payload);
	for (i = 0; i < 6; i++) {
		s.family = cases[i / 3].family;
		f = spec_frame(&s, payload, i % 3, false);
		v = (struct vnet){.needs_csum = true};
		v.csum_start = (uint16_t)(cases[i / 3].start[i % 3] - 1);
		assert_not_pushed(&t, &f, &v);
		v.csum_start++;
		assert_int_equal(vxlan_push(&t, f.p, f.len, &v), 36);
		frame_free(&f);
	}
}

static void test_refused_super(void **state)
{
	const struct vxlan_template t = template_v4();
	const struct vnet good = spec_frame_vnet(&plain, 1);
	uint8_t *payload = spec_payload(plain.payload_len);
	struct frame f = spec_frame(&plain, payload, 1, true), longer;
	struct vnet v;

	(void)state;
#define REFUSED(change)                                                                            \
	do {                                                                                       \
		v = good;                                                                          \
		change;                                                                            \
		assert_not_pushed(&t, &f, &v);                                                     \
	} while (0)
	REFUSED(v.needs_csum = false);
	REFUSED(v.gso_size = 0);
	REFUSED(v.gso = VNET_GSO_TCP6);
	REFUSED(v.gso = VNET_GSO_UDP);
	REFUSED(v.csum_start++);
	REFUSED(v.csum_start -= 4);
	REFUSED(v.csum_start = 17); /* within the tag */
	REFUSED(v.csum_offset = 6);
	REFUSED(v.tunnel_csum = true);
	REFUSED(v.tunnel = VNET_TUNNEL_V4);
	REFUSED(f.p[16] = 0x86); /* ethertype IPv6 */
	REFUSED(f.p[17] = 0xdd);
	f.p[16] = 8, f.p[17] = 0;
	REFUSED(f.p[12] = 0x91); /* not a tag */
	f.p[12] = 0x81;
	REFUSED(f.p[21]++); /* IPv4 length */
	f.p[21]--;
	longer = frame_new(NULL, f.len + 1);
	memcpy(longer.p, f.p, f.len);
	longer.p[f.len] = 0;
	assert_not_pushed(&t, &longer, &good);
	frame_free(&longer);
	v = good;
	assert_int_equal(vxlan_push(&t, f.p, f.len, &v), 36);
	frame_free(&f);

	/* A third tag is one too many. */
	f = spec_frame(&plain, payload, 3, true);
	v = spec_frame_vnet(&plain, 3);
	assert_not_pushed(&t, &f, &v);
	frame_free(&f);
	free(payload);
}

/* A nested tunnel: refused in both descriptions, then cut as the tunnel superpacket
 * that it is, each segment pushed. */
static void check_nested(const struct vxlan_template *t, const struct spec *s,
			 const uint8_t *payload)
{
	struct frame f = spec_frame(s, payload, 0, true), seg;
	struct vnet v = spec_frame_vnet(s, 0), inner = spec_vnet(s), single = {0};
	uint8_t built[600], expected[700];
	uint32_t i, len;
	struct gso g;

	assert_not_pushed(t, &f, &v);
	v.outer_l4_off = inner.outer_l4_off; /* wrong, but right from the IP header */
	v.inner_l3_off = inner.inner_l3_off;
	assert_not_pushed(t, &f, &v);
	v.tunnel = VNET_TUNNEL_NONE;
	v.tunnel_csum = false;
	v.outer_l4_off = v.inner_l3_off = 0;
	assert_not_pushed(t, &f, &v);

	assert_true(vnet_check(&inner, f.p + 14, f.len - 14));
	assert_true(gso_begin(&g, f.p + 14, f.len - 14, &inner));
	for (i = 0; i < g.n_segments; i++) {
		memcpy(built, f.p, 14);
		len = 14 + gso_next(&g, built + 14);
		seg = frame_new(built, len);
		assert_int_equal(spec_build_segment(s, payload, i, seg.p + 14), len - 14);
		len = naive_push(t, &seg, s->tos & 3, t->ip_id, expected);
		memcpy(seg.p, built, seg.len);
		assert_int_equal(vxlan_push(t, seg.p, seg.len, &single), outer_len(t));
		assert_memory_equal(seg.p - outer_len(t), expected, len);
		frame_free(&seg);
	}
	frame_free(&f);
}

static void test_nested(void **state)
{
	uint8_t *payload = spec_payload(1000);
	struct vxlan_template t;
	struct spec s = plain;
	unsigned way;

	(void)state;
	s.mss = 300;
	s.payload_len = 1000;
	for (way = 0; way < 32; way++) {
		t = way & 1 ? template_v4() : template_v6();
		t.checksum = way & 2;
		s.family = way & 4 ? 4 : 6;
		s.udp = way & 8;
		s.outer = way & 16 ? 4 : 6;
		s.outer_csum = way & 2;
		check_nested(&t, &s, payload);
	}
	free(payload);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_kernel),	   cmocka_unit_test(test_cut_after_push),
		cmocka_unit_test(test_lengths_around_64k), cmocka_unit_test(test_header_options),
		cmocka_unit_test(test_partial_single),	   cmocka_unit_test(test_checksum_zero),
		cmocka_unit_test(test_refused_single),	   cmocka_unit_test(test_refused_start),
		cmocka_unit_test(test_refused_super),	   cmocka_unit_test(test_nested),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
