/* SPDX-License-Identifier: Apache-2.0 */
#include "localdst.h"

#include <string.h>

#include "lane.h"

bool localdst_ends_here(struct worker *w, const uint8_t *addr)
{
	struct localdst *c = &w->localdst;
	struct localdst_entry *e;

	if (c->generation != w->lane->route_generation)
		*c = (struct localdst){.generation = w->lane->route_generation};
	e = &c->entry[(addr[3] ^ addr[2] << 3) % LOCALDST_ENTRIES];
	if (!e->valid || memcmp(e->addr, addr, sizeof(e->addr)) != 0) {
		e->valid = true;
		memcpy(e->addr, addr, sizeof(e->addr));
		e->local = w->device.is_local && w->device.is_local(w->device.ctx, addr);
	}
	return e->local;
}
