/* SPDX-License-Identifier: Apache-2.0 */
/* What vxlan.c reads: ECN and DSCP, the flow, and a packet that comes in. */
#include "offload/vxlan.h"

#include "vxlan_frames.h"

static const struct spec udp = {.family = 4, .udp = true, .mss = 100, .payload_len = 64};

static struct frame udp_frame(uint8_t family, unsigned tags)
{
	uint8_t payload[64] = {0};
	struct spec s = udp;

	s.family = family;
	return spec_frame(&s, payload, tags, false);
}

static uint8_t pushed_tos(const struct vxlan_template *t, struct frame *f)
{
	const uint8_t *ip = f->p - outer_len(t);
	struct vnet v = {0};

	assert_int_equal(vxlan_push(t, f->p, f->len, &v), outer_len(t));
	return t->addr_len == 4 ? ip[1] : (uint8_t)(ip[0] << 4 | ip[1] >> 4);
}

static void set_tos(struct frame *f, uint32_t l3, uint8_t family, uint8_t tos)
{
	if (family == 4)
		f->p[l3 + 1] = tos;
	else
		put16(f->p + l3, 0x6000u | (uint32_t)tos << 4);
}

/* RFC 6040 with the kernel's CE: of 0, ECT(1), ECT(0), CE. */
static const uint8_t outer_ecn[] = {0, 1, 2, 2};

static void check_tos(struct vxlan_template t, uint8_t family, unsigned tags)
{
	struct frame f = udp_frame(family, tags);
	unsigned tos;

	for (tos = 0; tos < 256; tos++) {
		set_tos(&f, 14 + 4 * tags, family, (uint8_t)tos);
		t.inherit_dscp = false;
		t.dscp = 0x2a;
		assert_int_equal(pushed_tos(&t, &f), 0xa8 | (tags > 2 ? 0 : outer_ecn[tos & 3]));
		t.inherit_dscp = true;
		assert_int_equal(pushed_tos(&t, &f),
				 tags > 2 ? 0 : (tos & 0xfc) | outer_ecn[tos & 3]);
	}
	frame_free(&f);
}

static void test_tos(void **state)
{
	unsigned tags;

	(void)state;
	for (tags = 0; tags <= 3; tags++) {
		check_tos(template_v4(), 4, tags);
		check_tos(template_v4(), 6, tags);
		check_tos(template_v6(), 4, tags);
		check_tos(template_v6(), 6, tags);
	}
}

/* Frames that call themselves IP, cut short or of the other version: Not-ECT. */
static void test_tos_of_no_ip(void **state)
{
	static const struct {
		uint32_t len;
		uint16_t ethertype;
		uint8_t first_byte;
		uint8_t ecn;
	} cases[] = {
		{34, 0x0800, 0x4f, 1}, {33, 0x0800, 0x4f, 0}, {14, 0x0800, 0, 0},
		{34, 0x0800, 0x6f, 0}, {54, 0x86dd, 0x6f, 1}, {53, 0x86dd, 0x6f, 0},
		{54, 0x86dd, 0x4f, 0}, {54, 0x0806, 0x4f, 0}, {54, 0x8847, 0x4f, 0},
		{14, 0x8100, 0, 0},    {17, 0x8100, 0, 0},    {18, 0x88a8, 0, 0},
	};
	const struct vxlan_template t = template_v4();
	struct frame f;
	size_t i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(cases); i++) {
		f = frame_new(NULL, cases[i].len);
		memset(f.p, 0x11, f.len); /* as a tag's ethertype nothing, as TOS ECT(1) */
		put16(f.p + 12, cases[i].ethertype);
		if (f.len > 14)
			f.p[14] = cases[i].first_byte;
		if (pushed_tos(&t, &f) != cases[i].ecn)
			fail_msg("row %zu", i);
		frame_free(&f);
	}
}

