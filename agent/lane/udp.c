/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation: both first sockets are bound without SO_REUSEPORT, so that a
 * port somebody else has is EADDRINUSE, and get the option afterwards for
 * further sockets of our own, which join them. Fragmentation of the outer packet is left to the
 * kernel (no DF), as the kernel's WireGuard does it.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "overlay/route.h"
#include "udp_internal.h"

enum { RANDOM_PORT_ATTEMPTS = 100 };

static const struct udp_pair closed_pair = {-1, -1};

int udp_new(struct nl *nl, struct udp **ret)
{
	struct udp *u = calloc(1, sizeof(*u));

	if (!u)
		return -ENOMEM;
	u->nl = nl;
	u->n = 1;
	u->own.udp = u;
	for (unsigned i = 0; i < UDP_QUEUES_MAX; i++)
		u->pair[i] = closed_pair;
	*ret = u;
	return 0;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void close_pairs(struct udp_pair pair[UDP_QUEUES_MAX])
{
	for (unsigned i = 0; i < UDP_QUEUES_MAX; i++) {
		close_fd(&pair[i].fd4);
		close_fd(&pair[i].fd6);
	}
}

void udp_free(struct udp *u)
{
	if (!u)
		return;
	close_pairs(u->pair);
	free(u->queue);
	free(u);
}

int udp_set_queues(struct udp *u, unsigned n)
{
	struct udp_queue *queue = calloc(n, sizeof(*queue));

	if (!queue)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++) {
		queue[i].udp = u;
		queue[i].i = i;
	}
	free(u->queue);
	u->queue = queue;
	u->n = n;
	return 0;
}

int udp_fd(const struct udp *u, unsigned i, int family)
{
	return family == AF_INET ? u->pair[i].fd4 : u->pair[i].fd6;
}

int udp_queue_fd(const struct udp_queue *q, int family)
{
	return udp_fd(q->udp, q->i, family);
}

void udp_on_change(struct udp *u, void (*changed)(void *ctx), void *ctx)
{
	u->changed = changed;
	u->changed_ctx = ctx;
}

int udp_buffer_len(const struct udp *u)
{
	int len = 0, fd = u->pair[0].fd4 >= 0 ? u->pair[0].fd4 : u->pair[0].fd6;
	socklen_t size = sizeof(len);

	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &len, &size))
		return 0;
	return len;
}

/* Opening */

static void set_buffers(int fd)
{
	int len = UDP_BUFFER_LEN;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &len, sizeof(len)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &len, sizeof(len));
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &len, sizeof(len)))
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &len, sizeof(len));
}

struct option {
	int level, name, value;
};

static int set_options(int fd, const struct option *o, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (setsockopt(fd, o[i].level, o[i].name, &o[i].value, sizeof(o[i].value)))
			return -errno;
	}
	return 0;
}

static int set_family_options(int fd, int family)
{
	static const struct option v4[] = {
		{IPPROTO_IP, IP_PKTINFO, 1},
		{IPPROTO_IP, IP_RECVTOS, 1},
		{IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DONT},
	};
	static const struct option v6[] = {
		{IPPROTO_IPV6, IPV6_V6ONLY, 1},
		{IPPROTO_IPV6, IPV6_RECVPKTINFO, 1},
		{IPPROTO_IPV6, IPV6_RECVTCLASS, 1},
		{IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DONT},
	};

	if (family == AF_INET)
		return set_options(fd, v4, sizeof(v4) / sizeof(v4[0]));
	return set_options(fd, v6, sizeof(v6) / sizeof(v6[0]));
}

static int bind_any(int fd, int family, uint16_t *port)
{
	union {
		struct sockaddr sa;
		struct sockaddr_in in4;
		struct sockaddr_in6 in6;
	} addr = {.sa.sa_family = (sa_family_t)family};
	socklen_t len = family == AF_INET ? sizeof(addr.in4) : sizeof(addr.in6);

	addr.in4.sin_port = htons(*port); /* the same place in sin6 */
	if (bind(fd, &addr.sa, len) || getsockname(fd, &addr.sa, &len))
		return -errno;
	*port = ntohs(addr.in4.sin_port);
	return 0;
}

