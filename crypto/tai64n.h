/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TAI64N stamps that never go back: a peer refuses an initiation whose stamp is
 * not greater than the last one, so when the wall clock steps back we go on from
 * the last stamp. Nanoseconds are rounded down to 2^24 (hides the exact clock,
 * as the kernel does); a step of that size is added when time stands still.
 */
#ifndef SEALANE_CRYPTO_TAI64N_H
#define SEALANE_CRYPTO_TAI64N_H

#include <stdint.h>

#include "messages.h"

struct tai64n_clock {
	uint8_t last[WG_TAI64N_LEN]; /* zero: none given out yet */
};

/* Next stamp for wall-clock time @sec/@nsec (CLOCK_REALTIME). */
void tai64n_next(struct tai64n_clock *c, uint64_t sec, uint32_t nsec, uint8_t ret[WG_TAI64N_LEN]);

#endif
