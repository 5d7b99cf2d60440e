/* SPDX-License-Identifier: Apache-2.0 */
/* Single frames of every kind from port to port: each arrives as it was. */
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

/* From host 1 to host 2, then @type and what follows. */
static void begin_frame(uint8_t *frame, size_t len, uint16_t type)
{
	for (size_t i = 0; i < len; i++)
		frame[i] = (uint8_t)(i * 5 + 1);
	sim_mac(2, frame);
	sim_mac(1, frame + 6);
	be16_store(frame + 12, type);
}

/* What the types say is not there, or is nonsense: that is nobody's business. */
static void test_tiny_frames(void **state)
{
	static const uint16_t types[] = {0x0800, 0x86dd, 0x0806, 0x8100, 0x88a8, 0x88b5, 20};

	(void)state;
	for (int version = 4; version <= 6; version += 2) {
		struct sim_port *port[2];
		struct sim *sim = established(1, version, port);

		for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
			for (size_t len = ETHER_HDR_LEN; len <= 80; len++) {
				uint8_t frame[80];

				begin_frame(frame, len, types[i]);
				sim_port_send_bytes(port[0], frame, len);
				sim_run(sim, 2 * NSEC_PER_MSEC);
				sim_expect_bytes(port[1], frame, len);
				sim_expect_nothing(port[1]);
			}
		}
		assert_int_equal(sim_drops(&sim->node[0]) + sim_drops(&sim->node[1]), 0);
		sim_free(sim);
	}
}

/* Shorter packets come in frames of 60 bytes, and go as such; between them a packet
 * that could be merged with nothing. */
static void test_padding_stays(void **state)
{
	struct sim_port *port[2];
	struct sim *sim = established(2, 4, port);
	struct sim_frame *f[3];
	uint8_t padded[60];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		f[i] = sim_frame_finished(&(struct sim_frame_args){.payload = 2, .seq = 2 * i});
		memset(padded, 0xa5, sizeof(padded)); /* not zero: not ours to choose */
		memcpy(padded, f[i]->data, f[i]->len);
		sim_port_send_bytes(port[0], padded, sizeof(padded));
	}
	sim_run(sim, SECOND);
	for (unsigned i = 0; i < 3; i++) {
		memset(padded, 0xa5, sizeof(padded));
		memcpy(padded, f[i]->data, f[i]->len);
		sim_expect_bytes(port[1], padded, sizeof(padded));
		free(f[i]);
	}
	sim_expect_nothing(port[1]);
	assert_int_equal(port[1]->superpackets, 0);
	sim_free(sim);
}

static const struct sim_frame_args singles[] = {
	{.payload = 1},
	{.payload = 1001, .tos = 0xb8},
	{.version = 6, .payload = 1001},
	{.version = 6, .payload = 0, .n_tags = 1},
	{.proto = IP_PROTO_UDP, .payload = 999, .n_tags = 1},
	{.version = 6, .proto = IP_PROTO_UDP, .payload = 12, .n_tags = 2},
	{.payload = 700, .n_tags = 2, .df = true},
};

/* Partial checksums are finished before they leave. */
static void test_partial_checksums(void **state)
{
	struct sim_port *port[2];
	struct sim *sim = established(3, 4, port);

	(void)state;
	for (size_t i = 0; i < sizeof(singles) / sizeof(singles[0]); i++) {
		struct sim_frame *f = sim_frame_new(&singles[i]), *got;
		const uint8_t *ip;

		sim_port_send(port[0], f);
		sim_run(sim, 2 * NSEC_PER_MSEC);
		got = sim_port_take(port[1]);
		assert_non_null(got);
		assert_int_equal(got->len, f->len);
		ip = got->data + 14 + 4 * singles[i].n_tags;
		assert_int_equal(
			sim_checksum(ip, singles[i].proto ? singles[i].proto : IP_PROTO_TCP,
				     got->data + f->vnet.csum_start, got->len - f->vnet.csum_start),
			0);
		/* All else is as it was. */
		memcpy(got->data + f->vnet.csum_start + f->vnet.csum_offset,
		       f->data + f->vnet.csum_start + f->vnet.csum_offset, 2);
		assert_memory_equal(got->data, f->data, f->len);
		free(got);
		free(f);
	}
	sim_free(sim);
}

