/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/node/backoff.h"

/* Without a random part: 1, 2, 4 s and so on, up to the bound. */
static void test_doubles(void **state)
{
	static const uint32_t whole[] = {1000, 2000, 4000, 8000, 10000, 10000, 10000};
	struct backoff b = {.first_ms = 1000, .max_ms = 10000};

	(void)state;
	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
		assert_int_equal(backoff_next_ms(&b, 0), whole[i]);
	backoff_reset(&b);
	assert_int_equal(backoff_next_ms(&b, 0), 1000);
}

/* Any random number takes off half of it at most; the largest part is taken. */
static void test_jitter(void **state)
{
	struct backoff b = {.first_ms = 1000, .max_ms = 1000};

	(void)state;
	assert_int_equal(backoff_next_ms(&b, 500), 500);
	assert_int_equal(backoff_next_ms(&b, 501), 1000);
	for (uint32_t random = 0; random < UINT32_MAX - 1000003; random += 1000003)
		assert_in_range(backoff_next_ms(&b, random), 500, 1000);
	assert_in_range(backoff_next_ms(&b, UINT32_MAX), 500, 1000);
}

/* For ever failing overflows nothing. */
static void test_bounds(void **state)
{
	struct backoff b = {.first_ms = 1, .max_ms = UINT32_MAX};

	(void)state;
	for (int i = 0; i < 100000; i++)
		assert_true(backoff_next_ms(&b, 0) >= 1);
	assert_int_equal(backoff_next_ms(&b, 0), UINT32_MAX);
	b = (struct backoff){.first_ms = 1, .max_ms = 1};
	assert_in_range(backoff_next_ms(&b, 7), 1, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_doubles),
		cmocka_unit_test(test_jitter),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
