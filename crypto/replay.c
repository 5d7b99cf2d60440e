/* SPDX-License-Identifier: Apache-2.0 */
#include "replay.h"

enum { WORD_BITS = 64, WORDS = REPLAY_WINDOW_BITS / WORD_BITS };

/* The bitmap is a ring of words; the ones between the newest word and the new
 * one held counters a full turn older and start anew. */
static void advance(struct replay *r, uint64_t counter)
{
	uint64_t newest = r->next ? (r->next - 1) / WORD_BITS : 0;
	uint64_t n = counter / WORD_BITS - newest;

	if (n > WORDS)
		n = WORDS;
	for (uint64_t i = 1; i <= n; i++)
		r->bitmap[(newest + i) % WORDS] = 0;
	/* Atomic because keypair_can_receive() may look at it from a thread that
	 * is not the one inside the window. */
	__atomic_store_n(&r->next, counter + 1, __ATOMIC_RELAXED);
}

bool replay_accept(struct replay *r, uint64_t counter)
{
	uint64_t *word = &r->bitmap[counter / WORD_BITS % WORDS];
	uint64_t bit = 1ULL << counter % WORD_BITS;

	if (counter >= REJECT_AFTER_MESSAGES)
		return false;
	if (counter >= r->next)
		advance(r, counter);
	else if (r->next - 1 - counter > REPLAY_WINDOW_USABLE || *word & bit)
		return false;

	*word |= bit;
	return true;
}
