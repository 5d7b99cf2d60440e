/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/agent_lock.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { LONG_MS = 60000 };

static char parent[40], folder[64];

static int setup(void **state)
{
	(void)state;
	snprintf(parent, sizeof(parent), "/tmp/test_agent_lock.XXXXXX");
	assert_non_null(mkdtemp(parent));
	snprintf(folder, sizeof(folder), "%s/sealane", parent);
	return 0;
}

/* Nothing may be left in the folders. */
static int teardown(void **state)
{
	(void)state;
	rmdir(folder);
	return rmdir(parent);
}

static void expect_text(const char *why, const char *what, const char *file)
{
	char text[100];

	snprintf(text, sizeof(text), "%s is kept by process %d (sealane-agent, lane sl0)", what,
		 (int)getpid());
	assert_non_null(strstr(why, text));
	assert_non_null(strstr(why, file));
}

static void test_same_lane(void **state)
{
	char why[AGENT_LOCK_TEXT_LEN];
	struct agent_lock a, b;

	(void)state;
	assert_int_equal(agent_lock_take(folder, "sl0", 0, &a, why), 0);
	assert_int_equal(agent_lock_take(folder, "sl0", 0, &b, why), -EADDRINUSE);
	expect_text(why, "lane sl0", "/sealane/sl0.agent.lock");
	agent_lock_drop(&b); /* nothing */
	assert_int_equal(agent_lock_take(folder, "sl0", 0, &b, why), -EADDRINUSE);
	agent_lock_drop(&a);
	assert_int_equal(agent_lock_take(folder, "sl0", 0, &b, why), 0);
	agent_lock_drop(&b);
}

/* Of a second lane nothing is held when the namespace cannot be had. */
static void test_same_namespace(void **state)
{
	char why[AGENT_LOCK_TEXT_LEN];
	struct agent_lock a, b;

	(void)state;
	assert_int_equal(agent_lock_take(folder, "sl0", 0, &a, why), 0);
	assert_int_equal(agent_lock_take(folder, "sl1", 0, &b, why), -EADDRINUSE);
	expect_text(why, "this network namespace", "/sealane/netns-");
	agent_lock_drop(&a);
	assert_int_equal(agent_lock_take(folder, "sl1", 0, &a, why), 0);
	agent_lock_drop(&a);
}

/* In a process of its own, for a namespace is left for good. */
static int take_elsewhere(const char *lane)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		char why[AGENT_LOCK_TEXT_LEN];
		struct agent_lock lock;

		if (unshare(CLONE_NEWNET) < 0)
			_exit(77);
		status = agent_lock_take(folder, lane, 0, &lock, why);
		agent_lock_drop(&lock);
		_exit(-status);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

/* Lanes' sockets are seen by all namespaces, so one name is one lane. */
static void test_another_namespace(void **state)
{
	char why[AGENT_LOCK_TEXT_LEN];
	struct agent_lock a;
	int other;

	(void)state;
	assert_int_equal(agent_lock_take(folder, "sl0", 0, &a, why), 0);
	other = take_elsewhere("sl1");
	if (other == -77) {
		agent_lock_drop(&a);
		print_message("skipped: no network namespace of our own: run as root\n");
		skip();
	}
	assert_int_equal(other, 0);
	assert_int_equal(take_elsewhere("sl0"), -EADDRINUSE);
	agent_lock_drop(&a);
}

/* A predecessor that ends in time is waited for: this one ends once it hears that. */
static void test_patience(void **state)
{
	char why[AGENT_LOCK_TEXT_LEN], byte = 0;
	struct agent_lock lock;
	int ready[2], go[2], status;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (!pid) {
		close(go[1]);
		byte = agent_lock_take(folder, "sl0", 0, &lock, why) ? 'n' : 'y';
		(void)!write(ready[1], &byte, 1);
		(void)!read(go[0], &byte, 1);
		usleep(200000); /* the other one asks in vain a few times */
		_exit(0);	/* without a word */
	}
	assert_true(pid > 0);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(byte, 'y');
	assert_int_equal(agent_lock_take(folder, "sl0", 0, &lock, why), -EADDRINUSE);
	close(go[0]);
	close(go[1]);
	assert_int_equal(agent_lock_take(folder, "sl0", LONG_MS, &lock, why), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	agent_lock_drop(&lock);
	close(ready[0]);
	close(ready[1]);
}

static void test_command(void **state)
{
	char why[AGENT_LOCK_TEXT_LEN];
	struct agent_lock agent;
	struct lockfile lock;

	(void)state;
	assert_int_equal(agent_lock_take_netns(folder, "a command", &lock, why), -ENOENT);
	assert_int_equal(lock.fd, -1);
	assert_int_equal(access(folder, F_OK), -1);
	assert_int_equal(agent_lock_take(folder, "sl0", 0, &agent, why), 0);
	assert_int_equal(agent_lock_take_netns(folder, "a command", &lock, why), -EADDRINUSE);
	expect_text(why, "this network namespace", "/sealane/netns-");
	agent_lock_drop(&agent);

	assert_int_equal(agent_lock_take_netns(folder, "a command", &lock, why), 0);
	assert_int_equal(agent_lock_take(folder, "sl0", 0, &agent, why), -EADDRINUSE);
	assert_non_null(strstr(why, "(a command)"));
	lockfile_drop(&lock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_same_lane, setup, teardown),
		cmocka_unit_test_setup_teardown(test_same_namespace, setup, teardown),
		cmocka_unit_test_setup_teardown(test_another_namespace, setup, teardown),
		cmocka_unit_test_setup_teardown(test_patience, setup, teardown),
		cmocka_unit_test_setup_teardown(test_command, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
