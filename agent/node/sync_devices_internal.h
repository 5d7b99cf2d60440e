/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of sync_devices_add() share. */
#ifndef SEALANE_NODE_SYNC_DEVICES_INTERNAL_H
#define SEALANE_NODE_SYNC_DEVICES_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "overlay/link.h"

struct bigtcp;
struct desired_overlay;
struct nl;
struct report;
struct tunnel;

/* Changes what of @want is not so: MTU, MAC, being up. */
void sync_link_adjust(struct nl *nl, const struct link_info *is, const struct link_change *want,
		      struct report *r);

/* All limits of superpackets of a device are @size from now on; it had @is, or the error of
 * looking at them was @err. */
void sync_sizes_keep(struct nl *nl, int err, const struct bigtcp *is, const char *name,
		     uint32_t size, struct report *r);

/* What kernel tunnel devices are stacked on, and the kernel they are made by. */
struct sync_lower {
	int ifindex; /* of the lane's device, 0: there is none */
	bool is_tun;
	unsigned major, minor, patch; /* kernel release, 0.0.0: it tells none */
};
/* All but the index, which is the caller's. */
void sync_lower_read(struct nl *nl, struct sync_lower *lower);

/* The device that the overlay, which is no port, is to have. */
void sync_tunnel_describe(const struct desired_overlay *overlay, int lower_ifindex,
			  struct tunnel *ret);
/* Makes, makes again, or adjusts a kernel tunnel device. */
void sync_tunnel_keep(struct nl *nl, const struct desired_overlay *overlay,
		      const struct sync_lower *lower, struct report *r);

#endif