static void test_template(void **state)
{
	struct vxlan_template t = template_v4();
	struct frame f = udp_frame(4, 0);
	struct vnet v = {0};

	(void)state;
	t.vni = 0xff123456; /* 24 bits of it */
	t.ttl = 255;
	t.dscp = 0xff;
	t.ip_id = 0x1234;
	assert_int_equal(vxlan_push(&t, f.p, f.len, &v), 36);
	assert_memory_equal(f.p - 8, "\x08\0\0\0\x12\x34\x56\0", 8);
	assert_int_equal(f.p[-28], 255);
	assert_int_equal(f.p[-35], 0xfc);
	assert_memory_equal(f.p - 32, "\x12\x34\0\0", 4); /* ID, flags, offset */
	frame_free(&f);
}

static uint16_t port(const struct frame *f)
{
	const uint16_t p = vxlan_source_port(f->p, f->len);

	assert_in_range(p, 49152, 65535);
	return p;
}

/* Bytes that belong to the flow, from the IP header, and all that do not. */
static void check_flow_bytes(uint8_t family, unsigned tags, uint8_t proto, bool ports)
{
	struct frame f = udp_frame(family, tags);
	const uint32_t l3 = 14 + 4 * tags, l4 = family == 4 ? 20 : 40;
	uint8_t *ip = f.p + l3;
	uint16_t before;
	uint32_t i;
	bool flow;

	ip[family == 4 ? 9 : 6] = proto;
	before = port(&f);
	for (i = 0; i < f.len - l3; i++) {
		if (family == 4 ? i == 0 || i == 6 || i == 7 || i == 9 : i == 0 || i == 6)
			continue;
		flow = family == 4 ? i >= 12 && i < 20 : i >= 8 && i < 40;
		if (ports)
			flow = flow || (i >= l4 && i < l4 + 4);
		ip[i] ^= 0x10;
		if ((port(&f) != before) != flow)
			fail_msg("byte %u of IPv%u, protocol %u", i, family, proto);
		ip[i] ^= 0x10;
	}
	f.p[3] ^= 1; /* a MAC address */
	assert_int_equal(port(&f), before);
	ip[family == 4 ? 9 : 6] = 200;
	assert_int_not_equal(port(&f), before);
	frame_free(&f);
}

static void test_flow_bytes(void **state)
{
	static const struct {
		uint8_t proto;
		bool ports;
	} rows[] = {{6, true},	 {17, true}, {33, true},  {132, true},
		    {136, true}, {1, false}, {47, false}, {50, false}};
	size_t i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(rows); i++) {
		check_flow_bytes(4, (unsigned)i % 3, rows[i].proto, rows[i].ports);
		check_flow_bytes(6, (unsigned)i % 3, rows[i].proto, rows[i].ports);
	}
}

/* Ports that are all there is of a packet, and ports that are not all there. */
static void test_flow_cut_short(void **state)
{
	struct frame f = udp_frame(4, 0);
	uint16_t before;

	(void)state;
	f.len = 14 + 20 + 4;
	before = port(&f);
	f.p[37] ^= 1;
	assert_int_not_equal(port(&f), before);
	f.len--;
	before = port(&f);
	f.p[35] ^= 1;
	assert_int_equal(port(&f), before);
	frame_free(&f);
}

/* All fragments of a packet have one port, whatever is where ports would be. */
static void test_flow_fragments(void **state)
{
	struct frame f = udp_frame(4, 0), six = udp_frame(6, 0);
	uint16_t first;

	(void)state;
	f.p[20] = 0x20;
	first = port(&f);
	put16(f.p + 20, 0x2003);
	memset(f.p + 34, 0x77, 8);
	assert_int_equal(port(&f), first);
	put16(f.p + 20, 0x0006);
	assert_int_equal(port(&f), first);
	f.p[33] ^= 1;
	assert_int_not_equal(port(&f), first);
	frame_free(&f);

	six.p[20] = 44;
	memcpy(six.p + 54, "\x11\0\0\1\1\2\3\4", 8);
	first = port(&six);
	put16(six.p + 56, 0x0120);
	memset(six.p + 62, 0x77, 8);
	assert_int_equal(port(&six), first);
	six.p[53] ^= 1;
	assert_int_not_equal(port(&six), first);
	frame_free(&six);
}

