/* SPDX-License-Identifier: Apache-2.0 */
/* How long to wait before the next attempt: twice as long after each failure up to a bound, and
 * a random part of it, so that many nodes do not come back at the same moment. Pure. */
#ifndef SEALANE_NODE_BACKOFF_H
#define SEALANE_NODE_BACKOFF_H

#include <stdint.h>

struct backoff {
	uint32_t first_ms, max_ms; /* first_ms not 0, max_ms not less */
	unsigned failures;	   /* in a row */
};

/* After one more failure: between half of the time and all of it, by @random. */
uint32_t backoff_next_ms(struct backoff *b, uint32_t random);
/* It went well. */
void backoff_reset(struct backoff *b);

#endif
