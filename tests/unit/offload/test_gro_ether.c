/* SPDX-License-Identifier: Apache-2.0 */
/* Packets of a port: what lies in front of IP tells flows apart, and stays. */
#include "gro_batch.h"

#define N_ELEMENTS(a) (sizeof(a) / sizeof(*(a)))

static struct batch batch;

enum { PAYLOAD = 100 };

struct port_packet {
	unsigned vlan; /* 0: none */
	uint32_t k;
	uint8_t flags;
	unsigned mac; /* of the sender, by number */
	bool q_in_q;
	uint8_t encap;	/* in which the packet lies */
	bool not_vxlan; /* ... and which cannot be read */
	bool no_frame;	/* no link layer at all */
};

#define V(of_vlan, of_k) .vlan = (of_vlan), .k = (of_k)

static void add(uint8_t version, const struct port_packet *d)
{
	const struct pkt_shape s = {
		.version = version,
		.proto = PKT_TCP,
		.encap = d->encap,
		.outer = 4,
	};
	static uint8_t p[1000];
	uint8_t l2[30];
	uint8_t l2_len = pkt_write_l2(l2, d->encap ? 4 : version, d->q_in_q ? 2 : !!d->vlan,
				      d->vlan);
	const struct pkt_offsets o = pkt_write(p, &s, d->k, PAYLOAD);

	if (d->flags)
		p[o.l4 + 13] = d->flags;
	pkt_put16(l2 + 10, d->mac);
	if (d->not_vxlan)
		p[o.outer_l4 + 8] = 0xff;
	pkt_fix(p, &o, PKT_TCP, false);
	batch_add_frame(&batch, l2, d->no_frame ? 0 : l2_len, p, o.len);
}

struct row {
	const char *name;
	struct port_packet p[8];
	uint32_t n;
	const char *expected; /* see batch_groups() */
};

static const struct row rows[] = {
	{"one VLAN", {{V(1, 0)}, {V(1, 1)}, {V(1, 2)}}, 3, "012"},
	{"no VLAN", {{V(0, 0)}, {V(0, 1)}, {V(0, 2)}}, 3, "012"},
	{"the next in another VLAN", {{V(1, 0)}, {V(2, 1)}, {V(1, 2)}}, 3, "0 1 2"},
	{"two VLANs at once",
	 {{V(1, 0)}, {V(2, 0)}, {V(1, 1)}, {V(2, 1)}, {V(2, 2)}, {V(1, 2)}},
	 6,
	 "025 134"},
	{"with a tag and without", {{V(0, 0)}, {V(1, 0)}, {V(0, 1)}, {V(1, 1)}}, 4, "02 13"},
	{"one tag and two",
	 {{V(7, 0)}, {V(7, 0), .q_in_q = true}, {V(7, 1)}, {V(7, 1), .q_in_q = true}},
	 4,
	 "02 13"},
	{"other MAC addresses",
	 {{V(0, 0)}, {V(0, 0), .mac = 3}, {V(0, 1)}, {V(0, 1), .mac = 3}},
	 4,
	 "02 13"},
	{"a frame and a bare packet",
	 {{V(0, 0)}, {V(0, 0), .no_frame = true}, {V(0, 1)}, {V(0, 1), .no_frame = true}},
	 4,
	 "02 13"},
	{"what closes one flow leaves the other",
	 {{V(1, 0)}, {V(2, 0)}, {V(1, 1), .flags = ACK | FIN}, {V(1, 1)}, {V(2, 1)}},
	 5,
	 "0 14 2 3"},
	{"PSH",
	 {{V(1, 0)}, {V(2, 0)}, {V(1, 1), .flags = ACK | PSH}, {V(2, 1)}, {V(1, 2)}},
	 5,
	 "02 13 4"},
	{"a tunnel in each",
	 {{V(1, 0), .encap = PKT_VXLAN},
	  {V(2, 0), .encap = PKT_VXLAN},
	  {V(1, 1), .encap = PKT_VXLAN},
	  {V(2, 1), .encap = PKT_VXLAN}},
	 4,
	 "02 13"},
	{"a tunnel, and what may belong to it",
	 {{V(1, 0), .encap = PKT_VXLAN},
	  {V(2, 0), .encap = PKT_VXLAN},
	  {V(1, 1), .encap = PKT_VXLAN, .not_vxlan = true},
	  {V(1, 1), .encap = PKT_VXLAN},
	  {V(2, 1), .encap = PKT_VXLAN}},
	 5,
	 "0 14 2 3"},
};

