/* SPDX-License-Identifier: Apache-2.0 */
#include "sync_routes_internal.h"

#include <linux/rtnetlink.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>

#include "overlay/owner.h"
#include "report.h"
#include "special_net.h"
#include "sync.h"
#include "sync_rules.h"

/* What the kernel makes of an IPv6 route without a metric. */
enum { METRIC6 = 1024 };

struct endpoint {
	struct ip_addr addr;
	const struct member *member;
};

struct wanting {
	struct nl *nl;
	const struct desired *d;
	struct report *r;	    /* or NULL */
	struct sync_list endpoints; /* sorted */
	struct sync_list *routes;
	/* Of IPv4 and IPv6, the table that the lane's datagrams do not see; 0: none. */
	uint32_t unmarked[2];
};

static int gather_endpoints(struct wanting *w);
static int want_lane(struct wanting *w);
static int want_overlay(struct wanting *w, const struct desired_overlay *overlay);

int sync_route_compare(const void *a, const void *b)
{
	const struct route *x = a, *y = b;
	const int order = ip_prefix_compare(&x->dst, &y->dst);

	if (order)
		return order;
	if (x->table != y->table)
		return x->table < y->table ? -1 : 1;
	if (x->metric != y->metric)
		return x->metric < y->metric ? -1 : 1;
	return 0;
}

int sync_routes_want(struct nl *nl, const struct desired *d, struct report *r,
		     struct sync_list *ret)
{
	struct wanting w = {
		.nl = nl,
		.d = d,
		.r = r,
		.endpoints = {.item_len = sizeof(struct endpoint)},
		.routes = ret,
	};
	const uint32_t mark = d->config->lane.fwmark;
	int err = gather_endpoints(&w);

	if (!err)
		err = sync_unmarked_table(nl, AF_INET, mark, &w.unmarked[0]);
	if (!err)
		err = sync_unmarked_table(nl, AF_INET6, mark, &w.unmarked[1]);
	if (!err)
		err = want_lane(&w);
	for (size_t i = 0; !err && i < d->n_overlays; i++)
		err = want_overlay(&w, &d->overlays[i]);
	sync_list_done(&w.endpoints);
	sync_list_sort(ret, sync_route_compare);
	sync_list_unique(ret, sync_route_compare);
	return err;
}

/* Prefixes that must not be routed */

static int compare_endpoint(const void *a, const void *b)
{
	const struct endpoint *x = a, *y = b;

	return ip_addr_compare(&x->addr, &y->addr);
}

static int gather_endpoints(struct wanting *w)
{
	int err = 0;

	for (size_t i = 0; !err && i < w->d->n_peers; i++) {
		struct endpoint e = {.member = w->d->peers[i].member};

		if (sync_endpoint(e.member, &e.addr))
			err = sync_list_add(&w->endpoints, &e);
	}
	sync_list_sort(&w->endpoints, compare_endpoint);
	return err;
}

/* The first endpoint that is not below a prefix is in it, or none is. */
static const struct endpoint *covered_endpoint(const struct wanting *w, const struct ip_prefix *dst)
{
	const struct endpoint key = {.addr = dst->addr};
	const size_t i = sync_list_lower(&w->endpoints, &key, compare_endpoint);
	const struct endpoint *e = i < w->endpoints.n ? sync_list_at(&w->endpoints, i) : NULL;
	struct ip_prefix host;

	if (!e)
		return NULL;
	host = ip_prefix_of_host(&e->addr);
	return ip_prefix_covers(dst, &host) ? e : NULL;
}

/* What would make it right. The command comes with what can be known of it. */
static const char *remedy(const struct wanting *w, const struct ip_prefix *dst, char *buf,
			  size_t buf_len)
{
	const uint32_t mark = w->d->config->lane.fwmark;

	if (mark)
		snprintf(buf, buf_len, "'ip -%d rule add not fwmark 0x%x table N'",
			 dst->addr.len == 16 ? 6 : 4, mark);
	else
		snprintf(buf, buf_len, "lane.fwmark and a rule");
	return buf;
}

