/* SPDX-License-Identifier: Apache-2.0 */
#include "vxlan.h"

#include <string.h>

#include "be.h"
#include "checksum.h"
#include "ecn.h"
#include "encap.h"
#include "ether.h"

enum { UDP_HDR_LEN = 8, UDP_CSUM_OFF = 6, TCP_DATA_OFF = 12 };
enum { TTL_DEFAULT = 64 };
enum { VXLAN_FLAG_I = 0x08000000 }; /* the VNI is valid; all others are reserved */
/* What the source port looks at: an IP header and some extension headers. */
enum { HEADERS_MAX = 128 };

/* Protocols whose header starts with two ports (IANA numbers). */
enum { PROTO_DCCP = 33, PROTO_SCTP = 132, PROTO_UDPLITE = 136 };

struct inner {
	uint32_t l3_off; /* what follows the Ethernet header and VLAN tags */
	uint8_t version; /* of the IP header there; 0: none */
	uint8_t tos;
};

static bool starts_with_ip(const uint8_t *p, uint32_t left, uint8_t version, uint32_t hdr_len)
{
	return left >= hdr_len && p[0] >> 4 == version;
}

/* @len holds an Ethernet header. */
static struct inner find_inner(const uint8_t *frame, uint32_t len)
{
	struct inner in = {.version = 0};
	const uint8_t *ip;
	uint16_t type;

	in.l3_off = ether_l2_len(frame, len, &type);
	ip = frame + in.l3_off;
	switch (type) {
	case ETHER_IPV4:
		if (!starts_with_ip(ip, len - in.l3_off, 4, IPV4_HDR_MIN_LEN))
			break;
		in.version = 4;
		in.tos = ip[1];
		break;
	case ETHER_IPV6:
		if (!starts_with_ip(ip, len - in.l3_off, 6, IPV6_HDR_LEN))
			break;
		in.version = 6;
		in.tos = (uint8_t)(ip[0] << 4 | ip[1] >> 4);
		break;
	}
	return in;
}

/* A bijection of the state, whose upper bits are the best mixed. MurmurHash3's
 * 64-bit finaliser, but for its last shift, which leaves the upper bits alone. */
static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
	return (hash ^ hash >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
}

/* @len is a multiple of 4. */
static uint64_t mix_bytes(uint64_t hash, const uint8_t *p, size_t len)
{
	for (; len >= 4; p += 4, len -= 4)
		hash = mix(hash, be32_load(p));
	return hash;
}

static bool has_ports(const struct ip_view *v)
{
	switch (v->proto) {
	case IP_PROTO_TCP:
	case IP_PROTO_UDP:
	case PROTO_DCCP:
	case PROTO_SCTP:
	case PROTO_UDPLITE:
		return v->total_len - v->l4_off >= 4;
	default:
		return false;
	}
}

/*
 * A superpacket's length field may be 0, so the headers are parsed from a copy
 * that says of itself how long it is. All segments have the superpacket's headers
 * up to the ports in full, so they all get the same view.
 */
static bool parse_headers(const uint8_t *ip, uint32_t len, uint8_t hdrs[HEADERS_MAX],
			  struct ip_view *ret)
{
	const uint16_t n = len < HEADERS_MAX ? (uint16_t)len : HEADERS_MAX;

	memcpy(hdrs, ip, n);
	if (ip[0] >> 4 == 4)
		be16_store(hdrs + 2, n);
	else
		be16_store(hdrs + 4, (uint16_t)(n - IPV6_HDR_LEN));
	return ip_parse(hdrs, n, ret);
}

static uint64_t hash_frame(const uint8_t *frame, uint32_t len, const struct inner *in)
{
	uint8_t hdrs[HEADERS_MAX];
	struct ip_view v;
	uint64_t hash;

	if (!in->version || !parse_headers(frame + in->l3_off, len - in->l3_off, hdrs, &v))
		return mix_bytes(0, frame, 12);
	hash = mix_bytes(v.version, hdrs + v.src_off, 2u * v.addr_len);
	/* Only a first fragment has ports, and all must keep to one path. */
	if (v.fragment || !v.has_l4)
		return hash;
	hash = mix(hash, v.proto);
	return has_ports(&v) ? mix_bytes(hash, hdrs + v.l4_off, 4) : hash;
}

static uint16_t source_port(const uint8_t *frame, uint32_t len, const struct inner *in)
{
	/* The range is 2^14 ports. */
	return (uint16_t)(VXLAN_SOURCE_PORT_MIN + (hash_frame(frame, len, in) >> 50));
}

