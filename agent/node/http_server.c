/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation: libmicrohttpd has the descriptors of all connections in one epoll
 * instance, which is watched on the agent's loop. It runs in turns of ours and has no thread.
 *
 * Connections are accepted and ended here. libmicrohttpd's own listener stops at a limit and
 * is taken up again by some later turn, for which neither descriptor nor timeout asks: nobody
 * would be answered any more. And its timeout begins anew with every byte, so that slow
 * clients could have all places for themselves. Here each connection has a time at which it
 * ends, which only an answered request moves, and one too many takes the place of the one
 * that is due first. To end one, its socket is shut down: libmicrohttpd sees its end then.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <unistd.h>

#include "http_internal.h"
#include "loop.h"

enum {
	BACKLOG = 64,
	CONNECTION_MEMORY_LEN = 16 << 10,
	ACCEPTS_A_TURN = 8, /* and then what they want is done */
	PAUSE_MS = 200,	    /* after one that could not be accepted, for want of memory or so */
};

/* Places */

static uint64_t now_ms(const struct http_server *s)
{
	return uv_now(s->loop);
}

/* To the end of the queue, where all that are due later are. */
static void renew(struct http_server *s, struct http_client *c)
{
	TAILQ_REMOVE(&s->clients, c, entry);
	c->due_ms = now_ms(s) + s->patience_ms;
	TAILQ_INSERT_TAIL(&s->clients, c, entry);
}

static struct http_client *take_place(struct http_server *s, struct MHD_Connection *connection)
{
	struct http_client *c = TAILQ_FIRST(&s->unused);

	if (!c)
		return NULL;
	TAILQ_REMOVE(&s->unused, c, entry);
	c->connection = connection;
	c->waits = false;
	c->fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	c->due_ms = now_ms(s) + s->patience_ms;
	TAILQ_INSERT_TAIL(&s->clients, c, entry);
	s->n_clients++;
	return c;
}

static void leave_place(struct http_server *s, struct http_client *c)
{
	if (c->waits)
		s->n_waiting--;
	TAILQ_REMOVE(&s->clients, c, entry);
	TAILQ_INSERT_HEAD(&s->unused, c, entry);
	s->n_clients--;
}

static void on_connection(void *ctx, struct MHD_Connection *connection, void **place,
			  enum MHD_ConnectionNotificationCode code)
{
	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		*place = take_place(ctx, connection);
	else if (*place)
		leave_place(ctx, *place);
}

static void on_completed(void *ctx, struct MHD_Connection *connection, void **seen,
			 enum MHD_RequestTerminationCode code)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	*seen = NULL;
	if (code == MHD_REQUEST_TERMINATED_COMPLETED_OK && info && info->socket_context)
		renew(ctx, info->socket_context);
}

/* Ends, in turns of libmicrohttpd to come. Is not tried again for a while. */
static void end_client(struct http_server *s, struct http_client *c)
{
	shutdown(c->fd, SHUT_RDWR);
	renew(s, c);
}

static void end_overdue(struct http_server *s)
{
	const struct http_client *first = TAILQ_FIRST(&s->clients);
	unsigned n = s->n_clients;

	while (n-- && first->due_ms <= now_ms(s)) {
		end_client(s, TAILQ_FIRST(&s->clients));
		first = TAILQ_FIRST(&s->clients);
	}
}

/* Of those that wait for the lane, which is not for long, libmicrohttpd cannot see the end. */
static struct http_client *first_idle(const struct http_server *s)
{
	struct http_client *c = TAILQ_FIRST(&s->clients);

	while (c && c->waits)
		c = TAILQ_NEXT(c, entry);
	return c;
}

static bool make_room(struct http_server *s)
{
	struct http_client *c = s->n_clients < HTTP_CONNECTIONS_MAX ? NULL : first_idle(s);

	if (c) {
		end_client(s, c);
		MHD_run(s->mhd);
	}
	return s->n_clients < HTTP_CONNECTIONS_MAX;
}

/* Running */

static void on_timer(uv_timer_t *timer);
static void on_acceptable(uv_poll_t *poll, int status, int events);

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void plan(struct http_server *s)
{
	const struct http_client *first = TAILQ_FIRST(&s->clients);
	MHD_UNSIGNED_LONG_LONG timeout_ms;
	uint64_t due_ms = UINT64_MAX;

	if (first)
		due_ms = first->due_ms;
	if (s->pause_due_ms)
		due_ms = min_u64(due_ms, s->pause_due_ms);
	if (MHD_get_timeout(s->mhd, &timeout_ms) == MHD_YES)
		due_ms = min_u64(due_ms, now_ms(s) + timeout_ms);
	if (due_ms == UINT64_MAX)
		uv_timer_stop(s->timer);
	else
		uv_timer_start(s->timer, on_timer, due_ms > now_ms(s) ? due_ms - now_ms(s) : 0, 0);
}

