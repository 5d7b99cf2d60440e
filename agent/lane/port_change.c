/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * All that can be known to be wrong is found before anything is touched. Then comes
 * what only trying tells, in an order in which it can be taken back: new neighbours
 * are entered (memory), the configuration is taken over (the kernel, memory). The
 * rest cannot fail: fdb entries, whose table has its memory, and the flooding list.
 *
 * A limit of entries is lowered at the very end, when what is to go has gone.
 */
#include "port_change.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lane.h"
#include "port_change_internal.h"

enum { OPS_FIRST = 16 };

int port_change_refuse(char err_text[PORT_ERR_LEN], int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err_text, PORT_ERR_LEN, fmt, ap);
	va_end(ap);
	return err;
}

int port_change_add(struct port_change *c, struct port_ops *list, const struct port_op *op)
{
	struct port_op *grown;
	size_t capacity;

	if (c->fdb.n + c->flood.n + c->neighbours.n >= PORT_CHANGE_OPS_MAX)
		return -ENOSPC;
	if (list->n == list->capacity) {
		capacity = list->n ? 2 * list->n : OPS_FIRST;
		grown = reallocarray(list->op, capacity, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		list->op = grown;
		list->capacity = capacity;
	}
	list->op[list->n++] = *op;
	return 0;
}

void port_change_done(struct port_change *c)
{
	free(c->fdb.op);
	free(c->flood.op);
	free(c->neighbours.op);
	*c = (struct port_change){0};
}

/* Configuration */

static bool given(const struct port_change *c, enum port_field field)
{
	return c->given & field;
}

/* @config with what the command gives. */
static void merge_fixed(struct port_config *config, const struct port_change *c)
{
	if (given(c, PORT_FIELD_KIND))
		config->kind = c->config.kind;
	if (given(c, PORT_FIELD_MTU))
		config->mtu = c->config.mtu;
	if (given(c, PORT_FIELD_GSO_MAX_SIZE))
		config->gso_max_size = c->config.gso_max_size;
	if (given(c, PORT_FIELD_MAC)) {
		config->has_mac = true;
		memcpy(config->mac, c->config.mac, sizeof(config->mac));
	}
}

static void merge_outer(struct port_config *config, const struct port_change *c)
{
	if (given(c, PORT_FIELD_VTEP))
		config->local = c->config.local;
	if (given(c, PORT_FIELD_UDP_PORT))
		config->udp_port = c->config.udp_port;
	if (given(c, PORT_FIELD_VNI))
		config->vni = c->config.vni;
	if (given(c, PORT_FIELD_TTL))
		config->ttl = c->config.ttl;
	if (given(c, PORT_FIELD_DSCP)) {
		config->dscp = c->config.dscp;
		config->inherit_dscp = c->config.inherit_dscp;
	}
	if (given(c, PORT_FIELD_CHECKSUM))
		config->checksum = c->config.checksum;
	else if (c->create)
		config->checksum = config->local.addr_len == 16;
}

static void merge_bridge(struct port_config *config, const struct port_change *c)
{
	struct fdb_config *fdb = &config->fdb;

	if (given(c, PORT_FIELD_ANSWER_NEIGHBOURS))
		config->answer_neighbours = c->config.answer_neighbours;
	if (given(c, PORT_FIELD_LEARNING))
		fdb->learning = c->config.fdb.learning;
	if (given(c, PORT_FIELD_AGE))
		fdb->age_ns = c->config.fdb.age_ns;
	if (given(c, PORT_FIELD_FDB_LIMIT))
		fdb->limit = c->config.fdb.limit;
	if (given(c, PORT_FIELD_LEARNED_LIMIT))
		fdb->learned_limit = c->config.fdb.learned_limit;
	else if (fdb->learned_limit > fdb->limit)
		fdb->learned_limit = fdb->limit;
}

/* Values that are the device's from its creation on: the same ones again are fine. */
static const char *differs_from_fixed(const struct port *port, const struct port_change *c)
{
	const struct port_config *has = &port->config, *wanted = &c->config;
	uint8_t mac[6];

	port_mac(port, mac);
	if (given(c, PORT_FIELD_KIND) && wanted->kind != has->kind)
		return "kind";
	if (given(c, PORT_FIELD_MTU) && wanted->mtu != has->mtu)
		return "mtu";
	if (given(c, PORT_FIELD_MAC) && memcmp(wanted->mac, mac, sizeof(mac)) != 0)
		return "mac";
	if (given(c, PORT_FIELD_GSO_MAX_SIZE) && wanted->gso_max_size != has->gso_max_size)
		return "gso_max_size";
	return NULL;
}

static int check_fdb_config(const struct fdb_config *fdb, char err_text[PORT_ERR_LEN])
{
	if (fdb->limit > FDB_LIMIT_MAX)
		return port_change_refuse(err_text, -EINVAL, "fdb_limit: must be 0 to %d",
					  FDB_LIMIT_MAX);
	if (fdb->learned_limit > fdb->limit)
		return port_change_refuse(err_text, -EINVAL,
					  "learned_limit: must be 0 to %zu, which is fdb_limit",
					  fdb->limit);
	if (fdb->learning && !fdb->age_ns)
		return port_change_refuse(err_text, -EINVAL,
					  "age_s: must be 1 to %u with learning=true", UINT32_MAX);
	return 0;
}

/* Entries of one family cannot be reached from a VTEP of the other. */
static int check_family(const struct port *port, const struct port_change *c,
			const struct port_config *config, char err_text[PORT_ERR_LEN])
{
	const struct vtep *flood;

	if (config->local.addr_len == port->config.local.addr_len)
		return 0;
	if (!c->replace_fdb && fdb_count(port->fdb, false))
		return port_change_refuse(err_text, -EINVAL,
					  "vtep: static entries are of the other address family "
					  "(replace_fdb=true removes them)");
	if (!c->replace_flood && fdb_flood_list(port->fdb, &flood))
		return port_change_refuse(err_text, -EINVAL,
					  "vtep: the flooding list is of the other address family "
					  "(replace_flood=true empties it)");
	return 0;
}

/* Fills in @config, as it will be. */
static int make_config(const struct port *port, const struct port_change *c,
		       struct port_config *config, char err_text[PORT_ERR_LEN])
{
	const char *fixed = port ? differs_from_fixed(port, c) : NULL;
	int err;

	if (fixed)
		return port_change_refuse(err_text, -EINVAL,
					  "%s: given when a port is created, later it is the "
					  "device's (ip link)",
					  fixed);
	if (port) {
		*config = port->config;
	} else {
		port_config_default(config);
		memcpy(config->name, c->config.name, sizeof(config->name));
		merge_fixed(config, c);
	}
	merge_outer(config, c);
	merge_bridge(config, c);
	err = check_fdb_config(&config->fdb, err_text);
	if (!err && port)
		err = check_family(port, c, config, err_text);
	return err;
}

/* Doing it */

static int create_port(struct lane *lane, const struct port_config *config, struct port_plan *plan,
		       char err_text[PORT_ERR_LEN])
{
	struct port *port;
	int err = port_new(lane, config, &port, err_text);

	if (err)
		return err;
	err = port_plan_prepare(plan, port, err_text);
	if (err)
		port_remove(lane, port);
	else
		port_plan_commit(plan, port);
	return err;
}

static int change_port(struct port *port, const struct port_config *config, struct port_plan *plan,
		       char err_text[PORT_ERR_LEN])
{
	struct port_config roomy = *config;
	int err = port_plan_prepare(plan, port, err_text);

	if (err)
		return err;
	if (roomy.fdb.limit < port->config.fdb.limit)
		roomy.fdb.limit = port->config.fdb.limit;
	err = port_configure(port, &roomy, err_text);
	if (err) {
		port_plan_undo(plan, port);
		return err;
	}
	port_plan_commit(plan, port);
	if (roomy.fdb.limit != config->fdb.limit) {
		err = port_configure(port, config, err_text);
		assert(!err); /* as before, and the entries fit: they were counted */
	}
	return err;
}

static bool says_more_than_remove(const struct port_change *c)
{
	return c->create || c->given || c->flush_learned || c->replace_fdb || c->replace_flood ||
	       c->replace_neighbours || c->fdb.n || c->flood.n || c->neighbours.n;
}

/* What is wrong before any value is looked at. */
static int check_command(const struct port *port, const struct port_change *c,
			 char err_text[PORT_ERR_LEN])
{
	const char *name = c->config.name;

	if (c->remove && says_more_than_remove(c))
		return port_change_refuse(err_text, -EINVAL,
					  "remove: goes with no other key but port");
	if (c->create && port)
		return port_change_refuse(err_text, -EEXIST, "create: there is a port %s already",
					  name);
	if (!c->create && !port)
		return port_change_refuse(err_text, -ENODEV, "port: there is no port %s", name);
	if (c->create && !given(c, PORT_FIELD_VTEP))
		return port_change_refuse(err_text, -EINVAL, "create: needs a vtep");
	if (c->create && !given(c, PORT_FIELD_VNI))
		return port_change_refuse(err_text, -EINVAL, "create: needs a vni");
	return 0;
}

int port_change_apply(struct lane *lane, struct port_change *c, char err_text[PORT_ERR_LEN])
{
	struct port_plan plan;
	struct port_config config = c->config;
	struct port *port;
	int err;

	lane_refresh_clock(lane);
	port_reap(lane);
	port = port_find(lane, c->config.name);
	err = check_command(port, c, err_text);
	if (err)
		return err;
	if (c->remove) {
		port_remove(lane, port);
		return 0;
	}
	err = make_config(port, c, &config, err_text);
	if (err)
		return err;
	err = port_plan_make(&plan, lane, port, c, &config, err_text);
	if (!err && port)
		err = change_port(port, &config, &plan, err_text);
	else if (!err)
		err = create_port(lane, &config, &plan, err_text);
	port_plan_done(&plan);
	return err;
}
