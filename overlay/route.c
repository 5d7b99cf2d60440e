/* SPDX-License-Identifier: Apache-2.0 */
#include "route.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "nl.h"

static int take_oif(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *attr;
	struct nl_attrs attrs;
	int *oif = arg;

	if (nlh->nlmsg_type != RTM_NEWROUTE || !nl_attrs_begin(nlh, sizeof(struct rtmsg), &attrs))
		return 0;
	while ((attr = nl_attrs_next(&attrs))) {
		if (mnl_attr_get_type(attr) == RTA_OIF &&
		    mnl_attr_validate(attr, MNL_TYPE_U32) >= 0)
			*oif = (int)mnl_attr_get_u32(attr);
	}
	return 0;
}

int route_get_oif(struct nl *nl, int family, const void *dst, uint32_t fwmark, int *ret_oif)
{
	char buf[256];
	size_t addr_len = family == AF_INET ? 4 : 16;
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct rtmsg *rt;
	int oif = 0, err;

	nlh->nlmsg_type = RTM_GETROUTE;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	rt = mnl_nlmsg_put_extra_header(nlh, sizeof(*rt));
	rt->rtm_family = (unsigned char)family;
	rt->rtm_dst_len = (unsigned char)(addr_len * 8);
	mnl_attr_put(nlh, RTA_DST, addr_len, dst);
	if (fwmark)
		mnl_attr_put_u32(nlh, RTA_MARK, fwmark);

	err = nl_call(nl, nlh, take_oif, &oif);
	if (err)
		return err;
	if (!oif)
		return -ENETUNREACH;
	*ret_oif = oif;
	return 0;
}
