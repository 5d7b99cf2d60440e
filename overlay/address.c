/* SPDX-License-Identifier: Apache-2.0 */
#include "address.h"

#include <errno.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

#include "nl.h"

enum { ADDRESS_REQUEST_LEN = 128 };

int address_add4(struct nl *nl, int ifindex, const uint8_t address[4], unsigned prefix_len)
{
	union {
		struct nlmsghdr nlh;
		uint8_t bytes[ADDRESS_REQUEST_LEN];
	} req = {0};
	struct ifaddrmsg *ifa;

	if (ifindex <= 0 || prefix_len > 32)
		return -EINVAL;

	mnl_nlmsg_put_header(&req.nlh);
	req.nlh.nlmsg_type = RTM_NEWADDR;
	req.nlh.nlmsg_flags = NLM_F_CREATE | NLM_F_EXCL;
	ifa = mnl_nlmsg_put_extra_header(&req.nlh, sizeof(*ifa));
	ifa->ifa_family = AF_INET;
	ifa->ifa_prefixlen = (uint8_t)prefix_len;
	ifa->ifa_index = (uint32_t)ifindex;
	/* Both, or the kernel takes it for the far end of a point-to-point link. */
	mnl_attr_put(&req.nlh, IFA_LOCAL, 4, address);
	mnl_attr_put(&req.nlh, IFA_ADDRESS, 4, address);
	return nl_call(nl, &req.nlh, NULL, NULL);
}
