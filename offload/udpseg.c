/* SPDX-License-Identifier: Apache-2.0 */
#include "udpseg.h"

#include <stddef.h>

/* May @item follow a run whose first datagram is @first and that has @run_len
 * bytes so far? */
static bool fits(const struct udpseg_item *first, const struct udpseg_item *item, uint32_t run_len)
{
	/* run_len is at most UDPSEG_RUN_LEN_MAX as soon as a second one is asked for. */
	return item->flow == first->flow && item->len && item->len <= first->len &&
	       item->len <= UDPSEG_RUN_LEN_MAX - run_len;
}

unsigned udpseg_run(const struct udpseg_item *items, unsigned n, unsigned max_segments,
		    bool never_equal)
{
	const struct udpseg_item *first = items;
	uint32_t run_len = first->len;
	bool short_tail = false;
	unsigned i;

	/* A segment size of 0 means no segmentation to the kernel. */
	if (!first->len || first->len > UDPSEG_RUN_LEN_MAX)
		return 1;
	for (i = 1; i < n && i < max_segments && !short_tail; i++) {
		if (!fits(first, &items[i], run_len))
			break;
		run_len += items[i].len;
		short_tail = items[i].len < first->len;
	}
	return never_equal && !short_tail ? 1 : i;
}

static bool is_single(uint32_t len, uint32_t gso_size)
{
	return !gso_size || gso_size >= len;
}

unsigned udpseg_split(uint32_t len, uint32_t gso_size)
{
	if (is_single(len, gso_size))
		return 1;
	return len / gso_size + (len % gso_size != 0);
}

uint32_t udpseg_split_len(uint32_t len, uint32_t gso_size, unsigned i)
{
	const unsigned n = udpseg_split(len, gso_size);

	if (i >= n)
		return 0;
	if (is_single(len, gso_size))
		return len;
	/* n - 1 full ones fit into len, so this does not overflow. */
	return i < n - 1 ? gso_size : len - (n - 1) * gso_size;
}
