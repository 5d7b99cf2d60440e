/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vnet_check(): the header's claims against the packet's own bytes. The kernel
 * checks a few of them on writes and none on reads; a claim that is false would
 * have gso.c write over the wrong bytes of every segment.
 *
 * ip_parse() is no help here: it refuses a superpacket beyond 65535 bytes, whose
 * length fields are 0, and it walks over extension headers that must not be
 * copied from one packet to many (AH: the integrity value covers the payload).
 */
#include "be.h"
#include "ip.h"
#include "vnet.h"

enum {
	TCP_HDR_MIN_LEN = 20,
	TCP_CSUM_OFFSET = 16,
	UDP_HDR_LEN = 8,
	UDP_CSUM_OFFSET = 6,
	GSO_BY_FRAGS = 0xffff, /* the kernel's mark for a list of fragments */
};

enum { EXTENSIONS_MAX = 16, EXTENSION_MIN_LEN = 8 };
enum { NEXT_HOP_BY_HOP = 0, NEXT_ROUTING = 43, NEXT_DESTINATION = 60 };
enum { IPV4_FRAGMENT_MASK = 0x3fff }; /* more fragments, offset */

struct layer3 {
	uint8_t version;
	uint8_t proto;
	size_t l4_off;
};

/* A 16-bit length field is exact, or 0 when what it tells of is longer (BIG TCP). */
static bool length_agrees(const uint8_t *field, size_t actual)
{
	return be16_load(field) == (actual <= UINT16_MAX ? actual : 0);
}

static bool parse_v4(const uint8_t *p, size_t len, struct layer3 *ret)
{
	const size_t hdr_len = (p[0] & 15u) * 4;

	if (hdr_len < IPV4_HDR_MIN_LEN || hdr_len > len || !length_agrees(p + 2, len))
		return false;
	if (be16_load(p + 6) & IPV4_FRAGMENT_MASK)
		return false;
	*ret = (struct layer3){.version = 4, .proto = p[9], .l4_off = hdr_len};
	return true;
}

static bool may_be_copied(uint8_t next)
{
	return next == NEXT_HOP_BY_HOP || next == NEXT_ROUTING || next == NEXT_DESTINATION;
}

static bool parse_v6(const uint8_t *p, size_t len, struct layer3 *ret)
{
	struct layer3 l3 = {.version = 6, .l4_off = IPV6_HDR_LEN};
	size_t ext_len;
	unsigned n;

	if (len < IPV6_HDR_LEN || !length_agrees(p + 4, len - IPV6_HDR_LEN))
		return false;
	l3.proto = p[6];
	/* Up to kernel 6.19 BIG TCP has a jumbo option, to be taken out of every
	 * segment; no such kernel hands more than 65535 bytes to a TUN. */
	if (len - IPV6_HDR_LEN > UINT16_MAX && l3.proto == NEXT_HOP_BY_HOP)
		return false;
	for (n = 0; n < EXTENSIONS_MAX && may_be_copied(l3.proto); n++) {
		if (len - l3.l4_off < EXTENSION_MIN_LEN)
			return false;
		ext_len = (p[l3.l4_off + 1] + 1u) * 8;
		if (ext_len > len - l3.l4_off)
			return false;
		l3.proto = p[l3.l4_off];
		l3.l4_off += ext_len;
	}
	*ret = l3;
	return true;
}

static bool parse(const uint8_t *p, size_t len, struct layer3 *ret)
{
	if (!len)
		return false;
	switch (p[0] >> 4) {
	case 4:
		return parse_v4(p, len, ret);
	case 6:
		return parse_v6(p, len, ret);
	default:
		return false;
	}
}

/* The IP header around the innermost L4 header, at @l3_off. */
static bool check_innermost(const struct vnet *v, const uint8_t *p, size_t len, size_t l3_off)
{
	const bool udp = v->gso == VNET_GSO_UDP;
	const size_t l4_min = udp ? UDP_HDR_LEN : TCP_HDR_MIN_LEN;
	struct layer3 l3;

	if (l3_off >= len || !parse(p + l3_off, len - l3_off, &l3))
		return false;
	if (v->csum_start != l3_off + l3.l4_off || len - v->csum_start < l4_min)
		return false;
	if (udp)
		return l3.proto == IP_PROTO_UDP && v->csum_offset == UDP_CSUM_OFFSET && !v->ecn &&
		       length_agrees(p + v->csum_start + 4, len - v->csum_start);
	return l3.proto == IP_PROTO_TCP && v->csum_offset == TCP_CSUM_OFFSET &&
	       l3.version == (v->gso == VNET_GSO_TCP4 ? 4 : 6);
}

/* What lies between the outer UDP header and the inner IP header is nobody's
 * business: it is copied. */
static bool check_outer(const struct vnet *v, const uint8_t *p, size_t len)
{
	struct layer3 l3;

	if (!parse(p, len, &l3) || l3.version != (v->tunnel == VNET_TUNNEL_V4 ? 4 : 6))
		return false;
	if (l3.proto != IP_PROTO_UDP || v->outer_l4_off != l3.l4_off ||
	    len - l3.l4_off < UDP_HDR_LEN)
		return false;
	return v->inner_l3_off >= v->outer_l4_off + UDP_HDR_LEN &&
	       length_agrees(p + v->outer_l4_off + 4, len - v->outer_l4_off);
}

/* The checksum may be any protocol's, at any depth: only bounds. */
static bool check_single(const struct vnet *v, size_t len)
{
	if (v->tunnel != VNET_TUNNEL_NONE || v->tunnel_csum || v->ecn)
		return false;
	return !v->needs_csum || (size_t)v->csum_start + v->csum_offset + 2 <= len;
}

bool vnet_check(const struct vnet *v, const uint8_t *p, size_t len)
{
	if (v->gso == VNET_GSO_NONE)
		return check_single(v, len);
	/* The kernel never cuts what has a complete checksum, so without the
	 * flag there would be no csum_start to go by. */
	if (!v->needs_csum || !v->gso_size || v->gso_size == GSO_BY_FRAGS)
		return false;
	if (v->tunnel == VNET_TUNNEL_NONE)
		return !v->tunnel_csum && check_innermost(v, p, len, 0);
	return check_outer(v, p, len) && check_innermost(v, p, len, v->inner_l3_off);
}
