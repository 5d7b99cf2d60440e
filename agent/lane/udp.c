/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation: both sockets are bound without SO_REUSEPORT, so that a
 * port somebody else has is EADDRINUSE, and get the option afterwards for
 * further sockets of our own. Fragmentation of the outer packet is left to the
 * kernel (no DF), as the kernel's WireGuard does it. Every datagram carries its
 * TOS and, when the peer talked to one of several local addresses, its source.
 */
#include "udp.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "batch.h"
#include "overlay/route.h"

enum {
	RANDOM_PORT_ATTEMPTS = 100,
	FULL_RETRIES = 3,
	FULL_WAIT_MS = 1,
	CONTROL_LEN = CMSG_SPACE(sizeof(struct in6_pktinfo)) + CMSG_SPACE(sizeof(int)),
};

struct message_control {
	_Alignas(struct cmsghdr) uint8_t bytes[CONTROL_LEN];
};

struct udp {
	struct nl *nl;
	int fd4, fd6;
	uint32_t fwmark;
	void (*changed)(void *ctx);
	void *changed_ctx;
	struct mmsghdr msg[BATCH_MAX];
	struct iovec iov[BATCH_MAX];
	struct sockaddr_storage name[BATCH_MAX];
	struct message_control control[BATCH_MAX];
	struct packet *sending[BATCH_MAX];
};

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
static int open_socket(int family, uint16_t *port, uint32_t fwmark, int *ret)
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
	*port = bound;
	*ret = fd;
	return 0;
}

/* A host without one of the families does without its socket. */
static int open_pair_once(uint16_t *port, uint32_t fwmark, int *fd4, int *fd6)
{
	int err4 = open_socket(AF_INET, port, fwmark, fd4), err6;

	if (err4 && err4 != -EAFNOSUPPORT)
		return err4;
	err6 = open_socket(AF_INET6, port, fwmark, fd6);
	if (!err6 || (err6 == -EAFNOSUPPORT && !err4))
		return 0;
	close_fd(fd4);
	return err6;
}

static int open_pair(uint16_t *port, uint32_t fwmark, int *fd4, int *fd6)
{
	for (int attempt = 0;; attempt++) {
		uint16_t chosen = *port;
		int err = open_pair_once(&chosen, fwmark, fd4, fd6);

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
	int fd4 = -1, fd6 = -1, err = open_pair(port, fwmark, &fd4, &fd6);

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
	int fd4 = -1, fd6 = -1, err = open_pair(&port, 0, &fd4, &fd6);

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

static bool io_source_valid(void *ctx, const struct endpoint *ep)
{
	struct udp *u = ctx;
	const void *dst = ep->dst.family == AF_INET ? (const void *)&ep->dst.in4.sin_addr
						    : (const void *)&ep->dst.in6.sin6_addr;
	int oif;

	if (!u->nl)
		return true;
	return !route_get_oif(u->nl, ep->dst.family, dst, u->fwmark, &oif) &&
	       oif == ep->source_ifindex;
}

/* Receiving */

/* What one control message tells about a datagram. */
static void read_control(const struct cmsghdr *c, struct packet *p)
{
	const void *data = CMSG_DATA(c);
	struct endpoint *ep = &p->endpoint;

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
		memcpy(&p->tos, data, 1); /* one byte on receive */
	} else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS) {
		int tclass;

		memcpy(&tclass, data, sizeof(tclass));
		p->tos = (uint8_t)tclass;
	}
}

static void take_datagram(struct udp *u, unsigned i, struct packet *p)
{
	struct msghdr *h = &u->msg[i].msg_hdr;

	p->data = p->buf + PACKET_HEADROOM;
	p->len = u->msg[i].msg_len;
	p->drop = DROP_NONE;
	p->tos = 0;
	p->endpoint = (struct endpoint){0};
	memcpy(&p->endpoint.dst, h->msg_name,
	       h->msg_namelen < sizeof(p->endpoint.dst) ? h->msg_namelen : sizeof(p->endpoint.dst));
	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c))
		read_control(c, p);
	if (h->msg_flags & MSG_TRUNC)
		p->drop = DROP_BAD_MESSAGE;
}

