/* SPDX-License-Identifier: Apache-2.0 */
/* What the hash of a flow hides from the tests of gro.c: packets of two flows are
 * compared only when their hashes collide. */
#include "gro_batch.h"

#include "offload/gro_internal.h"

#define N_ELEMENTS(a) (sizeof(a) / sizeof(*(a)))

static const struct pkt_shape shapes[] = {
	{.version = 4, .proto = PKT_TCP},
	{.version = 6, .proto = PKT_UDP},
	{.encap = PKT_VXLAN, .outer = 4, .version = 6, .proto = PKT_TCP},
	{.encap = PKT_GENEVE, .outer = 6, .outer_csum = true, .version = 4, .proto = PKT_UDP},
};

static struct gro_segment describe(const struct pkt_shape *shape, const struct pkt_offsets *o)
{
	struct gro_segment s = {
		.n_layers = o->tunnel ? 2 : 1,
		.hdr_len = (uint16_t)o->payload,
		.payload_len = (uint16_t)(o->len - o->payload),
	};

	s.layer[s.n_layers - 1] = (struct gro_layer){(uint16_t)o->l3, (uint16_t)o->l4,
						     shape->version, shape->proto};
	if (o->tunnel)
		s.layer[0] = (struct gro_layer){0, (uint16_t)o->outer_l4, shape->outer, PKT_UDP};
	return s;
}

static bool is_endpoint(const struct gro_layer *l, unsigned at)
{
	const unsigned addresses = l->l3_off + (l->version == 4 ? 12 : 8);
	const unsigned len = l->version == 4 ? 8 : 32;

	return (at >= addresses && at < addresses + len) ||
	       (at >= l->l4_off && at < l->l4_off + 4u);
}

/* Addresses and ports of all layers make the flow, and nothing else does. */
static void test_flow_bytes(void **state)
{
	uint8_t a[400], b[400];

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(shapes); i++) {
		const struct pkt_offsets o = pkt_build(a, &shapes[i], 0, 50);
		const struct gro_segment s = describe(&shapes[i], &o);

		for (unsigned at = 0; at < o.len; at++) {
			const bool endpoint = is_endpoint(&s.layer[0], at) ||
					      (o.tunnel && is_endpoint(&s.layer[1], at));

			memcpy(b, a, o.len);
			b[at] ^= 0x10;
			assert_int_equal(gro_match_flow(&s, a, &s, b), !endpoint);
		}
	}
}

/* So do bytes in front of IP, all of them and no others, and how many they are. */
static void test_flow_l2(void **state)
{
	enum { L2_MAX = 22 };
	uint8_t a[L2_MAX + 400], b[L2_MAX + 400];

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(shapes); i++) {
		const struct pkt_offsets o = pkt_build(a + L2_MAX, &shapes[i], 0, 50);
		struct gro_segment s = describe(&shapes[i], &o), other = s;

		memset(a, 7, L2_MAX);
		for (s.l2_len = 0; s.l2_len <= L2_MAX; s.l2_len++) {
			for (unsigned at = 0; at < L2_MAX; at++) {
				memcpy(b, a, sizeof(b));
				b[at] ^= 0x10;
				assert_int_equal(gro_match_flow(&s, a + L2_MAX, &s, b + L2_MAX),
						 at + s.l2_len < L2_MAX);
			}
			for (other.l2_len = 0; other.l2_len <= L2_MAX; other.l2_len++)
				assert_int_equal(gro_match_flow(&s, a + L2_MAX, &other, a + L2_MAX),
						 s.l2_len == other.l2_len);
		}
	}
}

static void test_flow_kind(void **state)
{
	uint8_t p[400];

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(shapes); i++) {
		const struct pkt_offsets o = pkt_build(p, &shapes[i], 0, 50);
		const struct gro_segment s = describe(&shapes[i], &o);

		for (unsigned k = 0; k < s.n_layers; k++) {
			struct gro_segment t = s;

			t.layer[k].version ^= 2;
			assert_false(gro_match_flow(&s, p, &t, p));
			t = s;
			t.layer[k].proto++;
			assert_false(gro_match_flow(&s, p, &t, p));
		}
		if (s.n_layers == 2) {
			struct gro_segment outer = s;

			outer.n_layers = 1;
			assert_false(gro_match_flow(&s, p, &outer, p));
			assert_false(gro_match_flow(&outer, p, &s, p));
		}
	}
}

/* Headers of other lengths never match, whatever their bytes. */
static void test_header_lengths(void **state)
{
	uint8_t p[400];

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(shapes); i++) {
		const struct pkt_offsets o = pkt_build(p, &shapes[i], 0, 50);
		const struct gro_segment s = describe(&shapes[i], &o);
		struct gro_segment t = s;

		assert_true(gro_match_headers(&s, p, 0, &s, p));
		t.hdr_len--;
		assert_false(gro_match_headers(&s, p, 0, &t, p));
		t = s;
		t.payload_len++;
		assert_false(gro_match_headers(&s, p, 0, &t, p));
		for (unsigned k = 0; k < s.n_layers; k++) {
			t = s;
			t.layer[k].l4_off++;
			assert_false(gro_match_headers(&t, p, 0, &s, p));
			t = s;
			t.layer[k].l3_off++;
			assert_false(gro_match_headers(&t, p, 0, &s, p));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flow_bytes),
		cmocka_unit_test(test_flow_l2),
		cmocka_unit_test(test_flow_kind),
		cmocka_unit_test(test_header_lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
