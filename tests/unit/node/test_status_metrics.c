/* SPDX-License-Identifier: Apache-2.0 */
#include "status_world.h"

static char *metrics(void)
{
	char *text = status_metrics(&sw.source);

	assert_non_null(text);
	assert_null(strstr(text, SECRET_HEX));
	assert_null(strstr(text, SECRET_KEY));
	return text;
}

static bool has_line(const char *text, const char *line)
{
	const size_t len = strlen(line);

	for (const char *p = text; (p = strstr(p, line)); p += len) {
		if ((p == text || p[-1] == '\n') && p[len] == '\n')
			return true;
	}
	return false;
}

static void expect(const char *text, const char *line)
{
	if (!has_line(text, line))
		fail_msg("no line %s in\n%s", line, text);
}

static void test_agent(void **state)
{
	char *text;

	(void)state;
	world_begin();
	sw.state.n_failed_passes = 1;
	sw.state.n_added = 2;
	sw.state.n_changed = 3;
	sw.state.n_removed = 4;
	sw.state.n_overruns = 6;
	sw.state.n_conflicts = 7;
	sw.state.n_lane_returns = 8;
	sw.state.lane_silent = true;
	sw.state.last.failed = 9;
	sw.state.last_pass_s = 0.25;
	sw.agent.config_failed_s = 1600000002;
	text = metrics();
	expect(text, "sealane_agent_info{version=\"" SEALANE_VERSION "\",node=\"alpha\"} 1");
	expect(text, "sealane_agent_start_timestamp_seconds 1600000000");
	expect(text, "sealane_agent_config_loaded_timestamp_seconds 1600000001");
	expect(text, "sealane_agent_config_failed_timestamp_seconds 1600000002");
	expect(text, "sealane_agent_config_refused 0");
	expect(text, "sealane_agent_passes_total 5");
	expect(text, "sealane_agent_failed_passes_total 1");
	expect(text, "sealane_agent_last_pass_duration_seconds 0.250000000");
	expect(text, "sealane_agent_synced 1");
	expect(text, "sealane_agent_faults 9");
	expect(text, "sealane_agent_conflicts 7");
	expect(text, "sealane_agent_event_overruns_total 6");
	expect(text, "sealane_agent_lane_returns_total 8");
	expect(text, "sealane_lane_silent 1");
	expect(text, "sealane_agent_changes_total{kind=\"added\"} 2");
	expect(text, "sealane_agent_changes_total{kind=\"changed\"} 3");
	expect(text, "sealane_agent_changes_total{kind=\"removed\"} 4");
	free(text);
	sw.agent.config_error = "x";
	text = metrics();
	expect(text, "sealane_agent_config_refused 1");
	free(text);
}

static void test_lane(void **state)
{
	char *text;

	(void)state;
	world_begin();
	text = metrics();
	expect(text, "sealane_lane_up 1");
	expect(text, "sealane_lane_device_reads_total 11");
	expect(text, "sealane_lane_icmp_sent_total 18446744073709551615");
	expect(text, "sealane_lane_drops_total{reason=\"no_peer\"} 7");
	expect(text, "sealane_lane_drops_total{reason=\"replay\"} 0");
	expect(text, "sealane_lane_capability{name=\"udp_gso\",reason=\"up to 64 "
		     "\\\"datagrams\\\"\"} 1");
	expect(text, "sealane_lane_capability{name=\"simd\",reason=\"\"} 0");
	assert_null(strstr(text, "bad"));
	free(text);
}

static void test_ports(void **state)
{
	char *text;

	(void)state;
	world_begin();
	text = metrics();
	/* One family after the other, however the lane tells it. */
	assert_non_null(strstr(text, "# TYPE sealane_port_reads_total counter\n"
				     "sealane_port_reads_total{port=\"ov0\"} 100\n"
				     "sealane_port_reads_total{port=\"ov1\"} 200\n"));
	assert_non_null(strstr(text, "# TYPE sealane_port_fdb_static gauge\n"
				     "sealane_port_fdb_static{port=\"ov0\"} 3\n"
				     "sealane_port_fdb_static{port=\"ov1\"} 4\n"));
	assert_non_null(strstr(text, "sealane_port_flooded_total{port=\"ov0\"} 1\n"));
	assert_null(strstr(text, "sealane_port_flooded_total{port=\"ov1\"}")); /* no number */
	free(text);
}

