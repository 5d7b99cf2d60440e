/* SPDX-License-Identifier: Apache-2.0 */
/* The neighbour table: its rules, its limit, and a twin that is a plain array. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "agent/lane/neightab.h"

#define N_ELEMENTS(a) (sizeof(a) / sizeof(*(a)))
#define N_NAMES	      600

static const uint8_t hash_key[16] = {0x5e, 0xa1};

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Address number @n: of IPv4, of IPv6 with the same first bytes, of IPv6. The MAC
 * address tells @version. */
static struct neighbour name(uint32_t n, uint32_t version)
{
	struct neighbour e = {.addr = {10, n >> 16 & 0xff, n >> 8 & 0xff, n & 0xfc}};

	e.addr_len = n % 4 ? 16 : 4;
	e.addr[14] = n % 4 > 1 ? 9 : 0;
	e.addr[15] = n % 4 > 2 ? 9 : 0;
	e.mac[0] = 2;
	e.mac[1] = n & 0xff;
	e.mac[2] = n >> 8 & 0xff;
	e.mac[3] = n >> 16 & 0xff;
	e.mac[4] = version & 0xff;
	e.mac[5] = version >> 8 & 0xff;
	return e;
}

static struct neightab *make(size_t limit)
{
	struct neightab *t = NULL;

	assert_int_equal(neightab_new(limit, hash_key, &t), 0);
	assert_non_null(t);
	assert_int_equal(neightab_count(t), 0);
	return t;
}

static int set(struct neightab *t, uint32_t n, uint32_t version)
{
	const struct neighbour e = name(n, version);

	return neightab_set(t, &e);
}

static int remove_name(struct neightab *t, uint32_t n)
{
	const struct neighbour e = name(n, 0);

	return neightab_remove(t, e.addr, e.addr_len);
}

static void check_equal(const struct neighbour *found, const struct neighbour *e)
{
	assert_non_null(found);
	assert_int_equal(found->addr_len, e->addr_len);
	assert_memory_equal(found->addr, e->addr, e->addr_len);
	assert_memory_equal(found->mac, e->mac, 6);
}

/* @version 0: unknown. */
static void check_name(const struct neightab *t, uint32_t n, uint32_t version)
{
	const struct neighbour e = name(n, version);
	const struct neighbour *found = neightab_find(t, e.addr, e.addr_len);

	if (version)
		check_equal(found, &e);
	else
		assert_null(found);
}

static void test_sizes(void **state)
{
	static const struct {
		size_t limit;
		int err;
	} cases[] = {{0, 0},
		     {1, 0},
		     {NEIGHTAB_LIMIT_MAX, 0},
		     {NEIGHTAB_LIMIT_MAX + 1, -EINVAL},
		     {SIZE_MAX, -EINVAL}};
	struct neightab *const untouched = make(1);
	size_t i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(cases); i++) {
		struct neightab *t = untouched;

		assert_int_equal(neightab_new(cases[i].limit, hash_key, &t), cases[i].err);
		assert_int_equal(t == untouched, cases[i].err != 0);
		if (t != untouched)
			neightab_free(t);
	}
	neightab_free(untouched);
	neightab_free(NULL);
}

