/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets for the tests of merging, and the twin that undoes it: a cutter which
 * knows nothing but the vnet header and sums checksums sixteen bits at a time.
 */
#ifndef SEALANE_TESTS_OFFLOAD_GRO_PACKETS_H
#define SEALANE_TESTS_OFFLOAD_GRO_PACKETS_H

#include "offload/vnet.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "naive.h"

enum { PKT_TCP = 6, PKT_UDP = 17, PKT_MAX_LEN = 70000, PKT_SUPER_MAX_LEN = 540000 };
enum {
	FIN = 0x01,
	SYN = 0x02,
	RST = 0x04,
	PSH = 0x08,
	ACK = 0x10,
	URG = 0x20,
	ECE = 0x40,
	CWR = 0x80
};
enum pkt_encap { PKT_PLAIN, PKT_VXLAN, PKT_GENEVE, PKT_BAREUDP };

struct pkt_shape {
	enum pkt_encap encap;
	uint8_t outer; /* version of the outer IP header of a tunnel */
	bool outer_csum;
	uint8_t version, proto;
	uint8_t options; /* of TCP, bytes */
};

struct pkt_offsets {
	unsigned outer_l4, l3, l4, payload, len;
	bool tunnel;
};

static inline void pkt_put16(uint8_t *p, unsigned v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline void pkt_put32(uint8_t *p, uint32_t v)
{
	pkt_put16(p, v >> 16);
	pkt_put16(p + 2, v & 0xffff);
}

static inline unsigned pkt_get16(const uint8_t *p)
{
	return (unsigned)p[0] << 8 | p[1];
}

static inline uint32_t pkt_get32(const uint8_t *p)
{
	return (uint32_t)pkt_get16(p) << 16 | pkt_get16(p + 2);
}

static inline unsigned pkt_ip_len(uint8_t version)
{
	return version == 4 ? 20 : 40;
}

/* One's complement sum of the pseudo header (RFC 9293 3.1, RFC 8200 8.1). */
static inline uint16_t pkt_pseudo(const uint8_t *ip, uint8_t proto, uint32_t l4_len)
{
	uint8_t tail[8] = {0};
	uint16_t sum;

	pkt_put32(tail, l4_len);
	tail[7] = proto;
	sum = naive_sum(0, tail, sizeof(tail));
	return ip[0] >> 4 == 4 ? naive_sum(sum, ip + 12, 8) : naive_sum(sum, ip + 8, 32);
}

static inline void pkt_fix_ip(uint8_t *ip)
{
	if (ip[0] >> 4 != 4)
		return;
	pkt_put16(ip + 10, 0);
	pkt_put16(ip + 10, naive_checksum(ip, 20));
}

static inline void pkt_fix_l4(const uint8_t *ip, uint8_t *l4, uint8_t proto, uint32_t l4_len)
{
	uint8_t *field = l4 + (proto == PKT_TCP ? 16 : 6);
	uint16_t check;

	pkt_put16(field, 0);
	check = (uint16_t)(0xffff - naive_sum(pkt_pseudo(ip, proto, l4_len), l4, l4_len));
	pkt_put16(field, proto == PKT_UDP && !check ? 0xffff : check);
}

/* All checksums; an outer UDP checksum only if @outer_csum. */
static inline void pkt_fix(uint8_t *p, const struct pkt_offsets *o, uint8_t proto, bool outer_csum)
{
	pkt_fix_ip(p + o->l3);
	pkt_fix_l4(p + o->l3, p + o->l4, proto, o->len - o->l4);
	if (!o->tunnel)
		return;
	pkt_fix_ip(p);
	if (outer_csum)
		pkt_fix_l4(p, p + o->outer_l4, PKT_UDP, o->len - o->outer_l4);
}

/* 16-bit length fields are 0 where they cannot say it. */
static inline void pkt_put_len(uint8_t *p, unsigned len)
{
	pkt_put16(p, len > 0xffff ? 0 : len);
}

static inline void pkt_set_lens(uint8_t *p, const struct pkt_offsets *o, uint8_t proto)
{
	const unsigned l3[2] = {o->l3, 0};
	unsigned i;

	for (i = 0; i < (o->tunnel ? 2 : 1); i++) {
		uint8_t *ip = p + l3[i];

		if (ip[0] >> 4 == 4)
			pkt_put_len(ip + 2, o->len - l3[i]);
		else
			pkt_put_len(ip + 4, o->len - l3[i] - 40);
	}
	if (proto == PKT_UDP)
		pkt_put16(p + o->l4 + 4, o->len - o->l4);
	if (o->tunnel)
		pkt_put16(p + o->outer_l4 + 4, o->len - o->outer_l4);
}

static inline void pkt_write_ip(uint8_t *ip, uint8_t version, uint8_t proto)
{
	static const uint8_t v6[16] = {0x20, 0x01, 0x0d, 0xb8};

	if (version == 4) {
		memset(ip, 0, 20);
		ip[0] = 0x45;
		ip[8] = 64;
		ip[9] = proto;
		pkt_put32(ip + 12, 0xc0000201);
		pkt_put32(ip + 16, 0xc0000202);
		return;
	}
	memset(ip, 0, 40);
	ip[0] = 0x60;
	ip[6] = proto;
	ip[7] = 64;
	memcpy(ip + 8, v6, 16);
	memcpy(ip + 24, v6, 16);
	ip[23] = 1;
	ip[39] = 2;
}

/* An Ethernet header and @n_tags VLAN tags, of VLAN @vlan and those behind it.
 * Returns their length. */
static inline uint8_t pkt_write_l2(uint8_t *p, uint8_t version, unsigned n_tags, unsigned vlan)
{
	uint8_t at = 12;

	memcpy(p, "\x02lane\x01\x02lane\x02", 12);
	for (unsigned i = 0; i < n_tags; i++, at += 4) {
		pkt_put16(p + at, i + 1 < n_tags ? 0x88a8 : 0x8100);
		pkt_put16(p + at + 2, vlan + i);
	}
	pkt_put16(p + at, version == 4 ? 0x0800 : 0x86dd);
	return at + 2;
}

static inline unsigned pkt_write_tunnel(uint8_t *p, const struct pkt_shape *s)
{
	static const uint8_t vxlan[8] = {0x08, 0, 0, 0, 0, 0, 42, 0};
	static const uint8_t geneve[16] = {0x02, 0,    0x65, 0x58, 0, 0, 42, 0,
					   0x01, 0x02, 0x03, 0x01, 9, 9, 9,  9};
	static const uint16_t port[] = {0, 4789, 6081, 6636};
	unsigned at = pkt_ip_len(s->outer);

	pkt_write_ip(p, s->outer, PKT_UDP);
	memset(p + at, 0, 8);
	pkt_put16(p + at, 50000);
	pkt_put16(p + at + 2, port[s->encap]);
	at += 8;
	if (s->encap == PKT_BAREUDP)
		return at;
	if (s->encap == PKT_VXLAN) {
		memcpy(p + at, vxlan, sizeof(vxlan));
		at += sizeof(vxlan);
	} else {
		memcpy(p + at, geneve, sizeof(geneve));
		at += sizeof(geneve);
	}
	memset(p + at, 0x02, 12);
	pkt_put16(p + at + 12, s->version == 4 ? 0x0800 : 0x86dd);
	return at + 14;
}

/* Segment @k of a run of @payload_len bytes each (its IDs and sequence number),
 * checksums not yet filled in. */
static inline struct pkt_offsets pkt_write(uint8_t *p, const struct pkt_shape *s, uint32_t k,
					   unsigned payload_len)
{
	struct pkt_offsets o = {.tunnel = s->encap != PKT_PLAIN};
	uint64_t state = UINT64_C(0x9e3779b97f4a7c15) * (k + 1);
	uint8_t *l4;

	if (o.tunnel) {
		o.outer_l4 = pkt_ip_len(s->outer);
		o.l3 = pkt_write_tunnel(p, s);
		if (s->outer == 4)
			pkt_put16(p + 4, 0xfffe + k);
	}
	o.l4 = o.l3 + pkt_ip_len(s->version);
	o.payload = o.l4 + (s->proto == PKT_TCP ? 20 + s->options : 8);
	o.len = o.payload + payload_len;
	pkt_write_ip(p + o.l3, s->version, s->proto);
	if (s->version == 4)
		pkt_put16(p + o.l3 + 4, 0xffff + k);

	l4 = p + o.l4;
	memset(l4, 0, o.payload - o.l4);
	pkt_put16(l4, 1);
	pkt_put16(l4 + 2, 2);
	if (s->proto == PKT_TCP) {
		pkt_put32(l4 + 4, 0xffffff80 + k * payload_len);
		pkt_put32(l4 + 8, 1);
		l4[12] = (uint8_t)((20 + s->options) / 4 << 4);
		l4[13] = ACK;
		pkt_put16(l4 + 14, 3000);
		memset(l4 + 20, 1, s->options); /* no-operation */
	}
	naive_random_bytes(&state, p + o.payload, payload_len);
	pkt_set_lens(p, &o, s->proto);
	return o;
}

static inline struct pkt_offsets pkt_build(uint8_t *p, const struct pkt_shape *s, uint32_t k,
					   unsigned payload_len)
{
	const struct pkt_offsets o = pkt_write(p, s, k, payload_len);

	pkt_fix(p, &o, s->proto, s->outer_csum);
	return o;
}

/* Segment @i of the superpacket @p of @len bytes; returns its length, 0 when
 * there is none. */
static inline unsigned pkt_cut(const uint8_t *p, unsigned len, const struct vnet *v, unsigned i,
			       uint8_t *ret)
{
	const uint8_t proto = v->gso == VNET_GSO_UDP ? PKT_UDP : PKT_TCP;
	struct pkt_offsets o = {
		.outer_l4 = v->outer_l4_off,
		.l3 = v->inner_l3_off,
		.l4 = v->csum_start,
		.payload = v->csum_start +
			   (proto == PKT_UDP ? 8 : (p[v->csum_start + 12] >> 4) * 4u),
		.tunnel = v->tunnel,
	};
	const unsigned start = o.payload + i * v->gso_size;
	const unsigned end = start + v->gso_size < len ? start + v->gso_size : len;

	if (start >= len)
		return 0;
	o.len = o.payload + end - start;
	memcpy(ret, p, o.payload);
	memcpy(ret + o.payload, p + start, end - start);
	pkt_set_lens(ret, &o, proto);
	if (ret[o.l3] >> 4 == 4)
		pkt_put16(ret + o.l3 + 4, pkt_get16(p + o.l3 + 4) + i);
	if (o.tunnel && ret[0] >> 4 == 4)
		pkt_put16(ret + 4, pkt_get16(p + 4) + i);
	if (proto == PKT_TCP) {
		pkt_put32(ret + o.l4 + 4, pkt_get32(p + o.l4 + 4) + i * v->gso_size);
		if (end < len)
			ret[o.l4 + 13] &= (uint8_t) ~(FIN | PSH);
		if (i)
			ret[o.l4 + 13] &= (uint8_t)~CWR;
	}
	pkt_fix(ret, &o, proto, v->tunnel_csum);
	return o.len;
}

#endif
