/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merging and cutting are inverse: every header bit of a segment changed in turn,
 * random mixes of flows, and superpackets cut by an independent twin. What holds
 * after every call is asserted in batch_run().
 */
#include "gro_batch.h"

#define N_ELEMENTS(a) (sizeof(a) / sizeof(*(a)))

static struct batch batch;
static uint64_t random_state = UINT64_C(0x5ea1a4e5ea1a4e);

static uint32_t below(uint32_t n)
{
	return (uint32_t)((naive_random(&random_state) >> 20) % n);
}

enum { N_SHAPES = 4 + 3 * 2 * 2 * 4 };

/* All combinations: plain ones, then tunnels. */
static struct pkt_shape shape(unsigned i)
{
	struct pkt_shape s = {
		.version = i & 1 ? 6 : 4,
		.proto = i & 2 ? PKT_UDP : PKT_TCP,
		.options = i & 2 ? 0 : 12,
	};

	if (i < 4)
		return s;
	i = (i - 4) / 4;
	s.outer = i & 1 ? 6 : 4;
	s.outer_csum = i & 2;
	s.encap = (enum pkt_encap)(PKT_VXLAN + i / 4);
	return s;
}

/* Three segments; bit @bit of the @at-th one is changed, after or before the
 * checksums are made. Returns whether all were merged nevertheless. */
