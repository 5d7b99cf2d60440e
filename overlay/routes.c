/* SPDX-License-Identifier: Apache-2.0 */
#include "routes.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>
#include <linux/if_tunnel.h>
#include <linux/lwtunnel.h>
#include <linux/rtnetlink.h>

#include "nl.h"
#include "nl_batch.h"
#include "nl_internal.h"
#include "routes_internal.h"

/* IP6_RT_PRIO_USER of the kernel. */
enum { IPV6_METRIC_DEFAULT = 1024 };

static uint32_t table_of(const struct route *route);
static uint32_t metric_of(const struct route *route);
static bool same_way(const struct route *a, const struct route *b);
static bool key_valid(const struct route *route);
static bool way_valid(const struct route *route);
static struct rtmsg *begin(const struct route *route, uint16_t type, union route_request *ret);
static void put_way(struct nlmsghdr *nlh, const struct route *route);

bool route_same_entry(const struct route *a, const struct route *b)
{
	return table_of(a) == table_of(b) && metric_of(a) == metric_of(b) &&
	       ip_prefix_equal(&a->dst, &b->dst);
}

bool route_equal(const struct route *a, const struct route *b)
{
	return !a->odd && !b->odd && route_same_entry(a, b) && a->protocol == b->protocol &&
	       a->unreachable == b->unreachable && (a->unreachable || same_way(a, b));
}

/*
 * What replacing cannot mean is a second entry: IPv4 refuses a replacement with
 * EEXIST only where the very same route is there, behind another of the same metric.
 */
int route_put(struct nl_batch *b, const struct route *route, void *cookie)
{
	union route_request req;

	if (!route_build_put(route, &req))
		return -EINVAL;
	return nl_batch_add_fine(b, &req.nlh, -EEXIST, cookie);
}

int route_remove(struct nl_batch *b, const struct route *route, void *cookie)
{
	union route_request req;

	if (!route_build_remove(route, &req))
		return -EINVAL;
	return nl_batch_add(b, &req.nlh, cookie);
}

bool route_build_put(const struct route *route, union route_request *ret)
{
	struct rtmsg *rt;

	if (!key_valid(route) || !way_valid(route))
		return false;

	rt = begin(route, RTM_NEWROUTE, ret);
	ret->nlh.nlmsg_flags |= NLM_F_CREATE | NLM_F_REPLACE;
	if (route->unreachable)
		return true;
	/* IPv4 wants to know that the destination is on the link itself. */
	if (!route->via.len)
		rt->rtm_scope = RT_SCOPE_LINK;
	else if (route->onlink)
		rt->rtm_flags |= RTNH_F_ONLINK;
	put_way(&ret->nlh, route);
	return true;
}

bool route_build_remove(const struct route *route, union route_request *ret)
{
	struct rtmsg *rt;

	if (!key_valid(route))
		return false;

	rt = begin(route, RTM_DELROUTE, ret);
	rt->rtm_scope = RT_SCOPE_NOWHERE; /* any */
	if (!route->unreachable && route->oif > 0)
		mnl_attr_put_u32(&ret->nlh, RTA_OIF, (uint32_t)route->oif);
	return true;
}

static uint32_t table_of(const struct route *route)
{
	return route->table ? route->table : RT_TABLE_MAIN;
}

/* In a request for removal no metric would mean any. */
static uint32_t metric_of(const struct route *route)
{
	if (!route->metric && route->dst.addr.len == 16)
		return IPV6_METRIC_DEFAULT;
	return route->metric;
}

static bool same_encap(const struct route_encap *a, const struct route_encap *b)
{
	if (!a->present || !b->present)
		return a->present == b->present;
	return a->id == b->id && ip_addr_equal(&a->remote, &b->remote) &&
	       ip_addr_equal(&a->local, &b->local) && a->ttl == b->ttl && a->tos == b->tos &&
	       a->csum == b->csum;
}

static bool is_onlink(const struct route *route)
{
	return route->onlink && route->via.len;
}

static bool same_way(const struct route *a, const struct route *b)
{
	return a->oif == b->oif && ip_addr_equal(&a->via, &b->via) &&
	       is_onlink(a) == is_onlink(b) && ip_addr_equal(&a->src, &b->src) &&
	       a->mtu == b->mtu && same_encap(&a->encap, &b->encap);
}

/* The kernel takes no protocol for any, and a route without could not be found again. */
static bool key_valid(const struct route *route)
{
	struct ip_prefix network;

	if (ip_addr_family(&route->dst.addr) == AF_UNSPEC || !route->protocol ||
	    route->dst.len > 8 * route->dst.addr.len)
		return false;
	network = ip_prefix_network(&route->dst);
	return ip_prefix_equal(&network, &route->dst);
}

static bool none_or_valid(const struct ip_addr *addr)
{
	return !addr->len || ip_addr_family(addr) != AF_UNSPEC;
}

