/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock for a few dozen instructions that nearly never finds another holder: the replay
 * window of a session, the table of a port. Four bytes, zero is free. Who waits long lets
 * others run, for there may be more threads than CPUs.
 */
#ifndef SEALANE_LANE_SHORTLOCK_H
#define SEALANE_LANE_SHORTLOCK_H

#include <sched.h>
#include <stdint.h>

static inline void shortlock_take(uint32_t *lock)
{
	unsigned n_tries = 0;

	while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE)) {
		while (__atomic_load_n(lock, __ATOMIC_RELAXED)) {
			if (++n_tries % 64 == 0)
				sched_yield();
		}
	}
}

static inline void shortlock_give(uint32_t *lock)
{
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

#endif
