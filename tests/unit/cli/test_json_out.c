/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cli/json_out.h"

#include "cli_world.h"

static void test_text(void **state)
{
	json_t *list = json_array();
	struct printed p;

	(void)state;
	json_array_append_new(list, json_out_text("a\x1b\"\\"));
	json_array_append_new(list, json_out_text("\xc3\xa9"));
	json_array_append_new(list, json_out_text("bad \xff"));
	json_array_append_new(list, json_out_text(NULL));
	json_array_append_new(list, json_out_word("12"));
	json_array_append_new(list, json_out_word("9223372036854775808"));
	json_array_append_new(list, json_out_word("veth"));
	json_array_append_new(list, json_out_word(NULL));
	printed_begin(&p);
	json_out(list, p.out);
	assert_printed(&p, "[\n"
			   "  \"a\\u001B\\\"\\\\\",\n"
			   "  \"\\u00E9\",\n"
			   "  \"bad \\\\xff\",\n"
			   "  null,\n"
			   "  12,\n"
			   "  \"9223372036854775808\",\n"
			   "  \"veth\",\n"
			   "  null\n"
			   "]\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
