/* SPDX-License-Identifier: Apache-2.0 */
/* Nobody's frames take everybody's time: what a port makes of them goes out turn by
 * turn, and others get theirs in between. */
#include <stdlib.h>
#include <string.h>

#include "agent/lane/egress.h"
#include "agent/lane/port_walk.h"
#include "sim.h"

#define SECOND NSEC_PER_SEC

enum { N_VTEPS = 100, N_FRAMES = 3, N_SEGMENTS = 40, MSS = 1000 };

static struct sim *established(uint64_t seed, struct sim_port *port[2])
{
	struct sim *sim = sim_new(seed, 2);

	sim_connect(sim, 0, 1, AF_INET);
	sim_port_pair(sim, 4, port);
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, SECOND);
	assert_int_equal(sim->flow[0][1].delivered, 1);
	return sim;
}

/* Node 1 is the last of them; nobody has the others. */
static void flood_to_many(struct sim_port *p)
{
	const struct vtep node1 = sim_vtep(1, 4);
	struct vtep v = {.addr = {10, 64, 0, 0}, .addr_len = 4};

	fdb_flood_remove(p->port->fdb, &node1);
	for (unsigned i = 1; i < N_VTEPS; i++) {
		v.addr[3] = (uint8_t)i;
		assert_int_equal(fdb_flood_add(p->port->fdb, &v), 0);
	}
	assert_int_equal(fdb_flood_add(p->port->fdb, &node1), 0);
}

static struct sim_frame *broadcast(unsigned i)
{
	struct sim_frame *f = sim_frame_new(&(struct sim_frame_args){
		.proto = IP_PROTO_UDP, .mss = MSS, .payload = N_SEGMENTS * MSS, .seq = i * 100000});

	memset(f->data, 0xff, 6);
	return f;
}

static void send_broadcasts(struct sim_port *p)
{
	for (unsigned i = 0; i < N_FRAMES; i++) {
		struct sim_frame *f = broadcast(i);

		sim_port_send(p, f);
		free(f);
	}
}

static void expect_broadcasts(struct sim_port *p)
{
	for (unsigned i = 0; i < N_FRAMES; i++) {
		struct sim_frame *f = broadcast(i);

		sim_expect(p, f);
		free(f);
	}
	sim_expect_nothing(p);
}

static void test_flooding_in_turns(void **state)
{
	struct sim_port *port[2];
	struct sim *sim = established(1, port);
	struct lane *lane = &sim->node[0].lane;
	struct port *p = port[0]->port;
	unsigned n_turns = 0;

	(void)state;
	flood_to_many(port[0]);
	send_broadcasts(port[0]);
	do {
		const uint64_t before = p->queue[0].stats.copies;

		assert_int_equal(egress_run_port(&lane->self, &p->queue[0]), 1);
		assert_in_range((p->queue[0].stats.copies - before) * N_SEGMENTS, 1,
				PORT_TURN_DATAGRAMS + N_SEGMENTS);
		n_turns++;
	} while (port_has_frames(&p->queue[0]));
	assert_in_range(n_turns, N_FRAMES * N_VTEPS * N_SEGMENTS / PORT_TURN_DATAGRAMS, 100);
	assert_int_equal(p->queue[0].stats.copies, N_FRAMES * N_VTEPS);
	assert_int_equal(p->queue[0].stats.flooded, N_FRAMES);
	sim_run(sim, SECOND);
	expect_broadcasts(port[1]);
	sim_free(sim);
}

