/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The micro benchmarks: what sealing, opening, cutting, merging, looking up and
 * adding up cost by themselves.
 *
 *   bench_micro [--json] [NAME...]
 *
 * NAME: train, gso, gro, trie, checksum (all). Cycles and instructions are counted
 * where the machine lets us, in user space; else there is time alone.
 */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "crypto/train.h"

static const struct benchmark {
	const char *name;
	void (*run)(void);
} benchmarks[] = {
	{"train", bench_train}, {"gso", bench_gso},	      {"gro", bench_gro},
	{"trie", bench_trie},	{"checksum", bench_checksum},
};

enum { N_BENCHMARKS = sizeof(benchmarks) / sizeof(*benchmarks) };

static int usage(void)
{
	fputs("usage: bench_micro [--json] [train|gso|gro|trie|checksum ...]\n", stderr);
	return 2;
}

static bool is_wanted(const char *name, char **names, int n_names)
{
	for (int i = 0; i < n_names; i++) {
		if (!strcmp(names[i], name))
			return true;
	}
	return !n_names;
}

static bool is_known(const char *name)
{
	for (unsigned i = 0; i < N_BENCHMARKS; i++) {
		if (!strcmp(benchmarks[i].name, name))
			return true;
	}
	return false;
}

/* What the daemon would seal with on this machine, and why. */
static void say_engine(char ret[TRAIN_REASON_LEN])
{
	size_t len = train_engine_size();
	void *mem = len ? aligned_alloc(TRAIN_ENGINE_ALIGN, len) : NULL;

	train_engine_init(mem, mem ? len : 0, true, ret);
	free(mem);
}

int main(int argc, char **argv)
{
	bool json = argc > 1 && !strcmp(argv[1], "--json");
	char **names = argv + 1 + json, engine[TRAIN_REASON_LEN];
	int n_names = argc - 1 - json;

	for (int i = 0; i < n_names; i++) {
		if (!is_known(names[i]))
			return usage();
	}
	if (sodium_init() < 0)
		return 1;
	bench_counters_open();
	say_engine(engine);
	bench_report_begin(json, engine);
	for (unsigned i = 0; i < N_BENCHMARKS; i++) {
		if (is_wanted(benchmarks[i].name, names, n_names))
			benchmarks[i].run();
	}
	bench_report_end();
	return 0;
}
