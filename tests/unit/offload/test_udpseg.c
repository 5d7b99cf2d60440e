/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/udpseg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof(*(a)))

enum { ITEMS_MAX = 200 };

/* A train is cut into runs until it is used up. Both lists end with -1. */
static void assert_runs(unsigned row, const int *lens, const int *flows, unsigned max_segments,
			bool never_equal, const int *expected)
{
	struct udpseg_item items[ITEMS_MAX];
	unsigned n = 0, at, i;

	for (; lens[n] >= 0; n++)
		items[n] = (struct udpseg_item){(uint32_t)lens[n], flows ? (uint32_t)flows[n] : 0};
	for (at = i = 0; at < n; i++) {
		const unsigned run = udpseg_run(items + at, n - at, max_segments, never_equal);

		if (run != (unsigned)expected[i])
			fail_msg("row %u, run %u: %u instead of %d", row, i, run, expected[i]);
		at += run;
	}
	assert_int_equal(at, n);
	assert_int_equal(expected[i], -1);
}

static void test_run(void **state)
{
	static const struct {
		int lens[9], runs[9];
		unsigned max_segments;
	} rows[] = {
		{{1, -1}, {1, -1}, 64},
		{{1, 1, -1}, {2, -1}, 64},
		{{2, 1, -1}, {2, -1}, 64},
		{{1, 2, -1}, {1, 1, -1}, 64},
		/* A short one ends the run, whatever follows. */
		{{2, 1, 2, -1}, {2, 1, -1}, 64},
		{{2, 1, 1, -1}, {2, 1, -1}, 64},
		{{2, 2, 1, 2, 2, -1}, {3, 2, -1}, 64},
		{{1408, 1408, 1408, 96, 1408, 1408, -1}, {4, 2, -1}, 64},
		{{1408, 1408, 1407, 1408, -1}, {3, 1, -1}, 64},
		{{1408, 1408, 1409, 1408, -1}, {2, 2, -1}, 64},
		/* Limits of the count, and one past. */
		{{2, 2, 2, -1}, {3, -1}, 3},
		{{2, 2, 2, -1}, {2, 1, -1}, 2},
		{{2, 2, 1, -1}, {2, 1, -1}, 2},
		{{2, 2, 2, 2, -1}, {1, 1, 1, 1, -1}, 1},
		{{2, 2, -1}, {1, 1, -1}, 0},
		/* An empty datagram can be no segment and no segment size. */
		{{0, -1}, {1, -1}, 64},
		{{0, 0, 1, -1}, {1, 1, 1, -1}, 64},
		{{2, 0, 2, -1}, {1, 1, 1, -1}, 64},
		{{2, 2, 0, 2, -1}, {2, 1, 1, -1}, 64},
		/* Limits of the bytes, and one past: 64700 in all. */
		{{32350, 32350, -1}, {2, -1}, 64},
		{{32351, 32350, -1}, {1, 1, -1}, 64},
		{{32351, 32349, -1}, {2, -1}, 64},
		{{21567, 21567, 21566, -1}, {3, -1}, 64},
		{{21567, 21567, 21567, -1}, {2, 1, -1}, 64},
		{{64699, 1, -1}, {2, -1}, 64},
		{{64699, 1, 1, -1}, {2, 1, -1}, 64},
		{{64700, 1, -1}, {1, 1, -1}, 64},
		{{64701, 1, -1}, {1, 1, -1}, 64},
		{{65507, 65507, -1}, {1, 1, -1}, 64},
	};
	unsigned i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(rows); i++)
		assert_runs(i, rows[i].lens, NULL, rows[i].max_segments, false, rows[i].runs);
}

static void test_run_flows(void **state)
{
	static const struct {
		int lens[6], flows[6], runs[6];
	} rows[] = {
		{{5, 5, 5, 5, -1}, {1, 1, 2, 2, -1}, {2, 2, -1}},
		{{5, 5, 5, -1}, {1, 2, 1, -1}, {1, 1, 1, -1}},
		{{5, 3, -1}, {1, 2, -1}, {1, 1, -1}},
		{{5, 5, 5, -1}, {0, 0, 1, -1}, {2, 1, -1}},
	};
	unsigned i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(rows); i++)
		assert_runs(i, rows[i].lens, rows[i].flows, 64, false, rows[i].runs);
}

/* Full datagrams and one more of @tail bytes (0: none). */
static unsigned first_run(unsigned n_full, uint32_t len, uint32_t tail, unsigned max_segments,
			  bool never_equal)
{
	struct udpseg_item items[ITEMS_MAX] = {{0, 0}};
	unsigned n;

	for (n = 0; n < n_full; n++)
		items[n].len = len;
	if (tail)
		items[n++].len = tail;
	return udpseg_run(items, n, max_segments, never_equal);
}

