/* SPDX-License-Identifier: Apache-2.0 */
/* Commands and the configuration they make; what is refused early and late. */
#include "port_change_world.h"

static void test_create(void **state)
{
	const struct port *port;

	(void)state;
	begin_create("vx4", vtep4(1), 7);
	assert_int_equal(apply(), 0);
	port = port_find(&world.lane, "vx4");
	assert_false(port->config.checksum);
	assert_int_equal(port->config.udp_port, 4789);
	assert_int_equal(port->config.ttl, 64);
	assert_true(port->config.fdb.learning);
	assert_int_equal(port->config.fdb.age_ns, 300000000000);
	assert_int_equal(port->config.fdb.limit, 65536);
	expect_refused(-EEXIST, "vx4");

	begin_create("vx6", vtep6(1), 7);
	assert_int_equal(apply(), 0);
	assert_true(port_find(&world.lane, "vx6")->config.checksum);
	begin_create("vx6b", vtep6(1), 8);
	change.given |= PORT_FIELD_CHECKSUM;
	assert_int_equal(apply(), 0);
	assert_false(port_find(&world.lane, "vx6b")->config.checksum);

	begin_create("vx5", vtep4(1), 9);
	change.given = PORT_FIELD_VTEP;
	expect_refused(-EINVAL, "vni");
	change.given = PORT_FIELD_VNI;
	expect_refused(-EINVAL, "vtep");
	begin("vx5");
	expect_refused(-ENODEV, "vx5");
	begin_create("vx5", vtep4(1), 7);
	expect_refused(-EEXIST, "vx4");
	begin_create("vx5", vtep4(0xff), 9);
	change.config.local.addr[0] = 239;
	expect_refused(-EINVAL, "vtep");
}

static void test_create_with_entries(void **state)
{
	const struct port *port;

	(void)state;
	begin_create("vx0", vtep4(1), 7);
	fdb(1, false);
	flood(2, false);
	neighbour(3, 3, false);
	world.open_err = -EPERM;
	expect_refused(-EPERM, "open says no");
	world.open_err = 0;
	sets_until_failure = 0;
	expect_refused(-ENOMEM, "memory");
	assert_int_equal(world.n_opened, 1);
	assert_int_equal(apply(), 0);
	port = port_find(&world.lane, "vx0");
	assert_int_equal(fdb_count(port->fdb, false), 1);
	assert_int_equal(neightab_count(port->neighbours), 1);
}

static void test_remove(void **state)
{
	(void)state;
	create(100);
	begin("vx0");
	change.remove = true;
	change.flush_learned = true;
	expect_refused(-EINVAL, "remove");
	change.flush_learned = false;
	fdb(1, false);
	expect_refused(-EINVAL, "remove");
	begin("vx1");
	change.remove = true;
	expect_refused(-ENODEV, "vx1");
	begin("vx0");
	change.remove = true;
	assert_int_equal(apply(), 0);
	assert_null(port_find(&world.lane, "vx0"));
}

/* Its device was deleted: the name is free again. */
static void test_gone(void **state)
{
	(void)state;
	create(100)->gone = true;
	begin("vx0");
	assert_int_equal(apply(), -ENODEV);
	create(100)->gone = true;
	create(100);
}

static void test_fixed(void **state)
{
	struct port *port = create(100);

	(void)state;
	begin("vx0");
	change.given = PORT_FIELD_MTU;
	change.config.mtu = 1400;
	expect_refused(-EINVAL, "mtu");
	change.given = PORT_FIELD_KIND;
	change.config.kind = PORTDEV_TAP;
	expect_refused(-EINVAL, "kind");
	change.given = PORT_FIELD_GSO_MAX_SIZE;
	change.config.gso_max_size = 65536;
	expect_refused(-EINVAL, "gso_max_size");
	change.given = PORT_FIELD_MAC;
	expect_refused(-EINVAL, "mac");
	memcpy(change.config.mac, port->queue[0].mac, 6);
	change.given |= PORT_FIELD_MTU | PORT_FIELD_KIND | PORT_FIELD_GSO_MAX_SIZE | PORT_FIELD_TTL;
	change.config.mtu = 0;
	change.config.kind = PORTDEV_AUTO;
	change.config.gso_max_size = 0;
	change.config.ttl = 3;
	assert_int_equal(apply(), 0);
	assert_int_equal(port->config.ttl, 3);
}

