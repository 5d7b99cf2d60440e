/* SPDX-License-Identifier: Apache-2.0 */
#include "localdst.h"

#include <string.h>

#include "lane.h"

bool localdst_ends_here(struct lane *lane, const uint8_t *addr)
{
	struct localdst *c = &lane->localdst;
	struct localdst_entry *e;

	if (c->generation != lane->route_generation)
		*c = (struct localdst){.generation = lane->route_generation};
	e = &c->entry[(addr[3] ^ addr[2] << 3) % LOCALDST_ENTRIES];
	if (!e->valid || memcmp(e->addr, addr, sizeof(e->addr)) != 0) {
		e->valid = true;
		memcpy(e->addr, addr, sizeof(e->addr));
		e->local = lane->device.is_local && lane->device.is_local(lane->device.ctx, addr);
	}
	return e->local;
}
