/* SPDX-License-Identifier: Apache-2.0 */
#include "overlay/monitor.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <libmnl/libmnl.h>
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include "overlay/nl.h"
#include "overlay/owner.h"
#include "overlay/tun.h"

enum { LO = 1, WAIT_MS = 2000, N_EVENTS_MAX = 512 };

union request {
	struct nlmsghdr nlh;
	char bytes[256];
};

struct events {
	struct monitor_event list[N_EVENTS_MAX];
	unsigned n;
};

struct fixture {
	struct monitor *m;
	struct nl *nl;
	struct events events;
};

static const char *skip_reason;

static void need_netns(void)
{
	if (skip_reason) {
		print_message("skipped: %s\n", skip_reason);
		skip();
	}
}

static void keep(const struct monitor_event *ev, void *arg)
{
	struct events *events = arg;

	if (events->n < N_EVENTS_MAX)
		events->list[events->n++] = *ev;
}

static void begin(struct fixture *f)
{
	need_netns();
	memset(f, 0, sizeof(*f));
	assert_int_equal(nl_open(&f->nl), 0);
	assert_int_equal(monitor_open(&f->m), 0);
}

static void end(struct fixture *f)
{
	monitor_close(f->m);
	nl_close(f->nl);
}

static const struct monitor_event *find(const struct events *events, enum monitor_kind kind,
					int family, int ifindex)
{
	for (unsigned i = 0; i < events->n; i++) {
		const struct monitor_event *ev = &events->list[i];

		if (ev->kind == kind && ev->family == family && ev->ifindex == ifindex)
			return ev;
	}
	return NULL;
}

/* The kernel finishes some things in its own time, IPv6 addresses above all. */
static const struct monitor_event *wait_for(struct fixture *f, enum monitor_kind kind, int family,
					    int ifindex)
{
	const struct monitor_event *ev;
	struct pollfd pfd = {.fd = monitor_fd(f->m), .events = POLLIN};

	do {
		assert_int_equal(monitor_read(f->m, keep, &f->events), 0);
		ev = find(&f->events, kind, family, ifindex);
	} while (!ev && poll(&pfd, 1, WAIT_MS) > 0);

	if (!ev)
		fail_msg("no event of kind %d, family %d, device %d", kind, family, ifindex);
	return ev;
}

static void forget(struct fixture *f)
{
	assert_int_equal(monitor_read(f->m, keep, &f->events), 0);
	f->events.n = 0;
}

static int change_addr(struct fixture *f, uint16_t type, int family, const char *local,
		       const char *peer)
{
	size_t len = family == AF_INET ? 4 : 16;
	unsigned char bytes[16];
	struct ifaddrmsg *ifa;
	union request req;

	memset(&req, 0, sizeof(req));
	mnl_nlmsg_put_header(&req);
	req.nlh.nlmsg_type = type;
	req.nlh.nlmsg_flags = type == RTM_NEWADDR ? NLM_F_CREATE | NLM_F_EXCL : 0;
	ifa = mnl_nlmsg_put_extra_header(&req.nlh, sizeof(*ifa));
	ifa->ifa_family = (uint8_t)family;
	ifa->ifa_prefixlen = (uint8_t)(len * 8);
	ifa->ifa_flags = IFA_F_NODAD;
	ifa->ifa_index = LO;
	assert_int_equal(inet_pton(family, local, bytes), 1);
	mnl_attr_put(&req.nlh, IFA_LOCAL, len, bytes);
	assert_int_equal(inet_pton(family, peer, bytes), 1);
	mnl_attr_put(&req.nlh, IFA_ADDRESS, len, bytes);
	return nl_call(f->nl, &req.nlh, NULL, NULL);
}

static int change_route(struct fixture *f, uint16_t type, int family)
{
	const int ifindex = LO;
	struct rtmsg *rtm;
	union request req;

	memset(&req, 0, sizeof(req));
	mnl_nlmsg_put_header(&req);
	req.nlh.nlmsg_type = type;
	req.nlh.nlmsg_flags = type == RTM_NEWROUTE ? NLM_F_CREATE | NLM_F_EXCL : 0;
	rtm = mnl_nlmsg_put_extra_header(&req.nlh, sizeof(*rtm));
	rtm->rtm_family = (uint8_t)family;
	rtm->rtm_table = RT_TABLE_MAIN;
	rtm->rtm_protocol = RTPROT_STATIC;
	rtm->rtm_scope = family == AF_INET ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
	rtm->rtm_type = RTN_UNICAST;
	mnl_attr_put_u32(&req.nlh, RTA_OIF, (uint32_t)ifindex); /* the default route */
	return nl_call(f->nl, &req.nlh, NULL, NULL);
}

