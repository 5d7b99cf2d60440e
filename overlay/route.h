/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to the kernel's routing. Control thread. */
#ifndef SEALANE_OVERLAY_ROUTE_H
#define SEALANE_OVERLAY_ROUTE_H

#include <stdbool.h>
#include <stdint.h>

struct nl;

struct route_way {
	bool local;   /* @dst is an address of this host */
	int oif;      /* interface by which a packet leaves */
	uint32_t mtu; /* of the route if it has one (set or learnt), else of oif */
};

/* The way of a packet with @fwmark to @dst (4 or 16 bytes by @family). 0, or
 * -errno from the kernel (-ENETUNREACH: no route). */
int route_get_way(struct nl *nl, int family, const void *dst, uint32_t fwmark,
		  struct route_way *ret);

#endif
