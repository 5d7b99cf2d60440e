/* SPDX-License-Identifier: Apache-2.0 */
#include "link.h"

#include <errno.h>
#include <string.h>

#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "nl.h"

/* Room for every request of this file; the largest takes about 100 bytes. */
enum { LINK_REQUEST_LEN = 256 };

/* IFLA_GSO_IPV4_MAX_SIZE of Linux 6.3, newer than the headers we may be built with. */
enum { LINK_GSO_IPV4_MAX_SIZE = 63 };

union link_request {
	struct nlmsghdr nlh;
	uint8_t bytes[LINK_REQUEST_LEN];
};

struct link_answer {
	struct link_info link;
	bool found;
};

static struct ifinfomsg *begin(union link_request *req, uint16_t type, int ifindex);
static int get(struct nl *nl, union link_request *req, struct link_info *ret);
static bool change_valid(const struct link_change *change);
static int set_fields(struct nl *nl, int ifindex, const struct link_change *change);
static int set_addr_gen_none(struct nl *nl, int ifindex);
static bool parse_attr(const struct nlattr *attr, struct link_info *link);

int link_get(struct nl *nl, const char *name, struct link_info *ret)
{
	size_t len = strlen(name);
	union link_request req;

	/* The kernel answers ERANGE or EINVAL; for the caller it is the same as
	 * any other name that no device has. */
	if (!len || len >= IFNAMSIZ)
		return -ENODEV;

	begin(&req, RTM_GETLINK, 0);
	mnl_attr_put_strz(&req.nlh, IFLA_IFNAME, name);
	return get(nl, &req, ret);
}

int link_get_index(struct nl *nl, int ifindex, struct link_info *ret)
{
	union link_request req;

	if (ifindex <= 0)
		return -ENODEV;

	begin(&req, RTM_GETLINK, ifindex);
	return get(nl, &req, ret);
}

/*
 * Within one message the kernel sets IFF_UP before it looks at IFLA_AF_SPEC, and a
 * device that comes up gets its link-local address at once. Also it refuses the
 * attribute by the MTU the device had before. So: fields, address mode, up.
 */
int link_set(struct nl *nl, int ifindex, const struct link_change *change)
{
	struct link_change fields = *change;
	int err = 0;

	if (ifindex <= 0 || !change_valid(change))
		return -EINVAL;
	if (!change->set_addr_gen_none)
		return set_fields(nl, ifindex, change);

	fields.set_up = false;
	if (fields.set_mtu || fields.set_txqlen || fields.set_mac || fields.set_arp)
		err = set_fields(nl, ifindex, &fields);
	if (!err)
		err = set_addr_gen_none(nl, ifindex);
	if (!err && change->set_up) {
		fields = (struct link_change){.set_up = true, .up = change->up};
		err = set_fields(nl, ifindex, &fields);
	}
	return err;
}

int link_delete(struct nl *nl, int ifindex)
{
	union link_request req;

	/* Index 0 would let the kernel choose by other attributes. */
	if (ifindex <= 0)
		return -EINVAL;

	begin(&req, RTM_DELLINK, ifindex);
	return nl_call(nl, &req.nlh, NULL, NULL);
}

int link_parse(const struct nlmsghdr *nlh, struct link_info *ret)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
	struct link_info link = {0};
	const struct nlattr *attr;
	struct nl_attrs attrs;

	if (nlh->nlmsg_type != RTM_NEWLINK && nlh->nlmsg_type != RTM_DELLINK)
		return -EBADMSG;
	if (!nl_attrs_begin(nlh, sizeof(*ifi), &attrs))
		return -EBADMSG;
	if (ifi->ifi_family != AF_UNSPEC || ifi->ifi_index <= 0)
		return -EBADMSG;

	link.ifindex = ifi->ifi_index;
	link.flags = ifi->ifi_flags;
	while ((attr = nl_attrs_next(&attrs))) {
		if (!parse_attr(attr, &link))
			return -EBADMSG;
	}

	if (attrs.left || !link.name[0] || !link.mtu)
		return -EBADMSG;
	*ret = link;
	return 0;
}

