/* SPDX-License-Identifier: Apache-2.0 */
#include "crypto/replay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { BACK = 8128 }; /* counters behind the greatest that are still accepted */

struct step {
	uint64_t counter;
	bool accepted;
};

/* Runs @steps on an empty window. */
static void run(const struct step *steps, size_t n)
{
	struct replay r = {0};

	for (size_t i = 0; i < n; i++)
		if (replay_accept(&r, steps[i].counter) != steps[i].accepted)
			fail_msg("step %zu: counter %llu", i, (unsigned long long)steps[i].counter);
}

#define RUN(...)                                                                                   \
	do {                                                                                       \
		const struct step steps[] = {__VA_ARGS__};                                         \
                                                                                                   \
		run(steps, sizeof(steps) / sizeof(steps[0]));                                      \
	} while (0)

static void test_order_and_duplicates(void **state)
{
	(void)state;
	RUN({0, true}, {0, false}, {1, true}, {1, false}, {0, false});
	RUN({5, true}, {3, true}, {4, true}, {3, false}, {4, false}, {5, false}, {0, true},
	    {0, false}, {6, true}, {2, true}, {1, true});
	/* An empty window has not seen 0, whatever comes first. */
	RUN({1, true}, {0, true}, {0, false});
	/* Neighbours across a word. */
	RUN({63, true}, {64, true}, {62, true}, {65, true}, {63, false}, {64, false}, {128, true},
	    {127, true}, {127, false});
}

static void test_window_edge(void **state)
{
	(void)state;
	RUN({BACK, true}, {0, true}, {0, false});
	RUN({BACK + 1, true}, {0, false}, {1, true}, {1, false});
	RUN({0, true}, {BACK, true}, {0, false}, {1, true}, {BACK + 1, true}, {1, false},
	    {2, true});
	/* The same at every position in a word. */
	for (uint64_t at = 100000; at < 100000 + 64; at++)
		RUN({at, true}, {at - BACK - 1, false}, {at - BACK, true}, {at - BACK, false},
		    {at - BACK + 1, true}, {at + 1, true}, {at - BACK, false},
		    {at - BACK + 1, false}, {at - BACK + 2, true});
}

static void test_jumps(void **state)
{
	(void)state;
	/* A jump inside the window keeps what was seen. */
	RUN({0, true}, {1, true}, {4000, true}, {0, false}, {1, false}, {2, true});
	/* Nearly, exactly and more than a whole turn of the bitmap. */
	RUN({10, true}, {10 + 8191, true}, {10, false}, {10 + 8191 - BACK, true});
	RUN({10, true}, {10 + 8192, true}, {10, false}, {10 + 8192 - BACK, true},
	    {10 + 8192, false});
	RUN({10, true}, {10 + 8193, true}, {10, false}, {10 + 8192, true}, {10 + 8193, false});
	/* Far: old bits must not show through at the same place of the ring. */
	RUN({7, true}, {80, true}, {7 + 8192 * 5, true}, {80 + 8192 * 4, true},
	    {80 + 8192 * 4, false}, {7, false}, {80, false}, {0, false});
	RUN({1, true}, {1ULL << 32, true}, {(1ULL << 32) - 1, true}, {1, false},
	    {(1ULL << 32) - BACK, true}, {(1ULL << 32) - BACK - 1, false});
	/* 0 after jumps. */
	RUN({BACK * 3ULL, true}, {0, false});
	RUN({1ULL << 63, true}, {0, false}, {(1ULL << 63) - 1, true});
}

static void test_reject_after_messages(void **state)
{
	/* The limit is 2^64 - 8130; the last counter is the one before. */
	const uint64_t last = UINT64_MAX - 8130;

	(void)state;
	assert_true(REJECT_AFTER_MESSAGES == last + 1);
	RUN({last + 1, false}, {last + 2, false}, {UINT64_MAX, false}, {0, true}, {last, true},
	    {last, false}, {last + 1, false}, {UINT64_MAX, false}, {0, false}, {last - 1, true},
	    {last - BACK, true}, {last - BACK - 1, false}, {last - BACK, false});
}

