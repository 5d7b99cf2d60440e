/* SPDX-License-Identifier: Apache-2.0 */
/* Trains in groups, compared with libsodium. The rest, which the engine leaves to
 * another one, is libsodium's here, so that what differs is the groups' fault. */
#include "crypto/train_engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include <sodium.h>

enum { CARS_MAX = 64, GROUP_MAX = 16 };

static struct train_engine engine;
static uint8_t session_key[TRAIN_KEY_ROOM];

/* How many messages went to the other engine. */
static unsigned n_rest;

static void rest_seal(const struct train_engine *e, const uint8_t k[WG_KEY_LEN],
		      const struct train_car *cars, unsigned n)
{
	(void)e;
	n_rest += n;
	train_sodium_seal(k, cars, n);
}

static unsigned rest_open(const struct train_engine *e, const uint8_t k[WG_KEY_LEN],
			  struct train_car *cars, unsigned n)
{
	(void)e;
	n_rest += n;
	return train_sodium_open(k, cars, n);
}

static void skip_without_avx512(void)
{
	if (!train_avx512_supported()) {
		print_message("this CPU or build lacks AVX-512 IFMA\n");
		skip();
	}
}

/* Bytes that depend on @salt alone. */
static void fill(void *p, size_t len, uint64_t salt)
{
	uint8_t seed[randombytes_SEEDBYTES] = {0};

	le64_store(seed, salt);
	randombytes_buf_deterministic(p, len, seed);
}

/* Trains: what the engine makes, what libsodium makes, what it was. */

struct train {
	struct train_car cars[CARS_MAX];
	uint8_t *mem;
	size_t len;
	unsigned n;
};

static void train_new(struct train *t, const size_t *text_lens, unsigned n, uint64_t first)
{
	size_t at = 3; /* aligned to nothing */

	t->n = n;
	for (unsigned i = 0; i < n; i++)
		at += text_lens[i] + MESSAGE_DATA_OVERHEAD;
	t->len = at;
	t->mem = malloc(at);
	assert_non_null(t->mem);
	fill(t->mem, at, first + n);
	at = 3;
	for (unsigned i = 0; i < n; i++) {
		t->cars[i] = (struct train_car){
			.msg = t->mem + at, .text_len = text_lens[i], .counter = first + i};
		at += text_lens[i] + MESSAGE_DATA_OVERHEAD;
	}
}

static void assert_same_text(const struct train *a, const struct train *b, unsigned i)
{
	if (memcmp(train_text(&a->cars[i]), train_text(&b->cars[i]), a->cars[i].text_len) != 0)
		fail_msg("text %u of %u differs, %zu bytes", i, a->n, a->cars[i].text_len);
}

/* Returns how many messages were not in a group. */
static unsigned compare(const size_t *text_lens, unsigned n, uint64_t first)
{
	struct train t, sodium, plain;
	unsigned n_rest_seal;

	train_new(&t, text_lens, n, first);
	train_new(&sodium, text_lens, n, first);
	train_new(&plain, text_lens, n, first);
	n_rest = 0;
	engine.seal(&engine, session_key, t.cars, n);
	n_rest_seal = n_rest;
	train_sodium_seal(session_key, sodium.cars, n);
	if (memcmp(t.mem, sodium.mem, t.len) != 0)
		fail_msg("%u messages, the first of %zu bytes, are sealed differently", n,
			 text_lens[0]);
	n_rest = 0;
	assert_int_equal(engine.open(&engine, session_key, t.cars, n), n);
	assert_int_equal(n_rest, n_rest_seal);
	for (unsigned i = 0; i < n; i++) {
		assert_true(t.cars[i].ok);
		assert_same_text(&t, &plain, i);
	}
	free(t.mem);
	free(sodium.mem);
	free(plain.mem);
	return n_rest;
}

static unsigned compare_equal(size_t text_len, unsigned n, uint64_t first)
{
	size_t text_lens[CARS_MAX];

	for (unsigned i = 0; i < n; i++)
		text_lens[i] = text_len;
	return compare(text_lens, n, first);
}

