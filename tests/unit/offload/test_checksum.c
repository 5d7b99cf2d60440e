/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/checksum.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "naive.h"

enum { LEN_MAX = 2100, ALIGNMENTS = 9 };

/* RFC 1071 section 3: the words 0001 f203 f4f5 f6f7 sum to ddf2. */
static void test_rfc1071_example(void **state)
{
	static const uint8_t data[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};

	(void)state;
	assert_int_equal(checksum_finish(checksum_add(0, data, sizeof(data))), 0x220d);
	/* The same sum in two halves, added as numbers. */
	assert_int_equal(checksum_finish(checksum_add(0, data, 4) + checksum_add(0, data + 4, 4)),
			 0x220d);
}

/* RFC 1624 section 4: header sum 0xcd7a, word 0x5555 becomes 0x3285, checksum
 * 0xdd2f becomes 0x0000. */
static void test_rfc1624_example(void **state)
{
	(void)state;
	assert_int_equal(checksum_update(0xdd2f, 0x5555, 0x3285), 0x0000);
}

static void test_small(void **state)
{
	static const struct {
		uint8_t data[4];
		size_t len;
		uint16_t expected;
	} cases[] = {
		{{0}, 0, 0xffff},
		{{0}, 4, 0xffff},
		{{0x12}, 1, 0xedff}, /* the odd byte is the high one */
		{{0x12, 0x34}, 2, 0xedcb},
		{{0x12, 0x34, 0x56}, 3, 0x97cb},
		{{0xff, 0xff}, 2, 0x0000},
		{{0xff, 0xff, 0x00, 0x01}, 4, 0xfffe}, /* end-around carry */
		{{0xff, 0xff, 0xff, 0xff}, 4, 0x0000},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(checksum_finish(checksum_add(0, cases[i].data, cases[i].len)),
				 cases[i].expected);
}

/* Every length in a buffer of exactly that size, so a load too far is seen. */
static void test_lengths(void **state)
{
	uint64_t seed = 1;
	size_t len;

	(void)state;
	for (len = 0; len <= LEN_MAX; len++) {
		uint8_t *p = malloc(len + 1);

		assert_non_null(p);
		naive_random_bytes(&seed, p + 1, len);
		assert_int_equal(checksum_finish(checksum_add(0, p + 1, len)),
				 naive_checksum(p + 1, len));
		memset(p + 1, 0xff, len);
		assert_int_equal(checksum_finish(checksum_add(0, p + 1, len)),
				 naive_checksum(p + 1, len));
		free(p);
	}
}

static void test_alignments(void **state)
{
	uint8_t buf[LEN_MAX + ALIGNMENTS];
	uint64_t seed = 2;
	size_t offset, len;

	(void)state;
	naive_random_bytes(&seed, buf, sizeof(buf));
	for (offset = 0; offset < ALIGNMENTS; offset++)
		for (len = LEN_MAX - 20; len <= LEN_MAX; len++)
			assert_int_equal(checksum_finish(checksum_add(0, buf + offset, len)),
					 naive_checksum(buf + offset, len));
}

/* A big train of all ones: any lost carry shows. */
static void test_carries(void **state)
{
	static uint8_t buf[128 * 1024];
	uint64_t sum = 0;
	unsigned i;

	(void)state;
	memset(buf, 0xff, sizeof(buf));
	for (i = 0; i < 64; i++)
		sum = checksum_add(sum, buf, sizeof(buf));
	assert_int_equal(checksum_finish(sum), 0x0000);
	buf[sizeof(buf) - 1] = 0xfe;
	assert_int_equal(checksum_finish(checksum_add(sum, buf, sizeof(buf))), 0x0001);
	/* The largest partial sums fold right as well. */
	assert_int_equal(checksum_finish(UINT64_MAX), 0x0000);
	assert_int_equal(checksum_finish(UINT64_MAX - 1), 0x0001);
}

/* An even first piece, then one of any length. */
static void test_chaining(void **state)
{
	enum { LEN = 511 };
	uint8_t buf[LEN];
	uint64_t seed = 3;
	size_t cut;

	(void)state;
	naive_random_bytes(&seed, buf, LEN);
	for (cut = 0; cut <= LEN; cut += 2) {
		const uint64_t sum = checksum_add(0, buf, cut);

		assert_int_equal(checksum_finish(checksum_add(sum, buf + cut, LEN - cut)),
				 naive_checksum(buf, LEN));
	}
}

/* The pseudo headers written out (RFC 9293 3.1, RFC 8200 8.1). */
static void test_pseudo(void **state)
{
	static const uint32_t lengths[] = {0, 1, 8, 1460, 0xffff};
	uint8_t v4[12], v6[40];
	uint64_t seed = 4;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		const uint32_t n = lengths[i];

		naive_random_bytes(&seed, v4, sizeof(v4));
		v4[8] = 0;
		v4[10] = (uint8_t)(n >> 8);
		v4[11] = (uint8_t)n;
		assert_int_equal(checksum_finish(checksum_pseudo(v4, v4 + 4, 4, v4[9], n)),
				 naive_checksum(v4, sizeof(v4)));
	}
	for (i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		const uint32_t n = lengths[i] << 4 | 5; /* beyond 16 bits: jumbograms */

		naive_random_bytes(&seed, v6, sizeof(v6));
		v6[32] = 0;
		v6[33] = (uint8_t)(n >> 16);
		v6[34] = (uint8_t)(n >> 8);
		v6[35] = (uint8_t)n;
		v6[36] = v6[37] = v6[38] = 0;
		assert_int_equal(checksum_finish(checksum_pseudo(v6, v6 + 16, 16, v6[39], n)),
				 naive_checksum(v6, sizeof(v6)));
	}
}

