/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/sync.h"

#include "sync_ports_world.h"

static const char as_created[] =
	"create=true\nmtu=1370\nmac=02:00:00:00:00:01\ngso_max_size=0\nvtep=10.9.0.1\n"
	"udp_port=4789\nvni=42\nttl=64\nchecksum=false\nanswer_neighbours=true\nlearning=false\n"
	"fdb_limit=65536\nlearned_limit=65536\n";

static void test_create(void **state)
{
	struct fixture *f = *state;
	char expected[1000] = "set=1\nport=ov0\n";
	struct desired_station *s;

	world_add_overlay(&f->w, "ov0", 42, "10.9.0.1");
	world_add_station(&f->w, 3, "10.9.0.3", "fd10::3");
	s = world_add_station(&f->w, 2, "10.9.0.2", "fd10::2");
	s->addresses[s->n_addresses++] = world_ip("10.10.0.2");
	add(f);
	strcat(strcat(expected, as_created),
	       "fdb=02:00:00:00:01:02 10.9.0.2\nfdb=02:00:00:00:01:03 10.9.0.3\n"
	       "flood=10.9.0.2\nflood=10.9.0.3\n"
	       "neighbour=10.10.0.2 02:00:00:00:01:02\nneighbour=fd10::2 02:00:00:00:01:02\n"
	       "neighbour=fd10::3 02:00:00:00:01:03\n");
	assert_int_equal(lane_server_n_sets(&f->server), 1);
	assert_set(f, 0, expected);
	assert_counts(f, 1, 0, 0, 0);
	assert_right(f);
}

static void test_create_otherwise(void **state)
{
	struct fixture *f = *state;
	struct desired_overlay *o = world_add_overlay(&f->w, "ov0", 16777215, "fd00::1");
	struct config_overlay *config = &f->w.overlay_configs[0];

	config->udp_port = 8472;
	config->ttl = 255;
	config->flood = false;
	config->learning = true;
	config->answer_neighbours = false;
	config->gso_max_size = 131072;
	config->fdb_limit = 1048576;
	o->csum = true;
	o->mtu = 1280;
	world_add_station(&f->w, 2, "fd00::2", NULL);
	add(f);
	assert_set(f, 0,
		   "set=1\nport=ov0\ncreate=true\nmtu=1280\nmac=02:00:00:00:00:01\n"
		   "gso_max_size=131072\nvtep=fd00::1\nudp_port=8472\nvni=16777215\nttl=255\n"
		   "checksum=true\nanswer_neighbours=false\nlearning=true\nfdb_limit=1048576\n"
		   "learned_limit=1048576\nfdb=02:00:00:00:01:02 fd00::2\n");
	assert_right(f);
}

/* A device that is no port is not ours to make. */
static void test_other_types(void **state)
{
	struct fixture *f = *state;

	world_add_overlay(&f->w, "ov0", 42, "10.9.0.1");
	f->w.overlay_configs[0].type = CONFIG_VXLAN;
	world_add_overlay(&f->w, "ov1", 43, "10.9.0.1");
	f->w.overlay_configs[1].type = CONFIG_GENEVE;
	assert_right(f);
	assert_int_equal(f->model.n_ports, 0);
}

/* A value of the lane's is not what it should be: what is said about it. */
static void test_settings(void **state)
{
	static const struct {
		const char *key, *value, *expected;
	} rows[] = {
		{"vtep", "10.9.0.7", "vtep=10.9.0.1\n"},
		{"udp_port", "8472", "udp_port=4789\n"},
		{"vni", "43", "vni=42\n"},
		{"ttl", "1", "ttl=64\n"},
		{"checksum", "true", "checksum=false\n"},
		{"answer_neighbours", "false", "answer_neighbours=true\n"},
		{"learning", "true", "learning=false\n"},
		{"fdb_limit", "70000", "fdb_limit=65536\n"},
		{"fdb_limit", "30000", "fdb_limit=65536\n"},
		{"learned_limit", "30000", "learned_limit=65536\n"},
	};
	struct fixture *f = *state;

	begin(f);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char expected[200] = "set=1\nport=ov0\n";
		char *value = model_value(&f->model.ports[0], rows[i].key);

		memset(value, 0, MODEL_TEXT);
		strcpy(value, rows[i].value);
		add(f);
		assert_int_equal(lane_server_n_sets(&f->server), 1);
		assert_set(f, 0, strcat(expected, rows[i].expected));
		assert_counts(f, 0, 1, 0, 0);
		assert_right(f);
	}
}

