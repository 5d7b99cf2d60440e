/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must hold of every result of gro_merge(): each packet in one superpacket,
 * singles untouched, and each superpacket within its limits, with equal bytes in
 * front of its packets, and cut by gso_next() into what went in.
 */
#ifndef SEALANE_TESTS_FUZZ_GRO_CHECK_H
#define SEALANE_TESTS_FUZZ_GRO_CHECK_H

#include "offload/gro.h"
#include "offload/gso.h"

#include <stdlib.h>
#include <string.h>

enum { FUZZ_PACKETS_MAX = 64, FUZZ_PACKET_LEN_MAX = 2048, FUZZ_L2_MAX = 22 };

struct fuzz_batch {
	uint8_t before[FUZZ_PACKETS_MAX][FUZZ_PACKET_LEN_MAX];
	uint8_t l2[FUZZ_PACKETS_MAX][FUZZ_L2_MAX];
	struct gro_packet pkts[FUZZ_PACKETS_MAX];
	struct gro_super out[FUZZ_PACKETS_MAX];
	uint32_t n, n_out;
	uint64_t seen; /* packets met in a superpacket */
};

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void fuzz_config(uint8_t flags, struct encap_table *encap, struct gro_config *c)
{
	encap_table_default(encap);
	must(encap_table_set(encap, 6636, ENCAP_BAREUDP_IP));
	*c = (struct gro_config){
		.tcp4 = !(flags & 1),
		.tcp6 = !(flags & 1),
		.udp = !(flags & 2),
		.tunnel = !(flags & 4),
		.encap_udp_l4 = flags & 8,
		.zero_csum = flags & 16 ? GRO_ZERO_CSUM_UDP_L4 : GRO_ZERO_CSUM_NEVER,
		.max_len4 = flags & 32 ? 100000 : 4000,
		.max_len6 = flags & 32 ? 66000 : 4500,
		.max_segments = flags & 32 ? FUZZ_PACKETS_MAX : 40,
		.encap = encap,
	};
}

static void fuzz_add(struct fuzz_batch *b, const uint8_t *l2, uint8_t l2_len, const uint8_t *p,
		     uint32_t len)
{
	struct gro_packet *pkt = &b->pkts[b->n];
	uint8_t *memory = malloc(l2_len + len);

	must(memory != NULL);
	pkt->ip = memory + l2_len;
	memcpy(memory, l2, l2_len);
	memcpy(pkt->ip, p, len);
	memcpy(b->l2[b->n], l2, l2_len);
	memcpy(b->before[b->n++], p, len);
	pkt->l2_len = l2_len;
	pkt->len = len;
	if (!ip_parse(pkt->ip, len, &pkt->view))
		pkt->view.version = 0;
}

static uint32_t gather(struct fuzz_batch *b, const struct gro_super *s, uint8_t *whole)
{
	uint32_t i, n = 0, len = 0;

	for (i = s->first; i != GRO_END; i = b->pkts[i].next, n++) {
		const struct gro_packet *p = &b->pkts[i];
		const uint32_t off = n ? p->payload_off : 0;

		must(i < b->n && !(b->seen >> i & 1) && (!n || off) && off < p->len);
		must(p->l2_len == b->pkts[s->first].l2_len);
		must(!memcmp(p->ip - p->l2_len, b->l2[i], p->l2_len));
		must(!memcmp(b->l2[s->first], b->l2[i], p->l2_len));
		b->seen |= UINT64_C(1) << i;
		memcpy(whole + len, p->ip + off, p->len - off);
		len += p->len - off;
	}
	must(n == s->n && len == s->len);
	return len;
}

static uint32_t max_len(const struct gro_config *c, const struct vnet *v, const uint8_t *ip)
{
	const uint32_t max = ip[0] >> 4 == 4 ? c->max_len4 : c->max_len6;

	return (v->tunnel || v->gso == VNET_GSO_UDP) && max > UINT16_MAX ? UINT16_MAX : max;
}

static void check_super(struct fuzz_batch *b, const struct gro_config *c, const struct gro_super *s)
{
	static uint8_t whole[FUZZ_PACKETS_MAX * FUZZ_PACKET_LEN_MAX], cut[FUZZ_PACKET_LEN_MAX];
	const uint32_t len = gather(b, s, whole);
	struct gso g;
	uint32_t i;

	if (s->n == 1) {
		must(!memcmp(whole, b->before[s->first], len));
		must(!s->vnet.needs_csum && !s->vnet.gso && !s->vnet.tunnel && !s->vnet.hdr_len);
		return;
	}
	must(len <= max_len(c, &s->vnet, whole) && s->n <= c->max_segments);
	must(vnet_check(&s->vnet, whole, len) && gso_begin(&g, whole, len, &s->vnet));
	for (i = s->first; i != GRO_END; i = b->pkts[i].next) {
		const uint8_t *check = b->before[i] + s->vnet.csum_start + 6;

		must(gso_segment_len(&g, g.next) == b->pkts[i].len);
		must(gso_next(&g, cut) == b->pkts[i].len);
		/* Where the configuration allows it a checksum is filled in. */
		if (s->vnet.gso == VNET_GSO_UDP && !check[0] && !check[1]) {
			must(c->zero_csum == GRO_ZERO_CSUM_UDP_L4 && !s->vnet.tunnel);
			memset(cut + s->vnet.csum_start + 6, 0, 2);
		}
		must(!memcmp(cut, b->before[i], b->pkts[i].len));
	}
	must(!gso_next(&g, cut));
}

static void fuzz_run(struct fuzz_batch *b, const struct gro_config *c)
{
	static struct gro g;
	uint32_t i;

	b->n_out = gro_merge(&g, c, b->pkts, b->n, b->out);
	b->seen = 0;
	for (i = 0; i < b->n_out; i++) {
		must(!i || b->out[i].first > b->out[i - 1].first);
		check_super(b, c, &b->out[i]);
	}
	must(b->n == FUZZ_PACKETS_MAX || b->seen == (UINT64_C(1) << b->n) - 1);
	must(b->n < FUZZ_PACKETS_MAX || b->seen == UINT64_MAX);
	while (b->n) {
		b->n--;
		free(b->pkts[b->n].ip - b->pkts[b->n].l2_len);
	}
}

#endif
