/* SPDX-License-Identifier: Apache-2.0 */
/* Peers change their addresses; only what authenticates is believed. */
#include "sim.h"

#include <string.h>

#define SECOND NSEC_PER_SEC

static struct sim *established(uint64_t seed)
{
	struct sim *sim = sim_new(seed, 2);

	sim->eavesdrop = true;
	sim_connect(sim, 0, 1, AF_INET);
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, 30 * SECOND);
	assert_int_equal(sim->flow[0][1].delivered, 1);
	return sim;
}

static void assert_reached_at(struct sim *sim, unsigned a, unsigned b, int family)
{
	const struct endpoint at = peer_endpoint(sim_peer(sim, a, b));

	assert_true(endpoint_same_dst(&at, &sim->node[b].addr[family == AF_INET6]));
}

/* To another port, another address, another family and back; each side in turn. */
static void test_roaming_by_data(void **state)
{
	const struct endpoint places[] = {
		sim_endpoint(AF_INET, 50, 1024),
		sim_endpoint(AF_INET, 50, 1025),
		sim_endpoint(AF_INET, 51, 1025),
	};

	(void)state;
	for (unsigned mover = 0; mover < 2; mover++) {
		const unsigned other = !mover;
		struct sim *sim = established(1);

		for (unsigned i = 0; i < 3; i++) {
			sim->node[mover].addr[0] = places[i];
			sim_send(sim, mover, other, SIM_PING_LEN);
			sim_run(sim, SECOND);
			assert_reached_at(sim, other, mover, AF_INET);
			sim_send(sim, other, mover, SIM_PING_LEN);
			sim_run(sim, SECOND);
			assert_int_equal(sim->flow[other][mover].delivered,
					 sim->flow[other][mover].sent);
		}

		/* The mover finds a way over IPv6 and the other follows. */
		peer_set_endpoint(sim_peer(sim, mover, other), &sim->node[other].addr[1]);
		sim_send(sim, mover, other, SIM_PING_LEN);
		sim_run(sim, SECOND);
		assert_reached_at(sim, other, mover, AF_INET6);
		sim_send(sim, other, mover, SIM_PING_LEN);
		sim_run(sim, SECOND);
		assert_int_equal(sim->flow[other][mover].delivered, sim->flow[other][mover].sent);
		assert_int_equal(sim->node[0].lane.self.stats.handshakes_done, 1);
		sim_free(sim);
	}
}

static void test_roaming_by_keepalive(void **state)
{
	struct sim *sim = established(2);

	(void)state;
	sim->node[0].addr[0] = sim_endpoint(AF_INET, 60, 777);
	lane_refresh_clock(&sim->node[0].lane);
	peer_set_keepalive(&sim->node[0].lane, sim_peer(sim, 0, 1), 25);
	sim_run(sim, SECOND);
	assert_reached_at(sim, 1, 0, AF_INET);
	sim_free(sim);
}

/* A server learns the client's address from its first handshake. */
static void test_endpoint_from_initiation(void **state)
{
	struct sim *sim = sim_new(3, 2);
	struct peer *peer;

	(void)state;
	sim_introduce(sim, 0, 1, AF_INET6);
	peer = sim_introduce(sim, 1, 0, AF_UNSPEC);
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, SECOND);
	assert_reached_at(sim, 1, 0, AF_INET6);
	assert_true(peer_endpoint(peer).has_source);
	sim_send(sim, 1, 0, SIM_PING_LEN);
	sim_run(sim, SECOND);
	assert_int_equal(sim->flow[1][0].delivered, 1);
	sim_free(sim);
}

/* What is sent to the old address is lost until the mover itself speaks. */
static void test_one_side_moves_during_silence(void **state)
{
	struct sim *sim = established(4);

	(void)state;
	sim->node[1].addr[0] = sim_endpoint(AF_INET, 61, 888);
	sim_send(sim, 0, 1, SIM_PING_LEN); /* lost: nobody lives there now */
	sim_run(sim, 2 * SECOND);
	assert_int_equal(sim->flow[0][1].delivered, 1);
	sim_send(sim, 1, 0, SIM_PING_LEN);
	sim_run(sim, SECOND);
	assert_reached_at(sim, 0, 1, AF_INET);
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, SECOND);
	assert_true(sim_delivered(sim, 0, 1, 2));
	sim_free(sim);
}

