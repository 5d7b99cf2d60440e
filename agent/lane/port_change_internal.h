/* SPDX-License-Identifier: Apache-2.0 */
/* What is behind port_change.c: port_change_ops.c looks at operations, and
 * port_change_tables.c does to a port's tables what they ask for. */
#ifndef SEALANE_LANE_PORT_CHANGE_INTERNAL_H
#define SEALANE_LANE_PORT_CHANGE_INTERNAL_H

#include "port_change.h"

/* The last operation on each key, sorted by key. */
struct port_plan_ops {
	const struct port_op **op;
	size_t n;
	size_t n_set; /* of these, those that do not remove */
};

struct port_plan {
	const struct port_change *change;
	struct port_plan_ops fdb, neighbours;
	bool flush_learned;
	struct vtep *flood; /* the list as it will be; NULL: as it is */
	size_t n_flood;
	/* From port_plan_prepare() on: the table that takes the old one's place, or
	 * the addresses that were entered into that. */
	struct neightab *new_neighbours;
	const struct port_op **entered;
	size_t n_entered;
};

/* Checks the operations against @port (NULL: a new one) as it would be with @config.
 * As port_change_apply(); port_plan_done() in any case. */
int port_plan_make(struct port_plan *plan, const struct lane *lane, const struct port *port,
		   const struct port_change *c, const struct port_config *config,
		   char err_text[PORT_ERR_LEN]);
/* Does what may fail. On failure nothing is changed. */
int port_plan_prepare(struct port_plan *plan, struct port *port, char err_text[PORT_ERR_LEN]);
/* Takes that back. */
void port_plan_undo(struct port_plan *plan, struct port *port);
/* Does the rest, which cannot fail. The table of @port has room. */
void port_plan_commit(struct port_plan *plan, struct port *port);
void port_plan_done(struct port_plan *plan);

/* Operations */

enum { PORT_OP_WHERE_LEN = 32 };

/* One table, as operations see it; @port and @now_ns are the caller's to fill in. */
struct port_table_view {
	const char *key;
	int (*compare)(const void *a, const void *b);
	int (*compare_with_line)(const void *a, const void *b);
	bool (*has)(const struct port_table_view *v, const struct port_op *op);
	const struct port *port; /* NULL: the table will be empty */
	uint64_t now_ns;
};

extern const struct port_table_view port_fdb_view, port_neighbour_view;

/* Sorts @ops into @ret and leaves the last of each key. 0, -ENOMEM, or -ENOENT: one
 * removes what is not there. */
int port_plan_table(const struct port_ops *ops, const struct port_table_view *v,
		    struct port_plan_ops *ret, char err_text[PORT_ERR_LEN]);
/* For bsearch() among pointers to operations. */
int port_op_compare_mac(const void *a, const void *b);
/* 0 or -EINVAL: one station's MAC; one host's address; a VTEP that ours can reach. */
int port_op_check_mac(const struct port_op *op, const char *key, char err_text[PORT_ERR_LEN]);
int port_op_check_host(const struct port_op *op, const char *key, char err_text[PORT_ERR_LEN]);
int port_op_check_vtep(const struct port_op *op, const char *key, const struct port_config *config,
		       char err_text[PORT_ERR_LEN]);
/* "line 7: fdb_remove". Returns @buf. */
const char *port_op_where(const struct port_op *op, const char *key, char buf[PORT_OP_WHERE_LEN]);

/* -ENOMEM, and says so. */
int port_change_no_memory(char err_text[PORT_ERR_LEN]);
/* Writes @err_text and returns @err. */
int port_change_refuse(char err_text[PORT_ERR_LEN], int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
