/* SPDX-License-Identifier: Apache-2.0 */
/* The way out: device -> network. Stages in order in egress.c. The worker's thread, or the
 * lane's. */
#ifndef SEALANE_LANE_EGRESS_H
#define SEALANE_LANE_EGRESS_H

struct lane;
struct peer;
struct port_queue;
struct worker;

/* One batch from the device to the network. Returns the number of packets read,
 * 0 when there were none, -EBADFD when the device is gone. */
int egress_run(struct worker *w);

/* The same from one VXLAN port, a turn of PORT_TURN_DATAGRAMS: 1, or 0 when there was
 * nothing, -ENODEV when its device is gone. What a turn has no room for waits for the
 * next one: port_has_frames() (port_walk.h). */
int egress_run_port(struct worker *w, struct port_queue *q);

/* The peer has a session (or needs one): sends what waits, or asks for a
 * handshake. */
void egress_send_staged(struct lane *lane, struct peer *peer);

/* An empty data message; if packets wait, those go instead. */
void egress_keepalive(struct lane *lane, struct peer *peer);

#endif
