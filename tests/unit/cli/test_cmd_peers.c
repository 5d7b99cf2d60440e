/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cli/cli.h"
#include "agent/cli/json_out.h"
#include "agent/cli/reports.h"

#include "canned.h"
#include "cli_world.h"

static void test_table(void **state)
{
	struct printed p;
	struct canned c;

	(void)state;
	canned_begin(&c, CANNED_AGENT, CANNED_CONTROL, CANNED_WG);
	printed_begin(&p);
	assert_int_equal(peers_print(&c.view, NOW_S, p.out), CLI_FINE);
	assert_printed(
		&p,
		"PEER                                          ENDPOINT             HANDSHAKE   "
		"RECEIVED  SENT     ALLOWED IPS\n"
		"beta                                          192.0.2.2:51820      3 min 5 s   "
		"2.0 KiB   1.5 KiB  10.9.0.2/32,fd00::2/128\n" ALICE_TEXT
		"  [2001:db8::3]:51820  1 min 25 s  0 B       5 B      -\n");
	canned_end(&c);
}

static void test_hostile_name(void **state)
{
	struct printed p;
	struct canned c;

	(void)state;
	canned_begin(&c,
		     "{\"peers\": [3, {}, {\"public_key\": \"" BOB_TEXT
		     "\", \"name\": \"b\\u001b]0;x\"}]}",
		     "up=1\n", "public_key=" BOB_HEX "\nendpoint=\x1b[2J\n");
	printed_begin(&p);
	assert_int_equal(peers_print(&c.view, NOW_S, p.out), CLI_FINE);
	assert_printed(&p, "PEER       ENDPOINT  HANDSHAKE  RECEIVED  SENT  ALLOWED IPS\n"
			   "b\\x1b]0;x  \\x1b[2J   never      0 B       0 B   -\n");
	canned_end(&c);
}

static void test_none(void **state)
{
	struct printed p;
	struct canned c;

	(void)state;
	canned_begin(&c, NULL, CANNED_CONTROL, "");
	printed_begin(&p);
	assert_int_equal(peers_print(&c.view, NOW_S, p.out), CLI_FINE);
	assert_printed(&p, "no peers\n");
	canned_end(&c);
}

static void test_json(void **state)
{
	struct canned c;
	const json_t *peer;
	json_t *document;

	(void)state;
	canned_begin(&c, CANNED_AGENT, CANNED_CONTROL, CANNED_WG);
	document = peers_json(&c.view, NOW_S);
	assert_string_equal(agent_text(document, "interface"), "sl0");
	assert_int_equal(agent_count(document, "peers"), 2);
	peer = agent_item(document, "peers", 0);
	assert_string_equal(agent_text(peer, "name"), "beta");
	assert_string_equal(agent_text(peer, "public_key"), BOB_TEXT);
	assert_string_equal(agent_text(peer, "endpoint"), "192.0.2.2:51820");
	assert_int_equal(agent_number(peer, "last_handshake", 0), 1700000000);
	assert_false(agent_flag(peer, "alive", true));
	assert_int_equal(agent_number(peer, "receive_bytes", 0), 2048);
	assert_int_equal(agent_number(peer, "transmit_bytes", 0), 1536);
	assert_int_equal(agent_number(peer, "persistent_keepalive", 0), 25);
	assert_string_equal(json_string_value(agent_item(peer, "allowed_ips", 1)), "fd00::2/128");
	peer = agent_item(document, "peers", 1);
	assert_true(json_is_null(json_object_get(peer, "name")));
	assert_true(agent_flag(peer, "alive", false));
	json_decref(document);
	canned_end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_hostile_name),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
