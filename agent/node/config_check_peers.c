/* SPDX-License-Identifier: Apache-2.0 */
/* The other nodes: values that must go together, and with this node's. */
#include "config_internal.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_values.h"
#include "keyfile.h"
#include "special_net.h"

static bool is_tunnel_address(const struct config *c, const struct ip_addr *addr)
{
	return ip_addr_equal(addr, &c->node.tunnel[0]) || ip_addr_equal(addr, &c->node.tunnel[1]);
}

static bool is_whole(const struct ip_prefix *p)
{
	return p->len == 8 * p->addr.len;
}

/* One file may serve all nodes: the entry that has the name and a tunnel address of this
 * node is this node. By its name alone it is not, for hosts get cloned, name and all. */
static bool is_this_node(const struct config *c, const struct member *m)
{
	const bool same = (m->tunnel[0].len && is_tunnel_address(c, &m->tunnel[0])) ||
			  (m->tunnel[1].len && is_tunnel_address(c, &m->tunnel[1]));

	return same && !strcmp(m->name, c->node.name);
}

static void refuse_own(struct config_reading *r, const char *path, const struct ip_addr *addr)
{
	char text[IP_ADDR_TEXT_LEN];

	config_fault(r, path, "%s is this node's own; allowed: an address of the peer",
		     ip_addr_format(addr, text));
}

/* Not the tunnel address of this node, be it alone as an allowed-ip. One that a wide
 * allowed-ip covers is no claim. */
static void check_tunnel(struct config_reading *r, const char *path, const struct member *m)
{
	char key[CONFIG_KEY_LEN];

	for (unsigned i = 0; i < 2; i++) {
		if (!m->tunnel[i].len || !is_tunnel_address(r->config, &m->tunnel[i]))
			continue;
		config_key(key, "%stunnel_addresses", path);
		refuse_own(r, key, &m->tunnel[i]);
	}
	for (size_t i = 0; i < m->n_allowed_ips; i++) {
		const struct ip_prefix *p = &m->allowed_ips[i];

		if (!is_whole(p) || !is_tunnel_address(r->config, &p->addr))
			continue;
		config_key(key, "%sallowed_ips[%zu]", path, i);
		refuse_own(r, key, &p->addr);
	}
}

/* NULL: none of that name. */
static const struct config_overlay *find_overlay(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->n_overlays; i++) {
		if (!strcmp(c->overlays[i].name, name))
			return &c->overlays[i];
	}
	return NULL;
}

/* An overlay whose name was refused may be the one that is meant. */
static bool names_are_known(const struct config *c)
{
	return !find_overlay(c, "");
}

static void check_own_addresses(struct config_reading *r, const char *path,
				const struct config_overlay *o, const struct member_overlay *mo)
{
	char key[CONFIG_KEY_LEN];

	for (size_t i = 0; i < mo->n_addresses; i++) {
		for (size_t j = 0; j < o->n_addresses; j++) {
			if (!ip_addr_equal(&mo->addresses[i], &o->addresses[j].addr))
				continue;
			config_key(key, "%saddresses[%zu]", path, i);
			refuse_own(r, key, &mo->addresses[i]);
		}
	}
}

/* The kernel has a broadcast address for each of this node's networks. */
static void check_broadcast(struct config_reading *r, const char *path,
			    const struct config_overlay *o, const struct member_overlay *mo)
{
	char key[CONFIG_KEY_LEN], text[IP_ADDR_TEXT_LEN];

	for (size_t i = 0; i < mo->n_addresses; i++) {
		for (size_t j = 0; j < o->n_addresses; j++) {
			if (!special_net_is_broadcast(&o->addresses[j], &mo->addresses[i]))
				continue;
			config_key(key, "%saddresses[%zu]", path, i);
			config_fault(r, key,
				     "%s is the broadcast address of the overlay's network; "
				     "allowed: an address of a host",
				     ip_addr_format(&mo->addresses[i], text));
			break;
		}
	}
}

