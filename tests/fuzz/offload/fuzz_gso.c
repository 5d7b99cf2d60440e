/* SPDX-License-Identifier: Apache-2.0 */
/* Input: a 24-byte vnet header, then the superpacket. */
#include "offload/gso.h"

#undef NDEBUG /* the properties are the point */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "offload/be.h"
#include "offload/checksum.h"
#include "offload/ip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* The IP header at @off tells of the rest; its ID is the @i-th; the checksum holds. */
static void check_ip(const struct gso *g, const uint8_t *p, uint32_t len, uint32_t off, uint32_t i)
{
	struct ip_view v;

	assert(ip_parse(p + off, len - off, &v) && v.total_len == len - off && v.has_l4);
	if (v.version == 6)
		return;
	assert(be16_load(p + off + 4) == (uint16_t)(be16_load(g->pkt + off + 4) + i));
	assert(!checksum_finish(checksum_add(0, p + off, v.l4_off)));
}

static void check_segment(const struct gso *g, const uint8_t *p, uint32_t len, uint32_t i)
{
	const uint32_t l4 = g->vnet.csum_start, n = len - g->hdr_len;
	uint64_t sum = be16_load(g->pkt + l4 + g->vnet.csum_offset);

	assert(n <= g->vnet.gso_size && (n || g->n_segments == 1));
	assert(!memcmp(p + g->hdr_len, g->pkt + g->hdr_len + i * g->seg_payload, n));
	check_ip(g, p, len, 0, i);
	check_ip(g, p, len, g->vnet.inner_l3_off, i);
	/* The pseudo header that the superpacket was made with, of this length. */
	sum += checksum_finish(g->hdr_len + g->payload_len - l4) + len - l4;
	assert(!checksum_finish(checksum_add(sum, p + l4, len - l4)));
	assert(g->vnet.csum_offset == 16 || be16_load(p + l4 + 6));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct vnet v;
	struct gso g;

	if (len < 24 || !vnet_decode(data, 24, 0, &v) || !vnet_check(&v, data + 24, len - 24) ||
	    !gso_begin(&g, data + 24, len - 24, &v))
		return 0;
	for (uint32_t i = 0, n; (n = gso_segment_len(&g, i)); i++) {
		uint8_t *dst = malloc(n);

		assert(dst && gso_next(&g, dst) == n);
		if (v.gso != VNET_GSO_NONE)
			check_segment(&g, dst, n, i);
		free(dst);
	}
	return 0;
}
