/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations on one key are boiled down to the last one, so that their number and
 * order do not matter to limits: what is removed goes first, then what is new comes.
 * In a full table a static entry takes the place of the oldest learned one, also if
 * a later line of the same command names that for removal: it is gone then, as asked.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lane.h"
#include "port_change_internal.h"

/* Forwarding database */

/* Static entries there will be. */
static size_t count_static(const struct port_plan *plan, const struct port *port, uint64_t now_ns)
{
	const struct fdb_entry *e;
	size_t pos = 0, n = plan->fdb.n_set;

	if (!port || plan->change->replace_fdb)
		return n;
	while ((e = fdb_next(port->fdb, &pos, now_ns))) {
		struct port_op key;
		const struct port_op *p = &key;

		memcpy(key.mac, e->mac, sizeof(key.mac));
		n += e->is_static &&
		     !(plan->fdb.n && bsearch(&p, plan->fdb.op, plan->fdb.n,
					      sizeof(const struct port_op *), port_op_compare_mac));
	}
	return n;
}

/* Counted only where it could be too many: it takes a look at every entry. */
static int check_fdb_room(const struct port_plan *plan, const struct port *port, size_t limit,
			  uint64_t now_ns, char err_text[PORT_ERR_LEN])
{
	size_t n = plan->fdb.n_set + (port ? fdb_count(port->fdb, false) : 0);

	if (n > limit)
		n = count_static(plan, port, now_ns);
	if (n <= limit)
		return 0;
	return port_change_refuse(err_text, -ENOSPC,
				  "fdb: %zu static entries, fdb_limit is %zu (0 to %d)", n, limit,
				  FDB_LIMIT_MAX);
}

static int plan_fdb(struct port_plan *plan, const struct lane *lane, const struct port *port,
		    const struct port_config *config, char err_text[PORT_ERR_LEN])
{
	const struct port_ops *ops = &plan->change->fdb;
	struct port_table_view v = port_fdb_view;
	int err;

	for (size_t i = 0; i < ops->n; i++) {
		err = port_op_check_mac(&ops->op[i], v.key, err_text);
		if (!err && !ops->op[i].remove)
			err = port_op_check_vtep(&ops->op[i], v.key, config, err_text);
		if (err)
			return err;
	}
	v.port = plan->change->replace_fdb ? NULL : port;
	v.now_ns = lane->self.now_ns;
	err = port_plan_table(ops, &v, &plan->fdb, err_text);
	if (!err)
		err = check_fdb_room(plan, port, config->fdb.limit, lane->self.now_ns, err_text);
	return err;
}

static void commit_fdb(const struct port_plan *plan, struct fdb *fdb, uint64_t now_ns)
{
	const struct port_plan_ops *ops = &plan->fdb;
	const struct fdb_entry *e;
	size_t pos = 0;

	if (plan->flush_learned)
		fdb_flush_learned(fdb);
	while (plan->change->replace_fdb && (e = fdb_next(fdb, &pos, now_ns))) {
		if (e->is_static)
			fdb_remove(fdb, e->mac);
	}
	for (size_t i = 0; i < ops->n; i++) {
		if (ops->op[i]->remove)
			fdb_remove(fdb, ops->op[i]->mac);
	}
	for (size_t i = 0; i < ops->n; i++) {
		int err = 0;

		if (!ops->op[i]->remove)
			err = fdb_set(fdb, ops->op[i]->mac, &ops->op[i]->addr);
		assert(!err);
		(void)err;
	}
}

/* Flooding list */

static size_t flood_find(const struct port_plan *plan, const struct vtep *addr)
{
	size_t i = 0;

	while (i < plan->n_flood && !vtep_equal(&plan->flood[i], addr))
		i++;
	return i;
}

static int plan_flood_op(struct port_plan *plan, const struct port_op *op,
			 const struct port_config *config, char err_text[PORT_ERR_LEN])
{
	char where[PORT_OP_WHERE_LEN];
	int err = op->remove ? 0 : port_op_check_vtep(op, "flood", config, err_text);
	const size_t i = flood_find(plan, &op->addr);
	const bool there = i < plan->n_flood;

	if (err)
		return err;
	port_op_where(op, "flood", where);
	if (op->remove && !there)
		return port_change_refuse(err_text, -ENOENT, "%s: is not in the list", where);
	if (op->remove) {
		plan->n_flood--;
		memmove(&plan->flood[i], &plan->flood[i + 1],
			(plan->n_flood - i) * sizeof(plan->flood[0]));
		return 0;
	}
	if (there)
		return port_change_refuse(err_text, -EEXIST, "%s: is in the list already", where);
	if (plan->n_flood == FDB_FLOOD_MAX)
		return port_change_refuse(err_text, -ENOSPC, "%s: the list has at most %d", where,
					  FDB_FLOOD_MAX);
	plan->flood[plan->n_flood++] = op->addr;
	return 0;
}

