/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of one length, up to 16 at once, with every lane of the registers at
 * work from the first block to the last: one message alone leaves many of them
 * empty at its ends. What is not in such a group is left to another engine.
 */
#ifdef __x86_64__

#include <sodium.h>

#include "train_avx512_chacha.h"
#include "train_avx512_poly.h"

static_assert(crypto_verify_16_BYTES == WG_TAG_LEN, "libsodium");

/* Two messages take no less time together than one by one. */
enum { GROUP_MAX = CHACHA_LANES, GROUP_MIN = 3 };
/* Far above any datagram; block numbers have room. */
enum { GROUP_TEXT_MAX = 65536 };

/* More than the functions below seal_train() and open_train() take of the stack,
 * where compilers put registers that they need for something else. */
enum { SPILL_LEN = 3072 };

/* All that has to be wiped, and what goes with it. */
struct group {
	const struct train_car *cars;
	unsigned n;
	size_t text_len;
	/* Where the key stream goes next. */
	unsigned message;
	size_t at;
	struct chacha chacha;
	struct poly poly;
	/* Of the first pass, which has the keys, and of the others in turn. */
	__attribute__((aligned(64))) chacha_stream first, stream[2];
	uint8_t tags[GROUP_MAX][WG_TAG_LEN];
};

/* The first pass, which has the Poly1305 keys. */
AVX512 static void group_start(struct group *g, const struct train_car *cars, unsigned n)
{
	g->cars = cars;
	g->n = n;
	g->text_len = cars[0].text_len;
	g->message = 0;
	g->at = 0;
	chacha_set_group(&g->chacha, cars, n);
	chacha_pass(&g->chacha, g->first);
}

AVX512_INLINE void mix_block(uint8_t *text, const uint8_t *stream)
{
	__m512i v = _mm512_xor_si512(_mm512_loadu_si512(text), _mm512_load_si512(stream));

	_mm512_storeu_si512(text, v);
}

AVX512_INLINE void mix_part(uint8_t *text, size_t len, const uint8_t *stream)
{
	__mmask64 mask = ((uint64_t)1 << len) - 1;
	__m512i v = _mm512_maskz_loadu_epi8(mask, text);

	_mm512_mask_storeu_epi8(text, mask, _mm512_xor_si512(v, _mm512_load_si512(stream)));
}

/* @stream from block @from on, up to the end of the last text. */
AVX512 static void mix(struct group *g, chacha_stream stream, unsigned from)
{
	const size_t len = g->text_len;
	unsigned message = g->message;
	size_t at = g->at;

	while (from < CHACHA_LANES && message < g->n) {
		uint8_t *text = train_text(&g->cars[message]);

		for (; from < CHACHA_LANES && len - at >= CHACHA_BLOCK_LEN; at += CHACHA_BLOCK_LEN)
			mix_block(text + at, stream[from++]);
		if (from == CHACHA_LANES)
			break;
		if (at < len)
			mix_part(text + at, len - at, stream[from++]);
		message++;
		at = 0;
	}
	g->message = message;
	g->at = at;
}

/* What a pass stores is used when the next one is under way. */
AVX512 static void crypt_texts(struct group *g)
{
	unsigned n_blocks = g->n * (1 + g->chacha.n_blocks), from = g->n, turn = 0;
	uint8_t(*stream)[CHACHA_BLOCK_LEN] = g->first;

	for (unsigned i = CHACHA_LANES; i < n_blocks; i += CHACHA_LANES) {
		chacha_pass(&g->chacha, g->stream[turn]);
		mix(g, stream, from);
		stream = g->stream[turn];
		from = 0;
		turn ^= 1;
	}
	mix(g, stream, from);
}

/* Tags of POLY_LANES messages from @first on. Lanes without one do as the first does. */
AVX512 static void make_some_tags(struct group *g, unsigned first)
{
	const uint8_t *text[POLY_LANES], *key_block[POLY_LANES];

	for (unsigned i = 0; i < POLY_LANES; i++) {
		unsigned message = first + i < g->n ? first + i : first;

		text[i] = train_text(&g->cars[message]);
		key_block[i] = g->first[message];
	}
	poly_start(&g->poly, key_block);
	poly_add_texts(&g->poly, text, g->text_len);
	poly_tags(&g->poly, &g->tags[first]);
}

AVX512 static void make_tags(struct group *g)
{
	for (unsigned i = 0; i < g->n; i += POLY_LANES)
		make_some_tags(g, i);
}

