/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration that changes while the lane is in use; and clocks that are off. */
#include "sim.h"

#include <sodium.h>
#include <string.h>

#define SECOND NSEC_PER_SEC

static const uint64_t *drops(const struct sim *sim, unsigned node)
{
	return sim->node[node].lane.self.stats.drop;
}

static void ping(struct sim *sim, unsigned from, unsigned to)
{
	sim_send(sim, from, to, SIM_PING_LEN);
	sim_run(sim, SECOND);
}

static bool last_arrived(const struct sim *sim, unsigned from, unsigned to)
{
	return sim_delivered(sim, from, to, sim->flow[from][to].sent - 1);
}

static struct sim *established(uint64_t seed)
{
	struct sim *sim = sim_new(seed, 2);

	sim->eavesdrop = true;
	sim_connect(sim, 0, 1, AF_INET);
	ping(sim, 0, 1);
	sim_run(sim, 20 * SECOND);
	assert_true(last_arrived(sim, 0, 1));
	return sim;
}

static void allow(struct sim *sim, unsigned node, struct peer *peer, uint8_t host)
{
	const uint8_t addr[4] = {10, 0, 0, host};

	assert_int_equal(
		allowedips_insert(&sim->node[node].lane.allowed, addr, 4, 32, &peer->allowed), 0);
}

static void test_psk_counts_from_the_next_handshake(void **state)
{
	const uint8_t psk[WG_KEY_LEN] = {1, 2, 3};
	struct sim *sim = established(1);

	(void)state;
	peer_set_preshared_key(sim_peer(sim, 0, 1), psk);
	ping(sim, 0, 1);
	assert_true(last_arrived(sim, 0, 1)); /* the session goes on */

	/* One side alone: no further session. */
	sim_run(sim, 200 * SECOND);
	ping(sim, 0, 1);
	assert_false(last_arrived(sim, 0, 1));
	assert_true(drops(sim, 0)[DROP_BAD_HANDSHAKE] >= 1);

	peer_set_preshared_key(sim_peer(sim, 1, 0), psk);
	sim_run(sim, 6 * SECOND);
	assert_true(last_arrived(sim, 0, 1));
	assert_int_equal(drops(sim, 0)[DROP_BAD_HANDSHAKE], 1);
	sim_free(sim);
}

static void test_private_key_changes(void **state)
{
	struct sim *sim = established(2);
	struct sim_node *node = &sim->node[0];
	uint64_t delivered;

	(void)state;
	/* Before the other side knows the new key: no session, no delivery... */
	node->private_key[5] ^= 1;
	crypto_scalarmult_base(node->public_key, node->private_key);
	peer_remove(&sim->node[1].lane, TAILQ_FIRST(&sim->node[1].lane.peers));
	lane_refresh_clock(&node->lane);
	lane_set_private_key(&node->lane, node->private_key);
	delivered = sim->flow[0][1].delivered;
	ping(sim, 0, 1);
	assert_int_equal(sim->flow[0][1].delivered, delivered);
	assert_int_equal(drops(sim, 1)[DROP_UNKNOWN_PEER], 1);

	/* ... and with the retry after it does, the packet that waited. */
	sim_introduce(sim, 1, 0, AF_INET);
	sim_run(sim, 5 * SECOND);
	assert_int_equal(sim->flow[0][1].delivered, delivered + 1);
	ping(sim, 1, 0);
	assert_true(last_arrived(sim, 1, 0));
	sim_free(sim);
}

/* Known beforehand, the change costs one handshake and no packet. */
static void test_private_key_changes_at_once(void **state)
{
	struct sim *sim = established(3);
	struct sim_node *node = &sim->node[0];

	(void)state;
	node->private_key[5] ^= 1;
	crypto_scalarmult_base(node->public_key, node->private_key);
	sim_introduce(sim, 1, 0, AF_INET); /* takes the allowed-ips, too */
	sim_traffic(sim, 0, 1, SIM_PING_LEN, SECOND / 10, 10 * SECOND);
	sim_run(sim, SECOND / 20);
	lane_set_private_key(&node->lane, node->private_key);
	sim_run(sim, 10 * SECOND);
	/* But for the first one: it came from an address no longer its key's. */
	assert_int_equal(sim->flow[0][1].sent - sim->flow[0][1].delivered, 1);
	assert_int_equal(drops(sim, 1)[DROP_SPOOFED], 1);
	assert_int_equal(node->sent.n[MESSAGE_INITIATION], 2);
	sim_free(sim);
}

