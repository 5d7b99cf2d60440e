/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "agent_internal.h"
#include "config.h"
#include "lane_keeper.h"
#include "lane_process.h"
#include "lane_value.h"
#include "lane_waiter.h"
#include "log.h"
#include "loop.h"
#include "reconcile.h"

/* The source of all that is told */

static const struct config *get_config(void *ctx)
{
	const struct agent *a = ctx;

	return a->config;
}

static struct reconcile *get_reconcile(void *ctx)
{
	const struct agent *a = ctx;

	return a->reconcile;
}

static const struct discovery *get_discovery(void *ctx)
{
	const struct agent *a = ctx;

	return a->discovery;
}

static const struct status_agent *get_agent(void *ctx)
{
	struct agent *a = ctx;

	a->status.lane_pid = a->keeper ? lane_keeper_pid(a->keeper) : 0;
	return &a->status;
}

static void refresh(void *ctx, struct lane_waiter *waiter)
{
	const struct agent *a = ctx;

	if (a->reconcile)
		reconcile_lane_refresh(a->reconcile, waiter);
	else
		waiter->told(waiter->ctx);
}

static void forget(void *ctx, struct lane_waiter *waiter)
{
	const struct agent *a = ctx;

	if (a->reconcile)
		reconcile_lane_forget(a->reconcile, waiter);
}

static int ask_lane(void *ctx, enum lane_socket which, void (*take)(char *answer, void *arg),
		    void *arg)
{
	const struct agent *a = ctx;
	const char *news = a->reconcile ? reconcile_lane_news(a->reconcile, which) : NULL;
	char *answer;

	if (!news)
		return -ENOTCONN;
	answer = lane_answer_copy(news);
	if (!answer)
		return -ENOMEM;
	take(answer, arg);
	lane_answer_free(answer);
	return 0;
}

void agent_status_init(struct agent *a)
{
	a->source = (struct status_source){
		.config = get_config,
		.reconcile = get_reconcile,
		.discovery = get_discovery,
		.agent = get_agent,
		.refresh = refresh,
		.forget = forget,
		.ask_lane = ask_lane,
		.ctx = a,
	};
	a->status.config_path = a->args.config_path;
	a->status.started_s = time(NULL);
}

void agent_http_start(struct agent *a)
{
	char address[LANE_ENDPOINT_TEXT_LEN];
	int err;

	if (!a->config->http.on || a->http)
		return;
	err = http_server_start(&a->loop, &a->config->http.listen, &a->source, &a->http);
	lane_value_format_endpoint(&a->config->http.listen, address);
	if (!err)
		log_info("metrics and health on http://%s", address);
	else if (!a->http_told)
		log_error("no metrics and health on http://%s: %s", address, strerror(-err));
	a->http_told = err != 0;
}

/* The service manager */

/* A reload that was refused counts as one there, for it did no harm: only here it shows. */
static void tell_status(struct agent *a)
{
	const char *refused = a->config_error ? "new configuration refused; " : "";
	char reason[STATUS_REASON_LEN], line[STATUS_REASON_LEN + 96];

	if (status_ready(&a->source, reason))
		snprintf(line, sizeof(line), "%slane %s, %zu overlays, %zu peers: in sync", refused,
			 a->config->lane.interface, a->config->n_overlays, a->config->n_peers);
	else
		snprintf(line, sizeof(line), "%s%s", refused, reason);
	notify_status(&a->notify, line);
}

void agent_is_ready(struct agent *a)
{
	int err;

	if (a->is_ready)
		return;
	a->is_ready = true;
	loop_timer_free(&a->ready_timer);
	err = notify_ready(&a->notify);
	if (err)
		log_error("cannot tell the service manager: %s", strerror(-err));
}

bool agent_wants_lane(const struct agent *a, const char **ret_reason)
{
	return lane_process_wanted(&a->config->lane, a->args.getenv_fn, ret_reason);
}

void agent_lane_tell(struct agent *a)
{
	const struct reconcile_state *s = a->keeper ? reconcile_state(a->reconcile) : NULL;

	if (s)
		lane_keeper_there(a->keeper, s->lane_owned || s->lane_uapi_only);
}

void agent_status_tell(struct agent *a)
{
	const struct reconcile_state *s = reconcile_state(a->reconcile);

	agent_lane_tell(a);
	tell_status(a);
	if (s->lane_there && s->n_passes)
		agent_is_ready(a);
	agent_http_start(a); /* which may have failed before */
}
