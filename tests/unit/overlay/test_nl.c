/* SPDX-License-Identifier: Apache-2.0 */
#include "overlay/nl.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>
#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

/* Of if_link.h and rtnetlink.h since Linux 5.5. */
enum { PROP_LIST = 52, ALT_IFNAME = 53, NEWLINKPROP = 108 };

enum {
	LO = 1,
	FIRST_ADDR = 0x0a000001, /* 10.0.0.1 and following, on the loopback device */
	N_ADDRS = 2000,		 /* 72 bytes each: a dump of at least four parts */
	N_ADDRS_MAX = N_ADDRS + 16,
	N_ALTNAMES = 400,
	ALTNAME_LEN = 100,
};

union request {
	struct nlmsghdr nlh;
	char bytes[16384];
};

static const char *skip_reason;

static void need_netns(void)
{
	if (skip_reason) {
		print_message("skipped: %s\n", skip_reason);
		skip();
	}
}

static struct nlmsghdr *begin_link(union request *req, uint16_t type, int ifindex)
{
	struct ifinfomsg *ifi;

	memset(req, 0, sizeof(*req));
	mnl_nlmsg_put_header(req);
	req->nlh.nlmsg_type = type;
	ifi = mnl_nlmsg_put_extra_header(&req->nlh, sizeof(*ifi));
	ifi->ifi_index = ifindex;
	return &req->nlh;
}

static struct nlmsghdr *begin_addr_dump(union request *req)
{
	struct ifaddrmsg *ifa;

	memset(req, 0, sizeof(*req));
	mnl_nlmsg_put_header(req);
	req->nlh.nlmsg_type = RTM_GETADDR;
	req->nlh.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	ifa = mnl_nlmsg_put_extra_header(&req->nlh, sizeof(*ifa));
	ifa->ifa_family = AF_INET;
	return &req->nlh;
}

static int add_addr(struct nl *nl, uint32_t addr)
{
	union request req;
	struct ifaddrmsg *ifa;

	memset(&req, 0, sizeof(req));
	mnl_nlmsg_put_header(&req);
	req.nlh.nlmsg_type = RTM_NEWADDR;
	req.nlh.nlmsg_flags = NLM_F_CREATE | NLM_F_EXCL;
	ifa = mnl_nlmsg_put_extra_header(&req.nlh, sizeof(*ifa));
	ifa->ifa_family = AF_INET;
	ifa->ifa_prefixlen = 32;
	ifa->ifa_index = LO;
	mnl_attr_put_u32(&req.nlh, IFA_LOCAL, htonl(addr));
	return nl_call(nl, &req.nlh, NULL, NULL);
}

/* The descriptor is private; it is the newest netlink socket of this process. */
static int find_netlink_fd(void)
{
	for (int fd = 255; fd > 2; fd--) {
		struct sockaddr_nl addr;
		socklen_t len = sizeof(addr);

		if (!getsockname(fd, (struct sockaddr *)&addr, &len) &&
		    addr.nl_family == AF_NETLINK)
			return fd;
	}
	fail_msg("no netlink socket found");
	return -1;
}

static uint32_t portid_of(int fd)
{
	struct sockaddr_nl addr = {0};
	socklen_t len = sizeof(addr);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	return addr.nl_pid;
}

static void send_raw(int fd, uint32_t to_portid, const struct nlmsghdr *nlh)
{
	const struct sockaddr_nl to = {.nl_family = AF_NETLINK, .nl_pid = to_portid};

	assert_int_equal(
		sendto(fd, nlh, nlh->nlmsg_len, 0, (const struct sockaddr *)&to, sizeof(to)),
		nlh->nlmsg_len);
}

/* What the callbacks of a dump saw, and what they are to do. */
struct dump {
	uint16_t seen[N_ADDRS_MAX]; /* how often, by address */
	unsigned n_calls;
	unsigned n_runs; /* a new sequence number is a new run */
	uint32_t last_seq;
	unsigned stop_at_call; /* then fail with stop_err */
	int stop_err;
	void (*at_new_run)(struct dump *d, const struct nlmsghdr *nlh);
	struct nl *other;
	uint32_t next_addr;
	int raw_fd;
	uint32_t portid;
};

static uint32_t addr_of(const struct nlmsghdr *nlh)
{
	const struct nlattr *attr;
	struct nl_attrs attrs;

	assert_int_equal(nlh->nlmsg_type, RTM_NEWADDR);
	assert_true(nl_attrs_begin(nlh, sizeof(struct ifaddrmsg), &attrs));
	while ((attr = nl_attrs_next(&attrs))) {
		if (mnl_attr_get_type(attr) == IFA_LOCAL)
			return ntohl(mnl_attr_get_u32(attr));
	}
	fail_msg("no IFA_LOCAL");
	return 0;
}

