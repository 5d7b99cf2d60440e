/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head of a superpacket as the kernel expects it on writes: lengths of the
 * whole, IPv4 header checksums finished, UDP and TCP checksums holding the
 * folded sum of the pseudo header only (virtio 1.2, 5.1.6.2; what a read of such a
 * packet returns).
 *
 * BIG TCP: the length field of IP is 0 where the length does not fit (iph_set_totlen()
 * in include/net/ip.h; IPv6 without a jumbo option, as kernels from 7.0 on have it).
 * The pseudo header counts the real length in 32 bits all the same: so do
 * tcp4_gro_complete() and its IPv6 twin with skb->len - thoff, and tcp_gso_segment()
 * adds ~skb->len in 32 bits to take it off again before it adds a segment's. (Before
 * "tcp: gso: really support BIG TCP", 2023, it took off the lower 16 bits alone: wrong
 * for what the kernel's own GRO wrote as well.)
 */
#include "gro_internal.h"

#include "be.h"
#include "checksum.h"

enum { TCP_CSUM_OFFSET = 16, UDP_CSUM_OFFSET = 6 };

struct vnet gro_finish_vnet(const struct gro_segment *head, const uint8_t *ip)
{
	const struct gro_layer *in = &head->layer[head->n_layers - 1], *out = &head->layer[0];
	struct vnet v = {
		.needs_csum = true,
		.gso_size = head->payload_len,
		.hdr_len = head->hdr_len,
		.csum_start = in->l4_off,
	};

	if (in->proto == IP_PROTO_UDP) {
		v.gso = VNET_GSO_UDP;
		v.csum_offset = UDP_CSUM_OFFSET;
	} else {
		v.gso = in->version == 4 ? VNET_GSO_TCP4 : VNET_GSO_TCP6;
		v.csum_offset = TCP_CSUM_OFFSET;
	}
	if (head->n_layers == 2) {
		v.tunnel = out->version == 4 ? VNET_TUNNEL_V4 : VNET_TUNNEL_V6;
		v.tunnel_csum = be16_load(ip + out->l4_off + UDP_CSUM_OFFSET);
		v.outer_l4_off = out->l4_off;
		v.inner_l3_off = in->l3_off;
	}
	return v;
}

/* 0 where it does not fit. */
static uint16_t len16(uint32_t len)
{
	return len <= UINT16_MAX ? (uint16_t)len : 0;
}

static void write_ip_len(uint8_t *ip, uint32_t len)
{
	if (ip[0] >> 4 == 6) {
		be16_store(ip + 4, len16(len - IPV6_HDR_LEN));
		return;
	}
	be16_store(ip + 2, len16(len));
	be16_store(ip + 10, 0);
	be16_store(ip + 10, checksum_finish(checksum_add(0, ip, IPV4_HDR_MIN_LEN)));
}

/* Folded, not complemented. */
static uint16_t partial_checksum(const uint8_t *ip, uint8_t proto, uint32_t l4_len)
{
	const size_t addr_len = ip[0] >> 4 == 4 ? 4 : 16;
	const uint8_t *src = ip + (addr_len == 4 ? 12 : 8);

	return (uint16_t)~checksum_finish(
		checksum_pseudo(src, src + addr_len, addr_len, proto, l4_len));
}

void gro_finish_head(const struct gro_packet *pkts, const struct gro_super *super)
{
	const struct vnet *v = &super->vnet;
	const uint8_t proto = v->gso == VNET_GSO_UDP ? IP_PROTO_UDP : IP_PROTO_TCP;
	const uint32_t l4_len = super->len - v->csum_start;
	uint8_t *outer = pkts[super->first].ip, *ip = outer, *l4 = outer + v->csum_start;

	if (v->tunnel) {
		const uint32_t udp_len = super->len - v->outer_l4_off;
		uint8_t *udp = outer + v->outer_l4_off;

		write_ip_len(outer, super->len);
		be16_store(udp + 4, (uint16_t)udp_len);
		if (v->tunnel_csum)
			be16_store(udp + UDP_CSUM_OFFSET,
				   partial_checksum(outer, IP_PROTO_UDP, udp_len));
		ip += v->inner_l3_off;
	}
	write_ip_len(ip, super->len - v->inner_l3_off);
	if (proto == IP_PROTO_UDP)
		be16_store(l4 + 4, (uint16_t)l4_len);
	else
		l4[13] |= pkts[super->last].ip[v->csum_start + 13] & TCP_PSH;
	be16_store(l4 + v->csum_offset, partial_checksum(ip, proto, l4_len));
}
