/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting a superpacket into the packets of the wire, every checksum made. */
#include <stdlib.h>

#include "bench.h"
#include "offload/gso.h"
#include "superpacket.h"

enum { ROOM = 1536 };

static struct superpacket super;
static uint8_t segments[64][ROOM] __attribute__((aligned(64)));

static void call_cut(void *arg)
{
	struct gso g;
	unsigned i = 0;

	(void)arg;
	if (!gso_begin(&g, super.bytes, super.len, &super.vnet))
		abort();
	while (gso_next(&g, segments[i]))
		i++;
}

void bench_gso(void)
{
	static const struct {
		bool vxlan;
		unsigned n;
		uint16_t payload_len;
	} cases[] = {{false, 44, 1380}, {true, 44, 1330}, {false, 2, 1380}, {true, 2, 1330}};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct bench_row row = {.name = "cut", .n_items = cases[i].n};

		superpacket_make(&super, cases[i].vxlan, cases[i].n, cases[i].payload_len);
		if (!vnet_check(&super.vnet, super.bytes, super.len))
			abort();
		row.variant = super.name;
		row.item_len = super.vnet.hdr_len + cases[i].payload_len;
		bench_report(&row, bench_measure(call_cut, NULL));
	}
}
