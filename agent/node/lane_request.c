/* SPDX-License-Identifier: Apache-2.0 */
#include "lane_request.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

enum { CAPACITY_FIRST = 4096 };

/* Room for @more bytes and a NUL. Not by realloc(), which leaves what it moves. */
static bool make_room(struct lane_request *q, size_t more)
{
	size_t capacity = q->capacity ? q->capacity : CAPACITY_FIRST;
	char *text;

	if (q->failed)
		return false;
	if (q->text && q->capacity - q->len > more)
		return true;
	while (capacity - q->len <= more)
		capacity *= 2;
	text = malloc(capacity);
	if (!text) {
		q->failed = true;
		return false;
	}
	if (q->text) {
		memcpy(text, q->text, q->len);
		sodium_memzero(q->text, q->len);
		free(q->text);
	}
	text[q->len] = '\0';
	q->text = text;
	q->capacity = capacity;
	return true;
}

void lane_request_printf(struct lane_request *q, const char *fmt, ...)
{
	va_list ap, again;
	int len;

	va_start(ap, fmt);
	va_copy(again, ap);
	len = vsnprintf(NULL, 0, fmt, ap);
	if (len < 0) {
		q->failed = true;
	} else if (make_room(q, (size_t)len)) {
		vsnprintf(q->text + q->len, q->capacity - q->len, fmt, again);
		q->len += (size_t)len;
	}
	va_end(again);
	va_end(ap);
}

void lane_request_hex(struct lane_request *q, const char *key, const uint8_t *bytes, size_t len)
{
	lane_request_printf(q, "%s=", key);
	if (!make_room(q, 2 * len + 1))
		return;
	sodium_bin2hex(q->text + q->len, q->capacity - q->len, bytes, len);
	q->len += 2 * len;
	q->text[q->len++] = '\n';
	q->text[q->len] = '\0';
}

void lane_request_append(struct lane_request *q, const struct lane_request *from)
{
	q->failed |= from->failed;
	if (!from->len || !make_room(q, from->len))
		return;
	memcpy(q->text + q->len, from->text, from->len + 1);
	q->len += from->len;
}

bool lane_request_cut(struct lane_request *q, size_t index)
{
	char *line = q->text, *end;

	while (line && index-- > 0) {
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	if (!line || !*line)
		return false;
	end = strchrnul(line, '\n');
	end += *end == '\n';
	memmove(line, end, strlen(end) + 1);
	q->len -= (size_t)(end - line);
	return true;
}

void lane_request_done(struct lane_request *q)
{
	if (q->text)
		sodium_memzero(q->text, q->capacity);
	free(q->text);
	*q = (struct lane_request){0};
}