static void test_refusal_changes_nothing(void **state)
{
	struct replay r = {0}, before;

	(void)state;
	assert_true(replay_accept(&r, 20000));
	assert_true(replay_accept(&r, 19000));
	before = r;
	assert_false(replay_accept(&r, 20000));
	assert_false(replay_accept(&r, 19000));
	assert_false(replay_accept(&r, 20000 - BACK - 1));
	assert_false(replay_accept(&r, 0));
	assert_false(replay_accept(&r, REJECT_AFTER_MESSAGES));
	assert_false(replay_accept(&r, UINT64_MAX));
	assert_memory_equal(&r, &before, sizeof(r));
}

static void test_next(void **state)
{
	struct replay r = {0};

	(void)state;
	assert_true(replay_accept(&r, 0));
	assert_int_equal(r.next, 1);
	assert_true(replay_accept(&r, 500));
	assert_int_equal(r.next, 501);
	assert_true(replay_accept(&r, 400));
	assert_int_equal(r.next, 501);
}

/* The twin: one flag for every counter there is, no ring, no words. */
enum { TWIN_COUNTERS = 1 << 20 };

struct twin {
	uint8_t seen[TWIN_COUNTERS];
	uint64_t greatest;
	bool any;
};

static bool twin_accept(struct twin *t, uint64_t counter)
{
	if (t->seen[counter] || (t->any && counter + BACK < t->greatest))
		return false;
	t->seen[counter] = 1;
	if (!t->any || counter > t->greatest)
		t->greatest = counter;
	t->any = true;
	return true;
}

static uint64_t xorshift(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

/* Where the next counter falls: mostly around the newest one, often at the edge
 * of the window or inside it, now and then far ahead. */
static uint64_t pick(uint64_t *seed, uint64_t greatest)
{
	int64_t at = (int64_t)greatest;

	switch (xorshift(seed) % 256) {
	case 0:
		at += (int64_t)(xorshift(seed) % 12000);
		break;
	case 1 ... 63:
		at += (int64_t)(xorshift(seed) % 8) - 4 - BACK;
		break;
	case 64 ... 127:
		at -= (int64_t)(xorshift(seed) % 8300);
		break;
	default:
		at += (int64_t)(xorshift(seed) % 80) - 40;
		break;
	}
	if (at < 0)
		return 0;
	return at < TWIN_COUNTERS ? (uint64_t)at : TWIN_COUNTERS - 1;
}

static void test_against_twin(void **state)
{
	struct twin *twin = malloc(sizeof(*twin));
	uint64_t seed = 0x5ea1a9e;

	(void)state;
	for (unsigned round = 0; round < 20; round++) {
		struct replay r = {0};
		unsigned n_accepted = 0, n = 20000;

		memset(twin, 0, sizeof(*twin));
		for (unsigned i = 0; i < n; i++) {
			uint64_t counter = pick(&seed, twin->greatest);
			bool expected = twin_accept(twin, counter);

			if (replay_accept(&r, counter) != expected)
				fail_msg("round %u, counter %llu of %llu", round,
					 (unsigned long long)counter,
					 (unsigned long long)twin->greatest);
			n_accepted += expected;
		}
		/* Both answers were asked for often, and the twin's end was not hit. */
		assert_in_range(twin->greatest, 100000, TWIN_COUNTERS - 2);
		assert_in_range(n_accepted, n / 10, n - n / 10);
	}
	free(twin);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_and_duplicates),
		cmocka_unit_test(test_window_edge),
		cmocka_unit_test(test_jumps),
		cmocka_unit_test(test_reject_after_messages),
		cmocka_unit_test(test_refusal_changes_nothing),
		cmocka_unit_test(test_next),
		cmocka_unit_test(test_against_twin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
