/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked of the kernel here: IPv4 addresses on the loopback device. Request i
 * of a test is for 10.0.0.0 + i.
 */
#include "overlay/nl_batch.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <libmnl/libmnl.h>
#include <linux/filter.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

#include "netns.h"
#include "overlay/nl.h"

enum {
	LO = 1,
	FIRST_ADDR = 0x0a000000,
	N_ANSWERS_MAX = 1024,
	BIG_LEN = 12000,
	LIST_LEN = 128,
};

static const char list_command[] = "ip -4 -o address show dev lo";

union request {
	struct nlmsghdr nlh;
	char bytes[40000];
};

struct answers {
	uintptr_t cookie[N_ANSWERS_MAX];
	int err[N_ANSWERS_MAX];
	unsigned n;
};

struct fixture {
	struct nl *nl;
	struct nl_batch *b;
	int fd;
	struct answers answers;
};

static void on_answer(void *cookie, int err, void *arg)
{
	struct answers *a = arg;

	assert_true(a->n < N_ANSWERS_MAX);
	a->cookie[a->n] = (uintptr_t)cookie;
	a->err[a->n++] = err;
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

static int setup(void **state)
{
	static struct fixture f;

	*state = &f;
	memset(&f, 0, sizeof(f));
	if (netns_skip_reason)
		return 0;
	if (system("ip address flush dev lo") || nl_open(&f.nl) ||
	    nl_batch_new(f.nl, on_answer, &f.answers, &f.b))
		return -1;
	f.fd = find_netlink_fd();
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	nl_batch_free(f->b);
	nl_close(f->nl);
	return 0;
}

static void put_addr(union request *req, uint16_t type, unsigned i)
{
	struct ifaddrmsg *ifa;

	memset(req, 0, sizeof(*req));
	mnl_nlmsg_put_header(req);
	req->nlh.nlmsg_type = type;
	req->nlh.nlmsg_flags = type == RTM_NEWADDR ? NLM_F_CREATE | NLM_F_EXCL : 0;
	ifa = mnl_nlmsg_put_extra_header(&req->nlh, sizeof(*ifa));
	ifa->ifa_family = AF_INET;
	ifa->ifa_prefixlen = 32;
	ifa->ifa_index = LO;
	mnl_attr_put_u32(&req->nlh, IFA_LOCAL, htonl(FIRST_ADDR + i));
}

static int add(struct fixture *f, unsigned i)
{
	union request req;

	put_addr(&req, RTM_NEWADDR, i);
	return nl_batch_add(f->b, &req.nlh, (void *)(uintptr_t)(7000 + i));
}

static void assert_answered_in_order(const struct fixture *f, unsigned n)
{
	assert_int_equal(f->answers.n, n);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(f->answers.cookie[i], 7000 + i);
}

static void assert_all_are(const struct fixture *f, int err)
{
	for (unsigned i = 0; i < f->answers.n; i++)
		assert_int_equal(f->answers.err[i], err);
}

static void test_more_than_a_send_takes(void **state)
{
	struct fixture *f = *state;

	need_netns();
	for (unsigned i = 0; i < 700; i++)
		assert_int_equal(add(f, i), 0);
	assert_int_equal(nl_batch_flush(f->b), 0);
	assert_answered_in_order(f, 700);
	assert_all_are(f, 0);
	assert_int_equal(line_count(list_command), 700);
	assert_shows(list_command, " 10.0.2.187/32 ");

	assert_int_equal(nl_batch_flush(f->b), 0);
	assert_int_equal(f->answers.n, 700);
}

static void test_each_has_its_own_answer(void **state)
{
	struct fixture *f = *state;
	union request req;

	need_netns();
	assert_int_equal(add(f, 0), 0);
	put_addr(&req, RTM_NEWADDR, 0); /* once more */
	assert_int_equal(nl_batch_add(f->b, &req.nlh, (void *)7001), 0);
	put_addr(&req, RTM_DELADDR, 99); /* not there */
	assert_int_equal(nl_batch_add(f->b, &req.nlh, (void *)7002), 0);
	assert_int_equal(add(f, 3), 0);
	put_addr(&req, RTM_DELADDR, 0);
	assert_int_equal(nl_batch_add(f->b, &req.nlh, (void *)7004), 0);
	assert_int_equal(f->answers.n, 0);

	assert_int_equal(nl_batch_flush(f->b), 0);
	assert_answered_in_order(f, 5);
	assert_int_equal(f->answers.err[0], 0);
	assert_int_equal(f->answers.err[1], -EEXIST);
	assert_int_equal(f->answers.err[2], -EADDRNOTAVAIL);
	assert_int_equal(f->answers.err[3], 0);
	assert_int_equal(f->answers.err[4], 0);
	assert_int_equal(line_count(list_command), 1);
	assert_shows(list_command, " 10.0.0.3/32 ");
}

/* A failure of the attribute policy comes with words, and so longer. */
static void test_words(void **state)
{
	struct fixture *f = *state;
	union request req;

	need_netns();
	memset(&req, 0, sizeof(req));
	mnl_nlmsg_put_header(&req);
	req.nlh.nlmsg_type = RTM_NEWLINK;
	((struct ifinfomsg *)mnl_nlmsg_put_extra_header(&req.nlh, sizeof(struct ifinfomsg)))
		->ifi_index = LO;
	mnl_attr_put_u8(&req.nlh, IFLA_MTU, 100);
	assert_int_equal(nl_batch_add(f->b, &req.nlh, (void *)7000), 0);
	assert_int_equal(add(f, 1), 0);
	assert_int_equal(nl_batch_flush(f->b), 0);
	assert_answered_in_order(f, 2);
	assert_int_equal(f->answers.err[0], -ERANGE);
	assert_int_equal(f->answers.err[1], 0);
	assert_non_null(strstr(nl_errmsg(f->nl), "policy"));

	assert_int_equal(add(f, 2), 0);
	assert_int_equal(nl_batch_flush(f->b), 0);
	assert_string_equal(nl_errmsg(f->nl), "");
}

/* The kernel skips an attribute that it does not know. */
static void make_big(union request *req, size_t len)
{
	static const char zero[sizeof(*req)];

	mnl_attr_put(&req->nlh, 200, len, zero);
}

static void test_long_requests(void **state)
{
	struct fixture *f = *state;
	union request req;

	need_netns();
	for (unsigned i = 0; i < 9; i++) {
		put_addr(&req, RTM_NEWADDR, i);
		make_big(&req, BIG_LEN + i); /* of every length modulo 4 */
		assert_int_equal(nl_batch_add(f->b, &req.nlh, (void *)(uintptr_t)(7000 + i)), 0);
	}
	put_addr(&req, RTM_NEWADDR, 99);
	make_big(&req, sizeof(req) - LIST_LEN);
	assert_int_equal(nl_batch_add(f->b, &req.nlh, NULL), -EMSGSIZE);
	assert_int_equal(nl_batch_flush(f->b), 0);
	assert_answered_in_order(f, 9);
	assert_all_are(f, 0);
	assert_int_equal(line_count(list_command), 9);
}

/* A length that is no multiple of 4 must not shift what follows. */
static void test_odd_length(void **state)
{
	struct fixture *f = *state;
	union request req;

	need_netns();
	for (unsigned i = 0; i < 4; i++) {
		put_addr(&req, RTM_NEWADDR, i);
		mnl_attr_put_strz(&req.nlh, IFA_LABEL, "lo:1");
		req.nlh.nlmsg_len -= 3; /* the padding */
		assert_int_equal(nl_batch_add(f->b, &req.nlh, (void *)(uintptr_t)(7000 + i)), 0);
	}
	assert_int_equal(nl_batch_flush(f->b), 0);
	assert_answered_in_order(f, 4);
	assert_all_are(f, 0);
	assert_int_equal(line_count(list_command), 4);
}

static int count_message(const struct nlmsghdr *nlh, void *arg)
{
	*(unsigned *)arg += nlh->nlmsg_type == RTM_NEWLINK;
	return 0;
}

static void get_loopback(struct fixture *f)
{
	unsigned n_messages = 0;
	union request req;

	memset(&req, 0, sizeof(req));
	mnl_nlmsg_put_header(&req);
	req.nlh.nlmsg_type = RTM_GETLINK;
	((struct ifinfomsg *)mnl_nlmsg_put_extra_header(&req.nlh, sizeof(struct ifinfomsg)))
		->ifi_index = LO;
	assert_int_equal(nl_call(f->nl, &req.nlh, count_message, &n_messages), 0);
	assert_int_equal(n_messages, 1);
}

static void test_calls_before_and_after(void **state)
{
	struct fixture *f = *state;
	union request req;

	need_netns();
	get_loopback(f);
	assert_int_equal(add(f, 0), 0);
	assert_int_equal(nl_batch_flush(f->b), 0);
	get_loopback(f);
	/* A request that has an answer besides its acknowledgement. */
	put_addr(&req, RTM_GETLINK, 0);
	((struct ifinfomsg *)mnl_nlmsg_get_payload(&req.nlh))->ifi_family = AF_UNSPEC;
	((struct ifinfomsg *)mnl_nlmsg_get_payload(&req.nlh))->ifi_index = LO;
	req.nlh.nlmsg_len = MNL_NLMSG_HDRLEN + sizeof(struct ifinfomsg);
	assert_int_equal(nl_batch_add(f->b, &req.nlh, (void *)7001), 0);
	assert_int_equal(add(f, 2), 0);
	assert_int_equal(nl_batch_flush(f->b), 0);
	assert_answered_in_order(f, 3);
	assert_all_are(f, 0);
	get_loopback(f);
}

static void test_without_callback(void **state)
{
	struct fixture *f = *state;
	struct nl_batch *b;
	union request req;

	need_netns();
	assert_int_equal(nl_batch_new(f->nl, NULL, NULL, &b), 0);
	put_addr(&req, RTM_NEWADDR, 5);
	assert_int_equal(nl_batch_add(b, &req.nlh, NULL), 0);
	assert_int_equal(nl_batch_flush(b), 0);
	assert_int_equal(line_count(list_command), 1);
	put_addr(&req, RTM_NEWADDR, 6);
	assert_int_equal(nl_batch_add(b, &req.nlh, NULL), 0);
	nl_batch_free(b); /* unsent */
	assert_int_equal(line_count(list_command), 1);
	nl_batch_free(NULL);
}

/* A receive buffer as small as it can be: most acknowledgements are lost. */
static void test_answers_lost(void **state)
{
	struct fixture *f = *state;
	const int smallest = 1, usual = 200000;
	unsigned n_fine = 0;

	need_netns();
	assert_int_equal(setsockopt(f->fd, SOL_SOCKET, SO_RCVBUF, &smallest, sizeof(smallest)), 0);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(add(f, i), 0);
	assert_int_equal(nl_batch_flush(f->b), -ENOBUFS);
	assert_answered_in_order(f, 100);
	while (n_fine < 100 && !f->answers.err[n_fine])
		n_fine++;
	assert_in_range(n_fine, 1, 99);
	for (unsigned i = n_fine; i < 100; i++)
		assert_int_equal(f->answers.err[i], -ENOBUFS);
	/* The kernel did it all the same. */
	assert_int_equal(line_count(list_command), 100);

	assert_int_equal(setsockopt(f->fd, SOL_SOCKET, SO_RCVBUF, &usual, sizeof(usual)), 0);
	f->answers.n = 0;
	get_loopback(f);
	assert_int_equal(add(f, 0), 0);
	assert_int_equal(nl_batch_flush(f->b), 0);
	assert_int_equal(f->answers.n, 1);
	assert_int_equal(f->answers.err[0], -EEXIST);
}

/* Keeps from the socket the acknowledgements (error 0) whose number is even. */
static void drop_even_acks(int fd, bool all)
{
	const uint32_t bit = htonl(1); /* a filter reads big-endian */
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct nlmsghdr, nlmsg_seq)),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, all ? 0 : bit),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, sizeof(struct nlmsghdr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)),
			 0);
}

