/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "config.h"
#include "keyfile.h"
#include "log.h"
#include "loop.h"
#include "overlay/monitor.h"
#include "overlay/nl.h"
#include "reconcile_internal.h"

static const struct reconcile_times default_times = {
	.period = RECONCILE_PERIOD_MS,
	.settle = RECONCILE_SETTLE_MS,
	.lane_retry = RECONCILE_LANE_RETRY_MS,
	.fault_retry = RECONCILE_FAULT_RETRY_MS,
	.fault_retry_max = RECONCILE_FAULT_RETRY_MAX_MS,
};
static const struct reconcile_lane_times default_lane_times = {
	.answer = RECONCILE_LANE_ANSWER_MS,
	.pulse = RECONCILE_LANE_PULSE_MS,
};

static void on_pass_timer(uv_timer_t *timer);
static void on_monitor(uv_poll_t *poll, int status, int events);

/* When */

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void reconcile_schedule(struct reconcile *r)
{
	const uint64_t now = uv_now(r->args.loop);
	uint64_t due = min_u64(r->period_due_ms, r->retry_due_ms);

	due = min_u64(due, event_gate_due_ms(&r->gate));
	if (r->asap || due < now)
		due = now;
	uv_timer_start(r->pass_timer, on_pass_timer, due - now, 0);
}

void reconcile_want_pass(struct reconcile *r)
{
	r->asap = true;
	reconcile_schedule(r);
}

/* Faults may be somebody else's to mend: soon again at first, then ever less often. */
static void plan_retry(struct reconcile *r, uint64_t now)
{
	const struct reconcile_times *t = &r->args.times;

	if (r->state.synced) {
		r->retry_due_ms = UINT64_MAX;
		r->retry_ms = t->fault_retry;
		return;
	}
	r->retry_due_ms = now + r->retry_ms;
	r->retry_ms = min_u64(2 * r->retry_ms, t->fault_retry_max);
}

/* Nothing is begun with a lane of which it is not known that it answers now. */
static bool waits_for_lane(struct reconcile *r)
{
	const bool is_looking = reconcile_lane_is_looking(r);

	r->pass_waits = (is_looking || !r->looked) && reconcile_lane_look(r, false);
	return r->pass_waits;
}

static void on_pass_timer(uv_timer_t *timer)
{
	struct reconcile *r = timer->data;
	const uint64_t begin = uv_now(r->args.loop);
	uint64_t now;

	if (r->held || waits_for_lane(r))
		return;
	r->looked = false;
	r->asap = false;
	reconcile_pass_run(r);
	now = uv_now(r->args.loop);
	event_gate_passed(&r->gate, begin, now - begin);
	r->period_due_ms = now + r->args.times.period;
	plan_retry(r, now);
	reconcile_schedule(r);
	if (r->args.on_pass)
		r->args.on_pass(r->args.ctx);
}

/* Events of the kernel */

static void on_event(const struct monitor_event *ev, void *arg)
{
	struct reconcile *r = arg;

	if (ev->kind == MONITOR_OVERRUN)
		r->state.n_overruns++;
	if (ev->kind == MONITOR_NEIGH && !r->ops->watch_wants_pass(r->watch, ev))
		return;
	event_gate_event(&r->gate, uv_now(r->args.loop));
}

/* Lost events show as an error of the socket, for which libuv stops the handle. What
 * cannot be read is lost as well. */
static void on_monitor(uv_poll_t *poll, int status, int events)
{
	struct reconcile *r = poll->data;

	(void)events;
	if (r->ops->monitor_read(r->monitor, on_event, r)) {
		r->state.n_overruns++;
		event_gate_event(&r->gate, uv_now(r->args.loop));
	}
	if (status < 0)
		uv_poll_start(poll, UV_READABLE, on_monitor);
	reconcile_schedule(r);
}

/* Life */

static int open_parts(struct reconcile *r)
{
	uv_loop_t *loop = r->args.loop;
	int err;

	r->memory = r->ops->memory_new();
	r->pass_timer = loop_timer_new(loop, r);
	r->lane_timer = loop_timer_new(loop, r);
	if (!r->memory || !r->pass_timer || !r->lane_timer)
		return -ENOMEM;
	err = nl_open(&r->nl);
	if (!err)
		err = r->ops->monitor_open(&r->monitor);
	if (!err)
		err = loop_poll_new(loop, r->ops->monitor_fd(r->monitor), on_monitor, r,
				    &r->monitor_poll);
	return err;
}

int reconcile_start(const struct reconcile_args *args, const struct config *config,
		    struct reconcile **ret)
{
	static const struct reconcile_times none;
	struct reconcile *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->args = *args;
	if (!memcmp(&args->times, &none, sizeof(none)))
		r->args.times = default_times;
	if (!args->lane_times.answer)
		r->args.lane_times = default_lane_times;
	TAILQ_INIT(&r->waiters);
	r->ops = args->ops;
	r->config = config;
	memcpy(r->facts.private_key, args->private_key, NODE_KEY_LEN);
	sodium_memzero(r->args.private_key, NODE_KEY_LEN);
	key_public(r->facts.private_key, r->facts.public_key);
	r->period_due_ms = r->retry_due_ms = UINT64_MAX;
	r->retry_ms = r->args.times.fault_retry;
	event_gate_init(&r->gate, r->args.times.settle, uv_now(args->loop));
	err = open_parts(r);
	if (err) {
		reconcile_stop(r);
		return err;
	}
	r->asap = true;
	reconcile_lane_seek(r);
	reconcile_schedule(r);
	*ret = r;
	return 0;
}

static void free_members(struct member *members, size_t n)
{
	for (size_t i = 0; i < n; i++)
		member_clear(&members[i]);
	free(members);
}

void reconcile_stop(struct reconcile *r)
{
	if (!r)
		return;
	reconcile_lane_stop(r);
	loop_timer_free(&r->pass_timer);
	loop_poll_free(&r->monitor_poll);
	if (r->monitor)
		r->ops->monitor_close(r->monitor);
	nl_close(r->nl);
	reconcile_pass_forget(r);
	r->ops->watch_free(r->watch);
	if (r->memory)
		r->ops->memory_free(r->memory);
	free_members(r->members, r->n_members);
	told_done(&r->conflicts);
	told_done(&r->faults);
	sodium_memzero(&r->facts, sizeof(r->facts));
	free(r);
}

/* What is desired changes */

static void renew(struct reconcile *r)
{
	reconcile_pass_forget(r);
	r->asap = true;
	reconcile_schedule(r);
}

void reconcile_config(struct reconcile *r, const struct config *config)
{
	r->config = config;
	renew(r);
}

int reconcile_members(struct reconcile *r, const struct member *members, size_t n_members)
{
	struct member *copies = calloc(n_members + 1, sizeof(*copies));

	if (!copies)
		return -ENOMEM;
	for (size_t i = 0; i < n_members; i++) {
		if (member_copy(&members[i], &copies[i])) {
			free_members(copies, i);
			return -ENOMEM;
		}
	}
	reconcile_pass_forget(r); /* before what it borrows goes */
	free_members(r->members, r->n_members);
	r->members = copies;
	r->n_members = n_members;
	renew(r);
	return 0;
}

void reconcile_hold(struct reconcile *r, bool held)
{
	const bool released = r->held && !held;

	r->held = held;
	if (released)
		reconcile_want_pass(r);
}

/* What it tells */

const struct reconcile_state *reconcile_state(const struct reconcile *r)
{
	return &r->state;
}

const struct desired *reconcile_desired(const struct reconcile *r)
{
	return r->desired;
}
