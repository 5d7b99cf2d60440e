/* SPDX-License-Identifier: Apache-2.0 */
#include "tunnel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include <libmnl/libmnl.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "link.h"
#include "nl.h"
#include "owner.h"
#include "tunnel_internal.h"

enum { TUNNEL_MTU_MIN = 68, TUNNEL_VNI_MAX = (1 << 24) - 1 };

static bool valid(const struct tunnel *t);
static int create_error(struct nl *nl, const struct tunnel *t, int err);
static int finish(struct nl *nl, const struct tunnel *t, const struct link_info *made);

const char *tunnel_type_name(enum tunnel_type type)
{
	static const char *const names[] = {
		[TUNNEL_VXLAN] = "vxlan",
		[TUNNEL_GENEVE] = "geneve",
		[TUNNEL_BAREUDP] = "bareudp",
	};

	return names[type];
}

/* No kernel takes an alias with a creation, and some make an MTU smaller without a
 * word: what is left to do is done by finish(), or the device goes again. */
int tunnel_create(struct nl *nl, const struct tunnel *t, int *ret_ifindex)
{
	union linkmsg_request req;
	struct link_info made;
	int err;

	if (!valid(t))
		return -EINVAL;
	tunnel_request(t, &req);
	err = nl_call(nl, &req.nlh, NULL, NULL);
	if (err)
		return create_error(nl, t, err);
	err = link_get(nl, t->name, &made);
	if (err)
		return err;
	err = finish(nl, t, &made);
	if (err) {
		(void)link_delete(nl, made.ifindex);
		return err;
	}
	*ret_ifindex = made.ifindex;
	return 0;
}

/* The request */

static void put_vxlan(struct nlmsghdr *nlh, const struct tunnel *t)
{
	const bool ip6 = t->local.len == 16;

	mnl_attr_put_u32(nlh, IFLA_VXLAN_ID, t->vni);
	mnl_attr_put_u16(nlh, IFLA_VXLAN_PORT, htons(t->udp_port));
	mnl_attr_put(nlh, ip6 ? IFLA_VXLAN_LOCAL6 : IFLA_VXLAN_LOCAL, t->local.len, t->local.bytes);
	if (t->link)
		mnl_attr_put_u32(nlh, IFLA_VXLAN_LINK, (uint32_t)t->link);
	/* A TTL of 0 would be the route's, which is something else. */
	if (t->ttl)
		mnl_attr_put_u8(nlh, IFLA_VXLAN_TTL, t->ttl);
	else
		mnl_attr_put(nlh, IFLA_VXLAN_TTL_INHERIT, 0, NULL);
	mnl_attr_put_u8(nlh, IFLA_VXLAN_LEARNING, 0);
	mnl_attr_put_u8(nlh, IFLA_VXLAN_UDP_CSUM, t->csum);
	mnl_attr_put_u8(nlh, IFLA_VXLAN_UDP_ZERO_CSUM6_TX, !t->csum);
	mnl_attr_put_u8(nlh, IFLA_VXLAN_UDP_ZERO_CSUM6_RX, !t->csum);
}

/* Nothing of what a route says may be said here too, not even that there is a
 * checksum. A kernel without IPv6 refuses the last attribute. */
static void put_geneve(struct nlmsghdr *nlh, const struct tunnel *t)
{
	mnl_attr_put(nlh, IFLA_GENEVE_COLLECT_METADATA, 0, NULL);
	mnl_attr_put_u16(nlh, IFLA_GENEVE_PORT, htons(t->udp_port));
	mnl_attr_put_u8(nlh, IFLA_GENEVE_UDP_CSUM, 0);
	if (t->outer6)
		mnl_attr_put_u8(nlh, IFLA_GENEVE_UDP_ZERO_CSUM6_RX, !t->csum);
}

