/* SPDX-License-Identifier: Apache-2.0 */
/* What the clock alone brings about: keepalives, retries, giving up, wiping. */
#include "sim.h"

#include <string.h>

#define SECOND	   NSEC_PER_SEC
#define JITTER_MAX REKEY_TIMEOUT_JITTER_MAX_NS

static const struct sim_sent *sent(const struct sim *sim, unsigned node)
{
	return &sim->node[node].sent;
}

static void run_until(struct sim *sim, uint64_t at_ns)
{
	assert_true(at_ns >= sim->now_ns);
	sim_run(sim, at_ns - sim->now_ns);
}

/* A session initiated by node 0, a minute old and at rest. */
static struct sim *established(uint64_t seed)
{
	struct sim *sim = sim_new(seed, 2);

	sim_connect(sim, 0, 1, AF_INET);
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, 60 * SECOND);
	assert_int_equal(sim->flow[0][1].delivered, 1);
	return sim;
}

static bool lose_all(struct sim *sim, struct sim_datagram *d, uint64_t *delay_ns)
{
	(void)sim;
	(void)d;
	(void)delay_ns;
	return false;
}

static bool lose_all_of_1(struct sim *sim, struct sim_datagram *d, uint64_t *delay_ns)
{
	(void)sim;
	(void)delay_ns;
	return d->from != 1;
}

static void test_passive_keepalive(void **state)
{
	struct sim *sim = established(1);
	uint64_t before = sent(sim, 1)->keepalives, received_ns;

	(void)state;
	sim_send(sim, 0, 1, SIM_PING_LEN);
	received_ns = sim->now_ns + NSEC_PER_MSEC;
	run_until(sim, received_ns + 10 * SECOND - 1);
	assert_int_equal(sent(sim, 1)->keepalives, before);
	run_until(sim, received_ns + 10 * SECOND);
	assert_int_equal(sent(sim, 1)->keepalives, before + 1);

	/* Nobody answers a keepalive. */
	run_until(sim, received_ns + 50 * SECOND);
	assert_int_equal(sent(sim, 1)->keepalives, before + 1);
	assert_int_equal(sent(sim, 0)->keepalives, 0);
	assert_int_equal(sim->node[0].lane.self.stats.keepalives_in, before + 1);
	sim_free(sim);
}

static void test_answered_data_needs_no_keepalive(void **state)
{
	struct sim *sim = established(2);
	uint64_t before = sent(sim, 1)->keepalives;

	(void)state;
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, 9 * SECOND);
	sim_send(sim, 1, 0, SIM_PING_LEN);
	sim_run(sim, 9 * SECOND);
	assert_int_equal(sent(sim, 1)->keepalives, before);
	sim_free(sim);
}

/* One-way traffic brings a keepalive every 10 to 11 s (the next packet after one
 * starts the clock again) and no new handshakes. */
static void test_one_way_traffic(void **state)
{
	struct sim *sim = established(3);
	uint64_t before = sent(sim, 1)->keepalives;

	(void)state;
	sim_traffic(sim, 0, 1, SIM_PING_LEN, SECOND, 51 * SECOND);
	sim_run(sim, 51 * SECOND);
	assert_int_equal(sent(sim, 1)->keepalives, before + 4);
	assert_int_equal(sent(sim, 0)->n[MESSAGE_INITIATION], 1);
	sim_free(sim);
}

