/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams from people who hold no key: replayed, changed, cut short, made up. */
#include "sim.h"

#include <stdio.h>
#include <string.h>

#include "crypto/le.h"

#define SECOND NSEC_PER_SEC

/* Everything that unauthenticated input must not change. */
struct snapshot {
	struct keypair_slots slots;
	struct timers timers;
	struct endpoint endpoint;
	struct cookie_maker cookie;
	struct noise_handshake handshake;
	struct timespec last_handshake;
	uint64_t rx_bytes, tx_bytes;
	size_t n_indices, n_deadlines;
	unsigned n_peers, n_staged;
	uint64_t datagrams_out, delivered;
};

static struct snapshot take_snapshot(struct sim *sim, unsigned node)
{
	const struct lane *lane = &sim->node[node].lane;
	const struct peer *peer = sim_peer(sim, node, !node);
	struct snapshot s;

	memset(&s, 0, sizeof(s));
	s.slots = peer->slots;
	s.timers = peer->timers;
	memcpy(&s.endpoint, peer->endpoint.word, sizeof(s.endpoint));
	s.cookie = peer->cookie;
	s.handshake = peer->handshake;
	s.last_handshake = peer->last_handshake;
	s.rx_bytes = peer->rx_bytes;
	s.tx_bytes = peer->tx_bytes;
	s.n_indices = lane->index.n_used;
	s.n_deadlines = lane->deadlines.n;
	s.n_peers = lane->n_peers;
	s.n_staged = peer->n_staged;
	s.datagrams_out = lane->self.stats.udp_datagrams_out;
	s.delivered = sim->node[node].delivered;
	return s;
}

static void assert_unchanged(struct sim *sim, unsigned node, const struct snapshot *before)
{
	struct snapshot now = take_snapshot(sim, node);

	assert_memory_equal(&now.slots, &before->slots, sizeof(now.slots));
	assert_memory_equal(&now.timers, &before->timers, sizeof(now.timers));
	assert_memory_equal(&now.endpoint, &before->endpoint, sizeof(now.endpoint));
	assert_memory_equal(&now.cookie, &before->cookie, sizeof(now.cookie));
	assert_memory_equal(&now.handshake, &before->handshake, sizeof(now.handshake));
	assert_int_equal(now.last_handshake.tv_nsec, before->last_handshake.tv_nsec);
	assert_int_equal(now.rx_bytes, before->rx_bytes);
	assert_int_equal(now.tx_bytes, before->tx_bytes);
	assert_int_equal(now.n_indices, before->n_indices);
	assert_int_equal(now.n_deadlines, before->n_deadlines);
	assert_int_equal(now.n_peers, before->n_peers);
	assert_int_equal(now.n_staged, before->n_staged);
	assert_int_equal(now.datagrams_out, before->datagrams_out);
	assert_int_equal(now.delivered, before->delivered);
}

/* Two nodes that have talked for @seconds, overheard, and are at rest. */
static struct sim *overheard(uint64_t seed, uint64_t seconds)
{
	struct sim *sim = sim_new(seed, 2);

	sim->eavesdrop = true;
	sim_connect(sim, 0, 1, AF_INET);
	sim_traffic(sim, 0, 1, SIM_PING_LEN, SECOND, seconds * SECOND);
	sim_traffic(sim, 1, 0, 1300, 2 * SECOND, seconds * SECOND);
	sim_run(sim, (seconds + 30) * SECOND);
	sim->eavesdrop = false;
	return sim;
}

static void inject_and_expect_drops(struct sim *sim, unsigned to, const void *data, size_t len,
				    uint64_t drops)
{
	const struct endpoint stranger = sim_endpoint(AF_INET, 200, 4444);
	struct snapshot before = take_snapshot(sim, to);
	uint64_t dropped = sim_drops(&sim->node[to]);

	sim_inject(sim, to, &stranger, data, len);
	sim_settle(sim);
	assert_unchanged(sim, to, &before);
	assert_int_equal(sim_drops(&sim->node[to]) - dropped, drops);
}