/* ETH_P_IP stands for both versions in multiproto mode. */
static void put_bareudp(struct nlmsghdr *nlh, const struct tunnel *t)
{
	mnl_attr_put_u16(nlh, IFLA_BAREUDP_PORT, htons(t->udp_port));
	mnl_attr_put_u16(nlh, IFLA_BAREUDP_ETHERTYPE, htons(ETH_P_IP));
	mnl_attr_put_u16(nlh, IFLA_BAREUDP_SRCPORT_MIN, TUNNEL_BAREUDP_SOURCE_PORT_MIN);
	mnl_attr_put(nlh, IFLA_BAREUDP_MULTIPROTO_MODE, 0, NULL);
}

/* IFLA_LINKINFO > IFLA_INFO_DATA */
static void put_info(struct nlmsghdr *nlh, const struct tunnel *t)
{
	struct nlattr *info = mnl_attr_nest_start(nlh, IFLA_LINKINFO), *data;

	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, tunnel_type_name(t->type));
	data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
	switch (t->type) {
	case TUNNEL_VXLAN:
		put_vxlan(nlh, t);
		break;
	case TUNNEL_GENEVE:
		put_geneve(nlh, t);
		break;
	case TUNNEL_BAREUDP:
		put_bareudp(nlh, t);
		break;
	}
	mnl_attr_nest_end(nlh, data);
	mnl_attr_nest_end(nlh, info);
}

void tunnel_request(const struct tunnel *t, union linkmsg_request *ret)
{
	linkmsg_begin(ret, RTM_NEWLINK, 0);
	ret->nlh.nlmsg_flags = NLM_F_CREATE | NLM_F_EXCL;
	mnl_attr_put_strz(&ret->nlh, IFLA_IFNAME, t->name);
	mnl_attr_put_u32(&ret->nlh, IFLA_MTU, t->mtu);
	if (t->type != TUNNEL_BAREUDP)
		mnl_attr_put(&ret->nlh, IFLA_ADDRESS, sizeof(t->mac), t->mac);
	put_info(&ret->nlh, t);
}

/* What cannot be */

static bool name_valid(const char *name)
{
	const size_t len = strnlen(name, IFNAMSIZ);

	/* A name that counts could not be found again. */
	return len && len < IFNAMSIZ && !strchr(name, '%');
}

static bool all_zero(const uint8_t *bytes, size_t len)
{
	static const uint8_t zero[16];

	return !memcmp(bytes, zero, len);
}

static bool vxlan_valid(const struct tunnel *t)
{
	return t->vni <= TUNNEL_VNI_MAX && t->link >= 0 &&
	       (t->local.len == 4 || t->local.len == 16) &&
	       !all_zero(t->local.bytes, sizeof(t->local.bytes));
}

static bool valid(const struct tunnel *t)
{
	if (t->type > TUNNEL_BAREUDP || !name_valid(t->name) || !t->udp_port ||
	    t->mtu < TUNNEL_MTU_MIN)
		return false;
	if (t->type != TUNNEL_BAREUDP && ((t->mac[0] & 1) || all_zero(t->mac, sizeof(t->mac))))
		return false;
	return t->type != TUNNEL_VXLAN || vxlan_valid(t);
}

/* What was refused */

/*
 * The types have words of their own for "somebody has this VNI or port": VXLAN the one
 * for a name that is taken; bare UDP EBUSY; Geneve EBUSY beside a device in external
 * mode and EPERM, which it explains, beside another.
 */
static int create_error(struct nl *nl, const struct tunnel *t, int err)
{
	struct link_info link;

	if (err == -EBUSY || (err == -EPERM && t->type == TUNNEL_GENEVE && nl_errmsg(nl)[0]))
		return -EADDRINUSE;
	if (err == -EEXIST && t->type == TUNNEL_VXLAN && link_get(nl, t->name, &link) == -ENODEV)
		return -EADDRINUSE;
	return err;
}

/* After the creation */

static int finish(struct nl *nl, const struct tunnel *t, const struct link_info *made)
{
	const struct link_change change = {.set_mtu = true, .mtu = t->mtu};
	int err = 0;

	if (made->mtu != t->mtu)
		err = link_set(nl, made->ifindex, &change);
	return err ? err : link_set_alias(nl, made->ifindex, OWNER_ALIAS);
}
