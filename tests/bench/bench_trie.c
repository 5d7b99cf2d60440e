/* SPDX-License-Identifier: Apache-2.0 */
/* Looking up whose an address is, among 1 to 10,000 peers with a prefix each. */
#include <stdlib.h>
#include <string.h>

#include "agent/lane/allowedips.h"
#include "bench.h"

enum { PREFIXES_MAX = 10000, LOOKUPS = 1024, ADDR_MAX = 16 };

struct work {
	struct allowedips trie;
	uint8_t addr[LOOKUPS][ADDR_MAX];
	size_t addr_len;
	unsigned n_found;
};

static struct allowedips_owner owners[PREFIXES_MAX];

/* Peer @i's: 10.0.0.0/8 and fd00::/8, one host after the other as an
 * administrator hands them out. */
static void address_of(unsigned i, size_t addr_len, uint8_t ret[ADDR_MAX])
{
	memset(ret, 0, ADDR_MAX);
	ret[0] = addr_len == 4 ? 10 : 0xfd;
	ret[addr_len - 3] = (uint8_t)(i >> 16);
	ret[addr_len - 2] = (uint8_t)(i >> 8);
	ret[addr_len - 1] = (uint8_t)i;
}

static void call_lookup(void *arg)
{
	struct work *w = arg;

	w->n_found = 0;
	for (unsigned i = 0; i < LOOKUPS; i++)
		w->n_found += allowedips_lookup(&w->trie, w->addr[i], w->addr_len) != NULL;
}

static void measure(unsigned n_prefixes, size_t addr_len)
{
	static const char *const variants[] = {"ipv4_1", "ipv4_1000", "ipv4_10000",
					       "ipv6_1", "ipv6_1000", "ipv6_10000"};
	unsigned variant = (addr_len == 16) * 3U + (n_prefixes > 1) + (n_prefixes > 1000);
	struct bench_row row = {.name = "lookup", .variant = variants[variant], .n_items = LOOKUPS};
	struct work w = {.addr_len = addr_len};
	uint32_t random = 1;

	for (unsigned i = 0; i < n_prefixes; i++) {
		uint8_t addr[ADDR_MAX];

		TAILQ_INIT(&owners[i].prefixes);
		address_of(i, addr_len, addr);
		if (allowedips_insert(&w.trie, addr, addr_len, (uint8_t)(addr_len * 8), &owners[i]))
			abort();
	}
	for (unsigned i = 0; i < LOOKUPS; i++) {
		random = random * 1664525 + 1013904223;
		address_of((random >> 8) % n_prefixes, addr_len, w.addr[i]);
	}
	bench_report(&row, bench_measure(call_lookup, &w));
	if (w.n_found != LOOKUPS)
		abort();
	allowedips_done(&w.trie);
}

void bench_trie(void)
{
	static const unsigned n_prefixes[] = {1, 1000, PREFIXES_MAX};

	for (unsigned i = 0; i < 3; i++) {
		measure(n_prefixes[i], 4);
		measure(n_prefixes[i], 16);
	}
}
