/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Superpackets from host to host: cut for the wire, put together again, and what
 * happens where something on the way does not play along. What has to arrive is
 * what gso_next() cuts, which tests/platform/gso_kernel.c holds against the
 * kernel's own cutting.
 */
#include "sim.h"

#include <stdlib.h>
#include <string.h>

#include "offload/be.h"
#include "offload/checksum.h"

#define SECOND NSEC_PER_SEC

enum { TCP_OFF = IPV4_HDR_MIN_LEN, PAYLOAD_OFF = TCP_OFF + 20 };

static uint8_t super[IO_PACKET_MAX];

static struct sim *established(uint64_t seed)
{
	struct sim *sim = sim_new(seed, 2);

	sim_connect(sim, 0, 1, AF_INET);
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, SECOND);
	assert_int_equal(sim->flow[0][1].delivered, 1);
	sim->node[1].capture = true;
	return sim;
}

/* A TCP superpacket from node 0 to node 1 as the kernel hands it out. */
static struct vnet build_tcp(uint32_t payload, uint16_t mss, uint32_t seq)
{
	const uint32_t len = PAYLOAD_OFF + payload;
	uint8_t *tcp = super + TCP_OFF;
	uint16_t pseudo;

	memset(super, 0, PAYLOAD_OFF);
	super[0] = 0x45;
	be16_store(super + 2, (uint16_t)len);
	be16_store(super + 4, 77);
	super[6] = 0x40;
	super[8] = 64;
	super[9] = IP_PROTO_TCP;
	super[12] = super[16] = 10;
	super[15] = 1;
	super[19] = 2;
	be16_store(super + 10, checksum_finish(checksum_add(0, super, IPV4_HDR_MIN_LEN)));
	be16_store(tcp, 1000);
	be16_store(tcp + 2, 2000);
	be32_store(tcp + 4, seq);
	tcp[12] = 5 << 4;
	tcp[13] = 0x10;
	be16_store(tcp + 14, 500);
	for (uint32_t i = 0; i < payload; i++)
		super[PAYLOAD_OFF + i] = (uint8_t)(i * 7 + seq + (i >> 8));
	pseudo = (uint16_t)~checksum_finish(
		checksum_pseudo(super + 12, super + 16, 4, IP_PROTO_TCP, 20 + payload));
	be16_store(tcp + 16, pseudo);
	return (struct vnet){
		.gso = VNET_GSO_TCP4,
		.needs_csum = true,
		.gso_size = mss,
		.hdr_len = PAYLOAD_OFF,
		.csum_start = TCP_OFF,
		.csum_offset = 16,
	};
}

static void send_super(struct sim *sim, const struct vnet *v, uint32_t payload)
{
	sim_host_send_super(sim, 0, super, PAYLOAD_OFF + payload, v);
}

/* Everything node 1 was given is the superpacket's segments, in order. */
static void expect_segments(struct sim *sim, const struct vnet *v, uint32_t payload)
{
	struct sim_packets *got = &sim->node[1].captured;
	uint8_t segment[IO_PACKET_MAX];
	struct sim_packet *sp;
	struct gso gso;
	uint32_t len;

	assert_true(gso_begin(&gso, super, PAYLOAD_OFF + payload, v));
	while ((len = gso_next(&gso, segment))) {
		sp = STAILQ_FIRST(got);
		assert_non_null(sp);
		assert_int_equal(sp->len, len);
		assert_memory_equal(sp->data, segment, len);
		STAILQ_REMOVE_HEAD(got, entry);
		free(sp);
	}
}

static const struct {
	uint32_t payload;
	uint16_t mss;
	unsigned writes; /* superpackets the host gets */
} sizes[] = {
	{1380, 1380, 0}, {1381, 1380, 1}, {2 * 1380, 1380, 1}, {65535 - PAYLOAD_OFF, 1380, 1},
	{60000, 536, 1}, {9000, 100, 1},
};

