/* SPDX-License-Identifier: Apache-2.0 */
/* Results: read the IPAM plugin's, make ours in the version asked for. Pure. */
#ifndef SEALANE_CNI_RESULT_H
#define SEALANE_CNI_RESULT_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "config.h"
#include "overlay/ipaddr.h"

enum { RESULT_MAX_IPS = 16, RESULT_MAX_ROUTES = 64 };

struct result_interface {
	char name[IFNAMSIZ];
	uint8_t mac[6];
	uint32_t mtu;
	const char *sandbox; /* borrowed; "" on the host */
};

struct result {
	struct result_interface host, container;
	struct ip_addr ips[RESULT_MAX_IPS];
	size_t n_ips;
	struct ip_prefix routes[RESULT_MAX_ROUTES]; /* without host bits */
	size_t n_routes;
	const json_t *dns; /* borrowed from the IPAM plugin's, or NULL */
};

/* The gateway that containers know: nobody's address, held by a permanent neighbour. */
extern const struct ip_addr result_gateway4, result_gateway6;
const struct ip_addr *result_gateway(size_t addr_len);

/*
 * Takes ips, routes and dns; a family that has addresses and no route gets a default
 * route. @doc must live as long as @ret. CNI_IPAM_FAILED: something is no address, too
 * much, or there is no address at all.
 */
int result_take_ipam(const json_t *doc, struct result *ret, struct cni_error *e);
/* Ours for the runtime: host end, container end. NULL: no memory. */
json_t *result_make(const struct result *r, enum cni_version version);
/* A copy of another plugin's result, with what @version adds or takes away of "ips". NULL:
 * no memory. */
json_t *result_convert(const json_t *doc, enum cni_version version);

#endif
