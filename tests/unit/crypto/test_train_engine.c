/* SPDX-License-Identifier: Apache-2.0 */
/* The engine behind a train, compared with libsodium, and the self-test that
 * decides about it. What a train is, test_train.c tells. */
#include "crypto/train_engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include <sodium.h>

enum { LONG_LEN = 9000, TRAIN_LEN_MAX = 200 };

static void *mem;
static size_t mem_len;
static const struct train_engine *engine;
static char reason[TRAIN_REASON_LEN];

static void skip_without_engine(void)
{
	if (!engine) {
		print_message("no engine: %s\n", reason);
		skip();
	}
}

static struct keypair make_keypair(void)
{
	struct keypair kp = {.remote_index = 0x01020304};

	for (unsigned i = 0; i < WG_KEY_LEN; i++)
		kp.send_key[i] = kp.recv_key[i] = (uint8_t)(i * 41 + 11);
	return kp;
}

static void fill(uint8_t *p, size_t len, unsigned salt)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)(i * 57 + (i >> 8) * 3 + salt);
}

/* Starting */

static void assert_refused(void *at, size_t len, bool allow, const char *expected)
{
	char why[TRAIN_REASON_LEN];

	memset(why, 'x', sizeof(why));
	assert_null(train_engine_init(at, len, allow, why));
	assert_string_equal(why, expected);
}

static void test_refusals(void **state)
{
	(void)state;
	assert_refused(mem, mem_len, false, "libsodium: switched off");
	if (!mem_len) {
		assert_refused(NULL, 0, true, "libsodium: built without ipsec-mb");
		return;
	}
	assert_int_equal(mem_len % TRAIN_ENGINE_ALIGN, 0);
	assert_refused(NULL, mem_len, true, "libsodium: no memory for an engine");
	assert_refused(mem, mem_len - 1, true, "libsodium: no memory for an engine");
	assert_refused((uint8_t *)mem + 8, mem_len, true, "libsodium: no memory for an engine");
}

