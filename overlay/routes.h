/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes as a table to be kept: list, add, delete. Questions to the kernel's
 * routing are route.h's. Control thread.
 */
#ifndef SEALANE_OVERLAY_ROUTES_H
#define SEALANE_OVERLAY_ROUTES_H

#include <stdbool.h>
#include <stdint.h>

#include "ipaddr.h"

struct nl;
struct nl_batch;

/* Tunnel metadata that a route gives to its packets: LWTUNNEL_ENCAP_IP and _IP6, for
 * devices in external mode. */
struct route_encap {
	bool present;
	uint64_t id;		      /* VNI */
	struct ip_addr remote, local; /* of one family; local may be none */
	uint8_t ttl, tos;	      /* as they are sent: 0 is no default */
	bool csum;		      /* a real outer UDP checksum */
};

struct route {
	struct ip_prefix dst; /* without host bits */
	uint32_t table;	      /* 0 is RT_TABLE_MAIN */
	uint32_t metric;      /* 0: IPv4 none, IPv6 the kernel makes 1024 of it */
	uint8_t protocol;
	bool unreachable; /* RTN_UNREACHABLE: then no device, no way */
	bool odd;	  /* only listed with protocol 0: has what is not told here
			   * (another type, another encapsulation); equal to none */
	int oif;
	struct ip_addr via; /* may be none, or of the other family (RTA_VIA) */
	bool onlink;	    /* @via need not be on a network of @oif */
	struct ip_addr src; /* preferred source, may be none */
	uint32_t mtu;	    /* 0: the device's */
	struct route_encap encap;
};

/* What makes two routes the same entry of the kernel's table: table, dst, metric. */
bool route_same_entry(const struct route *a, const struct route *b);
/* The same in all they say. */
bool route_equal(const struct route *a, const struct route *b);

/*
 * Each gathers one request into @b, which tells the outcome (nl_batch.h). 0, -EINVAL
 * for a route that cannot be (then there is no answer), or an error of nl_batch_add().
 * route_put() adds the route or replaces the one that is the same entry, whoever's it
 * is: -EEXIST is not an answer. Where an IPv6 entry is there with @via and without, it
 * replaces the one of the same kind.
 */
int route_put(struct nl_batch *b, const struct route *route, void *cookie);
/* By table, dst, metric, protocol and, where it has one, device: never a foreign one.
 * For IPv4 metric 0 means the least that there is. -ESRCH: no such route. */
int route_remove(struct nl_batch *b, const struct route *route, void *cookie);

/*
 * Those with @protocol, or with 0 all, of both families, in all tables. @fn returns 0 to go on,
 * else that ends the list and is returned. Routes with several next hops come with the first; those
 * to this host and to groups, and those by TOS or source do not come. May show one twice
 * (nl_call()).
 */
typedef int (*route_fn)(const struct route *route, void *arg);
int route_list(struct nl *nl, uint8_t protocol, route_fn fn, void *arg);

#endif