static bool has_gateway(const struct member_overlay *mo, const struct ip_prefix *route)
{
	/* IPv4 may go by a gateway that has an IPv6 address, but not the other way round. */
	for (size_t i = 0; i < mo->n_addresses; i++) {
		if (route->addr.len == 4 || mo->addresses[i].len == route->addr.len)
			return true;
	}
	return false;
}

/* Bare UDP has no Ethernet, so nobody's MAC address is asked for. */
static void check_routes(struct config_reading *r, const char *path, const struct config_overlay *o,
			 const struct member_overlay *mo)
{
	char key[CONFIG_KEY_LEN], text[IP_PREFIX_TEXT_LEN];

	for (size_t i = 0; o->type != CONFIG_BAREUDP && i < mo->n_routes; i++) {
		if (has_gateway(mo, &mo->routes[i]))
			continue;
		config_key(key, "%sroutes[%zu]", path, i);
		config_fault(r, key,
			     "%s: the peer has no %saddress on the overlay to go by; "
			     "allowed: with one in its addresses there",
			     ip_prefix_format(&mo->routes[i], text),
			     mo->routes[i].addr.len == 4 ? "" : "IPv6 ");
	}
}

static void check_attachment(struct config_reading *r, const char *path, const struct member *m,
			     const struct member_overlay *mo)
{
	const struct config_overlay *o = find_overlay(r->config, mo->name);
	char key[CONFIG_KEY_LEN];

	config_key(key, "%sname", path);
	if (!o && names_are_known(r->config))
		config_fault(r, key, "\"%s\" is none of this node's overlays; allowed: their names",
			     mo->name);
	if (!o)
		return;
	for (const struct member_overlay *other = m->overlays; other < mo; other++) {
		if (!strcmp(other->name, mo->name))
			config_fault(r, key, "\"%s\" is given a second time; allowed: once",
				     mo->name);
	}
	if (!m->tunnel[o->outer6].len)
		config_fault(r, key,
			     "\"%s\" runs over %s, and the peer has no such tunnel address; "
			     "allowed: with one in the peer's tunnel_addresses",
			     mo->name, o->outer6 ? "IPv6" : "IPv4");
	if (mo->has_mac && o->type == CONFIG_BAREUDP) {
		config_key(key, "%smac", path);
		config_fault(r, key, "a bareudp has no such setting; allowed: none");
	}
	check_own_addresses(r, path, o, mo);
	check_broadcast(r, path, o, mo);
	check_routes(r, path, o, mo);
}

/* An attachment is compared with the sound values of its peer, not with its faults. */
static void take_attachments(struct config_reading *r, const char *path, const struct raw_peer *raw,
			     struct member *m, bool is_other)
{
	const size_t before = r->n_faults;
	char sub[CONFIG_KEY_LEN];

	if (!raw->n_overlays)
		return;
	m->overlays = calloc(raw->n_overlays, sizeof(*m->overlays));
	if (!m->overlays) {
		r->no_memory = true;
		return;
	}
	m->n_overlays = raw->n_overlays;
	for (unsigned i = 0; i < raw->n_overlays; i++) {
		config_key(sub, "%soverlays[%u].", path, i);
		config_take(r, sub, &config_sections[SECTION_PEER_OVERLAY], &raw->overlays[i],
			    &m->overlays[i]);
	}
	for (unsigned i = 0; r->n_faults == before && is_other && i < raw->n_overlays; i++) {
		config_key(sub, "%soverlays[%u].", path, i);
		check_attachment(r, sub, m, &m->overlays[i]);
	}
}

/* Is it this node? */
static bool take_peer(struct config_reading *r, size_t i, const struct raw_peer *raw,
		      struct member *m)
{
	const size_t before = r->n_faults;
	char path[CONFIG_KEY_LEN];
	bool ours;

	config_key(path, "peers[%zu].", i);
	config_take(r, path, &config_sections[SECTION_PEER], raw, m);
	ours = is_this_node(r->config, m);
	if (!ours)
		check_tunnel(r, path, m);
	take_attachments(r, path, raw, m, !ours && r->n_faults == before);
	return ours;
}

