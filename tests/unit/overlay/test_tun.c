/* SPDX-License-Identifier: Apache-2.0 */
#include "overlay/tun.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <linux/ethtool.h>
#include <linux/if_tun.h>
#include <linux/sockios.h>

static const char *skip_reason;

static void need_netns(void)
{
	if (skip_reason) {
		print_message("skipped: %s\n", skip_reason);
		skip();
	}
}

static int open_named(const char *name, enum tun_kind kind, bool persist, struct tun *ret)
{
	const struct tun_open_args args = {.name = name, .kind = kind, .persist = persist};

	return tun_open(&args, ret);
}

/* A device the way others make them, with any flags. */
static int raw_open(const char *name, int flags)
{
	struct ifreq ifr = {.ifr_flags = (short)flags};
	int fd = open("/dev/net/tun", O_RDWR);

	assert_true(fd >= 0);
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	assert_int_equal(ioctl(fd, TUNSETIFF, &ifr), 0);
	return fd;
}

/* The driver's flags of an open device: IFF_TUN, IFF_PERSIST and so on, but not
 * IFF_NO_PI, whose bit here means "no filter" and is always set. */
static int driver_flags(int fd)
{
	struct ifreq ifr = {.ifr_flags = 0};

	assert_int_equal(ioctl(fd, TUNGETIFF, &ifr), 0);
	return (unsigned short)ifr.ifr_flags & ~IFF_NOFILTER;
}

/*
 * Whether there is the 4-byte packet information in front of packets, by what the
 * driver says about nonsense while the device is down. A TUN without it takes the
 * first half-byte for the IP version (EINVAL); a TAP with it finds only 12 of 16
 * bytes left for an Ethernet header (EINVAL). Otherwise it comes to EIO.
 */
static bool has_packet_info(int fd, enum tun_kind kind)
{
	static const char zeros[24];
	ssize_t n = write(fd, zeros, kind == TUN_KIND_TUN ? 24 : 16);

	assert_int_equal(n, -1);
	assert_true(errno == EINVAL || errno == EIO);
	return kind == TUN_KIND_TUN ? errno == EIO : errno == EINVAL;
}

static void remove_persistent(struct tun *tun)
{
	assert_int_equal(ioctl(tun->fd, TUNSETPERSIST, 0), 0);
	close(tun->fd);
	assert_int_equal(if_nametoindex(tun->name), 0);
}

static void test_open(void **state)
{
	static const struct {
		enum tun_kind kind;
		const char *name, *want_name;
		int want_flags;
	} cases[] = {
		{TUN_KIND_TUN, "sl-tun", "sl-tun", IFF_TUN},
		{TUN_KIND_TAP, "sl-tap", "sl-tap", IFF_TAP},
		{TUN_KIND_TUN, "sl%dx", "sl0x", IFF_TUN},
		{TUN_KIND_TUN, "fifteen-letters", "fifteen-letters", IFF_TUN},
	};

	(void)state;
	need_netns();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tun tun;

		assert_int_equal(open_named(cases[i].name, cases[i].kind, false, &tun), 0);
		assert_string_equal(tun.name, cases[i].want_name);
		assert_int_equal(tun.kind, cases[i].kind);
		assert_int_equal(driver_flags(tun.fd), cases[i].want_flags);
		assert_false(has_packet_info(tun.fd, tun.kind));
		assert_true(fcntl(tun.fd, F_GETFD) & FD_CLOEXEC);
		assert_true(fcntl(tun.fd, F_GETFL) & O_NONBLOCK);
		assert_int_not_equal(if_nametoindex(tun.name), 0);
		close(tun.fd);
		assert_int_equal(if_nametoindex(cases[i].want_name), 0);
	}
}