static void set_timeout_ms(int fd, unsigned ms)
{
	const struct timeval timeout = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)), 0);
}

/* The batch is the socket's first call, so its numbers are 1, 2, ... */
static void test_timeout(void **state)
{
	struct fixture *f = *state;
	const int none = 0;

	need_netns();
	set_timeout_ms(f->fd, 100);
	drop_even_acks(f->fd, false);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(add(f, i), 0);
	assert_int_equal(nl_batch_flush(f->b), -ETIMEDOUT);
	assert_answered_in_order(f, 10);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(f->answers.err[i], i % 2 ? -ETIMEDOUT : 0);

	assert_int_equal(setsockopt(f->fd, SOL_SOCKET, SO_DETACH_FILTER, &none, sizeof(none)), 0);
	assert_int_equal(add(f, 10), 0);
	assert_int_equal(nl_batch_flush(f->b), 0);
	assert_int_equal(f->answers.err[10], 0);
}

/* When an add has to send first and that fails, its own request is not taken. */
static void test_add_tells_failure(void **state)
{
	struct fixture *f = *state;
	unsigned n_taken = 0;

	need_netns();
	set_timeout_ms(f->fd, 50);
	drop_even_acks(f->fd, true);
	while (n_taken < 1000 && !add(f, n_taken))
		n_taken++;
	assert_in_range(n_taken, 64, 999);
	assert_answered_in_order(f, n_taken);
	assert_all_are(f, -ETIMEDOUT);
	assert_int_equal(nl_batch_flush(f->b), 0);
	assert_int_equal(f->answers.n, n_taken);
	assert_int_equal(line_count(list_command), (int)n_taken);
}

