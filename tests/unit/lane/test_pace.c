/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/lane/pace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_first_at_once(void **state)
{
	const struct pace p = {0};

	(void)state;
	assert_int_equal(pace_wait_ms(&p, 0), 0);
	assert_int_equal(pace_wait_ms(&p, 7), 0);
}

/* Spoilt again as soon as it was mended, all the time. */
static void test_doubles(void **state)
{
	static const uint32_t pauses_ms[] = {100,  200,	 400,	800,   1600,
					     3200, 6400, 10000, 10000, 10000};
	struct pace p = {0};
	uint64_t now_ms = 5;

	(void)state;
	for (size_t i = 0; i < sizeof(pauses_ms) / sizeof(pauses_ms[0]); i++) {
		assert_int_equal(pace_wait_ms(&p, now_ms), 0);
		pace_mended(&p, now_ms);
		assert_int_equal(pace_wait_ms(&p, now_ms), pauses_ms[i]);
		assert_int_equal(pace_wait_ms(&p, now_ms + pauses_ms[i] - 1), 1);
		now_ms += pauses_ms[i];
	}
}

static void test_forgets(void **state)
{
	struct pace p = {0};

	(void)state;
	pace_mended(&p, 0);
	pace_mended(&p, 100);
	pace_mended(&p, 300);
	assert_int_equal(pace_wait_ms(&p, 300), 400);
	/* well for just not long enough, and then for long enough */
	pace_mended(&p, 300 + 29999);
	assert_int_equal(pace_wait_ms(&p, 300 + 29999), 800);
	pace_mended(&p, 300 + 29999 + 30000);
	assert_int_equal(pace_wait_ms(&p, 300 + 29999 + 30000), 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_at_once),
		cmocka_unit_test(test_doubles),
		cmocka_unit_test(test_forgets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