static struct ifinfomsg *begin(union link_request *req, uint16_t type, int ifindex)
{
	struct ifinfomsg *ifi;

	memset(req, 0, sizeof(*req));
	mnl_nlmsg_put_header(req);
	req->nlh.nlmsg_type = type;

	ifi = mnl_nlmsg_put_extra_header(&req->nlh, sizeof(*ifi));
	ifi->ifi_family = AF_UNSPEC;
	ifi->ifi_index = ifindex;
	return ifi;
}

static int on_link(const struct nlmsghdr *nlh, void *arg)
{
	struct link_answer *answer = arg;
	int err = link_parse(nlh, &answer->link);

	if (!err)
		answer->found = true;
	return err;
}

static int set_name(struct nl *nl, int ifindex, const char *name)
{
	union link_request req;

	begin(&req, RTM_NEWLINK, ifindex);
	mnl_attr_put_strz(&req.nlh, IFLA_IFNAME, name);
	return nl_call(nl, &req.nlh, NULL, NULL);
}

int link_rename(struct nl *nl, int ifindex, const char *name)
{
	struct link_change change = {.set_up = true};
	int err, up;

	if (ifindex <= 0 || !*name || strlen(name) >= IFNAMSIZ)
		return -EINVAL;
	err = set_name(nl, ifindex, name);
	if (err != -EBUSY)
		return err;
	err = set_fields(nl, ifindex, &change);
	if (err)
		return err;
	err = set_name(nl, ifindex, name);
	change.up = true;
	up = set_fields(nl, ifindex, &change);
	return err ? err : up;
}

struct link_walk {
	link_fn fn;
	void *arg;
};

static int on_each_link(const struct nlmsghdr *nlh, void *arg)
{
	const struct link_walk *walk = arg;
	struct link_info link;

	return link_parse(nlh, &link) ? 0 : walk->fn(&link, walk->arg);
}

int link_list(struct nl *nl, link_fn fn, void *arg)
{
	struct link_walk walk = {fn, arg};
	union link_request req;

	begin(&req, RTM_GETLINK, 0);
	req.nlh.nlmsg_flags = NLM_F_DUMP;
	return nl_call(nl, &req.nlh, on_each_link, &walk);
}

int link_set_alias(struct nl *nl, int ifindex, const char *alias)
{
	union link_request req;

	if (ifindex <= 0 || strlen(alias) >= LINK_ALIAS_LEN)
		return -EINVAL;

	begin(&req, RTM_NEWLINK, ifindex);
	mnl_attr_put_str(&req.nlh, IFLA_IFALIAS, alias);
	return nl_call(nl, &req.nlh, NULL, NULL);
}

static int get(struct nl *nl, union link_request *req, struct link_info *ret)
{
	struct link_answer answer = {.found = false};
	int err = nl_call(nl, &req->nlh, on_link, &answer);

	if (err)
		return err;
	if (!answer.found)
		return -EBADMSG;
	*ret = answer.link;
	return 0;
}

static bool change_valid(const struct link_change *change)
{
	static const uint8_t zero[sizeof(change->mac)];

	if (!change->set_mac)
		return true;
	return !(change->mac[0] & 1) && memcmp(change->mac, zero, sizeof(zero)) != 0;
}

static void put_flag(struct ifinfomsg *ifi, uint32_t flag, bool on)
{
	ifi->ifi_change |= flag;
	if (on)
		ifi->ifi_flags |= flag;
}

/* IFLA_AF_SPEC > AF_INET6: no address is made up from the MAC. */
static void put_addr_gen_none(struct nlmsghdr *nlh)
{
	struct nlattr *spec = mnl_attr_nest_start(nlh, IFLA_AF_SPEC);
	struct nlattr *inet6 = mnl_attr_nest_start(nlh, AF_INET6);

	mnl_attr_put_u8(nlh, IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE);
	mnl_attr_nest_end(nlh, inet6);
	mnl_attr_nest_end(nlh, spec);
}

