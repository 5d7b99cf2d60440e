/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A veth pair whose lane end is a packet socket: its frames and limits.
 * portdev_veth_open.c has how it is made and ends.
 */
#include <errno.h>
#include <net/ethernet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "overlay/packet.h"
#include "overlay/veth.h"
#include "portdev_internal.h"

enum { LEGACY_MAX_SIZE = 65536 };

/* Reading */

struct inbox {
	struct mmsghdr msg[PORTDEV_BATCH_MAX];
	struct iovec iov[PORTDEV_BATCH_MAX][2];
	uint8_t hdr[PORTDEV_BATCH_MAX][PACKET_VNET_HDR_LEN];
	_Alignas(struct cmsghdr) uint8_t control[PORTDEV_BATCH_MAX][PACKET_CONTROL_LEN];
};

static void prepare_inbox(struct inbox *in, const struct portdev_read *r, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		in->iov[i][0] = (struct iovec){in->hdr[i], PACKET_VNET_HDR_LEN};
		in->iov[i][1] = (struct iovec){r[i].frame, PORTDEV_FRAME_MAX};
		in->msg[i].msg_hdr = (struct msghdr){
			.msg_iov = in->iov[i],
			.msg_iovlen = 2,
			.msg_control = in->control[i],
			.msg_controllen = PACKET_CONTROL_LEN,
		};
	}
}

static void refuse(struct portdev_read *r)
{
	r->len = 0;
	r->vnet = (struct vnet){0};
	r->drop = DROP_BAD_VNET;
}

static void take_frame(struct mmsghdr *msg, const uint8_t *hdr, struct portdev_read *r)
{
	struct packet_vlan vlan;

	if (msg->msg_len <= PACKET_VNET_HDR_LEN || msg->msg_hdr.msg_flags & MSG_TRUNC ||
	    !vnet_decode(hdr, PACKET_VNET_HDR_LEN, 0, &r->vnet)) {
		refuse(r);
		return;
	}
	r->drop = DROP_NONE;
	r->len = msg->msg_len - PACKET_VNET_HDR_LEN;
	vlan = packet_vlan_of(&msg->msg_hdr);
	if (vlan.present)
		portdev_put_vlan(r, vlan.tpid, vlan.tci);
	if (r->len > UINT16_MAX)
		portdev_strip_jumbo(r);
}

/*
 * Was that ENETDOWN the end of the device? An end that is only down says so, too,
 * and one that is being deleted says it first and nothing later: a look too early
 * would be the last.
 */
static bool is_gone(struct portdev *d)
{
	packet_settle(d->fd);
	d->gone = !packet_attached(d->fd);
	return d->gone;
}

/*
 * An end that is down already is deleted without a word, and of two errors that wait
 * only the later is told: then the caller came because netlink told. Asking each time
 * is cheap, as a reader stops at a batch that is not full and seldom gets here.
 */
static int found_nothing(struct portdev *d)
{
	d->gone = !packet_attached(d->fd);
	return d->gone ? -ENODEV : 0;
}

static int veth_read(struct portdev *d, struct portdev_read *r, unsigned max)
{
	struct inbox in;
	int n;

	if (max > PORTDEV_BATCH_MAX)
		max = PORTDEV_BATCH_MAX;
	prepare_inbox(&in, r, max);
	do {
		n = recvmmsg(d->fd, in.msg, max, MSG_DONTWAIT, NULL);
	} while (n < 0 && errno == EINTR);

	for (int i = 0; i < n; i++)
		take_frame(&in.msg[i], in.hdr[i], &r[i]);
	if (n < 0 && errno == EAGAIN)
		return found_nothing(d);
	if (n >= 0)
		return n;
	if (errno == ENETDOWN)
		return is_gone(d) ? -ENODEV : 0;
	/* A frame it could not describe, which it has freed. */
	refuse(&r[0]);
	return 1;
}

/* Writing */

struct outbox {
	struct mmsghdr msg[PORTDEV_BATCH_MAX];
	uint8_t hdr[PORTDEV_BATCH_MAX][PACKET_VNET_HDR_LEN];
	struct portdev_write *frame[PORTDEV_BATCH_MAX];
	unsigned n;
	unsigned n_iov; /* taken of the pool */
};

/* False: no room. A frame that cannot be written gets its error and takes none. */
static bool put_frame(struct portdev *d, struct outbox *out, struct portdev_write *w)
{
	struct iovec *iov = d->iov + out->n_iov;

	w->err = w->n_iov > IO_IOV_MAX ? -EINVAL : 0;
	if (w->err)
		return true;
	if (out->n == PORTDEV_BATCH_MAX || out->n_iov + 1 + w->n_iov > PORTDEV_IOV_POOL)
		return false;
	if (!vnet_encode(&w->vnet, out->hdr[out->n], PACKET_VNET_HDR_LEN, 0)) {
		w->err = -EINVAL;
		return true;
	}

	iov[0] = (struct iovec){out->hdr[out->n], PACKET_VNET_HDR_LEN};
	memcpy(iov + 1, w->iov, w->n_iov * sizeof(*iov));
	out->msg[out->n].msg_hdr = (struct msghdr){.msg_iov = iov,
						   .msg_iovlen = (size_t)w->n_iov + 1};
	out->frame[out->n] = w;
	out->n_iov += 1 + w->n_iov;
	out->n++;
	return true;
}

/*
 * The kernel may answer a send with an error that waited for the next read (a frame
 * it could not describe, the end going down). Trying once more tells: if it works
 * now, it was not ours.
 */
