/* SPDX-License-Identifier: Apache-2.0 */
#include "vnet.h"

#include <endian.h>
#include <string.h>

enum { FLAG_NEEDS_CSUM = 1, FLAG_DATA_VALID = 2, FLAG_TUNNEL_CSUM = 8 };

enum {
	TYPE_NONE = 0,
	TYPE_TCP4 = 1,
	TYPE_TCP6 = 4,
	TYPE_UDP_L4 = 5,
	TYPE_TUNNEL_V4 = 0x20,
	TYPE_TUNNEL_V6 = 0x40,
	TYPE_TUNNEL = TYPE_TUNNEL_V4 | TYPE_TUNNEL_V6,
	TYPE_ECN = 0x80,
};

enum {
	OFF_FLAGS = 0,
	OFF_TYPE = 1,
	OFF_HDR_LEN = 2,
	OFF_GSO_SIZE = 4,
	OFF_CSUM_START = 6,
	OFF_CSUM_OFFSET = 8,
	OFF_OUTER_TH = 20,
	OFF_INNER_NH = 22,
};

/* The legacy fields have the host's byte order as long as nobody calls
 * TUNSETVNETLE or TUNSETVNETBE; the tunnel fields are little-endian always. */
static uint16_t native16_load(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static void native16_store(uint8_t *p, uint16_t v)
{
	memcpy(p, &v, sizeof(v));
}

static uint16_t le16_load(const uint8_t *p)
{
	return le16toh(native16_load(p));
}

static void le16_store(uint8_t *p, uint16_t v)
{
	native16_store(p, htole16(v));
}

static bool known_size(size_t hdr_len)
{
	return hdr_len == VNET_LEN_MIN || hdr_len == VNET_LEN_V1 || hdr_len == VNET_LEN_TUNNEL;
}

static bool decode_gso(uint8_t type, struct vnet *v)
{
	switch (type & ~(TYPE_TUNNEL | TYPE_ECN)) {
	case TYPE_NONE:
		/* A modifier without a kind describes nothing. */
		return type == TYPE_NONE;
	case TYPE_TCP4:
		v->gso = VNET_GSO_TCP4;
		break;
	case TYPE_TCP6:
		v->gso = VNET_GSO_TCP6;
		break;
	case TYPE_UDP_L4:
		v->gso = VNET_GSO_UDP;
		break;
	default:
		return false;
	}
	v->ecn = type & TYPE_ECN;
	return !v->ecn || v->gso != VNET_GSO_UDP;
}

static bool decode_tunnel(uint8_t type, struct vnet *v)
{
	switch (type & TYPE_TUNNEL) {
	case 0:
		return true;
	case TYPE_TUNNEL_V4:
		v->tunnel = VNET_TUNNEL_V4;
		return true;
	case TYPE_TUNNEL_V6:
		v->tunnel = VNET_TUNNEL_V6;
		return true;
	default:
		return false;
	}
}

/* From the device's first byte to the IP packet's. */
static bool rebase(uint16_t *off, size_t l2_len)
{
	if (*off < l2_len)
		return false;
	*off = (uint16_t)(*off - l2_len);
	return true;
}

static bool decode_offsets(const uint8_t *hdr, size_t l2_len, struct vnet *v)
{
	if (v->needs_csum) {
		v->csum_start = native16_load(hdr + OFF_CSUM_START);
		v->csum_offset = native16_load(hdr + OFF_CSUM_OFFSET);
		if (!rebase(&v->csum_start, l2_len))
			return false;
	}
	if (v->tunnel != VNET_TUNNEL_NONE) {
		v->outer_l4_off = le16_load(hdr + OFF_OUTER_TH);
		v->inner_l3_off = le16_load(hdr + OFF_INNER_NH);
		if (!rebase(&v->outer_l4_off, l2_len) || !rebase(&v->inner_l3_off, l2_len))
			return false;
	}
	if (v->gso != VNET_GSO_NONE) {
		v->gso_size = native16_load(hdr + OFF_GSO_SIZE);
		v->hdr_len = native16_load(hdr + OFF_HDR_LEN);
		if (!rebase(&v->hdr_len, l2_len)) /* only a hint */
			v->hdr_len = 0;
	}
	return true;
}

bool vnet_decode(const uint8_t *hdr, size_t hdr_len, size_t l2_len, struct vnet *ret)
{
	struct vnet v = {0};
	uint8_t flags, type, allowed = FLAG_NEEDS_CSUM | FLAG_DATA_VALID;

	if (!known_size(hdr_len))
		return false;
	flags = hdr[OFF_FLAGS];
	type = hdr[OFF_TYPE];
	if (hdr_len == VNET_LEN_TUNNEL)
		allowed |= FLAG_TUNNEL_CSUM;
	else if (type & TYPE_TUNNEL)
		return false;
	if (flags & ~allowed)
		return false;
	if (!decode_gso(type, &v) || !decode_tunnel(type, &v))
		return false;

	v.needs_csum = flags & FLAG_NEEDS_CSUM;
	v.data_valid = flags & FLAG_DATA_VALID;
	/* Without a tunnel superpacket the flag only tells of a verified one. */
	v.tunnel_csum = v.tunnel != VNET_TUNNEL_NONE && flags & FLAG_TUNNEL_CSUM;
	if (!decode_offsets(hdr, l2_len, &v))
		return false;
	*ret = v;
	return true;
}

static uint8_t encode_flags(const struct vnet *v)
{
	uint8_t flags = 0;

	if (v->needs_csum)
		flags |= FLAG_NEEDS_CSUM;
	if (v->data_valid)
		flags |= FLAG_DATA_VALID;
	if (v->tunnel != VNET_TUNNEL_NONE && v->tunnel_csum)
		flags |= FLAG_TUNNEL_CSUM;
	return flags;
}

static uint8_t encode_type(const struct vnet *v)
{
	static const uint8_t gso[] = {
		[VNET_GSO_NONE] = TYPE_NONE,
		[VNET_GSO_TCP4] = TYPE_TCP4,
		[VNET_GSO_TCP6] = TYPE_TCP6,
		[VNET_GSO_UDP] = TYPE_UDP_L4,
	};
	static const uint8_t tunnel[] = {
		[VNET_TUNNEL_NONE] = 0,
		[VNET_TUNNEL_V4] = TYPE_TUNNEL_V4,
		[VNET_TUNNEL_V6] = TYPE_TUNNEL_V6,
	};

	return (uint8_t)(gso[v->gso] | tunnel[v->tunnel] | (v->ecn ? TYPE_ECN : 0));
}

/* The largest offset that is written, before l2_len is added. */
static size_t last_offset(const struct vnet *v)
{
	size_t last = v->needs_csum ? v->csum_start : 0;

	if (v->gso != VNET_GSO_NONE && v->hdr_len > last)
		last = v->hdr_len;
	if (v->tunnel != VNET_TUNNEL_NONE && v->outer_l4_off > last)
		last = v->outer_l4_off;
	if (v->tunnel != VNET_TUNNEL_NONE && v->inner_l3_off > last)
		last = v->inner_l3_off;
	return last;
}

bool vnet_encode(const struct vnet *v, uint8_t *hdr, size_t hdr_len, size_t l2_len)
{
	const bool tunnel = v->tunnel != VNET_TUNNEL_NONE;

	if (!known_size(hdr_len) || (tunnel && hdr_len < VNET_LEN_TUNNEL))
		return false;
	if (last_offset(v) + l2_len > UINT16_MAX)
		return false;

	memset(hdr, 0, hdr_len);
	hdr[OFF_FLAGS] = encode_flags(v);
	hdr[OFF_TYPE] = encode_type(v);
	if (v->gso != VNET_GSO_NONE) {
		native16_store(hdr + OFF_HDR_LEN, (uint16_t)(v->hdr_len + l2_len));
		native16_store(hdr + OFF_GSO_SIZE, v->gso_size);
	}
	if (v->needs_csum) {
		native16_store(hdr + OFF_CSUM_START, (uint16_t)(v->csum_start + l2_len));
		native16_store(hdr + OFF_CSUM_OFFSET, v->csum_offset);
	}
	if (tunnel) {
		le16_store(hdr + OFF_OUTER_TH, (uint16_t)(v->outer_l4_off + l2_len));
		le16_store(hdr + OFF_INNER_NH, (uint16_t)(v->inner_l3_off + l2_len));
	}
	return true;
}