static void test_run_long(void **state)
{
	static const struct {
		unsigned n_full;
		uint32_t len, tail;
		unsigned max_segments;
		bool never_equal;
		unsigned expected;
	} rows[] = {
		{63, 100, 0, 63, false, 63},
		{64, 100, 0, 63, false, 63},
		{64, 100, 0, 64, false, 64},
		{65, 100, 0, 64, false, 64},
		{64, 100, 50, 64, false, 64},
		{63, 100, 50, 64, false, 64},
		{128, 100, 0, 128, false, 128},
		{129, 100, 0, 128, false, 128},
		{127, 100, 50, 128, false, 128},
		{128, 505, 0, 128, false, 128}, /* 64640 */
		{128, 506, 0, 128, false, 127}, /* 64262, one more is 64768 */
		{50, 1440, 0, 128, false, 44},	/* 63360, one more is 64800 */
		{44, 1440, 1340, 128, false, 45},
		{44, 1440, 1341, 128, false, 44},
		/* 7.0: only a run with a short tail within the limits is one. */
		{63, 100, 50, 64, true, 64},
		{64, 100, 50, 64, true, 1},
		{64, 100, 0, 64, true, 1},
		{44, 1440, 1340, 128, true, 45},
		{44, 1440, 1341, 128, true, 1},
	};
	unsigned i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(rows); i++) {
		const unsigned is = first_run(rows[i].n_full, rows[i].len, rows[i].tail,
					      rows[i].max_segments, rows[i].never_equal);

		if (is != rows[i].expected)
			fail_msg("row %u: %u instead of %u", i, is, rows[i].expected);
	}
}

static void test_run_never_equal(void **state)
{
	static const struct {
		int lens[9], runs[9];
		unsigned max_segments;
	} rows[] = {
		{{5, -1}, {1, -1}, 64},
		{{5, 5, -1}, {1, 1, -1}, 64},
		{{5, 5, 5, -1}, {1, 1, 1, -1}, 64},
		{{5, 4, -1}, {2, -1}, 64},
		{{5, 5, 5, 4, -1}, {4, -1}, 64},
		/* The ones too many go alone, the rest with the tail. */
		{{5, 5, 5, 5, 4, -1}, {1, 1, 3, -1}, 3},
		{{5, 5, 4, 5, 5, -1}, {3, 1, 1, -1}, 64},
		{{5, 5, 6, 6, 1, -1}, {1, 1, 3, -1}, 64},
		{{5, 5, 0, -1}, {1, 1, 1, -1}, 64},
		{{5, 4, 4, -1}, {2, 1, -1}, 64},
	};
	unsigned i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(rows); i++)
		assert_runs(i, rows[i].lens, NULL, rows[i].max_segments, true, rows[i].runs);
}

static void test_split(void **state)
{
	static const struct {
		uint32_t len, gso_size;
		unsigned n;
		uint32_t first, last;
	} rows[] = {
		{3, 1, 3, 1, 1},
		{4, 1, 4, 1, 1},
		{1, 0, 1, 1, 1},
		{2, 1, 2, 1, 1},
		{1, 1, 1, 1, 1},
		{0, 0, 1, 0, 0},
		{0, 7, 1, 0, 0},
		{1500, 0, 1, 1500, 1500},
		{1500, 1500, 1, 1500, 1500},
		{1500, 1501, 1, 1500, 1500},
		{1500, 1499, 2, 1499, 1},
		{2880, 1440, 2, 1440, 1440},
		{2881, 1440, 3, 1440, 1},
		{2879, 1440, 2, 1440, 1439},
		{64768, 1472, 44, 1472, 1472},
		{65507, 1472, 45, 1472, 739},
		{65535, 511, 129, 511, 127},
		{UINT32_MAX, 1, UINT32_MAX, 1, 1},
		{UINT32_MAX, UINT32_MAX, 1, UINT32_MAX, UINT32_MAX},
		{UINT32_MAX, UINT32_MAX - 1, 2, UINT32_MAX - 1, 1},
		{UINT32_MAX, 0x80000000, 2, 0x80000000, 0x7fffffff},
	};
	unsigned i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(rows); i++) {
		const uint32_t len = rows[i].len, gso_size = rows[i].gso_size;
		const unsigned n = rows[i].n;

		assert_int_equal(udpseg_split(len, gso_size), n);
		assert_int_equal(udpseg_split_len(len, gso_size, 0), rows[i].first);
		assert_int_equal(udpseg_split_len(len, gso_size, n - 1), rows[i].last);
		assert_int_equal(udpseg_split_len(len, gso_size, n), 0);
		assert_int_equal(udpseg_split_len(len, gso_size, UINT32_MAX), 0);
		if (n > 2) {
			assert_int_equal(udpseg_split_len(len, gso_size, 1), gso_size);
			assert_int_equal(udpseg_split_len(len, gso_size, n - 2), gso_size);
		}
	}
}

static void test_limits(void **state)
{
	(void)state;
	assert_int_equal(UDPSEG_SEGMENTS_SAFE, 64);
	assert_int_equal(UDPSEG_SEGMENTS_MAX, 128);
	/* The longest run under Ethernet with a tag, IPv6 and UDP is below 65536. */
	assert_true(UDPSEG_RUN_LEN_MAX + 14 + 4 + 40 + 8 < 65536);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run),	 cmocka_unit_test(test_run_flows),
		cmocka_unit_test(test_run_long), cmocka_unit_test(test_run_never_equal),
		cmocka_unit_test(test_split),	 cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
