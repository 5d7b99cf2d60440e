/* SPDX-License-Identifier: Apache-2.0 */
#include "cleanup.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup_lane.h"
#include "overlay/address.h"
#include "overlay/bigtcp.h"
#include "overlay/link.h"
#include "overlay/neighbours.h"
#include "overlay/nl.h"
#include "overlay/nl_batch.h"
#include "overlay/owner.h"
#include "overlay/packet.h"
#include "overlay/routes.h"
#include "overlay/tunnel.h"
#include "overlay/veth.h"

enum { TEXT_LEN = 200 };

/* All of one kind, listed before the first is removed: a list must not change while
 * the kernel tells it. */
struct things {
	void *list;
	size_t n, room, size; /* size: of one */
};

static int keep(struct things *t, const void *thing)
{
	if (t->n == t->room) {
		const size_t room = t->room ? 2 * t->room : 64;
		void *list = reallocarray(t->list, room, t->size);

		if (!list)
			return -ENOMEM;
		t->list = list;
		t->room = room;
	}
	memcpy((char *)t->list + t->n++ * t->size, thing, t->size);
	return 0;
}

/* A cleaning under way. */
struct cleaning {
	struct cleanup *c;
	struct nl *nl;
	struct things touched; /* ifindexes of devices that had something of ours */
	bool takes_lane;       /* a lane's device is among those that go */
};

/* Without memory a device that is left may not be told of. */
static void touch(struct cleaning *g, int ifindex)
{
	const int *list = g->touched.list;

	for (size_t i = 0; i < g->touched.n; i++) {
		if (list[i] == ifindex)
			return;
	}
	if (ifindex)
		(void)keep(&g->touched, &ifindex);
}

/* Gone in the meantime, or told twice by the list: nothing to tell of. */
static bool is_gone(int err)
{
	return err == -ESRCH || err == -ENOENT || err == -ENODEV || err == -EADDRNOTAVAIL;
}

static void count(struct cleanup *c, enum cleanup_kind kind, const char *text, int err)
{
	if (is_gone(err))
		return;
	if (err)
		c->failed[kind]++;
	else
		c->removed[kind]++;
	if (c->tell)
		c->tell(kind, text, err, c->arg);
}

const char *cleanup_kind_name(enum cleanup_kind kind)
{
	static const char *const names[] = {
		[CLEANUP_ROUTE] = "route",     [CLEANUP_NEIGHBOUR] = "neighbour",
		[CLEANUP_ADDRESS] = "address", [CLEANUP_DEVICE] = "device",
		[CLEANUP_PORT] = "port",       [CLEANUP_SOCKET] = "socket"};

	return names[kind];
}

/* "name", or "device 7" if it has gone. */
static const char *device_name(int ifindex, char buf[IFNAMSIZ + 16])
{
	char name[IFNAMSIZ];

	if (if_indextoname((unsigned)ifindex, name))
		snprintf(buf, IFNAMSIZ + 16, "%s", name);
	else
		snprintf(buf, IFNAMSIZ + 16, "device %d", ifindex);
	return buf;
}

/* ---- Routes ---- */

static const char *route_text(const struct route *route, char buf[TEXT_LEN])
{
	char prefix[IP_PREFIX_TEXT_LEN], via[IP_ADDR_TEXT_LEN], device[IFNAMSIZ + 16];
	int len = snprintf(buf, TEXT_LEN, "%s%s", route->unreachable ? "unreachable " : "",
			   ip_prefix_format(&route->dst, prefix));

	if (route->via.len)
		len += snprintf(buf + len, TEXT_LEN - (size_t)len, " via %s",
				ip_addr_format(&route->via, via));
	if (route->oif)
		len += snprintf(buf + len, TEXT_LEN - (size_t)len, " dev %s",
				device_name(route->oif, device));
	if (route->table && route->table != 254 /* main */)
		snprintf(buf + len, TEXT_LEN - (size_t)len, " table %u", route->table);
	return buf;
}

static int take_route(const struct route *route, void *arg)
{
	return keep(arg, route);
}

static void tell_route(void *cookie, int err, void *arg)
{
	char text[TEXT_LEN];

	count(arg, CLEANUP_ROUTE, route_text(cookie, text), err);
}

static int clean_routes(struct cleaning *g)
{
	struct cleanup *c = g->c;
	struct things t = {.size = sizeof(struct route)};
	struct nl_batch *batch = NULL;
	struct route *routes;
	int err = route_list(g->nl, OWNER_PROTOCOL, take_route, &t);

	routes = t.list;
	if (!err && !c->dry_run)
		err = nl_batch_new(g->nl, tell_route, c, &batch);
	for (size_t i = 0; !err && i < t.n; i++) {
		touch(g, routes[i].oif);
		if (c->dry_run)
			tell_route(&routes[i], 0, c);
		else
			err = route_remove(batch, &routes[i], &routes[i]);
	}
	if (batch && !err)
		err = nl_batch_flush(batch);
	nl_batch_free(batch);
	free(t.list);
	return err;
}

