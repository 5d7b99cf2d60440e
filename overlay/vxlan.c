/* SPDX-License-Identifier: Apache-2.0 */
#include "vxlan.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdbool.h>
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

/* What is asked for, and whether it was found. */
struct listener_search {
	const uint8_t *local;
	size_t local_len;
	uint16_t port_be16;
	char *name;
	bool found;
};

/* What one link says of itself. */
struct listener {
	const char *name;
	const struct nlattr *data; /* IFLA_INFO_DATA of a VXLAN device, or NULL */
	const struct nlattr *local, *local6;
	uint16_t port_be16;
};

static void read_link_info(const struct nlattr *info, struct listener *l)
{
	struct nl_attrs attrs = {mnl_attr_get_payload(info), mnl_attr_get_payload_len(info)};
	const struct nlattr *attr, *data = NULL;
	bool is_vxlan = false;

	while ((attr = nl_attrs_next(&attrs))) {
		const size_t len = mnl_attr_get_payload_len(attr);

		if (mnl_attr_get_type(attr) == IFLA_INFO_KIND)
			is_vxlan = len == sizeof("vxlan") &&
				   !memcmp(mnl_attr_get_payload(attr), "vxlan", len);
		else if (mnl_attr_get_type(attr) == IFLA_INFO_DATA)
			data = attr;
	}
	l->data = is_vxlan ? data : NULL;
}

static void read_vxlan(const struct nlattr *data, struct listener *l)
{
	struct nl_attrs attrs = {mnl_attr_get_payload(data), mnl_attr_get_payload_len(data)};
	const struct nlattr *attr;

	while ((attr = nl_attrs_next(&attrs))) {
		switch (mnl_attr_get_type(attr)) {
		case IFLA_VXLAN_LOCAL:
			l->local = attr;
			break;
		case IFLA_VXLAN_LOCAL6:
			l->local6 = attr;
			break;
		case IFLA_VXLAN_PORT:
			if (mnl_attr_get_payload_len(attr) == sizeof(l->port_be16))
				memcpy(&l->port_be16, mnl_attr_get_payload(attr),
				       sizeof(l->port_be16));
			break;
		}
	}
}

static bool is_any(const struct nlattr *attr)
{
	static const uint8_t zero[16];
	const size_t len = attr ? mnl_attr_get_payload_len(attr) : 0;

	return len <= sizeof(zero) && (!len || !memcmp(mnl_attr_get_payload(attr), zero, len));
}

static bool listens_there(const struct listener *l, const struct listener_search *want)
{
	const struct nlattr *local = want->local_len == 4 ? l->local : l->local6;
	const struct nlattr *other = want->local_len == 4 ? l->local6 : l->local;

	if (l->port_be16 != want->port_be16)
		return false;
	if (is_any(local)) /* of this family, unless it is bound to the other */
		return is_any(other);
	return mnl_attr_get_payload_len(local) == want->local_len &&
	       !memcmp(mnl_attr_get_payload(local), want->local, want->local_len);
}

static int look_at_link(const struct nlmsghdr *nlh, void *arg)
{
	struct listener_search *want = arg;
	struct listener l = {.name = NULL};
	const struct nlattr *attr;
	struct nl_attrs attrs;

	if (nlh->nlmsg_type != RTM_NEWLINK || want->found ||
	    !nl_attrs_begin(nlh, sizeof(struct ifinfomsg), &attrs))
		return 0;
	while ((attr = nl_attrs_next(&attrs))) {
		const size_t len = mnl_attr_get_payload_len(attr);

		if (mnl_attr_get_type(attr) == IFLA_LINKINFO)
			read_link_info(attr, &l);
		else if (mnl_attr_get_type(attr) == IFLA_IFNAME && len && len <= IFNAMSIZ)
			l.name = mnl_attr_get_payload(attr);
	}
	if (!l.data || !l.name)
		return 0;
	read_vxlan(l.data, &l);
	if (!listens_there(&l, want))
		return 0;
	want->found = true;
	memcpy(want->name, l.name, strnlen(l.name, IFNAMSIZ - 1));
	want->name[strnlen(l.name, IFNAMSIZ - 1)] = '\0';
	return 0;
}

int vxlan_listens(struct nl *nl, const uint8_t *local, size_t local_len, uint16_t port,
		  char ret_name[IFNAMSIZ])
{
	union {
		struct nlmsghdr nlh;
		uint8_t bytes[VXLAN_REQUEST_LEN];
	} req = {0};
	struct listener_search want = {
		.local = local,
		.local_len = local_len,
		.port_be16 = htons(port),
		.name = ret_name,
	};
	int err;

	mnl_nlmsg_put_header(&req.nlh);
	req.nlh.nlmsg_type = RTM_GETLINK;
	req.nlh.nlmsg_flags = NLM_F_DUMP;
	mnl_nlmsg_put_extra_header(&req.nlh, sizeof(struct ifinfomsg));
	err = nl_call(nl, &req.nlh, look_at_link, &want);
	return err ? err : want.found;
}