static int change_rule(struct fixture *f, uint16_t type, int family)
{
	struct fib_rule_hdr *rule;
	union request req;

	memset(&req, 0, sizeof(req));
	mnl_nlmsg_put_header(&req);
	req.nlh.nlmsg_type = type;
	req.nlh.nlmsg_flags = type == RTM_NEWRULE ? NLM_F_CREATE | NLM_F_EXCL : 0;
	rule = mnl_nlmsg_put_extra_header(&req.nlh, sizeof(*rule));
	rule->family = (uint8_t)family;
	rule->table = RT_TABLE_MAIN;
	rule->action = FR_ACT_TO_TBL;
	mnl_attr_put_u32(&req.nlh, FRA_PRIORITY, 1234);
	return nl_call(f->nl, &req.nlh, NULL, NULL);
}

static void test_socket_options(void **state)
{
	int rcvbuf_len = 0, fd;
	socklen_t len = sizeof(rcvbuf_len);
	struct fixture f;

	(void)state;
	begin(&f);
	fd = monitor_fd(f.m);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf_len, &len), 0);
	assert_true(rcvbuf_len >= 1 << 20);
	assert_int_equal(monitor_read(f.m, keep, &f.events), 0);
	assert_int_equal(f.events.n, 0);
	end(&f);
	monitor_close(NULL);
}

static void test_link_events(void **state)
{
	const struct tun_open_args args = {.name = "sl%d", .kind = TUN_KIND_TAP};
	const struct link_change change = {.set_mtu = true, .mtu = 1300};
	const struct monitor_event *ev;
	struct fixture f;
	struct tun tun;
	int ifindex;

	(void)state;
	begin(&f);
	assert_int_equal(tun_open(&args, &tun), 0);
	ifindex = (int)if_nametoindex(tun.name);
	ev = wait_for(&f, MONITOR_LINK, 0, ifindex);
	assert_int_equal(ev->link.ifindex, ifindex);
	assert_string_equal(ev->link.name, tun.name);
	assert_int_equal(ev->link.mtu, 1500);
	assert_true(ev->link.has_mac);

	forget(&f);
	assert_int_equal(link_set(f.nl, ifindex, &change), 0);
	ev = wait_for(&f, MONITOR_LINK, 0, ifindex);
	assert_int_equal(ev->link.mtu, 1300);
	assert_null(find(&f.events, MONITOR_LINK_GONE, 0, ifindex));

	forget(&f);
	close(tun.fd);
	ev = wait_for(&f, MONITOR_LINK_GONE, 0, ifindex);
	assert_string_equal(ev->link.name, tun.name);
	end(&f);
}

static void test_addr_events(void **state)
{
	static const struct {
		int family;
		const char *local, *peer;
		unsigned char want[16];
	} cases[] = {
		{AF_INET, "192.0.2.1", "192.0.2.1", {192, 0, 2, 1}},
		{AF_INET, "192.0.2.2", "198.51.100.7", {192, 0, 2, 2}},
		{AF_INET6, "2001:db8::1", "2001:db8::1", {0x20, 1, 0xd, 0xb8, [15] = 1}},
		{AF_INET6, "2001:db8::2", "2001:db8::7", {0x20, 1, 0xd, 0xb8, [15] = 2}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct monitor_event *ev;
		struct fixture f;

		begin(&f);
		assert_int_equal(change_addr(&f, RTM_NEWADDR, cases[i].family, cases[i].local,
					     cases[i].peer),
				 0);
		ev = wait_for(&f, MONITOR_ADDR_NEW, cases[i].family, LO);
		assert_memory_equal(ev->addr, cases[i].want, 16);

		forget(&f);
		assert_int_equal(change_addr(&f, RTM_DELADDR, cases[i].family, cases[i].local,
					     cases[i].peer),
				 0);
		ev = wait_for(&f, MONITOR_ADDR_GONE, cases[i].family, LO);
		assert_memory_equal(ev->addr, cases[i].want, 16);
		end(&f);
	}
}

static void test_route_and_rule_events(void **state)
{
	static const int families[] = {AF_INET, AF_INET6};
	struct fixture f;

	(void)state;
	begin(&f);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(change_route(&f, RTM_NEWROUTE, families[i]), 0);
		wait_for(&f, MONITOR_ROUTE, families[i], 0);
		forget(&f);
		assert_int_equal(change_route(&f, RTM_DELROUTE, families[i]), 0);
		wait_for(&f, MONITOR_ROUTE, families[i], 0);
		forget(&f);

		if (change_rule(&f, RTM_NEWRULE, families[i]) == -EOPNOTSUPP) {
			print_message("skipped: this kernel has no rules\n");
			continue;
		}
		wait_for(&f, MONITOR_ROUTE, families[i], 0);
		forget(&f);
		assert_int_equal(change_rule(&f, RTM_DELRULE, families[i]), 0);
		wait_for(&f, MONITOR_ROUTE, families[i], 0);
		forget(&f);
	}
	end(&f);
}

