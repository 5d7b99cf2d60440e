/* SPDX-License-Identifier: Apache-2.0 */
#include "routes_internal.h"

#include <endian.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>
#include <linux/if_tunnel.h>
#include <linux/lwtunnel.h>
#include <linux/rtnetlink.h>

#include "nl.h"

/* A next hop's attributes, as of the message or of one of several next hops. */
struct hop {
	uint32_t oif;
	bool onlink;
	struct ip_addr via;
	const struct nlattr *encap;
	uint16_t encap_type;
};

static bool is_ours_to_tell(const struct rtmsg *rt);
static void read_attr(const struct nlattr *attr, struct route *route, struct hop *hop);
static void read_hop_attr(const struct nlattr *attr, struct hop *hop);
static void read_first_hop(const struct nlattr *multipath, struct hop *hop);
static void read_metrics(const struct nlattr *nest, struct route *route);
static bool read_encap(const struct hop *hop, struct route_encap *ret);

struct route_list {
	uint8_t protocol;
	route_fn fn;
	void *arg;
};

static int on_route(const struct nlmsghdr *nlh, void *arg)
{
	const struct route_list *list = arg;
	struct route route;

	if (!route_parse(nlh, &route))
		return 0;
	if (list->protocol && (route.odd || route.protocol != list->protocol))
		return 0;
	return list->fn(&route, list->arg);
}

int route_list(struct nl *nl, uint8_t protocol, route_fn fn, void *arg)
{
	struct route_list list = {.protocol = protocol, .fn = fn, .arg = arg};
	union route_request req = {.bytes = {0}};

	mnl_nlmsg_put_header(&req.nlh);
	req.nlh.nlmsg_type = RTM_GETROUTE;
	req.nlh.nlmsg_flags = NLM_F_DUMP;
	mnl_nlmsg_put_extra_header(&req.nlh, sizeof(struct rtmsg));
	return nl_call(nl, &req.nlh, on_route, &list);
}

bool route_parse(const struct nlmsghdr *nlh, struct route *ret)
{
	const struct rtmsg *rt = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *attr;
	struct hop hop = {.oif = 0};
	struct route route;
	struct nl_attrs attrs;

	if (nlh->nlmsg_type != RTM_NEWROUTE || !nl_attrs_begin(nlh, sizeof(*rt), &attrs) ||
	    !is_ours_to_tell(rt))
		return false;

	route = (struct route){
		/* A default route has no RTA_DST. */
		.dst = {{.len = rt->rtm_family == AF_INET ? 4 : 16}, rt->rtm_dst_len},
		.table = rt->rtm_table,
		.protocol = rt->rtm_protocol,
		.unreachable = rt->rtm_type == RTN_UNREACHABLE,
		.odd = rt->rtm_type != RTN_UNREACHABLE && rt->rtm_type != RTN_UNICAST,
	};
	hop.onlink = rt->rtm_flags & RTNH_F_ONLINK;
	while ((attr = nl_attrs_next(&attrs)))
		read_attr(attr, &route, &hop);
	if (attrs.left || ip_addr_family(&route.dst.addr) != rt->rtm_family ||
	    route.dst.len > 8 * route.dst.addr.len)
		return false;

	/* IPv6 gives an unreachable route the loopback device, which says nothing. */
	if (!route.unreachable) {
		route.oif = (int)hop.oif;
		route.via = hop.via;
		route.onlink = hop.onlink;
		if (hop.encap && !read_encap(&hop, &route.encap))
			route.odd = true;
	}
	*ret = route;
	return true;
}

static bool is_ours_to_tell(const struct rtmsg *rt)
{
	switch (rt->rtm_type) {
	case RTN_UNICAST:
	case RTN_UNREACHABLE:
	case RTN_BLACKHOLE:
	case RTN_PROHIBIT:
	case RTN_THROW:
		return (rt->rtm_family == AF_INET || rt->rtm_family == AF_INET6) && !rt->rtm_tos &&
		       !rt->rtm_src_len && !(rt->rtm_flags & RTM_F_CLONED);
	default:
		return false;
	}
}

static void take_addr(const struct nlattr *attr, struct ip_addr *ret)
{
	ip_addr_from_bytes(mnl_attr_get_payload(attr), mnl_attr_get_payload_len(attr), ret);
}

static void read_attr(const struct nlattr *attr, struct route *route, struct hop *hop)
{
	switch (mnl_attr_get_type(attr)) {
	case RTA_DST:
		take_addr(attr, &route->dst.addr);
		break;
	case RTA_TABLE:
		nl_attr_u32(attr, &route->table);
		break;
	case RTA_PRIORITY:
		nl_attr_u32(attr, &route->metric);
		break;
	case RTA_PREFSRC:
		take_addr(attr, &route->src);
		break;
	case RTA_METRICS:
		read_metrics(attr, route);
		break;
	case RTA_MULTIPATH:
		read_first_hop(attr, hop);
		break;
	default:
		read_hop_attr(attr, hop);
	}
}

