/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes that etcd has records of, by name, without this one. A record that is refused leaves
 * of its node what the last good one said. Control thread.
 */
#ifndef SEALANE_NODE_ETCD_NODES_H
#define SEALANE_NODE_ETCD_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config.h"
#include "member.h"

enum { ETCD_NODES_MAX = 20000 };

struct etcd_node;

struct etcd_nodes {
	struct etcd_node *nodes; /* sorted by name */
	size_t n, room;
	struct member *members; /* shallow, as of etcd_nodes_gather() */
	size_t n_members;
	struct config_faults faults; /* the same */
};

/* True: members are others now. */
bool etcd_nodes_put(struct etcd_nodes *all, const char *name, const char *text, size_t len,
		    const struct config *config);
bool etcd_nodes_delete(struct etcd_nodes *all, const char *name);
/* A list of all begins: what etcd_nodes_put() does not name before its end has gone. A list that
 * is not ended takes nothing away. */
void etcd_nodes_begin(struct etcd_nodes *all);
bool etcd_nodes_end(struct etcd_nodes *all);
/* Every record is judged again, by another configuration. */
bool etcd_nodes_again(struct etcd_nodes *all, const struct config *config);

/* Makes members and faults right. 0 or -ENOMEM, then they stay as they were. */
int etcd_nodes_gather(struct etcd_nodes *all);
void etcd_nodes_done(struct etcd_nodes *all); /* and zeroes */

#endif
