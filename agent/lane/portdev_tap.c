/* SPDX-License-Identifier: Apache-2.0 */
/* A TAP as a port device: one frame a call, superpackets up to 64 KB. */
#include <errno.h>
#include <net/ethernet.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#include "overlay/link.h"
#include "overlay/tun.h"
#include "overlay/veth.h"
#include "portdev_internal.h"

/* A frame of this length or more is cut by the device's own limit of 65536. */
enum { TAP_FRAME_MAX = 65535 };

static int configure(struct portdev *d, const struct portdev_args *args, const char *name)
{
	struct link_change change = {.set_mtu = true, .mtu = args->mtu, .set_mac = true};
	struct link_info link;
	int err = link_get(d->nl, name, &link);

	if (err)
		return err;
	d->lane_ifindex = link.ifindex;
	portdev_choose_mac(args, d->mac);
	memcpy(change.mac, d->mac, ETH_ALEN);
	return link_set(d->nl, link.ifindex, &change);
}

static int tap_open(struct portdev *d, const struct portdev_args *args,
		    char err_text[PORTDEV_TEXT_LEN])
{
	const struct tun_open_args open_args = {
		.name = args->name,
		.kind = TUN_KIND_TAP,
		.vnet_hdr = true,
		.offloads = args->offloads,
	};
	struct tun tun;
	int err = tun_open(&open_args, &tun);

	if (err) {
		tun_strerror(err, args->name, err_text, PORTDEV_TEXT_LEN);
		return err;
	}
	d->fd = tun.fd;
	d->vnet_hdr_len = tun.vnet_hdr_len;
	err = configure(d, args, tun.name);
	if (err)
		snprintf(err_text, PORTDEV_TEXT_LEN, "cannot configure device %s: %s", tun.name,
			 strerror(-err));
	return err;
}

/* The device goes with its descriptor. */
static void tap_close(struct portdev *d)
{
	(void)d;
}

static void take_frame(const struct portdev *d, const uint8_t *hdr, size_t len,
		       struct portdev_read *r)
{
	r->drop = DROP_NONE;
	r->len = len > d->vnet_hdr_len ? (uint32_t)(len - d->vnet_hdr_len) : 0;
	if (!r->len || !vnet_decode(hdr, d->vnet_hdr_len, 0, &r->vnet)) {
		r->len = 0;
		r->drop = DROP_BAD_VNET;
	}
}

static int tap_read(struct portdev *d, struct portdev_read *r, unsigned max)
{
	for (unsigned i = 0; i < max; i++) {
		uint8_t hdr[VNET_LEN_TUNNEL];
		struct iovec iov[] = {{hdr, d->vnet_hdr_len}, {r[i].frame, PORTDEV_FRAME_MAX}};
		ssize_t len;

		do {
			len = readv(d->fd, iov, 2);
		} while (len < 0 && errno == EINTR);
		if (len < 0) {
			d->gone = errno == EBADFD;
			return !i && d->gone ? -ENODEV : (int)i;
		}
		take_frame(d, hdr, (size_t)len, &r[i]);
	}
	return (int)max;
}

static int write_one(struct portdev *d, const struct portdev_write *w)
{
	uint8_t hdr[VNET_LEN_TUNNEL];
	struct iovec iov[1 + IO_IOV_MAX];
	ssize_t len;

	if (w->n_iov > IO_IOV_MAX || !vnet_encode(&w->vnet, hdr, d->vnet_hdr_len, 0))
		return -EINVAL;
	iov[0] = (struct iovec){hdr, d->vnet_hdr_len};
	memcpy(&iov[1], w->iov, w->n_iov * sizeof(*iov));
	do {
		len = writev(d->fd, iov, (int)w->n_iov + 1);
	} while (len < 0 && errno == EINTR);
	if (len >= 0)
		return 0;
	switch (errno) {
	case EIO: /* down */
		return -ENOBUFS;
	case EBADFD:
		d->gone = true;
		return -ENODEV;
	default:
		return -errno;
	}
}

static void tap_write(struct portdev *d, struct portdev_write *w, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		w[i].err = d->gone ? -ENODEV : write_one(d, &w[i]);
}

static uint32_t smaller(uint32_t limit, uint32_t max_len)
{
	return limit && limit <= max_len ? limit - 1 : max_len;
}

/* A device that was moved is no longer ours to ask; then the last limits hold. */
static int tap_read_limits(struct portdev *d, struct portdev_limits *ret)
{
	struct veth_limits l;
	int err = veth_limits_get(d->nl, d->lane_ifindex, -1, &l);

	if (err)
		return err;
	portdev_take_mac(d, &l);
	ret->max_len6 = smaller(l.gso_max_size, smaller(l.gro_max_size, TAP_FRAME_MAX));
	ret->max_len4 = smaller(l.gso_ipv4_max_size, smaller(l.gro_ipv4_max_size, TAP_FRAME_MAX));
	if (!l.gso_ipv4_max_size)
		ret->max_len4 = ret->max_len6;
	ret->max_segs = l.gso_max_segs;
	return 0;
}

static uint64_t tap_take_drops(struct portdev *d)
{
	(void)d;
	return 0;
}

const struct portdev_ops portdev_tap_ops = {
	.kind = PORTDEV_TAP,
	.open = tap_open,
	.close = tap_close,
	.read = tap_read,
	.write = tap_write,
	.read_limits = tap_read_limits,
	.take_drops = tap_take_drops,
};