/* Nor does the last handshake's being recent hold up the new one. */
static void test_private_key_changes_after_handshake(void **state)
{
	struct sim *sim = sim_new(14, 2);
	struct sim_node *node = &sim->node[0];

	(void)state;
	sim_connect(sim, 0, 1, AF_INET);
	ping(sim, 0, 1);
	node->private_key[5] ^= 1;
	crypto_scalarmult_base(node->public_key, node->private_key);
	sim_introduce(sim, 1, 0, AF_INET);
	lane_refresh_clock(&node->lane);
	lane_set_private_key(&node->lane, node->private_key);
	ping(sim, 0, 1);
	assert_true(last_arrived(sim, 0, 1));
	sim_free(sim);
}

static void test_no_identity(void **state)
{
	struct sim *sim = established(4);
	struct lane *lane = &sim->node[0].lane;
	uint64_t begun;

	(void)state;
	lane_set_private_key(lane, (const uint8_t[WG_KEY_LEN]){0});
	begun = sim->node[0].sent.n[MESSAGE_INITIATION];
	ping(sim, 0, 1);
	assert_false(last_arrived(sim, 0, 1));
	assert_int_equal(sim->node[0].sent.n[MESSAGE_INITIATION], begun);
	lane_set_private_key(lane, sim->node[0].private_key);
	ping(sim, 0, 1);
	assert_true(last_arrived(sim, 0, 1));
	sim_free(sim);
}

/* A peer cannot be ourselves. */
static void test_own_key_removes_peer(void **state)
{
	struct sim *sim = established(5);

	(void)state;
	lane_set_private_key(&sim->node[0].lane, sim->node[1].private_key);
	assert_int_equal(sim->node[0].lane.n_peers, 0);
	assert_int_equal(sim->node[0].lane.index.n_used, 0);
	assert_int_equal(lane_next_deadline(&sim->node[0].lane), UINT64_MAX);
	sim_run(sim, SECOND);
	sim_free(sim);
}

static void test_peer_removed_and_added(void **state)
{
	struct sim *sim = established(6);
	struct lane *lane = &sim->node[1].lane;
	const struct sim_datagram *first = sim_recorded(sim, 0, MESSAGE_INITIATION);

	(void)state;
	/* Removed while traffic is on its way, and while one of its own waits. */
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_settle(sim);
	peer_remove(lane, sim_peer(sim, 1, 0));
	assert_int_equal(lane->index.n_used, 0);
	assert_int_equal(lane_next_deadline(lane), UINT64_MAX);
	sim_run(sim, SECOND);
	assert_false(last_arrived(sim, 0, 1));
	assert_int_equal(drops(sim, 1)[DROP_UNKNOWN_INDEX], 1);

	/* The memory of time stamps went with it: even the first initiation of
	 * all is answered. But a session comes of it only with its sender. */
	sim_introduce(sim, 1, 0, AF_INET);
	sim_inject(sim, 1, &first->src, first->data, first->len);
	sim_settle(sim);
	assert_int_equal(sim->node[1].sent.n[MESSAGE_RESPONSE], 2);
	sim_run(sim, SECOND);
	assert_int_equal(drops(sim, 0)[DROP_UNKNOWN_INDEX], 1);
	assert_null(sim_peer(sim, 1, 0)->slots.current);

	/* The other side finds out within 15 s of silence. */
	sim_run(sim, 20 * SECOND);
	ping(sim, 0, 1);
	assert_true(last_arrived(sim, 0, 1));
	sim_free(sim);
}

static void test_remove_all_in_the_middle(void **state)
{
	struct sim *sim = sim_new(7, 3);

	(void)state;
	sim_connect(sim, 0, 1, AF_INET);
	sim_connect(sim, 0, 2, AF_INET);
	for (unsigned i = 0; i < 20; i++) {
		sim_traffic(sim, 0, 1, SIM_PING_LEN, SECOND / 100, SECOND);
		sim_traffic(sim, 2, 0, SIM_PING_LEN, SECOND / 100, SECOND);
		sim_run(sim, sim_random(sim) % SECOND);
		lane_remove_all_peers(&sim->node[0].lane);
		assert_int_equal(sim->node[0].lane.index.n_used, 0);
		assert_null(sim->node[0].lane.allowed.root4);
		sim_run(sim, sim_random(sim) % SECOND);
		sim_introduce(sim, 0, 1, AF_INET);
		sim_introduce(sim, 0, 2, AF_INET);
	}
	sim_run(sim, 30 * SECOND);
	ping(sim, 0, 1);
	ping(sim, 2, 0);
	assert_true(last_arrived(sim, 0, 1) && last_arrived(sim, 2, 0));
	sim_free(sim);
}

