/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation. Packets are taken in order. Each is either a candidate,
 * which is appended to the superpacket its flow has open or opens one, or goes
 * alone and closes what it must not be overtaken by. Headers are compared with
 * those of the head, which stay as they came until all packets were seen; then
 * each head of two or more packets is rewritten, and a single never is.
 *
 * A flow is what lies in front of IP and the addresses, ports and protocol, of both
 * layers for a tunnel packet whose inner packet can be merged. Any other datagram
 * towards a tunnel port belongs to the flow of the outer layer alone and may hold a
 * packet of any inner flow: it is a barrier for all of them, and each of them closes
 * what such datagrams have open.
 *
 * Work per packet is bounded: when a chain of the hash table grows too long, all
 * flows are closed, which never is wrong, only less merged.
 */
#include "gro_internal.h"

enum { CHAIN_MAX = 16, LEN_FIELD_MAX = 65535 };

struct batch {
	struct gro *g;
	struct gro_packet *pkts;
	struct gro_super *out;
	uint32_t n_out;
};

static void begin(struct gro *g, const struct gro_config *config, uint32_t n);
static void place(struct batch *b, uint32_t i);
static void seal_all(struct gro *g);
static void seal_flow(struct batch *b, const struct gro_segment *s, uint32_t i);
static void merge(struct batch *b, const struct gro_segment *s, uint32_t i);

