/* SPDX-License-Identifier: Apache-2.0 */
/* ARP requests and neighbour solicitations: answered by the port, or flooded. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "offload/be.h"
#include "offload/ip.h"
#include "sim.h"

#define SECOND NSEC_PER_SEC

enum { ARP_LEN = 42, ND_LEN = 14 + 40 + 24 + 8, KNOWN = 9, UNKNOWN = 10 };

/* Host 1 asks for @host. */
static size_t build_arp(uint8_t *frame, unsigned host)
{
	static const uint8_t arp[ARP_LEN] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,	 0,  0, 0, 0, 1, 8, 6, /* Ethernet */
		0,    1,    8,	  0,	6,    4,    0,	 1,		       /* request */
		2,    0,    0,	  0,	0,    1,    172, 16, 0, 1,	       /* sender */
		0,    0,    0,	  0,	0,    0,    172, 16, 0, 0,	       /* target */
	};

	memcpy(frame, arp, ARP_LEN);
	frame[41] = (uint8_t)host;
	return ARP_LEN;
}

static size_t build_nd(uint8_t *frame, unsigned host)
{
	static const uint8_t nd[ND_LEN] = {
		0x33,
		0x33,
		0xff,
		0,
		0,
		0,
		2,
		0,
		0,
		0,
		0,
		1,
		0x86,
		0xdd, /* Ethernet */
		0x60,
		0,
		0,
		0,
		0,
		32,
		IP_PROTO_ICMP6,
		255, /* IPv6 */
		0xfd,
		1,
		[14 + 23] = 1, /* from fd01::1 */
		[14 + 24] = 0xff,
		2,
		[14 + 35] = 1,
		[14 + 36] = 0xff, /* to ff02::1:ff00:h */
		[14 + 40] = 135,
		[14 + 48] = 0xfd,
		1, /* for fd01::h */
		[14 + 64] = 1,
		1,
		2,
		0,
		0,
		0,
		0,
		1, /* source address */
	};

	memcpy(frame, nd, ND_LEN);
	frame[5] = frame[14 + 39] = frame[14 + 63] = (uint8_t)host;
	be16_store(frame + 14 + 42,
		   sim_checksum(frame + 14, IP_PROTO_ICMP6, frame + 54, ND_LEN - 54));
	return ND_LEN;
}

static size_t add_tag(uint8_t *frame, size_t len)
{
	memmove(frame + 16, frame + 12, len - 12);
	memcpy(frame + 12, (const uint8_t[]){0x81, 0, 0, 42}, 4);
	return len + 4;
}

static struct sim *answering(uint64_t seed, bool on, struct sim_port *port[2])
{
	struct neighbour v4 = {.addr = {172, 16, 0, KNOWN}, .addr_len = 4};
	struct neighbour v6 = {.addr = {0xfd, 1, [15] = KNOWN}, .addr_len = 16};
	char err_text[PORT_ERR_LEN] = "";
	struct sim *sim = sim_new(seed, 2);
	struct port_config c;

	sim_connect(sim, 0, 1, AF_INET);
	sim_port_pair(sim, 4, port);
	sim_mac(KNOWN, v4.mac);
	sim_mac(KNOWN, v6.mac);
	assert_int_equal(neightab_set(port[0]->port->neighbours, &v4), 0);
	assert_int_equal(neightab_set(port[0]->port->neighbours, &v6), 0);
	c = port[0]->port->config;
	c.answer_neighbours = on;
	assert_int_equal(port_configure(port[0]->port, &c, err_text), 0);
	return sim;
}

/* @answer as RFC 826 and RFC 4861 4.4 have it, to host 1 from the known one. */
static void check_arp_answer(const uint8_t *p)
{
	static const uint8_t expected[ARP_LEN] = {
		2, 0, 0, 0, 0, 1, 2,	 0,   0,  0, 0,	    KNOWN, 8, 6, 0, 1, 8, 0,   6,  4, 0,
		2, 2, 0, 0, 0, 0, KNOWN, 172, 16, 0, KNOWN, 2,	   0, 0, 0, 0, 1, 172, 16, 0, 1,
	};

	assert_memory_equal(p, expected, ARP_LEN);
}