/* Keeps has_packet_info() honest. */
static void test_packet_info_is_seen(void **state)
{
	int fd;

	(void)state;
	need_netns();
	fd = raw_open("sl0", IFF_TUN);
	assert_true(has_packet_info(fd, TUN_KIND_TUN));
	close(fd);
	fd = raw_open("sl0", IFF_TAP);
	assert_true(has_packet_info(fd, TUN_KIND_TAP));
	close(fd);
}

static void test_bad_names(void **state)
{
	static const char *const names[] = {
		NULL,	 "",	 ".",	  "..",	    "sixteen-letters-",
		"a/b",	 "a b",	 "a\tb",  "a\nb",   "a\vb",
		"a\x7f", "a:b",	 "%",	  "a%",	    "a%s",
		"a%%d",	 "%d%d", "a%ldx", "\x01up", "a%",
		"a%1d",	 "a%%b",
	};
	struct tun tun = {.fd = 4711};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int err = open_named(names[i], TUN_KIND_TUN, false, &tun);

		if (err != -EINVAL)
			fail_msg("\"%s\": %d", names[i] ? names[i] : "NULL", err);
	}
	assert_int_equal(tun.fd, 4711);
}

static void test_persistent(void **state)
{
	struct tun tun, again, in_use;

	(void)state;
	need_netns();
	assert_int_equal(open_named("sl0", TUN_KIND_TUN, true, &tun), 0);
	assert_true(driver_flags(tun.fd) & IFF_PERSIST);
	assert_int_equal(open_named("sl0", TUN_KIND_TUN, true, &in_use), -EBUSY);
	close(tun.fd);
	assert_int_not_equal(if_nametoindex("sl0"), 0);

	/* The other kind is refused, the same kind takes it over. */
	assert_int_equal(open_named("sl0", TUN_KIND_TAP, false, &again), -EBUSY);
	assert_int_equal(open_named("sl0", TUN_KIND_TUN, false, &again), 0);
	assert_true(driver_flags(again.fd) & IFF_PERSIST);
	remove_persistent(&again);
}

static void test_names_taken(void **state)
{
	const int many_queues = IFF_TUN | IFF_NO_PI | IFF_MULTI_QUEUE;
	struct tun first, second = {.fd = 4711};
	int fd;

	(void)state;
	need_netns();
	assert_int_equal(open_named("lo", TUN_KIND_TUN, false, &second), -EBUSY);
	assert_int_equal(open_named("sl0", TUN_KIND_TUN, false, &first), 0);
	assert_int_equal(open_named("sl0", TUN_KIND_TUN, false, &second), -EBUSY);
	assert_int_equal(open_named("sl0", TUN_KIND_TAP, false, &second), -EBUSY);
	close(first.fd);

	fd = raw_open("sl1", many_queues);
	assert_int_equal(open_named("sl1", TUN_KIND_TUN, false, &second), -EBUSY);
	close(fd);
	assert_int_equal(second.fd, 4711);
}

static int open_queued(const char *name, bool many, bool persist, struct tun *ret)
{
	const struct tun_open_args args = {
		.name = name,
		.kind = TUN_KIND_TAP,
		.vnet_hdr = true,
		.offloads = TUN_OFFLOAD_ALL,
		.multi_queue = many,
		.persist = persist,
	};

	return tun_open(&args, ret);
}

static void test_queues(void **state)
{
	struct tun first, second = {.fd = 4711};
	int fd;

	(void)state;
	need_netns();
	assert_int_equal(open_queued("sl0", true, false, &first), 0);
	assert_true(first.multi_queue);
	assert_int_equal(tun_queues_in_use("sl0"), 1);
	fd = tun_open_queue(&first);
	assert_true(fd >= 0);
	assert_int_equal(tun_queues_in_use("sl0"), 2);
	/* Anybody else would get some of the packets. */
	assert_int_equal(open_queued("sl0", true, false, &second), -EBUSY);
	assert_int_equal(open_queued("sl0", false, false, &second), -EBUSY);
	assert_int_equal(second.fd, 4711);
	close(fd);
	assert_int_equal(tun_queues_in_use("sl0"), 1);
	close(first.fd);
	assert_int_equal(tun_queues_in_use("sl0"), -ENODEV);

	assert_int_equal(open_queued("sl1", false, false, &first), 0);
	assert_false(first.multi_queue);
	assert_int_equal(tun_queues_in_use("sl1"), 0);
	assert_int_equal(open_queued("sl1", true, false, &second), -EBUSY);
	close(first.fd);
	assert_int_equal(tun_queues_in_use("lo"), 0);
}

