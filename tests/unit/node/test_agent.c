/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const char *skip_reason;

/* A folder with all that an agent needs, which no lane has. */
static struct world {
	char folder[32], other[64], config[64], key[64], socket[64], manager[64];
	int manager_fd; /* where the service manager would read */
	int saved_stderr, log_fd;
	struct agent_args args;
} w;

static char *world_getenv(const char *name)
{
	if (!strcmp(name, "SEALANE_AGENT_SOCKET"))
		return w.socket;
	if (!strcmp(name, "NOTIFY_SOCKET"))
		return w.manager;
	return NULL;
}

/* @more is what the file says besides. */
static void write_config(const char *more)
{
	FILE *file = fopen(w.config, "w");

	assert_non_null(file);
	fprintf(file,
		"node: {name: alpha, tunnel_addresses: [10.10.0.1], private_key_file: %s}\n"
		"lane: {interface: sltest0, start: never}\n"
		"http: {listen: \"off\"}\n"
		"%s",
		w.key, more);
	assert_int_equal(fclose(file), 0);
}

static void bind_manager(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	w.manager_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", w.manager);
	assert_int_equal(bind(w.manager_fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
}

/* Until finish() what goes to stderr is kept. */
static void begin(void)
{
	char log[64];

	memset(&w, 0, sizeof(w));
	snprintf(w.folder, sizeof(w.folder), "/tmp/test_agent.XXXXXX");
	assert_non_null(mkdtemp(w.folder));
	snprintf(w.other, sizeof(w.other), "%s/other", w.folder);
	snprintf(w.config, sizeof(w.config), "%s/sealane.yaml", w.folder);
	snprintf(w.key, sizeof(w.key), "%s/key", w.folder);
	snprintf(w.socket, sizeof(w.socket), "%s/agent.sock", w.folder);
	snprintf(w.manager, sizeof(w.manager), "%s/manager", w.folder);
	snprintf(log, sizeof(log), "%s/log", w.folder);
	bind_manager();
	w.args = (struct agent_args){
		.config_path = w.config, .getenv_fn = world_getenv, .lock_folder = w.folder};
	w.log_fd = open(log, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
	assert_true(w.log_fd >= 0);
	unlink(log);
	fflush(stderr);
	w.saved_stderr = dup(STDERR_FILENO);
	dup2(w.log_fd, STDERR_FILENO);
}

static void finish(char *log, size_t log_len)
{
	ssize_t len;

	fflush(stderr);
	dup2(w.saved_stderr, STDERR_FILENO);
	close(w.saved_stderr);
	len = pread(w.log_fd, log, log_len - 1, 0);
	assert_true(len >= 0);
	log[len] = '\0';
	close(w.log_fd);
	close(w.manager_fd);
	unlink(w.manager);
	unlink(w.config);
	unlink(w.key);
	assert_int_equal(rmdir(w.folder), 0); /* nothing else is left behind */
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in:\n%s", part, text);
}

static void assert_has_not(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("\"%s\" in:\n%s", part, text);
}

static void test_check(void **state)
{
	static char names[] = "SEALANE_NODE_NAMES=x", colour[] = "SEALANE_COLOUR=blue";
	static char *const environment[] = {names, colour, NULL};
	char log[4096];

	(void)state;
	begin();
	write_config("");
	assert_int_equal(agent_check(&w.args), 0);
	write_config("what: 1\n");
	assert_int_equal(agent_check(&w.args), -EINVAL);
	w.args.config_path = "/nonexistent.yaml";
	assert_int_equal(agent_check(&w.args), -ENOENT);
	assert_int_equal(access(w.key, F_OK), -1); /* it only looks */
	w.args.environment = environment;
	assert_int_equal(agent_check(&w.args), -ENOENT);
	finish(log, sizeof(log));
	assert_has(log, "environment: SEALANE_NODE_NAMES is not known; did you mean "
			"SEALANE_NODE_NAME?\n");
	assert_has(log, "environment: SEALANE_COLOUR is not known\n");
	assert_has(log, "sealane.yaml:4: what: ");
	assert_has(log, "/nonexistent.yaml: ");
}

static void need_netns(void)
{
	if (skip_reason) {
		print_message("skipped: %s\n", skip_reason);
		skip();
	}
}

static void test_start_refused(void **state)
{
	struct agent *agent;
	char log[4096];
	FILE *key;

	(void)state;
	need_netns();
	begin();
	write_config("what: 1\n");
	assert_int_equal(agent_start(&w.args, &agent), -EINVAL);
	agent_free(agent);
	write_config("");
	key = fopen(w.key, "w");
	assert_non_null(key);
	fputs("no key\n", key);
	fclose(key);
	chmod(w.key, 0600);
	assert_int_equal(agent_start(&w.args, &agent), -EINVAL);
	agent_free(agent);
	agent_free(NULL);
	finish(log, sizeof(log));
	assert_has(log, "sealane-agent: ");
	assert_has(log, "sealane.yaml:4: what: ");
	assert_has(log, "/key: there is no WireGuard key in it\n");
}

/* What the manager was told, one message after the other. */
static void read_manager(char *buf, size_t buf_len)
{
	size_t used = 0;
	ssize_t len;

	while ((len = recv(w.manager_fd, buf + used, buf_len - used - 1, 0)) > 0)
		used += (size_t)len;
	buf[used] = '\0';
}

/* Signals wait for the loop, in their order. */
static void test_life(void **state)
{
	struct agent *agent, *second;
	char log[8192], told[1024];
	struct stat st;

	(void)state;
	need_netns();
	begin();
	write_config("log_level: debug\n");
	assert_int_equal(agent_start(&w.args, &agent), 0);
	assert_int_equal(stat(w.socket, &st), 0);
	assert_int_equal(stat(w.key, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);

	/* With a socket of its own it would be no better. */
	assert_int_equal(agent_start(&w.args, &second), -EADDRINUSE);
	agent_free(second);
	assert_int_equal(stat(w.socket, &st), 0); /* the first one's stays */

	/* As it would be in another network namespace, for another lane. */
	w.args.lock_folder = w.other;
	assert_int_equal(agent_start(&w.args, &second), -EADDRINUSE);
	agent_free(second);
	assert_int_equal(stat(w.socket, &st), 0);
	assert_int_equal(rmdir(w.other), 0); /* its locks are gone */

	raise(SIGTERM);
	agent_run(agent);
	agent_free(agent);
	assert_int_equal(stat(w.socket, &st), -1);
	read_manager(told, sizeof(told));
	finish(log, sizeof(log));
	assert_has(told, "STATUS=lane sltest0 is awaited\n");
	assert_has(told, "STOPPING=1\n");
	assert_has_not(told, "READY=1"); /* without a lane it waits longer than that */
	assert_has(log, "new private key ");
	assert_has(log, "lane sltest0 is awaited\n");
	snprintf(told, sizeof(told), "lane sltest0 is kept by process %d (sealane-agent, lane ",
		 (int)getpid());
	assert_has(log, told);
	assert_has(log, "/sltest0.agent.lock; two agents would undo each other's work");
	assert_has(log, "another agent answers on ");
	assert_has(log, "stopping; lane, devices and routes stay as they are\n");
}

static void reload(const char *more)
{
	write_config(more);
	raise(SIGHUP);
}

/* Starts, reads @more, and ends. */
static void reload_once(const char *more, char *log, size_t log_len, char *told, size_t told_len)
{
	struct agent *agent;

	begin();
	write_config("");
	assert_int_equal(agent_start(&w.args, &agent), 0);
	reload(more);
	raise(SIGINT);
	agent_run(agent);
	agent_free(agent);
	read_manager(told, told_len);
	finish(log, log_len);
}

static void test_reload(void **state)
{
	char log[8192], told[1024];

	(void)state;
	need_netns();
	reload_once("overlays: [{name: ov0, vni: 1, addresses: [10.1.0.1/24]}]\n", log, sizeof(log),
		    told, sizeof(told));
	assert_has(log, "sealane.yaml: 1 overlays, 0 peers\n");
	assert_has_not(log, "refused");
	assert_has_not(log, "restart");
	assert_has_not(told, "refused");

	reload_once("what: 1\n", log, sizeof(log), told, sizeof(told));
	assert_has(log, "sealane.yaml:4: what: ");
	assert_has(log, "sealane.yaml is refused: everything stays as it was\n");
	assert_has(told, "STATUS=new configuration refused; lane sltest0 is awaited\n");
}

/* The loop's first turn has the signal and its last one the end of all that was open. */
static void test_reload_of_what_is_fixed(void **state)
{
	struct agent *agent;
	char log[8192];
	FILE *file;

	(void)state;
	need_netns();
	begin();
	write_config("");
	assert_int_equal(agent_start(&w.args, &agent), 0);
	file = fopen(w.config, "w");
	assert_non_null(file);
	fputs("node: {name: alpha, tunnel_addresses: [10.10.0.1], private_key_file: /other}\n"
	      "lane: {interface: sltest1, start: never}\n"
	      "http: {listen: \"off\"}\n",
	      file);
	fclose(file);
	raise(SIGHUP);
	raise(SIGTERM);
	agent_run(agent);
	agent_free(agent);
	finish(log, sizeof(log));
	assert_has(log, "lane.interface, node.private_key_file: needs a restart to change\n");
	assert_has_not(log, "sltest1");
}

/* A program that takes the arguments of a lane, and no more of one. Returns its process
 * after an agent that had started it was ended by @signum. */
static pid_t run_with_process(int signum, const char *program, char *log, size_t log_len)
{
	static const char started[] = "started a lane: sealaned sltest0, process ";
	struct agent *agent;
	const char *text;
	FILE *file;

	begin();
	file = fopen(w.config, "w");
	assert_non_null(file);
	fprintf(file,
		"node: {name: alpha, tunnel_addresses: [10.10.0.1], private_key_file: %s}\n"
		"lane: {interface: sltest0, start: always, program: %s}\n"
		"http: {listen: \"off\"}\n",
		w.key, program);
	fclose(file);
	assert_int_equal(agent_start(&w.args, &agent), 0);
	raise(signum);
	agent_run(agent);
	agent_free(agent);
	finish(log, log_len);
	text = strstr(log, started);
	if (!text)
		fail_msg("not started:\n%s", log);
	return (pid_t)strtol(text + sizeof(started) - 1, NULL, 10);
}

static void test_lane_of_ours(void **state)
{
	/* Stays until the end, for the shell opens it after it was started. */
	char program[] = "/tmp/sealane-test-program.XXXXXX", log[8192];
	pid_t pid;
	int fd;

	(void)state;
	need_netns();
	fd = mkstemp(program);
	assert_true(fd >= 0);
	assert_true(write(fd, "#!/bin/sh\nexec sleep 100\n", 25) == 25);
	fchmod(fd, 0700);
	close(fd);
	pid = run_with_process(SIGINT, program, log, sizeof(log));
	assert_has(log, "stopping, with the lane that was started here");
	assert_int_equal(kill(pid, 0), -1);

	pid = run_with_process(SIGTERM, program, log, sizeof(log));
	assert_has(log, "stopping; lane, devices and routes stay as they are\n");
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0); /* it runs */
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	unlink(program);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_start_refused),
		cmocka_unit_test(test_life),
		cmocka_unit_test(test_reload),
		cmocka_unit_test(test_reload_of_what_is_fixed),
		cmocka_unit_test(test_lane_of_ours),
	};

	signal(SIGPIPE, SIG_IGN);
	if (unshare(CLONE_NEWNET) < 0)
		skip_reason = "no network namespace of our own: run as root";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
