/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/lane/localdst.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "agent/lane/lane.h"

static const uint8_t ours[4] = {10, 0, 0, 1}, other[4] = {10, 0, 0, 2};
static const uint8_t same_place[4] = {11, 0, 0, 1}; /* in the cache as `ours` */
static unsigned n_asked;
static bool still_ours;

static bool is_local(void *ctx, const uint8_t *addr)
{
	(void)ctx;
	n_asked++;
	return still_ours && !memcmp(addr, ours, sizeof(ours));
}

static void test_asks_once_per_change(void **state)
{
	static struct lane lane;

	(void)state;
	lane.self.device.is_local = is_local;
	lane.self.lane = &lane;
	lane.route_generation = 1;
	still_ours = true;
	for (unsigned i = 0; i < 3; i++) {
		assert_true(localdst_ends_here(&lane.self, ours));
		assert_false(localdst_ends_here(&lane.self, other));
	}
	assert_int_equal(n_asked, 2);

	/* One place in the cache, two addresses: never the other's answer. */
	assert_false(localdst_ends_here(&lane.self, same_place));
	assert_true(localdst_ends_here(&lane.self, ours));

	still_ours = false;
	lane.route_generation++;
	assert_false(localdst_ends_here(&lane.self, ours));
}

static void test_unknown_is_not_here(void **state)
{
	static struct lane lane;

	(void)state;
	lane.self.lane = &lane;
	lane.route_generation = 1;
	assert_false(localdst_ends_here(&lane.self, ours));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_asks_once_per_change),
		cmocka_unit_test(test_unknown_is_not_here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
