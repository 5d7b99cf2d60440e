/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers what was said, so that a state that lasts is told of once, and again only
 * after it was gone. Control thread. */
#ifndef SEALANE_NODE_TOLD_H
#define SEALANE_NODE_TOLD_H

#include <stddef.h>

struct told {
	char **lines; /* sorted */
	size_t n;
};

/* Begins as {0}. Calls @tell for each of @lines, which is the whole state now, that
 * was not among those of the last call. Without memory it tells too often. */
void told_update(struct told *t, const char *const *lines, size_t n,
		 void (*tell)(const char *line));
void told_done(struct told *t);

#endif
