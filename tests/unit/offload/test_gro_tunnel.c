/* SPDX-License-Identifier: Apache-2.0 */
/* Merging what goes to a tunnel port: as tunnel superpackets, as plain UDP, or not
 * at all; and what the merged headers look like. */
#include "gro_rows.h"

#define VXLAN	.encap = PKT_VXLAN
#define GENEVE6 .encap = PKT_GENEVE, .outer = 6

static void test_tunnels(void **state)
{
	static const struct row rows[] = {
		{"VXLAN", .p = {{VXLAN}, {VXLAN, .k = 1}, {VXLAN, .k = 2}}, .expected = "012"},
		{"GENEVE over IPv6 with checksum",
		 .p = {{GENEVE6, .csum = true}, {GENEVE6, .csum = true, .k = 1}}, .expected = "01"},
		{"GENEVE over IPv6 without", .p = {{GENEVE6}, {GENEVE6, .k = 1}}, .expected = "01"},
		{"bareudp, inner IPv6 UDP",
		 .p = {{.encap = PKT_BAREUDP, UDP6}, {.encap = PKT_BAREUDP, UDP6, .k = 1}},
		 .expected = "01"},
		{"checksum and none", .p = {{VXLAN}, {VXLAN, .k = 1, .csum = true}},
		 .expected = "0 1"},
		{"outer ID", .p = {{VXLAN}, {VXLAN, .k = 1, .outer_at = 4, .outer_xor = 1}},
		 .expected = "0 1"},
		{"inner ID", .p = {{VXLAN}, {VXLAN, .k = 1, .ip_at = 4, .ip_xor = 1}},
		 .expected = "0 1"},
		{"outer TOS", .p = {{VXLAN}, {VXLAN, .k = 1, .outer_xor = 1}}, .expected = "0 1"},
		{"outer TTL", .p = {{VXLAN}, {VXLAN, .k = 1, .outer_at = 8, .outer_xor = 0x100}},
		 .expected = "0 1"},
		{"VNI", .p = {{VXLAN}, {VXLAN, .k = 1, .outer_at = 33, .outer_xor = 1}},
		 .expected = "0 1"},
		{"inner MAC", .p = {{VXLAN}, {VXLAN, .k = 1, .outer_at = 40, .outer_xor = 1}},
		 .expected = "0 1"},
		{"GENEVE option",
		 .p = {{GENEVE6}, {GENEVE6, .k = 1, .outer_at = 60, .outer_xor = 1}},
		 .expected = "0 1"},
		{"inner PSH", .p = {{VXLAN}, {VXLAN, .k = 1, .flags = ACK | PSH}, {VXLAN, .k = 2}},
		 .expected = "01 2"},
		{"inner window", .p = {{VXLAN}, {VXLAN, .k = 1, .l4_at = 14, .l4_xor = 1}},
		 .expected = "0 1"},
		{"inner flows interleaved, of one outer",
		 .p = {{VXLAN, .flow = 1},
		       {VXLAN, .flow = 2},
		       {VXLAN, .flow = 1, .k = 1},
		       {VXLAN, .flow = 2, .k = 1}},
		 .expected = "02 13"},
		{"outer flows", .p = {{VXLAN, .outer_flow = 1}, {VXLAN, .outer_flow = 2, .k = 1}},
		 .expected = "0 1"},
	};

	(void)state;
	run_rows(rows, N_ELEMENTS(rows));
}

