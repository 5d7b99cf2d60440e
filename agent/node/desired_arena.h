/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is given back as a whole: what a struct desired is made of. Control
 * thread. */
#ifndef SEALANE_NODE_DESIRED_ARENA_H
#define SEALANE_NODE_DESIRED_ARENA_H

#include <stddef.h>

struct desired_arena; /* NULL: nothing allocated yet */

/* @n items of @size bytes, all zero, aligned for any type; NULL: no memory. None is
 * one, so that NULL means nothing else. */
void *desired_arena_alloc(struct desired_arena **arena, size_t n, size_t size);
void desired_arena_free(struct desired_arena **arena);

#endif