static void test_every_length(void **state)
{
	(void)state;
	skip_without_avx512();
	for (size_t len = 0; len <= 2048; len += 16) {
		compare_equal(len, GROUP_MAX, len);
		compare_equal(len, 1 + (unsigned)(len / 16 * 7 % 40), len << 32);
	}
	for (size_t len = 1; len <= 2048; len += 1 + len / 40)
		compare_equal(len, 11, len);
	compare_equal(9000, 20, 1);
	compare_equal(65536, 5, 1);
	compare_equal(65537, 5, 1);
}

/* In trains of every length, groups are used wherever they can be. */
static void test_every_train_length(void **state)
{
	static const size_t text_lens[] = {0, 16, 48, 64, 200, 1424};

	(void)state;
	skip_without_avx512();
	for (unsigned i = 0; i < sizeof(text_lens) / sizeof(*text_lens); i++) {
		for (unsigned n = 1; n <= 40; n++)
			assert_int_equal(compare_equal(text_lens[i], n, n), n < 3 ? n : 0);
	}
}

static void test_counters(void **state)
{
	static const uint64_t firsts[] = {0,
					  1,
					  (1ULL << 31) - 5,
					  (1ULL << 32) - 9,
					  (1ULL << 32) - 1,
					  (1ULL << 63) - 3,
					  UINT64_MAX - 8191,
					  UINT64_MAX - 15,
					  UINT64_MAX - 7};

	(void)state;
	skip_without_avx512();
	for (unsigned i = 0; i < sizeof(firsts) / sizeof(*firsts); i++)
		compare_equal(112, GROUP_MAX, firsts[i]);
	for (unsigned i = 0; i < 50; i++) {
		uint64_t first;

		fill(&first, sizeof(first), i);
		compare_equal(80, 18, first);
	}
}

/* Runs of equal lengths between messages that are like nobody. */
static void test_mixed_lengths(void **state)
{
	(void)state;
	skip_without_avx512();
	for (unsigned salt = 0; salt < 100; salt++) {
		size_t text_lens[CARS_MAX];
		uint8_t dice[2 * CARS_MAX];
		unsigned n = 0;

		fill(dice, sizeof(dice), salt);
		for (unsigned i = 0; n < CARS_MAX - 1; i += 2) {
			unsigned run = 1 + dice[i] % (salt % 2 ? 20 : 4);

			while (run-- && n < CARS_MAX - 1)
				text_lens[n++] = (size_t)dice[i + 1] % 64 * 16;
		}
		compare(text_lens, n, salt);
		text_lens[n] = 24;
		compare(text_lens, n + 1, salt);
	}
}

/* A few messages that are like nobody do not go to another engine, many do. */
static void test_rest(void **state)
{
	size_t text_lens[CARS_MAX];

	(void)state;
	skip_without_avx512();
	for (unsigned n_odd = 1; n_odd < 32; n_odd++) {
		unsigned n_single;

		for (unsigned i = 0; i < 32; i++)
			text_lens[i] = i < n_odd ? 16 * (size_t)i : 640;
		n_single = n_odd + ((32 - n_odd) % GROUP_MAX < 3 ? (32 - n_odd) % GROUP_MAX : 0);
		assert_int_equal(compare(text_lens, 32, 0), n_single > 4 ? n_single : 0);
	}
}

/* An open train's counters are any. */
static void test_open_in_any_order(void **state)
{
	enum { N = 21 };
	size_t text_lens[N];
	struct train t, plain;
	struct train_car cars[N];

	(void)state;
	skip_without_avx512();
	for (unsigned i = 0; i < N; i++)
		text_lens[i] = 300;
	train_new(&t, text_lens, N, 0xfffffff8);
	train_new(&plain, text_lens, N, 0xfffffff8);
	train_sodium_seal(session_key, t.cars, N);
	for (unsigned i = 0; i < N; i++)
		cars[i] = t.cars[(i * 8 + 3) % N];
	assert_int_equal(engine.open(&engine, session_key, cars, N), N);
	for (unsigned i = 0; i < N; i++)
		assert_same_text(&t, &plain, i);
	free(t.mem);
	free(plain.mem);
}