/* Which inner packets can be merged, and what the others close. */
static void test_inner(void **state)
{
	static const struct row rows[] = {
		{"inner FIN closes",
		 .p = {{VXLAN},
		       {VXLAN, .k = 1, .flags = ACK | FIN},
		       {VXLAN, .k = 1},
		       {VXLAN, .k = 2}},
		 .expected = "0 1 23"},
		{"inner FIN of another outer flow does not",
		 .p = {{VXLAN},
		       {VXLAN, .k = 1, .flags = ACK | FIN, .outer_flow = 7},
		       {VXLAN, .k = 1}},
		 .expected = "02 1"},
		{"inner pure ACK does not",
		 .p = {{VXLAN}, {VXLAN, .k = 1, .len = EMPTY}, {VXLAN, .k = 1}},
		 .expected = "02 1"},
		{"inner fragment closes",
		 .p = {{VXLAN}, {VXLAN, .flow = 9, .ip_at = 6, .ip_xor = 1}, {VXLAN, .k = 1}},
		 .expected = "0 1 2"},
		{"inner first fragments",
		 .p = {{VXLAN, .ip_at = 6, .ip_xor = 0x2000},
		       {VXLAN, .k = 1, .ip_at = 6, .ip_xor = 0x2000}},
		 .expected = "0 1"},
		{"a tunnel within",
		 .p = {{VXLAN, UDP4, .l4_at = 2, .l4_xor = 2 ^ 4789},
		       {VXLAN, UDP4, .k = 1, .l4_at = 2, .l4_xor = 2 ^ 4789}},
		 .expected = "0 1"},
		{"a tunnel within that may go as UDP", .config = ENCAP_L4,
		 .p = {{VXLAN, UDP4, .l4_at = 2, .l4_xor = 2 ^ 4789},
		       {VXLAN, UDP4, .k = 1, .l4_at = 2, .l4_xor = 2 ^ 4789}},
		 .expected = "01"},
		{"inner UDP, empty",
		 .p = {{VXLAN, UDP4}, {VXLAN, UDP4, .k = 1}, {VXLAN, UDP4, .k = 2, .len = EMPTY}},
		 .expected = "01 2"},
		{"inner TCP off", .config = NO_TCP4, .p = {{VXLAN}, {VXLAN, .k = 1}},
		 .expected = "0 1"},
		{"inner UDP off", .config = NO_UDP, .p = {{VXLAN, UDP4}, {VXLAN, UDP4, .k = 1}},
		 .expected = "0 1"},
		{"length", .max_len = 290, .p = {{VXLAN}, {VXLAN, .k = 1}, {VXLAN, .k = 2}},
		 .expected = "01 2"},
		{"length, one less", .max_len = 289, .p = {{VXLAN}, {VXLAN, .k = 1}},
		 .expected = "0 1"},
	};

	(void)state;
	run_rows(rows, N_ELEMENTS(rows));
}

/* Towards tunnel ports, but not as tunnel superpackets. */
static void test_encap_as_udp(void **state)
{
	static const struct row rows[] = {
		{"refused", .config = NO_TUNNEL,
		 .p = {{VXLAN},
		       {VXLAN, .k = 1},
		       {VXLAN, .csum = true, .k = 2},
		       {VXLAN, .csum = true, .k = 3}},
		 .expected = "0 1 2 3"},
		{"with checksum", .config = NO_TUNNEL | ENCAP_L4,
		 .p = {{VXLAN, .csum = true},
		       {VXLAN, .csum = true, .k = 1},
		       {VXLAN, .k = 2},
		       {VXLAN, .k = 3}},
		 .expected = "01 2 3"},
		{"without checksum", .config = NO_TUNNEL | ZERO_L4,
		 .p = {{VXLAN},
		       {VXLAN, .k = 1},
		       {VXLAN, .csum = true, .k = 2},
		       {VXLAN, .csum = true, .k = 3}},
		 .expected = "01 2 3"},
		{"never mixed", .config = NO_TUNNEL | ENCAP_L4 | ZERO_L4,
		 .p = {{VXLAN}, {VXLAN, .k = 1, .csum = true}, {VXLAN, .k = 2}, {VXLAN, .k = 3}},
		 .expected = "0 1 23"},
		{"without checksum over IPv6, never", .config = NO_TUNNEL | ENCAP_L4 | ZERO_L4,
		 .p = {{GENEVE6}, {GENEVE6, .k = 1}}, .expected = "0 1"},
		{"what is inside does not matter", .config = NO_TUNNEL | ENCAP_L4,
		 .p = {{VXLAN, .csum = true, .flow = 5, .flags = FIN},
		       {VXLAN, .csum = true, .k = 1}},
		 .expected = "01"},
		{"what cannot go as tunnel", .config = ENCAP_L4,
		 .p = {{VXLAN, .csum = true, .flags = FIN},
		       {VXLAN, .csum = true, .k = 1, .flags = FIN}},
		 .expected = "01"},
		{"and not before what could", .config = ENCAP_L4,
		 .p = {{VXLAN, .csum = true, .flow = 1, .flags = FIN},
		       {VXLAN, .csum = true, .flow = 2},
		       {VXLAN, .csum = true, .flow = 2, .k = 1, .flags = FIN},
		       {VXLAN, .csum = true, .flow = 2, .k = 1}},
		 .expected = "0 1 2 3"},
		{"UDP off", .config = NO_TUNNEL | ENCAP_L4 | NO_UDP,
		 .p = {{VXLAN, .csum = true}, {VXLAN, .csum = true, .k = 1}}, .expected = "0 1"},
	};

	(void)state;
	run_rows(rows, N_ELEMENTS(rows));
}

