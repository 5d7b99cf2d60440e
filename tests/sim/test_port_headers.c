/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outer headers, as a lane without a port hands them to its host, and packets of
 * such a host into a port. Expected bytes are RFC 791, 8200, 768 and 7348, by hand.
 */
#include <stdlib.h>
#include <string.h>

#include "offload/be.h"
#include "offload/ip.h"
#include "sim.h"

#define SECOND NSEC_PER_SEC

enum { FRAME_LEN = 60, OUTER4_LEN = 36, OUTER6_LEN = 56 };

/* A port on node 0 alone; node 1 keeps what its device is given. */
static struct sim *one_port(uint64_t seed, const struct port_config *config, struct sim_port **ret)
{
	const int version = config->local.addr_len == 4 ? 4 : 6;
	const struct vtep other = sim_vtep(1, version);
	struct sim *sim = sim_new(seed, 2);
	uint8_t mac[6];

	sim_connect(sim, 0, 1, AF_INET);
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, SECOND);
	assert_int_equal(sim->flow[0][1].delivered, 1);
	*ret = sim_port_new(sim, 0, config);
	sim_mac(2, mac);
	assert_int_equal(fdb_set((*ret)->port->fdb, mac, &other), 0);
	sim->node[1].capture = true;
	return sim;
}

static struct sim_packet *take(struct sim *sim)
{
	struct sim_packet *sp;

	sim_run(sim, 2 * NSEC_PER_MSEC);
	sp = STAILQ_FIRST(&sim->node[1].captured);
	assert_non_null(sp);
	STAILQ_REMOVE_HEAD(&sim->node[1].captured, entry);
	return sp;
}

/* Not IP. */
static void build(uint8_t frame[FRAME_LEN])
{
	for (unsigned i = 0; i < FRAME_LEN; i++)
		frame[i] = (uint8_t)i;
	sim_mac(2, frame);
	sim_mac(1, frame + 6);
	be16_store(frame + 12, 0x88b5);
}

/* The source port is any dynamic one: @expected has none. */
static void expect_outer(struct sim_packet *sp, const uint8_t *expected, uint32_t len,
			 uint32_t udp_off, const uint8_t frame[FRAME_LEN])
{
	assert_int_equal(sp->len, len + FRAME_LEN);
	assert_true(be16_load(sp->data + udp_off) >= 49152);
	memset(sp->data + udp_off, 0, 2);
	assert_memory_equal(sp->data, expected, len);
	assert_memory_equal(sp->data + len, frame, FRAME_LEN);
	free(sp);
}

static void test_ipv4(void **state)
{
	static const uint8_t expected[OUTER4_LEN] = {
		0x45, 0, 0, 96, 0,    0,    0, 0,  64, 17, 0x66, 0x8b, 10, 0, 0,    1,	  10,	0,
		0,    2, 0, 0,	0x12, 0xb5, 0, 76, 0,  0,  0x08, 0,    0,  0, 0x12, 0x34, 0x56, 0};
	const struct port_config c = sim_port_config(0, 4);
	struct sim_port *port;
	struct sim *sim = one_port(1, &c, &port);
	uint8_t frame[FRAME_LEN];

	(void)state;
	build(frame);
	sim_port_send_bytes(port, frame, sizeof(frame));
	expect_outer(take(sim), expected, sizeof(expected), 20, frame);
	sim_free(sim);
}

/* Checksum, TTL, DSCP, UDP port and VNI are the configuration's. */
static void test_ipv4_configured(void **state)
{
	static const uint8_t expected[OUTER4_LEN] = {0x45, 0xb8, 0, 96, 0, 0,  0,    0, 7, 17, 0x9e,
						     0xd3, 10,	 0, 0,	1, 10, 0,    0, 2, 0,  0,
						     0x21, 0x18, 0, 76, 0, 0,  0x08, 0, 0, 0,  0xff,
						     0xff, 0xff, 0};
	struct port_config c = sim_port_config(0, 4);
	uint8_t frame[FRAME_LEN];
	struct sim_packet *sp;
	struct sim_port *port;
	struct sim *sim;

	(void)state;
	c.ttl = 7;
	c.dscp = 46;
	c.udp_port = 8472;
	c.vni = 0xffffff;
	c.checksum = true;
	sim = one_port(2, &c, &port);
	build(frame);
	sim_port_send_bytes(port, frame, sizeof(frame));
	sp = take(sim);
	assert_int_not_equal(be16_load(sp->data + 26), 0);
	assert_int_equal(sim_checksum(sp->data, IP_PROTO_UDP, sp->data + 20, sp->len - 20), 0);
	memset(sp->data + 26, 0, 2);
	expect_outer(sp, expected, sizeof(expected), 20, frame);
	sim_free(sim);
}

