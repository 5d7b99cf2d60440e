/* SPDX-License-Identifier: Apache-2.0 */
/* Nanoseconds per message and per byte of sealing and opening trains, with
 * libsodium and with the engine if this CPU and build have one. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "crypto/train.h"

enum { TRAIN_MAX = 140, TEXT_MAX = 1424, ROOM = 1472 /* whole cache lines */ };

struct work {
	const struct train_engine *engine;
	struct keypair kp;
	unsigned n;
	size_t text_len;
};

static uint8_t messages[TRAIN_MAX][ROOM] __attribute__((aligned(64)));

static void lay_out(const struct work *w, struct train_car cars[TRAIN_MAX])
{
	for (unsigned i = 0; i < w->n; i++)
		cars[i] = (struct train_car){
			.msg = messages[i], .text_len = w->text_len, .counter = i};
}

static void call_seal(void *arg)
{
	struct work *w = arg;
	struct train_car cars[TRAIN_MAX];

	lay_out(w, cars);
	train_seal(w->engine, &w->kp, 0, cars, w->n);
}

/* Opening needs sealed messages again each time; what sealing took is
 * subtracted. */
static void call_seal_open(void *arg)
{
	struct work *w = arg;
	struct train_car cars[TRAIN_MAX];

	lay_out(w, cars);
	train_seal(w->engine, &w->kp, 0, cars, w->n);
	if (train_open(w->engine, &w->kp, cars, w->n) != w->n)
		abort();
}

static void measure(const char *name, struct work *w)
{
	double seal = bench_ns_per_call(call_seal, w) / w->n;
	double open = bench_ns_per_call(call_seal_open, w) / w->n - seal;

	printf("%-9s %3u x %4zu bytes: seal %6.0f ns, %5.3f ns/byte; open %6.0f ns, %5.3f "
	       "ns/byte\n",
	       name, w->n, w->text_len, seal, seal / (double)w->text_len, open,
	       open / (double)w->text_len);
}

int main(void)
{
	static const size_t text_lens[] = {64, 128, 200, 512, 1024, 1408, TEXT_MAX};
	static const unsigned trains[] = {1, 2, 8, 46, 140};
	size_t mem_len = train_engine_size();
	void *mem = mem_len ? aligned_alloc(TRAIN_ENGINE_ALIGN, mem_len) : NULL;
	char reason[TRAIN_REASON_LEN];
	const struct train_engine *engine;

	if (sodium_init() < 0)
		return 1;
	engine = train_engine_init(mem, mem_len, true, reason);
	printf("engine: %s\n", reason);
	for (unsigned t = 0; t < sizeof(trains) / sizeof(*trains); t++) {
		for (unsigned l = 0; l < sizeof(text_lens) / sizeof(*text_lens); l++) {
			struct work w = {.kp.send_key = {1},
					 .kp.recv_key = {1},
					 .n = trains[t],
					 .text_len = text_lens[l]};

			measure("libsodium", &w);
			w.engine = engine;
			if (engine)
				measure("engine", &w);
		}
	}
	free(mem);
	return 0;
}
