/* SPDX-License-Identifier: Apache-2.0 */
/* What the lane refuses, and answers that are none. */
#include "sync_ports_world.h"

static void test_refused_entries(void **state)
{
	struct fixture *f = *state;

	world_add_overlay(&f->w, "ov0", 42, "10.9.0.1");
	for (uint8_t i = 2; i < 10; i++) {
		char vtep[20], address[20];

		snprintf(vtep, sizeof(vtep), "10.9.0.%u", i);
		snprintf(address, sizeof(address), "10.10.0.%u", i);
		world_add_station(&f->w, i, vtep, address);
	}
	world_add_overlay(&f->w, "ov1", 43, "10.9.0.1");
	f->model.refuse[0] = "fdb=02:00:00:00:01:05";
	f->model.refuse[1] = "neighbour=10.10.0.9 ";
	add(f);
	assert_int_equal(f->w.report.failed, 2);
	assert_string_equal(f->w.report.faults[0], "port ov0: fdb=02:00:00:00:01:05 10.9.0.5: "
						   "must be something else: Invalid argument");
	assert_string_equal(f->w.report.faults[1],
			    "port ov0: neighbour=10.10.0.9 02:00:00:00:01:09: must be something "
			    "else: Invalid argument");
	assert_int_equal(f->model.n_ports, 2);
	assert_int_equal(f->model.ports[0].n[MODEL_FDB], 7);
	assert_int_equal(f->model.ports[0].n[MODEL_FLOOD], 8);
	assert_int_equal(f->model.ports[0].n[MODEL_NEIGHBOUR], 7);

	/* It stays so, */
	add(f);
	assert_int_equal(f->w.report.failed, 2);
	assert_int_equal(f->model.ports[0].n[MODEL_FDB], 7);
	/* until the lane takes it. */
	f->model.refuse[0] = f->model.refuse[1] = NULL;
	add(f);
	assert_counts(f, 0, 1, 0, 0);
	assert_right(f);
}

/* Lines without end that are refused are told of up to a bound. */
static void test_refused_table(void **state)
{
	struct fixture *f = *state;

	begin(f);
	for (uint8_t i = 10; i < 20; i++)
		world_add_station(&f->w, i, "10.9.0.2", NULL);
	f->model.refuse[0] = "fdb=";
	add(f);
	assert_int_equal(f->w.report.failed, 10);
	assert_int_equal(f->model.ports[0].n[MODEL_FDB], 2);
}

static void test_refused_create(void **state)
{
	struct fixture *f = *state;

	world_add_overlay(&f->w, "ov0", 42, "10.9.0.1");
	world_add_station(&f->w, 2, "10.9.0.2", NULL);
	world_add_overlay(&f->w, "ov1", 43, "10.9.0.1");
	f->model.refuse[0] = "vni=42";
	add(f);
	assert_counts(f, 1, 0, 0, 1);
	assert_string_equal(f->w.report.faults[0],
			    "port ov0: vni=42: must be something else: Invalid argument");
	assert_int_equal(f->model.n_ports, 1);
	assert_string_equal(f->model.ports[0].name, "ov1");
}

static void test_too_many_entries(void **state)
{
	struct fixture *f = *state;

	begin(f);
	f->w.overlay_configs[0].fdb_limit = 1;
	f->w.overlay_configs[0].ttl = 7;
	add(f);
	assert_true(f->w.report.failed > 0);
	f->w.overlay_configs[0].fdb_limit = 2;
	add(f);
	assert_counts(f, 0, 1, 0, 0);
	assert_right(f);
}

/* A table that is refused without the name of a line does not keep the others away. */
static void test_refused_without_line(void **state)
{
	struct fixture *f = *state;

	world_add_overlay(&f->w, "ov0", 42, "10.9.0.1");
	world_add_station(&f->w, 3, "10.9.0.3", "10.10.0.3");
	world_add_station(&f->w, 2, "10.9.0.2", "10.10.0.2");
	f->w.overlay_configs[0].fdb_limit = 1;
	add(f);
	assert_counts(f, 0, 0, 0, 1);
	assert_string_equal(f->w.report.faults[0], "port ov0: fdb: more static entries than "
						   "fdb_limit: No space left on device");
	assert_int_equal(f->model.ports[0].n[MODEL_FDB], 0);
	assert_int_equal(f->model.ports[0].n[MODEL_FLOOD], 2);
	assert_int_equal(f->model.ports[0].n[MODEL_NEIGHBOUR], 2);
}

static size_t count_lines(const char *text, const char *key)
{
	size_t n = 0;

	while ((text = strstr(text, key))) {
		text++;
		n++;
	}
	return n;
}

/* A flooding list has 1024 VTEPs at most (sealaned(8)); for one more there is none, and
 * that is no fault. */
