/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cli/options.h"

#include "cli_world.h"

struct parse_case {
	const char *args[4]; /* NULL ends them */
	unsigned allowed;
	unsigned want; /* given */
	const char *lane;
	const char *err; /* NULL: well */
};

static const struct parse_case parse_cases[] = {
	{{NULL}, OPTION_JSON, 0, NULL, NULL},
	{{"--json", NULL}, OPTION_JSON, OPTION_JSON, NULL, NULL},
	{{"-j", "--all", NULL}, OPTION_JSON | OPTION_ALL, OPTION_JSON | OPTION_ALL, NULL, NULL},
	{{"-n", "-f", "-v", NULL},
	 OPTION_DRY_RUN | OPTION_FORCE | OPTION_VERBOSE,
	 OPTION_DRY_RUN | OPTION_FORCE | OPTION_VERBOSE,
	 NULL,
	 NULL},
	{{"--dry-run", "--force", "--verbose", NULL},
	 OPTION_DRY_RUN | OPTION_FORCE | OPTION_VERBOSE,
	 OPTION_DRY_RUN | OPTION_FORCE | OPTION_VERBOSE,
	 NULL,
	 NULL},
	{{"--lane", "sl0", NULL}, OPTION_LANE, OPTION_LANE, "sl0", NULL},
	{{"--lane=sl0", NULL}, OPTION_LANE, OPTION_LANE, "sl0", NULL},
	{{"-l", "a.b-c_d", NULL}, OPTION_LANE, OPTION_LANE, "a.b-c_d", NULL},
	{{"--lane", "fifteen-letters", NULL}, OPTION_LANE, OPTION_LANE, "fifteen-letters", NULL},
	/* Help is every command's. */
	{{"--help", NULL}, 0, OPTION_HELP, NULL, NULL},
	{{"-h", NULL}, OPTION_JSON, OPTION_HELP, NULL, NULL},

	{{"--lane", "sixteen-letters!", NULL},
	 OPTION_LANE,
	 0,
	 NULL,
	 "--lane: sixteen-letters! is no name of a device"},
	{{"--lane", "../agent", NULL},
	 OPTION_LANE,
	 0,
	 NULL,
	 "--lane: ../agent is no name of a device"},
	{{"--lane", "..", NULL}, OPTION_LANE, 0, NULL, "--lane: .. is no name of a device"},
	{{"--lane", ".", NULL}, OPTION_LANE, 0, NULL, "--lane: . is no name of a device"},
	{{"--lane=", NULL}, OPTION_LANE, 0, NULL, "--lane:  is no name of a device"},
	{{"--lane", "a b", NULL}, OPTION_LANE, 0, NULL, "--lane: a b is no name of a device"},
	{{"--lane", NULL}, OPTION_LANE, 0, NULL, "--lane needs a value: IFNAME"},
	{{"--json=yes", NULL}, OPTION_JSON, 0, NULL, "--json takes no value"},
	/* What another command takes, a beginning of a name, two letters in one. */
	{{"--all", NULL}, OPTION_JSON, 0, NULL, "option --all is not known here"},
	{{"--js", NULL}, OPTION_JSON, 0, NULL, "option --js is not known here"},
	{{"--jsonx", NULL}, OPTION_JSON, 0, NULL, "option --jsonx is not known here"},
	{{"-jj", NULL}, OPTION_JSON, 0, NULL, "option -jj is not known here"},
	{{"-", NULL}, OPTION_JSON, 0, NULL, "option - is not known here"},
	{{"--", NULL}, OPTION_JSON, 0, NULL, "option -- is not known here"},
	{{"sl0", NULL}, OPTION_LANE, 0, NULL, "argument sl0 is not known here"},
	{{"", NULL}, OPTION_LANE, 0, NULL, "argument  is not known here"},
};

static void test_parse(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(parse_cases) / sizeof(*parse_cases); i++) {
		const struct parse_case *c = &parse_cases[i];
		struct options o = {.given = 4711};
		char err[OPTIONS_ERR_LEN] = "";
		char *args[4];
		int n = 0;

		for (; n < 4 && c->args[n]; n++)
			args[n] = strdup(c->args[n]);
		assert_int_equal(options_parse(args, n, c->allowed, &o, err), !c->err);
		if (c->err) {
			assert_string_equal(err, c->err);
			assert_int_equal(o.given, 4711);
		} else {
			assert_int_equal(o.given, c->want);
			assert_int_equal(o.lane != NULL, c->lane != NULL);
		}
		if (c->lane)
			assert_string_equal(o.lane, c->lane);
		while (n--)
			free(args[n]);
	}
}

static void test_help(void **state)
{
	struct printed p;

	(void)state;
	printed_begin(&p);
	options_usage(p.out, OPTION_LANE | OPTION_JSON | OPTION_ALL);
	fputc('\n', p.out);
	options_help(p.out, OPTION_LANE | OPTION_ALL);
	assert_printed(&p, " [--all] [--json] [--lane IFNAME]\n"
			   "      --all           also what is zero\n"
			   "  -l, --lane IFNAME   the lane; else the agent's, else the only one\n"
			   "  -h, --help          this text\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_help),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
