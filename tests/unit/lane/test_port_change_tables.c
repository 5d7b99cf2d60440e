/* SPDX-License-Identifier: Apache-2.0 */
/* What commands do to entries, flooding list and neighbours. */
#include "port_change_world.h"

/* The last one of each key counts. */
static void test_order(void **state)
{
	const struct port *port = create(100);

	(void)state;
	begin("vx0");
	fdb(1, false);
	fdb(2, false);
	fdb(1, true);
	fdb(3, false);
	fdb(3, true);
	fdb(3, false);
	assert_int_equal(apply(), 0);
	assert_false(has_fdb(port, 1));
	assert_true(has_fdb(port, 2));
	assert_true(has_fdb(port, 3));

	begin("vx0");
	fdb(2, true);
	fdb(4, false);
	fdb(2, true);
	expect_refused(-ENOENT, "fdb_remove");
	begin("vx0");
	fdb(5, true);
	fdb(5, false);
	expect_refused(-ENOENT, "fdb_remove");
	/* Of several, the first is told. */
	begin("vx0");
	for (uint32_t line = 3; line; line--) {
		struct port_op op = op_of(4 + line % 3, vtep4(1), true);

		op.line = 10 - line;
		assert_int_equal(port_change_add(&change, &change.fdb, &op), 0);
	}
	expect_refused(-ENOENT, "line 7: fdb_remove: there is no such entry");
	begin("vx0");
	for (uint32_t line = 1; line <= 3; line++) {
		struct port_op op = op_of(4 + line % 3, vtep4(1), true);

		op.line = line;
		assert_int_equal(port_change_add(&change, &change.fdb, &op), 0);
	}
	expect_refused(-ENOENT, "line 1: fdb_remove: there is no such entry");
	begin("vx0");
	change.replace_fdb = true;
	fdb(2, true);
	expect_refused(-ENOENT, "fdb_remove");
	begin("vx0");
	change.replace_fdb = true;
	fdb(2, false);
	fdb(6, false);
	fdb(2, true);
	assert_int_equal(apply(), 0);
	assert_int_equal(fdb_count(port->fdb, false), 1);
	assert_true(has_fdb(port, 6));
}

static void test_fdb_room(void **state)
{
	static const struct {
		unsigned n_removed; /* of the four there are, then... */
		unsigned first_set, n_set, limit;
		bool replace;
		int n_after; /* or -errno */
	} rows[] = {
		{0, 0, 0, 4, false, 4},	      {0, 0, 4, 4, false, 4},
		{0, 0, 5, 4, false, -ENOSPC}, {1, 1, 4, 4, false, 4},
		{0, 0, 5, 5, false, 5},	      {0, 0, 0, 3, false, -ENOSPC},
		{1, 0, 0, 3, false, 3},	      {0, 2, 2, 2, true, 2},
		{0, 0, 3, 2, true, -ENOSPC},  {2, 0, 0, 1, false, -ENOSPC},
		{0, 0, 0, 0, true, 0},	      {4, 0, 0, 0, false, 0},
		{1, 4, 1, 4, false, 4},	      {1, 4, 2, 4, false, -ENOSPC},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct port *port = create(4);

		begin("vx0");
		for (unsigned n = 0; n < 4; n++)
			fdb(n, false);
		assert_int_equal(apply(), 0);
		begin("vx0");
		change.given = PORT_FIELD_FDB_LIMIT;
		change.config.fdb.limit = rows[i].limit;
		change.replace_fdb = rows[i].replace;
		for (unsigned n = 0; n < rows[i].n_removed; n++)
			fdb(n, true);
		for (unsigned n = 0; n < rows[i].n_set; n++)
			fdb(rows[i].first_set + n, false);
		if (rows[i].n_after < 0) {
			expect_refused(rows[i].n_after, "fdb_limit");
		} else {
			assert_int_equal(apply(), 0);
			assert_int_equal(port->config.fdb.limit, rows[i].limit);
			assert_int_equal(fdb_count(port->fdb, false), rows[i].n_after);
		}
		begin("vx0");
		change.remove = true;
		assert_int_equal(apply(), 0);
	}
}

