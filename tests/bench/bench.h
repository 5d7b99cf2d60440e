/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the micro benchmarks share: what a call costs, and the table (or JSON) of
 * all costs. One thread.
 */
#ifndef SEALANE_TESTS_BENCH_H
#define SEALANE_TESTS_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Of one call. Cycles and instructions are of the CPU's own counters in user
 * space; 0 where there are none. */
struct bench_cost {
	double ns, cycles, instructions;
};

/* What one call of a row works on. */
struct bench_row {
	const char *name;    /* of what is measured: "seal" */
	const char *variant; /* of how it is done: "libsodium" */
	unsigned n_items;    /* messages, packets, look-ups */
	size_t item_len;     /* bytes of each; 0: bytes mean nothing here */
};

static inline uint64_t bench_clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Opens the CPU's counters. False: the kernel or the (virtual) machine has none. */
bool bench_counters_open(void);

/* The best of many short runs, which other processes disturb least. */
struct bench_cost bench_measure(void (*call)(void *), void *arg);

/* For what cannot be repeated without a preparation: the cost of both, less that of
 * the preparation. Never below 0. */
struct bench_cost bench_difference(struct bench_cost both, struct bench_cost preparation);

/* Lines of a table, or objects of a JSON array. */
void bench_report_begin(bool json, const char *engine);
void bench_report(const struct bench_row *row, struct bench_cost cost);
void bench_report_end(void);

/* The benchmarks: one for each module. */
void bench_train(void);
void bench_gso(void);
void bench_gro(void);
void bench_trie(void);
void bench_checksum(void);

#endif
