/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BIG TCP: how long a superpacket may be on a device. Control thread.
 *
 * Acceptance proves nothing: before Linux 7.3 a vxlan device takes 196608 and then
 * loses nearly everything it is given above 65536.
 */
#ifndef SEALANE_OVERLAY_BIGTCP_H
#define SEALANE_OVERLAY_BIGTCP_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

struct nl;

enum { BIGTCP_LEGACY_SIZE = 65536, BIGTCP_PORT_SIZE = 196608 };

/* Bytes with the Ethernet header; the IPv4 ones are 0 where the kernel (before 6.3)
 * has none, and IPv4 stays below 65536 there. */
struct bigtcp {
	int ifindex;
	char name[IFNAMSIZ];
	char kind[32]; /* IFLA_INFO_KIND, "" for a device without one */
	int master;    /* ifindex of its bridge or bond, 0: none */
	bool up;
	uint32_t gso_max_size, gro_max_size;
	uint32_t gso_ipv4_max_size, gro_ipv4_max_size;
	uint32_t tso_max_size; /* the most that the driver takes; 0: not told */
};

int bigtcp_get(struct nl *nl, int ifindex, struct bigtcp *ret); /* 0, -ENODEV, -errno */

/* All four to @size, the main attribute before its IPv4 twin, which the kernel
 * overwrites otherwise. 0; -EINVAL: more than the device takes (then nothing has
 * changed); or -errno. */
int bigtcp_set(struct nl *nl, int ifindex, uint32_t size);

/*
 * The most that a device of @kind may be given on a kernel @major.@minor whose driver
 * says @tso_max_size (0: not told): pure. Above 65536 only where that was shown to
 * work: hardware, veth and what hands on from 6.18, vxlan and geneve from 7.3, other
 * kinds never, nor what is stacked on a TUN or TAP (@lower_is_tun), which hands over
 * no more.
 */
uint32_t bigtcp_cap(const char *kind, unsigned major, unsigned minor, bool lower_is_tun,
		    uint32_t tso_max_size);

/* Every device of this namespace. As route_list() otherwise. */
typedef int (*bigtcp_fn)(const struct bigtcp *b, void *arg);
int bigtcp_list(struct nl *nl, bigtcp_fn fn, void *arg);

#endif
