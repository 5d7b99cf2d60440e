/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bridge in a port of node 1, between its host 2 and the VTEPs of the nodes 0 and
 * 2, which have no ports: their devices show what goes where.
 */
#include <stdlib.h>
#include <string.h>

#include "offload/be.h"
#include "offload/ether.h"
#include "sim.h"

#define SECOND NSEC_PER_SEC

static const uint8_t broadcast[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

static struct sim *bridge(uint64_t seed, const struct port_config *config, struct sim_port **ret)
{
	struct sim *sim = sim_new(seed, 3);

	for (unsigned i = 0; i < 3; i++) {
		sim_connect(sim, i, (i + 1) % 3, AF_INET);
		sim_send(sim, i, (i + 1) % 3, SIM_PING_LEN);
	}
	sim_run(sim, SECOND);
	*ret = sim_port_new(sim, 1, config);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(sim->flow[i][(i + 1) % 3].delivered, 1);
		sim->node[i].capture = true;
	}
	return sim;
}

static struct sim *default_bridge(uint64_t seed, struct sim_port **ret)
{
	const struct port_config c = sim_port_config(1, 4);

	return bridge(seed, &c, ret);
}

/* The VTEPs of all nodes, our own among them, as all nodes have them. */
static void flood_to_all(struct sim_port *p)
{
	for (unsigned i = 0; i < 3; i++) {
		const struct vtep vtep = sim_vtep(i, 4);

		assert_int_equal(fdb_flood_add(p->port->fdb, &vtep), 0);
	}
}

/* Host @src to host @dst (0: all), a frame of its own. */
static struct sim_frame *frame(unsigned src, unsigned dst, uint32_t seq)
{
	struct sim_frame *f = sim_frame_finished(
		&(struct sim_frame_args){.src = src, .dst = dst, .payload = 100, .seq = seq});

	if (!dst)
		memcpy(f->data, broadcast, 6);
	return f;
}

static void from_vtep(struct sim *sim, unsigned node, const struct sim_frame *f)
{
	uint8_t packet[SIM_PACKET_MAX];

	sim_host_send(sim, node, packet, sim_vxlan(packet, 4, node, 1, 0, f->data, f->len));
	sim_run(sim, 2 * NSEC_PER_MSEC);
}

/* Host 2 sends @f: does it get to node 0, to node 2? Whole, and once. */
static void send_and_expect(struct sim *sim, struct sim_port *p, const struct sim_frame *f,
			    bool to_0, bool to_2)
{
	sim_port_send(p, f);
	sim_run(sim, 2 * NSEC_PER_MSEC);
	for (unsigned i = 0; i < 3; i++) {
		struct sim_packets *got = &sim->node[i].captured;
		struct sim_packet *sp = STAILQ_FIRST(got);

		assert_int_equal(sp != NULL, i == 0 ? to_0 : i == 2 && to_2);
		if (!sp)
			continue;
		assert_int_equal(sp->len, 36 + f->len);
		assert_memory_equal(sp->data + 36, f->data, f->len);
		assert_int_equal(sp->data[19], i + 1);
		STAILQ_REMOVE_HEAD(got, entry);
		free(sp);
		assert_true(STAILQ_EMPTY(got));
	}
}

static void test_learning_and_moves(void **state)
{
	struct sim_frame *there = frame(1, 2, 0), *back = frame(2, 1, 0);
	struct sim_port *p;
	struct sim *sim = default_bridge(1, &p);

	(void)state;
	flood_to_all(p);
	send_and_expect(sim, p, back, true, true); /* unknown */
	from_vtep(sim, 0, there);
	sim_expect(p, there);
	assert_int_equal(p->port->queue[0].stats.learned, 1);
	send_and_expect(sim, p, back, true, false);
	from_vtep(sim, 0, there); /* nothing new */
	assert_int_equal(p->port->queue[0].stats.learned, 1);
	from_vtep(sim, 2, there);
	assert_int_equal(p->port->queue[0].stats.moved, 1);
	send_and_expect(sim, p, back, false, true);
	assert_int_equal(p->port->queue[0].stats.learned, 1);
	assert_int_equal(p->port->queue[0].stats.flooded, 1);
	assert_int_equal(p->port->queue[0].stats.copies, 2); /* not to ourselves */
	assert_int_equal(sim_drops(&sim->node[1]), 0);
	free(there);
	free(back);
	sim_free(sim);
}

static void test_ageing(void **state)
{
	struct sim_frame *there = frame(1, 2, 0), *back = frame(2, 1, 0);
	struct port_config c = sim_port_config(1, 4);
	struct sim_port *p;
	struct sim *sim;

	(void)state;
	c.fdb.age_ns = 20 * SECOND;
	sim = bridge(2, &c, &p);
	flood_to_all(p);
	from_vtep(sim, 0, there);
	sim_run(sim, 15 * SECOND);
	send_and_expect(sim, p, back, true, false); /* sending is not hearing */
	sim_run(sim, 6 * SECOND);
	send_and_expect(sim, p, back, true, true);
	from_vtep(sim, 0, there);
	sim_run(sim, 15 * SECOND);
	from_vtep(sim, 0, there);
	sim_run(sim, 15 * SECOND);
	send_and_expect(sim, p, back, true, false);
	assert_int_equal(p->port->queue[0].stats.learned, 2);
	free(there);
	free(back);
	sim_free(sim);
}