static int on_addr(const struct nlmsghdr *nlh, void *arg)
{
	struct dump *d = arg;
	uint32_t i = addr_of(nlh) - FIRST_ADDR;

	if (i < N_ADDRS_MAX)
		d->seen[i]++;
	d->n_calls++;
	if (d->n_runs == 0 || nlh->nlmsg_seq != d->last_seq) {
		d->n_runs++;
		d->last_seq = nlh->nlmsg_seq;
		if (d->at_new_run)
			d->at_new_run(d, nlh);
	}
	return d->n_calls == d->stop_at_call ? d->stop_err : 0;
}

static int dump_addrs(struct nl *nl, struct dump *d)
{
	union request req;

	return nl_call(nl, begin_addr_dump(&req), on_addr, d);
}

static void assert_all_seen(const struct dump *d)
{
	for (unsigned i = 0; i < N_ADDRS; i++) {
		if (!d->seen[i])
			fail_msg("address %u was not in the dump", i);
	}
}

static void test_socket_options(void **state)
{
	struct timeval timeout = {0};
	socklen_t len = sizeof(timeout);
	struct nl *nl = NULL;
	int fd;

	(void)state;
	assert_int_equal(nl_open(&nl), 0);
	fd = find_netlink_fd();
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_false(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, &len), 0);
	assert_int_equal(timeout.tv_sec, 5);
	for (size_t i = 0; i < 2; i++) {
		int option = i ? NETLINK_CAP_ACK : NETLINK_EXT_ACK, on = 0;

		len = sizeof(on);
		assert_int_equal(getsockopt(fd, SOL_NETLINK, option, &on, &len), 0);
		assert_int_equal(on, 1);
	}
	assert_string_equal(nl_errmsg(nl), "");
	nl_close(nl);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	nl_close(NULL);
}

static int count_message(const struct nlmsghdr *nlh, void *arg)
{
	unsigned *n_messages = arg;

	(*n_messages)++;
	assert_int_equal(nlh->nlmsg_type, RTM_NEWLINK);
	return 0;
}

static int refuse_message(const struct nlmsghdr *nlh, void *arg)
{
	(void)nlh;
	(void)arg;
	return -EXDEV;
}

static void test_request_and_answer(void **state)
{
	unsigned n_messages = 0;
	union request req;
	struct nl *nl;

	(void)state;
	need_netns();
	assert_int_equal(nl_open(&nl), 0);

	assert_int_equal(nl_call(nl, begin_link(&req, RTM_GETLINK, LO), count_message, &n_messages),
			 0);
	assert_int_equal(n_messages, 1);
	assert_int_equal(nl_call(nl, begin_link(&req, RTM_GETLINK, LO), NULL, NULL), 0);
	assert_int_equal(nl_call(nl, begin_link(&req, RTM_GETLINK, LO), refuse_message, NULL),
			 -EXDEV);
	assert_int_equal(nl_call(nl, begin_link(&req, RTM_GETLINK, 9999), count_message, NULL),
			 -ENODEV);
	/* A type that rtnetlink does not know. */
	assert_int_equal(nl_call(nl, begin_link(&req, 2000, LO), NULL, NULL), -EOPNOTSUPP);
	nl_close(nl);
}

static void test_error_text(void **state)
{
	union request req;
	struct nl *nl;

	(void)state;
	need_netns();
	assert_int_equal(nl_open(&nl), 0);

	/* An MTU of one byte: refused by the attribute policy, with words. */
	begin_link(&req, RTM_NEWLINK, LO);
	mnl_attr_put_u8(&req.nlh, IFLA_MTU, 100);
	assert_int_equal(nl_call(nl, &req.nlh, NULL, NULL), -ERANGE);
	assert_non_null(strstr(nl_errmsg(nl), "policy"));

	assert_int_equal(nl_call(nl, begin_link(&req, RTM_GETLINK, LO), NULL, NULL), 0);
	assert_string_equal(nl_errmsg(nl), "");
	nl_close(nl);
}

static void test_dump_of_many_parts(void **state)
{
	struct dump d = {.n_calls = 0};
	struct nl *nl;

	(void)state;
	need_netns();
	assert_int_equal(nl_open(&nl), 0);
	assert_int_equal(dump_addrs(nl, &d), 0);
	assert_all_seen(&d);
	assert_int_equal(d.n_runs, 1);
	nl_close(nl);
}

