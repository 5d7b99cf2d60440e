/* SPDX-License-Identifier: Apache-2.0 */
/* Somebody who waits for what the lane tells. Control thread. */
#ifndef SEALANE_NODE_LANE_WAITER_H
#define SEALANE_NODE_LANE_WAITER_H

#include <stdbool.h>
#include <sys/queue.h>

/* In memory of the one who waits, which must stay while @waits is set. */
struct lane_waiter {
	/* Called once per wait, @waits is false again by then. Must not wait again at once. */
	void (*told)(void *ctx);
	void *ctx;
	bool waits;
	TAILQ_ENTRY(lane_waiter) entry;
};
TAILQ_HEAD(lane_waiters, lane_waiter);

#endif
