/* SPDX-License-Identifier: Apache-2.0 */
/* Every rule of merging TCP and UDP, with the case one bit past it. */
#include "gro_rows.h"

static void test_flows(void **state)
{
	static const struct row rows[] = {
		{"nothing", .expected = ""},
		{"one", .p = {{TCP4}}, .expected = "0"},
		{"all protocols and flows",
		 .p = {{TCP4},
		       {UDP4, .flow = 2},
		       {UDP4, .flow = 3},
		       {TCP4, .k = 1},
		       {TCP4, .flow = 4},
		       {TCP6},
		       {TCP6, .k = 1},
		       {TCP6, .flow = 4},
		       {UDP4, .flow = 2, .k = 1},
		       {UDP6, .flow = 2},
		       {UDP6, .flow = 2, .k = 1}},
		 .expected = "03 18 2 4 56 7 9a"},
		{"no UDP", .config = NO_UDP,
		 .p = {{TCP4}, {UDP4}, {TCP4, .k = 1}, {UDP4, .k = 1}, {UDP6}, {UDP6, .k = 1}},
		 .expected = "02 1 3 4 5"},
		{"no TCP over IPv4", .config = NO_TCP4,
		 .p = {{TCP4}, {TCP6}, {TCP4, .k = 1}, {TCP6, .k = 1}, {UDP4}, {UDP4, .k = 1}},
		 .expected = "0 13 2 45"},
		{"no TCP over IPv6", .config = NO_TCP6,
		 .p = {{TCP4}, {TCP6}, {TCP4, .k = 1}, {TCP6, .k = 1}, {UDP6}, {UDP6, .k = 1}},
		 .expected = "02 1 3 45"},
		{"source port", .p = {{TCP4, .flow = 1}, {.flow = 2, .k = 1}}, .expected = "0 1"},
		{"destination port", .p = {{TCP4}, {.k = 1, .l4_at = 2, .l4_xor = 1}},
		 .expected = "0 1"},
		{"source address", .p = {{TCP4}, {.k = 1, .ip_at = 14, .ip_xor = 1}},
		 .expected = "0 1"},
		{"destination address, another flow closes nothing",
		 .p = {{TCP4}, {.k = 1, .ip_at = 18, .ip_xor = 1}, {.k = 1}}, .expected = "02 1"},
		{"IPv6 source address", .p = {{TCP6}, {TCP6, .k = 1, .ip_at = 8, .ip_xor = 1}},
		 .expected = "0 1"},
		{"IPv6 destination address",
		 .p = {{TCP6}, {TCP6, .k = 1, .ip_at = 38, .ip_xor = 1}}, .expected = "0 1"},
		{"other protocols close nothing",
		 .p = {{TCP4}, {.ip_at = 8, .ip_xor = 41}, {.k = 1}}, .expected = "02 1"},
	};

	(void)state;
	run_rows(rows, N_ELEMENTS(rows));
}

static void test_tcp(void **state)
{
	static const struct row rows[] = {
		{"in order, across 2^32", .p = {{TCP4}, {.k = 1}, {.k = 2}}, .expected = "012"},
		{"IPv6", .p = {{TCP6}, {TCP6, .k = 1}, {TCP6, .k = 2}}, .expected = "012"},
		{"sequence gap", .p = {{TCP4}, {.k = 2}}, .expected = "0 1"},
		{"off by one", .p = {{TCP4}, {.k = 1, .l4_at = 6, .l4_xor = 1}}, .expected = "0 1"},
		{"repeated", .p = {{TCP4}, {TCP4}}, .expected = "0 1"},
		{"never prepended", .p = {{.k = 1}, {.k = 0, .v = 4}, {.k = 2}},
		 .expected = "0 1 2"},
		{"out of order", .p = {{.k = 1}, {TCP4}, {.k = 1}}, .expected = "0 12"},
		{"PSH closes", .p = {{TCP4}, {.k = 1, .flags = ACK | PSH}, {.k = 2}, {.k = 3}},
		 .expected = "01 23"},
		{"PSH on the first",
		 .p = {{TCP6, .flags = ACK | PSH}, {TCP6, .k = 1}, {TCP6, .k = 2}},
		 .expected = "0 12"},
		{"short closes", .p = {{TCP4}, {.k = 1, .len = 99}, {.k = 2}}, .expected = "01 2"},
		{"one byte", .p = {{TCP4}, {.k = 1, .len = 1}}, .expected = "01"},
		{"longer opens", .p = {{TCP4}, {.k = 1, .len = 101}}, .expected = "0 1"},
		{"short, then contiguous",
		 .p = {{TCP4},
		       {.k = 1, .len = 99},
		       {.k = 2, .len = 99, .l4_at = 6, .l4_xor = 0x77}},
		 .expected = "01 2"},
	};

	(void)state;
	run_rows(rows, N_ELEMENTS(rows));
}

