/* SPDX-License-Identifier: Apache-2.0 */
/* Superpackets whose length does not fit into 16 bits (BIG TCP), and who may be one. */
#include "gro_batch.h"

#define N_ELEMENTS(a) (sizeof(a) / sizeof(*(a)))

static struct batch batch;

static const struct pkt_shape tcp4 = {.version = 4, .proto = PKT_TCP};
static const struct pkt_shape tcp6 = {.version = 6, .proto = PKT_TCP, .options = 12};

/* As a read would bring it: in one piece, with a partial checksum. */
static uint32_t build_super(const struct pkt_shape *s, uint32_t len, uint8_t *p, struct vnet *v)
{
	const unsigned hdr_len = pkt_ip_len(s->version) + 20 + s->options;
	const struct pkt_offsets o = pkt_write(p, s, 3, len - hdr_len);

	p[o.l4 + 13] |= PSH;
	pkt_fix_ip(p);
	pkt_put16(p + o.l4 + 16, pkt_pseudo(p, PKT_TCP, len - o.l4));
	*v = (struct vnet){
		.needs_csum = true,
		.gso = s->version == 4 ? VNET_GSO_TCP4 : VNET_GSO_TCP6,
		.hdr_len = (uint16_t)hdr_len,
		.csum_start = (uint16_t)o.l4,
		.csum_offset = 16,
	};
	return hdr_len;
}

/* Cuts @whole with the naive cutter, merges it again: the same bytes. */
static void check_merge_of_cut(const struct pkt_shape *s, uint32_t len, uint16_t gso_size,
			       unsigned n_tags)
{
	static uint8_t whole[PKT_SUPER_MAX_LEN], segment[PKT_MAX_LEN];
	uint8_t l2[30];
	const uint8_t l2_len = n_tags ? pkt_write_l2(l2, s->version, n_tags - 1, 5) : 0;
	struct vnet v;
	unsigned n;

	build_super(s, len, whole, &v);
	v.gso_size = gso_size;
	batch_init(&batch);
	batch.config.max_len4 = s->version == 4 ? len : 100;
	batch.config.max_len6 = s->version == 6 ? len : 100;
	for (unsigned i = 0; (n = pkt_cut(whole, len, &v, i, segment)); i++)
		batch_add_frame(&batch, l2, l2_len, segment, n);
	batch_run(&batch);
	assert_int_equal(batch.n_out, 1);
	assert_int_equal(batch.out[0].len, len);
	batch_check_vnet(&batch.out[0].vnet, &v);
	assert_int_equal(batch_gather(&batch, &batch.out[0]), len);
	assert_memory_equal(batch_whole, whole, len);
	batch_done(&batch);
}

static void test_merge_of_cut(void **state)
{
	/* The largest of each header field, the first that is not, IPv6's with its 40
	 * bytes on top, where the pseudo header's length carries, GSO_MAX_SIZE. */
	static const uint32_t lens[] = {65534,	65535,	65536,	65537,	65574,	65575,
					65576,	65577,	100000, 131071, 131072, 131113,
					196593, 196607, 196608, 524280};
	static const uint16_t gso_sizes[] = {540, 1448, 8948, 65000};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(lens); i++)
		for (size_t k = 0; k < N_ELEMENTS(gso_sizes); k++) {
			check_merge_of_cut(&tcp4, lens[i], gso_sizes[k], (i + k) % 4);
			check_merge_of_cut(&tcp6, lens[i], gso_sizes[k], (i + k + 1) % 4);
		}
}

/* The headers by the numbers: what a writer hands to the kernel. */
static void test_headers(void **state)
{
	static const struct {
		uint8_t version;
		uint32_t len;
		uint16_t field;
	} cases[] = {
		{4, 65535, 65535}, {4, 65536, 0},     {4, 196608, 0},
		{6, 65575, 65535}, {6, 65536, 65496}, {6, 65576, 0},
	};
	static uint8_t whole[PKT_SUPER_MAX_LEN], segment[PKT_MAX_LEN];
	struct vnet v;
	unsigned n;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		const bool v4 = cases[i].version == 4;

		build_super(v4 ? &tcp4 : &tcp6, cases[i].len, whole, &v);
		v.gso_size = 8000;
		batch_init(&batch);
		batch.config.max_len4 = batch.config.max_len6 = cases[i].len;
		for (unsigned k = 0; (n = pkt_cut(whole, cases[i].len, &v, k, segment)); k++)
			batch_add(&batch, segment, n);
		batch_run(&batch);
		assert_int_equal(batch.out[0].len, cases[i].len);
		assert_int_equal(pkt_get16(batch.pkts[0].ip + (v4 ? 2 : 4)), cases[i].field);
		batch_done(&batch);
	}
}