/* The remedy stands in front: names may be long, and then the end is cut off. */
static void tell_covered(const struct wanting *w, const struct ip_prefix *dst,
			 const struct member *owner, const struct endpoint *e)
{
	char dst_text[IP_PREFIX_TEXT_LEN], addr_text[IP_ADDR_TEXT_LEN], needs[64];

	if (w->r)
		report_fault(w->r, 0,
			     "route %s to %s: not made, it needs %s, see sealane.yaml(5), for %s, "
			     "the endpoint of %s, is in it",
			     ip_prefix_format(dst, dst_text), owner->name,
			     remedy(w, dst, needs, sizeof(needs)),
			     ip_addr_format(&e->addr, addr_text), e->member->name);
}

/* One prefix */

static int add(struct wanting *w, const struct route *route)
{
	const struct sync_route wanted = {.route = *route};

	return sync_list_add(w->routes, &wanted);
}

/* In the main table there is none behind a default route: it would close the host's ways
 * to everywhere. In one that only a rule leads to that is what the rule is for. */
static int add_closed(struct wanting *w, const struct ip_prefix *dst, uint32_t table)
{
	const struct route closed = {
		.dst = *dst,
		.table = table,
		.metric = SYNC_CLOSED_METRIC,
		.protocol = OWNER_PROTOCOL,
		.unreachable = true,
	};

	return dst->len || table != RT_TABLE_MAIN ? add(w, &closed) : 0;
}

/* The route, if @way has a device, and the closed one behind it. What is encrypted for an
 * endpoint must not come into the lane again: a route that has one in it is made where
 * rules keep the lane's datagrams away from it, or not at all. */
static int want(struct wanting *w, const struct ip_prefix *prefix, const struct route *way,
		const struct member *owner)
{
	const struct ip_prefix dst = ip_prefix_network(prefix);
	const struct endpoint *e = covered_endpoint(w, &dst);
	struct route route = *way;
	int err = 0;

	route.table = e ? w->unmarked[dst.addr.len == 16] : RT_TABLE_MAIN;
	if (!route.table) {
		tell_covered(w, &dst, owner, e);
		return 0;
	}
	route.dst = dst;
	route.metric = dst.addr.len == 16 ? METRIC6 : 0;
	route.protocol = OWNER_PROTOCOL;
	if (route.oif)
		err = add(w, &route);
	return err ? err : add_closed(w, &dst, route.table);
}

/* Into the lane itself */

static const struct ip_addr *tunnel_address(const struct desired *d, const struct ip_addr *dst)
{
	return &d->config->node.tunnel[dst->len == 16];
}

/* Groups and link-local addresses are every link's: the lane passes them by its
 * allowed-ips, and who sends to them says by which device. */
static bool is_routed(const struct ip_prefix *prefix)
{
	const enum special_net special = special_net_of(prefix);

	return special != SPECIAL_MULTICAST && special != SPECIAL_LINK_LOCAL;
}

static int want_lane(struct wanting *w)
{
	int ifindex, err = sync_ifindex(w->nl, w->d->config->lane.interface, &ifindex);

	for (size_t i = 0; !err && i < w->d->n_peers; i++) {
		const struct desired_peer *peer = &w->d->peers[i];

		for (size_t j = 0; !err && j < peer->n_allowed; j++) {
			const struct ip_addr *dst = &peer->allowed[j].addr;
			const struct route way = {.oif = ifindex,
						  .src = *tunnel_address(w->d, dst)};

			if (is_routed(&peer->allowed[j]))
				err = want(w, &peer->allowed[j], &way, peer->member);
		}
	}
	return err;
}

/* Behind the stations of an overlay */

static bool is_external(const struct desired_overlay *overlay)
{
	return overlay->config->type == CONFIG_GENEVE || overlay->config->type == CONFIG_BAREUDP;
}

