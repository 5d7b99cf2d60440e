/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A unix stream socket that speaks lines (libuv): operations `get=1` and
 * `set=1`, their lines, a blank line; any number of operations per connection.
 * Shared by the UAPI and the control socket. Control thread.
 *
 * Answers: what ops->get writes, or errno=N with N positive after a get and
 * negative after a set. A line of LINESERVER_LINE_MAX bytes or more without its
 * newline: EIO and the end of the connection; an unknown operation ends it
 * without a word. While one client's set is open the operations of others wait; if
 * nothing comes of it for ops->set_timeout_ms, it is ended: ETIMEDOUT.
 *
 * A server with set_finish applies a set as a whole: a client that leaves before
 * the blank line has changed nothing (EIO if it still listens).
 */
#ifndef SEALANE_LANE_LINESERVER_H
#define SEALANE_LANE_LINESERVER_H

#include <stddef.h>
#include <uv.h>

struct textbuf;
struct lineserver;

enum {
	LINESERVER_LINE_MAX = 64 * 1024,
	LINESERVER_CLIENTS_MAX = 256,
	LINESERVER_QUESTION_MAX = 1024,
	LINESERVER_SET_TIMEOUT_MS = 30000,
};

struct lineserver_ops {
	/* Room for the state of one `set`; 0: the socket is read-only. */
	size_t set_state_len;
	unsigned set_timeout_ms; /* 0: LINESERVER_SET_TIMEOUT_MS */
	/* May be NULL. Around all that is made of what came at once, which may be many lines. */
	void (*enter)(void *ctx);
	void (*leave)(void *ctx);
	void (*get)(void *ctx, struct textbuf *out);
	/* May be NULL: a get with lines before its blank one (@lines, each with its
	 * newline) is refused then. Else at most LINESERVER_QUESTION_MAX bytes. */
	void (*get_of)(void *ctx, const char *lines, struct textbuf *out);
	void (*set_begin)(void *ctx, void *state);
	/* 0 or -errno, which ends the operation. */
	int (*set_line)(void *state, const char *line, size_t len);
	/* May be NULL. The blank line came. 0 or -errno. */
	int (*set_finish)(void *state);
	/* May be NULL. Why one of these two refused: goes before the answer's errno
	 * as a line error=TEXT; good until set_end. */
	const char *(*set_error)(void *state);
	/* Always called, whatever was before; also when the client is gone. */
	void (*set_end)(void *state);
};

/*
 * Listens at @path (its folder is made, 0755 or as it is; the socket 0600). A
 * stale socket is removed; -EADDRINUSE when somebody answers there. Calls
 * @gone once when the socket's file disappears or is replaced. @listen_fd >= 0:
 * use that listening descriptor instead (WG_UAPI_FD), which is ours from then
 * on; the file at @path is watched all the same if it exists. @ops and @ctx are
 * borrowed until lineserver_stop(). Makes the process ignore SIGPIPE. 0;
 * -ENAMETOOLONG, -EADDRINUSE, -EEXIST (a file that is no socket; left alone),
 * -ENOMEM, or what the kernel says (-EACCES, -EMFILE: no inotify left, ...).
 */
int lineserver_start(uv_loop_t *loop, const char *path, int listen_fd,
		     const struct lineserver_ops *ops, void *ctx, void (*gone)(void *gone_ctx),
		     void *gone_ctx, struct lineserver **ret);
/* Closes clients and listener, ends an open set, removes the file if it is still
 * ours. The memory goes with the loop's close callbacks. Allowed within @gone.
 * NULL is fine. */
void lineserver_stop(struct lineserver *s);

#endif
