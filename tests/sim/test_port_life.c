/* SPDX-License-Identifier: Apache-2.0 */
/* Ports that come and go under traffic: no session yet, no device any more, full
 * queues, a lane that is down. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/lane/egress.h"
#include "offload/ether.h"
#include "sim.h"

#define SECOND NSEC_PER_SEC

static struct sim *pair(uint64_t seed, struct sim_port *port[2])
{
	struct sim *sim = sim_new(seed, 2);

	sim_connect(sim, 0, 1, AF_INET);
	sim_port_pair(sim, 4, port);
	return sim;
}

static struct sim *established(uint64_t seed, struct sim_port *port[2])
{
	struct sim *sim = pair(seed, port);

	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, SECOND);
	assert_int_equal(sim->flow[0][1].delivered, 1);
	return sim;
}

static struct sim_frame *frame_no(unsigned i)
{
	/* Big, small, of a flow of their own, in turn. */
	static const struct sim_frame_args kinds[] = {
		{.mss = 1330, .payload = 190000},
		{.payload = 100, .port = 1001},
		{.version = 6, .mss = 1310, .payload = 100000},
		{.payload = 700, .n_tags = 1},
	};
	struct sim_frame_args args = kinds[i % 4];

	args.seq = i / 4 * 190000;
	return sim_frame_new(&args);
}

static void send_some(struct sim_port *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct sim_frame *f = frame_no(i);

		sim_port_send(p, f);
		free(f);
	}
}

static void expect_some(struct sim_port *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct sim_frame *f = frame_no(i);

		sim_expect(p, f);
		free(f);
	}
	sim_expect_nothing(p);
}

static void test_waiting_for_a_session(void **state)
{
	struct sim_port *port[2];
	struct sim *sim = pair(1, port);

	(void)state;
	send_some(port[0], 40);
	sim_settle(sim);
	assert_int_equal(sim_peer(sim, 0, 1)->n_staged, 40);
	sim_run(sim, SECOND);
	assert_int_equal(sim->node[0].sent.n[MESSAGE_INITIATION], 1);
	expect_some(port[1], 40);
	assert_true(port[1]->longest > 180000); /* still one superpacket each */
	assert_int_equal(sim_drops(&sim->node[0]) + sim_drops(&sim->node[1]), 0);
	sim_free(sim);
}

/* What waits is on its way: it needs its port no more. */
static void test_removed_while_frames_wait(void **state)
{
	struct sim_port *port[2];
	struct sim *sim = pair(2, port);

	(void)state;
	send_some(port[0], 8);
	sim_settle(sim);
	port_remove(&sim->node[0].lane, port[0]->port);
	assert_null(port[0]->port);
	sim_run(sim, SECOND);
	expect_some(port[1], 8);
	sim_free(sim);
}

/* There is nobody left to be told; the frame goes as it is, over IPv6, too, whose
 * outer packet is nobody's but ours. */
static void test_removed_and_the_way_is_narrow(void **state)
{
	(void)state;
	for (int outer = 4; outer <= 6; outer += 2) {
		struct sim_port *port[2];
		struct sim *sim = sim_new(3, 2);
		struct sim_frame *f =
			sim_frame_finished(&(struct sim_frame_args){.payload = 1300, .df = true});

		sim_connect(sim, 0, 1, AF_INET);
		sim_port_pair(sim, outer, port);
		sim->node[0].path_mtu = 1300;
		sim_port_send(port[0], f);
		sim_settle(sim);
		port_remove(&sim->node[0].lane, port[0]->port);
		sim_run(sim, SECOND);
		sim_expect(port[1], f);
		sim_expect_nothing(port[0]);
		assert_int_equal(sim->node[0].delivered, 0);
		assert_int_equal(sim_drops(&sim->node[0]), 0);
		free(f);
		sim_free(sim);
	}
}

static void test_waiting_frames_are_bounded(void **state)
{
	struct sim_port *port[2];
	struct sim *sim = pair(4, port);
	struct sim_frame *f[150];

	(void)state;
	for (unsigned i = 0; i < 150; i++) {
		f[i] = sim_frame_new(&(struct sim_frame_args){.payload = 50, .seq = i * 50});
		sim_port_send(port[0], f[i]);
	}
	sim_run(sim, SECOND);
	assert_int_equal(sim->node[0].lane.self.stats.drop[DROP_STAGE_FULL], 150 - 128);
	for (unsigned i = 0; i < 150; i++) {
		if (i >= 150 - 128)
			sim_expect(port[1], f[i]);
		free(f[i]);
	}
	sim_expect_nothing(port[1]);
	sim_free(sim);
}

/* Somebody deletes the device: the port goes, and what comes for it is the tunnel
 * device's then. */
