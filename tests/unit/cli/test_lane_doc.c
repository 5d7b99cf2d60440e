/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cli/lane_doc.h"

#include "cli_world.h"

static const char control[] = "version=1\n"
			      "ifname=sl0\n"
			      "mtu=1420\n"
			      "drop=auth 3\n"
			      "unknown_key=whatever=it is\n"
			      "drop=replay 0\n"
			      "ports=2\n"
			      "port=ov0\n"
			      "mtu=1370\n"
			      "drop=not the lane's\n"
			      "port=ov1\n"
			      "vni=7\n"
			      "mtu=1371\n";

static void test_own(void **state)
{
	char *text = strdup(control);
	struct lane_doc doc;
	size_t cursor = 0;

	(void)state;
	assert_int_equal(lane_doc_parse(text, &doc), 0);
	assert_string_equal(lane_doc_value(&doc, "ifname"), "sl0");
	assert_string_equal(lane_doc_value(&doc, "mtu"), "1420");
	assert_string_equal(lane_doc_value(&doc, "unknown_key"), "whatever=it is");
	assert_null(lane_doc_value(&doc, "vni"));
	assert_string_equal(lane_doc_next(&doc, "drop", &cursor), "auth 3");
	assert_string_equal(lane_doc_next(&doc, "drop", &cursor), "replay 0");
	assert_null(lane_doc_next(&doc, "drop", &cursor));
	lane_doc_done(&doc);
	lane_doc_done(&doc);
	free(text);
}

static void test_ports(void **state)
{
	char *text = strdup(control);
	const struct lane_item *port;
	struct lane_doc doc;
	size_t cursor = 0;

	(void)state;
	assert_int_equal(lane_doc_parse(text, &doc), 0);
	port = lane_doc_next_port(&doc, &cursor);
	assert_string_equal(port->value, "ov0");
	assert_string_equal(lane_doc_port_value(&doc, port, "mtu"), "1370");
	assert_null(lane_doc_port_value(&doc, port, "vni"));
	port = lane_doc_next_port(&doc, &cursor);
	assert_string_equal(port->value, "ov1");
	assert_string_equal(lane_doc_port_value(&doc, port, "mtu"), "1371");
	assert_null(lane_doc_port_value(&doc, port, "nothing"));
	assert_null(lane_doc_next_port(&doc, &cursor));
	lane_doc_done(&doc);
	free(text);
}

static void test_empty(void **state)
{
	char text[] = "";
	struct lane_doc doc;
	size_t cursor = 0;

	(void)state;
	assert_int_equal(lane_doc_parse(text, &doc), 0);
	assert_null(lane_doc_value(&doc, "mtu"));
	assert_null(lane_doc_next_port(&doc, &cursor));
	lane_doc_done(&doc);
}

static void test_many_lines(void **state)
{
	enum { LINES = 5000 };
	char *text = malloc(LINES * 8 + 1), *to = text;
	struct lane_doc doc;
	size_t cursor = 0, n = 0;

	(void)state;
	for (int i = 0; i < LINES; i++)
		to += sprintf(to, "k=%d\n", i);
	assert_int_equal(lane_doc_parse(text, &doc), 0);
	while (lane_doc_next(&doc, "k", &cursor))
		n++;
	assert_int_equal(n, LINES);
	lane_doc_done(&doc);
	free(text);
}

static void test_word(void **state)
{
	char word[6];

	(void)state;
	assert_string_equal(lane_doc_word("auth 3", word, sizeof(word)), "3");
	assert_string_equal(word, "auth");
	assert_string_equal(lane_doc_word("ecn on the kernel", word, sizeof(word)),
			    "on the kernel");
	assert_string_equal(lane_doc_word("alone", word, sizeof(word)), "");
	assert_string_equal(word, "alone");
	assert_null(lane_doc_word("", word, sizeof(word)));
	assert_null(lane_doc_word(" x", word, sizeof(word)));
	assert_null(lane_doc_word("longer x", word, sizeof(word)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own),   cmocka_unit_test(test_ports),
		cmocka_unit_test(test_empty), cmocka_unit_test(test_many_lines),
		cmocka_unit_test(test_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
