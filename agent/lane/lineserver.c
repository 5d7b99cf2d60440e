/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * A client's bytes gather in its buffer of one longest line and are taken line
 * by line:
 *
 *  OPERATION  expects "get=1" or "set=1"; anything else ends the connection
 *  GET        "get=1" was read, its blank line is due; lines before that are the
 *             question for ops->get_of, without which they are refused
 *  SET        lines go to ops->set_line until the blank line, which goes to
 *             ops->set_finish
 *  SKIP       a set failed and was answered: what its sender still had under way
 *             is thrown away up to the blank line or the next operation
 *  REPLY      a reply is being written; nothing is read meanwhile, so a client
 *             that does not read holds up nobody but itself
 *  LINGER     the last reply is out and our side is shut: input is thrown away
 *             until the client closes, lest it lose the reply to a reset
 *
 * Operations do not mix: while one client's set is open (server->setter), others
 * that want to begin an operation wait with their lines unread. So a get never
 * sees half a set, and two sets come one after the other. A timer ends a set whose
 * client has gone silent, lest it lock out everybody.
 *
 * Memory: client and server live until libuv has closed their handles; every
 * handle counts in server->n_handles, the last close callback frees the server.
 */
#include "lineserver.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include <sodium.h>

#include "socketfile.h"
#include "textbuf.h"

enum { BACKLOG = 128, OPERATION_LEN = 5 };

enum client_state {
	CLIENT_OPERATION,
	CLIENT_GET,
	CLIENT_SET,
	CLIENT_SKIP,
	CLIENT_REPLY,
	CLIENT_LINGER,
};

struct client {
	TAILQ_ENTRY(client) entry;
	uv_pipe_t pipe; /* data: the client */
	struct lineserver *server;
	enum client_state state;
	enum client_state after_reply;
	bool waiting; /* for another client's set to end */
	bool ended;   /* no more input will come */
	uv_write_t write;
	uv_shutdown_t shutdown;
	struct textbuf reply;
	struct textbuf question; /* the lines of a get */
	size_t in_len;
	char in[LINESERVER_LINE_MAX];
};

TAILQ_HEAD(client_list, client);

struct lineserver {
	uv_pipe_t listener;
	uv_fs_event_t watch;
	unsigned n_handles;
	const struct lineserver_ops *ops;
	void *ctx;
	void (*gone)(void *gone_ctx);
	void *gone_ctx;
	struct socketfile file;
	struct client_list clients;
	unsigned n_clients;
	struct client *setter; /* whose set is open */
	uv_timer_t set_timer;
	void *set_state;
};

static void take_input(struct client *c);
static void serve_waiting(struct lineserver *s);

/* Closing. */

static void put_handle(struct lineserver *s)
{
	if (--s->n_handles)
		return;
	if (s->set_state)
		sodium_memzero(s->set_state, s->ops->set_state_len);
	free(s->set_state);
	free(s);
}

static void on_server_handle_closed(uv_handle_t *handle)
{
	put_handle(handle->data);
}

static void on_client_closed(uv_handle_t *handle)
{
	struct client *c = handle->data;
	struct lineserver *s = c->server;

	textbuf_done(&c->reply);
	textbuf_done(&c->question);
	sodium_memzero(c, sizeof(*c));
	free(c);
	put_handle(s);
}

static void end_set(struct client *c)
{
	struct lineserver *s = c->server;

	if (s->setter != c)
		return;
	s->setter = NULL;
	uv_timer_stop(&s->set_timer);
	s->ops->set_end(s->set_state);
}

static void close_client(struct client *c)
{
	struct lineserver *s = c->server;

	if (uv_is_closing((uv_handle_t *)&c->pipe))
		return;
	end_set(c);
	TAILQ_REMOVE(&s->clients, c, entry);
	s->n_clients--;
	uv_close((uv_handle_t *)&c->pipe, on_client_closed);
}

/* Reading. */

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
	struct client *c = handle->data;

	(void)suggested;
	/* Never empty: a full buffer without a line was answered with EIO. */
	*buf = uv_buf_init(c->in + c->in_len, (unsigned)(sizeof(c->in) - c->in_len));
}

static void on_read(uv_stream_t *stream, ssize_t n_read, const uv_buf_t *buf)
{
	struct client *c = stream->data;
	struct lineserver *s = c->server;

	(void)buf;
	if (!n_read)
		return;
	if (n_read < 0 && n_read != UV_EOF)
		close_client(c);
	else if (n_read < 0)
		c->ended = true;
	else
		c->in_len += (size_t)n_read;
	if (!uv_is_closing((uv_handle_t *)stream))
		take_input(c);
	serve_waiting(s);
}

static void resume_reading(struct client *c)
{
	int err = uv_read_start((uv_stream_t *)&c->pipe, on_alloc, on_read);

	if (err < 0 && err != UV_EALREADY)
		close_client(c);
}

