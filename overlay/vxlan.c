/* SPDX-License-Identifier: Apache-2.0 */
#include "vxlan.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "nl.h"

enum { VXLAN_REQUEST_LEN = 256, VNI_MAX = (1 << 24) - 1 };

/* IFLA_LINKINFO > IFLA_INFO_DATA */
static void put_link_info(struct nlmsghdr *nlh, const struct vxlan_args *args)
{
	struct nlattr *info = mnl_attr_nest_start(nlh, IFLA_LINKINFO), *data;

	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "vxlan");
	data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
	mnl_attr_put_u32(nlh, IFLA_VXLAN_ID, args->vni);
	mnl_attr_put_u16(nlh, IFLA_VXLAN_PORT, htons(args->port));
	mnl_attr_put(nlh, IFLA_VXLAN_LOCAL, sizeof(args->local), args->local);
	mnl_attr_put_u8(nlh, IFLA_VXLAN_LEARNING, 0);
	mnl_attr_nest_end(nlh, data);
	mnl_attr_nest_end(nlh, info);
}

int vxlan_create(struct nl *nl, const struct vxlan_args *args)
{
	union {
		struct nlmsghdr nlh;
		uint8_t bytes[VXLAN_REQUEST_LEN];
	} req = {0};
	const size_t name_len = strlen(args->name);

	if (!name_len || name_len >= IFNAMSIZ || args->vni > VNI_MAX || !args->port)
		return -EINVAL;

	mnl_nlmsg_put_header(&req.nlh);
	req.nlh.nlmsg_type = RTM_NEWLINK;
	req.nlh.nlmsg_flags = NLM_F_CREATE | NLM_F_EXCL;
	mnl_nlmsg_put_extra_header(&req.nlh, sizeof(struct ifinfomsg));
	mnl_attr_put_strz(&req.nlh, IFLA_IFNAME, args->name);
	mnl_attr_put(&req.nlh, IFLA_ADDRESS, sizeof(args->mac), args->mac);
	put_link_info(&req.nlh, args);
	return nl_call(nl, &req.nlh, NULL, NULL);
}
