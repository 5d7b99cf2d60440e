/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "log.h"
#include "loop.h"
#include "reconcile_internal.h"

/* A lane that starts or ends has one of its sockets for a moment. */
enum { UAPI_ONLY_BELIEVED = 5 };

static void set_reason(struct reconcile *r, const char *reason)
{
	snprintf(r->state.lane_reason, sizeof(r->state.lane_reason), "%s", reason);
}

void reconcile_lane_tell(struct reconcile *r, bool is_fault, const char *reason)
{
	if (!strcmp(r->state.lane_reason, reason))
		return;
	set_reason(r, reason);
	if (is_fault)
		log_error("lane %s %s", r->config->lane.interface, reason);
	else
		log_info("lane %s %s", r->config->lane.interface, reason);
}

static void tell_error(struct reconcile *r, int err)
{
	char reason[LANE_REASON_LEN];

	snprintf(reason, sizeof(reason), "cannot be asked: %s", strerror(-err));
	reconcile_lane_tell(r, true, reason);
}

void reconcile_lane_owned(struct reconcile *r, bool owned, bool silent)
{
	const bool changes = r->state.lane_owned != owned;

	r->state.lane_owned = owned;
	r->state.lane_silent = silent;
	if (changes && r->args.on_lane)
		r->args.on_lane(r->args.ctx);
}

static void tell_end(struct reconcile *r)
{
	if (r->had_lane)
		reconcile_lane_tell(r, r->client_answered, "has ended");
	else
		reconcile_lane_tell(r, false, "is awaited");
}

void reconcile_lane_lost(struct reconcile *r, int err)
{
	const bool was_there = r->client_answered || r->state.lane_silent;

	if (!r->client)
		return;
	reconcile_lane_unwatch(r);
	if (err == -EPIPE)
		tell_end(r);
	else if (err == -ETIMEDOUT)
		reconcile_lane_tell(r, true, "does not answer");
	else
		tell_error(r, err);
	/* All but one that has ended may be there still, which the next search tells. */
	reconcile_lane_owned(r, err != -EPIPE, err == -ETIMEDOUT);
	reconcile_lane_timer(r, r->args.times.lane_retry);
	/* Its device may be gone: what is behind it must be unreachable and not open. A
	 * pass that runs looks after that itself. */
	r->asap = r->asap || (was_there && !r->in_pass);
	reconcile_schedule(r);
	reconcile_lane_looked(r);
}

void reconcile_lane_answers(struct reconcile *r)
{
	if (r->lane)
		return;
	r->lane = r->client;
	r->state.lane_there = true;
	r->state.lane_uapi_only = false;
	r->state.synced = false; /* what it has been given so far is nothing */
	r->n_uapi_only = 0;
	if (r->had_lane && !r->client_answered)
		r->state.n_lane_returns++;
	r->had_lane = true;
	set_reason(r, "");
	log_info("lane %s answers%s", r->config->lane.interface,
		 r->client_answered ? " again" : "");
	r->client_answered = true;
	reconcile_lane_owned(r, true, false);
	reconcile_want_pass(r);
}

static void explain(struct reconcile *r, int err, bool uapi_only)
{
	const bool was_believed = r->state.lane_uapi_only;

	r->n_uapi_only = uapi_only ? r->n_uapi_only + 1 : 0;
	r->state.lane_uapi_only = r->n_uapi_only >= UAPI_ONLY_BELIEVED;
	if (r->state.lane_uapi_only != was_believed)
		reconcile_want_pass(r); /* after which the agent looks at the state */
	if (r->state.lane_uapi_only)
		reconcile_lane_tell(
			r, true,
			"is none: wireguard-go or an older sealaned answers; ports are not "
			"possible");
	else if (!uapi_only && (err == -ENOENT || err == -ECONNREFUSED))
		/* After one that ended it need not be said again. */
		reconcile_lane_tell(r, false, r->had_lane ? "has ended" : "is awaited");
	else if (err == -EAGAIN)
		reconcile_lane_tell(r, true, "does not answer");
	else if (!uapi_only)
		tell_error(r, err);
}

void reconcile_lane_seek(struct reconcile *r)
{
	struct lane_client *client;
	bool uapi_only = false;
	int err = r->ops->lane_connect(r->config->lane.interface, &client, &uapi_only);

	if (!err)
		err = reconcile_lane_watch(r, client);
	if (!err) {
		reconcile_lane_owned(r, true, r->state.lane_silent);
		return;
	}
	reconcile_lane_owned(r, err == -EAGAIN, err == -EAGAIN);
	explain(r, err, uapi_only);
	reconcile_lane_timer(r, r->args.times.lane_retry);
}

void reconcile_lane_stop(struct reconcile *r)
{
	struct lane_waiter *waiter;

	reconcile_lane_unwatch(r);
	loop_timer_free(&r->lane_timer);
	while ((waiter = TAILQ_FIRST(&r->waiters)))
		reconcile_lane_forget(r, waiter);
}
