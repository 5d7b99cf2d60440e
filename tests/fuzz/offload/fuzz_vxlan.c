/* SPDX-License-Identifier: Apache-2.0 */
/* Input: flags, of which bits 2-6 begin the IPv4 ID, a 24-byte vnet header, then a
 * frame, or (bit 7) an IP packet. */
#include "offload/vxlan.h"

#undef NDEBUG /* the properties are the point */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "offload/be.h"
#include "offload/gso.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* What was pushed comes out again: an IP packet that is one whole VXLAN frame. */
static void check_packet(const uint8_t *p, uint32_t len, uint32_t outer, uint16_t id)
{
	struct vxlan_view view;
	struct ip_view v;

	assert(ip_parse(p, len, &v) && v.total_len == len && !v.fragment && v.has_l4);
	assert(v.version == 6 || be16_load(p + 4) == id);
	assert(vxlan_parse(p, &v, 4789, &view));
	assert(view.vni == 0x123456 && view.frame_off == outer && len - outer >= VXLAN_ETHER_LEN);
	assert(vxlan_source_port(p + outer, len - outer) == be16_load(p + v.l4_off));
}

static void check_frame(const struct vxlan_template *t, const uint8_t *data, uint32_t len,
			struct vnet v)
{
	uint8_t *memory = malloc(VXLAN_OUTER_MAX_LEN + len), *frame = memory + VXLAN_OUTER_MAX_LEN;
	static uint8_t segment[UINT16_MAX + IPV6_HDR_LEN];
	uint32_t outer, n;
	uint16_t id = t->ip_id;
	struct gso g;

	memcpy(frame, data, len);
	outer = vxlan_push(t, frame, len, &v);
	assert(outer ? vnet_check(&v, frame - outer, outer + len) : !memcmp(frame, data, len));
	if (outer && gso_begin(&g, frame - outer, outer + len, &v))
		while ((n = gso_next(&g, segment)))
			check_packet(segment, n, outer, id++);
	free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct vxlan_template t = {.vni = 0x123456, .dst_port = 4789};
	struct vxlan_view view;
	struct ip_view ip;
	struct vnet v;

	if (len < 25 || !vnet_decode(data + 1, 24, 0, &v))
		return 0;
	t.addr_len = data[0] & 1 ? 16 : 4;
	t.checksum = data[0] & 2;
	t.ip_id = (uint16_t)((data[0] & 0x7c) << 9 | 0x7ff);
	if (!(data[0] & 0x80))
		check_frame(&t, data + 25, (uint32_t)len - 25, v);
	else if (ip_parse(data + 25, len - 25, &ip) && vxlan_parse(data + 25, &ip, 4789, &view))
		assert(view.vni < 1 << 24 && view.frame_off + VXLAN_ETHER_LEN <= ip.total_len);
	return 0;
}
