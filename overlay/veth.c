/* SPDX-License-Identifier: Apache-2.0 */
#include "veth.h"

#include <errno.h>
#include <string.h>

#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>

#include "bigtcp_internal.h"
#include "link.h"
#include "linkmsg.h"
#include "nl.h"

struct veth_answer {
	bool found;
	bool has_peer;
	struct veth_peer peer;
	struct veth_limits limits;
	struct bigtcp_sizes sizes;
};

/* Creating */

static bool name_valid(const char *name, bool may_count)
{
	size_t len = name ? strnlen(name, IFNAMSIZ) : 0;

	return len && len < IFNAMSIZ && (may_count || !strchr(name, '%'));
}

static bool end_valid(const struct veth_end_args *end)
{
	static const uint8_t zero[sizeof(end->mac)];

	return !end->has_mac || (!(end->mac[0] & 1) && memcmp(end->mac, zero, sizeof(zero)) != 0);
}

static void put_end(struct nlmsghdr *nlh, const struct veth_end_args *end)
{
	if (end->name)
		mnl_attr_put_strz(nlh, IFLA_IFNAME, end->name);
	if (end->mtu)
		mnl_attr_put_u32(nlh, IFLA_MTU, end->mtu);
	if (end->has_mac)
		mnl_attr_put(nlh, IFLA_ADDRESS, sizeof(end->mac), end->mac);
	if (end->n_queues) {
		mnl_attr_put_u32(nlh, IFLA_NUM_TX_QUEUES, end->n_queues);
		mnl_attr_put_u32(nlh, IFLA_NUM_RX_QUEUES, end->n_queues);
	}
	if (end->elsewhere)
		mnl_attr_put_u32(nlh, IFLA_NET_NS_FD, (uint32_t)end->netns_fd);
}

/* IFLA_LINKINFO > IFLA_INFO_DATA > VETH_INFO_PEER, which holds a family header
 * before its attributes. */
static void put_link_info(struct nlmsghdr *nlh, const struct veth_end_args *peer)
{
	struct nlattr *info = mnl_attr_nest_start(nlh, IFLA_LINKINFO), *data, *nest;

	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "veth");
	data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
	nest = mnl_attr_nest_start(nlh, VETH_INFO_PEER);
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg));
	put_end(nlh, peer);
	mnl_attr_nest_end(nlh, nest);
	mnl_attr_nest_end(nlh, data);
	mnl_attr_nest_end(nlh, info);
}

int veth_create(struct nl *nl, const struct veth_args *args, int *ret_ifindex,
		int *ret_peer_ifindex)
{
	union linkmsg_request req;
	struct veth_peer peer;
	struct link_info link;
	int err;

	/* A name that counts could not be found again. */
	if (args->end.elsewhere || !name_valid(args->end.name, false) || !end_valid(&args->end) ||
	    !end_valid(&args->peer))
		return -EINVAL;
	if (args->peer.name && !name_valid(args->peer.name, true))
		return -EINVAL;

	linkmsg_begin(&req, RTM_NEWLINK, 0);
	req.nlh.nlmsg_flags = NLM_F_CREATE | NLM_F_EXCL;
	put_end(&req.nlh, &args->end);
	put_link_info(&req.nlh, &args->peer);
	err = nl_call(nl, &req.nlh, NULL, NULL);
	if (!err)
		err = link_get(nl, args->end.name, &link);
	if (err)
		return err;
	err = veth_peer(nl, link.ifindex, &peer);
	if (err) {
		(void)link_delete(nl, link.ifindex);
		return err;
	}
	*ret_ifindex = link.ifindex;
	*ret_peer_ifindex = peer.ifindex;
	return 0;
}

/* Asking */

/* IFLA_LINK names the other end; with IFLA_LINK_NETNSID it is in that namespace.
 * False: not what the kernel calls by that type. */
static bool take_attr(const struct nlattr *attr, struct veth_answer *answer)
{
	struct veth_limits *limits = &answer->limits;
	uint32_t value;
	bool ok;

	switch (mnl_attr_get_type(attr)) {
	case IFLA_LINK:
		ok = nl_attr_u32(attr, &value);
		answer->has_peer = ok && value;
		answer->peer.ifindex = ok ? (int)value : 0;
		return ok;
	case IFLA_LINK_NETNSID:
		ok = nl_attr_u32(attr, &value);
		answer->peer.elsewhere = ok;
		answer->peer.netnsid = ok ? (int)value : 0;
		return ok;
	case IFLA_ADDRESS:
		limits->has_mac = mnl_attr_get_payload_len(attr) == sizeof(limits->mac);
		if (limits->has_mac)
			memcpy(limits->mac, mnl_attr_get_payload(attr), sizeof(limits->mac));
		return true;
	case IFLA_GSO_MAX_SEGS:
		return nl_attr_u32(attr, &limits->gso_max_segs);
	default:
		return bigtcp_take_size(attr, &answer->sizes);
	}
}

static int on_link(const struct nlmsghdr *nlh, void *arg)
{
	struct veth_answer *answer = arg;
	const struct nlattr *attr;
	struct nl_attrs attrs;

	if (nlh->nlmsg_type != RTM_NEWLINK ||
	    !nl_attrs_begin(nlh, sizeof(struct ifinfomsg), &attrs))
		return -EBADMSG;
	while ((attr = nl_attrs_next(&attrs))) {
		if (!take_attr(attr, answer))
			return -EBADMSG;
	}
	answer->found = !attrs.left;
	return answer->found ? 0 : -EBADMSG;
}

static int ask(struct nl *nl, int ifindex, int netnsid, struct veth_answer *answer)
{
	union linkmsg_request req;
	int err;

	if (ifindex <= 0)
		return -ENODEV;
	linkmsg_begin(&req, RTM_GETLINK, ifindex);
	if (netnsid >= 0)
		mnl_attr_put_u32(&req.nlh, IFLA_TARGET_NETNSID, (uint32_t)netnsid);
	*answer = (struct veth_answer){0};
	err = nl_call(nl, &req.nlh, on_link, answer);
	return !err && !answer->found ? -EBADMSG : err;
}

int veth_peer(struct nl *nl, int ifindex, struct veth_peer *ret)
{
	struct veth_answer answer;
	int err = ask(nl, ifindex, -1, &answer);

	if (err)
		return err;
	if (!answer.has_peer)
		return -ENOTUNIQ;
	*ret = answer.peer;
	return 0;
}

int veth_limits_get(struct nl *nl, int ifindex, int netnsid, struct veth_limits *ret)
{
	struct veth_answer answer;
	int err = ask(nl, ifindex, netnsid, &answer);

	if (err)
		return err;
	*ret = answer.limits;
	ret->gso_max_size = answer.sizes.gso;
	ret->gro_max_size = answer.sizes.gro;
	ret->gso_ipv4_max_size = answer.sizes.gso_ipv4;
	ret->gro_ipv4_max_size = answer.sizes.gro_ipv4;
	return 0;
}

int veth_limits_set(struct nl *nl, int ifindex, uint32_t max_size)
{
	const struct bigtcp_sizes sizes = {max_size, max_size, max_size, max_size};

	return ifindex > 0 ? bigtcp_put_sizes(nl, ifindex, &sizes) : -ENODEV;
}
