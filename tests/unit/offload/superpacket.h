/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds superpackets and, from the same description, the packets that cutting
 * them has to give: each from scratch with naive checksums, never by cutting.
 */
#ifndef SEALANE_TESTS_OFFLOAD_SUPERPACKET_H
#define SEALANE_TESTS_OFFLOAD_SUPERPACKET_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "offload/vnet.h"

#include "naive.h"

enum shim { SHIM_VXLAN, SHIM_VXLAN_VLAN, SHIM_GENEVE_OPTIONS, SHIM_MPLS, SHIM_NONE, SHIM_ODD };
enum {
	TCP_FLAG_FIN = 1,
	TCP_FLAG_PSH = 8,
	TCP_FLAG_ACK = 16,
	TCP_FLAG_ECE = 64,
	TCP_FLAG_CWR = 128
};
enum { SUPERPACKET_HDR_MAX = 512 };

struct spec {
	uint8_t family; /* 4 or 6, of the inner IP header */
	bool udp;
	uint8_t outer; /* 0, 4 or 6 */
	bool outer_csum;
	enum shim shim;
	uint8_t ip_options; /* bytes; with IPv6 of a destination options header */
	uint8_t tcp_options;
	uint8_t tcp_flags;
	uint8_t tos;
	bool ecn; /* the vnet header says so */
	uint16_t mss;
	uint32_t payload_len;
	uint16_t id, outer_id;
	uint32_t seq;
};

static inline void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v & 0xffff);
}

static inline uint32_t spec_ip_len(uint8_t family, uint8_t options)
{
	return (family == 4 ? 20u : 40u) + options;
}

static inline uint32_t spec_l4_hdr_len(const struct spec *s)
{
	return s->udp ? 8u : 20u + s->tcp_options;
}

static inline uint32_t spec_shim_len(const struct spec *s)
{
	static const uint8_t len[] = {
		[SHIM_VXLAN] = 8 + 14,
		[SHIM_VXLAN_VLAN] = 8 + 18,
		[SHIM_GENEVE_OPTIONS] = 8 + 12 + 14,
		[SHIM_MPLS] = 8,
		[SHIM_NONE] = 0,
		[SHIM_ODD] = 3,
	};

	return len[s->shim];
}

static inline uint32_t spec_inner_off(const struct spec *s)
{
	return s->outer ? spec_ip_len(s->outer, 0) + 8 + spec_shim_len(s) : 0;
}

static inline uint32_t spec_l4_off(const struct spec *s)
{
	return spec_inner_off(s) + spec_ip_len(s->family, s->ip_options);
}

static inline uint32_t spec_hdr_len(const struct spec *s)
{
	return spec_l4_off(s) + spec_l4_hdr_len(s);
}

static inline uint32_t spec_segments(const struct spec *s)
{
	return s->payload_len ? (s->payload_len + s->mss - 1) / s->mss : 1;
}

/* 16-bit length fields are 0 where they cannot say it. */
static inline uint32_t len16(uint32_t len)
{
	return len > 0xffff ? 0 : len;
}

static inline void build_ip(uint8_t *p, uint8_t family, uint8_t options, uint8_t proto, uint8_t tos,
			    uint16_t id, uint32_t len)
{
	memset(p, 0, spec_ip_len(family, options));
	if (family == 4) {
		p[0] = (uint8_t)(0x45 + options / 4);
		p[1] = tos;
		put16(p + 2, len16(len));
		put16(p + 4, id);
		p[6] = 0x40; /* DF */
		p[8] = 64;
		p[9] = proto;
		memcpy(p + 12, (const uint8_t[]){192, 0, 2, 1, 198, 51, 100, 2}, 8);
		memset(p + 20, 1, options); /* no operation */
		put16(p + 10, naive_checksum(p, 20u + options));
		return;
	}
	put32(p, 6u << 28 | (uint32_t)tos << 20 | 0xabcde);
	put16(p + 4, len16(len - 40));
	p[6] = options ? 60 : proto;
	p[7] = 64;
	memcpy(p + 8, (const uint8_t[]){0x20, 1, 0xd, 0xb8}, 4);
	memcpy(p + 24, (const uint8_t[]){0x20, 1, 0xd, 0xb8}, 4);
	p[23] = 1;
	p[39] = 2;
	if (options) {
		p[40] = proto;
		p[41] = (uint8_t)(options / 8 - 1);
		p[42] = 1; /* PadN */
		p[43] = (uint8_t)(options - 4);
	}
}

