/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"

enum { RUNS = 100, RUN_NS = 400000, N_COUNTERS = 2 };

static int counters = -1; /* the group's leader */
static bool as_json, is_first;

/* Counters */

static int open_counter(uint64_t config, int group)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = config,
		.disabled = group < 0,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.read_format = PERF_FORMAT_GROUP,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, group, PERF_FLAG_FD_CLOEXEC);
}

bool bench_counters_open(void)
{
	counters = open_counter(PERF_COUNT_HW_CPU_CYCLES, -1);
	if (counters >= 0 && open_counter(PERF_COUNT_HW_INSTRUCTIONS, counters) < 0) {
		close(counters);
		counters = -1;
	}
	if (counters >= 0)
		ioctl(counters, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	return counters >= 0;
}

static void read_counters(uint64_t ret[N_COUNTERS])
{
	uint64_t group[1 + N_COUNTERS] = {0}; /* how many, then each */

	if (counters >= 0 && read(counters, group, sizeof(group)) != sizeof(group))
		memset(group, 0, sizeof(group));
	memcpy(ret, group + 1, N_COUNTERS * sizeof(*ret));
}

/* Measuring */

static struct bench_cost run(void (*call)(void *), void *arg, uint64_t n_calls)
{
	uint64_t before[N_COUNTERS], after[N_COUNTERS], start_ns;
	double n = (double)n_calls;
	struct bench_cost cost;

	read_counters(before);
	start_ns = bench_clock_ns();
	for (uint64_t i = 0; i < n_calls; i++)
		call(arg);
	cost.ns = (double)(bench_clock_ns() - start_ns) / n;
	read_counters(after);
	cost.cycles = (double)(after[0] - before[0]) / n;
	cost.instructions = (double)(after[1] - before[1]) / n;
	return cost;
}

struct bench_cost bench_measure(void (*call)(void *), void *arg)
{
	struct bench_cost best, cost;
	uint64_t n_calls = 1;

	while (run(call, arg, n_calls).ns * (double)n_calls < RUN_NS)
		n_calls *= 2;
	best = run(call, arg, n_calls);
	for (unsigned i = 1; i < RUNS; i++) {
		cost = run(call, arg, n_calls);
		if (cost.ns < best.ns)
			best = cost;
	}
	return best;
}

static double less(double a, double b)
{
	return a > b ? a - b : 0;
}

struct bench_cost bench_difference(struct bench_cost both, struct bench_cost preparation)
{
	return (struct bench_cost){
		.ns = less(both.ns, preparation.ns),
		.cycles = less(both.cycles, preparation.cycles),
		.instructions = less(both.instructions, preparation.instructions),
	};
}

/* Reporting */

void bench_report_begin(bool json, const char *engine)
{
	as_json = json;
	is_first = true;
	if (json) {
		printf("{\"engine\": \"%s\", \"counters\": %s, \"rows\": [", engine,
		       counters >= 0 ? "true" : "false");
		return;
	}
	printf("engine: %s\n", engine);
	if (counters < 0)
		printf("no CPU counters (perf_event_open): time alone, - for cycles and "
		       "instructions\n");
	printf("%-11s %-16s %6s %7s %10s %8s %8s %8s\n", "what", "how", "items", "bytes", "ns/item",
	       "ns/byte", "cyc/byte", "ins/byte");
}

/* A figure per byte (per item where bytes mean nothing), or nothing. */
static void print_per(double value, double n)
{
	if (counters >= 0)
		printf(" %8.3f", value / n);
	else
		printf(" %8s", "-");
}

static void print_json(const struct bench_row *row, const struct bench_cost *cost)
{
	printf("%s\n {\"what\": \"%s\", \"how\": \"%s\", \"items\": %u, \"item_bytes\": %zu, "
	       "\"ns\": %.2f",
	       is_first ? "" : ",", row->name, row->variant, row->n_items, row->item_len, cost->ns);
	if (counters >= 0)
		printf(", \"cycles\": %.1f, \"instructions\": %.1f", cost->cycles,
		       cost->instructions);
	printf("}");
	is_first = false;
}

void bench_report(const struct bench_row *row, struct bench_cost cost)
{
	double n_bytes = (double)row->n_items * (double)row->item_len;

	if (as_json) {
		print_json(row, &cost);
		return;
	}
	printf("%-11s %-16s %6u %7zu %10.1f", row->name, row->variant, row->n_items, row->item_len,
	       cost.ns / row->n_items);
	if (row->item_len)
		printf(" %8.4f", cost.ns / n_bytes);
	else
		printf(" %8s", "-");
	print_per(cost.cycles, row->item_len ? n_bytes : row->n_items);
	print_per(cost.instructions, row->item_len ? n_bytes : row->n_items);
	printf("\n");
	fflush(stdout);
}

void bench_report_end(void)
{
	if (as_json)
		printf("\n]}\n");
}