/* Ports behind extension headers count; a chain beyond what is looked at gives the
 * addresses alone, however long the packet. */
static void test_flow_extensions(void **state)
{
	struct frame f = frame_new(NULL, 14 + 40 + 88 + 20);
	uint16_t before;

	(void)state;
	memset(f.p, 0, f.len);
	put_ethernet(f.p, 0, 0x86dd);
	f.p[14] = 0x60;
	f.p[20] = 60;
	f.p[54] = 6;
	f.p[55] = 9; /* 80 bytes: the ports are the 121st to 124th */
	before = port(&f);
	f.p[14 + 123] ^= 1;
	assert_int_not_equal(port(&f), before);
	f.p[14 + 123] ^= 1;
	f.p[55] = 10;
	before = port(&f);
	memset(f.p + 14 + 128, 0x55, 20);
	assert_int_equal(port(&f), before);
	f.len -= 20;
	assert_int_equal(port(&f), before);
	f.p[53] ^= 1;
	assert_int_not_equal(port(&f), before);
	frame_free(&f);
}

static void test_flow_of_no_ip(void **state)
{
	struct frame f = frame_new(NULL, 42);
	uint16_t before;
	unsigned i;

	(void)state;
	memset(f.p, 0, f.len);
	put16(f.p + 12, 0x0806);
	before = port(&f);
	for (i = 0; i < 12; i++) {
		f.p[i] ^= 2;
		assert_int_not_equal(port(&f), before);
		f.p[i] ^= 2;
	}
	memset(f.p + 14, 0x33, 28);
	assert_int_equal(port(&f), before);
	f.len = 14;
	assert_int_equal(port(&f), before);
	f.len = 13;
	f.p[0] = 2;
	assert_int_equal(vxlan_source_port(f.p, f.len), 49152);
	frame_free(&f);
}

/* Flows that differ as flows do, in one port, one address or both: as evenly over
 * 64 parts of the range as chance has it. With 63 degrees of freedom chi square is
 * above 120 in one case of 10^5. */
static void test_flow_spread(void **state)
{
	struct frame f = udp_frame(4, 0);
	unsigned kind, i, k;
	double chi, d;

	(void)state;
	for (kind = 0; kind < 4; kind++) {
		unsigned count[64] = {0};

		for (i = 0; i < 16384; i++) {
			put16(f.p + 34, kind == 0 ? i : kind == 1 ? i * 4 : 40000 + i / 128);
			put16(f.p + 32, kind == 2 ? i : kind == 3 ? i % 128 : 0);
			count[(port(&f) - 49152) / 256]++;
		}
		for (chi = 0, k = 0; k < 64; k++) {
			d = (double)count[k] - 256;
			chi += d * d / 256;
		}
		assert_true(chi < 120);
	}
	frame_free(&f);
}

/* Avalanche: a bit of the flow turns each bit of the port in half of 1024 cases,
 * give or take seven standard deviations. */
static void check_avalanche(uint8_t family, uint32_t from, uint32_t to)
{
	struct frame f = udp_frame(family, 0);
	uint64_t random = 88172645463325252u;
	unsigned bit, i, k, turned[14];
	uint16_t change;

	for (bit = from * 8; bit < to * 8; bit++) {
		memset(turned, 0, sizeof(turned));
		for (i = 0; i < 1024; i++) {
			naive_random_bytes(&random, f.p + from, to - from);
			change = port(&f);
			f.p[bit / 8] ^= (uint8_t)(1 << bit % 8);
			change = (uint16_t)(change ^ port(&f));
			for (k = 0; k < 14; k++)
				turned[k] += change >> k & 1;
		}
		for (k = 0; k < 14; k++)
			assert_in_range(turned[k], 400, 624);
	}
	frame_free(&f);
}