/* Zero checksums off the tunnel ports, and inside a tunnel (the last towards a
 * tunnel port): cutting would fill them in. With an outer checksum, for what is
 * not merged as a tunnel superpacket would be as UDP without one. */
static void test_zero_checksum(void **state)
{
	static const struct {
		struct pkt_shape s;
		unsigned port;
	} cases[] = {
		{{.version = 4, .proto = PKT_UDP}, 2},
		{{.version = 6, .proto = PKT_UDP}, 2},
		{{.encap = PKT_VXLAN,
		  .outer = 4,
		  .outer_csum = true,
		  .version = 4,
		  .proto = PKT_UDP},
		 2},
		{{.encap = PKT_VXLAN,
		  .outer = 4,
		  .outer_csum = true,
		  .version = 4,
		  .proto = PKT_UDP},
		 4789},
	};
	uint8_t p[400];

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		const struct pkt_shape *s = &cases[i].s;

		batch_init(&batch);
		batch.config.zero_csum = GRO_ZERO_CSUM_UDP_L4;
		for (uint32_t k = 0; k < 2; k++) {
			const struct pkt_offsets o = pkt_write(p, s, k, 100);

			pkt_put16(p + o.l4 + 2, cases[i].port);
			pkt_fix(p, &o, PKT_UDP, false);
			pkt_put16(p + o.l4 + 6, 0);
			if (s->outer_csum)
				pkt_fix_l4(p, p + o.outer_l4, PKT_UDP, o.len - o.outer_l4);
			batch_add(&batch, p, o.len);
		}
		batch_run(&batch);
		assert_int_equal(batch.n_out, 2);
		batch_done(&batch);
	}
}

enum oddity { OUTER_OPTION, INNER_OPTION, INNER_PADDING, N_ODDITIES };

/* Segment @k of a tunnel with four bytes more in one place. */
static void add_odd(uint32_t k, enum oddity what)
{
	static const struct pkt_shape s = {
		.encap = PKT_VXLAN, .outer = 4, .version = 4, .proto = PKT_TCP};
	uint8_t p[400];
	struct pkt_offsets o = pkt_write(p, &s, k, 100);
	const unsigned at = what == OUTER_OPTION ? o.outer_l4 : what == INNER_OPTION ? o.l4 : o.len;

	memmove(p + at + 4, p + at, o.len - at);
	memset(p + at, 1, 4);
	o.len += 4;
	if (what == OUTER_OPTION) {
		o.outer_l4 += 4;
		o.l3 += 4;
	}
	if (what != INNER_PADDING)
		o.l4 += 4;
	p[what == OUTER_OPTION ? 0 : o.l3] = what == INNER_PADDING ? 0x45 : 0x46;
	pkt_set_lens(p, &o, PKT_TCP);
	if (what == INNER_PADDING)
		pkt_put16(p + o.l3 + 2, o.len - 4 - o.l3);
	pkt_fix(p, &o, PKT_TCP, false);
	batch_add(&batch, p, o.len);
}

static void test_odd_tunnels(void **state)
{
	(void)state;
	for (enum oddity what = 0; what < N_ODDITIES; what++) {
		batch_init(&batch);
		add_odd(0, what);
		add_odd(1, what);
		batch_run(&batch);
		assert_int_equal(batch.n_out, 2);
		batch_done(&batch);
	}
}

/* Without a table no port is special. */
static void test_no_table(void **state)
{
	(void)state;
	batch_init(&batch);
	batch.config.encap = NULL;
	add(&batch, &(struct packet){VXLAN, .csum = true});
	add(&batch, &(struct packet){VXLAN, .csum = true, .k = 1});
	batch_run(&batch);
	assert_int_equal(batch.n_out, 1);
	assert_int_equal(batch.out[0].vnet.tunnel, VNET_TUNNEL_NONE);
	batch_done(&batch);
}

/* The header of every kind of superpacket, field by field, and the lengths and
 * partial checksums behind it. Numbers by hand. */
