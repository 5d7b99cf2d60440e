/* SPDX-License-Identifier: Apache-2.0 */
#include "crypto/train.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <sodium.h>

#include "vectors.h"

enum { TRAIN_MAX = 64, MARGIN = 64, CANARY = 0xc7 };

/* What is tested now; NULL: libsodium. */
static const struct train_engine *engine;

/* A message with a margin on both sides that nobody may touch. */
struct guarded {
	uint8_t *block;
	size_t msg_len;
};

/* generate_train.py has the same formula. */
static uint8_t pattern_byte(size_t i, size_t text_len, uint64_t counter)
{
	return (uint8_t)(i * 131 + (i >> 8) * 17 + text_len + counter);
}

static void fill_pattern(uint8_t *text, size_t text_len, uint64_t counter)
{
	for (size_t i = 0; i < text_len; i++)
		text[i] = pattern_byte(i, text_len, counter);
}

static void assert_pattern(const uint8_t *text, size_t text_len, uint64_t counter)
{
	for (size_t i = 0; i < text_len; i++)
		if (text[i] != pattern_byte(i, text_len, counter))
			fail_msg("text of %zu bytes differs at %zu", text_len, i);
}

static struct guarded guarded_new(struct train_car *car, size_t text_len)
{
	struct guarded g = {.msg_len = text_len + MESSAGE_DATA_OVERHEAD};

	g.block = malloc(g.msg_len + 2 * MARGIN);
	memset(g.block, CANARY, g.msg_len + 2 * MARGIN);
	*car = (struct train_car){.msg = g.block + MARGIN, .text_len = text_len};
	return g;
}

static void guarded_check(const struct guarded *g)
{
	for (size_t i = 0; i < MARGIN; i++) {
		assert_int_equal(g->block[i], CANARY);
		assert_int_equal(g->block[MARGIN + g->msg_len + i], CANARY);
	}
}

/* Two ends of a session, so that a mix-up of the two keys shows. */
static void make_ends(struct keypair *a, struct keypair *b, const uint8_t *a_to_b)
{
	memset(a, 0, sizeof(*a));
	memset(b, 0, sizeof(*b));
	memcpy(a->send_key, a_to_b, WG_KEY_LEN);
	memset(a->recv_key, 0x77, WG_KEY_LEN);
	memcpy(b->recv_key, a->send_key, WG_KEY_LEN);
	memcpy(b->send_key, a->recv_key, WG_KEY_LEN);
}

static void make_default_ends(struct keypair *a, struct keypair *b)
{
	uint8_t key[WG_KEY_LEN];

	for (unsigned i = 0; i < sizeof(key); i++)
		key[i] = (uint8_t)i;
	make_ends(a, b, key);
}

/* Fields: key remote_index counter text_len message sha256. */
static void test_message_vectors(void **state)
{
	struct vectors v = vectors_open("train.txt");

	(void)state;
	while (vectors_next(&v, "message", 6)) {
		uint8_t digest[crypto_hash_sha256_BYTES];
		uint64_t counter = vector_number(&v, 2);
		struct keypair a, b;
		struct train_car car;
		struct guarded g = guarded_new(&car, vector_number(&v, 3));

		make_ends(&a, &b, v.field[0].bytes);
		a.remote_index = (uint32_t)vector_number(&v, 1);
		fill_pattern(car.msg + MESSAGE_DATA_HEADER_SIZE, car.text_len, counter);

		train_seal(engine, &a, counter, &car, 1);
		if (v.field[4].len)
			vector_assert_field(&v, 4, car.msg, g.msg_len);
		crypto_hash_sha256(digest, car.msg, g.msg_len);
		vector_assert_field(&v, 5, digest, sizeof(digest));
		guarded_check(&g);

		car.counter = counter;
		assert_int_equal(train_open(engine, &b, &car, 1), 1);
		assert_true(car.ok);
		assert_pattern(car.msg + MESSAGE_DATA_HEADER_SIZE, car.text_len, counter);
		guarded_check(&g);
		free(g.block);
	}
}

