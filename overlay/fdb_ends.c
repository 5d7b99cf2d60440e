/* SPDX-License-Identifier: Apache-2.0 */
/* The forwarding database's half of neighbours.h. */
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

enum { FDB_REQUEST_LEN = 128 };

union fdb_request {
	struct nlmsghdr nlh;
	uint8_t bytes[FDB_REQUEST_LEN];
};

static bool build(const struct fdb_end *e, uint16_t type, union fdb_request *ret);

static bool is_flooding(const uint8_t mac[6])
{
	static const uint8_t zero[6];

	return !memcmp(mac, zero, sizeof(zero));
}

/* Not every kernel takes an end that is already on the flooding list for done. */
int fdb_end_put(struct nl_batch *b, const struct fdb_end *e, void *cookie)
{
	union fdb_request req;

	if (!build(e, RTM_NEWNEIGH, &req))
		return -EINVAL;
	if (!is_flooding(e->mac)) {
		req.nlh.nlmsg_flags |= NLM_F_CREATE | NLM_F_REPLACE;
		return nl_batch_add(b, &req.nlh, cookie);
	}
	req.nlh.nlmsg_flags |= NLM_F_CREATE | NLM_F_APPEND;
	return nl_batch_add_fine(b, &req.nlh, -EEXIST, cookie);
}

int fdb_end_remove(struct nl_batch *b, const struct fdb_end *e, void *cookie)
{
	union fdb_request req;

	if (!build(e, RTM_DELNEIGH, &req))
		return -EINVAL;
	return nl_batch_add(b, &req.nlh, cookie);
}

struct fdb_list {
	int ifindex;
	fdb_end_fn fn;
	void *arg;
};

static int on_end(const struct nlmsghdr *nlh, void *arg)
{
	const struct fdb_list *list = arg;
	struct fdb_end e;

	if (!fdb_end_parse(nlh, &e) || e.ifindex != list->ifindex)
		return 0;
	return list->fn(&e, list->arg);
}

/* A socket that does not ask for strict checks names the device in a link's header. */
int fdb_end_list(struct nl *nl, int ifindex, fdb_end_fn fn, void *arg)
{
	struct fdb_list list = {.ifindex = ifindex, .fn = fn, .arg = arg};
	union fdb_request req = {.bytes = {0}};
	struct ifinfomsg *ifi;

	mnl_nlmsg_put_header(&req.nlh);
	req.nlh.nlmsg_type = RTM_GETNEIGH;
	req.nlh.nlmsg_flags = NLM_F_DUMP;
	ifi = mnl_nlmsg_put_extra_header(&req.nlh, sizeof(*ifi));
	ifi->ifi_family = AF_BRIDGE;
	ifi->ifi_index = ifindex;
	return nl_call(nl, &req.nlh, on_end, &list);
}

/* A group's MAC can have many ends, but the kernel replaces none of them. */
static bool build(const struct fdb_end *e, uint16_t type, union fdb_request *ret)
{
	struct ndmsg *ndm;

	if (e->ifindex <= 0 || ip_addr_family(&e->remote) == AF_UNSPEC || e->mac[0] & 1)
		return false;

	memset(ret, 0, sizeof(*ret));
	mnl_nlmsg_put_header(&ret->nlh);
	ret->nlh.nlmsg_type = type;
	ndm = mnl_nlmsg_put_extra_header(&ret->nlh, sizeof(*ndm));
	ndm->ndm_family = AF_BRIDGE;
	ndm->ndm_ifindex = e->ifindex;
	ndm->ndm_state = NUD_NOARP | NUD_PERMANENT;
	ndm->ndm_flags = NTF_SELF | NTF_EXT_LEARNED;
	mnl_attr_put(&ret->nlh, NDA_LLADDR, sizeof(e->mac), e->mac);
	mnl_attr_put(&ret->nlh, NDA_DST, e->remote.len, e->remote.bytes);
	return true;
}

/* A bridge that has the device as its port tells entries of its own about it, without
 * a tunnel's end. */
bool fdb_end_parse(const struct nlmsghdr *nlh, struct fdb_end *ret)
{
	const struct ndmsg *ndm = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *attr;
	struct nl_attrs attrs;
	bool has_mac = false;

	if (!nl_is_neighbour(nlh) || !nl_attrs_begin(nlh, sizeof(*ndm), &attrs) ||
	    ndm->ndm_family != AF_BRIDGE)
		return false;

	*ret = (struct fdb_end){
		.ifindex = ndm->ndm_ifindex,
		.ours = ndm->ndm_flags & NTF_EXT_LEARNED,
	};
	while ((attr = nl_attrs_next(&attrs))) {
		const void *payload = mnl_attr_get_payload(attr);
		const size_t len = mnl_attr_get_payload_len(attr);

		if (mnl_attr_get_type(attr) == NDA_LLADDR && len == sizeof(ret->mac)) {
			memcpy(ret->mac, payload, sizeof(ret->mac));
			has_mac = true;
		} else if (mnl_attr_get_type(attr) == NDA_DST) {
			ip_addr_from_bytes(payload, len, &ret->remote);
		}
	}
	return !attrs.left && has_mac && ret->remote.len;
}
