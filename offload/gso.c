/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation. A superpacket is parsed once, by vnet_check(); gso_begin()
 * turns the offsets into one header length and prepares what all segments share.
 * A segment is the superpacket's headers, a slice of its payload and stamps, made
 * from the inside out: the payload is summed while it is copied, the innermost
 * checksum closes over that sum, and an outer UDP checksum needs no payload at
 * all, since an L4 segment with a finished checksum sums up to the complement of
 * its pseudo header (local checksum offload, as the kernel calls it).
 */
#include "gso.h"

#include <string.h>

#include "be.h"
#include "checksum.h"
#include "ip.h"

enum { TCP_HDR_MIN_LEN = 20, TCP_SEQ_OFF = 4, TCP_DATA_OFF = 12, TCP_FLAGS_OFF = 13 };
enum { TCP_FIN = 0x01, TCP_PSH = 0x08, TCP_CWR = 0x80 };
enum { UDP_HDR_LEN = 8, UDP_LEN_OFF = 4, UDP_CSUM_OFF = 6 };

static bool is_tcp(const struct vnet *v)
{
	return v->gso == VNET_GSO_TCP4 || v->gso == VNET_GSO_TCP6;
}

/* Length of the header at @l4 with @left bytes from there on; 0: does not fit. */
static uint32_t l4_hdr_len(const struct vnet *v, const uint8_t *l4, size_t left)
{
	uint32_t len;

	if (!is_tcp(v))
		return UDP_HDR_LEN;
	len = (uint32_t)(l4[TCP_DATA_OFF] >> 4) * 4;
	return len < TCP_HDR_MIN_LEN || len > left ? 0 : len;
}

static bool expressible(const uint8_t *ip, uint32_t len)
{
	return ip[0] >> 4 == 4 ? len <= UINT16_MAX : len - IPV6_HDR_LEN <= UINT16_MAX;
}

/* The pseudo header's sum in @field, of a segment of @len bytes, without that
 * length: one's complement subtraction adds the complement. */
static uint64_t pseudo_from_field(const uint8_t *field, uint64_t len)
{
	return (uint64_t)be16_load(field) + checksum_finish(len);
}

static uint64_t pseudo_from_addresses(const uint8_t *ip)
{
	if (ip[0] >> 4 == 4)
		return checksum_pseudo(ip + 12, ip + 16, 4, IP_PROTO_UDP, 0);
	return checksum_pseudo(ip + 8, ip + 24, 16, IP_PROTO_UDP, 0);
}

static void begin_outer(struct gso *g, size_t len)
{
	const struct vnet *v = &g->vnet;
	const uint8_t *field = g->pkt + v->outer_l4_off + UDP_CSUM_OFF;

	if (v->tunnel_csum)
		g->outer_pseudo = pseudo_from_field(field, len - v->outer_l4_off);
	else if (be16_load(field))
		g->outer_pseudo = pseudo_from_addresses(g->pkt);
	else
		return;
	g->outer_csum = true;
}

static bool begin_super(struct gso *g, size_t len)
{
	const struct vnet *v = &g->vnet;
	const uint8_t *l4 = g->pkt + v->csum_start;
	const uint32_t l4_len = l4_hdr_len(v, l4, len - v->csum_start);

	if (!l4_len)
		return false;
	g->hdr_len = v->csum_start + l4_len;
	g->payload_len = (uint32_t)len - g->hdr_len;
	g->seg_payload = v->gso_size;
	if (g->payload_len <= g->seg_payload)
		g->seg_payload = g->payload_len;
	else
		g->n_segments = (g->payload_len - 1) / g->seg_payload + 1;
	if (!expressible(g->pkt, g->hdr_len + g->seg_payload))
		return false;

	g->l4_pseudo = pseudo_from_field(l4 + v->csum_offset, len - v->csum_start);
	if (v->tunnel != VNET_TUNNEL_NONE)
		begin_outer(g, len);
	return true;
}

bool gso_begin(struct gso *ret, const uint8_t *pkt, size_t len, const struct vnet *v)
{
	struct gso g = {.pkt = pkt, .vnet = *v, .n_segments = 1};

	if (len > UINT32_MAX)
		return false;
	if (v->gso == VNET_GSO_NONE)
		g.payload_len = g.seg_payload = (uint32_t)len;
	else if (!begin_super(&g, len))
		return false;
	*ret = g;
	return true;
}

static uint32_t slice_len(const struct gso *g, uint32_t i)
{
	const uint32_t left = g->payload_len - i * g->seg_payload;

	return left < g->seg_payload ? left : g->seg_payload;
}

uint32_t gso_segment_len(const struct gso *g, uint32_t i)
{
	return i < g->n_segments ? g->hdr_len + slice_len(g, i) : 0;
}

/*
 * 0 means "no checksum" in UDP, so the other zero of one's complement is sent.
 * For any other protocol both are the same to a receiver; the kernel finishes
 * single packets like this without looking, and its bytes are ours.
 */
