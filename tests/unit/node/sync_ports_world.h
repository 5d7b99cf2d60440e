/* SPDX-License-Identifier: Apache-2.0 */
/* A pass of sync_ports.c over a model of a lane's ports. */
#ifndef SEALANE_TESTS_SYNC_PORTS_WORLD_H
#define SEALANE_TESTS_SYNC_PORTS_WORLD_H

#include "agent/node/sync.h"
#include "desired_world.h"
#include "port_model.h"

struct fixture {
	struct desired_world w;
	struct port_model model;
	struct lane_server server;
	struct lane_client *client;
};

static inline int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	world_init(&f->w);
	lane_server_start(&f->server, port_model_answer, &f->model);
	f->client = lane_server_client(&f->server);
	*state = f;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;

	lane_client_close(f->client);
	lane_server_stop(&f->server);
	free(f);
	return 0;
}

static inline void add(struct fixture *f)
{
	f->w.report = (struct report){0};
	lane_server_forget(&f->server);
	assert_int_equal(sync_ports_add(f->client, &f->w.d, &f->w.report), 0);
}

static inline void removing(struct fixture *f)
{
	f->w.report = (struct report){0};
	lane_server_forget(&f->server);
	assert_int_equal(sync_ports_remove(f->client, &f->w.d, &f->w.report), 0);
}

static inline void assert_counts(const struct fixture *f, unsigned added, unsigned changed,
				 unsigned removed, unsigned failed)
{
	assert_int_equal(f->w.report.added, added);
	assert_int_equal(f->w.report.changed, changed);
	assert_int_equal(f->w.report.removed, removed);
	assert_int_equal(f->w.report.failed, failed);
}

/* A pass that finds all right says nothing. */
static inline void assert_right(struct fixture *f)
{
	add(f);
	assert_int_equal(lane_server_n_sets(&f->server), 0);
	assert_counts(f, 0, 0, 0, 0);
	removing(f);
	assert_int_equal(lane_server_n_sets(&f->server), 0);
	assert_counts(f, 0, 0, 0, 0);
}

static inline void assert_set(struct fixture *f, size_t i, const char *expected)
{
	assert_non_null(lane_server_set(&f->server, i));
	assert_string_equal(lane_server_set(&f->server, i), expected);
}

/* A port with two stations, which the tests begin with. */
static inline void begin(struct fixture *f)
{
	world_add_overlay(&f->w, "ov0", 42, "10.9.0.1");
	world_add_station(&f->w, 3, "10.9.0.3", "10.10.0.3");
	world_add_station(&f->w, 2, "10.9.0.2", "10.10.0.2");
	add(f);
	assert_counts(f, 1, 0, 0, 0);
	assert_right(f);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

#endif
