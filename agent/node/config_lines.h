/* SPDX-License-Identifier: Apache-2.0 */
/* On which line of the file each value stands, by its path: "peers[3].endpoint".
 * Filled by the walk (config_walk.c), asked when a fault is told. Control thread. */
#ifndef SEALANE_NODE_CONFIG_LINES_H
#define SEALANE_NODE_CONFIG_LINES_H

#include <stdbool.h>
#include <stddef.h>

struct config_line {
	size_t path; /* offset in the paths */
	int line;    /* from 1 */
	bool told;   /* a fault of this value was told: what follows from it is not news */
};

/* Begins as {0}. */
struct config_lines {
	char *paths; /* one after the other, each with its NUL */
	size_t paths_len, paths_capacity;
	struct config_line *entries;
	size_t n, capacity;
	bool sorted;
};

/* The new entry, good until the next is added; NULL: no memory. No more are added once
 * one was looked up. */
struct config_line *config_lines_add(struct config_lines *l, const char *path, int line);
/* The line of @path, or of the nearest thing around it that the file has (the first
 * line, if nothing). *ret_told is that of @path itself. */
int config_lines_find(struct config_lines *l, const char *path, bool *ret_told);
void config_lines_done(struct config_lines *l);

#endif