static void test_persistent_keepalive(void **state)
{
	struct sim *sim = established(4);
	struct lane *lane = &sim->node[0].lane;
	struct peer *peer = sim_peer(sim, 0, 1);
	uint64_t start_ns = sim->now_ns;

	(void)state;
	lane_refresh_clock(lane);
	peer_set_keepalive(lane, peer, 25);
	sim_settle(sim);
	assert_int_equal(sent(sim, 0)->keepalives, 1); /* at once */
	run_until(sim, start_ns + 25 * SECOND - 1);
	assert_int_equal(sent(sim, 0)->keepalives, 1);
	run_until(sim, start_ns + 25 * SECOND);
	assert_int_equal(sent(sim, 0)->keepalives, 2);

	/* Any traffic puts it off. */
	sim_run(sim, 10 * SECOND);
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, 9 * SECOND);
	sim_send(sim, 1, 0, SIM_PING_LEN);
	sim_run(sim, 24 * SECOND);
	assert_int_equal(sent(sim, 0)->keepalives, 3); /* the passive one */
	sim_run(sim, 12 * SECOND);
	/* Two, for the session was old enough by then to be renewed. */
	assert_int_equal(sent(sim, 0)->n[MESSAGE_INITIATION], 2);
	assert_int_equal(sent(sim, 0)->keepalives, 5);

	lane_refresh_clock(lane);
	peer_set_keepalive(lane, peer, 0);
	sim_run(sim, 100 * SECOND);
	assert_int_equal(sent(sim, 0)->keepalives, 5);
	sim_free(sim);
}

/* It keeps a session going for ever, and comes back when the peer does. */
static void test_persistent_keepalive_outlives_silence(void **state)
{
	const uint16_t intervals_s[] = {1, 4, 25, 600};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct sim *sim = sim_new(5, 2);
		uint64_t begun;

		sim_connect(sim, 0, 1, AF_INET);
		sim->filter = lose_all;
		peer_set_keepalive(&sim->node[0].lane, sim_peer(sim, 0, 1), intervals_s[i]);
		sim_run(sim, 3000 * SECOND);
		begun = sent(sim, 0)->n[MESSAGE_INITIATION];
		assert_true(begun > 40);
		sim->filter = NULL;
		sim_run(sim, 700 * SECOND);
		assert_non_null(sim_peer(sim, 1, 0)->slots.current);
		assert_true(sent(sim, 0)->keepalives >= 1);
		sim_free(sim);
	}
}

static void test_persistent_keepalive_waits_for_endpoint(void **state)
{
	struct sim *sim = sim_new(6, 2);
	struct peer *peer = sim_introduce(sim, 0, 1, AF_UNSPEC);

	(void)state;
	sim_introduce(sim, 1, 0, AF_UNSPEC);
	peer_set_keepalive(&sim->node[0].lane, peer, 25);
	sim_run(sim, 100 * SECOND);
	assert_int_equal(sent(sim, 0)->n[MESSAGE_INITIATION], 0);
	peer_set_endpoint(peer, &sim->node[1].addr[0]);
	sim_run(sim, 26 * SECOND);
	assert_non_null(peer->slots.current);
	sim_free(sim);
}

static void test_new_handshake_after_silence(void **state)
{
	struct sim *sim = established(7);
	uint64_t start_ns = sim->now_ns, at_ns;

	(void)state;
	sim->filter = lose_all_of_1;
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, 5 * SECOND);
	sim_send(sim, 0, 1, SIM_PING_LEN); /* the first one counts */
	sim_run(sim, 13 * SECOND);
	assert_int_equal(sent(sim, 0)->n[MESSAGE_INITIATION], 2);
	at_ns = sent(sim, 0)->last_ns[MESSAGE_INITIATION];
	assert_in_range(at_ns, start_ns + 15 * SECOND, start_ns + 15 * SECOND + JITTER_MAX);
	sim_free(sim);
}