static void test_there_and_together(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct sim *sim = established(20 + i);
		struct vnet v = build_tcp(sizes[i].payload, sizes[i].mss, 1000);

		send_super(sim, &v, sizes[i].payload);
		sim_run(sim, SECOND);
		assert_int_equal(sim->node[1].merged_writes, sizes[i].writes);
		expect_segments(sim, &v, sizes[i].payload);
		assert_true(STAILQ_EMPTY(&sim->node[1].captured));
		sim_free(sim);
	}
}

/* 8,186 segments: more than any list has places. */
static void test_finest_segments(void **state)
{
	struct sim *sim = established(30);
	uint32_t payload = 65535 - PAYLOAD_OFF;
	struct vnet v = build_tcp(payload, 8, 5);

	(void)state;
	send_super(sim, &v, payload);
	sim_run(sim, SECOND);
	expect_segments(sim, &v, payload);
	assert_true(STAILQ_EMPTY(&sim->node[1].captured));
	sim_free(sim);
}

/* It waits for the session as it came. */
static void test_staged(void **state)
{
	struct sim *sim = sim_new(31, 2);
	struct vnet v = build_tcp(50000, 1380, 9);

	(void)state;
	sim_connect(sim, 0, 1, AF_INET);
	sim->node[1].capture = true;
	send_super(sim, &v, 50000);
	sim_run(sim, SECOND);
	assert_int_equal(sim->node[0].sent.n[MESSAGE_INITIATION], 1);
	expect_segments(sim, &v, 50000);
	sim_free(sim);
}

static void test_merging_refused(void **state)
{
	struct sim *sim = established(32);
	struct vnet v = build_tcp(50000, 1380, 1);

	(void)state;
	sim->node[1].refuse_merged = true;
	for (unsigned round = 0; round < 3; round++) {
		send_super(sim, &v, 50000);
		sim_run(sim, SECOND);
		expect_segments(sim, &v, 50000);
		assert_true(STAILQ_EMPTY(&sim->node[1].captured));
	}
	/* Once was enough. */
	assert_int_equal(sim->node[1].lane.self.stats.merges_refused, 1);
	assert_false(sim->node[1].lane.offload.gro.tcp4);
	/* Only what was refused is withdrawn. */
	assert_true(sim->node[1].lane.offload.gro.udp);
	assert_true(sim->node[1].lane.offload.gro.tunnel);
	assert_int_equal(sim_drops(&sim->node[1]), 0);
	sim_free(sim);
}

static bool longer_than_path;

static bool watch_length(struct sim *sim, struct sim_datagram *d, uint64_t *delay_ns)
{
	(void)delay_ns;
	longer_than_path |= d->from == 0 && 28 + d->len > sim->node[0].path_mtu;
	return true;
}

/* A narrower way: TCP is cut to fit, byte for byte the same stream. */
static void test_narrow_path(void **state)
{
	struct sim *sim = established(33);
	struct vnet v = build_tcp(50000, 1380, 1), finer = v;

	(void)state;
	sim->node[0].path_mtu = 1280;
	lane_routes_changed(&sim->node[0].lane);
	sim->filter = watch_length;
	longer_than_path = false;
	send_super(sim, &v, 50000);
	sim_run(sim, SECOND);
	assert_false(longer_than_path);
	finer.gso_size = 1280 - 28 - 32 - PAYLOAD_OFF;
	expect_segments(sim, &finer, 50000);
	assert_true(STAILQ_EMPTY(&sim->node[1].captured));

	/* The way is wide again. */
	sim->node[0].path_mtu = 1500;
	lane_routes_changed(&sim->node[0].lane);
	send_super(sim, &v, 50000);
	sim_run(sim, SECOND);
	expect_segments(sim, &v, 50000);
	sim_free(sim);
}

