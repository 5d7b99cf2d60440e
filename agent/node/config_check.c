/* SPDX-License-Identifier: Apache-2.0 */
/* This node, its lane and its overlays: values that must go together. */
#include "config_internal.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config_values.h"
#include "special_net.h"

const char *config_type_name(enum config_type type)
{
	static const char *const names[] = {"port", "vxlan", "geneve", "bareudp"};

	return names[type];
}

static const char *family_name(bool v6)
{
	return v6 ? "IPv6" : "IPv4";
}

static void take(struct config_reading *r, const char *path, enum config_section_id section,
		 const void *raw, void *ret)
{
	config_take(r, path, &config_sections[section], raw, ret);
}

static void name_after_host(struct config_reading *r)
{
	const struct config_value *row = &config_sections[SECTION_NODE].values[0];
	char host[256] = "", quote[CONFIG_QUOTE_LEN];
	struct config_why why;

	gethostname(host, sizeof(host) - 1);
	if (!config_value_parse(row, host, r->config->node.name, &why))
		config_fault(r, "node.name", "the host's name \"%s\" %s; allowed: %s",
			     config_quote(host, quote), why.wrong, why.allowed);
}

static bool name_given(struct config_reading *r, const struct raw_node *raw)
{
	const char *variable;

	return raw->name ||
	       config_env(&config_sections[SECTION_NODE].values[0], r->getenv_fn, &variable);
}

static void check_node_and_lane(struct config_reading *r, const struct raw_config *raw)
{
	static const struct raw_node no_node;
	static const struct raw_lane no_lane;
	const struct raw_node *node = raw->node ? raw->node : &no_node;
	struct config *c = r->config;

	take(r, "node.", SECTION_NODE, node, &c->node);
	if (!name_given(r, node))
		name_after_host(r);
	take(r, "lane.", SECTION_LANE, raw->lane ? raw->lane : &no_lane, &c->lane);
}

/* Keys that the overlay's type has no use for. */
static void check_keys_of_type(struct config_reading *r, const char *path,
			       const struct raw_overlay *raw, enum config_type type)
{
	const struct config_section *s = &config_sections[SECTION_OVERLAY];
	char key[CONFIG_KEY_LEN], known[64];

	for (size_t i = 0; i < s->n; i++) {
		const struct config_value *row = &s->values[i];
		const char *text;

		if (!row->types || row->types & 1u << type)
			continue;
		memcpy(&text, (const char *)raw + row->raw_at, sizeof(text));
		if (!text)
			continue;
		known[0] = '\0';
		for (unsigned t = CONFIG_PORT; t <= CONFIG_BAREUDP; t++) {
			if (row->types & 1u << t)
				snprintf(known + strlen(known), sizeof(known) - strlen(known),
					 " %s", config_type_name(t));
		}
		config_key(key, "%s%s", path, row->key);
		config_fault(r, key, "a %s has no such setting; allowed: with type%s",
			     config_type_name(type), known);
	}
}

static void check_addresses(struct config_reading *r, const char *path,
			    const struct config_overlay *o)
{
	char key[CONFIG_KEY_LEN], text[IP_ADDR_TEXT_LEN];

	for (size_t i = 1; i < o->n_addresses; i++) {
		for (size_t j = 0; j < i; j++) {
			if (!ip_addr_equal(&o->addresses[i].addr, &o->addresses[j].addr))
				continue;
			config_key(key, "%saddresses[%zu]", path, i);
			config_fault(r, key, "%s is given a second time; allowed: once",
				     ip_addr_format(&o->addresses[i].addr, text));
			break;
		}
	}
}

/* As lanes name their ends of ports: slport0, slport1 and so on. */
static bool is_of_lane_ends(const char *name)
{
	static const char prefix[] = "slport";
	const size_t len = sizeof(prefix) - 1;

	return !strncmp(name, prefix, len) && name[len] &&
	       name[len + strspn(name + len, "0123456789")] == '\0';
}

static void check_name(struct config_reading *r, const char *key, const char *name)
{
	if (is_of_lane_ends(name))
		config_fault(r, key,
			     "\"%s\" is how lanes name their ends of ports; allowed: another name",
			     name);
}

static void check_overlay(struct config_reading *r, const char *path, const struct raw_overlay *raw,
			  const struct config_overlay *o)
{
	const struct config *c = r->config;
	char key[CONFIG_KEY_LEN];

	check_keys_of_type(r, path, raw, o->type);
	check_addresses(r, path, o);
	config_key(key, "%sname", path);
	check_name(r, key, o->name);
	if (!strcmp(o->name, c->lane.interface)) {
		config_fault(r, key, "\"%s\" is the lane's interface; allowed: another name",
			     o->name);
	}
	/* A missing or bad tunnel address was told, and says nothing about the overlay. */
	if (!c->node.tunnel[o->outer6].len && c->node.tunnel[!o->outer6].len) {
		config_key(key, "%sfamily", path);
		config_fault(r, key, "this node has no %s tunnel address to carry it; allowed: %s",
			     family_name(o->outer6), o->outer6 ? "ipv4" : "ipv6");
	}
	if (o->type != CONFIG_PORT && o->udp_port == c->node.listen_port) {
		config_key(key, "%sudp_port", path);
		config_fault(r, key, "%u is node.listen_port; allowed: another port", o->udp_port);
	}
}

static bool overlap(const struct ip_prefix *a, const struct ip_prefix *b)
{
	return a->len < b->len ? ip_prefix_covers(a, b) : ip_prefix_covers(b, a);
}

