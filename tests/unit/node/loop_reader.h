/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of servers that run on a loop: a client on the same loop that collects what
 * comes until the end. */
#ifndef SEALANE_TESTS_NODE_LOOP_READER_H
#define SEALANE_TESTS_NODE_LOOP_READER_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>
#include <cmocka.h>

enum { READER_GUARD_MS = 60000 };

struct reader {
	uv_poll_t poll;
	int fd;
	char *text; /* NUL-terminated */
	size_t len;
	bool at_end;
};

/* What is there; returns what recv() said at last. */
static inline ssize_t reader_read(struct reader *r)
{
	char buf[65536];
	ssize_t n;

	while ((n = recv(r->fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0) {
		r->text = realloc(r->text, r->len + (size_t)n + 1);
		assert_non_null(r->text);
		memcpy(r->text + r->len, buf, (size_t)n);
		r->len += (size_t)n;
		r->text[r->len] = '\0';
	}
	return n;
}

static inline void reader_on_readable(uv_poll_t *poll, int status, int events)
{
	struct reader *r = poll->data;

	(void)events;
	/* After an error, be it a reset, libuv does not call again. */
	if (reader_read(r) < 0 && errno == EAGAIN && status >= 0)
		return;
	r->at_end = true;
	uv_poll_stop(poll);
	uv_stop(poll->loop);
}

/* Takes the connected @fd. */
static inline void reader_begin(struct reader *r, uv_loop_t *loop, int fd)
{
	*r = (struct reader){.fd = fd, .text = strdup("")};
	assert_int_equal(uv_poll_init(loop, &r->poll, fd), 0);
	r->poll.data = r;
	assert_int_equal(uv_poll_start(&r->poll, UV_READABLE, reader_on_readable), 0);
}

static inline void reader_on_guard(uv_timer_t *timer)
{
	(void)timer;
	fail_msg("no end came in %d s", READER_GUARD_MS / 1000);
}

/* Lets the loop run until the end came. */
static inline void reader_wait(struct reader *r)
{
	uv_loop_t *loop = r->poll.loop;
	uv_timer_t guard;

	uv_timer_init(loop, &guard);
	uv_timer_start(&guard, reader_on_guard, READER_GUARD_MS, 0);
	while (!r->at_end)
		uv_run(loop, UV_RUN_DEFAULT);
	uv_close((uv_handle_t *)&guard, NULL);
	uv_run(loop, UV_RUN_NOWAIT);
}

static inline void reader_done(struct reader *r)
{
	uv_loop_t *loop = r->poll.loop;

	uv_close((uv_handle_t *)&r->poll, NULL);
	uv_run(loop, UV_RUN_NOWAIT);
	close(r->fd);
	free(r->text);
}

#endif
