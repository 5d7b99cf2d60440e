/* SPDX-License-Identifier: Apache-2.0 */
/* The heap against a twin that scans an array of all deadlines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "agent/lane/deadlines.h"

#define N_ENTRIES 200

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static uint64_t twin_next(const uint64_t *at_ns)
{
	uint64_t min = UINT64_MAX;
	size_t i;

	for (i = 0; i < N_ENTRIES; i++) {
		if (at_ns[i] < min)
			min = at_ns[i];
	}
	return min;
}

static void check_positions(const struct deadlines *d, const struct deadline *entries,
			    const uint64_t *at_ns)
{
	size_t i, n = 0;

	for (i = 0; i < N_ENTRIES; i++) {
		if (at_ns[i] == UINT64_MAX) {
			assert_int_equal(entries[i].pos, 0);
			continue;
		}
		n++;
		assert_in_range(entries[i].pos, 1, d->n);
		assert_ptr_equal(d->heap[entries[i].pos - 1], &entries[i]);
		assert_true(entries[i].at_ns == at_ns[i]);
	}
	assert_int_equal(n, d->n);
}

static void test_empty(void **state)
{
	struct deadlines d = {0};
	struct deadline e = {0};

	(void)state;
	assert_true(deadlines_next(&d) == UINT64_MAX);
	assert_null(deadlines_pop(&d, UINT64_MAX));
	deadlines_set(&d, &e, UINT64_MAX);
	assert_int_equal(e.pos, 0);
	assert_int_equal(deadlines_reserve(&d, 0), 0);
	deadlines_done(&d);
}

static void test_due_edge(void **state)
{
	struct deadlines d = {0};
	struct deadline e = {0};

	(void)state;
	assert_int_equal(deadlines_reserve(&d, 1), 0);
	deadlines_set(&d, &e, 1000);
	assert_true(deadlines_next(&d) == 1000);
	assert_null(deadlines_pop(&d, 999));
	assert_int_equal(e.pos, 1);
	assert_ptr_equal(deadlines_pop(&d, 1000), &e);
	assert_int_equal(e.pos, 0);
	assert_null(deadlines_pop(&d, 1000));
	assert_true(deadlines_next(&d) == UINT64_MAX);
	deadlines_done(&d);
}

/* The array may move while entries are queued. */
static void test_reserve_keeps(void **state)
{
	struct deadline entries[100] = {0};
	struct deadlines d = {0};
	size_t i;

	(void)state;
	for (i = 0; i < 100; i++) {
		assert_int_equal(deadlines_reserve(&d, i + 1), 0);
		assert_true(d.capacity >= i + 1);
		deadlines_set(&d, &entries[i], 100 - i);
		assert_true(deadlines_next(&d) == 100 - i);
	}
	for (i = 100; i-- > 0;)
		assert_ptr_equal(deadlines_pop(&d, 100), &entries[i]);
	assert_int_equal(deadlines_reserve(&d, SIZE_MAX), -12); /* ENOMEM */
	deadlines_done(&d);
	assert_null(d.heap);
}

/* All deadlines up to @now_ns must come out, each once and in order. */
static void pop_all(struct deadlines *d, struct deadline *entries, uint64_t *at_ns, uint64_t now_ns)
{
	struct deadline *e;

	while ((e = deadlines_pop(d, now_ns))) {
		const size_t i = (size_t)(e - entries);

		assert_true(i < N_ENTRIES);
		assert_int_equal(e->pos, 0);
		assert_true(at_ns[i] == twin_next(at_ns) && at_ns[i] <= now_ns);
		at_ns[i] = UINT64_MAX;
	}
	assert_true(twin_next(at_ns) > now_ns);
}

static void test_against_twin(void **state)
{
	static struct deadline entries[N_ENTRIES];
	static uint64_t at_ns[N_ENTRIES];
	uint64_t seed = 0x5ea1a4e, now_ns = 0;
	struct deadlines d = {0};
	size_t op;

	(void)state;
	memset(at_ns, 0xff, sizeof(at_ns));
	assert_int_equal(deadlines_reserve(&d, N_ENTRIES), 0);
	for (op = 0; op < 20000; op++) {
		const uint64_t r = random_next(&seed);
		const size_t i = r % N_ENTRIES;

		/* Few distinct values, so that many are equal. */
		at_ns[i] = (r >> 32) % 8 ? now_ns + (r >> 40) % 50 : UINT64_MAX;
		deadlines_set(&d, &entries[i], at_ns[i]);
		assert_true(deadlines_next(&d) == twin_next(at_ns));
		if (op % 16 == 0)
			pop_all(&d, entries, at_ns, now_ns += (r >> 56) % 8);
		check_positions(&d, entries, at_ns);
	}
	pop_all(&d, entries, at_ns, UINT64_MAX - 1);
	assert_int_equal(d.n, 0);
	deadlines_done(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_due_edge),
		cmocka_unit_test(test_reserve_keeps),
		cmocka_unit_test(test_against_twin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
