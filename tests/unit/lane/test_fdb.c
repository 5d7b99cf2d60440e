/* SPDX-License-Identifier: Apache-2.0 */
/* The forwarding database: each rule, and one past it. */
#include <errno.h>
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "agent/lane/fdb.h"
#include "agent/lane/fdb_table.h"

#define AGE_NS 1000
#define ALL_ONES                                                                                   \
	{                                                                                          \
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff                                                 \
	}

static const uint8_t hash_key[16] = {0x5e, 0xa1};
/* A v4 address is its first four bytes, whatever the others are. */
static const struct vtep v4 = {{10, 0, 0, 1}, 4}, v4_other = {{10, 0, 0, 2}, 4};
static const struct vtep v4_dirty = {{10, 0, 0, 1, 0xee}, 4}, v6 = {{10, 0, 0, 1}, 16};
static const struct vtep v6_other = {{10, 0, 0, 1, [15] = 1}, 16};

struct mac {
	uint8_t b[FDB_MAC_LEN];
};

static struct mac mac(uint32_t n)
{
	return (struct mac){{2, 0, n >> 24, n >> 16 & 0xff, n >> 8 & 0xff, n & 0xff}};
}

static struct fdb_config config(size_t limit, size_t learned_limit)
{
	return (struct fdb_config){limit, learned_limit, true, AGE_NS};
}

static struct fdb *make(size_t limit, size_t learned_limit)
{
	const struct fdb_config c = config(limit, learned_limit);
	struct fdb *f = NULL;

	assert_int_equal(fdb_new(&c, hash_key, &f), 0);
	return f;
}

static enum fdb_learned learn(struct fdb *f, uint32_t n, const struct vtep *vtep, uint64_t now_ns)
{
	return fdb_learn(f, mac(n).b, vtep, now_ns);
}

static int set(struct fdb *f, uint32_t n, const struct vtep *vtep)
{
	return fdb_set(f, mac(n).b, vtep);
}

/* @vtep NULL: unknown. */
static void check_at(const struct fdb *f, uint32_t n, const struct vtep *vtep, uint64_t now_ns)
{
	const struct vtep *found = fdb_lookup(f, mac(n).b, now_ns);

	assert_int_equal(found != NULL, vtep != NULL);
	if (found)
		assert_true(vtep_equal(found, vtep));
}

static void check_counts(const struct fdb *f, size_t n_static, size_t n_learned)
{
	assert_int_equal(fdb_count(f, false), n_static);
	assert_int_equal(fdb_count(f, true), n_learned);
}

static size_t count_visible(const struct fdb *f, uint64_t now_ns)
{
	size_t pos = 0, n = 0;

	while (fdb_next(f, &pos, now_ns))
		n++;
	assert_null(fdb_next(f, &pos, now_ns));
	return n;
}

static void test_vtep_equal(void **state)
{
	static const struct vtep *const all[] = {&v4, &v4_other, &v6, &v6_other};
	size_t i, j;

	(void)state;
	for (i = 0; i < 4; i++)
		for (j = 0; j < 4; j++)
			assert_int_equal(vtep_equal(all[i], all[j]), i == j);
	assert_true(vtep_equal(&v4, &v4_dirty));
}

static void test_configurations(void **state)
{
	static const struct {
		struct fdb_config config;
		int err;
	} cases[] = {
		{{FDB_LIMIT_MAX, FDB_LIMIT_MAX, true, 1}, 0},
		{{FDB_LIMIT_MAX + 1, 0, true, 1}, -EINVAL},
		{{SIZE_MAX, SIZE_MAX, true, 1}, -EINVAL},
		{{8, 8, true, 1}, 0},
		{{8, 9, true, 1}, -EINVAL},
		{{8, 9, false, 0}, -EINVAL},
		{{8, 0, true, UINT64_MAX}, 0},
		{{8, 8, true, 0}, -EINVAL},
		{{8, 8, false, 0}, 0},
		{{0, 0, true, 1}, 0},
		{{0, 1, true, 1}, -EINVAL},
	};
	struct fdb *const untouched = make(0, 0);
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fdb *f = untouched, *g = make(4, 2);

		assert_int_equal(fdb_new(&cases[i].config, hash_key, &f), cases[i].err);
		assert_int_equal(f == untouched, cases[i].err != 0);
		if (f != untouched)
			fdb_free(f);
		assert_int_equal(fdb_configure(g, &cases[i].config), cases[i].err);
		fdb_free(g);
	}
	fdb_free(untouched);
	fdb_free(NULL);
}

