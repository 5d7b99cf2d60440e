/* SPDX-License-Identifier: Apache-2.0 */
#include "desired_arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>

enum { CHUNK_LEN = 64 * 1024, ALIGNMENT = alignof(max_align_t) };

/* The newest chunk, which gives; those before it are full, or as good as. */
struct desired_arena {
	struct desired_arena *before;
	size_t used, capacity;
	alignas(ALIGNMENT) char bytes[];
};

static struct desired_arena *add_chunk(struct desired_arena *before, size_t len)
{
	struct desired_arena *a;

	if (len < CHUNK_LEN)
		len = CHUNK_LEN;
	a = calloc(1, sizeof(*a) + len);
	if (!a)
		return NULL;
	a->before = before;
	a->capacity = len;
	return a;
}

void *desired_arena_alloc(struct desired_arena **arena, size_t n, size_t size)
{
	struct desired_arena *a = *arena;
	size_t len;
	void *ret;

	if (__builtin_mul_overflow(n ? n : 1, size, &len) || len > SIZE_MAX / 2)
		return NULL;
	len = (len + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	if (!a || a->capacity - a->used < len) {
		a = add_chunk(*arena, len);
		if (!a)
			return NULL;
		*arena = a;
	}
	ret = a->bytes + a->used;
	a->used += len;
	return ret;
}

void desired_arena_free(struct desired_arena **arena)
{
	while (*arena) {
		struct desired_arena *a = *arena;

		*arena = a->before;
		free(a);
	}
}
