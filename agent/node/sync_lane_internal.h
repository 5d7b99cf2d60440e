/* SPDX-License-Identifier: Apache-2.0 */
/* What sync_lane.c remembers between its passes. Control thread. */
#ifndef SEALANE_NODE_SYNC_LANE_INTERNAL_H
#define SEALANE_NODE_SYNC_LANE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "keyfile.h"
#include "sync.h"

struct sync_lane_memory_entry {
	uint8_t public_key[KEY_LEN];
	struct sockaddr_storage endpoint; /* last written; ss_family 0: never */
};

/* NULL: no entry. Good until the next sync_lane_memory_follow(). */
struct sync_lane_memory_entry *sync_lane_memory_find(const struct sync_lane_memory *m,
						     const uint8_t public_key[KEY_LEN]);
/* Makes that there is an entry for every desired peer and for no other. False: no
 * memory, all is as it was. */
bool sync_lane_memory_follow(struct sync_lane_memory *m, const struct desired *d);

#endif