/* One that may not be fragmented is answered with what fits, no more. */
static void test_narrow_path_answer(void **state)
{
	struct sim *sim = established(34);
	struct sim_packet *answer;
	uint8_t packet[1300];

	(void)state;
	sim->node[0].path_mtu = 1280;
	sim->node[0].capture = true;
	lane_routes_changed(&sim->node[0].lane);
	sim_build(packet, 4, 1, 2, 0, sizeof(packet));
	sim_host_send(sim, 0, packet, sizeof(packet));
	sim_run(sim, SECOND);
	assert_int_equal(sim->node[1].delivered, 2); /* without DF it goes */
	packet[6] = 0x40;
	sim_host_send(sim, 0, packet, sizeof(packet));
	sim_run(sim, SECOND);
	assert_int_equal(sim->node[1].delivered, 2);
	answer = STAILQ_FIRST(&sim->node[0].captured);
	assert_non_null(answer);
	assert_int_equal(answer->data[20], 3);
	assert_int_equal(answer->data[21], 4);
	assert_int_equal(be16_load(answer->data + 26), 1280 - 28 - 32);
	sim_free(sim);
}

/* The session's numbers run out in the middle of a batch of several peers: what was
 * cut already must not be mixed up with what comes after it. */
static void test_numbers_run_out(void **state)
{
	struct sim *sim = sim_new(36, 3);
	struct vnet v = build_tcp(3000, 1000, 1);

	(void)state;
	sim_connect(sim, 0, 1, AF_INET);
	sim_connect(sim, 0, 2, AF_INET);
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_send(sim, 0, 2, SIM_PING_LEN);
	sim_run(sim, 10 * SECOND);
	sim->node[1].capture = true;
	sim_peer(sim, 0, 1)->slots.current->send_counter = REJECT_AFTER_MESSAGES - 2;
	sim_send(sim, 0, 2, 500);
	send_super(sim, &v, 3000);
	sim_send(sim, 0, 2, 700);
	sim_run(sim, SECOND);
	assert_int_equal(sim->flow[0][2].delivered, 3);
	expect_segments(sim, &v, 3000);
	assert_int_equal(sim_drops(&sim->node[1]) + sim_drops(&sim->node[2]), 0);
	sim_free(sim);
}

/* Two flows that alternate, over a wire that keeps their order: each becomes one. */
static void test_two_flows(void **state)
{
	struct sim *sim = established(35);
	struct vnet v = build_tcp(6 * 1000, 1000, 1);
	uint8_t segment[2][IO_PACKET_MAX];
	struct gso gso[2];
	uint32_t len;

	(void)state;
	for (unsigned k = 0; k < 2; k++)
		assert_true(gso_begin(&gso[k], super, PAYLOAD_OFF + 6 * 1000, &v));
	for (unsigned i = 0; i < 6; i++) {
		for (unsigned k = 0; k < 2; k++) {
			uint8_t *tcp = segment[k] + TCP_OFF;

			len = gso_next(&gso[k], segment[k]);
			be16_store(tcp + 16, checksum_update(be16_load(tcp + 16), 1000,
							     (uint16_t)(1000 + k)));
			be16_store(tcp, (uint16_t)(1000 + k));
			sim_host_send(sim, 0, segment[k], len);
		}
	}
	sim_run(sim, SECOND);
	assert_int_equal(sim->node[1].merged_writes, 2);
	assert_int_equal(sim->node[1].delivered, 1 + 12);
	sim_free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_there_and_together, sim_teardown),
		cmocka_unit_test_teardown(test_finest_segments, sim_teardown),
		cmocka_unit_test_teardown(test_staged, sim_teardown),
		cmocka_unit_test_teardown(test_merging_refused, sim_teardown),
		cmocka_unit_test_teardown(test_narrow_path, sim_teardown),
		cmocka_unit_test_teardown(test_narrow_path_answer, sim_teardown),
		cmocka_unit_test_teardown(test_numbers_run_out, sim_teardown),
		cmocka_unit_test_teardown(test_two_flows, sim_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
