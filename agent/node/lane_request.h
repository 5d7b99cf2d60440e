/* SPDX-License-Identifier: Apache-2.0 */
/* A request to a lane as it grows, line by line. May hold keys: memory it leaves is
 * wiped. An allocation that fails is remembered. Control thread. */
#ifndef SEALANE_NODE_LANE_REQUEST_H
#define SEALANE_NODE_LANE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Begins as {0}. */
struct lane_request {
	char *text; /* NUL-terminated; NULL: empty */
	size_t len, capacity;
	bool failed; /* no memory: what came then is missing */
};

void lane_request_printf(struct lane_request *q, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* "key=", @len bytes in hex, newline: not by way of printf's buffers. */
void lane_request_hex(struct lane_request *q, const char *key, const uint8_t *bytes, size_t len);
/* Appends the lines of @from, which is left as it is. */
void lane_request_append(struct lane_request *q, const struct lane_request *from);
/* Takes line @index (0: the first) out. False: there is none. */
bool lane_request_cut(struct lane_request *q, size_t index);
/* Wipes, frees and zeroes. */
void lane_request_done(struct lane_request *q);

#endif
