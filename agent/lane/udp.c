/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation: both sockets are bound without SO_REUSEPORT, so that a
 * port somebody else has is EADDRINUSE, and get the option afterwards for
 * further sockets of our own. Fragmentation of the outer packet is left to the
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

int udp_new(struct nl *nl, struct udp **ret)
{
	struct udp *u = calloc(1, sizeof(*u));

	if (!u)
		return -ENOMEM;
	u->nl = nl;
	u->fd4 = u->fd6 = -1;
	*ret = u;
	return 0;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void udp_free(struct udp *u)
{
	if (!u)
		return;
	close_fd(&u->fd4);
	close_fd(&u->fd6);
	free(u);
}

int udp_fd(const struct udp *u, int family)
{
	return family == AF_INET ? u->fd4 : u->fd6;
}

void udp_on_change(struct udp *u, void (*changed)(void *ctx), void *ctx)
{
	u->changed = changed;
	u->changed_ctx = ctx;
}

int udp_buffer_len(const struct udp *u)
{
	int len = 0, fd = u->fd4 >= 0 ? u->fd4 : u->fd6;
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

/* One bound socket. On failure nothing is open. */
static int open_socket(int family, uint16_t *port, uint32_t fwmark, bool gro, int *ret)
{
	const int one = 1;
	uint16_t bound = *port;
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd < 0)
		return -errno;
	err = set_family_options(fd, family);
	if (!err && fwmark && setsockopt(fd, SOL_SOCKET, SO_MARK, &fwmark, sizeof(fwmark)))
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
	if (gro)
		setsockopt(fd, SOL_UDP, UDP_GRO, &one, sizeof(one));
	*port = bound;
	*ret = fd;
	return 0;
}

/* A host without one of the families does without its socket. */
static int open_pair_once(uint16_t *port, uint32_t fwmark, bool gro, int *fd4, int *fd6)
{
	int err4 = open_socket(AF_INET, port, fwmark, gro, fd4), err6;

	if (err4 && err4 != -EAFNOSUPPORT)
		return err4;
	err6 = open_socket(AF_INET6, port, fwmark, gro, fd6);
	if (!err6 || (err6 == -EAFNOSUPPORT && !err4))
		return 0;
	close_fd(fd4);
	return err6;
}

static int open_pair(uint16_t *port, uint32_t fwmark, bool gro, int *fd4, int *fd6)
{
	for (int attempt = 0;; attempt++) {
		uint16_t chosen = *port;
		int err = open_pair_once(&chosen, fwmark, gro, fd4, fd6);

		/* A port that was free for IPv4 may be taken for IPv6. */
		if (err == -EADDRINUSE && !*port && attempt < RANDOM_PORT_ATTEMPTS)
			continue;
		if (!err)
			*port = chosen;
		return err;
	}
}

static void notify_change(struct udp *u)
{
	if (u->changed)
		u->changed(u->changed_ctx);
}

static void io_close(void *ctx)
{
	struct udp *u = ctx;

	close_fd(&u->fd4);
	close_fd(&u->fd6);
	notify_change(u);
}

static int io_open(void *ctx, uint16_t *port, uint32_t fwmark)
{
	struct udp *u = ctx;
	int fd4 = -1, fd6 = -1, err = open_pair(port, fwmark, u->gro, &fd4, &fd6);

	if (err)
		return err;
	close_fd(&u->fd4);
	close_fd(&u->fd6);
	u->fd4 = fd4;
	u->fd6 = fd6;
	u->fwmark = fwmark;
	notify_change(u);
	return 0;
}

static int io_probe(void *ctx, uint16_t port)
{
	int fd4 = -1, fd6 = -1, err = open_pair(&port, 0, false, &fd4, &fd6);

	(void)ctx;
	close_fd(&fd4);
	close_fd(&fd6);
	return err;
}

static int io_set_fwmark(void *ctx, uint32_t fwmark)
{
	struct udp *u = ctx;

	if (u->fd4 >= 0 && setsockopt(u->fd4, SOL_SOCKET, SO_MARK, &fwmark, sizeof(fwmark)))
		return -errno;
	if (u->fd6 >= 0 && setsockopt(u->fd6, SOL_SOCKET, SO_MARK, &fwmark, sizeof(fwmark))) {
		int err = -errno;

		if (u->fd4 >= 0)
			setsockopt(u->fd4, SOL_SOCKET, SO_MARK, &u->fwmark, sizeof(u->fwmark));
		return err;
	}
	u->fwmark = fwmark;
	return 0;
}

static bool way_to(const struct udp *u, const struct endpoint *ep, struct route_way *ret)
{
	const void *dst = ep->dst.family == AF_INET ? (const void *)&ep->dst.in4.sin_addr
						    : (const void *)&ep->dst.in6.sin6_addr;

	return u->nl && !route_get_way(u->nl, ep->dst.family, dst, u->fwmark, ret);
}

static bool io_source_valid(void *ctx, const struct endpoint *ep)
{
	const struct udp *u = ctx;
	struct route_way way;

	return !u->nl || (way_to(u, ep, &way) && way.oif == ep->source_ifindex);
}

static uint32_t io_path_mtu(void *ctx, const struct endpoint *ep)
{
	struct route_way way;

	return way_to(ctx, ep, &way) ? way.mtu : 0;
}

struct udp_io udp_io_of(struct udp *u)
{
	return (struct udp_io){
		.ctx = u,
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