uint32_t gro_merge(struct gro *g, const struct gro_config *config, struct gro_packet *pkts,
		   uint32_t n, struct gro_super *out)
{
	struct batch b = {.g = g, .pkts = pkts, .out = out};
	uint32_t i;

	begin(g, config, n);
	for (i = 0; i < n; i++)
		place(&b, i);
	for (i = 0; i < b.n_out; i++)
		if (out[i].n > 1)
			gro_finish_head(pkts, &out[i]);
	return b.n_out;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Only as much of the table is used, and reset, as @n packets need. */
static void begin(struct gro *g, const struct gro_config *config, uint32_t n)
{
	uint32_t n_slots = 1, i;

	while (n_slots < n && n_slots < GRO_SLOTS_MAX)
		n_slots *= 2;
	for (i = 0; i < n_slots; i++)
		g->slot[i] = GRO_END;
	g->slot_mask = n_slots - 1;
	g->n_flows = g->n_sealed = g->n_barriers = 0;
	g->config = *config;
	g->config.max_segments = smaller(config->max_segments, GRO_PIECES_MAX);
}

/* Every packet starts as a superpacket of its own, or joins one. */
static void add_super(struct batch *b, uint32_t i)
{
	struct gro_packet *pkt = &b->pkts[i];

	pkt->next = GRO_END;
	pkt->payload_off = 0;
	b->out[b->n_out++] = (struct gro_super){.first = i, .last = i, .n = 1, .len = pkt->len};
}

static void place(struct batch *b, uint32_t i)
{
	struct gro_segment s;

	switch (gro_segment_describe(&b->g->config, &b->pkts[i], &s)) {
	case GRO_APART:
		break;
	case GRO_SEAL_ALL:
		seal_all(b->g);
		break;
	case GRO_SEAL_FLOW:
		seal_flow(b, &s, i);
		break;
	case GRO_CANDIDATE:
		merge(b, &s, i);
		return;
	}
	add_super(b, i);
}

/* Takes all flows out of the table. Each is taken out once, so calls cost no more
 * than the insertions did. */
static void seal_all(struct gro *g)
{
	for (; g->n_sealed < g->n_flows; g->n_sealed++)
		g->slot[g->flow[g->n_sealed].head.hash & g->slot_mask] = GRO_END;
	g->n_barriers = 0;
}

/* The flow of @s, which lies in @p, or NULL; seals all if the chain is too long
 * to tell. */
static struct gro_flow *find(struct batch *b, const struct gro_segment *s, const uint8_t *p)
{
	struct gro *g = b->g;
	uint32_t k = g->slot[s->hash & g->slot_mask], depth;

	for (depth = 0; k != GRO_END; depth++) {
		struct gro_flow *f = &g->flow[k];

		if (depth == CHAIN_MAX) {
			seal_all(g);
			return NULL;
		}
		if (f->head.hash == s->hash && gro_match_flow(&f->head, b->pkts[f->first].ip, s, p))
			return f;
		k = f->next;
	}
	return NULL;
}

/* A new flow that packet @i makes known, with nothing open. At most one per
 * packet, so there is room. */
static struct gro_flow *insert(struct batch *b, const struct gro_segment *s, uint32_t i)
{
	struct gro *g = b->g;
	uint32_t *slot = &g->slot[s->hash & g->slot_mask];
	struct gro_flow *f = &g->flow[g->n_flows];

	f->head = *s;
	f->first = i;
	f->next = *slot;
	f->barrier = 0;
	f->closed = true;
	*slot = g->n_flows++;
	return f;
}

static struct gro_flow *find_or_insert(struct batch *b, const struct gro_segment *s, uint32_t i)
{
	struct gro_flow *f = find(b, s, b->pkts[i].ip);

	return f ? f : insert(b, s, i);
}

static void raise_barrier(struct batch *b, struct gro_flow *f, uint32_t i)
{
	f->barrier = i + 1;
	b->g->n_barriers++;
}

static void seal_flow(struct batch *b, const struct gro_segment *s, uint32_t i)
{
	struct gro_flow *f;

	if (s->barrier) {
		f = find_or_insert(b, s, i);
		raise_barrier(b, f, i);
	} else {
		f = find(b, s, b->pkts[i].ip);
	}
	if (f)
		f->closed = true;
}

/* Closes what the datagrams of a tunnel that are not merged as such have open.
 * Returns the index of the first packet behind the last of them. */
static uint32_t pass_barrier(struct batch *b, const struct gro_segment *s, uint32_t i)
{
	const uint8_t *p = b->pkts[i].ip;
	struct gro_segment outer = *s;
	struct gro_flow *f;

	if (!b->g->n_barriers)
		return 0;
	outer.n_layers = 1;
	outer.hash = gro_segment_hash(s, p, 1);
	f = find(b, &outer, p);
	if (!f)
		return 0;
	f->closed = true;
	return f->barrier;
}

/* Only TCP knows of itself how long it is; UDP, and with it any tunnel, has a length
 * field that receivers go by. */
static uint32_t len_max(const struct gro_config *c, const struct gro_segment *s)
{
	const struct gro_layer *out = &s->layer[0];
	const uint32_t max = out->version == 4 ? c->max_len4 : c->max_len6;

	return out->proto == IP_PROTO_TCP ? max : smaller(max, LEN_FIELD_MAX);
}

static uint32_t segments_max(const struct gro_config *c, const struct gro_segment *s)
{
	if (s->layer[s->n_layers - 1].proto == IP_PROTO_UDP)
		return smaller(c->max_segments, GRO_SEGMENTS_UDP);
	return c->max_segments;
}

/* Nothing can follow @s, the @n-th segment of a superpacket: it is cut with PSH
 * on the last segment only, and with full segments before that. */
static bool is_last(const struct batch *b, const struct gro_flow *f, const struct gro_segment *s,
		    uint32_t n, const uint8_t *p)
{
	const struct gro_layer *in = &s->layer[s->n_layers - 1];

	return s->payload_len < f->head.payload_len || n >= segments_max(&b->g->config, s) ||
	       (in->proto == IP_PROTO_TCP && p[in->l4_off + 13] & TCP_PSH);
}

/* False: @s does not fit, or one of the two has a wrong checksum. Then @s opens a
 * superpacket, and stays alone in it if its own is wrong. */
static bool append(struct batch *b, struct gro_flow *f, const struct gro_segment *s, uint32_t i)
{
	struct gro_super *super = &b->out[f->super];
	struct gro_packet *pkt = &b->pkts[i];
	const uint8_t *head = b->pkts[f->first].ip;

	if (super->len + s->payload_len > len_max(&b->g->config, s) ||
	    !gro_match_headers(&f->head, head, super->n, s, pkt->ip))
		return false;
	if (!f->checked && !gro_match_checksums(&f->head, head))
		return false;
	f->checked = true;
	if (!gro_match_checksums(s, pkt->ip))
		return false;

	if (super->n == 1)
		super->vnet = gro_finish_vnet(&f->head, head);
	b->pkts[super->last].next = i;
	pkt->next = GRO_END;
	pkt->payload_off = s->hdr_len;
	super->last = i;
	super->n++;
	super->len += s->payload_len;
	f->closed = is_last(b, f, s, super->n, pkt->ip);
	return true;
}

static void merge(struct batch *b, const struct gro_segment *s, uint32_t i)
{
	/* First, as it may empty the table. */
	const uint32_t behind = s->n_layers == 2 ? pass_barrier(b, s, i) : 0;
	struct gro_flow *f = find_or_insert(b, s, i);

	if (s->barrier)
		raise_barrier(b, f, i);
	if (!f->closed && f->first >= behind && append(b, f, s, i))
		return;

	f->head = *s;
	f->first = i;
	f->super = b->n_out;
	f->checked = false;
	f->closed = is_last(b, f, s, 1, b->pkts[i].ip);
	add_super(b, i);
}
