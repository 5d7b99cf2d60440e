/* SPDX-License-Identifier: Apache-2.0 */
#include "told.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void told_done(struct told *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->lines[i]);
	free(t->lines);
	*t = (struct told){0};
}

static void remember(struct told *t, const char *const *lines, size_t n)
{
	t->lines = n ? calloc(n, sizeof(*t->lines)) : NULL;
	for (size_t i = 0; t->lines && i < n; i++) {
		t->lines[t->n] = strdup(lines[i]);
		if (t->lines[t->n])
			t->n++;
	}
	if (t->n)
		qsort(t->lines, t->n, sizeof(*t->lines), compare);
}

void told_update(struct told *t, const char *const *lines, size_t n, void (*tell)(const char *line))
{
	struct told now = {0};

	for (size_t i = 0; i < n; i++) {
		if (!t->n || !bsearch(&lines[i], t->lines, t->n, sizeof(*t->lines), compare))
			tell(lines[i]);
	}
	remember(&now, lines, n);
	told_done(t);
	*t = now;
}
