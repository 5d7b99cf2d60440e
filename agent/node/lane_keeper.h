/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sees to it that a lane runs, where starting it is ours to do (lane_process_wanted()):
 * one that runs already is used, whoever started it, and one that ends is started
 * again, at once at first and ever less often if it does not stay. Control thread.
 */
#ifndef SEALANE_NODE_LANE_KEEPER_H
#define SEALANE_NODE_LANE_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

struct config_lane;
struct lane_keeper;

struct lane_keeper_times {
	uint64_t first_ms, max_ms; /* between an end and a start; doubles in between */
	uint64_t stays_ms;	   /* one that answered for so long begins anew with the first */
};
#define LANE_KEEPER_TIMES                                                                          \
	{                                                                                          \
		200, 10000, 1000                                                                   \
	}

/* The delay after @delay_ms (0: none yet) for a lane that answered for so long. Pure. */
uint64_t lane_keeper_delay_ms(const struct lane_keeper_times *times, uint64_t delay_ms,
			      uint64_t answered_ms);

/* NULL: no memory. */
struct lane_keeper *lane_keeper_new(uv_loop_t *loop, const struct lane_keeper_times *times);
/* Wanted or not, and how to start one; @config is borrowed until the next call. */
void lane_keeper_config(struct lane_keeper *k, const struct config_lane *config, bool wanted);
/* Whether some lane, ours or not, answers (or occupies the name). */
void lane_keeper_there(struct lane_keeper *k, bool there);
pid_t lane_keeper_pid(const struct lane_keeper *k); /* 0: none of ours runs */

/* Both free it. The first leaves a lane that we started; the second ends it, for which
 * the loop has to run on, and calls @ended in any case. */
void lane_keeper_leave(struct lane_keeper *k);
void lane_keeper_end(struct lane_keeper *k, void (*ended)(void *ctx), void *ctx);

#endif
