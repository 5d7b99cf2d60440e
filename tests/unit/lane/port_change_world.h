/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands as the structure they are: what their tests share. The table of neighbours
 * is the real one, but says that there is no memory when it is told to.
 */
#ifndef SEALANE_TESTS_PORT_CHANGE_WORLD_H
#define SEALANE_TESTS_PORT_CHANGE_WORLD_H

#define neightab_set neightab_set_for_sure
#include "agent/lane/neightab.c"
#undef neightab_set

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/lane/log.h"
#include "port_world.h"

int neightab_set(struct neightab *t, const struct neighbour *n);

#define NO_FAILURE UINT_MAX

static unsigned sets_until_failure = NO_FAILURE;

int neightab_set(struct neightab *t, const struct neighbour *n)
{
	if (sets_until_failure != NO_FAILURE && !sets_until_failure--) {
		sets_until_failure = NO_FAILURE;
		return -ENOMEM;
	}
	return neightab_set_for_sure(t, n);
}

static struct port_world world;
static struct port_change change;
static char err_text[PORT_ERR_LEN];

static inline int setup(void **state)
{
	(void)state;
	log_setup(LOG_SILENT);
	port_world_init(&world);
	sets_until_failure = NO_FAILURE;
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	port_change_done(&change);
	port_world_done(&world);
	assert_int_equal(world.n_opened, world.n_closed);
	return 0;
}

/* Building commands. Entries are named by a number. */

static inline struct vtep vtep4(uint8_t last)
{
	return (struct vtep){.addr = {10, 9, 0, last}, .addr_len = 4};
}

static inline struct vtep vtep6(uint8_t last)
{
	return (struct vtep){.addr = {0xfd, [15] = last}, .addr_len = 16};
}

static inline struct port_op op_of(unsigned n, struct vtep addr, bool remove)
{
	struct port_op op = {.remove = remove, .addr = addr};

	memcpy(op.mac, (const uint8_t[6]){2, 0, 0, 0, (uint8_t)(n >> 8), (uint8_t)n}, 6);
	return op;
}

static inline void begin(const char *name)
{
	port_change_done(&change);
	strcpy(change.config.name, name);
}

static inline void fdb(unsigned n, bool remove)
{
	struct port_op op = op_of(n, vtep4((uint8_t)(1 + n % 200)), remove);

	assert_int_equal(port_change_add(&change, &change.fdb, &op), 0);
}

static inline void flood(unsigned n, bool remove)
{
	struct port_op op = op_of(0, vtep4(0), remove);

	op.addr.addr[2] = (uint8_t)(n >> 8);
	op.addr.addr[3] = (uint8_t)n;
	op.line = n;
	assert_int_equal(port_change_add(&change, &change.flood, &op), 0);
}

static inline void neighbour(unsigned n, unsigned mac, bool remove)
{
	struct port_op op = op_of(mac, vtep4(0), remove);

	op.addr.addr[1] = (uint8_t)(n >> 16);
	op.addr.addr[2] = (uint8_t)(n >> 8);
	op.addr.addr[3] = (uint8_t)n;
	assert_int_equal(port_change_add(&change, &change.neighbours, &op), 0);
}

static inline int apply(void)
{
	strcpy(err_text, "");
	return port_change_apply(&world.lane, &change, err_text);
}

/* @err is answered, with words, and nothing is other than before. */
static inline void expect_refused(int err, const char *words)
{
	char *before = port_world_text(&world), *after;
	const unsigned n_ports = world.n_opened - world.n_closed;

	assert_int_equal(apply(), err);
	if (!strstr(err_text, words))
		fail_msg("\"%s\" is not in \"%s\"", words, err_text);
	after = port_world_text(&world);
	assert_string_equal(before, after);
	assert_int_equal(world.n_opened - world.n_closed, n_ports);
	free(before);
	free(after);
}

static inline void begin_create(const char *name, struct vtep vtep, uint32_t vni)
{
	begin(name);
	change.create = true;
	change.config.local = vtep;
	change.config.vni = vni;
	change.given = PORT_FIELD_VTEP | PORT_FIELD_VNI;
}

static inline struct port *create(size_t fdb_limit)
{
	begin_create("vx0", vtep4(1), 7);
	change.given |= PORT_FIELD_FDB_LIMIT;
	change.config.fdb.limit = fdb_limit;
	assert_int_equal(apply(), 0);
	return port_find(&world.lane, "vx0");
}

static inline bool has_fdb(const struct port *port, unsigned n)
{
	const struct port_op op = op_of(n, vtep4(0), false);

	return fdb_lookup(port->fdb, op.mac, world.now_ns) != NULL;
}

static inline void learn(struct port *port, unsigned n)
{
	const struct port_op op = op_of(n, vtep4(9), false);

	assert_int_equal(fdb_learn(port->fdb, op.mac, &op.addr, world.now_ns), FDB_NEW);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
