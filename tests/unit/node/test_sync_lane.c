/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/sync.h"

#include "sync_lane_world.h"

static void test_empty_lane(void **state)
{
	struct fixture *f = *state;
	struct member *m;
	char expected[2000];

	f->w.config.lane.fwmark = 0x20;
	m = world_add_peer(&f->w, 2);
	m->has_psk = true;
	memset(m->psk, 0xbb, sizeof(m->psk));
	m->keepalive_s = 25;
	world_endpoint(m, "192.0.2.2:51820");
	world_allow(&f->w, "10.0.0.2/32");
	world_allow(&f->w, "fd00::2/128");
	world_add_peer(&f->w, 1);

	add(f);
	snprintf(expected, sizeof(expected),
		 "set=1\nprivate_key=%s\nlisten_port=51820\nfwmark=32\n"
		 "public_key=%s\npreshared_key=%s\nendpoint=192.0.2.2:51820\n"
		 "persistent_keepalive_interval=25\nallowed_ip=10.0.0.2/32\n"
		 "allowed_ip=fd00::2/128\npublic_key=%s\n",
		 world_hex(0x48), world_hex(2), world_hex(0xbb), world_hex(1));
	assert_int_equal(lane_server_n_sets(&f->server), 1);
	assert_string_equal(lane_server_set(&f->server, 0), expected);
	assert_counts(f, 2, 3, 0, 0);
	assert_right(f);
}

/* One difference at a time, and what is said about it. */
static void test_differences(void **state)
{
	static const struct {
		const char *name, *expected; /* after the peer's first lines, if it is one's */
		bool of_peer;
	} rows[] = {
		{"port", "listen_port=51820\n", false},
		{"fwmark", "fwmark=7\n", false},
		{"psk", "preshared_key=", true}, /* and the key */
		{"keepalive", "persistent_keepalive_interval=0\n", true},
		{"more", "allowed_ip=10.0.1.0/24\n", true},
		{"less", "allowed_ip=-10.0.0.0/16\n", true},
		{"no endpoint", "endpoint=192.0.2.1:1\n", true},
	};
	struct fixture *f = *state;
	struct member *m = world_add_peer(&f->w, 1);
	struct model_peer *p = model_add(&f->model, world_hex(1));

	f->w.config.lane.fwmark = 7;
	world_endpoint(m, "192.0.2.1:1");
	world_allow(&f->w, "10.0.1.0/24");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char expected[500] = "set=1\n";

		/* All right, */
		strcpy(f->model.private_key, world_hex(0x48));
		f->model.listen_port = 51820;
		f->model.fwmark = 7;
		strcpy(p->psk, model_no_psk);
		strcpy(p->endpoint, "192.0.2.1:1");
		p->handshake_s = 0;
		p->keepalive = 0;
		p->n_allowed = 0;
		model_allow(&f->model, p, "10.0.1.0/24");
		assert_right(f);
		/* but for one thing. */
		if (!strcmp(rows[i].name, "port"))
			f->model.listen_port = 51821;
		else if (!strcmp(rows[i].name, "fwmark"))
			f->model.fwmark = 0;
		else if (!strcmp(rows[i].name, "psk"))
			strcpy(p->psk, world_hex(9));
		else if (!strcmp(rows[i].name, "keepalive"))
			p->keepalive = 10;
		else if (!strcmp(rows[i].name, "more"))
			p->n_allowed = 0;
		else if (!strcmp(rows[i].name, "less"))
			model_allow(&f->model, p, "10.0.0.0/16");
		else
			p->endpoint[0] = '\0';
		add(f);
		assert_int_equal(lane_server_n_sets(&f->server), 1);
		if (rows[i].of_peer)
			strcat(strcat(strcat(expected, "public_key="), world_hex(1)),
			       "\nupdate_only=true\n");
		strcat(expected, rows[i].expected);
		if (!strcmp(rows[i].name, "psk"))
			strcat(strcat(expected, model_no_psk), "\n");
		assert_string_equal(lane_server_set(&f->server, 0), expected);
		assert_counts(f, 0, 1, 0, 0);
		assert_right(f);
	}
}

/* Port 0 is "whatever it has". */
static void test_any_port(void **state)
{
	struct fixture *f = *state;

	f->w.config.node.listen_port = 0;
	strcpy(f->model.private_key, world_hex(0x48));
	f->model.listen_port = 40000;
	assert_right(f);
}

static void test_other_private_key(void **state)
{
	struct fixture *f = *state;

	strcpy(f->model.private_key, world_hex(0x50));
	f->model.listen_port = 51820;
	add(f);
	assert_string_equal(f->model.private_key, world_hex(0x48));
	assert_counts(f, 0, 1, 0, 0);
	assert_right(f);
}

