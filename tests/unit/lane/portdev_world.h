/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   namespace a             our own namespace                  namespace b
 *  overlay end sla  ===  port device a -- pump -- port device b  ===  overlay end slb
 *  10.9.0.1 fd00::1                                             10.9.0.2 fd00::2
 *
 * Two port devices whose overlay ends are hosts on one wire, which is pump(): every
 * frame that comes out of one is written to the other.
 */
#ifndef SEALANE_TESTS_PORTDEV_WORLD_H
#define SEALANE_TESTS_PORTDEV_WORLD_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include "agent/lane/portdev.h"
#include "overlay/link.h"
#include "overlay/nl.h"
#include "overlay/tun.h"

/* What must come, comes; how soon is up to a machine that others use, too. */
enum { WAIT_MS = 30000 };

static const char *skip_reason;

static inline void need_netns(void)
{
	if (skip_reason) {
		print_message("skipped: %s\n", skip_reason);
		skip();
	}
}

static inline uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* What a veth is given waits on the CPU it was given on: only there do frames stay
 * in order. */
static inline void stay_on_this_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned)sched_getcpu(), &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

static inline int netns_here(void)
{
	int fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static inline void enter(int netns)
{
	assert_int_equal(setns(netns, CLONE_NEWNET), 0);
}

static inline void run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static inline void run(const char *fmt, ...)
{
	char command[300];
	va_list args;

	va_start(args, fmt);
	vsnprintf(command, sizeof(command), fmt, args);
	va_end(args);
	if (system(command))
		fail_msg("%s", command);
}

static inline void run_in(int netns, int home, const char *command)
{
	enter(netns);
	run("%s", command);
	enter(home);
}

static inline bool kernel_at_least(unsigned major, unsigned minor)
{
	unsigned have_major = 0, have_minor = 0;
	struct utsname uts;

	assert_int_equal(uname(&uts), 0);
	assert_int_equal(sscanf(uts.release, "%u.%u", &have_major, &have_minor), 2);
	return have_major > major || (have_major == major && have_minor >= minor);
}

struct port {
	struct portdev *d;
	int netns; /* of the overlay end */
	const char *name;
	uint64_t n_frames, n_bytes;	  /* read */
	uint64_t n_supers, n_super_bytes; /* superpackets among them */
	uint64_t n_dropped, n_failed;
	uint32_t longest;
	/* Writes IPv6 superpackets above 64 KB that came out; NULL: as others. */
	void (*take)(const struct portdev_read *r, void *arg);
	void *take_arg;
};

struct world {
	int home;
	struct nl *nl;
	struct port a, b;
	uint8_t *arena;
	unsigned offloads; /* 0: PLAIN_OFFLOADS */
};

static inline void move_to(struct nl *nl, const char *name, int netns)
{
	_Alignas(struct nlmsghdr) char buf[128];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifinfomsg *ifi;

	nlh->nlmsg_type = RTM_NEWLINK;
	ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
	ifi->ifi_index = (int)if_nametoindex(name);
	mnl_attr_put_u32(nlh, IFLA_NET_NS_FD, (uint32_t)netns);
	assert_int_equal(nl_call(nl, nlh, NULL, NULL), 0);
}

/* Those of a port whose tunnel superpackets the kernel cuts itself. */
enum { PLAIN_OFFLOADS = TUN_OFFLOAD_CSUM | TUN_OFFLOAD_TSO | TUN_OFFLOAD_USO };

static inline void open_port(struct world *w, struct port *p, const char *name,
			     enum portdev_kind kind, uint32_t gso_max_size, char host)
{
	const struct portdev_args args = {
		.name = name,
		.kind = kind,
		.mtu = 1500,
		.gso_max_size = gso_max_size,
		.offloads = w->offloads ? w->offloads : PLAIN_OFFLOADS,
	};
	char err_text[200], command[300];
	int err = portdev_open(&args, w->nl, &p->d, err_text);

	if (err)
		fail_msg("%s: %s (%d)", name, err_text, err);
	assert_int_equal(portdev_kind_of(p->d), kind);
	p->name = name;
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	p->netns = netns_here();
	enter(w->home);
	move_to(w->nl, name, p->netns);
	snprintf(command, sizeof(command),
		 "ip link set lo up; sysctl -qw net.ipv6.conf.%s.accept_dad=0 && "
		 "ip addr add 10.9.0.%c/24 dev %s && ip addr add fd00::%c/64 dev %s nodad && "
		 "ip link set %s up",
		 name, host, name, host, name, name);
	run_in(p->netns, w->home, command);
}

enum { SLOT_LEN = PORTDEV_HEADROOM + PORTDEV_FRAME_MAX };

static inline void begin_with(struct world *w, enum portdev_kind kind, uint32_t gso_max_size,
			      unsigned offloads)
{
	need_netns();
	memset(w, 0, sizeof(*w));
	w->offloads = offloads;
	w->home = netns_here();
	w->arena = malloc((size_t)PORTDEV_BATCH_MAX * SLOT_LEN);
	assert_non_null(w->arena);
	assert_int_equal(nl_open(&w->nl), 0);
	open_port(w, &w->a, "sla", kind, gso_max_size, '1');
	open_port(w, &w->b, "slb", kind, gso_max_size, '2');
}

static inline void begin(struct world *w, enum portdev_kind kind, uint32_t gso_max_size)
{
	begin_with(w, kind, gso_max_size, 0);
}

static inline void end(struct world *w)
{
	portdev_close(w->a.d);
	portdev_close(w->b.d);
	close(w->a.netns);
	close(w->b.netns);
	close(w->home);
	nl_close(w->nl);
	free(w->arena);
}

/* Up to a batch from @p into @r; how many, or the error. */
static inline int read_batch(struct world *w, struct port *p, struct portdev_read *r)
{
	for (unsigned i = 0; i < PORTDEV_BATCH_MAX; i++)
		r[i] = (struct portdev_read){.frame = w->arena + i * SLOT_LEN + PORTDEV_HEADROOM};
	return portdev_read(p->d, r, PORTDEV_BATCH_MAX);
}

static inline void count(struct port *p, const struct portdev_read *r)
{
	p->n_frames++;
	p->n_bytes += r->len;
	p->n_dropped += r->drop != DROP_NONE;
	if (r->vnet.gso != VNET_GSO_NONE) {
		p->n_supers++;
		p->n_super_bytes += r->len;
	}
	if (r->len > p->longest)
		p->longest = r->len;
}

/* What came out of @from, to @to. How many frames. */
static inline int pump(struct world *w, struct port *from, struct port *to)
{
	struct portdev_read r[PORTDEV_BATCH_MAX];
	struct portdev_write out[PORTDEV_BATCH_MAX];
	struct iovec iov[PORTDEV_BATCH_MAX][2];
	int n = read_batch(w, from, r);
	unsigned n_out = 0;

	assert_true(n >= 0);
	for (int i = 0; i < n; i++) {
		uint32_t head = r[i].len < 60 ? r[i].len : 60;

		count(from, &r[i]);
		if (r[i].drop != DROP_NONE)
			continue;
		if (from->take && r[i].len > 65535) {
			from->take(&r[i], from->take_arg);
			continue;
		}
		iov[i][0] = (struct iovec){r[i].frame, head};
		iov[i][1] = (struct iovec){r[i].frame + head, r[i].len - head};
		out[n_out++] = (struct portdev_write){r[i].vnet, iov[i], 2, 1};
	}
	portdev_write(to->d, out, n_out);
	for (unsigned i = 0; i < n_out; i++) {
		assert_int_not_equal(out[i].err, 1);
		to->n_failed += out[i].err != 0;
	}
	return n;
}

/* Both ways, waiting for frames up to @wait_ms. False: there were none. */
static inline bool pump_both(struct world *w, int wait_ms)
{
	struct pollfd fds[2] = {{.fd = portdev_fd(w->a.d), .events = POLLIN},
				{.fd = portdev_fd(w->b.d), .events = POLLIN}};

	if (poll(fds, 2, wait_ms) <= 0)
		return false;
	return pump(w, &w->a, &w->b) + pump(w, &w->b, &w->a) > 0;
}

static inline int world_main(const struct CMUnitTest *tests, size_t n)
{
	if (unshare(CLONE_NEWNET) < 0)
		skip_reason = "no network namespace of our own: run as root";
	else if (access("/dev/net/tun", R_OK | W_OK))
		skip_reason = "no /dev/net/tun to make devices with";
	return _cmocka_run_group_tests("portdev", tests, n, NULL, NULL);
}

#endif
