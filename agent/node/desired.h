/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the lane and the kernel should look like, worked out from the configuration
 * and the members: nothing but a function of its arguments. Who applies it is in
 * sync.h. Any thread.
 */
#ifndef SEALANE_NODE_DESIRED_H
#define SEALANE_NODE_DESIRED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config.h"
#include "member.h"
#include "overlay/ipaddr.h"

/* Facts about this host. */
struct desired_facts {
	uint8_t private_key[NODE_KEY_LEN], public_key[NODE_KEY_LEN];
	/* Smallest MTU of the ways to the members' endpoints less the outer headers of
	 * WireGuard (60 over IPv4, 80 over IPv6); 0: no endpoint has a way. */
	uint32_t path_mtu;
};

struct desired_peer {
	const struct member *member; /* key, psk, endpoint, keepalive */
	struct ip_prefix *allowed;   /* sorted (ip_prefix_compare), none twice */
	size_t n_allowed;
};

/* One other node on one overlay. */
struct desired_station {
	const struct member *member;
	const struct member_overlay *attachment;
	struct ip_addr vtep; /* its tunnel address of the overlay's outer family */
	uint8_t mac[6];
	struct ip_addr *addresses; /* those it may have: less the ones another won */
	size_t n_addresses;
	struct ip_prefix *routes; /* likewise */
	size_t n_routes;
};

struct desired_overlay {
	const struct config_overlay *config;
	struct ip_addr vtep; /* ours */
	uint8_t mac[6];
	uint32_t mtu;
	bool csum; /* a real outer UDP checksum */
	struct desired_station *stations;
	size_t n_stations;
};

struct desired {
	const struct config *config;
	uint8_t private_key[NODE_KEY_LEN];
	uint8_t public_key[NODE_KEY_LEN];
	uint32_t lane_mtu;
	struct desired_peer *peers;
	size_t n_peers;
	struct desired_overlay *overlays;
	size_t n_overlays;
	/* Claims that lost: one line each (without newline), for the log and a metric:
	 * "beta: 10.244.2.0/24 on ov0 is gamma's, which came later". */
	char **conflicts;
	size_t n_conflicts;
	void *arena;
};

/* Every frame that is flooded goes out once per station, one after another. */
enum { DESIRED_PORT_FLOOD_MAX = 1024 }; /* sealaned(8), flood */

enum { DESIRED_LANE_MTU_MAX = 65535, DESIRED_LANE_MTU_MIN = 1280, DESIRED_LANE_MTU_DEFAULT = 1420 };

/*
 * @config and @members are borrowed for the life of the result. Two members with one
 * public key: the newest (member.since, then the larger key) is taken as a whole. Two that claim
 * one tunnel address, MAC, overlay address, route or allowed-ip: the newest has it, the other keeps
 * the rest. A member with our own public key is left out, without a word. Overlays this node cannot
 * carry (no tunnel address of the family) do not pass config's checks. 0 or -ENOMEM.
 */
int desired_build(const struct config *config, const struct member *members, size_t n_members,
		  const struct desired_facts *facts, struct desired **ret);
/* Wipes and frees; NULL is fine. */
void desired_free(struct desired *d);

/* The MAC address of a node on an overlay where none is configured: locally
 * administered, unicast, the same computed by everyone who knows the public key. */
void desired_mac(const uint8_t public_key[NODE_KEY_LEN], uint32_t vni, uint8_t ret[6]);

/* Does the overlay flood to its stations? As configured, but a port with more of them than
 * it can flood to floods to none, for to some of them would be an error hard to find;
 * desired_build() makes that one of the conflicts. */
bool desired_floods(const struct desired_overlay *overlay);

/* Bytes that an overlay of @type puts around a packet of its device. */
uint32_t desired_overhead(enum config_type type, bool outer6);

#endif