static uint16_t finish_nonzero(uint64_t sum)
{
	const uint16_t check = checksum_finish(sum);

	return check ? check : 0xffff;
}

static void copy_single(const struct gso *g, uint8_t *dst)
{
	const uint32_t start = g->vnet.csum_start;
	uint64_t sum;

	if (!g->vnet.needs_csum) {
		memcpy(dst, g->pkt, g->payload_len);
		return;
	}
	memcpy(dst, g->pkt, start);
	sum = checksum_copy(dst + start, g->pkt + start, g->payload_len - start, 0);
	be16_store(dst + start + g->vnet.csum_offset, finish_nonzero(sum));
}

static void stamp_ip(uint8_t *ip, uint32_t len, uint32_t i)
{
	if (ip[0] >> 4 == 6) {
		be16_store(ip + 4, (uint16_t)(len - IPV6_HDR_LEN));
		return;
	}
	be16_store(ip + 2, (uint16_t)len);
	be16_store(ip + 4, (uint16_t)(be16_load(ip + 4) + i));
	be16_store(ip + 10, 0);
	be16_store(ip + 10, checksum_finish(checksum_add(0, ip, (ip[0] & 15u) * 4)));
}

static void stamp_tcp(const struct gso *g, uint8_t *tcp, uint32_t i)
{
	uint8_t drop = 0;

	be32_store(tcp + TCP_SEQ_OFF, be32_load(tcp + TCP_SEQ_OFF) + i * g->seg_payload);
	if (i)
		drop |= TCP_CWR;
	if (i + 1 < g->n_segments)
		drop |= TCP_FIN | TCP_PSH;
	tcp[TCP_FLAGS_OFF] &= (uint8_t)~drop;
}

/* The innermost L4 header of a segment with @l4_len bytes, whose payload sums up
 * to @sum. */
static void stamp_l4(const struct gso *g, uint8_t *l4, uint32_t l4_len, uint32_t i, uint64_t sum)
{
	uint8_t *const field = l4 + g->vnet.csum_offset;
	const bool tcp = is_tcp(&g->vnet);

	if (tcp)
		stamp_tcp(g, l4, i);
	else
		be16_store(l4 + UDP_LEN_OFF, (uint16_t)l4_len);
	be16_store(field, 0);
	sum = checksum_add(sum, l4, g->hdr_len - g->vnet.csum_start) + g->l4_pseudo + l4_len;
	be16_store(field, tcp ? checksum_finish(sum) : finish_nonzero(sum));
}

/* The outer UDP header and what is between it and the innermost L4 header,
 * which must be finished. */
static void stamp_outer_udp(const struct gso *g, uint8_t *dst, uint32_t len, uint32_t l4_len)
{
	uint8_t *const udp = dst + g->vnet.outer_l4_off;
	const uint32_t udp_len = len - g->vnet.outer_l4_off;
	const uint32_t between = g->vnet.csum_start - g->vnet.outer_l4_off;
	uint16_t inner;
	uint64_t sum;

	be16_store(udp + UDP_LEN_OFF, (uint16_t)udp_len);
	if (!g->outer_csum)
		return;
	be16_store(udp + UDP_CSUM_OFF, 0);
	inner = checksum_finish(g->l4_pseudo + l4_len);
	if (between % 2) /* its bytes have the other weight here */
		inner = (uint16_t)(inner << 8 | inner >> 8);
	sum = checksum_add(g->outer_pseudo + udp_len + inner, udp, between);
	be16_store(udp + UDP_CSUM_OFF, finish_nonzero(sum));
}

static void stamp(const struct gso *g, uint8_t *dst, uint32_t len, uint32_t i, uint64_t sum)
{
	const struct vnet *v = &g->vnet;
	const uint32_t l4_len = len - v->csum_start;

	stamp_ip(dst, len, i);
	stamp_l4(g, dst + v->csum_start, l4_len, i, sum);
	if (v->tunnel == VNET_TUNNEL_NONE)
		return;
	stamp_ip(dst + v->inner_l3_off, len - v->inner_l3_off, i);
	stamp_outer_udp(g, dst, len, l4_len);
}

uint32_t gso_next(struct gso *g, uint8_t *dst)
{
	const uint32_t i = g->next;
	const uint32_t len = gso_segment_len(g, i);
	uint64_t sum;

	if (i >= g->n_segments)
		return 0;
	g->next++;
	if (g->vnet.gso == VNET_GSO_NONE) {
		copy_single(g, dst);
		return len;
	}
	memcpy(dst, g->pkt, g->hdr_len);
	sum = checksum_copy(dst + g->hdr_len, g->pkt + g->hdr_len + i * g->seg_payload,
			    slice_len(g, i), 0);
	stamp(g, dst, len, i, sum);
	return len;
}