/* Else a broken engine would only ever be seen as one that is not there. */
static void test_engine_where_it_should_be(void **state)
{
	(void)state;
#ifdef __x86_64__
	if (mem_len && __builtin_cpu_supports("avx2") && !engine)
		fail_msg("no engine: %s", reason);
	if (mem_len && __builtin_cpu_supports("avx512ifma") && __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
		assert_string_equal(strrchr(reason, ','), ", avx512 trains");
#endif
}

static void test_reason_names_the_engine(void **state)
{
	(void)state;
	skip_without_engine();
	if (strcmp(reason, "libsodium: built without ipsec-mb, avx512 trains") == 0)
		return;
	assert_int_equal(strncmp(reason, "ipsec-mb ", 9), 0);
	assert_true(strstr(reason, " avx"));
}

static void test_reason_is_bounded(void **state)
{
	char text[TRAIN_REASON_LEN + 1];

	(void)state;
	memset(text, 0, sizeof(text));
	for (unsigned i = 0; i < 20; i++)
		train_reason_add(text, "seventeen letters");
	assert_int_equal(strlen(text), TRAIN_REASON_LEN - 1);
	assert_int_equal(text[TRAIN_REASON_LEN], 0);
}

/* Against libsodium */

static void compare(size_t text_len, size_t offset, uint64_t counter)
{
	const struct keypair kp = make_keypair();
	size_t len = text_len + MESSAGE_DATA_OVERHEAD;
	uint8_t *a = malloc(offset + len), *b = malloc(len), *plain = malloc(text_len + 1);
	struct train_car car_a = {.msg = a + offset, .text_len = text_len};
	struct train_car car_b = {.msg = b, .text_len = text_len};

	assert_true(a && b && plain);
	fill(plain, text_len, (unsigned)text_len);
	memcpy(train_text(&car_a), plain, text_len);
	memcpy(train_text(&car_b), plain, text_len);
	train_seal(engine, &kp, counter, &car_a, 1);
	train_seal(NULL, &kp, counter, &car_b, 1);
	if (memcmp(car_a.msg, b, len) != 0)
		fail_msg("%zu bytes at +%zu are sealed differently", text_len, offset);
	if (train_open(engine, &kp, &car_a, 1) != 1 ||
	    memcmp(train_text(&car_a), plain, text_len) != 0)
		fail_msg("%zu bytes at +%zu do not open", text_len, offset);
	free(a);
	free(b);
	free(plain);
}

static void test_every_length(void **state)
{
	(void)state;
	skip_without_engine();
	for (size_t len = 0; len <= 2200; len++)
		compare(len, len * 7 % 64, len << 33 | len);
	for (size_t len = 2201; len <= LONG_LEN; len += 61)
		compare(len, len % 64, len);
	compare(65535, 1, 0);
}

static void test_every_alignment(void **state)
{
	static const size_t text_lens[] = {0, 1, 16, 64, 100, 200, 512, 1408};

	(void)state;
	skip_without_engine();
	for (size_t offset = 0; offset < 64; offset++)
		for (unsigned i = 0; i < sizeof(text_lens) / sizeof(*text_lens); i++)
			compare(text_lens[i], offset, UINT64_MAX - 8131);
}

/* Trains up to beyond what the engine takes at once, every fifth car forged. */
static void check_train(unsigned n)
{
	enum { ROOM = 600 };
	const struct keypair kp = make_keypair();
	uint8_t *a = malloc(n * ROOM + 1), *b = malloc(n * ROOM + 1);
	struct train_car cars_a[TRAIN_LEN_MAX], cars_b[TRAIN_LEN_MAX];

	assert_true(a && b);
	fill(a, n * ROOM, n);
	memcpy(b, a, n * ROOM);
	for (unsigned i = 0; i < n; i++) {
		cars_a[i] = (struct train_car){.msg = a + i * ROOM, .text_len = i * 89 % 550};
		cars_b[i] = (struct train_car){.msg = b + i * ROOM, .text_len = i * 89 % 550};
	}
	train_seal(engine, &kp, 5, cars_a, n);
	train_seal(NULL, &kp, 5, cars_b, n);
	assert_memory_equal(a, b, n * ROOM);
	for (unsigned i = 0; i < n; i += 5)
		train_tag(&cars_a[i])[i % WG_TAG_LEN] ^= 1;
	assert_int_equal(train_open(engine, &kp, cars_a, n), n - (n + 4) / 5);
	assert_int_equal(train_open(NULL, &kp, cars_b, n), n);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(cars_a[i].ok, i % 5 != 0);
		if (cars_a[i].ok)
			assert_memory_equal(cars_a[i].msg, cars_b[i].msg,
					    cars_b[i].text_len + MESSAGE_DATA_OVERHEAD);
	}
	free(a);
	free(b);
}

static void test_trains(void **state)
{
	static const unsigned ns[] = {1, 2, 3, 45, 63, 64, 65, 127, 128, 129, TRAIN_LEN_MAX};

	(void)state;
	skip_without_engine();
	for (unsigned i = 0; i < sizeof(ns) / sizeof(*ns); i++)
		check_train(ns[i]);
}

/* A message between two pages that nobody may touch, flush with one or the
 * other: the engine's instructions are none that sanitizers watch. */
static void test_stays_inside(void **state)
{
	const struct keypair kp = make_keypair();
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *p = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);

	(void)state;
	skip_without_engine();
	assert_true(p != MAP_FAILED);
	assert_return_code(mprotect(p, page, PROT_NONE), 0);
	assert_return_code(mprotect(p + 2 * page, page, PROT_NONE), 0);
	for (size_t text_len = 0; text_len <= 1500; text_len++) {
		size_t len = text_len + MESSAGE_DATA_OVERHEAD;
		struct train_car cars[2] = {{.msg = p + page, .text_len = text_len},
					    {.msg = p + 2 * page - len, .text_len = text_len}};

		for (unsigned i = 0; i < 2; i++) {
			memset(p + page, 0x3c, page);
			train_seal(engine, &kp, 9, &cars[i], 1);
			assert_int_equal(train_open(engine, &kp, &cars[i], 1), 1);
			/* Outside the message nothing has changed. */
			for (uint8_t *q = p + page; q < p + 2 * page; q++)
				if (q < cars[i].msg || q >= cars[i].msg + len)
					assert_int_equal(*q, 0x3c);
		}
	}
	munmap(p, 3 * page);
}