/* How a socket of ours is to be. */
struct socket_wish {
	uint32_t fwmark;
	bool gro;
	bool join; /* one more on a port that is ours */
};

/* One bound socket. On failure nothing is open. */
static int open_socket(int family, uint16_t *port, const struct socket_wish *wish, int *ret)
{
	const int one = 1;
	uint16_t bound = *port;
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd < 0)
		return -errno;
	err = set_family_options(fd, family);
	if (!err && wish->fwmark &&
	    setsockopt(fd, SOL_SOCKET, SO_MARK, &wish->fwmark, sizeof(wish->fwmark)))
		err = -errno;
	if (!err && wish->join && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)))
		err = -errno;
	if (!err)
		err = bind_any(fd, family, &bound);
	if (!err && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)))
		err = -errno;
	if (err) {
		close(fd);
		return err;
	}
	set_buffers(fd);
	if (wish->gro)
		setsockopt(fd, SOL_UDP, UDP_GRO, &one, sizeof(one));
	*port = bound;
	*ret = fd;
	return 0;
}

/* A host without one of the families does without its socket. */
static int open_pair_once(uint16_t *port, const struct socket_wish *wish, struct udp_pair *ret)
{
	int err4 = open_socket(AF_INET, port, wish, &ret->fd4), err6;

	if (err4 && err4 != -EAFNOSUPPORT)
		return err4;
	err6 = open_socket(AF_INET6, port, wish, &ret->fd6);
	if (!err6 || (err6 == -EAFNOSUPPORT && !err4))
		return 0;
	close_fd(&ret->fd4);
	return err6;
}

static int open_pair(uint16_t *port, const struct socket_wish *wish, struct udp_pair *ret)
{
	for (int attempt = 0;; attempt++) {
		uint16_t chosen = *port;
		int err = open_pair_once(&chosen, wish, ret);

		/* A port that was free for IPv4 may be taken for IPv6. */
		if (err == -EADDRINUSE && !*port && attempt < RANDOM_PORT_ATTEMPTS)
			continue;
		if (!err)
			*port = chosen;
		return err;
	}
}

/* @n of them; on failure none is open. */
static int open_pairs(uint16_t *port, struct socket_wish wish, unsigned n,
		      struct udp_pair ret[UDP_QUEUES_MAX])
{
	int err = 0;

	for (unsigned i = 0; i < UDP_QUEUES_MAX; i++)
		ret[i] = closed_pair;
	for (unsigned i = 0; i < n && !err; i++) {
		err = open_pair(port, &wish, &ret[i]);
		wish.join = true;
	}
	if (err)
		close_pairs(ret);
	return err;
}

static void notify_change(struct udp *u)
{
	if (u->changed)
		u->changed(u->changed_ctx);
}

static struct udp *udp_of(void *ctx)
{
	return ((struct udp_queue *)ctx)->udp;
}

static void io_close(void *ctx)
{
	struct udp *u = udp_of(ctx);

	close_pairs(u->pair);
	notify_change(u);
}

static int io_open(void *ctx, uint16_t *port, uint32_t fwmark)
{
	struct udp *u = udp_of(ctx);
	struct udp_pair pair[UDP_QUEUES_MAX];
	int err = open_pairs(port, (struct socket_wish){.fwmark = fwmark, .gro = u->gro}, u->n,
			     pair);

	if (err)
		return err;
	close_pairs(u->pair);
	memcpy(u->pair, pair, sizeof(u->pair));
	u->fwmark = fwmark;
	notify_change(u);
	return 0;
}

static int io_probe(void *ctx, uint16_t port)
{
	struct udp_pair pair[UDP_QUEUES_MAX];
	int err = open_pairs(&port, (struct socket_wish){0}, 1, pair);

	(void)ctx;
	if (!err)
		close_pairs(pair);
	return err;
}

static int set_mark(int fd, uint32_t fwmark)
{
	if (fd < 0 || !setsockopt(fd, SOL_SOCKET, SO_MARK, &fwmark, sizeof(fwmark)))
		return 0;
	return -errno;
}

