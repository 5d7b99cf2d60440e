/* SPDX-License-Identifier: Apache-2.0 */
#include "route.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "link.h"
#include "nl.h"

/* RTA_METRICS: a nest of RTAX_* */
static void take_metrics(const struct nlattr *nest, struct route_way *way)
{
	struct nl_attrs attrs = {mnl_attr_get_payload(nest), mnl_attr_get_payload_len(nest)};
	const struct nlattr *attr;

	while ((attr = nl_attrs_next(&attrs))) {
		if (mnl_attr_get_type(attr) == RTAX_MTU &&
		    mnl_attr_validate(attr, MNL_TYPE_U32) >= 0)
			way->mtu = mnl_attr_get_u32(attr);
	}
}

static int take_route(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *attr;
	struct route_way *way = arg;
	struct nl_attrs attrs;

	if (nlh->nlmsg_type != RTM_NEWROUTE || !nl_attrs_begin(nlh, sizeof(struct rtmsg), &attrs))
		return 0;
	way->local = ((const struct rtmsg *)mnl_nlmsg_get_payload(nlh))->rtm_type == RTN_LOCAL;
	while ((attr = nl_attrs_next(&attrs))) {
		if (mnl_attr_get_type(attr) == RTA_OIF &&
		    mnl_attr_validate(attr, MNL_TYPE_U32) >= 0)
			way->oif = (int)mnl_attr_get_u32(attr);
		else if (mnl_attr_get_type(attr) == RTA_METRICS)
			take_metrics(attr, way);
	}
	return 0;
}

int route_get_way(struct nl *nl, int family, const void *dst, uint32_t fwmark,
		  struct route_way *ret)
{
	char buf[256];
	size_t addr_len = family == AF_INET ? 4 : 16;
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct route_way way = {0};
	struct link_info link;
	struct rtmsg *rt;
	int err;

	nlh->nlmsg_type = RTM_GETROUTE;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	rt = mnl_nlmsg_put_extra_header(nlh, sizeof(*rt));
	rt->rtm_family = (unsigned char)family;
	rt->rtm_dst_len = (unsigned char)(addr_len * 8);
	mnl_attr_put(nlh, RTA_DST, addr_len, dst);
	if (fwmark)
		mnl_attr_put_u32(nlh, RTA_MARK, fwmark);

	err = nl_call(nl, nlh, take_route, &way);
	if (err)
		return err;
	if (!way.oif)
		return -ENETUNREACH;
	if (!way.mtu) {
		err = link_get_index(nl, way.oif, &link);
		if (err)
			return err;
		way.mtu = link.mtu;
	}
	*ret = way;
	return 0;
}
