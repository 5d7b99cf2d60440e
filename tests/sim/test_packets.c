/* SPDX-License-Identifier: Apache-2.0 */
/* What a packet looks like on the wire and after it: ICMP answers, ECN, padding,
 * loops. */
#include "sim.h"

#include <arpa/inet.h>
#include <string.h>

#include "crypto/train.h"
#include "offload/be.h"
#include "offload/checksum.h"
#include "offload/ip.h"

#define SECOND NSEC_PER_SEC

static struct sim *established(uint64_t seed)
{
	struct sim *sim = sim_new(seed, 2);

	sim->eavesdrop = true;
	sim_connect(sim, 0, 1, AF_INET);
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, SECOND);
	assert_int_equal(sim->flow[0][1].delivered, 1);
	return sim;
}

/* An ICMP error about @packet, from its destination to its source. */
static void check_icmp4(const struct sim_node *node, const uint8_t *packet, size_t len)
{
	const uint8_t *p = node->last;

	assert_int_equal(node->last_len, IPV4_HDR_MIN_LEN + 8 + len);
	assert_int_equal(p[0], 0x45);
	assert_int_equal(p[9], IP_PROTO_ICMP);
	assert_int_equal(checksum_finish(checksum_add(0, p, IPV4_HDR_MIN_LEN)), 0);
	assert_memory_equal(p + 12, packet + 16, 4);
	assert_memory_equal(p + 16, packet + 12, 4);
	p += IPV4_HDR_MIN_LEN;
	assert_int_equal(p[0], 3); /* destination unreachable: host */
	assert_int_equal(p[1], 1);
	assert_int_equal(checksum_finish(checksum_add(0, p, 8 + len)), 0);
	assert_memory_equal(p + 8, packet, len);
}

static void check_icmp6(const struct sim_node *node, const uint8_t *packet, size_t len)
{
	const uint8_t *p = node->last;
	uint64_t sum;

	assert_int_equal(node->last_len, IPV6_HDR_LEN + 8 + len);
	assert_int_equal(p[0] >> 4, 6);
	assert_int_equal(p[6], IP_PROTO_ICMP6);
	assert_int_equal(be16_load(p + 4), 8 + len);
	assert_memory_equal(p + 8, packet + 24, 16);
	assert_memory_equal(p + 24, packet + 8, 16);
	sum = checksum_pseudo(p + 8, p + 24, 16, IP_PROTO_ICMP6, (uint32_t)(8 + len));
	p += IPV6_HDR_LEN;
	assert_int_equal(p[0], 1); /* destination unreachable: address */
	assert_int_equal(p[1], 3);
	assert_int_equal(checksum_finish(checksum_add(sum, p, 8 + len)), 0);
	assert_memory_equal(p + 8, packet, len);
}

static void test_unreachable(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		const bool v4 = i & 1, has_peer = i & 2;
		struct sim *sim = sim_new(1, 2);
		struct sim_node *node = &sim->node[0];
		uint8_t packet[100];

		sim_introduce(sim, 0, 1, AF_UNSPEC);
		sim_build(packet, v4 ? 4 : 6, 1, has_peer ? 2 : 77, 0, sizeof(packet));
		sim_host_send(sim, 0, packet, sizeof(packet));
		sim_settle(sim);
		assert_int_equal(node->others, 1);
		if (v4)
			check_icmp4(node, packet, sizeof(packet));
		else
			check_icmp6(node, packet, sizeof(packet));
		assert_int_equal(node->lane.self.stats.icmp_sent, 1);
		assert_int_equal(
			node->lane.self.stats.drop[has_peer ? DROP_NO_ENDPOINT : DROP_NO_PEER], 1);

		/* No error about an error. */
		sim_host_send(sim, 0, node->last, node->last_len);
		sim_settle(sim);
		assert_int_equal(node->others, 1);
		sim_free(sim);
	}
}

static void test_unreachable_is_rate_limited(void **state)
{
	struct sim *sim = sim_new(2, 1);
	struct sim_node *node = &sim->node[0];
	uint8_t packet[100];

	(void)state;
	sim_build(packet, 4, 1, 77, 0, sizeof(packet));
	for (unsigned second = 0; second < 3; second++) {
		for (unsigned i = 0; i < 1000; i++)
			sim_host_send(sim, 0, packet, sizeof(packet));
		sim_run(sim, SECOND);
		assert_int_equal(node->lane.self.stats.icmp_sent, 50 * (second + 1));
	}
	assert_int_equal(node->lane.self.stats.drop[DROP_NO_PEER], 3000);

	/* 100 a second in the long run. */
	for (unsigned i = 0; i < 2000; i++) {
		sim_host_send(sim, 0, packet, sizeof(packet));
		sim_run(sim, SECOND / 200);
	}
	assert_in_range(node->lane.self.stats.icmp_sent, 150 + 1000, 150 + 1051);
	sim_free(sim);
}