static int send_again(struct portdev *d, struct msghdr *msg)
{
	int err = errno;

	if (err == ENOBUFS || err == EAGAIN || err == ENOMEM)
		return -err;
	if (sendmsg(d->fd, msg, MSG_DONTWAIT) >= 0) {
		d->n_refused += err != ENETDOWN;
		return 0;
	}
	if (errno != ENETDOWN && errno != ENXIO)
		return -errno;
	return is_gone(d) ? -ENODEV : -ENOBUFS;
}

static void flush(struct portdev *d, struct outbox *out)
{
	unsigned sent = 0;

	while (sent < out->n) {
		int n = sendmmsg(d->fd, out->msg + sent, out->n - sent, MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		/* The kernel stops at the first that fails, and tells why only if
		 * that is the first of the call. */
		if (n < 0) {
			out->frame[sent]->err = send_again(d, &out->msg[sent].msg_hdr);
			n = 1;
		}
		sent += (unsigned)n;
	}
	out->n = 0;
	out->n_iov = 0;
}

static void veth_write(struct portdev *d, struct portdev_write *w, unsigned n)
{
	struct outbox out = {.n = 0};

	for (unsigned i = 0; i < n; i++) {
		if (put_frame(d, &out, &w[i]))
			continue;
		flush(d, &out);
		(void)put_frame(d, &out, &w[i]);
	}
	flush(d, &out);
}

/* Limits */

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Kernels without limits for IPv4 (before 6.3) hold it to 64 KB. */
static uint32_t ipv4_limit(uint32_t ipv4, uint32_t any)
{
	return ipv4 ? ipv4 : smaller(any, LEGACY_MAX_SIZE);
}

static void narrow(struct portdev_limits *to, const struct veth_limits *l, bool gro)
{
	uint32_t gro6 = gro && l->gro_max_size ? l->gro_max_size : l->gso_max_size;
	uint32_t gro4 = gro && l->gro_ipv4_max_size ? l->gro_ipv4_max_size : l->gso_ipv4_max_size;

	to->max_len6 = smaller(to->max_len6, smaller(l->gso_max_size, gro6) - 1);
	to->max_len4 = smaller(
		to->max_len4,
		smaller(ipv4_limit(l->gso_ipv4_max_size, l->gso_max_size), ipv4_limit(gro4, gro6)) -
			1);
	to->max_segs = smaller(to->max_segs, l->gso_max_segs);
}

/* A namespace that is going away has no number any more, and without one the
 * question would be for a device of ours. */
static int ask_overlay_end(struct portdev *d, const struct veth_peer *peer, struct veth_limits *ret)
{
	if (peer->elsewhere && peer->netnsid < 0)
		return -EINVAL;
	return veth_limits_get(d->nl, peer->ifindex, peer->elsewhere ? peer->netnsid : -1, ret);
}

/* Strictly shorter than the limit: a frame as long as gso_max_size is cut. */
static int veth_read_limits(struct portdev *d, struct portdev_limits *ret)
{
	struct portdev_limits limits = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
	struct veth_limits lane, overlay;
	struct veth_peer peer;
	int err = veth_limits_get(d->nl, d->lane_ifindex, -1, &lane);

	if (!err)
		err = veth_peer(d->nl, d->lane_ifindex, &peer);
	if (err)
		return err;
	d->overlay_ifindex = peer.elsewhere ? 0 : peer.ifindex;
	narrow(&limits, &lane, false);
	if (!ask_overlay_end(d, &peer, &overlay)) {
		narrow(&limits, &overlay, true);
		portdev_take_mac(d, &overlay);
	} else {
		/* Not ours to look into: what every device takes. */
		limits.max_len4 = smaller(limits.max_len4, LEGACY_MAX_SIZE - 1);
		limits.max_len6 = smaller(limits.max_len6, LEGACY_MAX_SIZE - 1);
	}
	/* Before 7.0 a longer one without the jumbo header is not taken as a
	 * superpacket, and with it the stack cuts it up. */
	if (!d->release.known || portdev_older_than(&d->release, 7, 0))
		limits.max_len6 = smaller(limits.max_len6, LEGACY_MAX_SIZE - 1);
	*ret = limits;
	return 0;
}

static uint64_t veth_take_drops(struct portdev *d)
{
	uint64_t n = packet_take_drops(d->fd) + d->n_refused;

	d->n_refused = 0;
	return n;
}

static int join(struct portdev *first)
{
	int n = first->in_fanout ? 0 : packet_join_fanout(first->fd, PACKET_FANOUT_NEW);

	if (n < 0)
		return n;
	if (!first->in_fanout)
		first->fanout = n;
	first->in_fanout = true;
	return 0;
}

/* Until it has joined it is given all frames; those are the others', too. */
static void forget_frames(int fd)
{
	uint8_t head[PACKET_VNET_HDR_LEN + ETH_HLEN];

	while (recv(fd, head, sizeof(head), MSG_DONTWAIT | MSG_TRUNC) >= 0 || errno == EINTR)
		;
}

static int veth_open_queue(struct portdev *first, struct portdev *q)
{
	struct packet packet;
	int err = join(first);

	q->iov = calloc(PORTDEV_IOV_POOL, sizeof(*q->iov));
	if (!q->iov)
		return -ENOMEM;
	if (!err)
		err = packet_open(first->lane_ifindex, &packet);
	if (err)
		return err;
	q->fd = packet.fd;
	err = packet_join_fanout(q->fd, first->fanout);
	if (err < 0)
		return err;
	forget_frames(q->fd);
	return 0;
}

const struct portdev_ops portdev_veth_ops = {
	.kind = PORTDEV_VETH,
	.open = portdev_veth_open,
	.close = portdev_veth_close,
	.leave = portdev_veth_leave,
	.hold = portdev_veth_hold,
	.keep = portdev_veth_keep,
	.read = veth_read,
	.write = veth_write,
	.read_limits = veth_read_limits,
	.take_drops = veth_take_drops,
	.open_queue = veth_open_queue,
};
