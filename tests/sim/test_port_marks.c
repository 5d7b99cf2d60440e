/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Congestion marks on their way through both tunnels (RFC 6040): of the WireGuard
 * datagram to the VXLAN packet, and of that to what is inside.
 */
#include <stdlib.h>
#include <string.h>

#include "offload/be.h"
#include "offload/checksum.h"
#include "offload/ip.h"
#include "sim.h"

#define SECOND NSEC_PER_SEC

enum { NOT_ECT, ECT1, ECT0, CE };

struct mark {
	uint8_t inner, vxlan; /* as sent */
	bool congested;	      /* on the way of the WireGuard datagram */
	uint8_t expected;     /* of the inner packet */
	bool dropped;
};

static const struct mark marks[] = {
	{NOT_ECT, NOT_ECT, false, NOT_ECT, false},
	{ECT0, ECT0, false, ECT0, false},
	{ECT1, ECT1, false, ECT1, false},
	{CE, ECT0, false, CE, false},
	{ECT0, ECT1, false, ECT1, false},
	{ECT1, ECT0, false, ECT1, false},
	{NOT_ECT, ECT0, false, NOT_ECT, false},
	/* the VXLAN packet was marked on its own way */
	{ECT0, CE, false, CE, false},
	{ECT1, CE, false, CE, false},
	{CE, CE, false, CE, false},
	{NOT_ECT, CE, false, 0, true},
	/* the WireGuard datagram was: one that says nothing of ECN outside is not to be
	 * marked, and nothing may be made of that */
	{NOT_ECT, NOT_ECT, true, NOT_ECT, false},
	{ECT0, ECT0, true, CE, false},
	{ECT1, ECT1, true, CE, false},
	{CE, ECT0, true, CE, false},
	{NOT_ECT, ECT0, true, 0, true},
};

static bool mark_congested(struct sim *sim, struct sim_datagram *d, uint64_t *delay_ns)
{
	(void)delay_ns;
	if (sim->filter_arg)
		d->tos |= CE;
	return true;
}

static struct sim *one_port(uint64_t seed, int version, struct sim_port **ret)
{
	const struct port_config c = sim_port_config(1, version);
	struct sim *sim = sim_new(seed, 2);

	sim_connect(sim, 0, 1, AF_INET);
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, SECOND);
	*ret = sim_port_new(sim, 1, &c);
	sim->filter = mark_congested;
	return sim;
}

static void set_expected(struct sim_frame *f, uint32_t l3_off, int version, uint8_t ecn)
{
	uint8_t *ip = f->data + l3_off;

	if (version == 6) {
		ip[1] = (uint8_t)((ip[1] & 0xcf) | ecn << 4);
		return;
	}
	ip[1] = (uint8_t)((ip[1] & 0xfc) | ecn);
	be16_store(ip + 10, 0);
	be16_store(ip + 10, checksum_finish(checksum_add(0, ip, 20)));
}

/* @variant: families of both layers, tags. */
static void check_mark(const struct mark *m, unsigned variant, bool ecn)
{
	const int outer = variant & 1 ? 6 : 4, inner = variant & 2 ? 6 : 4;
	const unsigned n_tags = variant & 4 ? 2 : 0;
	const bool dropped = m->dropped && ecn;
	uint8_t packet[SIM_PACKET_MAX];
	struct sim_port *p;
	struct sim *sim = one_port(variant, outer, &p);
	struct sim_frame *f =
		sim_frame_finished(&(struct sim_frame_args){.version = inner,
							    .n_tags = n_tags,
							    .tos = (uint8_t)(0xb8 | m->inner),
							    .payload = 50});

	sim->node[1].lane.offload.ecn = ecn;
	sim->filter_arg = m->congested;
	sim_host_send(sim, 0, packet,
		      sim_vxlan(packet, outer, 0, 1, (uint8_t)(0x28 | m->vxlan), f->data, f->len));
	sim_run(sim, SECOND);
	assert_int_equal(sim->node[1].lane.self.stats.drop[DROP_PORT_ECN], dropped);
	assert_int_equal(sim_drops(&sim->node[1]), dropped);
	set_expected(f, 14 + 4 * n_tags, inner, ecn ? m->expected : m->inner);
	if (!dropped)
		sim_expect(p, f);
	sim_expect_nothing(p);
	/* What is dropped has taught nothing. */
	assert_int_equal(p->port->queue[0].stats.learned, !dropped);
	free(f);
	sim_free(sim);
}

static void test_marks(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		for (unsigned variant = 0; variant < 8; variant++)
			check_mark(&marks[i], variant, true);
	}
}

/* SEALANE_DISABLE_ECN */
static void test_marks_off(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		for (unsigned variant = 0; variant < 8; variant++)
			check_mark(&marks[i], variant, false);
	}
}

/* What is not IP has no marks, so none can be lost. */
static void test_not_ip(void **state)
{
	const uint8_t frame[60] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5};
	uint8_t packet[SIM_PACKET_MAX];
	struct sim_port *p;
	struct sim *sim = one_port(1, 4, &p);

	(void)state;
	sim_host_send(sim, 0, packet, sim_vxlan(packet, 4, 0, 1, CE, frame, sizeof(frame)));
	sim_run(sim, SECOND);
	sim_expect_bytes(p, frame, sizeof(frame));
	assert_int_equal(sim_drops(&sim->node[1]), 0);
	sim_free(sim);
}

/* From port to port, the mark set on the way of every other superpacket. */
static void test_marked_superpackets(void **state)
{
	struct sim_port *port[2];
	struct sim *sim = sim_new(2, 2);

	(void)state;
	sim_connect(sim, 0, 1, AF_INET);
	sim_port_pair(sim, 4, port);
	sim->filter = mark_congested;
	for (unsigned i = 0; i < 6; i++) {
		struct sim_frame_args args = {
			.mss = 1330, .payload = 190000, .seq = i * 190000, .tos = ECT0};
		struct sim_frame *f = sim_frame_new(&args);

		sim->filter_arg = i % 2;
		sim_port_send(port[0], f);
		sim_run(sim, SECOND);
		set_expected(f, 14, 4, i % 2 ? CE : ECT0);
		sim_expect(port[1], f);
		sim_expect_nothing(port[1]);
		assert_int_equal(port[1]->superpackets, i + 1);
		free(f);
	}
	sim_free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_marks, sim_teardown),
		cmocka_unit_test_teardown(test_marks_off, sim_teardown),
		cmocka_unit_test_teardown(test_not_ip, sim_teardown),
		cmocka_unit_test_teardown(test_marked_superpackets, sim_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
