/* SPDX-License-Identifier: Apache-2.0 */
/* When an endpoint is written, and when a peer is left where it is. */
#include <time.h>

#include "sync_lane_world.h"

static void test_endpoint_at_start(void **state)
{
	static const struct {
		unsigned long age_s; /* of the handshake; 0: there was none */
		bool written;
	} rows[] = {{0, true}, {10, false}, {100, false}, {1000, true}};
	struct fixture *f = *state;
	struct member *m = world_add_peer(&f->w, 1);
	struct model_peer *p = model_add(&f->model, world_hex(1));

	strcpy(f->model.private_key, world_hex(0x48));
	f->model.listen_port = 51820;
	world_endpoint(m, "192.0.2.1:1");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		sync_lane_memory_free(f->memory);
		f->memory = sync_lane_memory_new();
		strcpy(p->endpoint, "198.51.100.1:7");
		p->handshake_s = rows[i].age_s ? (unsigned long)time(NULL) - rows[i].age_s : 0;
		add(f);
		assert_int_equal(lane_server_n_sets(&f->server), rows[i].written);
		assert_string_equal(p->endpoint,
				    rows[i].written ? "192.0.2.1:1" : "198.51.100.1:7");
		assert_right(f);
		/* It was old, but the peer has roamed since. */
		strcpy(p->endpoint, "198.51.100.9:9");
		p->handshake_s = 0;
		assert_right(f);
		assert_string_equal(p->endpoint, "198.51.100.9:9");
	}
}

static void test_endpoint_changes(void **state)
{
	struct fixture *f = *state;
	struct member *m = world_add_peer(&f->w, 1);
	struct model_peer *p;

	world_endpoint(m, "192.0.2.1:1");
	add(f);
	p = &f->model.peers[0];
	/* It roams at once, */
	strcpy(p->endpoint, "198.51.100.1:6");
	assert_right(f);
	/* and again, and all is well there. */
	strcpy(p->endpoint, "198.51.100.1:7");
	p->handshake_s = (unsigned long)time(NULL);
	assert_right(f);

	/* It is configured elsewhere: written, however well it is where it is. */
	world_endpoint(m, "[2001:db8::1]:2");
	add(f);
	assert_string_equal(p->endpoint, "[2001:db8::1]:2");
	assert_counts(f, 0, 1, 0, 0);
	assert_right(f);

	/* Its address or port alone. */
	world_endpoint(m, "192.0.2.1:2");
	add(f);
	assert_string_equal(p->endpoint, "192.0.2.1:2");
	world_endpoint(m, "192.0.2.1:3");
	add(f);
	assert_string_equal(p->endpoint, "192.0.2.1:3");
	world_endpoint(m, "[2001:db8::1]:2");
	add(f);
	world_endpoint(m, "[2001:db8::1]:3");
	add(f);
	assert_string_equal(p->endpoint, "[2001:db8::1]:3");
	assert_right(f);

	/* Nowhere: it stays. */
	m->endpoint.ss_family = AF_UNSPEC;
	assert_right(f);
	assert_string_equal(p->endpoint, "[2001:db8::1]:3");

	/* Where it went by itself: nothing is to be said, but it is what was written last. */
	strcpy(p->endpoint, "192.0.2.5:5");
	world_endpoint(m, "192.0.2.5:5");
	assert_right(f);
	strcpy(p->endpoint, "198.51.100.1:7");
	assert_right(f);
	world_endpoint(m, "[2001:db8::1]:3");
	add(f);
	assert_string_equal(p->endpoint, "[2001:db8::1]:3");
	assert_right(f);

	/* The lane began anew. */
	f->model = (struct uapi_model){0};
	add(f);
	assert_string_equal(f->model.peers[0].endpoint, "[2001:db8::1]:3");
	assert_right(f);
}

/* What a peer was told before it went does not count when it comes back. */
static void test_memory_forgets(void **state)
{
	struct fixture *f = *state;
	struct member *m = world_add_peer(&f->w, 1);

	world_endpoint(m, "192.0.2.1:1");
	add(f);
	f->w.d.n_peers = 0;
	add(f);
	f->w.d.n_peers = 1;
	strcpy(f->model.peers[0].endpoint, "198.51.100.1:7");
	add(f);
	assert_string_equal(f->model.peers[0].endpoint, "192.0.2.1:1");
}

static void test_zone(void **state)
{
	struct fixture *f = *state;
	struct member *m = world_add_peer(&f->w, 1);

	world_endpoint(m, "[fe80::1%lo]:1");
	add(f);
	assert_string_equal(f->model.peers[0].endpoint, "[fe80::1%lo]:1");
	assert_right(f);
	/* A device that is not here has a number for its name. */
	world_endpoint(m, "[fe80::1%4000000000]:1");
	add(f);
	assert_string_equal(f->model.peers[0].endpoint, "[fe80::1%4000000000]:1");
	assert_right(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_endpoint_at_start),
		T(test_endpoint_changes),
		T(test_memory_forgets),
		T(test_zone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
