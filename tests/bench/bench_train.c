/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sealing and opening trains: with libsodium's single calls, one for each message,
 * as any program would make them; with our walk over them; with the engine, if this
 * CPU and build have one.
 */
#include <sodium.h>
#include <stdlib.h>

#include "bench.h"
#include "crypto/le.h"
#include "crypto/train.h"

enum { TRAIN_MAX = 140, TEXT_MAX = 1424, ROOM = 1472 /* whole cache lines */ };

struct work {
	const struct train_engine *engine;
	struct keypair kp;
	unsigned n;
	size_t text_len;
};

static uint8_t messages[TRAIN_MAX][ROOM] __attribute__((aligned(64)));

/* One call of libsodium for each message */

static void single_seal(void *arg)
{
	struct work *w = arg;
	uint8_t nonce[crypto_aead_chacha20poly1305_ietf_NPUBBYTES] = {0};

	for (unsigned i = 0; i < w->n; i++) {
		uint8_t *text = messages[i] + MESSAGE_DATA_HEADER_SIZE;

		le64_store(nonce + 4, i);
		crypto_aead_chacha20poly1305_ietf_encrypt(text, NULL, text, w->text_len, NULL, 0,
							  NULL, nonce, w->kp.send_key);
	}
}

static void single_seal_open(void *arg)
{
	struct work *w = arg;
	uint8_t nonce[crypto_aead_chacha20poly1305_ietf_NPUBBYTES] = {0};

	single_seal(arg);
	for (unsigned i = 0; i < w->n; i++) {
		uint8_t *text = messages[i] + MESSAGE_DATA_HEADER_SIZE;

		le64_store(nonce + 4, i);
		if (crypto_aead_chacha20poly1305_ietf_decrypt(text, NULL, NULL, text,
							      w->text_len + WG_TAG_LEN, NULL, 0,
							      nonce, w->kp.recv_key))
			abort();
	}
}

/* Trains */

static void lay_out(const struct work *w, struct train_car cars[TRAIN_MAX])
{
	for (unsigned i = 0; i < w->n; i++)
		cars[i] = (struct train_car){
			.msg = messages[i], .text_len = w->text_len, .counter = i};
}

static void train_seal_call(void *arg)
{
	struct work *w = arg;
	struct train_car cars[TRAIN_MAX];

	lay_out(w, cars);
	train_seal(w->engine, &w->kp, 0, cars, w->n);
}

static void train_seal_open(void *arg)
{
	struct work *w = arg;
	struct train_car cars[TRAIN_MAX];

	lay_out(w, cars);
	train_seal(w->engine, &w->kp, 0, cars, w->n);
	if (train_open(w->engine, &w->kp, cars, w->n) != w->n)
		abort();
}

/* Opening needs sealed messages again each time. */
static void measure(const char *variant, struct work *w, void (*seal)(void *),
		    void (*seal_open)(void *))
{
	struct bench_cost sealing = bench_measure(seal, w);
	struct bench_cost both = bench_measure(seal_open, w);
	struct bench_row row = {
		.name = "seal", .variant = variant, .n_items = w->n, .item_len = w->text_len};

	bench_report(&row, sealing);
	row.name = "open";
	bench_report(&row, bench_difference(both, sealing));
}

void bench_train(void)
{
	static const struct {
		unsigned n;
		size_t text_len;
	} cases[] = {{44, 1408}, {140, 1408}, {8, 1408}, {1, 1408}, {44, 200},	   {44, 64},
		     {1, 200},	 {8, 64},     {1, 64},	 {44, 512}, {46, TEXT_MAX}};
	size_t mem_len = train_engine_size();
	void *mem = mem_len ? aligned_alloc(TRAIN_ENGINE_ALIGN, mem_len) : NULL;
	char reason[TRAIN_REASON_LEN];
	const struct train_engine *engine = train_engine_init(mem, mem ? mem_len : 0, true, reason);

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct work w = {.kp.send_key = {1},
				 .kp.recv_key = {1},
				 .n = cases[i].n,
				 .text_len = cases[i].text_len};

		measure("sodium_single", &w, single_seal, single_seal_open);
		measure("train_sodium", &w, train_seal_call, train_seal_open);
		w.engine = engine;
		if (engine)
			measure("train_engine", &w, train_seal_call, train_seal_open);
	}
	train_engine_wipe(mem, mem ? mem_len : 0);
	free(mem);
}
