/* SPDX-License-Identifier: Apache-2.0 */
/* What several threads use at once. Also run with ThreadSanitizer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>

#include "agent/lane/endpoint_cell.h"
#include "agent/lane/indextab.h"
#include "agent/lane/shortlock.h"

enum { N_THREADS = 3, N_WRITES = 20000, N_READS = 200000 };

struct world {
	struct endpoint_cell cell;
	struct indextab index;
	uint32_t lock;
	unsigned counted;	   /* under the lock */
	bool stop;		   /* atomic */
	unsigned n_wrong, n_reads; /* atomic */
};

static bool stopped(struct world *w)
{
	return __atomic_load_n(&w->stop, __ATOMIC_RELAXED);
}

static void note(struct world *w, bool right)
{
	__atomic_fetch_add(&w->n_reads, 1, __ATOMIC_RELAXED);
	if (!right)
		__atomic_fetch_add(&w->n_wrong, 1, __ATOMIC_RELAXED);
}

/* Threads read while @writer writes, again and again until @n_reads were done. */
static void run(struct world *w, void *(*reader)(void *), void (*writer)(struct world *w),
		unsigned n_reads)
{
	pthread_t thread[N_THREADS];

	for (unsigned i = 0; i < N_THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, reader, w), 0);
	do {
		writer(w);
	} while (__atomic_load_n(&w->n_reads, __ATOMIC_RELAXED) < n_reads);
	__atomic_store_n(&w->stop, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < N_THREADS; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	assert_int_equal(w->n_wrong, 0);
}

/* Every part of the @n-th one tells which it is. */
static struct endpoint numbered(uint32_t n)
{
	struct endpoint ep;

	memset(&ep, 0, sizeof(ep));
	ep.dst.in6.sin6_family = AF_INET6;
	ep.dst.in6.sin6_scope_id = n;
	memset(&ep.dst.in6.sin6_addr, (int)(n & 0xff), sizeof(ep.dst.in6.sin6_addr));
	memset(&ep.source.in6, (int)(n & 0xff), sizeof(ep.source.in6));
	ep.source_ifindex = (int)n;
	ep.has_source = n & 1;
	return ep;
}

static void *read_cell(void *arg)
{
	struct world *w = arg;

	while (!stopped(w)) {
		const struct endpoint ep = endpoint_cell_load(&w->cell);
		const struct endpoint whole = numbered(ep.dst.in6.sin6_scope_id);

		note(w, !memcmp(&ep, &whole, sizeof(ep)));
	}
	return NULL;
}

static void write_cell(struct world *w)
{
	for (uint32_t n = 1; n <= N_WRITES; n++) {
		const struct endpoint ep = numbered(n);

		endpoint_cell_store(&w->cell, &ep);
	}
}

static void test_endpoint_cell(void **state)
{
	const struct endpoint first = numbered(0), last = numbered(N_WRITES);
	static struct world w;
	struct endpoint ep;

	(void)state;
	ep = endpoint_cell_load(&w.cell);
	assert_int_equal(ep.dst.family, AF_UNSPEC);
	endpoint_cell_store(&w.cell, &first);
	run(&w, read_cell, write_cell, 5 * N_READS);
	ep = endpoint_cell_load(&w.cell);
	assert_memory_equal(&ep, &last, sizeof(ep));
}

/* Of the indices, every third stays; the pointers of each tell which it is. */
enum { N_INDICES = 3000 };

static struct peer *peer_of(uint32_t index)
{
	return (struct peer *)(uintptr_t)(index * 16);
}

static struct keypair *keypair_of(uint32_t index)
{
	return (struct keypair *)(uintptr_t)(index * 16 + 8);
}

static void *read_index(void *arg)
{
	struct world *w = arg;
	struct indextab_entry e;
	uint32_t index = 0;

	while (!stopped(w)) {
		index = index % N_INDICES + 1;
		if (indextab_get(&w->index, index, &e))
			note(w, e.index == index && e.peer == peer_of(index) &&
					e.keypair == keypair_of(index));
		else
			note(w, index % 3 != 0);
	}
	return NULL;
}

static void churn_index(struct world *w)
{
	for (unsigned n = 0; n < N_WRITES; n++) {
		uint32_t index = n * 7 % N_INDICES + 1;

		if (index % 3 == 0)
			continue;
		if (indextab_insert(&w->index, index, peer_of(index), keypair_of(index)))
			indextab_remove(&w->index, index);
	}
}

/* The table grows meanwhile, and entries that stay are moved. */
static void test_index(void **state)
{
	static struct world w;
	struct indextab_entry e;

	(void)state;
	assert_int_equal(indextab_init(&w.index), 0);
	for (uint32_t index = 3; index <= N_INDICES; index += 3)
		assert_int_equal(
			indextab_insert(&w.index, index, peer_of(index), keypair_of(index)), 0);
	run(&w, read_index, churn_index, N_READS);
	assert_true(indextab_get(&w.index, 3, &e));
	assert_ptr_equal(e.keypair, keypair_of(3));
	indextab_done(&w.index);
}

static void *count(void *arg)
{
	struct world *w = arg;

	for (unsigned i = 0; i < N_WRITES; i++) {
		shortlock_take(&w->lock);
		w->counted++;
		shortlock_give(&w->lock);
	}
	note(w, true);
	return NULL;
}

static void count_once(struct world *w)
{
	count(w);
}

static void test_shortlock(void **state)
{
	static struct world w;

	(void)state;
	run(&w, count, count_once, 0);
	assert_int_equal(w.counted, (N_THREADS + 1) * N_WRITES);
	assert_int_equal(w.lock, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_endpoint_cell),
		cmocka_unit_test(test_index),
		cmocka_unit_test(test_shortlock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
