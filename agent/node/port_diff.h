/* SPDX-License-Identifier: Apache-2.0 */
/* What a lane must be told to make a port what it should be. Control thread. */
#ifndef SEALANE_NODE_PORT_DIFF_H
#define SEALANE_NODE_PORT_DIFF_H

#include <stdbool.h>
#include <stddef.h>

#include "lane_request.h"

struct port_state;

/* Lines of a command without its first two, by what they are about; any part may be
 * said alone, in this order. Begins as {0}. */
struct port_diff {
	struct lane_request config; /* with create=true if it is new */
	struct lane_request fdb, flood, neighbours;
	size_t n_config, n_fdb, n_flood, n_neighbours; /* lines */
};

/* Does @have differ from @want in what is fixed at its creation? Not by its MTU, which
 * is the device's. */
bool port_diff_needs_new(const struct port_state *want, const struct port_state *have);
/* @have NULL: there is none. */
void port_diff_make(struct port_diff *diff, const struct port_state *want,
		    const struct port_state *have);
bool port_diff_is_empty(const struct port_diff *diff);
void port_diff_done(struct port_diff *diff);

#endif
