/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A configuration (four bytes: limit, learned limit, age, learning), then operations
 * of three bytes: what and which VTEP; which MAC or limit; how much later or which
 * learned limit. Property: each answers as the twin's does and leaves what it leaves.
 */
#include <stdlib.h>

#include "tests/unit/lane/fdb_twin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct vtep vteps[] = {{{1}, 4}, {{2}, 4}, {{1}, 16}, {{1, [15] = 1}, 16}};
static const uint8_t hash_key[16] = {1};

static struct fdb_config config_of(uint8_t limit, uint8_t learned, uint8_t age, uint8_t flags)
{
	return (struct fdb_config){limit % (FDB_TWIN_MAX + 1), learned, !(flags & 1), age};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fdb_twin w = {0};
	struct fdb_twin_op op = {0};
	struct fdb *f;
	size_t at;

	if (size < 4)
		return 0;
	w.config = config_of(data[0], data[1], data[2], data[3]);
	if (fdb_new(&w.config, hash_key, &f) < 0)
		return 0;
	for (at = 4; at + 3 <= size; at += 3) {
		const uint8_t *d = data + at;

		op.what = d[0] & 7;
		op.vtep = &vteps[d[0] >> 3 & 3];
		op.name = d[1] % FDB_TWIN_MAX;
		op.config = config_of(d[1], d[2], d[0] >> 3, d[2] >> 7);
		op.now_ns += op.what == TWIN_CONFIGURE ? 0 : d[2];
		if (!twin_step(f, &w, &op))
			abort();
		if (op.what > TWIN_REMOVE && !twin_agrees(f, &w, op.now_ns))
			abort();
	}
	if (!twin_agrees(f, &w, op.now_ns))
		abort();
	fdb_free(f);
	return 0;
}
