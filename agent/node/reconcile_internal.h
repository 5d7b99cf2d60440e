/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of reconcile.h share: one pass (reconcile_pass.c), the lane's coming
 * and going (reconcile_lane.c), and when to do what (reconcile.c). Control thread. */
#ifndef SEALANE_NODE_RECONCILE_INTERNAL_H
#define SEALANE_NODE_RECONCILE_INTERNAL_H

#include "desired.h"
#include "event_gate.h"
#include "lane_waiter.h"
#include "reconcile.h"
#include "told.h"

/* One of the client's sockets. */
struct lane_watch {
	struct reconcile *r;
	enum lane_socket which;
	uv_poll_t *poll;
};

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

	struct lane_client *client; /* connected; NULL: no lane */
	struct lane_client *lane;   /* the same, and it answers; else NULL */
	struct lane_watch lane_watches[LANE_SOCKETS];
	bool looking[LANE_SOCKETS]; /* an answer is awaited; by enum lane_socket */
	bool client_answered;	    /* at least once */
	uv_timer_t *lane_timer; /* to look for it, at it, or to give up waiting for its answer */
	struct lane_waiters waiters;
	char *news[LANE_SOCKETS]; /* what came for them, until the look is over */
	bool pass_waits, looked;  /* for the end of a look; it may begin */
	struct sync_lane_memory *memory;
	unsigned n_uapi_only; /* in a row */
	bool had_lane;

	struct monitor *monitor;
	uv_poll_t *monitor_poll;
	struct event_gate gate;
	struct station_watch *watch; /* NULL before the first pass */

	uv_timer_t *pass_timer;
	bool asap; /* a pass is wanted at once */
	bool held; /* and none is made */
	bool in_pass;
	uint64_t period_due_ms, retry_due_ms; /* UINT64_MAX: not */
	uint64_t retry_ms;
};

/* reconcile.c: the pass timer after any of its reasons changed. */
void reconcile_schedule(struct reconcile *r);

void reconcile_want_pass(struct reconcile *r); /* at once */

/* reconcile_pass.c: compares and changes; state and log know of it then. */
void reconcile_pass_run(struct reconcile *r);
/* Of what the last pass was for. */
void reconcile_pass_forget(struct reconcile *r);

/* reconcile_lane.c */
void reconcile_lane_seek(struct reconcile *r);
void reconcile_lane_stop(struct reconcile *r);
/* Logs why there is no lane, once per reason, which goes on after its name. */
void reconcile_lane_tell(struct reconcile *r, bool is_fault, const char *reason);
/* Whether somebody holds its sockets, and does not answer. */
void reconcile_lane_owned(struct reconcile *r, bool owned, bool silent);
void reconcile_lane_answers(struct reconcile *r); /* the client does */

/* reconcile_look.c. Takes the client, in any case. 0 or -errno, then it is closed. */
int reconcile_lane_watch(struct reconcile *r, struct lane_client *client);
void reconcile_lane_unwatch(struct reconcile *r); /* closes the client, if there is one */
/* Asks for an answer on the control socket, or on both. False: there is nobody to answer. */
bool reconcile_lane_look(struct reconcile *r, bool at_both);
bool reconcile_lane_is_looking(const struct reconcile *r);
/* All who wait for an answer go on. */
void reconcile_lane_looked(struct reconcile *r);
void reconcile_lane_timer(struct reconcile *r, uint64_t delay_ms);

#endif