/* A key file may have bits that X25519 does not look at, which the lane does not keep. */
static void test_unclamped_private_key(void **state)
{
	struct fixture *f = *state;
	char kept[MODEL_TEXT];

	memset(f->w.d.private_key, 0xff, sizeof(f->w.d.private_key));
	add(f);
	strcpy(kept, world_hex(0xff));
	kept[1] = '8';
	kept[62] = '7';
	assert_string_equal(f->model.private_key, kept);
	assert_right(f);
	/* Each of the others counts. */
	f->w.d.private_key[0] = 0xf7;
	add(f);
	assert_counts(f, 0, 1, 0, 0);
	f->w.d.private_key[31] = 0xfe;
	add(f);
	assert_counts(f, 0, 1, 0, 0);
	assert_right(f);
}

/* Allowed-ips */

static void assert_allowed(const struct fixture *f, uint8_t key, const char *expected)
{
	struct uapi_model copy = f->model;
	const struct model_peer *p = model_find(&copy, world_hex(key));
	char seen[1000] = "";

	assert_non_null(p);
	for (size_t i = 0; i < p->n_allowed; i++)
		strcat(strcat(seen, p->allowed[i]), " ");
	assert_string_equal(seen, expected);
}

/* A prefix that moves is right after one pass, whoever comes first, and always somebody's. */
static void test_move(void **state)
{
	struct fixture *f = *state;

	for (int order = 0; order < 2; order++) {
		const uint8_t from = order ? 1 : 2, to = order ? 2 : 1;

		f->w.d.n_peers = 0;
		f->model = (struct uapi_model){.watched = "10.7.0.0/16"};
		model_allow(&f->model, model_add(&f->model, world_hex(from)), "10.7.0.0/16");
		model_allow(&f->model, &f->model.peers[0], "10.8.0.0/16");
		model_add(&f->model, world_hex(to));
		world_add_peer(&f->w, 1);
		world_allow(&f->w, to == 1 ? "10.7.0.0/16" : "10.8.0.0/16");
		world_add_peer(&f->w, 2);
		world_allow(&f->w, to == 2 ? "10.7.0.0/16" : "10.8.0.0/16");
		add(f);
		assert_int_equal(lane_server_n_sets(&f->server), 1);
		assert_allowed(f, from, "10.8.0.0/16 ");
		assert_allowed(f, to, "10.7.0.0/16 ");
		assert_int_equal(f->model.n_unowned, 0);
		assert_right(f);
	}
}

static void test_swap(void **state)
{
	struct fixture *f = *state;

	model_allow(&f->model, model_add(&f->model, world_hex(1)), "10.1.0.0/16");
	model_allow(&f->model, model_add(&f->model, world_hex(2)), "10.2.0.0/16");
	world_add_peer(&f->w, 1);
	world_allow(&f->w, "10.2.0.0/16");
	world_add_peer(&f->w, 2);
	world_allow(&f->w, "10.1.0.0/16");
	add(f);
	assert_allowed(f, 1, "10.2.0.0/16 ");
	assert_allowed(f, 2, "10.1.0.0/16 ");
	assert_right(f);
}

/* From a peer that is still there when the prefix goes to a new one. */
static void test_move_from_undesired(void **state)
{
	struct fixture *f = *state;

	model_allow(&f->model, model_add(&f->model, world_hex(9)), "10.1.0.0/16");
	world_add_peer(&f->w, 1);
	world_allow(&f->w, "10.1.0.0/16");
	add(f);
	assert_allowed(f, 1, "10.1.0.0/16 ");
	assert_allowed(f, 9, "");
	removing(f);
	assert_int_equal(f->model.n_peers, 1);
	assert_counts(f, 0, 0, 1, 0);
	assert_allowed(f, 1, "10.1.0.0/16 ");
	assert_right(f);
}

/* Removing */

static void test_remove(void **state)
{
	struct fixture *f = *state;
	char expected[500];

	for (uint8_t key = 1; key <= 5; key++)
		model_add(&f->model, world_hex(key));
	world_add_peer(&f->w, 4);
	world_add_peer(&f->w, 2);
	add(f);
	assert_int_equal(f->model.n_peers, 5);
	removing(f);
	snprintf(expected, sizeof(expected),
		 "set=1\npublic_key=%s\nremove=true\npublic_key=%s\nremove=true\n"
		 "public_key=%s\nremove=true\n",
		 world_hex(1), world_hex(3), world_hex(5));
	assert_string_equal(lane_server_set(&f->server, 0), expected);
	assert_int_equal(f->model.n_peers, 2);
	assert_counts(f, 0, 0, 3, 0);
	assert_right(f);
}

/* Refused */

static void test_refused_port(void **state)
{
	struct fixture *f = *state;

	world_endpoint(world_add_peer(&f->w, 1), "192.0.2.1:1");
	world_add_peer(&f->w, 2);
	f->w.config.lane.fwmark = 1;
	f->model.refuse[0] = "listen_port=";
	add(f);
	assert_counts(f, 2, 2, 0, 1);
	assert_string_equal(f->w.report.faults[0],
			    "the lane's listen port: Address already in use");
	assert_string_equal(f->model.private_key, world_hex(0x48));
	assert_int_equal(f->model.fwmark, 1);
	assert_int_equal(f->model.n_peers, 2);

	f->model.refuse[0] = NULL;
	add(f);
	assert_counts(f, 0, 1, 0, 0);
	assert_right(f);
}

