/* SPDX-License-Identifier: Apache-2.0 */
#include "crypto/tai64n.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* 2^24 ns: 59 such steps fit in a second, the 60th begins the next one. */
#define STEP  16777216U
#define LAST  (59 * STEP)
#define Y2024 1704067200ULL

struct reading {
	uint64_t sec;
	uint32_t nsec;
	uint8_t stamp[WG_TAI64N_LEN];
};

static void run(const struct reading *r, size_t n)
{
	struct tai64n_clock c = {{0}};

	for (size_t i = 0; i < n; i++) {
		uint8_t stamp[WG_TAI64N_LEN];

		tai64n_next(&c, r[i].sec, r[i].nsec, stamp);
		if (memcmp(stamp, r[i].stamp, sizeof(stamp)))
			fail_msg("reading %zu", i);
		assert_memory_equal(c.last, stamp, sizeof(stamp));
	}
}

#define RUN(table) run(table, sizeof(table) / sizeof((table)[0]))

/* 2024-01-01 is 0x659200a... in Unix seconds: 0x65920080, plus 10. */
#define SEC(low) 0x40, 0x00, 0x00, 0x00, 0x65, 0x92, 0x00, low

static void rounds_down(void **state)
{
	static const struct reading epoch[] = {{0, 0, {0x40, 0, 0, 0, 0, 0, 0, 0x0a, 0, 0, 0, 0}}};
	static const struct reading below[] = {{Y2024, STEP - 1, {SEC(0x8a), 0, 0, 0, 0}}};
	static const struct reading at[] = {{Y2024, STEP, {SEC(0x8a), 1, 0, 0, 0}}};
	static const struct reading end[] = {{Y2024, 999999999, {SEC(0x8a), 0x3b, 0, 0, 0}}};
	/* Seconds need more than 32 bits from 2106 on. */
	static const struct reading far[] = {
		{0x123456789ULL, 0, {0x40, 0, 0, 0x01, 0x23, 0x45, 0x67, 0x93, 0, 0, 0, 0}}};

	(void)state;
	RUN(epoch);
	RUN(below);
	RUN(at);
	RUN(end);
	RUN(far);
}

static void time_goes_on(void **state)
{
	static const struct reading table[] = {
		{Y2024, 0, {SEC(0x8a), 0, 0, 0, 0}},
		{Y2024, STEP, {SEC(0x8a), 1, 0, 0, 0}},
		{Y2024, 5 * STEP + 7, {SEC(0x8a), 5, 0, 0, 0}},
		{Y2024 + 1, 3, {SEC(0x8b), 0, 0, 0, 0}},
		{Y2024 + 2, 2 * STEP, {SEC(0x8c), 2, 0, 0, 0}},
	};

	(void)state;
	RUN(table);
}

static void time_stands_still(void **state)
{
	static const struct reading table[] = {
		{Y2024, 4 * STEP, {SEC(0x8a), 4, 0, 0, 0}},
		{Y2024, 4 * STEP, {SEC(0x8a), 5, 0, 0, 0}},
		/* Within one step: the same after rounding. */
		{Y2024, 5 * STEP - 1, {SEC(0x8a), 6, 0, 0, 0}},
		{Y2024, 6 * STEP + 9, {SEC(0x8a), 7, 0, 0, 0}},
		{Y2024, 8 * STEP, {SEC(0x8a), 8, 0, 0, 0}},
	};

	(void)state;
	RUN(table);
}

static void step_carries_into_seconds(void **state)
{
	static const struct reading table[] = {
		{Y2024, 999999999, {SEC(0x8a), 0x3b, 0, 0, 0}},
		{Y2024, 999999999, {SEC(0x8b), 0, 0, 0, 0}},
		{Y2024, 999999999, {SEC(0x8b), 1, 0, 0, 0}},
		{Y2024 + 1, LAST, {SEC(0x8b), 0x3b, 0, 0, 0}},
		{Y2024 + 1, LAST - 1, {SEC(0x8c), 0, 0, 0, 0}},
	};

	(void)state;
	RUN(table);
}

static void clock_steps_back_by_years(void **state)
{
	static const struct reading table[] = {
		{Y2024, 58 * STEP, {SEC(0x8a), 0x3a, 0, 0, 0}},
		{0, 0, {SEC(0x8a), 0x3b, 0, 0, 0}},
		{1, 999999999, {SEC(0x8b), 0, 0, 0, 0}},
		{Y2024 - 3 * 31536000, 17, {SEC(0x8b), 1, 0, 0, 0}},
		{Y2024, LAST, {SEC(0x8b), 2, 0, 0, 0}},
		/* Set right again: the clock counts once it is ahead. */
		{Y2024 + 1, 2 * STEP, {SEC(0x8b), 3, 0, 0, 0}},
		{Y2024 + 1, 4 * STEP, {SEC(0x8b), 4, 0, 0, 0}},
	};

	(void)state;
	RUN(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rounds_down),
		cmocka_unit_test(time_goes_on),
		cmocka_unit_test(time_stands_still),
		cmocka_unit_test(step_carries_into_seconds),
		cmocka_unit_test(clock_steps_back_by_years),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
