/* SPDX-License-Identifier: Apache-2.0 */
/* The stages that ports add to the two walks (egress.c, ingress.c). The
 * worker's thread. */
#ifndef SEALANE_LANE_PORT_WALK_H
#define SEALANE_LANE_PORT_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "batch.h"
#include "port.h"

struct worker;

/* Out (port_egress.c) */

/* Reads what is there, up to a batch, into q->out, which must have nothing left.
 * As portdev_read(). */
int port_read(struct worker *w, struct port_queue *q);
/* Is there something left of what was read? */
bool port_has_frames(const struct port_queue *q);
/*
 * The next of what was read, in order, as VXLAN into @b->super: frames with a known
 * destination, or one copy of a frame that is flooded (outer headers are written
 * right before the frame, so there is one copy at a time); questions for known
 * neighbours are answered. About a turn's worth. Returns how many datagrams it will
 * make, 0: nothing is left.
 */
unsigned port_forward(struct worker *w, struct port_queue *q, struct out_batch *b);
/*
 * Tells the sender of @s, a frame longer than the tunnel's path takes, if what is
 * inside may not be fragmented. True: told, to be dropped. @limit: longest packet,
 * outer headers included.
 */
bool port_too_big(struct worker *w, struct super *s, uint32_t limit);

/* In (port_ingress.c) */

/* Takes the frame out of *ret, a packet that is @q's port's and whose frame begins at
 * @frame_off: the VTEP's rules for marks and addresses, learning. *ret is the packet
 * inside then (version 0: not IP) and *ret_frame the frame. */
enum drop port_take(struct worker *w, struct port_queue *q, uint32_t frame_off,
		    struct gro_packet *ret, struct iovec *ret_frame);
/* Merges and delivers the packets of @b that are for @q's port. */
void port_deliver(struct worker *w, struct in_batch *b, struct port_queue *q);

#endif