/* 10.0.0.9 moves from one peer to the other under traffic both ways. */
static void test_allowed_ips_move(void **state)
{
	struct sim *sim = sim_new(8, 3);
	uint8_t out[SIM_PING_LEN], in[SIM_PING_LEN];

	(void)state;
	sim_connect(sim, 0, 1, AF_INET);
	sim_connect(sim, 0, 2, AF_INET);
	sim_build(out, 4, 1, 9, 0, sizeof(out));
	sim_build(in, 4, 9, 1, 0, sizeof(in));
	for (unsigned i = 0; i < 6; i++) {
		const unsigned owner = 1 + i % 2, other = 2 - i % 2;
		uint64_t to_owner = sim->node[owner].others, to_other = sim->node[other].others;
		uint64_t from = sim->node[0].others, spoofed = drops(sim, 0)[DROP_SPOOFED];

		allow(sim, 0, sim_peer(sim, 0, owner), 9);
		for (unsigned j = 0; j < 5; j++) {
			sim_host_send(sim, 0, out, sizeof(out));
			sim_host_send(sim, owner, in, sizeof(in));
			sim_host_send(sim, other, in, sizeof(in));
			sim_run(sim, SECOND / 10);
		}
		sim_run(sim, 6 * SECOND); /* the first may cross initiations */
		assert_int_equal(sim->node[owner].others, to_owner + 5);
		assert_int_equal(sim->node[other].others, to_other);
		assert_int_equal(sim->node[0].others, from + 5);
		assert_int_equal(drops(sim, 0)[DROP_SPOOFED], spoofed + 5);
	}
	sim_free(sim);
}

/* A more specific prefix of another peer takes a source away. */
static void test_source_filter_longest_prefix(void **state)
{
	struct sim *sim = sim_new(9, 3);
	const uint8_t net[4] = {10, 0, 0, 0};
	uint8_t packet[SIM_PING_LEN];

	(void)state;
	sim_connect(sim, 0, 1, AF_INET);
	sim_connect(sim, 0, 2, AF_INET);
	assert_int_equal(allowedips_insert(&sim->node[0].lane.allowed, net, 4, 24,
					   &sim_peer(sim, 0, 1)->allowed),
			 0);
	sim_build(packet, 4, 99, 1, 0, sizeof(packet));
	sim_host_send(sim, 1, packet, sizeof(packet));
	sim_run(sim, SECOND);
	assert_int_equal(sim->node[0].others, 1);
	sim_build(packet, 4, 3, 1, 0, sizeof(packet)); /* node 2's */
	sim_host_send(sim, 1, packet, sizeof(packet));
	sim_run(sim, SECOND);
	assert_int_equal(sim->node[0].others, 1);
	assert_int_equal(drops(sim, 0)[DROP_SPOOFED], 1);
	sim_free(sim);
}

/* Public keys with which every shared secret is zero. */
static void test_low_order_keys(void **state)
{
	static const uint8_t points[][WG_KEY_LEN] = {
		{0},
		{1},
		{0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3,
		 0xfa, 0xf1, 0x9f, 0xc4, 0x6a, 0xda, 0x09, 0x8d, 0xeb, 0x9c, 0x32,
		 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16, 0x5f, 0x49, 0xb8, 0x00},
		{0x5f, 0x9c, 0x95, 0xbc, 0xa3, 0x50, 0x8c, 0x24, 0xb1, 0xd0, 0xb1,
		 0x55, 0x9c, 0x83, 0xef, 0x5b, 0x04, 0x44, 0x5c, 0xc4, 0x58, 0x1c,
		 0x8e, 0x86, 0xd8, 0x22, 0x4e, 0xdd, 0xd0, 0x9f, 0x11, 0x57},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		struct sim *sim = sim_new(10, 1);
		struct endpoint ep = sim_endpoint(AF_INET, 40, 4040);
		uint8_t packet[SIM_PING_LEN];
		struct peer *peer = NULL;

		assert_int_equal(peer_new(&sim->node[0].lane, points[i], &peer), 0);
		peer_set_endpoint(peer, &ep);
		allow(sim, 0, peer, 40);
		peer_set_keepalive(&sim->node[0].lane, peer, 1);
		sim_build(packet, 4, 1, 40, 0, sizeof(packet));
		for (unsigned j = 0; j < 100; j++) {
			sim_host_send(sim, 0, packet, sizeof(packet));
			sim_run(sim, SECOND);
		}
		assert_int_equal(sim->node[0].lane.self.stats.udp_datagrams_out, 0);
		assert_int_equal(sim->node[0].lane.self.stats.handshakes_begun, 0);
		assert_int_equal(sim->node[0].lane.index.n_used, 0);
		assert_true(peer->n_staged <= MAX_STAGED_PACKETS);
		sim_free(sim);
	}
}

static long long handshake_age_s(struct sim *sim, unsigned id)
{
	const struct lane *lane = &sim->node[id].lane;
	struct timespec now, then;

	lane->env->wall_clock(lane->env->ctx, &now);
	peer_handshake_time(lane, sim_peer(sim, id, 1 - id), &then);
	return (long long)(now.tv_sec - then.tv_sec);
}