static void test_peers(void **state)
{
	static const char bob[] = "{public_key=\"" BOB_KEY "\",name=\"beta\"}";
	char line[256], *text;

	(void)state;
	world_begin();
	text = metrics();
	expect(text, "sealane_peers 2");
	expect(text, "sealane_overlay_stations{overlay=\"ov0\"} 1");
	snprintf(line, sizeof(line), "sealane_peer_receive_bytes_total%s 2000", bob);
	expect(text, line);
	snprintf(line, sizeof(line), "sealane_peer_transmit_bytes_total%s 1000", bob);
	expect(text, line);
	snprintf(line, sizeof(line), "sealane_peer_last_handshake_seconds%s 1700000000", bob);
	expect(text, line);
	assert_null(strstr(text, "name=\"new")); /* which the lane does not have yet */
	free(text);

	/* A name with all that is escaped. */
	snprintf(sw.members[1].name, NODE_NAME_LEN, "a\"b\\c\nd");
	text = metrics();
	expect(text, "sealane_peer_receive_bytes_total{public_key=\"" BOB_KEY
		     "\",name=\"a\\\"b\\\\c\\nd\"} 2000");
	free(text);
}

static void test_without(void **state)
{
	char *text;

	(void)state;
	world_begin();
	sw.control = sw.uapi = NULL;
	text = metrics();
	expect(text, "sealane_lane_up 0");
	expect(text, "sealane_peers 2");
	assert_null(strstr(text, "sealane_lane_drops"));
	free(text);

	world_begin();
	sw.has_reconcile = false;
	sw.control = sw.uapi = NULL;
	text = metrics();
	expect(text, "sealane_lane_up 0");
	assert_null(strstr(text, "passes_total"));
	assert_null(strstr(text, "sealane_peers"));
	free(text);
}

/* The rules of the format: HELP and TYPE once in front of a family's samples, which
 * stand together; only names that may be; counters end in _total. */
static void check_format(char *text)
{
	char family[128] = "", seen[8192] = "", *line, *cursor = text, key[160];
	bool is_counter = false;

	while ((line = strsep(&cursor, "\n")) && (*line || cursor)) {
		char name[128], type[16];
		const size_t len = strspn(line, "abcdefghijklmnopqrstuvwxyz0123456789_");

		if (sscanf(line, "# HELP %127s", name) == 1) {
			snprintf(key, sizeof(key), " %s ", name);
			if (strstr(seen, key))
				fail_msg("%s comes twice", name);
			strcat(seen, key);
			snprintf(family, sizeof(family), "%s", name);
			continue;
		}
		if (sscanf(line, "# TYPE %127s %15s", name, type) == 2) {
			assert_string_equal(name, family);
			is_counter = !strcmp(type, "counter");
			assert_true(is_counter || !strcmp(type, "gauge"));
			assert_int_equal(is_counter,
					 strlen(name) > 6 &&
						 !strcmp(name + strlen(name) - 6, "_total"));
			continue;
		}
		if (len != strlen(family) || strncmp(line, family, len) != 0)
			fail_msg("%s stands behind %s", line, family);
		assert_true(line[len] == ' ' || line[len] == '{');
		assert_int_equal(strncmp(line, "sealane_", 8), 0);
	}
	assert_true(*seen);
}

static void test_format(void **state)
{
	char *text;

	(void)state;
	world_begin();
	text = metrics();
	assert_int_equal(text[strlen(text) - 1], '\n');
	check_format(text);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_agent),	cmocka_unit_test(test_lane),
		cmocka_unit_test(test_ports),	cmocka_unit_test(test_peers),
		cmocka_unit_test(test_without), cmocka_unit_test(test_format),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
