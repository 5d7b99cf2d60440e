/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An endpoint that threads read while one writes: a sequence lock. Readers write to
 * nothing and begin again if a write came between. Data and sequence are atomics, data
 * read with acquire and written with release, which needs no fences (H.-J. Boehm, "Can
 * Seqlocks Get Along With Programming Language Memory Models?", MSPC 2012).
 */
#ifndef SEALANE_LANE_ENDPOINT_CELL_H
#define SEALANE_LANE_ENDPOINT_CELL_H

#include "endpoint.h"

enum { ENDPOINT_WORDS = (sizeof(struct endpoint) + 7) / 8 };

/* Zero-initialised: no endpoint. */
struct endpoint_cell {
	uint32_t seq; /* odd while it is written */
	uint64_t word[ENDPOINT_WORDS];
};

/* Any thread. */
struct endpoint endpoint_cell_load(const struct endpoint_cell *c);
/* The caller sees to it that there is one writer at a time. */
void endpoint_cell_store(struct endpoint_cell *c, const struct endpoint *ep);

#endif