/* An entry named twice is one. */
static void test_fdb_room_repeated(void **state)
{
	const struct port *port = create(2);

	(void)state;
	begin("vx0");
	fdb(1, false);
	fdb(1, false);
	fdb(2, false);
	fdb(1, false);
	fdb(3, false);
	fdb(3, true);
	assert_int_equal(apply(), 0);
	assert_int_equal(fdb_count(port->fdb, false), 2);
}

/* Replacing is about static entries. */
static void test_replace_keeps_learned(void **state)
{
	struct port *port = create(9);

	(void)state;
	learn(port, 7);
	begin("vx0");
	fdb(1, false);
	assert_int_equal(apply(), 0);
	begin("vx0");
	change.replace_fdb = true;
	fdb(2, false);
	assert_int_equal(apply(), 0);
	assert_true(has_fdb(port, 7));
	assert_true(has_fdb(port, 2));
	assert_false(has_fdb(port, 1));
}

/* A static entry in a full table takes the oldest learned one's place; a command that
 * is refused leaves them all, and in their order. */
static void test_learned(void **state)
{
	struct port *port = create(4);

	(void)state;
	learn(port, 12);
	world.now_ns++;
	learn(port, 11);
	world.now_ns++;
	learn(port, 13);
	world.now_ns++;
	learn(port, 10);
	begin("vx0");
	fdb(1, false);
	fdb(11, false);
	fdb(12, true);
	change.flush_learned = true;
	flood(1, true);
	expect_refused(-ENOENT, "flood_remove");
	assert_int_equal(fdb_count(port->fdb, true), 4);

	begin("vx0");
	fdb(1, false);
	assert_int_equal(apply(), 0);
	assert_false(has_fdb(port, 12));
	assert_true(has_fdb(port, 11));
	begin("vx0");
	fdb(2, false);
	assert_int_equal(apply(), 0);
	assert_false(has_fdb(port, 11));
	assert_true(has_fdb(port, 13));
	begin("vx0");
	change.flush_learned = true;
	fdb(13, true);
	assert_int_equal(apply(), 0);
	assert_int_equal(fdb_count(port->fdb, true), 0);
	assert_int_equal(fdb_count(port->fdb, false), 2);
}

