/* SPDX-License-Identifier: Apache-2.0 */
#include "gro_internal.h"

#include <string.h>

#include "be.h"

static enum gro_fate describe_tcp(const struct gro_config *c, const struct gro_packet *pkt,
				  struct gro_segment *s);
static enum gro_fate describe_udp(const struct gro_config *c, const struct gro_packet *pkt,
				  struct gro_segment *s);
static enum gro_fate describe_tunnel(const struct gro_config *c, const struct gro_packet *pkt,
				     struct gro_segment *s);

static struct gro_layer layer_of(const struct ip_view *v, uint16_t l3_off)
{
	return (struct gro_layer){
		.l3_off = l3_off,
		.l4_off = (uint16_t)(l3_off + v->l4_off),
		.version = v->version,
		.proto = v->proto,
	};
}

static bool has_transport(const struct ip_view *v)
{
	const uint32_t room = v->total_len - v->l4_off;

	return v->has_l4 && room >= (v->proto == IP_PROTO_TCP ? TCP_HDR_MIN_LEN : UDP_HDR_LEN);
}

enum gro_fate gro_segment_describe(const struct gro_config *config, const struct gro_packet *pkt,
				   struct gro_segment *ret)
{
	const struct ip_view *v = &pkt->view;
	enum gro_fate fate;

	if (!v->version || v->fragment || !v->has_l4)
		return GRO_SEAL_ALL;
	if (v->proto != IP_PROTO_TCP && v->proto != IP_PROTO_UDP)
		return GRO_APART;
	if (!has_transport(v))
		return GRO_SEAL_ALL;

	ret->layer[0] = layer_of(v, 0);
	ret->n_layers = 1;
	ret->l2_len = pkt->l2_len;
	ret->barrier = false;
	if (v->proto == IP_PROTO_TCP)
		fate = describe_tcp(config, pkt, ret);
	else
		fate = describe_udp(config, pkt, ret);
	if (fate != GRO_APART)
		ret->hash = gro_segment_hash(ret, pkt->ip, ret->n_layers);
	return fate;
}

/* No options or extension headers, and nothing behind the packet. */
static bool ip_is_plain(const struct ip_view *v, uint32_t room)
{
	return v->l4_off == (v->version == 4 ? IPV4_HDR_MIN_LEN : IPV6_HDR_LEN) &&
	       v->total_len == room;
}

static bool takes_tcp(const struct gro_config *c, const struct ip_view *v)
{
	return v->version == 4 ? c->tcp4 : c->tcp6;
}

/* @room bytes from the TCP header to the end of the packet. */
static enum gro_fate read_tcp(const uint8_t *tcp, uint32_t room, struct gro_segment *s)
{
	const uint32_t hdr_len = (tcp[12] >> 4) * 4u;
	const uint8_t flags = tcp[13];

	if (hdr_len < TCP_HDR_MIN_LEN || hdr_len > room)
		return GRO_SEAL_FLOW;
	/* CWR may stand on the first segment only and FIN on the last, the others
	 * are never in a run of data. The reserved bits would be copied to all. */
	if ((tcp[12] & 0x0f) || (flags & ~(TCP_PSH | TCP_ECE)) != TCP_ACK)
		return GRO_SEAL_FLOW;
	if (hdr_len == room)
		return flags & TCP_PSH ? GRO_SEAL_FLOW : GRO_APART;
	s->hdr_len = (uint16_t)(s->layer[s->n_layers - 1].l4_off + hdr_len);
	s->payload_len = (uint16_t)(room - hdr_len);
	return GRO_CANDIDATE;
}

static enum gro_fate describe_tcp(const struct gro_config *c, const struct gro_packet *pkt,
				  struct gro_segment *s)
{
	const struct ip_view *v = &pkt->view;
	enum gro_fate fate;

	if (!takes_tcp(c, v))
		return GRO_APART;
	fate = read_tcp(pkt->ip + v->l4_off, v->total_len - v->l4_off, s);
	if (fate == GRO_CANDIDATE && !ip_is_plain(v, pkt->len))
		return GRO_SEAL_FLOW;
	return fate;
}

static bool is_encap(const struct gro_config *c, const uint8_t *udp)
{
	return c->encap && encap_table_find(c->encap, be16_load(udp + 2)) != ENCAP_NONE;
}

/* Cutting gives every datagram a checksum, so one without is taken only where
 * the configuration says that nobody minds. */
