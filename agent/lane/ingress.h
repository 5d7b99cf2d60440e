/* SPDX-License-Identifier: Apache-2.0 */
/* The way in: network -> device. Stages in order in ingress.c. The worker's thread. */
#ifndef SEALANE_LANE_INGRESS_H
#define SEALANE_LANE_INGRESS_H

struct worker;

/* One batch from the sockets of @family to the device or the handshake queue.
 * Returns the number of datagrams received, 0 when there were none. */
int ingress_run(struct worker *w, int family);

#endif
