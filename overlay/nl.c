/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation: one request is under way at a time. An answer belongs to
 * it when the kernel sent it (sender port 0) and it repeats the request's
 * sequence number and our port; everything else on the socket is left over from
 * a call that gave up, and is skipped. A request ends with NLMSG_ERROR (0 is the
 * acknowledgement), a dump with NLMSG_DONE.
 */
#include "nl.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <libmnl/libmnl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "nl_internal.h"

enum {
	NL_TIMEOUT_S = 5,
	/* The kernel fills a part of a dump up to the size of the buffer it saw,
	 * but never more than this. A single object may still be bigger. */
	NL_BUF_LEN = 32768,
	NL_BUF_MAX_LEN = 1 << 20,
	NL_DUMP_RETRIES = 3,
};

struct nl {
	struct mnl_socket *sock;
	uint32_t seq;
	uint32_t portid;
	void *buf;
	size_t buf_len;
	char errmsg[NL_ERRMSG_LEN];
};

/* One request on its way, until `done`. */
struct exchange {
	uint32_t seq;
	nl_message_fn fn;
	void *arg;
	int fn_err;	  /* the first error of fn, which is not called any more */
	bool interrupted; /* NLM_F_DUMP_INTR seen: the dump is not one state */
	bool done;
	int kernel_err;
};

static int setup_socket(struct nl *nl);
static int exchange_once(struct nl *nl, struct nlmsghdr *req, struct exchange *x);
static int receive(struct nl *nl, size_t *ret_len);
static int handle_datagram(struct nl *nl, struct exchange *x, size_t len);
static void handle_message(struct nl *nl, struct exchange *x, const struct nlmsghdr *nlh);

int nl_open(struct nl **ret)
{
	struct nl *nl = calloc(1, sizeof(*nl));
	int err;

	if (!nl)
		return -ENOMEM;

	err = setup_socket(nl);
	if (err) {
		nl_close(nl);
		return err;
	}
	*ret = nl;
	return 0;
}

void nl_close(struct nl *nl)
{
	if (!nl)
		return;
	if (nl->sock)
		mnl_socket_close(nl->sock);
	free(nl->buf);
	free(nl);
}

const char *nl_errmsg(const struct nl *nl)
{
	return nl->errmsg;
}

int nl_fd(const struct nl *nl)
{
	return mnl_socket_get_fd(nl->sock);
}

uint32_t nl_portid(const struct nl *nl)
{
	return nl->portid;
}

uint32_t nl_take_seq(struct nl *nl, uint32_t n)
{
	const uint32_t first = nl->seq + 1;

	nl->seq += n;
	return first;
}

bool nl_attrs_begin(const struct nlmsghdr *nlh, size_t header_len, struct nl_attrs *ret)
{
	const size_t skip = MNL_NLMSG_HDRLEN + NLMSG_ALIGN(header_len);

	if (nlh->nlmsg_len < MNL_NLMSG_HDRLEN || nlh->nlmsg_len - MNL_NLMSG_HDRLEN < header_len)
		return false;

	ret->p = (const char *)nlh + skip;
	ret->left = nlh->nlmsg_len > skip ? nlh->nlmsg_len - skip : 0;
	return true;
}

const struct nlattr *nl_attrs_next(struct nl_attrs *attrs)
{
	const struct nlattr *attr = (const struct nlattr *)attrs->p;
	size_t step;

	if (attrs->left < sizeof(*attr) || attr->nla_len < sizeof(*attr) ||
	    attr->nla_len > attrs->left)
		return NULL;

	/* The padding of the last one may be missing. */
	step = MNL_ALIGN((size_t)attr->nla_len);
	if (step > attrs->left)
		step = attrs->left;
	attrs->p += step;
	attrs->left -= step;
	return attr;
}

static int setup_socket(struct nl *nl)
{
	const struct timeval timeout = {.tv_sec = NL_TIMEOUT_S};
	int on = 1, fd;

	nl->buf_len = NL_BUF_LEN;
	nl->buf = malloc(nl->buf_len);
	if (!nl->buf)
		return -ENOMEM;

	nl->sock = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (!nl->sock || mnl_socket_bind(nl->sock, 0, MNL_SOCKET_AUTOPID) < 0)
		return -errno;
	nl->portid = mnl_socket_get_portid(nl->sock);

	fd = mnl_socket_get_fd(nl->sock);
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) < 0)
		return -errno;

	/* Both only change how much is said about a failure, so a kernel that
	 * has neither is fine: the reader below takes all the forms. */
	(void)mnl_socket_setsockopt(nl->sock, NETLINK_EXT_ACK, &on, sizeof(on));
	(void)mnl_socket_setsockopt(nl->sock, NETLINK_CAP_ACK, &on, sizeof(on));
	return 0;
}

int nl_call(struct nl *nl, struct nlmsghdr *req, nl_message_fn fn, void *arg)
{
	req->nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;

	for (int attempt = 0; attempt <= NL_DUMP_RETRIES; attempt++) {
		struct exchange x = {.fn = fn, .arg = arg};
		int err = exchange_once(nl, req, &x);

		if (err || !x.interrupted)
			return err;
	}
	return -EINTR;
}

static int exchange_once(struct nl *nl, struct nlmsghdr *req, struct exchange *x)
{
	nl_begin(nl);

	x->seq = nl_take_seq(nl, 1);
	req->nlmsg_seq = x->seq;
	if (mnl_socket_sendto(nl->sock, req, req->nlmsg_len) < 0)
		return -errno;

	while (!x->done) {
		size_t len = 0;
		int err = receive(nl, &len);

		if (!err)
			err = handle_datagram(nl, x, len);
		if (err)
			return err;
	}
	return x->fn_err ? x->fn_err : x->kernel_err;
}