static void test_tcp_flags(void **state)
{
	static const struct row rows[] = {
		{"ECE runs",
		 .p = {{.flags = ACK | ECE}, {.k = 1, .flags = ACK | ECE}, {.k = 2}, {.k = 3}},
		 .expected = "01 23"},
		{"ECE and PSH", .p = {{.flags = ACK | ECE}, {.k = 1, .flags = ACK | ECE | PSH}},
		 .expected = "01"},
		{"FIN", .p = {{TCP4}, {.k = 1, .flags = ACK | FIN}, {.k = 1}}, .expected = "0 1 2"},
		{"SYN", .p = {{TCP4}, {.k = 1, .flags = ACK | SYN}, {.k = 1}}, .expected = "0 1 2"},
		{"RST", .p = {{TCP4}, {.k = 1, .flags = ACK | RST}, {.k = 1}}, .expected = "0 1 2"},
		{"URG", .p = {{TCP4}, {.k = 1, .flags = ACK | URG}, {.k = 1}}, .expected = "0 1 2"},
		{"CWR", .p = {{TCP4}, {.k = 1, .flags = ACK | CWR}, {.k = 1}}, .expected = "0 1 2"},
		{"CWR first", .p = {{.flags = ACK | CWR}, {.k = 1, .flags = ACK | CWR}},
		 .expected = "0 1"},
		{"URG in all", .p = {{.flags = ACK | URG}, {.k = 1, .flags = ACK | URG}},
		 .expected = "0 1"},
		{"FIN in all", .p = {{.flags = ACK | FIN}, {.k = 1, .flags = ACK | FIN}},
		 .expected = "0 1"},
		{"no ACK", .p = {{TCP4}, {.k = 1, .flags = PSH}, {.k = 1}}, .expected = "0 1 2"},
		{"no ACK in all", .p = {{.flags = ECE}, {.k = 1, .flags = ECE}}, .expected = "0 1"},
		{"SYN without payload",
		 .p = {{TCP4}, {.k = 1, .len = EMPTY, .flags = SYN}, {.k = 1}},
		 .expected = "0 1 2"},
		{"FIN without payload",
		 .p = {{TCP4}, {.k = 1, .len = EMPTY, .flags = ACK | FIN}, {.k = 1}},
		 .expected = "0 1 2"},
		{"pure ACK does not close",
		 .p = {{TCP4}, {.k = 1, .len = EMPTY}, {.k = 1}, {.k = 2, .len = EMPTY}, {.k = 2}},
		 .expected = "024 1 3"},
		{"pure ACK with ECE",
		 .p = {{TCP4}, {.k = 1, .len = EMPTY, .flags = ACK | ECE}, {.k = 1}},
		 .expected = "02 1"},
		{"pure ACK with PSH does",
		 .p = {{TCP4}, {.k = 1, .len = EMPTY, .flags = ACK | PSH}, {.k = 1}},
		 .expected = "0 1 2"},
	};

	(void)state;
	run_rows(rows, N_ELEMENTS(rows));
}

static void test_tcp_fields(void **state)
{
	static const struct row rows[] = {
		{"acknowledgement", .p = {{TCP4}, {.k = 1, .l4_at = 10, .l4_xor = 2}, {.k = 2}},
		 .expected = "0 1 2"},
		{"window", .p = {{TCP4}, {.k = 1, .l4_at = 14, .l4_xor = 1}}, .expected = "0 1"},
		{"urgent pointer", .p = {{TCP4}, {.k = 1, .l4_at = 18, .l4_xor = 1}},
		 .expected = "0 1"},
		{"reserved bit", .p = {{TCP4}, {.k = 1, .l4_at = 12, .l4_xor = 0x100}},
		 .expected = "0 1"},
		{"reserved bit in all",
		 .p = {{.l4_at = 12, .l4_xor = 0x100}, {.k = 1, .l4_at = 12, .l4_xor = 0x100}},
		 .expected = "0 1"},
		{"equal options",
		 .p = {{.options = 12}, {.options = 12, .k = 1}, {.options = 12, .k = 2}},
		 .expected = "012"},
		{"most options", .p = {{.options = 40}, {.options = 40, .k = 1}}, .expected = "01"},
		{"timestamp",
		 .p = {{.options = 12}, {.options = 12, .k = 1, .l4_at = 30, .l4_xor = 1}},
		 .expected = "0 1"},
		{"option lengths", .p = {{.options = 4}, {.options = 8, .k = 1}},
		 .expected = "0 1"},
		{"data offset 4",
		 .p = {{.len = 96, .l4_at = 12, .l4_xor = 0x1000},
		       {.k = 1, .len = 96, .l4_at = 12, .l4_xor = 0x1000}},
		 .expected = "0 1"},
		{"data offset beyond the packet closes",
		 .p = {{TCP4, .len = 8},
		       {.k = 1, .len = 8, .l4_at = 12, .l4_xor = 0xa000},
		       {.k = 1}},
		 .expected = "0 1 2"},
	};

	(void)state;
	run_rows(rows, N_ELEMENTS(rows));
}

