/* SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "error.h"
#include "overlay/address.h"
#include "overlay/bigtcp.h"
#include "overlay/neighbours.h"
#include "overlay/nl.h"
#include "overlay/nl_batch.h"
#include "overlay/owner.h"
#include "overlay/routes.h"
#include "overlay/veth.h"

/* Making the pair */

int wire_set_limits(struct nl *nl, int ifindex)
{
	struct utsname uts;
	unsigned major, minor;
	struct bigtcp now;
	int err = bigtcp_get(nl, ifindex, &now);

	if (err || uname(&uts) || sscanf(uts.release, "%u.%u", &major, &minor) != 2)
		return err;
	return bigtcp_set(nl, ifindex, bigtcp_cap(now.kind, major, minor, false, now.tso_max_size));
}

static int look(struct nl *nl, int ifindex, const char *ifname, struct result_interface *ret)
{
	struct link_info link;
	const int err = link_get_index(nl, ifindex, &link);

	if (err)
		return err;
	snprintf(ret->name, sizeof(ret->name), "%s", ifname);
	memcpy(ret->mac, link.mac, sizeof(ret->mac));
	ret->mtu = link.mtu;
	return 0;
}

static int finish_pair(struct wire *w, const char *ifname, bool big_tcp, struct result *ret)
{
	int err = link_set_alias(w->nl, w->host_ifindex, w->attachment.alias);

	if (!err && big_tcp)
		err = wire_set_limits(w->nl, w->host_ifindex);
	if (!err && big_tcp)
		err = wire_set_limits(w->netns.nl, w->container_ifindex);
	if (!err)
		err = look(w->nl, w->host_ifindex, w->attachment.name, &ret->host);
	if (!err)
		err = look(w->netns.nl, w->container_ifindex, ifname, &ret->container);
	return err;
}

int wire_make(struct wire *w, const char *ifname, const struct cni_config *c, uint32_t mtu,
	      struct result *ret, struct cni_error *e)
{
	const struct veth_args args = {
		.end = {.name = w->attachment.name, .mtu = mtu},
		.peer = {.name = ifname, .mtu = mtu, .elsewhere = true, .netns_fd = w->netns.fd},
	};
	int err = veth_create(w->nl, &args, &w->host_ifindex, &w->container_ifindex);

	if (err == -EEXIST)
		return cni_error_set(e, CNI_ALREADY_ATTACHED,
				     "%s is in the container or %s on the host already", ifname,
				     w->attachment.name);
	if (err)
		return cni_error_kernel(e, err, w->nl, "make a veth pair");
	err = finish_pair(w, ifname, c->big_tcp, ret);
	if (!err)
		return 0;
	cni_error_kernel(e, err, w->nl, "set up the veth pair");
	(void)link_delete(w->nl, w->host_ifindex);
	return e->code;
}

/* What a batch answers: the first failure and what it was about. */
struct outcome {
	int err;
	const char *what;
};

static void on_answer(void *cookie, int err, void *arg)
{
	struct outcome *outcome = arg;

	if (err && !outcome->err)
		*outcome = (struct outcome){err, cookie};
}

/* Cookies are not written to. */
static void *words(const char *text)
{
	return (void *)(uintptr_t)text;
}

static int put_neighbour(struct nl_batch *b, int ifindex, const struct ip_addr *addr,
			 const uint8_t mac[6])
{
	struct neighbour n = {.ifindex = ifindex,
			      .addr = *addr,
			      .permanent = true,
			      .protocol = OWNER_CNI_PROTOCOL};

	memcpy(n.mac, mac, sizeof(n.mac));
	return neighbour_put(b, &n, words("add a neighbour"));
}

/* The host's way to each address. */
static int put_host(struct nl_batch *b, const struct wire *w, const struct result *r)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < r->n_ips; i++) {
		const struct route route = {
			.dst = ip_prefix_of_host(&r->ips[i]),
			.protocol = OWNER_CNI_PROTOCOL,
			.oif = w->host_ifindex,
		};

		err = put_neighbour(b, w->host_ifindex, &r->ips[i], r->container.mac);
		if (!err)
			err = route_put(b, &route, words("add the host's route to the container"));
	}
	return err;
}

/* The gateway, and what lies behind it. */
static int put_container(struct nl_batch *b, const struct wire *w, const struct result *r)
{
	bool has4 = false, has6 = false;
	size_t i;
	int err = 0;

	for (i = 0; i < r->n_ips; i++) {
		has4 |= r->ips[i].len == 4;
		has6 |= r->ips[i].len == 16;
	}
	if (has4)
		err = put_neighbour(b, w->container_ifindex, &result_gateway4, r->host.mac);
	if (!err && has6)
		err = put_neighbour(b, w->container_ifindex, &result_gateway6, r->host.mac);
	for (i = 0; !err && i < r->n_routes; i++) {
		const struct route route = {
			.dst = r->routes[i],
			.protocol = OWNER_CNI_PROTOCOL,
			.oif = w->container_ifindex,
			.via = *result_gateway(r->routes[i].addr.len),
			.onlink = true,
			.mtu = r->container.mtu,
		};

		if (r->routes[i].addr.len == 4 ? has4 : has6)
			err = route_put(b, &route, words("add a route in the container"));
	}
	return err;
}