static void test_flows(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * N_ELEMENTS(rows); i++) {
		const struct row *r = &rows[i / 2];
		char groups[30];

		batch_init(&batch);
		for (uint32_t k = 0; k < r->n; k++)
			add(i % 2 ? 6 : 4, &r->p[k]);
		batch_run(&batch);
		batch_groups(&batch, groups);
		if (strcmp(groups, r->expected) != 0)
			print_error("%s, IPv%d\n", r->name, i % 2 ? 6 : 4);
		assert_string_equal(groups, r->expected);
		batch_done(&batch);
	}
}

/* Every bit in front of IP counts, in the first packet and in the last. */
static void test_every_bit(void **state)
{
	static const struct pkt_shape s = {.version = 4, .proto = PKT_TCP};
	uint8_t l2[22], p[200];
	const uint8_t l2_len = pkt_write_l2(l2, 4, 2, 100);

	(void)state;
	assert_int_equal(l2_len, sizeof(l2));
	for (uint8_t len = 1; len <= l2_len; len++)
		for (unsigned i = 0; i < 3 * 8u * len; i++) {
			uint8_t *bytes = l2 + l2_len - len;
			char groups[10];

			batch_init(&batch);
			for (uint32_t k = 0; k < 3; k++) {
				const struct pkt_offsets o = pkt_build(p, &s, k, 50);
				const uint8_t mask = k == i % 3 ? 1 << i / 3 % 8 : 0;

				bytes[i / 24] ^= mask;
				batch_add_frame(&batch, bytes, len, p, o.len);
				bytes[i / 24] ^= mask;
			}
			batch_run(&batch);
			batch_groups(&batch, groups);
			assert_string_equal(groups, i % 3 == 0	 ? "0 12"
						    : i % 3 == 1 ? "0 1 2"
								 : "01 2");
			batch_done(&batch);
		}
}

/* The same addresses and ports in many VLANs, or between many hosts: all are found
 * again, so the hash tells them apart, too. */
static void test_many(void **state)
{
	enum { FLOWS = 500 };

	(void)state;
	for (unsigned macs = 0; macs < 2; macs++) {
		batch_init(&batch);
		for (uint32_t k = 0; k < 3; k++)
			for (unsigned i = 1; i <= FLOWS; i++)
				add(4, &(struct port_packet){V(macs ? 0 : i, k), .mac = macs * i});
		batch_run(&batch);
		assert_int_equal(batch.n_out, FLOWS);
		for (uint32_t i = 0; i < FLOWS; i++)
			assert_int_equal(batch.out[i].n, 3);
		batch_done(&batch);
	}
}

/* Lengths and offsets are those of IP, with a frame around it or without. */
static void test_result(void **state)
{
	struct gro_super super[2];

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		batch_init(&batch);
		for (uint32_t k = 0; k < 4; k++)
			add(4, &(struct port_packet){V(9, k), .q_in_q = true, .no_frame = i});
		batch_run(&batch);
		assert_int_equal(batch.n_out, 1);
		super[i] = batch.out[0];
		assert_int_equal(batch.pkts[3].payload_off, 40);
		batch_done(&batch);
	}
	assert_int_equal(super[0].len, 40 + 4 * PAYLOAD);
	assert_int_equal(super[1].len, 40 + 4 * PAYLOAD);
	batch_check_vnet(&super[0].vnet, &super[1].vnet);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flows),
		cmocka_unit_test(test_every_bit),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_result),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