/* Writing. */

static void on_shutdown(uv_shutdown_t *req, int status)
{
	struct client *c = req->data;

	if (status < 0)
		close_client(c);
}

/* Ends the conversation so that the client can still read our last words. */
static void linger(struct client *c)
{
	c->shutdown.data = c;
	if (c->ended || uv_shutdown(&c->shutdown, (uv_stream_t *)&c->pipe, on_shutdown) < 0)
		close_client(c);
}

static void on_written(uv_write_t *req, int status)
{
	struct client *c = req->data;
	struct lineserver *s = c->server;

	textbuf_done(&c->reply);
	if (uv_is_closing((uv_handle_t *)&c->pipe))
		return;
	if (status < 0) {
		close_client(c);
		return;
	}
	c->state = c->after_reply;
	if (c->state == CLIENT_LINGER)
		linger(c);
	if (!uv_is_closing((uv_handle_t *)&c->pipe))
		take_input(c);
	serve_waiting(s);
}

static void send_reply(struct client *c, enum client_state after)
{
	uv_buf_t buf;

	c->state = CLIENT_REPLY;
	c->after_reply = after;
	if (c->reply.failed) {
		close_client(c);
		return;
	}
	uv_read_stop((uv_stream_t *)&c->pipe);
	buf = uv_buf_init(c->reply.data, (unsigned)c->reply.len);
	c->write.data = c;
	if (uv_write(&c->write, (uv_stream_t *)&c->pipe, &buf, 1, on_written) < 0)
		close_client(c);
}

/* @number as this operation counts: negative in answer to a set, positive to a
 * get (wg parses them so). */
static void send_errno(struct client *c, int number, enum client_state after)
{
	textbuf_printf(&c->reply, "errno=%d\n\n", number);
	send_reply(c, after);
}

/* Ends an open set, which was refused: @text, if not NULL, says why. */
static void refuse_set(struct client *c, int err, const char *text, enum client_state after)
{
	/* One line, whatever a kernel's or client's words in it are. */
	for (const char *p = text; p && *p; p++) {
		const char shown = iscntrl((unsigned char)*p) ? '?' : *p;

		textbuf_printf(&c->reply, "%s%c", p == text ? "error=" : "", shown);
	}
	if (text && *text)
		textbuf_printf(&c->reply, "\n");
	end_set(c);
	send_errno(c, err, after);
}

static const char *set_error(const struct lineserver *s)
{
	return s->ops->set_error ? s->ops->set_error(s->set_state) : NULL;
}

/* Operations. */

/* A line of a get, before its blank one; take_lines() saw that it may come. */
static void add_question(struct client *c, const char *line, size_t len)
{
	if (memchr(line, '\0', len) || c->question.len + len >= LINESERVER_QUESTION_MAX)
		send_errno(c, EINVAL, CLIENT_LINGER);
	else
		textbuf_printf(&c->question, "%.*s\n", (int)len, line);
}

static void run_get(struct client *c)
{
	const struct lineserver *s = c->server;

	if (c->question.failed)
		c->reply.failed = true;
	else if (c->question.len && s->ops->get_of)
		s->ops->get_of(s->ctx, c->question.data, &c->reply);
	else
		s->ops->get(s->ctx, &c->reply);
	textbuf_done(&c->question);
	if (c->reply.failed || c->reply.len > UINT32_MAX) {
		textbuf_done(&c->reply);
		send_errno(c, ENOMEM, CLIENT_OPERATION);
		return;
	}
	send_reply(c, CLIENT_OPERATION);
}

static void on_set_timeout(uv_timer_t *timer)
{
	struct lineserver *s = timer->data;

	refuse_set(s->setter, -ETIMEDOUT, "no line and no end for too long", CLIENT_LINGER);
	serve_waiting(s);
}

/* From now on, or anew. */
static void watch_set(struct lineserver *s)
{
	const unsigned ms = s->ops->set_timeout_ms;

	uv_timer_start(&s->set_timer, on_set_timeout, ms ? ms : LINESERVER_SET_TIMEOUT_MS, 0);
}

static void begin_set(struct client *c)
{
	struct lineserver *s = c->server;

	if (!s->ops->set_state_len) {
		send_errno(c, -EROFS, CLIENT_LINGER);
		return;
	}
	s->setter = c;
	watch_set(s);
	s->ops->set_begin(s->ctx, s->set_state);
	c->state = CLIENT_SET;
}

static bool is_operation(const char *line, size_t len)
{
	return len == OPERATION_LEN && (!memcmp(line, "get=1", len) || !memcmp(line, "set=1", len));
}

static void take_operation(struct client *c, const char *line, size_t len)
{
	if (!is_operation(line, len))
		close_client(c);
	else if (*line == 'g')
		c->state = CLIENT_GET;
	else
		begin_set(c);
}

