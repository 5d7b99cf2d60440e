/* SPDX-License-Identifier: Apache-2.0 */
/* Any lane, any desired state, and a model that tells whether the one became the other. */
#include "sync_lane_world.h"

/* Any lane becomes any desired one in one pass, and the next says nothing. */

static void random_lane(struct uapi_model *m)
{
	*m = (struct uapi_model){.listen_port = (unsigned long)rand() % 2 * 51820};
	if (rand() % 2)
		strcpy(m->private_key, world_hex(rand() % 2 ? 0x48 : 0x50));
	for (uint8_t key = 1; key <= 8; key++) {
		if (rand() % 2)
			model_add(m, world_hex(key))->keepalive = (unsigned long)rand() % 3;
	}
	for (int i = 0; i < 20 && m->n_peers; i++) {
		char prefix[40];

		if (rand() % 2)
			snprintf(prefix, sizeof(prefix), "10.%d.0.0/16", i);
		else
			snprintf(prefix, sizeof(prefix), "fd00:%d::/32", i + 1);
		model_allow(m, &m->peers[(size_t)rand() % m->n_peers], prefix);
	}
}

static void random_desired(struct desired_world *w)
{
	int owner[20];

	world_init(w);
	for (int i = 0; i < 20; i++)
		owner[i] = rand() % 10;
	for (uint8_t key = 8; key; key--) {
		struct member *m;

		if (rand() % 3 == 0)
			continue;
		m = world_add_peer(w, key);
		m->keepalive_s = (uint16_t)(rand() % 3);
		m->has_psk = rand() % 2;
		memset(m->psk, rand() % 2, sizeof(m->psk));
		if (rand() % 2)
			world_endpoint(m, "192.0.2.1:1");
		for (int i = 0; i < 20; i++) {
			char prefix[40];

			snprintf(prefix, sizeof(prefix), i % 2 ? "10.%d.0.0/16" : "fd00:%d::/32",
				 i + !(i % 2));
			if (owner[i] == key)
				world_allow(w, prefix);
		}
	}
}

static void assert_like_desired(struct fixture *f)
{
	struct uapi_model *m = &f->model;

	assert_int_equal(m->n_peers, f->w.d.n_peers);
	assert_int_equal(m->listen_port, 51820);
	assert_string_equal(m->private_key, world_hex(0x48));
	for (size_t i = 0; i < f->w.d.n_peers; i++) {
		const struct desired_peer *want = &f->w.peers[i];
		const struct member *member = want->member;
		struct model_peer *p = model_find(m, world_hex(member->public_key[0]));
		char text[LANE_ENDPOINT_TEXT_LEN];

		assert_non_null(p);
		assert_int_equal(p->keepalive, member->keepalive_s);
		assert_string_equal(p->psk,
				    member->has_psk ? world_hex(member->psk[0]) : model_no_psk);
		assert_string_equal(p->endpoint,
				    lane_value_format_endpoint(&member->endpoint, text));
		assert_int_equal(p->n_allowed, want->n_allowed);
		for (size_t j = 0; j < want->n_allowed; j++)
			assert_true(model_disown(p, ip_prefix_format(&want->allowed[j], text)));
		p->n_allowed = 0;
		for (size_t j = 0; j < want->n_allowed; j++)
			model_allow(m, p, ip_prefix_format(&want->allowed[j], text));
	}
}

static void test_any_to_any(void **state)
{
	struct fixture *f = *state;

	srand(1);
	for (int i = 0; i < 200; i++) {
		random_lane(&f->model);
		random_desired(&f->w);
		sync_lane_memory_free(f->memory);
		f->memory = sync_lane_memory_new();
		add(f);
		assert_true(lane_server_n_sets(&f->server) <= 1);
		assert_int_equal(f->w.report.failed, 0);
		removing(f);
		assert_like_desired(f);
		assert_right(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_any_to_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
