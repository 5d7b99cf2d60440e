/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "log.h"
#include "loop.h"
#include "reconcile_internal.h"

enum {
	/* A lane that starts or ends has one of its sockets for a moment. */
	UAPI_ONLY_BELIEVED = 5,
	/* Of the time, the part that goes into looking where somebody answers, but not as a
	 * lane does, which may take seconds. */
	SEEK_SHARE = 10,
};

static void want_pass(struct reconcile *r)
{
	r->asap = true;
	reconcile_schedule(r);
}

static void set_reason(struct reconcile *r, const char *reason)
{
	snprintf(r->state.lane_reason, sizeof(r->state.lane_reason), "%s", reason);
}

/* Once per reason, which goes on after the lane's name. */
static void tell_reason(struct reconcile *r, bool is_fault, const char *reason)
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
	tell_reason(r, true, reason);
}

/* The other end never speaks first: whatever comes is the end. */
static void on_lane_readable(uv_poll_t *poll, int status, int events)
{
	struct reconcile *r = poll->data;
	char byte;
	ssize_t len = recv(r->ops->lane_watch_fd(r->lane), &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	(void)events;
	if (len < 0 && (errno == EAGAIN || errno == EINTR) && status >= 0)
		return;
	reconcile_lane_lost(r, len > 0 ? -EPROTO : -EPIPE);
}

static void on_lane_timer(uv_timer_t *timer)
{
	reconcile_lane_seek(timer->data);
}

static void drop_lane(struct reconcile *r)
{
	loop_poll_free(&r->lane_poll);
	if (r->lane)
		r->ops->lane_close(r->lane);
	r->lane = NULL;
	r->state.lane_there = false;
}

void reconcile_lane_lost(struct reconcile *r, int err)
{
	if (!r->lane)
		return;
	drop_lane(r);
	if (err == -EPIPE)
		tell_reason(r, true, "has ended");
	else
		tell_error(r, err);
	uv_timer_start(r->lane_timer, on_lane_timer, r->args.times.lane_retry, 0);
	/* Its device may be gone: what is behind it must be unreachable and not open. A
	 * pass that runs looks after that itself. */
	r->asap = r->asap || !r->in_pass;
	reconcile_schedule(r);
}

static int take_lane(struct reconcile *r, struct lane_client *lane)
{
	int err = loop_poll_new(r->args.loop, r->ops->lane_watch_fd(lane), on_lane_readable, r,
				&r->lane_poll);

	if (err) {
		r->ops->lane_close(lane);
		return err;
	}
	r->lane = lane;
	r->state.lane_there = true;
	r->state.lane_uapi_only = false;
	r->n_uapi_only = 0;
	if (r->had_lane)
		r->state.n_lane_returns++;
	r->had_lane = true;
	set_reason(r, "");
	log_info("lane %s answers", r->config->lane.interface);
	want_pass(r);
	return 0;
}

static void explain(struct reconcile *r, int err, bool uapi_only)
{
	const bool was_believed = r->state.lane_uapi_only;

	r->n_uapi_only = uapi_only ? r->n_uapi_only + 1 : 0;
	r->state.lane_uapi_only = r->n_uapi_only >= UAPI_ONLY_BELIEVED;
	if (r->state.lane_uapi_only != was_believed)
		want_pass(r); /* after which the agent looks at the state */
	if (r->state.lane_uapi_only)
		tell_reason(r, true,
			    "is none: wireguard-go or an older sealaned answers; ports are not "
			    "possible");
	else if (!uapi_only && (err == -ENOENT || err == -ECONNREFUSED))
		/* After one that ended it need not be said again. */
		tell_reason(r, false, r->had_lane ? "has ended" : "is awaited");
	else if (!uapi_only)
		tell_error(r, err);
}

void reconcile_lane_seek(struct reconcile *r)
{
	const uint64_t begin_ms = uv_hrtime() / 1000000;
	struct lane_client *lane;
	bool uapi_only = false;
	uint64_t delay_ms;
	int err = r->ops->lane_open(r->config->lane.interface, &lane, &uapi_only);

	if (!err)
		err = take_lane(r, lane);
	if (!err)
		return;
	explain(r, err, uapi_only);
	uv_update_time(r->args.loop);
	delay_ms = SEEK_SHARE * (uv_hrtime() / 1000000 - begin_ms);
	if (delay_ms < r->args.times.lane_retry)
		delay_ms = r->args.times.lane_retry;
	uv_timer_start(r->lane_timer, on_lane_timer, delay_ms, 0);
}

void reconcile_lane_stop(struct reconcile *r)
{
	drop_lane(r);
	loop_timer_free(&r->lane_timer);
}
