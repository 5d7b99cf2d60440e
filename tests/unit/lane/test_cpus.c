/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/lane/cpus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sched.h>

static void test_quota(void **state)
{
	static const struct {
		const char *text;
		unsigned cpus;
	} rows[] = {
		{"max 100000", 0},
		{"100000 100000", 1},
		{"100001 100000", 2},
		{"250000 100000", 3},
		{"50000 100000", 1},
		{"1000 1000000", 1},
		{"800000 100000", 8},
		{"", 0},
		{"100000", 0},
		{"0 100000", 0},
		{"100000 0", 0},
		{"-1 100000", 0},
		{"18446744073709551615 1", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(cpus_of_quota(rows[i].text), rows[i].cpus);
}

static void test_affinity(void **state)
{
	char reason[CPUS_REASON_LEN] = "";
	cpu_set_t before, one;
	unsigned all;
	int cpu;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	all = cpus_granted(reason);
	assert_true(all >= 1 && all <= (unsigned)CPU_COUNT(&before));
	assert_true(reason[0]);

	for (cpu = 0; !CPU_ISSET(cpu, &before); cpu++)
		;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_int_equal(cpus_granted(reason), 1);
	assert_string_equal(reason, "1 CPU by affinity");
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quota),
		cmocka_unit_test(test_affinity),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