static void test_stations(void **state)
{
	static const struct {
		uint8_t mac[FDB_MAC_LEN];
		bool is_station;
	} cases[] = {
		{{0, 0, 0, 0, 0, 0}, false},
		{{0, 0, 0, 0, 0, 1}, true},
		{{0, 1, 0, 0, 0, 0}, true},
		{{1, 0, 0, 0, 0, 0}, false},
		{{0x80, 0, 0, 0, 0, 0}, true},
		{{0x33, 0x33, 0, 0, 0, 1}, false},
		{{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff}, true},
		{ALL_ONES, false},
	};
	struct fdb_config off = {8, 8, false, AGE_NS};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const bool ok = cases[i].is_station;
		struct fdb *f = make(8, 8);

		assert_int_equal(fdb_learn(f, cases[i].mac, &v4, 0), ok ? FDB_NEW : FDB_BAD);
		assert_int_equal(fdb_lookup(f, cases[i].mac, 0) != NULL, ok);
		check_counts(f, 0, ok);
		assert_int_equal(fdb_set(f, cases[i].mac, &v4), ok ? 0 : -EINVAL);
		check_counts(f, ok, 0);
		assert_int_equal(fdb_remove(f, cases[i].mac), ok ? 0 : -ENOENT);
		check_counts(f, 0, 0);
		assert_int_equal(fdb_remove(f, cases[i].mac), -ENOENT);
		/* A bad source is one without learning too. */
		assert_int_equal(fdb_configure(f, &off), 0);
		assert_int_equal(fdb_learn(f, cases[i].mac, &v4, 0), ok ? FDB_KNOWN : FDB_BAD);
		check_counts(f, 0, 0);
		fdb_free(f);
	}
}

static void test_learning(void **state)
{
	struct fdb *f = make(8, 8);

	(void)state;
	check_at(f, 1, NULL, 0);
	assert_int_equal(learn(f, 1, &v4, 5), FDB_NEW);
	assert_int_equal(learn(f, 1, &v4, 6), FDB_KNOWN);
	assert_int_equal(learn(f, 1, &v4_dirty, 6), FDB_KNOWN);
	check_at(f, 1, &v4, 6);
	check_at(f, 2, NULL, 6);
	/* Same first bytes, other family: elsewhere. */
	assert_int_equal(learn(f, 1, &v6, 7), FDB_MOVED);
	check_at(f, 1, &v6, 7);
	assert_int_equal(learn(f, 1, &v6, 7), FDB_KNOWN);
	assert_int_equal(learn(f, 1, &v6_other, 7), FDB_MOVED);
	assert_int_equal(learn(f, 1, &v4, 7), FDB_MOVED);
	check_counts(f, 0, 1);
	fdb_free(f);
}

static void test_static_wins(void **state)
{
	struct fdb *f = make(8, 8);

	(void)state;
	assert_int_equal(set(f, 1, &v4), 0);
	assert_int_equal(learn(f, 1, &v4_dirty, 0), FDB_KNOWN);
	assert_int_equal(learn(f, 1, &v4_other, 0), FDB_REFUSED);
	assert_int_equal(learn(f, 1, &v6, 0), FDB_REFUSED);
	check_at(f, 1, &v4, UINT64_MAX); /* and is never too old */
	check_counts(f, 1, 0);
	assert_int_equal(set(f, 1, &v6), 0);
	check_at(f, 1, &v6, 0);
	assert_int_equal(learn(f, 1, &v4, 0), FDB_REFUSED);
	check_counts(f, 1, 0);

	/* A learned one becomes static, even to the same place. */
	assert_int_equal(learn(f, 2, &v4, 0), FDB_NEW);
	check_counts(f, 1, 1);
	assert_int_equal(set(f, 2, &v4), 0);
	check_counts(f, 2, 0);
	assert_int_equal(learn(f, 2, &v6, 0), FDB_REFUSED);
	check_at(f, 2, &v4, UINT64_MAX);

	/* Once removed it can be learned. */
	assert_int_equal(fdb_remove(f, mac(1).b), 0);
	check_at(f, 1, NULL, 0);
	assert_int_equal(learn(f, 1, &v4, 0), FDB_NEW);
	check_counts(f, 1, 1);
	fdb_free(f);
}