typedef int (*put_fn)(struct nl_batch *b, const struct wire *w, const struct result *r);

static int put_all(struct nl *nl, put_fn put, const struct wire *w, const struct result *r,
		   struct cni_error *e)
{
	struct outcome outcome = {0, NULL};
	struct nl_batch *b = NULL;
	int err = nl_batch_new(nl, on_answer, &outcome, &b);

	if (!err)
		err = put(b, w, r);
	if (!err)
		err = nl_batch_flush(b);
	nl_batch_free(b);
	if (outcome.err)
		return cni_error_kernel(e, outcome.err, nl, outcome.what);
	return err ? cni_error_kernel(e, err, nl, "set routes and neighbours") : 0;
}

/* Configuring it */

struct claim {
	const struct result *r;
	int ifindex;
	bool taken;
};

static int on_route(const struct route *route, void *arg)
{
	struct claim *claim = arg;
	size_t i;

	for (i = 0; i < claim->r->n_ips; i++) {
		const struct route ours = {.dst = ip_prefix_of_host(&claim->r->ips[i])};

		if (route->oif != claim->ifindex && route_same_entry(route, &ours))
			claim->taken = true;
	}
	return 0;
}

/* Putting a route replaces what is there, and that would be somebody's. */
static int check_claims(const struct wire *w, const struct result *r, struct cni_error *e)
{
	struct claim claim = {.r = r, .ifindex = w->host_ifindex};
	const int err = route_list(w->nl, 0, on_route, &claim);

	if (err)
		return cni_error_kernel(e, err, w->nl, "list the host's routes");
	return claim.taken
		       ? cni_error_set(e, CNI_KERNEL_REFUSED,
				       "the host has a route to the container's address already")
		       : 0;
}

static int add_addresses(const struct wire *w, const struct result *r, struct cni_error *e)
{
	size_t i;

	for (i = 0; i < r->n_ips; i++) {
		const struct address address = {.ifindex = w->container_ifindex,
						.prefix = ip_prefix_of_host(&r->ips[i]),
						.protocol = OWNER_CNI_PROTOCOL};
		const int err = address_add(w->netns.nl, &address);

		if (err)
			return cni_error_kernel(e, err, w->netns.nl,
						"give the container an address");
	}
	return 0;
}

/* A host that routes for containers forwards; one without that family has no file. */
static int forward(const char *path, struct cni_error *e)
{
	const int fd = open(path, O_RDWR | O_CLOEXEC);
	char now = 0;
	bool ok;

	if (fd < 0)
		return errno == ENOENT ? 0 : cni_error_kernel(e, -errno, NULL, path);
	ok = read(fd, &now, 1) == 1 && (now != '0' || pwrite(fd, "1", 1, 0) == 1);
	close(fd);
	return ok ? 0 : cni_error_set(e, CNI_KERNEL_REFUSED, "cannot write 1 to %s", path);
}

static int forward_families(const struct result *r, struct cni_error *e)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < r->n_ips; i++)
		err = forward(r->ips[i].len == 4 ? "/proc/sys/net/ipv4/ip_forward"
						 : "/proc/sys/net/ipv6/conf/all/forwarding",
			      e);
	return err;
}

int wire_configure(struct wire *w, const struct result *r, struct cni_error *e)
{
	const struct link_change up = {.set_up = true, .up = true};
	int err = link_set(w->nl, w->host_ifindex, &up);

	if (!err)
		err = link_set(w->netns.nl, w->container_ifindex, &up);
	if (err)
		return cni_error_kernel(e, err, NULL, "bring the veth pair up");
	err = check_claims(w, r, e);
	if (!err)
		err = forward_families(r, e);
	if (!err)
		err = add_addresses(w, r, e);
	if (!err)
		err = put_all(w->netns.nl, put_container, w, r, e);
	return err ? err : put_all(w->nl, put_host, w, r, e);
}

int wire_remove(struct nl *nl, const struct attachment *a, struct cni_error *e)
{
	struct link_info link;
	int err = link_get(nl, a->name, &link);

	if (!err && attachment_owns(a, &link))
		err = link_delete(nl, link.ifindex);
	return err && err != -ENODEV ? cni_error_kernel(e, err, nl, "remove the veth pair") : 0;
}
