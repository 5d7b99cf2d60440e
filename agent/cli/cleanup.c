/* SPDX-License-Identifier: Apache-2.0 */
#include "cleanup.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	static const char *const names[] = {[CLEANUP_ROUTE] = "route",
					    [CLEANUP_NEIGHBOUR] = "neighbour",
					    [CLEANUP_ADDRESS] = "address",
					    [CLEANUP_DEVICE] = "device"};

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

static int clean_routes(struct cleanup *c, struct nl *nl)
{
	struct things t = {.size = sizeof(struct route)};
	struct nl_batch *batch = NULL;
	struct route *routes;
	int err = route_list(nl, OWNER_PROTOCOL, take_route, &t);

	routes = t.list;
	if (!err && !c->dry_run)
		err = nl_batch_new(nl, tell_route, c, &batch);
	for (size_t i = 0; !err && i < t.n; i++) {
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

static int clean_neighbours(struct cleanup *c, struct nl *nl)
{
	struct things t = {.size = sizeof(struct neighbour)};
	struct nl_batch *batch = NULL;
	struct neighbour *list;
	int err = list_neighbours(nl, &t);

	list = t.list;
	if (!err && !c->dry_run)
		err = nl_batch_new(nl, tell_neighbour, c, &batch);
	for (size_t i = 0; !err && i < t.n; i++) {
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

static int clean_addresses(struct cleanup *c, struct nl *nl)
{
	struct things t = {.size = sizeof(struct address)};
	int err = address_list(nl, 0, take_address, &t);

	for (size_t i = 0; !err && i < t.n; i++) {
		const struct address *a = (const struct address *)t.list + i;
		char prefix[IP_PREFIX_TEXT_LEN], device[IFNAMSIZ + 16], text[TEXT_LEN];

		snprintf(text, sizeof(text), "%s dev %s", ip_prefix_format(&a->prefix, prefix),
			 device_name(a->ifindex, device));
		count(c, CLEANUP_ADDRESS, text, c->dry_run ? 0 : address_delete(nl, a));
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

static void clean_device(struct cleanup *c, struct nl *nl, const struct owned *o)
{
	char text[TEXT_LEN];

	snprintf(text, sizeof(text), "%s (%s)", o->name, *o->kind ? o->kind : "?");
	count(c, CLEANUP_DEVICE, text, c->dry_run ? 0 : link_delete(nl, o->ifindex));
}

/*
 * What is stacked on the lane's device would go with it, and not be told of: so that one
 * comes last. The lane end of a port goes with its lane. Only one that nobody reads was
 * left behind by a lane; another may be of a lane that is not the agent's.
 */
static int clean_devices(struct cleanup *c, struct nl *nl)
{
	struct things t = {.size = sizeof(struct owned)};
	int err = tunnel_list_owned(nl, take_owned, &t);

	for (int turn = 0; !err && turn < 2; turn++) {
		const bool lanes = turn == 1;

		for (size_t i = 0; i < t.n; i++) {
			const struct owned *o = (const struct owned *)t.list + i;

			if ((strcmp(o->kind, "tun") == 0) != lanes)
				continue;
			if (!strcmp(o->kind, "veth") && packet_is_read(o->ifindex) != 0)
				continue;
			clean_device(c, nl, o);
		}
	}
	free(t.list);
	return err;
}

int cleanup_run(struct cleanup *c, const char **ret_what)
{
	static const struct {
		int (*run)(struct cleanup *c, struct nl *nl);
		const char *what;
	} steps[] = {
		{clean_routes, "routes"},
		{clean_neighbours, "neighbours"},
		{clean_addresses, "addresses"},
		{clean_devices, "devices"},
	};
	struct nl *nl;
	int first = nl_open(&nl);

	*ret_what = "netlink";
	if (first)
		return first;
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		const int err = steps[i].run(c, nl);

		if (err && !first) {
			first = err;
			*ret_what = steps[i].what;
		}
	}
	nl_close(nl);
	return first;
}