static void test_dump_drained_after_callback_error(void **state)
{
	struct dump stopped = {.stop_at_call = 3, .stop_err = -EXDEV};
	struct dump whole = {.n_calls = 0};
	char byte;
	struct nl *nl;

	(void)state;
	need_netns();
	assert_int_equal(nl_open(&nl), 0);
	assert_int_equal(dump_addrs(nl, &stopped), -EXDEV);
	assert_int_equal(stopped.n_calls, 3);
	assert_int_equal(recv(find_netlink_fd(), &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);

	assert_int_equal(dump_addrs(nl, &whole), 0);
	assert_all_seen(&whole);
	nl_close(nl);
}

static void change_addrs(struct dump *d, const struct nlmsghdr *nlh)
{
	(void)nlh;
	assert_int_equal(add_addr(d->other, d->next_addr++), 0);
}

static void change_addrs_once(struct dump *d, const struct nlmsghdr *nlh)
{
	if (d->n_runs == 1)
		change_addrs(d, nlh);
}

static void test_dump_interrupted(void **state)
{
	static const struct {
		void (*at_new_run)(struct dump *d, const struct nlmsghdr *nlh);
		unsigned stop_at_call, want_runs;
		int want_err;
	} cases[] = {
		{change_addrs_once, 0, 2, 0},
		{change_addrs, 0, 4, -EINTR}, /* and three times again */
		{change_addrs, 5, 1, -EXDEV}, /* the callback's error comes first */
	};
	uint32_t next_addr = 0x0b000000;

	(void)state;
	need_netns();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dump d = {
			.at_new_run = cases[i].at_new_run,
			.stop_at_call = cases[i].stop_at_call,
			.stop_err = -EXDEV,
			.next_addr = next_addr,
		};
		struct nl *nl;

		assert_int_equal(nl_open(&nl), 0);
		assert_int_equal(nl_open(&d.other), 0);
		assert_int_equal(dump_addrs(nl, &d), cases[i].want_err);
		assert_int_equal(d.n_runs, cases[i].want_runs);
		next_addr = d.next_addr;
		nl_close(d.other);
		nl_close(nl);
	}
}

/* The end of the dump, correct in everything but the sender. */
static void forge_done(struct dump *d, const struct nlmsghdr *nlh)
{
	union request req;

	memset(&req, 0, sizeof(req));
	mnl_nlmsg_put_header(&req);
	req.nlh.nlmsg_type = NLMSG_DONE;
	req.nlh.nlmsg_flags = NLM_F_MULTI;
	req.nlh.nlmsg_seq = nlh->nlmsg_seq;
	req.nlh.nlmsg_pid = nlh->nlmsg_pid;
	*(int *)mnl_nlmsg_put_extra_header(&req.nlh, sizeof(int)) = -EXDEV;
	send_raw(d->raw_fd, d->portid, &req.nlh);
}

static void test_foreign_sender_ignored(void **state)
{
	struct dump d = {.at_new_run = forge_done};
	struct nl *nl;

	(void)state;
	need_netns();
	assert_int_equal(nl_open(&nl), 0);
	d.portid = portid_of(find_netlink_fd());
	d.raw_fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	assert_true(d.raw_fd >= 0);
	assert_int_equal(dump_addrs(nl, &d), 0);
	assert_all_seen(&d);
	close(d.raw_fd);
	nl_close(nl);
}

/* The kernel's answer to something else that goes over the same socket. */
static void ask_in_between(struct dump *d, const struct nlmsghdr *nlh)
{
	union request req;

	begin_link(&req, RTM_NEWLINK, 9999);
	req.nlh.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	req.nlh.nlmsg_seq = nlh->nlmsg_seq + 1000;
	send_raw(d->raw_fd, 0, &req.nlh);
}

static void test_other_sequence_ignored(void **state)
{
	struct dump d = {.at_new_run = ask_in_between};
	struct nl *nl;

	(void)state;
	need_netns();
	assert_int_equal(nl_open(&nl), 0);
	d.raw_fd = find_netlink_fd();
	assert_int_equal(dump_addrs(nl, &d), 0);
	assert_all_seen(&d);
	nl_close(nl);
}

static void test_leftover_dump_discarded(void **state)
{
	struct dump d = {.n_calls = 0};
	union request req;
	struct nl *nl;

	(void)state;
	need_netns();
	assert_int_equal(nl_open(&nl), 0);

	/* As if a call had given up in the middle of a dump. */
	begin_addr_dump(&req);
	req.nlh.nlmsg_seq = 77777;
	send_raw(find_netlink_fd(), 0, &req.nlh);

	assert_int_equal(dump_addrs(nl, &d), 0);
	assert_all_seen(&d);
	assert_int_equal(d.n_runs, 1);
	nl_close(nl);
}

static int keep_message_len(const struct nlmsghdr *nlh, void *arg)
{
	*(uint32_t *)arg = nlh->nlmsg_len;
	return 0;
}

