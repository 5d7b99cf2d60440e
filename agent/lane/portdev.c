/* SPDX-License-Identifier: Apache-2.0 */
#include "portdev.h"

#include <errno.h>
#include <net/ethernet.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "offload/be.h"
#include "overlay/veth.h"
#include "portdev_internal.h"

enum {
	MACS_LEN = 2 * ETH_ALEN,
	TAG_LEN = 4,
	TAGS_MAX = 4, /* looked behind */
	IPV6_LEN = 40,
	IPV6_PAYLOAD_LEN_OFF = 4,
	IPV6_NEXT_OFF = 6,
	JUMBO_LEN = 8,
	ETHERTYPE_QINQ = 0x88a8,
};

static int open_as(const struct portdev_ops *ops, const struct portdev_args *args, struct nl *nl,
		   struct portdev **ret, char err_text[PORTDEV_TEXT_LEN])
{
	struct portdev *d = calloc(1, sizeof(*d));
	struct utsname uts;
	int err;

	if (!d) {
		snprintf(err_text, PORTDEV_TEXT_LEN, "out of memory");
		return -ENOMEM;
	}
	d->ops = ops;
	d->nl = nl;
	d->fd = -1;
	if (!uname(&uts))
		d->release = kernel_release_from_uname(uts.release, uts.version);
	err = ops->open(d, args, err_text);
	if (!err)
		err = ops->read_limits(d, &d->limits);
	if (err) {
		portdev_close(d);
		return err;
	}
	*ret = d;
	return 0;
}

int portdev_open(const struct portdev_args *args, struct nl *nl, struct portdev **ret,
		 char err_text[PORTDEV_TEXT_LEN])
{
	char why[PORTDEV_TEXT_LEN] = "";
	int err = -EOPNOTSUPP;

	err_text[0] = '\0';
	if (args->kind != PORTDEV_TAP) {
		err = open_as(&portdev_veth_ops, args, nl, ret, why);
		/* A name that is taken is taken for a TAP, too; it could even be
		 * somebody's TAP. */
		if (!err || args->kind == PORTDEV_VETH || err == -EEXIST || err == -EINVAL) {
			snprintf(err_text, PORTDEV_TEXT_LEN, "%s", why);
			return err;
		}
	}
	err = open_as(&portdev_tap_ops, args, nl, ret, err_text);
	if (!err && why[0])
		snprintf((*ret)->reason, PORTDEV_REASON_LEN, "no veth: %s", why);
	else if (!err)
		snprintf((*ret)->reason, PORTDEV_REASON_LEN, "asked for");
	return err;
}

static void finish(struct portdev *d)
{
	if (d->fd >= 0)
		close(d->fd);
	free(d->iov);
	free(d);
}

int portdev_open_queue(struct portdev *first, struct portdev **ret)
{
	struct portdev *q;
	int err;

	if (!first->ops->open_queue)
		return -EOPNOTSUPP;
	q = malloc(sizeof(*q));
	if (!q)
		return -ENOMEM;
	*q = *first;
	q->fd = -1;
	q->iov = NULL;
	q->ingress_drop = NULL;
	q->n_refused = 0;
	err = first->ops->open_queue(first, q);
	if (err) {
		finish(q);
		return err;
	}
	*ret = q;
	return 0;
}

void portdev_close_queue(struct portdev *q)
{
	if (q)
		finish(q);
}

void portdev_close(struct portdev *d)
{
	if (!d)
		return;
	d->ops->close(d);
	finish(d);
}

void portdev_leave(struct portdev *d)
{
	if (d->ops->leave)
		d->ops->leave(d);
	finish(d);
}

int portdev_hold(struct portdev *d)
{
	return d->ops->hold ? d->ops->hold(d) : 0;
}

bool portdev_has_end(const struct portdev *d, int ifindex)
{
	return ifindex && (ifindex == d->lane_ifindex || ifindex == d->overlay_ifindex);
}

int portdev_keep(struct portdev *d, char what[PORTDEV_KEPT_LEN])
{
	*what = '\0';
	return d->ops->keep && !d->gone ? d->ops->keep(d, what) : 0;
}

int portdev_fd(const struct portdev *d)
{
	return d->fd;
}

enum portdev_kind portdev_kind_of(const struct portdev *d)
{
	return d->ops->kind;
}

const char *portdev_reason(const struct portdev *d)
{
	return d->reason;
}

int portdev_lane_ifindex(const struct portdev *d)
{
	return d->lane_ifindex;
}