/* Not ours to set, or not here. */
static void test_settings_left_alone(void **state)
{
	static const char *const rows[][2] = {{"mtu", "1300"},
					      {"mac", "02:00:00:00:00:07"},
					      {"kind", "tap"},
					      {"dscp", "inherit"},
					      {"age_s", "60"}};
	struct fixture *f = *state;

	begin(f);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		strcpy(model_value(&f->model.ports[0], rows[i][0]), rows[i][1]);
		assert_right(f);
	}
}

static void test_made_again(void **state)
{
	static const char *const rows[][2] = {{"gso_max_size", "65536"}};
	struct fixture *f = *state;

	begin(f);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char expected[1000] = "set=1\nport=ov0\n";

		strcpy(model_value(&f->model.ports[0], rows[i][0]), rows[i][1]);
		add(f);
		assert_int_equal(lane_server_n_sets(&f->server), 2);
		assert_set(f, 0, "set=1\nport=ov0\nremove=true\n");
		strcat(strcat(expected, as_created),
		       "fdb=02:00:00:00:01:02 10.9.0.2\nfdb=02:00:00:00:01:03 10.9.0.3\n"
		       "flood=10.9.0.2\nflood=10.9.0.3\nneighbour=10.10.0.2 02:00:00:00:01:02\n"
		       "neighbour=10.10.0.3 02:00:00:00:01:03\n");
		assert_set(f, 1, expected);
		assert_counts(f, 1, 0, 1, 0);
		assert_right(f);
	}
}

/* Tables: what somebody did to them, and what is said about that. */
static void test_tables(void **state)
{
	static const struct {
		enum model_table table;
		const char *leave, *enter, *expected;
	} rows[] = {
		{MODEL_FDB, "02:00:00:00:01:02", NULL, "fdb=02:00:00:00:01:02 10.9.0.2\n"},
		{MODEL_FDB, NULL, "02:00:00:00:01:02 10.9.0.9 static",
		 "fdb=02:00:00:00:01:02 10.9.0.2\n"},
		{MODEL_FDB, NULL, "02:00:00:00:01:09 10.9.0.2 static",
		 "fdb_remove=02:00:00:00:01:09\n"},
		{MODEL_FDB, NULL, "02:00:00:00:00:00 10.9.0.2 static",
		 "fdb_remove=02:00:00:00:00:00\n"},
		{MODEL_FDB, "02:00:00:00:01:03", "02:00:00:00:01:02 10.9.0.3 learned 9",
		 "fdb=02:00:00:00:01:02 10.9.0.2\nfdb=02:00:00:00:01:03 10.9.0.3\n"},
		{MODEL_FLOOD, "10.9.0.2", NULL, "flood=10.9.0.2\n"},
		{MODEL_FLOOD, "10.9.0.3", "10.9.0.1", "flood_remove=10.9.0.1\nflood=10.9.0.3\n"},
		{MODEL_FLOOD, NULL, "10.9.0.4", "flood_remove=10.9.0.4\n"},
		{MODEL_NEIGHBOUR, "10.10.0.2", NULL, "neighbour=10.10.0.2 02:00:00:00:01:02\n"},
		{MODEL_NEIGHBOUR, NULL, "10.10.0.2 02:00:00:00:01:03",
		 "neighbour=10.10.0.2 02:00:00:00:01:02\n"},
		{MODEL_NEIGHBOUR, NULL, "fd10::2 02:00:00:00:01:02", "neighbour_remove=fd10::2\n"},
		{MODEL_NEIGHBOUR, NULL, "10.10.0.1 02:00:00:00:01:02",
		 "neighbour_remove=10.10.0.1\n"},
	};
	struct fixture *f = *state;

	begin(f);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct model_port *p = &f->model.ports[0];
		char expected[200] = "set=1\nport=ov0\n";

		if (rows[i].leave)
			model_leave(p, rows[i].table, model_entry(p, rows[i].table, rows[i].leave));
		if (rows[i].enter)
			model_enter(p, rows[i].table, rows[i].enter);
		add(f);
		assert_int_equal(lane_server_n_sets(&f->server), 1);
		assert_set(f, 0, strcat(expected, rows[i].expected));
		assert_counts(f, 0, 1, 0, 0);
		assert_right(f);
	}
}

/* Learned entries, also many, are the lane's own. */
static void test_learned(void **state)
{
	struct fixture *f = *state;

	begin(f);
	model_enter(&f->model.ports[0], MODEL_FDB, "02:00:00:00:01:08 10.9.0.2 learned 0");
	model_enter(&f->model.ports[0], MODEL_FDB, "02:00:00:00:01:00 10.9.0.3 learned 299");
	assert_right(f);
	assert_int_equal(f->model.ports[0].n[MODEL_FDB], 4);
}

