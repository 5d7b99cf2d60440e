/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/lockfile.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[32], path[64];

static int setup(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/test_lockfile.XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/x.lock", folder);
	return 0;
}

/* Nothing may be left in the folder. */
static int teardown(void **state)
{
	(void)state;
	return rmdir(folder);
}

static void test_one_at_a_time(void **state)
{
	struct lockfile_holder holder;
	struct lockfile a, b;
	struct stat st;

	(void)state;
	assert_int_equal(lockfile_take(path, "the first", &a, &holder), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(lockfile_take(path, "the second", &b, &holder), -EWOULDBLOCK);
	assert_int_equal(b.fd, -1);
	assert_int_equal(holder.pid, getpid());
	assert_string_equal(holder.who, "the first");
	lockfile_drop(&b); /* nothing */
	assert_int_equal(stat(path, &st), 0);

	lockfile_drop(&a);
	assert_int_equal(stat(path, &st), -1);
	lockfile_drop(&a);
	assert_int_equal(lockfile_take(path, "the second", &b, &holder), 0);
	assert_int_equal(fcntl(b.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	lockfile_drop(&b);
}

/* The file of one that was killed is as good as none, whatever is in it. */
static void test_holder_killed(void **state)
{
	struct lockfile_holder holder;
	struct lockfile lock;
	int ready[2], status;
	char byte;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		const int err = lockfile_take(path, "somebody with a longer name", &lock, &holder);

		(void)!write(ready[1], err ? "n" : "y", 1);
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(byte, 'y');
	assert_int_equal(lockfile_take(path, "me", &lock, &holder), -EWOULDBLOCK);
	assert_int_equal(holder.pid, pid);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(lockfile_take(path, "me", &lock, &holder), 0);
	{
		struct lockfile other;

		assert_int_equal(lockfile_take(path, "other", &other, &holder), -EWOULDBLOCK);
		assert_string_equal(holder.who, "me");
		assert_int_equal(holder.pid, getpid());
	}
	lockfile_drop(&lock);
	close(ready[0]);
	close(ready[1]);
}

/* Who has it may write what it likes. */
static void test_strange_holders(void **state)
{
	static const struct {
		const char *text;
		pid_t pid;
		const char *who;
	} cases[] = {
		{"", 0, ""},
		{"12", 0, ""},
		{"-1 x\n", 0, ""},
		{"x 12\n", 0, ""},
		{"12 a\033b\n", 12, "a?b"},
		{"12 a\nb\n", 12, "a"},
		{"7 012345678901234567890123456789012345678901234567890123456789012345678901234567"
		 "890\n",
		 7, "012345678901234567890123456789012345678901234567890123456789012"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		struct lockfile_holder holder;
		struct lockfile lock;

		assert_true(fd >= 0);
		assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
		assert_int_equal(write(fd, cases[i].text, strlen(cases[i].text)),
				 strlen(cases[i].text));
		assert_int_equal(lockfile_take(path, "me", &lock, &holder), -EWOULDBLOCK);
		assert_int_equal(holder.pid, cases[i].pid);
		assert_string_equal(holder.who, cases[i].who);
		close(fd);
	}
	unlink(path);
}

/* Somebody who removed the file has not removed the lock's meaning: its next taker and
 * the one that comes after agree on a file. And a drop leaves another's file alone. */
static void test_file_removed(void **state)
{
	struct lockfile_holder holder;
	struct lockfile old, now, late;

	(void)state;
	assert_int_equal(lockfile_take(path, "old", &old, &holder), 0);
	unlink(path);
	assert_int_equal(lockfile_take(path, "now", &now, &holder), 0);
	lockfile_drop(&old);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(lockfile_take(path, "late", &late, &holder), -EWOULDBLOCK);
	assert_string_equal(holder.who, "now");
	lockfile_drop(&now);
}

static void test_no_place(void **state)
{
	char other[64], longest[2 * LOCKFILE_PATH_LEN];
	struct lockfile_holder holder;
	struct lockfile lock;

	(void)state;
	snprintf(other, sizeof(other), "%s/none/x.lock", folder);
	assert_int_equal(lockfile_take(other, "me", &lock, &holder), -ENOENT);
	assert_int_equal(lock.fd, -1);
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(lockfile_take(longest, "me", &lock, &holder), -ENAMETOOLONG);
	assert_int_equal(lock.fd, -1);
	/* Whose file would be locked and written to? */
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_int_equal(lockfile_take(path, "me", &lock, &holder), -ELOOP);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_one_at_a_time, setup, teardown),
		cmocka_unit_test_setup_teardown(test_holder_killed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_strange_holders, setup, teardown),
		cmocka_unit_test_setup_teardown(test_file_removed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_place, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
