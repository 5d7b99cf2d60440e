/* SPDX-License-Identifier: Apache-2.0 */
#include "ip.h"

#include "be.h"
#include "cursor.h"
#include "checksum.h"

/* Extension headers (IANA registry); what is not here ends the chain. ESP (50)
 * hides what follows, so it counts as the upper layer. */
enum next_header {
	NEXT_HOP_BY_HOP = 0,
	NEXT_ROUTING = 43,
	NEXT_FRAGMENT = 44,
	NEXT_AH = 51,
	NEXT_DESTINATION = 60,
	NEXT_MOBILITY = 135,
	NEXT_HIP = 139,
	NEXT_SHIM6 = 140,
};

/* No sender needs more (RFC 8200 4.1 recommends each header at most once); the
 * bound keeps the work per packet constant and l4_off within 16 bits. */
enum { EXTENSIONS_MAX = 16, EXTENSION_MIN_LEN = 8 };

enum { IPV4_MORE_FRAGMENTS = 0x2000, IPV4_OFFSET_MASK = 0x1fff, IPV6_OFFSET_MASK = 0xfff8 };

static bool is_extension(uint8_t next)
{
	switch (next) {
	case NEXT_HOP_BY_HOP:
	case NEXT_ROUTING:
	case NEXT_FRAGMENT:
	case NEXT_AH:
	case NEXT_DESTINATION:
	case NEXT_MOBILITY:
	case NEXT_HIP:
	case NEXT_SHIM6:
		return true;
	default:
		return false;
	}
}

static size_t extension_len(uint8_t type, uint8_t len_field)
{
	if (type == NEXT_FRAGMENT) /* the byte is reserved there */
		return EXTENSION_MIN_LEN;
	if (type == NEXT_AH) /* RFC 4302 2.2: 32-bit words minus 2 */
		return ((size_t)len_field + 2) * 4;
	return ((size_t)len_field + 1) * 8;
}

/* Steps over the extension header at the cursor, of type v->proto. False: it
 * runs out of the packet, or no header follows because it is not the first
 * fragment. */
static bool skip_extension(struct cursor *c, struct ip_view *v)
{
	const uint8_t *hdr = c->p;
	size_t len;

	if (c->left < EXTENSION_MIN_LEN)
		return false;
	len = extension_len(v->proto, hdr[1]);
	if (!take(c, len))
		return false;

	if (v->proto == NEXT_FRAGMENT) {
		/* Atomic fragments (RFC 6946) are fragments here too. */
		v->fragment = true;
		v->first_fragment = !(be16_load(hdr + 2) & IPV6_OFFSET_MASK);
	}
	v->proto = hdr[0];
	v->l4_off += (uint16_t)len;
	return v->first_fragment;
}

static bool parse_v4(struct cursor c, struct ip_view *v)
{
	const size_t len = c.left;
	const uint8_t *hdr = take(&c, IPV4_HDR_MIN_LEN);
	unsigned frag;

	if (!hdr)
		return false;
	v->l4_off = (hdr[0] & 0x0f) * 4;
	v->total_len = be16_load(hdr + 2);
	if (v->l4_off < IPV4_HDR_MIN_LEN || v->total_len < v->l4_off || v->total_len > len)
		return false;

	frag = be16_load(hdr + 6);
	v->tos = hdr[1];
	v->proto = hdr[9];
	v->fragment = frag & (IPV4_MORE_FRAGMENTS | IPV4_OFFSET_MASK);
	v->first_fragment = !(frag & IPV4_OFFSET_MASK);
	v->has_l4 = v->first_fragment;
	v->addr_len = 4;
	v->src_off = 12;
	v->dst_off = 16;
	return true;
}

static bool parse_v6(struct cursor c, struct ip_view *v)
{
	const size_t len = c.left;
	const uint8_t *hdr = take(&c, IPV6_HDR_LEN);
	unsigned n;

	if (!hdr)
		return false;
	v->total_len = IPV6_HDR_LEN + (uint32_t)be16_load(hdr + 4);
	if (v->total_len > len)
		return false;
	c.left = v->total_len - IPV6_HDR_LEN;

	v->tos = (uint8_t)(hdr[0] << 4 | hdr[1] >> 4);
	v->proto = hdr[6];
	v->first_fragment = true;
	v->addr_len = 16;
	v->src_off = 8;
	v->dst_off = 24;
	v->l4_off = IPV6_HDR_LEN;

	for (n = 0; is_extension(v->proto); n++)
		if (n == EXTENSIONS_MAX || !skip_extension(&c, v))
			return true;
	v->has_l4 = v->proto != IP_PROTO_NONE;
	return true;
}

bool ip_parse(const uint8_t *p, size_t len, struct ip_view *ret)
{
	const struct cursor c = {p, len};
	struct ip_view v = {0};

	if (!len)
		return false;
	v.version = p[0] >> 4;
	switch (v.version) {
	case 4:
		if (!parse_v4(c, &v))
			return false;
		break;
	case 6:
		if (!parse_v6(c, &v))
			return false;
		break;
	default:
		return false;
	}
	*ret = v;
	return true;
}

uint8_t ip_ecn(const struct ip_view *v)
{
	return v->tos & 3;
}

void ip_set_ecn(uint8_t *p, struct ip_view *v, uint8_t ecn)
{
	const uint16_t before = be16_load(p);

	ecn &= 3;
	v->tos = (uint8_t)((v->tos & ~3) | ecn);
	if (v->version == 6) {
		/* The traffic class straddles bytes 0 and 1; its low bits are here. */
		p[1] = (uint8_t)((p[1] & ~0x30) | ecn << 4);
		return;
	}
	p[1] = v->tos;
	/* Never 0xffff (which a full computation cannot give): the word holds
	 * the version, so the sum that is complemented is not zero. */
	be16_store(p + 10, checksum_update(be16_load(p + 10), before, be16_load(p)));
}
