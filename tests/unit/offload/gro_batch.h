/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call of gro_merge() with everything that must hold after any call: every
 * packet in exactly one superpacket, singles untouched, superpackets within the
 * limits and cut into the very packets that went in.
 */
#ifndef SEALANE_TESTS_OFFLOAD_GRO_BATCH_H
#define SEALANE_TESTS_OFFLOAD_GRO_BATCH_H

#include "offload/gro.h"
#include "offload/gso.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "gro_packets.h"

struct batch {
	struct gro_config config;
	struct encap_table encap;
	uint32_t n, n_out;
	struct gro_packet pkts[GRO_PACKETS_MAX];
	uint8_t *before[GRO_PACKETS_MAX];
	struct gro_super out[GRO_PACKETS_MAX];
	uint32_t super_of[GRO_PACKETS_MAX];
};

static struct gro batch_gro;
static uint8_t batch_whole[PKT_SUPER_MAX_LEN], batch_segment[PKT_MAX_LEN];

/* Everything is on but merging towards tunnel ports as plain UDP. */
static inline void batch_init(struct batch *b)
{
	b->n = 0;
	encap_table_default(&b->encap);
	assert_true(encap_table_set(&b->encap, 6636, ENCAP_BAREUDP_IP));
	b->config = (struct gro_config){
		.tcp4 = true,
		.tcp6 = true,
		.udp = true,
		.tunnel = true,
		.max_len4 = 65535,
		.max_len6 = 65535,
		.max_segments = 1000,
		.encap = &b->encap,
	};
}

/* Memory of exactly a packet and what is in front of it; returns the former. */
static inline uint8_t *batch_copy(const uint8_t *l2, uint8_t l2_len, const uint8_t *p, uint32_t len)
{
	uint8_t *memory = malloc(l2_len + len);

	assert_non_null(memory);
	memcpy(memory, l2, l2_len);
	memcpy(memory + l2_len, p, len);
	return memory + l2_len;
}

/* Adds copies of both in one piece. */
static inline uint8_t *batch_add_frame(struct batch *b, const uint8_t *l2, uint8_t l2_len,
				       const uint8_t *p, uint32_t len)
{
	const uint32_t i = b->n++;

	assert_true(i < GRO_PACKETS_MAX);
	b->before[i] = batch_copy(l2, l2_len, p, len);
	b->pkts[i].ip = batch_copy(l2, l2_len, p, len);
	b->pkts[i].l2_len = l2_len;
	b->pkts[i].zero_csum_allowed = true;
	b->pkts[i].len = len;
	return b->before[i];
}

static inline uint8_t *batch_add(struct batch *b, const uint8_t *p, uint32_t len)
{
	return batch_add_frame(b, p, 0, p, len);
}

static inline void batch_done(struct batch *b)
{
	while (b->n) {
		b->n--;
		free(b->before[b->n] - b->pkts[b->n].l2_len);
		free(b->pkts[b->n].ip - b->pkts[b->n].l2_len);
	}
}

/* Field by field: there is padding between them. */
static inline void batch_check_vnet(const struct vnet *a, const struct vnet *b)
{
	assert_int_equal(a->needs_csum, b->needs_csum);
	assert_int_equal(a->data_valid, b->data_valid);
	assert_int_equal(a->ecn, b->ecn);
	assert_int_equal(a->gso, b->gso);
	assert_int_equal(a->tunnel, b->tunnel);
	assert_int_equal(a->tunnel_csum, b->tunnel_csum);
	assert_int_equal(a->gso_size, b->gso_size);
	assert_int_equal(a->hdr_len, b->hdr_len);
	assert_int_equal(a->csum_start, b->csum_start);
	assert_int_equal(a->csum_offset, b->csum_offset);
	assert_int_equal(a->outer_l4_off, b->outer_l4_off);
	assert_int_equal(a->inner_l3_off, b->inner_l3_off);
}

/* The superpacket in one piece, in batch_whole. */
static inline uint32_t batch_gather(const struct batch *b, const struct gro_super *s)
{
	uint32_t len = b->pkts[s->first].len, i;

	memcpy(batch_whole, b->pkts[s->first].ip, len);
	for (i = b->pkts[s->first].next; i != GRO_END; i = b->pkts[i].next) {
		const struct gro_packet *p = &b->pkts[i];

		assert_in_range(p->payload_off, 1, p->len - 1);
		memcpy(batch_whole + len, p->ip + p->payload_off, p->len - p->payload_off);
		len += p->len - p->payload_off;
	}
	return len;
}

/* Datagrams without a checksum that were merged as plain UDP get one. */
static inline void batch_check_segment(const struct batch *b, uint32_t i, const struct vnet *v,
				       uint32_t len)
{
	uint8_t *check = batch_segment + v->csum_start + 6;

	assert_int_equal(len, b->pkts[i].len);
	if (v->gso == VNET_GSO_UDP && !pkt_get16(b->before[i] + v->csum_start + 6)) {
		assert_int_equal(b->config.zero_csum, GRO_ZERO_CSUM_UDP_L4);
		assert_false(v->tunnel);
		assert_int_not_equal(pkt_get16(check), 0);
		pkt_put16(check, 0);
	}
	assert_memory_equal(batch_segment, b->before[i], len);
}

