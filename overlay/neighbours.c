/* SPDX-License-Identifier: Apache-2.0 */
#include "neighbours.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include "nl.h"
#include "nl_batch.h"
#include "nl_internal.h"

enum { NEIGHBOUR_REQUEST_LEN = 128 };

union neighbour_request {
	struct nlmsghdr nlh;
	uint8_t bytes[NEIGHBOUR_REQUEST_LEN];
};

static bool build(const struct neighbour *n, uint16_t type, union neighbour_request *ret);

int neighbour_put(struct nl_batch *b, const struct neighbour *n, void *cookie)
{
	union neighbour_request req;

	if (!build(n, RTM_NEWNEIGH, &req))
		return -EINVAL;
	req.nlh.nlmsg_flags |= NLM_F_CREATE | NLM_F_REPLACE;
	mnl_attr_put(&req.nlh, NDA_LLADDR, sizeof(n->mac), n->mac);
	if (n->protocol)
		mnl_attr_put_u8(&req.nlh, NDA_PROTOCOL, n->protocol);
	return nl_batch_add(b, &req.nlh, cookie);
}

int neighbour_remove(struct nl_batch *b, const struct neighbour *n, void *cookie)
{
	union neighbour_request req;

	if (!build(n, RTM_DELNEIGH, &req))
		return -EINVAL;
	return nl_batch_add(b, &req.nlh, cookie);
}

struct neighbour_list {
	int ifindex;
	neighbour_fn fn;
	void *arg;
};

static int on_neighbour(const struct nlmsghdr *nlh, void *arg)
{
	const struct neighbour_list *list = arg;
	struct neighbour n;

	if (!neighbour_parse(nlh, &n) || n.ifindex != list->ifindex)
		return 0;
	return list->fn(&n, list->arg);
}

int neighbour_list(struct nl *nl, int ifindex, neighbour_fn fn, void *arg)
{
	struct neighbour_list list = {.ifindex = ifindex, .fn = fn, .arg = arg};
	union neighbour_request req = {.bytes = {0}};

	mnl_nlmsg_put_header(&req.nlh);
	req.nlh.nlmsg_type = RTM_GETNEIGH;
	req.nlh.nlmsg_flags = NLM_F_DUMP;
	mnl_nlmsg_put_extra_header(&req.nlh, sizeof(struct ndmsg));
	/* Spares us the other devices'; the kernel may pay no heed. */
	mnl_attr_put_u32(&req.nlh, NDA_IFINDEX, (uint32_t)ifindex);
	return nl_call(nl, &req.nlh, on_neighbour, &list);
}

static bool build(const struct neighbour *n, uint16_t type, union neighbour_request *ret)
{
	const int family = ip_addr_family(&n->addr);
	struct ndmsg *ndm;

	if (n->ifindex <= 0 || family == AF_UNSPEC)
		return false;

	memset(ret, 0, sizeof(*ret));
	mnl_nlmsg_put_header(&ret->nlh);
	ret->nlh.nlmsg_type = type;
	ndm = mnl_nlmsg_put_extra_header(&ret->nlh, sizeof(*ndm));
	ndm->ndm_family = (uint8_t)family;
	ndm->ndm_ifindex = n->ifindex;
	ndm->ndm_state = NUD_PERMANENT;
	mnl_attr_put(&ret->nlh, NDA_DST, n->addr.len, n->addr.bytes);
	return true;
}

bool neighbour_parse(const struct nlmsghdr *nlh, struct neighbour *ret)
{
	const struct ndmsg *ndm = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *attr;
	struct nl_attrs attrs;

	if (!nl_is_neighbour(nlh) || !nl_attrs_begin(nlh, sizeof(*ndm), &attrs) ||
	    ndm->ndm_family == AF_UNSPEC)
		return false;

	*ret = (struct neighbour){
		.ifindex = ndm->ndm_ifindex,
		.permanent = ndm->ndm_state & NUD_PERMANENT,
	};
	while ((attr = nl_attrs_next(&attrs))) {
		const void *payload = mnl_attr_get_payload(attr);
		const size_t len = mnl_attr_get_payload_len(attr);

		if (mnl_attr_get_type(attr) == NDA_DST)
			ip_addr_from_bytes(payload, len, &ret->addr);
		else if (mnl_attr_get_type(attr) == NDA_LLADDR && len == sizeof(ret->mac))
			memcpy(ret->mac, payload, sizeof(ret->mac));
		else if (mnl_attr_get_type(attr) == NDA_PROTOCOL && len == sizeof(uint8_t))
			ret->protocol = *(const uint8_t *)payload;
	}
	return !attrs.left && ip_addr_family(&ret->addr) == ndm->ndm_family;
}