static void test_no_flood(void **state)
{
	struct fixture *f = *state;

	begin(f);
	f->w.overlay_configs[0].flood = false;
	add(f);
	assert_set(f, 0, "set=1\nport=ov0\nflood_remove=10.9.0.2\nflood_remove=10.9.0.3\n");
	assert_right(f);
}

/* Two stations behind one VTEP: it is flooded to once. */
static void test_shared_vtep(void **state)
{
	struct fixture *f = *state;

	begin(f);
	world_add_station(&f->w, 4, "10.9.0.2", NULL);
	add(f);
	assert_set(f, 0, "set=1\nport=ov0\nfdb=02:00:00:00:01:04 10.9.0.2\n");
	assert_right(f);
}

static void test_other_family(void **state)
{
	struct fixture *f = *state;

	begin(f);
	f->w.overlays[0].vtep = world_ip("fd00::1");
	f->w.stations[0][0].vtep = world_ip("fd00::3");
	f->w.stations[0][1].vtep = world_ip("fd00::2");
	add(f);
	assert_int_equal(lane_server_n_sets(&f->server), 1);
	assert_counts(f, 0, 1, 0, 0);
	assert_int_equal(f->model.ports[0].n[MODEL_FDB], 2);
	assert_int_equal(f->model.ports[0].n[MODEL_FLOOD], 2);
	assert_int_equal(f->model.ports[0].n[MODEL_NEIGHBOUR], 2);
	assert_right(f);
}

/* Ports that are in each other's way */

static void test_renamed(void **state)
{
	struct fixture *f = *state;

	begin(f);
	strcpy(f->w.overlay_configs[0].name, "ov9");
	add(f);
	assert_counts(f, 1, 0, 1, 0);
	assert_int_equal(f->model.n_ports, 1);
	assert_string_equal(f->model.ports[0].name, "ov9");
	assert_right(f);
}

static void test_swapped(void **state)
{
	struct fixture *f = *state;

	begin(f);
	world_add_overlay(&f->w, "ov1", 43, "10.9.0.1");
	add(f);
	f->w.overlay_configs[0].vni = 43;
	f->w.overlay_configs[1].vni = 42;
	add(f);
	assert_int_equal(f->w.report.failed, 0);
	assert_string_equal(model_value(model_find(&f->model, "ov0"), "vni"), "43");
	assert_string_equal(model_value(model_find(&f->model, "ov1"), "vni"), "42");
	assert_right(f);
}

/* The same VNI at another VTEP or UDP port is in nobody's way. */
static void test_not_in_the_way(void **state)
{
	struct fixture *f = *state;

	begin(f);
	world_add_overlay(&f->w, "ov1", 42, "10.9.0.5");
	world_add_overlay(&f->w, "ov2", 42, "10.9.0.1");
	f->w.overlay_configs[2].udp_port = 8472;
	add(f);
	assert_counts(f, 2, 0, 0, 0);
	assert_right(f);
}

/* A port's name is to be that of a kernel device. */
static void test_becomes_device(void **state)
{
	struct fixture *f = *state;

	begin(f);
	f->w.overlay_configs[0].type = CONFIG_VXLAN;
	add(f);
	assert_int_equal(f->model.n_ports, 0);
	assert_counts(f, 0, 0, 1, 0);
	assert_right(f);
	f->w.overlay_configs[0].type = CONFIG_PORT;
	add(f);
	f->w.overlay_configs[0].type = CONFIG_VXLAN;
	removing(f);
	assert_int_equal(f->model.n_ports, 0);
}

static void test_remove(void **state)
{
	struct fixture *f = *state;

	begin(f);
	strcpy(model_value(model_add(&f->model, "old1"), "vtep"), "10.9.0.1");
	strcpy(model_value(&f->model.ports[1], "vni"), "1");
	strcpy(model_value(model_add(&f->model, "old2"), "vtep"), "fd00::1");
	strcpy(model_value(&f->model.ports[2], "vni"), "2");
	add(f);
	assert_int_equal(lane_server_n_sets(&f->server), 0);
	removing(f);
	assert_int_equal(lane_server_n_sets(&f->server), 2);
	assert_set(f, 0, "set=1\nport=old1\nremove=true\n");
	assert_set(f, 1, "set=1\nport=old2\nremove=true\n");
	assert_counts(f, 0, 0, 2, 0);
	assert_right(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_create),
		T(test_create_otherwise),
		T(test_other_types),
		T(test_settings),
		T(test_settings_left_alone),
		T(test_made_again),
		T(test_tables),
		T(test_learned),
		T(test_no_flood),
		T(test_shared_vtep),
		T(test_other_family),
		T(test_renamed),
		T(test_swapped),
		T(test_not_in_the_way),
		T(test_becomes_device),
		T(test_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