static void expect_flood(const struct port *port, const uint8_t *last, size_t n)
{
	const struct vtep *list;

	assert_int_equal(fdb_flood_list(port->fdb, &list), n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(list[i].addr[3], last[i]);
}

static void test_flood(void **state)
{
	const struct port *port = create(4);

	(void)state;
	begin("vx0");
	flood(3, false);
	flood(1, false);
	flood(2, false);
	assert_int_equal(apply(), 0);
	expect_flood(port, (const uint8_t[]){3, 1, 2}, 3);
	begin("vx0");
	flood(1, true);
	flood(4, false);
	flood(1, false);
	flood(2, false);
	expect_refused(-EEXIST, "line 2: flood: ");
	begin("vx0");
	flood(3, true);
	flood(5, true);
	expect_refused(-ENOENT, "line 5: flood_remove: ");
	begin("vx0");
	flood(1, true);
	flood(1, false);
	assert_int_equal(apply(), 0);
	expect_flood(port, (const uint8_t[]){3, 2, 1}, 3);
	begin("vx0");
	change.replace_flood = true;
	flood(2, false);
	flood(7, false);
	assert_int_equal(apply(), 0);
	expect_flood(port, (const uint8_t[]){2, 7}, 2);
	begin("vx0");
	change.replace_flood = true;
	assert_int_equal(apply(), 0);
	expect_flood(port, NULL, 0);
}

static void test_flood_limits(void **state)
{
	(void)state;
	create(4);
	begin("vx0");
	for (unsigned n = 1; n <= FDB_FLOOD_MAX; n++)
		flood(n, false);
	assert_int_equal(apply(), 0);
	begin("vx0");
	flood(5000, false);
	expect_refused(-ENOSPC, "line 5000: flood: ");
	begin("vx0");
	flood(7, true);
	flood(5000, false);
	assert_int_equal(apply(), 0);
	begin("vx0");
	for (unsigned n = 0; n < PORT_CHANGE_FLOOD_OPS_MAX; n += 2) {
		flood(5000, true);
		flood(5000, false);
	}
	assert_int_equal(apply(), 0);
	flood(5000, true);
	expect_refused(-ENOSPC, "flood: at most 4096");
}

/* Without memory at any point. */
static void test_neighbours_memory(void **state)
{
	const struct port *port = create(4);

	(void)state;
	begin("vx0");
	for (unsigned n = 1; n <= 5; n++)
		neighbour(n, n, false);
	assert_int_equal(apply(), 0);
	for (int replace = 0; replace <= 1; replace++) {
		begin("vx0");
		change.given = PORT_FIELD_TTL;
		change.config.ttl = 9;
		change.replace_neighbours = replace;
		fdb(1, false);
		flood(100, false);
		flood(100, true);
		neighbour(3, 33, false);
		for (unsigned n = 10; n < 14; n++)
			neighbour(n, n, false);
		neighbour(14, 14, false);
		neighbour(14, 14, true);
		for (sets_until_failure = 0; sets_until_failure < 4 + (unsigned)replace;) {
			const unsigned next = sets_until_failure + 1;

			expect_refused(-ENOMEM, "neighbour: ");
			assert_int_equal(sets_until_failure, NO_FAILURE);
			sets_until_failure = next;
		}
		sets_until_failure = NO_FAILURE;
		assert_int_equal(apply(), 0);
		assert_int_equal(neightab_count(port->neighbours), replace ? 5 : 9);
		assert_int_equal(
			neightab_find(port->neighbours, (uint8_t[]){10, 0, 0, 3}, 4)->mac[5], 33);
	}
}

static void test_neighbours_full(void **state)
{
	const struct port *port = create(4);

	(void)state;
	begin("vx0");
	for (unsigned n = 1; n <= PORT_NEIGHBOURS_MAX; n++)
		neighbour(n, 1, false);
	assert_int_equal(apply(), 0);
	begin("vx0");
	neighbour(100000, 1, false);
	neighbour(7, 2, false);
	assert_int_equal(apply(), -ENOSPC);
	assert_non_null(strstr(err_text, "neighbour: a port has at most 65536"));
	assert_int_equal(neightab_count(port->neighbours), PORT_NEIGHBOURS_MAX);
	assert_null(neightab_find(port->neighbours, (uint8_t[]){10, 1, 0x86, 0xa0}, 4));
	/* In the place of one that goes. */
	neighbour(8, 1, true);
	assert_int_equal(apply(), 0);
	assert_int_equal(neightab_count(port->neighbours), PORT_NEIGHBOURS_MAX);
	assert_non_null(neightab_find(port->neighbours, (uint8_t[]){10, 1, 0x86, 0xa0}, 4));
	assert_null(neightab_find(port->neighbours, (uint8_t[]){10, 0, 0, 8}, 4));
	assert_int_equal(neightab_find(port->neighbours, (uint8_t[]){10, 0, 0, 7}, 4)->mac[5], 2);
}

static void test_neighbours_order(void **state)
{
	const struct port *port = create(4);

	(void)state;
	begin("vx0");
	neighbour(1, 1, false);
	neighbour(2, 2, false);
	assert_int_equal(apply(), 0);
	begin("vx0");
	neighbour(3, 3, false);
	neighbour(4, 4, true);
	expect_refused(-ENOENT, "neighbour_remove");
	begin("vx0");
	neighbour(1, 7, false);
	neighbour(2, 2, true);
	assert_int_equal(apply(), 0);
	assert_int_equal(neightab_count(port->neighbours), 1);
	assert_int_equal(neightab_find(port->neighbours, (uint8_t[]){10, 0, 0, 1}, 4)->mac[5], 7);
	begin("vx0");
	change.replace_neighbours = true;
	neighbour(1, 7, true);
	expect_refused(-ENOENT, "neighbour_remove");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_order),
		TEST(test_fdb_room),
		TEST(test_fdb_room_repeated),
		TEST(test_replace_keeps_learned),
		TEST(test_learned),
		TEST(test_flood),
		TEST(test_flood_limits),
		TEST(test_neighbours_memory),
		TEST(test_neighbours_full),
		TEST(test_neighbours_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
