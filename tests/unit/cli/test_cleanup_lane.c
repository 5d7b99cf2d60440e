/* SPDX-License-Identifier: Apache-2.0 */
/* In a mount namespace of its own, with an empty /var/run. */
#include "agent/cli/cleanup_lane.h"

#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli_world.h"
#include "overlay/link.h"

static const char *skip_reason;

static void test_name(void **state)
{
	static const struct {
		const char *alias, *name, *want;
	} cases[] = {
		{"sealane lane sl0", "sl0", "sl0"},
		{"sealane lane sl0", "foo", "sl0"},
		{"sealane", "sl0", "sl0"},
		{"", "sl0", "sl0"},
		{"sealane lane ", "sl0", "sl0"},
		{"sealane lane a-name-of-16-byt", "sl0", "sl0"},
		{"sealane lane a-name-of-15-by", "sl0", "a-name-of-15-by"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct link_info link = {.ifindex = 1};
		char name[IFNAMSIZ];

		snprintf(link.alias, sizeof(link.alias), "%s", cases[i].alias);
		snprintf(link.name, sizeof(link.name), "%s", cases[i].name);
		cleanup_lane_name(&link, name);
		assert_string_equal(name, cases[i].want);
	}
}

static int bind_socket(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	memcpy(addr.sun_path, path, strlen(path) + 1);
	assert_int_equal(bind(fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static void note_path(const char *path, void *arg)
{
	strcat(strcat(arg, path), "\n");
}

static void test_sockets(void **state)
{
	char found[300] = "";
	int alive, dead;

	(void)state;
	if (skip_reason) {
		print_message("skipped: %s\n", skip_reason);
		skip();
	}
	cleanup_lane_sockets("sl0", note_path, found); /* there are none */
	assert_string_equal(found, "");
	alive = bind_socket("/var/run/wireguard/sl0.sock");
	dead = bind_socket("/var/run/sealane/sl0.sock");
	close(bind_socket("/var/run/sealane/sl1.sock"));
	cleanup_lane_sockets("sl0", note_path, found);
	assert_string_equal(found, "");
	close(dead);
	cleanup_lane_sockets("sl0", note_path, found);
	assert_string_equal(found, "/var/run/sealane/sl0.sock\n");
	close(alive);
	*found = '\0';
	cleanup_lane_sockets("sl0", note_path, found);
	assert_string_equal(found, "/var/run/wireguard/sl0.sock\n/var/run/sealane/sl0.sock\n");
}

static void make_world(void)
{
	if (unshare(CLONE_NEWNS) < 0) {
		skip_reason = strerror(errno);
		return;
	}
	assert_int_equal(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	assert_int_equal(mount("tmpfs", "/run", "tmpfs", 0, NULL), 0);
	assert_int_equal(mkdir("/run/wireguard", 0755), 0);
	assert_int_equal(mkdir("/run/sealane", 0755), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_name),
		cmocka_unit_test(test_sockets),
	};

	make_world();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