/* What is left stays of its sort, and is taken by who wants the other. */
static void test_queues_left(void **state)
{
	struct tun tun;

	(void)state;
	need_netns();
	for (int many = 0; many < 2; many++) {
		const char *name = many ? "sl1" : "sl0";

		assert_int_equal(open_queued(name, many, true, &tun), 0);
		close(tun.fd);
		assert_int_equal(open_queued(name, !many, true, &tun), 0);
		assert_int_equal(tun.multi_queue, many);
		assert_int_equal(tun.vnet_hdr_len > 0, true);
		assert_int_equal(ioctl(tun.fd, TUNSETPERSIST, 0), 0);
		close(tun.fd);
	}
}

static uint32_t tso_of(const char *name)
{
	struct ethtool_value value = {.cmd = ETHTOOL_GTSO};
	struct ifreq ifr = {.ifr_data = (char *)&value};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	assert_int_equal(ioctl(fd, SIOCETHTOOL, &ifr), 0);
	close(fd);
	return value.data;
}

static void test_offloads_of_last_owner_cleared(void **state)
{
	int fd;
	struct tun tun;

	(void)state;
	need_netns();
	fd = raw_open("sl0", IFF_TUN | IFF_NO_PI | IFF_VNET_HDR);
	assert_int_equal(ioctl(fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6), 0);
	assert_int_equal(ioctl(fd, TUNSETPERSIST, 1), 0);
	close(fd);
	assert_int_equal(tso_of("sl0"), 1);

	assert_int_equal(open_named("sl0", TUN_KIND_TUN, true, &tun), 0);
	assert_int_equal(driver_flags(tun.fd), IFF_TUN | IFF_PERSIST);
	assert_int_equal(tso_of("sl0"), 0);
	remove_persistent(&tun);
}

static void test_adopt(void **state)
{
	static const struct {
		int flags;
		enum tun_kind want_kind;
		bool want_vnet_hdr;
	} cases[] = {
		{IFF_TUN | IFF_NO_PI, TUN_KIND_TUN, false},
		{IFF_TAP | IFF_NO_PI, TUN_KIND_TAP, false},
		{IFF_TUN | IFF_NO_PI | IFF_VNET_HDR, TUN_KIND_TUN, true},
	};

	(void)state;
	need_netns();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tun tun = {.fd = 4711};
		int fd = raw_open("sl7", cases[i].flags);

		assert_int_equal(tun_adopt(fd, TUN_OFFLOAD_CSUM | TUN_OFFLOAD_TSO, &tun), 0);
		assert_int_equal(tun.fd, fd);
		assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
		assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
		assert_int_equal(tun.kind, cases[i].want_kind);
		assert_string_equal(tun.name, "sl7");
		assert_int_equal(tun.vnet_hdr_len != 0, cases[i].want_vnet_hdr);
		assert_int_equal(tun.offloads, cases[i].want_vnet_hdr ? 0x07 : 0);
		assert_int_equal(tso_of("sl7"), cases[i].want_vnet_hdr);
		close(fd);
	}
}

/* What is asked for, and what this kernel is known to grant (masks of
 * drivers/net/tun.c:set_offload()). */
