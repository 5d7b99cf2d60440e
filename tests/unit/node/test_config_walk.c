/* SPDX-License-Identifier: Apache-2.0 */
/* The form of a configuration: what YAML can hold and a configuration cannot. */
#include "config_text.h"

#define NODE "node: {name: alpha, tunnel_addresses: [10.10.0.1]}\n"
#define LANE NODE "lane: "

static void bad(const char *text, const char *lines)
{
	config_text_bad(text, strlen(text), lines);
}

static void test_unknown_keys(void **state)
{
	static const struct {
		const char *text, *lines;
	} rows[] = {
		{LANE "{listen-prot: 1}", "F:2: lane.listen-prot: no such key; "
					  "allowed: interface, start, fwmark, mtu, program\n"},
		{LANE "{inteface: 1}",
		 "F:2: lane.inteface: no such key; did you mean interface?\n"},
		{NODE "Peers: []", "F:2: Peers: no such key; did you mean peers?\n"},
		{LANE "{MTU: 1}", "F:2: lane.MTU: no such key; "
				  "allowed: interface, start, fwmark, mtu, program\n"},
		{LANE "{fw-mrk: 1}", "F:2: lane.fw-mrk: no such key; did you mean fwmark?\n"},
		{LANE "{\"a\\nb\": 1}", "F:2: lane.a?b: no such key; "
					"allowed: interface, start, fwmark, mtu, program\n"},
		{NODE "overlays: [{mau: 1, name: o, vni: 1}]",
		 "F:2: overlays[0].mau: no such key; did you mean mtu?\n"},
		{LANE "{<<: {mtu: 1}}",
		 "F:2: lane.<<: no such key; allowed: interface, start, fwmark, mtu, program\n"},
		{LANE "\n  x: {y: [1, {z: 2}], v: w}\n  mtu: 1\n",
		 "F:3: lane.x: no such key; allowed: interface, start, fwmark, mtu, program\n"
		 "F:4: lane.mtu: \"1\" is out of range; allowed: 0, or 576 to 65535\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		bad(rows[i].text, rows[i].lines);
}

static void test_repeated_keys(void **state)
{
	(void)state;
	bad(LANE "{mtu: 1400, start: auto, mtu: 1400}",
	    "F:2: lane: mtu is given a second time; allowed: once\n");
	/* The first counts, the second is not looked at. */
	bad(NODE "lane: {mtu: 1}\nlane: {mtu: 2}\n",
	    "F:3: lane is given a second time; allowed: once\n"
	    "F:2: lane.mtu: \"1\" is out of range; allowed: 0, or 576 to 65535\n");
}

#define SINGLE	"allowed: a single value\n"
#define MAPPING "allowed: a mapping, keys with their values\n"
#define LIST	"allowed: a list, [ONE, ANOTHER]\n"

/* A value of the wrong kind is told once, and does not hide others. */
static void test_kinds(void **state)
{
	static const struct {
		const char *text, *lines;
	} rows[] = {
		{"[1]",
		 "F:1: is a list; " MAPPING
		 "F:1: node.tunnel_addresses: is missing; allowed: no default, give a value\n"},
		{"word",
		 "F:1: is a single value; " MAPPING
		 "F:1: node.tunnel_addresses: is missing; allowed: no default, give a value\n"},
		{NODE "lane: [1]", "F:2: lane: is a list; " MAPPING},
		{NODE "lane: x", "F:2: lane: is a single value; " MAPPING},
		{NODE "lane: \"\"", "F:2: lane: is a single value; " MAPPING},
		{LANE "{mtu: [1]}", "F:2: lane.mtu: is a list; " SINGLE},
		{LANE "{mtu: {a: 1}}", "F:2: lane.mtu: is a mapping; " SINGLE},
		{LANE "{mtu: }", "F:2: lane.mtu: is empty; " SINGLE},
		{LANE "{mtu: ~}", "F:2: lane.mtu: is empty; " SINGLE},
		{LANE "{program: null}", "F:2: lane.program: is empty; " SINGLE},
		{NODE "overlays: {name: o}", "F:2: overlays: is a mapping; " LIST},
		{NODE "overlays: o", "F:2: overlays: is a single value; " LIST},
		{NODE "overlays: [o]",
		 "F:2: overlays[0]: is a single value; " MAPPING
		 "F:2: overlays[0].name: is missing; allowed: no default, give a value\n"
		 "F:2: overlays[0].vni: is missing; allowed: no default, give a value\n"},
		{NODE "overlays:\n- {name: o, vni: 1, addresses: 10.0.0.1/24}",
		 "F:3: overlays[0].addresses: is a single value; " LIST},
		{NODE "overlays:\n- name: [o]\n  vni: 1\n",
		 "F:3: overlays[0].name: is a list; " SINGLE},
		{NODE "overlays:\n- name: o\n  vni: 1\n  addresses:\n  - [x]\n  - y\n",
		 "F:6: overlays[0].addresses[0]: is a list; " SINGLE
		 "F:7: overlays[0].addresses[1]: \"y\" is no IP address with its length; "
		 "allowed: ADDRESS/LENGTH, the address being a host's\n"},
		{"node: {tunnel_addresses: 10.0.0.1}",
		 "F:1: node.tunnel_addresses: is a single value; " LIST},
		{"node: {tunnel_addresses: [~]}",
		 "F:1: node.tunnel_addresses[0]: is empty; " SINGLE},
		{NODE "[a]: b", "F:2: a key is a list; allowed: a single word\n"},
		{LANE "{? {a: 1} : b, mtu: 1}",
		 "F:2: lane: a key is a mapping; allowed: a single word\n"
		 "F:2: lane.mtu: \"1\" is out of range; allowed: 0, or 576 to 65535\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		bad(rows[i].text, rows[i].lines);
}

static void test_anchors_tags_aliases(void **state)
{
	(void)state;
	bad(LANE "{mtu: &m 1400}",
	    "F:2: lane.mtu: has an anchor (&); allowed: the values themselves\n");
	bad(LANE "&l {mtu: 1400}",
	    "F:2: lane: has an anchor (&); allowed: the values themselves\n");
	bad("node:\n  tunnel_addresses: &t [10.0.0.1]\n",
	    "F:2: node.tunnel_addresses: has an anchor (&); allowed: the values themselves\n");
	bad(LANE "{mtu: *m}", "F:2: lane.mtu: is an alias (*); " SINGLE);
	bad(NODE "peers: *p", "F:2: peers: is an alias (*); " LIST);
	bad(LANE "{mtu: !!int 1400}", "F:2: lane.mtu: has a tag (!); allowed: the value alone\n");
	bad(LANE "{&k mtu: 1400}",
	    "F:2: lane: has an anchor (&); allowed: the values themselves\n");
	bad("x: &x [&y [*x, *x], *y]\n" NODE, "F:1: x: no such key; allowed: node, lane, overlays, "
					      "peers, etcd, http, peer_directory, log_level\n");
}

static void test_too_many(void **state)
{
	char text[4096] = NODE "overlays:\n", *end;

	(void)state;
	for (unsigned i = 0; i < 65; i++)
		sprintf(text + strlen(text), "- {name: o%u, vni: %u}\n", i, i);
	bad(text, "F:67: overlays: has too many entries; allowed: up to 64\n");
	end = strrchr(text, '-');
	*end = '\0';
	config_free(config_text_good(text));
	strcpy(text, "node: {tunnel_addresses: [10.0.0.1, \"fd00::1\", 10.0.0.2, x]}");
	bad(text, "F:1: node.tunnel_addresses: has too many entries; allowed: up to 2\n");
}

/* Below 32 levels nothing is looked at, above them reading ends. */
static void test_depth(void **state)
{
	char text[256] = NODE "x: ";

	(void)state;
	for (unsigned i = 0; i < 32; i++)
		strcat(text, "[");
	for (unsigned i = 0; i < 32; i++)
		strcat(text, "]");
	bad(text, "F:2: x: no such key; allowed: node, lane, overlays, peers, etcd, http, "
		  "peer_directory, log_level\n");
	strcpy(text, NODE "x:\n ");
	for (unsigned i = 0; i < 33; i++)
		strcat(text, "[");
	bad(text, "F:2: x: no such key; allowed: node, lane, overlays, peers, etcd, http, "
		  "peer_directory, log_level\n"
		  "F:3: nested too deep; allowed: 32 levels\n");
}

static void test_no_yaml(void **state)
{
	static const struct {
		const char *text, *line;
	} rows[] = {
		{NODE "lane: {mtu: 1400\n", "F:3: this is no YAML: "},
		{NODE "\tlane: 1\n", "F:2: this is no YAML: "},
		{NODE "peers:\n- endpoint: [2001:db8::1]:51820\n",
		 "F:3: peers[0].endpoint: is a list; allowed: a single value\nF:3: this is no "
		 "YAML: "},
		{NODE "x: \"\xff\"", "F:1: this is no YAML: "},
		{NODE "---\n" NODE, "F:2: a second document begins; allowed: one\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct config_faults faults = {0};
		struct config *c = NULL;

		assert_int_equal(config_parse(rows[i].text, strlen(rows[i].text), "F",
					      config_text_getenv, &c, &faults),
				 -EINVAL);
		if (strncmp(faults.text, rows[i].line, strlen(rows[i].line)) != 0)
			fail_msg("%s", faults.text);
		assert_int_equal(faults.n, strstr(rows[i].text, "endpoint") ? 2 : 1);
		config_faults_free(&faults);
	}
	bad(LANE "{program: \"/a\\0b\"}",
	    "F:2: lane.program: has a character of code 0; allowed: text\n");
}

/* Text comes through as it was meant, whatever YAML calls its characters. */
static void test_characters(void **state)
{
	struct config *c = config_text_good(
		LANE "{program: \"/a\\\"\\\\\\x01\\x85\\u00e4\\u2028\\U0001f600\\u07ff\\ufffd b: "
		     "[c] #\"}");

	(void)state;
	assert_string_equal(c->lane.program,
			    "/a\"\\\x01\xc2\x85\xc3\xa4\xe2\x80\xa8\xf0\x9f\x98\x80"
			    "\xdf\xbf\xef\xbf\xbd b: [c] #");
	config_free(c);
	c = config_text_good(LANE "\n  program: >-\n    /a\n    b\n  interface: 'it''s'\n");
	assert_string_equal(c->lane.program, "/a b");
	assert_string_equal(c->lane.interface, "it's");
	config_free(c);
	c = config_text_good("--- # one document\n" NODE "...\n");
	config_free(c);
	c = config_text_good("\xef\xbb\xbf" NODE);
	config_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unknown_keys), cmocka_unit_test(test_repeated_keys),
		cmocka_unit_test(test_kinds),	     cmocka_unit_test(test_anchors_tags_aliases),
		cmocka_unit_test(test_too_many),     cmocka_unit_test(test_depth),
		cmocka_unit_test(test_no_yaml),	     cmocka_unit_test(test_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