static void test_flow_avalanche(void **state)
{
	(void)state;
	check_avalanche(4, 14 + 12, 14 + 24);
	check_avalanche(6, 14 + 8, 14 + 44);
}

/* Byte for byte from memory of exactly that size. */
static bool parse(const uint8_t *p, size_t len, uint16_t dst_port, struct vxlan_view *ret)
{
	uint8_t *copy = malloc(len);
	struct ip_view v;
	bool ok;

	memcpy(copy, p, len);
	ok = ip_parse(copy, len, &v) && vxlan_parse(copy, &v, dst_port, ret);
	free(copy);
	return ok;
}

static void assert_refused(const uint8_t *p, size_t len, uint16_t dst_port)
{
	struct vxlan_view view, before;

	memset(&view, 0xa5, sizeof(view));
	memcpy(&before, &view, sizeof(view));
	assert_false(parse(p, len, dst_port, &view));
	assert_memory_equal(&view, &before, sizeof(view));
}

static void test_parse(void **state)
{
	struct vxlan_template t;
	uint8_t packet[300];
	struct vxlan_view view;
	struct frame f;
	uint32_t len;
	unsigned way;

	(void)state;
	for (way = 0; way < 8; way++) {
		t = way & 1 ? template_v4() : template_v6();
		t.checksum = way & 2;
		t.dst_port = 8472;
		f = way & 4 ? udp_frame(6, 1) : frame_new((const uint8_t[14]){1}, 14);
		len = naive_push(&t, &f, 0, 7, packet);
		assert_true(parse(packet, len, 8472, &view));
		assert_int_equal(view.vni, 0xabcdef);
		assert_int_equal(view.dst_port, 8472);
		assert_int_equal(view.frame_off, outer_len(&t));
		assert_refused(packet, len, 8473);
		assert_refused(packet, len, 4789);
		/* What is behind the packet by its length is not of it. */
		assert_true(parse(packet, len + 10, 8472, &view));
		frame_free(&f);
	}
}

/* Every bit of the UDP and VXLAN headers behind the source port: with a checksum no
 * other value is right; without, all flags but I and what is reserved are ignored. */
static void check_header_bits(const struct vxlan_template *t)
{
	struct frame f = udp_frame(4, 0);
	uint8_t packet[300], *hdr = packet + outer_len(t) - 16;
	const uint32_t len = naive_push(t, &f, 0, 0, packet);
	struct vxlan_view view;
	unsigned bit;

	for (bit = 16; bit < 128; bit++) {
		const bool vni = bit >= 96 && bit < 120, checksum = bit >= 48 && bit < 64;
		const bool ignored = bit >= 64 && !vni && bit != 64 + 3;

		hdr[bit / 8] ^= (uint8_t)(1 << bit % 8);
		if ((vni || ignored) && !t->checksum) {
			assert_true(parse(packet, len, 4789, &view));
			assert_int_equal(view.vni != 0xabcdef, vni);
			assert_int_equal(view.frame_off, outer_len(t));
		} else {
			assert_refused(packet, len, 4789);
		}
		if (checksum) /* and none */
			put16(hdr + 6, 0);
		if (checksum)
			assert_true(parse(packet, len, 4789, &view));
		naive_push(t, &f, 0, 0, packet);
	}
	packet[len - 1] ^= 1;
	assert_int_equal(parse(packet, len, 4789, &view), !t->checksum);
	packet[len - 1] ^= 1;
	packet[outer_len(t) - 17] ^= 1; /* the destination address */
	assert_int_equal(parse(packet, len, 4789, &view), !t->checksum);
	frame_free(&f);
}

static void test_parse_bits(void **state)
{
	struct vxlan_template t4 = template_v4(), t6 = template_v6();

	(void)state;
	check_header_bits(&t4);
	check_header_bits(&t6);
	t4.checksum = t6.checksum = true;
	check_header_bits(&t4);
	check_header_bits(&t6);
}

