/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Superpackets from port to port, up to 192 KB: what arrives, cut as the host would,
 * is what cutting the original gives. And what the receiving device does not take is
 * not written.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "offload/be.h"
#include "offload/ether.h"
#include "offload/ip.h"
#include "sim.h"

#define SECOND NSEC_PER_SEC

static struct sim *established(uint64_t seed, int version, struct sim_port *port[2])
{
	struct sim *sim = sim_new(seed, 2);

	sim_connect(sim, 0, 1, AF_INET);
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, SECOND);
	assert_int_equal(sim->flow[0][1].delivered, 1);
	sim_port_pair(sim, version, port);
	return sim;
}

static uint32_t hdr_len(const struct sim_frame_args *a)
{
	return (a->version == 6 ? 40 : 20) + (a->proto == IP_PROTO_UDP ? 8 : 20);
}

/* How many frames it makes when none, Ethernet header with two tags included, may be
 * longer than @limit. */
static uint64_t writes_of(const struct sim_frame_args *a, uint32_t limit)
{
	const bool udp = a->proto == IP_PROTO_UDP;
	const uint32_t ip_max = udp && limit - 22 > IO_PACKET_MAX ? IO_PACKET_MAX : limit - 22;
	const uint32_t max = ip_max - hdr_len(a);
	uint32_t each = max / a->mss, left = a->payload;
	uint64_t n = 1;

	if (udp && each > 64)
		each = 64;
	for (; left > max || (left + a->mss - 1) / a->mss > (udp ? 64 : 1000); n++)
		left -= each * a->mss;
	return n;
}

static const struct sim_frame_args supers[] = {
	{.version = 4, .mss = 1330, .payload = 196000},
	{.version = 6, .mss = 1310, .payload = 196000},
	{.version = 4, .mss = 1330, .payload = 64000},
	{.version = 6, .mss = 1310, .payload = 64000},
	{.version = 4, .mss = 536, .payload = 196000},
	{.version = 4, .mss = 1330, .payload = 1331},
	{.version = 6, .mss = 1310, .payload = 2620},
	{.version = 4, .mss = 1330, .payload = 150000, .n_tags = 1},
	{.version = 6, .mss = 1310, .payload = 150000, .n_tags = 2},
	{.version = 4, .proto = IP_PROTO_UDP, .mss = 1000, .payload = 65000},
	{.version = 6, .proto = IP_PROTO_UDP, .mss = 1200, .payload = 60000},
	{.version = 4, .proto = IP_PROTO_UDP, .mss = 200, .payload = 30000, .n_tags = 1},
};

static const uint32_t limits[] = {SIM_BIG, 64 << 10, 100000};

/* Each at each limit, over outer IPv4 and IPv6 (of 20 bytes more, which the paths of
 * outer IPv6 cut off the segments). */
static void check_super(uint64_t seed, const struct sim_frame_args *a, int outer, uint32_t limit)
{
	struct sim_frame_args args = *a;
	struct sim_port *port[2];
	struct sim *sim = established(seed, outer, port);
	struct sim_frame *f;

	/* The other family's limit is no limit for this one. */
	port[1]->limits.max_len4 = a->version == 4 ? limit : 30000;
	port[1]->limits.max_len6 = a->version == 6 ? limit : 30000;
	args.mss = (uint16_t)(args.mss - (outer == 6 ? 20 : 0) - 4 * args.n_tags);
	f = sim_frame_new(&args);
	if (f->len > IO_PACKET_MAX) /* as the kernel reads: the lengths say nothing */
		assert_int_equal(
			be16_load(f->data + 14 + 4 * a->n_tags + (a->version == 4 ? 2 : 4)), 0);
	sim_port_send(port[0], f);
	sim_run(sim, SECOND);
	assert_int_equal(port[1]->frames, writes_of(&args, limit));
	sim_expect(port[1], f);
	sim_expect_nothing(port[1]);
	assert_int_equal(sim_drops(&sim->node[0]) + sim_drops(&sim->node[1]), 0);
	assert_int_equal(port[0]->port->queue[0].stats.frames_in, 1);
	assert_int_equal(port[0]->port->queue[0].stats.bytes_in, f->len);
	assert_int_equal(port[1]->port->queue[0].stats.frames_out, port[1]->frames);
	free(f);
	sim_free(sim);
}

