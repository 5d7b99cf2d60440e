/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lane's UDP sockets: one per family on one port, or as many as there are workers.
 * Control thread, but for receiving and sending.
 */
#ifndef SEALANE_LANE_UDP_H
#define SEALANE_LANE_UDP_H

#include <stdbool.h>
#include <stdint.h>

#include "io.h"

struct udp;
struct nl;

enum { UDP_BUFFER_LEN = 7 << 20 };

/* @nl (borrowed, may be NULL) answers route questions for source_valid. 0 or
 * -ENOMEM. No socket is opened yet. */
int udp_new(struct nl *nl, struct udp **ret);
void udp_free(struct udp *u); /* NULL is fine */

/* The interface a lane uses. */
struct udp_io udp_io_of(struct udp *u);

/*
 * From the next opening on, @n pairs of sockets share the port (SO_REUSEPORT: the kernel
 * gives all datagrams of one sender to one of them), one for each worker. 0 or -ENOMEM.
 */
enum { UDP_QUEUES_MAX = 64 };
int udp_set_queues(struct udp *u, unsigned n);
/* What worker @i uses; opening and closing are the control thread's. */
struct udp_io udp_io_of_queue(struct udp *u, unsigned i);

/* Descriptors of pair @i, -1 when closed. @changed is called after every change. */
int udp_fd(const struct udp *u, unsigned i, int family);
void udp_on_change(struct udp *u, void (*changed)(void *ctx), void *ctx);

/* Ask for UDP_GRO on sockets opened from now on. */
void udp_use_gro(struct udp *u, bool on);

/* Datagrams this kernel takes in one UDP_SEGMENT send: 128, 64, 63, 2, or 1 when
 * it does not know the option. Tried on a loopback socket: a device that cannot is
 * found out when a run is refused. Also 1 when loopback is down. */
unsigned udp_probe_segments(void);

/* Receive buffer the kernel granted, bytes (it counts double what is asked). */
int udp_buffer_len(const struct udp *u);

#endif
