/* SPDX-License-Identifier: Apache-2.0 */
/* The forwarding database against a list, on random input. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fdb_twin.h"

static const struct vtep vteps[] = {
	{{10, 0, 0, 1}, 4},
	{{10, 0, 0, 2}, 4},
	{{10, 0, 0, 1}, 16},
	{{10, 0, 0, 1, [15] = 1}, 16},
};

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Mostly learning, so that tables are full more often than not. */
static enum fdb_twin_what random_what(uint64_t r)
{
	if (r % 64 < 48)
		return TWIN_LEARN;
	if (r % 64 < 63)
		return r & 1 ? TWIN_SET : TWIN_REMOVE;
	return TWIN_REMOVE_VTEP + (r >> 6) % (TWIN_N_OPERATIONS - TWIN_REMOVE_VTEP);
}

static struct fdb_config random_config(uint64_t r)
{
	const size_t limit = r % (FDB_TWIN_MAX + 1);

	return (struct fdb_config){
		.limit = limit,
		.learned_limit = (r >> 8) % (limit + 2),
		.learning = (r >> 16) % 8 > 0,
		.age_ns = (r >> 20) % 400,
	};
}

static void test_against_twin(void **state)
{
	unsigned learned[FDB_BAD] = {0}, run, n;
	uint64_t seed = 0xfdb, now_ns = 0, r;

	(void)state;
	for (run = 0; run < 40; run++) {
		const uint8_t hash_key[16] = {(uint8_t)run};
		struct fdb_twin w = {.config = {4 + 2 * run, 2 + 2 * run, true, 50 + run}};
		struct fdb *f = NULL;

		assert_int_equal(fdb_new(&w.config, hash_key, &f), 0);
		for (n = 0; n < 4000; n++) {
			struct fdb_twin_op op = {.config = random_config(random_next(&seed))};

			r = random_next(&seed);
			now_ns += r >> 50 & 3;
			op.what = random_what(r);
			op.name = (r >> 16) % FDB_TWIN_MAX;
			op.vtep = &vteps[r >> 40 & 3];
			op.now_ns = now_ns;
			assert_true(twin_step(f, &w, &op));
			if (n % 8 == 0)
				assert_true(twin_agrees(f, &w, now_ns));
		}
		fdb_free(f);
		for (n = 0; n < FDB_BAD; n++)
			learned[n] += w.n_learned[n];
	}
	/* The input reaches every answer often. */
	for (n = 0; n < FDB_BAD; n++)
		assert_true(learned[n] > 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_twin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