/* Sum of the pseudo header and, when @whole, of the @len bytes at @l4. */
static inline uint16_t l4_sum(const uint8_t *ip, uint8_t proto, const uint8_t *l4, uint32_t len,
			      bool whole)
{
	uint8_t tail[8] = {0};
	uint16_t sum;

	put32(tail, len);
	tail[7] = proto;
	sum = ip[0] >> 4 == 4 ? naive_sum(0, ip + 12, 8) : naive_sum(0, ip + 8, 32);
	sum = naive_sum(sum, tail, sizeof(tail));
	return whole ? naive_sum(sum, l4, len) : sum;
}

/* The partial form of a checksum, or the finished one. */
static inline uint16_t l4_check(const uint8_t *ip, uint8_t proto, const uint8_t *l4, uint32_t len,
				bool partial)
{
	const uint16_t sum = l4_sum(ip, proto, l4, len, !partial);
	const uint16_t check = (uint16_t)(partial ? sum : 0xffff - sum);

	return !check && proto == 17 ? 0xffff : check;
}

static inline void build_l4(const struct spec *s, uint8_t *l4, uint32_t len)
{
	memset(l4, 0, spec_l4_hdr_len(s));
	put16(l4, 40000);
	put16(l4 + 2, 443);
	if (s->udp) {
		put16(l4 + 4, len16(len));
		return;
	}
	put32(l4 + 4, s->seq);
	put32(l4 + 8, 0x11223344);
	l4[12] = (uint8_t)((20u + s->tcp_options) / 4 << 4);
	l4[13] = s->tcp_flags;
	put16(l4 + 14, 0x7fff);
	memset(l4 + 20, 1, s->tcp_options); /* no operation */
}

static inline void build_ethernet(uint8_t *p, uint8_t family)
{
	memset(p, 0x22, 12);
	put16(p + 12, family == 4 ? 0x0800 : 0x86dd);
}

static inline void build_shim(const struct spec *s, uint8_t *p)
{
	memset(p, 0, spec_shim_len(s));
	switch (s->shim) {
	case SHIM_VXLAN:
		p[0] = 8;
		p[6] = 42;
		build_ethernet(p + 8, s->family);
		break;
	case SHIM_VXLAN_VLAN:
		p[0] = 8;
		p[6] = 42;
		build_ethernet(p + 12, s->family);
		memset(p + 8, 0x22, 12);
		put32(p + 20, 0x81000005);
		break;
	case SHIM_GENEVE_OPTIONS:
		p[0] = 3;
		put16(p + 2, 0x6558);
		p[6] = 42;
		memcpy(p + 8, "\x01\x02\x03\x02options.", 12);
		build_ethernet(p + 20, s->family);
		break;
	case SHIM_MPLS:
		put32(p, 1000u << 12 | 64);
		put32(p + 4, 2000u << 12 | 0x100 | 64);
		break;
	case SHIM_ODD:
		memcpy(p, "odd", 3);
		break;
	case SHIM_NONE:
		break;
	}
}

static inline uint16_t shim_port(const struct spec *s)
{
	static const uint16_t port[] = {
		[SHIM_VXLAN] = 4789, [SHIM_VXLAN_VLAN] = 4789, [SHIM_GENEVE_OPTIONS] = 6081,
		[SHIM_MPLS] = 6635,  [SHIM_NONE] = 7000,       [SHIM_ODD] = 7001,
	};

	return port[s->shim];
}

