/* SPDX-License-Identifier: Apache-2.0 */
#include "address.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

#include "nl.h"

enum { ADDRESS_REQUEST_LEN = 128 };

union address_request {
	struct nlmsghdr nlh;
	uint8_t bytes[ADDRESS_REQUEST_LEN];
};

static bool build(const struct address *address, uint16_t type, union address_request *ret);
static bool parse(const struct nlmsghdr *nlh, struct address *ret);

int address_add(struct nl *nl, const struct address *address)
{
	union address_request req;

	if (!build(address, RTM_NEWADDR, &req))
		return -EINVAL;
	req.nlh.nlmsg_flags = NLM_F_CREATE | NLM_F_EXCL;
	if (address->protocol)
		mnl_attr_put_u8(&req.nlh, IFA_PROTO, address->protocol);
	return nl_call(nl, &req.nlh, NULL, NULL);
}

int address_delete(struct nl *nl, const struct address *address)
{
	union address_request req;

	if (!build(address, RTM_DELADDR, &req))
		return -EINVAL;
	return nl_call(nl, &req.nlh, NULL, NULL);
}

struct address_list {
	int ifindex;
	address_fn fn;
	void *arg;
};

static int on_address(const struct nlmsghdr *nlh, void *arg)
{
	const struct address_list *list = arg;
	struct address address;

	if (!parse(nlh, &address) || (list->ifindex && list->ifindex != address.ifindex))
		return 0;
	return list->fn(&address, list->arg);
}

/* Older kernels list all devices whatever they are asked, so the choice is ours. */
int address_list(struct nl *nl, int ifindex, address_fn fn, void *arg)
{
	struct address_list list = {.ifindex = ifindex, .fn = fn, .arg = arg};
	union address_request req = {.bytes = {0}};

	mnl_nlmsg_put_header(&req.nlh);
	req.nlh.nlmsg_type = RTM_GETADDR;
	req.nlh.nlmsg_flags = NLM_F_DUMP;
	mnl_nlmsg_put_extra_header(&req.nlh, sizeof(struct ifaddrmsg));
	return nl_call(nl, &req.nlh, on_address, &list);
}

static int take_made_up(const struct address *address, void *arg)
{
	struct address *made_up = arg;

	if (address->protocol == IFAPROT_KERNEL_LL)
		*made_up = *address;
	return 0;
}

int address_delete_made_up(struct nl *nl, int ifindex)
{
	struct address made_up = {.ifindex = 0};
	int err = address_list(nl, ifindex, take_made_up, &made_up);

	if (!err && made_up.ifindex)
		err = address_delete(nl, &made_up);
	return err == -EADDRNOTAVAIL ? 0 : err;
}

static bool build(const struct address *address, uint16_t type, union address_request *ret)
{
	const struct ip_prefix *prefix = &address->prefix;
	const int family = ip_addr_family(&prefix->addr);
	struct ifaddrmsg *ifa;

	if (address->ifindex <= 0 || family == AF_UNSPEC || prefix->len > 8 * prefix->addr.len)
		return false;

	*ret = (union address_request){.bytes = {0}};
	mnl_nlmsg_put_header(&ret->nlh);
	ret->nlh.nlmsg_type = type;
	ifa = mnl_nlmsg_put_extra_header(&ret->nlh, sizeof(*ifa));
	ifa->ifa_family = (uint8_t)family;
	ifa->ifa_prefixlen = prefix->len;
	ifa->ifa_index = (uint32_t)address->ifindex;
	if (family == AF_INET6)
		ifa->ifa_flags = IFA_F_NODAD;
	/* Both, or the kernel takes it for the far end of a point-to-point link. */
	mnl_attr_put(&ret->nlh, IFA_LOCAL, prefix->addr.len, prefix->addr.bytes);
	mnl_attr_put(&ret->nlh, IFA_ADDRESS, prefix->addr.len, prefix->addr.bytes);
	return true;
}

static bool parse(const struct nlmsghdr *nlh, struct address *ret)
{
	const struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(nlh);
	struct ip_addr local = {.len = 0}, far = {.len = 0};
	const struct nlattr *attr;
	struct nl_attrs attrs;

	if (nlh->nlmsg_type != RTM_NEWADDR || !nl_attrs_begin(nlh, sizeof(*ifa), &attrs))
		return false;

	*ret = (struct address){.ifindex = (int)ifa->ifa_index};
	while ((attr = nl_attrs_next(&attrs))) {
		const void *payload = mnl_attr_get_payload(attr);
		const size_t len = mnl_attr_get_payload_len(attr);

		if (mnl_attr_get_type(attr) == IFA_LOCAL)
			ip_addr_from_bytes(payload, len, &local);
		else if (mnl_attr_get_type(attr) == IFA_ADDRESS)
			ip_addr_from_bytes(payload, len, &far);
		else if (mnl_attr_get_type(attr) == IFA_PROTO && len == sizeof(uint8_t))
			ret->protocol = *(const uint8_t *)payload;
	}
	/* IPv6 tells an address without a far end as IFA_ADDRESS alone. */
	ret->prefix = (struct ip_prefix){local.len ? local : far, ifa->ifa_prefixlen};
	return ip_addr_family(&ret->prefix.addr) == ifa->ifa_family &&
	       ret->prefix.len <= 8 * ret->prefix.addr.len;
}