static void test_refused_peer(void **state)
{
	struct fixture *f = *state;
	char refused[100];

	for (uint8_t key = 1; key <= 4; key++) {
		world_add_peer(&f->w, key);
		if (key == 2)
			world_endpoint(&f->w.members[1], "192.0.2.2:2");
	}
	model_add(&f->model, world_hex(4));
	model_allow(&f->model, &f->model.peers[0], "10.1.0.0/16");
	snprintf(refused, sizeof(refused), "endpoint=192.0.2.2:2");
	f->model.refuse[0] = refused;
	add(f);
	assert_counts(f, 2, 3, 0, 1); /* private key, port, a peer that loses a prefix */
	assert_string_equal(f->w.report.faults[0],
			    "peer node2 (AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=): Address "
			    "already in use");
	assert_int_equal(f->model.n_peers, 4);
	assert_allowed(f, 4, "");

	/* Its endpoint is not taken for written. */
	f->model.refuse[0] = NULL;
	add(f);
	assert_string_equal(model_find(&f->model, world_hex(2))->endpoint, "192.0.2.2:2");
	assert_right(f);
}

static void test_refused_removal(void **state)
{
	struct fixture *f = *state;
	char refused[100];

	for (uint8_t key = 1; key <= 3; key++)
		model_add(&f->model, world_hex(key));
	snprintf(refused, sizeof(refused), "public_key=%s", world_hex(2));
	f->model.refuse[0] = refused;
	removing(f);
	assert_counts(f, 0, 0, 2, 1);
	assert_int_equal(f->model.n_peers, 1);
	assert_string_equal(f->model.peers[0].public_key, world_hex(2));
}

/* The other end */

static char *answer_badly(void *ctx, enum lane_socket which, const char *request)
{
	const char *answer = ctx;

	(void)request;
	if (which == LANE_CONTROL)
		return strdup("version=1\nerrno=0\n\n");
	return *answer ? strdup(answer) : NULL;
}

static void test_bad_answers(void **state)
{
	static const struct {
		const char *answer;
		int err;
		unsigned failed;
	} rows[] = {
		{"", -EPIPE, 0},
		{"hello\n\n", -EPROTO, 0},
		{"errno=5\n\n", 0, 1},
		{"private_key=00\nerrno=0\n\n", 0, 1},
		{"listen_port=65536\nerrno=0\n\n", 0, 1},
		{"fwmark=-1\nerrno=0\n\n", 0, 1},
		{"public_key=zz\nerrno=0\n\n", 0, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sync_lane_memory *memory = sync_lane_memory_new();
		char answer[100];
		struct desired_world w;
		struct lane_server s;
		struct lane_client *c;

		world_init(&w);
		strcpy(answer, rows[i].answer);
		lane_server_start(&s, answer_badly, answer);
		c = lane_server_client(&s);
		assert_int_equal(sync_lane_add(c, &w.d, memory, &w.report), rows[i].err);
		assert_int_equal(w.report.failed, rows[i].failed);
		assert_int_equal(lane_server_n_sets(&s), 0);
		assert_int_equal(lane_client_usable(c), !rows[i].err);
		lane_client_close(c);
		lane_server_stop(&s);
		sync_lane_memory_free(memory);
	}
}

/* Keys that are not known are passed over, also those of a newer lane. */
static char *answer_newer(void *ctx, enum lane_socket which, const char *request)
{
	const char *text = ctx;

	if (which == LANE_CONTROL)
		return strdup("version=1\nerrno=0\n\n");
	return strdup(!strncmp(request, "get", 3) ? text : "errno=-22\n\n");
}

static void test_unknown_keys(void **state)
{
	struct sync_lane_memory *memory = sync_lane_memory_new();
	char text[500];
	struct desired_world w;
	struct lane_server s;
	struct lane_client *c;

	(void)state;
	world_init(&w);
	world_add_peer(&w, 1);
	snprintf(text, sizeof(text),
		 "colour=blue\nprivate_key=%s\nlisten_port=51820\npublic_key=%s\ncolour=red\n"
		 "listen_port=none\nerrno=0\n\n",
		 world_hex(0x48), world_hex(1));
	lane_server_start(&s, answer_newer, text);
	c = lane_server_client(&s);
	assert_int_equal(sync_lane_add(c, &w.d, memory, &w.report), 0);
	assert_int_equal(lane_server_n_sets(&s), 0);
	assert_int_equal(w.report.failed, 0);
	lane_client_close(c);
	lane_server_stop(&s);
	sync_lane_memory_free(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_empty_lane),
		T(test_differences),
		T(test_any_port),
		T(test_other_private_key),
		T(test_unclamped_private_key),
		T(test_move),
		T(test_swap),
		T(test_move_from_undesired),
		T(test_remove),
		T(test_refused_port),
		T(test_refused_peer),
		T(test_refused_removal),
		cmocka_unit_test(test_bad_answers),
		cmocka_unit_test(test_unknown_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
