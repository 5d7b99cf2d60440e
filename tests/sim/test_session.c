/* SPDX-License-Identifier: Apache-2.0 */
/* How sessions begin, are renewed and end. */
#include "sim.h"

#include "agent/lane/egress.h"

#define SECOND NSEC_PER_SEC

static uint64_t initiations(const struct sim *sim, unsigned node)
{
	return sim->node[node].sent.n[MESSAGE_INITIATION];
}

/* Node 0 has initiated a session with node 1, both idle. */
static struct sim *established(uint64_t seed, int family)
{
	struct sim *sim = sim_new(seed, 2);

	sim_connect(sim, 0, 1, family);
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, SECOND);
	assert_int_equal(sim->flow[0][1].delivered, 1);
	assert_non_null(sim_peer(sim, 0, 1)->slots.current);
	assert_non_null(sim_peer(sim, 1, 0)->slots.current);
	return sim;
}

/* The figures of the kernel's netns.sh: one handshake and ten default pings. */
static void test_byte_counters(void **state)
{
	const int families[] = {AF_INET, AF_INET6};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct sim *sim = sim_new(1, 2);
		const struct peer *a, *b;

		sim_connect(sim, 0, 1, families[i]);
		a = sim_peer(sim, 0, 1);
		b = sim_peer(sim, 1, 0);
		sim->node[1].echo = true;
		sim_traffic(sim, 0, 1, SIM_PING_LEN, SECOND, 10 * SECOND);
		sim_run(sim, 15 * SECOND);

		assert_int_equal(sim->flow[0][1].delivered, 10);
		assert_int_equal(sim->flow[1][0].delivered, 10);
		assert_int_equal(a->tx_bytes, 1428);
		assert_int_equal(b->rx_bytes, 1428);
		assert_int_equal(b->tx_bytes, 1372);
		assert_int_equal(a->rx_bytes, 1372);
		assert_int_not_equal(a->last_handshake.tv_sec, 0);
		assert_int_not_equal(b->last_handshake.tv_sec, 0);

		/* Then the initiator's passive keepalive for the last answer. */
		sim_run(sim, 60 * SECOND);
		assert_int_equal(a->tx_bytes, 1460);
		assert_int_equal(b->rx_bytes, 1460);
		assert_int_equal(b->tx_bytes, 1372);
		sim_free(sim);
	}
}

static void test_rekey_by_initiator_on_send(void **state)
{
	struct sim *sim = established(2, AF_INET);
	uint64_t birth_ns = sim_peer(sim, 0, 1)->slots.current->birth_ns;

	(void)state;
	/* The responder never asks for a new session before 180 s. */
	sim_run(sim, birth_ns + 119 * SECOND - sim->now_ns);
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, SECOND / 2);
	assert_int_equal(initiations(sim, 0), 1);

	sim_run(sim, birth_ns + 121 * SECOND - sim->now_ns);
	sim_send(sim, 1, 0, SIM_PING_LEN);
	sim_run(sim, SECOND);
	assert_int_equal(initiations(sim, 0) + initiations(sim, 1), 1);

	/* The packet still goes out under the session at hand. */
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_settle(sim);
	assert_int_equal(initiations(sim, 0), 2);
	sim_run(sim, SECOND);
	assert_int_equal(sim->flow[0][1].delivered, 3);
	assert_int_equal(sim->flow[1][0].delivered, 1);
	assert_true(sim_peer(sim, 0, 1)->slots.current->birth_ns > birth_ns);
	assert_int_equal(sim_peer(sim, 0, 1)->slots.previous->birth_ns, birth_ns);
	assert_int_equal(sim_drops(&sim->node[0]) + sim_drops(&sim->node[1]), 0);
	sim_free(sim);
}