static void test_static_entry_stays(void **state)
{
	const struct vtep vtep = sim_vtep(0, 4);
	struct sim_frame *there = frame(1, 2, 0), *back = frame(2, 1, 0);
	struct sim_port *p;
	struct sim *sim = default_bridge(3, &p);

	(void)state;
	assert_int_equal(fdb_set(p->port->fdb, there->data + 6, &vtep), 0);
	from_vtep(sim, 2, there);
	sim_expect_nothing(p);
	assert_int_equal(sim->node[1].lane.self.stats.drop[DROP_PORT_SOURCE], 1);
	send_and_expect(sim, p, back, true, false);
	from_vtep(sim, 0, there);
	sim_expect(p, there);
	assert_int_equal(p->port->queue[0].stats.learned + p->port->queue[0].stats.moved, 0);
	assert_int_equal(sim_drops(&sim->node[1]), 1);
	free(there);
	free(back);
	sim_free(sim);
}

static void test_learning_off(void **state)
{
	struct sim_frame *there = frame(1, 2, 0), *back = frame(2, 1, 0);
	struct port_config c = sim_port_config(1, 4);
	struct sim_port *p;
	struct sim *sim;

	(void)state;
	c.fdb.learning = false;
	sim = bridge(4, &c, &p);
	flood_to_all(p);
	from_vtep(sim, 0, there);
	sim_expect(p, there);
	send_and_expect(sim, p, back, true, true);
	assert_int_equal(p->port->queue[0].stats.learned, 0);
	assert_int_equal(fdb_count(p->port->fdb, true), 0);
	free(there);
	free(back);
	sim_free(sim);
}

/* The table is full: frames go on, and what is known stays. */
static void test_table_is_full(void **state)
{
	struct port_config c = sim_port_config(1, 4);
	struct sim_port *p;
	struct sim *sim;

	(void)state;
	c.fdb.learned_limit = 2;
	sim = bridge(5, &c, &p);
	flood_to_all(p);
	for (unsigned host = 11; host <= 13; host++) {
		struct sim_frame *there = frame(host, 2, 0), *back = frame(2, host, 0);

		from_vtep(sim, 0, there);
		sim_expect(p, there);
		send_and_expect(sim, p, back, true, host == 13);
		free(there);
		free(back);
	}
	assert_int_equal(p->port->queue[0].stats.learned, 2);
	assert_int_equal(p->port->queue[0].stats.fdb_full, 1);
	sim_free(sim);
}

/* Addresses that cannot be there: groups, none, and our own. */
static void test_bad_sources(void **state)
{
	static const uint8_t bad[][6] = {{1, 0, 0x5e, 0, 0, 1}, {0}};
	struct sim_frame *f = frame(1, 2, 0);
	struct sim_port *p;
	struct sim *sim = default_bridge(6, &p);
	struct lane *lane = &sim->node[1].lane;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		memcpy(f->data + 6, bad[i], 6);
		from_vtep(sim, 0, f);
		assert_int_equal(lane->self.stats.drop[DROP_PORT_SOURCE], i + 1);
	}
	memcpy(f->data + 6, p->mac, 6);
	from_vtep(sim, 0, f);
	assert_int_equal(lane->self.stats.drop[DROP_PORT_LOOP], 1);
	sim_expect_nothing(p);
	assert_int_equal(fdb_count(p->port->fdb, true), 0);
	assert_int_equal(sim_drops(&sim->node[1]), 3);
	/* The host gives its device another address, which the next delivery sees. */
	free(f);
	p->mac[5] = 0x77;
	f = frame(1, 2, 0);
	from_vtep(sim, 0, f);
	sim_expect(p, f);
	memcpy(f->data + 6, p->mac, 6);
	from_vtep(sim, 0, f);
	sim_expect_nothing(p);
	assert_int_equal(lane->self.stats.drop[DROP_PORT_LOOP], 2);
	free(f);
	sim_free(sim);
}

/* Known before the batch, several sources in one: each is learned. */
static void test_learning_within_a_batch(void **state)
{
	struct sim_port *p;
	struct sim *sim = default_bridge(7, &p);
	const struct vtep vtep = sim_vtep(0, 4);
	uint8_t packet[SIM_PACKET_MAX];

	(void)state;
	for (unsigned i = 0; i < 40; i++) {
		struct sim_frame *f = frame(11 + i % 4, 2, i);

		sim_host_send(sim, 0, packet, sim_vxlan(packet, 4, 0, 1, 0, f->data, f->len));
		free(f);
	}
	sim_run(sim, SECOND);
	assert_int_equal(p->port->queue[0].stats.learned, 4);
	for (unsigned host = 11; host < 15; host++) {
		const struct vtep *to;
		uint8_t mac[6];

		sim_mac(host, mac);
		to = fdb_lookup(p->port->fdb, mac, sim->now_ns);
		assert_non_null(to);
		assert_true(vtep_equal(to, &vtep));
	}
	sim_free(sim);
}

