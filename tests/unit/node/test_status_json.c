/* SPDX-License-Identifier: Apache-2.0 */
#include "status_world.h"

#include <jansson.h>
#include <unistd.h>

static json_t *document(void)
{
	char *text = status_json(&sw.source);
	json_t *root;

	assert_non_null(text);
	/* Whatever it is in: a private key or a preshared one is told in none. */
	assert_null(strstr(text, SECRET_HEX));
	assert_null(strstr(text, SECRET_KEY));
	root = json_loads(text, 0, NULL);
	assert_non_null(root);
	free(text);
	return root;
}

/* @want is JSON of which every key must be there with that value. */
static void expect(const json_t *have, const char *want_text)
{
	json_t *want = json_loads(want_text, JSON_DECODE_ANY, NULL), *value;
	const char *key;

	assert_non_null(want);
	json_object_foreach(want, key, value)
	{
		const json_t *there = json_object_get(have, key);
		char *text = there ? json_dumps(there, JSON_ENCODE_ANY) : NULL;

		if (!json_equal(there, value))
			fail_msg("%s is %s; wanted: %s", key, text ? text : "missing", want_text);
		free(text);
	}
	json_decref(want);
}

static void test_agent(void **state)
{
	json_t *root;

	(void)state;
	world_begin();
	sw.state.n_failed_passes = 1;
	sw.state.n_added = 2;
	sw.state.n_changed = 3;
	sw.state.n_removed = 4;
	sw.state.n_overruns = 6;
	root = document();
	expect(root, "{\"version\": \"" SEALANE_VERSION "\", \"started\": 1600000000, \"node\": "
		     "\"alpha\", \"config_file\": \"/etc/x.yaml\", \"config_loaded\": 1600000001, "
		     "\"config_failed\": null, \"config_error\": null, \"ready\": true, "
		     "\"reason\": null}");
	expect(root, "{\"synced\": true, \"passes\": 5, \"failed_passes\": 1, \"added\": 2, "
		     "\"changed\": 3, \"removed\": 4, \"overruns\": 6, \"faults\": [], "
		     "\"n_faults\": 0, \"conflicts\": []}");
	assert_int_equal(json_integer_value(json_object_get(root, "pid")), getpid());
	json_decref(root);
}

static void test_troubles(void **state)
{
	static char conflict[] = "beta: 10.0.0.0/8 is gamma's";
	json_t *root;

	(void)state;
	world_begin();
	sw.state.synced = false;
	sw.state.last.failed = 2;
	snprintf(sw.state.last.faults[0], REPORT_TEXT_LEN, "route x: no");
	snprintf(sw.state.last.faults[1], REPORT_TEXT_LEN, "not UTF-8: \xff");
	sw.conflicts[0] = conflict;
	sw.desired.n_conflicts = 1;
	sw.agent.config_error = "a.yaml:3: x: bad\n";
	sw.agent.config_failed_s = 1600000009;
	root = document();
	expect(root, "{\"synced\": false, \"ready\": false, \"reason\": \"2 things could not be "
		     "done; the first: route x: no\", \"n_faults\": 2, \"faults\": [\"route x: "
		     "no\", \"not UTF-8: ?\"], \"conflicts\": [\"beta: 10.0.0.0/8 is gamma's\"], "
		     "\"config_error\": \"a.yaml:3: x: bad\\n\", \"config_failed\": 1600000009}");
	json_decref(root);

	/* More than are kept in words. */
	sw.state.last.failed = REPORT_FAULTS_MAX + 5;
	root = document();
	assert_int_equal(json_array_size(json_object_get(root, "faults")), REPORT_FAULTS_MAX);
	expect(root, "{\"n_faults\": 21}");
	json_decref(root);
}

static void test_lane(void **state)
{
	json_t *root;

	(void)state;
	world_begin();
	sw.agent.lane_pid = 77;
	sw.state.n_lane_returns = 3;
	root = document();
	expect(json_object_get(root, "lane"),
	       "{\"interface\": \"sl0\", \"there\": true, \"silent\": false, "
	       "\"uapi_only\": false, \"reason\": null, "
	       "\"pid\": 77, \"returns\": 3, \"version\": \"0.9\", \"device_kind\": \"tap\", "
	       "\"mtu\": 1420, \"up\": true, \"listen_port\": 51820, \"ports\": 2, "
	       "\"capabilities\": [{\"name\": \"udp_gso\", \"on\": true, \"reason\": \"up to 64 "
	       "\\\"datagrams\\\"\"}, {\"name\": \"simd\", \"on\": false, \"reason\": null}]}");
	json_decref(root);
}