static void test_long_flood(void **state)
{
	enum { N = 1025 };
	struct fixture *f = *state;
	struct desired_overlay *o = world_add_overlay(&f->w, "ov0", 42, "10.9.0.1");
	struct desired_station *stations = calloc(N, sizeof(*stations));

	assert_non_null(stations);
	for (size_t i = 0; i < N; i++) {
		char vtep[20];

		snprintf(vtep, sizeof(vtep), "10.9.%zu.%zu", 1 + i / 250, 1 + i % 250);
		stations[i].vtep = world_ip(vtep);
		memcpy(stations[i].mac, (uint8_t[]){2, 0, 0, 1, i >> 8 & 0xff, i & 0xff}, 6);
	}
	o->stations = stations;
	for (size_t n = N - 1; n <= N; n++) {
		const char *set;

		o->n_stations = n;
		f->model.refuse[0] = "create"; /* the model has no room for so many */
		add(f);
		set = lane_server_set(&f->server, 0);
		assert_non_null(set);
		assert_int_equal(count_lines(set, "\nfdb="), n);
		assert_int_equal(count_lines(set, "\nflood="), n == N ? 0 : n);
		assert_null(strstr(f->w.report.faults[0], "flood"));
	}
	free(stations);
}

static void test_refused_removal(void **state)
{
	struct fixture *f = *state;

	begin(f);
	strcpy(model_value(model_add(&f->model, "other"), "vtep"), "10.9.0.7");
	strcpy(model_value(&f->model.ports[1], "vni"), "7");
	f->w.d.n_overlays = 0;
	f->model.refuse[0] = "remove";
	removing(f);
	assert_counts(f, 0, 0, 0, 2);
	assert_string_equal(f->w.report.faults[1],
			    "removing port other: remove: not now: Device or resource busy");
	assert_int_equal(f->model.n_ports, 2);

	/* One that is to be made again, and stays, is told of once. */
	f->w.d.n_overlays = 1;
	f->w.overlay_configs[0].gso_max_size = 65536;
	add(f);
	assert_counts(f, 0, 0, 0, 1);
	f->model.refuse[0] = NULL;
	add(f);
	assert_counts(f, 1, 0, 1, 0);
	removing(f);
	assert_counts(f, 0, 0, 1, 0);
	assert_right(f);
}

/* The other end */

static char *answer_badly(void *ctx, enum lane_socket which, const char *request)
{
	const char *const *answers = ctx;
	const char *answer = answers[!strncmp(request, "get=1\nport=", 11)];

	(void)which;
	return *answer ? strdup(answer) : NULL;
}

#define PORT "version=1\nport=ov0\nvtep=10.9.0.1\nvni=42\n"

static void test_bad_answers(void **state)
{
	static const struct {
		const char *answers[2]; /* to a get of all, and of one */
		int err;
		unsigned failed;
	} rows[] = {
		{{PORT "errno=0\n\n", ""}, -EPIPE, 0},
		{{PORT "errno=0\n\n", "errno=5\n\n"}, 0, 1},
		{{PORT "errno=0\n\n", "version=1\nerrno=0\n\n"}, 0, 1},
		{{PORT "errno=0\n\n", PORT PORT "errno=0\n\n"}, 0, 1},
		{{PORT "errno=0\n\n", PORT "fdb=1 2 static\nerrno=0\n\n"}, 0, 1},
		{{PORT "errno=0\n\n", PORT "fdb=02:00:00:00:00:01\nerrno=0\n\n"}, 0, 1},
		{{PORT "errno=0\n\n", PORT "fdb=\nerrno=0\n\n"}, 0, 1},
		{{PORT "errno=0\n\n", PORT "neighbour=10.0.0.1\nerrno=0\n\n"}, 0, 1},
		{{PORT "errno=0\n\n", PORT "flood=x\nerrno=0\n\n"}, 0, 1},
		{{PORT "errno=0\n\n", PORT "ttl=256\nerrno=0\n\n"}, 0, 1},
		{{PORT "errno=0\n\n", PORT "mac=02\nerrno=0\n\n"}, 0, 1},
		{{PORT "errno=0\n\n", PORT "learning=yes\nerrno=0\n\n"}, 0, 1},
		{{"version=1\nport=ov0\nerrno=0\n\n", ""}, 0, 1},
		{{"version=1\nport=\nvtep=10.0.0.1\nerrno=0\n\n", ""}, 0, 1},
		{{"version=1\nport=0123456789abcdef\nvtep=10.0.0.1\nerrno=0\n\n", ""}, 0, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *answers[2] = {rows[i].answers[0], rows[i].answers[1]};
		struct desired_world w;
		struct lane_server s;
		struct lane_client *c;

		world_init(&w);
		world_add_overlay(&w, "ov0", 42, "10.9.0.1");
		lane_server_start(&s, answer_badly, answers);
		c = lane_server_client(&s);
		assert_int_equal(sync_ports_add(c, &w.d, &w.report), rows[i].err);
		assert_int_equal(w.report.failed, rows[i].failed);
		assert_int_equal(lane_server_n_sets(&s), 0);
		lane_client_close(c);
		lane_server_stop(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_refused_entries),      T(test_refused_table),
		T(test_refused_create),	      T(test_too_many_entries),
		T(test_refused_without_line), T(test_long_flood),
		T(test_refused_removal),      cmocka_unit_test(test_bad_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