/* Our wall clock goes back: stamps go on from the last one. */
static void test_wall_clock_steps_back(void **state)
{
	struct sim *sim = established(11);

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		sim->node[0].wall_offset_ns -= (int64_t)(3600 * SECOND);
		sim_run(sim, 200 * SECOND);
		ping(sim, 0, 1);
		assert_true(last_arrived(sim, 0, 1));
	}
	assert_int_equal(sim->node[0].sent.n[MESSAGE_INITIATION], 6);
	assert_int_equal(drops(sim, 1)[DROP_OLD_TIMESTAMP], 0);
	sim_free(sim);
}

/* Each end tells the handshake's age, whatever its clock was set to since, and a new one
 * has no age of an old step. */
static void test_handshake_age_after_a_step(void **state)
{
	static const int64_t steps_s[] = {6 * 3600, -12 * 3600, 1};
	struct sim *sim = established(13);

	(void)state;
	for (unsigned i = 0; i < sizeof(steps_s) / sizeof(steps_s[0]); i++) {
		sim_run(sim, 130 * SECOND);
		ping(sim, 0, 1);
		assert_true(last_arrived(sim, 0, 1));
		for (unsigned id = 0; id < 2; id++)
			assert_in_range(handshake_age_s(sim, id), 0, 20);
		sim->node[0].wall_offset_ns += steps_s[i] * (int64_t)SECOND;
		for (unsigned id = 0; id < 2; id++)
			assert_in_range(handshake_age_s(sim, id), 0, 20);
		sim_run(sim, 60 * SECOND);
		for (unsigned id = 0; id < 2; id++)
			assert_in_range(handshake_age_s(sim, id), 60, 80);
	}
	sim_free(sim);
}

/* A sender that starts again with an older clock is refused until its clock has
 * caught up or the peer is added anew. */
static void test_restart_with_older_clock(void **state)
{
	struct sim *sim = established(12);

	(void)state;
	sim->node[0].wall_offset_ns -= (int64_t)(600 * SECOND);
	sim_restart(sim, 0);
	sim_introduce(sim, 0, 1, AF_INET);
	ping(sim, 0, 1);
	assert_false(last_arrived(sim, 0, 1));
	assert_int_equal(drops(sim, 1)[DROP_OLD_TIMESTAMP], 1);

	sim_run(sim, 650 * SECOND);
	ping(sim, 0, 1);
	assert_true(last_arrived(sim, 0, 1));

	sim->node[0].wall_offset_ns -= (int64_t)(7200 * SECOND);
	sim_restart(sim, 0);
	sim_introduce(sim, 0, 1, AF_INET);
	ping(sim, 0, 1);
	assert_false(last_arrived(sim, 0, 1));
	peer_remove(&sim->node[1].lane, sim_peer(sim, 1, 0));
	sim_introduce(sim, 1, 0, AF_INET);
	sim_run(sim, 6 * SECOND);
	assert_true(last_arrived(sim, 0, 1));
	sim_free(sim);
}

/* The one who stayed finds out that the other has forgotten everything. */
static void test_restart_of_the_other_side(void **state)
{
	struct sim *sim = established(13);

	(void)state;
	sim_restart(sim, 1);
	sim_introduce(sim, 1, 0, AF_UNSPEC);
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, 16 * SECOND);
	assert_int_equal(drops(sim, 1)[DROP_UNKNOWN_INDEX], 1);
	ping(sim, 0, 1);
	assert_true(last_arrived(sim, 0, 1));
	sim_free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_psk_counts_from_the_next_handshake, sim_teardown),
		cmocka_unit_test_teardown(test_private_key_changes, sim_teardown),
		cmocka_unit_test_teardown(test_private_key_changes_at_once, sim_teardown),
		cmocka_unit_test_teardown(test_private_key_changes_after_handshake, sim_teardown),
		cmocka_unit_test_teardown(test_no_identity, sim_teardown),
		cmocka_unit_test_teardown(test_own_key_removes_peer, sim_teardown),
		cmocka_unit_test_teardown(test_peer_removed_and_added, sim_teardown),
		cmocka_unit_test_teardown(test_remove_all_in_the_middle, sim_teardown),
		cmocka_unit_test_teardown(test_allowed_ips_move, sim_teardown),
		cmocka_unit_test_teardown(test_source_filter_longest_prefix, sim_teardown),
		cmocka_unit_test_teardown(test_low_order_keys, sim_teardown),
		cmocka_unit_test_teardown(test_wall_clock_steps_back, sim_teardown),
		cmocka_unit_test_teardown(test_handshake_age_after_a_step, sim_teardown),
		cmocka_unit_test_teardown(test_restart_with_older_clock, sim_teardown),
		cmocka_unit_test_teardown(test_restart_of_the_other_side, sim_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
