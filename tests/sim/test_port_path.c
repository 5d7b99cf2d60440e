/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames longer than the way takes: TCP is cut finer, the sender of what may not be
 * fragmented is told on the port, the rest is left to the kernel's fragments.
 */
#include <stdlib.h>
#include <string.h>

#include "offload/be.h"
#include "offload/checksum.h"
#include "offload/ether.h"
#include "offload/ip.h"
#include "sim.h"

#define SECOND NSEC_PER_SEC

/* What 1400 bytes of way leave: 20 + 8 and 32 of WireGuard; then 20 or 40, 8, 8 and
 * 14 of VXLAN. */
enum { PATH_MTU = 1400, INNER = 1340, MTU4 = 1290, MTU6 = 1270 };

static struct sim *narrow(uint64_t seed, int outer, uint32_t path_mtu, struct sim_port *port[2])
{
	struct sim *sim = sim_new(seed, 2);

	sim_connect(sim, 0, 1, AF_INET);
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, SECOND);
	sim_port_pair(sim, outer, port);
	sim->node[0].path_mtu = path_mtu;
	lane_routes_changed(&sim->node[0].lane);
	return sim;
}

struct too_big {
	int outer, inner;
	unsigned n_tags;
	uint32_t mtu; /* that the sender is told */
};

static const struct too_big cases[] = {
	{4, 4, 0, MTU4}, {4, 4, 1, MTU4 - 4}, {4, 4, 2, MTU4 - 8},
	{6, 4, 0, MTU6}, {4, 6, 0, MTU4},     {4, 6, 2, MTU4 - 8},
};

static uint32_t headers(const struct too_big *c)
{
	return (c->inner == 4 ? 20 : 40) + 8;
}

static struct sim_frame *datagram(const struct too_big *c, uint32_t ip_len)
{
	return sim_frame_finished(&(struct sim_frame_args){.version = c->inner,
							   .proto = IP_PROTO_UDP,
							   .n_tags = c->n_tags,
							   .df = true,
							   .payload = ip_len - headers(c)});
}

/* The frame goes back to where it came from; RFC 792, RFC 1191; RFC 4443 3.2. */
static void check_answer(const struct sim_frame *a, const struct sim_frame *f,
			 const struct too_big *c)
{
	const uint32_t l2 = 14 + 4 * c->n_tags;
	const uint8_t *ip = a->data + l2, *sent = f->data + l2;

	assert_memory_equal(a->data, f->data + 6, 6);
	assert_memory_equal(a->data + 6, f->data, 6);
	assert_memory_equal(a->data + 12, f->data + 12, l2 - 12);
	if (c->inner == 4) {
		assert_int_equal(be16_load(ip + 2), a->len - l2);
		assert_int_equal(ip[9], IP_PROTO_ICMP);
		assert_int_equal(checksum_finish(checksum_add(0, ip, 20)), 0);
		assert_memory_equal(ip + 12, sent + 16, 4);
		assert_memory_equal(ip + 16, sent + 12, 4);
		assert_int_equal(be16_load(ip + 20), 0x0304);
		assert_int_equal(be32_load(ip + 24), c->mtu);
		assert_int_equal(checksum_finish(checksum_add(0, ip + 20, a->len - l2 - 20)), 0);
		assert_memory_equal(ip + 28, sent, 100);
		return;
	}
	assert_int_equal(be16_load(ip + 4), a->len - l2 - 40);
	assert_int_equal(ip[6], IP_PROTO_ICMP6);
	assert_memory_equal(ip + 8, sent + 24, 16);
	assert_memory_equal(ip + 24, sent + 8, 16);
	assert_int_equal(be16_load(ip + 40), 0x0200);
	assert_int_equal(be32_load(ip + 44), c->mtu);
	assert_int_equal(sim_checksum(ip, IP_PROTO_ICMP6, ip + 40, a->len - l2 - 40), 0);
	assert_memory_equal(ip + 48, sent, 100);
}

static void check_too_big(const struct too_big *c, uint64_t seed)
{
	struct sim_port *port[2];
	struct sim *sim = narrow(seed, c->outer, PATH_MTU, port);
	struct lane *lane = &sim->node[0].lane;
	struct sim_frame *fits = datagram(c, c->mtu), *f = datagram(c, c->mtu + 1), *answer;

	sim_port_send(port[0], fits);
	sim_run(sim, SECOND);
	sim_expect(port[1], fits);
	sim_expect_nothing(port[0]);
	sim_port_send(port[0], f);
	sim_run(sim, SECOND);
	sim_expect_nothing(port[1]);
	answer = sim_port_take(port[0]);
	assert_non_null(answer);
	check_answer(answer, f, c);
	assert_int_equal(lane->self.stats.drop[DROP_TOO_BIG], 1);
	assert_int_equal(lane->self.stats.icmp_sent, 1);
	assert_int_equal(sim_drops(&sim->node[0]), 1);
	sim_expect_nothing(port[0]);

	/* No error about an error. */
	free(f);
	f = datagram(c, c->mtu + 1);
	f->data[14 + 4 * c->n_tags + (c->inner == 4 ? 9 : 6)] = c->inner == 4 ? IP_PROTO_ICMP
									      : IP_PROTO_ICMP6;
	f->data[14 + 4 * c->n_tags + headers(c) - 8] = c->inner == 4 ? 3 : 2;
	sim_port_send(port[0], f);
	sim_run(sim, SECOND);
	sim_expect_nothing(port[0]);
	sim_expect_nothing(port[1]);
	assert_int_equal(lane->self.stats.icmp_sent, 1);
	free(answer);
	free(fits);
	free(f);
	sim_free(sim);
}

