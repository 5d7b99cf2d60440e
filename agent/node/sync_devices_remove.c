/* SPDX-License-Identifier: Apache-2.0 */
/* Devices of ours that go: for what takes their place, or because nobody wants them. */
#include "sync.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "overlay/link.h"
#include "overlay/owner.h"
#include "overlay/packet.h"
#include "overlay/tunnel.h"
#include "report.h"
#include "sync_devices_internal.h"
#include "sync_kernel.h"

struct owned {
	int ifindex;
	char name[IFNAMSIZ], kind[32];
};

static int keep_owned(int ifindex, const char *name, const char *kind, void *arg)
{
	struct owned owned = {.ifindex = ifindex};

	snprintf(owned.name, sizeof(owned.name), "%s", name);
	snprintf(owned.kind, sizeof(owned.kind), "%s", kind);
	return sync_list_add(arg, &owned);
}

/* Others of ours are the lane's: its device and its ports. */
static bool is_tunnel_kind(const char *kind)
{
	return !strcmp(kind, tunnel_type_name(TUNNEL_VXLAN)) ||
	       !strcmp(kind, tunnel_type_name(TUNNEL_GENEVE)) ||
	       !strcmp(kind, tunnel_type_name(TUNNEL_BAREUDP));
}

/* Removes those of ours for which @goes says so. */
typedef bool (*goes_fn)(struct nl *nl, const struct desired *d, const struct owned *owned);

static void remove_owned(struct nl *nl, const struct desired *d, goes_fn goes, struct report *r)
{
	struct sync_list list = {.item_len = sizeof(struct owned)};
	int err = tunnel_list_owned(nl, keep_owned, &list);

	if (err)
		report_fault(r, err, "the list of our devices");
	for (size_t i = 0; !err && i < list.n; i++) {
		const struct owned *owned = sync_list_at(&list, i);
		int gone;

		if (!goes(nl, d, owned))
			continue;
		gone = link_delete(nl, owned->ifindex);
		if (!gone)
			report_did(r, &r->removed, "removed device %s", owned->name);
		else if (gone != -ENODEV)
			report_fault(r, gone, "removing device %s", owned->name);
	}
	sync_list_done(&list);
}

/* Those that nobody wants */

/* One that has become a port does not need it. */
static bool is_undesired(struct nl *nl, const struct desired *d, const struct owned *owned)
{
	(void)nl;
	if (!is_tunnel_kind(owned->kind))
		return false;
	for (size_t i = 0; i < d->n_overlays; i++) {
		if (!strcmp(d->overlays[i].config->name, owned->name))
			return !sync_is_tunnel(&d->overlays[i]);
	}
	return true;
}

void sync_devices_remove(struct nl *nl, const struct desired *d, struct report *r)
{
	remove_owned(nl, d, is_undesired, r);
}

/* Those in the way */

/* What the kernel has one device of, or one socket for. */
static bool is_same_end(const struct tunnel *is, const struct desired_overlay *overlay)
{
	if (is->udp_port != overlay->config->udp_port)
		return false;
	return is->type != TUNNEL_VXLAN || overlay->config->type != CONFIG_VXLAN ||
	       is->vni == overlay->config->vni;
}

static bool is_of_type(const struct tunnel *is, const struct desired_overlay *overlay)
{
	return sync_is_tunnel(overlay) &&
	       !strcmp(tunnel_type_name(is->type), config_type_name(overlay->config->type));
}

/*
 * Two overlays may exchange what they are, or one may have the name or the UDP port of
 * another that is no more. A device that will stay as it is is in nobody's way: two that
 * are desired and cannot be together are a fault, which the kernel finds.
 */
static bool tunnel_in_the_way(struct nl *nl, const struct desired *d, const struct owned *owned)
{
	struct tunnel_found found;
	bool blocks = false;

	if (tunnel_find(nl, owned->name, &found) || !found.is_tunnel)
		return false;
	for (size_t i = 0; i < d->n_overlays; i++) {
		const struct desired_overlay *o = &d->overlays[i];
		const bool same_end = is_same_end(&found.tunnel, o);

		if (strcmp(o->config->name, owned->name) != 0)
			blocks |= same_end;
		else if (!sync_is_tunnel(o))
			return true;
		else if (same_end && is_of_type(&found.tunnel, o))
			return false;
	}
	return blocks;
}

/* The pair of a port whose lane has ended, where the overlay has become a device of the
 * kernel's: no lane will take it over. */
static bool pair_in_the_way(struct nl *nl, const struct desired *d, const struct owned *owned)
{
	char alias[LINK_ALIAS_LEN];
	struct link_info link;

	if (link_get_index(nl, owned->ifindex, &link))
		return false;
	for (size_t i = 0; i < d->n_overlays; i++) {
		if (!sync_is_tunnel(&d->overlays[i]))
			continue;
		snprintf(alias, sizeof(alias), OWNER_PORT_ALIAS "%s", d->overlays[i].config->name);
		if (!strcmp(alias, link.alias))
			return packet_is_read(owned->ifindex) == 0;
	}
	return false;
}

static bool is_in_the_way(struct nl *nl, const struct desired *d, const struct owned *owned)
{
	if (!strcmp(owned->kind, "veth"))
		return pair_in_the_way(nl, d, owned);
	return is_tunnel_kind(owned->kind) && tunnel_in_the_way(nl, d, owned);
}

void sync_devices_make_way(struct nl *nl, const struct desired *d, struct report *r)
{
	/* First: under another name it would be in the way. */
	sync_names_keep(nl, d, r);
	if (d->n_overlays)
		remove_owned(nl, d, is_in_the_way, r);
}
