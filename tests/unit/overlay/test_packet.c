/* SPDX-License-Identifier: Apache-2.0 */
#include "overlay/packet.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cmocka.h>
#include <linux/if_packet.h>

#include "overlay/link.h"
#include "overlay/nl.h"
#include "overlay/veth.h"

static const char *skip_reason;

struct pair {
	struct nl *nl;
	int a, b;
	struct packet on_a, on_b;
};

static void begin(struct pair *p)
{
	const struct veth_args args = {.end = {.name = "va"}, .peer = {.name = "vb"}};
	const struct link_change up = {.set_up = true, .up = true, .set_addr_gen_none = true};

	if (skip_reason) {
		print_message("skipped: %s\n", skip_reason);
		skip();
	}
	assert_int_equal(nl_open(&p->nl), 0);
	assert_int_equal(veth_create(p->nl, &args, &p->a, &p->b), 0);
	assert_int_equal(packet_open(p->a, &p->on_a), 0);
	assert_int_equal(packet_open(p->b, &p->on_b), 0);
	assert_int_equal(link_set(p->nl, p->a, &up), 0);
	assert_int_equal(link_set(p->nl, p->b, &up), 0);
	/* Both were told that their device was down. */
	(void)recv(p->on_a.fd, NULL, 0, 0);
	(void)recv(p->on_b.fd, NULL, 0, 0);
}

static void end(struct pair *p)
{
	close(p->on_a.fd);
	close(p->on_b.fd);
	(void)link_delete(p->nl, p->a);
	nl_close(p->nl);
}

/* What must come, comes; how soon is up to a machine that others use, too. */
enum { WAIT_MS = 30000 };

static ssize_t receive(int fd, void *buf, size_t len)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};

	assert_int_equal(poll(&ready, 1, WAIT_MS), 1);
	return recv(fd, buf, len, 0);
}

enum { FRAME_LEN = PACKET_VNET_HDR_LEN + 64 };

/* To another station, with @tag (a type and a tci, 0: none). */
static void make_frame(uint8_t *p, uint32_t tag)
{
	static const uint8_t macs[12] = {2, 0, 0, 0, 0, 0xaa, 2, 0, 0, 0, 0, 0xbb};

	memset(p, 0, FRAME_LEN);
	p += PACKET_VNET_HDR_LEN;
	memcpy(p, macs, 12);
	p += 12;
	if (tag) {
		p[0] = (uint8_t)(tag >> 24);
		p[1] = (uint8_t)(tag >> 16);
		p[2] = (uint8_t)(tag >> 8);
		p[3] = (uint8_t)tag;
		p += 4;
	}
	p[0] = 0x88;
	p[1] = 0xb5;
	p[2] = 0x77;
}

static void test_options(void **state)
{
	static const int options[] = {PACKET_VNET_HDR, PACKET_AUXDATA, PACKET_QDISC_BYPASS,
				      PACKET_IGNORE_OUTGOING};
	struct pair p;

	(void)state;
	begin(&p);
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		int on = 0;
		socklen_t len = sizeof(on);

		assert_int_equal(getsockopt(p.on_a.fd, SOL_PACKET, options[i], &on, &len), 0);
		assert_int_equal(on, 1);
	}
	assert_true(fcntl(p.on_a.fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(p.on_a.fd, F_GETFD) & FD_CLOEXEC);
	assert_in_range(p.on_a.receive_buf_len, 16 << 20, 64 << 20);
	end(&p);
}

static void test_refused(void **state)
{
	static const int indexes[] = {0, -1, 99999};
	struct packet packet = {.fd = 4711};

	(void)state;
	if (skip_reason)
		skip();
	for (size_t i = 0; i < sizeof(indexes) / sizeof(indexes[0]); i++)
		assert_int_equal(packet_open(indexes[i], &packet), -ENODEV);
	assert_int_equal(packet.fd, 4711);
}

/* Comes out at the other end, and not back at ours. */
static void test_frame_crosses(void **state)
{
	uint8_t frame[FRAME_LEN], got[2 * FRAME_LEN];
	struct pair p;

	(void)state;
	begin(&p);
	make_frame(frame, 0);
	assert_int_equal(send(p.on_a.fd, frame, sizeof(frame), 0), sizeof(frame));
	assert_int_equal(receive(p.on_b.fd, got, sizeof(got)), sizeof(frame));
	/* All but the vnet header's flags, which say that checksums are fine. */
	assert_memory_equal(got + PACKET_VNET_HDR_LEN, frame + PACKET_VNET_HDR_LEN,
			    FRAME_LEN - PACKET_VNET_HDR_LEN);
	assert_int_equal(recv(p.on_a.fd, got, sizeof(got), 0), -1);
	assert_int_equal(errno, EAGAIN);
	end(&p);
}