static void test_too_big(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_too_big(&cases[i], i);
}

/* Without DF, IPv6 where no sender goes so low, and what is not IP. */
static void test_sent_in_fragments(void **state)
{
	struct sim_port *port[2];
	struct sim *sim = narrow(20, 4, 1280, port);
	struct sim_frame *f[3] = {
		sim_frame_finished(&(struct sim_frame_args){.payload = 1300}),
		sim_frame_finished(&(struct sim_frame_args){.version = 6, .payload = 1250}),
		sim_frame_finished(&(struct sim_frame_args){.payload = 1300, .df = true}),
	};

	(void)state;
	be16_store(f[2]->data + 12, 0x88b5);
	for (unsigned i = 0; i < 3; i++) {
		sim_port_send(port[0], f[i]);
		sim_run(sim, SECOND);
		sim_expect(port[1], f[i]);
		free(f[i]);
	}
	sim_expect_nothing(port[0]);
	assert_int_equal(sim_drops(&sim->node[0]), 0);
	sim_free(sim);
}

static bool longer_than_path;

static bool watch_length(struct sim *sim, struct sim_datagram *d, uint64_t *delay_ns)
{
	(void)delay_ns;
	longer_than_path |= d->from == 0 && 28 + d->len > sim->filter_arg;
	return true;
}

struct finer {
	int outer, inner;
	uint32_t path_mtu, lane_mtu;
	unsigned n_tags;
	uint16_t mss, expected;
};

/* To the way, and to the lane where that is narrower. */
static void test_tcp_is_cut_finer(void **state)
{
	static const struct finer finer[] = {
		{4, 4, PATH_MTU, SIM_MTU, 0, 1330, MTU4 - 40},
		{4, 6, PATH_MTU, SIM_MTU, 0, 1310, MTU4 - 60},
		{6, 4, PATH_MTU, SIM_MTU, 0, 1310, MTU6 - 40},
		{6, 6, PATH_MTU, SIM_MTU, 2, 1210, MTU6 - 60 - 8},
		{4, 4, PATH_MTU, SIM_MTU, 0, MTU4 - 40, MTU4 - 40}, /* fits */
		{4, 4, 1280, SIM_MTU, 1, 1326, 1280 - 60 - 50 - 4 - 40},
		/* an overlay device of MTU 1500, or more, on this lane */
		{4, 4, 0, SIM_MTU, 0, 1460, 1420 - 50 - 40},
		{4, 6, 0, SIM_MTU, 0, 8940, 1420 - 50 - 60},
		{6, 4, 1500, SIM_MTU, 2, 1452, 1420 - 70 - 8 - 40},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(finer) / sizeof(finer[0]); i++) {
		const struct finer *c = &finer[i];
		struct sim_port *port[2];
		struct sim *sim = narrow(30 + i, c->outer, c->path_mtu, port);
		struct sim_frame *f = sim_frame_new(&(struct sim_frame_args){.version = c->inner,
									     .n_tags = c->n_tags,
									     .mss = c->mss,
									     .df = true,
									     .payload = 180000});

		longer_than_path = false;
		sim->filter = watch_length;
		sim->filter_arg = c->path_mtu ? c->path_mtu : SIM_MTU + 60;
		sim_port_send(port[0], f);
		sim_run(sim, SECOND);
		assert_false(longer_than_path);
		sim_expect_cut(port[1], f, c->expected);
		sim_expect_nothing(port[1]);
		sim_expect_nothing(port[0]);
		assert_int_equal(sim_drops(&sim->node[0]), 0);
		free(f);
		sim_free(sim);
	}
}

/* Single frames of an overlay device that is wider than the lane. */
static void test_wider_than_the_lane(void **state)
{
	const struct too_big c = {4, 4, 1, SIM_MTU - 50 - 4};
	struct sim_port *port[2];
	struct sim *sim = narrow(50, 4, 0, port);
	struct sim_frame *fits = datagram(&c, c.mtu), *f = datagram(&c, c.mtu + 1), *answer;

	(void)state;
	sim_port_send(port[0], fits);
	sim_port_send(port[0], f);
	sim_run(sim, SECOND);
	sim_expect(port[1], fits);
	sim_expect_nothing(port[1]);
	answer = sim_port_take(port[0]);
	assert_non_null(answer);
	check_answer(answer, f, &c);
	free(answer);
	free(fits);
	free(f);
	sim_free(sim);
}

