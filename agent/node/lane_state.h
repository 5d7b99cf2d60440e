/* SPDX-License-Identifier: Apache-2.0 */
/* What a lane answered to `get=1` on its configuration socket. Control thread. */
#ifndef SEALANE_NODE_LANE_STATE_H
#define SEALANE_NODE_LANE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "keyfile.h"
#include "overlay/ipaddr.h"

struct lane_peer_state {
	uint8_t public_key[KEY_LEN], psk[KEY_LEN]; /* psk: zero if there is none */
	struct sockaddr_storage endpoint;	   /* ss_family 0: none */
	uint64_t handshake_s;			   /* CLOCK_REALTIME, 0: never */
	uint16_t keepalive_s;
	struct ip_prefix *allowed; /* sorted; the state's memory */
	size_t n_allowed;
};

struct lane_state {
	uint8_t private_key[KEY_LEN]; /* zero: none */
	uint16_t listen_port;
	uint32_t fwmark;
	struct lane_peer_state *peers; /* sorted by public key */
	size_t n_peers;
	struct ip_prefix *prefixes; /* of all peers */
};

/* Takes @answer apart in place. Keys that are not known are passed over. 0, -EPROTO (a
 * value that is none), -ENOMEM; *ret is untouched then. */
int lane_state_parse(char *answer, struct lane_state *ret);
/* Wipes, frees and zeroes. */
void lane_state_done(struct lane_state *s);
/* NULL: no such peer. */
const struct lane_peer_state *lane_state_find(const struct lane_state *s,
					      const uint8_t public_key[KEY_LEN]);

#endif