static void test_device_deleted(void **state)
{
	struct sim_port *port[2], *again;
	struct sim *sim = established(5, port);
	struct lane *lane = &sim->node[1].lane;
	const struct port_config c = sim_port_config(1, 4);

	(void)state;
	send_some(port[0], 4);
	sim_run(sim, SECOND);
	expect_some(port[1], 4);
	port[1]->deleted = true;
	assert_int_equal(egress_run_port(&lane->self, &port[1]->port->queue[0]), -ENODEV);
	sim_run(sim, SECOND);
	assert_null(port[1]->port);
	assert_int_equal(lane->ports.n, 0);
	assert_null(port_find(lane, "port0"));
	send_some(port[0], 4);
	sim_run(sim, SECOND);
	sim_expect_nothing(port[1]);
	assert_true(sim->node[1].others > 0);
	assert_int_equal(sim_drops(&sim->node[1]), 0);

	/* A new one takes its place. */
	again = sim_port_new(sim, 1, &c);
	send_some(port[0], 4);
	sim_run(sim, SECOND);
	expect_some(again, 4);
	sim_free(sim);
}

/* The lane hears of it by a write: only that port goes. */
static void test_device_deleted_between_writes(void **state)
{
	struct port_config c = sim_port_config(1, 4);
	struct sim_port *port[2], *other;
	struct sim *sim = established(6, port);
	struct lane *lane = &sim->node[1].lane;

	(void)state;
	c.vni++;
	other = sim_port_new(sim, 1, &c);
	port[1]->write_err = -ENODEV;
	port[1]->n_write_errs = SIM_ALWAYS;
	send_some(port[0], 2);
	sim_run(sim, SECOND);
	assert_null(port[1]->port);
	assert_non_null(other->port);
	assert_int_equal(lane->ports.n, 1);
	assert_ptr_equal(port_find(lane, "port1"), other->port);
	/* 143 segments and a packet, all counted. */
	assert_int_equal(lane->self.stats.drop[DROP_DEVICE_DOWN], 144);
	assert_int_equal(sim_drops(&sim->node[1]), 144);
	sim_free(sim);
}

/* Once more is tried what had no room, and no more than once. */
static void test_full_device(void **state)
{
	static const int full[] = {-ENOBUFS, -EAGAIN, -ENOMEM};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct sim_port *port[2];
		struct sim *sim = established(7, port);
		struct lane *lane = &sim->node[1].lane;

		port[1]->write_err = full[i];
		port[1]->n_write_errs = 1;
		send_some(port[0], 4);
		sim_run(sim, SECOND);
		expect_some(port[1], 4);
		assert_int_equal(sim_drops(&sim->node[1]), 0);

		port[1]->n_write_errs = SIM_ALWAYS;
		send_some(port[0], 4);
		sim_run(sim, SECOND);
		sim_expect_nothing(port[1]);
		/* 190000 / 1330, 1, 100000 / 1310, 1 */
		assert_int_equal(lane->self.stats.drop[DROP_SEND_FULL], 143 + 1 + 77 + 1);
		assert_int_equal(sim_drops(&sim->node[1]), 222);

		port[1]->n_write_errs = 0;
		send_some(port[0], 4);
		sim_run(sim, SECOND);
		expect_some(port[1], 4);
		assert_int_equal(sim_drops(&sim->node[1]), 222);
		assert_int_equal(port[1]->port->queue[0].stats.merges_refused, 0);
		sim_free(sim);
	}
}

/* A limit that the lane has not heard of yet: the kernel has no room for what it would
 * have to cut, so it gets the pieces. That says nothing of the next one. */
static void test_superpacket_has_no_room(void **state)
{
	struct sim_port *port[2];
	struct sim *sim = established(13, port);

	(void)state;
	port[1]->merged_err = -ENOBUFS;
	send_some(port[0], 4);
	sim_run(sim, SECOND);
	expect_some(port[1], 4);
	assert_int_equal(port[1]->superpackets, 0);
	port[1]->merged_err = 0;
	send_some(port[0], 4);
	sim_run(sim, SECOND);
	expect_some(port[1], 4);
	assert_int_equal(port[1]->superpackets, 2);
	assert_int_equal(port[1]->port->queue[0].stats.merges_refused, 0);
	assert_int_equal(port[1]->port->queue[0].stats.frames_out, port[1]->frames);
	assert_int_equal(sim_drops(&sim->node[1]), 0);
	sim_free(sim);
}