static void test_last_minute_rekey_on_receive(void **state)
{
	struct sim *sim = established(3, AF_INET);
	uint64_t birth_ns = sim_peer(sim, 0, 1)->slots.current->birth_ns;

	(void)state;
	/* Only the responder sends; the initiator's keepalives must not trigger
	 * the rekey on send, so they fall before 120 s or after the test. */
	sim_run(sim, birth_ns + 164 * SECOND - sim->now_ns);
	sim_send(sim, 1, 0, SIM_PING_LEN);
	sim_run(sim, SECOND / 2);
	assert_int_equal(initiations(sim, 0), 1);
	sim_run(sim, birth_ns + 165 * SECOND - sim->now_ns);
	sim_send(sim, 1, 0, SIM_PING_LEN);
	sim_run(sim, SECOND / 2);
	assert_int_equal(initiations(sim, 0), 2);
	assert_int_equal(initiations(sim, 1), 0);
	assert_int_equal(sim->node[0].lane.self.stats.handshakes_done, 2);
	sim_free(sim);
}

/* Once per session, even when nobody answers it. */
static bool lose_handshakes(struct sim *sim, struct sim_datagram *d, uint64_t *delay_ns)
{
	(void)sim;
	(void)delay_ns;
	return message_classify(d->data, d->len) == MESSAGE_DATA;
}

static void test_last_minute_rekey_once(void **state)
{
	struct sim *sim = established(4, AF_INET);
	struct peer *peer = sim_peer(sim, 0, 1);

	(void)state;
	sim->filter = lose_handshakes;
	sim_run(sim, peer->slots.current->birth_ns + 165 * SECOND - sim->now_ns);
	sim_send(sim, 1, 0, SIM_PING_LEN);
	sim_run(sim, 6 * SECOND);
	assert_int_equal(initiations(sim, 0), 3);
	assert_int_equal(peer->timers.handshake_attempts, 1);

	/* Another one would begin a new series of attempts. */
	sim_send(sim, 1, 0, SIM_PING_LEN);
	sim_run(sim, SECOND);
	assert_int_equal(sim->flow[1][0].delivered, 2);
	assert_int_equal(peer->timers.handshake_attempts, 1);
	sim_free(sim);
}

static bool delay_by_argument(struct sim *sim, struct sim_datagram *d, uint64_t *delay_ns)
{
	if (message_classify(d->data, d->len) == MESSAGE_DATA)
		*delay_ns = sim->filter_arg;
	return true;
}

static void test_reject_at_180s(void **state)
{
	struct sim *sim = established(5, AF_INET);
	uint64_t birth_ns = sim_peer(sim, 1, 0)->slots.current->birth_ns;
	const uint64_t *drop = sim->node[1].lane.self.stats.drop;

	(void)state;
	/* Sent at 179.9 s, under way until just before and just after the end. */
	sim_run(sim, birth_ns + 1799 * SECOND / 10 - sim->now_ns);
	sim->filter = delay_by_argument;
	sim->filter_arg = birth_ns + 180 * SECOND - sim->now_ns - 1;
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_settle(sim);
	sim->filter_arg += 1;
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, SECOND);
	assert_true(sim_delivered(sim, 0, 1, 1));
	assert_false(sim_delivered(sim, 0, 1, 2));
	assert_int_equal(drop[DROP_KEY_EXPIRED], 1);
	sim_free(sim);
}

static void test_nothing_sent_after_180s(void **state)
{
	(void)state;
	for (unsigned sender = 0; sender < 2; sender++) {
		struct sim *sim = established(6, AF_INET);
		uint64_t birth_ns = sim_peer(sim, sender, !sender)->slots.current->birth_ns;
		uint64_t data;

		sim_run(sim, birth_ns + 180 * SECOND - sim->now_ns);
		data = sim->node[sender].sent.n[MESSAGE_DATA];
		sim_send(sim, sender, !sender, SIM_PING_LEN);
		sim_settle(sim);
		assert_int_equal(sim->node[sender].sent.n[MESSAGE_DATA], data);
		assert_int_equal(sim_peer(sim, sender, !sender)->n_staged, 1);
		assert_int_equal(initiations(sim, sender), sender ? 1 : 2);
		sim_run(sim, SECOND);
		assert_int_equal(sim->flow[sender][!sender].delivered,
				 sim->flow[sender][!sender].sent);
		sim_free(sim);
	}
}

/* Both sides begin at the same moment; each answers the other's initiation and so
 * gives up its own. */
