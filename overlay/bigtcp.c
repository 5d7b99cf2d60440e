/* SPDX-License-Identifier: Apache-2.0 */
#include "bigtcp.h"

#include <errno.h>
#include <string.h>

#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "bigtcp_internal.h"
#include "linkmsg.h"
#include "nl.h"

/* Of Linux 5.19 and 6.3, newer than the headers we may be built with. */
enum {
	BIGTCP_GRO_MAX_SIZE = 58,
	BIGTCP_TSO_MAX_SIZE = 59,
	BIGTCP_GSO_IPV4_MAX_SIZE = 63,
	BIGTCP_GRO_IPV4_MAX_SIZE = 64,
};

/* The four limits */

bool bigtcp_take_size(const struct nlattr *attr, struct bigtcp_sizes *sizes)
{
	switch (mnl_attr_get_type(attr)) {
	case IFLA_GSO_MAX_SIZE:
		return nl_attr_u32(attr, &sizes->gso);
	case BIGTCP_GRO_MAX_SIZE:
		return nl_attr_u32(attr, &sizes->gro);
	case BIGTCP_GSO_IPV4_MAX_SIZE:
		return nl_attr_u32(attr, &sizes->gso_ipv4);
	case BIGTCP_GRO_IPV4_MAX_SIZE:
		return nl_attr_u32(attr, &sizes->gro_ipv4);
	default:
		return true;
	}
}

/* Two messages, so that the order does not rest on the kernel's: it lets a main
 * attribute of at most 65536 overwrite its IPv4 twin. One that does not know the
 * second pair (before 6.3) ignores it. */
int bigtcp_put_sizes(struct nl *nl, int ifindex, const struct bigtcp_sizes *sizes)
{
	union linkmsg_request req;
	int err;

	linkmsg_begin(&req, RTM_NEWLINK, ifindex);
	mnl_attr_put_u32(&req.nlh, IFLA_GSO_MAX_SIZE, sizes->gso);
	mnl_attr_put_u32(&req.nlh, BIGTCP_GRO_MAX_SIZE, sizes->gro);
	err = nl_call(nl, &req.nlh, NULL, NULL);
	if (err)
		return err;

	linkmsg_begin(&req, RTM_NEWLINK, ifindex);
	mnl_attr_put_u32(&req.nlh, BIGTCP_GSO_IPV4_MAX_SIZE, sizes->gso_ipv4);
	mnl_attr_put_u32(&req.nlh, BIGTCP_GRO_IPV4_MAX_SIZE, sizes->gro_ipv4);
	return nl_call(nl, &req.nlh, NULL, NULL);
}

int bigtcp_change_sizes(struct nl *nl, int ifindex, const struct bigtcp_sizes *before,
			const struct bigtcp_sizes *sizes)
{
	int err = bigtcp_put_sizes(nl, ifindex, sizes);

	if (err)
		(void)bigtcp_put_sizes(nl, ifindex, before);
	return err;
}

/* Reading */

static bool take_sizes(const struct nlmsghdr *nlh, struct bigtcp *b)
{
	struct bigtcp_sizes sizes = {0};
	const struct nlattr *attr;
	struct nl_attrs attrs;

	if (!nl_attrs_begin(nlh, sizeof(struct ifinfomsg), &attrs))
		return false;
	while ((attr = nl_attrs_next(&attrs))) {
		if (!bigtcp_take_size(attr, &sizes))
			return false;
		if (mnl_attr_get_type(attr) == BIGTCP_TSO_MAX_SIZE &&
		    !nl_attr_u32(attr, &b->tso_max_size))
			return false;
	}
	b->gso_max_size = sizes.gso;
	b->gro_max_size = sizes.gro;
	b->gso_ipv4_max_size = sizes.gso_ipv4;
	b->gro_ipv4_max_size = sizes.gro_ipv4;
	return true;
}

