/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lane's UDP sockets: one per family on one port. Control thread.
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

/* Descriptors, -1 when closed. @changed is called after every change. */
int udp_fd(const struct udp *u, int family);
void udp_on_change(struct udp *u, void (*changed)(void *ctx), void *ctx);

/* Receive buffer the kernel granted, bytes (it counts double what is asked). */
int udp_buffer_len(const struct udp *u);

#endif