static inline uint32_t batch_max_len(const struct batch *b, const struct gro_super *s)
{
	const uint8_t version = b->before[s->first][0] >> 4;
	const uint32_t max = version == 4 ? b->config.max_len4 : b->config.max_len6;
	const bool big = s->vnet.gso != VNET_GSO_UDP && !s->vnet.tunnel;

	return big || max < 65535 ? max : 65535;
}

/* What is in front of IP is equal in all packets, and as it came. */
static inline void batch_check_l2(const struct batch *b, const struct gro_super *s)
{
	const uint8_t l2_len = b->pkts[s->first].l2_len;
	uint32_t i;

	for (i = s->first; i != GRO_END; i = b->pkts[i].next) {
		assert_int_equal(b->pkts[i].l2_len, l2_len);
		assert_memory_equal(b->before[i] - l2_len, b->before[s->first] - l2_len, l2_len);
		assert_memory_equal(b->pkts[i].ip - l2_len, b->before[i] - l2_len, l2_len);
	}
}

static inline void batch_check_merged(const struct batch *b, const struct gro_super *s)
{
	const uint32_t len = batch_gather(b, s);
	struct gso g;
	uint32_t i, k;

	assert_int_equal(len, s->len);
	assert_in_range(s->len, 1, batch_max_len(b, s));
	assert_in_range(s->n, 2, b->config.max_segments);
	assert_in_range(s->n, 2, s->vnet.gso == VNET_GSO_UDP ? GRO_SEGMENTS_UDP : GRO_PIECES_MAX);
	assert_true(s->vnet.needs_csum);
	assert_true(vnet_check(&s->vnet, batch_whole, len));
	for (i = s->first, k = 0; i != GRO_END; i = b->pkts[i].next, k++)
		batch_check_segment(b, i, &s->vnet,
				    pkt_cut(batch_whole, len, &s->vnet, k, batch_segment));
	assert_int_equal(k, s->n);
	assert_int_equal(pkt_cut(batch_whole, len, &s->vnet, k, batch_segment), 0);

	assert_true(gso_begin(&g, batch_whole, len, &s->vnet));
	assert_int_equal(g.hdr_len, s->vnet.hdr_len);
	for (i = s->first; i != GRO_END; i = b->pkts[i].next)
		batch_check_segment(b, i, &s->vnet, gso_next(&g, batch_segment));
	assert_int_equal(gso_next(&g, batch_segment), 0);
}

static inline void batch_check_super(struct batch *b, uint32_t k)
{
	static const struct vnet zero;
	const struct gro_super *s = &b->out[k];
	uint32_t i, n = 0, last = s->first;

	for (i = s->first; i != GRO_END; i = b->pkts[i].next, n++) {
		assert_true(i < b->n && (!n || i > last));
		assert_int_equal(b->super_of[i], GRO_END);
		b->super_of[i] = k;
		last = i;
	}
	assert_int_equal(n, s->n);
	assert_int_equal(last, s->last);
	batch_check_l2(b, s);
	if (n > 1) {
		batch_check_merged(b, s);
		return;
	}
	assert_int_equal(s->len, b->pkts[s->first].len);
	batch_check_vnet(&s->vnet, &zero);
	assert_memory_equal(b->pkts[s->first].ip, b->before[s->first], s->len);
}

/* Merges and checks; the state and the results of the call before are garbage. */
static inline void batch_run(struct batch *b)
{
	uint32_t i;

	memset(&batch_gro, 0xa5, sizeof(batch_gro));
	memset(b->out, 0xa5, b->n * sizeof(*b->out));
	for (i = 0; i < b->n; i++) {
		struct gro_packet *p = &b->pkts[i];

		memcpy(p->ip, b->before[i], p->len);
		p->view = (struct ip_view){.has_l4 = true, .proto = PKT_TCP, .total_len = p->len};
		if (!ip_parse(p->ip, p->len, &p->view))
			p->view.version = 0; /* all else is left over */
		p->next = 0xa5a5a5a5;
		p->payload_off = 0xa5a5;
		b->super_of[i] = GRO_END;
	}
	b->n_out = gro_merge(&batch_gro, &b->config, b->pkts, b->n, b->out);
	assert_in_range(b->n_out, !!b->n, b->n);
	for (i = 0; i < b->n_out; i++) {
		assert_true(!i || b->out[i].first > b->out[i - 1].first);
		batch_check_super(b, i);
	}
	for (i = 0; i < b->n; i++)
		assert_int_not_equal(b->super_of[i], GRO_END);
}

/* "0 13 2": which packets went together, in base 36. */
static inline void batch_groups(const struct batch *b, char *ret)
{
	static const char digit[] = "0123456789abcdefghijklmnopqrstuvwxyz";
	uint32_t i, k;

	for (k = 0; k < b->n_out; k++) {
		if (k)
			*ret++ = ' ';
		for (i = b->out[k].first; i != GRO_END; i = b->pkts[i].next)
			*ret++ = digit[i % 36];
	}
	*ret = '\0';
}

#endif
