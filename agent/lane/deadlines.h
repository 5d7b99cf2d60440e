/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A binary min-heap of deadlines, each embedded in its owner, so that 20,000
 * peers cost one timer. Heap and entries start zero-initialised; an owner takes
 * its entry out before it is freed. Control thread.
 */
#ifndef SEALANE_LANE_DEADLINES_H
#define SEALANE_LANE_DEADLINES_H

#include <stddef.h>
#include <stdint.h>

struct deadline {
	uint64_t at_ns; /* 0: not queued; atomic for those without the lock */
	size_t pos;	/* place in the heap + 1; 0 = not queued */
};

struct deadlines {
	struct deadline **heap;
	size_t n, capacity;
};

/* Frees the heap; entries still queued are not touched. */
void deadlines_done(struct deadlines *d);
/* Makes room for @n entries in all; 0 or -ENOMEM. Called when an owner is
 * created, so that deadlines_set() cannot fail. */
int deadlines_reserve(struct deadlines *d, size_t n);
/* Queues or moves @e; UINT64_MAX takes it out. */
void deadlines_set(struct deadlines *d, struct deadline *e, uint64_t at_ns);
/* When it is due, 0: not queued. Any thread. */
uint64_t deadline_at_ns(const struct deadline *e);
/* Earliest deadline, UINT64_MAX when none. */
uint64_t deadlines_next(const struct deadlines *d);
/* Takes the earliest entry out (its pos is then 0) if it is due at @now_ns, else
 * NULL. Equal deadlines come in any order. */
struct deadline *deadlines_pop(struct deadlines *d, uint64_t now_ns);

#endif
