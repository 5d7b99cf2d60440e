/* SPDX-License-Identifier: Apache-2.0 */
/* Input: limit of segments, flags, then per datagram a flow and two bytes of length;
 * the first six bytes of those also as a receive and its segment size. */
#include "offload/udpseg.h"

#include <stdlib.h>

#include "offload/be.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void check_run(const struct udpseg_item *items, unsigned run, bool never_equal)
{
	uint32_t size = items[0].len, sum = size;

	for (unsigned i = 1; i < run; i++) {
		must(items[i].flow == items[0].flow && items[i].len && items[i].len <= size);
		must(items[i].len == size || i == run - 1);
		sum += items[i].len;
	}
	if (run == 1)
		return;
	must(sum <= UDPSEG_RUN_LEN_MAX && (!never_equal || sum % size));
	must(udpseg_split(sum, size) == run &&
	     udpseg_split_len(sum, size, run - 1) == items[run - 1].len);
}

static void check_split(uint32_t len, uint32_t gso_size)
{
	const unsigned n = udpseg_split(len, gso_size);
	uint64_t sum = 0;

	for (unsigned i = 0; i < n && n < 4096; i++)
		sum += udpseg_split_len(len, gso_size, i);
	must((n >= 4096 || sum == len) && !udpseg_split_len(len, gso_size, n));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct udpseg_item items[300];
	unsigned n = 0, run;

	if (len < 8)
		return 0;
	check_split(be32_load(data + 2) >> (data[1] & 31), be32_load(data + 4) >> 16);
	for (size_t at = 2; len - at >= 3 && n < 300; at += 3, n++)
		items[n] = (struct udpseg_item){be16_load(data + at + 1), data[at]};
	for (unsigned at = 0; at < n; at += run) {
		run = udpseg_run(items + at, n - at, data[0], data[1] & 1);
		must(run && run <= n - at && (run == 1 || run <= data[0]));
		check_run(items + at, run, data[1] & 1);
	}
	return 0;
}
