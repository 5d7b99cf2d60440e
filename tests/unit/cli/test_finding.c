/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cli/finding.h"

#include "agent/cli/agent_doc.h"
#include "cli_world.h"

static void fill(struct findings *f)
{
	finding_cure(f, "of nothing");
	finding_add(f, FINDING_RIGHT, "kernel", "%s", "6.18");
	finding_add(f, FINDING_NOTE, "capability ecn", "off: \x1b[2J");
	finding_add(f, FINDING_WRONG, "key", "%d may read it", 3);
	finding_cure(f, "chmod 600 %s\nor elsewhere", "/k");
}

static void test_print(void **state)
{
	struct findings f = {0};
	struct printed p;

	(void)state;
	fill(&f);
	printed_begin(&p);
	findings_print(&f, false, p.out);
	assert_printed(&p, "note   capability ecn: off: \\x1b[2J\n"
			   "WRONG  key: 3 may read it\n"
			   "       -> chmod 600 /k\n"
			   "       -> or elsewhere\n"
			   "1 wrong, 1 notes, 1 right\n");
	printed_begin(&p);
	findings_print(&f, true, p.out);
	assert_int_equal(strncmp(printed_text(&p), "right  kernel: 6.18\nnote   ", 27), 0);
	printed_end(&p);
	findings_free(&f);
	findings_free(&f);
}

static void test_json(void **state)
{
	struct findings f = {0};
	json_t *list;

	(void)state;
	fill(&f);
	list = findings_json(&f);
	assert_int_equal(json_array_size(list), 3);
	assert_string_equal(agent_text(json_array_get(list, 0), "level"), "right");
	assert_true(json_is_null(json_object_get(json_array_get(list, 0), "cure")));
	assert_string_equal(agent_text(json_array_get(list, 1), "text"), "off: \x1b[2J");
	assert_string_equal(agent_text(json_array_get(list, 2), "level"), "wrong");
	assert_string_equal(agent_text(json_array_get(list, 2), "what"), "key");
	assert_string_equal(agent_text(json_array_get(list, 2), "cure"),
			    "chmod 600 /k\nor elsewhere");
	json_decref(list);
	findings_free(&f);
}

static void test_many_and_long(void **state)
{
	struct findings f = {0};
	char text[2 * FINDING_TEXT_LEN];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (int i = 0; i < 100; i++)
		finding_add(&f, FINDING_NOTE, text, "%s", text);
	finding_cure(&f, "%s", text);
	assert_int_equal(findings_count(&f, FINDING_NOTE), 100);
	assert_int_equal(strlen(f.list[99].text), FINDING_TEXT_LEN - 1);
	assert_int_equal(strlen(f.list[99].cure), FINDING_TEXT_LEN - 1);
	findings_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_many_and_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
