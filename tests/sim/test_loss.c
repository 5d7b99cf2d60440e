/* SPDX-License-Identifier: Apache-2.0 */
/* Long runs over good and bad wires. */
#include "sim.h"

#define SECOND	     NSEC_PER_SEC
#define MILLISECOND  NSEC_PER_MSEC
#define HOUR_SECONDS 3600

static uint64_t sessions(const struct sim *sim, unsigned node)
{
	return sim->node[node].lane.self.stats.handshakes_done;
}

/* Nothing but what was sent, nothing twice. */
static void check_honest(const struct sim *sim)
{
	for (unsigned i = 0; i < sim->n_nodes; i++) {
		assert_int_equal(sim->node[i].others, 0);
		for (unsigned j = 0; j < sim->n_nodes; j++)
			assert_int_equal(sim->flow[i][j].duplicates, 0);
	}
}

static void check_no_loss(const struct sim *sim)
{
	check_honest(sim);
	for (unsigned i = 0; i < sim->n_nodes; i++) {
		assert_int_equal(sim_drops(&sim->node[i]), 0);
		for (unsigned j = 0; j < sim->n_nodes; j++)
			assert_int_equal(sim->flow[i][j].delivered, sim->flow[i][j].sent);
	}
}

/* Two-way traffic for hours: every session's end and renewal goes unnoticed, also
 * when packets overtake each other and handshakes. */
static void test_lossless_hours(void **state)
{
	const struct sim_link links[] = {
		{.delay_ns = MILLISECOND},
		{.delay_ns = 10 * MILLISECOND, .jitter_ns = 300 * MILLISECOND, .reorder = 50},
		{.delay_ns = 600 * MILLISECOND, .jitter_ns = 400 * MILLISECOND},
	};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct sim *sim = sim_new(20 + i, 2);
		const uint64_t duration_ns = 3 * HOUR_SECONDS * SECOND;

		sim_wire_link_all(sim, &links[i]);
		sim_connect(sim, 0, 1, i % 2 ? AF_INET6 : AF_INET);
		sim_traffic(sim, 0, 1, SIM_PING_LEN, 170 * MILLISECOND, duration_ns);
		/* The other side begins later: no crossed initiations here. */
		sim_run(sim, 3 * SECOND);
		sim_traffic(sim, 1, 0, 1420, 230 * MILLISECOND, duration_ns);
		sim_run(sim, duration_ns + 20 * SECOND);
		check_no_loss(sim);
		assert_in_range(sessions(sim, 0), 86, 91);
		assert_int_equal(sessions(sim, 1), sessions(sim, 0));
		assert_true(i == 0 ? !sim->flow[0][1].overtaken : sim->flow[0][1].overtaken > 100);
		sim_free(sim);
	}
}

static void test_three_lanes(void **state)
{
	struct sim *sim = sim_new(25, 3);
	const uint64_t duration_ns = HOUR_SECONDS * SECOND;

	(void)state;
	sim_connect(sim, 0, 1, AF_INET);
	sim_connect(sim, 0, 2, AF_INET6);
	sim_connect(sim, 1, 2, AF_INET);
	for (unsigned i = 0; i < 3; i++)
		sim_traffic(sim, i, (i + 1) % 3, 500, 100 * MILLISECOND, duration_ns);
	for (unsigned i = 0; i < 3; i++)
		sim_traffic(sim, (i + 1) % 3, i, 100, 200 * MILLISECOND, duration_ns);
	sim_run(sim, duration_ns + 20 * SECOND);
	check_honest(sim);
	for (unsigned i = 0; i < 3; i++) {
		for (unsigned j = 0; j < 3; j++)
			assert_int_equal(sim->flow[i][j].delivered, sim->flow[i][j].sent);
	}
	sim_free(sim);
}

/* Days of thin traffic: sessions end, keys are wiped and made anew. */
static void test_days(void **state)
{
	const uint64_t day_ns = 24 * HOUR_SECONDS * SECOND;
	struct sim *sim = sim_new(26, 2);

	(void)state;
	sim_connect(sim, 0, 1, AF_INET);
	peer_set_keepalive(&sim->node[1].lane, sim_peer(sim, 1, 0), 25);
	sim_traffic(sim, 0, 1, SIM_PING_LEN, 3 * SECOND, 2 * day_ns);
	sim_traffic(sim, 1, 0, SIM_PING_LEN, 7 * SECOND + MILLISECOND, 2 * day_ns);
	sim_run(sim, 2 * day_ns);
	/* Then one packet every 11 minutes: each finds the keys wiped. */
	peer_set_keepalive(&sim->node[1].lane, sim_peer(sim, 1, 0), 0);
	sim_traffic(sim, 0, 1, SIM_PING_LEN, 11 * 60 * SECOND, 10 * day_ns);
	sim_run(sim, 10 * day_ns);
	check_honest(sim);
	assert_int_equal(sim->flow[0][1].delivered, sim->flow[0][1].sent);
	assert_int_equal(sim->flow[1][0].delivered, sim->flow[1][0].sent);
	/* A session every 120 s and a packet's time, 130 s after a crossing. */
	assert_in_range(sessions(sim, 0), 2 * 24 * 28 + 1309, 2 * 24 * 31 + 1311);
	sim_run(sim, 700 * SECOND);
	assert_int_equal(sim->node[0].lane.index.n_used, 0);
	assert_int_equal(sim->node[1].lane.index.n_used, 0);
	sim_free(sim);
}

