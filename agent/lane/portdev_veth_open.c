/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a veth pair becomes a port's device, and how it ends.
 *
 * Theory of operation: the socket gets its copy of what the overlay end sends, and
 * the drop at netdev ingress stops the frame itself, which would otherwise go on
 * into this host's stack, be forwarded in clear or reach a socket. So the order is:
 * pair, features, drop, socket, lane end up. What we write leaves by the lane end
 * and arrives at the overlay end like a frame from a wire.
 *
 * The vnet header knows checksums and TCP and UDP superpackets. What it cannot
 * describe the kernel frees on reading, so the overlay end is told not to make it;
 * the kernel then cuts before it sends.
 *
 * A lane that was killed or leaves its ports behind leaves a pair whose lane end
 * drops all it is given: nothing gets out in clear meanwhile. The next lane knows it
 * by the alias of the lane end and takes it over as it is, wherever the overlay end
 * is by then, with its addresses and routes.
 */
#include <errno.h>
#include <net/ethernet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "overlay/features.h"
#include "overlay/ingress_drop.h"
#include "overlay/link.h"
#include "overlay/owner.h"
#include "overlay/packet.h"
#include "overlay/tun.h"
#include "overlay/veth.h"
#include "portdev_internal.h"

#define LANE_NAME_PREFIX "slport"
#define LANE_NAME	 LANE_NAME_PREFIX "%d"

bool portdev_older_than(const struct kernel_release *r, unsigned major, unsigned minor)
{
	return r->known && (r->major < major || (r->major == major && r->minor < minor));
}

static void add_names(struct feature_list *list, const char *const *names)
{
	for (; *names && list->n < PORTDEV_FEATURES_MAX; names++)
		list->name[list->n++] = *names;
	list->name[list->n] = NULL;
}

/* A tunnel's superpacket reads as one of its inner TCP or UDP: for those in UDP
 * the lane can tell by the headers, for the rest it cannot. */
static void list_features(const struct portdev *d, unsigned offloads, struct feature_list *list)
{
	static const char *const always[] = {"tx-checksum-sctp",
					     "tx-sctp-segmentation",
					     "tx-gso-list",
					     "tx-gre-segmentation",
					     "tx-gre-csum-segmentation",
					     "tx-ipxip4-segmentation",
					     "tx-ipxip6-segmentation",
					     "tx-esp-segmentation",
					     "tx-tunnel-remcsum-segmentation",
					     "tx-tcp-accecn-segmentation",
					     NULL};
	static const char *const csum[] = {"tx-checksum-ip-generic", NULL};
	static const char *const tso[] = {"tx-tcp-segmentation", "tx-tcp6-segmentation",
					  "tx-tcp-ecn-segmentation", "tx-tcp-mangleid-segmentation",
					  NULL};
	static const char *const uso[] = {"tx-udp-segmentation", NULL};
	static const char *const tunnel[] = {"tx-udp_tnl-segmentation",
					     "tx-udp_tnl-csum-segmentation", NULL};

	add_names(list, always);
	if (!(offloads & TUN_OFFLOAD_CSUM))
		add_names(list, csum);
	if (!(offloads & TUN_OFFLOAD_TSO))
		add_names(list, tso);
	/* The header has known UDP since Linux 6.2. */
	if (!(offloads & TUN_OFFLOAD_USO) || portdev_older_than(&d->release, 6, 2))
		add_names(list, uso);
	if (!(offloads & TUN_OFFLOAD_TUNNEL))
		add_names(list, tunnel);
}

/* A pair that a lane left: its lane end, by the alias that create_pair() gave it, and read
 * by nobody. One that is just being made has no drop yet; somebody may have set down a
 * whole one. */
struct search {
	const char *alias;
	struct link_info lane;
	bool found;
};

static int look_at_link(const struct link_info *link, void *arg)
{
	struct search *s = arg;

	if (strncmp(link->name, LANE_NAME_PREFIX, strlen(LANE_NAME_PREFIX)) != 0 ||
	    strcmp(link->alias, s->alias) != 0)
		return 0;
	s->lane = *link;
	s->found = true;
	return 0;
}

