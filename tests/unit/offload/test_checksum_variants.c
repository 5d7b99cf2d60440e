/* SPDX-License-Identifier: Apache-2.0 */
/* Every variant of the checksum that this CPU can run, against the naive one. */
#include "offload/checksum_variants.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "naive.h"
#include "offload/checksum.h"

enum { LEN_MAX = 4200, ALIGNMENTS = 64, CANARY = 0xc7 };

static const struct checksum_ops *variants[CHECKSUM_VARIANTS_MAX];
static unsigned n_variants;

static void fill(uint8_t *p, size_t len, bool all_ones)
{
	uint64_t seed = 7;

	if (all_ones)
		memset(p, 0xff, len);
	else
		naive_random_bytes(&seed, p, len);
}

static void check_add(const struct checksum_ops *ops, const uint8_t *p, size_t len,
		      uint16_t expected)
{
	if (checksum_finish(ops->add(0, p, len)) != expected)
		fail_msg("%s: sum of %zu bytes at ...%zu", ops->name, len, (uintptr_t)p % 64);
}

/* Copies into the middle of canaries. */
static void check_copy(const struct checksum_ops *ops, const uint8_t *p, size_t len,
		       uint16_t expected, size_t dst_alignment)
{
	static uint8_t out[LEN_MAX + 3 * ALIGNMENTS] __attribute__((aligned(64)));
	uint8_t *dst = out + ALIGNMENTS + dst_alignment;

	memset(dst - ALIGNMENTS, CANARY, ALIGNMENTS);
	memset(dst + len, CANARY, ALIGNMENTS);
	memset(dst, 0, len);
	if (checksum_finish(ops->copy(dst, p, len, 0)) != expected || memcmp(dst, p, len) != 0)
		fail_msg("%s: copy of %zu bytes at ...%zu", ops->name, len, (uintptr_t)p % 64);
	for (size_t i = 0; i < ALIGNMENTS; i++) {
		assert_int_equal(dst[-1 - (ptrdiff_t)i], CANARY);
		assert_int_equal(dst[len + i], CANARY);
	}
}

/* The naive sum of a growing buffer grows with it. */
static void check_lengths(const uint8_t *p, size_t dst_alignment)
{
	uint16_t even_sum = 0;

	for (size_t len = 0; len <= LEN_MAX; len++) {
		uint16_t expected;

		if (len && len % 2 == 0)
			even_sum = naive_sum(even_sum, p + len - 2, 2);
		expected = 0xffff - naive_sum(even_sum, p + len - len % 2, len % 2);
		for (unsigned v = 0; v < n_variants; v++) {
			check_add(variants[v], p, len, expected);
			check_copy(variants[v], p, len, expected, dst_alignment);
		}
	}
}

static void check_alignments(bool all_ones)
{
	static uint8_t buf[LEN_MAX + ALIGNMENTS] __attribute__((aligned(64)));

	fill(buf, sizeof(buf), all_ones);
	for (size_t i = 0; i < ALIGNMENTS; i++)
		check_lengths(buf + i, (i * 7 + 3) % ALIGNMENTS);
}

static void test_random_bytes(void **state)
{
	(void)state;
	check_alignments(false);
}

static void test_all_ones(void **state)
{
	(void)state;
	check_alignments(true);
}

/* Two pages between two that nobody may touch. */
static uint8_t *guarded_pages(size_t *ret_len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *p = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);

	assert_true(p != MAP_FAILED);
	assert_return_code(mprotect(p, page, PROT_NONE), 0);
	assert_return_code(mprotect(p + 3 * page, page, PROT_NONE), 0);
	*ret_len = 2 * page;
	return p + page;
}

/* Right behind and right before a page that cannot be read: one byte too far
 * ends the program, in instructions the sanitizers do not see as well. */