/* A train of @n cars of uneven lengths, sealed. generate_train.py has the same
 * lengths. */
static void seal_train(const struct keypair *kp, uint64_t first, struct train_car *cars,
		       struct guarded *g, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		g[i] = guarded_new(&cars[i], i * 37 % 200);
		fill_pattern(cars[i].msg + MESSAGE_DATA_HEADER_SIZE, cars[i].text_len, first + i);
	}
	train_seal(engine, kp, first, cars, n);
}

/* Fields: key remote_index first_counter n sha256. */
static void test_train_vectors(void **state)
{
	struct vectors v = vectors_open("train.txt");

	(void)state;
	while (vectors_next(&v, "train", 5)) {
		uint8_t digest[crypto_hash_sha256_BYTES];
		uint64_t first = vector_number(&v, 2);
		unsigned n = (unsigned)vector_number(&v, 3);
		struct train_car cars[TRAIN_MAX];
		struct guarded g[TRAIN_MAX];
		crypto_hash_sha256_state sha;
		struct keypair a, b;

		assert_in_range(n, 1, TRAIN_MAX);
		make_ends(&a, &b, v.field[0].bytes);
		a.remote_index = (uint32_t)vector_number(&v, 1);
		seal_train(&a, first, cars, g, n);

		crypto_hash_sha256_init(&sha);
		for (unsigned i = 0; i < n; i++) {
			guarded_check(&g[i]);
			crypto_hash_sha256_update(&sha, cars[i].msg, g[i].msg_len);
			free(g[i].block);
		}
		crypto_hash_sha256_final(&sha, digest);
		vector_assert_field(&v, 4, digest, sizeof(digest));
	}
	assert_int_equal(v.n_seen, TRAIN_MAX);
}

/* Cars are judged one by one: opened in reverse order, so with counters that do
 * not rise, and every third one spoilt. */
static void test_open_trains_with_bad_cars(void **state)
{
	struct train_car cars[TRAIN_MAX], reversed[TRAIN_MAX];
	struct guarded g[TRAIN_MAX];
	struct keypair a, b;

	(void)state;
	make_default_ends(&a, &b);
	for (unsigned n = 1; n <= TRAIN_MAX; n++) {
		unsigned n_bad = 0;

		seal_train(&a, 1000, cars, g, n);
		for (unsigned i = 0; i < n; i++) {
			if (i % 3 == 2) {
				cars[i].msg[g[i].msg_len - 1] ^= 0x80;
				n_bad++;
			}
			reversed[n - 1 - i] = cars[i];
			reversed[n - 1 - i].counter = 1000 + i;
			/* Whatever was there before, open decides. */
			reversed[n - 1 - i].ok = i % 3 == 2;
		}
		assert_int_equal(train_open(engine, &b, reversed, n), n - n_bad);
		for (unsigned i = 0; i < n; i++) {
			assert_int_equal(reversed[n - 1 - i].ok, i % 3 != 2);
			if (i % 3 != 2)
				assert_pattern(cars[i].msg + MESSAGE_DATA_HEADER_SIZE,
					       cars[i].text_len, 1000 + i);
			guarded_check(&g[i]);
			free(g[i].block);
		}
	}
}

static void test_empty_train(void **state)
{
	struct keypair a, b;

	(void)state;
	make_default_ends(&a, &b);
	train_seal(engine, &a, 0, NULL, 0);
	assert_int_equal(train_open(engine, &b, NULL, 0), 0);
}

static void test_seal_sets_counters(void **state)
{
	struct train_car cars[3];
	struct guarded g[3];
	struct keypair a, b;

	(void)state;
	make_default_ends(&a, &b);
	seal_train(&a, 41, cars, g, 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(cars[i].counter, 41 + i);
		free(g[i].block);
	}
}

/* Seals one message of @text_len bytes with counter 7, flips the bits @mask of
 * byte @at and opens it as @counter. */