static void check_nd_answer(const uint8_t *p)
{
	static const uint8_t ether[14] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, KNOWN, 0x86, 0xdd};
	static const uint8_t addresses[32] = {0xfd, 1, [15] = KNOWN, 0xfd, 1, [31] = 1};
	static const uint8_t option[8] = {2, 1, 2, 0, 0, 0, 0, KNOWN};

	assert_memory_equal(p, ether, sizeof(ether));
	assert_int_equal(p[14 + 6], IP_PROTO_ICMP6);
	assert_int_equal(p[14 + 7], 255);
	assert_memory_equal(p + 14 + 8, addresses, sizeof(addresses));
	assert_int_equal(p[54], 136);
	assert_int_equal(p[58], 0x40); /* solicited: not a router, not overriding */
	assert_memory_equal(p + 62, addresses, 16);
	assert_memory_equal(p + 78, option, sizeof(option));
	assert_int_equal(sim_checksum(p + 14, IP_PROTO_ICMP6, p + 54, ND_LEN - 54), 0);
}

struct question {
	size_t (*build)(uint8_t *frame, unsigned host);
	void (*check)(const uint8_t *answer);
	size_t len;
};

static const struct question questions[] = {
	{build_arp, check_arp_answer, ARP_LEN},
	{build_nd, check_nd_answer, ND_LEN},
};

static void check_answered(const struct question *q, bool tagged)
{
	struct sim_frame *answer;
	struct sim_port *port[2];
	struct sim *sim = answering(1, true, port);
	uint8_t frame[200];
	size_t len = q->build(frame, KNOWN);

	if (tagged)
		len = add_tag(frame, len);
	sim_port_send_bytes(port[0], frame, len);
	sim_run(sim, SECOND);
	answer = sim_port_take(port[0]);
	assert_non_null(answer);
	assert_int_equal(answer->len, len);
	if (tagged) {
		assert_int_equal(be32_load(answer->data + 12), 0x8100002a);
		memmove(answer->data + 12, answer->data + 16, answer->len - 16);
	}
	q->check(answer->data);
	free(answer);
	sim_expect_nothing(port[0]);
	sim_expect_nothing(port[1]); /* not flooded */
	assert_int_equal(port[0]->port->queue[0].stats.answered, 1);
	assert_int_equal(port[0]->port->queue[0].stats.flooded, 0);
	assert_int_equal(sim_drops(&sim->node[0]), 0);
	sim_free(sim);
}

static void test_answered(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++)
		check_answered(&questions[i / 2], i % 2);
}

/* Unknown, or not to be answered: the question travels as it is. */
static void test_flooded(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		const bool on = i & 2, known = !on || !(i & 4);
		struct sim_port *port[2];
		struct sim *sim = answering(2, on, port);
		uint8_t frame[200];
		size_t len = questions[i & 1].build(frame, on || !known ? UNKNOWN : KNOWN);

		sim_port_send_bytes(port[0], frame, len);
		sim_run(sim, SECOND);
		sim_expect_bytes(port[1], frame, len);
		sim_expect_nothing(port[0]);
		assert_int_equal(port[0]->port->queue[0].stats.answered, 0);
		sim_free(sim);
	}
}

/* A question from the network is for the host to answer, which comes back. */
static void test_questions_from_the_network(void **state)
{
	struct sim_port *port[2];
	struct sim *sim = answering(3, true, port);
	uint8_t frame[200];

	(void)state;
	sim_port_send_bytes(port[1], frame, build_arp(frame, KNOWN));
	sim_run(sim, SECOND);
	sim_expect_bytes(port[0], frame, ARP_LEN);
	sim_expect_nothing(port[1]);
	sim_free(sim);
}

/* The device is gone in the middle of it. */
static void test_answer_to_a_device_that_is_gone(void **state)
{
	struct sim_port *port[2];
	struct sim *sim = answering(4, true, port);
	struct lane *lane = &sim->node[0].lane;
	uint8_t frame[200];

	(void)state;
	port[0]->write_err = -ENODEV;
	port[0]->n_write_errs = SIM_ALWAYS;
	sim_port_send_bytes(port[0], frame, build_arp(frame, KNOWN));
	sim_run(sim, SECOND);
	assert_null(port[0]->port);
	assert_int_equal(lane->ports.n, 0);
	sim_free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_answered, sim_teardown),
		cmocka_unit_test_teardown(test_flooded, sim_teardown),
		cmocka_unit_test_teardown(test_questions_from_the_network, sim_teardown),
		cmocka_unit_test_teardown(test_answer_to_a_device_that_is_gone, sim_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
