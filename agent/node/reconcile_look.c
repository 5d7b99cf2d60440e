/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation: a lane may be stopped or stuck, with its sockets as open as ever, and
 * nobody may wait for it in a turn of the loop. So it is asked something whose answer the
 * loop waits for: now and then, before each pass, and for whoever wants to know what it
 * tells. Only while it answers is it the lane of passes, which ask it without the loop.
 *
 * One that does not answer in time is silent. The connection and its question stay: the
 * answer, whenever it comes, is how it returns, and an end of file is its end.
 */
#include <errno.h>
#include <sys/socket.h>

#include "log.h"
#include "loop.h"
#include "reconcile_internal.h"

static void on_lane_timer(uv_timer_t *timer);

bool reconcile_lane_is_looking(const struct reconcile *r)
{
	return r->looking[LANE_UAPI] || r->looking[LANE_CONTROL];
}

void reconcile_lane_timer(struct reconcile *r, uint64_t delay_ms)
{
	uv_timer_start(r->lane_timer, on_lane_timer, delay_ms, 0);
}

/* The end of a look, whether there are news or not. */
void reconcile_lane_looked(struct reconcile *r)
{
	struct lane_waiter *waiter;

	while ((waiter = TAILQ_FIRST(&r->waiters))) {
		TAILQ_REMOVE(&r->waiters, waiter, entry);
		waiter->waits = false;
		waiter->told(waiter->ctx);
	}
	for (int i = 0; i < LANE_SOCKETS; i++) {
		lane_answer_free(r->news[i]);
		r->news[i] = NULL;
	}
	if (!r->pass_waits)
		return;
	r->pass_waits = false;
	r->looked = true;
	reconcile_want_pass(r);
}

/* Looking */

static int begin_look(struct reconcile *r, enum lane_socket which)
{
	int err = r->looking[which] ? 0 : r->ops->lane_look(r->client, which);

	r->looking[which] = r->looking[which] || !err;
	return err;
}

bool reconcile_lane_look(struct reconcile *r, bool at_both)
{
	const bool was_looking = reconcile_lane_is_looking(r);
	int err;

	if (!r->client || r->state.lane_silent)
		return false;
	err = begin_look(r, LANE_CONTROL);
	if (!err && at_both)
		err = begin_look(r, LANE_UAPI);
	if (err) {
		reconcile_lane_lost(r, err);
		return false;
	}
	if (!was_looking)
		reconcile_lane_timer(r, r->args.lane_times.answer);
	return true;
}

static void fall_silent(struct reconcile *r)
{
	r->lane = NULL;
	r->state.lane_there = false;
	reconcile_lane_owned(r, true, true);
	reconcile_lane_tell(r, true, "does not answer");
	reconcile_want_pass(r); /* after which the agent looks at the state */
	reconcile_lane_looked(r);
}

/* Answers */

static void take_answer(struct reconcile *r, enum lane_socket which, char *answer)
{
	r->looking[which] = false;
	lane_answer_free(r->news[which]);
	r->news[which] = answer;
	reconcile_lane_answers(r);
	if (reconcile_lane_is_looking(r)) {
		reconcile_lane_timer(r, r->args.lane_times.answer);
		return;
	}
	reconcile_lane_timer(r, r->args.lane_times.pulse);
	reconcile_lane_looked(r);
}

/* A lane never speaks first: what comes unasked is the end. */
static void take_unasked(struct reconcile *r, enum lane_socket which, int status)
{
	char byte;
	const ssize_t len = recv(r->ops->lane_fd(r->client, which), &byte, 1,
				 MSG_PEEK | MSG_DONTWAIT);

	if (len < 0 && (errno == EAGAIN || errno == EINTR) && status >= 0)
		return;
	reconcile_lane_lost(r, len > 0 ? -EPROTO : -EPIPE);
}

/* False: there is more to come. */
static bool take_more(struct reconcile *r, enum lane_socket which)
{
	char *answer;
	int err = r->ops->lane_look_more(r->client, which, &answer);

	if (!err)
		take_answer(r, which, answer);
	else if (err != -EAGAIN)
		reconcile_lane_lost(r, err);
	return err != -EAGAIN;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	const struct lane_watch *watch = poll->data;
	struct reconcile *r = watch->r;

	(void)events;
	if (!r->looking[watch->which])
		take_unasked(r, watch->which, status);
	else if (take_more(r, watch->which))
		return;
	else if (status < 0)
		reconcile_lane_lost(r, -EPIPE);
	else if (!r->state.lane_silent)
		reconcile_lane_timer(r, r->args.lane_times.answer); /* it has begun to */
}

/* Time is over. It may have been ours that was short: an answer that is there counts. */
static void end_look(struct reconcile *r)
{
	bool answers = false;

	for (int i = 0; i < LANE_SOCKETS; i++)
		answers = (r->looking[i] && take_more(r, (enum lane_socket)i)) || answers;
	if (!answers)
		fall_silent(r);
}

static void on_lane_timer(uv_timer_t *timer)
{
	struct reconcile *r = timer->data;

	if (!r->client)
		reconcile_lane_seek(r);
	else if (reconcile_lane_is_looking(r))
		end_look(r);
	else
		reconcile_lane_look(r, false);
}

/* Connections */

int reconcile_lane_watch(struct reconcile *r, struct lane_client *client)
{
	int err = 0;

	r->client = client;
	r->client_answered = false;
	for (int i = 0; !err && i < LANE_SOCKETS; i++) {
		struct lane_watch *watch = &r->lane_watches[i];

		watch->r = r;
		watch->which = (enum lane_socket)i;
		err = loop_poll_new(r->args.loop, r->ops->lane_fd(client, watch->which),
				    on_readable, watch, &watch->poll);
	}
	if (!err)
		err = begin_look(r, LANE_CONTROL);
	if (err)
		reconcile_lane_unwatch(r);
	else
		reconcile_lane_timer(r, r->args.lane_times.answer);
	return err;
}

void reconcile_lane_unwatch(struct reconcile *r)
{
	for (int i = 0; i < LANE_SOCKETS; i++) {
		loop_poll_free(&r->lane_watches[i].poll);
		r->looking[i] = false;
	}
	if (r->client)
		r->ops->lane_close(r->client);
	r->client = r->lane = NULL;
	r->state.lane_there = false;
}

/* Those who wait */

void reconcile_lane_refresh(struct reconcile *r, struct lane_waiter *waiter)
{
	if (!reconcile_lane_look(r, true)) {
		waiter->told(waiter->ctx);
		return;
	}
	waiter->waits = true;
	TAILQ_INSERT_TAIL(&r->waiters, waiter, entry);
}

void reconcile_lane_forget(struct reconcile *r, struct lane_waiter *waiter)
{
	if (!waiter->waits)
		return;
	waiter->waits = false;
	TAILQ_REMOVE(&r->waiters, waiter, entry);
}

const char *reconcile_lane_news(const struct reconcile *r, enum lane_socket which)
{
	return r->news[which];
}