static void test_retry_and_give_up(void **state)
{
	uint64_t jitter_sum = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 10; seed++) {
		struct sim *sim = sim_new(80 + seed, 2);
		uint64_t last_ns = sim->now_ns, gap_ns;
		const struct peer *peer;

		sim_connect(sim, 0, 1, AF_INET);
		peer = sim_peer(sim, 0, 1);
		sim->filter = lose_all;
		sim_send(sim, 0, 1, SIM_PING_LEN);
		sim_settle(sim);
		for (unsigned n = 2; n <= 20; n++) {
			run_until(sim, last_ns + REKEY_TIMEOUT_NS + JITTER_MAX);
			assert_int_equal(sent(sim, 0)->n[MESSAGE_INITIATION], n);
			gap_ns = sent(sim, 0)->last_ns[MESSAGE_INITIATION] - last_ns;
			assert_in_range(gap_ns, REKEY_TIMEOUT_NS, REKEY_TIMEOUT_NS + JITTER_MAX);
			jitter_sum += gap_ns - REKEY_TIMEOUT_NS;
			last_ns += gap_ns;
			assert_int_equal(peer->n_staged, 1);
		}
		run_until(sim, last_ns + REKEY_TIMEOUT_NS - 1);
		assert_int_equal(peer->n_staged, 1);
		sim_run(sim, REKEY_TIMEOUT_NS + JITTER_MAX);
		assert_int_equal(peer->n_staged, 0);
		assert_int_equal(sim->node[0].lane.self.stats.drop[DROP_STAGE_PURGED], 1);
		sim_run(sim, 1000 * SECOND);
		assert_int_equal(sent(sim, 0)->n[MESSAGE_INITIATION], 20);
		assert_int_equal(sim->node[0].lane.index.n_used, 0);

		/* A new packet begins anew. */
		sim->filter = NULL;
		sim_send(sim, 0, 1, SIM_PING_LEN);
		sim_run(sim, SECOND);
		assert_int_equal(sim->flow[0][1].delivered, 1);
		sim_free(sim);
	}
	/* 190 jitters, uniform: the mean is within 5 deviations of the middle. */
	assert_in_range(jitter_sum / 190, JITTER_MAX * 39 / 100, JITTER_MAX * 61 / 100);
}

static void test_zero_keys(void **state)
{
	struct sim *sim = established(9);
	struct peer *peer = sim_peer(sim, 0, 1);
	uint64_t birth_ns = peer->slots.current->birth_ns;

	(void)state;
	run_until(sim, birth_ns + ZERO_KEYS_AFTER_NS - 1);
	assert_non_null(peer->slots.current);
	run_until(sim, birth_ns + ZERO_KEYS_AFTER_NS);
	assert_null(peer->slots.current);
	assert_int_equal(sim->node[0].lane.index.n_used, 0);
	assert_int_equal(sim->node[1].lane.index.n_used, 0);
	sim_run(sim, 3600 * SECOND);
	assert_int_equal(sent(sim, 0)->n[MESSAGE_INITIATION], 1);
	sim_free(sim);
}

static void test_staging_keeps_the_newest_128_in_order(void **state)
{
	struct sim *sim = sim_new(10, 2);

	(void)state;
	sim_connect(sim, 0, 1, AF_INET);
	sim->filter = lose_all;
	for (unsigned i = 0; i < 131; i++) {
		sim_send(sim, 0, 1, SIM_PING_LEN + i);
		sim_run(sim, NSEC_PER_MSEC);
	}
	assert_int_equal(sim_peer(sim, 0, 1)->n_staged, 128);
	assert_int_equal(sim->node[0].lane.self.stats.drop[DROP_STAGE_FULL], 3);
	assert_int_equal(sent(sim, 0)->n[MESSAGE_INITIATION], 1);

	sim->filter = NULL;
	sim_run(sim, 6 * SECOND);
	assert_int_equal(sim->flow[0][1].delivered, 128);
	assert_int_equal(sim->flow[0][1].overtaken, 0);
	assert_false(sim_delivered(sim, 0, 1, 2));
	assert_true(sim_delivered(sim, 0, 1, 3));
	assert_true(sim_delivered(sim, 0, 1, 130));
	sim_free(sim);
}

/* Boottime runs on while a host sleeps: its keys are too old when it wakes. */
static void test_suspend(void **state)
{
	(void)state;
	for (unsigned sleeper = 0; sleeper < 2; sleeper++) {
		struct sim *sim = established(11);
		uint64_t data;

		sim->node[sleeper].asleep = true;
		sim_run(sim, 5 * 3600 * SECOND);
		sim->node[sleeper].asleep = false;
		data = sent(sim, sleeper)->n[MESSAGE_DATA];
		sim_send(sim, sleeper, !sleeper, SIM_PING_LEN);
		sim_settle(sim);
		assert_int_equal(sent(sim, sleeper)->n[MESSAGE_DATA], data);
		assert_int_equal(sent(sim, sleeper)->last_ns[MESSAGE_INITIATION], sim->now_ns);
		sim_run(sim, SECOND);
		assert_int_equal(sim->flow[sleeper][!sleeper].delivered,
				 sim->flow[sleeper][!sleeper].sent);
		sim_free(sim);
	}
}