static void test_without_learning(void **state)
{
	struct fdb_config off = config(8, 8);
	struct fdb *f = make(8, 8);

	(void)state;
	off.learning = false;
	assert_int_equal(set(f, 1, &v4), 0);
	assert_int_equal(learn(f, 2, &v4, 10), FDB_NEW);
	assert_int_equal(fdb_configure(f, &off), 0);
	/* What is there stays and ages, and nothing is heard any more. */
	assert_int_equal(learn(f, 1, &v6, 20), FDB_KNOWN);
	assert_int_equal(learn(f, 2, &v6, 20), FDB_KNOWN);
	assert_int_equal(learn(f, 3, &v6, 20), FDB_KNOWN);
	check_at(f, 1, &v4, 20);
	check_at(f, 2, &v4, 10 + AGE_NS - 1);
	check_at(f, 2, NULL, 10 + AGE_NS);
	check_at(f, 3, NULL, 20);
	check_counts(f, 1, 1);
	fdb_free(f);
}

static void test_ageing(void **state)
{
	const uint64_t t = 5000;
	struct fdb *f = make(8, 8);
	struct fdb_config c = config(8, 8);

	(void)state;
	assert_int_equal(learn(f, 1, &v4, t), FDB_NEW);
	check_at(f, 1, &v4, t + AGE_NS - 1);
	assert_int_equal(count_visible(f, t + AGE_NS - 1), 1);
	check_at(f, 1, NULL, t + AGE_NS);
	assert_int_equal(count_visible(f, t + AGE_NS), 0);
	check_at(f, 1, NULL, UINT64_MAX);
	check_at(f, 1, &v4, t - 1); /* a clock that went back makes nobody old */
	/* A frame renews it, a lookup does not. */
	assert_int_equal(learn(f, 1, &v4, t + AGE_NS - 1), FDB_KNOWN);
	check_at(f, 1, &v4, t + 2 * AGE_NS - 2);
	check_at(f, 1, NULL, t + 2 * AGE_NS - 1);
	/* An aged one is new wherever it shows up, not moved, and still one. */
	assert_int_equal(learn(f, 1, &v4, 10 * t), FDB_NEW);
	assert_int_equal(learn(f, 1, &v6, 20 * t), FDB_NEW);
	assert_int_equal(learn(f, 1, &v4, 20 * t + AGE_NS - 1), FDB_MOVED);
	check_at(f, 1, &v4, 20 * t + AGE_NS);
	check_counts(f, 0, 1);

	c.age_ns = 1;
	assert_int_equal(fdb_configure(f, &c), 0);
	check_at(f, 1, &v4, 20 * t + AGE_NS - 1);
	check_at(f, 1, NULL, 20 * t + AGE_NS);
	c.age_ns = UINT64_MAX;
	assert_int_equal(fdb_configure(f, &c), 0);
	check_at(f, 1, &v4, UINT64_MAX);
	fdb_free(f);
}

/* What was forgotten stays so when the age is raised afterwards. */
static void test_forget_aged(void **state)
{
	struct fdb *f = make(8, 8);
	struct fdb_config c = config(8, 8);

	(void)state;
	assert_int_equal(set(f, 1, &v4), 0);
	assert_int_equal(learn(f, 2, &v4, 10), FDB_NEW);
	assert_int_equal(learn(f, 3, &v4, 20), FDB_NEW);
	fdb_forget_aged(f, 10 + AGE_NS - 1);
	check_counts(f, 1, 2);
	fdb_forget_aged(f, 10 + AGE_NS);
	check_counts(f, 1, 1);
	c.age_ns = UINT64_MAX;
	assert_int_equal(fdb_configure(f, &c), 0);
	check_at(f, 2, NULL, 20);
	check_at(f, 3, &v4, 20 + AGE_NS);
	fdb_forget_aged(f, UINT64_MAX - 1);
	check_counts(f, 1, 1);
	check_at(f, 1, &v4, UINT64_MAX);
	fdb_free(f);
}

