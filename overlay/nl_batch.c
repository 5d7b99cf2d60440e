/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation: the kernel works off all requests of one send, one after
 * another and before the send returns, and queues an acknowledgement for each as a
 * datagram of its own. So a full batch costs one send and, with recvmmsg(), one
 * receive. The acknowledgements of one send must fit into the socket's receive
 * buffer: what does not is lost (ENOBUFS), though the kernel did what was asked.
 */
#include "nl_batch.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <linux/netlink.h>

#include "nl.h"
#include "nl_internal.h"

enum {
	/* An acknowledgement is charged to the receive buffer with about 1 KB, however
	 * short it is, and the usual buffer has 208 KB. */
	NL_BATCH_MAX = 128,
	NL_BATCH_RCVBUF_LEN = 1 << 19,
	NL_BATCH_LEN = 32768,
	/* With the kernel's words about a failure. They may be cut off. */
	NL_ANSWER_LEN = 256,
};

struct request {
	void *cookie;
	int fine; /* what is told as 0 too */
	int err;  /* once answered */
	bool answered;
};

struct nl_batch {
	struct nl *nl;
	nl_batch_answer_fn fn;
	void *arg;
	unsigned n;
	size_t len;
	struct request requests[NL_BATCH_MAX];
	union {
		struct nlmsghdr align;
		uint8_t bytes[NL_BATCH_LEN];
	} out;
	union nl_answer {
		struct nlmsghdr nlh;
		uint8_t bytes[NL_ANSWER_LEN];
	} answers[NL_BATCH_MAX];
	struct sockaddr_nl from[NL_BATCH_MAX];
	struct iovec iov[NL_BATCH_MAX];
	struct mmsghdr msgs[NL_BATCH_MAX];
};

static void grow_receive_buffer(int fd);
static uint32_t number_requests(struct nl_batch *b);
static int send_requests(struct nl_batch *b);
static int receive_answers(struct nl_batch *b, uint32_t first_seq);
static void tell_answers(struct nl_batch *b, int err);

int nl_batch_new(struct nl *nl, nl_batch_answer_fn fn, void *arg, struct nl_batch **ret)
{
	struct nl_batch *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->nl = nl;
	b->fn = fn;
	b->arg = arg;
	grow_receive_buffer(nl_fd(nl));
	*ret = b;
	return 0;
}

void nl_batch_free(struct nl_batch *b)
{
	free(b);
}

int nl_batch_add(struct nl_batch *b, const struct nlmsghdr *req, void *cookie)
{
	return nl_batch_add_fine(b, req, 0, cookie);
}

int nl_batch_add_fine(struct nl_batch *b, const struct nlmsghdr *req, int fine, void *cookie)
{
	const size_t space = NLMSG_ALIGN((size_t)req->nlmsg_len);
	struct nlmsghdr *copy;

	assert(req->nlmsg_len >= sizeof(*req));
	if (space > sizeof(b->out.bytes))
		return -EMSGSIZE;
	if (b->n == NL_BATCH_MAX || space > sizeof(b->out.bytes) - b->len) {
		int err = nl_batch_flush(b);

		if (err)
			return err;
	}

	copy = (struct nlmsghdr *)(b->out.bytes + b->len);
	memcpy(copy, req, req->nlmsg_len);
	memset(b->out.bytes + b->len + req->nlmsg_len, 0, space - req->nlmsg_len);
	copy->nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
	b->len += space;
	b->requests[b->n++] = (struct request){.cookie = cookie, .fine = fine};
	return 0;
}

int nl_batch_flush(struct nl_batch *b)
{
	uint32_t first_seq;
	int err;

	if (!b->n)
		return 0;

	first_seq = number_requests(b);
	nl_begin(b->nl);
	err = send_requests(b);
	if (!err)
		err = receive_answers(b, first_seq);
	tell_answers(b, err);
	return err;
}

/* Past the host's limit where we may, else up to it. Neither is needed for a batch on
 * a host with the usual limits. */
