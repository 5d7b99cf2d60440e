/* SPDX-License-Identifier: Apache-2.0 */
#include "agent.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "agent_internal.h"
#include "config.h"
#include "env_names.h"
#include "keyfile.h"
#include "lane_keeper.h"
#include "log.h"
#include "loop.h"
#include "reconcile.h"

/* Without a lane there is nothing to wait for but one that somebody else may start. */
enum { READY_WITHOUT_LANE_MS = 5000 };

static void begin_stop(struct agent *a, bool end_lane);

/* Signals */

static void on_signal(uv_signal_t *handle, int signum)
{
	struct agent *a = handle->data;

	if (signum == SIGHUP)
		agent_config_reload(a);
	else
		begin_stop(a, signum == SIGINT);
}

static int start_signals(struct agent *a)
{
	static const int signums[AGENT_SIGNALS] = {SIGHUP, SIGINT, SIGTERM};
	int err = 0;

	for (unsigned i = 0; !err && i < AGENT_SIGNALS; i++) {
		err = uv_signal_init(&a->loop, &a->signals[i]);
		if (err)
			break;
		a->n_signals++;
		a->signals[i].data = a;
		err = uv_signal_start(&a->signals[i], on_signal, signums[i]);
	}
	return err;
}

/* Times */

static void on_ready_timer(uv_timer_t *timer)
{
	agent_is_ready(timer->data);
}

static void on_watchdog(uv_timer_t *timer)
{
	struct agent *a = timer->data;

	notify_watchdog(&a->notify);
}

static int start_timers(struct agent *a)
{
	uint64_t half_ms = a->notify.watchdog_us / 2000;

	a->ready_timer = loop_timer_new(&a->loop, a);
	a->watchdog_timer = loop_timer_new(&a->loop, a);
	if (!a->ready_timer || !a->watchdog_timer)
		return -ENOMEM;
	uv_timer_start(a->ready_timer, on_ready_timer, READY_WITHOUT_LANE_MS, 0);
	if (a->notify.watchdog_us)
		uv_timer_start(a->watchdog_timer, on_watchdog, half_ms, half_ms ? half_ms : 1);
	return 0;
}

/* Parts in the order in which they start */

static int take_lock(struct agent *a)
{
	char why[AGENT_LOCK_TEXT_LEN];
	int err;

	notify_status(&a->notify, "looks whether another agent is at work");
	err = agent_lock_take(a->args.lock_folder, a->config->lane.interface,
			      a->args.lock_patience_ms, &a->lock, why);
	if (err == -EADDRINUSE)
		log_error("%s; two agents would undo each other's work, so a lane and a network "
			  "namespace have one",
			  why);
	else if (err)
		log_error("%s", why);
	return err;
}

static int start_status(struct agent *a)
{
	const char *path = a->args.getenv_fn("SEALANE_AGENT_SOCKET");
	int err;

	if (!path || !*path)
		path = STATUS_SOCKET;
	err = status_server_start(&a->loop, path, &a->source, &a->status_server);
	if (err == -EADDRINUSE)
		log_error("another agent answers on %s; one in another network namespace needs "
			  "a socket of its own: SEALANE_AGENT_SOCKET",
			  path);
	else if (err)
		log_error("cannot make the status socket %s: %s", path, strerror(-err));
	return err;
}

static const char *key_fault(int err)
{
	switch (err) {
	case -EINVAL:
		return "there is no WireGuard key in it";
	case -EPERM:
		return "others may read it, or it is no file: chmod 600";
	default:
		return strerror(-err);
	}
}

static int load_key(const struct agent *a, uint8_t private_key[KEY_LEN])
{
	const char *path = a->config->node.private_key_file;
	uint8_t public_key[KEY_LEN];
	char text[KEY_TEXT_LEN];
	bool is_new = false;
	int err = keyfile_ensure(path, private_key, &is_new);

	if (err) {
		log_error("private key %s: %s", path, key_fault(err));
		return err;
	}
	key_public(private_key, public_key);
	log_info("%s private key %s, public key %s", is_new ? "new" : "has", path,
		 key_format(public_key, text));
	return 0;
}

static void on_pass(void *ctx)
{
	agent_status_tell(ctx);
}

static void on_lane(void *ctx)
{
	agent_lane_tell(ctx);
}