/* ---- Neighbours ---- */

static int take_neighbour(const struct neighbour *n, void *arg)
{
	return n->protocol == OWNER_PROTOCOL ? keep(arg, n) : 0;
}

static int take_device(const struct bigtcp *b, void *arg)
{
	return keep(arg, &b->ifindex);
}

static int list_neighbours(struct nl *nl, struct things *t)
{
	struct things devices = {.size = sizeof(int)};
	int err = bigtcp_list(nl, take_device, &devices);

	for (size_t i = 0; !err && i < devices.n; i++) {
		err = neighbour_list(nl, ((int *)devices.list)[i], take_neighbour, t);
		if (is_gone(err))
			err = 0;
	}
	free(devices.list);
	return err;
}

static void tell_neighbour(void *cookie, int err, void *arg)
{
	const struct neighbour *n = cookie;
	char addr[IP_ADDR_TEXT_LEN], device[IFNAMSIZ + 16], text[TEXT_LEN];

	snprintf(text, sizeof(text), "%s dev %s", ip_addr_format(&n->addr, addr),
		 device_name(n->ifindex, device));
	count(arg, CLEANUP_NEIGHBOUR, text, err);
}

static int clean_neighbours(struct cleaning *g)
{
	struct cleanup *c = g->c;
	struct things t = {.size = sizeof(struct neighbour)};
	struct nl_batch *batch = NULL;
	struct neighbour *list;
	int err = list_neighbours(g->nl, &t);

	list = t.list;
	if (!err && !c->dry_run)
		err = nl_batch_new(g->nl, tell_neighbour, c, &batch);
	for (size_t i = 0; !err && i < t.n; i++) {
		touch(g, list[i].ifindex);
		if (c->dry_run)
			tell_neighbour(&list[i], 0, c);
		else
			err = neighbour_remove(batch, &list[i], &list[i]);
	}
	if (batch && !err)
		err = nl_batch_flush(batch);
	nl_batch_free(batch);
	free(t.list);
	return err;
}

/* ---- Addresses ---- */

static int take_address(const struct address *address, void *arg)
{
	return address->protocol == OWNER_PROTOCOL ? keep(arg, address) : 0;
}

static int clean_addresses(struct cleaning *g)
{
	struct cleanup *c = g->c;
	struct things t = {.size = sizeof(struct address)};
	int err = address_list(g->nl, 0, take_address, &t);

	for (size_t i = 0; !err && i < t.n; i++) {
		const struct address *a = (const struct address *)t.list + i;
		char prefix[IP_PREFIX_TEXT_LEN], device[IFNAMSIZ + 16], text[TEXT_LEN];

		touch(g, a->ifindex);
		snprintf(text, sizeof(text), "%s dev %s", ip_prefix_format(&a->prefix, prefix),
			 device_name(a->ifindex, device));
		count(c, CLEANUP_ADDRESS, text, c->dry_run ? 0 : address_delete(g->nl, a));
	}
	free(t.list);
	return err;
}

/* ---- Devices ---- */

struct owned {
	int ifindex;
	char name[IFNAMSIZ], kind[32];
};

static int take_owned(int ifindex, const char *name, const char *kind, void *arg)
{
	struct owned o = {.ifindex = ifindex};

	snprintf(o.name, sizeof(o.name), "%s", name);
	snprintf(o.kind, sizeof(o.kind), "%s", kind);
	return keep(arg, &o);
}

/* 0: it is gone now, or would be. */
static int clean_device(struct cleanup *c, struct nl *nl, const struct owned *o)
{
	const int err = c->dry_run ? 0 : link_delete(nl, o->ifindex);
	char text[TEXT_LEN];

	snprintf(text, sizeof(text), "%s (%s)", o->name, *o->kind ? o->kind : "?");
	count(c, CLEANUP_DEVICE, text, err);
	return err;
}

/* ---- A lane, by its device ---- */

struct port_name {
	char name[IFNAMSIZ];
};

static int take_port(const char *port, void *arg)
{
	struct port_name name;

	snprintf(name.name, sizeof(name.name), "%s", port);
	return keep(arg, &name);
}

static void clean_socket(const char *path, void *arg)
{
	struct cleanup *c = arg;

	count(c, CLEANUP_SOCKET, path, c->dry_run || !unlink(path) ? 0 : -errno);
}

