/* SPDX-License-Identifier: Apache-2.0 */
#include "lane_keeper.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "config.h"
#include "lane_process.h"
#include "log.h"
#include "loop.h"

struct lane_keeper {
	uv_loop_t *loop;
	struct lane_keeper_times times;
	const struct config_lane *config;
	bool wanted, there;
	bool told; /* that it cannot be started */
	struct lane_process *process;
	uint64_t answers_since_ms; /* 0: it has not answered */
	uv_timer_t *timer;
	uint64_t delay_ms;	  /* of the next start; 0: at once */
	void (*ended)(void *ctx); /* set: this is the end */
	void *ended_ctx;
};

static void plan_start(struct lane_keeper *k);

uint64_t lane_keeper_delay_ms(const struct lane_keeper_times *times, uint64_t delay_ms,
			      uint64_t answered_ms)
{
	if (!delay_ms || answered_ms >= times->stays_ms)
		return times->first_ms;
	return 2 * delay_ms < times->max_ms ? 2 * delay_ms : times->max_ms;
}

static void free_keeper(struct lane_keeper *k)
{
	loop_timer_free(&k->timer);
	free(k);
}

static void tell_end(const struct lane_keeper *k, int status)
{
	if (WIFSIGNALED(status))
		log_error("the lane that was started here was ended by signal %d (%s); started "
			  "again in %.1f s",
			  WTERMSIG(status), strsignal(WTERMSIG(status)),
			  (double)k->delay_ms / 1000);
	else
		log_error("the lane that was started here has ended with status %d; started "
			  "again in %.1f s",
			  WEXITSTATUS(status), (double)k->delay_ms / 1000);
}

static void on_exited(int status, void *ctx)
{
	struct lane_keeper *k = ctx;
	void (*ended)(void *) = k->ended;
	void *ended_ctx = k->ended_ctx;
	const uint64_t since_ms = k->answers_since_ms;

	k->process = NULL;
	if (ended) {
		free_keeper(k);
		ended(ended_ctx);
		return;
	}
	k->delay_ms = lane_keeper_delay_ms(&k->times, k->delay_ms,
					   since_ms ? uv_now(k->loop) - since_ms : 0);
	tell_end(k, status);
	plan_start(k);
}

static void start(struct lane_keeper *k)
{
	int err = lane_process_start(k->loop, k->config, on_exited, k, &k->process);

	if (err) {
		if (!k->told)
			log_error("cannot start a lane: %s: %s",
				  *k->config->program ? k->config->program : "sealaned",
				  strerror(-err));
		k->told = true;
		k->delay_ms = lane_keeper_delay_ms(&k->times, k->delay_ms, 0);
		plan_start(k);
		return;
	}
	k->told = false;
	k->answers_since_ms = 0;
	log_info("started a lane: sealaned %s, process %d", k->config->interface,
		 (int)lane_process_pid(k->process));
}

static void on_timer(uv_timer_t *timer)
{
	start(timer->data);
}

/* Stops what was planned, too, where it is no longer right. */
static void plan_start(struct lane_keeper *k)
{
	if (!k->wanted || k->there || k->process)
		uv_timer_stop(k->timer);
	else if (!uv_is_active((const uv_handle_t *)k->timer))
		uv_timer_start(k->timer, on_timer, k->delay_ms, 0);
}

struct lane_keeper *lane_keeper_new(uv_loop_t *loop, const struct lane_keeper_times *times)
{
	struct lane_keeper *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->loop = loop;
	k->times = *times;
	k->timer = loop_timer_new(loop, k);
	if (!k->timer) {
		free(k);
		return NULL;
	}
	return k;
}

void lane_keeper_config(struct lane_keeper *k, const struct config_lane *config, bool wanted)
{
	k->config = config;
	k->wanted = wanted;
	plan_start(k);
}

void lane_keeper_there(struct lane_keeper *k, bool there)
{
	/* Somebody else's that ends may be about to be started again by them. */
	if (k->there && !there && !k->process && !k->delay_ms)
		k->delay_ms = k->times.first_ms;
	if (there && k->process && !k->answers_since_ms)
		k->answers_since_ms = uv_now(k->loop);
	k->there = there;
	plan_start(k);
}

pid_t lane_keeper_pid(const struct lane_keeper *k)
{
	return k->process ? lane_process_pid(k->process) : 0;
}

void lane_keeper_leave(struct lane_keeper *k)
{
	if (!k)
		return;
	if (k->process)
		lane_process_forget(k->process);
	free_keeper(k);
}

void lane_keeper_end(struct lane_keeper *k, void (*ended)(void *ctx), void *ctx)
{
	struct lane_process *process = k->process;

	uv_timer_stop(k->timer);
	if (!process) {
		free_keeper(k);
		ended(ctx);
		return;
	}
	k->ended = ended;
	k->ended_ctx = ctx;
	lane_process_end(process);
}
