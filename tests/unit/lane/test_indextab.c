/* SPDX-License-Identifier: Apache-2.0 */
/* Both hash tables against twins that are plain arrays. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "agent/lane/indextab.h"

/* The tables know neither type. */
struct peer {
	int before;
	uint8_t key[32];
};

struct keypair {
	int unused;
};

#define N_NAMES 600

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void check_index_shape(const struct indextab *t)
{
	size_t i, n = 0;

	assert_true(t->now->n && !(t->now->n & (t->now->n - 1)));
	for (i = 0; i < t->now->n; i++)
		n += t->now->slot[i].peer != NULL;
	assert_int_equal(n, t->n_used);
	assert_true(t->n_used <= t->now->n / 2);
}

static void test_index_basics(void **state)
{
	struct peer p, q;
	struct keypair k;
	struct indextab t;

	(void)state;
	assert_int_equal(indextab_init(&t), 0);
	assert_null(indextab_find(&t, 0));
	indextab_remove(&t, 0);
	assert_int_equal(indextab_promote(&t, 0, &k), -ENOENT);

	/* Index 0 is an index like any other. */
	assert_int_equal(indextab_insert(&t, 0, &p, NULL), 0);
	assert_int_equal(indextab_insert(&t, 0, &q, &k), -EEXIST);
	assert_ptr_equal(indextab_find(&t, 0)->peer, &p);
	assert_null(indextab_find(&t, 0)->keypair);
	assert_int_equal(indextab_promote(&t, 0, &k), 0);
	assert_ptr_equal(indextab_find(&t, 0)->keypair, &k);
	assert_int_equal(indextab_find(&t, 0)->index, 0);

	assert_int_equal(indextab_insert(&t, UINT32_MAX, &q, NULL), 0);
	indextab_remove(&t, 0);
	assert_null(indextab_find(&t, 0));
	assert_ptr_equal(indextab_find(&t, UINT32_MAX)->peer, &q);
	assert_int_equal(t.n_used, 1);
	indextab_done(&t);
	assert_null(t.now);
}

struct index_twin {
	uint32_t index;
	struct peer *peer; /* NULL: absent */
	struct keypair *keypair;
};

static void check_index(const struct indextab *t, const struct index_twin *w)
{
	const struct indextab_entry *e = indextab_find(t, w->index);

	if (!w->peer) {
		assert_null(e);
		return;
	}
	assert_non_null(e);
	assert_int_equal(e->index, w->index);
	assert_ptr_equal(e->peer, w->peer);
	assert_ptr_equal(e->keypair, w->keypair);
}

static void change_index(struct indextab *t, struct index_twin *w, uint64_t r, struct peer *peer,
			 struct keypair *kp)
{
	switch (r % 4) {
	case 0:
		indextab_remove(t, w->index);
		w->peer = NULL;
		break;
	case 1:
		assert_int_equal(indextab_promote(t, w->index, kp), w->peer ? 0 : -ENOENT);
		w->keypair = kp;
		break;
	default:
		assert_int_equal(indextab_insert(t, w->index, peer, NULL), w->peer ? -EEXIST : 0);
		if (!w->peer)
			*w = (struct index_twin){w->index, peer, NULL};
		break;
	}
}

/* Indices that are all alike in their low or high bits must work too, only
 * slower. */
static void test_index_against_twin(void **state)
{
	static struct index_twin twin[N_NAMES];
	struct peer peers[8];
	struct keypair kps[8];
	uint64_t seed = 0x1d;
	struct indextab t;
	size_t op, i;

	(void)state;
	for (i = 0; i < N_NAMES; i++) {
		const uint32_t random = (uint32_t)(random_next(&seed) >> 20);

		twin[i].index = i % 3 == 0 ? random : i % 3 == 1 ? (uint32_t)i : (uint32_t)i << 20;
	}
	assert_int_equal(indextab_init(&t), 0);
	for (op = 0; op < 50000; op++) {
		const uint64_t r = random_next(&seed);
		/* The population grows, so that most sizes are churned in. */
		struct index_twin *w = &twin[r % (8 + op * N_NAMES / 60000)];

		change_index(&t, w, r >> 20, &peers[(r >> 30) % 8], &kps[(r >> 40) % 8]);
		check_index(&t, w);
		check_index(&t, &twin[(r >> 44) % N_NAMES]);
		if (op % 256 == 0) {
			check_index_shape(&t);
			for (i = 0; i < N_NAMES; i++)
				check_index(&t, &twin[i]);
		}
	}
	indextab_done(&t);
}

/* Years of rekeying: the same number of sessions, ever new indices. Neither the
 * table nor the longest search may grow. */
