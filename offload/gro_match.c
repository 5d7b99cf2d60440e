/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every byte of the headers is either equal in both packets or is what gso_next()
 * makes of the head's: lengths, IPv4 IDs, TCP sequence number, PSH, checksums.
 */
#include "gro_internal.h"

#include <string.h>

#include "be.h"
#include "checksum.h"

enum { IPV4_SRC_OFF = 12, IPV6_SRC_OFF = 8, PORTS_LEN = 4 };

static const struct gro_layer *innermost(const struct gro_segment *s)
{
	return &s->layer[s->n_layers - 1];
}

static bool same_endpoints(const struct gro_layer *a, const uint8_t *pa, const struct gro_layer *b,
			   const uint8_t *pb)
{
	const size_t off = a->version == 4 ? IPV4_SRC_OFF : IPV6_SRC_OFF;
	const size_t len = a->version == 4 ? 8 : 32;

	return a->version == b->version && a->proto == b->proto &&
	       !memcmp(pa + a->l3_off + off, pb + b->l3_off + off, len) &&
	       !memcmp(pa + a->l4_off, pb + b->l4_off, PORTS_LEN);
}

bool gro_match_flow(const struct gro_segment *a, const uint8_t *pa, const struct gro_segment *b,
		    const uint8_t *pb)
{
	unsigned i;

	if (a->n_layers != b->n_layers || a->l2_len != b->l2_len ||
	    memcmp(pa - a->l2_len, pb - b->l2_len, a->l2_len) != 0)
		return false;
	for (i = 0; i < a->n_layers; i++)
		if (!same_endpoints(&a->layer[i], pa, &b->layer[i], pb))
			return false;
	return true;
}

static bool ipv4_matches(const uint8_t *head, uint32_t i, const uint8_t *ip)
{
	/* Version, header length, TOS; flags and offset, TTL, protocol. */
	return !memcmp(ip, head, 2) && !memcmp(ip + 6, head + 6, 4) &&
	       be16_load(ip + 4) == (uint16_t)(be16_load(head + 4) + i);
}

static bool ipv6_matches(const uint8_t *head, const uint8_t *ip)
{
	/* Version, traffic class, flow label; next header, hop limit. */
	return !memcmp(ip, head, 4) && !memcmp(ip + 6, head + 6, 2);
}

static bool tcp_matches(const uint8_t *head, uint32_t seq_offset, size_t hdr_len,
			const uint8_t *tcp)
{
	/* Acknowledgement and data offset; window; urgent pointer and options. */
	return be32_load(tcp + 4) == be32_load(head + 4) + seq_offset &&
	       !memcmp(tcp + 8, head + 8, 5) && !((tcp[13] ^ head[13]) & ~TCP_PSH) &&
	       !memcmp(tcp + 14, head + 14, 2) && !memcmp(tcp + 18, head + 18, hdr_len - 18);
}

static bool layer_matches(const struct gro_layer *h, const uint8_t *ph, uint32_t i,
			  const struct gro_layer *s, const uint8_t *p)
{
	if (h->l3_off != s->l3_off || h->l4_off != s->l4_off)
		return false;
	ph += h->l3_off;
	p += s->l3_off;
	return s->version == 4 ? ipv4_matches(ph, i, p) : ipv6_matches(ph, p);
}

/* A datagram without a checksum stays without when a tunnel superpacket is cut,
 * and gets one otherwise: the two kinds never mix. */
static bool same_checksum_use(const uint8_t *a_udp, const uint8_t *b_udp)
{
	return !be16_load(a_udp + 6) == !be16_load(b_udp + 6);
}

bool gro_match_headers(const struct gro_segment *head, const uint8_t *ph, uint32_t i,
		       const struct gro_segment *s, const uint8_t *p)
{
	const struct gro_layer *in = innermost(s), *out = &s->layer[0];
	const uint8_t *l4 = p + in->l4_off, *l4_head = ph + in->l4_off;
	unsigned k;

	if (s->hdr_len != head->hdr_len || s->payload_len > head->payload_len)
		return false;
	for (k = 0; k < s->n_layers; k++)
		if (!layer_matches(&head->layer[k], ph, i, &s->layer[k], p))
			return false;
	if (s->n_layers == 2) {
		/* Tunnel header, options and inner link layer, bit for bit. */
		const uint16_t from = out->l4_off + UDP_HDR_LEN;

		if (!same_checksum_use(ph + out->l4_off, p + out->l4_off) ||
		    memcmp(p + from, ph + from, in->l3_off - from) != 0)
			return false;
	}
	if (in->proto == IP_PROTO_UDP)
		return same_checksum_use(l4_head, l4);
	return tcp_matches(l4_head, i * head->payload_len, s->hdr_len - in->l4_off, l4);
}

static uint64_t pseudo_sum(const struct gro_layer *l, const uint8_t *p, uint32_t l4_len)
{
	const size_t addr_len = l->version == 4 ? 4 : 16;
	const uint8_t *src = p + l->l3_off + (l->version == 4 ? IPV4_SRC_OFF : IPV6_SRC_OFF);

	return checksum_pseudo(src, src + addr_len, addr_len, l->proto, l4_len);
}

/* 0xffff is a second way to write 0, which cutting would not give back. */
static bool ipv4_checksum_valid(const struct gro_layer *l, const uint8_t *p)
{
	const uint8_t *ip = p + l->l3_off;

	return l->version != 4 || (!checksum_finish(checksum_add(0, ip, IPV4_HDR_MIN_LEN)) &&
				   be16_load(ip + 10) != 0xffff);
}

/*
 * The payload is summed once for both UDP checksums of a tunnel packet. All that
 * lies in front of the inner L4 header has an even length, so the sums add up.
 */
bool gro_match_checksums(const struct gro_segment *s, const uint8_t *p)
{
	const struct gro_layer *in = innermost(s), *out = &s->layer[0];
	const uint32_t len = (uint32_t)s->hdr_len + s->payload_len;
	uint64_t sum;

	if (!ipv4_checksum_valid(in, p) || !ipv4_checksum_valid(out, p))
		return false;
	if (in->proto == IP_PROTO_UDP && !be16_load(p + in->l4_off + 6))
		return true;
	sum = checksum_add(0, p + in->l4_off, len - in->l4_off);
	if (checksum_finish(sum + pseudo_sum(in, p, len - in->l4_off)))
		return false;
	if (in->proto == IP_PROTO_TCP && be16_load(p + in->l4_off + 16) == 0xffff)
		return false;
	if (s->n_layers == 1 || !be16_load(p + out->l4_off + 6))
		return true;
	sum = checksum_add(sum, p + out->l4_off, in->l4_off - out->l4_off);
	return !checksum_finish(sum + pseudo_sum(out, p, len - out->l4_off));
}