/* The folded pseudo header of 192.0.2.1, 192.0.2.2 and 196608 bytes of IPv4 worked
 * out by hand: c000 + 0201 + c000 + 0202 + 0006, and 196588 = 2 * 10000 + ffec. */
static void test_pseudo_header(void **state)
{
	const uint32_t sum = 0xc000 + 0x0201 + 0xc000 + 0x0202 + 6 + 2 + 0xffec;
	static uint8_t whole[PKT_SUPER_MAX_LEN], segment[PKT_MAX_LEN];
	struct vnet v;
	unsigned n;

	(void)state;
	build_super(&tcp4, 196608, whole, &v);
	v.gso_size = 1448;
	batch_init(&batch);
	batch.config.max_len4 = 196608;
	for (unsigned k = 0; (n = pkt_cut(whole, 196608, &v, k, segment)); k++)
		batch_add(&batch, segment, n);
	batch_run(&batch);
	assert_int_equal(batch.n_out, 1);
	assert_int_equal(pkt_get16(batch.pkts[0].ip + 36), (sum & 0xffff) + (sum >> 16));
	batch_done(&batch);
}

/* A run of full segments and one short one that makes @len bytes in all, and of which
 * the whole must be merged, or all but the short one. */
static void check_run(const struct pkt_shape *s, uint32_t len, bool whole)
{
	static uint8_t p[PKT_MAX_LEN];
	const unsigned mss = 3001;
	const unsigned hdr_len = pkt_write(p, s, 0, 1).payload;
	const uint32_t n = (len - hdr_len - 1) / mss;
	const unsigned last = len - hdr_len - n * mss;

	for (uint32_t k = 0; k <= n; k++) {
		struct pkt_offsets o = pkt_write(p, s, k, mss);

		o.len = k < n ? o.len : o.payload + last;
		pkt_set_lens(p, &o, s->proto);
		pkt_fix(p, &o, s->proto, s->outer_csum);
		batch_add(&batch, p, o.len);
	}
	batch_run(&batch);
	assert_int_equal(batch.n_out, whole ? 1 : 2);
	assert_int_equal(batch.out[0].len, whole ? len : len - last);
	batch_done(&batch);
}

/* At the limit, and one byte above it, which is @max or 65535. */
static void check_limit(const struct pkt_shape *s, uint32_t max, uint32_t limit)
{
	const bool v4 = (s->encap ? s->outer : s->version) == 4;

	for (uint32_t above = 0; above < 2; above++) {
		batch_init(&batch);
		batch.config.max_len4 = v4 ? max : 70;
		batch.config.max_len6 = v4 ? 70 : max;
		check_run(s, limit + above, !above);
	}
}

static const uint32_t maxima[] = {10000, 65534,	 65535,	 65536,	 65575,
				  65576, 100000, 196593, 196608, 524280};

static void test_limits(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(maxima); i++) {
		check_limit(&tcp4, maxima[i], maxima[i]);
		check_limit(&tcp6, maxima[i], maxima[i]);
	}
}

/* Whatever has a UDP header keeps to what that can say. */
static void test_limits_of_udp(void **state)
{
	static const struct pkt_shape shapes[] = {
		{.version = 4, .proto = PKT_UDP},
		{.version = 6, .proto = PKT_UDP},
		{.version = 4, .proto = PKT_TCP, .encap = PKT_VXLAN, .outer = 4},
		{.version = 6,
		 .proto = PKT_TCP,
		 .encap = PKT_VXLAN,
		 .outer = 4,
		 .outer_csum = true},
		{.version = 4, .proto = PKT_TCP, .encap = PKT_GENEVE, .outer = 6},
		{.version = 6, .proto = PKT_TCP, .encap = PKT_BAREUDP, .outer = 6},
		{.version = 4, .proto = PKT_UDP, .encap = PKT_VXLAN, .outer = 6},
	};

	(void)state;
	for (size_t k = 0; k < N_ELEMENTS(shapes); k++)
		for (size_t i = 0; i < N_ELEMENTS(maxima); i++)
			check_limit(&shapes[k], maxima[i], maxima[i] < 65535 ? maxima[i] : 65535);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_merge_of_cut),  cmocka_unit_test(test_headers),
		cmocka_unit_test(test_pseudo_header), cmocka_unit_test(test_limits),
		cmocka_unit_test(test_limits_of_udp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