static int change_neighbour(struct fixture *f, uint16_t type, uint16_t nud, uint8_t protocol,
			    int ifindex)
{
	static const uint8_t addr[4] = {192, 0, 2, 77}, mac[6] = {2, 0, 0, 0, 0, 1};
	struct ndmsg *ndm;
	union request req;

	memset(&req, 0, sizeof(req));
	mnl_nlmsg_put_header(&req);
	req.nlh.nlmsg_type = type;
	req.nlh.nlmsg_flags = type == RTM_NEWNEIGH ? NLM_F_CREATE | NLM_F_REPLACE : 0;
	ndm = mnl_nlmsg_put_extra_header(&req.nlh, sizeof(*ndm));
	ndm->ndm_family = AF_INET;
	ndm->ndm_ifindex = ifindex;
	ndm->ndm_state = nud;
	mnl_attr_put(&req.nlh, NDA_DST, sizeof(addr), addr);
	if (type == RTM_NEWNEIGH)
		mnl_attr_put(&req.nlh, NDA_LLADDR, sizeof(mac), mac);
	if (protocol)
		mnl_attr_put_u8(&req.nlh, NDA_PROTOCOL, protocol);
	return nl_call(f->nl, &req.nlh, NULL, NULL);
}

/* All of it is told of to who asks, and nothing to who does not. */
static void test_neighbour_events(void **state)
{
	const struct tun_open_args args = {.name = "sl%d", .kind = TUN_KIND_TAP};
	const struct link_change up = {.set_up = true, .up = true};
	const struct monitor_event *ev;
	struct fixture f;
	struct tun tun;
	int ifindex;

	(void)state;
	begin(&f);
	assert_int_equal(tun_open(&args, &tun), 0);
	ifindex = (int)if_nametoindex(tun.name);
	assert_int_equal(link_set(f.nl, ifindex, &up), 0);
	assert_int_equal(change_neighbour(&f, RTM_NEWNEIGH, NUD_PERMANENT, OWNER_PROTOCOL, ifindex),
			 0);
	assert_int_equal(monitor_read(f.m, keep, &f.events), 0);
	assert_null(find(&f.events, MONITOR_NEIGH, AF_INET, ifindex));

	assert_int_equal(monitor_watch_neighbours(f.m), 0);
	forget(&f);
	assert_int_equal(change_neighbour(&f, RTM_NEWNEIGH, NUD_STALE, 0, ifindex), 0);
	ev = wait_for(&f, MONITOR_NEIGH, AF_INET, ifindex);
	assert_false(ev->neigh.gone);
	assert_false(ev->neigh.permanent);
	assert_int_equal(ev->neigh.mac[5], 1);
	assert_int_equal(ev->neigh.addr.bytes[3], 77);

	forget(&f);
	assert_int_equal(change_neighbour(&f, RTM_NEWNEIGH, NUD_PERMANENT, OWNER_PROTOCOL, ifindex),
			 0);
	ev = wait_for(&f, MONITOR_NEIGH, AF_INET, ifindex);
	assert_true(ev->neigh.permanent);
	assert_int_equal(ev->neigh.protocol, OWNER_PROTOCOL);

	/* First it is failed, then gone. */
	forget(&f);
	assert_int_equal(change_neighbour(&f, RTM_DELNEIGH, 0, 0, ifindex), 0);
	wait_for(&f, MONITOR_NEIGH, AF_INET, ifindex);
	assert_true(f.events.list[f.events.n - 1].neigh.gone);
	close(tun.fd);
	end(&f);
}

