/* SPDX-License-Identifier: Apache-2.0 */
#include "icmp.h"

#include <string.h>

#include "be.h"
#include "checksum.h"

enum {
	ICMP_HDR_LEN = 8,
	/* RFC 1812 4.3.2.3: the whole error stays within 576 bytes. */
	V4_QUOTE_MAX = 576 - IPV4_HDR_MIN_LEN - ICMP_HDR_LEN,
	/* RFC 4443 2.4(c): within the minimum IPv6 MTU. */
	V6_QUOTE_MAX = ICMP_ERROR_MAX_LEN - IPV6_HDR_LEN - ICMP_HDR_LEN,
	HOP_LIMIT = 64,
	TOS_INTERNETWORK_CONTROL = 0xc0, /* RFC 1812 4.3.2.5 */
	IPV4_DONT_FRAGMENT = 0x4000,
};

enum { V4_UNREACHABLE = 3, V4_HOST_UNREACHABLE = 1, V4_FRAGMENTATION_NEEDED = 4 };
enum { V6_UNREACHABLE = 1, V6_ADDRESS_UNREACHABLE = 3, V6_PACKET_TOO_BIG = 2 };

static bool v4_is_error(uint8_t type)
{
	switch (type) {
	case 3:	 /* destination unreachable */
	case 4:	 /* source quench */
	case 5:	 /* redirect */
	case 11: /* time exceeded */
	case 12: /* parameter problem */
		return true;
	default:
		return false;
	}
}

static bool v6_is_error(uint8_t type)
{
	return type < 128 || type == 137; /* 137: redirect, RFC 4443 2.4(e.2) */
}

/* RFC 1122 3.2.2. */
static bool v4_may_answer(const uint8_t *p, const struct ip_view *v)
{
	const uint32_t src = be32_load(p + v->src_off);
	const uint32_t dst = be32_load(p + v->dst_off);

	if (!src || src >> 24 == 127 || src >> 28 >= 14) /* 224/4 and 240/4 */
		return false;
	if (dst >> 28 == 14 || dst == UINT32_MAX)
		return false;
	if (v->proto != IP_PROTO_ICMP)
		return true;
	return v->l4_off < v->total_len && !v4_is_error(p[v->l4_off]);
}

/* RFC 4443 2.4(e). */
static bool v6_may_answer(const uint8_t *p, const struct ip_view *v, enum icmp_reason reason)
{
	static const uint8_t unspecified[16];
	const uint8_t *src = p + v->src_off;

	if (!memcmp(src, unspecified, sizeof(unspecified)) || src[0] == 0xff)
		return false;
	if (p[v->dst_off] == 0xff && reason != ICMP_PACKET_TOO_BIG)
		return false;
	/* An ICMPv6 error may hide behind a chain that cannot be read. */
	if (!v->has_l4)
		return v->proto == IP_PROTO_NONE;
	if (v->proto != IP_PROTO_ICMP6)
		return true;
	return v->l4_off < v->total_len && !v6_is_error(p[v->l4_off]);
}

static size_t quote(uint8_t *out, const uint8_t *p, size_t len, size_t max)
{
	if (len > max)
		len = max;
	memcpy(out, p, len);
	return len;
}

static size_t v4_build(const uint8_t *p, const struct ip_view *v, enum icmp_reason reason,
		       const uint8_t *src, uint32_t mtu, uint8_t *out)
{
	uint8_t *const icmp = out + IPV4_HDR_MIN_LEN;
	const size_t len = ICMP_HDR_LEN + quote(icmp + ICMP_HDR_LEN, p, v->total_len, V4_QUOTE_MAX);

	memset(out, 0, IPV4_HDR_MIN_LEN + ICMP_HDR_LEN);
	icmp[0] = V4_UNREACHABLE;
	icmp[1] = V4_HOST_UNREACHABLE;
	if (reason == ICMP_PACKET_TOO_BIG) {
		icmp[1] = V4_FRAGMENTATION_NEEDED;
		be16_store(icmp + 6, mtu > UINT16_MAX ? UINT16_MAX : (uint16_t)mtu);
	}
	be16_store(icmp + 2, checksum_finish(checksum_add(0, icmp, len)));

	out[0] = 4 << 4 | IPV4_HDR_MIN_LEN / 4;
	out[1] = TOS_INTERNETWORK_CONTROL;
	be16_store(out + 2, (uint16_t)(IPV4_HDR_MIN_LEN + len));
	/* Never fragmented, so the identification may stay zero (RFC 6864 4.1). */
	be16_store(out + 6, IPV4_DONT_FRAGMENT);
	out[8] = HOP_LIMIT;
	out[9] = IP_PROTO_ICMP;
	memcpy(out + 12, src, 4);
	memcpy(out + 16, p + v->src_off, 4);
	be16_store(out + 10, checksum_finish(checksum_add(0, out, IPV4_HDR_MIN_LEN)));
	return IPV4_HDR_MIN_LEN + len;
}

static size_t v6_build(const uint8_t *p, const struct ip_view *v, enum icmp_reason reason,
		       const uint8_t *src, uint32_t mtu, uint8_t *out)
{
	uint8_t *const icmp = out + IPV6_HDR_LEN;
	const size_t len = ICMP_HDR_LEN + quote(icmp + ICMP_HDR_LEN, p, v->total_len, V6_QUOTE_MAX);
	uint64_t sum;

	memset(out, 0, IPV6_HDR_LEN + ICMP_HDR_LEN);
	out[0] = 6 << 4;
	be16_store(out + 4, (uint16_t)len);
	out[6] = IP_PROTO_ICMP6;
	out[7] = HOP_LIMIT;
	memcpy(out + 8, src, 16);
	memcpy(out + 24, p + v->src_off, 16);

	icmp[0] = V6_UNREACHABLE;
	icmp[1] = V6_ADDRESS_UNREACHABLE;
	if (reason == ICMP_PACKET_TOO_BIG) {
		icmp[0] = V6_PACKET_TOO_BIG;
		icmp[1] = 0;
		be32_store(icmp + 4, mtu);
	}
	sum = checksum_pseudo(out + 8, out + 24, 16, IP_PROTO_ICMP6, (uint32_t)len);
	be16_store(icmp + 2, checksum_finish(checksum_add(sum, icmp, len)));
	return IPV6_HDR_LEN + len;
}

size_t icmp_error(const uint8_t *p, const struct ip_view *v, enum icmp_reason reason,
		  const uint8_t *src, uint32_t mtu, uint8_t *out, size_t out_size)
{
	if (out_size < ICMP_ERROR_MAX_LEN || !v->first_fragment)
		return 0;
	if (v->version == 4)
		return v4_may_answer(p, v) ? v4_build(p, v, reason, src, mtu, out) : 0;
	return v6_may_answer(p, v, reason) ? v6_build(p, v, reason, src, mtu, out) : 0;
}