/* Another port's frame does not wait until all is flooded. */
static void test_others_in_between(void **state)
{
	struct sim_port *port[2], *other[2];
	struct sim *sim = established(2, port);
	struct lane *lane = &sim->node[0].lane;
	struct sim_frame *f = sim_frame_new(&(struct sim_frame_args){.payload = 300});

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct port_config config = sim_port_config(i, 4);
		const struct vtep far = sim_vtep(1 - i, 4);

		config.vni = SIM_VNI + 1;
		strcpy(config.name, "other");
		other[i] = sim_port_new(sim, i, &config);
		assert_int_equal(fdb_flood_add(other[i]->port->fdb, &far), 0);
	}
	flood_to_many(port[0]);
	send_broadcasts(port[0]);
	assert_int_equal(egress_run_port(&lane->self, &port[0]->port->queue[0]), 1);
	assert_true(port_has_frames(&port[0]->port->queue[0]));
	sim_port_send(other[0], f);
	assert_int_equal(egress_run_port(&lane->self, &other[0]->port->queue[0]), 1);
	assert_int_equal(other[0]->port->queue[0].stats.copies, 1);
	assert_true(port_has_frames(&port[0]->port->queue[0]));
	sim_run(sim, SECOND);
	sim_expect(other[1], f);
	expect_broadcasts(port[1]);
	free(f);
	sim_free(sim);
}

/* A destination that becomes known, a lane that goes down, a port that goes away in
 * the middle of a flood. */
static void test_changes_in_between(void **state)
{
	struct sim_port *port[2];
	struct sim *sim = established(3, port);
	struct lane *lane = &sim->node[0].lane;
	struct port *p = port[0]->port;
	const struct vtep node1 = sim_vtep(1, 4);
	struct sim_frame *f = broadcast(0);
	const uint64_t dropped = lane->self.stats.drop[DROP_DEVICE_DOWN];

	(void)state;
	sim_mac(9, f->data); /* unknown, not a group */
	flood_to_many(port[0]);
	sim_port_send(port[0], f);
	assert_int_equal(egress_run_port(&lane->self, &p->queue[0]), 1);
	assert_int_equal(fdb_set(p->fdb, f->data, &node1), 0);
	while (port_has_frames(&p->queue[0]))
		assert_int_equal(egress_run_port(&lane->self, &p->queue[0]), 1);
	assert_int_equal(p->queue[0].stats.copies, N_VTEPS);
	sim_run(sim, SECOND);
	sim_expect(port[1], f); /* once */
	sim_expect_nothing(port[1]);

	assert_int_equal(fdb_remove(p->fdb, f->data), 0);
	sim_port_send(port[0], f);
	assert_int_equal(egress_run_port(&lane->self, &p->queue[0]), 1);
	assert_int_equal(lane_set_up(lane, false), 0);
	assert_int_equal(egress_run_port(&lane->self, &p->queue[0]), 1);
	assert_false(port_has_frames(&p->queue[0]));
	assert_int_equal(lane->self.stats.drop[DROP_DEVICE_DOWN], dropped + 1);
	assert_int_equal(lane_set_up(lane, true), 0);

	sim_port_send(port[0], f);
	assert_int_equal(egress_run_port(&lane->self, &p->queue[0]), 1);
	assert_true(port_has_frames(&p->queue[0]));
	port_remove(lane, p);
	free(f);
	sim_free(sim);
}

static void test_segments_of_one_frame(void **state)
{
	enum { SIZE = 10 };
	struct sim_port *port[2];
	struct sim *sim = established(4, port);
	const uint64_t *dropped = &sim->node[0].lane.self.stats.drop[DROP_PORT_SEGMENTS];
	struct sim_frame *most = sim_frame_new(&(struct sim_frame_args){
		.mss = SIZE, .payload = PORT_SEGMENTS_MAX * SIZE, .seq = 0});
	struct sim_frame *more = sim_frame_new(&(struct sim_frame_args){
		.mss = SIZE, .payload = PORT_SEGMENTS_MAX * SIZE + 1, .seq = 100000});

	(void)state;
	sim_port_send(port[0], more);
	sim_port_send(port[0], most);
	sim_run(sim, SECOND);
	assert_int_equal(*dropped, 1);
	sim_expect(port[1], most);
	sim_expect_nothing(port[1]);
	free(most);
	free(more);
	sim_free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_flooding_in_turns, sim_teardown),
		cmocka_unit_test_teardown(test_others_in_between, sim_teardown),
		cmocka_unit_test_teardown(test_changes_in_between, sim_teardown),
		cmocka_unit_test_teardown(test_segments_of_one_frame, sim_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
