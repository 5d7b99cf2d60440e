/* SPDX-License-Identifier: Apache-2.0 */
#include "batch.h"

#include <errno.h>
#include <stdlib.h>

int batch_init(struct batch *b)
{
	*b = (struct batch){0};
	b->memory = calloc(BATCH_MAX, PACKET_BUF_LEN);
	if (!b->memory)
		return -ENOMEM;
	for (unsigned i = 0; i < BATCH_MAX; i++)
		b->pkt[i].buf = b->memory + (size_t)i * PACKET_BUF_LEN;
	return 0;
}

void batch_done(struct batch *b)
{
	free(b->memory);
	*b = (struct batch){0};
}