static void test_ip(void **state)
{
	static const struct row rows[] = {
		{"TTL", .p = {{TCP4}, {.k = 1, .ip_at = 8, .ip_xor = 0x100}}, .expected = "0 1"},
		{"TTL, UDP", .p = {{UDP4}, {UDP4, .k = 1, .ip_at = 8, .ip_xor = 0x100}},
		 .expected = "0 1"},
		{"DSCP", .p = {{TCP4}, {.k = 1, .ip_at = 0, .ip_xor = 4}}, .expected = "0 1"},
		{"ECT(0), then ECT(1)",
		 .p = {{.ip_at = 0, .ip_xor = 2}, {.k = 1, .ip_at = 0, .ip_xor = 1}},
		 .expected = "0 1"},
		{"CE, UDP", .p = {{UDP4}, {UDP4, .k = 1, .ip_at = 0, .ip_xor = 3}},
		 .expected = "0 1"},
		{"TOS in all",
		 .p = {{.ip_at = 0, .ip_xor = 0xb9}, {.k = 1, .ip_at = 0, .ip_xor = 0xb9}},
		 .expected = "01"},
		{"DF on the second", .p = {{TCP4}, {.k = 1, .ip_at = 6, .ip_xor = 0x4000}},
		 .expected = "0 1"},
		{"DF in all",
		 .p = {{.ip_at = 6, .ip_xor = 0x4000}, {.k = 1, .ip_at = 6, .ip_xor = 0x4000}},
		 .expected = "01"},
		{"reserved flag", .p = {{TCP4}, {.k = 1, .ip_at = 6, .ip_xor = 0x8000}},
		 .expected = "0 1"},
		{"ID gap", .p = {{TCP4}, {.k = 1, .ip_at = 4, .ip_xor = 1}}, .expected = "0 1"},
		{"ID gap, UDP", .p = {{UDP4}, {UDP4, .k = 2}}, .expected = "0 1"},
		{"ID gap with DF",
		 .p = {{.ip_at = 6, .ip_xor = 0x4000},
		       {.k = 2, .ip_at = 6, .ip_xor = 0x4000, .l4_at = 6, .l4_xor = 0x6c}},
		 .expected = "0 1"},
		{"MF on the second closes all",
		 .p = {{TCP4},
		       {UDP4},
		       {.k = 1, .ip_at = 6, .ip_xor = 0x2000},
		       {.k = 1},
		       {UDP4, .k = 1}},
		 .expected = "0 1 2 3 4"},
		{"fragment of another flow closes all",
		 .p = {{TCP4}, {.flow = 9, .ip_at = 6, .ip_xor = 0x10}, {.k = 1}, {.k = 2}},
		 .expected = "0 1 23"},
		{"not IP closes all",
		 .p = {{TCP4}, {.flow = 9, .ip_at = 0, .ip_xor = 0x4000}, {.k = 1}, {.k = 2}},
		 .expected = "0 1 23"},
		{"traffic class", .p = {{TCP6}, {TCP6, .k = 1, .ip_at = 0, .ip_xor = 0x10}},
		 .expected = "0 1"},
		{"flow label", .p = {{TCP6}, {TCP6, .k = 1, .ip_at = 2, .ip_xor = 1}},
		 .expected = "0 1"},
		{"flow label, UDP", .p = {{UDP6}, {UDP6, .k = 1, .ip_at = 0, .ip_xor = 1}},
		 .expected = "0 1"},
		{"hop limit", .p = {{UDP6}, {UDP6, .k = 1, .ip_at = 6, .ip_xor = 1}},
		 .expected = "0 1"},
		{"padding behind the packet",
		 .p = {{TCP4, .flow = 7}, {.flow = 7, .k = 1, .padding = 1}, {.flow = 7, .k = 1}},
		 .expected = "0 1 2"},
		{"padding, IPv6 UDP", .p = {{UDP6}, {UDP6, .k = 1, .padding = 2}, {UDP6, .k = 1}},
		 .expected = "0 1 2"},
	};

	(void)state;
	run_rows(rows, N_ELEMENTS(rows));
}

