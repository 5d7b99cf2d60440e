/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handshake messages on the control side: a bounded queue the walk in puts them
 * on after the mac1 check, and everything that happens to them after. Under load
 * (queue an eighth full, and for one second after) a valid mac2 is required and
 * sources are rate-limited (paper 5.3).
 */
#ifndef SEALANE_LANE_HANDSHAKE_H
#define SEALANE_LANE_HANDSHAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "crypto/messages.h"
#include "drop.h"
#include "endpoint.h"

struct lane;
struct peer;

enum {
	HANDSHAKE_QUEUE_LEN = 4096,
	HANDSHAKE_QUEUE_LOADED = HANDSHAKE_QUEUE_LEN / 8,
};

struct handshake_item {
	struct endpoint from;
	uint8_t msg[MESSAGE_INITIATION_SIZE];
	uint8_t len;
	uint8_t type; /* enum message_type, not data */
};

struct handshake_queue {
	struct handshake_item *items; /* ring of HANDSHAKE_QUEUE_LEN */
	unsigned head, n;
};

int handshake_queue_init(struct handshake_queue *q); /* 0 or -ENOMEM */
void handshake_queue_done(struct handshake_queue *q);

/* Takes a handshake message of type @type from a walk in: checks identity and
 * mac1, copies it to the queue. Returns why not, or DROP_NONE. Any worker, without the
 * lock. */
enum drop handshake_enqueue(struct lane *lane, enum message_type type, const uint8_t *msg,
			    uint32_t len, const struct endpoint *from);

/* Handles up to @budget queued messages, each under the lock, which is not held when this
 * is called. True when some are left. */
bool handshake_run(struct lane *lane, unsigned budget);

/* Sends an initiation if one may be sent now (5 s since the last) and the peer
 * has an endpoint. @retry: a timer's repetition, which does not reset the count
 * of attempts. */
void handshake_initiate(struct lane *lane, struct peer *peer, bool retry);

#endif