static void inject_everything(struct sim *sim, const struct endpoint *src, bool change)
{
	const size_t n = sim->n_records;
	uint8_t buf[SIM_PACKET_MAX];

	for (size_t i = 0; i < n; i++) {
		const struct sim_datagram *d = sim->record[i];

		memcpy(buf, d->data, d->len);
		/* Inside the first 32 bytes of what is authenticated. */
		buf[d->len > 60 ? 50 : d->len - 1] ^= change;
		sim_inject(sim, !d->from, src, buf, d->len);
		sim_settle(sim);
	}
}

static void test_spoofed_source_does_not_roam(void **state)
{
	const struct endpoint stranger = sim_endpoint(AF_INET, 66, 6666);
	struct sim *sim = established(5);

	(void)state;
	inject_everything(sim, &stranger, true);
	assert_reached_at(sim, 0, 1, AF_INET);
	assert_reached_at(sim, 1, 0, AF_INET);
	inject_everything(sim, &stranger, false);
	assert_reached_at(sim, 0, 1, AF_INET);
	assert_reached_at(sim, 1, 0, AF_INET);
	assert_int_equal(sim->node[0].others + sim->node[1].others, 0);
	sim_free(sim);
}

/* An eavesdropper who is faster than the wire can move the endpoint with genuine
 * packets, as paper 2.1 says; the next packet of the peer moves it back. */
static bool lose_all_of_0(struct sim *sim, struct sim_datagram *d, uint64_t *delay_ns)
{
	(void)sim;
	(void)delay_ns;
	return d->from != 0;
}

static void test_man_on_the_side(void **state)
{
	const struct endpoint stranger = sim_endpoint(AF_INET, 66, 6666);
	struct sim *sim = established(6);
	const struct sim_datagram *d;
	struct endpoint at;

	(void)state;
	sim->filter = lose_all_of_0;
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_settle(sim);
	d = sim_recorded(sim, 0, MESSAGE_DATA);
	sim_inject(sim, 1, &stranger, d->data, d->len);
	sim_settle(sim);
	assert_true(sim_delivered(sim, 0, 1, 1));
	at = peer_endpoint(sim_peer(sim, 1, 0));
	assert_true(endpoint_same_dst(&at, &stranger));
	sim->filter = NULL;
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, SECOND);
	assert_reached_at(sim, 1, 0, AF_INET);
	sim_free(sim);
}

/* The source address we answered from is gone: forgotten, and traffic goes on. */
static void test_source_address_vanishes(void **state)
{
	struct sim *sim = established(7);
	struct peer *peer = sim_peer(sim, 1, 0);

	(void)state;
	assert_true(peer_endpoint(peer).has_source);
	sim->node[1].addr[0] = sim_endpoint(AF_INET, 52, 5252);
	sim_send(sim, 1, 0, SIM_PING_LEN);
	sim_settle(sim);
	assert_false(peer_endpoint(peer).has_source);
	sim_run(sim, SECOND);
	assert_int_equal(sim->flow[1][0].delivered, 1);
	assert_reached_at(sim, 0, 1, AF_INET);
	sim_free(sim);
}

/* A retry of the handshake forgets the source, for it may be the reason. */
static void test_retry_forgets_source(void **state)
{
	struct sim *sim = established(8);
	struct peer *peer = sim_peer(sim, 1, 0);

	(void)state;
	sim->link[1][0].drop = 1000;
	sim_send(sim, 1, 0, SIM_PING_LEN);
	sim_run(sim, 14 * SECOND);
	assert_true(peer_endpoint(peer).has_source);
	sim_run(sim, 2 * SECOND);
	assert_int_equal(sim->node[1].sent.n[MESSAGE_INITIATION], 1);
	assert_false(peer_endpoint(peer).has_source);
	sim_free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_roaming_by_data, sim_teardown),
		cmocka_unit_test_teardown(test_roaming_by_keepalive, sim_teardown),
		cmocka_unit_test_teardown(test_endpoint_from_initiation, sim_teardown),
		cmocka_unit_test_teardown(test_one_side_moves_during_silence, sim_teardown),
		cmocka_unit_test_teardown(test_spoofed_source_does_not_roam, sim_teardown),
		cmocka_unit_test_teardown(test_man_on_the_side, sim_teardown),
		cmocka_unit_test_teardown(test_source_address_vanishes, sim_teardown),
		cmocka_unit_test_teardown(test_retry_forgets_source, sim_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
