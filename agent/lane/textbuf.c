/* SPDX-License-Identifier: Apache-2.0 */
#include "textbuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

enum { CAPACITY_MIN = 1024 };

/* Makes room for @more bytes and a terminating NUL. Not by realloc(): it would
 * leave an unwiped copy behind. */
static bool reserve(struct textbuf *b, size_t more)
{
	size_t capacity = b->capacity ? b->capacity : CAPACITY_MIN;
	char *data;

	if (b->failed)
		return false;
	if (more < b->capacity - b->len)
		return true;
	while (capacity - b->len <= more) {
		if (capacity > SIZE_MAX / 2)
			goto fail;
		capacity *= 2;
	}
	data = malloc(capacity);
	if (!data)
		goto fail;
	if (b->data) {
		memcpy(data, b->data, b->len);
		sodium_memzero(b->data, b->len);
		free(b->data);
	}
	data[b->len] = '\0';
	b->data = data;
	b->capacity = capacity;
	return true;
fail:
	b->failed = true;
	return false;
}

void textbuf_printf(struct textbuf *b, const char *fmt, ...)
{
	va_list ap, again;
	int n;

	if (!reserve(b, 0))
		return;
	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(b->data + b->len, b->capacity - b->len, fmt, ap);
	if (n >= 0 && (size_t)n >= b->capacity - b->len) {
		b->data[b->len] = '\0'; /* what did not fit, should there be no room */
		n = reserve(b, (size_t)n)
			    ? vsnprintf(b->data + b->len, b->capacity - b->len, fmt, again)
			    : 0;
	}
	va_end(again);
	va_end(ap);
	if (n < 0)
		b->failed = true;
	else
		b->len += (size_t)n;
}

void textbuf_hex_line(struct textbuf *b, const char *key, const uint8_t *bytes, size_t len)
{
	size_t key_len = strlen(key);
	char *p;

	if (!reserve(b, key_len + 2 * len + 2))
		return;
	p = b->data + b->len;
	memcpy(p, key, key_len);
	p += key_len;
	*p++ = '=';
	sodium_bin2hex(p, 2 * len + 1, bytes, len);
	p += 2 * len;
	*p++ = '\n';
	*p = '\0';
	b->len = (size_t)(p - b->data);
}

void textbuf_done(struct textbuf *b)
{
	if (b->data)
		sodium_memzero(b->data, b->len);
	free(b->data);
	*b = (struct textbuf){0};
}