/* As wireguard-go, whose line reader takes "\r\n" for "\n" within an operation. */
static size_t without_return(const char *line, size_t len)
{
	return len && line[len - 1] == '\r' ? len - 1 : len;
}

static void take_set_line(struct client *c, const char *line, size_t len)
{
	struct lineserver *s = c->server;
	int err;

	if (len) {
		watch_set(s);
		err = s->ops->set_line(s->set_state, line, len);
		if (err)
			refuse_set(c, err, set_error(s), CLIENT_SKIP);
		return;
	}
	err = s->ops->set_finish ? s->ops->set_finish(s->set_state) : 0;
	if (err) {
		refuse_set(c, err, set_error(s), CLIENT_OPERATION);
		return;
	}
	end_set(c);
	send_errno(c, 0, CLIENT_OPERATION);
}

/* False: the line has to wait. */
static bool take_line(struct client *c, const char *line, size_t len)
{
	if (c->state == CLIENT_SKIP && is_operation(line, len))
		c->state = CLIENT_OPERATION;
	switch (c->state) {
	case CLIENT_OPERATION:
		if (c->server->setter)
			return false;
		take_operation(c, line, len);
		break;
	case CLIENT_GET:
		len = without_return(line, len);
		if (len) {
			add_question(c, line, len);
			break;
		}
		/* Asked again after "get=1": another's set may have begun since. */
		if (c->server->setter)
			return false;
		run_get(c);
		break;
	case CLIENT_SET:
		take_set_line(c, line, without_return(line, len));
		break;
	case CLIENT_SKIP:
		if (!len)
			c->state = CLIENT_OPERATION;
		break;
	case CLIENT_REPLY:
	case CLIENT_LINGER:
		break;
	}
	return true;
}

static void refuse_long_line(struct client *c)
{
	int number = c->state == CLIENT_GET ? EIO : -EIO;

	end_set(c);
	send_errno(c, number, CLIENT_LINGER);
}

/* The client will send no more. A line without its end may be half a line (half
 * a prefix length, half a port) and is not applied; nor is a set that is applied as
 * a whole and may be half a set. */
static void take_end(struct client *c, bool half_line)
{
	if (c->state != CLIENT_SET) {
		close_client(c);
		return;
	}
	if (c->server->ops->set_finish)
		refuse_set(c, -EIO, "no empty line at the end: nothing was done", CLIENT_LINGER);
	else
		refuse_set(c, half_line ? -EIO : 0, NULL, CLIENT_LINGER);
}

/* Drops the first @n bytes. Lines hold keys. */
static void consume(struct client *c, size_t n)
{
	memmove(c->in, c->in + n, c->in_len - n);
	sodium_memzero(c->in + c->in_len - n, n);
	c->in_len -= n;
}

static bool takes_lines(const struct client *c)
{
	return !uv_is_closing((const uv_handle_t *)&c->pipe) && !c->waiting &&
	       c->state != CLIENT_REPLY && c->state != CLIENT_LINGER;
}

/* Takes every whole line there is, until the client has to wait. */
static void take_lines(struct client *c)
{
	size_t used = 0;

	while (takes_lines(c)) {
		const char *line = c->in + used;
		const char *end = memchr(line, '\n', c->in_len - used);

		/* Does not wait for the end of a line that is refused anyway. */
		if (c->state == CLIENT_GET && !c->server->ops->get_of && used < c->in_len &&
		    *line != '\n')
			send_errno(c, EINVAL, CLIENT_LINGER);
		else if (!end)
			break;
		else if (take_line(c, line, (size_t)(end - line)))
			used = (size_t)(end + 1 - c->in);
		else
			c->waiting = true;
	}
	consume(c, used);
}

static void take_all(struct client *c)
{
	if (c->state == CLIENT_LINGER) {
		consume(c, c->in_len);
		if (c->ended) {
			close_client(c);
			return;
		}
	}
	take_lines(c);
	if (takes_lines(c) && c->in_len == sizeof(c->in))
		refuse_long_line(c);
	else if (takes_lines(c) && c->ended)
		take_end(c, c->in_len > 0);
	if (uv_is_closing((uv_handle_t *)&c->pipe))
		return;
	if (c->waiting || c->state == CLIENT_REPLY || c->ended)
		uv_read_stop((uv_stream_t *)&c->pipe);
	else
		resume_reading(c);
}

static void take_input(struct client *c)
{
	struct lineserver *s = c->server;

	if (s->ops->enter)
		s->ops->enter(s->ctx);
	take_all(c);
	if (s->ops->leave)
		s->ops->leave(s->ctx);
}

/* A set has ended (or not): clients that wait for that go on, first come first
 * served, until one of them opens a set. */
