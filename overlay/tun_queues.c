/* SPDX-License-Identifier: Apache-2.0 */
/* What netlink tells of a TUN or TAP that has several queues (drivers/net/tun.c:
 * tun_fill_info()). */
#include <errno.h>
#include <string.h>

#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "nl.h"
#include "tun.h"

enum { REQUEST_LEN = 256 };

static const struct nlattr *find(struct nl_attrs attrs, unsigned type)
{
	const struct nlattr *attr;

	while ((attr = nl_attrs_next(&attrs))) {
		if (mnl_attr_get_type(attr) == type)
			return attr;
	}
	return NULL;
}

static struct nl_attrs nest(const struct nlattr *attr)
{
	return (struct nl_attrs){mnl_attr_get_payload(attr), mnl_attr_get_payload_len(attr)};
}

static int read_answer(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *info, *data, *n;
	uint32_t *ret = arg;
	struct nl_attrs attrs;

	if (!nl_attrs_begin(nlh, sizeof(struct ifinfomsg), &attrs))
		return -EBADMSG;
	info = find(attrs, IFLA_LINKINFO);
	data = info ? find(nest(info), IFLA_INFO_DATA) : NULL;
	n = data ? find(nest(data), IFLA_TUN_NUM_QUEUES) : NULL;
	if (n && !nl_attr_u32(n, ret))
		return -EBADMSG;
	return 0;
}

int tun_queues_in_use(const char *name)
{
	union {
		struct nlmsghdr nlh;
		uint8_t bytes[REQUEST_LEN];
	} req;
	struct ifinfomsg *ifi;
	uint32_t n = 0;
	struct nl *nl;
	int err = nl_open(&nl);

	if (err)
		return err;
	mnl_nlmsg_put_header(&req);
	req.nlh.nlmsg_type = RTM_GETLINK;
	req.nlh.nlmsg_flags = NLM_F_REQUEST;
	ifi = mnl_nlmsg_put_extra_header(&req.nlh, sizeof(*ifi));
	ifi->ifi_family = AF_UNSPEC;
	mnl_attr_put_strz(&req.nlh, IFLA_IFNAME, name);
	err = nl_call(nl, &req.nlh, read_answer, &n);
	nl_close(nl);
	return err ? err : (int)n;
}