/* It ends when its device goes. Its ports are asked for before. */
static int clean_lane(struct cleaning *g, const struct owned *o)
{
	struct things ports = {.size = sizeof(struct port_name)};
	char lane[IFNAMSIZ], text[TEXT_LEN];
	struct link_info device;
	int err = link_get_index(g->nl, o->ifindex, &device);

	if (err)
		return is_gone(err) ? 0 : err;
	cleanup_lane_name(&device, lane);
	err = cleanup_lane_ports(lane, take_port, &ports);
	if (!clean_device(g->c, g->nl, o)) {
		g->takes_lane = true;
		for (size_t i = 0; i < ports.n; i++) {
			snprintf(text, sizeof(text), "%s (of lane %s)",
				 ((const struct port_name *)ports.list)[i].name, lane);
			count(g->c, CLEANUP_PORT, text, 0);
		}
		cleanup_lane_sockets(lane, clean_socket, g->c);
	}
	free(ports.list);
	return err;
}

/*
 * What is stacked on the lane's device would go with it, and not be told of: so that one
 * comes last. The lane end of a port goes with its lane. Only one that nobody reads was
 * left behind by a lane; another may be of a lane that is not the agent's.
 */
static int clean_devices(struct cleaning *g)
{
	struct things t = {.size = sizeof(struct owned)};
	int err = tunnel_list_owned(g->nl, take_owned, &t);

	for (int turn = 0; !err && turn < 2; turn++) {
		const bool lanes = turn == 1;

		for (size_t i = 0; !err && i < t.n; i++) {
			const struct owned *o = (const struct owned *)t.list + i;

			if ((strcmp(o->kind, "tun") == 0) != lanes)
				continue;
			if (!strcmp(o->kind, "veth") && packet_is_read(o->ifindex) != 0)
				continue;
			if (!lanes)
				(void)clean_device(g->c, g->nl, o);
			else
				err = clean_lane(g, o);
		}
	}
	free(t.list);
	return err;
}

/* ---- Devices that are left ---- */

static bool is_ours(const struct link_info *link)
{
	return !strncmp(link->alias, OWNER_ALIAS, strlen(OWNER_ALIAS));
}

/* A port's pair goes with its lane, which reads the other end, or was told of there. */
static bool is_abandoned_port(const struct cleaning *g, int ifindex)
{
	struct link_info other;
	struct veth_peer peer;

	return !veth_peer(g->nl, ifindex, &peer) && !peer.elsewhere &&
	       !link_get_index(g->nl, peer.ifindex, &other) && !is_ours(&other) &&
	       packet_is_read(peer.ifindex) == 0;
}

/* A TAP without a mark may be a port of the lane that goes just now. */
static bool is_left(const struct cleaning *g, const char *kind, int ifindex)
{
	static const char *const tunnels[] = {"vxlan", "geneve", "bareudp"};

	if (!strcmp(kind, "tun"))
		return !g->takes_lane;
	if (!strcmp(kind, "veth"))
		return is_abandoned_port(g, ifindex);
	for (size_t i = 0; i < sizeof(tunnels) / sizeof(*tunnels); i++) {
		if (!strcmp(kind, tunnels[i]))
			return true;
	}
	return false;
}

static void find_left(struct cleaning *g)
{
	const int *list = g->touched.list;

	for (size_t i = 0; i < g->touched.n; i++) {
		struct cleanup_left left;
		struct link_info link;
		struct bigtcp sizes;

		if (link_get_index(g->nl, list[i], &link) || is_ours(&link) ||
		    bigtcp_get(g->nl, list[i], &sizes) || !is_left(g, sizes.kind, list[i]))
			continue;
		g->c->left++;
		left = (struct cleanup_left){link.name, sizes.kind, link.alias};
		if (g->c->tell_left)
			g->c->tell_left(&left, g->c->arg);
	}
}

int cleanup_run(struct cleanup *c, const char **ret_what)
{
	static const struct {
		int (*run)(struct cleaning *g);
		const char *what;
	} steps[] = {
		{clean_routes, "routes"},
		{clean_neighbours, "neighbours"},
		{clean_addresses, "addresses"},
		{clean_devices, "devices"},
	};
	struct cleaning g = {.c = c, .touched = {.size = sizeof(int)}};
	int first = nl_open(&g.nl);

	*ret_what = "netlink";
	if (first)
		return first;
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		const int err = steps[i].run(&g);

		if (err && !first) {
			first = err;
			*ret_what = steps[i].what;
		}
	}
	find_left(&g);
	free(g.touched.list);
	nl_close(g.nl);
	return first;
}