static void test_limits_in_configuration(void **state)
{
	struct port *port = create(100);

	(void)state;
	assert_int_equal(port->config.fdb.learned_limit, 100);
	begin("vx0");
	change.given = PORT_FIELD_LEARNED_LIMIT;
	change.config.fdb.learned_limit = 101;
	expect_refused(-EINVAL, "learned_limit: must be 0 to 100");
	change.given = PORT_FIELD_FDB_LIMIT;
	change.config.fdb.limit = FDB_LIMIT_MAX + 1;
	expect_refused(-EINVAL, "fdb_limit");
	change.given = PORT_FIELD_AGE;
	expect_refused(-EINVAL, "age_s");
	change.given |= PORT_FIELD_LEARNING;
	assert_int_equal(apply(), 0);
	assert_false(port->config.fdb.learning);
	change.given = PORT_FIELD_FDB_LIMIT;
	change.config.fdb.limit = 200;
	assert_int_equal(apply(), 0);
	assert_int_equal(port->config.fdb.learned_limit, 100);
}

/* The kernel refuses when the neighbours are in. */
static void test_late_refusal(void **state)
{
	(void)state;
	create(4);
	begin("vx0");
	neighbour(1, 1, false);
	neighbour(2, 2, false);
	assert_int_equal(apply(), 0);
	world.check_err = -EADDRINUSE;
	for (int replace = 0; replace <= 1; replace++) {
		begin("vx0");
		change.given = PORT_FIELD_UDP_PORT | PORT_FIELD_FDB_LIMIT;
		change.config.udp_port = 8472;
		change.config.fdb.limit = 50;
		change.replace_neighbours = replace;
		fdb(1, false);
		flood(1, false);
		neighbour(1, 9, false);
		for (unsigned n = 3; n < 30; n++)
			neighbour(n, n, false);
		expect_refused(-EADDRINUSE, "check says no");
	}
	world.check_err = 0;
	assert_int_equal(apply(), 0);
}

static void test_family(void **state)
{
	struct port *port = create(4);

	(void)state;
	learn(port, 1);
	begin("vx0");
	change.given = PORT_FIELD_VTEP;
	change.config.local = vtep6(1);
	fdb(2, false);
	expect_refused(-EINVAL, "fdb: must be an IPv6 address");
	begin("vx0");
	fdb(2, false);
	flood(1, false);
	assert_int_equal(apply(), 0);
	begin("vx0");
	change.given = PORT_FIELD_VTEP;
	change.config.local = vtep6(1);
	expect_refused(-EINVAL, "replace_fdb");
	change.replace_fdb = true;
	expect_refused(-EINVAL, "replace_flood");
	change.replace_flood = true;
	assert_int_equal(apply(), 0);
	assert_int_equal(fdb_count(port->fdb, true) + fdb_count(port->fdb, false), 0);
	begin("vx0");
	fdb(2, false);
	expect_refused(-EINVAL, "fdb: must be an IPv6 address");
}

static void test_bad_entries(void **state)
{
	struct port_op op = op_of(1, vtep4(2), false);

	(void)state;
	create(4);
	begin("vx0");
	op.line = 7;
	op.mac[0] = 3;
	assert_int_equal(port_change_add(&change, &change.fdb, &op), 0);
	expect_refused(-EINVAL, "line 7: fdb: must be a unicast MAC address and not zero, not "
				"03:00:00:00:00:01");
	begin("vx0");
	memset(op.mac, 0, 6);
	assert_int_equal(port_change_add(&change, &change.neighbours, &op), 0);
	expect_refused(-EINVAL, "line 7: neighbour: must be a unicast MAC address");
	begin("vx0");
	op = op_of(1, vtep4(2), false);
	op.addr.addr[0] = 224;
	assert_int_equal(port_change_add(&change, &change.fdb, &op), 0);
	expect_refused(-EINVAL, "fdb: must be a unicast address, not 224.9.0.2");
	begin("vx0");
	assert_int_equal(port_change_add(&change, &change.flood, &op), 0);
	expect_refused(-EINVAL, "flood: must be a unicast address, not 224.9.0.2");
	begin("vx0");
	assert_int_equal(port_change_add(&change, &change.neighbours, &op), 0);
	expect_refused(-EINVAL, "neighbour: must be the address of one host, not 224.9.0.2");
}

static void test_too_many(void **state)
{
	struct port_op op = op_of(1, vtep4(2), false);

	(void)state;
	begin("vx0");
	for (unsigned n = 0; n < PORT_CHANGE_OPS_MAX; n++)
		neighbour(1, 1, false);
	assert_int_equal(port_change_add(&change, &change.neighbours, &op), -ENOSPC);
	assert_int_equal(port_change_add(&change, &change.flood, &op), -ENOSPC);
	assert_int_equal(port_change_add(&change, &change.fdb, &op), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_create),	 TEST(test_create_with_entries),
		TEST(test_remove),	 TEST(test_gone),
		TEST(test_fixed),	 TEST(test_limits_in_configuration),
		TEST(test_late_refusal), TEST(test_family),
		TEST(test_bad_entries),	 TEST(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