/* Writes the packet of @s with @payload; checksums are partial or finished. */
static inline uint32_t spec_build(const struct spec *s, const uint8_t *payload, bool partial,
				  uint8_t *out)
{
	const uint32_t inner = spec_inner_off(s), l4 = spec_l4_off(s), hdr = spec_hdr_len(s);
	const uint32_t len = hdr + s->payload_len, udp = s->outer ? spec_ip_len(s->outer, 0) : 0;
	const uint8_t proto = s->udp ? 17 : 6;

	memcpy(out + hdr, payload, s->payload_len);
	build_ip(out + inner, s->family, s->ip_options, proto, s->tos, s->id, len - inner);
	build_l4(s, out + l4, len - l4);
	put16(out + l4 + (s->udp ? 6 : 16),
	      l4_check(out + inner, proto, out + l4, len - l4, partial));
	if (!s->outer)
		return len;
	build_ip(out, s->outer, 0, 17, s->tos, s->outer_id, len);
	put16(out + udp, 50000);
	put16(out + udp + 2, shim_port(s));
	put16(out + udp + 4, len16(len - udp));
	put16(out + udp + 6, 0);
	build_shim(s, out + udp + 8);
	if (s->outer_csum)
		put16(out + udp + 6, l4_check(out, 17, out + udp, len - udp, partial));
	return len;
}

static inline struct vnet spec_vnet(const struct spec *s)
{
	struct vnet v = {
		.needs_csum = true,
		.ecn = s->ecn,
		.gso = s->udp		? VNET_GSO_UDP
		       : s->family == 4 ? VNET_GSO_TCP4
					: VNET_GSO_TCP6,
		.gso_size = s->mss,
		.hdr_len = (uint16_t)spec_hdr_len(s),
		.csum_start = (uint16_t)spec_l4_off(s),
		.csum_offset = s->udp ? 6 : 16,
	};

	if (s->outer) {
		v.tunnel = s->outer == 4 ? VNET_TUNNEL_V4 : VNET_TUNNEL_V6;
		v.tunnel_csum = s->outer_csum;
		v.outer_l4_off = (uint16_t)spec_ip_len(s->outer, 0);
		v.inner_l3_off = (uint16_t)spec_inner_off(s);
	}
	return v;
}

/* The packet that segment @i has to be. */
static inline uint32_t spec_build_segment(const struct spec *s, const uint8_t *payload, uint32_t i,
					  uint8_t *out)
{
	const uint32_t n = spec_segments(s), off = i * s->mss;
	struct spec seg = *s;

	seg.payload_len = i + 1 < n ? s->mss : s->payload_len - off;
	seg.id = (uint16_t)(s->id + i);
	seg.outer_id = (uint16_t)(s->outer_id + i);
	seg.seq = s->seq + off;
	if (i)
		seg.tcp_flags &= (uint8_t)~TCP_FLAG_CWR;
	if (i + 1 < n)
		seg.tcp_flags &= (uint8_t) ~(TCP_FLAG_FIN | TCP_FLAG_PSH);
	return spec_build(&seg, payload + off, false, out);
}

/* Makes the last two payload bytes of every segment such that the finished
 * innermost checksum is 0 before the rule about 0 applies. Full segments only. */
static inline void spec_zero_checksums(const struct spec *s, uint8_t *payload)
{
	const uint32_t field = spec_l4_off(s) + (s->udp ? 6 : 16);
	uint8_t *seg = malloc(SUPERPACKET_HDR_MAX + s->mss);
	uint32_t i, end;

	for (i = 0; i < spec_segments(s); i++) {
		end = (i + 1) * s->mss;
		put16(payload + end - 2, 0);
		spec_build_segment(s, payload, i, seg);
		memcpy(payload + end - 2, seg + field, 2);
	}
	free(seg);
}

static inline uint8_t *spec_payload(uint32_t len)
{
	uint8_t *payload = malloc(len ? len : 1);
	uint64_t state = 88172645463325252u;

	if (payload)
		naive_random_bytes(&state, payload, len);
	return payload;
}

#endif
