/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel tunnel devices, for sync_devices.c. */
#include "sync_devices_internal.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "desired.h"
#include "overlay/bigtcp.h"
#include "overlay/link.h"
#include "overlay/owner.h"
#include "overlay/tunnel.h"
#include "report.h"

static bool have_tunnel(struct nl *nl, const struct tunnel *want, struct report *r,
			struct tunnel_found *ret);
static void adjust(struct nl *nl, const struct tunnel_found *found, const struct tunnel *want,
		   struct report *r);
static void keep_sizes(struct nl *nl, int ifindex, const struct config_overlay *config,
		       const struct sync_lower *lower, struct report *r);
static void keep_cuts(const struct tunnel *want, const struct sync_lower *lower, struct report *r);

void sync_lower_read(struct nl *nl, struct sync_lower *lower)
{
	struct utsname uts;
	struct bigtcp sizes;

	/* Unknown is the same as the kind of device that allows less. */
	lower->is_tun = bigtcp_get(nl, lower->ifindex, &sizes) < 0 || !strcmp(sizes.kind, "tun");
	lower->major = lower->minor = lower->patch = 0;
	if (uname(&uts) == 0)
		(void)sscanf(uts.release, "%u.%u.%u", &lower->major, &lower->minor, &lower->patch);
}

static enum tunnel_type type_of(const struct desired_overlay *overlay)
{
	switch (overlay->config->type) {
	case CONFIG_GENEVE:
		return TUNNEL_GENEVE;
	case CONFIG_BAREUDP:
		return TUNNEL_BAREUDP;
	default:
		return TUNNEL_VXLAN;
	}
}

void sync_tunnel_describe(const struct desired_overlay *overlay, int lower_ifindex,
			  struct tunnel *ret)
{
	const struct config_overlay *config = overlay->config;

	*ret = (struct tunnel){
		.type = type_of(overlay),
		.vni = config->vni,
		.udp_port = config->udp_port,
		.local = overlay->vtep,
		.link = lower_ifindex,
		.ttl = config->ttl,
		.outer6 = config->outer6,
		.csum = overlay->csum,
		.mtu = overlay->mtu,
	};
	memcpy(ret->name, config->name, sizeof(ret->name));
	memcpy(ret->mac, overlay->mac, sizeof(ret->mac));
}

void sync_tunnel_keep(struct nl *nl, const struct desired_overlay *overlay,
		      const struct sync_lower *lower, struct report *r)
{
	struct tunnel_found found;
	struct tunnel want;

	sync_tunnel_describe(overlay, lower->ifindex, &want);
	/* That the lane is away is told already, and a VXLAN device goes with it. */
	if (want.type == TUNNEL_VXLAN && !lower->ifindex)
		return;
	if (!have_tunnel(nl, &want, r, &found))
		return;
	adjust(nl, &found, &want, r);
	keep_sizes(nl, found.ifindex, overlay->config, lower, r);
	keep_cuts(&want, lower, r);
}

static void tell_refused(const struct tunnel *want, int err, struct report *r)
{
	static const char *const options[] = {
		[TUNNEL_VXLAN] = "CONFIG_VXLAN",
		[TUNNEL_GENEVE] = "CONFIG_GENEVE",
		[TUNNEL_BAREUDP] = "CONFIG_BAREUDP",
	};
	const char *type = tunnel_type_name(want->type);

	if (err == -EOPNOTSUPP)
		report_fault(r, 0,
			     "device %s: this kernel has no %s (%s); `type: port` needs none of it",
			     want->name, type, options[want->type]);
	else if (err == -EADDRINUSE)
		report_fault(r, 0, "device %s: another device has UDP port %u, or VNI %u on it",
			     want->name, want->udp_port, want->vni);
	else
		report_fault(r, err, "device %s, making a %s", want->name, type);
}

/* @why it was there and had to be made again, NULL: it was not there. */
static bool make(struct nl *nl, const struct tunnel *want, const char *why, struct report *r,
		 struct tunnel_found *ret)
{
	int ifindex, err = tunnel_create(nl, want, &ifindex);

	if (err) {
		tell_refused(want, err, r);
		return false;
	}
	if (why)
		report_did(r, &r->changed, "made device %s again: %s", want->name, why);
	else
		report_did(r, &r->added, "added device %s, %s", want->name,
			   tunnel_type_name(want->type));
	err = tunnel_find(nl, want->name, ret);
	if (err)
		report_fault(r, err, "device %s", want->name);
	return !err;
}