static void test_arp_and_others(void **state)
{
	static const uint8_t arp[42] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,	 0,  0, 0, 0,
					1,    8,    6,	  0,	1,    8,    0,	 6,  4, 0, 1,
					2,    0,    0,	  0,	0,    1,    172, 16, 0, 1, 0,
					0,    0,    0,	  0,	0,    172,  16,	 0,  2};
	static const uint8_t groups[][6] = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
					    {1, 0, 0x5e, 0, 0, 1},
					    {0x33, 0x33, 0, 0, 0, 1}};
	struct sim_port *port[2];
	struct sim *sim = established(4, 4, port);
	uint8_t frame[200];

	(void)state;
	sim_port_send_bytes(port[0], arp, sizeof(arp));
	sim_run(sim, SECOND);
	sim_expect_bytes(port[1], arp, sizeof(arp));
	for (unsigned i = 0; i < 3; i++) {
		begin_frame(frame, sizeof(frame), 0x88cc);
		memcpy(frame, groups[i], 6);
		sim_port_send_bytes(port[0], frame, sizeof(frame));
		sim_run(sim, SECOND);
		sim_expect_bytes(port[1], frame, sizeof(frame));
	}
	sim_expect_nothing(port[1]);
	assert_int_equal(port[0]->port->queue[0].stats.flooded, 4);
	assert_int_equal(port[0]->port->queue[0].stats.copies, 4);
	sim_free(sim);
}

/* All of a batch and more, with links that carry it. */
static void test_jumbo_frames(void **state)
{
	struct sim_port *port[2];
	struct sim *sim = established(5, 4, port);
	struct sim_frame *f[80];

	(void)state;
	lane_set_mtu(&sim->node[0].lane, 9100);
	lane_set_mtu(&sim->node[1].lane, 9100);
	for (unsigned i = 0; i < 80; i++) {
		f[i] = sim_frame_finished(&(struct sim_frame_args){.version = i & 1 ? 6 : 4,
								   .payload = 8900,
								   .seq = i / 2 * 8900,
								   .df = true});
		sim_port_send(port[0], f[i]);
	}
	sim_run(sim, SECOND);
	for (unsigned i = 0; i < 80; i++) {
		sim_expect(port[1], f[i]);
		free(f[i]);
	}
	sim_expect_nothing(port[1]);
	assert_in_range(port[1]->longest, 64 << 10, SIM_BIG);
	assert_int_equal(sim_drops(&sim->node[0]) + sim_drops(&sim->node[1]), 0);
	sim_free(sim);
}

/* Frames that cannot be merged, 300 at once: several reads, and several writes. */
static void test_many_frames_keep_their_order(void **state)
{
	struct sim_port *port[2];
	struct sim *sim = established(6, 4, port);
	uint8_t frame[64];

	(void)state;
	for (unsigned i = 0; i < 300; i++) {
		begin_frame(frame, sizeof(frame), 0x88b5);
		be16_store(frame + 20, (uint16_t)i);
		sim_port_send_bytes(port[0], frame, sizeof(frame));
	}
	sim_run(sim, SECOND);
	for (unsigned i = 0; i < 300; i++) {
		begin_frame(frame, sizeof(frame), 0x88b5);
		be16_store(frame + 20, (uint16_t)i);
		sim_expect_bytes(port[1], frame, sizeof(frame)); /* one flow: in order */
	}
	sim_expect_nothing(port[1]);
	assert_int_equal(port[0]->port->queue[0].stats.frames_in, 300);
	assert_int_equal(port[1]->port->queue[0].stats.frames_out, 300);
	assert_int_equal(port[0]->port->queue[0].stats.bytes_in, 300 * 64);
	assert_int_equal(port[1]->port->queue[0].stats.bytes_out, 300 * 64);
	sim_free(sim);
}

/* One bad frame costs only itself. */
static void test_bad_frames(void **state)
{
	struct sim_port *port[2];
	struct sim *sim = established(7, 4, port);
	struct lane *lane = &sim->node[0].lane;
	struct sim_frame *good = sim_frame_new(&(struct sim_frame_args){.payload = 100}),
			 *bad = sim_frame_new(
				 &(struct sim_frame_args){.payload = 5000, .mss = 500});

	(void)state;
	sim_port_send(port[0], good);
	bad->drop = DROP_BAD_VNET;
	sim_port_send(port[0], bad);
	sim_port_send(port[0], good);
	bad->drop = DROP_NONE;
	bad->vnet.csum_start += 2; /* no header begins there */
	sim_port_send(port[0], bad);
	sim_port_send(port[0], good);
	sim_port_send_bytes(port[0], good->data, 13);
	sim_port_send(port[0], good);
	sim_run(sim, SECOND);
	for (unsigned i = 0; i < 4; i++)
		sim_expect(port[1], good);
	sim_expect_nothing(port[1]);
	assert_int_equal(lane->self.stats.drop[DROP_BAD_VNET], 2);
	assert_int_equal(lane->self.stats.drop[DROP_PORT_FRAME], 1);
	assert_int_equal(sim_drops(&sim->node[0]), 3);
	free(good);
	free(bad);
	sim_free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_tiny_frames, sim_teardown),
		cmocka_unit_test_teardown(test_padding_stays, sim_teardown),
		cmocka_unit_test_teardown(test_partial_checksums, sim_teardown),
		cmocka_unit_test_teardown(test_arp_and_others, sim_teardown),
		cmocka_unit_test_teardown(test_jumbo_frames, sim_teardown),
		cmocka_unit_test_teardown(test_many_frames_keep_their_order, sim_teardown),
		cmocka_unit_test_teardown(test_bad_frames, sim_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
