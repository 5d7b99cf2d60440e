/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/lane_process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/node/config.h"
#include "agent/node/lane_process_internal.h"

/* A folder with a program of our own, and a loop. */
struct fixture {
	uv_loop_t loop;
	struct config_lane lane;
	struct lane_process *process;
	char folder[64], said[96]; /* what the program writes when it is ready */
	pid_t running;		   /* 0: none */
	unsigned n_exited;
	int status;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	strcpy(f->folder, "/tmp/lane_process.XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	snprintf(f->said, sizeof(f->said), "%s/said", f->folder);
	snprintf(f->lane.program, sizeof(f->lane.program), "%s/sealaned", f->folder);
	strcpy(f->lane.interface, "sealane7");
	assert_int_equal(uv_loop_init(&f->loop), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	/* Of a test that failed. */
	if (f->running)
		kill(f->running, SIGKILL);
	/* Nothing is left over: every handle was closed, and its memory went. */
	uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&f->loop), 0);
	unlink(f->said);
	snprintf(f->lane.program, sizeof(f->lane.program), "%s/sealaned", f->folder);
	unlink(f->lane.program);
	assert_int_equal(rmdir(f->folder), 0);
	free(f);
	return 0;
}

/* @script runs with $SAID as the file that tells it is ready. */
static void write_program(struct fixture *f, const char *script)
{
	const int fd = open(f->lane.program, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	char text[1000];
	const int len = snprintf(text, sizeof(text), "#!/bin/sh\nSAID=%s\n%s\n", f->said, script);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, (size_t)len), len);
	close(fd);
}

static void on_exited(int status, void *ctx)
{
	struct fixture *f = ctx;

	f->running = 0;
	f->n_exited++;
	f->status = status;
}

static void start(struct fixture *f)
{
	assert_int_equal(lane_process_start(&f->loop, &f->lane, on_exited, f, &f->process), 0);
	f->running = lane_process_pid(f->process);
	assert_true(f->running > 0);
}

/* The loop runs until the program has said something. */
static void run_until_ready(struct fixture *f, char *ret, size_t len)
{
	FILE *file;

	while (access(f->said, F_OK) != 0) {
		uv_run(&f->loop, UV_RUN_NOWAIT);
		assert_int_equal(f->n_exited, 0);
		usleep(1000);
	}
	file = fopen(f->said, "r");
	ret[fread(ret, 1, len - 1, file)] = '\0';
	fclose(file);
}

static void read_link(const char *folder, int fd, char ret[PATH_MAX])
{
	char path[64];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%s/fd/%d", folder, fd);
	len = readlink(path, ret, PATH_MAX - 1);
	ret[len < 0 ? 0 : len] = '\0';
}

static void test_started_right(void **state)
{
	struct fixture *f = *state;
	char said[100], folder[20], its[PATH_MAX], ours[PATH_MAX];

	write_program(f, "echo \"$@\" >$SAID.new\nmv $SAID.new $SAID\nexec sleep 1000");
	start(f);
	run_until_ready(f, said, sizeof(said));
	assert_string_equal(said, "--persist -f sealane7\n");
	assert_int_equal(getsid(f->running), f->running);
	snprintf(folder, sizeof(folder), "%d", f->running);
	for (int fd = 0; fd < 2; fd++) {
		read_link(folder, fd, its);
		assert_string_equal(its, "/dev/null");
	}
	read_link("self", 2, ours);
	read_link(folder, 2, its);
	assert_string_equal(its, ours);

	lane_process_end(f->process);
	lane_process_end(f->process);
	uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(f->n_exited, 1);
	assert_true(WIFSIGNALED(f->status));
	assert_int_equal(WTERMSIG(f->status), SIGTERM);
}

static void test_exit_status(void **state)
{
	struct fixture *f = *state;

	write_program(f, "exit 3");
	start(f);
	uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(f->n_exited, 1);
	assert_true(WIFEXITED(f->status));
	assert_int_equal(WEXITSTATUS(f->status), 3);
}

static void test_will_not_end(void **state)
{
	struct fixture *f = *state;
	char said[10];

	write_program(f, "trap '' TERM\n: >$SAID\nwhile :; do sleep 0.1; done");
	start(f);
	run_until_ready(f, said, sizeof(said));
	lane_process_end(f->process);
	uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(f->n_exited, 1);
	assert_true(WIFSIGNALED(f->status));
	assert_int_equal(WTERMSIG(f->status), SIGKILL);
}