enum { IP4 = 1, MAC = 2 }; /* attributes */

static const struct neighbour_case {
	const char *what;
	uint16_t type;
	uint8_t family;
	uint16_t state;
	uint8_t flags;
	unsigned attrs;
	uint8_t protocol;
	unsigned cut;
	bool want, permanent, ours;
} neighbour_cases[] = {
	{"learned", RTM_NEWNEIGH, AF_INET, NUD_REACHABLE, 0, IP4 | MAC, 0, 0, true, false, false},
	{"ours", RTM_NEWNEIGH, AF_INET, NUD_PERMANENT, 0, IP4 | MAC, 94, 0, true, true, false},
	{"gone", RTM_DELNEIGH, AF_INET, NUD_FAILED, 0, IP4, 94, 0, true, false, false},
	{"no address", RTM_NEWNEIGH, AF_INET, NUD_PERMANENT, 0, MAC, 0, 0, false, false, false},
	{"another family", RTM_NEWNEIGH, AF_INET6, NUD_PERMANENT, 0, IP4 | MAC, 0, 0, false, false,
	 false},
	{"an end", RTM_NEWNEIGH, AF_BRIDGE, NUD_NOARP, NTF_SELF, IP4 | MAC, 0, 0, true, false,
	 false},
	{"our end", RTM_NEWNEIGH, AF_BRIDGE, NUD_NOARP, NTF_SELF | NTF_EXT_LEARNED, IP4 | MAC, 0, 0,
	 true, false, true},
	{"our end gone", RTM_DELNEIGH, AF_BRIDGE, NUD_NOARP, NTF_EXT_LEARNED, IP4 | MAC, 0, 0, true,
	 false, true},
	{"a bridge's", RTM_NEWNEIGH, AF_BRIDGE, NUD_PERMANENT, 0, MAC, 0, 0, false, false, false},
	{"no MAC", RTM_NEWNEIGH, AF_BRIDGE, NUD_NOARP, 0, IP4, 0, 0, false, false, false},
	{"cut end", RTM_NEWNEIGH, AF_BRIDGE, NUD_NOARP, 0, IP4 | MAC, 1, 4, false, false, false},
	{"cut protocol", RTM_NEWNEIGH, AF_INET, NUD_PERMANENT, 0, IP4 | MAC, 94, 4, false, false,
	 false},
	{"cut header", RTM_DELNEIGH, AF_INET, NUD_PERMANENT, 0, 0, 0, 1, false, false, false},
};

static void put_neighbour(const struct neighbour_case *c, union request *req)
{
	static const uint8_t addr[4] = {192, 0, 2, 9}, mac[6] = {2, 0, 0, 0, 0, 8};
	struct ndmsg *ndm;

	memset(req, 0, sizeof(*req));
	mnl_nlmsg_put_header(req);
	req->nlh.nlmsg_type = c->type;
	ndm = mnl_nlmsg_put_extra_header(&req->nlh, sizeof(*ndm));
	ndm->ndm_family = c->family;
	ndm->ndm_ifindex = 5;
	ndm->ndm_state = c->state;
	ndm->ndm_flags = c->flags;
	if (c->attrs & IP4)
		mnl_attr_put(&req->nlh, NDA_DST, sizeof(addr), addr);
	if (c->attrs & MAC)
		mnl_attr_put(&req->nlh, NDA_LLADDR, sizeof(mac), mac);
	if (c->protocol)
		mnl_attr_put_u8(&req->nlh, NDA_PROTOCOL, c->protocol);
	req->nlh.nlmsg_len -= c->cut;
}

static void test_parse_neighbour(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(neighbour_cases) / sizeof(neighbour_cases[0]); i++) {
		const struct neighbour_case *c = &neighbour_cases[i];
		struct monitor_event ev = {.ifindex = 4711};
		struct nlmsghdr *exact;
		union request req;
		bool known;

		put_neighbour(c, &req);
		exact = malloc(req.nlh.nlmsg_len);
		assert_non_null(exact);
		memcpy(exact, &req, req.nlh.nlmsg_len);
		known = monitor_parse(exact, &ev);
		free(exact);

		if (known != c->want || (known && ev.kind != MONITOR_NEIGH))
			fail_msg("%s: %d", c->what, known);
		assert_int_equal(ev.ifindex, known ? 5 : 4711);
		assert_int_equal(ev.family, known ? c->family : 0);
		if (!known)
			continue;
		assert_int_equal(ev.neigh.gone, c->type == RTM_DELNEIGH);
		assert_int_equal(ev.neigh.permanent, c->permanent);
		assert_int_equal(ev.neigh.ours, c->ours);
		assert_int_equal(ev.neigh.protocol, c->family == AF_INET ? c->protocol : 0);
		assert_int_equal(ev.neigh.addr.bytes[3], 9);
		assert_int_equal(ev.neigh.mac[5], c->attrs & MAC ? 8 : 0);
	}
}