AVX512 __attribute__((noinline)) static void seal_group(struct group *g,
							const struct train_car *cars, unsigned n)
{
	group_start(g, cars, n);
	crypt_texts(g);
	make_tags(g);
	for (unsigned i = 0; i < n; i++)
		memcpy(train_tag(&cars[i]), g->tags[i], WG_TAG_LEN);
}

/* Decrypts forgeries too, as the contract allows. */
AVX512 __attribute__((noinline)) static unsigned open_group(struct group *g, struct train_car *cars,
							    unsigned n)
{
	unsigned n_ok = 0;

	group_start(g, cars, n);
	make_tags(g);
	crypt_texts(g);
	for (unsigned i = 0; i < n; i++) {
		cars[i].ok = crypto_verify_16(g->tags[i], train_tag(&cars[i])) == 0;
		n_ok += cars[i].ok;
	}
	return n_ok;
}

static void wipe(struct group *g)
{
	sodium_memzero(g, sizeof(*g));
	sodium_stackzero(SPILL_LEN);
}

/* How many cars from the first one on are of one length. */
static unsigned equal_cars(const struct train_car *cars, unsigned n)
{
	unsigned i = 1;

	while (i < n && i < GROUP_MAX && cars[i].text_len == cars[0].text_len)
		i++;
	return i;
}

static bool is_group(const struct train_car *cars, unsigned n)
{
	return n >= GROUP_MIN && cars[0].text_len <= GROUP_TEXT_MAX;
}

/* How many of the @n cars come before the next group; @n: there is none. */
static unsigned cars_to_group(const struct train_car *cars, unsigned n)
{
	unsigned i = 0, n_equal;

	for (; i < n; i += n_equal) {
		n_equal = equal_cars(cars + i, n - i);
		if (is_group(cars + i, n_equal))
			break;
	}
	return i;
}

/*
 * If all but a few are in groups, those few are groups of their own. That takes
 * longer than another engine would, whose wider multiplications however make the
 * CPU lower its clock for long after.
 */
static bool is_all_groups(const struct train_car *cars, unsigned n)
{
	unsigned n_rest = 0, n_equal;

	for (unsigned i = 0; i < n; i += n_equal) {
		n_equal = equal_cars(cars + i, n - i);
		if (cars[i].text_len > GROUP_TEXT_MAX)
			return false;
		if (!is_group(cars + i, n_equal))
			n_rest += n_equal;
	}
	return n_rest <= n / 8;
}

AVX512 static void seal_train(const struct train_engine *engine, const uint8_t key[WG_KEY_LEN],
			      const struct train_car *cars, unsigned n)
{
	struct group g;
	bool all_groups = is_all_groups(cars, n);
	unsigned step;

	if (cars_to_group(cars, n) == n) {
		engine->seal_rest(engine, key, cars, n);
		return;
	}
	chacha_set_key(&g.chacha, key);
	for (unsigned i = 0; i < n; i += step) {
		step = all_groups ? 0 : cars_to_group(cars + i, n - i);
		if (step) {
			engine->seal_rest(engine, key, cars + i, step);
		} else {
			step = equal_cars(cars + i, n - i);
			seal_group(&g, cars + i, step);
		}
	}
	wipe(&g);
}

AVX512 static unsigned open_train(const struct train_engine *engine, const uint8_t key[WG_KEY_LEN],
				  struct train_car *cars, unsigned n)
{
	struct group g;
	bool all_groups = is_all_groups(cars, n);
	unsigned n_ok = 0, step;

	if (cars_to_group(cars, n) == n)
		return engine->open_rest(engine, key, cars, n);
	chacha_set_key(&g.chacha, key);
	for (unsigned i = 0; i < n; i += step) {
		step = all_groups ? 0 : cars_to_group(cars + i, n - i);
		if (step) {
			n_ok += engine->open_rest(engine, key, cars + i, step);
		} else {
			step = equal_cars(cars + i, n - i);
			n_ok += open_group(&g, cars + i, step);
		}
	}
	wipe(&g);
	return n_ok;
}

bool train_avx512_supported(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
	       __builtin_cpu_supports("avx512ifma");
}

void train_avx512_wrap(struct train_engine *engine)
{
	engine->seal_rest = engine->seal;
	engine->open_rest = engine->open;
	engine->seal = seal_train;
	engine->open = open_train;
}

#endif