static void test_down_and_up(void **state)
{
	struct sim *sim = established(12);
	struct lane *lane = &sim->node[0].lane;
	struct peer *peer = sim_peer(sim, 0, 1);

	(void)state;
	peer_set_keepalive(lane, peer, 5);
	sim_run(sim, 10 * SECOND);
	assert_int_equal(lane_set_up(lane, false), 0);
	assert_null(peer->slots.current);
	assert_int_equal(lane->index.n_used, 0);
	assert_int_equal(lane_next_deadline(lane), UINT64_MAX);

	/* The fake sockets fail the test when anything is sent while down. */
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_send(sim, 1, 0, SIM_PING_LEN);
	sim_run(sim, 1000 * SECOND);
	assert_int_equal(lane->self.stats.drop[DROP_DEVICE_DOWN], 1);
	assert_int_equal(sim->flow[1][0].delivered, 0);

	/* Up again, persistent keepalive makes a session at once. */
	assert_int_equal(lane_set_up(lane, true), 0);
	sim_run(sim, SECOND);
	assert_non_null(peer->slots.current);
	sim_send(sim, 1, 0, SIM_PING_LEN);
	sim_run(sim, SECOND);
	assert_true(sim_delivered(sim, 1, 0, 1));
	sim_free(sim);
}

static void test_queued_handshake_while_down(void **state)
{
	struct sim *sim = sim_new(13, 2);
	struct lane *lane = &sim->node[1].lane;
	const struct sim_datagram *d;
	uint8_t buf[256];

	(void)state;
	sim_connect(sim, 0, 1, AF_INET);
	sim->eavesdrop = true;
	sim->filter = lose_all;
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_settle(sim);
	d = sim_recorded(sim, 0, MESSAGE_INITIATION);
	memcpy(buf, d->data, d->len);
	assert_int_equal(
		handshake_enqueue(lane, MESSAGE_INITIATION, buf, d->len, &sim->node[0].addr[0]),
		DROP_NONE);
	assert_int_equal(lane->handshakes.n, 1);

	/* It was in the queue when the device went down. */
	assert_int_equal(lane_set_up(lane, false), 0);
	sim_run(sim, SECOND);
	assert_int_equal(lane->index.n_used, 0);
	assert_null(sim_peer(sim, 1, 0)->slots.next);
	assert_int_equal(sent(sim, 1)->n[MESSAGE_RESPONSE], 0);
	sim_free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_passive_keepalive, sim_teardown),
		cmocka_unit_test_teardown(test_answered_data_needs_no_keepalive, sim_teardown),
		cmocka_unit_test_teardown(test_one_way_traffic, sim_teardown),
		cmocka_unit_test_teardown(test_persistent_keepalive, sim_teardown),
		cmocka_unit_test_teardown(test_persistent_keepalive_outlives_silence, sim_teardown),
		cmocka_unit_test_teardown(test_persistent_keepalive_waits_for_endpoint,
					  sim_teardown),
		cmocka_unit_test_teardown(test_new_handshake_after_silence, sim_teardown),
		cmocka_unit_test_teardown(test_retry_and_give_up, sim_teardown),
		cmocka_unit_test_teardown(test_zero_keys, sim_teardown),
		cmocka_unit_test_teardown(test_staging_keeps_the_newest_128_in_order, sim_teardown),
		cmocka_unit_test_teardown(test_suspend, sim_teardown),
		cmocka_unit_test_teardown(test_down_and_up, sim_teardown),
		cmocka_unit_test_teardown(test_queued_handshake_while_down, sim_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
