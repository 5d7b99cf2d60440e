/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cli/cli.h"
#include "agent/cli/json_out.h"
#include "agent/cli/reports.h"

#include "cli_world.h"

/* Lines that are not as they should be are passed over. */
static const char control[] = "ifname=sl0\n"
			      "drop=no_peer 12\n"
			      "drop=replay 0\n"
			      "drop=\n"
			      "drop=noise\n"
			      "drop=bad -1\n"
			      "drop=\x1b[1m 4\n"
			      "drop_help=replay data seen before\n"
			      "drop_help=no_peer \x1b[2m no way there\n"
			      "drop_help=noise\n"
			      "drop_help=\n"
			      "port=ov0\n"
			      "drop=of_a_port 9\n";

static void assert_drops(const char *text, bool all, const char *want)
{
	char *copy = strdup(text);
	struct lane_doc doc;
	struct printed p;

	assert_int_equal(lane_doc_parse(copy, &doc), 0);
	printed_begin(&p);
	assert_int_equal(drops_print(&doc, all, p.out), CLI_FINE);
	assert_printed(&p, want);
	lane_doc_done(&doc);
	free(copy);
}

static void test_text(void **state)
{
	(void)state;
	assert_drops(control, false,
		     "no_peer  12  \\x1b[2m no way there\n"
		     "\\x1b[1m  4   -\n"
		     "\nWhat they mean: man sealaned, \"Drop reasons\"\n");
	assert_drops(control, true,
		     "no_peer  12  \\x1b[2m no way there\n"
		     "replay   0   data seen before\n"
		     "\\x1b[1m  4   -\n"
		     "\nWhat they mean: man sealaned, \"Drop reasons\"\n");
	/* All is said. */
	assert_drops("drop=auth 7\ndrop_help=auth forged, or damaged\n", false,
		     "auth  7  forged, or damaged\n");
	/* A lane that does not tell. */
	assert_drops("drop=auth 7\ndrop_help=aut no\ndrop_help=auth \n", false,
		     "auth  7  -\n\nWhat they mean: man sealaned, \"Drop reasons\"\n");
	assert_drops("drop=replay 0\n", false, "nothing was dropped\n");
	assert_drops("", true, "nothing was dropped\n");
}

static void test_json(void **state)
{
	char *copy = strdup(control);
	const json_t *drops, *meanings;
	struct lane_doc doc;
	json_t *document;

	(void)state;
	assert_int_equal(lane_doc_parse(copy, &doc), 0);
	document = drops_json(&doc, false);
	drops = agent_part(document, "drops");
	assert_string_equal(agent_text(document, "interface"), "sl0");
	assert_int_equal(json_object_size(drops), 2);
	assert_int_equal(agent_number(drops, "no_peer", -1), 12);
	meanings = agent_part(document, "meanings");
	assert_int_equal(json_object_size(meanings), 2);
	assert_string_equal(agent_text(meanings, "no_peer"), "\x1b[2m no way there");
	assert_true(json_is_null(json_object_get(meanings, "\x1b[1m")));
	json_decref(document);
	document = drops_json(&doc, true);
	drops = agent_part(document, "drops");
	assert_int_equal(json_object_size(drops), 3);
	assert_int_equal(agent_number(drops, "replay", -1), 0);
	json_decref(document);
	lane_doc_done(&doc);
	free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