struct weather {
	struct sim_link link;
	unsigned least, most; /* per thousand delivered */
};

/* The bounds are the wire's own losses (a corrupted datagram is lost) and about
 * four standard deviations of 12,000 packets; below also what is lost because a
 * session could not be renewed in time. */
static const struct weather weathers[] = {
	{{.delay_ns = 5 * MILLISECOND, .duplicate = 100, .reorder = 100}, 1000, 1000},
	{{.drop = 100, .delay_ns = 20 * MILLISECOND, .jitter_ns = 10 * MILLISECOND}, 880, 915},
	{{.drop = 100, .delay_ns = 20 * MILLISECOND, .duplicate = 50, .corrupt = 20, .reorder = 50},
	 870,
	 908},
	{{.drop = 300, .delay_ns = 20 * MILLISECOND, .jitter_ns = 50 * MILLISECOND}, 670, 718},
	{{.drop = 300, .delay_ns = 20 * MILLISECOND, .duplicate = 300, .reorder = 300}, 670, 932},
};

static void test_bad_weather(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(weathers) / sizeof(weathers[0]); i++) {
		const struct weather *w = &weathers[i];
		struct sim *sim = sim_new(30 + i, 2);
		const uint64_t duration_ns = HOUR_SECONDS * SECOND;

		sim_wire_link_all(sim, &w->link);
		sim_connect(sim, 0, 1, AF_INET);
		sim_traffic(sim, 0, 1, SIM_PING_LEN, 300 * MILLISECOND, duration_ns);
		sim_traffic(sim, 1, 0, 700, 300 * MILLISECOND, duration_ns);
		sim_run(sim, duration_ns + 20 * SECOND);
		check_honest(sim);
		for (unsigned from = 0; from < 2; from++) {
			const struct sim_flow *flow = &sim->flow[from][!from];

			assert_in_range(flow->delivered * 1000 / flow->sent, w->least, w->most);
		}
		/* At least one every 180 s; a lost response makes one half. */
		assert_in_range(sessions(sim, 0), 20, 70);
		sim_free(sim);
	}
}

/* Nothing of it may be delivered, nothing of it may do harm. */
static void test_everything_corrupted(void **state)
{
	const struct sim_link link = {.delay_ns = MILLISECOND, .corrupt = 1000};
	const struct sim_link good = {.delay_ns = MILLISECOND};
	struct sim *sim = sim_new(40, 2);

	(void)state;
	sim_connect(sim, 0, 1, AF_INET);
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, SECOND);
	sim_wire_link_all(sim, &link);
	sim_traffic(sim, 0, 1, SIM_PING_LEN, 100 * MILLISECOND, 100 * SECOND);
	sim_traffic(sim, 1, 0, SIM_PING_LEN, 100 * MILLISECOND, 100 * SECOND);
	sim_run(sim, 100 * SECOND);
	check_honest(sim);
	assert_int_equal(sim->flow[0][1].delivered, 1);
	assert_int_equal(sim->flow[1][0].delivered, 0);
	assert_true(sim->node[0].lane.self.stats.drop[DROP_AUTH] > 500);
	assert_true(sim->node[0].lane.self.stats.drop[DROP_UNKNOWN_INDEX] > 10);
	assert_true(sim->node[0].lane.self.stats.drop[DROP_BAD_MESSAGE] > 10);

	sim_wire_link_all(sim, &good);
	sim_run(sim, 20 * SECOND);
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, SECOND);
	assert_true(sim_delivered(sim, 0, 1, sim->flow[0][1].sent - 1));
	sim_free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_lossless_hours, sim_teardown),
		cmocka_unit_test_teardown(test_three_lanes, sim_teardown),
		cmocka_unit_test_teardown(test_days, sim_teardown),
		cmocka_unit_test_teardown(test_bad_weather, sim_teardown),
		cmocka_unit_test_teardown(test_everything_corrupted, sim_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
