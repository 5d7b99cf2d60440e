/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One command about one VXLAN port: creates, changes or removes it and its entries,
 * all or nothing. Between two packets: lane's thread.
 */
#ifndef SEALANE_LANE_PORT_CHANGE_H
#define SEALANE_LANE_PORT_CHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "port.h"

struct lane;

enum { PORT_CHANGE_OPS_MAX = 200000, PORT_CHANGE_FLOOD_OPS_MAX = 4 * FDB_FLOOD_MAX };

/* Which fields of the configuration a command gives; dscp with inherit_dscp. */
enum port_field {
	PORT_FIELD_KIND = 1 << 0,
	PORT_FIELD_MTU = 1 << 1,
	PORT_FIELD_MAC = 1 << 2,
	PORT_FIELD_GSO_MAX_SIZE = 1 << 3,
	PORT_FIELD_VTEP = 1 << 4,
	PORT_FIELD_UDP_PORT = 1 << 5,
	PORT_FIELD_VNI = 1 << 6,
	PORT_FIELD_TTL = 1 << 7,
	PORT_FIELD_DSCP = 1 << 8,
	PORT_FIELD_CHECKSUM = 1 << 9,
	PORT_FIELD_ANSWER_NEIGHBOURS = 1 << 10,
	PORT_FIELD_LEARNING = 1 << 11,
	PORT_FIELD_AGE = 1 << 12,
	PORT_FIELD_FDB_LIMIT = 1 << 13,
	PORT_FIELD_LEARNED_LIMIT = 1 << 14,
};

struct port_op {
	uint32_t line; /* for people: where it was read; 0: nowhere */
	bool remove;
	uint8_t mac[6];	  /* fdb, neighbours */
	struct vtep addr; /* of the VTEP; of the neighbour */
};

struct port_ops {
	struct port_op *op;
	size_t n, capacity;
};

struct port_change {
	bool create, remove;
	unsigned given;		   /* PORT_FIELD_* */
	struct port_config config; /* the name, and the fields given */
	/* These come first, then the operations of each list in their order. */
	bool flush_learned;
	bool replace_fdb; /* static entries not named go */
	bool replace_flood, replace_neighbours;
	struct port_ops fdb, flood, neighbours;
};

/* Adds @op to @list, one of @c's. 0, -ENOSPC (PORT_CHANGE_OPS_MAX in all), -ENOMEM. */
int port_change_add(struct port_change *c, struct port_ops *list, const struct port_op *op);
/* Frees the lists. @c began as all zero and a name. */
void port_change_done(struct port_change *c);

/*
 * 0; with nothing changed and one line in @err_text: -ENODEV (no such port), -EINVAL,
 * -ENOENT (an entry to be removed is not there), -EEXIST (in the flooding list
 * already, or as port_new()), -ENOSPC (a limit), -ENOMEM, or as port_new() and
 * port_configure().
 *
 * Not given when a port is created: port_config_default(), and a checksum over IPv6.
 * A VTEP and a VNI must be given. A lower limit of entries lowers that of learned
 * ones, if that is not given. A VTEP of the other address family needs tables without
 * entries, or such as are replaced; learned ones go.
 */
int port_change_apply(struct lane *lane, struct port_change *c, char err_text[PORT_ERR_LEN]);

#endif