/* Any other answer is counted as such, and single frames are not taken apart. */
static void test_write_errors(void **state)
{
	static const struct {
		int err;
		enum drop reason;
	} errors[] = {
		{-ENOMEM, DROP_SEND_FULL},   {-EINVAL, DROP_DEVICE_WRITE},
		{-EPERM, DROP_DEVICE_WRITE}, {-EMSGSIZE, DROP_DEVICE_WRITE},
		{-ENODEV, DROP_DEVICE_DOWN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct sim_port *port[2];
		struct sim *sim = established(8, port);
		struct sim_frame *f = sim_frame_new(&(struct sim_frame_args){.payload = 77});

		port[1]->write_err = errors[i].err;
		port[1]->n_write_errs = SIM_ALWAYS;
		sim_port_send(port[0], f);
		sim_run(sim, SECOND);
		sim_expect_nothing(port[1]);
		assert_int_equal(sim->node[1].lane.self.stats.drop[errors[i].reason], 1);
		assert_int_equal(sim_drops(&sim->node[1]), 1);
		assert_int_equal(port[1]->port == NULL, errors[i].err == -ENODEV);
		free(f);
		sim_free(sim);
	}
}

/* Merged ones are refused, and there is no room for the pieces either. */
static void test_refused_and_full(void **state)
{
	struct sim_port *port[2];
	struct sim *sim = established(9, port);
	struct sim_frame *f =
		sim_frame_new(&(struct sim_frame_args){.mss = 1330, .payload = 13300});

	(void)state;
	port[1]->merged_err = -EINVAL;
	port[1]->write_err = -ENOBUFS;
	port[1]->n_write_errs = SIM_ALWAYS;
	sim_port_send(port[0], f);
	sim_run(sim, SECOND);
	sim_expect_nothing(port[1]);
	assert_int_equal(sim->node[1].lane.self.stats.drop[DROP_SEND_FULL], 10);
	assert_int_equal(sim_drops(&sim->node[1]), 10);
	free(f);
	sim_free(sim);
}

static void test_lane_is_down(void **state)
{
	struct sim_port *port[2];
	struct sim *sim = established(10, port);

	(void)state;
	lane_set_up(&sim->node[0].lane, false);
	send_some(port[0], 4);
	sim_run(sim, SECOND);
	assert_int_equal(sim->node[0].lane.self.stats.drop[DROP_DEVICE_DOWN], 4);
	assert_non_null(port[0]->port);
	lane_set_up(&sim->node[0].lane, true);
	send_some(port[0], 4);
	sim_run(sim, SECOND);
	expect_some(port[1], 4);
	sim_free(sim);
}

/* VTEP, UDP port and VNI change in both, one after the other; in between, what is sent
 * goes to the tunnel device. */
static void test_reconfigured(void **state)
{
	char err_text[PORT_ERR_LEN] = "";
	struct sim_port *port[2];
	struct sim *sim = established(11, port);
	struct port_config c[2] = {port[0]->port->config, port[1]->port->config};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		for (unsigned k = 0; k < 2; k++) {
			c[k].vni += i == 0;
			c[k].udp_port += i == 1;
			c[k].checksum = i == 2;
			assert_int_equal(port_configure(port[k]->port, &c[k], err_text), 0);
			if (k)
				break;
			send_some(port[0], 1);
			sim_run(sim, SECOND);
			assert_int_equal(STAILQ_EMPTY(&port[1]->to_host), i < 2);
			assert_int_equal(sim->node[1].others > 0, i < 2);
			sim->node[1].others = 0;
		}
		if (i == 2) /* no matter to who receives */
			expect_some(port[1], 1);
		send_some(port[0], 4);
		sim_run(sim, SECOND);
		expect_some(port[1], 4);
	}
	sim_free(sim);
}

/* Of what is asked for with malloc: the ports' working memory. */
static void test_no_memory(void **state)
{
	const struct port_config c = sim_port_config(0, 4);
	struct sim *sim = sim_new(12, 1);
	struct lane *lane = &sim->node[0].lane;

	(void)state;
	for (unsigned i = 1; i <= 2; i++) {
		char err_text[PORT_ERR_LEN] = "";
		struct port_config named = c;
		struct port *port;

		memcpy(named.name, "p", 2);
		sim_malloc_failures = i;
		assert_int_equal(port_new(lane, &named, &port, err_text), -ENOMEM);
		assert_string_equal(err_text, "out of memory");
		sim_malloc_failures = 0;
		assert_int_equal(lane->ports.n, 0);
		assert_null(lane->self.port_batch);
	}
	sim_port_new(sim, 0, &c);
	sim_free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_waiting_for_a_session, sim_teardown),
		cmocka_unit_test_teardown(test_removed_while_frames_wait, sim_teardown),
		cmocka_unit_test_teardown(test_removed_and_the_way_is_narrow, sim_teardown),
		cmocka_unit_test_teardown(test_waiting_frames_are_bounded, sim_teardown),
		cmocka_unit_test_teardown(test_device_deleted, sim_teardown),
		cmocka_unit_test_teardown(test_device_deleted_between_writes, sim_teardown),
		cmocka_unit_test_teardown(test_full_device, sim_teardown),
		cmocka_unit_test_teardown(test_superpacket_has_no_room, sim_teardown),
		cmocka_unit_test_teardown(test_write_errors, sim_teardown),
		cmocka_unit_test_teardown(test_refused_and_full, sim_teardown),
		cmocka_unit_test_teardown(test_lane_is_down, sim_teardown),
		cmocka_unit_test_teardown(test_reconfigured, sim_teardown),
		cmocka_unit_test_teardown(test_no_memory, sim_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
