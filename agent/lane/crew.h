/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads that carry a lane's packets when more than one CPU is to do it. Each has
 * a worker of its own (worker.h) and sleeps until one of its descriptors has something.
 *
 * A worker holds its own lock while it is within walks, and only then. crew_pause() takes
 * all of these, so that the lane's own thread is alone with the lane and may change what
 * walks read without a lock: peers, allowed-ips, ports, sockets. Nobody waits for a lock
 * of another worker. What of the lane must be locked against other workers, too, has the
 * lane's lock (lane.h), which is taken after these.
 */
#ifndef SEALANE_LANE_CREW_H
#define SEALANE_LANE_CREW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "worker.h"

struct crew;

enum { CREW_MAX = 64 };

/* A descriptor of one worker. */
struct crew_source {
	TAILQ_ENTRY(crew_source) entry;
	int fd;
	void *ctx;
	/* In the worker's thread: reads some of what is there. True: called again at the
	 * next turn, whatever the descriptor says. */
	bool (*run)(struct crew_source *s, struct worker *w, uint32_t events);
	bool more; /* crew's own */
};

/* @n workers, which do not run yet; their ends of device and sockets are as
 * lane->self's, and may be changed until crew_start(). Then the lane has lane->n_workers =
 * @n. 0, -ENOMEM, or what the kernel says. */
int crew_new(struct lane *lane, unsigned n, struct crew **ret);
/* Ends the threads and waits for them. NULL is fine. */
void crew_free(struct crew *c);

unsigned crew_len(const struct crew *c); /* NULL: 0 */
struct worker *crew_worker(struct crew *c, unsigned i);

/* 0 or -errno; then those that run already are ended. */
int crew_start(struct crew *c);

/* From now on, worker @i reads @s, which stays until crew_unwatch(); descriptors below 0
 * are not watched. While the crew is paused, or before it runs. 0 or -errno. */
int crew_watch(struct crew *c, unsigned i, struct crew_source *s);
/* One that is not watched is fine. */
void crew_unwatch(struct crew *c, unsigned i, struct crew_source *s);

/* No worker is within a walk from here until crew_resume(). May nest. Lane's own thread,
 * which must not hold the lane's lock. NULL is fine. */
void crew_pause(struct crew *c);
void crew_resume(struct crew *c);

#endif
