/* SPDX-License-Identifier: Apache-2.0 */
/* What is left of a packet being parsed. Bounds are compared before any pointer
 * moves. Pure; any thread. */
#ifndef SEALANE_OFFLOAD_CURSOR_H
#define SEALANE_OFFLOAD_CURSOR_H

#include <stddef.h>
#include <stdint.h>

struct cursor {
	const uint8_t *p;
	size_t left;
};

/* Next @n bytes, or NULL (nothing taken) when fewer are left. */
static inline const uint8_t *take(struct cursor *c, size_t n)
{
	const uint8_t *p = c->p;

	if (n > c->left)
		return NULL;
	c->p += n;
	c->left -= n;
	return p;
}

#endif
