/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receiving and sending on the lane's sockets. A receive may bring several
 * datagrams of one sender (UDP_GRO); a run of several goes out by UDP_SEGMENT,
 * and singly when the kernel refuses it as a whole. Every send carries its TOS
 * and, when the peer talked to one of several local addresses, its source.
 */
#include <errno.h>
#include <netinet/udp.h>
#include <poll.h>
#include <string.h>

#include "udp_internal.h"

enum {
	FULL_RETRIES = 3,
	FULL_WAIT_MS = 1,
};

/* Receiving */

/* What one control message tells about a receive. */
static void read_control(const struct cmsghdr *c, struct udp_message *m)
{
	const void *data = CMSG_DATA(c);
	struct endpoint *ep = &m->from;
	int value = 0;

	if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
		struct in_pktinfo info;

		memcpy(&info, data, sizeof(info));
		ep->has_source = true;
		ep->source.in4 = info.ipi_spec_dst;
		ep->source_ifindex = info.ipi_ifindex;
	} else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
		struct in6_pktinfo info;

		memcpy(&info, data, sizeof(info));
		ep->has_source = true;
		ep->source.in6 = info.ipi6_addr;
		ep->source_ifindex = (int)info.ipi6_ifindex;
	} else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
		memcpy(&m->tos, data, 1); /* one byte on receive */
	} else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS) {
		memcpy(&value, data, sizeof(value));
		m->tos = (uint8_t)value;
	} else if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO) {
		memcpy(&value, data, sizeof(value));
		m->gso_size = value > 0 ? (uint32_t)value : 0;
	}
}

static void take_message(struct udp_queue *q, unsigned i, struct udp_message *m)
{
	struct msghdr *h = &q->msg[i].msg_hdr;
	size_t name_len = h->msg_namelen;

	m->len = q->msg[i].msg_len;
	m->gso_size = 0;
	m->tos = 0;
	m->drop = h->msg_flags & (MSG_TRUNC | MSG_CTRUNC) ? DROP_BAD_MESSAGE : DROP_NONE;
	m->from = (struct endpoint){0};
	if (name_len > sizeof(m->from.dst))
		name_len = sizeof(m->from.dst);
	memcpy(&m->from.dst, h->msg_name, name_len);
	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c))
		read_control(c, m);
}

int udp_io_receive(void *ctx, int family, struct udp_message *msgs, unsigned max)
{
	struct udp_queue *q = ctx;
	int fd = udp_queue_fd(q, family), n;

	if (fd < 0)
		return 0;
	for (unsigned i = 0; i < max; i++) {
		q->iov[i] = (struct iovec){msgs[i].buf, IO_PACKET_MAX};
		q->msg[i].msg_hdr = (struct msghdr){
			.msg_name = &q->name[i],
			.msg_namelen = sizeof(q->name[i]),
			.msg_iov = &q->iov[i],
			.msg_iovlen = 1,
			.msg_control = &q->control[i],
			.msg_controllen = sizeof(q->control[i]),
		};
	}
	do {
		n = recvmmsg(fd, q->msg, max, MSG_DONTWAIT, NULL);
	} while (n < 0 && errno == EINTR);
	for (int i = 0; i < n; i++)
		take_message(q, (unsigned)i, &msgs[i]);
	return n > 0 ? n : 0;
}

/* Sending */

static struct cmsghdr *put_control(struct msghdr *h, struct cmsghdr *c, int level, int type,
				   const void *data, size_t len)
{
	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(c), data, len);
	h->msg_controllen += CMSG_SPACE(len);
	return (struct cmsghdr *)((uint8_t *)c + CMSG_SPACE(len));
}

/* Address only: naming the interface would override the routing. */
static struct cmsghdr *put_source(struct msghdr *h, struct cmsghdr *c, const struct endpoint *ep)
{
	if (ep->dst.family == AF_INET) {
		struct in_pktinfo info = {.ipi_spec_dst = ep->source.in4};

		return put_control(h, c, IPPROTO_IP, IP_PKTINFO, &info, sizeof(info));
	} else {
		struct in6_pktinfo info = {.ipi6_addr = ep->source.in6};

		if (IN6_IS_ADDR_LINKLOCAL(&ep->source.in6))
			info.ipi6_ifindex = (unsigned)ep->source_ifindex;
		return put_control(h, c, IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof(info));
	}
}

static void write_control(struct msghdr *h, struct udp_control *control, const struct udp_run *r,
			  unsigned n)
{
	bool v4 = r->to.dst.family == AF_INET;
	struct cmsghdr *c = (struct cmsghdr *)control->bytes;
	int tos = r->tos;

	memset(control, 0, sizeof(*control));
	h->msg_control = control;
	h->msg_controllen = 0;
	c = put_control(h, c, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_TOS : IPV6_TCLASS, &tos,
			sizeof(tos));
	if (r->to.has_source)
		c = put_source(h, c, &r->to);
	if (n > 1)
		put_control(h, c, SOL_UDP, UDP_SEGMENT, &r->seg_len, sizeof(r->seg_len));
}

