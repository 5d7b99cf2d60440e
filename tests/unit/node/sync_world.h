/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network namespace with a lane's device (a TUN without a lane), a desired state
 * made by hand, and a count of the changes that the kernel is asked for.
 *
 *   us     10.10.0.1, fd10::1        on ov0 10.20.0.1/24, fd20::1/64
 *   beta   10.10.0.2, fd10::2        on ov0 10.20.0.2, fd20::2   behind it 10.244.2.0/24,
 *          endpoint 192.0.2.2                                    fd44:2::/64
 *   gamma  10.10.0.3                 on ov0 fd20::3              behind it 10.244.3.0/24
 *          endpoint 2001:db8::3
 */
#ifndef SYNC_WORLD_H
#define SYNC_WORLD_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>

#include "agent/node/desired.h"
#include "agent/node/report.h"
#include "agent/node/sync.h"
#include "overlay/link.h"
#include "overlay/nl.h"
#include "overlay/tun.h"
#include "overlay/tunnel.h"
#include "overlay/veth.h"

enum { WORLD_LOG_LEN = 16384 };

struct world {
	struct nl *nl;
	struct tun lane;
	int lane_ifindex;
	struct config config;
	struct config_overlay overlay;
	struct ip_prefix own[2]; /* addresses on ov0 */
	struct member members[2];
	struct ip_prefix allowed[2][4];
	struct desired_peer peers[2];
	struct ip_addr addresses[2][2];
	struct ip_prefix routes[2][2];
	struct desired_station stations[2];
	struct desired_overlay desired_overlay;
	struct desired desired;
	struct report report;
	char log[WORLD_LOG_LEN];
	char output[WORLD_LOG_LEN]; /* of the last command */
};

/* Netlink requests sent that were no questions. Takes the place of libc's function, of
 * which libmnl and the batches make use. */
static unsigned world_n_changes;

ssize_t world_sendto(int fd, const void *buf, size_t len, int flags, const struct sockaddr *to,
		     socklen_t to_len) __asm__("sendto");

ssize_t world_sendto(int fd, const void *buf, size_t len, int flags, const struct sockaddr *to,
		     socklen_t to_len)
{
	const char *p = buf;
	size_t left = to && to->sa_family == AF_NETLINK ? len : 0;
	struct nlmsghdr nlh;

	while (left >= sizeof(nlh)) {
		memcpy(&nlh, p, sizeof(nlh));
		/* Of each kind of object four: new, delete, get, set. */
		if (nlh.nlmsg_type >= RTM_BASE && (nlh.nlmsg_type - RTM_BASE) % 4 != 2)
			world_n_changes++;
		if (nlh.nlmsg_len < sizeof(nlh) || NLMSG_ALIGN(nlh.nlmsg_len) >= left)
			break;
		p += NLMSG_ALIGN(nlh.nlmsg_len);
		left -= NLMSG_ALIGN(nlh.nlmsg_len);
	}
	return syscall(SYS_sendto, fd, buf, len, flags, to, to_len);
}

static struct ip_addr addr(const char *text)
{
	struct ip_addr ret;

	assert_true(ip_addr_parse(text, &ret));
	return ret;
}

static struct ip_prefix prefix(const char *text)
{
	struct ip_prefix ret;

	assert_true(ip_prefix_parse(text, &ret));
	return ret;
}