static void test_refused(void **state)
{
	static const struct {
		struct neighbour n;
		bool ok;
	} cases[] = {
		{{{10, 0, 0, 1}, 4, {2}}, true},
		{{{10, 0, 0, 1}, 16, {2}}, true},
		{{{10, 0, 0, 1}, 0, {2}}, false},
		{{{10, 0, 0, 1}, 3, {2}}, false},
		{{{10, 0, 0, 1}, 5, {2}}, false},
		{{{10, 0, 0, 1}, 15, {2}}, false},
		{{{10, 0, 0, 1}, 17, {2}}, false},
		{{{10, 0, 0, 1}, 255, {2}}, false},
		{{{0}, 4, {2}}, false},
		{{{0, 0, 0, 0, 1}, 4, {2}}, false},
		{{{0, 0, 0, 1}, 4, {2}}, true},
		{{{127, 0, 0, 1}, 4, {2}}, false},
		{{{223, 255, 255, 255}, 4, {2}}, true},
		{{{224}, 4, {2}}, false},
		{{{239, 255, 255, 255}, 4, {2}}, false},
		{{{255, 255, 255, 255}, 4, {2}}, false},
		{{{255, 255, 255, 254}, 4, {2}}, true},
		{{{0}, 16, {2}}, false},
		{{{[15] = 1}, 16, {2}}, false},
		{{{[15] = 2}, 16, {2}}, true},
		{{{0xff, 2, [15] = 1}, 16, {2}}, false},
		{{{0xfe, 0x80, [15] = 1}, 16, {2}}, true},
		{{{10, 0, 0, 1}, 4, {0}}, false},
		{{{10, 0, 0, 1}, 4, {1}}, false},
		{{{10, 0, 0, 1}, 4, {0x33, 0x33, 0, 0, 0, 1}}, false},
		{{{10, 0, 0, 1}, 4, {255, 255, 255, 255, 255, 255}}, false},
		{{{10, 0, 0, 1}, 4, {0, 0, 0, 0, 0, 1}}, true},
	};
	size_t i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(cases); i++) {
		const struct neighbour *n = &cases[i].n;
		struct neightab *t = make(8);

		assert_int_equal(neightab_set(t, n), cases[i].ok ? 0 : -EINVAL);
		assert_int_equal(neightab_count(t), cases[i].ok);
		if (cases[i].ok)
			check_equal(neightab_find(t, n->addr, n->addr_len), n);
		neightab_free(t);
	}
}

/* A length that no address has is found nowhere, however the bytes begin. */
static void test_lengths(void **state)
{
	const uint8_t addr[32] = {10, 0, 0, 4};
	const struct neighbour v4 = {{10, 0, 0, 4, 0xee}, 4, {2}}, v6 = {{10, 0, 0, 4}, 16, {4}};
	struct neightab *t = make(8);
	size_t len;

	(void)state;
	assert_null(neightab_find(t, addr, 4));
	assert_int_equal(neightab_remove(t, addr, 4), -ENOENT);
	assert_int_equal(neightab_set(t, &v4), 0);
	assert_null(neightab_find(t, addr, 16));
	assert_int_equal(neightab_set(t, &v6), 0);
	assert_int_equal(neightab_count(t), 2);
	for (len = 0; len <= sizeof(addr); len++) {
		const struct neighbour *n = neightab_find(t, addr, len);

		if (len == 4 || len == 16) {
			check_equal(n, len == 4 ? &v4 : &v6);
			continue;
		}
		assert_null(n);
		assert_int_equal(neightab_remove(t, addr, len), -ENOENT);
	}
	assert_null(neightab_find(t, addr, SIZE_MAX));
	assert_int_equal(neightab_remove(t, addr, 4), 0);
	assert_null(neightab_find(t, addr, 4));
	check_equal(neightab_find(t, addr, 16), &v6);
	neightab_free(t);
}

static void test_limit(void **state)
{
	static const size_t limits[] = {0, 1, 2, 7, 8, 9, 100};
	size_t i, n;

	(void)state;
	for (i = 0; i < N_ELEMENTS(limits); i++) {
		const uint32_t limit = (uint32_t)limits[i];
		struct neightab *t = make(limit);
		struct neighbour bad = name(limit, 1);

		for (n = 0; n < limit; n++)
			assert_int_equal(set(t, (uint32_t)n, 1), 0);
		assert_int_equal(set(t, limit, 1), -ENOSPC);
		bad.mac[0] = 1;
		assert_int_equal(neightab_set(t, &bad), -EINVAL);
		check_name(t, limit, 0);
		assert_int_equal(neightab_count(t), limit);
		if (limit) {
			/* A full table takes what replaces, and what there is room for. */
			assert_int_equal(set(t, limit - 1, 2), 0);
			check_name(t, limit - 1, 2);
			assert_int_equal(set(t, limit, 1), -ENOSPC);
			assert_int_equal(remove_name(t, 0), 0);
			assert_int_equal(set(t, limit, 3), 0);
			check_name(t, limit, 3);
			assert_int_equal(neightab_count(t), limit);
		}
		neightab_free(t);
	}
}