static void test_crossed_initiations(void **state)
{
	const uint64_t delays_ms[] = {1, 20, 150, 300, 900};

	(void)state;
	for (uint64_t seed = 0; seed < 50; seed++) {
		struct sim *sim = sim_new(100 + seed, 2);
		const struct sim_link link = {.delay_ns = delays_ms[seed % 5] * NSEC_PER_MSEC};
		uint64_t before;

		sim_wire_link_all(sim, &link);
		sim_connect(sim, 0, 1, AF_INET);
		sim_send(sim, 0, 1, SIM_PING_LEN);
		sim_send(sim, 1, 0, SIM_PING_LEN);
		/* There and back, and what waited goes: nobody has to try again. */
		sim_run(sim, 3 * link.delay_ns);
		assert_int_equal(sim->flow[0][1].delivered, 1);
		assert_int_equal(sim->flow[1][0].delivered, 1);

		/* From then on it is an ordinary session. */
		before = initiations(sim, 0) + initiations(sim, 1);
		sim_traffic(sim, 0, 1, SIM_PING_LEN, SECOND / 10, 300 * SECOND);
		sim_traffic(sim, 1, 0, SIM_PING_LEN, SECOND / 10, 300 * SECOND);
		sim_run(sim, 302 * SECOND);
		assert_int_equal(sim->flow[0][1].delivered, 3001);
		assert_int_equal(sim->flow[1][0].delivered, 3001);
		assert_in_range(initiations(sim, 0) + initiations(sim, 1) - before, 2, 4);
		sim_free(sim);
	}
}

static bool lose_data_of_0(struct sim *sim, struct sim_datagram *d, uint64_t *delay_ns)
{
	(void)sim;
	(void)delay_ns;
	return d->from != 0 || message_classify(d->data, d->len) != MESSAGE_DATA;
}

static void test_responder_waits_for_confirmation(void **state)
{
	struct sim *sim = sim_new(7, 2);
	const struct peer *peer;

	(void)state;
	sim_connect(sim, 0, 1, AF_INET);
	peer = sim_peer(sim, 1, 0);
	sim->filter = lose_data_of_0;
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, SECOND);
	assert_non_null(peer->slots.next);
	assert_null(peer->slots.current);
	assert_int_equal(peer->last_handshake.tv_sec, 0);

	sim_send(sim, 1, 0, SIM_PING_LEN);
	sim_run(sim, SECOND);
	assert_int_equal(sim->node[1].sent.n[MESSAGE_DATA], 0);
	assert_int_equal(peer->n_staged, 1);

	sim->filter = NULL;
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, SECOND);
	assert_null(peer->slots.next);
	assert_non_null(peer->slots.current);
	assert_int_not_equal(peer->last_handshake.tv_sec, 0);
	assert_int_equal(sim->flow[1][0].delivered, 1);
	assert_int_equal(initiations(sim, 1), 0);
	sim_free(sim);
}

/* While a rekey is under way and the confirmation lost, the responder goes on
 * sending under the old session, and the initiator takes that. */
static void test_responder_keeps_current_during_rekey(void **state)
{
	struct sim *sim = established(8, AF_INET);
	const struct keypair *old = sim_peer(sim, 1, 0)->slots.current;

	(void)state;
	sim_run(sim, 121 * SECOND);
	sim->filter = lose_data_of_0;
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, SECOND);
	assert_non_null(sim_peer(sim, 1, 0)->slots.next);
	assert_ptr_equal(sim_peer(sim, 1, 0)->slots.current, old);
	sim_send(sim, 1, 0, SIM_PING_LEN);
	sim_run(sim, SECOND);
	assert_int_equal(sim->flow[1][0].delivered, 1);
	sim_free(sim);
}

static void test_previous_accepts_what_is_in_flight(void **state)
{
	struct sim *sim = established(9, AF_INET);

	(void)state;
	sim_run(sim, 121 * SECOND);
	sim->filter = delay_by_argument;
	sim->filter_arg = 5 * SECOND;
	sim_send(sim, 0, 1, SIM_PING_LEN); /* also asks for the new session */
	sim_send(sim, 1, 0, SIM_PING_LEN);
	sim_settle(sim);
	sim->filter = NULL;
	sim_run(sim, 2 * SECOND);
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, SECOND);
	assert_int_equal(sim->node[1].lane.self.stats.handshakes_done, 2);
	assert_true(sim_delivered(sim, 0, 1, 2));
	assert_false(sim_delivered(sim, 0, 1, 1));

	sim_run(sim, 3 * SECOND);
	assert_true(sim_delivered(sim, 0, 1, 1));
	assert_true(sim_delivered(sim, 1, 0, 0));
	assert_int_equal(sim_drops(&sim->node[0]) + sim_drops(&sim->node[1]), 0);
	sim_free(sim);
}

