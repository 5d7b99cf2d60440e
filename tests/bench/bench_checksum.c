/* SPDX-License-Identifier: Apache-2.0 */
/* Every checksum variant this CPU can run, and what the fused copy replaces. */
#include <string.h>

#include "bench.h"
#include "offload/checksum_variants.h"

enum { LEN_MAX = 65535, OFFSET = 2 /* where an Ethernet header leaves it */ };

struct work {
	const struct checksum_ops *ops;
	size_t len;
	uint64_t sum; /* keeps the compiler from dropping the work */
};

static uint8_t from[LEN_MAX + OFFSET], to[LEN_MAX + OFFSET];

static void call_add(void *arg)
{
	struct work *w = arg;

	w->sum = w->ops->add(w->sum & 0xffff, from + OFFSET, w->len);
}

static void call_copy(void *arg)
{
	struct work *w = arg;

	w->sum = w->ops->copy(to + OFFSET, from + OFFSET, w->len, w->sum & 0xffff);
}

static void call_memcpy_add(void *arg)
{
	struct work *w = arg;

	memcpy(to + OFFSET, from + OFFSET, w->len);
	w->sum = w->ops->add(w->sum & 0xffff, to + OFFSET, w->len);
}

static void measure(const char *name, void (*call)(void *), struct work *w)
{
	struct bench_row row = {
		.name = name, .variant = w->ops->name, .n_items = 1, .item_len = w->len};

	bench_report(&row, bench_measure(call, w));
}

void bench_checksum(void)
{
	static const size_t lens[] = {20, 40, 64, 200, 512, 1400, 9000, LEN_MAX};
	const struct checksum_ops *variants[CHECKSUM_VARIANTS_MAX];
	unsigned n_variants = checksum_variants(variants);

	for (unsigned i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i * 197 + 3);
	for (unsigned l = 0; l < sizeof(lens) / sizeof(*lens); l++) {
		for (unsigned v = 0; v < n_variants; v++) {
			struct work w = {.ops = variants[v], .len = lens[l]};

			measure("csum_add", call_add, &w);
			measure("csum_copy", call_copy, &w);
			measure("memcpy+add", call_memcpy_add, &w);
		}
	}
}
