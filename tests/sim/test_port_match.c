/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which packets are a port's: its VTEP, UDP port and VNI, with the I flag and whole.
 * All else is the device's, fragments excepted. And several ports in one batch.
 */
#include <stdlib.h>
#include <string.h>

#include "offload/be.h"
#include "offload/ip.h"
#include "sim.h"

#define SECOND NSEC_PER_SEC

enum { LEN4 = 36 + 154 };

/* A port on node 1 alone. */
static struct sim *one_port(uint64_t seed, int version, struct sim_port **ret)
{
	const struct port_config c = sim_port_config(1, version);
	struct sim *sim = sim_new(seed, 2);

	sim_connect(sim, 0, 1, AF_INET);
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, SECOND);
	assert_int_equal(sim->flow[0][1].delivered, 1);
	*ret = sim_port_new(sim, 1, &c);
	return sim;
}

enum whose { PORT, DEVICE, FRAGMENT };

/* A change of bytes from the outer UDP header on, or (@ip) of the IP header. */
struct change {
	bool ip;
	uint8_t at, value;
	enum whose whose;
};

static const struct change changes[] = {
	{false, 0, 0, PORT},	  /* any source port */
	{false, 3, 0xb6, DEVICE}, /* UDP port 4790 */
	{false, 2, 0, DEVICE},	  /* 181 */
	{false, 8, 0, DEVICE},	  /* no I flag */
	{false, 8, 0xf7, DEVICE}, /* all but the I flag */
	{false, 8, 0xff, PORT},	  /* reserved flags */
	{false, 9, 0xff, PORT},	  /* reserved bytes */
	{false, 10, 1, PORT},
	{false, 11, 0x80, PORT},
	{false, 12, 0x13, DEVICE}, /* VNI */
	{false, 13, 0, DEVICE},
	{false, 14, 0x57, DEVICE},
	{false, 15, 0xff, PORT},   /* reserved */
	{false, 5, 0, DEVICE},	   /* UDP length is not the packet's */
	{true, 1, 0xfc, PORT},	   /* DSCP */
	{true, 4, 0x99, PORT},	   /* any IP ID */
	{true, 6, 0x40, PORT},	   /* DF */
	{true, 6, 0x20, FRAGMENT}, /* the first one */
	{true, 7, 0x01, DEVICE},   /* a later one: whose it is cannot be told */
	{true, 8, 1, PORT},	   /* TTL is no matter here */
	{true, 9, IP_PROTO_TCP, DEVICE},
};

static void check_change(const struct change *change, uint64_t n)
{
	struct sim_frame *f = sim_frame_finished(&(struct sim_frame_args){.payload = 100});
	struct sim_port *p;
	struct sim *sim = one_port(n, 4, &p);
	struct lane *lane = &sim->node[1].lane;
	uint8_t packet[LEN4];

	assert_int_equal(sim_vxlan(packet, 4, 0, 1, 0, f->data, f->len), LEN4);
	packet[change->at + (change->ip ? 0 : 20)] = change->value;
	sim_host_send(sim, 0, packet, sizeof(packet));
	sim_run(sim, SECOND);
	assert_int_equal(sim->node[1].others, change->whose == DEVICE);
	assert_int_equal(lane->self.stats.drop[DROP_PORT_FRAGMENT], change->whose == FRAGMENT);
	assert_int_equal(sim_drops(&sim->node[1]), change->whose == FRAGMENT);
	if (change->whose == PORT)
		sim_expect(p, f);
	if (change->whose == DEVICE)
		assert_memory_equal(sim->node[1].last, packet, LEN4);
	sim_expect_nothing(p);
	free(f);
	sim_free(sim);
}

static void test_fields(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		check_change(&changes[i], i);
}

/* Another address of ours is another VTEP: the other family's, too. */
static void test_other_vtep(void **state)
{
	static const uint8_t second[4] = {10, 0, 0, 99};
	struct sim_frame *f = sim_frame_finished(&(struct sim_frame_args){.payload = 100});
	struct sim_port *p;
	struct sim *sim = one_port(50, 4, &p);
	uint8_t packet[SIM_PACKET_MAX];
	size_t len;

	(void)state;
	assert_int_equal(allowedips_insert(&sim->node[0].lane.allowed, second, 4, 32,
					   &sim_peer(sim, 0, 1)->allowed),
			 0);
	len = sim_vxlan(packet, 4, 0, 1, 0, f->data, f->len);
	memcpy(packet + 16, second, 4);
	sim_host_send(sim, 0, packet, len);
	len = sim_vxlan(packet, 6, 0, 1, 0, f->data, f->len);
	sim_host_send(sim, 0, packet, len);
	sim_run(sim, SECOND);
	assert_int_equal(sim->node[1].others, 2);
	sim_expect_nothing(p);
	free(f);
	sim_free(sim);
}