/* All or none. */
static int io_set_fwmark(void *ctx, uint32_t fwmark)
{
	struct udp *u = udp_of(ctx);
	int err = 0;

	for (unsigned i = 0; i < u->n && !err; i++) {
		err = set_mark(u->pair[i].fd4, fwmark);
		if (!err)
			err = set_mark(u->pair[i].fd6, fwmark);
	}
	for (unsigned i = 0; i < u->n && err; i++) {
		(void)set_mark(u->pair[i].fd4, u->fwmark);
		(void)set_mark(u->pair[i].fd6, u->fwmark);
	}
	if (!err)
		u->fwmark = fwmark;
	return err;
}

static bool way_to(const struct udp *u, const struct endpoint *ep, struct route_way *ret)
{
	const void *dst = ep->dst.family == AF_INET ? (const void *)&ep->dst.in4.sin_addr
						    : (const void *)&ep->dst.in6.sin6_addr;

	return u->nl && !route_get_way(u->nl, ep->dst.family, dst, u->fwmark, ret);
}

static bool io_source_valid(void *ctx, const struct endpoint *ep)
{
	const struct udp *u = udp_of(ctx);
	struct route_way way;

	return !u->nl || (way_to(u, ep, &way) && way.oif == ep->source_ifindex);
}

static uint32_t io_path_mtu(void *ctx, const struct endpoint *ep)
{
	struct route_way way;

	return way_to(udp_of(ctx), ep, &way) ? way.mtu : 0;
}

static struct udp_io io_of(struct udp_queue *q)
{
	return (struct udp_io){
		.ctx = q,
		.receive = udp_io_receive,
		.send = udp_io_send,
		.open = io_open,
		.close = io_close,
		.probe = io_probe,
		.source_valid = io_source_valid,
		.path_mtu = io_path_mtu,
		.set_fwmark = io_set_fwmark,
	};
}

struct udp_io udp_io_of(struct udp *u)
{
	return io_of(&u->own);
}

struct udp_io udp_io_of_queue(struct udp *u, unsigned i)
{
	return io_of(&u->queue[i]);
}

void udp_use_gro(struct udp *u, bool on)
{
	u->gro = on;
}

/* Sends @n one-byte datagrams from @fd to itself in one call. */
static bool segments_accepted(int fd, const struct sockaddr_in *self, unsigned n)
{
	static const uint8_t bytes[UDPSEG_SEGMENTS_MAX];
	const uint16_t seg_len = 1;
	struct udp_control control = {0};
	struct iovec iov = {(void *)(uintptr_t)bytes, n};
	struct sockaddr_in to = *self;
	struct msghdr h = {
		.msg_name = &to,
		.msg_namelen = sizeof(to),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = CMSG_SPACE(sizeof(seg_len)),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&h);

	c->cmsg_level = SOL_UDP;
	c->cmsg_type = UDP_SEGMENT;
	c->cmsg_len = CMSG_LEN(sizeof(seg_len));
	memcpy(CMSG_DATA(c), &seg_len, sizeof(seg_len));
	return sendmsg(fd, &h, MSG_DONTWAIT) == (ssize_t)n;
}

unsigned udp_probe_segments(void)
{
	static const unsigned tries[] = {UDPSEG_SEGMENTS_MAX, UDPSEG_SEGMENTS_SAFE,
					 UDPSEG_SEGMENTS_SAFE - 1, 2};
	struct sockaddr_in self = {
		.sin_family = AF_INET,
		.sin_addr = {htonl(INADDR_LOOPBACK)},
	};
	socklen_t len = sizeof(self);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	unsigned found = 1;

	if (fd < 0)
		return 1;
	if (!bind(fd, (struct sockaddr *)&self, len) &&
	    !getsockname(fd, (struct sockaddr *)&self, &len)) {
		for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]) && found == 1; i++) {
			if (segments_accepted(fd, &self, tries[i]))
				found = tries[i];
		}
	}
	close(fd);
	return found;
}