static int start_reconcile(struct agent *a)
{
	struct reconcile_args args = {
		.loop = &a->loop,
		.ops = &reconcile_system,
		.on_pass = on_pass,
		.on_lane = on_lane,
		.ctx = a,
	};
	int err = load_key(a, args.private_key);

	if (err)
		return err;
	err = reconcile_start(&args, a->config, &a->reconcile);
	sodium_memzero(args.private_key, sizeof(args.private_key));
	if (err)
		log_error("cannot follow the kernel: %s", strerror(-err));
	return err;
}

static int start_lane(struct agent *a)
{
	static const struct lane_keeper_times times = LANE_KEEPER_TIMES;
	const char *reason;
	bool wanted;

	a->keeper = lane_keeper_new(&a->loop, &times);
	if (!a->keeper)
		return -ENOMEM;
	wanted = agent_wants_lane(a, &reason);
	log_debug("%s a lane where there is none: %s", wanted ? "starts" : "does not start",
		  reason);
	agent_lane_tell(a);
	lane_keeper_config(a->keeper, &a->config->lane, wanted);
	return 0;
}

/* What fails only without memory or descriptors. */
static int start_rest(struct agent *a)
{
	int err = start_lane(a);

	if (!err) {
		agent_http_start(a);
		err = start_timers(a);
	}
	if (!err)
		err = start_signals(a);
	if (err)
		log_error("cannot start: %s", strerror(-err));
	return err;
}

static int start_parts(struct agent *a)
{
	int err = agent_config_load(a);

	if (!err)
		err = take_lock(a);
	if (!err)
		err = start_status(a);
	if (!err)
		err = start_reconcile(a);
	if (!err)
		err = agent_discovery_start(a);
	if (!err)
		err = start_rest(a);
	return err;
}

int agent_start(const struct agent_args *args, struct agent **ret)
{
	struct agent *a = calloc(1, sizeof(*a));
	int err;

	*ret = a;
	if (!a)
		return -ENOMEM;
	a->args = *args;
	a->lock = AGENT_LOCK_NONE;
	log_open(args->getenv_fn);
	env_names_check(args->environment, agent_tell_variable);
	if (notify_init(&a->notify, args->getenv_fn))
		log_error("NOTIFY_SOCKET is not the name of a unix socket: it is not used");
	agent_status_init(a);
	err = uv_loop_init(&a->loop);
	if (err)
		return err;
	a->has_loop = true;
	return start_parts(a);
}

/* The end */

static void on_lane_ended(void *ctx)
{
	(void)ctx;
}

/* In the reverse order. A lane that is to be ended takes some turns of the loop. */
static void stop_parts(struct agent *a, bool end_lane)
{
	for (unsigned i = 0; i < a->n_signals; i++)
		uv_close((uv_handle_t *)&a->signals[i], NULL);
	a->n_signals = 0;
	loop_timer_free(&a->watchdog_timer);
	loop_timer_free(&a->ready_timer);
	http_server_stop(a->http);
	a->http = NULL;
	if (a->keeper && end_lane)
		lane_keeper_end(a->keeper, on_lane_ended, NULL);
	else
		lane_keeper_leave(a->keeper);
	a->keeper = NULL;
	agent_discovery_stop(a);
	reconcile_stop(a->reconcile);
	a->reconcile = NULL;
	status_server_stop(a->status_server);
	a->status_server = NULL;
}

static void begin_stop(struct agent *a, bool end_lane)
{
	bool ends;

	if (a->stopping)
		return;
	a->stopping = true;
	ends = end_lane && lane_keeper_pid(a->keeper);
	notify_stopping(&a->notify);
	log_info(ends ? "stopping, with the lane that was started here; routes stay closed"
		      : "stopping; lane, devices and routes stay as they are");
	stop_parts(a, end_lane);
}

void agent_run(struct agent *a)
{
	uv_run(&a->loop, UV_RUN_DEFAULT);
}

void agent_free(struct agent *a)
{
	if (!a)
		return;
	if (a->has_loop) {
		stop_parts(a, false);
		uv_run(&a->loop, UV_RUN_DEFAULT);
		uv_loop_close(&a->loop);
	}
	agent_lock_drop(&a->lock);
	config_free(a->config);
	free(a->config_error);
	free(a);
}