static void test_vlan(void **state)
{
	static const struct {
		uint32_t tag;
		bool present;
		uint16_t tpid, tci;
	} cases[] = {
		{0, false, 0, 0},
		{0x8100002a, true, 0x8100, 42},
		{0x81000000, true, 0x8100, 0},
		{0x8100f001, true, 0x8100, 0xf001},
		{0x88a80064, true, 0x88a8, 100},
	};
	struct pair p;

	(void)state;
	begin(&p);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_Alignas(struct cmsghdr) uint8_t control[PACKET_CONTROL_LEN];
		uint8_t frame[FRAME_LEN], got[2 * FRAME_LEN];
		struct iovec iov = {got, sizeof(got)};
		struct msghdr msg = {.msg_iov = &iov,
				     .msg_iovlen = 1,
				     .msg_control = control,
				     .msg_controllen = sizeof(control)};
		struct pollfd ready = {.fd = p.on_b.fd, .events = POLLIN};
		struct packet_vlan vlan;

		make_frame(frame, cases[i].tag);
		assert_int_equal(send(p.on_a.fd, frame, sizeof(frame), 0), sizeof(frame));
		assert_int_equal(poll(&ready, 1, WAIT_MS), 1);
		assert_int_equal(recvmsg(p.on_b.fd, &msg, 0), FRAME_LEN - (cases[i].tag ? 4 : 0));
		assert_false(msg.msg_flags & MSG_CTRUNC);
		vlan = packet_vlan_of(&msg);
		assert_int_equal(vlan.present, cases[i].present);
		assert_int_equal(vlan.tci, cases[i].tci);
		if (vlan.present)
			assert_int_equal(vlan.tpid, cases[i].tpid);
	}
	end(&p);
}