static void run(struct http_server *s)
{
	end_overdue(s);
	MHD_run(s->mhd);
	plan(s);
}

static void on_timer(uv_timer_t *timer)
{
	struct http_server *s = timer->data;

	if (s->pause_due_ms && s->pause_due_ms <= now_ms(s)) {
		s->pause_due_ms = 0;
		uv_poll_start(s->listen_poll, UV_READABLE, on_acceptable);
	}
	run(s);
}

void http_server_wake(struct http_server *s)
{
	uv_timer_start(s->timer, on_timer, 0, 0);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	run(poll->data);
}

/* Accepting */

static void pause_accepting(struct http_server *s)
{
	uv_poll_stop(s->listen_poll);
	s->pause_due_ms = now_ms(s) + PAUSE_MS;
}

/* One that went before it was accepted is no reason to pause. */
static bool is_transient(int number)
{
	return number == EAGAIN || number == EINTR || number == ECONNABORTED;
}

/* False: no more in this turn. */
static bool accept_one(struct http_server *s)
{
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	int fd;

	fd = accept4(s->listen_fd, (struct sockaddr *)&from, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0) {
		if (!is_transient(errno))
			pause_accepting(s);
		return false;
	}
	if (make_room(s))
		/* Closes it if it cannot. */
		MHD_add_connection(s->mhd, fd, (const struct sockaddr *)&from, len);
	else
		close(fd);
	return true;
}

static void on_acceptable(uv_poll_t *poll, int status, int events)
{
	struct http_server *s = poll->data;
	int n = 0;

	(void)events;
	if (status < 0)
		pause_accepting(s); /* libuv watches it no more */
	else
		while (n < ACCEPTS_A_TURN && accept_one(s))
			n++;
	run(s);
}

/* Life */

static int open_socket(struct http_server *s, const struct sockaddr_storage *listen_on)
{
	const socklen_t addr_len = listen_on->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
								    : sizeof(struct sockaddr_in);
	socklen_t len = sizeof(s->address);
	const int on = 1;
	int fd;

	fd = socket(listen_on->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	s->listen_fd = fd;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (const struct sockaddr *)listen_on, addr_len) < 0 || listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, (struct sockaddr *)&s->address, &len) < 0)
		return -errno;
	return loop_poll_new(s->loop, fd, on_acceptable, s, &s->listen_poll);
}

static int start_mhd(struct http_server *s)
{
	const union MHD_DaemonInfo *info;

	/* One more than there are places: its limit is never reached. */
	s->mhd = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
		http_pages_answer, s, MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, s, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)HTTP_CONNECTIONS_MAX + 1, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)CONNECTION_MEMORY_LEN, MHD_OPTION_END);
	if (!s->mhd)
		return -ENOMEM;
	info = MHD_get_daemon_info(s->mhd, MHD_DAEMON_INFO_EPOLL_FD);
	if (!info || info->epoll_fd < 0)
		return -ENOTSUP;
	return loop_poll_new(s->loop, info->epoll_fd, on_readable, s, &s->mhd_poll);
}

int http_server_start_with(uv_loop_t *loop, const struct sockaddr_storage *listen_on,
			   const struct status_source *source, uint64_t patience_ms,
			   struct http_server **ret)
{
	struct http_server *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->loop = loop;
	s->source = source;
	s->patience_ms = patience_ms;
	s->listen_fd = -1;
	TAILQ_INIT(&s->clients);
	TAILQ_INIT(&s->unused);
	for (int i = 0; i < HTTP_CONNECTIONS_MAX; i++)
		TAILQ_INSERT_TAIL(&s->unused, &s->places[i], entry);
	http_pages_init(s);
	s->timer = loop_timer_new(loop, s);
	err = s->timer ? open_socket(s, listen_on) : -ENOMEM;
	if (!err)
		err = start_mhd(s);
	if (err) {
		http_server_stop(s);
		return err;
	}
	*ret = s;
	return 0;
}

int http_server_start(uv_loop_t *loop, const struct sockaddr_storage *listen_on,
		      const struct status_source *source, struct http_server **ret)
{
	return http_server_start_with(loop, listen_on, source, HTTP_PATIENCE_MS, ret);
}

void http_server_stop(struct http_server *s)
{
	if (!s)
		return;
	http_pages_stop(s);
	loop_poll_free(&s->listen_poll);
	loop_poll_free(&s->mhd_poll);
	loop_timer_free(&s->timer);
	if (s->mhd)
		MHD_stop_daemon(s->mhd);
	if (s->listen_fd >= 0)
		close(s->listen_fd);
	free(s->metrics);
	free(s);
}

void http_server_address(const struct http_server *s, struct sockaddr_storage *ret)
{
	*ret = s->address;
}