static void test_udp(void **state)
{
	static const struct row rows[] = {
		{"equal", .p = {{UDP4}, {UDP4, .k = 1}, {UDP4, .k = 2}}, .expected = "012"},
		{"short closes",
		 .p = {{UDP6}, {UDP6, .k = 1, .len = 10}, {UDP6, .k = 2}, {UDP6, .k = 3}},
		 .expected = "01 23"},
		{"two short ones",
		 .p = {{UDP6}, {UDP6, .len = 10, .k = 1}, {UDP6, .len = 10, .k = 2}},
		 .expected = "01 2"},
		{"longer opens", .p = {{UDP4}, {UDP4, .k = 1, .len = 110}}, .expected = "0 1"},
		{"empty goes alone and closes",
		 .p = {{UDP4}, {UDP4, .k = 1, .len = EMPTY}, {UDP4, .k = 1}, {UDP4, .k = 2}},
		 .expected = "0 1 23"},
		{"empty, IPv6",
		 .p = {{UDP6, .len = EMPTY}, {UDP6, .k = 1, .len = EMPTY}, {UDP6, .k = 1}},
		 .expected = "0 1 2"},
		{"UDP length below IP's",
		 .p = {{UDP4}, {UDP4, .k = 1, .l4_at = 4, .l4_xor = 1}, {UDP4, .k = 1}},
		 .expected = "0 1 2"},
		{"UDP length in all",
		 .p = {{UDP4, .l4_at = 4, .l4_xor = 4}, {UDP4, .k = 1, .l4_at = 4, .l4_xor = 4}},
		 .expected = "0 1"},
	};

	(void)state;
	run_rows(rows, N_ELEMENTS(rows));
}

static void test_limits(void **state)
{
	static const struct row rows[] = {
		{"length", .max_len = 340, .p = {{TCP4}, {.k = 1}, {.k = 2}, {.k = 3}},
		 .expected = "012 3"},
		{"length, one less", .max_len = 339, .p = {{TCP4}, {.k = 1}, {.k = 2}, {.k = 3}},
		 .expected = "01 23"},
		{"length, IPv6", .max_len = 348,
		 .p = {{UDP6}, {UDP6, .k = 1}, {UDP6, .k = 2}, {UDP6, .k = 3}},
		 .expected = "012 3"},
		{"segments", .max_segments = 2, .p = {{TCP4}, {.k = 1}, {.k = 2}, {.k = 3}},
		 .expected = "01 23"},
		{"one segment", .max_segments = 1, .p = {{TCP4}, {.k = 1}}, .expected = "0 1"},
		{"65535 bytes",
		 .p = {{.len = 32747}, {.k = 1, .len = 32748, .l4_at = 6, .l4_xor = 0x7f}},
		 .expected = "0 1"},
	};

	(void)state;
	run_rows(rows, N_ELEMENTS(rows));
}

/* Segment @k, @with an IPv4 option or an IPv6 extension header. */
static void add_options(uint8_t version, uint32_t k, bool with)
{
	static const uint8_t extension[8] = {PKT_TCP, 0, 1, 4}; /* PadN */
	const struct pkt_shape s = {.version = version, .proto = PKT_TCP};
	uint8_t p[300];
	struct pkt_offsets o = pkt_write(p, &s, k, 100);
	const unsigned len = version == 4 ? 4 : 8;

	if (with) {
		memmove(p + o.l4 + len, p + o.l4, o.len - o.l4);
		if (version == 4) {
			memset(p + o.l4, 1, len);
			p[0] = 0x46;
		} else {
			memcpy(p + o.l4, extension, len);
			p[6] = 60;
		}
		o.l4 += len;
		o.len += len;
		pkt_set_lens(p, &o, PKT_TCP);
	}
	pkt_fix(p, &o, PKT_TCP, false);
	if (version == 4 && with) { /* pkt_fix() knows of 20 bytes */
		pkt_put16(p + 10, 0);
		pkt_put16(p + 10, naive_checksum(p, 24));
	}
	batch_add(&batch, p, o.len);
}

