/* SPDX-License-Identifier: Apache-2.0 */
/* Time per call of a function: the best of many short runs, which other
 * processes on the machine disturb least. */
#ifndef SEALANE_TESTS_BENCH_H
#define SEALANE_TESTS_BENCH_H

#include <stdint.h>
#include <time.h>

enum { BENCH_RUNS = 200, BENCH_RUN_NS = 400000 };

static inline uint64_t bench_clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline uint64_t bench_run(void (*call)(void *), void *arg, uint64_t n_calls)
{
	uint64_t start = bench_clock_ns();

	for (uint64_t i = 0; i < n_calls; i++)
		call(arg);
	return bench_clock_ns() - start;
}

static inline double bench_ns_per_call(void (*call)(void *), void *arg)
{
	uint64_t n_calls = 1;
	double best = 0;

	while (bench_run(call, arg, n_calls) < BENCH_RUN_NS)
		n_calls *= 2;
	for (unsigned i = 0; i < BENCH_RUNS; i++) {
		double ns = (double)bench_run(call, arg, n_calls) / (double)n_calls;

		best = i && best < ns ? best : ns;
	}
	return best;
}

#endif
