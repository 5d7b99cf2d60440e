/* SPDX-License-Identifier: Apache-2.0 */
#include "localdst.h"

#include <string.h>

#include "lane.h"

bool localdst_ends_here(struct worker *w, const uint8_t *addr)
{
	const uint32_t generation = lane_route_generation(w->lane);
	struct localdst *c = &w->localdst;
	struct localdst_entry *e;

	if (c->generation != generation)
		*c = (struct localdst){.generation = generation};
	e = &c->entry[(addr[3] ^ addr[2] << 3) % LOCALDST_ENTRIES];
	if (!e->valid || memcmp(e->addr, addr, sizeof(e->addr)) != 0) {
		e->valid = true;
		memcpy(e->addr, addr, sizeof(e->addr));
		/* The socket that asks the kernel is shared. */
		lane_lock(w->lane);
		e->local = w->device.is_local && w->device.is_local(w->device.ctx, addr);
		lane_unlock(w->lane);
	}
	return e->local;
}