static int plan_flood(struct port_plan *plan, const struct port *port,
		      const struct port_config *config, char err_text[PORT_ERR_LEN])
{
	const struct port_ops *ops = &plan->change->flood;
	const struct vtep *now;
	int err = 0;

	if (!ops->n && !plan->change->replace_flood)
		return 0;
	if (ops->n > PORT_CHANGE_FLOOD_OPS_MAX)
		return port_change_refuse(err_text, -ENOSPC,
					  "flood: at most %d operations in one command",
					  PORT_CHANGE_FLOOD_OPS_MAX);
	plan->flood = calloc(FDB_FLOOD_MAX, sizeof(plan->flood[0]));
	if (!plan->flood)
		return port_change_no_memory(err_text);
	if (port && !plan->change->replace_flood) {
		plan->n_flood = fdb_flood_list(port->fdb, &now);
		memcpy(plan->flood, now, plan->n_flood * sizeof(*now));
	}
	for (size_t i = 0; !err && i < ops->n; i++)
		err = plan_flood_op(plan, &ops->op[i], config, err_text);
	return err;
}

static void commit_flood(const struct port_plan *plan, struct fdb *fdb)
{
	const struct vtep *list;
	size_t n = fdb_flood_list(fdb, &list);

	for (; n; n--) {
		const struct vtep gone = list[n - 1];

		fdb_flood_remove(fdb, &gone);
	}
	for (size_t i = 0; i < plan->n_flood; i++)
		fdb_flood_add(fdb, &plan->flood[i]);
}

/* Neighbours */

static int plan_neighbours(struct port_plan *plan, const struct port *port,
			   char err_text[PORT_ERR_LEN])
{
	const struct port_ops *ops = &plan->change->neighbours;
	struct port_table_view v = port_neighbour_view;
	int err;

	for (size_t i = 0; i < ops->n; i++) {
		err = port_op_check_host(&ops->op[i], v.key, err_text);
		if (!err && !ops->op[i].remove)
			err = port_op_check_mac(&ops->op[i], v.key, err_text);
		if (err)
			return err;
	}
	v.port = plan->change->replace_neighbours ? NULL : port;
	return port_plan_table(ops, &v, &plan->neighbours, err_text);
}

static int set_neighbour(struct neightab *t, const struct port_op *op, char err_text[PORT_ERR_LEN])
{
	struct neighbour n = {.addr_len = op->addr.addr_len};
	char where[PORT_OP_WHERE_LEN];
	int err;

	memcpy(n.addr, op->addr.addr, n.addr_len);
	memcpy(n.mac, op->mac, sizeof(n.mac));
	err = neightab_set(t, &n);
	if (err == -ENOSPC)
		return port_change_refuse(err_text, err, "%s: a port has at most %d",
					  port_op_where(op, "neighbour", where),
					  PORT_NEIGHBOURS_MAX);
	if (err)
		return port_change_refuse(err_text, err, "%s: %s",
					  port_op_where(op, "neighbour", where), strerror(-err));
	return 0;
}

static bool is_neighbour(const struct neightab *t, const struct port_op *op)
{
	return neightab_find(t, op->addr.addr, op->addr.addr_len) != NULL;
}

/* Removes port_op_where is to go, then sets the rest. */
static int change_neighbours(struct neightab *t, const struct port_plan_ops *ops,
			     char err_text[PORT_ERR_LEN])
{
	int err = 0;

	for (size_t i = 0; i < ops->n; i++) {
		if (ops->op[i]->remove)
			neightab_remove(t, ops->op[i]->addr.addr, ops->op[i]->addr.addr_len);
	}
	for (size_t i = 0; !err && i < ops->n; i++) {
		if (!ops->op[i]->remove)
			err = set_neighbour(t, ops->op[i], err_text);
	}
	return err;
}