/* In everything as we make it, to the MAC address, which comes of our key; and nobody says that
 * it is theirs. */
static bool lost_mark(struct nl *nl, const struct tunnel_found *found, const struct tunnel *want)
{
	struct link_info link;
	char buf[128];

	return found->is_tunnel && found->tunnel.type == want->type &&
	       !tunnel_differs(found, want, buf, sizeof(buf)) &&
	       (want->type == TUNNEL_BAREUDP ||
		!memcmp(found->tunnel.mac, want->mac, sizeof(want->mac))) &&
	       !link_get_index(nl, found->ifindex, &link) && !link.alias[0];
}

static bool mark_again(struct nl *nl, struct tunnel_found *found, struct report *r)
{
	const int err = link_set_alias(nl, found->ifindex, OWNER_ALIAS);

	found->ours = !err;
	if (err == -ENODEV)
		r->awaited++;
	else if (err)
		report_fault(r, err, "device %s: its mark", found->tunnel.name);
	else
		report_did(r, &r->changed, "changed device %s: its mark, which somebody took away",
			   found->tunnel.name);
	return !err;
}

static void tell_foreign(const struct tunnel *want, const struct tunnel_found *found,
			 struct report *r)
{
	/* Of ours, what is no tunnel is the lane's. */
	if (!found->is_tunnel || found->ours)
		report_fault(r, 0, "%s: a device of this name is there and not ours", want->name);
	else
		report_fault(r, 0,
			     "%s: a device of this name is there and not ours; if it was, "
			     "`ip link set dev %s alias " OWNER_ALIAS "` makes it so again",
			     want->name, want->name);
}

/* A device of that name that is ours and as @want says, but for what can be changed. */
static bool have_tunnel(struct nl *nl, const struct tunnel *want, struct report *r,
			struct tunnel_found *ret)
{
	char buf[128];
	const char *why;
	int err = tunnel_find(nl, want->name, ret);

	if (err == -ENODEV)
		return make(nl, want, NULL, r, ret);
	if (err) {
		report_fault(r, err, "device %s", want->name);
		return false;
	}
	if (!ret->ours && lost_mark(nl, ret, want))
		return mark_again(nl, ret, r);
	if (!ret->ours || !ret->is_tunnel) {
		tell_foreign(want, ret, r);
		return false;
	}
	why = tunnel_differs(ret, want, buf, sizeof(buf));
	if (!why)
		return true;
	err = link_delete(nl, ret->ifindex);
	if (err && err != -ENODEV) {
		report_fault(r, err, "device %s, making it again: %s", want->name, why);
		return false;
	}
	return make(nl, want, why, r, ret);
}

static void adjust(struct nl *nl, const struct tunnel_found *found, const struct tunnel *want,
		   struct report *r)
{
	struct link_change change = {
		.set_mtu = true,
		.mtu = want->mtu,
		.set_mac = want->type != TUNNEL_BAREUDP,
		.set_up = true,
		.up = true,
	};
	struct link_info is = {
		.ifindex = found->ifindex,
		.mtu = found->tunnel.mtu,
		.flags = found->up ? IFF_UP : 0,
	};

	memcpy(is.name, want->name, sizeof(is.name));
	memcpy(is.mac, found->tunnel.mac, sizeof(is.mac));
	memcpy(change.mac, want->mac, sizeof(change.mac));
	sync_link_adjust(nl, &is, &change, r);
}

static void keep_sizes(struct nl *nl, int ifindex, const struct config_overlay *config,
		       const struct sync_lower *lower, struct report *r)
{
	struct bigtcp sizes = {.gso_max_size = 0};
	uint32_t size = 0;
	int err = bigtcp_get(nl, ifindex, &sizes);

	if (!err) {
		size = bigtcp_cap(sizes.kind, lower->major, lower->minor, lower->is_tun,
				  sizes.tso_max_size);
		if (config->gso_max_size && config->gso_max_size < size)
			size = config->gso_max_size;
	}
	sync_sizes_keep(nl, err, &sizes, config->name, size, r);
}

static void keep_cuts(const struct tunnel *want, const struct sync_lower *lower, struct report *r)
{
	bool changed;
	int err;

	if (tunnel_cuts_right(want->type, lower->major, lower->minor, lower->patch))
		return;
	err = tunnel_cut_before(want->name, want->outer6, &changed);
	if (err)
		report_fault(r, err, "device %s: its offloads", want->name);
	else if (changed)
		report_did(r, &r->changed,
			   "changed device %s: superpackets are cut on their way in", want->name);
}
