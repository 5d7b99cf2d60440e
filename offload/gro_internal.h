/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of gro tell each other: gro_segment.c reads a packet,
 * gro_match.c compares two, gro_finish.c writes the headers of a superpacket, and
 * gro.c keeps the flows. Pure; any thread.
 */
#ifndef SEALANE_OFFLOAD_GRO_INTERNAL_H
#define SEALANE_OFFLOAD_GRO_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "gro.h"

enum { TCP_HDR_MIN_LEN = 20, UDP_HDR_LEN = 8 };
enum { TCP_PSH = 0x08, TCP_ACK = 0x10, TCP_ECE = 0x40 };

/* What a packet means for the superpackets that are open. */
enum gro_fate {
	GRO_APART,     /* goes alone and closes nothing; *ret is unspecified */
	GRO_SEAL_ALL,  /* goes alone, could belong to any flow; likewise */
	GRO_SEAL_FLOW, /* goes alone and closes its flow's */
	GRO_CANDIDATE, /* may be merged, as far as it alone can tell */
};

/* Of GRO_SEAL_FLOW only layers, barrier and hash are set in *ret. */
enum gro_fate gro_segment_describe(const struct gro_config *config, const struct gro_packet *pkt,
				   struct gro_segment *ret);
/* Hash of the flow that the link layer and the @n_layers outermost layers make. */
uint32_t gro_segment_hash(const struct gro_segment *s, const uint8_t *p, unsigned n_layers);

/* Are @a in @pa and @b in @pb of one flow? What lies in front of them counts. */
bool gro_match_flow(const struct gro_segment *a, const uint8_t *pa, const struct gro_segment *b,
		    const uint8_t *pb);
/* Would cutting make the headers of @s in @p out of those of @head in @ph, as
 * segment number @i? Checksums are left aside. Both are candidates of one flow. */
bool gro_match_headers(const struct gro_segment *head, const uint8_t *ph, uint32_t i,
		       const struct gro_segment *s, const uint8_t *p);
/* Are all checksums in @p the ones that cutting would write? */
bool gro_match_checksums(const struct gro_segment *s, const uint8_t *p);

/* Describes superpackets with @head in @ip in front. */
struct vnet gro_finish_vnet(const struct gro_segment *head, const uint8_t *ip);
/* Rewrites the head of a superpacket of @super->n >= 2 whose vnet is filled in. */
void gro_finish_head(const struct gro_packet *pkts, const struct gro_super *super);

#endif