static int copy_neighbours(struct neightab *to, const struct neightab *from,
			   char err_text[PORT_ERR_LEN])
{
	const struct neighbour *n;
	size_t pos = 0;

	while ((n = neightab_next(from, &pos))) {
		if (neightab_set(to, n) < 0)
			return port_change_no_memory(err_text);
	}
	return 0;
}

/* A table to take the place of the one there is. */
static int build_neighbours(struct port_plan *plan, const struct port *port,
			    char err_text[PORT_ERR_LEN])
{
	const struct lane_env *env = port->lane->env;
	uint8_t hash_key[16];
	int err;

	env->random(env->ctx, hash_key, sizeof(hash_key));
	if (neightab_new(PORT_NEIGHBOURS_MAX, hash_key, &plan->new_neighbours) < 0)
		return port_change_no_memory(err_text);
	if (!plan->change->replace_neighbours) {
		err = copy_neighbours(plan->new_neighbours, port->neighbours, err_text);
		if (err)
			return err;
	}
	return change_neighbours(plan->new_neighbours, &plan->neighbours, err_text);
}

/* The addresses that are not there yet. */
static int enter_neighbours(struct port_plan *plan, const struct port *port,
			    char err_text[PORT_ERR_LEN])
{
	const struct port_plan_ops *ops = &plan->neighbours;
	int err = 0;

	plan->entered = calloc(ops->n, sizeof(const struct port_op *));
	if (!plan->entered)
		return port_change_no_memory(err_text);
	for (size_t i = 0; !err && i < ops->n; i++) {
		if (ops->op[i]->remove || is_neighbour(port->neighbours, ops->op[i]))
			continue;
		err = set_neighbour(port->neighbours, ops->op[i], err_text);
		if (!err)
			plan->entered[plan->n_entered++] = ops->op[i];
	}
	return err;
}

static void commit_neighbours(struct port_plan *plan, struct port *port)
{
	char err_text[PORT_ERR_LEN];
	int err;

	if (plan->new_neighbours) {
		neightab_free(port->neighbours);
		port->neighbours = plan->new_neighbours;
		plan->new_neighbours = NULL;
		return;
	}
	/* What is new is there already; another MAC takes no memory. */
	err = change_neighbours(port->neighbours, &plan->neighbours, err_text);
	assert(!err);
	(void)err;
	plan->n_entered = 0;
}

/* The plan */

int port_plan_make(struct port_plan *plan, const struct lane *lane, const struct port *port,
		   const struct port_change *c, const struct port_config *config,
		   char err_text[PORT_ERR_LEN])
{
	int err;

	*plan = (struct port_plan){.change = c, .flush_learned = c->flush_learned};
	if (port && port->config.local.addr_len != config->local.addr_len)
		plan->flush_learned = true;
	err = plan_fdb(plan, lane, port, config, err_text);
	if (!err)
		err = plan_flood(plan, port, config, err_text);
	if (!err)
		err = plan_neighbours(plan, port, err_text);
	return err;
}

/* Both ways to the same end: a new table where the old one's entries do not matter
 * or could be too many for a moment, else the one there is, which may be large. */
int port_plan_prepare(struct port_plan *plan, struct port *port, char err_text[PORT_ERR_LEN])
{
	const size_t n_set = plan->neighbours.n_set;
	int err = 0;

	if (plan->change->replace_neighbours ||
	    (n_set && neightab_count(port->neighbours) + n_set > PORT_NEIGHBOURS_MAX))
		err = build_neighbours(plan, port, err_text);
	else if (n_set)
		err = enter_neighbours(plan, port, err_text);
	if (err)
		port_plan_undo(plan, port);
	return err;
}

void port_plan_undo(struct port_plan *plan, struct port *port)
{
	for (; plan->n_entered; plan->n_entered--) {
		const struct vtep *addr = &plan->entered[plan->n_entered - 1]->addr;

		neightab_remove(port->neighbours, addr->addr, addr->addr_len);
	}
	neightab_free(plan->new_neighbours);
	plan->new_neighbours = NULL;
}

void port_plan_commit(struct port_plan *plan, struct port *port)
{
	commit_fdb(plan, port->fdb, port->lane->self.now_ns);
	if (plan->flood)
		commit_flood(plan, port->fdb);
	commit_neighbours(plan, port);
}

void port_plan_done(struct port_plan *plan)
{
	free(plan->fdb.op);
	free(plan->neighbours.op);
	free(plan->flood);
	free(plan->entered);
	neightab_free(plan->new_neighbours);
}