/* Failures of requests 1 to 3, correct in everything but the sender. */
static void forge_answers(uint32_t to_portid)
{
	const struct sockaddr_nl to = {.nl_family = AF_NETLINK, .nl_pid = to_portid};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	for (int round = 0; round < 20; round++) {
		for (uint32_t seq = 1; seq <= 3; seq++) {
			const struct {
				struct nlmsghdr nlh;
				struct nlmsgerr e;
			} forged = {{sizeof(forged), NLMSG_ERROR, 0, seq, to_portid},
				    {.error = -EXDEV}};

			sendto(fd, &forged, sizeof(forged), 0, (const struct sockaddr *)&to,
			       sizeof(to));
		}
		usleep(10000);
	}
	_exit(0);
}

static void test_foreign_sender_ignored(void **state)
{
	struct fixture *f = *state;
	struct sockaddr_nl self = {.nl_pid = 0};
	socklen_t len = sizeof(self);
	pid_t child;

	need_netns();
	assert_int_equal(getsockname(f->fd, (struct sockaddr *)&self, &len), 0);
	set_timeout_ms(f->fd, 300);
	drop_even_acks(f->fd, true);
	child = fork();
	assert_true(child >= 0);
	if (!child)
		forge_answers(self.nl_pid);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(add(f, i), 0);
	assert_int_equal(nl_batch_flush(f->b), -ETIMEDOUT);
	assert_answered_in_order(f, 3);
	assert_all_are(f, -ETIMEDOUT);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void test_send_fails(void **state)
{
	struct fixture *f = *state;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), netlink;

	need_netns();
	assert_int_equal(add(f, 0), 0);
	assert_int_equal(add(f, 1), 0);
	netlink = fcntl(f->fd, F_DUPFD_CLOEXEC, 0);
	assert_int_equal(dup2(null, f->fd), f->fd);
	assert_int_equal(nl_batch_flush(f->b), -ENOTSOCK);
	assert_answered_in_order(f, 2);
	assert_all_are(f, -ENOTSOCK);
	assert_int_equal(dup2(netlink, f->fd), f->fd);
	close(netlink);
	close(null);
	assert_int_equal(line_count(list_command), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_more_than_a_send_takes),
		TEST(test_each_has_its_own_answer),
		TEST(test_words),
		TEST(test_long_requests),
		TEST(test_odd_length),
		TEST(test_calls_before_and_after),
		TEST(test_without_callback),
		TEST(test_answers_lost),
		TEST(test_timeout),
		TEST(test_add_tells_failure),
		TEST(test_foreign_sender_ignored),
		TEST(test_send_fails),
	};

	netns_enter();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