static void test_whole_way(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(supers) / sizeof(supers[0]); i++) {
		for (size_t k = 0; k < sizeof(limits) / sizeof(limits[0]); k++) {
			check_super(100 + i, &supers[i], 4, limits[k]);
			check_super(200 + i, &supers[i], 6, limits[k]);
		}
	}
}

/* One that just fits, and one segment more. */
static void test_limit_is_exact(void **state)
{
	const uint32_t segments = 60, headers = 22 + 20 + 20;
	struct sim_frame_args args = {.mss = 1000, .payload = segments * 1000};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct sim_port *port[2];
		struct sim *sim = established(300, 4, port);
		struct sim_frame *f = sim_frame_new(&args);

		port[1]->limits.max_len4 = headers + segments * 1000 - i;
		sim_port_send(port[0], f);
		sim_run(sim, SECOND);
		assert_int_equal(port[1]->frames, 1 + i);
		sim_expect(port[1], f);
		free(f);
		sim_free(sim);
	}
}

static void test_limit_of_segments(void **state)
{
	const struct sim_frame_args args = {.mss = 1000, .payload = 60 * 1000};
	struct sim_port *port[2];
	struct sim *sim = established(301, 4, port);
	struct sim_frame *f = sim_frame_new(&args);

	(void)state;
	port[1]->limits.max_segs = 20;
	sim_port_send(port[0], f);
	sim_run(sim, SECOND);
	assert_int_equal(port[1]->frames, 3);
	sim_expect(port[1], f);
	/* A device that can take none at all gets single frames. */
	port[1]->limits.max_len4 = 20;
	sim_port_send(port[0], f);
	sim_run(sim, SECOND);
	assert_int_equal(port[1]->superpackets, 3);
	assert_int_equal(port[1]->frames, 3 + 60);
	sim_expect(port[1], f);
	sim_free(sim);
	free(f);
}

static struct sim_port *sender;
static uint32_t stream_at;

enum { STREAM_STEP = 190000, STREAM_N = 20 };

static void send_next(struct sim *sim, struct sim_event *ev)
{
	struct sim_frame *f = sim_frame_new(
		&(struct sim_frame_args){.mss = 1330, .payload = STREAM_STEP, .seq = stream_at});

	(void)sim;
	(void)ev;
	stream_at += STREAM_STEP;
	sim_port_send(sender, f);
	free(f);
}

static void expect_stream(struct sim_port *p, uint32_t from, uint32_t to)
{
	for (; from < to; from += STREAM_STEP) {
		struct sim_frame *f = sim_frame_new(
			&(struct sim_frame_args){.mss = 1330, .payload = STREAM_STEP, .seq = from});

		sim_expect(p, f);
		free(f);
	}
}

/* Under traffic: what is on the way arrives, in order, and no longer than that. */
static void test_limit_lowered(void **state)
{
	static const uint32_t lowered[] = {64 << 10, 9000, 1000, 100000};
	struct sim_port *port[2];
	struct sim *sim = established(302, 4, port);
	struct sim_event *ev;

	(void)state;
	sender = port[0];
	stream_at = 0;
	ev = sim_event_at(sim, sim->now_ns, send_next);
	ev->period_ns = NSEC_PER_MSEC;
	ev->until_ns = sim->now_ns + STREAM_N * NSEC_PER_MSEC;
	for (size_t i = 0; i < sizeof(lowered) / sizeof(lowered[0]); i++) {
		sim_run(sim, 4 * NSEC_PER_MSEC);
		assert_true(port[1]->frames > 0);
		port[1]->limits.max_len4 = lowered[i]; /* which every write is held to */
		port[1]->longest = 0;
	}
	sim_run(sim, SECOND);
	assert_in_range(port[1]->longest, 90000, 100000);
	assert_int_equal(stream_at, STREAM_N * STREAM_STEP);
	expect_stream(port[1], 0, stream_at);
	sim_expect_nothing(port[1]);
	assert_int_equal(sim_drops(&sim->node[0]) + sim_drops(&sim->node[1]), 0);
	sim_free(sim);
}

