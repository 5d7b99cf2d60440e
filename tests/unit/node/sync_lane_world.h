/* SPDX-License-Identifier: Apache-2.0 */
/* A pass of sync_lane.c over a model of a lane. */
#ifndef SEALANE_TESTS_SYNC_LANE_WORLD_H
#define SEALANE_TESTS_SYNC_LANE_WORLD_H

#include "agent/node/sync.h"
#include "desired_world.h"
#include "uapi_model.h"

struct fixture {
	struct desired_world w;
	struct uapi_model model;
	struct lane_server server;
	struct lane_client *client;
	struct sync_lane_memory *memory;
};

static inline int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	world_init(&f->w);
	lane_server_start(&f->server, uapi_model_answer, &f->model);
	f->client = lane_server_client(&f->server);
	f->memory = sync_lane_memory_new();
	*state = f;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;

	lane_client_close(f->client);
	lane_server_stop(&f->server);
	sync_lane_memory_free(f->memory);
	sync_lane_memory_free(NULL);
	free(f);
	return 0;
}

/* The lane as it is after that much of a pass. The requests are those of the last one. */
static inline void add(struct fixture *f)
{
	f->w.report = (struct report){0};
	lane_server_forget(&f->server);
	assert_int_equal(sync_lane_add(f->client, &f->w.d, f->memory, &f->w.report), 0);
}

static inline void removing(struct fixture *f)
{
	f->w.report = (struct report){0};
	lane_server_forget(&f->server);
	assert_int_equal(sync_lane_remove(f->client, &f->w.d, f->memory, &f->w.report), 0);
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

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

#endif
