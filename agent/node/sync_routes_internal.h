/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of sync_routes_add() share. */
#ifndef SEALANE_NODE_SYNC_ROUTES_INTERNAL_H
#define SEALANE_NODE_SYNC_ROUTES_INTERNAL_H

#include "overlay/routes.h"
#include "sync_kernel.h"

/* Is a route that is not ours the same entry of the kernel's table? */
enum sync_foreign { SYNC_FOREIGN_NONE, SYNC_FOREIGN_EQUAL, SYNC_FOREIGN_OTHER };

struct sync_route {
	struct route route;	   /* table and metric as the kernel tells them */
	enum sync_foreign foreign; /* sync_routes.c finds out */
};

/* By family, prefix, table and metric: what makes an entry of the kernel's table. Takes
 * struct route and, as it begins with one, struct sync_route. */
int sync_route_compare(const void *a, const void *b);

/*
 * Fills @ret, a list of struct sync_route, with the routes that are wanted where the
 * devices are as they are now: sorted, no entry twice. What cannot be routed is told
 * in @r, or nowhere with NULL. 0 or -errno.
 */
int sync_routes_want(struct nl *nl, const struct desired *d, struct report *r,
		     struct sync_list *ret);

#endif
