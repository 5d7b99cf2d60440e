/* SPDX-License-Identifier: Apache-2.0 */
/* The two ends of routes.h: routes as messages. Pure; any thread. */
#ifndef SEALANE_OVERLAY_ROUTES_INTERNAL_H
#define SEALANE_OVERLAY_ROUTES_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/netlink.h>

#include "routes.h"

/* The largest, IPv6 with everything, takes less than 300 bytes. */
enum { ROUTE_REQUEST_LEN = 512 };

union route_request {
	struct nlmsghdr nlh;
	uint8_t bytes[ROUTE_REQUEST_LEN];
};

/* Write a whole request; false for a route that cannot be. */
bool route_build_put(const struct route *route, union route_request *ret);
bool route_build_remove(const struct route *route, union route_request *ret);

/* False: no route of ours could look like this (another message, another family or
 * type, a copy from the cache, by TOS or by source), or malformed. */
bool route_parse(const struct nlmsghdr *nlh, struct route *ret);

#endif