static bool mark_congested(struct sim *sim, struct sim_datagram *d, uint64_t *delay_ns)
{
	(void)delay_ns;
	if (sim->filter_arg)
		d->tos |= 3;
	return true;
}

struct ecn_case {
	uint8_t inner, outer; /* as sent */
	uint8_t marked;	      /* inner, after congestion on the way */
	bool broken;
};

static void test_ecn(void **state)
{
	static const struct ecn_case cases[] = {
		{0, 0, 0, true},
		{1, 1, 3, false},
		{2, 2, 3, false},
		{3, 2, 3, false},
	};

	(void)state;
	for (unsigned i = 0; i < 16; i++) {
		const struct ecn_case *c = &cases[i & 3];
		const bool congested = i & 4;
		const int version = i & 8 ? 6 : 4;
		const uint8_t tos = (uint8_t)(0xb8 | c->inner); /* DSCP stays inside */
		struct sim *sim = established(3);
		struct sim_node *node = &sim->node[1];
		uint8_t packet[100], tos_in;

		sim->filter = mark_congested;
		sim->filter_arg = congested;
		sim_build(packet, version, 1, 2, tos, sizeof(packet));
		sim_host_send(sim, 0, packet, sizeof(packet));
		sim_run(sim, SECOND);
		assert_int_equal(sim_recorded(sim, 0, MESSAGE_DATA)->tos, c->outer);
		assert_int_equal(node->others, 1);
		tos_in = version == 4 ? node->last[1]
				      : (uint8_t)(node->last[0] << 4 | node->last[1] >> 4);
		assert_int_equal(tos_in, 0xb8 | (congested ? c->marked : c->inner));
		assert_int_equal(node->lane.self.stats.ecn_broken, congested && c->broken);
		if (version == 4)
			assert_int_equal(
				checksum_finish(checksum_add(0, node->last, IPV4_HDR_MIN_LEN)), 0);
		sim_free(sim);
	}
}

static void test_tos_of_other_messages(void **state)
{
	struct sim *sim = established(4);

	(void)state;
	assert_int_equal(sim_recorded(sim, 0, MESSAGE_INITIATION)->tos, 0x88);
	assert_int_equal(sim_recorded(sim, 1, MESSAGE_RESPONSE)->tos, 0x88);
	sim_run(sim, 15 * SECOND);
	assert_int_equal(sim_recorded(sim, 1, MESSAGE_DATA)->len, MESSAGE_DATA_MIN_SIZE);
	assert_int_equal(sim_recorded(sim, 1, MESSAGE_DATA)->tos, 0);
	sim_free(sim);
}

static void test_padding(void **state)
{
	static const struct {
		uint32_t mtu, len, padded;
	} cases[] = {
		{1420, 44, 48},
		{1420, 48, 48},
		{1420, 1404, 1408},
		{1420, 1409, 1420},
		{1420, 1420, 1420},
		{1300, 1297, 1300},
		{1299, 1297, 1299},
		{0, 1420, 1424},
		/* Longer than the MTU allows: as its last piece. */
		{1000, 1010, 1016},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sim *sim = established(5);

		lane_set_mtu(&sim->node[0].lane, cases[i].mtu);
		sim_send(sim, 0, 1, cases[i].len);
		sim_run(sim, SECOND);
		assert_int_equal(sim_recorded(sim, 0, MESSAGE_DATA)->len,
				 cases[i].padded + MESSAGE_DATA_OVERHEAD);
		assert_int_equal(sim->flow[0][1].delivered, 2);
		sim_free(sim);
	}
}

/* What was in the buffer before must not leak out behind the packet. */
static void test_padding_is_zero(void **state)
{
	struct sim *sim = established(8);
	const struct sim_datagram *d;
	struct train_car car;
	uint8_t msg[200];

	(void)state;
	sim_send(sim, 0, 1, 85);
	sim_run(sim, SECOND);
	d = sim_recorded(sim, 0, MESSAGE_DATA);
	assert_int_equal(d->len, 96 + MESSAGE_DATA_OVERHEAD);
	memcpy(msg, d->data, d->len);
	car = (struct train_car){.msg = msg, .text_len = 96, .counter = 1};
	assert_int_equal(train_open(NULL, sim_peer(sim, 1, 0)->slots.current, &car, 1), 1);
	for (unsigned i = 85; i < 96; i++)
		assert_int_equal(msg[MESSAGE_DATA_HEADER_SIZE + i], 0);
	sim_free(sim);
}

