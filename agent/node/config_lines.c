/* SPDX-License-Identifier: Apache-2.0 */
#include "config_lines.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Room for @more members of @size bytes behind the first @n. */
static bool reserve(void **array, size_t n, size_t more, size_t size, size_t *capacity)
{
	size_t wanted = *capacity ? *capacity : 64;
	void *moved;

	if (more <= *capacity - n)
		return true;
	while (wanted - n < more)
		wanted *= 2;
	moved = reallocarray(*array, wanted, size);
	if (!moved)
		return false;
	*array = moved;
	*capacity = wanted;
	return true;
}

struct config_line *config_lines_add(struct config_lines *l, const char *path, int line)
{
	const size_t len = strlen(path) + 1;
	void *paths = l->paths, *entries = l->entries;
	bool fits;

	assert(!l->sorted);
	fits = reserve(&paths, l->paths_len, len, 1, &l->paths_capacity);
	l->paths = paths;
	fits = fits && reserve(&entries, l->n, 1, sizeof(*l->entries), &l->capacity);
	l->entries = entries;
	if (!fits)
		return NULL;
	l->entries[l->n] = (struct config_line){.path = l->paths_len, .line = line};
	memcpy(l->paths + l->paths_len, path, len);
	l->paths_len += len;
	return &l->entries[l->n++];
}

static int compare_entries(const void *a, const void *b, void *paths)
{
	const struct config_line *x = a, *y = b;

	return strcmp((const char *)paths + x->path, (const char *)paths + y->path);
}

static const struct config_line *exact(const struct config_lines *l, const char *path)
{
	size_t low = 0, high = l->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const int order = strcmp(path, l->paths + l->entries[middle].path);

		if (!order)
			return &l->entries[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

/* "a[1].b" becomes "a[1]", then "a"; false at the end. */
static bool go_up(char *path)
{
	char *dot = strrchr(path, '.'), *bracket = strrchr(path, '[');
	char *end = !dot || (bracket && bracket > dot) ? bracket : dot;

	if (!end)
		return false;
	*end = '\0';
	return true;
}

int config_lines_find(struct config_lines *l, const char *path, bool *ret_told)
{
	const struct config_line *entry;
	char above[256];

	if (!l->sorted && l->n)
		qsort_r(l->entries, l->n, sizeof(*l->entries), compare_entries, l->paths);
	l->sorted = true;
	entry = exact(l, path);
	*ret_told = entry && entry->told;
	if (entry || strlen(path) >= sizeof(above))
		return entry ? entry->line : 1;
	memcpy(above, path, strlen(path) + 1);
	while (!entry && go_up(above))
		entry = exact(l, above);
	return entry ? entry->line : 1;
}

void config_lines_done(struct config_lines *l)
{
	free(l->paths);
	free(l->entries);
	*l = (struct config_lines){0};
}
