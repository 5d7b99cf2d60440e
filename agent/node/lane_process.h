/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lane that the agent starts itself. Under a service manager or in a pod it does
 * not: a lane that belongs to its unit or pod would end with it. Control thread.
 */
#ifndef SEALANE_NODE_LANE_PROCESS_H
#define SEALANE_NODE_LANE_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

struct config_lane;
struct lane_process;

/* `start: auto`: not where NOTIFY_SOCKET, INVOCATION_ID or KUBERNETES_SERVICE_HOST is
 * set; @ret_reason says why or why not, for the log. */
bool lane_process_wanted(const struct config_lane *lane, char *(*getenv_fn)(const char *name),
			 const char **ret_reason);

/*
 * Starts `sealaned --persist -f INTERFACE` in a session of its own, with our standard
 * error; @exited is called once by the loop when it has ended, with its status as
 * waitpid() gives it, and *ret is gone from then on. 0 or -errno (-ENOENT: no such
 * program).
 */
int lane_process_start(uv_loop_t *loop, const struct config_lane *lane,
		       void (*exited)(int status, void *ctx), void *ctx, struct lane_process **ret);
/* Tells it to end (SIGTERM, then SIGKILL after 2 s); the loop calls @exited. Telling it
 * again changes nothing. */
void lane_process_end(struct lane_process *p);
/* Lets it run on without us: @exited is not called, @p is gone. */
void lane_process_forget(struct lane_process *p);
pid_t lane_process_pid(const struct lane_process *p);

#endif
