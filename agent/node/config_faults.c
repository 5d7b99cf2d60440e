/* SPDX-License-Identifier: Apache-2.0 */
#include "config_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *config_quote(const char *text, char buf[CONFIG_QUOTE_LEN])
{
	size_t n;

	for (n = 0; n < CONFIG_QUOTE_LEN - 4 && text[n]; n++) {
		buf[n] = text[n];
		if (text[n] < ' ' || text[n] > '~')
			buf[n] = '?';
	}
	snprintf(buf + n, CONFIG_QUOTE_LEN - n, "%s", text[n] ? "..." : "");
	return buf;
}

static void append(struct config_reading *r, const char *line)
{
	struct config_faults *f = r->faults;
	const size_t before = f->text ? strlen(f->text) : 0, len = strlen(line);
	char *text = realloc(f->text, before + len + 2);

	if (!text) {
		r->no_memory = true;
		return;
	}
	snprintf(text + before, len + 2, "%s\n", line);
	f->text = text;
	f->n++;
}

__attribute__((format(printf, 3, 0))) static void tell(struct config_reading *r, const char *where,
						       const char *fmt, va_list args)
{
	char line[1024];
	int len;

	r->n_faults++;
	if (r->faults->n > CONFIG_FAULTS_MAX)
		return;
	if (r->faults->n == CONFIG_FAULTS_MAX) {
		snprintf(line, sizeof(line), "%s: there are more faults", r->file);
		append(r, line);
		return;
	}
	len = snprintf(line, sizeof(line), "%s: ", where);
	if (len < 0 || (size_t)len >= sizeof(line))
		len = 0;
	vsnprintf(line + len, sizeof(line) - (size_t)len, fmt, args);
	append(r, line);
}

void config_key(char key[CONFIG_KEY_LEN], const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(key, CONFIG_KEY_LEN, fmt, args);
	va_end(args);
}

void config_fault_line(struct config_reading *r, int line, const char *path, const char *fmt, ...)
{
	char where[512];
	va_list args;

	va_start(args, fmt);
	if (path[0])
		snprintf(where, sizeof(where), "%s:%d: %s", r->file, line, path);
	else
		snprintf(where, sizeof(where), "%s:%d", r->file, line);
	tell(r, where, fmt, args);
	va_end(args);
}

void config_fault(struct config_reading *r, const char *path, const char *fmt, ...)
{
	char where[512];
	bool told;
	const int line = config_lines_find(&r->lines, path, &told);
	va_list args;

	if (told) {
		r->n_faults++;
		return;
	}
	va_start(args, fmt);
	snprintf(where, sizeof(where), "%s:%d: %s", r->file, line, path);
	tell(r, where, fmt, args);
	va_end(args);
}

void config_fault_env(struct config_reading *r, const char *variable, const char *value,
		      const char *fmt, ...)
{
	char where[512], quote[CONFIG_QUOTE_LEN];
	va_list args;

	va_start(args, fmt);
	snprintf(where, sizeof(where), "%s=%s", variable, config_quote(value, quote));
	tell(r, where, fmt, args);
	va_end(args);
}

void config_fault_file(struct config_reading *r, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	tell(r, r->file, fmt, args);
	va_end(args);
}

/* Without memory the lines are missing, and only counted. */
void config_faults_append(struct config_faults *f, const struct config_faults *more)
{
	const size_t before = f->text ? strlen(f->text) : 0;
	const size_t len = more->text ? strlen(more->text) + 1 : 0;
	char *text = len ? realloc(f->text, before + len) : NULL;

	if (text) {
		memcpy(text + before, more->text, len);
		f->text = text;
	}
	f->n += more->n;
}

void config_faults_free(struct config_faults *f)
{
	free(f->text);
	*f = (struct config_faults){0};
}