static int set_fields(struct nl *nl, int ifindex, const struct link_change *change)
{
	union link_request req;
	struct ifinfomsg *ifi = begin(&req, RTM_NEWLINK, ifindex);

	if (change->set_up)
		put_flag(ifi, IFF_UP, change->up);
	if (change->set_arp)
		put_flag(ifi, IFF_NOARP, !change->arp);
	if (change->set_mtu)
		mnl_attr_put_u32(&req.nlh, IFLA_MTU, change->mtu);
	if (change->set_txqlen)
		mnl_attr_put_u32(&req.nlh, IFLA_TXQLEN, change->txqlen);
	if (change->set_mac)
		mnl_attr_put(&req.nlh, IFLA_ADDRESS, sizeof(change->mac), change->mac);
	return nl_call(nl, &req.nlh, NULL, NULL);
}

static int set_addr_gen_none(struct nl *nl, int ifindex)
{
	union link_request req;
	int err;

	begin(&req, RTM_NEWLINK, ifindex);
	put_addr_gen_none(&req.nlh);
	err = nl_call(nl, &req.nlh, NULL, NULL);

	/* No IPv6 in the kernel, or none on this device because its MTU is below
	 * 1280: then no address is generated either. */
	return err == -EAFNOSUPPORT || err == -EOPNOTSUPP ? 0 : err;
}

static bool parse_name(const struct nlattr *attr, struct link_info *link)
{
	const char *name = mnl_attr_get_payload(attr);
	size_t max_len = mnl_attr_get_payload_len(attr);
	size_t len = strnlen(name, max_len);

	if (len == max_len || len == 0 || len >= sizeof(link->name))
		return false;
	memcpy(link->name, name, len + 1);
	return true;
}

static void parse_alias(const struct nlattr *attr, struct link_info *link)
{
	size_t len = mnl_attr_get_payload_len(attr);

	if (len >= sizeof(link->alias))
		len = sizeof(link->alias) - 1;
	memcpy(link->alias, mnl_attr_get_payload(attr), len);
	link->alias[len] = '\0';
}

static const struct nlattr *find_nested(const struct nlattr *nest, uint16_t type)
{
	struct nl_attrs attrs = {mnl_attr_get_payload(nest), mnl_attr_get_payload_len(nest)};
	const struct nlattr *attr;

	while ((attr = nl_attrs_next(&attrs))) {
		if (mnl_attr_get_type(attr) == type)
			return attr;
	}
	return NULL;
}

/* IFLA_AF_SPEC, in which there is no AF_INET6 while the device has no IPv6. */
static void parse_addr_gen(const struct nlattr *spec, struct link_info *link)
{
	const struct nlattr *inet6 = find_nested(spec, AF_INET6), *mode = NULL;

	if (inet6)
		mode = find_nested(inet6, IFLA_INET6_ADDR_GEN_MODE);
	link->addr_gen = mode && mnl_attr_get_payload_len(mode) == sizeof(uint8_t) &&
			 mnl_attr_get_u8(mode) != IN6_ADDR_GEN_MODE_NONE;
}

/* False: this attribute cannot be what the kernel calls by that type. */
static bool parse_attr(const struct nlattr *attr, struct link_info *link)
{
	const void *payload = mnl_attr_get_payload(attr);
	size_t len = mnl_attr_get_payload_len(attr);

	switch (mnl_attr_get_type(attr)) {
	case IFLA_IFNAME:
		return parse_name(attr, link);
	case IFLA_MTU:
		return nl_attr_u32(attr, &link->mtu);
	case IFLA_GSO_MAX_SIZE:
		return nl_attr_u32(attr, &link->gso_max_size);
	case IFLA_GSO_MAX_SEGS:
		return nl_attr_u32(attr, &link->gso_max_segs);
	case LINK_GSO_IPV4_MAX_SIZE:
		return nl_attr_u32(attr, &link->gso_ipv4_max_size);
	case IFLA_IFALIAS:
		parse_alias(attr, link);
		return true;
	case IFLA_AF_SPEC:
		parse_addr_gen(attr, link);
		return true;
	case IFLA_ADDRESS:
		/* 4 or 16 bytes on IP tunnels, 20 on InfiniBand: no MAC. */
		link->has_mac = len == sizeof(link->mac);
		if (link->has_mac)
			memcpy(link->mac, payload, sizeof(link->mac));
		return true;
	default:
		return true;
	}
}