static void test_learned_limit(void **state)
{
	struct fdb *f = make(8, 3);
	uint32_t i;

	(void)state;
	for (i = 1; i <= 3; i++)
		assert_int_equal(learn(f, i, &v4, i), FDB_NEW);
	assert_int_equal(learn(f, 4, &v4, 4), FDB_FULL);
	check_at(f, 4, NULL, 4);
	assert_int_equal(learn(f, 2, &v6, 4), FDB_MOVED); /* those known go on moving */
	for (i = 11; i <= 15; i++)
		assert_int_equal(set(f, i, &v4), 0);
	check_counts(f, 5, 3);
	assert_int_equal(set(f, 16, &v4), 0); /* instead of the oldest learned: 1 */
	check_counts(f, 6, 2);
	check_at(f, 1, NULL, 4);
	check_at(f, 3, &v4, 4);
	assert_int_equal(learn(f, 1, &v4, 5), FDB_FULL); /* now by the limit of all */
	assert_int_equal(set(f, 17, &v4), 0);
	check_at(f, 2, &v6, 5);
	check_at(f, 3, NULL, 5);
	assert_int_equal(set(f, 18, &v4), 0);
	check_counts(f, 8, 0);
	assert_int_equal(learn(f, 1, &v4, UINT64_MAX), FDB_FULL);
	assert_int_equal(set(f, 19, &v4), -ENOSPC);
	check_at(f, 19, NULL, 5);
	assert_int_equal(set(f, 18, &v6), 0); /* replacing needs no room */
	check_at(f, 18, &v6, 5);
	check_counts(f, 8, 0);
	fdb_free(f);
}

static void test_no_room_at_all(void **state)
{
	struct fdb *none = make(0, 0), *unlearned = make(4, 0);

	(void)state;
	assert_int_equal(set(none, 1, &v4), -ENOSPC);
	assert_int_equal(learn(none, 1, &v4, 0), FDB_FULL);
	assert_int_equal(fdb_remove(none, mac(1).b), -ENOENT);
	assert_int_equal(count_visible(none, 0), 0);
	assert_int_equal(learn(unlearned, 1, &v4, 0), FDB_FULL);
	assert_int_equal(set(unlearned, 1, &v4), 0);
	fdb_free(none);
	fdb_free(unlearned);
}

static void test_aged_make_room(void **state)
{
	struct fdb *f = make(4, 3);

	(void)state;
	assert_int_equal(learn(f, 1, &v4, 10), FDB_NEW);
	assert_int_equal(learn(f, 2, &v4, 20), FDB_NEW);
	assert_int_equal(learn(f, 3, &v4, 30), FDB_NEW);
	assert_int_equal(learn(f, 1, &v4, 40), FDB_KNOWN); /* 2 is the oldest now */
	assert_int_equal(learn(f, 4, &v4, 20 + AGE_NS - 1), FDB_FULL);
	check_at(f, 2, &v4, 20 + AGE_NS - 1);
	assert_int_equal(learn(f, 4, &v4, 20 + AGE_NS), FDB_NEW);
	check_counts(f, 0, 3);
	assert_int_equal(learn(f, 2, &v4, 20 + AGE_NS), FDB_FULL);
	/* One entry each, and no more go than are needed. */
	assert_int_equal(learn(f, 5, &v4, 40 + AGE_NS), FDB_NEW);
	assert_int_equal(learn(f, 1, &v4, 40 + AGE_NS), FDB_NEW);
	assert_int_equal(learn(f, 3, &v4, 40 + AGE_NS), FDB_FULL);
	check_counts(f, 0, 3);
	/* By the limit of all. */
	assert_int_equal(set(f, 11, &v4), 0);
	assert_int_equal(fdb_remove(f, mac(5).b), 0);
	assert_int_equal(set(f, 12, &v4), 0);
	assert_int_equal(learn(f, 6, &v4, 20 + 2 * AGE_NS - 1), FDB_FULL);
	assert_int_equal(learn(f, 6, &v4, 20 + 2 * AGE_NS), FDB_NEW);
	check_at(f, 4, NULL, 20 + AGE_NS);
	check_counts(f, 2, 2);
	fdb_free(f);
}