static void __attribute__((format(printf, 1, 2))) run(const char *fmt, ...)
{
	char command[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(command, sizeof(command), fmt, args);
	va_end(args);
	if (system(command) != 0)
		fail_msg("failed: %s", command);
}

/* What a command says. */
static const char *output(struct world *w, const char *command)
{
	FILE *f = popen(command, "re");
	size_t len;

	assert_non_null(f);
	len = fread(w->output, 1, sizeof(w->output) - 1, f);
	w->output[len] = '\0';
	pclose(f);
	return w->output;
}

static void __attribute__((unused)) expect(struct world *w, const char *command, const char *text)
{
	if (!strstr(output(w, command), text))
		fail_msg("%s: no \"%s\" in:\n%s", command, text, w->output);
}

static void __attribute__((unused))
expect_not(struct world *w, const char *command, const char *text)
{
	if (strstr(output(w, command), text))
		fail_msg("%s: \"%s\" in:\n%s", command, text, w->output);
}

static void on_log(const char *text, void *arg)
{
	struct world *w = arg;
	const size_t len = strlen(w->log);

	snprintf(w->log + len, sizeof(w->log) - len, "%s\n", text);
}

static void fresh_report(struct world *w)
{
	memset(&w->report, 0, sizeof(w->report));
	w->log[0] = '\0';
	w->report.log = on_log;
	w->report.log_arg = w;
	world_n_changes = 0;
}

/* Of the last pass: so many were added, changed and removed, nothing failed. */
static void __attribute__((unused))
expect_did(struct world *w, unsigned added, unsigned changed, unsigned removed)
{
	if (w->report.failed)
		fail_msg("%u failed, the first: %s", w->report.failed, w->report.faults[0]);
	if (w->report.added != added || w->report.changed != changed ||
	    w->report.removed != removed)
		fail_msg("%u added, %u changed, %u removed:\n%s", w->report.added,
			 w->report.changed, w->report.removed, w->log);
}

static void __attribute__((unused)) expect_fault(struct world *w, const char *text)
{
	for (unsigned i = 0; i < w->report.failed && i < REPORT_FAULTS_MAX; i++) {
		if (strstr(w->report.faults[i], text))
			return;
	}
	fail_msg("no fault says \"%s\"; %u failed, the first: %s", text, w->report.failed,
		 w->report.faults[0]);
}

typedef void (*sync_fn)(struct nl *nl, const struct desired *d, struct report *r);

static void __attribute__((unused)) pass(struct world *w, sync_fn fn)
{
	fresh_report(w);
	fn(w->nl, &w->desired, &w->report);
}

/* A pass over a right state asks the kernel for no change at all. */
static void __attribute__((unused)) expect_quiet(struct world *w, sync_fn add, sync_fn remove)
{
	pass(w, add);
	remove(w->nl, &w->desired, &w->report);
	expect_did(w, 0, 0, 0);
	if (world_n_changes)
		fail_msg("%u requests for changes", world_n_changes);
}

/* Making of it */

static void set_sysctl(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return; /* no IPv6 */
	assert_int_equal(write(fd, value, strlen(value)), strlen(value));
	close(fd);
}

/* Nothing comes up by itself, late. */
static void no_ipv6_surprises(void)
{
	set_sysctl("/proc/sys/net/ipv6/conf/default/addr_gen_mode", "1");
	set_sysctl("/proc/sys/net/ipv6/conf/default/accept_dad", "0");
}

static void endpoint(struct member *m, const char *text)
{
	const struct ip_addr at = addr(text);
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&m->endpoint;
	struct sockaddr_in *sin = (struct sockaddr_in *)&m->endpoint;

	memset(&m->endpoint, 0, sizeof(m->endpoint));
	if (at.len == 4) {
		sin->sin_family = AF_INET;
		sin->sin_port = htons(51820);
		memcpy(&sin->sin_addr, at.bytes, 4);
	} else {
		sin6->sin6_family = AF_INET6;
		sin6->sin6_port = htons(51820);
		memcpy(&sin6->sin6_addr, at.bytes, 16);
	}
}

static void describe_peer(struct world *w, unsigned i, const char *name)
{
	struct desired_peer *peer = &w->peers[i];

	strcpy(w->members[i].name, name);
	peer->member = &w->members[i];
	peer->allowed = w->allowed[i];
	for (unsigned j = 0; j < 2; j++) {
		if (w->members[i].tunnel[j].len)
			peer->allowed[peer->n_allowed++] =
				ip_prefix_of_host(&w->members[i].tunnel[j]);
	}
}

static void describe_members(struct world *w)
{
	w->members[0].tunnel[0] = addr("10.10.0.2");
	w->members[0].tunnel[1] = addr("fd10::2");
	endpoint(&w->members[0], "192.0.2.2");
	describe_peer(w, 0, "beta");
	w->members[1].tunnel[0] = addr("10.10.0.3");
	endpoint(&w->members[1], "2001:db8::3");
	describe_peer(w, 1, "gamma");
	w->desired.peers = w->peers;
	w->desired.n_peers = 2;
}

static void describe_stations(struct world *w)
{
	w->addresses[0][0] = addr("10.20.0.2");
	w->addresses[0][1] = addr("fd20::2");
	w->routes[0][0] = prefix("10.244.2.0/24");
	w->routes[0][1] = prefix("fd44:2::/64");
	w->stations[0] = (struct desired_station){
		.vtep = addr("10.10.0.2"),
		.mac = {2, 0, 0, 0, 0, 2},
		.n_addresses = 2,
		.n_routes = 2,
	};
	w->addresses[1][0] = addr("fd20::3");
	w->routes[1][0] = prefix("10.244.3.0/24");
	w->stations[1] = (struct desired_station){
		.vtep = addr("10.10.0.3"),
		.mac = {2, 0, 0, 0, 0, 3},
		.n_addresses = 1,
		.n_routes = 1,
	};
	for (unsigned i = 0; i < 2; i++) {
		w->stations[i].member = &w->members[i];
		w->stations[i].addresses = w->addresses[i];
		w->stations[i].routes = w->routes[i];
	}
	w->desired_overlay.stations = w->stations;
	w->desired_overlay.n_stations = 2;
}

static void describe(struct world *w, enum config_type type)
{
	w->config = (struct config){.overlays = &w->overlay, .n_overlays = 1};
	strcpy(w->config.lane.interface, "sealane0");
	w->config.node.tunnel[0] = addr("10.10.0.1");
	w->config.node.tunnel[1] = addr("fd10::1");
	w->own[0] = prefix("10.20.0.1/24");
	w->own[1] = prefix("fd20::1/64");
	w->overlay = (struct config_overlay){
		.name = "ov0",
		.type = type,
		.vni = 42,
		.udp_port = 4789,
		.addresses = w->own,
		.n_addresses = 2,
		.ttl = 64,
		.flood = true,
	};
	w->desired_overlay = (struct desired_overlay){
		.config = &w->overlay,
		.vtep = addr("10.10.0.1"),
		.mac = {2, 0, 0, 0, 0, 1},
		.mtu = 1370,
	};
	w->desired = (struct desired){
		.config = &w->config,
		.lane_mtu = 1420,
		.overlays = &w->desired_overlay,
		.n_overlays = 1,
	};
	describe_members(w);
	describe_stations(w);
}

/* Skips the test where there can be no world. */
static struct world *world_new(enum config_type type)
{
	const struct tun_open_args lane = {.name = "sealane0", .kind = TUN_KIND_TUN};
	const struct link_change up = {.set_up = true, .up = true};
	struct world *w;

	if (unshare(CLONE_NEWNET) < 0 || access("/dev/net/tun", R_OK | W_OK) < 0) {
		print_message("skipped: needs root, and /dev/net/tun\n");
		skip();
	}
	w = calloc(1, sizeof(*w));
	assert_non_null(w);
	describe(w, type);
	fresh_report(w);
	no_ipv6_surprises();
	assert_int_equal(nl_open(&w->nl), 0);
	assert_int_equal(tun_open(&lane, &w->lane), 0);
	w->lane_ifindex = (int)if_nametoindex("sealane0");
	assert_int_equal(link_set(w->nl, 1, &up), 0);
	return w;
}

static void world_free(struct world *w)
{
	close(w->lane.fd);
	nl_close(w->nl);
	free(w);
}

/* The device of a port, as a lane would make it. */
static void __attribute__((unused)) make_port(struct world *w)
{
	const struct veth_args args = {.end = {.name = "ov0", .mtu = 1500},
				       .peer = {.name = "ov0-lane", .mtu = 1500}};
	const struct link_change up = {.set_up = true, .up = true};
	int ifindex, peer_ifindex;

	assert_int_equal(veth_create(w->nl, &args, &ifindex, &peer_ifindex), 0);
	assert_int_equal(link_set(w->nl, peer_ifindex, &up), 0);
}

#endif
