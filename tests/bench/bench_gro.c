/* SPDX-License-Identifier: Apache-2.0 */
/* Merging what arrived into superpackets: one flow, and as many flows as packets,
 * where there is nothing to merge. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "offload/gro.h"
#include "offload/gso.h"
#include "superpacket.h"

enum { N = 44, ROOM = 1536, PORT_OFFSET = 1 /* low byte of the source port */ };

struct work {
	struct gro_config config;
	struct encap_table encap;
	bool many_flows;
	uint32_t n_supers;
};

static struct superpacket super;
static struct gro gro;
static struct gro_packet packets[N];
static struct gro_super supers[N];
static uint8_t segments[N][ROOM] __attribute__((aligned(64)));
static uint8_t headers[N][ROOM]; /* as they arrived: merging rewrites them */
static uint32_t lens[N];

static void make_segments(const struct work *w)
{
	struct gso g;

	if (!gso_begin(&g, super.bytes, super.len, &super.vnet))
		abort();
	for (unsigned i = 0; i < N; i++) {
		lens[i] = gso_next(&g, segments[i]);
		/* Other ports in the checksum's own words: it stays right. */
		if (w->many_flows) {
			uint8_t *tcp = segments[i] + super.vnet.csum_start;

			tcp[PORT_OFFSET] = (uint8_t)(tcp[PORT_OFFSET] + i);
			tcp[15] = (uint8_t)(tcp[15] - i); /* window */
		}
		memcpy(headers[i], segments[i], super.vnet.hdr_len);
	}
}

static void call_prepare(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < N; i++) {
		struct gro_packet *p = &packets[i];

		memcpy(segments[i], headers[i], super.vnet.hdr_len);
		*p = (struct gro_packet){.ip = segments[i], .len = lens[i]};
		if (!ip_parse(p->ip, p->len, &p->view))
			abort();
	}
}

static void call_prepare_merge(void *arg)
{
	struct work *w = arg;

	call_prepare(arg);
	w->n_supers = gro_merge(&gro, &w->config, packets, N, supers);
}

static void measure(bool vxlan, bool many_flows)
{
	struct work w = {
		.config = {.tcp4 = true,
			   .tcp6 = true,
			   .udp = true,
			   .tunnel = true,
			   .max_len4 = SUPERPACKET_MAX,
			   .max_len6 = SUPERPACKET_MAX,
			   .max_segments = GRO_PIECES_MAX},
		.many_flows = many_flows,
	};
	struct bench_row row = {.name = many_flows ? "merge_none" : "merge", .n_items = N};
	struct bench_cost preparation;

	encap_table_default(&w.encap);
	w.config.encap = &w.encap;
	superpacket_make(&super, vxlan, N, vxlan ? 1330 : 1380);
	make_segments(&w);
	row.variant = super.name;
	row.item_len = lens[0];
	preparation = bench_measure(call_prepare, &w);
	bench_report(&row, bench_difference(bench_measure(call_prepare_merge, &w), preparation));
	if (w.n_supers != (many_flows ? N : 1))
		abort();
}

void bench_gro(void)
{
	measure(false, false);
	measure(true, false);
	measure(false, true);
	measure(true, true);
}