static void test_drops(void **state)
{
	enum { N_FRAMES = 200 };
	int small = 4096;
	unsigned n_read = 0, n_dropped = 0;
	uint8_t frame[FRAME_LEN];
	struct pair p;

	(void)state;
	begin(&p);
	assert_int_equal(packet_take_drops(p.on_b.fd), 0);
	assert_int_equal(setsockopt(p.on_b.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	make_frame(frame, 0);
	for (int i = 0; i < N_FRAMES; i++)
		assert_int_equal(send(p.on_a.fd, frame, sizeof(frame), 0), sizeof(frame));
	for (unsigned i = 0; n_read + n_dropped < N_FRAMES && i < WAIT_MS; i++) {
		while (recv(p.on_b.fd, frame, sizeof(frame), 0) > 0)
			n_read++;
		n_dropped += packet_take_drops(p.on_b.fd);
		if (n_read + n_dropped < N_FRAMES)
			usleep(1000);
	}
	assert_in_range(n_read, 1, N_FRAMES - 1);
	assert_int_equal(n_read + n_dropped, N_FRAMES);
	assert_int_equal(packet_take_drops(p.on_b.fd), 0);
	end(&p);
}

enum { N_FLOWS = 64, N_ROUNDS = 4, N_MEMBERS = 2 };

/* UDP over IPv4 from port 1024 + @flow; @round is its first payload byte. */
static void make_flow_frame(uint8_t *p, unsigned flow, unsigned round)
{
	static const uint8_t ip[] = {0x45, 0, 0,  50, 0, 0, 0,	0, 64, 17,
				     0,	   0, 10, 9,  0, 1, 10, 9, 0,  2};

	make_frame(p, 0);
	p += PACKET_VNET_HDR_LEN + 12;
	p[0] = 0x08;
	p[1] = 0;
	memcpy(p + 2, ip, sizeof(ip));
	p[22] = (uint8_t)((1024 + flow) >> 8);
	p[23] = (uint8_t)(1024 + flow);
	p[25] = 53;
	p[27] = 30;
	p[30] = (uint8_t)round;
}

struct shares {
	uint8_t seen[N_FLOWS][N_ROUNDS]; /* how often */
	int member[N_FLOWS];		 /* who has that flow; -1: nobody yet */
	unsigned n_of[N_MEMBERS], n;
};

static void take_share(struct shares *s, int member, int fd)
{
	uint8_t got[2 * FRAME_LEN];

	while (recv(fd, got, sizeof(got), 0) == FRAME_LEN) {
		const uint8_t *ip = got + PACKET_VNET_HDR_LEN + 14;
		unsigned flow = (unsigned)(ip[20] << 8 | ip[21]) - 1024, round = ip[28];

		assert_true(flow < N_FLOWS && round < N_ROUNDS);
		s->seen[flow][round]++;
		s->n_of[member]++;
		s->n++;
		if (s->member[flow] < 0)
			s->member[flow] = member;
		assert_int_equal(s->member[flow], member);
	}
}

/* Every frame at one of two sockets, those of a flow at the same, and both have
 * some: that 64 flows all go to one of two is no accident. */
static void test_fanout(void **state)
{
	uint8_t frame[FRAME_LEN];
	struct shares shares = {.n = 0};
	struct packet other;
	int group, fds[N_MEMBERS];
	struct pair p;

	(void)state;
	begin(&p);
	assert_int_equal(packet_open(p.b, &other), 0);
	group = packet_join_fanout(p.on_b.fd, PACKET_FANOUT_NEW);
	assert_in_range(group, 0, UINT16_MAX);
	assert_int_equal(packet_join_fanout(other.fd, group), group);
	assert_int_equal(packet_join_fanout(other.fd, group), -EALREADY);
	fds[0] = p.on_b.fd;
	fds[1] = other.fd;
	for (unsigned i = 0; i < N_FLOWS; i++)
		shares.member[i] = -1;
	for (unsigned i = 0; i < N_FLOWS * N_ROUNDS; i++) {
		/* Not in the same order each time, or taking turns would do. */
		make_flow_frame(frame, (i + i / N_FLOWS) % N_FLOWS, i / N_FLOWS);
		assert_int_equal(send(p.on_a.fd, frame, sizeof(frame), 0), sizeof(frame));
	}
	for (unsigned i = 0; shares.n < N_FLOWS * N_ROUNDS && i < WAIT_MS; i++) {
		for (int k = 0; k < N_MEMBERS; k++)
			take_share(&shares, k, fds[k]);
		if (shares.n < N_FLOWS * N_ROUNDS)
			usleep(1000);
	}
	for (unsigned i = 0; i < N_FLOWS * N_ROUNDS; i++)
		assert_int_equal(shares.seen[i % N_FLOWS][i / N_FLOWS], 1);
	assert_true(shares.n_of[0] > 0 && shares.n_of[1] > 0);
	close(other.fd);
	end(&p);
}

/* What others send out of the device is not for the group. */
static void test_fanout_ignores_outgoing(void **state)
{
	const int no = 0;
	uint8_t frame[FRAME_LEN], got[2 * FRAME_LEN];
	unsigned major = 0, minor = 0;
	struct utsname uts;
	struct packet other;
	struct pair p;

	(void)state;
	assert_int_equal(uname(&uts), 0);
	assert_int_equal(sscanf(uts.release, "%u.%u", &major, &minor), 2);
	if (major < 6 || (major == 6 && minor < 2))
		skip();
	begin(&p);
	assert_int_equal(packet_open(p.b, &other), 0);
	assert_true(packet_join_fanout(p.on_b.fd, PACKET_FANOUT_NEW) >= 0);
	make_frame(frame, 0);
	/* Sockets are shown what passes the queueing discipline. */
	assert_int_equal(setsockopt(other.fd, SOL_PACKET, PACKET_QDISC_BYPASS, &no, sizeof(no)), 0);
	assert_int_equal(send(other.fd, frame, sizeof(frame), 0), sizeof(frame));
	assert_int_equal(receive(p.on_a.fd, got, sizeof(got)), sizeof(frame));
	assert_int_equal(recv(p.on_b.fd, got, sizeof(got), 0), -1);
	assert_int_equal(errno, EAGAIN);
	close(other.fd);
	end(&p);
}

static void test_fanout_refused(void **state)
{
	const struct link_change down = {.set_up = true};
	struct pair p;
	int group;

	(void)state;
	begin(&p);
	group = packet_join_fanout(p.on_a.fd, PACKET_FANOUT_NEW);
	assert_true(group >= 0);
	/* of another device, or no number */
	assert_int_equal(packet_join_fanout(p.on_b.fd, group), -EINVAL);
	assert_int_equal(packet_join_fanout(p.on_b.fd, -2), -EINVAL);
	assert_int_equal(packet_join_fanout(p.on_b.fd, 65536), -EINVAL);
	assert_int_equal(packet_join_fanout(-1, PACKET_FANOUT_NEW), -EBADF);
	/* A second group gets another number. */
	assert_int_not_equal(packet_join_fanout(p.on_b.fd, PACKET_FANOUT_NEW), group);
	assert_int_equal(link_set(p.nl, p.a, &down), 0);
	assert_true(packet_attached(p.on_a.fd));
	end(&p);
}

static void test_attached(void **state)
{
	const struct link_change down = {.set_up = true};
	struct pair p;

	(void)state;
	begin(&p);
	assert_true(packet_attached(p.on_a.fd));
	assert_int_equal(link_set(p.nl, p.a, &down), 0);
	assert_true(packet_attached(p.on_a.fd));
	assert_int_equal(link_delete(p.nl, p.b), 0);
	assert_false(packet_attached(p.on_a.fd));
	assert_false(packet_attached(p.on_b.fd));
	packet_settle(p.on_a.fd);
	end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_frame_crosses),
		cmocka_unit_test(test_vlan),
		cmocka_unit_test(test_drops),
		cmocka_unit_test(test_attached),
		cmocka_unit_test(test_fanout),
		cmocka_unit_test(test_fanout_ignores_outgoing),
		cmocka_unit_test(test_fanout_refused),
	};

	if (unshare(CLONE_NEWNET) < 0)
		skip_reason = "no network namespace of our own: run as root";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
