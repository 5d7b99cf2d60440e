/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process and the timer that is to kill it are two handles of the loop; memory goes
 * with the last of them. From the moment they are closed the owner has no use of it.
 */
#include "lane_process.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config.h"
#include "lane_process_internal.h"

enum { KILL_AFTER_MS = 2000, N_STDIO = 3 };

struct lane_process {
	uv_process_t process; /* data: ourselves, as of the timer */
	uv_timer_t kill;
	unsigned n_handles;
	void (*exited)(int status, void *ctx);
	void *ctx;
};

/* Whether */

static bool is_set(char *(*getenv_fn)(const char *name), const char *name)
{
	const char *value = getenv_fn(name);

	return value && *value;
}

bool lane_process_wanted(const struct config_lane *lane, char *(*getenv_fn)(const char *name),
			 const char **ret_reason)
{
	static const struct {
		const char *variable, *reason;
	} others[] = {
		{"KUBERNETES_SERVICE_HOST", "in a pod, with which it would end"},
		{"NOTIFY_SOCKET", "under a service manager, whose unit it would end with"},
		{"INVOCATION_ID", "under a service manager, whose unit it would end with"},
	};

	if (lane->start != CONFIG_START_AUTO) {
		*ret_reason = "so says the configuration (lane.start)";
		return lane->start == CONFIG_START_ALWAYS;
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (is_set(getenv_fn, others[i].variable)) {
			*ret_reason = others[i].reason;
			return false;
		}
	}
	*ret_reason = "neither in a pod nor under a service manager";
	return true;
}

/* Which */

const char *lane_process_program(const struct config_lane *lane, const char *own_path, char *buf,
				 size_t len)
{
	static const char name[] = "sealaned";
	const char *slash = strrchr(own_path, '/');

	if (lane->program[0]) {
		snprintf(buf, len, "%s", lane->program);
		return buf;
	}
	if (slash) {
		const int needed = snprintf(buf, len, "%.*s/%s", (int)(slash - own_path), own_path,
					    name);

		if (needed > 0 && (size_t)needed < len && !access(buf, X_OK))
			return buf;
	}
	snprintf(buf, len, "%s", name);
	return buf;
}

static void find_program(const struct config_lane *lane, char buf[PATH_MAX])
{
	char own_path[PATH_MAX];
	const ssize_t len = readlink("/proc/self/exe", own_path, sizeof(own_path) - 1);

	own_path[len < 0 ? 0 : len] = '\0';
	lane_process_program(lane, own_path, buf, PATH_MAX);
}

/* Life */

static void on_closed(uv_handle_t *handle)
{
	struct lane_process *p = handle->data;

	if (!--p->n_handles)
		free(p);
}

static void close_handles(struct lane_process *p)
{
	uv_close((uv_handle_t *)&p->kill, on_closed);
	uv_close((uv_handle_t *)&p->process, on_closed);
}

static void on_exit_of_process(uv_process_t *process, int64_t exit_status, int term_signal)
{
	struct lane_process *p = process->data;

	close_handles(p);
	if (p->exited)
		p->exited(W_EXITCODE((int)exit_status, term_signal), p->ctx);
}

static void on_kill_time(uv_timer_t *timer)
{
	struct lane_process *p = timer->data;

	uv_process_kill(&p->process, SIGKILL);
}

static int spawn(uv_loop_t *loop, struct lane_process *p, const struct config_lane *lane)
{
	char program[PATH_MAX], persist[] = "--persist", foreground[] = "-f";
	char ifname[sizeof(lane->interface)];
	char *args[] = {program, persist, foreground, ifname, NULL};
	uv_stdio_container_t stdio[N_STDIO] = {
		[STDIN_FILENO] = {.flags = UV_IGNORE},
		[STDOUT_FILENO] = {.flags = UV_IGNORE},
		[STDERR_FILENO] = {.flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO},
	};
	const uv_process_options_t options = {
		.exit_cb = on_exit_of_process,
		.file = program,
		.args = args,
		.flags = UV_PROCESS_DETACHED,
		.stdio_count = N_STDIO,
		.stdio = stdio,
	};

	find_program(lane, program);
	memcpy(ifname, lane->interface, sizeof(ifname));
	return uv_spawn(loop, &p->process, &options);
}

int lane_process_start(uv_loop_t *loop, const struct config_lane *lane,
		       void (*exited)(int status, void *ctx), void *ctx, struct lane_process **ret)
{
	struct lane_process *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	p->exited = exited;
	p->ctx = ctx;
	p->n_handles = 2;
	p->process.data = p;
	p->kill.data = p;
	uv_timer_init(loop, &p->kill);
	err = spawn(loop, p, lane);
	if (err) {
		close_handles(p);
		return err;
	}
	*ret = p;
	return 0;
}

void lane_process_end(struct lane_process *p)
{
	if (uv_is_active((const uv_handle_t *)&p->kill))
		return;
	uv_process_kill(&p->process, SIGTERM);
	uv_timer_start(&p->kill, on_kill_time, KILL_AFTER_MS, 0);
}

void lane_process_forget(struct lane_process *p)
{
	p->exited = NULL;
	close_handles(p);
}

pid_t lane_process_pid(const struct lane_process *p)
{
	return p->process.pid;
}