/* A host is reached by one overlay alone: the more particular, or either. */
static void check_networks(struct config_reading *r, size_t i, size_t j)
{
	const struct config_overlay *a = &r->config->overlays[i], *b = &r->config->overlays[j];
	char key[CONFIG_KEY_LEN], text[2][IP_PREFIX_TEXT_LEN];

	for (size_t k = 0; k < a->n_addresses; k++) {
		const struct ip_prefix network = ip_prefix_network(&a->addresses[k]);

		for (size_t l = 0; l < b->n_addresses; l++) {
			const struct ip_prefix other = ip_prefix_network(&b->addresses[l]);

			/* Each link has its link-local network. */
			if (!overlap(&network, &other) ||
			    special_net_of(&network) == SPECIAL_LINK_LOCAL)
				continue;
			config_key(key, "overlays[%zu].addresses[%zu]", i, k);
			config_fault(r, key,
				     "%s is in the network of another overlay (%s on %s); "
				     "allowed: a network of its own",
				     ip_prefix_format(&network, text[0]),
				     ip_prefix_format(&other, text[1]), b->name);
			return;
		}
	}
}

/* The kernel has one socket for a UDP port, of one kind of tunnel; a bareudp has it
 * for itself. */
static void check_pair(struct config_reading *r, size_t i, size_t j)
{
	const struct config_overlay *a = &r->config->overlays[i], *b = &r->config->overlays[j];
	char key[CONFIG_KEY_LEN];

	if (!strcmp(a->name, b->name)) {
		config_key(key, "overlays[%zu].name", i);
		config_fault(r, key, "\"%s\" is overlays[%zu]'s, too; allowed: a name of its own",
			     a->name, j);
	}
	check_networks(r, i, j);
	if (a->udp_port != b->udp_port)
		return;
	config_key(key, "overlays[%zu].vni", i);
	if (a->type == b->type && a->vni == b->vni) {
		config_fault(r, key,
			     "%s has the same VNI, UDP port and type; allowed: a VNI of its own",
			     b->name);
		return;
	}
	config_key(key, "overlays[%zu].udp_port", i);
	if (a->outer6 == b->outer6 && (a->type != b->type || a->type == CONFIG_BAREUDP))
		config_fault(r, key, "%u is %s's, a %s over %s, too; allowed: a port of its own",
			     a->udp_port, b->name, config_type_name(b->type),
			     family_name(b->outer6));
}

static void check_overlays(struct config_reading *r, const struct raw_config *raw)
{
	static const uint16_t ports[] = {4789, 4789, 6081, 6635};
	struct config *c = r->config;
	bool sound[CONFIG_OVERLAYS_MAX] = {0};
	char path[CONFIG_KEY_LEN];

	for (size_t i = 0; i < c->n_overlays; i++) {
		struct config_overlay *o = &c->overlays[i];
		const size_t before = r->n_faults;

		config_key(path, "overlays[%zu].", i);
		take(r, path, SECTION_OVERLAY, &raw->overlays[i], o);
		sound[i] = r->n_faults == before;
		if (!o->udp_port)
			o->udp_port = ports[o->type];
		check_overlay(r, path, &raw->overlays[i], o);
		for (size_t j = 0; sound[i] && j < i; j++) {
			if (sound[j])
				check_pair(r, i, j);
		}
	}
}

/* One that says nothing without the other. */
static void check_both(struct config_reading *r, const char *key, const char *a, const char *b,
		       const char *other)
{
	if (a[0] && !b[0])
		config_fault(r, key, "is given without %s; allowed: both or none", other);
}

static void check_etcd(struct config_reading *r, const struct raw_config *raw)
{
	static const struct raw_etcd no_etcd;
	struct config_etcd *e = &r->config->etcd;
	const size_t before = r->n_faults;

	take(r, "etcd.", SECTION_ETCD, raw->etcd ? raw->etcd : &no_etcd, e);
	if (r->n_faults > before)
		return;
	if (raw->etcd && !e->n_endpoints)
		config_fault(r, "etcd.endpoints", "is missing; allowed: URLs of etcd's servers");
	check_both(r, "etcd.cert_file", e->cert_file, e->key_file, "key_file");
	check_both(r, "etcd.key_file", e->key_file, e->cert_file, "cert_file");
	check_both(r, "etcd.username", e->username, e->password_file, "password_file");
	check_both(r, "etcd.password_file", e->password_file, e->username, "username");
}

void config_check(struct config_reading *r, const struct raw_config *raw)
{
	static const struct raw_http no_http;
	struct config *c = r->config;

	c->overlays = calloc(raw->n_overlays + 1, sizeof(*c->overlays));
	c->peers = calloc(raw->n_peers + 1, sizeof(*c->peers));
	if (!c->overlays || !c->peers) {
		r->no_memory = true;
		return;
	}
	c->n_overlays = raw->n_overlays;
	c->n_peers = raw->n_peers;
	check_node_and_lane(r, raw);
	/* Both have a socket of that name in one folder. */
	if (!strcmp(c->lane.interface, "agent"))
		config_fault(r, "lane.interface",
			     "\"agent\" is the agent's own; allowed: another name");
	check_name(r, "lane.interface", c->lane.interface);
	check_overlays(r, raw);
	config_check_peers(r, raw);
	config_check_whole(r);
	take(r, "http.", SECTION_HTTP, raw->http ? raw->http : &no_http, &c->http);
	check_etcd(r, raw);
	take(r, "", SECTION_TOP, raw, c);
}
