/* SPDX-License-Identifier: Apache-2.0 */
/* Input: the bytes that came from the TUN or out of a data message. */
#include "offload/ip.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void check_view(const uint8_t *p, size_t len, const struct ip_view *v)
{
	const unsigned header_len = v->version == 4 ? (p[0] & 15u) * 4 : IPV6_HDR_LEN;

	must(v->version == p[0] >> 4 && v->addr_len == (v->version == 4 ? 4 : 16));
	must(v->total_len <= len && header_len <= v->l4_off && v->l4_off <= v->total_len);
	must(v->src_off + v->addr_len == v->dst_off && v->dst_off + v->addr_len <= header_len);
	must(v->first_fragment || (v->fragment && !v->has_l4));
	must(v->version == 6 || v->has_l4 == v->first_fragment);
	must(!v->has_l4 || v->version == 4 || v->proto != IP_PROTO_NONE);
}

/* Only the two bits and the checksum change, and changing them back restores
 * the packet (0xffff as the checksum may come back as its equal 0). */
static void check_ecn(const uint8_t *p, size_t len, uint8_t ecn)
{
	uint8_t *copy = malloc(len);
	struct ip_view v, again;

	must(copy != NULL);
	memcpy(copy, p, len);
	must(ip_parse(copy, len, &v));
	ip_set_ecn(copy, &v, ecn);
	must(ip_parse(copy, len, &again));
	must(ip_ecn(&again) == ecn && v.tos == again.tos && v.l4_off == again.l4_off);

	must(ip_parse(p, len, &again));
	ip_set_ecn(copy, &v, ip_ecn(&again));
	if (v.version == 4 && p[10] == 0xff && p[11] == 0xff && !copy[10] && !copy[11])
		memset(copy + 10, 0xff, 2);
	must(!memcmp(copy, p, len));
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct ip_view v = {0};

	if (!ip_parse(data, len, &v))
		return 0;
	check_view(data, len, &v);
	for (uint8_t i = 0; i < 4; i++)
		check_ecn(data, len, i);
	return 0;
}