/* Flows of all kinds at once, tagged and not, each in its order. */
static void test_mixed_flows(void **state)
{
	static const struct sim_frame_args flows[] = {
		{.version = 4, .mss = 1000, .payload = 30000},
		{.version = 6, .mss = 1000, .payload = 30000},
		{.version = 4, .mss = 1000, .payload = 30000, .port = 1001},
		{.version = 4, .mss = 1000, .payload = 30000, .n_tags = 1},
		{.version = 4, .mss = 1000, .payload = 30000, .n_tags = 2},
		{.version = 6, .mss = 1000, .payload = 30000, .n_tags = 2},
		{.version = 4, .proto = IP_PROTO_UDP, .mss = 1000, .payload = 30000},
		{.version = 6, .proto = IP_PROTO_UDP, .payload = 700, .port = 1001},
		{.version = 4, .proto = IP_PROTO_UDP, .payload = 1, .port = 1002},
		{.version = 4, .payload = 3, .port = 1003},
	};
	enum { N = sizeof(flows) / sizeof(flows[0]), ROUNDS = 8 };
	struct sim_frame *f[N][ROUNDS];
	struct sim_port *port[2];
	struct sim *sim = established(303, 4, port);

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < N; i++) {
			struct sim_frame_args args = flows[i];

			args.seq = round * 30000;
			f[i][round] = sim_frame_new(&args);
			sim_port_send(port[0], f[i][round]);
		}
	}
	sim_run(sim, SECOND);
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < N; i++) {
			sim_expect(port[1], f[i][round]);
			free(f[i][round]);
		}
	}
	sim_expect_nothing(port[1]);
	assert_true(port[1]->superpackets > 0);
	sim_free(sim);
}

/* Single packets of one flow become a superpacket, but not across link layers. */
static void test_single_packets_merge(void **state)
{
	struct sim_port *port[2];
	struct sim *sim = established(304, 4, port);
	struct sim_frame *f[2][10];

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		const struct sim_frame_args args = {
			.seq = i / 2 * 1000, .payload = 1000, .n_tags = i % 2};

		f[i % 2][i / 2] = sim_frame_finished(&args);
		sim_port_send(port[0], f[i % 2][i / 2]);
	}
	sim_run(sim, SECOND);
	assert_int_equal(port[1]->frames, 2);
	assert_int_equal(port[1]->superpackets, 2);
	assert_int_equal(port[1]->port->queue[0].stats.packets_merged, 18);
	for (unsigned i = 0; i < 20; i++) {
		sim_expect(port[1], f[i % 2][i / 2]);
		free(f[i % 2][i / 2]);
	}
	sim_free(sim);
}

struct refusal {
	struct sim_frame_args args;
	bool left[3]; /* tcp4, tcp6, udp merging that is still done */
};

/* What the kernel does not take is given to it singly, and no more of that kind. */
static void test_merging_refused(void **state)
{
	static const struct refusal refusals[] = {
		{{.version = 4, .mss = 1330, .payload = 190000}, {false, true, true}},
		{{.version = 6, .mss = 1310, .payload = 190000, .n_tags = 2}, {true, false, true}},
		{{.version = 4, .proto = IP_PROTO_UDP, .mss = 1000, .payload = 60000, .n_tags = 1},
		 {true, true, false}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		struct sim_port *port[2];
		struct sim *sim = established(305, 4, port);
		const struct gro_config *gro = &port[1]->port->queue[0].gro;
		struct sim_frame_args args = refusals[i].args;
		struct sim_frame *f;

		args.mss = (uint16_t)(args.mss - 4 * args.n_tags);
		f = sim_frame_new(&args);
		port[1]->merged_err = -EINVAL;
		for (unsigned round = 0; round < 3; round++) {
			sim_port_send(port[0], f);
			sim_run(sim, SECOND);
			sim_expect(port[1], f);
			sim_expect_nothing(port[1]);
		}
		assert_int_equal(port[1]->port->queue[0].stats.merges_refused, 1);
		assert_int_equal(gro->tcp4, refusals[i].left[0]);
		assert_int_equal(gro->tcp6, refusals[i].left[1]);
		assert_int_equal(gro->udp, refusals[i].left[2]);
		assert_int_equal(port[1]->port->queue[0].stats.frames_out, port[1]->frames);
		assert_int_equal(sim_drops(&sim->node[1]), 0);
		free(f);
		sim_free(sim);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_whole_way, sim_teardown),
		cmocka_unit_test_teardown(test_limit_is_exact, sim_teardown),
		cmocka_unit_test_teardown(test_limit_of_segments, sim_teardown),
		cmocka_unit_test_teardown(test_limit_lowered, sim_teardown),
		cmocka_unit_test_teardown(test_mixed_flows, sim_teardown),
		cmocka_unit_test_teardown(test_single_packets_merge, sim_teardown),
		cmocka_unit_test_teardown(test_merging_refused, sim_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