/* Secrets */

static bool memory_has(const uint8_t *secret, size_t len)
{
	return memmem(mem, mem_len, secret, len);
}

/* Neither the key nor the Poly1305 key made from it is kept. */
static void test_no_key_stays(void **state)
{
	static const size_t text_lens[] = {0, 17, 200, 1408};
	const struct keypair kp = make_keypair();
	uint8_t msg[1408 + MESSAGE_DATA_OVERHEAD], block[32], nonce[TRAIN_NONCE_LEN];

	(void)state;
	skip_without_engine();
	for (unsigned i = 0; i < sizeof(text_lens) / sizeof(*text_lens); i++) {
		struct train_car car = {.msg = msg, .text_len = text_lens[i]};

		fill(msg, sizeof(msg), i);
		train_seal(engine, &kp, i, &car, 1);
		assert_int_equal(train_open(engine, &kp, &car, 1), 1);
		train_nonce(nonce, i);
		crypto_stream_chacha20_ietf(block, sizeof(block), nonce, kp.send_key);
		for (unsigned at = 0; at < 32; at += 8) {
			assert_false(memory_has(kp.send_key + at, 8));
			assert_false(memory_has(block + at, 8));
		}
	}
}

static void test_wipe(void **state)
{
	uint8_t bytes[100];

	(void)state;
	memset(bytes, 0xee, sizeof(bytes));
	train_engine_wipe(bytes, sizeof(bytes) - 1);
	assert_true(sodium_is_zero(bytes, sizeof(bytes) - 1));
	assert_int_equal(bytes[sizeof(bytes) - 1], 0xee);
	train_engine_wipe(NULL, 0);
}

/* The self-test: an engine made of libsodium, with one fault at a time. */

static unsigned bad_car;
static enum { NONE, TEXT, TAG, COUNT, COUNT_ALL, ACCEPT, REJECT } fault;

static void fake_seal(const struct train_engine *e, const uint8_t key[WG_KEY_LEN],
		      const struct train_car *cars, unsigned n)
{
	(void)e;
	train_sodium_seal(key, cars, n);
	if (fault == TEXT)
		train_text(&cars[bad_car])[cars[bad_car].text_len / 2] ^= 1;
	if (fault == TAG)
		train_tag(&cars[bad_car])[15] ^= 0x80;
}

static unsigned fake_open(const struct train_engine *e, const uint8_t key[WG_KEY_LEN],
			  struct train_car *cars, unsigned n)
{
	unsigned n_ok = train_sodium_open(key, cars, n);

	(void)e;
	if (fault == COUNT)
		return n_ok - 1;
	if (fault == COUNT_ALL)
		return n;
	if (fault == ACCEPT)
		cars[1].ok = true;
	if (fault == REJECT)
		cars[bad_car].ok = false;
	return n_ok;
}

static void fake_seal_message(const struct train_engine *e, const struct train_message *m)
{
	(void)e;
	crypto_aead_chacha20poly1305_ietf_encrypt_detached(m->text, m->tag, NULL, m->text,
							   m->text_len, m->aad, m->aad_len, NULL,
							   m->nonce, m->key);
}

static void fake_seal_message_without_aad(const struct train_engine *e,
					  const struct train_message *m)
{
	struct train_message without = *m;

	without.aad_len = 0;
	fake_seal_message(e, &without);
}

static unsigned fake_open_wrong_text(const struct train_engine *e, const uint8_t key[WG_KEY_LEN],
				     struct train_car *cars, unsigned n)
{
	unsigned n_ok = fake_open(e, key, cars, n);

	for (unsigned i = 0; i < n; i++)
		if (cars[i].text_len)
			train_text(&cars[i])[cars[i].text_len - 1] ^= 4;
	return n_ok;
}

