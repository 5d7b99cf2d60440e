/* SPDX-License-Identifier: Apache-2.0 */
/* Of the peers that a lane tells of on its configuration socket, what is shown: no
 * secrets. Control thread. */
#ifndef SEALANE_NODE_LANE_PEERS_H
#define SEALANE_NODE_LANE_PEERS_H

#include <stddef.h>
#include <stdint.h>

#include "keyfile.h"
#include "lane_value.h"

struct lane_peer {
	uint8_t public_key[KEY_LEN];
	char endpoint[LANE_ENDPOINT_TEXT_LEN]; /* "": none */
	uint64_t handshake_s;		       /* since 1970, 0: never */
	uint64_t received_bytes, transmitted_bytes;
};

struct lane_peers {
	struct lane_peer *list; /* sorted by key */
	size_t n;
};

/* Takes @answer apart in place; what it does not know, and values that are none, are
 * passed over. 0 or -ENOMEM. */
int lane_peers_parse(char *answer, struct lane_peers *ret);
void lane_peers_done(struct lane_peers *p);
/* NULL: the lane has no such peer. */
const struct lane_peer *lane_peers_find(const struct lane_peers *p,
					const uint8_t public_key[KEY_LEN]);

#endif
