/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of reconcile.h share: one pass (reconcile_pass.c), the lane's coming
 * and going (reconcile_lane.c), and when to do what (reconcile.c). Control thread. */
#ifndef SEALANE_NODE_RECONCILE_INTERNAL_H
#define SEALANE_NODE_RECONCILE_INTERNAL_H

#include "desired.h"
#include "event_gate.h"
#include "reconcile.h"
#include "told.h"

struct reconcile {
	struct reconcile_args args;
	const struct reconcile_ops *ops;
	const struct config *config;
	struct member *members; /* of discovery; owned */
	size_t n_members;
	struct reconcile_state state;
	struct told conflicts, faults;

	/* What the last pass was for. */
	struct desired *desired;
	struct member *given; /* what it borrows: shallow copies of all members */
	size_t n_given;
	struct desired_facts facts;
	struct nl *nl;

	struct lane_client *lane; /* NULL: none */
	uv_poll_t *lane_poll;
	uv_timer_t *lane_timer; /* runs while there is none */
	struct sync_lane_memory *memory;
	unsigned n_uapi_only; /* in a row */
	bool had_lane;

	struct monitor *monitor;
	uv_poll_t *monitor_poll;
	struct event_gate gate;

	uv_timer_t *pass_timer;
	bool asap; /* a pass is wanted at once */
	bool in_pass;
	uint64_t period_due_ms, retry_due_ms; /* UINT64_MAX: not */
	uint64_t retry_ms;
};

/* reconcile.c: the pass timer after any of its reasons changed. */
void reconcile_schedule(struct reconcile *r);

/* reconcile_pass.c: compares and changes; state and log know of it then. */
void reconcile_pass_run(struct reconcile *r);
/* Of what the last pass was for. */
void reconcile_pass_forget(struct reconcile *r);

/* reconcile_lane.c */
void reconcile_lane_seek(struct reconcile *r);
void reconcile_lane_stop(struct reconcile *r);

#endif
