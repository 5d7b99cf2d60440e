/* SPDX-License-Identifier: Apache-2.0 */
/* A growing buffer of text lines (replies may hold 20,000 peers). An allocation
 * that fails is remembered: the buffer then stays as it was. */
#ifndef SEALANE_LANE_TEXTBUF_H
#define SEALANE_LANE_TEXTBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct textbuf {
	char *data;
	size_t len, capacity;
	bool failed;
};

void textbuf_printf(struct textbuf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "key=" and @len bytes as lower-case hex and a newline. */
void textbuf_hex_line(struct textbuf *b, const char *key, const uint8_t *bytes, size_t len);
/* Wipes (replies hold keys) and frees. */
void textbuf_done(struct textbuf *b);

#endif
