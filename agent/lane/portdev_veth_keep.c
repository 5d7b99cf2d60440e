/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a veth pair somebody may change and a port needs as portdev_veth_open() made it.
 *
 * The lane end is the lane's alone, and all of it that counts is put back: up and of an MTU
 * that everything fits in, or frames are lost without a word; without ARP and addresses; by
 * its name, by which nftables know it on some kernels, and its alias, by which the next lane
 * does. Of the overlay end, its owner's, only the offloads matter: frames that the vnet header
 * cannot describe are lost. Limits of superpackets are followed (portdev_limits()).
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "overlay/address.h"
#include "overlay/features.h"
#include "overlay/ingress_drop.h"
#include "overlay/link.h"
#include "overlay/veth.h"
#include "portdev_internal.h"

/* Below, a device has no IPv6, and as it rises above has it anew, with an address. */
enum { IPV6_MTU_MIN = 1280 };

/* Adds to a list of words with commas between. */
static void say(char what[PORTDEV_KEPT_LEN], const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void say(char what[PORTDEV_KEPT_LEN], const char *fmt, ...)
{
	const size_t len = strlen(what);
	va_list ap;

	if (len)
		snprintf(what + len, PORTDEV_KEPT_LEN - len, ", ");
	va_start(ap, fmt);
	vsnprintf(what + strlen(what), PORTDEV_KEPT_LEN - strlen(what), fmt, ap);
	va_end(ap);
}

/* What is wrong with it, in words; "": nothing. */
static void compare(const struct portdev *d, const struct link_info *lane,
		    char what[PORTDEV_KEPT_LEN])
{
	*what = '\0';
	if (!(lane->flags & IFF_UP))
		say(what, "its lane end down");
	if (lane->mtu != PORTDEV_LANE_MTU)
		say(what, "its lane end's MTU to %u", lane->mtu);
	if (!(lane->flags & IFF_NOARP))
		say(what, "its lane end's ARP on");
	/* It may be as wide as ever by the time that somebody looks. */
	if (lane->addr_gen)
		say(what, "its lane end's IPv6 anew");
	if (strcmp(lane->name, d->lane_name) != 0)
		say(what, "its lane end's name to %s", lane->name);
	if (strcmp(lane->alias, d->alias) != 0)
		say(what, "its lane end's alias");
}

int portdev_veth_set_up(struct portdev *d)
{
	const struct link_change up = {.set_up = true,
				       .up = true,
				       .set_mtu = true,
				       .mtu = PORTDEV_LANE_MTU,
				       .set_arp = true,
				       .arp = false,
				       .set_addr_gen_none = true};

	return link_set(d->nl, d->lane_ifindex, &up);
}

/* Up comes last, behind the drop. */
static int restore(struct portdev *d, const struct link_info *lane)
{
	const struct link_change down = {.set_up = true};
	int err = 0, later;

	if (lane->flags & IFF_UP && lane->mtu < IPV6_MTU_MIN)
		err = link_set(d->nl, d->lane_ifindex, &down);
	if (strcmp(lane->name, d->lane_name) != 0) {
		later = link_rename(d->nl, d->lane_ifindex, d->lane_name);
		err = err ? err : later;
	}
	if (strcmp(lane->alias, d->alias) != 0) {
		later = link_set_alias(d->nl, d->lane_ifindex, d->alias);
		err = err ? err : later;
	}
	later = portdev_veth_hold(d);
	if (later < 0)
		return later;
	later = portdev_veth_set_up(d);
	if (!later && lane->addr_gen)
		later = address_delete_made_up(d->nl, d->lane_ifindex);
	return err ? err : later;
}

static int keep_lane_end(struct portdev *d, char what[PORTDEV_KEPT_LEN])
{
	struct link_info lane;
	int err = link_get_index(d->nl, d->lane_ifindex, &lane);

	if (err)
		return err;
	compare(d, &lane, what);
	if (!*what)
		return 0;
	err = restore(d, &lane);
	return err ? err : 1;
}

/* One that was moved away is its new owner's, and netlink does not tell of it. */
static int keep_overlay_end(struct portdev *d, char what[PORTDEV_KEPT_LEN])
{
	struct veth_peer peer;
	struct link_info link;
	int err = veth_peer(d->nl, d->lane_ifindex, &peer);
	bool on = false;

	if (err)
		return err;
	d->overlay_ifindex = peer.elsewhere ? 0 : peer.ifindex;
	if (peer.elsewhere)
		return 0;
	err = link_get_index(d->nl, peer.ifindex, &link);
	if (!err)
		err = features_any_on(link.name, d->features.name, &on);
	if (err || !on)
		return err;
	say(what, "offloads of %s on that the lane cannot take", link.name);
	err = features_off(link.name, d->features.name);
	return err ? err : 1;
}

int portdev_veth_keep(struct portdev *d, char what[PORTDEV_KEPT_LEN])
{
	int lane = keep_lane_end(d, what), overlay;

	if (lane < 0)
		return lane;
	overlay = keep_overlay_end(d, what);
	/* Deleted or moved meanwhile. */
	if (overlay == -ENODEV)
		overlay = 0;
	return overlay < 0 ? overlay : lane | overlay;
}