/* Datagrams are not cut otherwise than their sender said. */
static void test_udp_superpackets(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		const bool df = i & 1;
		const int inner = i & 2 ? 6 : 4;
		const struct too_big c = {4, inner, 0, MTU4};
		struct sim_frame_args args = {
			.version = inner, .proto = IP_PROTO_UDP, .df = df, .payload = 30000};
		struct sim_port *port[2];
		struct sim *sim = narrow(60 + i, 4, PATH_MTU, port);
		struct sim_frame *f, *answer;

		args.mss = (uint16_t)(MTU4 - headers(&c));
		f = sim_frame_new(&args);
		sim_port_send(port[0], f);
		sim_run(sim, SECOND);
		sim_expect(port[1], f);
		sim_expect_nothing(port[0]);
		free(f);

		args.mss++;
		f = sim_frame_new(&args);
		sim_port_send(port[0], f);
		sim_run(sim, SECOND);
		answer = sim_port_take(port[0]);
		if (df || inner == 6) {
			assert_non_null(answer);
			check_answer(answer, f, &c);
			assert_int_equal(sim->node[0].lane.self.stats.drop[DROP_TOO_BIG], 1);
		} else {
			assert_null(answer);
			sim_expect(port[1], f);
		}
		sim_expect_nothing(port[1]);
		free(answer);
		free(f);
		sim_free(sim);
	}
}

/* To all, over ways of which one is narrow: the rest get it. */
static void test_flooded_over_a_narrow_way(void **state)
{
	const struct too_big c = {4, 4, 0, MTU4};
	const struct port_config config = sim_port_config(2, 4);
	struct sim_port *port[2], *third;
	struct sim *sim = sim_new(70, 3);
	const struct vtep vtep = sim_vtep(2, 4);
	struct sim_frame *f = datagram(&c, c.mtu + 1), *answer;

	(void)state;
	sim_connect(sim, 0, 1, AF_INET);
	sim_connect(sim, 0, 2, AF_INET);
	sim_port_pair(sim, 4, port);
	third = sim_port_new(sim, 2, &config);
	assert_int_equal(fdb_flood_add(port[0]->port->fdb, &vtep), 0);
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_send(sim, 0, 2, SIM_PING_LEN);
	sim_run(sim, SECOND);
	sim_peer(sim, 0, 1)->path_mtu = INNER;
	f->data[5] = 9; /* unknown */
	sim_port_send(port[0], f);
	sim_run(sim, SECOND);
	sim_expect_nothing(port[1]);
	sim_expect(third, f);
	answer = sim_port_take(port[0]);
	assert_non_null(answer);
	check_answer(answer, f, &c);
	free(answer);
	free(f);
	sim_free(sim);
}

/* A VTEP that no peer has, or a peer without an endpoint: nobody asked for the outer
 * packet, so nobody is told about it. */
static void test_no_way_at_all(void **state)
{
	const struct port_config c = sim_port_config(0, 4);
	const struct vtep vtep = sim_vtep(1, 4);
	struct sim *sim = sim_new(80, 2);
	struct sim_node *node = &sim->node[0];
	struct sim_port *port = sim_port_new(sim, 0, &c);
	struct sim_frame *f = sim_frame_finished(&(struct sim_frame_args){.payload = 100});

	(void)state;
	assert_int_equal(fdb_flood_add(port->port->fdb, &vtep), 0);
	sim_port_send(port, f);
	sim_run(sim, SECOND);
	assert_int_equal(node->lane.self.stats.drop[DROP_NO_PEER], 1);
	sim_introduce(sim, 0, 1, AF_UNSPEC);
	sim_port_send(port, f);
	sim_run(sim, SECOND);
	assert_int_equal(node->lane.self.stats.drop[DROP_NO_ENDPOINT], 1);
	assert_int_equal(sim_drops(node), 2);
	assert_int_equal(node->delivered, 0);
	assert_int_equal(node->lane.self.stats.icmp_sent, 0);
	sim_expect_nothing(port);
	free(f);
	sim_free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_too_big, sim_teardown),
		cmocka_unit_test_teardown(test_sent_in_fragments, sim_teardown),
		cmocka_unit_test_teardown(test_tcp_is_cut_finer, sim_teardown),
		cmocka_unit_test_teardown(test_wider_than_the_lane, sim_teardown),
		cmocka_unit_test_teardown(test_udp_superpackets, sim_teardown),
		cmocka_unit_test_teardown(test_flooded_over_a_narrow_way, sim_teardown),
		cmocka_unit_test_teardown(test_no_way_at_all, sim_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
