/* SPDX-License-Identifier: Apache-2.0 */
#include "batch.h"

#include <errno.h>
#include <stdlib.h>

int out_batch_new(struct out_batch **ret)
{
	struct out_batch *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->read_arena = malloc(READ_ARENA_LEN);
	b->cut_arena = malloc(CUT_ARENA_LEN);
	if (!b->read_arena || !b->cut_arena) {
		out_batch_free(b);
		return -ENOMEM;
	}
	*ret = b;
	return 0;
}

void out_batch_free(struct out_batch *b)
{
	if (!b)
		return;
	free(b->read_arena);
	free(b->cut_arena);
	free(b);
}

int in_batch_new(struct in_batch **ret)
{
	struct in_batch *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->memory = malloc((size_t)MESSAGES_MAX * MESSAGE_BUF_LEN);
	b->scratch = malloc(IO_HEADROOM + IO_PACKET_MAX);
	if (!b->memory || !b->scratch) {
		in_batch_free(b);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < MESSAGES_MAX; i++)
		b->message[i].buf = b->memory + (size_t)i * MESSAGE_BUF_LEN;
	*ret = b;
	return 0;
}

void in_batch_free(struct in_batch *b)
{
	if (!b)
		return;
	free(b->memory);
	free(b->scratch);
	free(b);
}

int port_out_new(struct port_out **ret)
{
	const size_t room = PORTDEV_HEADROOM + PORTDEV_FRAME_MAX;
	struct port_out *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->memory = malloc(PORT_FRAMES_MAX * room);
	if (!b->memory) {
		port_out_free(b);
		return -ENOMEM;
	}
	*ret = b;
	return 0;
}

void port_out_free(struct port_out *b)
{
	if (!b)
		return;
	free(b->memory);
	free(b);
}

int port_batch_new(struct port_batch **ret)
{
	struct port_batch *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->scratch = malloc(PORTDEV_FRAME_MAX);
	if (!b->scratch) {
		port_batch_free(b);
		return -ENOMEM;
	}
	*ret = b;
	return 0;
}

void port_batch_free(struct port_batch *b)
{
	if (!b)
		return;
	free(b->scratch);
	free(b);
}