static void serve_waiting(struct lineserver *s)
{
	struct client *c, *next;

	for (c = TAILQ_FIRST(&s->clients); c && !s->setter; c = next) {
		next = TAILQ_NEXT(c, entry);
		if (!c->waiting)
			continue;
		c->waiting = false;
		take_input(c);
	}
}

/* Listening. */

/* The client that has been there longest without asking for anything makes room. */
static void close_an_idle_client(struct lineserver *s)
{
	struct client *c;

	TAILQ_FOREACH (c, &s->clients, entry) {
		if (c->state == CLIENT_OPERATION && !c->in_len && !c->waiting) {
			close_client(c);
			return;
		}
	}
}

static void on_connection(uv_stream_t *listener, int status)
{
	struct lineserver *s = listener->data;
	struct client *c;

	if (status < 0)
		return;
	if (s->n_clients == LINESERVER_CLIENTS_MAX)
		close_an_idle_client(s);
	c = calloc(1, sizeof(*c));
	if (!c)
		return;
	uv_pipe_init(listener->loop, &c->pipe, 0);
	c->pipe.data = c;
	c->server = s;
	s->n_handles++;
	s->n_clients++;
	TAILQ_INSERT_TAIL(&s->clients, c, entry);
	if (uv_accept(listener, (uv_stream_t *)&c->pipe) < 0 ||
	    s->n_clients > LINESERVER_CLIENTS_MAX)
		close_client(c);
	else
		resume_reading(c);
}

/* Something happened in the folder. */
static void on_folder_event(uv_fs_event_t *watch, const char *name, int events, int status)
{
	struct lineserver *s = watch->data;

	(void)name;
	(void)events;
	(void)status;
	if (socketfile_is_there(&s->file))
		return;
	uv_fs_event_stop(watch);
	if (s->gone)
		s->gone(s->gone_ctx);
}

static int start_watch(struct lineserver *s)
{
	char folder[SOCKETFILE_PATH_MAX];
	int err;

	if (!s->file.noted)
		return 0;
	socketfile_folder(s->file.path, folder);
	err = uv_fs_event_start(&s->watch, on_folder_event, folder, 0);
	if (err)
		return err;
	/* Removed before the watch began: nobody would ever tell. */
	return socketfile_is_there(&s->file) ? 0 : -ENOENT;
}

static struct lineserver *new_server(uv_loop_t *loop, const struct lineserver_ops *ops)
{
	struct lineserver *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	if (ops->set_state_len) {
		s->set_state = calloc(1, ops->set_state_len);
		if (!s->set_state) {
			free(s);
			return NULL;
		}
	}
	s->ops = ops;
	TAILQ_INIT(&s->clients);
	uv_pipe_init(loop, &s->listener, 0);
	uv_fs_event_init(loop, &s->watch);
	uv_timer_init(loop, &s->set_timer);
	s->listener.data = s;
	s->watch.data = s;
	s->set_timer.data = s;
	s->n_handles = 3;
	return s;
}

/* Takes over @fd, also on failure. */
static int open_server(struct lineserver *s, const char *path, int fd)
{
	int err;

	socketfile_note(&s->file, path);
	err = uv_pipe_open(&s->listener, fd);
	if (err) {
		close(fd);
		return err;
	}
	err = uv_listen((uv_stream_t *)&s->listener, BACKLOG, on_connection);
	return err ? err : start_watch(s);
}

int lineserver_start(uv_loop_t *loop, const char *path, int listen_fd,
		     const struct lineserver_ops *ops, void *ctx, void (*gone)(void *gone_ctx),
		     void *gone_ctx, struct lineserver **ret)
{
	struct lineserver *s;
	int err;

	if (strlen(path) >= SOCKETFILE_PATH_MAX)
		return -ENAMETOOLONG;
	s = new_server(loop, ops);
	if (!s)
		return -ENOMEM;
	s->ctx = ctx;
	s->gone = gone;
	s->gone_ctx = gone_ctx;

	/* A client that hangs up while we write must not end the process. */
	signal(SIGPIPE, SIG_IGN);
	err = listen_fd >= 0 ? listen_fd : socketfile_listen(path);
	if (err >= 0)
		err = open_server(s, path, err);
	if (err < 0) {
		lineserver_stop(s);
		return err;
	}
	*ret = s;
	return 0;
}

void lineserver_stop(struct lineserver *s)
{
	struct client *c;

	if (!s)
		return;
	while ((c = TAILQ_FIRST(&s->clients)))
		close_client(c);
	socketfile_remove(&s->file);
	uv_close((uv_handle_t *)&s->set_timer, on_server_handle_closed);
	uv_close((uv_handle_t *)&s->watch, on_server_handle_closed);
	uv_close((uv_handle_t *)&s->listener, on_server_handle_closed);
}