static int io_receive(void *ctx, int family, struct packet *pkts, unsigned max)
{
	struct udp *u = ctx;
	int fd = udp_fd(u, family), n;

	if (fd < 0)
		return 0;
	for (unsigned i = 0; i < max; i++) {
		u->iov[i] = (struct iovec){pkts[i].buf + PACKET_HEADROOM, PACKET_MAX_LEN};
		u->msg[i].msg_hdr = (struct msghdr){
			.msg_name = &u->name[i],
			.msg_namelen = sizeof(u->name[i]),
			.msg_iov = &u->iov[i],
			.msg_iovlen = 1,
			.msg_control = &u->control[i],
			.msg_controllen = sizeof(u->control[i]),
		};
	}
	do {
		n = recvmmsg(fd, u->msg, max, MSG_DONTWAIT, NULL);
	} while (n < 0 && errno == EINTR);
	for (int i = 0; i < n; i++)
		take_datagram(u, (unsigned)i, &pkts[i]);
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

static void write_control(struct msghdr *h, struct message_control *control, const struct packet *p)
{
	const struct endpoint *ep = &p->endpoint;
	bool v4 = ep->dst.family == AF_INET;
	struct cmsghdr *c = (struct cmsghdr *)control->bytes;
	int tos = p->tos;

	memset(control, 0, sizeof(*control));
	h->msg_control = control;
	h->msg_controllen = 0;
	c = put_control(h, c, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_TOS : IPV6_TCLASS, &tos,
			sizeof(tos));
	if (!ep->has_source)
		return;
	/* Address only: naming the interface would override the routing. */
	if (v4) {
		struct in_pktinfo info = {.ipi_spec_dst = ep->source.in4};

		put_control(h, c, IPPROTO_IP, IP_PKTINFO, &info, sizeof(info));
	} else {
		struct in6_pktinfo info = {.ipi6_addr = ep->source.in6};

		if (IN6_IS_ADDR_LINKLOCAL(&ep->source.in6))
			info.ipi6_ifindex = (unsigned)ep->source_ifindex;
		put_control(h, c, IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof(info));
	}
}

static void prepare(struct udp *u, unsigned i, struct packet *p)
{
	struct msghdr *h = &u->msg[i].msg_hdr;

	u->sending[i] = p;
	u->iov[i] = (struct iovec){p->data, p->len};
	*h = (struct msghdr){
		.msg_name = &p->endpoint.dst,
		.msg_namelen = endpoint_dst_len(&p->endpoint),
		.msg_iov = &u->iov[i],
		.msg_iovlen = 1,
	};
	write_control(h, &u->control[i], p);
}

/* The sticky source may have left the host. */
static bool is_source_error(int err)
{
	return err == EINVAL || err == EADDRNOTAVAIL || err == ENETUNREACH || err == EHOSTUNREACH ||
	       err == ENODEV;
}

/* What to do about the first of the messages after sendmmsg() refused it. True:
 * try it again. */
static bool after_refusal(struct udp *u, unsigned i, int err, int fd, unsigned *full)
{
	struct packet *p = u->sending[i];

	if (err == EINTR)
		return true;
	if (err == EAGAIN || err == ENOBUFS) {
		struct pollfd room = {.fd = fd, .events = POLLOUT};

		if ((*full)++ < FULL_RETRIES) {
			poll(&room, 1, FULL_WAIT_MS);
			return true;
		}
		p->drop = DROP_SEND_FULL;
		return false;
	}
	if (p->endpoint.has_source && is_source_error(err)) {
		p->endpoint.has_source = false;
		prepare(u, i, p);
		return true;
	}
	p->drop = DROP_SEND;
	return false;
}

/* The first @n prepared messages, all of one family. */
static void send_run(struct udp *u, int fd, unsigned n)
{
	unsigned done = 0, full = 0;

	while (done < n) {
		int sent = fd < 0 ? -1 : sendmmsg(fd, u->msg + done, n - done, MSG_DONTWAIT);

		if (sent > 0) {
			done += (unsigned)sent;
			full = 0;
		} else if (fd < 0) {
			u->sending[done++]->drop = DROP_SEND;
		} else if (!after_refusal(u, done, errno, fd, &full)) {
			done++;
		}
	}
}

static void io_send(void *ctx, struct packet *pkts, unsigned n)
{
	struct udp *u = ctx;
	unsigned run = 0;
	int family = AF_UNSPEC;

	for (unsigned i = 0; i < n; i++) {
		if (!packet_alive(&pkts[i]))
			continue;
		if (run && pkts[i].endpoint.dst.family != family) {
			send_run(u, udp_fd(u, family), run);
			run = 0;
		}
		family = pkts[i].endpoint.dst.family;
		prepare(u, run++, &pkts[i]);
	}
	if (run)
		send_run(u, udp_fd(u, family), run);
}

struct udp_io udp_io_of(struct udp *u)
{
	return (struct udp_io){
		.ctx = u,
		.receive = io_receive,
		.send = io_send,
		.open = io_open,
		.close = io_close,
		.probe = io_probe,
		.source_valid = io_source_valid,
		.set_fwmark = io_set_fwmark,
	};
}
