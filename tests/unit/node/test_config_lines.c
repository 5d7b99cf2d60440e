/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "agent/node/config_lines.h"

static void test_find(void **state)
{
	static const struct {
		const char *path;
		int line;
		bool told;
	} rows[] = {
		{"node", 3, false},	     {"peers[10].name", 9, true},
		{"peers[1].name", 7, false}, {"peers[1].endpoint", 6, false},
		{"peers[2]", 5, false},	     {"peers[10].overlays[3].mac", 8, false},
		{"http.listen", 1, false},   {"", 1, false},
		{"nod", 1, false},	     {"peers[10].name.x", 9, false},
	};
	struct config_lines l = {0};

	(void)state;
	config_lines_add(&l, "peers[10].name", 9)->told = true;
	assert_non_null(config_lines_add(&l, "peers[1].name", 7));
	assert_non_null(config_lines_add(&l, "node", 3));
	assert_non_null(config_lines_add(&l, "peers[10]", 8));
	assert_non_null(config_lines_add(&l, "peers[1]", 6));
	assert_non_null(config_lines_add(&l, "peers", 5));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool told = !rows[i].told;

		assert_int_equal(config_lines_find(&l, rows[i].path, &told), rows[i].line);
		assert_int_equal(told, rows[i].told);
	}
	config_lines_done(&l);
	assert_int_equal(l.n, 0);
}

static void test_nothing(void **state)
{
	struct config_lines l = {0};
	bool told = true;

	(void)state;
	assert_int_equal(config_lines_find(&l, "node.name", &told), 1);
	assert_false(told);
	config_lines_done(&l);
}

static void test_many(void **state)
{
	struct config_lines l = {0};
	char path[32];
	bool told;

	(void)state;
	for (int i = 0; i < 5000; i++) {
		snprintf(path, sizeof(path), "peers[%d].name", i * 7919 % 5000);
		config_lines_add(&l, path, i + 1)->told = i & 1;
	}
	for (int i = 0; i < 5000; i++) {
		snprintf(path, sizeof(path), "peers[%d].name", i * 7919 % 5000);
		assert_int_equal(config_lines_find(&l, path, &told), i + 1);
		assert_int_equal(told, i & 1);
	}
	config_lines_done(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