static const struct {
	struct pkt_shape s;
	struct vnet v;
} outputs[] = {
	{{.version = 4, .proto = PKT_TCP, .options = 12},
	 {.gso = VNET_GSO_TCP4, .hdr_len = 52, .csum_start = 20, .csum_offset = 16}},
	{{.version = 6, .proto = PKT_TCP},
	 {.gso = VNET_GSO_TCP6, .hdr_len = 60, .csum_start = 40, .csum_offset = 16}},
	{{.version = 4, .proto = PKT_UDP},
	 {.gso = VNET_GSO_UDP, .hdr_len = 28, .csum_start = 20, .csum_offset = 6}},
	{{.version = 6, .proto = PKT_UDP},
	 {.gso = VNET_GSO_UDP, .hdr_len = 48, .csum_start = 40, .csum_offset = 6}},
	{{.encap = PKT_VXLAN, .outer = 4, .version = 4, .proto = PKT_TCP},
	 {.gso = VNET_GSO_TCP4,
	  .tunnel = VNET_TUNNEL_V4,
	  .hdr_len = 90,
	  .csum_start = 70,
	  .csum_offset = 16,
	  .outer_l4_off = 20,
	  .inner_l3_off = 50}},
	{{.encap = PKT_VXLAN, .outer = 6, .outer_csum = true, .version = 6, .proto = PKT_UDP},
	 {.gso = VNET_GSO_UDP,
	  .tunnel = VNET_TUNNEL_V6,
	  .tunnel_csum = true,
	  .hdr_len = 118,
	  .csum_start = 110,
	  .csum_offset = 6,
	  .outer_l4_off = 40,
	  .inner_l3_off = 70}},
	{{.encap = PKT_GENEVE, .outer = 4, .outer_csum = true, .version = 6, .proto = PKT_TCP},
	 {.gso = VNET_GSO_TCP6,
	  .tunnel = VNET_TUNNEL_V4,
	  .tunnel_csum = true,
	  .hdr_len = 118,
	  .csum_start = 98,
	  .csum_offset = 16,
	  .outer_l4_off = 20,
	  .inner_l3_off = 58}},
};

static void test_output(void **state)
{
	uint8_t p[400];
	size_t i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(outputs); i++) {
		struct vnet v = outputs[i].v;
		const uint8_t *ip = p + v.inner_l3_off, *l4 = p + v.csum_start;
		uint32_t len = 0;

		batch_init(&batch);
		for (uint32_t k = 0; k < 3; k++)
			add(&batch, &(struct packet){.encap = outputs[i].s.encap,
						     .outer = outputs[i].s.outer,
						     .csum = outputs[i].s.outer_csum,
						     .v = outputs[i].s.version,
						     .proto = outputs[i].s.proto,
						     .options = outputs[i].s.options,
						     .k = k,
						     .len = k < 2 ? 100 : 7});
		batch_run(&batch);
		assert_int_equal(batch.n_out, 1);

		v.needs_csum = true;
		v.gso_size = 100;
		batch_check_vnet(&batch.out[0].vnet, &v);
		len = batch_gather(&batch, &batch.out[0]);
		assert_int_equal(len, v.hdr_len + 207u);
		memcpy(p, batch_whole, v.hdr_len);
		assert_int_equal(pkt_get16(l4 + v.csum_offset),
				 pkt_pseudo(ip, outputs[i].s.proto, len - v.csum_start));
		if (v.gso == VNET_GSO_UDP)
			assert_int_equal(pkt_get16(l4 + 4), len - v.csum_start);
		if (outputs[i].s.version == 4)
			assert_int_equal(naive_checksum(ip, 20), 0);
		if (v.tunnel) {
			const uint8_t *udp = p + v.outer_l4_off;

			assert_int_equal(pkt_get16(udp + 4), len - v.outer_l4_off);
			assert_int_equal(
				pkt_get16(udp + 6),
				v.tunnel_csum ? pkt_pseudo(p, PKT_UDP, len - v.outer_l4_off) : 0);
			if (v.tunnel == VNET_TUNNEL_V4)
				assert_int_equal(naive_checksum(p, 20), 0);
		}
		batch_done(&batch);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tunnels),	     cmocka_unit_test(test_inner),
		cmocka_unit_test(test_encap_as_udp), cmocka_unit_test(test_zero_checksum),
		cmocka_unit_test(test_odd_tunnels),  cmocka_unit_test(test_no_table),
		cmocka_unit_test(test_output),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
