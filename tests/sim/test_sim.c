/* SPDX-License-Identifier: Apache-2.0 */
/* The simulation itself: it repeats exactly, and its wire does what it is told. */
#include "sim.h"

#include <string.h>

#include "crypto/hash.h"

#define SECOND NSEC_PER_SEC

/* Ten minutes in bad weather; a digest of everything that was on the wire, when. */
static void digest_of_run(uint64_t seed, uint8_t ret[WG_HASH_LEN])
{
	const struct sim_link link = {
		.drop = 100,
		.duplicate = 50,
		.corrupt = 20,
		.reorder = 100,
		.delay_ns = 10 * NSEC_PER_MSEC,
		.jitter_ns = 10 * NSEC_PER_MSEC,
	};
	struct sim *sim = sim_new(seed, 3);
	struct blake2s_state hash;

	sim->eavesdrop = true;
	sim_wire_link_all(sim, &link);
	sim_connect(sim, 0, 1, AF_INET);
	sim_connect(sim, 1, 2, AF_INET6);
	sim_traffic(sim, 0, 1, SIM_PING_LEN, SECOND, 600 * SECOND);
	sim_traffic(sim, 2, 1, SIM_PING_LEN, SECOND, 600 * SECOND);
	sim->node[1].echo = true;
	sim_run(sim, 600 * SECOND);

	blake2s_init(&hash, WG_HASH_LEN, NULL, 0);
	for (size_t i = 0; i < sim->n_records; i++) {
		const struct sim_datagram *d = sim->record[i];

		blake2s_update(&hash, &d->sent_ns, sizeof(d->sent_ns));
		blake2s_update(&hash, d->data, d->len);
	}
	blake2s_final(&hash, ret);
	assert_true(sim->n_records > 2000);
	sim_free(sim);
}

static void test_same_seed_same_run(void **state)
{
	uint8_t first[WG_HASH_LEN], again[WG_HASH_LEN], other[WG_HASH_LEN];

	(void)state;
	digest_of_run(1, first);
	digest_of_run(1, again);
	digest_of_run(2, other);
	assert_memory_equal(first, again, WG_HASH_LEN);
	assert_memory_not_equal(first, other, WG_HASH_LEN);
}

/* 10,000 numbered packets under one session's keys, per thousand: */
struct wire_case {
	struct sim_link link;
	unsigned delivered_least, delivered_most, replays_least, replays_most, overtaken_least;
};

static const struct wire_case wire_cases[] = {
	{{.delay_ns = 5}, 1000, 1000, 0, 0, 0},
	{{.drop = 300}, 680, 720, 0, 0, 0},
	{{.duplicate = 300}, 1000, 1000, 280, 320, 0},
	{{.corrupt = 300}, 680, 720, 0, 0, 0},
	{{.reorder = 300}, 1000, 1000, 0, 0, 250},
	{{.jitter_ns = 5 * NSEC_PER_MSEC}, 1000, 1000, 0, 0, 250},
};

static void test_wire(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(wire_cases) / sizeof(wire_cases[0]); i++) {
		const struct wire_case *c = &wire_cases[i];
		struct sim *sim = sim_new(i, 2);
		const struct sim_flow *flow = &sim->flow[0][1];

		sim_connect(sim, 0, 1, AF_INET);
		sim_send(sim, 0, 1, SIM_PING_LEN);
		sim_run(sim, SECOND);
		sim->link[0][1] = c->link;
		sim_traffic(sim, 0, 1, SIM_PING_LEN, NSEC_PER_MSEC, 10 * SECOND);
		sim_run(sim, 11 * SECOND);
		assert_int_equal(flow->sent, 10001);
		assert_in_range(flow->delivered / 10, c->delivered_least, c->delivered_most);
		assert_in_range(sim->node[1].lane.self.stats.drop[DROP_REPLAY] / 10,
				c->replays_least, c->replays_most);
		assert_in_range(flow->overtaken / 10, c->overtaken_least,
				c->overtaken_least ? 1000 : 0);
		assert_int_equal(sim->node[1].others, 0);
		sim_free(sim);
	}
}

/* What is delivered twice or was never sent does not go unnoticed. */
static void test_delivery_is_checked(void **state)
{
	struct sim *sim = sim_new(3, 2);
	uint8_t packet[SIM_PING_LEN], msg[200];

	(void)state;
	sim_connect(sim, 0, 1, AF_INET);
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, SECOND);
	memcpy(packet, sim->node[1].last, sizeof(packet));
	for (unsigned i = 0; i < 2; i++) {
		size_t len = sim_seal(sim, 0, 1, packet, sizeof(packet), msg);

		sim_inject(sim, 1, &sim->node[0].addr[0], msg, len);
		sim_settle(sim);
		packet[60] ^= 1;
	}
	assert_int_equal(sim->flow[0][1].duplicates, 1);
	assert_int_equal(sim->flow[0][1].delivered, 1);
	assert_int_equal(sim->node[1].others, 1);
	sim_free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_same_seed_same_run, sim_teardown),
		cmocka_unit_test_teardown(test_wire, sim_teardown),
		cmocka_unit_test_teardown(test_delivery_is_checked, sim_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