static void test_negotiation(void **state)
{
	static const struct {
		bool vnet_hdr;
		unsigned asked, want;
	} cases[] = {
		{false, TUN_OFFLOAD_ALL, 0},
		{true, 0, 0},
		{true, TUN_OFFLOAD_CSUM, 0x01},
		{true, TUN_OFFLOAD_TSO, 0}, /* nothing goes without checksums */
		{true, TUN_OFFLOAD_CSUM | TUN_OFFLOAD_TSO, 0x07},
	};

	(void)state;
	need_netns();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tun_open_args args = {
			.name = "sl8",
			.kind = TUN_KIND_TAP,
			.vnet_hdr = cases[i].vnet_hdr,
			.offloads = cases[i].asked,
		};
		struct tun tun;
		int size = 0;

		assert_int_equal(tun_open(&args, &tun), 0);
		assert_int_equal(tun.offloads, cases[i].want);
		assert_int_equal(tso_of("sl8"), (cases[i].want & TUN_OFFLOAD_TSO) != 0);
		assert_int_equal(ioctl(tun.fd, TUNGETVNETHDRSZ, &size), 0);
		if (cases[i].vnet_hdr)
			assert_int_equal(tun.vnet_hdr_len, size);
		else
			assert_int_equal(tun.vnet_hdr_len, 0);
		close(tun.fd);
	}
}

static void test_adopt_something_else(void **state)
{
	static const struct {
		const char *path;
		int want_err;
	} cases[] = {
		{"/dev/null", -ENOTTY},
		{SEALANE_SOURCE_DIR "/CMakeLists.txt", -ENOTTY},
		{"/dev/net/tun", -EBADFD}, /* not attached */
	};
	struct tun tun = {.fd = 4711};

	(void)state;
	need_netns();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int fd = open(cases[i].path, O_RDONLY);

		assert_true(fd >= 0);
		assert_int_equal(tun_adopt(fd, 0, &tun), cases[i].want_err);
		assert_int_equal(fcntl(fd, F_GETFD), 0);
		close(fd);
	}
	assert_int_equal(tun_adopt(-1, 0, &tun), -EBADF);
	assert_int_equal(tun.fd, 4711);
}

/* What the features of the driver say, asked without a device: the offload masks
 * with tunnels came with Linux 6.17. */
static bool kernel_is_6_17(void)
{
	unsigned major = 0, minor = 0;
	FILE *file = fopen("/proc/sys/kernel/osrelease", "re");

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%u.%u", &major, &minor), 2);
	fclose(file);
	return major > 6 || (major == 6 && minor >= 17);
}

static ino_t netns_inode(void)
{
	struct stat st;

	assert_int_equal(stat("/proc/thread-self/ns/net", &st), 0);
	return st.st_ino;
}

static void test_tunnel_gso(void **state)
{
	ino_t before;
	bool has;

	(void)state;
	need_netns();
	before = netns_inode();
	has = !kernel_is_6_17();
	assert_int_equal(tun_has_tunnel_gso(&has), 0);
	assert_int_equal(has, kernel_is_6_17());
	assert_int_equal(netns_inode(), before);
	assert_int_equal(if_nametoindex("sealaneprobe0"), 0);
}

/* The rest runs in children, which spoil their own surroundings and exit with the
 * error they got. */
