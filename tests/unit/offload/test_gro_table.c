/* SPDX-License-Identifier: Apache-2.0 */
/* The table of flows: many of them, colliding ones, and tunnels whose datagrams
 * are not all merged in the same way. */
#include "gro_rows.h"

#include "offload/gro_internal.h"

/* Packet @k of flow @flow, which differs from others in the 16 bits at @at of the
 * IP packet. */
static void add_flow(uint8_t version, unsigned at, uint32_t flow, uint32_t k)
{
	const struct pkt_shape s = {.version = version, .proto = PKT_TCP};
	uint8_t p[200];
	const struct pkt_offsets o = pkt_write(p, &s, k, 100);

	pkt_put16(p + at, flow);
	pkt_fix(p, &o, s.proto, false);
	batch_add(&batch, p, o.len);
}

/* As many flows as packets; then two packets of each, interleaved: none is lost
 * to a chain that is too long. */
static void test_many_flows(void **state)
{
	static const struct {
		uint8_t version;
		unsigned at;
	} cases[] = {
		{4, 14}, {4, 18}, {4, 20}, {4, 22}, {6, 8}, {6, 22}, {6, 38}, {6, 40}, {6, 42},
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++)
		for (uint32_t n = GRO_PACKETS_MAX; n >= GRO_PACKETS_MAX / 2; n /= 2) {
			batch_init(&batch);
			for (uint32_t k = 0; k < GRO_PACKETS_MAX; k++)
				add_flow(cases[i].version, cases[i].at, k % n, k / n);
			batch_run(&batch);
			assert_int_equal(batch.n_out, n);
			batch_done(&batch);
		}
}

enum { N_COLLIDING = 20, N_BATCH = 32 };

/* Source ports whose flows share one of the 32 slots of a batch of up to 32. */
static void find_colliding(uint16_t *ports)
{
	const struct pkt_shape s = {.version = 4, .proto = PKT_UDP};
	uint8_t p[200];
	const struct pkt_offsets o = pkt_write(p, &s, 0, 100);
	const struct gro_segment segment = {
		.layer = {{0, (uint16_t)o.l4, 4, PKT_UDP}},
		.n_layers = 1,
	};

	for (unsigned port = 0, n = 0; n < N_COLLIDING; port++) {
		assert_true(port < 0x10000);
		pkt_put16(p + o.l4, port);
		if (!(gro_segment_hash(&segment, p, 1) % N_BATCH))
			ports[n++] = (uint16_t)port;
	}
}

static void add_port(uint16_t port, uint32_t k)
{
	const struct pkt_shape s = {.version = 4, .proto = PKT_UDP};
	uint8_t p[200];
	const struct pkt_offsets o = pkt_write(p, &s, k, 100);

	pkt_put16(p + o.l4, port);
	pkt_fix(p, &o, PKT_UDP, false);
	batch_add(&batch, p, o.len);
}

/* @n flows in one slot, then the oldest of them again, then the newest. */
static uint32_t merge_colliding(const uint16_t *ports, uint32_t n)
{
	batch_init(&batch);
	for (uint32_t i = 0; i < n; i++)
		add_port(ports[i], 0);
	add_port(ports[0], 1);
	add_port(ports[n - 1], 1);
	while (batch.n < N_BATCH) /* pure ACKs are in no slot */
		add(&batch, &(struct packet){.len = EMPTY});
	batch_run(&batch);
	n = batch.n - batch.n_out;
	batch_done(&batch);
	return n;
}

static void test_colliding_flows(void **state)
{
	uint16_t ports[N_COLLIDING];

	(void)state;
	find_colliding(ports);
	assert_int_equal(merge_colliding(ports, 2), 2);
	assert_int_equal(merge_colliding(ports, 16), 2);
	/* Out of reach: all are closed, and both open anew. */
	assert_int_equal(merge_colliding(ports, 17), 0);
	/* The 18th closed all; the first is out, the 18th is in. */
	assert_int_equal(merge_colliding(ports, 18), 1);
}

#define VXLAN .encap = PKT_VXLAN, .csum = true

static void test_barriers(void **state)
{
	static const struct row rows[] = {
		{"an odd one closes every inner flow of its tunnel",
		 .p = {{VXLAN, .flow = 1},
		       {VXLAN, .flow = 2},
		       {VXLAN, .flow = 3, .flags = FIN},
		       {VXLAN, .flow = 1, .k = 1},
		       {VXLAN, .flow = 2, .k = 1},
		       {VXLAN, .flow = 1, .k = 2},
		       {VXLAN, .flow = 2, .k = 2}},
		 .expected = "0 1 2 35 46"},
		{"the last one counts",
		 .p = {{VXLAN, .flow = 3, .flags = FIN},
		       {VXLAN, .flow = 1},
		       {VXLAN, .flow = 3, .flags = FIN},
		       {VXLAN, .flow = 1, .k = 1},
		       {VXLAN, .flow = 1, .k = 2}},
		 .expected = "0 1 2 34"},
		{"merged as UDP they do the same", .config = ENCAP_L4,
		 .p = {{VXLAN, .flow = 1},
		       {VXLAN, .flow = 3, .k = 1, .flags = FIN},
		       {VXLAN, .flow = 3, .k = 2, .flags = FIN},
		       {VXLAN, .flow = 1, .k = 1},
		       {VXLAN, .flow = 1, .k = 2}},
		 .expected = "0 12 34"},
		{"and are closed by what goes as tunnel", .config = ENCAP_L4,
		 .p = {{VXLAN, .flow = 3, .flags = FIN},
		       {VXLAN, .flow = 3, .k = 1, .flags = FIN},
		       {VXLAN, .flow = 1},
		       {VXLAN, .flow = 3, .k = 2, .flags = FIN},
		       {VXLAN, .flow = 3, .k = 3, .flags = FIN}},
		 .expected = "01 2 34"},
		{"those of another tunnel are not", .config = ENCAP_L4,
		 .p = {{VXLAN, .flow = 3, .flags = FIN},
		       {VXLAN, .flow = 1, .outer_flow = 9},
		       {VXLAN, .flow = 3, .k = 1, .flags = FIN}},
		 .expected = "02 1"},
		{"a fragment closes barriers too",
		 .p = {{VXLAN, .flow = 3, .flags = FIN},
		       {.ip_at = 6, .ip_xor = 1},
		       {VXLAN, .flow = 1},
		       {VXLAN, .flow = 1, .k = 1}},
		 .expected = "0 1 23"},
	};

	(void)state;
	run_rows(rows, N_ELEMENTS(rows));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_flows),
		cmocka_unit_test(test_colliding_flows),
		cmocka_unit_test(test_barriers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
