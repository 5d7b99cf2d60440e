/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a fuzzer's packets belong together: the next segment of a flow, and right
 * checksums, without which nothing is merged. */
#ifndef SEALANE_TESTS_FUZZ_GRO_INPUT_H
#define SEALANE_TESTS_FUZZ_GRO_INPUT_H

#include "offload/be.h"
#include "offload/checksum.h"
#include "offload/encap.h"

static uint32_t l4_room(const struct ip_view *v)
{
	return v->has_l4 && !v->fragment ? v->total_len - v->l4_off : 0;
}

/* Turns the packet into the segment behind it, @cut bytes shorter. */
static void input_advance(const struct encap_table *t, uint8_t *p, uint32_t len, uint32_t cut)
{
	struct encap_view e;
	struct ip_view v;
	uint8_t *l4;

	if (!ip_parse(p, len, &v))
		return;
	l4 = p + v.l4_off;
	if (encap_parse(t, p, &v, &e))
		input_advance(t, p + e.inner_l3_off, len - e.inner_l3_off, cut);
	else if (v.proto == IP_PROTO_TCP && l4_room(&v) >= 20)
		be32_store(l4 + 4, be32_load(l4 + 4) + l4_room(&v) - (l4[12] >> 4) * 4u);
	if (v.proto == IP_PROTO_UDP && l4_room(&v) >= 8)
		be16_store(l4 + 4, (uint16_t)(be16_load(l4 + 4) - cut));
	if (v.version == 4) {
		be16_store(p + 4, (uint16_t)(be16_load(p + 4) + 1));
		be16_store(p + 2, (uint16_t)(be16_load(p + 2) - cut));
	} else {
		be16_store(p + 4, (uint16_t)(be16_load(p + 4) - cut));
	}
}

static void fix_l4(uint8_t *p, const struct ip_view *v, unsigned field)
{
	uint8_t *l4 = p + v->l4_off;
	const uint64_t pseudo = checksum_pseudo(p + v->src_off, p + v->dst_off, v->addr_len,
						v->proto, l4_room(v));
	uint16_t check;

	be16_store(l4 + field, 0);
	check = checksum_finish(checksum_add(pseudo, l4, l4_room(v)));
	be16_store(l4 + field, v->proto == IP_PROTO_UDP && !check ? 0xffff : check);
}

/* A UDP checksum of 0 stays. */
static void input_fix(const struct encap_table *t, uint8_t *p, uint32_t len)
{
	struct encap_view e;
	struct ip_view v;

	if (!ip_parse(p, len, &v))
		return;
	if (encap_parse(t, p, &v, &e))
		input_fix(t, p + e.inner_l3_off, len - e.inner_l3_off);
	if (v.version == 4) {
		be16_store(p + 10, 0);
		be16_store(p + 10, checksum_finish(checksum_add(0, p, v.l4_off)));
	}
	if (v.proto == IP_PROTO_TCP && l4_room(&v) >= 20)
		fix_l4(p, &v, 16);
	if (v.proto == IP_PROTO_UDP && l4_room(&v) >= 8 && be16_load(p + v.l4_off + 6))
		fix_l4(p, &v, 6);
}

#endif