static bool find_abandoned(struct portdev *d, struct link_info *ret)
{
	struct search s = {.alias = d->alias};

	if (link_list(d->nl, look_at_link, &s) || !s.found || packet_is_read(s.lane.ifindex) != 0)
		return false;
	if (!(s.lane.flags & IFF_UP) && ingress_drop_find(d->nl, s.lane.ifindex) <= 0)
		return false;
	*ret = s.lane;
	return true;
}

static int create_pair(struct portdev *d, const struct portdev_args *args, int *ret_overlay)
{
	struct veth_args pair = {
		.end = {.name = args->name, .mtu = args->mtu, .has_mac = true},
		.peer = {.name = LANE_NAME, .mtu = PORTDEV_LANE_MTU},
	};
	int err;

	portdev_choose_mac(args, d->mac);
	memcpy(pair.end.mac, d->mac, ETH_ALEN);
	err = veth_create(d->nl, &pair, ret_overlay, &d->lane_ifindex);
	return err ? err : link_set_alias(d->nl, d->lane_ifindex, d->alias);
}

/* What of an overlay end that was there already is not as it is wanted. */
static int change_overlay(struct portdev *d, const struct portdev_args *args, int overlay)
{
	struct link_change change = {.set_mac = args->has_mac, .mtu = args->mtu};
	struct link_info link;
	int err = link_get_index(d->nl, overlay, &link);

	if (err)
		return err;
	change.set_mtu = link.mtu != args->mtu;
	memcpy(change.mac, args->mac, ETH_ALEN);
	memcpy(d->mac, args->has_mac ? args->mac : link.mac, ETH_ALEN);
	if (args->has_mac && !memcmp(link.mac, args->mac, ETH_ALEN))
		change.set_mac = false;
	return change.set_mtu || change.set_mac ? link_set(d->nl, overlay, &change) : 0;
}

/* @ret_overlay 0: it is in another namespace, and stays as it is there. */
static int adopt_pair(struct portdev *d, const struct portdev_args *args,
		      const struct link_info *lane, int *ret_overlay)
{
	struct veth_peer peer;
	int err = veth_peer(d->nl, lane->ifindex, &peer);

	if (err)
		return err;
	d->lane_ifindex = lane->ifindex;
	*ret_overlay = peer.elsewhere ? 0 : peer.ifindex;
	return *ret_overlay ? change_overlay(d, args, *ret_overlay) : 0;
}

static int get_pair(struct portdev *d, const struct portdev_args *args, int *ret_overlay,
		    char err_text[PORTDEV_TEXT_LEN])
{
	struct link_info lane;
	bool left = find_abandoned(d, &lane);
	int err = left ? adopt_pair(d, args, &lane, ret_overlay)
		       : create_pair(d, args, ret_overlay);

	if (err)
		snprintf(err_text, PORTDEV_TEXT_LEN, "cannot %s the veth pair %s: %s",
			 left ? "take over" : "create", args->name, strerror(-err));
	return err;
}

static int limit_superpackets(struct portdev *d, const struct portdev_args *args, int overlay,
			      char err_text[PORTDEV_TEXT_LEN])
{
	struct link_info link; /* may have been renamed */
	int err = veth_limits_set(d->nl, d->lane_ifindex, args->gso_max_size);

	if (!err)
		err = veth_limits_set(d->nl, overlay, args->gso_max_size);
	if (err) {
		snprintf(err_text, PORTDEV_TEXT_LEN, "superpackets of %u bytes on %s: %s",
			 args->gso_max_size, args->name, strerror(-err));
		return err;
	}
	err = link_get_index(d->nl, overlay, &link);
	if (!err)
		err = features_off(link.name, d->features.name);
	if (err)
		snprintf(err_text, PORTDEV_TEXT_LEN, "offloads of %s: %s", args->name,
			 strerror(-err));
	return err;
}

