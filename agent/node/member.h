/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another node of the overlay network as a discovery provider tells of it: what the
 * configuration's `peers` say, and later what etcd or Kubernetes do. A value; the
 * arrays belong to the member.
 */
#ifndef SEALANE_NODE_MEMBER_H
#define SEALANE_NODE_MEMBER_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "overlay/ipaddr.h"

enum { NODE_KEY_LEN = 32, NODE_NAME_LEN = 64 };

/* What a node has on one overlay. */
struct member_overlay {
	char name[IFNAMSIZ];	   /* of the overlay here */
	struct ip_addr *addresses; /* of the node on it */
	size_t n_addresses;
	struct ip_prefix *routes; /* prefixes behind the node; without host bits */
	size_t n_routes;
	bool has_mac;
	uint8_t mac[6]; /* else derived from key and VNI (desired.h) */
};

struct member {
	char name[NODE_NAME_LEN];
	uint8_t public_key[NODE_KEY_LEN];
	bool has_psk;
	uint8_t psk[NODE_KEY_LEN];
	struct sockaddr_storage endpoint; /* ss_family 0: none known, it comes to us */
	uint16_t keepalive_s;		  /* 0: off */
	struct ip_addr tunnel[2];	  /* inside the tunnel, IPv4 and IPv6; len 0: none */
	struct ip_prefix *allowed_ips;	  /* more prefixes, routed into the tunnel itself */
	size_t n_allowed_ips;
	struct member_overlay *overlays;
	size_t n_overlays;
	uint64_t since; /* larger: came later. The newest wins where two claim the same */
};

/* Frees the arrays, wipes the keys, and zeroes. */
void member_clear(struct member *m);
/* 0 or -ENOMEM, *ret untouched then. */
int member_copy(const struct member *m, struct member *ret);

#endif
