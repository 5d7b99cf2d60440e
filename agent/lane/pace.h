/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When something that somebody else spoils may be mended once more: the first time at once,
 * then, as long as that goes on, after pauses that double. Pure; any thread.
 */
#ifndef SEALANE_LANE_PACE_H
#define SEALANE_LANE_PACE_H

#include <stdint.h>

/* What was well for as long as PACE_FORGET_MS is spoilt for the first time again. */
enum { PACE_FIRST_MS = 100, PACE_MAX_MS = 10000, PACE_FORGET_MS = 30000 };

/* Begins as {0}. Times of a clock that only goes forward. */
struct pace {
	uint64_t last_ms;
	uint32_t pause_ms; /* before the next; 0: never mended yet */
};

/* Milliseconds from @now_ms until it may be; 0: now. */
uint32_t pace_wait_ms(const struct pace *p, uint64_t now_ms);
/* It was. */
void pace_mended(struct pace *p, uint64_t now_ms);

#endif