static void test_forget(void **state)
{
	struct fixture *f = *state;
	char said[10];
	int status;
	pid_t pid;

	write_program(f, ": >$SAID\nexec sleep 1000");
	start(f);
	pid = lane_process_pid(f->process);
	run_until_ready(f, said, sizeof(said));
	lane_process_forget(f->process);
	uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	assert_int_equal(f->n_exited, 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	f->running = 0;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WTERMSIG(status), SIGKILL);
}

static void test_no_program(void **state)
{
	struct fixture *f = *state;

	f->process = NULL;
	assert_int_equal(lane_process_start(&f->loop, &f->lane, on_exited, f, &f->process),
			 -ENOENT);
	write_program(f, "exit 0");
	assert_int_equal(chmod(f->lane.program, 0600), 0);
	assert_int_equal(lane_process_start(&f->loop, &f->lane, on_exited, f, &f->process),
			 -EACCES);
	assert_null(f->process);
	uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(f->n_exited, 0);
}

static void test_program(void **state)
{
	struct fixture *f = *state;
	char own_path[100], expected[200], buf[200], tiny[4];
	struct config_lane lane = {.program = ""};

	snprintf(own_path, sizeof(own_path), "%s/sealane-agent", f->folder);
	snprintf(expected, sizeof(expected), "%s/sealaned", f->folder);
	/* None beside us: PATH. */
	assert_ptr_equal(lane_process_program(&lane, own_path, buf, sizeof(buf)), buf);
	assert_string_equal(buf, "sealaned");
	assert_string_equal(lane_process_program(&lane, "", buf, sizeof(buf)), "sealaned");
	write_program(f, "exit 0");
	assert_string_equal(lane_process_program(&lane, own_path, buf, sizeof(buf)), expected);
	/* Whatever the name of the file is that we are. */
	snprintf(own_path, sizeof(own_path), "%s/x", f->folder);
	assert_string_equal(lane_process_program(&lane, own_path, buf, sizeof(buf)), expected);
	assert_int_equal(strlen(lane_process_program(&lane, own_path, tiny, sizeof(tiny))), 3);
	assert_int_equal(chmod(f->lane.program, 0600), 0);
	if (access(f->lane.program, X_OK) != 0)
		assert_string_equal(lane_process_program(&lane, own_path, buf, sizeof(buf)),
				    "sealaned");
	/* The configured one, there or not. */
	strcpy(lane.program, "/nonexistent/x");
	assert_string_equal(lane_process_program(&lane, own_path, buf, sizeof(buf)),
			    "/nonexistent/x");
}

/* An environment of one variable. */
static const char *variable, *content;

static char *get(const char *name)
{
	return variable && !strcmp(name, variable) ? (char *)(uintptr_t)content : NULL;
}

static void test_wanted(void **state)
{
	static const struct {
		enum config_start start;
		const char *variable, *content;
		bool wanted;
	} rows[] = {
		{CONFIG_START_AUTO, NULL, NULL, true},
		{CONFIG_START_AUTO, "NOTIFY_SOCKET", "/run/x", false},
		{CONFIG_START_AUTO, "INVOCATION_ID", "1", false},
		{CONFIG_START_AUTO, "KUBERNETES_SERVICE_HOST", "10.0.0.1", false},
		{CONFIG_START_AUTO, "NOTIFY_SOCKET", "", true},
		{CONFIG_START_AUTO, "HOME", "/", true},
		{CONFIG_START_ALWAYS, "NOTIFY_SOCKET", "/run/x", true},
		{CONFIG_START_NEVER, NULL, NULL, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct config_lane lane = {.start = rows[i].start};
		const char *reason = NULL;

		variable = rows[i].variable;
		content = rows[i].content;
		assert_int_equal(lane_process_wanted(&lane, get, &reason), rows[i].wanted);
		assert_non_null(reason);
		assert_true(strlen(reason) > 10);
	}
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_started_right),
		T(test_exit_status),
		T(test_will_not_end),
		T(test_forget),
		T(test_no_program),
		T(test_program),
		cmocka_unit_test(test_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
