/* SPDX-License-Identifier: Apache-2.0 */
#include "linkmsg.h"

#include <string.h>

#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "nl.h"

void linkmsg_begin(union linkmsg_request *req, uint16_t type, int ifindex)
{
	struct ifinfomsg *ifi;

	memset(req, 0, sizeof(*req));
	mnl_nlmsg_put_header(req);
	req->nlh.nlmsg_type = type;
	ifi = mnl_nlmsg_put_extra_header(&req->nlh, sizeof(*ifi));
	ifi->ifi_family = AF_UNSPEC;
	ifi->ifi_index = ifindex;
}

void linkmsg_begin_dump(union linkmsg_request *req)
{
	linkmsg_begin(req, RTM_GETLINK, 0);
	req->nlh.nlmsg_flags = NLM_F_DUMP;
	mnl_attr_put_u32(&req->nlh, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
}

/* False: not a text with its end. */
static bool take_text(const struct nlattr *attr, const char **ret)
{
	const char *text = mnl_attr_get_payload(attr);
	const size_t len = mnl_attr_get_payload_len(attr);

	if (strnlen(text, len) == len)
		return false;
	*ret = text;
	return true;
}

/* IFLA_LINKINFO */
static bool take_info(const struct nlattr *info, struct linkmsg *link)
{
	struct nl_attrs attrs = {mnl_attr_get_payload(info), mnl_attr_get_payload_len(info)};
	const struct nlattr *attr;
	bool ok = true;

	while (ok && (attr = nl_attrs_next(&attrs))) {
		if (mnl_attr_get_type(attr) == IFLA_INFO_KIND)
			ok = take_text(attr, &link->kind);
		else if (mnl_attr_get_type(attr) == IFLA_INFO_DATA)
			link->data = attr;
	}
	return ok && !attrs.left;
}

static bool take_attr(const struct nlattr *attr, struct linkmsg *link)
{
	uint32_t value = 0;
	bool ok = true;

	switch (mnl_attr_get_type(attr)) {
	case IFLA_IFNAME:
		return take_text(attr, &link->name);
	case IFLA_IFALIAS:
		return take_text(attr, &link->alias);
	case IFLA_LINKINFO:
		return take_info(attr, link);
	case IFLA_MTU:
		return nl_attr_u32(attr, &link->mtu);
	case IFLA_MASTER:
		ok = nl_attr_u32(attr, &value);
		link->master = (int)value;
		return ok;
	case IFLA_LINK_NETNSID:
		link->across = true;
		return true;
	case IFLA_ADDRESS:
		/* 4 or 16 bytes on IP tunnels, 20 on InfiniBand: no MAC. */
		link->has_mac = mnl_attr_get_payload_len(attr) == sizeof(link->mac);
		if (link->has_mac)
			memcpy(link->mac, mnl_attr_get_payload(attr), sizeof(link->mac));
		return true;
	default:
		return true;
	}
}

bool linkmsg_parse(const struct nlmsghdr *nlh, struct linkmsg *ret)
{
	struct linkmsg link = {.name = "", .alias = "", .kind = ""};
	const struct ifinfomsg *ifi;
	const struct nlattr *attr;
	struct nl_attrs attrs;

	if (nlh->nlmsg_type != RTM_NEWLINK || !nl_attrs_begin(nlh, sizeof(*ifi), &attrs))
		return false;
	ifi = mnl_nlmsg_get_payload(nlh);
	if (ifi->ifi_family != AF_UNSPEC || ifi->ifi_index <= 0)
		return false;
	link.ifindex = ifi->ifi_index;
	link.flags = ifi->ifi_flags;
	while ((attr = nl_attrs_next(&attrs))) {
		if (!take_attr(attr, &link))
			return false;
	}
	if (attrs.left || !link.name[0])
		return false;
	*ret = link;
	return true;
}