static void check_alive(struct sim *sim)
{
	uint64_t there = sim->flow[0][1].delivered, back = sim->flow[1][0].delivered;

	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_send(sim, 1, 0, SIM_PING_LEN);
	sim_run(sim, 7 * SECOND);
	assert_int_equal(sim->flow[0][1].delivered, there + 1);
	assert_int_equal(sim->flow[1][0].delivered, back + 1);
}

/* Everything ever sent, to the right one and to the other one. */
static void test_replay_of_everything(void **state)
{
	struct sim *sim = overheard(1, 400);

	(void)state;
	assert_true(sim->n_records > 600);
	for (size_t i = 0; i < sim->n_records; i++) {
		const struct sim_datagram *d = sim->record[i];

		inject_and_expect_drops(sim, !d->from, d->data, d->len, 1);
		inject_and_expect_drops(sim, d->from, d->data, d->len, 1);
	}
	assert_int_equal(sim->node[1].lane.self.stats.drop[DROP_OLD_TIMESTAMP],
			 sim->node[0].sent.n[MESSAGE_INITIATION]);
	assert_true(sim->node[1].lane.self.stats.drop[DROP_REPLAY] > 20);
	assert_true(sim->node[1].lane.self.stats.drop[DROP_UNKNOWN_INDEX] > 100);
	check_alive(sim);
	sim_free(sim);
}

/* The replays come while the session is still in use, too. */
static bool answer_with_replay(struct sim *sim, struct sim_datagram *d, uint64_t *delay_ns)
{
	(void)delay_ns;
	for (unsigned i = 0; i < 3; i++) {
		const struct sim_datagram *old = sim->record[sim_random(sim) % sim->n_records];

		sim_inject(sim, !old->from, &old->src, old->data, old->len);
	}
	return d->from < SIM_STRANGER;
}

static void test_replays_among_traffic(void **state)
{
	struct sim *sim = sim_new(2, 2);

	(void)state;
	sim->eavesdrop = true;
	sim->filter = answer_with_replay;
	sim_connect(sim, 0, 1, AF_INET);
	sim_traffic(sim, 0, 1, SIM_PING_LEN, SECOND / 2, 600 * SECOND);
	sim_run(sim, SECOND);
	sim_traffic(sim, 1, 0, SIM_PING_LEN, SECOND / 2, 600 * SECOND);
	sim_run(sim, 620 * SECOND);
	for (unsigned from = 0; from < 2; from++) {
		assert_int_equal(sim->flow[from][!from].delivered, 1200);
		assert_int_equal(sim->flow[from][!from].duplicates, 0);
		assert_int_equal(sim->node[from].others, 0);
	}
	sim_free(sim);
}

/* One bit of every byte of each kind of message, and then the genuine one: it
 * still counts, for the forgeries have left no trace. */
static bool hold_all(struct sim *sim, struct sim_datagram *d, uint64_t *delay_ns)
{
	(void)sim;
	(void)d;
	(void)delay_ns;
	return false;
}

static void corrupt_then_deliver(struct sim *sim, enum message_type type, unsigned from,
				 unsigned intact)
{
	const struct sim_datagram *d;
	uint8_t buf[256];

	sim_settle(sim);
	d = sim_recorded(sim, from, type);
	assert_true(d->len <= sizeof(buf));
	/* mac2 counts only under load. */
	for (size_t i = 0; i < d->len - intact; i++) {
		memcpy(buf, d->data, d->len);
		buf[i] ^= (uint8_t)(1 << sim_random(sim) % 8);
		inject_and_expect_drops(sim, !from, buf, d->len, 1);
		if (i)
			inject_and_expect_drops(sim, !from, d->data, i, 1);
	}
	sim_inject(sim, !from, &d->src, d->data, d->len);
	sim_settle(sim);
}