static bool merges_with_flip(const struct pkt_shape *s, unsigned at, unsigned bit, bool fix)
{
	uint8_t p[400];
	bool merged;

	batch_init(&batch);
	for (unsigned k = 0; k < 3; k++) {
		struct pkt_offsets o = pkt_write(p, s, k, 24);

		if (!fix)
			pkt_fix(p, &o, s->proto, s->outer_csum);
		if (k == at)
			p[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
		if (fix && p[0] >> 4 == (s->encap ? s->outer : s->version))
			pkt_fix(p, &o, s->proto, s->outer_csum);
		batch_add(&batch, p, o.len);
	}
	batch_run(&batch);
	merged = batch.n_out == 1;
	batch_done(&batch);
	return merged;
}

/* Of bits that are no checksum and are changed before the checksums are made,
 * PSH on the last segment alone may stay merged: it is on no other. */
static void test_every_bit(void **state)
{
	static uint8_t p[400];

	(void)state;
	for (unsigned i = 0; i < N_SHAPES; i++) {
		const struct pkt_shape s = shape(i);
		const struct pkt_offsets o = pkt_write(p, &s, 0, 24);
		const unsigned check = o.l4 + (s.proto == PKT_TCP ? 16 : 6);

		assert_true(merges_with_flip(&s, 3, 0, true));
		for (unsigned bit = 0; bit < o.payload * 8; bit++) {
			const unsigned byte = bit / 8;
			const bool psh = s.proto == PKT_TCP && bit == (o.l4 + 13) * 8 + 4;
			const bool refilled = byte / 2 * 2 == check ||
					      (s.version == 4 && byte / 2 * 2 == o.l3 + 10) ||
					      (o.tunnel && s.outer == 4 && byte / 2 * 2 == 10) ||
					      (s.outer_csum && byte / 2 * 2 == o.outer_l4 + 6);

			for (unsigned at = 0; at < 3; at++) {
				assert_int_equal(merges_with_flip(&s, at, bit, true),
						 refilled || (psh && at == 2));
				assert_false(merges_with_flip(&s, at, bit, false));
			}
		}
	}
}

/* One flow of the random mix. */
struct source {
	struct pkt_shape s;
	uint8_t l2_len, l2[18];
	uint32_t k;
	unsigned len;
};

/* May later packets of its source overtake @p, damaged from @intact? As a TCP
 * segment without payload, or because it became another flow's. */
static bool may_be_overtaken(const struct pkt_shape *s, const struct pkt_offsets *o,
			     const uint8_t *p, const uint8_t *intact)
{
	const struct {
		unsigned l3, l4;
		uint8_t version;
	} layer[] = {{o->l3, o->l4, s->version}, {0, o->outer_l4, s->outer}};

	for (unsigned i = 0; i < (o->tunnel ? 2 : 1); i++) {
		const unsigned l3 = layer[i].l3, l4 = layer[i].l4;
		const unsigned addresses = layer[i].version == 4 ? 12 : 8;
		const unsigned proto = layer[i].version == 4 ? 9 : 6;

		if (p[l3] != intact[l3] || p[l3 + proto] != intact[l3 + proto] ||
		    memcmp(p + l3 + addresses, intact + l3 + addresses, l4 - l3 - addresses) != 0 ||
		    memcmp(p + l4, intact + l4, 4) != 0)
			return true;
	}
	return s->proto == PKT_TCP && (p[o->l4 + 12] >> 4) * 4u == o->len - o->l4;
}

/* The next segment of a source, perhaps short, perhaps with PSH, perhaps
 * damaged. Returns what may_be_overtaken() says. */
static bool emit(struct source *from, bool damage)
{
	static uint8_t p[2000], intact[2000];
	struct pkt_offsets o = pkt_write(p, &from->s, from->k, from->len);

	if (!below(8)) {
		o.len = o.payload + below(from->len + 1);
		pkt_set_lens(p, &o, from->s.proto);
	}
	if (from->s.proto == PKT_TCP && !below(8))
		p[o.l4 + 13] |= PSH;
	memcpy(intact, p, o.len);
	if (damage && !below(6))
		p[below(o.payload)] ^= (uint8_t)(1 << below(8));
	if (p[0] >> 4 == (o.tunnel ? from->s.outer : from->s.version))
		pkt_fix(p, &o, from->s.proto, from->s.outer_csum);
	if (damage && !below(20))
		p[below(o.len)] ^= (uint8_t)(1 << below(8));
	batch_add_frame(&batch, from->l2, from->l2_len, p, o.len);
	from->k += below(20) ? 1 : below(3);
	return may_be_overtaken(&from->s, &o, p, intact);
}

/* Some lie on a TUN, some in one VLAN or another. */
static struct source random_source(void)
{
	struct source ret = {
		.s = shape(below(N_SHAPES)),
		.k = below(1000),
		.len = 200 + below(300),
	};

	if (below(2))
		ret.l2_len = pkt_write_l2(ret.l2, ret.s.version, below(2), below(2));
	return ret;
}

static void random_config(void)
{
	batch.config.tcp4 = below(8);
	batch.config.tcp6 = below(8);
	batch.config.udp = below(8);
	batch.config.tunnel = below(3);
	batch.config.encap_udp_l4 = below(2);
	batch.config.zero_csum = below(2) ? GRO_ZERO_CSUM_UDP_L4 : GRO_ZERO_CSUM_NEVER;
	if (!below(3))
		batch.config.max_len4 = 200 + below(4000);
	if (!below(3))
		batch.config.max_len6 = 200 + below(4000);
	if (!below(3))
		batch.config.max_segments = 2 + below(10);
}

/* Within a source nothing else is. */
static void check_order(const uint8_t *source_of, const bool *exempt)
{
	static uint32_t place[GRO_PACKETS_MAX];
	uint32_t i, k, n = 0;

	for (k = 0; k < batch.n_out; k++)
		for (i = batch.out[k].first; i != GRO_END; i = batch.pkts[i].next)
			place[i] = n++;
	for (i = 0; i < batch.n; i++)
		for (k = 0; k < i; k++)
			if (source_of[i] == source_of[k] && !exempt[i] && !exempt[k])
				assert_true(place[k] < place[i]);
}

static void test_random_mixes(void **state)
{
	static uint8_t source_of[GRO_PACKETS_MAX];
	static bool exempt[GRO_PACKETS_MAX];
	uint32_t merged = 0;

	(void)state;
	for (unsigned round = 0; round < 4000; round++) {
		struct source sources[6];
		const uint32_t n_sources = 1 + below(N_ELEMENTS(sources)), n = below(60);
		const bool damage = below(2);
		uint32_t at = 0;

		batch_init(&batch);
		random_config();
		for (uint32_t i = 0; i < n_sources; i++)
			sources[i] = random_source();
		for (uint32_t i = 0; i < n; i++) {
			if (!below(4))
				at = below(n_sources);
			exempt[i] = emit(&sources[at], damage);
			source_of[i] = (uint8_t)at;
		}
		batch_run(&batch);
		check_order(source_of, exempt);
		merged += batch.n - batch.n_out;
		batch_done(&batch);
	}
	assert_true(merged > 20000);
}

/* A superpacket as a read would bring it: built in one piece, with partial
 * checksums. */
static uint32_t build_super(const struct pkt_shape *s, unsigned payload_len, uint8_t *p,
			    struct vnet *v)
{
	const struct pkt_offsets o = pkt_write(p, s, below(70000), payload_len);

	if (s->proto == PKT_TCP)
		p[o.l4 + 13] = (uint8_t)(ACK | (below(2) ? PSH : 0) | (below(2) ? ECE : 0));
	pkt_fix(p, &o, s->proto, false);
	pkt_put16(p + o.l4 + (s->proto == PKT_TCP ? 16 : 6),
		  pkt_pseudo(p + o.l3, s->proto, o.len - o.l4));
	if (s->outer_csum)
		pkt_put16(p + o.outer_l4 + 6, pkt_pseudo(p, PKT_UDP, o.len - o.outer_l4));

	*v = (struct vnet){
		.needs_csum = true,
		.gso = s->proto == PKT_UDP ? VNET_GSO_UDP
		       : s->version == 4   ? VNET_GSO_TCP4
					   : VNET_GSO_TCP6,
		.tunnel = !s->encap	  ? VNET_TUNNEL_NONE
			  : s->outer == 4 ? VNET_TUNNEL_V4
					  : VNET_TUNNEL_V6,
		.tunnel_csum = s->outer_csum,
		.hdr_len = (uint16_t)o.payload,
		.csum_start = (uint16_t)o.l4,
		.csum_offset = s->proto == PKT_TCP ? 16 : 6,
		.outer_l4_off = (uint16_t)o.outer_l4,
		.inner_l3_off = (uint16_t)o.l3,
	};
	return o.len;
}

static void test_merge_of_cut(void **state)
{
	static uint8_t whole[PKT_MAX_LEN], segment[PKT_MAX_LEN];

	(void)state;
	for (unsigned round = 0; round < 2000; round++) {
		const struct pkt_shape s = shape(round % N_SHAPES);
		const unsigned gso_size = 1 + below(1400);
		const unsigned payload_len = gso_size + 1 + below(gso_size * (1 + below(40)));
		struct vnet v;
		const uint32_t len = build_super(&s, payload_len, whole, &v);
		unsigned n;

		v.gso_size = (uint16_t)gso_size;
		batch_init(&batch);
		for (unsigned i = 0; (n = pkt_cut(whole, len, &v, i, segment)); i++)
			batch_add(&batch, segment, n);
		batch_run(&batch);
		assert_int_equal(batch.n_out, 1);
		batch_check_vnet(&batch.out[0].vnet, &v);
		assert_int_equal(batch_gather(&batch, &batch.out[0]), len);
		assert_memory_equal(batch_whole, whole, len);
		batch_done(&batch);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_bit),
		cmocka_unit_test(test_random_mixes),
		cmocka_unit_test(test_merge_of_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
