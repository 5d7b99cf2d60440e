/* SPDX-License-Identifier: Apache-2.0 */
/* Values of this node, of overlays and of peers that must go together: endpoints with
 * what would lead to them, MTUs with IPv6. */
#include "config_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "desired.h"
#include "sync_kernel.h"

/* Endpoints */

struct tunnel_end {
	struct ip_addr addr;
	const char *name; /* of the node that has it */
};

static int compare_ends(const void *a, const void *b)
{
	const struct tunnel_end *x = a, *y = b;

	return ip_addr_compare(&x->addr, &y->addr);
}

static int add_ends(struct sync_list *ends, const struct ip_addr tunnel[2], const char *name)
{
	int err = 0;

	for (unsigned i = 0; !err && i < 2; i++) {
		const struct tunnel_end end = {.addr = tunnel[i], .name = name};

		if (tunnel[i].len && name[0])
			err = sync_list_add(ends, &end);
	}
	return err;
}

static int gather_ends(const struct config *c, struct sync_list *ends)
{
	int err = add_ends(ends, c->node.tunnel, c->node.name);

	for (size_t i = 0; !err && i < c->n_peers; i++)
		err = add_ends(ends, c->peers[i].tunnel, c->peers[i].name);
	sync_list_sort(ends, compare_ends);
	return err;
}

/* The network of an overlay, as this node has it, that an address is in; NULL: none. */
static const struct ip_prefix *find_network(const struct config_overlay *o,
					    const struct ip_addr *addr)
{
	const struct ip_prefix host = ip_prefix_of_host(addr);

	for (size_t i = 0; i < o->n_addresses; i++) {
		if (ip_prefix_covers(&o->addresses[i], &host))
			return &o->addresses[i];
	}
	return NULL;
}

static void check_endpoint(struct config_reading *r, const struct sync_list *ends,
			   const struct member *m)
{
	char key[CONFIG_KEY_LEN], text[IP_ADDR_TEXT_LEN], network_text[IP_PREFIX_TEXT_LEN];
	struct tunnel_end wanted = {0};
	const struct tunnel_end *end;

	if (!sync_endpoint(m, &wanted.addr))
		return;
	config_key(key, "peers[%zu].endpoint", (size_t)m->since - 1);
	ip_addr_format(&wanted.addr, text);
	end = sync_list_find(ends, &wanted, compare_ends);
	if (end)
		config_fault(r, key,
			     "%s is a tunnel address of %s, which the tunnel itself leads to; "
			     "allowed: an address outside of it, or with lane.fwmark and rules",
			     text, end->name);
	for (size_t i = 0; !end && i < r->config->n_overlays; i++) {
		const struct config_overlay *o = &r->config->overlays[i];
		const struct ip_prefix *at = find_network(o, &wanted.addr);
		struct ip_prefix network;

		if (!at)
			continue;
		network = ip_prefix_network(at);
		config_fault(r, key,
			     "%s is in %s, which %s leads to; "
			     "allowed: an address outside of it, or with lane.fwmark and rules",
			     text, ip_prefix_format(&network, network_text), o->name);
		return;
	}
}

/* What is encrypted for a peer must not go into the tunnel again. With a mark the host's
 * rules may see to that, and those are only known when the agent runs. */
static void check_endpoints(struct config_reading *r)
{
	struct sync_list ends = {.item_len = sizeof(struct tunnel_end)};
	const struct config *c = r->config;

	if (!c->lane.fwmark && gather_ends(c, &ends) < 0)
		r->no_memory = true;
	for (size_t i = 0; !c->lane.fwmark && !r->no_memory && i < c->n_peers; i++)
		check_endpoint(r, &ends, &c->peers[i]);
	sync_list_done(&ends);
}

/* IPv6, which a device with an MTU below 1280 does not carry */

static bool has_ipv6(const struct ip_prefix *prefixes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (prefixes[i].addr.len == 16)
			return true;
	}
	return false;
}

static const char *ipv6_of_attachment(const struct member_overlay *mo)
{
	for (size_t i = 0; i < mo->n_addresses; i++) {
		if (mo->addresses[i].len == 16)
			return "a peer's IPv6 address";
	}
	return has_ipv6(mo->routes, mo->n_routes) ? "a peer's IPv6 route" : NULL;
}

/* What of IPv6 there is on an overlay; NULL: nothing. */
static const char *ipv6_of_overlay(const struct config *c, const struct config_overlay *o)
{
	const char *found = NULL;

	if (has_ipv6(o->addresses, o->n_addresses))
		return "the overlay's IPv6 address";
	for (size_t i = 0; !found && i < c->n_peers; i++) {
		const struct member *m = &c->peers[i];

		for (size_t j = 0; !found && j < m->n_overlays; j++) {
			if (!strcmp(m->overlays[j].name, o->name))
				found = ipv6_of_attachment(&m->overlays[j]);
		}
	}
	return found;
}

static const char *ipv6_of_lane(const struct config *c)
{
	if (c->node.tunnel[1].len)
		return "the IPv6 tunnel address";
	for (size_t i = 0; i < c->n_peers; i++) {
		if (c->peers[i].tunnel[1].len)
			return "a peer's IPv6 tunnel address";
		if (has_ipv6(c->peers[i].allowed_ips, c->peers[i].n_allowed_ips))
			return "a peer's IPv6 allowed_ips";
	}
	return NULL;
}

/* Of the device's own MTU, or of what the lane's leaves to it. */
static void check_overlay_mtu(struct config_reading *r, const struct config_overlay *o)
{
	const uint32_t lane = r->config->lane.mtu;
	const uint32_t needed = CONFIG_MTU_MIN_IPV6 + desired_overhead(o->type, o->outer6);
	const bool own = o->mtu && o->mtu < CONFIG_MTU_MIN_IPV6;
	const char *what = NULL;
	char key[CONFIG_KEY_LEN];

	if (own || (!o->mtu && lane && lane < needed))
		what = ipv6_of_overlay(r->config, o);
	if (!what)
		return;
	config_key(key, "overlays[%zu].mtu", (size_t)(o - r->config->overlays));
	if (own)
		config_fault(r, key, "%u is too small for %s; allowed: 0, or %d to 65535", o->mtu,
			     what, CONFIG_MTU_MIN_IPV6);
	else
		config_fault(r, "lane.mtu",
			     "%u leaves %u to %s, too small for %s; allowed: 0, or %u to 65535",
			     lane, lane + CONFIG_MTU_MIN_IPV6 - needed, o->name, what, needed);
}

static void check_mtus(struct config_reading *r)
{
	const struct config *c = r->config;
	const bool small = c->lane.mtu && c->lane.mtu < CONFIG_MTU_MIN_IPV6;
	const char *what = small ? ipv6_of_lane(c) : NULL;

	if (what)
		config_fault(r, "lane.mtu", "%u is too small for %s; allowed: 0, or %d to 65535",
			     c->lane.mtu, what, CONFIG_MTU_MIN_IPV6);
	for (size_t i = 0; i < c->n_overlays; i++)
		check_overlay_mtu(r, &c->overlays[i]);
}

void config_check_whole(struct config_reading *r)
{
	if (r->no_memory)
		return;
	check_endpoints(r);
	check_mtus(r);
}