/* With the field filled in, the whole sums to zero. */
static void test_verifies(void **state)
{
	uint8_t buf[64];
	uint64_t seed = 5;
	unsigned round;

	(void)state;
	for (round = 0; round < 1000; round++) {
		uint16_t check;

		naive_random_bytes(&seed, buf, sizeof(buf));
		buf[6] = buf[7] = 0;
		check = checksum_finish(checksum_add(0, buf, sizeof(buf)));
		buf[6] = (uint8_t)(check >> 8);
		buf[7] = (uint8_t)check;
		assert_int_equal(checksum_finish(checksum_add(0, buf, sizeof(buf))), 0);
		assert_int_equal(naive_checksum(buf, sizeof(buf)), 0);
	}
}

static void check_update(const uint16_t words[4], uint16_t to)
{
	uint8_t buf[8];
	uint16_t before;
	size_t i;

	for (i = 0; i < 4; i++) {
		buf[2 * i] = (uint8_t)(words[i] >> 8);
		buf[2 * i + 1] = (uint8_t)words[i];
	}
	before = naive_checksum(buf, sizeof(buf));
	buf[2] = (uint8_t)(to >> 8);
	buf[3] = (uint8_t)to;
	assert_int_equal(checksum_update(before, words[1], to), naive_checksum(buf, sizeof(buf)));
}

/* Against recomputation: all pairs of the corner values, with a neighbour that
 * takes the checksum through every one of its values. The first word is not
 * zero, as checksum_update() asks. */
static void test_update(void **state)
{
	static const uint16_t corners[] = {0x0000, 0x0001, 0x00ff, 0x7fff,
					   0x8000, 0xff00, 0xfffe, 0xffff};
	const size_t n = sizeof(corners) / sizeof(*corners);
	uint16_t words[4] = {0x4500, 0, 0, 0};
	uint32_t other;
	size_t i;

	(void)state;
	for (other = 0; other <= 0xffff; other++) {
		words[2] = (uint16_t)other;
		for (i = 0; i < n * n; i++) {
			words[1] = corners[i / n];
			check_update(words, corners[i % n]);
		}
	}
}

static void test_update_random(void **state)
{
	uint64_t seed = 6;
	unsigned round;

	(void)state;
	for (round = 0; round < 100000; round++) {
		const uint64_t r = naive_random(&seed);
		const uint16_t words[4] = {(uint16_t)(r | 1), (uint16_t)(r >> 16),
					   (uint16_t)(r >> 32), (uint16_t)(r >> 48)};

		check_update(words, (uint16_t)naive_random(&seed));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rfc1071_example), cmocka_unit_test(test_rfc1624_example),
		cmocka_unit_test(test_small),		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_alignments),	cmocka_unit_test(test_carries),
		cmocka_unit_test(test_chaining),	cmocka_unit_test(test_pseudo),
		cmocka_unit_test(test_verifies),	cmocka_unit_test(test_update),
		cmocka_unit_test(test_update_random),
	};

	/* The portable code first, then what is chosen for this CPU. */
	int failed = cmocka_run_group_tests_name("portable", tests, NULL, NULL);

	checksum_select(true);
	return failed + cmocka_run_group_tests_name(checksum_name(), tests, NULL, NULL);
}