static void test_flooding(void **state)
{
	struct sim_frame *all = frame(2, 0, 0), *unknown = frame(2, 9, 0);
	struct sim_port *p;
	struct sim *sim = default_bridge(8, &p);
	struct lane *lane = &sim->node[1].lane;

	(void)state;
	send_and_expect(sim, p, all, false, false);
	send_and_expect(sim, p, unknown, false, false);
	assert_int_equal(lane->self.stats.drop[DROP_PORT_UNKNOWN], 2);
	assert_int_equal(p->port->queue[0].stats.flooded, 0);
	flood_to_all(p);
	send_and_expect(sim, p, all, true, true);
	send_and_expect(sim, p, unknown, true, true);
	assert_int_equal(lane->self.stats.drop[DROP_PORT_UNKNOWN], 2);
	assert_int_equal(p->port->queue[0].stats.flooded, 2);
	assert_int_equal(p->port->queue[0].stats.copies, 4);
	free(all);
	free(unknown);
	sim_free(sim);
}

/* A superpacket and a partial checksum, flooded: every copy is whole. */
static void test_flooded_superpacket(void **state)
{
	struct sim_frame *f[2] = {
		sim_frame_new(&(struct sim_frame_args){
			.src = 2, .dst = 9, .mss = 1330, .payload = 190000}),
		sim_frame_new(
			&(struct sim_frame_args){.src = 2, .dst = 9, .version = 6, .payload = 333}),
	};
	struct sim_port *p, *other[2];
	struct sim *sim = default_bridge(9, &p);

	(void)state;
	flood_to_all(p);
	for (unsigned i = 0; i < 2; i++) {
		const struct port_config c = sim_port_config(2 * i, 4);

		other[i] = sim_port_new(sim, 2 * i, &c);
	}
	sim_port_send(p, f[1]);
	sim_port_send(p, f[0]);
	sim_port_send(p, f[1]);
	sim_run(sim, SECOND);
	for (unsigned i = 0; i < 2; i++) {
		sim_expect(other[i], f[0]);
		sim_expect(other[i], f[1]);
		sim_expect(other[i], f[1]);
		sim_expect_nothing(other[i]);
		assert_true(other[i]->longest > 180000);
	}
	sim_expect_nothing(p);
	free(f[0]);
	free(f[1]);
	sim_free(sim);
}

static void test_hairpin(void **state)
{
	const struct vtep own = sim_vtep(1, 4);
	struct sim_frame *f = frame(2, 1, 0);
	struct sim_port *p;
	struct sim *sim = default_bridge(10, &p);

	(void)state;
	flood_to_all(p);
	assert_int_equal(fdb_set(p->port->fdb, f->data, &own), 0);
	send_and_expect(sim, p, f, false, false);
	sim_expect_nothing(p);
	assert_int_equal(sim->node[1].lane.self.stats.drop[DROP_PORT_HAIRPIN], 1);
	free(f);
	sim_free(sim);
}

/* What came from the network never goes there again: to all, to nobody known, or to
 * one known elsewhere. */
static void test_split_horizon(void **state)
{
	const struct vtep vtep_2 = sim_vtep(2, 4);
	struct sim_port *p;
	struct sim *sim = default_bridge(11, &p);
	const struct sim_sent *sent = &sim->node[1].sent;
	const uint64_t before = sent->n[MESSAGE_DATA];

	(void)state;
	flood_to_all(p);
	for (unsigned dst = 0; dst < 10; dst += 3) {
		struct sim_frame *f = frame(1, dst, 0);

		if (dst == 3)
			assert_int_equal(fdb_set(p->port->fdb, f->data, &vtep_2), 0);
		from_vtep(sim, 0, f);
		sim_expect(p, f);
		free(f);
	}
	sim_run(sim, SECOND);
	assert_int_equal(sent->n[MESSAGE_DATA], before);
	assert_true(STAILQ_EMPTY(&sim->node[0].captured));
	assert_true(STAILQ_EMPTY(&sim->node[2].captured));
	sim_free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_learning_and_moves, sim_teardown),
		cmocka_unit_test_teardown(test_ageing, sim_teardown),
		cmocka_unit_test_teardown(test_static_entry_stays, sim_teardown),
		cmocka_unit_test_teardown(test_learning_off, sim_teardown),
		cmocka_unit_test_teardown(test_table_is_full, sim_teardown),
		cmocka_unit_test_teardown(test_bad_sources, sim_teardown),
		cmocka_unit_test_teardown(test_learning_within_a_batch, sim_teardown),
		cmocka_unit_test_teardown(test_flooding, sim_teardown),
		cmocka_unit_test_teardown(test_flooded_superpacket, sim_teardown),
		cmocka_unit_test_teardown(test_hairpin, sim_teardown),
		cmocka_unit_test_teardown(test_split_horizon, sim_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
