/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices that are ours under a name that somebody gave them have theirs again, before
 * anything goes by names: else they would be missed, and made a second time.
 *
 * The lane's is marked with its name. A port's is the other end of what its lane marked with the
 * port's name. One that was made here is marked as ours, has a name that no overlay has, and is in
 * everything as an overlay wants it whose name no device has: there can be only one such.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "overlay/link.h"
#include "overlay/owner.h"
#include "overlay/tunnel.h"
#include "overlay/veth.h"
#include "report.h"
#include "sync.h"
#include "sync_devices_internal.h"
#include "sync_kernel.h"

/* Devices with the mark of one port: more than one only if one was moved away, and its
 * lane has another by now. */
enum { LANE_ENDS_MAX = 8 };

static void give_name(struct nl *nl, const struct link_info *link, const char *name,
		      struct report *r)
{
	const int err = link_rename(nl, link->ifindex, name);

	if (err == -EEXIST)
		report_fault(r, 0,
			     "device %s: somebody named it %s, and another device has its name: "
			     "rename or delete that one",
			     name, link->name);
	else if (err)
		report_fault(r, err, "device %s: somebody named it %s", name, link->name);
	else
		report_did(r, &r->changed, "changed device %s: its name, which was %s", name,
			   link->name);
}

/* The lane's own */

static int take_lane(const struct link_info *link, void *arg)
{
	struct link_info *lane = arg;

	if (!strcmp(link->alias, lane->alias))
		*lane = *link;
	return 0;
}

/* Without the mark, by the name and the kind. */
static int find_by_name(struct nl *nl, const char *name, struct link_info *ret)
{
	struct tunnel_found found;
	int err = tunnel_find(nl, name, &found);

	if (!err && !sync_is_lanes(found.kind))
		err = -ENODEV;
	return err ? err : link_get_index(nl, found.ifindex, ret);
}

int sync_lane_find(struct nl *nl, const char *name, struct link_info *ret)
{
	struct link_info lane = {.ifindex = 0};
	int err = link_get(nl, name, ret);

	if (err && err != -ENODEV)
		return err;
	snprintf(lane.alias, sizeof(lane.alias), OWNER_LANE_ALIAS "%s", name);
	if (!err && !strcmp(ret->alias, lane.alias))
		return 0;
	err = link_list(nl, take_lane, &lane);
	if (err)
		return err;
	if (!lane.ifindex)
		return find_by_name(nl, name, ret);
	*ret = lane;
	return 0;
}

static void keep_lane_name(struct nl *nl, const char *name, struct report *r)
{
	struct link_info lane;

	if (!sync_lane_find(nl, name, &lane) && strcmp(lane.name, name) != 0)
		give_name(nl, &lane, name, r);
}

/* Ports */

struct lane_ends {
	char alias[LINK_ALIAS_LEN];
	int ifindex[LANE_ENDS_MAX];
	unsigned n;
};

static int take_lane_end(const struct link_info *link, void *arg)
{
	struct lane_ends *ends = arg;

	if (!strcmp(link->alias, ends->alias) && ends->n < LANE_ENDS_MAX)
		ends->ifindex[ends->n++] = link->ifindex;
	return 0;
}

static bool is_marked(struct nl *nl, int ifindex, const char *alias)
{
	struct link_info lane_end;
	struct veth_peer peer;

	return !veth_peer(nl, ifindex, &peer) && !peer.elsewhere &&
	       !link_get_index(nl, peer.ifindex, &lane_end) && !strcmp(lane_end.alias, alias);
}

/* 0, -ENODEV or -errno. */
static int find_by_mark(struct nl *nl, struct lane_ends *ends, struct link_info *ret)
{
	int err = link_list(nl, take_lane_end, ends);

	for (unsigned i = 0; !err && i < ends->n; i++) {
		struct veth_peer peer;

		if (!veth_peer(nl, ends->ifindex[i], &peer) && !peer.elsewhere &&
		    !link_get_index(nl, peer.ifindex, ret))
			return 0;
	}
	return err ? err : -ENODEV;
}