uint16_t vxlan_source_port(const uint8_t *frame, uint32_t len)
{
	struct inner in;

	if (len < VXLAN_ETHER_LEN)
		return VXLAN_SOURCE_PORT_MIN;
	in = find_inner(frame, len);
	return source_port(frame, len, &in);
}

/* 0 where it does not fit. */
static uint16_t len16(uint32_t len)
{
	return len <= UINT16_MAX ? (uint16_t)len : 0;
}

static void write_ipv4(const struct vxlan_template *t, uint8_t *ip, uint32_t len, uint8_t tos)
{
	memset(ip, 0, IPV4_HDR_MIN_LEN);
	ip[0] = 0x45;
	ip[1] = tos;
	be16_store(ip + 2, len16(len));
	be16_store(ip + 4, t->ip_id);
	ip[8] = t->ttl ? t->ttl : TTL_DEFAULT;
	ip[9] = IP_PROTO_UDP;
	memcpy(ip + 12, t->local, 4);
	memcpy(ip + 16, t->remote, 4);
	be16_store(ip + 10, checksum_finish(checksum_add(0, ip, IPV4_HDR_MIN_LEN)));
}

static void write_ipv6(const struct vxlan_template *t, uint8_t *ip, uint32_t len, uint8_t tos)
{
	be32_store(ip, 6u << 28 | (uint32_t)tos << 20);
	be16_store(ip + 4, len16(len - IPV6_HDR_LEN));
	ip[6] = IP_PROTO_UDP;
	ip[7] = t->ttl ? t->ttl : TTL_DEFAULT;
	memcpy(ip + 8, t->local, 16);
	memcpy(ip + 24, t->remote, 16);
}

static uint8_t outer_tos(const struct vxlan_template *t, const struct inner *in)
{
	const uint8_t dscp = t->inherit_dscp ? in->tos >> 2 : t->dscp;

	return (uint8_t)(dscp << 2 | ecn_encap(in->tos & 3));
}

/* UDP and VXLAN; the checksum is 0 until all else is in place. */
static void write_udp(const struct vxlan_template *t, uint8_t *udp, uint32_t len, uint16_t src_port)
{
	be16_store(udp, src_port);
	be16_store(udp + 2, t->dst_port);
	be16_store(udp + 4, len16(len));
	be16_store(udp + UDP_CSUM_OFF, 0);
	be32_store(udp + UDP_HDR_LEN, VXLAN_FLAG_I);
	be32_store(udp + UDP_HDR_LEN + 4, t->vni << 8);
}

static uint32_t outer_ip_len(const struct vxlan_template *t)
{
	return t->addr_len == 4 ? IPV4_HDR_MIN_LEN : IPV6_HDR_LEN;
}

/* 0 means "no checksum" in UDP; for any other protocol both zeroes are the same,
 * and the kernel finishes single packets like this, too. */
static uint16_t finish_nonzero(uint64_t sum)
{
	const uint16_t check = checksum_finish(sum);

	return check ? check : 0xffff;
}

static void finish_inner(uint8_t *frame, uint32_t len, const struct vnet *v)
{
	uint8_t *l4 = frame + v->csum_start;

	be16_store(l4 + v->csum_offset, finish_nonzero(checksum_add(0, l4, len - v->csum_start)));
}

static uint32_t l4_min_off(const struct inner *in)
{
	switch (in->version) {
	case 4:
		return in->l3_off + IPV4_HDR_MIN_LEN;
	case 6:
		return in->l3_off + IPV6_HDR_LEN;
	default:
		return in->l3_off;
	}
}

/* One packet that IP can say the length of. No checksum is written over what was
 * read already. */
static bool single_fits(const struct vxlan_template *t, const uint8_t *frame, uint32_t len,
			const struct vnet *v, const struct inner *in)
{
	const uint32_t counted = t->addr_len == 4 ? VXLAN_OUTER4_LEN
						  : VXLAN_OUTER6_LEN - IPV6_HDR_LEN;

	return vnet_check(v, frame, len) && len <= UINT16_MAX - counted &&
	       (!v->needs_csum || v->csum_start >= l4_min_off(in));
}

/* Nothing but a plain superpacket right behind the Ethernet header: one that
 * hides in a tunnel already has its csum_start further back. */
static bool super_fits(const uint8_t *frame, uint32_t len, const struct vnet *v,
		       const struct inner *in)
{
	struct vnet plain = *v;

	if (!in->version || v->tunnel != VNET_TUNNEL_NONE || v->csum_start < in->l3_off)
		return false;
	plain.csum_start = (uint16_t)(v->csum_start - in->l3_off);
	return vnet_check(&plain, frame + in->l3_off, len - in->l3_off);
}

