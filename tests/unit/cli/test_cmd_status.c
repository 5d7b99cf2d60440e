/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cli/cli.h"
#include "agent/cli/json_out.h"
#include "agent/cli/reports.h"

#include "canned.h"
#include "cli_world.h"

static void assert_status(const struct canned *c, int want, const char *text)
{
	struct printed p;

	printed_begin(&p);
	assert_int_equal(status_print(&c->view, NOW_S, p.out), want);
	assert_printed(&p, text);
}

static void test_all(void **state)
{
	struct canned c;

	(void)state;
	canned_begin(&c, CANNED_AGENT, CANNED_CONTROL, CANNED_WG);
	c.view.lane_pid = 700;
	assert_status(
		&c, CLI_FINE,
		"agent      running: pid 812, version 0.1.0, node alpha, for 1 h 0 min\n"
		"           in sync, 17 passes of which 2 failed\n"
		"lane       sl0: up, tap, mtu 1420, port 51820, pid 700, version 0.1.0\n"
		"peers      2, 1 with a handshake within 180 s\n"
		"overlays\n"
		"  ov0: port, vni 42, udp 4789, mtu 1370, mac 02:00:00:00:00:01, vtep 10.9.0.1, "
		"2 stations\n");
	canned_end(&c);
}

static void test_without_agent(void **state)
{
	struct canned c;

	(void)state;
	canned_begin(&c, NULL, CANNED_CONTROL, "");
	assert_status(&c, CLI_FINE,
		      "agent      not running\n"
		      "lane       sl0: up, tap, mtu 1420, port 51820, version 0.1.0\n"
		      "peers      0\n"
		      "overlays\n"
		      "  ov0: port on a veth, vni 42, udp 4789, mtu 1370, mac 02:00:00:00:00:01, "
		      "vtep 10.9.0.1\n");
	canned_end(&c);
}

static void test_without_lane(void **state)
{
	struct canned c;

	(void)state;
	canned_begin(&c, "{}", NULL, NULL);
	c.view.agent.pid = 99;
	assert_status(&c, CLI_FINE,
		      "agent      running: pid 99\n"
		      "           NOT in sync\n"
		      "lane       not there\n");
	canned_end(&c);
}

/* All was in sync before it stopped to answer. */
static void test_silent_lane(void **state)
{
	struct canned c;

	(void)state;
	canned_begin(&c,
		     "{\"synced\": true, \"ready\": false, "
		     "\"reason\": \"lane sl0 does not answer\"}",
		     NULL, NULL);
	c.view.agent.pid = 99;
	assert_status(&c, CLI_FINE,
		      "agent      running: pid 99\n"
		      "           NOT in sync (lane sl0 does not answer)\n"
		      "lane       not there\n");
	canned_end(&c);
}

static void test_nothing(void **state)
{
	struct canned c;

	(void)state;
	canned_begin(&c, NULL, NULL, NULL);
	assert_status(&c, CLI_WRONG, "agent      not running\nlane       not there\n");
	/* Somebody else's WireGuard is something to look at. */
	c.view.uapi_only = true;
	assert_status(&c, CLI_FINE, "agent      not running\nlane       not there\n");
	canned_end(&c);
}

static void test_troubles(void **state)
{
	static const char agent[] =
		"{\"pid\": 1, \"reason\": \"no \\u001blane\", \"config_error\": \"f.yaml:3: mtu: "
		"\\u001b[31m9 is too small\\nf.yaml:9: x: is not known\","
		" \"faults\": [\"route 10.0.0.0/8: \\u0007no\", \"second\"],"
		" \"conflicts\": [\"beta: 10.1.0.0/16 is gamma's\"]}";
	struct canned c;

	(void)state;
	canned_begin(&c, agent, "up=0\nlisten_port=0\nport=ov0\nmtu=0\nvni=7\n", "");
	assert_status(&c, CLI_FINE,
		      "agent      running: pid 1\n"
		      "           NOT in sync (no \\x1blane)\n"
		      "config     REFUSED, the one before it is in use:\n"
		      "  f.yaml:3: mtu: \\x1b[31m9 is too small\n"
		      "  f.yaml:9: x: is not known\n"
		      "lane       sl0: DOWN\n"
		      "peers      0\n"
		      "overlays\n"
		      "  ov0: vni 7\n"
		      "faults     2, of the last pass:\n"
		      "  route 10.0.0.0/8: \\x07no\n"
		      "  second\n"
		      "conflicts  1, claims that another node won:\n"
		      "  beta: 10.1.0.0/16 is gamma's\n");
	canned_end(&c);
}

static void test_many_faults(void **state)
{
	char agent[2000] = "{\"faults\": [\"first\"";
	struct printed p;
	struct canned c;
	size_t n_lines = 0;

	(void)state;
	for (int i = 0; i < 20; i++)
		strcat(agent, ", \"more\"");
	strcat(agent, "]}");
	canned_begin(&c, agent, NULL, NULL);
	printed_begin(&p);
	status_print(&c.view, NOW_S, p.out);
	assert_non_null(strstr(printed_text(&p), "faults     21, of the last pass:\n  first\n"));
	assert_non_null(strstr(p.text, "\n  more\n  and 5 more: see --json\n"));
	for (const char *at = p.text; (at = strchr(at, '\n')); at++)
		n_lines++;
	/* Agent, its state, lane, the head of the faults, 16 of them, the last line. */
	assert_int_equal(n_lines, 4 + 16 + 1);
	printed_end(&p);
	canned_end(&c);
}

static void test_json(void **state)
{
	struct canned c;
	json_t *document;
	const json_t *lane;

	(void)state;
	canned_begin(&c, CANNED_AGENT, CANNED_CONTROL, CANNED_WG);
	document = status_json_of(&c.view, NOW_S);
	assert_string_equal(agent_text(agent_part(document, "agent"), "node"), "alpha");
	lane = agent_part(document, "lane");
	assert_string_equal(agent_text(lane, "interface"), "sl0");
	assert_int_equal(agent_number(lane, "mtu", 0), 1420);
	assert_int_equal(agent_number(lane, "listen_port", 0), 51820);
	assert_true(agent_flag(lane, "up", false));
	assert_int_equal(agent_number(lane, "peers", 0), 2);
	assert_int_equal(agent_number(lane, "peers_alive", 0), 1);
	assert_true(json_is_null(json_object_get(lane, "public_key")));
	assert_string_equal(agent_text(agent_item(lane, "ports", 0), "name"), "ov0");
	assert_int_equal(agent_number(agent_item(lane, "ports", 0), "vni", 0), 42);
	json_decref(document);
	canned_end(&c);

	canned_begin(&c, NULL, NULL, NULL);
	document = status_json_of(&c.view, NOW_S);
	assert_true(json_is_null(json_object_get(document, "agent")));
	assert_true(json_is_null(json_object_get(document, "lane")));
	json_decref(document);
	canned_end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),	     cmocka_unit_test(test_without_agent),
		cmocka_unit_test(test_without_lane), cmocka_unit_test(test_silent_lane),
		cmocka_unit_test(test_nothing),	     cmocka_unit_test(test_troubles),
		cmocka_unit_test(test_many_faults),  cmocka_unit_test(test_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
