/* SPDX-License-Identifier: Apache-2.0 */
/* Behind another plugin: what that one made gets the overlay's MTU and long superpackets. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "mtu.h"
#include "netns.h"
#include "overlay/ipaddr.h"
#include "overlay/link.h"
#include "overlay/nl.h"
#include "overlay/nl_batch.h"
#include "overlay/routes.h"
#include "overlay/veth.h"
#include "result.h"
#include "wire.h"

/* More is no container's table. */
enum { CHAIN_MAX_ROUTES = 256 };

struct chain {
	struct netns netns;
	int ifindex; /* of CNI_IFNAME in the container */
	uint32_t mtu;
	struct route routes[CHAIN_MAX_ROUTES]; /* that need the MTU */
	size_t n_routes;
};

/* Link-local and multicast traffic does not leave the link. */
static bool stays_on_link(const struct ip_prefix *dst)
{
	const uint8_t *b = dst->addr.bytes;

	if (dst->addr.len == 4)
		return b[0] == 169 && b[1] == 254 && dst->len >= 16;
	return dst->len && ((b[0] == 0xfe && (b[1] & 0xc0) == 0x80) || b[0] == 0xff);
}

static int on_route(const struct route *route, void *arg)
{
	struct chain *chain = arg;

	if (route->oif != chain->ifindex || route->odd || route->unreachable ||
	    stays_on_link(&route->dst) || (route->mtu && route->mtu <= chain->mtu))
		return 0;
	if (chain->n_routes == CHAIN_MAX_ROUTES)
		return -E2BIG;
	chain->routes[chain->n_routes] = *route;
	chain->routes[chain->n_routes++].mtu = chain->mtu;
	return 0;
}

static int find_routes(struct call *call, struct chain *chain)
{
	struct link_info link;
	int err = netns_open(&call->env, &chain->netns, call->error);

	if (!err)
		err = mtu_find(&call->config, call->nl, &chain->mtu, call->error);
	if (err)
		return err;
	err = link_get(chain->netns.nl, call->env.ifname, &link);
	if (err)
		return cni_error_kernel(call->error, err, chain->netns.nl,
					"find CNI_IFNAME in the container");
	chain->ifindex = link.ifindex;
	if (!chain->mtu)
		return 0;
	err = route_list(chain->netns.nl, 0, on_route, chain);
	return err ? cni_error_kernel(call->error, err, chain->netns.nl,
				      "list the container's routes")
		   : 0;
}

static void on_answer(void *cookie, int err, void *arg)
{
	int *first = arg;

	(void)cookie;
	if (err && !*first)
		*first = err;
}

static int put_routes(struct call *call, struct chain *chain)
{
	struct nl_batch *b = NULL;
	int answer = 0, err = nl_batch_new(chain->netns.nl, on_answer, &answer, &b);
	size_t i;

	for (i = 0; !err && i < chain->n_routes; i++)
		err = route_put(b, &chain->routes[i], NULL);
	if (!err)
		err = nl_batch_flush(b);
	nl_batch_free(b);
	if (!err)
		err = answer;
	return err ? cni_error_kernel(call->error, err, chain->netns.nl,
				      "give a route of the container its MTU")
		   : 0;
}

/* A device that is no veth keeps its limits: they are its driver's. */
static int set_limits(struct call *call, struct chain *chain)
{
	struct veth_peer far, back;
	int err;

	if (!call->config.big_tcp || veth_peer(chain->netns.nl, chain->ifindex, &far) ||
	    veth_peer(call->nl, far.ifindex, &back) || back.ifindex != chain->ifindex)
		return 0;
	err = wire_set_limits(call->nl, far.ifindex);
	if (!err)
		err = wire_set_limits(chain->netns.nl, chain->ifindex);
	return err ? cni_error_kernel(call->error, err, NULL, "set the limits of superpackets") : 0;
}

static int print(struct call *call)
{
	json_t *doc = result_convert(call->config.prev, call->config.version);
	const int failed = !doc || json_dumpf(doc, call->out, JSON_INDENT(2)) ||
			   fputc('\n', call->out) == EOF || fflush(call->out);

	json_decref(doc);
	return failed ? cni_error_set(call->error, CNI_IO_FAILURE, "cannot print the result") : 0;
}

static int chain_add(struct call *call, struct chain *chain)
{
	int err = find_routes(call, chain);

	if (!err)
		err = put_routes(call, chain);
	if (!err)
		err = set_limits(call, chain);
	return err ? err : print(call);
}

static int chain_check(struct call *call, struct chain *chain)
{
	const int err = find_routes(call, chain);

	if (err || !chain->n_routes)
		return err;
	return cni_error_set(call->error, CNI_CHECK_FAILED,
			     "a route of the container has no MTU of %u", chain->mtu);
}

int call_chain(struct call *call)
{
	struct chain *chain;
	int err;

	if (call->env.op != CNI_ADD && call->env.op != CNI_CHECK)
		return 0; /* routes and limits go with the other plugin's device */
	if (!call->config.prev)
		return cni_error_set(call->error, CNI_INVALID_CONFIG,
				     "no prevResult: without ipam another plugin must come before");
	chain = calloc(1, sizeof(*chain));
	if (!chain)
		return cni_error_set(call->error, CNI_IO_FAILURE, "no memory");
	chain->netns.fd = -1;
	err = call->env.op == CNI_ADD ? chain_add(call, chain) : chain_check(call, chain);
	netns_close(&chain->netns);
	free(chain);
	return err;
}
