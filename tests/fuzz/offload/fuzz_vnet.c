/* SPDX-License-Identifier: Apache-2.0 */
/* Input: one byte for header and link-layer length, the vnet header, the packet. */
#include "offload/vnet.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(bool holds)
{
	if (!holds)
		abort();
}

/* What vnet_check() promises to those behind it. */
static void check_promises(const struct vnet *v, const uint8_t *p, size_t len)
{
	const size_t l4_min = v->gso == VNET_GSO_UDP ? 8 : 20;

	must(!v->needs_csum || (size_t)v->csum_start + v->csum_offset + 2 <= len);
	if (v->gso == VNET_GSO_NONE)
		return;
	must(v->needs_csum && v->gso_size && v->csum_start + l4_min <= len);
	must(v->csum_offset == (v->gso == VNET_GSO_UDP ? 6 : 16));
	must(v->csum_start >= v->inner_l3_off + 20u);
	if (v->tunnel == VNET_TUNNEL_NONE)
		return;
	must(p[0] >> 4 == (v->tunnel == VNET_TUNNEL_V4 ? 4 : 6) && v->outer_l4_off >= 20);
	must(v->outer_l4_off + 8u <= v->inner_l3_off);
}

/* Encoding what was decoded and decoding that again: a fixed point. */
static void check_codec(const struct vnet *v, size_t hdr_len, size_t l2_len)
{
	uint8_t hdr[VNET_LEN_TUNNEL], again[VNET_LEN_TUNNEL];
	struct vnet w;

	must(vnet_encode(v, hdr, hdr_len, l2_len) && vnet_decode(hdr, hdr_len, l2_len, &w));
	must(w.gso == v->gso && w.tunnel == v->tunnel && w.tunnel_csum == v->tunnel_csum);
	must(w.csum_start == v->csum_start && w.inner_l3_off == v->inner_l3_off);
	must(vnet_encode(&w, again, hdr_len, l2_len) && !memcmp(hdr, again, hdr_len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const uint8_t sizes[] = {VNET_LEN_MIN, VNET_LEN_V1, VNET_LEN_TUNNEL, 20};
	const size_t hdr_len = len ? sizes[data[0] & 3] : 0;
	const size_t l2_len = len && data[0] & 4 ? 14 : 0;
	struct vnet v;

	if (len < 1 + hdr_len || !vnet_decode(data + 1, hdr_len, l2_len, &v))
		return 0;
	check_codec(&v, hdr_len, l2_len);
	if (vnet_check(&v, data + 1 + hdr_len, len - 1 - hdr_len))
		check_promises(&v, data + 1 + hdr_len, len - 1 - hdr_len);
	return 0;
}