void portdev_mac_get(const struct portdev *d, uint8_t mac[ETH_ALEN])
{
	memcpy(mac, d->mac, ETH_ALEN);
}

void portdev_take_mac(struct portdev *d, const struct veth_limits *overlay)
{
	if (overlay->has_mac)
		memcpy(d->mac, overlay->mac, ETH_ALEN);
}

int portdev_read(struct portdev *d, struct portdev_read *r, unsigned max)
{
	if (d->gone)
		return -ENODEV;
	return d->ops->read(d, r, max);
}

void portdev_write(struct portdev *d, struct portdev_write *w, unsigned n)
{
	if (!d->gone) {
		d->ops->write(d, w, n);
		return;
	}
	for (unsigned i = 0; i < n; i++)
		w[i].err = -ENODEV;
}

struct portdev_limits portdev_limits(struct portdev *d, uint64_t now_ns)
{
	if (!d->gone && now_ns - d->limits_at_ns >= PORTDEV_LIMITS_AGE_NS) {
		d->limits_at_ns = now_ns;
		(void)d->ops->read_limits(d, &d->limits);
	}
	return d->limits;
}

uint64_t portdev_take_drops(struct portdev *d)
{
	return d->ops->take_drops(d);
}

void portdev_choose_mac(const struct portdev_args *args, uint8_t mac[ETH_ALEN])
{
	if (args->has_mac) {
		memcpy(mac, args->mac, ETH_ALEN);
		return;
	}
	randombytes_buf(mac, ETH_ALEN);
	/* locally administered, unicast */
	mac[0] = (uint8_t)((mac[0] & 0xfc) | 0x02);
}

/* Offsets in the vnet header follow when the frame's head grows by @by. */
static void shift_offsets(struct vnet *v, int by)
{
	if (v->needs_csum && v->csum_start + by >= 0)
		v->csum_start = (uint16_t)(v->csum_start + by);
	if (v->gso != VNET_GSO_NONE && v->hdr_len + by >= 0)
		v->hdr_len = (uint16_t)(v->hdr_len + by);
}

void portdev_put_vlan(struct portdev_read *r, uint16_t tpid, uint16_t tci)
{
	if (r->len < MACS_LEN)
		return;
	memmove(r->frame - TAG_LEN, r->frame, MACS_LEN);
	r->frame -= TAG_LEN;
	r->len += TAG_LEN;
	be16_store(r->frame + MACS_LEN, tpid);
	be16_store(r->frame + MACS_LEN + 2, tci);
	shift_offsets(&r->vnet, TAG_LEN);
}

/* Where the packet begins, behind all tags; its type in *ret_type. */
static uint32_t packet_off(const struct portdev_read *r, uint16_t *ret_type)
{
	uint32_t off = MACS_LEN;

	*ret_type = 0;
	for (unsigned i = 0; i <= TAGS_MAX && off + 2 <= r->len; i++) {
		*ret_type = be16_load(r->frame + off);
		if (*ret_type != ETHERTYPE_VLAN && *ret_type != ETHERTYPE_QINQ)
			break;
		off += TAG_LEN;
	}
	return off + 2;
}

/* A hop-by-hop header of 8 bytes that is one jumbo option and tells the length of
 * all that follows the IPv6 header of @ip (RFC 2675). */
static bool is_jumbo(const uint8_t *ip, uint32_t len)
{
	const uint8_t *option = ip + IPV6_LEN;

	return len >= IPV6_LEN + JUMBO_LEN && be16_load(ip + IPV6_PAYLOAD_LEN_OFF) == 0 &&
	       ip[IPV6_NEXT_OFF] == 0 && option[1] == 0 && option[2] == 0xc2 && option[3] == 4 &&
	       be32_load(option + 4) == len - IPV6_LEN;
}

void portdev_strip_jumbo(struct portdev_read *r)
{
	uint16_t type;
	uint32_t off = packet_off(r, &type);
	uint8_t *ip = r->frame + off;

	/* Only what the kernel put there for its own use. A jumbogram from the
	 * wire is no superpacket. */
	if (r->vnet.gso == VNET_GSO_NONE || type != ETHERTYPE_IPV6 || off > r->len ||
	    !is_jumbo(ip, r->len - off))
		return;
	ip[IPV6_NEXT_OFF] = ip[IPV6_LEN];
	memmove(r->frame + JUMBO_LEN, r->frame, off + IPV6_LEN);
	r->frame += JUMBO_LEN;
	r->len -= JUMBO_LEN;
	shift_offsets(&r->vnet, -JUMBO_LEN);
}
