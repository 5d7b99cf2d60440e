/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unit both walks work on: up to BATCH_MAX packets, each in a buffer with
 * room for every header and trailer a stage may add, so nothing is moved.
 *
 *   | headroom 64        | up to 65535 bytes | tailroom: padding 16, tag 16 |
 *   ^ packet.buf          ^ where device reads and datagram texts begin
 *
 * Owned by a walk, filled by a device or socket, borrowed by every stage.
 */
#ifndef SEALANE_LANE_BATCH_H
#define SEALANE_LANE_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "crypto/messages.h"
#include "drop.h"
#include "endpoint.h"
#include "offload/ip.h"

struct keypair;
struct peer;

enum {
	BATCH_MAX = 64,
	PACKET_HEADROOM = 64,
	PACKET_MAX_LEN = 65535,
	PACKET_TAILROOM = 64,
	PACKET_BUF_LEN = PACKET_HEADROOM + PACKET_MAX_LEN + 1 + PACKET_TAILROOM,
};

struct packet {
	uint8_t *buf;  /* start of the buffer, fixed */
	uint8_t *data; /* what is valid now: an IP packet or a message */
	uint32_t len;
	enum drop drop;		/* DROP_NONE: goes on */
	bool taken;		/* left the batch: staged, queued or done with */
	uint8_t tos;		/* of the outer IP header, to send or as received */
	enum message_type type; /* in: of the message */
	struct peer *peer;
	struct keypair *keypair;
	uint64_t counter;  /* in: of the message */
	uint32_t wire_len; /* in: of the message, once data is the inner packet */
	struct ip_view view;
	struct endpoint endpoint; /* out: where to; in: where from */
};

/* Still on its way? Devices and sockets skip what is not. */
static inline bool packet_alive(const struct packet *p)
{
	return p->drop == DROP_NONE && !p->taken;
}

struct batch {
	unsigned n;
	struct packet pkt[BATCH_MAX];
	uint8_t *memory;
};

/* Allocates the buffers (touched only as packets need them). 0 or -ENOMEM. */
int batch_init(struct batch *b);
void batch_done(struct batch *b);

#endif