static int stop_ingress(struct portdev *d, char err_text[PORTDEV_TEXT_LEN])
{
	struct link_info link;
	int tc, nft = 0;

	tc = link_get_index(d->nl, d->lane_ifindex, &link);
	if (!tc)
		memcpy(d->lane_name, link.name, sizeof(d->lane_name));
	if (!tc)
		tc = ingress_drop_install(d->nl, d->lane_ifindex, link.name, INGRESS_DROP_TC,
					  &d->ingress_drop);
	if (tc)
		nft = ingress_drop_install(d->nl, d->lane_ifindex, link.name, INGRESS_DROP_NFT,
					   &d->ingress_drop);
	if (tc && nft)
		snprintf(err_text, PORTDEV_TEXT_LEN,
			 "the lane end cannot be kept from the host's stack: clsact with a bpf "
			 "filter: %s; nftables netdev chain: %s",
			 strerror(-tc), strerror(-nft));
	snprintf(d->reason, sizeof(d->reason), "packet socket; host's stack kept off by %s",
		 tc ? "nftables" : "tc");
	return tc && nft ? nft : 0;
}

static int open_lane_end(struct portdev *d, char err_text[PORTDEV_TEXT_LEN])
{
	struct packet packet;
	int err = packet_open(d->lane_ifindex, &packet);

	if (err) {
		snprintf(err_text, PORTDEV_TEXT_LEN, "packet socket: %s%s", strerror(-err),
			 err == -EPERM ? " (CAP_NET_RAW is missing)" : "");
		return err;
	}
	d->fd = packet.fd;
	d->vnet_hdr_len = PACKET_VNET_HDR_LEN;
	err = portdev_veth_set_up(d);
	if (err)
		snprintf(err_text, PORTDEV_TEXT_LEN, "cannot set up the lane end: %s",
			 strerror(-err));
	return err;
}

int portdev_veth_open(struct portdev *d, const struct portdev_args *args,
		      char err_text[PORTDEV_TEXT_LEN])
{
	int overlay = 0, err;

	d->iov = calloc(PORTDEV_IOV_POOL, sizeof(*d->iov));
	if (!d->iov) {
		snprintf(err_text, PORTDEV_TEXT_LEN, "out of memory");
		return -ENOMEM;
	}
	snprintf(d->alias, sizeof(d->alias), OWNER_PORT_ALIAS "%s", args->name);
	list_features(d, args->offloads, &d->features);
	err = get_pair(d, args, &overlay, err_text);
	if (!err && overlay)
		err = limit_superpackets(d, args, overlay, err_text);
	if (!err)
		err = stop_ingress(d, err_text);
	if (!err)
		err = open_lane_end(d, err_text);
	d->overlay_ifindex = overlay;
	return err;
}

/* The drop goes last: a lane end without it must not be up. */
void portdev_veth_close(struct portdev *d)
{
	bool exists = d->lane_ifindex && (d->fd < 0 || packet_attached(d->fd));
	int err = exists ? link_delete(d->nl, d->lane_ifindex) : 0;

	/* Others may be deleting it just now. */
	if (!err || err == -ENODEV)
		exists = false;
	/* Gone with the device, whose index may be another's by now. */
	ingress_drop_remove(exists ? d->nl : NULL, d->ingress_drop);
}

/* One that nothing would be dropped at is set down: then the other end has no
 * carrier, and what it is given goes nowhere. */
void portdev_veth_leave(struct portdev *d)
{
	const struct link_change down = {.set_up = true};

	if (d->ingress_drop && ingress_drop_kind_of(d->ingress_drop) != INGRESS_DROP_TC)
		(void)link_set(d->nl, d->lane_ifindex, &down);
	ingress_drop_leave(d->ingress_drop);
}

int portdev_veth_hold(struct portdev *d)
{
	return ingress_drop_hold(d->nl, d->ingress_drop);
}