static bool way_valid(const struct route *route)
{
	const struct route_encap *encap = &route->encap;

	if (route->unreachable)
		return true;
	if (route->oif <= 0 || !none_or_valid(&route->via) ||
	    (route->src.len && route->src.len != route->dst.addr.len))
		return false;
	return !encap->present || (ip_addr_family(&encap->remote) != AF_UNSPEC &&
				   (!encap->local.len || encap->local.len == encap->remote.len));
}

static struct rtmsg *begin(const struct route *route, uint16_t type, union route_request *ret)
{
	const uint32_t table = table_of(route), metric = metric_of(route);
	struct rtmsg *rt;

	memset(ret, 0, sizeof(*ret));
	mnl_nlmsg_put_header(&ret->nlh);
	ret->nlh.nlmsg_type = type;
	rt = mnl_nlmsg_put_extra_header(&ret->nlh, sizeof(*rt));
	rt->rtm_family = (uint8_t)ip_addr_family(&route->dst.addr);
	rt->rtm_dst_len = route->dst.len;
	rt->rtm_table = table < 256 ? (uint8_t)table : RT_TABLE_UNSPEC;
	rt->rtm_protocol = route->protocol;
	rt->rtm_type = route->unreachable ? RTN_UNREACHABLE : RTN_UNICAST;
	if (route->dst.len)
		mnl_attr_put(&ret->nlh, RTA_DST, route->dst.addr.len, route->dst.addr.bytes);
	mnl_attr_put_u32(&ret->nlh, RTA_TABLE, table);
	if (metric)
		mnl_attr_put_u32(&ret->nlh, RTA_PRIORITY, metric);
	return rt;
}

static void put_addr(struct nlmsghdr *nlh, uint16_t type, const struct ip_addr *addr)
{
	if (addr->len)
		mnl_attr_put(nlh, type, addr->len, addr->bytes);
}

static void put_gateway(struct nlmsghdr *nlh, const struct route *route)
{
	struct {
		uint16_t family;
		uint8_t bytes[16];
	} via = {.family = (uint16_t)ip_addr_family(&route->via)};

	if (route->via.len == route->dst.addr.len) {
		put_addr(nlh, RTA_GATEWAY, &route->via);
	} else if (route->via.len) {
		memcpy(via.bytes, route->via.bytes, route->via.len);
		mnl_attr_put(nlh, RTA_VIA, sizeof(via.family) + route->via.len, &via);
	}
}

static_assert((int)LWTUNNEL_IP_ID == LWTUNNEL_IP6_ID && (int)LWTUNNEL_IP_DST == LWTUNNEL_IP6_DST &&
		      (int)LWTUNNEL_IP_SRC == LWTUNNEL_IP6_SRC &&
		      (int)LWTUNNEL_IP_TTL == LWTUNNEL_IP6_HOPLIMIT &&
		      (int)LWTUNNEL_IP_TOS == LWTUNNEL_IP6_TC &&
		      (int)LWTUNNEL_IP_FLAGS == LWTUNNEL_IP6_FLAGS,
	      "one nest serves both families");

/* The key flag says that @id is one, even 0. */
static void put_encap(struct nlmsghdr *nlh, const struct route_encap *encap)
{
	const uint64_t id_be64 = htobe64(encap->id);
	const bool outer6 = encap->remote.len == 16;
	struct nlattr *nest;

	mnl_attr_put_u16(nlh, RTA_ENCAP_TYPE, outer6 ? LWTUNNEL_ENCAP_IP6 : LWTUNNEL_ENCAP_IP);
	nest = mnl_attr_nest_start(nlh, RTA_ENCAP);
	mnl_attr_put(nlh, LWTUNNEL_IP_ID, sizeof(id_be64), &id_be64);
	put_addr(nlh, LWTUNNEL_IP_DST, &encap->remote);
	put_addr(nlh, LWTUNNEL_IP_SRC, &encap->local);
	mnl_attr_put_u8(nlh, LWTUNNEL_IP_TTL, encap->ttl);
	mnl_attr_put_u8(nlh, LWTUNNEL_IP_TOS, encap->tos);
	mnl_attr_put_u16(nlh, LWTUNNEL_IP_FLAGS,
			 (uint16_t)(TUNNEL_KEY | (encap->csum ? TUNNEL_CSUM : 0)));
	mnl_attr_nest_end(nlh, nest);
}

static void put_way(struct nlmsghdr *nlh, const struct route *route)
{
	mnl_attr_put_u32(nlh, RTA_OIF, (uint32_t)route->oif);
	put_gateway(nlh, route);
	put_addr(nlh, RTA_PREFSRC, &route->src);
	if (route->mtu) {
		struct nlattr *nest = mnl_attr_nest_start(nlh, RTA_METRICS);

		mnl_attr_put_u32(nlh, RTAX_MTU, route->mtu);
		mnl_attr_nest_end(nlh, nest);
	}
	if (route->encap.present)
		put_encap(nlh, &route->encap);
}