static void test_no_lane(void **state)
{
	json_t *root, *peer;

	(void)state;
	world_begin();
	sw.control = sw.uapi = NULL;
	sw.state.lane_there = false;
	sw.state.lane_silent = true;
	sw.state.lane_uapi_only = true;
	snprintf(sw.state.lane_reason, LANE_REASON_LEN, "has ended");
	root = document();
	expect(root, "{\"ready\": false, \"reason\": \"lane sl0 has ended\"}");
	expect(json_object_get(root, "lane"),
	       "{\"interface\": \"sl0\", \"there\": false, \"silent\": true, \"uapi_only\": true, "
	       "\"reason\": \"has "
	       "ended\", \"pid\": null}");
	peer = json_array_get(json_object_get(root, "peers"), 1);
	expect(peer, "{\"name\": \"beta\", \"endpoint\": null, \"last_handshake\": null, "
		     "\"receive_bytes\": 0, \"transmit_bytes\": 0}");
	json_decref(root);
}

static void test_overlays_and_peers(void **state)
{
	json_t *root, *peers;

	(void)state;
	world_begin();
	root = document();
	expect(root, "{\"public_key\": \"" ALICE_KEY "\"}");
	assert_int_equal(json_array_size(json_object_get(root, "overlays")), 1);
	expect(json_array_get(json_object_get(root, "overlays"), 0),
	       "{\"name\": \"ov0\", \"type\": \"port\", \"vni\": 42, \"udp_port\": 4789, \"vtep\": "
	       "\"10.10.0.1\", \"mac\": \"02:00:00:00:00:01\", \"mtu\": 1370, \"checksum\": true, "
	       "\"addresses\": [\"10.244.1.1/24\"], \"stations\": [{\"name\": \"beta\", \"vtep\": "
	       "\"10.10.0.2\", \"mac\": \"02:00:00:00:00:02\", \"addresses\": [\"10.244.2.1\", "
	       "\"fd00::2\"], \"routes\": [\"10.244.2.0/24\"]}]}");

	peers = json_object_get(root, "peers");
	assert_int_equal(json_array_size(peers), 2);
	expect(json_array_get(peers, 0), "{\"name\": \"new\\\"\\\\\", \"endpoint\": null, "
					 "\"last_handshake\": null, \"allowed_ips\": []}");
	expect(json_array_get(peers, 1),
	       "{\"name\": \"beta\", \"public_key\": \"" BOB_KEY "\", \"endpoint\": "
	       "\"[2001:db8::2]:51821\", \"last_handshake\": 1700000000, \"receive_bytes\": 2000, "
	       "\"transmit_bytes\": 1000, \"allowed_ips\": [\"10.10.0.2/32\", \"fd00::/64\"]}");
	json_decref(root);
}

static void test_starting(void **state)
{
	json_t *root;

	(void)state;
	world_begin();
	sw.has_reconcile = false;
	sw.control = sw.uapi = NULL;
	root = document();
	expect(root, "{\"node\": \"alpha\", \"ready\": false, \"reason\": \"the agent is "
		     "starting\", \"conflicts\": [], \"overlays\": [], \"peers\": [], "
		     "\"public_key\": null}");
	json_decref(root);

	/* And between a new configuration and its pass. */
	world_begin();
	sw.has_desired = false;
	root = document();
	expect(root, "{\"passes\": 5, \"overlays\": [], \"peers\": [], \"public_key\": null}");
	json_decref(root);
}

static const struct ready_case {
	unsigned n_passes;
	bool there, synced, awaits;
	const char *lane_reason, *want; /* NULL: ready */
} ready_cases[] = {
	{0, false, false, false, "", "the agent is starting"},
	{1, false, true, false, "", "lane sl0 is awaited"},
	{1, false, true, false, "has ended", "lane sl0 has ended"},
	{1, true, false, false, "", "1 things could not be done; the first: device x"},
	{1, true, false, true, "", "lane sl0 is not provided yet"},
	{1, true, true, false, "", NULL},
};

static void test_ready(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(ready_cases) / sizeof(ready_cases[0]); i++) {
		const struct ready_case *c = &ready_cases[i];
		char reason[STATUS_REASON_LEN] = "?";

		world_begin();
		sw.state.n_passes = c->n_passes;
		sw.state.lane_there = c->there;
		sw.state.synced = c->synced;
		sw.state.last.failed = !c->synced && !c->awaits;
		snprintf(sw.state.lane_reason, LANE_REASON_LEN, "%s", c->lane_reason);
		snprintf(sw.state.last.faults[0], REPORT_TEXT_LEN, "device x");
		assert_int_equal(status_ready(&sw.source, reason), !c->want);
		assert_string_equal(reason, c->want ? c->want : "");
		assert_int_equal(sw.n_asked, 0); /* health probes do not bother the lane */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_agent),
		cmocka_unit_test(test_troubles),
		cmocka_unit_test(test_lane),
		cmocka_unit_test(test_no_lane),
		cmocka_unit_test(test_overlays_and_peers),
		cmocka_unit_test(test_starting),
		cmocka_unit_test(test_ready),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