static void test_stays_inside(void **state)
{
	size_t from_len, to_len;
	uint8_t *from = guarded_pages(&from_len), *to = guarded_pages(&to_len);

	(void)state;
	assert_true(from_len >= LEN_MAX);
	fill(from, from_len, false);
	for (size_t len = 0; len <= LEN_MAX; len++) {
		const uint8_t *last = from + from_len - len;

		for (unsigned v = 0; v < n_variants; v++) {
			const struct checksum_ops *ops = variants[v];
			uint64_t sum = ops->add(0, last, len);

			assert_int_equal(
				checksum_finish(ops->copy(to + to_len - len, last, len, 0)),
				checksum_finish(sum));
			assert_memory_equal(to + to_len - len, last, len);
			sum = ops->add(0, from, len);
			assert_int_equal(checksum_finish(ops->copy(to, from, len, 0)),
					 checksum_finish(sum));
			assert_memory_equal(to, from, len);
		}
	}
	munmap(from - from_len / 2, 2 * from_len);
	munmap(to - to_len / 2, 2 * to_len);
}

/* What was added before is kept, and no data adds nothing. */
static void test_sum_is_added_to(void **state)
{
	static const uint64_t sums[] = {1, 0xffff, 0x10000, 0x123456789abc};
	uint8_t buf[200], out[200];

	(void)state;
	fill(buf, sizeof(buf), false);
	for (unsigned i = 0; i < sizeof(sums) / sizeof(*sums); i++) {
		for (unsigned v = 0; v < n_variants; v++) {
			const uint16_t expected =
				checksum_finish(sums[i] + naive_sum(0, buf, sizeof(buf)));

			assert_int_equal(
				checksum_finish(variants[v]->add(sums[i], buf, sizeof(buf))),
				expected);
			assert_int_equal(
				checksum_finish(variants[v]->copy(out, buf, sizeof(buf), sums[i])),
				expected);
			assert_int_equal(checksum_finish(variants[v]->add(sums[i], buf, 0)),
					 checksum_finish(sums[i]));
		}
	}
}

/* Lanes that wrap: a buffer so long that a sum of 64-bit words cannot but
 * overflow its accumulator. */
static void test_long(void **state)
{
	enum { LEN = 1 << 20 };
	uint8_t *p = malloc(LEN), *out = malloc(LEN);

	(void)state;
	assert_true(p && out);
	for (int all_ones = 0; all_ones <= 1; all_ones++) {
		uint16_t expected;

		fill(p, LEN, all_ones);
		p[LEN - 1] = 0x5a;
		expected = naive_checksum(p, LEN);
		for (unsigned v = 0; v < n_variants; v++) {
			check_add(variants[v], p, LEN, expected);
			assert_int_equal(checksum_finish(variants[v]->copy(out, p, LEN, 0)),
					 expected);
			assert_memory_equal(out, p, LEN);
		}
	}
	free(p);
	free(out);
}

/* The public functions, over the length from which they go through the pointer. */
static void check_public(void)
{
	uint8_t buf[300], out[300];

	fill(buf, sizeof(buf), false);
	for (size_t len = 0; len <= sizeof(buf); len++) {
		uint16_t expected = naive_checksum(buf, len);

		memset(out, CANARY, sizeof(out));
		assert_int_equal(checksum_finish(checksum_add(0, buf, len)), expected);
		assert_int_equal(checksum_finish(checksum_copy(out, buf, len, 0)), expected);
		assert_memory_equal(out, buf, len);
		for (size_t i = len; i < sizeof(out); i++)
			assert_int_equal(out[i], CANARY);
	}
}

static void test_select(void **state)
{
	(void)state;
	assert_string_equal(checksum_name(), "portable");
	check_public();
	checksum_select(true);
	assert_string_equal(checksum_name(), variants[n_variants - 1]->name);
	check_public();
	checksum_select(false);
	assert_string_equal(checksum_name(), "portable");
	check_public();
}

static void test_list(void **state)
{
	(void)state;
	assert_in_range(n_variants, 1, CHECKSUM_VARIANTS_MAX);
	assert_string_equal(variants[0]->name, "portable");
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		assert_string_equal(variants[1]->name, "avx2");
	if (__builtin_cpu_supports("avx512bw"))
		assert_string_equal(variants[n_variants - 1]->name, "avx512");
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list),	     cmocka_unit_test(test_select),
		cmocka_unit_test(test_random_bytes), cmocka_unit_test(test_all_ones),
		cmocka_unit_test(test_stays_inside), cmocka_unit_test(test_sum_is_added_to),
		cmocka_unit_test(test_long),
	};

	n_variants = checksum_variants(variants);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
