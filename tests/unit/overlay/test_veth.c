/* SPDX-License-Identifier: Apache-2.0 */
#include "overlay/veth.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "overlay/link.h"
#include "overlay/nl.h"

static const char *skip_reason;

static struct nl *begin(void)
{
	struct nl *nl;

	if (skip_reason) {
		print_message("skipped: %s\n", skip_reason);
		skip();
	}
	assert_int_equal(nl_open(&nl), 0);
	return nl;
}

static void end(struct nl *nl, int ifindex)
{
	if (ifindex)
		assert_int_equal(link_delete(nl, ifindex), 0);
	nl_close(nl);
}

static void test_create(void **state)
{
	const struct veth_args args = {
		.end = {.name = "va",
			.mtu = 9000,
			.has_mac = true,
			.mac = {2, 1, 2, 3, 4, 5},
			.n_queues = 3},
		.peer = {.name = "vb%d",
			 .mtu = 65535,
			 .has_mac = true,
			 .mac = {2, 1, 2, 3, 4, 6},
			 .n_queues = 2},
	};
	struct nl *nl = begin();
	struct link_info a, b;
	int end_index = 0, peer_index = 0;

	(void)state;
	assert_int_equal(veth_create(nl, &args, &end_index, &peer_index), 0);
	assert_int_equal(link_get(nl, "va", &a), 0);
	assert_int_equal(link_get(nl, "vb0", &b), 0);
	assert_int_equal(end_index, a.ifindex);
	assert_int_equal(peer_index, b.ifindex);
	assert_int_equal(a.mtu, 9000);
	assert_int_equal(b.mtu, 65535);
	assert_memory_equal(a.mac, args.end.mac, 6);
	assert_memory_equal(b.mac, args.peer.mac, 6);
	assert_false((a.flags | b.flags) & IFF_UP);
	/* /sys may show another namespace; ip does not. */
	assert_int_equal(system("ip -d link show va | grep -q 'numtxqueues 3 numrxqueues 3'"), 0);
	assert_int_equal(system("ip -d link show vb0 | grep -q 'numtxqueues 2 numrxqueues 2'"), 0);
	end(nl, end_index);
}

static void test_refused(void **state)
{
	static const struct {
		const char *what;
		struct veth_args args;
		int want_err;
	} cases[] = {
		{"taken", {.end = {.name = "lo"}}, -EEXIST},
		{"peer's taken", {.end = {.name = "va"}, .peer = {.name = "lo"}}, -EEXIST},
		{"no name", {.end = {.name = NULL}}, -EINVAL},
		{"empty", {.end = {.name = ""}}, -EINVAL},
		{"16 letters", {.end = {.name = "sixteen-letters-"}}, -EINVAL},
		{"counts", {.end = {.name = "va%d"}}, -EINVAL},
		{"slash", {.end = {.name = "v/a"}}, -EINVAL},
		{"peer's empty", {.end = {.name = "va"}, .peer = {.name = ""}}, -EINVAL},
		{"zero MAC", {.end = {.name = "va", .has_mac = true}}, -EINVAL},
		{"group MAC", {.end = {.name = "va", .has_mac = true, .mac = {3}}}, -EINVAL},
		{"peer's MAC", {.end = {.name = "va"}, .peer = {.has_mac = true}}, -EINVAL},
	};
	struct nl *nl = begin();
	int end_index = 7, peer_index = 8;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int err = veth_create(nl, &cases[i].args, &end_index, &peer_index);

		if (err != cases[i].want_err)
			fail_msg("%s: %d", cases[i].what, err);
		assert_int_equal(if_nametoindex("va"), 0);
	}
	assert_int_equal(end_index, 7);
	assert_int_equal(peer_index, 8);
	end(nl, 0);
}

static void create(struct nl *nl, int *a, int *b)
{
	const struct veth_args args = {.end = {.name = "va"}, .peer = {.name = "vb"}};

	assert_int_equal(veth_create(nl, &args, a, b), 0);
}