static void test_corrupted_messages(void **state)
{
	struct sim *sim = sim_new(3, 2);

	(void)state;
	sim_connect(sim, 0, 1, AF_INET);
	sim->eavesdrop = true;
	sim->filter = hold_all;
	sim_send(sim, 0, 1, SIM_PING_LEN);
	corrupt_then_deliver(sim, MESSAGE_INITIATION, 0, WG_MAC_LEN);
	assert_non_null(sim_peer(sim, 1, 0)->slots.next);
	corrupt_then_deliver(sim, MESSAGE_RESPONSE, 1, WG_MAC_LEN);
	assert_non_null(sim_peer(sim, 0, 1)->slots.current);
	corrupt_then_deliver(sim, MESSAGE_DATA, 0, 0);
	assert_int_equal(sim->flow[0][1].delivered, 1);
	assert_true(sim->node[1].lane.self.stats.drop[DROP_BAD_MAC1] > 100);
	assert_true(sim->node[0].lane.self.stats.drop[DROP_BAD_MAC1] > 60);
	assert_true(sim->node[1].lane.self.stats.drop[DROP_AUTH] > 90);
	sim_free(sim);
}

/* Made-up messages of every type and length, some for indices that exist. */
static void test_random_datagrams(void **state)
{
	struct sim *sim = overheard(4, 10);
	uint8_t buf[2048];

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		const unsigned to = i & 1;
		size_t len = sim_random(sim) % 4 ? sim_random(sim) % 200
						 : sim_random(sim) % sizeof(buf);
		const size_t exact[] = {len, 148, 92, 64, len};
		unsigned type = (unsigned)(sim_random(sim) % 6);

		for (size_t j = 0; j < sizeof(buf); j++)
			buf[j] = (uint8_t)sim_random(sim);
		if (type < 5)
			le32_store(buf, type);
		if (type < 5 && sim_chance(sim, 500))
			len = exact[type];
		if (sim_chance(sim, 500))
			le32_store(buf + 4, sim_peer(sim, to, !to)->slots.current->local_index);
		inject_and_expect_drops(sim, to, buf, len, 1);
	}
	assert_true(sim->node[0].lane.self.stats.drop[DROP_BAD_MESSAGE] > 1000);
	assert_true(sim->node[0].lane.self.stats.drop[DROP_BAD_MAC1] > 100);
	assert_true(sim->node[0].lane.self.stats.drop[DROP_BAD_COOKIE] > 10);
	assert_true(sim->node[0].lane.self.stats.drop[DROP_UNKNOWN_INDEX] > 100);
	assert_true(sim->node[0].lane.self.stats.drop[DROP_AUTH] > 100);
	check_alive(sim);
	sim_free(sim);
}

/* A correct mac1 takes no more than knowing the public key. */
static void test_forged_initiations(void **state)
{
	struct sim *sim = overheard(5, 10);
	struct message_initiation msg;

	(void)state;
	for (unsigned i = 0; i < 500; i++) {
		sim_forge_initiation(sim, 1, &msg);
		inject_and_expect_drops(sim, 1, &msg, sizeof(msg), 1);
	}
	assert_int_equal(sim->node[1].lane.self.stats.drop[DROP_BAD_HANDSHAKE], 500);
	assert_int_equal(sim->node[1].lane.self.stats.cookies_sent, 0);
	check_alive(sim);
	sim_free(sim);
}

/* A zero Diffie-Hellman result would be a key that everybody knows. */
static void test_low_order_ephemeral(void **state)
{
	struct sim *sim = overheard(6, 10);
	struct cookie_maker maker;

	(void)state;
	cookie_maker_init(&maker, sim->node[1].public_key);
	for (uint8_t point = 0; point < 2; point++) {
		struct message_initiation msg;

		sim_forge_initiation(sim, 1, &msg);
		memset(msg.unencrypted_ephemeral, 0, WG_KEY_LEN);
		msg.unencrypted_ephemeral[0] = point;
		cookie_add_macs(&maker, sim->now_ns, (uint8_t *)&msg, sizeof(msg));
		inject_and_expect_drops(sim, 1, &msg, sizeof(msg), 1);
	}
	assert_int_equal(sim->node[1].lane.self.stats.drop[DROP_BAD_HANDSHAKE], 2);
	sim_free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_replay_of_everything, sim_teardown),
		cmocka_unit_test_teardown(test_replays_among_traffic, sim_teardown),
		cmocka_unit_test_teardown(test_corrupted_messages, sim_teardown),
		cmocka_unit_test_teardown(test_random_datagrams, sim_teardown),
		cmocka_unit_test_teardown(test_forged_initiations, sim_teardown),
		cmocka_unit_test_teardown(test_low_order_ephemeral, sim_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
