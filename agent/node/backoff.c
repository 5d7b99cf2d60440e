/* SPDX-License-Identifier: Apache-2.0 */
#include "backoff.h"

uint32_t backoff_next_ms(struct backoff *b, uint32_t random)
{
	uint64_t whole_ms = b->first_ms;

	for (unsigned i = 0; i < b->failures && whole_ms < b->max_ms; i++)
		whole_ms *= 2;
	if (whole_ms > b->max_ms)
		whole_ms = b->max_ms;
	if (whole_ms < b->max_ms)
		b->failures++;
	return (uint32_t)(whole_ms - random % (whole_ms / 2 + 1));
}

void backoff_reset(struct backoff *b)
{
	b->failures = 0;
}