static void add_altnames(struct nl *nl, int first, int n_names)
{
	union request req;
	struct nlattr *list;

	begin_link(&req, NEWLINKPROP, LO);
	req.nlh.nlmsg_flags = NLM_F_CREATE | NLM_F_EXCL | NLM_F_APPEND;
	list = mnl_attr_nest_start(&req.nlh, PROP_LIST);
	for (int i = first; i < first + n_names; i++) {
		char name[ALTNAME_LEN + 1];

		snprintf(name, sizeof(name), "%0*d", ALTNAME_LEN, i);
		mnl_attr_put_strz(&req.nlh, ALT_IFNAME, name);
	}
	mnl_attr_nest_end(&req.nlh, list);
	assert_int_equal(nl_call(nl, &req.nlh, NULL, NULL), 0);
}

static void test_answer_larger_than_buffer(void **state)
{
	uint32_t message_len = 0;
	union request req;
	struct nl *nl;

	(void)state;
	need_netns();
	assert_int_equal(nl_open(&nl), 0);
	for (int i = 0; i < N_ALTNAMES; i += 100)
		add_altnames(nl, i, 100);
	assert_int_equal(
		nl_call(nl, begin_link(&req, RTM_GETLINK, LO), keep_message_len, &message_len), 0);
	assert_true(message_len > N_ALTNAMES * ALTNAME_LEN);
	nl_close(nl);
}

static void test_attrs(void **state)
{
	static const struct {
		const char *what;
		uint16_t nla_len;     /* of the second attribute; the first has 5 bytes */
		uint32_t message_len; /* in bytes; the family header takes 4 */
		int want_n, want_left;
	} cases[] = {
		{"both fit", 8, 16 + 4 + 8 + 8, 2, 0},
		{"empty payload", 4, 16 + 4 + 8 + 4, 2, 0},
		{"last padding missing", 7, 16 + 4 + 8 + 7, 2, 0},
		{"one byte too long", 9, 16 + 4 + 8 + 8, 1, 8},
		{"far too long", 0xffff, 16 + 4 + 8 + 8, 1, 8},
		{"shorter than its header", 3, 16 + 4 + 8 + 8, 1, 8},
		{"zero: must not loop", 0, 16 + 4 + 8 + 8, 1, 8},
		{"half a header", 4, 16 + 4 + 8 + 3, 1, 3},
		{"first without padding", 4, 16 + 4 + 5, 1, 0},
		{"first cut", 4, 16 + 4 + 4, 0, 4},
		{"none", 4, 16 + 4, 0, 0},
		{"no family header", 4, 16 + 3, -1, 0},
		{"no message", 4, 15, -1, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		/* As long as the message, so that a sanitizer sees every byte too far. */
		struct nlmsghdr header = {.nlmsg_len = cases[i].message_len};
		struct nlattr second = {.nla_len = cases[i].nla_len, .nla_type = 2};
		struct nlattr first = {.nla_len = 5, .nla_type = 1};
		unsigned char whole[64] = {0};
		struct nl_attrs attrs = {0};
		struct nlmsghdr *nlh;
		int n = -1;

		memcpy(whole, &header, sizeof(header));
		memcpy(whole + 20, &first, sizeof(first));
		memcpy(whole + 28, &second, sizeof(second));
		nlh = malloc(cases[i].message_len < 16 ? 16 : cases[i].message_len);
		assert_non_null(nlh);
		memcpy(nlh, whole, cases[i].message_len < 16 ? 16 : cases[i].message_len);

		if (nl_attrs_begin(nlh, 4, &attrs)) {
			for (n = 0; nl_attrs_next(&attrs); n++)
				assert_true(n < 3);
		}
		if (n != cases[i].want_n || (int)attrs.left != cases[i].want_left)
			fail_msg("%s: %d attributes, %zu bytes left", cases[i].what, n, attrs.left);
		free(nlh);
	}
}

static int add_addrs(void **state)
{
	struct nl *nl;

	(void)state;
	if (skip_reason)
		return 0;
	if (nl_open(&nl))
		return -1;
	for (unsigned i = 0; i < N_ADDRS; i++) {
		int err = add_addr(nl, FIRST_ADDR + i);

		if (err) {
			print_error("address %u: %s\n", i, strerror(-err));
			nl_close(nl);
			return -1;
		}
	}
	nl_close(nl);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_socket_options),
		cmocka_unit_test(test_request_and_answer),
		cmocka_unit_test(test_error_text),
		cmocka_unit_test(test_dump_of_many_parts),
		cmocka_unit_test(test_dump_drained_after_callback_error),
		cmocka_unit_test(test_dump_interrupted),
		cmocka_unit_test(test_foreign_sender_ignored),
		cmocka_unit_test(test_other_sequence_ignored),
		cmocka_unit_test(test_leftover_dump_discarded),
		cmocka_unit_test(test_answer_larger_than_buffer),
		cmocka_unit_test(test_attrs),
	};

	if (unshare(CLONE_NEWNET) < 0)
		skip_reason = "no network namespace of our own: run as root";
	return cmocka_run_group_tests(tests, add_addrs, NULL);
}