static bool delay_responses(struct sim *sim, struct sim_datagram *d, uint64_t *delay_ns)
{
	(void)sim;
	if (message_classify(d->data, d->len) == MESSAGE_RESPONSE)
		*delay_ns = 4900 * NSEC_PER_MSEC;
	return true;
}

/* A response is good until the next initiation. */
static void test_late_response(void **state)
{
	struct sim *sim = sim_new(10, 2);

	(void)state;
	sim_connect(sim, 0, 1, AF_INET);
	sim->filter = delay_responses;
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, 5 * SECOND);
	assert_int_equal(initiations(sim, 0), 1);
	assert_int_equal(sim->flow[0][1].delivered, 1);
	sim_free(sim);
}

/* A session whose numbers run out is renewed, and nothing is lost over it. */
static void test_message_limits(void **state)
{
	struct sim *sim = established(11, AF_INET);

	(void)state;
	sim_run(sim, 10 * SECOND);
	sim_peer(sim, 1, 0)->slots.current->send_counter = REKEY_AFTER_MESSAGES;
	sim_send(sim, 1, 0, SIM_PING_LEN);
	sim_run(sim, SECOND);
	assert_int_equal(initiations(sim, 1), 1);
	assert_int_equal(sim->flow[1][0].delivered, 1);

	/* A train that does not fit into what is left of the numbers waits. */
	sim_run(sim, 10 * SECOND);
	sim_peer(sim, 1, 0)->slots.current->send_counter = REJECT_AFTER_MESSAGES - 3;
	for (unsigned i = 0; i < 10; i++)
		sim_send(sim, 1, 0, SIM_PING_LEN);
	sim_run(sim, SECOND);
	assert_int_equal(initiations(sim, 1), 2);
	assert_int_equal(sim->flow[1][0].delivered, 11);
	sim_free(sim);
}

/* The same, but the packets were waiting when the session came. */
static void test_message_limit_while_staged(void **state)
{
	struct sim *sim = established(12, AF_INET);
	struct peer *peer = sim_peer(sim, 0, 1);
	uint8_t packet[SIM_PING_LEN];
	struct super waiting = {.in = {.ip = packet, .len = sizeof(packet)}};

	(void)state;
	sim_run(sim, 10 * SECOND);
	peer->slots.current->send_counter = REJECT_AFTER_MESSAGES - 3;
	sim_build(packet, 4, 1, 2, 0, sizeof(packet));
	assert_true(ip_parse(packet, sizeof(packet), &waiting.view));
	for (unsigned i = 0; i < 10; i++)
		peer_stage(&sim->node[0].lane, peer, &waiting);
	egress_send_staged(&sim->node[0].lane, peer);
	sim_run(sim, SECOND);
	assert_int_equal(initiations(sim, 0), 2);
	assert_int_equal(sim->node[1].others, 10);
	sim_free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_byte_counters, sim_teardown),
		cmocka_unit_test_teardown(test_rekey_by_initiator_on_send, sim_teardown),
		cmocka_unit_test_teardown(test_last_minute_rekey_on_receive, sim_teardown),
		cmocka_unit_test_teardown(test_last_minute_rekey_once, sim_teardown),
		cmocka_unit_test_teardown(test_reject_at_180s, sim_teardown),
		cmocka_unit_test_teardown(test_nothing_sent_after_180s, sim_teardown),
		cmocka_unit_test_teardown(test_crossed_initiations, sim_teardown),
		cmocka_unit_test_teardown(test_responder_waits_for_confirmation, sim_teardown),
		cmocka_unit_test_teardown(test_responder_keeps_current_during_rekey, sim_teardown),
		cmocka_unit_test_teardown(test_previous_accepts_what_is_in_flight, sim_teardown),
		cmocka_unit_test_teardown(test_late_response, sim_teardown),
		cmocka_unit_test_teardown(test_message_limits, sim_teardown),
		cmocka_unit_test_teardown(test_message_limit_while_staged, sim_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
