/* SPDX-License-Identifier: Apache-2.0 */
/* A VXLAN port of a lane as a value: as the lane tells of it, or as it should be.
 * Control thread. */
#ifndef SEALANE_NODE_PORT_STATE_H
#define SEALANE_NODE_PORT_STATE_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "overlay/ipaddr.h"

struct desired_overlay;

struct port_fdb_entry {
	uint8_t mac[6];
	struct ip_addr vtep;
};

struct port_neighbour {
	struct ip_addr addr;
	uint8_t mac[6];
};

struct port_state {
	char name[IFNAMSIZ];
	/* fixed when it is created */
	uint8_t mac[6];
	uint32_t mtu;
	uint32_t gso_max_size; /* 0: the lane's choice */
	/* these may change */
	struct ip_addr vtep;
	uint16_t udp_port;
	uint32_t vni;
	uint8_t ttl;
	bool checksum, answer_neighbours, learning;
	uint32_t fdb_limit, learned_limit;
	/* tables, sorted by MAC or address, none twice */
	struct port_fdb_entry *fdb; /* static ones */
	size_t n_fdb;
	struct ip_addr *flood;
	size_t n_flood;
	struct port_neighbour *neighbours;
	size_t n_neighbours;
};

struct port_list {
	struct port_state *ports;
	size_t n;
};

/* Takes the answer to a control socket's get apart in place: all ports without tables, or
 * one with them. Keys that are not known are passed over. 0, -EPROTO (a value that is
 * none), -ENOMEM; *ret is untouched then. */
int port_list_parse(char *answer, struct port_list *ret);
void port_list_done(struct port_list *list); /* and zeroes */
/* NULL: no such port. */
const struct port_state *port_list_find(const struct port_list *list, const char *name);

/* @o as a port. 0 or -ENOMEM. */
int port_state_want(const struct desired_overlay *o, struct port_state *ret);
void port_state_done(struct port_state *s); /* and zeroes */

#endif