static void test_removal(void **state)
{
	struct fdb *f = make(8, 8);

	(void)state;
	assert_int_equal(set(f, 1, &v4), 0);
	assert_int_equal(set(f, 2, &v6), 0);
	assert_int_equal(learn(f, 3, &v4_dirty, 0), FDB_NEW);
	assert_int_equal(learn(f, 4, &v6, 0), FDB_NEW);
	assert_int_equal(learn(f, 5, &v4, 0), FDB_NEW);
	fdb_remove_vtep(f, &v6_other, false);
	check_counts(f, 2, 3);
	fdb_remove_vtep(f, &v4, true);
	check_counts(f, 2, 1);
	check_at(f, 1, &v4, 0);
	check_at(f, 4, &v6, 0);
	/* What a lookup returned will do as an argument. */
	fdb_remove_vtep(f, fdb_lookup(f, mac(2).b, 0), false);
	check_counts(f, 1, 0);
	check_at(f, 1, &v4, 0);
	assert_int_equal(learn(f, 3, &v4, 0), FDB_NEW);
	assert_int_equal(learn(f, 4, &v4, 0), FDB_NEW);
	fdb_flush_learned(f);
	check_counts(f, 1, 0);
	check_at(f, 1, &v4, 0);
	check_at(f, 3, NULL, 0);
	fdb_flush_learned(f);
	fdb_remove_vtep(f, &v4, false);
	check_counts(f, 0, 0);
	assert_int_equal(count_visible(f, 0), 0);
	fdb_free(f);
}

/* Arguments out of the entry that makes room for the new one. */
static void test_arguments_of_its_own(void **state)
{
	struct fdb *f = make(2, 2);

	(void)state;
	assert_int_equal(learn(f, 1, &v6_other, 0), FDB_NEW);
	assert_int_equal(learn(f, 2, &v4, 0), FDB_NEW);
	assert_int_equal(set(f, 3, fdb_lookup(f, mac(1).b, 0)), 0);
	check_at(f, 3, &v6_other, 0);
	check_at(f, 1, NULL, 0);
	assert_int_equal(set(f, 2, fdb_lookup(f, mac(2).b, 0)), 0);
	check_at(f, 2, &v4, 0);
	check_counts(f, 2, 0);
	fdb_free(f);
}

static void test_shrinking(void **state)
{
	struct fdb *f = make(8, 6);
	struct fdb_config c = config(8, 5);
	uint32_t i;

	(void)state;
	assert_int_equal(set(f, 11, &v4), 0);
	assert_int_equal(set(f, 12, &v4), 0);
	for (i = 1; i <= 6; i++)
		assert_int_equal(learn(f, i, &v6, i), FDB_NEW);
	assert_int_equal(learn(f, 1, &v6, 7), FDB_KNOWN);
	assert_int_equal(fdb_configure(f, &c), 0); /* 2 goes */
	check_counts(f, 2, 5);
	check_at(f, 2, NULL, 7);
	c = config(5, 4);
	assert_int_equal(fdb_configure(f, &c), 0); /* 3 and 4 go */
	check_counts(f, 2, 3);
	check_at(f, 4, NULL, 7);
	check_at(f, 5, &v6, 7);
	check_at(f, 1, &v6, 7);
	c = config(1, 1);
	assert_int_equal(fdb_configure(f, &c), -ENOSPC);
	c = config(1, 2);
	assert_int_equal(fdb_configure(f, &c), -EINVAL);
	check_counts(f, 2, 3);
	assert_int_equal(set(f, 13, &v4), 0); /* the old limit holds: 5 of all */
	assert_int_equal(learn(f, 7, &v4, 8), FDB_FULL);
	check_counts(f, 3, 2);
	c = config(3, 3);
	assert_int_equal(fdb_configure(f, &c), 0);
	check_counts(f, 3, 0);
	assert_int_equal(set(f, 14, &v4), -ENOSPC);
	assert_int_equal(learn(f, 7, &v4, 8), FDB_FULL);
	c = config(4, 1); /* up again, within what it once was */
	assert_int_equal(fdb_configure(f, &c), 0);
	assert_int_equal(learn(f, 7, &v4, 8), FDB_NEW);
	assert_int_equal(learn(f, 8, &v4, 8), FDB_FULL);
	fdb_free(f);
}

static void test_growing(void **state)
{
	struct fdb_config c = config(2, 1);
	struct fdb *f = make(2, 1);
	size_t limit;
	uint32_t i = 0;

	(void)state;
	assert_int_equal(set(f, 1000, &v4_other), 0);
	for (limit = 2; limit <= 300; limit += 1 + limit / 3) {
		c = config(limit, limit - 1);
		assert_int_equal(fdb_configure(f, &c), 0);
		while (i < limit - 1)
			assert_int_equal(learn(f, i, i % 2 ? &v4 : &v6, i), FDB_NEW), i++;
		assert_int_equal(learn(f, i, &v4, i), FDB_FULL);
		assert_int_equal(fdb_remove(f, mac(i / 2).b), 0); /* a gap to carry along */
		assert_int_equal(learn(f, i / 2, i / 2 % 2 ? &v4 : &v6, i), FDB_NEW);
	}
	assert_true(i > 200);
	check_counts(f, 1, i);
	check_at(f, 1000, &v4_other, 0);
	while (i--)
		check_at(f, i, i % 2 ? &v4 : &v6, 500);
	fdb_free(f);
}