/* Forgeries */

enum { N_FORGED = 29 };

/* Flips one bit of message @bad, which comes first in its header (here: its
 * counter), then in its text and tag. */
static void check_forgery(size_t text_len, unsigned bad, size_t bit)
{
	size_t text_lens[N_FORGED];
	struct train t, plain;

	for (unsigned i = 0; i < N_FORGED; i++)
		text_lens[i] = text_len;
	train_new(&t, text_lens, N_FORGED, 77);
	train_new(&plain, text_lens, N_FORGED, 77);
	train_sodium_seal(session_key, t.cars, N_FORGED);
	if (bit < 64)
		t.cars[bad].counter ^= 1ULL << bit;
	else
		train_text(&t.cars[bad])[(bit - 64) / 8] ^= (uint8_t)(1U << (bit % 8));
	for (unsigned i = 0; i < N_FORGED; i++)
		t.cars[i].ok = i == bad; /* whatever was there before */
	assert_int_equal(engine.open(&engine, session_key, t.cars, N_FORGED), N_FORGED - 1);
	for (unsigned i = 0; i < N_FORGED; i++) {
		assert_int_equal(t.cars[i].ok, i != bad);
		if (i != bad)
			assert_same_text(&t, &plain, i);
	}
	free(t.mem);
	free(plain.mem);
}

static void test_forgeries(void **state)
{
	static const size_t text_lens[] = {0, 1, 16, 63, 64, 200, 1424};

	(void)state;
	skip_without_avx512();
	for (unsigned i = 0; i < sizeof(text_lens) / sizeof(*text_lens); i++) {
		size_t n_bits = 64 + 8 * (text_lens[i] + WG_TAG_LEN);
		size_t step = 1 + n_bits / 300;

		for (size_t bit = 0; bit < n_bits; bit += step)
			check_forgery(text_lens[i], (unsigned)bit % N_FORGED, bit);
		for (size_t bit = n_bits - 8 * WG_TAG_LEN; bit < n_bits; bit++)
			check_forgery(text_lens[i], (unsigned)bit % N_FORGED, bit);
	}
}

static void test_all_forged(void **state)
{
	size_t text_lens[GROUP_MAX];
	struct train t;

	(void)state;
	skip_without_avx512();
	for (unsigned i = 0; i < GROUP_MAX; i++)
		text_lens[i] = 64;
	train_new(&t, text_lens, GROUP_MAX, 1);
	assert_int_equal(engine.open(&engine, session_key, t.cars, GROUP_MAX), 0);
	for (unsigned i = 0; i < GROUP_MAX; i++)
		assert_false(t.cars[i].ok);
	free(t.mem);
}

/* Messages between pages that nobody may touch, flush with one or the other: no
 * sanitizer watches these instructions. */
static void test_stays_inside(void **state)
{
	enum { N = 11 };
	size_t page = (size_t)sysconf(_SC_PAGESIZE), len = (2 * N + 1) * page;
	uint8_t *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	skip_without_avx512();
	assert_true(p != MAP_FAILED);
	for (unsigned i = 0; i <= N; i++)
		assert_return_code(mprotect(p + 2 * i * page, page, PROT_NONE), 0);
	for (size_t text_len = 0; text_len <= 1500; text_len += text_len < 300 ? 1 : 13) {
		size_t msg_len = text_len + MESSAGE_DATA_OVERHEAD;

		for (unsigned at_end = 0; at_end < 2; at_end++) {
			struct train_car cars[N];

			for (unsigned i = 0; i < N; i++) {
				uint8_t *start = p + (2 * i + 1) * page;

				memset(start, 0x3c, page);
				start += at_end ? page - msg_len : 0;
				cars[i] = (struct train_car){
					.msg = start, .text_len = text_len, .counter = i};
			}
			engine.seal(&engine, session_key, cars, N);
			assert_int_equal(engine.open(&engine, session_key, cars, N), N);
			for (unsigned i = 0; i < N; i++) {
				uint8_t *start = p + (2 * i + 1) * page;

				for (size_t at = 0; at < page; at++)
					if (start + at < train_tag(&cars[i]) ||
					    start + at >= cars[i].msg + msg_len)
						assert_int_equal(start[at], 0x3c);
			}
		}
	}
	munmap(p, len);
}

