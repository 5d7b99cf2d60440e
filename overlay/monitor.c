/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "neighbours.h"
#include "nl.h"

enum {
	MONITOR_RCVBUF_LEN = 1 << 20,
	MONITOR_BUF_LEN = 32768,
};

struct monitor {
	struct mnl_socket *sock;
	uint8_t buf[MONITOR_BUF_LEN] __attribute__((aligned(NLMSG_ALIGNTO)));
};

typedef void (*monitor_fn)(const struct monitor_event *ev, void *arg);

static int setup_socket(struct monitor *m);
static ssize_t receive(struct monitor *m);
static int deliver(struct monitor *m, size_t len, monitor_fn fn, void *arg);
static void deliver_overrun(monitor_fn fn, void *arg);
static bool parse_link(const struct nlmsghdr *nlh, struct monitor_event *ev);
static bool parse_addr(const struct nlmsghdr *nlh, struct monitor_event *ev);
static bool parse_route(const struct nlmsghdr *nlh, struct monitor_event *ev);
static bool parse_neighbour(const struct nlmsghdr *nlh, struct monitor_event *ev);
static bool parse_qdisc_gone(const struct nlmsghdr *nlh, struct monitor_event *ev);

int monitor_open(struct monitor **ret)
{
	struct monitor *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;

	err = setup_socket(m);
	if (err) {
		monitor_close(m);
		return err;
	}
	*ret = m;
	return 0;
}

void monitor_close(struct monitor *m)
{
	if (!m)
		return;
	if (m->sock)
		mnl_socket_close(m->sock);
	free(m);
}

int monitor_fd(const struct monitor *m)
{
	return mnl_socket_get_fd(m->sock);
}

int monitor_read(struct monitor *m, void (*fn)(const struct monitor_event *ev, void *arg),
		 void *arg)
{
	for (;;) {
		ssize_t len = receive(m);

		if (len >= 0)
			len = deliver(m, (size_t)len, fn, arg);

		if (len == -EAGAIN)
			return 0;
		if (len == -ENOBUFS)
			deliver_overrun(fn, arg);
		else if (len < 0)
			return (int)len;
	}
}

static int join_group(struct monitor *m, int group)
{
	return mnl_socket_setsockopt(m->sock, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) < 0
		       ? -errno
		       : 0;
}

int monitor_watch_neighbours(struct monitor *m)
{
	return join_group(m, RTNLGRP_NEIGH);
}

int monitor_watch_qdiscs(struct monitor *m)
{
	return join_group(m, RTNLGRP_TC);
}

static int join_groups(struct monitor *m)
{
	static const int groups[] = {
		RTNLGRP_LINK,	    RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE,
		RTNLGRP_IPV6_ROUTE, RTNLGRP_IPV4_RULE,	 RTNLGRP_IPV6_RULE,
	};

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		int err = join_group(m, groups[i]);

		if (err)
			return err;
	}
	return 0;
}

static int setup_socket(struct monitor *m)
{
	const int rcvbuf_len = MONITOR_RCVBUF_LEN;
	int fd;

	m->sock = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (!m->sock || mnl_socket_bind(m->sock, 0, MNL_SOCKET_AUTOPID) < 0)
		return -errno;

	/* The size is a wish: without CAP_NET_ADMIN the system limit decides,
	 * and a smaller buffer only overruns earlier. */
	fd = mnl_socket_get_fd(m->sock);
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &rcvbuf_len, sizeof(rcvbuf_len)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf_len, sizeof(rcvbuf_len));

	return join_groups(m);
}

/*
 * Length of the next datagram in m->buf, 0 for one that is not the kernel's,
 * or -errno. One that does not fit is lost, which is the same as an overrun.
 */
static ssize_t receive(struct monitor *m)
{
	struct sockaddr_nl from = {0};
	struct iovec iov = {.iov_base = m->buf, .iov_len = sizeof(m->buf)};
	struct msghdr msg = {
		.msg_name = &from,
		.msg_namelen = sizeof(from),
		.msg_iov = &iov,
		.msg_iovlen = 1,
	};
	ssize_t len;

	do {
		len = recvmsg(monitor_fd(m), &msg, 0);
	} while (len < 0 && errno == EINTR);

	if (len < 0)
		return -errno;
	if (msg.msg_namelen != sizeof(from) || from.nl_pid != 0)
		return 0;
	return msg.msg_flags & MSG_TRUNC ? -ENOBUFS : len;
}

/* A message that makes no sense is skipped: what is behind it still counts. */
static int deliver(struct monitor *m, size_t len, monitor_fn fn, void *arg)
{
	const struct nlmsghdr *nlh = (const struct nlmsghdr *)m->buf;
	int left = (int)len;

	while (mnl_nlmsg_ok(nlh, left)) {
		struct monitor_event ev;

		if (monitor_parse(nlh, &ev))
			fn(&ev, arg);
		nlh = mnl_nlmsg_next(nlh, &left);
	}
	return left > 0 ? -EBADMSG : 0;
}

