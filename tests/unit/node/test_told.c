/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/told.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static char said[256];

static void tell(const char *line)
{
	strcat(said, line);
	strcat(said, ";");
}

static void expect(struct told *t, const char *const *lines, size_t n, const char *want)
{
	said[0] = '\0';
	told_update(t, lines, n, tell);
	assert_string_equal(said, want);
}

static void test_each_once(void **state)
{
	static const char *const one[] = {"b"}, *const three[] = {"c", "b", "a"},
				 *const two[] = {"a", "c"};
	struct told t = {0};

	(void)state;
	expect(&t, NULL, 0, "");
	expect(&t, one, 1, "b;");
	expect(&t, one, 1, "");
	expect(&t, three, 3, "c;a;");
	expect(&t, three, 3, "");
	expect(&t, two, 2, "");
	expect(&t, three, 3, "b;"); /* was gone */
	expect(&t, NULL, 0, "");
	expect(&t, two, 2, "a;c;");
	told_done(&t);
	told_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_once)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