static bool takes_checksum(const struct gro_config *c, const uint8_t *udp,
			   const struct gro_segment *s)
{
	const bool encap = is_encap(c, udp);

	if (be16_load(udp + 6))
		return !encap || c->encap_udp_l4;
	return encap && s->n_layers == 1 && s->layer[0].version == 4 &&
	       c->zero_csum == GRO_ZERO_CSUM_UDP_L4;
}

static enum gro_fate read_udp(const struct gro_config *c, const uint8_t *udp, uint32_t room,
			      struct gro_segment *s)
{
	if (!c->udp || be16_load(udp + 4) != room || room == UDP_HDR_LEN ||
	    !takes_checksum(c, udp, s))
		return GRO_SEAL_FLOW;
	s->hdr_len = (uint16_t)(s->layer[s->n_layers - 1].l4_off + UDP_HDR_LEN);
	s->payload_len = (uint16_t)(room - UDP_HDR_LEN);
	return GRO_CANDIDATE;
}

static enum gro_fate describe_udp(const struct gro_config *c, const struct gro_packet *pkt,
				  struct gro_segment *s)
{
	const struct ip_view *v = &pkt->view;
	const uint8_t *udp = pkt->ip + v->l4_off;
	enum gro_fate fate;

	if (c->tunnel && is_encap(c, udp)) {
		fate = describe_tunnel(c, pkt, s);
		if (fate != GRO_SEAL_FLOW)
			return fate;
		/* Whatever it holds must not be overtaken by later packets of
		 * the same inner flow, nor overtake earlier ones. */
		s->n_layers = 1;
		s->barrier = true;
	}
	fate = read_udp(c, udp, v->total_len - v->l4_off, s);
	if (fate == GRO_CANDIDATE &&
	    (!ip_is_plain(v, pkt->len) || (!be16_load(udp + 6) && !pkt->zero_csum_allowed)))
		return GRO_SEAL_FLOW;
	return fate;
}

/* GRO_SEAL_FLOW: not to be merged as a tunnel superpacket. */
static enum gro_fate describe_tunnel(const struct gro_config *c, const struct gro_packet *pkt,
				     struct gro_segment *s)
{
	struct encap_view e;
	const struct ip_view *in = &e.inner;
	const uint8_t *l4;
	enum gro_fate fate;

	if (!ip_is_plain(&pkt->view, pkt->len) || !encap_parse(c->encap, pkt->ip, &pkt->view, &e))
		return GRO_SEAL_FLOW;
	if (in->fragment || !has_transport(in))
		return GRO_SEAL_FLOW;

	s->layer[1] = layer_of(in, e.inner_l3_off);
	s->n_layers = 2;
	l4 = pkt->ip + s->layer[1].l4_off;
	if (in->proto == IP_PROTO_TCP && takes_tcp(c, in))
		fate = read_tcp(l4, in->total_len - in->l4_off, s);
	else if (in->proto == IP_PROTO_UDP)
		fate = read_udp(c, l4, in->total_len - in->l4_off, s);
	else
		return GRO_SEAL_FLOW;
	if (fate == GRO_CANDIDATE && !ip_is_plain(in, pkt->len - e.inner_l3_off))
		return GRO_SEAL_FLOW;
	return fate;
}

/* Multiplicative mixing. Whoever makes flows collide gains nothing: chains are
 * bounded. */
static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

static uint64_t mix_bytes(uint64_t hash, const uint8_t *p, unsigned n_words)
{
	uint64_t word;

	for (; n_words; n_words--, p += sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		hash = mix(hash, word);
	}
	return hash;
}

/* What is left of the last word counts as zeroes. */
static uint64_t mix_l2(uint64_t hash, const uint8_t *l2, unsigned len)
{
	const unsigned n_words = len / 8, rest = len % 8;
	uint64_t word = 0;

	hash = mix_bytes(hash, l2, n_words);
	if (!rest)
		return hash;
	memcpy(&word, l2 + 8 * n_words, rest);
	return mix(hash, word);
}

uint32_t gro_segment_hash(const struct gro_segment *s, const uint8_t *p, unsigned n_layers)
{
	uint64_t hash = mix_l2(0, p - s->l2_len, s->l2_len);
	unsigned i;

	for (i = 0; i < n_layers; i++) {
		const struct gro_layer *l = &s->layer[i];
		const uint8_t *ip = p + l->l3_off;

		if (l->version == 4)
			hash = mix_bytes(hash, ip + 12, 1);
		else
			hash = mix_bytes(hash, ip + 8, 4);
		hash = mix(hash, (uint64_t)l->proto << 32 | be32_load(p + l->l4_off));
	}
	return (uint32_t)hash;
}