static void grow_receive_buffer(int fd)
{
	const int len = NL_BATCH_RCVBUF_LEN;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &len, sizeof(len)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &len, sizeof(len));
}

static uint32_t number_requests(struct nl_batch *b)
{
	const uint32_t first_seq = nl_take_seq(b->nl, b->n);
	size_t at = 0;

	for (uint32_t i = 0; i < b->n; i++) {
		struct nlmsghdr *nlh = (struct nlmsghdr *)(b->out.bytes + at);

		nlh->nlmsg_seq = first_seq + i;
		at += NLMSG_ALIGN((size_t)nlh->nlmsg_len);
	}
	return first_seq;
}

static int send_requests(struct nl_batch *b)
{
	const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	ssize_t len;

	len = sendto(nl_fd(b->nl), b->out.bytes, b->len, 0, (const struct sockaddr *)&kernel,
		     sizeof(kernel));
	return len < 0 ? -errno : 0;
}

/* How many datagrams came, or -errno. */
static int receive_some(struct nl_batch *b, int flags)
{
	int n;

	for (unsigned i = 0; i < NL_BATCH_MAX; i++) {
		b->iov[i] = (struct iovec){&b->answers[i], sizeof(b->answers[i])};
		b->msgs[i].msg_hdr = (struct msghdr){
			.msg_name = &b->from[i],
			.msg_namelen = sizeof(b->from[i]),
			.msg_iov = &b->iov[i],
			.msg_iovlen = 1,
		};
	}
	n = recvmmsg(nl_fd(b->nl), b->msgs, NL_BATCH_MAX, flags, NULL);
	return n < 0 ? -errno : n;
}

/* Is datagram @i the answer to a request that had none yet? Everything else is left
 * over or from somebody else. */
static bool take_answer(struct nl_batch *b, unsigned i, uint32_t first_seq)
{
	const uint32_t len = b->msgs[i].msg_len;
	struct nlmsghdr *nlh = &b->answers[i].nlh;
	struct request *request;

	if (b->msgs[i].msg_hdr.msg_namelen != sizeof(b->from[i]) || b->from[i].nl_pid != 0)
		return false;
	if (len < sizeof(*nlh) || nlh->nlmsg_type != NLMSG_ERROR ||
	    nlh->nlmsg_pid != nl_portid(b->nl) || nlh->nlmsg_seq - first_seq >= b->n)
		return false;
	request = &b->requests[nlh->nlmsg_seq - first_seq];
	if (request->answered)
		return false;

	if (nlh->nlmsg_len > len)
		nlh->nlmsg_len = len;
	request->answered = true;
	request->err = nl_read_error(b->nl, nlh);
	return true;
}

static int receive_answers(struct nl_batch *b, uint32_t first_seq)
{
	unsigned n_missing = b->n;
	int flags = MSG_WAITFORONE, lost = 0;

	while (n_missing) {
		int n = receive_some(b, flags);

		if (n == -ENOBUFS) {
			/* The kernel is done, so the lost ones will never come. */
			lost = n;
			flags = MSG_DONTWAIT;
		} else if (n < 0 && n != -EINTR) {
			if (lost)
				return lost;
			return n == -EAGAIN ? -ETIMEDOUT : n;
		}
		for (int i = 0; i < n; i++)
			n_missing -= take_answer(b, (unsigned)i, first_seq);
	}
	return 0;
}

/* @err is told of those without an answer. The batch is empty before the first is
 * told, so that it is so whatever happens. */
static void tell_answers(struct nl_batch *b, int err)
{
	const unsigned n = b->n;

	b->n = 0;
	b->len = 0;
	for (unsigned i = 0; b->fn && i < n; i++) {
		const struct request *request = &b->requests[i];
		int answer = request->answered ? request->err : err;

		if (request->answered && answer == request->fine)
			answer = 0;
		b->fn(request->cookie, answer, b->arg);
	}
}