/* struct rtvia: a family, then the address. */
static void read_via(const struct nlattr *attr, struct hop *hop)
{
	const uint8_t *payload = mnl_attr_get_payload(attr);
	const size_t len = mnl_attr_get_payload_len(attr);
	struct ip_addr via;
	uint16_t family;

	if (len < sizeof(family))
		return;
	memcpy(&family, payload, sizeof(family));
	if (ip_addr_from_bytes(payload + sizeof(family), len - sizeof(family), &via) &&
	    ip_addr_family(&via) == family)
		hop->via = via;
}

static void read_hop_attr(const struct nlattr *attr, struct hop *hop)
{
	switch (mnl_attr_get_type(attr)) {
	case RTA_OIF:
		nl_attr_u32(attr, &hop->oif);
		break;
	case RTA_GATEWAY:
		take_addr(attr, &hop->via);
		break;
	case RTA_VIA:
		read_via(attr, hop);
		break;
	case RTA_ENCAP:
		hop->encap = attr;
		break;
	case RTA_ENCAP_TYPE:
		if (mnl_attr_get_payload_len(attr) == sizeof(hop->encap_type))
			memcpy(&hop->encap_type, mnl_attr_get_payload(attr),
			       sizeof(hop->encap_type));
		break;
	}
}

static void read_first_hop(const struct nlattr *multipath, struct hop *hop)
{
	const char *payload = mnl_attr_get_payload(multipath);
	const size_t len = mnl_attr_get_payload_len(multipath);
	const struct nlattr *attr;
	struct rtnexthop first;
	struct nl_attrs attrs;

	if (len < sizeof(first))
		return;
	memcpy(&first, payload, sizeof(first));
	if (first.rtnh_len < sizeof(first) || first.rtnh_len > len)
		return;

	hop->oif = (uint32_t)first.rtnh_ifindex;
	hop->onlink = first.rtnh_flags & RTNH_F_ONLINK;
	attrs = (struct nl_attrs){payload + sizeof(first), first.rtnh_len - sizeof(first)};
	while ((attr = nl_attrs_next(&attrs)))
		read_hop_attr(attr, hop);
}

static void read_metrics(const struct nlattr *nest, struct route *route)
{
	struct nl_attrs attrs = {mnl_attr_get_payload(nest), mnl_attr_get_payload_len(nest)};
	const struct nlattr *attr;

	while ((attr = nl_attrs_next(&attrs))) {
		if (mnl_attr_get_type(attr) == RTAX_MTU)
			nl_attr_u32(attr, &route->mtu);
	}
}

static void read_encap_attr(const struct nlattr *attr, struct route_encap *encap)
{
	const uint8_t *payload = mnl_attr_get_payload(attr);
	const size_t len = mnl_attr_get_payload_len(attr);
	uint64_t id_be64;
	uint16_t flags;

	/* The IPv6 nest has the same numbers (routes.c). */
	switch (mnl_attr_get_type(attr)) {
	case LWTUNNEL_IP_ID:
		if (len == sizeof(id_be64)) {
			memcpy(&id_be64, payload, sizeof(id_be64));
			encap->id = be64toh(id_be64);
		}
		break;
	case LWTUNNEL_IP_DST:
		take_addr(attr, &encap->remote);
		break;
	case LWTUNNEL_IP_SRC:
		take_addr(attr, &encap->local);
		break;
	case LWTUNNEL_IP_TTL:
		encap->ttl = len == 1 ? *payload : 0;
		break;
	case LWTUNNEL_IP_TOS:
		encap->tos = len == 1 ? *payload : 0;
		break;
	case LWTUNNEL_IP_FLAGS:
		if (len == sizeof(flags)) {
			memcpy(&flags, payload, sizeof(flags));
			encap->csum = flags & TUNNEL_CSUM;
		}
		break;
	}
}

/* False for an encapsulation of another type, which is no tunnel's. */
static bool read_encap(const struct hop *hop, struct route_encap *ret)
{
	static const uint8_t zero[16];
	struct nl_attrs attrs = {mnl_attr_get_payload(hop->encap),
				 mnl_attr_get_payload_len(hop->encap)};
	struct route_encap encap = {.present = true};
	const struct nlattr *attr;

	if (hop->encap_type != LWTUNNEL_ENCAP_IP && hop->encap_type != LWTUNNEL_ENCAP_IP6)
		return false;
	while ((attr = nl_attrs_next(&attrs)))
		read_encap_attr(attr, &encap);

	/* The kernel tells a source that nobody set as zero. */
	if (!memcmp(encap.local.bytes, zero, sizeof(zero)))
		encap.local = (struct ip_addr){.len = 0};
	*ret = encap;
	return true;
}
