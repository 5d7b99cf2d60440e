/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is an engine to be trusted on this CPU, with this build of its library? First
 * the example of RFC 8439, then a train whose messages are of all sorts of
 * lengths and one of equal messages, compared with libsodium.
 */
#include <string.h>

#include "train_engine.h"

enum { N_UNEQUAL = 10, N_EQUAL = 27, CARS_MAX = 27, TRAIN_LEN = 12800 };

/* Empty, part of a block, block boundaries of 64 bytes, runs of several blocks
 * at once with and without a rest, a full packet. */
static const uint16_t unequal_lens[N_UNEQUAL] = {0, 1, 64, 16, 255, 256, 513, 80, 1408, 1025};
/* Of equal messages: more than any engine takes at once, and a rest of those that
 * is not half of them. Several strides of 64 bytes and a part of a block. */
enum { EQUAL_LEN = 425 };

struct test_train {
	uint8_t mem[TRAIN_LEN];
	struct train_car cars[CARS_MAX];
	unsigned n;
};

/* RFC 8439 section 2.8.2. */
static bool gives_rfc8439_example(const struct train_engine *engine)
{
	static const char plain[] =
		"Ladies and Gentlemen of the class of '99: If I could offer you only one tip "
		"for the future, sunscreen would be it.";
	static const uint8_t nonce[TRAIN_NONCE_LEN] = {7,    0,	   0,	 0,    0x40, 0x41,
						       0x42, 0x43, 0x44, 0x45, 0x46, 0x47};
	static const uint8_t aad[] = {0x50, 0x51, 0x52, 0x53, 0xc0, 0xc1,
				      0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7};
	static const uint8_t expected[] = {
		0xd3, 0x1a, 0x8d, 0x34, 0x64, 0x8e, 0x60, 0xdb, 0x7b, 0x86, 0xaf, 0xbc, 0x53,
		0xef, 0x7e, 0xc2, 0xa4, 0xad, 0xed, 0x51, 0x29, 0x6e, 0x08, 0xfe, 0xa9, 0xe2,
		0xb5, 0xa7, 0x36, 0xee, 0x62, 0xd6, 0x3d, 0xbe, 0xa4, 0x5e, 0x8c, 0xa9, 0x67,
		0x12, 0x82, 0xfa, 0xfb, 0x69, 0xda, 0x92, 0x72, 0x8b, 0x1a, 0x71, 0xde, 0x0a,
		0x9e, 0x06, 0x0b, 0x29, 0x05, 0xd6, 0xa5, 0xb6, 0x7e, 0xcd, 0x3b, 0x36, 0x92,
		0xdd, 0xbd, 0x7f, 0x2d, 0x77, 0x8b, 0x8c, 0x98, 0x03, 0xae, 0xe3, 0x28, 0x09,
		0x1b, 0x58, 0xfa, 0xb3, 0x24, 0xe4, 0xfa, 0xd6, 0x75, 0x94, 0x55, 0x85, 0x80,
		0x8b, 0x48, 0x31, 0xd7, 0xbc, 0x3f, 0xf4, 0xde, 0xf0, 0x8e, 0x4b, 0x7a, 0x9d,
		0xe5, 0x76, 0xd2, 0x65, 0x86, 0xce, 0xc6, 0x4b, 0x61, 0x16, /* the tag: */
		0x1a, 0xe1, 0x0b, 0x59, 0x4f, 0x09, 0xe2, 0x6a, 0x7e, 0x90, 0x2e, 0xcb, 0xd0,
		0x60, 0x06, 0x91};
	enum { TEXT_LEN = sizeof(plain) - 1 };
	uint8_t key[TRAIN_KEY_ROOM] = {0}, text[TEXT_LEN + WG_TAG_LEN];
	struct train_message m = {.key = key,
				  .nonce = nonce,
				  .aad = aad,
				  .aad_len = sizeof(aad),
				  .text = text,
				  .text_len = TEXT_LEN,
				  .tag = text + TEXT_LEN};

	static_assert(sizeof(text) == sizeof(expected), "the example");
	for (unsigned i = 0; i < WG_KEY_LEN; i++)
		key[i] = (uint8_t)(0x80 + i);
	memcpy(text, plain, TEXT_LEN);
	engine->seal_message(engine, &m);
	return memcmp(text, expected, sizeof(expected)) == 0;
}

/* Cars one behind the other. */
static void lay_out(struct test_train *t, bool equal)
{
	size_t at = 0;

	t->n = equal ? N_EQUAL : N_UNEQUAL;
	for (unsigned i = 0; i < TRAIN_LEN; i++)
		t->mem[i] = (uint8_t)(i * 151 + (i >> 8));
	for (unsigned i = 0; i < t->n; i++) {
		t->cars[i] = (struct train_car){.msg = t->mem + at,
						.text_len = equal ? EQUAL_LEN : unequal_lens[i],
						.counter = 0xfffffffe + (uint64_t)i};
		at += t->cars[i].text_len + MESSAGE_DATA_OVERHEAD;
	}
	assert(at <= TRAIN_LEN);
}

static bool same_texts(const struct test_train *a, const struct test_train *b)
{
	for (unsigned i = 0; i < a->n; i++) {
		const struct train_car *car = &a->cars[i];

		if (memcmp(train_text(car), train_text(&b->cars[i]), car->text_len) != 0)
			return false;
	}
	return true;
}

static const char *compare_with_sodium(const struct train_engine *engine, bool equal)
{
	struct test_train t, sodium, plain;
	uint8_t key[TRAIN_KEY_ROOM] = {0};

	for (unsigned i = 0; i < WG_KEY_LEN; i++)
		key[i] = (uint8_t)(i * 29 + 1);
	lay_out(&t, equal);
	lay_out(&sodium, equal);
	lay_out(&plain, equal);

	engine->seal(engine, key, t.cars, t.n);
	train_sodium_seal(key, sodium.cars, sodium.n);
	if (memcmp(t.mem, sodium.mem, TRAIN_LEN) != 0)
		return "seal";
	if (engine->open(engine, key, t.cars, t.n) != t.n || !same_texts(&t, &plain))
		return "open";
	for (unsigned i = 0; i < t.n; i++) {
		if (!t.cars[i].ok)
			return "open";
	}
	return NULL;
}

/* One bit of every second tag is wrong, of the car's own number so that it
 * wanders through the tag. */
static const char *refuse_forgeries(const struct train_engine *engine, bool equal)
{
	struct test_train t;
	uint8_t key[TRAIN_KEY_ROOM] = {1};

	lay_out(&t, equal);
	train_sodium_seal(key, t.cars, t.n);
	for (unsigned i = 1; i < t.n; i += 2)
		train_tag(&t.cars[i])[i % WG_TAG_LEN] ^= (uint8_t)(1U << (i % 8));
	if (engine->open(engine, key, t.cars, t.n) != (t.n + 1) / 2)
		return "forgeries";
	for (unsigned i = 0; i < t.n; i++) {
		if (t.cars[i].ok != (i % 2 == 0))
			return "forgeries";
	}
	return NULL;
}

const char *train_selftest(const struct train_engine *engine)
{
	const char *failed = gives_rfc8439_example(engine) ? NULL : "RFC 8439";

	for (unsigned equal = 0; equal < 2 && !failed; equal++) {
		failed = compare_with_sodium(engine, equal);
		if (!failed)
			failed = refuse_forgeries(engine, equal);
	}
	return failed;
}