static void test_overrun(void **state)
{
	const int small = 4096;
	unsigned n_overruns = 0;
	struct fixture f;

	(void)state;
	begin(&f);
	assert_int_equal(setsockopt(monitor_fd(f.m), SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)),
			 0);
	for (int i = 0; i < 50; i++) {
		assert_int_equal(change_addr(&f, RTM_NEWADDR, AF_INET, "192.0.2.9", "192.0.2.9"),
				 0);
		assert_int_equal(change_addr(&f, RTM_DELADDR, AF_INET, "192.0.2.9", "192.0.2.9"),
				 0);
	}

	assert_int_equal(monitor_read(f.m, keep, &f.events), 0);
	for (unsigned i = 0; i < f.events.n; i++)
		n_overruns += f.events.list[i].kind == MONITOR_OVERRUN;
	assert_int_equal(n_overruns, 1);
	assert_int_equal(f.events.list[0].kind, MONITOR_OVERRUN);
	assert_true(f.events.n > 1); /* and those that were kept */

	forget(&f);
	assert_int_equal(change_addr(&f, RTM_NEWADDR, AF_INET, "192.0.2.9", "192.0.2.9"), 0);
	wait_for(&f, MONITOR_ADDR_NEW, AF_INET, LO);
	assert_int_equal(change_addr(&f, RTM_DELADDR, AF_INET, "192.0.2.9", "192.0.2.9"), 0);
	end(&f);
}

static struct nlmsghdr *put_message(union request *req, uint16_t type, int family, uint16_t attr,
				    size_t attr_len)
{
	static const unsigned char bytes[32] = {10, 9, 8, 7};
	struct ifaddrmsg *ifa;

	memset(req, 0, sizeof(*req));
	mnl_nlmsg_put_header(req);
	req->nlh.nlmsg_type = type;
	ifa = mnl_nlmsg_put_extra_header(&req->nlh, sizeof(*ifa));
	ifa->ifa_family = (uint8_t)family;
	ifa->ifa_index = 5;
	if (attr)
		mnl_attr_put(&req->nlh, attr, attr_len, bytes);
	return &req->nlh;
}

static void test_foreign_sender_ignored(void **state)
{
	struct sockaddr_nl to = {0};
	socklen_t to_len = sizeof(to);
	struct monitor_event ev;
	union request req;
	struct fixture f;
	int fd;

	(void)state;
	begin(&f);
	/* An event it would be, if it came from the kernel. */
	put_message(&req, RTM_NEWADDR, AF_INET, IFA_LOCAL, 4);
	assert_true(monitor_parse(&req.nlh, &ev));

	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	assert_true(fd >= 0);
	assert_int_equal(getsockname(monitor_fd(f.m), (struct sockaddr *)&to, &to_len), 0);
	assert_int_equal(sendto(fd, &req, req.nlh.nlmsg_len, 0, (struct sockaddr *)&to, sizeof(to)),
			 req.nlh.nlmsg_len);
	assert_int_equal(change_addr(&f, RTM_NEWADDR, AF_INET, "192.0.2.3", "192.0.2.3"), 0);

	wait_for(&f, MONITOR_ADDR_NEW, AF_INET, LO); /* reading went on */
	assert_null(find(&f.events, MONITOR_ADDR_NEW, AF_INET, 5));
	assert_int_equal(change_addr(&f, RTM_DELADDR, AF_INET, "192.0.2.3", "192.0.2.3"), 0);
	close(fd);
	end(&f);
}