static void deliver_overrun(monitor_fn fn, void *arg)
{
	const struct monitor_event ev = {.kind = MONITOR_OVERRUN};

	fn(&ev, arg);
}

bool monitor_parse(const struct nlmsghdr *nlh, struct monitor_event *ret)
{
	struct monitor_event ev = {0};
	bool known = false;

	switch (nlh->nlmsg_type) {
	case RTM_NEWLINK:
	case RTM_DELLINK:
		known = parse_link(nlh, &ev);
		break;
	case RTM_NEWADDR:
	case RTM_DELADDR:
		known = parse_addr(nlh, &ev);
		break;
	case RTM_NEWROUTE:
	case RTM_DELROUTE:
	case RTM_NEWRULE:
	case RTM_DELRULE:
		known = parse_route(nlh, &ev);
		break;
	case RTM_NEWNEIGH:
	case RTM_DELNEIGH:
		known = parse_neighbour(nlh, &ev);
		break;
	case RTM_DELQDISC:
	case RTM_DELTFILTER:
		known = parse_qdisc_gone(nlh, &ev);
		break;
	}
	if (known)
		*ret = ev;
	return known;
}

static bool parse_link(const struct nlmsghdr *nlh, struct monitor_event *ev)
{
	/* Bridges report their ports here too; link_parse() refuses those. */
	if (link_parse(nlh, &ev->link))
		return false;
	ev->kind = nlh->nlmsg_type == RTM_NEWLINK ? MONITOR_LINK : MONITOR_LINK_GONE;
	ev->ifindex = ev->link.ifindex;
	return true;
}

static size_t addr_len_of(int family)
{
	switch (family) {
	case AF_INET:
		return 4;
	case AF_INET6:
		return 16;
	default:
		return 0;
	}
}

static bool parse_addr(const struct nlmsghdr *nlh, struct monitor_event *ev)
{
	const struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *attr, *address = NULL, *local = NULL;
	struct nl_attrs attrs;
	size_t addr_len;

	if (!nl_attrs_begin(nlh, sizeof(*ifa), &attrs))
		return false;
	addr_len = addr_len_of(ifa->ifa_family);

	while ((attr = nl_attrs_next(&attrs))) {
		if (mnl_attr_get_type(attr) == IFA_ADDRESS)
			address = attr;
		else if (mnl_attr_get_type(attr) == IFA_LOCAL)
			local = attr;
	}

	/* On a link with a peer IFA_ADDRESS is the peer's; IPv6 leaves IFA_LOCAL
	 * out everywhere else. */
	if (local)
		address = local;
	if (attrs.left || !addr_len || !address || mnl_attr_get_payload_len(address) != addr_len)
		return false;

	ev->kind = nlh->nlmsg_type == RTM_NEWADDR ? MONITOR_ADDR_NEW : MONITOR_ADDR_GONE;
	ev->family = ifa->ifa_family;
	ev->ifindex = (int)ifa->ifa_index;
	memcpy(ev->addr, mnl_attr_get_payload(address), addr_len);
	return true;
}

static bool parse_route(const struct nlmsghdr *nlh, struct monitor_event *ev)
{
	/* A rule begins like a route, with its family, and is as long. */
	const struct rtmsg *rtm = mnl_nlmsg_get_payload(nlh);

	struct nl_attrs attrs;

	if (!nl_attrs_begin(nlh, sizeof(*rtm), &attrs) || !addr_len_of(rtm->rtm_family))
		return false;
	ev->kind = MONITOR_ROUTE;
	ev->family = rtm->rtm_family;
	return true;
}

static bool parse_neighbour(const struct nlmsghdr *nlh, struct monitor_event *ev)
{
	struct neighbour n;
	struct fdb_end e;

	if (fdb_end_parse(nlh, &e)) {
		ev->family = AF_BRIDGE;
		ev->ifindex = e.ifindex;
		ev->neigh = (struct monitor_neigh){.addr = e.remote, .ours = e.ours};
		memcpy(ev->neigh.mac, e.mac, sizeof(e.mac));
	} else if (neighbour_parse(nlh, &n)) {
		ev->family = ip_addr_family(&n.addr);
		ev->ifindex = n.ifindex;
		ev->neigh = (struct monitor_neigh){
			.addr = n.addr, .permanent = n.permanent, .protocol = n.protocol};
		memcpy(ev->neigh.mac, n.mac, sizeof(n.mac));
	} else {
		return false;
	}
	ev->kind = MONITOR_NEIGH;
	ev->neigh.gone = nlh->nlmsg_type == RTM_DELNEIGH;
	return true;
}

static bool parse_qdisc_gone(const struct nlmsghdr *nlh, struct monitor_event *ev)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	struct nl_attrs attrs;

	if (!nl_attrs_begin(nlh, sizeof(*tc), &attrs))
		return false;
	ev->kind = MONITOR_QDISC;
	ev->ifindex = tc->tcm_ifindex;
	return true;
}
