/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static const char *env_socket, *env_usec, *env_pid;

static char *fake_getenv(const char *name)
{
	static const struct {
		const char *name, **value;
	} variables[] = {
		{"NOTIFY_SOCKET", &env_socket},
		{"WATCHDOG_USEC", &env_usec},
		{"WATCHDOG_PID", &env_pid},
	};
	static char values[3][256];

	for (size_t i = 0; i < 3; i++) {
		if (strcmp(name, variables[i].name) != 0 || !*variables[i].value)
			continue;
		snprintf(values[i], sizeof(values[i]), "%s", *variables[i].value);
		return values[i];
	}
	return NULL;
}

/* The manager's end, bound to @name, of which a @ is a NUL. */
static int manager_open(const char *name)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	const size_t len = strlen(name);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	memcpy(addr.sun_path, name, len);
	if (name[0] == '@')
		addr.sun_path[0] = '\0';
	assert_int_equal(
		bind(fd, (struct sockaddr *)&addr,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (name[0] != '@'))),
		0);
	return fd;
}

static const char *heard(int fd)
{
	static char text[512];
	ssize_t len = recv(fd, text, sizeof(text) - 1, 0);

	if (len < 0)
		return "";
	text[len] = '\0';
	return text;
}

static void talk(const char *name)
{
	const char monotonic[] = "RELOADING=1\nMONOTONIC_USEC=";
	int fd = manager_open(name);
	struct timespec now;
	struct notify n;
	const char *text;
	uint64_t us;

	env_socket = name;
	env_usec = "2000000";
	env_pid = NULL;
	assert_int_equal(notify_init(&n, fake_getenv), 0);
	assert_int_equal(n.watchdog_us, 2000000);

	assert_int_equal(notify_ready(&n), 0);
	assert_string_equal(heard(fd), "READY=1\n");
	assert_int_equal(notify_stopping(&n), 0);
	assert_string_equal(heard(fd), "STOPPING=1\n");
	assert_int_equal(notify_watchdog(&n), 0);
	assert_string_equal(heard(fd), "WATCHDOG=1\n");

	assert_int_equal(notify_status(&n, "3 peers\nREADY=1"), 0);
	assert_string_equal(heard(fd), "STATUS=3 peers\n");
	assert_int_equal(notify_status(&n, "3 peers"), 0);
	assert_string_equal(heard(fd), ""); /* it is known */
	assert_int_equal(notify_status(&n, "4 peers"), 0);
	assert_string_equal(heard(fd), "STATUS=4 peers\n");

	clock_gettime(CLOCK_MONOTONIC, &now);
	assert_int_equal(notify_reloading(&n), 0);
	text = heard(fd);
	assert_memory_equal(text, monotonic, sizeof(monotonic) - 1);
	us = strtoull(text + sizeof(monotonic) - 1, NULL, 10);
	assert_true(us / 1000000 >= (uint64_t)now.tv_sec);
	assert_true(us / 1000000 <= (uint64_t)now.tv_sec + 3600);
	close(fd);
}

static void test_abstract_socket(void **state)
{
	char name[64];

	(void)state;
	snprintf(name, sizeof(name), "@sealane/test_notify/%d", (int)getpid());
	talk(name);
}

static void test_socket_file(void **state)
{
	char folder[] = "/tmp/test_notify.XXXXXX", name[64];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(name, sizeof(name), "%s/n", folder);
	talk(name);
	unlink(name);
	rmdir(folder);
}

static void test_nobody_to_tell(void **state)
{
	struct notify n;

	(void)state;
	env_usec = "1000";
	env_pid = NULL;
	env_socket = NULL;
	assert_int_equal(notify_init(&n, fake_getenv), 0);
	assert_int_equal(n.watchdog_us, 0); /* whom would it reach? */
	assert_int_equal(notify_ready(&n), 0);
	env_socket = "";
	assert_int_equal(notify_init(&n, fake_getenv), 0);
	assert_int_equal(notify_status(&n, "x"), 0);
	env_socket = "/nonexistent/socket";
	assert_int_equal(notify_init(&n, fake_getenv), 0);
	assert_int_equal(notify_ready(&n), -ENOENT);
}

static void test_bad_names(void **state)
{
	static const char *const names[] = {
		"relative", "vsock:2:1234", "/", "@",
		("/12345678901234567890123456789012345678901234567890123456789012345678901234567890"
		 "123456789012345678901234567890")};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct notify n;

		env_socket = names[i];
		assert_int_equal(notify_init(&n, fake_getenv), -EINVAL);
		assert_int_equal(notify_ready(&n), 0);
	}
}

static void test_watchdog(void **state)
{
	char own_pid[16];
	const struct {
		const char *usec, *pid;
		uint64_t want;
	} cases[] = {
		{"5", NULL, 5}, {"5", own_pid, 5}, {"5", "1", 0},   {NULL, own_pid, 0},
		{"", NULL, 0},	{"5s", NULL, 0},   {"-5", NULL, 0}, {"0", NULL, 0},
	};

	(void)state;
	snprintf(own_pid, sizeof(own_pid), "%d", (int)getpid());
	env_socket = "@x";
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct notify n;

		env_usec = cases[i].usec;
		env_pid = cases[i].pid;
		assert_int_equal(notify_init(&n, fake_getenv), 0);
		assert_int_equal(n.watchdog_us, cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_abstract_socket), cmocka_unit_test(test_socket_file),
		cmocka_unit_test(test_nobody_to_tell),	cmocka_unit_test(test_bad_names),
		cmocka_unit_test(test_watchdog),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
