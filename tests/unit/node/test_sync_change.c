/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of changes and what is told of them; sorted lists. */
#include "agent/node/sync_kernel.h"

#include "sync_world.h"

#include "overlay/neighbours.h"
#include "overlay/nl_batch.h"

/* Things are numbers, standing for neighbour entries 10.20.0.N of ov0. */

enum { NO_DEVICE = 200, REFUSED = 201 };

static struct neighbour entry(int n)
{
	return (struct neighbour){
		.ifindex = n == NO_DEVICE ? 99999 : (int)if_nametoindex("ov0"),
		.addr = {.len = 4, .bytes = {10, 20, 0, (uint8_t)n}},
		.mac = {2, 0, 0, 0, 0, (uint8_t)n},
		.protocol = 94,
	};
}

static int put(struct nl_batch *b, const void *thing, void *cookie)
{
	const int n = *(const int *)thing;
	const struct neighbour neighbour = entry(n);

	return n == REFUSED ? -EINVAL : neighbour_put(b, &neighbour, cookie);
}

static int take(struct nl_batch *b, const void *thing, void *cookie)
{
	const struct neighbour neighbour = entry(*(const int *)thing);

	return neighbour_remove(b, &neighbour, cookie);
}

static void describe_number(const void *thing, char *buf, size_t buf_len)
{
	snprintf(buf, buf_len, "number %d", *(const int *)thing);
}

static const struct sync_kind number_kind = {put, take, describe_number, NULL};

struct step {
	enum sync_verb verb;
	int n;
};

static void apply(struct world *w, const struct step *steps, size_t n_steps)
{
	struct sync_list changes = {.item_len = sizeof(struct sync_change)};

	for (size_t i = 0; i < n_steps; i++)
		assert_int_equal(sync_change_add(&changes, steps[i].verb, &steps[i].n), 0);
	fresh_report(w);
	sync_changes_apply(w->nl, &changes, &number_kind, &w->report);
	sync_list_done(&changes);
}

static struct world *change_world(void)
{
	struct world *w = world_new(CONFIG_PORT);

	make_port(w);
	run("ip link set dev ov0 up");
	return w;
}

static void test_each_verb(void **state)
{
	static const struct step steps[] = {
		{SYNC_ADD, 2},	  {SYNC_ADD, 3},    {SYNC_MAKE_ROOM, 3},
		{SYNC_CHANGE, 3}, {SYNC_REMOVE, 2},
	};
	struct world *w = change_world();

	(void)state;
	apply(w, steps, sizeof(steps) / sizeof(steps[0]));
	expect_did(w, 2, 1, 1);
	assert_string_equal(w->log, "added number 2\nadded number 3\nchanged number 3\n"
				    "removed number 2\n");
	expect(w, "ip neigh show dev ov0", "10.20.0.3 ");
	expect_not(w, "ip neigh show dev ov0", "10.20.0.2 ");
	world_free(w);
}

/* What is gone already counts neither as done nor as failed. */
static void test_gone_already(void **state)
{
	static const struct step steps[] = {
		{SYNC_REMOVE, 2},
		{SYNC_MAKE_ROOM, 3},
		{SYNC_REMOVE, NO_DEVICE},
	};
	struct world *w = change_world();

	(void)state;
	apply(w, steps, sizeof(steps) / sizeof(steps[0]));
	assert_int_equal(world_n_changes, 3);
	expect_did(w, 0, 0, 0);
	assert_string_equal(w->log, "");
	world_free(w);
}

/* Each failure is told, by the kernel's answer or without asking it; the rest is done. */
static void test_failures(void **state)
{
	static const struct step steps[] = {
		{SYNC_ADD, NO_DEVICE}, {SYNC_ADD, 2}, {SYNC_CHANGE, REFUSED}, {SYNC_ADD, 3}};
	struct world *w = change_world();

	(void)state;
	apply(w, steps, sizeof(steps) / sizeof(steps[0]));
	assert_int_equal(w->report.added, 2);
	assert_int_equal(w->report.changed, 0);
	assert_int_equal(w->report.failed, 2);
	expect_fault(w, "number 200: No such device");
	expect_fault(w, "number 201: Invalid argument");
	world_free(w);
}

/* Lists */

static int compare_int(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void test_list(void **state)
{
	static const int values[] = {7, 3, 9, 3, 1, 9, 9};
	static const int want[] = {1, 3, 7, 9};
	static const struct {
		int key;
		size_t want_lower;
		bool want_found;
	} cases[] = {{0, 0, false}, {1, 0, true}, {2, 1, false}, {3, 1, true},
		     {8, 3, false}, {9, 3, true}, {10, 4, false}};
	struct sync_list list = {.item_len = sizeof(int)};

	(void)state;
	assert_int_equal(sync_list_lower(&list, &values[0], compare_int), 0);
	assert_null(sync_list_find(&list, &values[0], compare_int));
	sync_list_sort(&list, compare_int);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		assert_int_equal(sync_list_add(&list, &values[i]), 0);
	sync_list_sort(&list, compare_int);
	sync_list_unique(&list, compare_int);
	assert_int_equal(list.n, 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(*(int *)sync_list_at(&list, i), want[i]);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const int *found = sync_list_find(&list, &cases[i].key, compare_int);

		assert_int_equal(sync_list_lower(&list, &cases[i].key, compare_int),
				 cases[i].want_lower);
		assert_int_equal(found != NULL, cases[i].want_found);
	}
	sync_list_done(&list);
	assert_int_equal(list.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_verb),
		cmocka_unit_test(test_gone_already),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