static bool opens_after(size_t text_len, size_t at, uint8_t mask, uint64_t counter)
{
	struct train_car car;
	struct guarded g = guarded_new(&car, text_len);
	struct keypair a, b;
	unsigned n_ok;

	make_default_ends(&a, &b);
	fill_pattern(car.msg + MESSAGE_DATA_HEADER_SIZE, text_len, 7);
	train_seal(engine, &a, 7, &car, 1);
	car.msg[at] ^= mask;
	car.counter = counter;
	n_ok = train_open(engine, &b, &car, 1);
	assert_int_equal(n_ok, car.ok);
	guarded_check(&g);
	free(g.block);
	return n_ok == 1;
}

static void test_every_flipped_bit_is_seen(void **state)
{
	static const size_t text_lens[] = {0, 1, 15, 16, 17, 80};

	(void)state;
	for (unsigned i = 0; i < sizeof(text_lens) / sizeof(text_lens[0]); i++) {
		size_t len = text_lens[i];

		assert_true(opens_after(len, 0, 0, 7));
		for (size_t at = MESSAGE_DATA_HEADER_SIZE; at < len + MESSAGE_DATA_OVERHEAD; at++)
			for (unsigned bit = 0; bit < 8; bit++)
				assert_false(opens_after(len, at, (uint8_t)(1U << bit), 7));
	}
}

/* The header is no AAD: what protects the counter is the nonce, and it is the
 * caller's reading of the header that counts. */
static void test_counter_mismatch(void **state)
{
	(void)state;
	assert_false(opens_after(17, 0, 0, 6));
	assert_false(opens_after(17, 0, 0, 8));
	for (unsigned bit = 0; bit < 64; bit++)
		assert_false(opens_after(17, 0, 0, 7 ^ 1ULL << bit));
}

static void test_wrong_key_and_length(void **state)
{
	struct train_car car;
	struct guarded g;
	struct keypair a, b;

	(void)state;
	make_default_ends(&a, &b);
	for (int shift = -1; shift <= 1; shift++) {
		g = guarded_new(&car, 32);
		fill_pattern(car.msg + MESSAGE_DATA_HEADER_SIZE, 32, 0);
		train_seal(engine, &a, 0, &car, 1);
		car.text_len = (size_t)(32 + shift);
		assert_int_equal(train_open(engine, &b, &car, 1), shift == 0);
		guarded_check(&g);
		free(g.block);
	}

	g = guarded_new(&car, 32);
	train_seal(engine, &a, 0, &car, 1);
	/* Our own message reflected at us: sealed with the other direction's key. */
	assert_int_equal(train_open(engine, &a, &car, 1), 0);
	assert_false(car.ok);
	free(g.block);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_message_vectors),
		cmocka_unit_test(test_train_vectors),
		cmocka_unit_test(test_open_trains_with_bad_cars),
		cmocka_unit_test(test_empty_train),
		cmocka_unit_test(test_seal_sets_counters),
		cmocka_unit_test(test_every_flipped_bit_is_seen),
		cmocka_unit_test(test_counter_mismatch),
		cmocka_unit_test(test_wrong_key_and_length),
	};
	/* libsodium's portable code first, then what it picks for this CPU, then
	 * the engine if there is one. */
	int failed = cmocka_run_group_tests_name("portable", tests, NULL, NULL);
	size_t mem_len = train_engine_size();
	void *mem = mem_len ? aligned_alloc(TRAIN_ENGINE_ALIGN, mem_len) : NULL;
	char reason[TRAIN_REASON_LEN];

	if (sodium_init() < 0)
		return 1;
	failed += cmocka_run_group_tests_name("this CPU", tests, NULL, NULL);
	engine = train_engine_init(mem, mem_len, true, reason);
	if (engine)
		failed += cmocka_run_group_tests_name(reason, tests, NULL, NULL);
	free(mem);
	return failed;
}
