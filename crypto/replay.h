/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sliding replay window (RFC 6479 layout, 8192 bits of which one word is always
 * being recycled, so 8128 counters back are accepted). Embedded by the caller,
 * zero-initialised = empty. The caller serialises calls per window.
 */
#ifndef SEALANE_CRYPTO_REPLAY_H
#define SEALANE_CRYPTO_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "messages.h"

struct replay {
	uint64_t next; /* greatest counter seen + 1; 0 = nothing seen; atomic stores */
	uint64_t bitmap[REPLAY_WINDOW_BITS / 64];
};

/*
 * Accepts @counter exactly once. False: seen before, older than the window, or
 * >= REJECT_AFTER_MESSAGES; the window is unchanged then. Call only after the
 * message was authenticated (paper, section 5.4.6).
 */
bool replay_accept(struct replay *r, uint64_t counter);

#endif