/* What fits at most, and one past it. */
static void test_largest(void **state)
{
	struct fdb *f = make(FDB_LIMIT_MAX, FDB_LIMIT_MAX);
	uint32_t i;

	(void)state;
	for (i = 0; i < FDB_LIMIT_MAX; i++)
		if (learn(f, i, &v4, 1) != FDB_NEW)
			fail_msg("entry %u", i);
	assert_int_equal(learn(f, i, &v4, AGE_NS), FDB_FULL);
	for (i = 0; i < FDB_LIMIT_MAX; i++)
		if (!fdb_lookup(f, mac(i).b, AGE_NS))
			fail_msg("entry %u", i);
	assert_int_equal(learn(f, i, &v4, AGE_NS + 1), FDB_NEW);
	check_counts(f, 0, FDB_LIMIT_MAX);
	fdb_free(f);
}

static void test_iteration(void **state)
{
	struct fdb *f = make(8, 8);
	unsigned seen = 0;
	const struct fdb_entry *e;
	size_t pos = 0;
	uint32_t i;

	(void)state;
	assert_null(fdb_next(f, &pos, 0));
	for (i = 1; i <= 3; i++) {
		assert_int_equal(learn(f, i, &v4, 100 * i), FDB_NEW);
		assert_int_equal(set(f, 3 + i, &v6), 0);
	}
	pos = 0;
	while ((e = fdb_next(f, &pos, 100 + AGE_NS))) { /* 1 has aged */
		i = e->mac[5];
		assert_memory_equal(e->mac, mac(i).b, FDB_MAC_LEN);
		assert_false(seen & 1U << i);
		seen |= 1U << i;
		assert_int_equal(e->is_static, i > 3);
		assert_true(vtep_equal(&e->vtep, i > 3 ? &v6 : &v4));
		if (i <= 3)
			assert_int_equal(e->seen_ns, 100 * i);
		assert_int_equal(fdb_remove(f, e->mac), 0); /* as it goes */
	}
	assert_int_equal(seen, 0x7c);
	check_counts(f, 0, 1);
	fdb_free(f);
}

/* MACs whose search starts at the last slots of a table of 16, so that it wraps:
 * whichever are removed, in whichever order, the others are found. */
static void test_collisions(void **state)
{
	uint32_t names[6], n, i, order;
	uint64_t h;

	(void)state;
	for (n = 0, i = 0; n < 6; i++) {
		crypto_shorthash((unsigned char *)&h, mac(i).b, FDB_MAC_LEN, hash_key);
		if ((h & 15) == 14 + n % 3 / 2 || (n == 5 && (h & 15) == 1))
			names[n++] = i;
	}
	for (order = 0; order < 6 * 6 * 6 * 6; order++) {
		struct fdb *f = make(8, 8);
		bool present[6];
		uint32_t digits = order;

		for (n = 0; n < 6; n++) {
			assert_int_equal(set(f, names[n], &v4), 0);
			present[n] = true;
		}
		for (i = 0; i < 4; i++, digits /= 6) {
			n = digits % 6;
			assert_int_equal(fdb_remove(f, mac(names[n]).b), present[n] ? 0 : -ENOENT);
			present[n] = false;
			for (n = 0; n < 6; n++)
				check_at(f, names[n], present[n] ? &v4 : NULL, 0);
		}
		fdb_free(f);
	}
}