/* RFC 7348 section 5: the I flag must be set, all that is reserved is ignored. */
static void test_parse_reserved(void **state)
{
	static const struct {
		uint8_t header[8];
		bool ok;
	} cases[] = {
		{{0x08, 0, 0, 0, 1, 2, 3, 0}, true},
		{{0xff, 0xff, 0xff, 0xff, 1, 2, 3, 0xff}, true},
		{{0x0c, 0, 0, 3, 1, 2, 3, 0}, true},	   /* VXLAN-GPE, Ethernet */
		{{0x88, 0, 0x12, 0x34, 1, 2, 3, 0}, true}, /* group based policy */
		{{0x00, 0, 0, 0, 1, 2, 3, 0}, false},
		{{0xf7, 0xff, 0xff, 0xff, 1, 2, 3, 0xff}, false},
	};
	struct vxlan_template t;
	struct vxlan_view view;
	uint8_t packet[300];
	struct frame f = udp_frame(4, 0);
	uint32_t len;
	size_t i;

	(void)state;
	for (i = 0; i < 2 * N_ELEMENTS(cases); i++) {
		t = i & 1 ? template_v4() : template_v6();
		len = naive_push(&t, &f, 0, 0, packet);
		memcpy(packet + outer_len(&t) - 8, cases[i / 2].header, 8);
		if (!cases[i / 2].ok) {
			assert_refused(packet, len, 4789);
			continue;
		}
		assert_true(parse(packet, len, 4789, &view));
		assert_int_equal(view.vni, 0x010203);
		assert_int_equal(view.frame_off, outer_len(&t));
	}
	frame_free(&f);
}

/* Shorter and shorter, the lengths right; at the end no room for a frame. */
static void test_parse_lengths(void **state)
{
	const struct vxlan_template t = template_v4();
	struct frame f = udp_frame(4, 0);
	struct vxlan_view view;
	uint8_t packet[300];
	uint32_t len;

	(void)state;
	for (len = naive_push(&t, &f, 0, 0, packet); len >= 20; len--) {
		put16(packet + 2, len);
		put16(packet + 24, len - 20);
		if (len >= 36 + 14)
			assert_true(parse(packet, len, 4789, &view));
		else
			assert_refused(packet, len, 4789);
	}
	frame_free(&f);
}

static void test_parse_not_udp(void **state)
{
	const struct vxlan_template t4 = template_v4(), t6 = template_v6();
	struct frame f = udp_frame(4, 0);
	uint8_t packet[300];
	uint32_t len;

	(void)state;
	len = naive_push(&t4, &f, 0, 0, packet);
	packet[9] = 6;
	assert_refused(packet, len, 4789);
	packet[9] = 17;
	packet[6] = 0x20; /* the first fragment */
	assert_refused(packet, len, 4789);
	put16(packet + 6, 1);
	assert_refused(packet, len, 4789);
	len = naive_push(&t6, &f, 0, 0, packet);
	packet[6] = 59;
	assert_refused(packet, len, 4789);
	packet[6] = 136;
	assert_refused(packet, len, 4789);
	frame_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tos),
		cmocka_unit_test(test_tos_of_no_ip),
		cmocka_unit_test(test_template),
		cmocka_unit_test(test_flow_bytes),
		cmocka_unit_test(test_flow_cut_short),
		cmocka_unit_test(test_flow_fragments),
		cmocka_unit_test(test_flow_extensions),
		cmocka_unit_test(test_flow_of_no_ip),
		cmocka_unit_test(test_flow_spread),
		cmocka_unit_test(test_flow_avalanche),
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_parse_bits),
		cmocka_unit_test(test_parse_reserved),
		cmocka_unit_test(test_parse_lengths),
		cmocka_unit_test(test_parse_not_udp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