static const struct parse_case {
	const char *what;
	uint16_t type;
	int family;
	uint16_t attr;
	size_t attr_len;
	unsigned cut;
	int want_kind; /* -1: no event */
} parse_cases[] = {
	{"IPv4", RTM_NEWADDR, AF_INET, IFA_LOCAL, 4, 0, MONITOR_ADDR_NEW},
	{"IPv4 without local", RTM_DELADDR, AF_INET, IFA_ADDRESS, 4, 0, MONITOR_ADDR_GONE},
	{"IPv6", RTM_DELADDR, AF_INET6, IFA_ADDRESS, 16, 0, MONITOR_ADDR_GONE},
	{"IPv4 of 16 bytes", RTM_NEWADDR, AF_INET, IFA_LOCAL, 16, 0, -1},
	{"IPv6 of 4 bytes", RTM_NEWADDR, AF_INET6, IFA_ADDRESS, 4, 0, -1},
	{"IPv6 of 17 bytes", RTM_NEWADDR, AF_INET6, IFA_ADDRESS, 17, 0, -1},
	{"empty address", RTM_NEWADDR, AF_INET, IFA_LOCAL, 0, 0, -1},
	{"other family", RTM_NEWADDR, AF_PACKET, IFA_LOCAL, 0, 0, -1},
	{"no address", RTM_NEWADDR, AF_INET, 0, 0, 0, -1},
	{"cut address", RTM_NEWADDR, AF_INET, IFA_LOCAL, 4, 1, -1},
	{"cut header", RTM_NEWADDR, AF_INET, 0, 0, 1, -1},
	/* A route's header has 12 bytes: ours has 8, and an attribute of 4 or 8. */
	{"route", RTM_NEWROUTE, AF_INET, 1, 4, 0, MONITOR_ROUTE},
	{"route gone", RTM_DELROUTE, AF_INET6, 1, 4, 0, MONITOR_ROUTE},
	{"rule", RTM_NEWRULE, AF_INET6, 1, 4, 0, MONITOR_ROUTE},
	{"rule gone", RTM_DELRULE, AF_INET, 1, 4, 0, MONITOR_ROUTE},
	{"multicast route", RTM_NEWROUTE, 128, 1, 4, 0, -1},
	{"cut route", RTM_NEWROUTE, AF_INET, 1, 4, 5, -1},
	{"cut link", RTM_NEWLINK, AF_UNSPEC, 0, 0, 0, -1},
	{"neighbour", RTM_NEWNEIGH, AF_INET, 1, 4, 0, -1},
	{"error", NLMSG_ERROR, AF_INET, 1, 4, 0, -1},
};

static void test_parse(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(parse_cases) / sizeof(parse_cases[0]); i++) {
		const struct parse_case *c = &parse_cases[i];
		struct monitor_event ev = {.family = 4711};
		struct nlmsghdr *exact;
		union request req;
		bool known;

		put_message(&req, c->type, c->family, c->attr, c->attr_len);
		req.nlh.nlmsg_len -= c->cut;
		/* As long as the message, so that a sanitizer sees every byte too far. */
		exact = malloc(req.nlh.nlmsg_len);
		assert_non_null(exact);
		memcpy(exact, &req, req.nlh.nlmsg_len);
		known = monitor_parse(exact, &ev);
		free(exact);

		if (known != (c->want_kind >= 0) || (known && (int)ev.kind != c->want_kind))
			fail_msg("%s: %d, kind %d", c->what, known, known ? (int)ev.kind : -1);
		assert_int_equal(ev.family, known ? c->family : 4711);
		if (known && ev.kind != MONITOR_ROUTE) {
			assert_int_equal(ev.ifindex, 5);
			assert_memory_equal(ev.addr, ((const uint8_t[16]){10, 9, 8, 7}), 16);
		}
	}
}

static int bring_lo_up(void **state)
{
	const struct link_change change = {.set_up = true, .up = true};
	struct nl *nl;
	int err;

	(void)state;
	if (skip_reason)
		return 0;
	if (nl_open(&nl))
		return -1;
	err = link_set(nl, LO, &change);
	nl_close(nl);
	return err;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_socket_options),
		cmocka_unit_test(test_link_events),
		cmocka_unit_test(test_addr_events),
		cmocka_unit_test(test_route_and_rule_events),
		cmocka_unit_test(test_neighbour_events),
		cmocka_unit_test(test_parse_neighbour),
		cmocka_unit_test(test_overrun),
		cmocka_unit_test(test_foreign_sender_ignored),
		cmocka_unit_test(test_parse),
	};

	if (unshare(CLONE_NEWNET) < 0)
		skip_reason = "no network namespace of our own: run as root";
	else if (access("/dev/net/tun", R_OK | W_OK))
		skip_reason = "no /dev/net/tun to make devices with";
	return cmocka_run_group_tests(tests, bring_lo_up, NULL);
}
