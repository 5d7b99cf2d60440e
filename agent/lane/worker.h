/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread that carries packets has for itself: its ends of the devices and
 * sockets, its batches and its counters. Nobody else touches them while it runs, so
 * that walks (egress.c, ingress.c) need no lock for them. A lane's own thread has one
 * (lane->self).
 */
#ifndef SEALANE_LANE_WORKER_H
#define SEALANE_LANE_WORKER_H

#include <stdint.h>

#include "batch.h"
#include "io.h"
#include "localdst.h"
#include "stats.h"

struct lane;
struct train_engine;

struct worker {
	struct lane *lane;
	unsigned id; /* which of every port's queues is its own */
	struct device_io device;
	struct udp_io udp;
	struct gro_config *gro;		  /* merging towards the device: lane->offload.gro
					     or one of its own */
	const struct train_engine *train; /* the owner's; NULL: libsodium */
	uint64_t now_ns;		  /* taken once per entry from outside */
	struct out_batch *out;
	struct in_batch *in;
	struct port_batch *port_batch; /* NULL until there is a port */
	struct localdst localdst;
	struct stats stats;
};

/* 0 or -ENOMEM; on failure nothing is left behind. @device and @udp are copied. */
int worker_init(struct worker *w, struct lane *lane, const struct device_io *device,
		const struct udp_io *udp);
/* Fine with one that is zero. */
void worker_done(struct worker *w);

/* Reads the clock; called at every entry from outside. */
void worker_refresh_clock(struct worker *w);

/* Around a rare step of a walk: takes the lane's lock; at its end the lane's own thread is
 * woken, for there may be timers or handshakes for it. */
void worker_begin_rare(struct worker *w);
void worker_end_rare(struct worker *w);

#endif
