/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "lane_waiter.h"
#include "log.h"
#include "loop.h"
#include "status.h"
#include "status_socket.h"

/* One reader. It gets the document, when the lane has told its part or is not expected to
 * any more, and the end, whatever it says. */
struct client {
	uv_pipe_t pipe;
	uv_write_t write;
	uv_timer_t *patience;
	struct lane_waiter waiter;
	struct status_server *server; /* NULL: it is gone */
	char *document;
	TAILQ_ENTRY(client) entry;
};

struct status_server {
	uv_loop_t *loop;
	const struct status_source *source;
	struct status_socket socket;
	uv_pipe_t *pipe;
	TAILQ_HEAD(, client) clients;
	unsigned n_clients;
};

static void on_client_closed(uv_handle_t *h)
{
	struct client *c = h->data;

	free(c->document);
	free(c);
}

static void end_client(struct client *c)
{
	if (!c->server)
		return;
	if (c->waiter.waits)
		c->server->source->forget(c->server->source->ctx, &c->waiter);
	TAILQ_REMOVE(&c->server->clients, c, entry);
	c->server->n_clients--;
	c->server = NULL;
	loop_timer_free(&c->patience);
	uv_close((uv_handle_t *)&c->pipe, on_client_closed);
}

static void on_written(uv_write_t *write, int status)
{
	(void)status;
	end_client(write->data);
}

static void on_patience_over(uv_timer_t *timer)
{
	end_client(timer->data);
}

static int send_document(struct client *c)
{
	uv_buf_t buf;

	c->document = status_json(c->server->source);
	if (!c->document)
		return -ENOMEM;
	buf = uv_buf_init(c->document, (unsigned)strlen(c->document));
	c->write.data = c;
	return uv_write(&c->write, (uv_stream_t *)&c->pipe, &buf, 1, on_written);
}

static void on_told(void *ctx)
{
	if (send_document(ctx))
		end_client(ctx);
}

/* From here on end_client() is its end. NULL: no memory. */
static struct client *new_client(struct status_server *s)
{
	struct client *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->patience = loop_timer_new(s->loop, c);
	if (!c->patience || uv_pipe_init(s->loop, &c->pipe, 0)) {
		loop_timer_free(&c->patience);
		free(c);
		return NULL;
	}
	c->pipe.data = c;
	c->waiter.told = on_told;
	c->waiter.ctx = c;
	c->server = s;
	TAILQ_INSERT_TAIL(&s->clients, c, entry);
	s->n_clients++;
	return c;
}

static void on_connection(uv_stream_t *stream, int status)
{
	struct status_server *s = stream->data;
	struct client *c = status < 0 ? NULL : new_client(s);

	if (!c)
		return;
	uv_timer_start(c->patience, on_patience_over, STATUS_PATIENCE_MS, 0);
	/* One too many is accepted, too, for it would wait for ever otherwise. */
	if (uv_accept(stream, (uv_stream_t *)&c->pipe) || s->n_clients > STATUS_CLIENTS_MAX)
		end_client(c);
	else
		s->source->refresh(s->source->ctx, &c->waiter);
}

static void free_handle(uv_handle_t *h)
{
	free(h);
}

static int listen_on(struct status_server *s)
{
	int err;

	s->pipe = calloc(1, sizeof(*s->pipe));
	if (!s->pipe)
		return -ENOMEM;
	err = uv_pipe_init(s->loop, s->pipe, 0);
	if (err) {
		free(s->pipe);
		s->pipe = NULL;
		return err;
	}
	s->pipe->data = s;
	err = uv_pipe_open(s->pipe, s->socket.fd);
	if (err)
		return err;
	s->socket.fd = -1; /* the handle's now */
	return uv_listen((uv_stream_t *)s->pipe, STATUS_CLIENTS_MAX, on_connection);
}

int status_server_start(uv_loop_t *loop, const char *path, const struct status_source *source,
			struct status_server **ret)
{
	struct status_server *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->loop = loop;
	s->source = source;
	TAILQ_INIT(&s->clients);
	err = status_socket_open(path, &s->socket);
	if (err) {
		free(s);
		return err;
	}
	err = listen_on(s);
	if (err) {
		status_server_stop(s);
		return err;
	}
	*ret = s;
	return 0;
}

void status_server_stop(struct status_server *s)
{
	if (!s)
		return;
	status_socket_remove(&s->socket);
	while (!TAILQ_EMPTY(&s->clients))
		end_client(TAILQ_FIRST(&s->clients));
	if (s->pipe)
		uv_close((uv_handle_t *)s->pipe, free_handle);
	if (s->socket.fd >= 0)
		close(s->socket.fd);
	free(s);
}