static void test_ipv6(void **state)
{
	uint8_t expected[OUTER6_LEN] = {
		0x60, 0,	  0,	       0,	    0,	      76,	   17,
		64,   [8] = 0xfd, [23] = 1,    [24] = 0xfd, [39] = 2, [42] = 0x12, 0xb5,
		0,    76,	  [48] = 0x08, [52] = 0x12, 0x34,     0x56,
	};
	uint8_t frame[FRAME_LEN];

	(void)state;
	build(frame);
	for (unsigned i = 0; i < 4; i++) {
		struct port_config c = sim_port_config(0, 6);
		struct sim_packet *sp;
		struct sim_port *port;
		struct sim *sim;

		c.checksum = i & 1;
		c.dscp = i & 2 ? 0x2a : 0; /* 0xa8 as a traffic class */
		sim = one_port(3, &c, &port);
		sim_port_send_bytes(port, frame, sizeof(frame));
		sp = take(sim);
		assert_int_equal(be16_load(sp->data + 46) != 0, i & 1);
		if (i & 1)
			assert_int_equal(
				sim_checksum(sp->data, IP_PROTO_UDP, sp->data + 40, sp->len - 40),
				0);
		memset(sp->data + 46, 0, 2);
		expected[0] = i & 2 ? 0x6a : 0x60;
		expected[1] = i & 2 ? 0x80 : 0;
		expect_outer(sp, expected, sizeof(expected), 40, frame);
		sim_free(sim);
	}
}

struct tos_case {
	uint8_t dscp;
	bool inherit;
	uint8_t inner, outer;
};

/* ECN is always the inner packet's, but a way starts unmarked. */
static void test_dscp_and_ecn(void **state)
{
	static const struct tos_case cases[] = {
		{0, false, 0xb8, 0x00},	 {46, false, 0x28, 0xb8}, {46, false, 0x29, 0xb9},
		{46, false, 0x2a, 0xba}, {46, false, 0x2b, 0xba}, {0, true, 0x28, 0x28},
		{46, true, 0x29, 0x29},	 {46, true, 0x2b, 0x2a},
	};

	(void)state;
	for (size_t i = 0; i < 4 * sizeof(cases) / sizeof(cases[0]); i++) {
		const struct tos_case *t = &cases[i / 4];
		const int outer = i & 1 ? 6 : 4, inner = i & 2 ? 6 : 4;
		struct port_config c = sim_port_config(0, outer);
		struct sim_packet *sp;
		struct sim_frame *f;
		struct sim_port *port;
		struct sim *sim;

		c.dscp = t->dscp;
		c.inherit_dscp = t->inherit;
		sim = one_port(4, &c, &port);
		f = sim_frame_finished(&(struct sim_frame_args){
			.version = inner, .tos = t->inner, .payload = 9, .n_tags = i & 2 ? 2 : 0});
		sim_port_send(port, f);
		sp = take(sim);
		if (outer == 4)
			assert_int_equal(sp->data[1], t->outer);
		else
			assert_int_equal(be16_load(sp->data) >> 4 & 0xff, t->outer);
		assert_memory_equal(sp->data + sp->len - f->len, f->data, f->len);
		free(sp);
		free(f);
		sim_free(sim);
	}
}

/* IPv4 IDs count packets, those of superpackets, too, so that a receiver may merge;
 * one flow has one source port. */
static void test_ids_count_on(void **state)
{
	static const unsigned segments[] = {1, 7, 1, 148, 2};
	const struct port_config c = sim_port_config(0, 4);
	struct sim_port *port;
	struct sim *sim = one_port(5, &c, &port);
	uint16_t id = 0, source = 0;

	(void)state;
	for (unsigned i = 0; i < sizeof(segments) / sizeof(segments[0]); i++) {
		struct sim_frame *f = sim_frame_new(&(struct sim_frame_args){
			.mss = segments[i] > 1 ? 1300 : 0, .payload = segments[i] * 1300});

		sim_port_send(port, f);
		for (unsigned k = 0; k < segments[i]; k++) {
			struct sim_packet *sp = take(sim);

			assert_int_equal(be16_load(sp->data + 4), id++);
			assert_int_equal(sp->data[6] << 8 | sp->data[7], 0);
			source = source ? source : be16_load(sp->data + 20);
			assert_int_equal(be16_load(sp->data + 20), source);
			assert_int_equal(be16_load(sp->data + 2), sp->len);
			assert_int_equal(be16_load(sp->data + 24), sp->len - 20);
			free(sp);
		}
		free(f);
	}
	assert_true(STAILQ_EMPTY(&sim->node[1].captured));
	sim_free(sim);
}