static void test_index_churn(void **state)
{
	static uint32_t live[1000];
	struct indextab t;
	struct peer p;
	uint64_t seed = 0xc4a2;
	size_t op, i, run = 0, longest = 0;

	(void)state;
	assert_int_equal(indextab_init(&t), 0);
	for (op = 0; op < 300000; op++) {
		uint32_t *slot = &live[op % 1000];

		if (op >= 1000)
			indextab_remove(&t, *slot);
		do {
			*slot = (uint32_t)(random_next(&seed) >> 16);
		} while (indextab_insert(&t, *slot, &p, NULL) == -EEXIST);
	}
	check_index_shape(&t);
	assert_int_equal(t.n_used, 1000);
	assert_int_equal(t.now->n, 2048);
	/* Runs of used slots bound the search. In 3000 tables of this size and
	 * load filled at random by a script, the longest run was 11 to 55. */
	for (i = 0; i < 2 * t.now->n; i++) {
		run = t.now->slot[i % t.now->n].peer ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	assert_in_range(longest, 2, 100);
	indextab_done(&t);
}

static void test_load_limit(void **state)
{
	static const uint8_t hash_key[16] = {5};
	static struct peer peers[300];
	struct indextab t;
	struct keytab k;
	uint32_t i;

	(void)state;
	assert_int_equal(indextab_init(&t), 0);
	assert_int_equal(keytab_init(&k, offsetof(struct peer, key), hash_key), 0);
	for (i = 0; i < 300; i++) {
		memcpy(peers[i].key, &i, sizeof(i));
		assert_int_equal(indextab_insert(&t, i, &peers[i], NULL), 0);
		assert_int_equal(keytab_insert(&k, &peers[i]), 0);
		check_index_shape(&t);
		assert_int_equal(k.n_used, i + 1);
		assert_true(k.n_used <= k.n_slots / 2);
	}
	assert_int_equal(t.now->n, 1024);
	assert_int_equal(k.n_slots, 1024);
	indextab_done(&t);
	keytab_done(&k);
}

static void test_key_basics(void **state)
{
	static const uint8_t hash_key[16] = {1, 2, 3};
	struct peer a = {.key = {1}}, b = {.key = {[31] = 1}}, same = {.key = {1}};
	struct keytab t;

	(void)state;
	assert_int_equal(keytab_init(&t, offsetof(struct peer, key), hash_key), 0);
	assert_null(keytab_find(&t, a.key));
	keytab_remove(&t, a.key);
	assert_int_equal(keytab_insert(&t, &a), 0);
	assert_int_equal(keytab_insert(&t, &same), -EEXIST);
	assert_null(keytab_find(&t, b.key));
	assert_int_equal(keytab_insert(&t, &b), 0);
	assert_ptr_equal(keytab_find(&t, same.key), &a);
	assert_ptr_equal(keytab_find(&t, b.key), &b);
	keytab_remove(&t, same.key);
	assert_null(keytab_find(&t, a.key));
	assert_int_equal(keytab_insert(&t, &same), 0);
	assert_ptr_equal(keytab_find(&t, a.key), &same);
	assert_int_equal(t.n_used, 2);
	keytab_done(&t);
	assert_null(t.slots);
}

static void test_key_against_twin(void **state)
{
	static const uint8_t hash_key[16] = {7};
	static struct peer peers[N_NAMES];
	static int present[N_NAMES];
	uint64_t seed = 0x4e7;
	struct keytab t;
	size_t op, i, n;

	(void)state;
	/* Keys that differ in two bytes only, at changing places. */
	for (i = 0; i < N_NAMES; i++) {
		peers[i].key[i % 16] = (uint8_t)(i >> 8 | 0x80);
		peers[i].key[16 + i % 16] = (uint8_t)i;
	}
	assert_int_equal(keytab_init(&t, offsetof(struct peer, key), hash_key), 0);
	for (op = 0; op < 30000; op++) {
		const uint64_t r = random_next(&seed);

		i = r % (8 + op * N_NAMES / 40000);
		if ((r >> 32) % 3) {
			assert_int_equal(keytab_insert(&t, &peers[i]), present[i] ? -EEXIST : 0);
			present[i] = 1;
		} else {
			keytab_remove(&t, peers[i].key);
			present[i] = 0;
		}
		if (op % 128)
			continue;
		for (i = n = 0; i < N_NAMES; i++) {
			assert_ptr_equal(keytab_find(&t, peers[i].key),
					 present[i] ? &peers[i] : NULL);
			n += (size_t)present[i];
		}
		assert_int_equal(t.n_used, n);
		assert_true(t.n_used <= t.n_slots / 2);
	}
	keytab_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_index_basics), cmocka_unit_test(test_index_against_twin),
		cmocka_unit_test(test_index_churn),  cmocka_unit_test(test_load_limit),
		cmocka_unit_test(test_key_basics),   cmocka_unit_test(test_key_against_twin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