/* An IPv6 fragment header: the first fragment is known by its UDP port. */
static void test_ipv6_fragments(void **state)
{
	struct sim_frame *f = sim_frame_finished(&(struct sim_frame_args){.payload = 100});
	struct sim_port *p;
	struct sim *sim = one_port(51, 6, &p);
	struct lane *lane = &sim->node[1].lane;
	uint8_t packet[SIM_PACKET_MAX];
	size_t len = sim_vxlan(packet, 6, 0, 1, 0, f->data, f->len);

	(void)state;
	memmove(packet + 48, packet + 40, len - 40);
	memset(packet + 40, 0, 8);
	packet[6] = 44;
	packet[40] = IP_PROTO_UDP;
	packet[43] = 1; /* offset 0, more follow */
	len += 8;
	be16_store(packet + 4, (uint16_t)(len - 40));
	sim_host_send(sim, 0, packet, len);
	sim_run(sim, SECOND);
	assert_int_equal(lane->self.stats.drop[DROP_PORT_FRAGMENT], 1);
	assert_int_equal(sim->node[1].others, 0);
	/* To another UDP port it is none of ours. */
	packet[51]++;
	sim_host_send(sim, 0, packet, len);
	packet[51]--;
	packet[43] = 9; /* and a later one cannot be told */
	sim_host_send(sim, 0, packet, len);
	sim_run(sim, SECOND);
	assert_int_equal(sim->node[1].others, 2);
	assert_int_equal(sim_drops(&sim->node[1]), 1);
	sim_expect_nothing(p);
	free(f);
	sim_free(sim);
}

/* Too short for a frame. */
static void test_short_packets(void **state)
{
	const uint8_t bytes[20] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5};
	struct sim_port *p;
	struct sim *sim = one_port(52, 4, &p);
	uint8_t packet[SIM_PACKET_MAX];

	(void)state;
	for (size_t len = 0; len < 14; len++) {
		sim_host_send(sim, 0, packet, sim_vxlan(packet, 4, 0, 1, 0, bytes, len));
		sim_run(sim, SECOND / 10);
		sim_expect_nothing(p);
		assert_int_equal(sim->node[1].others, len + 1);
	}
	sim_host_send(sim, 0, packet, sim_vxlan(packet, 4, 0, 1, 0, bytes, 14));
	/* Not even a UDP header. */
	packet[2] = 0;
	packet[3] = 24;
	sim_host_send(sim, 0, packet, 24);
	sim_run(sim, SECOND);
	sim_expect_bytes(p, bytes, 14);
	assert_int_equal(sim->node[1].others, 15);
	sim_free(sim);
}

enum { PORTS = 4, ROUNDS = 30 };

static struct sim_frame *frame_of(unsigned k, unsigned round)
{
	return sim_frame_finished(
		&(struct sim_frame_args){.payload = 500 + k, .seq = round * 1000});
}

/* VNIs, UDP ports and families that differ in one thing each. */
static void make_ports(struct sim *sim, struct sim_port *p[2][PORTS])
{
	for (unsigned i = 0; i < 2; i++) {
		for (unsigned k = 0; k < PORTS; k++) {
			struct port_config c = sim_port_config(i, k == 3 ? 6 : 4);
			const struct vtep other = sim_vtep(!i, k == 3 ? 6 : 4);

			c.vni += k == 1;
			c.udp_port += k == 2;
			p[i][k] = sim_port_new(sim, i, &c);
			assert_int_equal(fdb_flood_add(p[i][k]->port->fdb, &other), 0);
		}
	}
}

static void send_round(struct sim *sim, struct sim_port *p[PORTS], unsigned round)
{
	for (unsigned k = 0; k < PORTS; k++) {
		struct sim_frame *f = frame_of(k, round);

		sim_port_send(p[k], f);
		free(f);
		sim_settle(sim);
	}
}

static void expect_rounds(struct sim_port *p[PORTS])
{
	for (unsigned k = 0; k < PORTS; k++) {
		for (unsigned round = 0; round < ROUNDS; round++) {
			struct sim_frame *f = frame_of(k, round);

			sim_expect(p[k], f);
			free(f);
		}
		sim_expect_nothing(p[k]);
	}
}

/* In turn, with packets for the device between or without: all of it is there at
 * once, and each gets its own in order. */
static void test_several_ports_in_one_batch(void **state)
{
	(void)state;
	for (unsigned device = 0; device < 2; device++) {
		struct sim_port *p[2][PORTS];
		struct sim *sim = sim_new(53, 2);
		uint64_t reads;

		sim_connect(sim, 0, 1, AF_INET);
		sim_send(sim, 0, 1, SIM_PING_LEN);
		sim_run(sim, SECOND);
		make_ports(sim, p);
		for (unsigned round = 0; round < ROUNDS; round++) {
			send_round(sim, p[0], round);
			if (device)
				sim_send(sim, 0, 1, 300);
			sim_settle(sim);
		}
		reads = sim->node[1].lane.self.stats.udp_reads;
		sim_run(sim, SECOND);
		/* Lengths differ, so little is bundled: a read has all kinds. */
		assert_in_range(sim->node[1].lane.self.stats.udp_reads - reads, 1,
				ROUNDS * (PORTS + 1) / MESSAGES_MAX + 1);
		expect_rounds(p[1]);
		assert_int_equal(sim->flow[0][1].delivered, 1 + device * ROUNDS);
		assert_int_equal(sim->flow[0][1].overtaken, 0);
		assert_int_equal(sim->node[1].others, 0);
		assert_int_equal(sim_drops(&sim->node[0]) + sim_drops(&sim->node[1]), 0);
		sim_free(sim);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_fields, sim_teardown),
		cmocka_unit_test_teardown(test_other_vtep, sim_teardown),
		cmocka_unit_test_teardown(test_ipv6_fragments, sim_teardown),
		cmocka_unit_test_teardown(test_short_packets, sim_teardown),
		cmocka_unit_test_teardown(test_several_ports_in_one_batch, sim_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