/* The host routes our datagram for the peer into the lane. */
static void test_loop(void **state)
{
	struct sim *sim = sim_new(6, 2);
	struct peer *peer;
	const uint8_t any[16] = {0};
	uint8_t packet[100];

	(void)state;
	sim_connect(sim, 0, 1, AF_INET);
	peer = sim_peer(sim, 0, 1);
	assert_int_equal(allowedips_insert(&sim->node[0].lane.allowed, any, 4, 0, &peer->allowed),
			 0);
	assert_int_equal(allowedips_insert(&sim->node[0].lane.allowed, any, 16, 0, &peer->allowed),
			 0);
	for (unsigned i = 0; i < 2; i++) {
		const struct endpoint *to = &sim->node[1].addr[i];
		const size_t l4 = i ? IPV6_HDR_LEN : IPV4_HDR_MIN_LEN;

		peer_set_endpoint(peer, to);
		sim_build(packet, i ? 6 : 4, 1, 2, 0, sizeof(packet));
		if (i)
			memcpy(packet + 24, &to->dst.in6.sin6_addr, 16);
		else
			memcpy(packet + 16, &to->dst.in4.sin_addr, 4);
		be16_store(packet + l4, SIM_PORT);
		memcpy(packet + l4 + 2, &to->dst.in4.sin_port, 2);
		sim_host_send(sim, 0, packet, sizeof(packet));
		sim_settle(sim);
		assert_int_equal(sim->node[0].lane.self.stats.drop[DROP_LOOP], i + 1);
		assert_int_equal(sim->node[0].lane.self.stats.udp_datagrams_out, 0);
	}

	/* Another program's datagram to the same place goes through. */
	be16_store(packet + IPV6_HDR_LEN, SIM_PORT + 9);
	sim_host_send(sim, 0, packet, sizeof(packet));
	sim_run(sim, SECOND);
	assert_int_equal(sim->node[0].lane.self.stats.drop[DROP_LOOP], 2);
	assert_int_equal(sim->node[1].others, 1);
	sim_free(sim);
}

/* The peer may pad as it likes; the inner packet's own length counts. */
static void test_padding_is_trimmed(void **state)
{
	struct sim *sim = established(7);
	uint8_t text[300] = {0}, msg[400];
	size_t len;

	(void)state;
	sim_build(text, 4, 1, 2, 0, 100);
	len = sim_seal(sim, 0, 1, text, sizeof(text), msg);
	sim_inject(sim, 1, &sim->node[0].addr[0], msg, len);
	sim_settle(sim);
	assert_int_equal(sim->node[1].others, 1);
	assert_int_equal(sim->node[1].last_len, 100);
	assert_memory_equal(sim->node[1].last, text, 100);
	sim_free(sim);
}

/* Small packets that follow one another to one peer are sealed together, those to another
 * in between end that; each is opened by its own. */
static void test_trains(void **state)
{
	struct sim *sim = sim_new(21, 3);
	const uint64_t *sealed = &sim->node[0].lane.self.stats.trains_sealed;
	uint64_t before;

	(void)state;
	sim_connect(sim, 0, 1, AF_INET);
	sim_connect(sim, 0, 2, AF_INET);
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_send(sim, 0, 2, SIM_PING_LEN);
	sim_run(sim, SECOND);

	before = *sealed;
	for (unsigned i = 0; i < 40; i++)
		sim_send(sim, 0, 1, 64 + i);
	sim_run(sim, SECOND);
	assert_int_equal(*sealed - before, 1);

	before = *sealed;
	for (unsigned i = 0; i < 12; i++)
		sim_send(sim, 0, 1 + i / 4 % 2, 64);
	sim_run(sim, SECOND);
	assert_int_equal(*sealed - before, 3);

	/* Long ones are sealed before they leave the cache. */
	before = *sealed;
	for (unsigned i = 0; i < 40; i++)
		sim_send(sim, 0, 1, SIM_MTU);
	sim_run(sim, SECOND);
	assert_true(*sealed - before >= 40u * SIM_MTU / TRAIN_LEN - 1);
	assert_true(*sealed - before < 10);

	assert_int_equal(sim->flow[0][1].delivered, 1 + 40 + 8 + 40);
	assert_int_equal(sim->flow[0][2].delivered, 1 + 4);
	assert_int_equal(sim->flow[0][1].overtaken + sim->flow[0][2].overtaken, 0);
	sim_free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_unreachable, sim_teardown),
		cmocka_unit_test_teardown(test_unreachable_is_rate_limited, sim_teardown),
		cmocka_unit_test_teardown(test_ecn, sim_teardown),
		cmocka_unit_test_teardown(test_tos_of_other_messages, sim_teardown),
		cmocka_unit_test_teardown(test_padding, sim_teardown),
		cmocka_unit_test_teardown(test_padding_is_zero, sim_teardown),
		cmocka_unit_test_teardown(test_loop, sim_teardown),
		cmocka_unit_test_teardown(test_padding_is_trimmed, sim_teardown),
		cmocka_unit_test_teardown(test_trains, sim_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