static int in_child(int (*fn)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(-fn());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

static int open_any(void)
{
	struct tun tun;

	return open_named("sl0", TUN_KIND_TUN, false, &tun);
}

static int probe(void)
{
	bool has;

	return tun_has_tunnel_gso(&has);
}

static int hide_dev_net(void)
{
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", "/dev/net", "tmpfs", 0, NULL) < 0)
		return -EXDEV;
	return 0;
}

static int open_without_node(void)
{
	int err = hide_dev_net();

	return err ? err : open_any();
}

static int probe_without_node(void)
{
	int err = hide_dev_net();

	return err ? err : probe();
}

static int open_node_of(unsigned major, unsigned minor, mode_t mode)
{
	int err = hide_dev_net();

	if (!err && mknod("/dev/net/tun", S_IFCHR | mode, makedev(major, minor)) < 0)
		err = -EXDEV;
	return err ? err : open_any();
}

static int open_without_driver(void)
{
	return open_node_of(10, 250, 0600); /* a misc device that nobody has */
}

static int open_without_major(void)
{
	return open_node_of(500, 0, 0600);
}

static int become_nobody(void)
{
	return setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0 ? -EXDEV : 0;
}

static int open_unprivileged(void)
{
	int err = become_nobody();

	return err ? err : open_any();
}

static int open_forbidden_node(void)
{
	int err = hide_dev_net();

	if (!err && mknod("/dev/net/tun", S_IFCHR | 0600, makedev(10, 200)) < 0)
		err = -EXDEV;
	return err ? err : open_unprivileged();
}

static int probe_unprivileged(void)
{
	int err = become_nobody();

	return err ? err : probe();
}

static void test_open_errors(void **state)
{
	static const struct {
		const char *what;
		int (*fn)(void);
		int want_err;
	} cases[] = {
		{"no node", open_without_node, -ENOENT},
		{"no node, probe", probe_without_node, -ENOENT},
		{"no driver", open_without_driver, -ENODEV},
		{"no driver for the major number", open_without_major, -ENODEV},
		{"no capability", open_unprivileged, -EPERM},
		{"no capability, probe", probe_unprivileged, -EPERM},
		{"mode of the node", open_forbidden_node, -EPERM},
		{"control: nothing spoiled", open_any, 0},
	};

	(void)state;
	need_netns();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int err = in_child(cases[i].fn);

		if (err == -EXDEV) {
			print_message("skipped: %s: no mount or user of our own\n", cases[i].what);
			continue;
		}
		if (err != cases[i].want_err)
			fail_msg("%s: %d, not %d", cases[i].what, err, cases[i].want_err);
	}
}

static void test_strerror(void **state)
{
	static const struct {
		int err;
		const char *want; /* the part that says what to do */
	} cases[] = {
		{ENOENT, "modprobe tun"}, {ENODEV, "modprobe tun"},  {EPERM, "CAP_NET_ADMIN"},
		{EBUSY, "taken"},	  {EINVAL, "15 characters"},
	};
	char buf[240], small[8];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (int sign = -1; sign <= 1; sign += 2) {
			const char *text = tun_strerror(sign * cases[i].err, "fifteen-letters", buf,
							sizeof(buf));

			assert_ptr_equal(text, buf);
			assert_non_null(strstr(text, cases[i].want));
			assert_non_null(strstr(text, "fifteen-letters"));
			assert_null(strchr(text, '\n'));
			assert_true(strlen(text) < sizeof(buf) - 1); /* not cut */
		}
	}
	assert_non_null(strstr(tun_strerror(-ENFILE, "x", buf, sizeof(buf)), strerror(ENFILE)));
	assert_non_null(tun_strerror(-ENFILE, NULL, buf, sizeof(buf)));
	assert_int_equal(strlen(tun_strerror(-EPERM, "sl0", small, sizeof(small))), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_packet_info_is_seen),
		cmocka_unit_test(test_bad_names),
		cmocka_unit_test(test_persistent),
		cmocka_unit_test(test_names_taken),
		cmocka_unit_test(test_queues),
		cmocka_unit_test(test_queues_left),
		cmocka_unit_test(test_offloads_of_last_owner_cleared),
		cmocka_unit_test(test_adopt),
		cmocka_unit_test(test_negotiation),
		cmocka_unit_test(test_adopt_something_else),
		cmocka_unit_test(test_tunnel_gso),
		cmocka_unit_test(test_open_errors),
		cmocka_unit_test(test_strerror),
	};

	if (unshare(CLONE_NEWNET) < 0)
		skip_reason = "no network namespace of our own: run as root";
	else if (access("/dev/net/tun", R_OK | W_OK))
		skip_reason = "no /dev/net/tun";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