int sync_port_find(struct nl *nl, const char *name, struct link_info *ret)
{
	struct lane_ends ends = {.n = 0};
	int err = link_get(nl, name, ret);

	if (err && err != -ENODEV)
		return err;
	snprintf(ends.alias, sizeof(ends.alias), OWNER_PORT_ALIAS "%s", name);
	if (!err && is_marked(nl, ret->ifindex, ends.alias))
		return 0;
	err = find_by_mark(nl, &ends, ret);
	if (err != -ENODEV)
		return err;
	/* A TAP, or the lane is in another network namespace: all there is is the name. */
	return find_by_name(nl, name, ret);
}

int sync_port_mac_elsewhere(struct nl *nl, const char *name, uint8_t ret[6])
{
	struct lane_ends ends = {.n = 0};
	struct veth_limits told;
	struct veth_peer peer;
	int err;

	snprintf(ends.alias, sizeof(ends.alias), OWNER_PORT_ALIAS "%s", name);
	err = link_list(nl, take_lane_end, &ends);
	if (err)
		return err;
	/* Of more than one a former lane left the others. */
	if (ends.n != 1 || veth_peer(nl, ends.ifindex[0], &peer) || !peer.elsewhere)
		return -ENODEV;
	err = veth_limits_get(nl, peer.ifindex, peer.netnsid, &told);
	if (!err && !told.has_mac)
		err = -ENODEV;
	if (!err)
		memcpy(ret, told.mac, sizeof(told.mac));
	return err;
}

static void keep_port_name(struct nl *nl, const char *name, struct report *r)
{
	struct link_info link;

	if (!sync_port_find(nl, name, &link) && strcmp(link.name, name) != 0)
		give_name(nl, &link, name, r);
}

/* The kernel's tunnel devices */

struct owned {
	char name[IFNAMSIZ];
};

static int take_owned(int ifindex, const char *name, const char *kind, void *arg)
{
	struct owned owned;

	(void)ifindex;
	(void)kind;
	snprintf(owned.name, sizeof(owned.name), "%s", name);
	return sync_list_add(arg, &owned);
}

static bool is_desired(const struct desired *d, const char *name)
{
	for (size_t i = 0; i < d->n_overlays; i++) {
		if (!strcmp(d->overlays[i].config->name, name))
			return true;
	}
	return false;
}

static bool is_as_wanted(struct nl *nl, const char *name, const struct tunnel *want,
			 struct tunnel_found *ret)
{
	char why[128];

	return !tunnel_find(nl, name, ret) && ret->is_tunnel && ret->tunnel.type == want->type &&
	       !tunnel_differs(ret, want, why, sizeof(why));
}

static void keep_tunnel_name(struct nl *nl, const struct desired *d, const struct tunnel *want,
			     struct report *r)
{
	struct sync_list list = {.item_len = sizeof(struct owned)};
	struct link_info link = {.ifindex = 0};
	struct tunnel_found found;

	/* What cannot be listed is made again, and told then. */
	if (tunnel_find(nl, want->name, &found) != -ENODEV ||
	    tunnel_list_owned(nl, take_owned, &list))
		goto out;
	for (size_t i = 0; i < list.n && !link.ifindex; i++) {
		const struct owned *owned = sync_list_at(&list, i);

		if (!is_desired(d, owned->name) && is_as_wanted(nl, owned->name, want, &found)) {
			link.ifindex = found.ifindex;
			memcpy(link.name, owned->name, sizeof(link.name));
		}
	}
	if (link.ifindex)
		give_name(nl, &link, want->name, r);
out:
	sync_list_done(&list);
}

void sync_names_keep(struct nl *nl, const struct desired *d, struct report *r)
{
	struct link_info lane = {.ifindex = 0};
	struct tunnel want;

	keep_lane_name(nl, d->config->lane.interface, r);
	(void)sync_lane_find(nl, d->config->lane.interface, &lane);
	for (size_t i = 0; i < d->n_overlays; i++) {
		const struct desired_overlay *overlay = &d->overlays[i];

		if (!sync_is_tunnel(overlay)) {
			keep_port_name(nl, overlay->config->name, r);
			continue;
		}
		sync_tunnel_describe(overlay, lane.ifindex, &want);
		keep_tunnel_name(nl, d, &want, r);
	}
}