/*
 * A call that timed out may have left a dump running, and then the kernel would
 * refuse the next one with EBUSY. Reading is what moves a dump forward, so this
 * also ends it. An old ENOBUFS goes the same way.
 */
void nl_begin(struct nl *nl)
{
	int fd = nl_fd(nl);

	nl->errmsg[0] = '\0';
	while (recv(fd, NULL, 0, MSG_DONTWAIT) >= 0 || errno == EINTR || errno == ENOBUFS)
		;
}

static int next_datagram_len(int fd, size_t *ret_len)
{
	ssize_t len;

	do {
		len = recv(fd, NULL, 0, MSG_PEEK | MSG_TRUNC);
	} while (len < 0 && errno == EINTR);

	if (len < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	*ret_len = (size_t)len;
	return 0;
}

static int grow_buffer(struct nl *nl, size_t need_len)
{
	void *buf;

	if (need_len <= nl->buf_len)
		return 0;
	if (need_len > NL_BUF_MAX_LEN)
		return -EMSGSIZE;

	buf = realloc(nl->buf, need_len);
	if (!buf)
		return -ENOMEM;
	nl->buf = buf;
	nl->buf_len = need_len;
	return 0;
}

/* Reads the next datagram of the kernel into nl->buf. */
static int receive(struct nl *nl, size_t *ret_len)
{
	int fd = mnl_socket_get_fd(nl->sock);

	for (;;) {
		struct sockaddr_nl from = {0};
		socklen_t from_len = sizeof(from);
		size_t need_len = 0;
		ssize_t len;
		int err = next_datagram_len(fd, &need_len);

		if (!err)
			err = grow_buffer(nl, need_len);
		if (err)
			return err;

		/* The whole buffer is offered, not need_len: the kernel sizes the
		 * next part of a dump by it. */
		len = recvfrom(fd, nl->buf, nl->buf_len, 0, (struct sockaddr *)&from, &from_len);
		if (len < 0)
			return -errno;
		if (from_len == sizeof(from) && from.nl_pid == 0) {
			*ret_len = (size_t)len;
			return 0;
		}
	}
}

static int handle_datagram(struct nl *nl, struct exchange *x, size_t len)
{
	const struct nlmsghdr *nlh = nl->buf;
	int left = (int)len;

	while (!x->done && mnl_nlmsg_ok(nlh, left)) {
		if (nlh->nlmsg_seq == x->seq && nlh->nlmsg_pid == nl->portid)
			handle_message(nl, x, nlh);
		nlh = mnl_nlmsg_next(nlh, &left);
	}
	return !x->done && left > 0 ? -EBADMSG : 0;
}

/* The attributes behind an error: only the kernel's words are of use here. */
static void parse_extack(struct nl *nl, const struct nlmsghdr *nlh, size_t offset)
{
	const struct nlattr *attr;
	struct nl_attrs attrs;

	if (!(nlh->nlmsg_flags & NLM_F_ACK_TLVS) || !nl_attrs_begin(nlh, offset, &attrs))
		return;

	while ((attr = nl_attrs_next(&attrs))) {
		size_t len = mnl_attr_get_payload_len(attr);

		if (mnl_attr_get_type(attr) != NLMSGERR_ATTR_MSG)
			continue;
		if (len > sizeof(nl->errmsg) - 1)
			len = sizeof(nl->errmsg) - 1;
		memcpy(nl->errmsg, mnl_attr_get_payload(attr), len);
		nl->errmsg[len] = '\0';
	}
}

int nl_read_error(struct nl *nl, const struct nlmsghdr *nlh)
{
	const struct nlmsgerr *e = mnl_nlmsg_get_payload(nlh);
	size_t offset = sizeof(*e);

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*e))
		return -EBADMSG;

	/* Without NETLINK_CAP_ACK a failure repeats the whole request first. */
	if (!(nlh->nlmsg_flags & NLM_F_CAPPED) && e->msg.nlmsg_len > sizeof(e->msg))
		offset += NLMSG_ALIGN((size_t)e->msg.nlmsg_len) - sizeof(e->msg);
	if (e->error)
		parse_extack(nl, nlh, offset);
	return e->error;
}

/* A dump that failed on its way says so in its last message. */
static void handle_done(struct nl *nl, struct exchange *x, const struct nlmsghdr *nlh)
{
	x->done = true;
	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(int))
		return;

	x->kernel_err = *(const int *)mnl_nlmsg_get_payload(nlh);
	if (x->kernel_err)
		parse_extack(nl, nlh, sizeof(int));
}

static void handle_message(struct nl *nl, struct exchange *x, const struct nlmsghdr *nlh)
{
	if (nlh->nlmsg_flags & NLM_F_DUMP_INTR)
		x->interrupted = true;

	switch (nlh->nlmsg_type) {
	case NLMSG_NOOP:
		break;
	case NLMSG_ERROR:
		x->done = true;
		x->kernel_err = nl_read_error(nl, nlh);
		break;
	case NLMSG_DONE:
		handle_done(nl, x, nlh);
		break;
	default:
		if (x->fn && !x->fn_err)
			x->fn_err = x->fn(nlh, x->arg);
	}
}

bool nl_attr_u32(const struct nlattr *attr, uint32_t *ret)
{
	if (mnl_attr_get_payload_len(attr) != sizeof(*ret))
		return false;
	memcpy(ret, mnl_attr_get_payload(attr), sizeof(*ret));
	return true;
}