static void test_selftest_passes(void **state)
{
	const struct train_engine fake = {
		.seal = fake_seal, .open = fake_open, .seal_message = fake_seal_message};

	(void)state;
	fault = NONE;
	assert_null(train_selftest(&fake));
}

static void test_selftest_finds_faults(void **state)
{
	struct train_engine fake = {
		.seal = fake_seal, .open = fake_open, .seal_message = fake_seal_message};

	(void)state;
	for (bad_car = 0; bad_car < 10; bad_car++) {
		fault = TEXT;
		assert_string_equal(train_selftest(&fake), "seal");
		fault = TAG;
		assert_string_equal(train_selftest(&fake), "seal");
		fault = REJECT;
		assert_string_equal(train_selftest(&fake), "open");
	}
	fault = COUNT;
	assert_string_equal(train_selftest(&fake), "open");
	fault = COUNT_ALL;
	assert_string_equal(train_selftest(&fake), "forgeries");
	fault = ACCEPT;
	assert_string_equal(train_selftest(&fake), "forgeries");
	fault = NONE;
	fake.open = fake_open_wrong_text;
	assert_string_equal(train_selftest(&fake), "open");
	fake.open = fake_open;
	fake.seal_message = fake_seal_message_without_aad;
	assert_string_equal(train_selftest(&fake), "RFC 8439");
}

/* An engine that goes wrong with groups of equal messages alone. */
static void fake_seal_equal(const struct train_engine *e, const uint8_t key[WG_KEY_LEN],
			    const struct train_car *cars, unsigned n)
{
	fault = n > 1 && cars[0].text_len == cars[1].text_len ? TEXT : NONE;
	fake_seal(e, key, cars, n);
}

static unsigned fake_open_equal(const struct train_engine *e, const uint8_t key[WG_KEY_LEN],
				struct train_car *cars, unsigned n)
{
	fault = n > 1 && cars[0].text_len == cars[1].text_len ? ACCEPT : NONE;
	return fake_open(e, key, cars, n);
}

static void test_selftest_tries_equal_messages(void **state)
{
	struct train_engine fake = {
		.seal = fake_seal_equal, .open = fake_open, .seal_message = fake_seal_message};

	(void)state;
	for (bad_car = 0; bad_car < 27; bad_car++)
		assert_string_equal(train_selftest(&fake), "seal");
	fault = NONE;
	fake.seal = fake_seal;
	fake.open = fake_open_equal;
	assert_string_equal(train_selftest(&fake), "forgeries");
}

static void test_accept(void **state)
{
	const struct train_engine fake = {
		.seal = fake_seal, .open = fake_open, .seal_message = fake_seal_message};
	char why[TRAIN_REASON_LEN] = "fake";

	(void)state;
	fault = NONE;
	assert_true(train_engine_accept(&fake, why));
	assert_string_equal(why, "fake");
	fault = ACCEPT;
	assert_false(train_engine_accept(&fake, why));
	assert_string_equal(why, "fake failed its self-test: forgeries");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_engine_where_it_should_be),
		cmocka_unit_test(test_reason_names_the_engine),
		cmocka_unit_test(test_reason_is_bounded),
		cmocka_unit_test(test_every_length),
		cmocka_unit_test(test_every_alignment),
		cmocka_unit_test(test_trains),
		cmocka_unit_test(test_stays_inside),
		cmocka_unit_test(test_no_key_stays),
		cmocka_unit_test(test_wipe),
		cmocka_unit_test(test_selftest_passes),
		cmocka_unit_test(test_selftest_finds_faults),
		cmocka_unit_test(test_selftest_tries_equal_messages),
		cmocka_unit_test(test_accept),
		cmocka_unit_test(test_refusals),
	};
	int failed;

	if (sodium_init() < 0)
		return 1;
	mem_len = train_engine_size();
	mem = mem_len ? aligned_alloc(TRAIN_ENGINE_ALIGN, mem_len) : NULL;
	engine = train_engine_init(mem, mem_len, true, reason);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	free(mem);
	return failed;
}
