/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cli/term.h"

#include <errno.h>

#include "cli_world.h"

static void test_safe(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"", ""},
		{"plain text ~", "plain text ~"},
		{"a\\b", "a\\\\b"},
		{"\x1b[2J", "\\x1b[2J"},
		{"one\ntwo\r\t\x7f", "one\\x0atwo\\x0d\\x09\\x7f"},
		/* C1 controls and everything that could turn a line around are not ASCII. */
		{"\xc2\x9b", "\\xc2\\x9b"},
		{"\xff", "\\xff"},
		{NULL, "-"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *safe = term_safe(cases[i].text);
		struct printed p;

		assert_string_equal(safe, cases[i].want);
		free(safe);
		printed_begin(&p);
		term_put(p.out, cases[i].text);
		assert_printed(&p, cases[i].want);
	}
}

static void test_lines(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"", ""},
		{"one", "> one\n"},
		{"one\n", "> one\n"},
		{"one\n\nt\two", "> one\n> \n> t\\x09wo\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct printed p;

		printed_begin(&p);
		term_put_lines(p.out, "> ", cases[i].text);
		assert_printed(&p, cases[i].want);
	}
}

static void test_age(void **state)
{
	static const struct {
		uint64_t seconds;
		const char *want;
	} cases[] = {
		{0, "0 s"},
		{59, "59 s"},
		{60, "1 min 0 s"},
		{185, "3 min 5 s"},
		{3599, "59 min 59 s"},
		{3600, "1 h 0 min"},
		{86399, "23 h 59 min"},
		{86400, "1 d 0 h"},
		{86400 * 400, "400 d 0 h"},
		{UINT64_MAX, "213503982334601 d 7 h"},
	};
	char buf[TERM_NUMBER_LEN];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_string_equal(term_age(cases[i].seconds, buf), cases[i].want);
}

static void test_bytes(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *want;
	} cases[] = {
		{0, "0 B"},
		{1023, "1023 B"},
		{1024, "1.0 KiB"},
		{1024 + 512, "1.5 KiB"},
		{1024 * 1024 - 1, "1023.9 KiB"},
		{1024 * 1024, "1.0 MiB"},
		{UINT64_C(15) << 30, "15.0 GiB"},
		{UINT64_C(1) << 60, "1.0 EiB"},
		{UINT64_MAX, "15.9 EiB"},
	};
	char buf[TERM_NUMBER_LEN];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_string_equal(term_bytes(cases[i].bytes, buf), cases[i].want);
}

static void test_number(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		uint64_t want;
	} cases[] = {
		{"0", true, 0},
		{"18446744073709551615", true, UINT64_MAX},
		{"18446744073709551616", false, 0},
		{"", false, 0},
		{NULL, false, 0},
		{"-1", false, 0},
		{"+1", false, 0},
		{" 1", false, 0},
		{"1x", false, 0},
		{"0x1", false, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t number = 4711;

		assert_int_equal(term_number(cases[i].text, &number), cases[i].ok);
		assert_int_equal(number, cases[i].ok ? cases[i].want : 4711);
	}
}

static void test_table(void **state)
{
	static const char *const cells[] = {"A",   "LONG HEAD", "C",  "wider", "b",
					    "end", "x\n",	NULL, "z"};
	struct term_table table;
	struct printed p;

	(void)state;
	term_table_init(&table, 3);
	for (size_t i = 0; i < sizeof(cells) / sizeof(*cells); i++)
		term_table_cell(&table, cells[i]);
	printed_begin(&p);
	assert_int_equal(term_table_print(&table, p.out), 0);
	assert_printed(&p, "A      LONG HEAD  C\n"
			   "wider  b          end\n"
			   "x\\x0a  -          z\n");
}

static void test_table_grows(void **state)
{
	struct term_table table;
	struct printed p;

	(void)state;
	term_table_init(&table, 1);
	for (int i = 0; i < 1000; i++)
		term_table_cell(&table, "x");
	printed_begin(&p);
	assert_int_equal(term_table_print(&table, p.out), 0);
	assert_int_equal(strlen(printed_text(&p)), 2000);
	printed_end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_safe),	    cmocka_unit_test(test_lines),
		cmocka_unit_test(test_age),	    cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_number),	    cmocka_unit_test(test_table),
		cmocka_unit_test(test_table_grows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