static int new_netns(void)
{
	int home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC), fd;

	assert_int_equal(unshare(CLONE_NEWNET), 0);
	fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	assert_int_equal(setns(home, CLONE_NEWNET), 0);
	close(home);
	return fd;
}

static void move_to(int netns, const char *name)
{
	char command[100];

	snprintf(command, sizeof(command), "ip link set %s netns /proc/self/fd/%d", name, netns);
	assert_int_equal(fcntl(netns, F_SETFD, 0), 0);
	assert_int_equal(system(command), 0);
}

static void test_peer(void **state)
{
	struct nl *nl = begin();
	struct veth_peer peer = {.ifindex = 7};
	struct veth_limits limits;
	int a, b, netns, home;

	(void)state;
	assert_int_equal(veth_peer(nl, (int)if_nametoindex("lo"), &peer), -ENOTUNIQ);
	assert_int_equal(veth_peer(nl, 99999, &peer), -ENODEV);
	assert_int_equal(veth_peer(nl, 0, &peer), -ENODEV);
	assert_int_equal(peer.ifindex, 7);
	create(nl, &a, &b);
	assert_int_equal(veth_peer(nl, a, &peer), 0);
	assert_int_equal(peer.ifindex, b);
	assert_false(peer.elsewhere);
	assert_int_equal(veth_peer(nl, b, &peer), 0);
	assert_int_equal(peer.ifindex, a);

	assert_int_equal(veth_limits_set(nl, a, 40000), 0);
	netns = new_netns();
	move_to(netns, "va");
	assert_int_equal(veth_peer(nl, b, &peer), 0);
	assert_true(peer.elsewhere);
	assert_int_equal(veth_limits_get(nl, peer.ifindex, peer.netnsid, &limits), 0);
	assert_int_equal(limits.gro_max_size, 40000);
	assert_int_equal(veth_limits_get(nl, peer.ifindex, 9999, &limits), -EINVAL);
	assert_int_equal(veth_limits_get(nl, 99999, peer.netnsid, &limits), -ENODEV);
	/* Is it that one? */
	home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	assert_int_equal(setns(netns, CLONE_NEWNET), 0);
	assert_int_equal(if_nametoindex("va"), peer.ifindex);
	assert_int_equal(setns(home, CLONE_NEWNET), 0);
	close(home);
	end(nl, b);
	/* Not before: it would take the pair with it some time. */
	close(netns);
}

/* Raised, lowered, raised: every one of the four ends where it should. */
static void test_limits(void **state)
{
	static const uint32_t sizes[] = {65536, 196608, 65536, 30000, 524280, 65537, 40000};
	struct nl *nl = begin();
	struct veth_limits l;
	int a, b;

	(void)state;
	create(nl, &a, &b);
	assert_int_equal(veth_limits_get(nl, a, -1, &l), 0);
	assert_int_equal(l.gso_max_size, 65536);
	assert_int_equal(l.gso_max_segs, 65535);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_int_equal(veth_limits_set(nl, a, sizes[i]), 0);
		assert_int_equal(veth_limits_get(nl, a, -1, &l), 0);
		assert_int_equal(l.gso_max_size, sizes[i]);
		assert_int_equal(l.gro_max_size, sizes[i]);
		/* Linux 6.3 */
		assert_true(!l.gso_ipv4_max_size || l.gso_ipv4_max_size == sizes[i]);
		assert_true(!l.gro_ipv4_max_size || l.gro_ipv4_max_size == sizes[i]);
	}
	assert_int_equal(veth_limits_get(nl, b, -1, &l), 0);
	assert_int_equal(l.gso_max_size, 65536);

	assert_int_equal(veth_limits_set(nl, a, 524281), -EINVAL);
	assert_int_equal(veth_limits_set(nl, a, 100), -ERANGE);
	assert_int_equal(veth_limits_set(nl, 0, 65536), -ENODEV);
	assert_int_equal(veth_limits_set(nl, 99999, 65536), -ENODEV);
	end(nl, a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_create),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_peer),
		cmocka_unit_test(test_limits),
	};

	if (unshare(CLONE_NEWNET) < 0)
		skip_reason = "no network namespace of our own: run as root";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
