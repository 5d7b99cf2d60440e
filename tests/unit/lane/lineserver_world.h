/* SPDX-License-Identifier: Apache-2.0 */
/* A server with real sockets in a folder of its own; clients and server take turns
 * in one thread. What the tests of lineserver.c share. */
#ifndef SEALANE_TESTS_LINESERVER_WORLD_H
#define SEALANE_TESTS_LINESERVER_WORLD_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/lane/lineserver.h"
#include "agent/lane/textbuf.h"

enum { PATIENCE_MS = 5000, BIG_LEN = 8 << 20 };

struct world {
	uv_loop_t loop;
	char folder[64], path[96];
	struct lineserver *server;
	unsigned n_begun, n_ended, n_gone;
	unsigned depth, n_entered;
	struct textbuf lines; /* everything sets gave, in order */
	size_t get_len;	      /* 0: a short reply */
	bool get_fails;
	bool stop_when_gone, has_enter;
};

struct set_state {
	struct world *w;
};

static inline void world_enter(void *ctx)
{
	struct world *w = ctx;

	w->depth++;
	w->n_entered++;
}

static inline void world_leave(void *ctx)
{
	struct world *w = ctx;

	assert_true(w->depth--);
}

static inline void world_get(void *ctx, struct textbuf *out)
{
	struct world *w = ctx;

	assert_true(w->depth || !w->has_enter);
	textbuf_printf(out, "lines=%zu\n", w->lines.len);
	while (out->len < w->get_len)
		textbuf_printf(out, "fill=%0999d\n", 7);
	textbuf_printf(out, "errno=0\n\n");
	out->failed = w->get_fails;
}

static inline void world_set_begin(void *ctx, void *state)
{
	struct set_state *s = state;

	s->w = ctx;
	s->w->n_begun++;
}

static inline int world_set_line(void *state, const char *line, size_t len)
{
	struct set_state *s = state;

	assert_true(s->w->depth || !s->w->has_enter);
	if (len == 5 && !memcmp(line, "bad=1", 5))
		return -EINVAL;
	if (len > 1000)
		textbuf_printf(&s->w->lines, "%zu;", len);
	else
		textbuf_printf(&s->w->lines, "%.*s;", (int)len, line);
	return 0;
}

static inline void world_set_end(void *state)
{
	struct set_state *s = state;

	s->w->n_ended++;
}

static const struct lineserver_ops ops = {
	.set_state_len = sizeof(struct set_state),
	.enter = world_enter,
	.leave = world_leave,
	.get = world_get,
	.set_begin = world_set_begin,
	.set_line = world_set_line,
	.set_end = world_set_end,
};

static const struct lineserver_ops read_only_ops = {.get = world_get};

static inline void world_gone(void *ctx)
{
	struct world *w = ctx;

	w->n_gone++;
	if (!w->stop_when_gone)
		return;
	lineserver_stop(w->server);
	w->server = NULL;
}

static inline int start(struct world *w, const struct lineserver_ops *o, int listen_fd)
{
	w->has_enter = o->enter;
	return lineserver_start(&w->loop, w->path, listen_fd, o, w, world_gone, w, &w->server);
}

static inline int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	strcpy(w->folder, "/tmp/lineserver.XXXXXX");
	assert_non_null(mkdtemp(w->folder));
	snprintf(w->path, sizeof(w->path), "%s/run/x.sock", w->folder);
	assert_int_equal(uv_loop_init(&w->loop), 0);
	assert_int_equal(start(w, &ops, -1), 0);
	*state = w;
	return 0;
}

/* The loop closing without complaint means that no handle was left. */
static inline int teardown(void **state)
{
	struct world *w = *state;
	char run[96];

	lineserver_stop(w->server);
	assert_int_equal(uv_run(&w->loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&w->loop), 0);
	textbuf_done(&w->lines);
	unlink(w->path);
	snprintf(run, sizeof(run), "%s/run", w->folder);
	rmdir(run);
	assert_int_equal(rmdir(w->folder), 0);
	free(w);
	return 0;
}

static inline void turn(struct world *w)
{
	for (int i = 0; i < 5; i++)
		uv_run(&w->loop, UV_RUN_NOWAIT);
}

static inline void nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static inline int dial(struct world *w)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, w->path);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	turn(w);
	return fd;
}

static inline void say_bytes(struct world *w, int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = send(fd, text, len, MSG_NOSIGNAL);

		if (n > 0) {
			text += n;
			len -= (size_t)n;
		} else {
			assert_int_equal(errno, EAGAIN);
		}
		turn(w);
	}
}

static inline void say(struct world *w, int fd, const char *text)
{
	say_bytes(w, fd, text, strlen(text));
}

/* Exactly @text comes, and nothing after it. */
static inline void hear(struct world *w, int fd, const char *text)
{
	char buf[4096] = "";
	size_t len = 0;

	for (int i = 0; i < PATIENCE_MS && len < strlen(text); i++) {
		ssize_t n = recv(fd, buf + len, sizeof(buf) - 1 - len, 0);

		if (n > 0)
			len += (size_t)n;
		else
			nap();
		turn(w);
	}
	buf[len] = '\0';
	assert_string_equal(buf, text);
	assert_int_equal(recv(fd, buf, 1, MSG_PEEK), -1);
	assert_int_equal(errno, EAGAIN);
}

static inline void hear_end(struct world *w, int fd)
{
	char byte;

	for (int i = 0; i < PATIENCE_MS; i++) {
		ssize_t n = recv(fd, &byte, 1, 0);

		assert_true(n <= 0);
		if (!n || errno != EAGAIN)
			return;
		nap();
		turn(w);
	}
	fail_msg("the connection stays open");
}

static inline void hear_nothing(struct world *w, int fd)
{
	char byte;

	turn(w);
	assert_int_equal(recv(fd, &byte, 1, 0), -1);
	assert_int_equal(errno, EAGAIN);
}

static inline void hang_up(struct world *w, int fd)
{
	close(fd);
	turn(w);
}

static inline void expect_lines(const struct world *w, const char *lines)
{
	assert_string_equal(w->lines.len ? w->lines.data : "", lines);
	assert_int_equal(w->n_begun, w->n_ended);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
