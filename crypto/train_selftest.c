/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is an engine to be trusted on this CPU, with this build of its library? First
 * the example of RFC 8439, then trains whose messages are of all sorts of
 * lengths, compared with libsodium.
 */
#include <string.h>

#include "train_engine.h"

enum { N_CARS = 10, TRAIN_LEN = 6144 };

/* Empty, part of a block, block boundaries of 64 bytes, runs of several blocks
 * at once with and without a rest, a full packet. */
static const uint16_t text_lens[N_CARS] = {0, 1, 64, 16, 255, 256, 513, 80, 1408, 1025};

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

/* Cars of the train in @mem, one behind the other. */
static void lay_out(uint8_t mem[TRAIN_LEN], struct train_car cars[N_CARS])
{
	size_t at = 0;

	for (unsigned i = 0; i < TRAIN_LEN; i++)
		mem[i] = (uint8_t)(i * 151 + (i >> 8));
	for (unsigned i = 0; i < N_CARS; i++) {
		cars[i] = (struct train_car){.msg = mem + at,
					     .text_len = text_lens[i],
					     .counter = 0xfffffffe + (uint64_t)i};
		at += text_lens[i] + MESSAGE_DATA_OVERHEAD;
	}
	assert(at <= TRAIN_LEN);
}

static const char *compare_with_sodium(const struct train_engine *engine)
{
	uint8_t mem[TRAIN_LEN], mem_sodium[TRAIN_LEN], plain[TRAIN_LEN];
	struct train_car cars[N_CARS], cars_sodium[N_CARS], cars_plain[N_CARS];
	uint8_t key[TRAIN_KEY_ROOM] = {0};

	for (unsigned i = 0; i < WG_KEY_LEN; i++)
		key[i] = (uint8_t)(i * 29 + 1);
	lay_out(mem, cars);
	lay_out(mem_sodium, cars_sodium);
	lay_out(plain, cars_plain);

	engine->seal(engine, key, cars, N_CARS);
	train_sodium_seal(key, cars_sodium, N_CARS);
	if (memcmp(mem, mem_sodium, TRAIN_LEN) != 0)
		return "seal";
	if (engine->open(engine, key, cars, N_CARS) != N_CARS)
		return "open";
	for (unsigned i = 0; i < N_CARS; i++) {
		if (!cars[i].ok ||
		    memcmp(train_text(&cars[i]), train_text(&cars_plain[i]), text_lens[i]) != 0)
			return "open";
	}
	return NULL;
}

/* One bit of every second tag is wrong, of the car's own number so that it
 * wanders through the tag. */
static const char *refuse_forgeries(const struct train_engine *engine)
{
	uint8_t mem[TRAIN_LEN], key[TRAIN_KEY_ROOM] = {1};
	struct train_car cars[N_CARS];

	lay_out(mem, cars);
	train_sodium_seal(key, cars, N_CARS);
	for (unsigned i = 1; i < N_CARS; i += 2)
		train_tag(&cars[i])[i] ^= (uint8_t)(1U << (i % 8));
	if (engine->open(engine, key, cars, N_CARS) != N_CARS / 2)
		return "forgeries";
	for (unsigned i = 0; i < N_CARS; i++) {
		if (cars[i].ok != (i % 2 == 0))
			return "forgeries";
	}
	return NULL;
}

const char *train_selftest(const struct train_engine *engine)
{
	const char *failed;

	if (!gives_rfc8439_example(engine))
		return "RFC 8439";
	failed = compare_with_sodium(engine);
	return failed ? failed : refuse_forgeries(engine);
}