/* No offset overflows: vnet_check() walks at most 16 extension headers of 2 KB. */
static void describe_super(const struct vxlan_template *t, const uint8_t *frame,
			   const struct inner *in, struct vnet *v)
{
	const uint32_t outer_len = outer_ip_len(t) + UDP_HDR_LEN + VXLAN_HDR_LEN;
	const uint8_t *l4 = frame + v->csum_start;
	const uint32_t l4_len = v->gso == VNET_GSO_UDP ? UDP_HDR_LEN : (l4[TCP_DATA_OFF] >> 4) * 4u;

	v->tunnel = t->addr_len == 4 ? VNET_TUNNEL_V4 : VNET_TUNNEL_V6;
	v->tunnel_csum = t->checksum;
	v->csum_start = (uint16_t)(v->csum_start + outer_len);
	v->hdr_len = (uint16_t)(v->csum_start + l4_len);
	v->outer_l4_off = (uint16_t)outer_ip_len(t);
	v->inner_l3_off = (uint16_t)(outer_len + in->l3_off);
}

static void write_checksum(const struct vxlan_template *t, uint8_t *udp, uint32_t udp_len,
			   bool partial)
{
	const uint64_t pseudo = checksum_pseudo(t->local, t->remote, t->addr_len, IP_PROTO_UDP,
						udp_len);

	be16_store(udp + UDP_CSUM_OFF,
		   partial ? (uint16_t)~checksum_finish(pseudo)
			   : finish_nonzero(checksum_add(pseudo, udp, udp_len)));
}

uint32_t vxlan_push(const struct vxlan_template *t, uint8_t *frame, uint32_t len, struct vnet *v)
{
	const uint32_t ip_len = outer_ip_len(t), udp_len = UDP_HDR_LEN + VXLAN_HDR_LEN + len;
	uint8_t *udp = frame - VXLAN_HDR_LEN - UDP_HDR_LEN;
	const bool super = v->gso != VNET_GSO_NONE;
	struct inner in;

	if (len < VXLAN_ETHER_LEN)
		return 0;
	in = find_inner(frame, len);
	if (super ? !super_fits(frame, len, v, &in) : !single_fits(t, frame, len, v, &in))
		return 0;

	if (super)
		describe_super(t, frame, &in, v);
	else if (v->needs_csum)
		finish_inner(frame, len, v);
	if (!super)
		*v = (struct vnet){0};

	if (t->addr_len == 4)
		write_ipv4(t, udp - ip_len, ip_len + udp_len, outer_tos(t, &in));
	else
		write_ipv6(t, udp - ip_len, ip_len + udp_len, outer_tos(t, &in));
	write_udp(t, udp, udp_len, source_port(frame, len, &in));
	if (t->checksum)
		write_checksum(t, udp, udp_len, super);
	return ip_len + UDP_HDR_LEN + VXLAN_HDR_LEN;
}

static bool checksum_holds(const uint8_t *p, const struct ip_view *v, uint32_t udp_len)
{
	const uint8_t *udp = p + v->l4_off;
	uint64_t sum;

	if (!be16_load(udp + UDP_CSUM_OFF))
		return true;
	sum = checksum_pseudo(p + v->src_off, p + v->dst_off, v->addr_len, IP_PROTO_UDP, udp_len);
	return !checksum_finish(checksum_add(sum, udp, udp_len));
}

bool vxlan_parse(const uint8_t *p, const struct ip_view *v, uint16_t dst_port,
		 struct vxlan_view *ret)
{
	const uint32_t udp_len = v->total_len - v->l4_off;
	const uint8_t *udp = p + v->l4_off, *vxlan = udp + UDP_HDR_LEN;

	if (!v->has_l4 || v->fragment || v->proto != IP_PROTO_UDP)
		return false;
	if (udp_len < UDP_HDR_LEN + VXLAN_HDR_LEN + VXLAN_ETHER_LEN ||
	    be16_load(udp + 4) != udp_len || be16_load(udp + 2) != dst_port)
		return false;
	if (!(be32_load(vxlan) & VXLAN_FLAG_I) || !checksum_holds(p, v, udp_len))
		return false;
	*ret = (struct vxlan_view){
		.vni = be32_load(vxlan + 4) >> 8,
		.dst_port = dst_port,
		.frame_off = (uint32_t)(vxlan + VXLAN_HDR_LEN - p),
	};
	return true;
}