static bool parse(const struct nlmsghdr *nlh, struct bigtcp *ret)
{
	struct linkmsg link;

	*ret = (struct bigtcp){0};
	if (!linkmsg_parse(nlh, &link) || !take_sizes(nlh, ret))
		return false;
	ret->ifindex = link.ifindex;
	ret->master = link.master;
	ret->up = link.flags & IFF_UP;
	strncpy(ret->name, link.name, sizeof(ret->name) - 1);
	strncpy(ret->kind, link.kind, sizeof(ret->kind) - 1);
	return true;
}

static int on_answer(const struct nlmsghdr *nlh, void *arg)
{
	return parse(nlh, arg) ? 0 : -EBADMSG;
}

int bigtcp_get(struct nl *nl, int ifindex, struct bigtcp *ret)
{
	union linkmsg_request req;
	struct bigtcp b = {0};
	int err;

	if (ifindex <= 0)
		return -ENODEV;
	linkmsg_begin(&req, RTM_GETLINK, ifindex);
	err = nl_call(nl, &req.nlh, on_answer, &b);
	if (err)
		return err;
	if (b.ifindex != ifindex)
		return -EBADMSG;
	*ret = b;
	return 0;
}

struct listing {
	bigtcp_fn fn;
	void *arg;
};

static int on_listed(const struct nlmsghdr *nlh, void *arg)
{
	const struct listing *listing = arg;
	struct bigtcp b;

	if (!parse(nlh, &b))
		return -EBADMSG;
	return listing->fn(&b, listing->arg);
}

int bigtcp_list(struct nl *nl, bigtcp_fn fn, void *arg)
{
	struct listing listing = {fn, arg};
	union linkmsg_request req;

	linkmsg_begin_dump(&req);
	return nl_call(nl, &req.nlh, on_listed, &listing);
}

/* Setting */

int bigtcp_set(struct nl *nl, int ifindex, uint32_t size)
{
	const struct bigtcp_sizes sizes = {size, size, size, size};
	struct bigtcp_sizes before;
	struct bigtcp b;
	int err = bigtcp_get(nl, ifindex, &b);

	if (err)
		return err;
	if (b.tso_max_size && size > b.tso_max_size)
		return -EINVAL;
	before = (struct bigtcp_sizes){b.gso_max_size, b.gro_max_size, b.gso_ipv4_max_size,
				       b.gro_ipv4_max_size};
	return bigtcp_change_sizes(nl, ifindex, &before, &sizes);
}

/* How much is right */

/* Kinds whose drivers only hand superpackets on, or are the hardware ("") that says
 * what it takes. */
static bool hands_on(const char *kind)
{
	static const char *const kinds[] = {"",	    "veth",    "netkit", "dummy", "bridge",
					    "vlan", "macvlan", "ipvlan", "bond"};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!strcmp(kind, kinds[i]))
			return true;
	}
	return false;
}

static bool at_least(unsigned major, unsigned minor, unsigned want_major, unsigned want_minor)
{
	return major > want_major || (major == want_major && minor >= want_minor);
}

/* Of what encapsulates, these two alone were taught that a UDP length may be short of
 * the superpacket's. Elsewhere superpackets above 64 KB came with 6.3 for IPv4, and
 * are not relied on before 6.18, as for the ports. */
static bool may_be_big(const char *kind, unsigned major, unsigned minor)
{
	if (!strcmp(kind, "vxlan") || !strcmp(kind, "geneve"))
		return at_least(major, minor, 7, 3);
	return hands_on(kind) && at_least(major, minor, 6, 18);
}

uint32_t bigtcp_cap(const char *kind, unsigned major, unsigned minor, bool lower_is_tun,
		    uint32_t tso_max_size)
{
	const bool big = !lower_is_tun && tso_max_size && may_be_big(kind, major, minor);
	const uint32_t most = big ? BIGTCP_PORT_SIZE : BIGTCP_LEGACY_SIZE;

	return tso_max_size && tso_max_size < most ? tso_max_size : most;
}
