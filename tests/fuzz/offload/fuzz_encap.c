/* SPDX-License-Identifier: Apache-2.0 */
/* Input: an IP packet, perhaps of a tunnel. Port 7000 carries bare IP. */
#include "offload/encap.h"

#include <stdlib.h>
#include <string.h>

#include "offload/be.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void check_view(const struct encap_table *t, const uint8_t *p, const struct ip_view *v,
		       const struct encap_view *e)
{
	static const uint8_t least[] = {[ENCAP_VXLAN] = 22,
					[ENCAP_GENEVE] = 8,
					[ENCAP_BAREUDP_IP] = 0,
					[ENCAP_BAREUDP_MPLS] = 4};
	const uint8_t *udp = p + e->outer_l4_off;

	must(v->proto == IP_PROTO_UDP && !v->fragment && e->outer_l4_off == v->l4_off);
	must(e->kind != ENCAP_NONE && e->kind == encap_table_find(t, be16_load(udp + 2)));
	must(be16_load(udp + 4) == v->total_len - v->l4_off);
	must(e->inner_l3_off >= e->outer_l4_off + 8 + least[e->kind]);
	must(e->inner_l3_off + e->inner.total_len <= v->total_len);
	must(e->inner.l4_off <= e->inner.total_len);
	must(p[e->inner_l3_off] >> 4 == e->inner.version);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct encap_view e;
	struct encap_table t;
	struct ip_view v;

	encap_table_default(&t);
	must(encap_table_set(&t, 7000, ENCAP_BAREUDP_IP));
	if (ip_parse(data, len, &v) && encap_parse(&t, data, &v, &e))
		check_view(&t, data, &v, &e);
	return 0;
}