/* What was found may be given back in: to set, to remove. */
static void test_own_entries(void **state)
{
	struct neightab *t = make(1000);
	const struct neighbour *n;
	struct neighbour before;
	size_t pos;
	uint32_t i;

	(void)state;
	for (i = 0; i < 500; i++) {
		assert_int_equal(set(t, i, 1), 0);
		pos = 0;
		n = neightab_next(t, &pos);
		assert_non_null(n);
		before = *n;
		assert_int_equal(neightab_set(t, n), 0);
		check_equal(neightab_find(t, before.addr, before.addr_len), &before);
	}
	for (i = 500; i; i--) {
		assert_int_equal(neightab_count(t), i);
		pos = 0;
		n = neightab_next(t, &pos);
		assert_non_null(n);
		assert_int_equal(neightab_remove(t, n->addr, n->addr_len), 0);
	}
	assert_int_equal(neightab_count(t), 0);
	neightab_free(t);
}

static uint32_t number_of(const struct neighbour *n)
{
	return n->mac[1] | (uint32_t)n->mac[2] << 8 | (uint32_t)n->mac[3] << 16;
}

/* @twin[n]: version of name n, 0: unknown. Each is found, or not, and each is come
 * across once. */
static void check_all(const struct neightab *t, const uint32_t twin[N_NAMES])
{
	bool seen[N_NAMES] = {false};
	const struct neighbour *n;
	size_t pos = 0, known = 0;
	uint32_t i;

	while ((n = neightab_next(t, &pos))) {
		const struct neighbour e = name(number_of(n), 0);

		assert_in_range(number_of(n), 0, N_NAMES - 1);
		assert_false(seen[number_of(n)]);
		seen[number_of(n)] = true;
		assert_memory_equal(n->addr, e.addr, sizeof(e.addr));
	}
	assert_null(neightab_next(t, &pos));
	for (i = 0; i < N_NAMES; i++) {
		check_name(t, i, twin[i]);
		assert_int_equal(seen[i], twin[i] != 0);
		known += twin[i] != 0;
	}
	assert_int_equal(neightab_count(t), known);
}

static void random_step(struct neightab *t, uint32_t twin[N_NAMES], size_t limit, uint32_t n,
			uint32_t what)
{
	const bool full = !twin[n] && neightab_count(t) >= limit;
	const uint32_t version = 1 + what / 8;

	if (what % 8 < 3) {
		assert_int_equal(remove_name(t, n), twin[n] ? 0 : -ENOENT);
		twin[n] = 0;
		return;
	}
	assert_int_equal(set(t, n, version), full ? -ENOSPC : 0);
	if (!full)
		twin[n] = version;
}

/* The names come in as the run goes on, so that most sizes are churned in; twice all
 * are forgotten. */
static void test_against_twin(void **state)
{
	static const size_t limits[] = {5, 60, 333, 1000};
	uint64_t seed = 0x1d;
	size_t i, op;

	(void)state;
	for (i = 0; i < N_ELEMENTS(limits); i++) {
		uint32_t twin[N_NAMES] = {0};
		struct neightab *t = make(limits[i]);

		for (op = 0; op < 8000; op++) {
			const uint64_t r = random_next(&seed);
			const uint32_t n = (uint32_t)(r >> 40) % (8 + op % 4000 * N_NAMES / 4100);

			random_step(t, twin, limits[i], n, (uint32_t)r & 0x7fff);
			if (op % 32 == 0)
				check_all(t, twin);
			if (op % 4000 == 3999) {
				neightab_clear(t);
				memset(twin, 0, sizeof(twin));
				check_all(t, twin);
			}
		}
		neightab_free(t);
	}
}

static void test_many(void **state)
{
	enum { MANY = 40000 };
	struct neightab *t = make(MANY);
	uint32_t i;

	(void)state;
	for (i = 0; i < MANY; i++)
		assert_int_equal(set(t, i, 1), 0);
	for (i = 0; i < MANY; i += 2)
		assert_int_equal(remove_name(t, i), 0);
	for (i = 0; i < MANY; i++)
		check_name(t, i, i % 2);
	assert_int_equal(neightab_count(t), MANY / 2);
	neightab_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),	    cmocka_unit_test(test_refused),
		cmocka_unit_test(test_lengths),	    cmocka_unit_test(test_limit),
		cmocka_unit_test(test_own_entries), cmocka_unit_test(test_against_twin),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