/* At most half full, entered by the keyed hash, no long runs, the key wiped. */
static void test_table_shape(void **state)
{
	static const struct fdb_table wiped;
	size_t i, run = 0, longest = 0;
	struct fdb_table t;
	uint64_t h;

	(void)state;
	assert_int_equal(fdb_table_init(&t, hash_key, 1024), 0);
	for (i = 0; i < 1024; i++) {
		struct fdb_entry e = {.vtep = v4};

		memcpy(e.mac, mac((uint32_t)i).b, FDB_MAC_LEN);
		fdb_table_add(&t, &e);
	}
	assert_int_equal(t.n_slots, 2048);
	for (i = 0; i < 2 * t.n_slots; i++) {
		const struct fdb_slot *s = &t.slots[i % t.n_slots];

		run = s->node ? run + 1 : 0;
		longest = run > longest ? run : longest;
		if (!s->node)
			continue;
		crypto_shorthash((unsigned char *)&h, t.nodes[s->node].e.mac, FDB_MAC_LEN,
				 hash_key);
		assert_int_equal(s->hash, (uint32_t)h);
	}
	/* In 3000 tables of this size and load filled at random by a script, the
	 * longest run was 11 to 60. */
	assert_in_range(longest, 2, 100);
	assert_int_equal(fdb_table_reserve(&t, 1025), 0);
	assert_int_equal(t.n_slots, 4096);
	fdb_table_done(&t);
	assert_memory_equal(&t, &wiped, sizeof(t));
}

static void test_flood_list(void **state)
{
	static const struct vtep *const first[] = {&v6, &v4_other, &v4, &v6_other};
	struct fdb *f = make(1, 1);
	const struct vtep *list;
	struct vtep v = {{10, 1}, 4};
	uint32_t i;

	(void)state;
	assert_int_equal(fdb_flood_list(f, &list), 0);
	assert_int_equal(fdb_flood_remove(f, &v4), -ENOENT);
	for (i = 0; i < 4; i++)
		assert_int_equal(fdb_flood_add(f, first[i]), 0);
	assert_int_equal(fdb_flood_add(f, &v4_dirty), -EEXIST);
	for (; i < FDB_FLOOD_MAX; i++) {
		v.addr[2] = (uint8_t)(i >> 8);
		v.addr[3] = (uint8_t)i;
		assert_int_equal(fdb_flood_add(f, &v), 0);
	}
	assert_int_equal(fdb_flood_add(f, &v), -EEXIST);
	v.addr[0] = 11;
	assert_int_equal(fdb_flood_add(f, &v), -ENOSPC);
	assert_int_equal(fdb_flood_remove(f, &v), -ENOENT);
	assert_int_equal(fdb_flood_list(f, &list), FDB_FLOOD_MAX);
	for (i = 0; i < 4; i++)
		assert_true(vtep_equal(&list[i], first[i]));
	/* The others move up; what is added again comes last. */
	assert_int_equal(fdb_flood_remove(f, &list[1]), 0);
	assert_int_equal(fdb_flood_add(f, &v4_other), 0);
	assert_int_equal(fdb_flood_list(f, &list), FDB_FLOOD_MAX);
	assert_true(vtep_equal(&list[0], &v6));
	assert_true(vtep_equal(&list[1], &v4));
	assert_true(vtep_equal(&list[2], &v6_other));
	assert_int_equal(list[3].addr[3], 4);
	assert_int_equal(list[FDB_FLOOD_MAX - 2].addr[3], 0xff);
	assert_true(vtep_equal(&list[FDB_FLOOD_MAX - 1], &v4_other));
	/* It is no part of the entries. */
	fdb_remove_vtep(f, &v6, false);
	fdb_flush_learned(f);
	assert_int_equal(fdb_flood_list(f, &list), FDB_FLOOD_MAX);
	for (i = FDB_FLOOD_MAX; i > 0; i--)
		assert_int_equal(fdb_flood_remove(f, &list[i - 1]), 0);
	assert_int_equal(fdb_flood_list(f, &list), 0);
	fdb_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vtep_equal),
		cmocka_unit_test(test_configurations),
		cmocka_unit_test(test_stations),
		cmocka_unit_test(test_learning),
		cmocka_unit_test(test_static_wins),
		cmocka_unit_test(test_without_learning),
		cmocka_unit_test(test_forget_aged),
		cmocka_unit_test(test_ageing),
		cmocka_unit_test(test_learned_limit),
		cmocka_unit_test(test_no_room_at_all),
		cmocka_unit_test(test_aged_make_room),
		cmocka_unit_test(test_removal),
		cmocka_unit_test(test_arguments_of_its_own),
		cmocka_unit_test(test_shrinking),
		cmocka_unit_test(test_growing),
		cmocka_unit_test(test_largest),
		cmocka_unit_test(test_iteration),
		cmocka_unit_test(test_collisions),
		cmocka_unit_test(test_table_shape),
		cmocka_unit_test(test_flood_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