#ifdef __x86_64__

/* Poly1305 at its edges */

#include "crypto/train_avx512_poly.h"

struct poly_vector {
	uint8_t r[16], s[16], tag[16];
	uint8_t text[4][16];
	unsigned n_blocks;
};

#define FF_15  255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255
#define FE_15  254, 254, 254, 254, 254, 254, 254, 254, 254, 254, 254, 254, 254, 254, 254
#define ONE_16 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1

/* RFC 8439, appendix A.3: those of whole blocks that try carries and reductions. */
static const struct poly_vector poly_vectors[] = {
	{.r = {2}, .tag = {3}, .text = {{255, FF_15}}, .n_blocks = 1},
	{.r = {2}, .s = {255, FF_15}, .tag = {3}, .text = {{2}}, .n_blocks = 1},
	{.r = {1}, .tag = {5}, .text = {{255, FF_15}, {0xf0, FF_15}, {0x11}}, .n_blocks = 3},
	{.r = {1}, .tag = {0}, .text = {{255, FF_15}, {0xfb, FE_15}, {ONE_16}}, .n_blocks = 3},
	{.r = {2}, .tag = {0xfa, FF_15}, .text = {{0xfd, FF_15}}, .n_blocks = 1},
	{.r = {[0] = 1, [8] = 4},
	 .tag = {[0] = 0x14, [8] = 0x55},
	 .text = {{0xe3, 0x35, 0x94, 0xd7, 0x50, 0x5e, 0x43, 0xb9},
		  {0x33, 0x94, 0xd7, 0x50, 0x5e, 0x43, 0x79, 0xcd, 1},
		  {0},
		  {1}},
	 .n_blocks = 4},
	{.r = {[0] = 1, [8] = 4},
	 .tag = {0x13},
	 .text = {{0xe3, 0x35, 0x94, 0xd7, 0x50, 0x5e, 0x43, 0xb9},
		  {0x33, 0x94, 0xd7, 0x50, 0x5e, 0x43, 0x79, 0xcd, 1},
		  {0}},
	 .n_blocks = 3},
};

/* The tags of some texts, without the lengths that AEAD puts behind. */
AVX512 static void poly_tags_of(uint8_t tags[POLY_LANES][WG_TAG_LEN],
				const uint8_t *const poly_key[POLY_LANES],
				const uint8_t *const text[POLY_LANES], unsigned n_blocks,
				bool strides)
{
	struct poly poly;
	unsigned i = 0;

	poly_start(&poly, poly_key);
	for (; strides && n_blocks - i >= POLY_STRIDE; i += POLY_STRIDE)
		poly.sum = poly_stride(poly.power, poly.sum, text, i * POLY_BLOCK_LEN);
	for (; i < n_blocks; i++)
		poly.sum = poly_one(&poly.power[0], poly.sum,
				    poly_load(text, i * POLY_BLOCK_LEN, POLY_WHOLE));
	poly_tags(&poly, tags);
}

/* Each vector in each lane, whatever the others have. */
static void test_poly_vectors(void **state)
{
	(void)state;
	skip_without_avx512();
	for (unsigned v = 0; v < sizeof(poly_vectors) / sizeof(*poly_vectors); v++) {
		const struct poly_vector *vector = &poly_vectors[v];

		for (unsigned lane = 0; lane < 2 * POLY_LANES; lane++) {
			uint8_t keys[POLY_LANES][64], texts[POLY_LANES][64];
			uint8_t tags[POLY_LANES][WG_TAG_LEN];
			const uint8_t *poly_key[POLY_LANES], *text[POLY_LANES];

			fill(keys, sizeof(keys), v);
			fill(texts, sizeof(texts), v + 100);
			memcpy(keys[lane % POLY_LANES], vector->r, 16);
			memcpy(keys[lane % POLY_LANES] + 16, vector->s, 16);
			memcpy(texts[lane % POLY_LANES], vector->text, sizeof(vector->text));
			for (unsigned i = 0; i < POLY_LANES; i++) {
				poly_key[i] = keys[i];
				text[i] = texts[i];
			}
			poly_tags_of(tags, poly_key, text, vector->n_blocks, lane >= POLY_LANES);
			assert_memory_equal(tags[lane % POLY_LANES], vector->tag, WG_TAG_LEN);
		}
	}
}

