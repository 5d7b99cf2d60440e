/* SPDX-License-Identifier: Apache-2.0 */
#include "sync.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lane_value.h"
#include "overlay/bigtcp.h"
#include "overlay/link.h"
#include "overlay/owner.h"
#include "overlay/tunnel.h"
#include "overlay/veth.h"
#include "report.h"
#include "sync_devices_internal.h"
#include "sync_kernel.h"

static void keep_lane(struct nl *nl, const struct desired *d, struct report *r, int *ret_ifindex);
static void keep_port(struct nl *nl, const struct desired_overlay *overlay, struct report *r);

void sync_devices_add(struct nl *nl, const struct desired *d, struct report *r)
{
	struct sync_lower lower = {.ifindex = 0};

	keep_lane(nl, d, r, &lower.ifindex);
	sync_lower_read(nl, &lower);
	for (size_t i = 0; i < d->n_overlays; i++) {
		if (sync_is_tunnel(&d->overlays[i]))
			sync_tunnel_keep(nl, &d->overlays[i], &lower, r);
		else
			keep_port(nl, &d->overlays[i], r);
	}
}

static void change_link(struct nl *nl, const struct link_info *is, const struct link_change *change,
			const char *what, struct report *r)
{
	int err = link_set(nl, is->ifindex, change);

	/* It went while it was looked at, of which there will be news. */
	if (err == -ENODEV)
		r->awaited++;
	else if (err)
		report_fault(r, err, "device %s: %s", is->name, what);
	else
		report_did(r, &r->changed, "changed device %s: %s", is->name, what);
}

/* One by one: what the kernel refuses must not keep the device from being up. */
void sync_link_adjust(struct nl *nl, const struct link_info *is, const struct link_change *want,
		      struct report *r)
{
	struct link_change change = {.set_mtu = true, .mtu = want->mtu};
	char what[32];

	snprintf(what, sizeof(what), "mtu %u", want->mtu);
	if (want->set_mtu && is->mtu != want->mtu)
		change_link(nl, is, &change, what, r);

	change = (struct link_change){.set_mac = true};
	memcpy(change.mac, want->mac, sizeof(change.mac));
	if (want->set_mac && memcmp(is->mac, want->mac, sizeof(is->mac)) != 0)
		change_link(nl, is, &change, "its MAC address", r);

	change = (struct link_change){.set_up = true, .up = want->up};
	if (want->set_up && !!(is->flags & IFF_UP) != want->up)
		change_link(nl, is, &change, want->up ? "up" : "down", r);
}

static bool has_sizes(const struct bigtcp *is, uint32_t size)
{
	/* 0: this kernel has no limits of IPv4's own. */
	return is->gso_max_size == size && is->gro_max_size == size &&
	       (!is->gso_ipv4_max_size || is->gso_ipv4_max_size == size) &&
	       (!is->gro_ipv4_max_size || is->gro_ipv4_max_size == size);
}

void sync_sizes_keep(struct nl *nl, int err, const struct bigtcp *is, const char *name,
		     uint32_t size, struct report *r)
{
	if (!err) {
		if (has_sizes(is, size))
			return;
		err = bigtcp_set(nl, is->ifindex, size);
	}
	if (err == -ENODEV)
		r->awaited++;
	else if (err)
		report_fault(r, err, "device %s: superpacket limits", name);
	else
		report_did(r, &r->changed, "changed device %s: superpackets of up to %u", name,
			   size);
}

/* True: it is there, and somebody else's. */
static bool is_foreign(struct nl *nl, const char *name, struct report *r)
{
	struct tunnel_found found;

	if (tunnel_find(nl, name, &found) || sync_is_lanes(found.kind))
		return false;
	report_fault(r, 0, "%s: a device of this name is there and not ours (%s)", name,
		     found.kind[0] ? found.kind : "hardware");
	return true;
}