/* Ours of the family of @dst on the overlay, or none. */
static struct ip_addr source(const struct desired_overlay *overlay, const struct ip_addr *dst)
{
	for (size_t i = 0; i < overlay->config->n_addresses; i++) {
		if (overlay->config->addresses[i].addr.len == dst->len)
			return overlay->config->addresses[i].addr;
	}
	return (struct ip_addr){.len = 0};
}

static struct route_encap encap_to(const struct desired_overlay *overlay,
				   const struct desired_station *station)
{
	return (struct route_encap){
		.present = is_external(overlay),
		.id = overlay->config->vni,
		.remote = station->vtep,
		.local = overlay->vtep,
		.ttl = overlay->config->ttl,
		.csum = overlay->csum,
	};
}

/* The station's address of the family of @dst; else, as IPv4 can have a gateway of the
 * other family (but not IPv6), its first. NULL: it has none that would do. */
static const struct ip_addr *gateway(const struct desired_station *station,
				     const struct ip_addr *dst)
{
	for (size_t i = 0; i < station->n_addresses; i++) {
		if (station->addresses[i].len == dst->len)
			return &station->addresses[i];
	}
	return dst->len == 4 && station->n_addresses ? &station->addresses[0] : NULL;
}

static int want_behind(struct wanting *w, const struct desired_overlay *overlay,
		       const struct desired_station *station, int ifindex,
		       const struct ip_prefix *prefix)
{
	const struct ip_addr *via = gateway(station, &prefix->addr);
	struct route way = {
		.oif = ifindex,
		.src = source(overlay, &prefix->addr),
		.encap = encap_to(overlay, station),
	};
	char text[IP_PREFIX_TEXT_LEN];

	/* Bare UDP has no Ethernet, so nobody's MAC address is asked for. */
	if (overlay->config->type != CONFIG_BAREUDP && via) {
		way.via = *via;
		way.onlink = true;
	} else if (overlay->config->type != CONFIG_BAREUDP) {
		if (w->r)
			report_fault(w->r, 0, "route %s to %s: it has no address on %s to go by",
				     ip_prefix_format(prefix, text), station->member->name,
				     overlay->config->name);
		way.oif = 0;
	}
	return want(w, prefix, &way, station->member);
}

/* In external mode a station can be reached only by a route that tells its tunnel end. */
static int want_station(struct wanting *w, const struct desired_overlay *overlay,
			const struct desired_station *station, int ifindex)
{
	int err = 0;

	for (size_t i = 0; !err && is_external(overlay) && i < station->n_addresses; i++) {
		const struct ip_prefix host = ip_prefix_of_host(&station->addresses[i]);
		const struct route way = {
			.oif = ifindex,
			.src = source(overlay, &host.addr),
			.encap = encap_to(overlay, station),
		};

		err = want(w, &host, &way, station->member);
	}
	for (size_t i = 0; !err && i < station->n_routes; i++)
		err = want_behind(w, overlay, station, ifindex, &station->routes[i]);
	return err;
}

/* The kernel makes the routes to an overlay's own networks itself, of the device's
 * addresses; behind them, too, the way is closed. */
static int want_network(struct wanting *w, const struct ip_prefix *address)
{
	const struct ip_prefix dst = ip_prefix_network(address);

	if (dst.len == 8 * dst.addr.len || covered_endpoint(w, &dst) || !is_routed(&dst))
		return 0;
	return add_closed(w, &dst, RT_TABLE_MAIN);
}

/* A device that is away (a port's may be in another network namespace) leaves only the
 * closed routes. */
static int want_overlay(struct wanting *w, const struct desired_overlay *overlay)
{
	int ifindex, err = sync_overlay_ifindex(w->nl, overlay, &ifindex);

	for (size_t i = 0; !err && i < overlay->config->n_addresses; i++)
		err = want_network(w, &overlay->config->addresses[i]);
	for (size_t i = 0; !err && i < overlay->n_stations; i++)
		err = want_station(w, overlay, &overlay->stations[i], ifindex);
	return err;
}