/* 32 bytes of a key or 16 of a block that carries like to start from. */
static void fill_extreme(uint8_t *p, size_t len, uint32_t dice)
{
	static const uint8_t low[] = {0xfb, 0xfa, 0xfc, 0xff, 0x00, 0x05, 0x01, 0xf0};

	switch (dice % 5) {
	case 0:
		memset(p, 0xff, len);
		break;
	case 1:
		memset(p, 0xff, len);
		p[0] = low[dice / 5 % 8];
		break;
	case 2:
		memset(p, 0, len);
		p[dice / 5 % len] = low[dice / 5 % 8];
		break;
	default: /* as it is, at random */
		break;
	}
}

enum { EXTREME_BLOCKS = 9, EXTREME_LEN = EXTREME_BLOCKS * 16 };

/* @salt tells keys and texts; compared with libsodium's Poly1305. */
AVX512 static void check_extremes(unsigned salt)
{
	uint8_t keys[POLY_LANES][64], texts[POLY_LANES][EXTREME_LEN];
	uint8_t tags[POLY_LANES][WG_TAG_LEN], expected[WG_TAG_LEN];
	const uint8_t *poly_key[POLY_LANES], *text[POLY_LANES];
	uint32_t dice[POLY_LANES][EXTREME_BLOCKS + 2];
	unsigned n_blocks = 1 + salt % EXTREME_BLOCKS;

	fill(keys, sizeof(keys), salt);
	fill(texts, sizeof(texts), salt + (1ULL << 32));
	fill(dice, sizeof(dice), salt + (2ULL << 32));
	for (unsigned i = 0; i < POLY_LANES; i++) {
		poly_key[i] = keys[i];
		text[i] = texts[i];
		fill_extreme(keys[i], 16, dice[i][0]);
		fill_extreme(keys[i] + 16, 16, dice[i][1]);
		for (unsigned block = 0; block < EXTREME_BLOCKS; block++)
			fill_extreme(texts[i] + 16 * block, 16, dice[i][2 + block]);
	}
	poly_tags_of(tags, poly_key, text, n_blocks, salt / EXTREME_BLOCKS % 2);
	for (unsigned i = 0; i < POLY_LANES; i++) {
		crypto_onetimeauth(expected, texts[i], (size_t)16 * n_blocks, keys[i]);
		if (memcmp(tags[i], expected, WG_TAG_LEN) != 0)
			fail_msg("salt %u, lane %u: another tag", salt, i);
	}
}

static void test_poly_extremes(void **state)
{
	(void)state;
	skip_without_avx512();
	for (unsigned salt = 0; salt < 6000; salt++)
		check_extremes(salt);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_length), cmocka_unit_test(test_every_train_length),
		cmocka_unit_test(test_counters),     cmocka_unit_test(test_mixed_lengths),
		cmocka_unit_test(test_rest),	     cmocka_unit_test(test_open_in_any_order),
		cmocka_unit_test(test_forgeries),    cmocka_unit_test(test_all_forged),
		cmocka_unit_test(test_stays_inside),
#ifdef __x86_64__
		cmocka_unit_test(test_poly_vectors), cmocka_unit_test(test_poly_extremes),
#endif
	};

	if (sodium_init() < 0)
		return 1;
	fill(session_key, sizeof(session_key), 4711);
	engine = (struct train_engine){.seal = rest_seal, .open = rest_open};
	train_avx512_wrap(&engine);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
