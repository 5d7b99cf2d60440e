/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "desired.h"
#include "sync_lane_internal.h"

struct sync_lane_memory {
	struct sync_lane_memory_entry *entries; /* sorted by public key */
	size_t n;
};

struct sync_lane_memory *sync_lane_memory_new(void)
{
	return calloc(1, sizeof(struct sync_lane_memory));
}

void sync_lane_memory_free(struct sync_lane_memory *m)
{
	if (!m)
		return;
	free(m->entries);
	free(m);
}

static int compare_entries(const void *a, const void *b)
{
	const struct sync_lane_memory_entry *x = a, *y = b;

	return memcmp(x->public_key, y->public_key, KEY_LEN);
}

struct sync_lane_memory_entry *sync_lane_memory_find(const struct sync_lane_memory *m,
						     const uint8_t public_key[KEY_LEN])
{
	struct sync_lane_memory_entry key = {0};

	if (!m->n)
		return NULL;
	memcpy(key.public_key, public_key, KEY_LEN);
	return bsearch(&key, m->entries, m->n, sizeof(*m->entries), compare_entries);
}

bool sync_lane_memory_follow(struct sync_lane_memory *m, const struct desired *d)
{
	struct sync_lane_memory_entry *entries = calloc(d->n_peers + 1, sizeof(*entries));

	if (!entries)
		return false;
	for (size_t i = 0; i < d->n_peers; i++) {
		const uint8_t *public_key = d->peers[i].member->public_key;
		const struct sync_lane_memory_entry *old = sync_lane_memory_find(m, public_key);

		memcpy(entries[i].public_key, public_key, KEY_LEN);
		if (old)
			entries[i].endpoint = old->endpoint;
	}
	qsort(entries, d->n_peers, sizeof(*entries), compare_entries);
	free(m->entries);
	m->entries = entries;
	m->n = d->n_peers;
	return true;
}