/* A superpacket's segments have finished checksums, outer ones where there are any. */
static void test_superpacket_to_a_host(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		const int outer = i & 1 ? 6 : 4, outer_len = i & 1 ? 40 : 20;
		struct port_config c = sim_port_config(0, outer);
		struct sim_port *port;
		struct sim_frame *f;
		struct sim *sim;

		c.checksum = i & 2;
		sim = one_port(6, &c, &port);
		f = sim_frame_new(&(struct sim_frame_args){
			.version = i & 2 ? 6 : 4, .mss = 1001, .payload = 100 * 1001 + 5});
		sim_port_send(port, f);
		for (unsigned k = 0; k < 101; k++) {
			struct sim_packet *sp = take(sim);
			const uint8_t *udp = sp->data + outer_len, *ip = udp + 16 + 14;
			const uint32_t hdr = i & 2 ? 40 : 20;
			const uint32_t left = sp->len - (uint32_t)(ip - sp->data);

			assert_int_equal(be16_load(udp + 6) != 0, (i & 2) != 0);
			if (i & 2)
				assert_int_equal(sim_checksum(sp->data, IP_PROTO_UDP, udp,
							      sp->len - outer_len),
						 0);
			assert_int_equal(sim_checksum(ip, IP_PROTO_TCP, ip + hdr, left - hdr), 0);
			assert_int_equal(left, hdr + 20 + (k < 100 ? 1001 : 5));
			assert_int_equal(be32_load(ip + hdr + 4), k * 1001);
			free(sp);
		}
		free(f);
		sim_free(sim);
	}
}

/* A port on node 1 alone: single packets and a superpacket of the kernel's VXLAN. */
static void test_from_a_host(void **state)
{
	(void)state;
	for (int outer = 4; outer <= 6; outer += 2) {
		const uint16_t outer_len = outer == 4 ? OUTER4_LEN : OUTER6_LEN;
		const struct port_config c = sim_port_config(1, outer);
		static uint8_t packet[IO_PACKET_MAX];
		struct sim *sim = sim_new(7, 2);
		struct sim_port *port;
		struct sim_frame *f;
		struct vnet v;
		size_t len;

		sim_connect(sim, 0, 1, AF_INET);
		port = sim_port_new(sim, 1, &c);
		f = sim_frame_finished(&(struct sim_frame_args){.payload = 500});
		len = sim_vxlan(packet, outer, 0, 1, 0, f->data, f->len);
		sim_host_send(sim, 0, packet, len);
		sim_run(sim, SECOND);
		sim_expect(port, f);
		/* A checksum that is there must be right, or it is not the port's. */
		be16_store(packet + outer_len - 10,
			   sim_checksum(packet, IP_PROTO_UDP, packet + outer_len - 16,
					len - outer_len + 16));
		sim_host_send(sim, 0, packet, len);
		sim_run(sim, SECOND);
		sim_expect(port, f);
		packet[len - 1] ^= 1;
		sim_host_send(sim, 0, packet, len);
		sim_run(sim, SECOND);
		sim_expect_nothing(port);
		assert_int_equal(sim->node[1].others, 1);
		free(f);

		f = sim_frame_new(&(struct sim_frame_args){.mss = 1300, .payload = 60000});
		len = sim_vxlan(packet, outer, 0, 1, 0, f->data, f->len);
		v = f->vnet;
		v.tunnel = outer == 4 ? VNET_TUNNEL_V4 : VNET_TUNNEL_V6;
		v.csum_start = (uint16_t)(v.csum_start + outer_len);
		v.hdr_len = (uint16_t)(v.hdr_len + outer_len);
		v.outer_l4_off = outer_len - 16;
		v.inner_l3_off = outer_len + 14;
		sim_host_send_super(sim, 0, packet, len, &v);
		sim_run(sim, SECOND);
		assert_int_equal(port->superpackets, 1);
		sim_expect(port, f);
		sim_expect_nothing(port);
		free(f);
		sim_free(sim);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_ipv4, sim_teardown),
		cmocka_unit_test_teardown(test_ipv4_configured, sim_teardown),
		cmocka_unit_test_teardown(test_ipv6, sim_teardown),
		cmocka_unit_test_teardown(test_dscp_and_ecn, sim_teardown),
		cmocka_unit_test_teardown(test_ids_count_on, sim_teardown),
		cmocka_unit_test_teardown(test_superpacket_to_a_host, sim_teardown),
		cmocka_unit_test_teardown(test_from_a_host, sim_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