static void test_ip_options(void **state)
{
	uint8_t version;

	(void)state;
	for (version = 4; version <= 6; version += 2) {
		char groups[20];

		/* They close their flow, and are not merged with each other. */
		batch_init(&batch);
		add_options(version, 0, false);
		add_options(version, 1, true);
		add_options(version, 1, false);
		add_options(version, 2, false);
		add_options(version, 3, true);
		add_options(version, 4, true);
		batch_run(&batch);
		batch_groups(&batch, groups);
		assert_string_equal(groups, "0 1 23 4 5");
		batch_done(&batch);
	}
}

/* Runs long enough for each of the fixed limits; the length has none for TCP. */
static void test_long_runs(void **state)
{
	static const struct {
		uint8_t version, proto;
		unsigned len;
		uint32_t n, first, n_out;
	} cases[] = {
		{4, PKT_UDP, 8, 65, 64, 2},
		{6, PKT_UDP, 1200, 60, 54, 2},	/* 40 + 8 + 54 * 1200 = 64848 */
		{4, PKT_TCP, 8, 1001, 1000, 2}, /* GRO_PIECES_MAX */
		{4, PKT_UDP, 1400, 48, 46, 2},	/* 28 + 46 * 1400 = 64428 */
		{4, PKT_UDP, 9358, 8, 7, 2},	/* 28 + 7 * 9358 = 65534 */
		{4, PKT_UDP, 9359, 8, 6, 2},	/* seven are 65541 */
		{4, PKT_TCP, 13100, 6, 6, 1},
		{6, PKT_TCP, 13096, 6, 6, 1},
	};
	static uint8_t p[PKT_MAX_LEN];
	size_t i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(cases); i++) {
		const struct pkt_shape s = {.version = cases[i].version, .proto = cases[i].proto};

		batch_init(&batch);
		batch.config.max_len4 = batch.config.max_len6 = UINT32_MAX;
		batch.config.max_segments = UINT32_MAX;
		for (uint32_t k = 0; k < cases[i].n; k++)
			batch_add(&batch, p, pkt_build(p, &s, k, cases[i].len).len);
		batch_run(&batch);
		assert_int_equal(batch.n_out, cases[i].n_out);
		assert_int_equal(batch.out[0].n, cases[i].first);
		batch_done(&batch);
	}
}

/* A packet that ends within its transport header cannot be told to be of another
 * flow; nor can one that is cut short of its ports. */
static void test_truncated(void **state)
{
	static const struct {
		uint8_t proto;
		unsigned len;
		const char *expected;
	} cases[] = {
		{PKT_TCP, 0, "0 1 2"}, {PKT_TCP, 19, "0 1 2"}, {PKT_UDP, 0, "0 1 2"},
		{PKT_UDP, 7, "0 1 2"}, {1, 0, "02 1"},
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		uint8_t p[60];

		batch_init(&batch);
		add(&batch, &(struct packet){TCP6});
		memset(p, 0, sizeof(p));
		pkt_write_ip(p, 4, cases[i].proto);
		pkt_put16(p + 2, 20 + cases[i].len);
		pkt_fix_ip(p);
		batch_add(&batch, p, 20 + cases[i].len);
		add(&batch, &(struct packet){TCP6, .k = 1});
		check_groups(cases[i].expected);
	}
}

/* IPv6 whose upper layer is unknown: no next header, and a destination options
 * header longer than the packet. */
static void test_no_upper_layer(void **state)
{
	static const uint8_t next[] = {59, 60};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(next); i++) {
		uint8_t p[60];

		batch_init(&batch);
		add(&batch, &(struct packet){TCP4});
		memset(p, 1, sizeof(p));
		pkt_write_ip(p, 6, next[i]);
		pkt_put16(p + 4, 8);
		batch_add(&batch, p, 48);
		add(&batch, &(struct packet){TCP4, .k = 1});
		check_groups("0 1 2");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flows),
		cmocka_unit_test(test_tcp),
		cmocka_unit_test(test_tcp_flags),
		cmocka_unit_test(test_tcp_fields),
		cmocka_unit_test(test_ip),
		cmocka_unit_test(test_udp),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_ip_options),
		cmocka_unit_test(test_long_runs),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_no_upper_layer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