/* Message @i of the vector: @n datagrams of @r from @offset on. */
static void prepare(struct udp_queue *q, unsigned i, struct udp_run *r, uint32_t offset,
		    uint32_t len, unsigned n)
{
	struct msghdr *h = &q->msg[i].msg_hdr;

	q->iov[i] = (struct iovec){(void *)(uintptr_t)(r->data + offset), len};
	*h = (struct msghdr){
		.msg_name = &r->to.dst,
		.msg_namelen = endpoint_dst_len(&r->to),
		.msg_iov = &q->iov[i],
		.msg_iovlen = 1,
	};
	write_control(h, &q->control[i], r, n);
}

static bool is_full(int err)
{
	return err == EAGAIN || err == ENOBUFS;
}

/* Congestion: wait a little, a few times. False: enough. */
static bool wait_for_room(int fd, unsigned *n_waits)
{
	struct pollfd room = {.fd = fd, .events = POLLOUT};

	if ((*n_waits)++ >= FULL_RETRIES)
		return false;
	poll(&room, 1, FULL_WAIT_MS);
	return true;
}

/* The sticky source may have left the host. */
static bool is_source_error(int err)
{
	return err == EINVAL || err == EADDRNOTAVAIL || err == ENETUNREACH || err == EHOSTUNREACH ||
	       err == ENODEV;
}

/* The run as such is what the kernel does not take. */
static bool is_run_error(int err)
{
	return err == EIO || err == EINVAL || err == EMSGSIZE;
}

static void drop_datagrams(struct udp_run *r, unsigned n, int err)
{
	r->n_dropped = (uint16_t)(r->n_dropped + n);
	r->drop = is_full(err) ? DROP_SEND_FULL : DROP_SEND;
}

/* Sends message 0 of the vector. 0 or an errno. */
static int send_one(struct udp_queue *q, int fd)
{
	unsigned n_waits = 0;

	for (;;) {
		if (sendmsg(fd, &q->msg[0].msg_hdr, MSG_DONTWAIT) >= 0)
			return 0;
		if (errno == EINTR || (is_full(errno) && wait_for_room(fd, &n_waits)))
			continue;
		return errno;
	}
}

static void send_singly(struct udp_queue *q, int fd, struct udp_run *r)
{
	uint32_t offset = 0;

	for (unsigned k = 0; k < r->n; k++) {
		uint32_t len = k + 1U < r->n ? r->seg_len : r->len - offset;
		int err;

		prepare(q, 0, r, offset, len, 1);
		err = send_one(q, fd);
		if (err)
			drop_datagrams(r, 1, err);
		offset += len;
	}
}

/* sendmmsg() refused the first of what was left, @r, with @err. */
static void after_refusal(struct udp_queue *q, int fd, struct udp_run *r, int err)
{
	if (r->to.has_source && is_source_error(err)) {
		r->to.has_source = false;
		prepare(q, 0, r, 0, r->len, r->n);
		err = send_one(q, fd);
		if (!err || !is_source_error(err))
			r->source_lost = true;
		if (!err)
			return;
	}
	if (r->n > 1 && is_run_error(err)) {
		r->refused = err;
		send_singly(q, fd, r);
	} else {
		drop_datagrams(r, r->n, err);
	}
}

/* Runs of one family. */
static void send_runs(struct udp_queue *q, int fd, struct udp_run *runs, unsigned n)
{
	unsigned done = 0, n_waits = 0;

	while (done < n) {
		int sent;

		for (unsigned i = done; i < n; i++)
			prepare(q, i - done, &runs[i], 0, runs[i].len, runs[i].n);
		sent = sendmmsg(fd, q->msg, n - done, MSG_DONTWAIT);
		if (sent > 0) {
			done += (unsigned)sent;
			n_waits = 0;
		} else if (errno == EINTR || (is_full(errno) && wait_for_room(fd, &n_waits))) {
			continue;
		} else {
			after_refusal(q, fd, &runs[done++], errno);
		}
	}
}

void udp_io_send(void *ctx, struct udp_run *runs, unsigned n)
{
	struct udp_queue *q = ctx;

	for (unsigned i = 0, end; i < n; i = end) {
		int family = runs[i].to.dst.family, fd = udp_queue_fd(q, family);

		for (end = i; end < n && runs[end].to.dst.family == family; end++)
			;
		if (fd >= 0) {
			send_runs(q, fd, &runs[i], end - i);
			continue;
		}
		for (unsigned k = i; k < end; k++)
			drop_datagrams(&runs[k], runs[k].n, EAFNOSUPPORT);
	}
}
