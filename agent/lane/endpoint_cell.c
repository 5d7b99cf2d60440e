/* SPDX-License-Identifier: Apache-2.0 */
#include "endpoint_cell.h"

#include <string.h>

struct endpoint endpoint_cell_load(const struct endpoint_cell *c)
{
	uint64_t word[ENDPOINT_WORDS] = {0};
	struct endpoint ret;
	uint32_t before;

	do {
		before = __atomic_load_n(&c->seq, __ATOMIC_ACQUIRE);
		for (unsigned i = 0; i < ENDPOINT_WORDS; i++)
			word[i] = __atomic_load_n(&c->word[i], __ATOMIC_ACQUIRE);
	} while (before & 1 || __atomic_load_n(&c->seq, __ATOMIC_RELAXED) != before);
	memcpy(&ret, word, sizeof(ret));
	return ret;
}

void endpoint_cell_store(struct endpoint_cell *c, const struct endpoint *ep)
{
	const uint32_t seq = __atomic_load_n(&c->seq, __ATOMIC_RELAXED);
	uint64_t word[ENDPOINT_WORDS] = {0};

	memcpy(word, ep, sizeof(*ep));
	__atomic_store_n(&c->seq, seq + 1, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < ENDPOINT_WORDS; i++)
		__atomic_store_n(&c->word[i], word[i], __ATOMIC_RELEASE);
	__atomic_store_n(&c->seq, seq + 2, __ATOMIC_RELEASE);
}