static void mark_lane(struct nl *nl, const struct link_info *lane, struct report *r)
{
	char alias[LINK_ALIAS_LEN];
	int err;

	/* Another alias may be there with a reason: somebody else's device, then. The short
	 * one is of a release that knew no other. */
	if (lane->alias[0] && strcmp(lane->alias, OWNER_ALIAS) != 0)
		return;
	snprintf(alias, sizeof(alias), OWNER_LANE_ALIAS "%s", lane->name);
	err = link_set_alias(nl, lane->ifindex, alias);
	if (err == -ENODEV)
		r->awaited++;
	else if (err)
		report_fault(r, err, "device %s: its mark", lane->name);
	else
		report_did(r, &r->changed, "changed device %s: marked as ours", lane->name);
}

static void keep_lane(struct nl *nl, const struct desired *d, struct report *r, int *ret_ifindex)
{
	const struct link_change want = {
		.set_mtu = true, .mtu = d->lane_mtu, .set_up = true, .up = true};
	struct link_info lane;
	int err;

	err = sync_lane_find(nl, d->config->lane.interface, &lane);
	if (err == -ENODEV && is_foreign(nl, d->config->lane.interface, r))
		return;
	if (err == -ENODEV && r->lane_away) {
		r->awaited++;
		return;
	}
	if (err) {
		report_fault(r, err, "device %s, the lane's", d->config->lane.interface);
		return;
	}
	mark_lane(nl, &lane, r);
	sync_link_adjust(nl, &lane, &want, r);
	*ret_ifindex = lane.ifindex;
}

/* Those that the lane gave the pair when it made it, of which the lane end still has them.
 * A TAP has no other end, and can have no more than it has. */
static void keep_port_sizes(struct nl *nl, const struct link_info *link, struct report *r)
{
	struct bigtcp is, lane_end;
	struct veth_peer peer;
	int err;

	if (veth_peer(nl, link->ifindex, &peer) || peer.elsewhere ||
	    bigtcp_get(nl, peer.ifindex, &lane_end))
		return;
	err = bigtcp_get(nl, link->ifindex, &is);
	sync_sizes_keep(nl, err, &is, link->name, lane_end.gso_max_size, r);
}

/* Whoever moved a port's device into a network namespace of their own looks after it. Others are
 * told of the MAC address that is desired, and would send to nobody if it had another. */
static void look_elsewhere(struct nl *nl, const struct desired_overlay *overlay, struct report *r)
{
	char is_text[LANE_MAC_TEXT_LEN], want_text[LANE_MAC_TEXT_LEN], text[REPORT_TEXT_LEN];
	const char *name = overlay->config->name;
	uint8_t is[6];

	if (!sync_port_mac_elsewhere(nl, name, is) && memcmp(is, overlay->mac, sizeof(is)) != 0) {
		report_fault(r, 0,
			     "device %s, in another network namespace: its MAC address is %s: set "
			     "it to %s there",
			     name, lane_value_format_mac(is, is_text),
			     lane_value_format_mac(overlay->mac, want_text));
	} else if (r->log) {
		/* Each pass says so: at level debug, for which it must not begin with "device". */
		snprintf(text, sizeof(text), "not in this network namespace: device %s", name);
		r->log(text, r->log_arg);
	}
}

static void keep_port(struct nl *nl, const struct desired_overlay *overlay, struct report *r)
{
	struct link_change want = {
		.set_mtu = true, .mtu = overlay->mtu, .set_mac = true, .set_up = true, .up = true};
	struct link_info link;
	int err;

	err = sync_port_find(nl, overlay->config->name, &link);
	if (err == -ENODEV && is_foreign(nl, overlay->config->name, r))
		return;
	memcpy(want.mac, overlay->mac, sizeof(want.mac));
	if (!err) {
		sync_link_adjust(nl, &link, &want, r);
		keep_port_sizes(nl, &link, r);
	} else if (err != -ENODEV) {
		report_fault(r, err, "device %s", overlay->config->name);
	} else if (!r->lane_away) {
		look_elsewhere(nl, overlay, r);
	}
}