/* False: there is no key yet, or it is not for us to read. */
static bool own_key(const struct config *c, uint8_t ret[NODE_KEY_LEN])
{
	uint8_t private_key[KEY_LEN];
	const bool is_there = !keyfile_load(c->node.private_key_file, private_key);

	if (is_there)
		key_public(private_key, ret);
	sodium_memzero(private_key, sizeof(private_key));
	return is_there;
}

/* Who has the key of this node but is another would take what is this node's. */
static void check_own_key(struct config_reading *r, const bool *ours)
{
	const struct config *c = r->config;
	char path[CONFIG_KEY_LEN];
	uint8_t key[NODE_KEY_LEN];

	if (!c->n_peers || !own_key(c, key))
		return;
	for (size_t i = 0; i < c->n_peers; i++) {
		if (ours[i] || memcmp(c->peers[i].public_key, key, NODE_KEY_LEN) != 0)
			continue;
		config_key(path, "peers[%zu].public_key", i);
		config_fault(r, path, "is that of this node's %s; allowed: the peer's",
			     c->node.private_key_file);
	}
}

static int compare_names(const void *a, const void *b)
{
	const struct member *const *x = a, *const *y = b;
	const int order = strcmp((*x)->name, (*y)->name);

	return order ? order : (*x > *y) - (*x < *y);
}

static int compare_keys(const void *a, const void *b)
{
	const struct member *const *x = a, *const *y = b;
	const int order = memcmp((*x)->public_key, (*y)->public_key, NODE_KEY_LEN);

	return order ? order : (*x > *y) - (*x < *y);
}

static bool same_name(const struct member *a, const struct member *b)
{
	return a->name[0] && !strcmp(a->name, b->name);
}

static bool same_key(const struct member *a, const struct member *b)
{
	return !sodium_is_zero(a->public_key, NODE_KEY_LEN) &&
	       !memcmp(a->public_key, b->public_key, NODE_KEY_LEN);
}

/* Of each group of equals, all but the first in the file are faults. */
static void check_twins(struct config_reading *r, const char *key, const struct member **sorted,
			bool (*same)(const struct member *a, const struct member *b))
{
	const struct config *c = r->config;
	char path[CONFIG_KEY_LEN];
	size_t first = 0;

	for (size_t i = 1; i < c->n_peers; i++) {
		if (!same(sorted[first], sorted[i])) {
			first = i;
			continue;
		}
		config_key(path, "peers[%zu].%s", (size_t)(sorted[i] - c->peers), key);
		config_fault(r, path, "is peers[%zu]'s, too; allowed: one of its own",
			     (size_t)(sorted[first] - c->peers));
	}
}

static void check_all_twins(struct config_reading *r)
{
	const struct config *c = r->config;
	const struct member **sorted = calloc(c->n_peers + 1, sizeof(*sorted));

	if (!sorted) {
		r->no_memory = true;
		return;
	}
	for (size_t i = 0; i < c->n_peers; i++)
		sorted[i] = &c->peers[i];
	qsort(sorted, c->n_peers, sizeof(*sorted), compare_names);
	check_twins(r, "name", sorted, same_name);
	qsort(sorted, c->n_peers, sizeof(*sorted), compare_keys);
	check_twins(r, "public_key", sorted, same_key);
	free(sorted);
}

void config_check_peers(struct config_reading *r, const struct raw_config *raw)
{
	struct config *c = r->config;
	bool *ours = calloc(c->n_peers + 1, sizeof(*ours));
	size_t kept = 0;

	if (!ours) {
		r->no_memory = true;
		return;
	}
	for (size_t i = 0; i < c->n_peers; i++) {
		ours[i] = take_peer(r, i, &raw->peers[i], &c->peers[i]);
		c->peers[i].since = i + 1;
	}
	check_all_twins(r);
	check_own_key(r, ours);
	for (size_t i = 0; i < c->n_peers; i++) {
		if (ours[i])
			member_clear(&c->peers[i]);
		else
			c->peers[kept++] = c->peers[i];
	}
	sodium_memzero(c->peers + kept, (c->n_peers - kept) * sizeof(*c->peers));
	c->n_peers = kept;
	free(ours);
}
