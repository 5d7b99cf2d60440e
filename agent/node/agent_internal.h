/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent's files share: life (agent.c), configuration (agent_config.c), and what
 * it tells (agent_status.c). Control thread. */
#ifndef SEALANE_NODE_AGENT_INTERNAL_H
#define SEALANE_NODE_AGENT_INTERNAL_H

#include <stdbool.h>
#include <uv.h>

#include "agent.h"
#include "agent_lock.h"
#include "notify.h"
#include "status.h"

enum { AGENT_SIGNALS = 3 };

struct agent {
	struct agent_args args;
	uv_loop_t loop;
	bool has_loop, stopping;
	struct config *config;
	struct agent_lock lock; /* until all else has ended */

	struct status_source source;
	struct status_agent status;
	char *config_error; /* what status.config_error points to */
	struct status_server *status_server;
	struct http_server *http;
	bool http_told; /* that it cannot listen */

	struct reconcile *reconcile;
	struct discovery *discovery;
	struct lane_keeper *keeper;

	struct notify notify;
	bool is_ready; /* and the service manager knows */
	uv_timer_t *ready_timer, *watchdog_timer;
	uv_signal_t signals[AGENT_SIGNALS];
	unsigned n_signals; /* of them there are so many */
};

/* agent_config.c. The first reading: 0 or -errno, with the faults told. */
int agent_config_load(struct agent *a);
/* SIGHUP: what it says now, or, if that is refused, what it said before. */
void agent_config_reload(struct agent *a);
/* Each line of it. */
void agent_config_tell(const char *faults);
/* A variable that is none of ours, and what it may have been meant to be, or NULL. */
void agent_tell_variable(const char *name, const char *nearest);

/* agent_discovery.c. With the reconciliation there. 0 or -errno, which was told. */
int agent_discovery_start(struct agent *a);
void agent_discovery_config(struct agent *a); /* the configuration is another one */
void agent_discovery_stop(struct agent *a);

/* agent_status.c */
void agent_status_init(struct agent *a);
void agent_http_start(struct agent *a); /* where it is wanted and not there */
/* After each pass: the service manager and the lane's keeper hear how it stands. */
void agent_status_tell(struct agent *a);
/* The keeper alone: none is to be started beside one that lives, whether it answers or not. */
void agent_lane_tell(struct agent *a);
void agent_is_ready(struct agent *a);
/* Whether a lane is ours to start. */
bool agent_wants_lane(const struct agent *a, const char **ret_reason);

#endif
