/* SPDX-License-Identifier: Apache-2.0 */
/* The two sockets of a lane in a folder of their own, answered by a thread as a test
 * says. Every request is kept. */
#ifndef SEALANE_TESTS_LANE_SERVER_H
#define SEALANE_TESTS_LANE_SERVER_H

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>
#include <linux/sockios.h>

#include "agent/node/lane_client.h"
#include "agent/node/lane_client_internal.h"

enum { SERVER_CLIENTS = 8, SERVER_REQUESTS = 256, SERVER_PATIENCE_MS = 60000 };

/* The bytes to answer with, malloc'd; "": none; NULL: the connection ends. @request is
 * without its empty line. Called by the server's thread, under its lock. */
typedef char *(*lane_server_answer)(void *ctx, enum lane_socket which, const char *request);

struct lane_server_client {
	int fd;
	enum lane_socket which;
	char *in;
	size_t in_len;
};

struct lane_server {
	char folder[64], path[2][96]; /* by enum lane_socket */
	int listener[2], stop[2];
	bool bytewise; /* answers come byte by byte, each when the one before was read */
	bool rude;     /* UAPI connections end without a look at what came */
	lane_server_answer answer;
	void *ctx;
	struct lane_server_client clients[SERVER_CLIENTS];
	pthread_t thread;
	pthread_mutex_t lock;
	char *requests[SERVER_REQUESTS];
	enum lane_socket of[SERVER_REQUESTS];
	size_t n_requests;
};

/* The thread's half. It must not assert: that is for the test's own thread. */

static inline void server_send(const struct lane_server *s, int fd, const char *bytes)
{
	size_t left = strlen(bytes);
	int unread;

	while (left) {
		const ssize_t n = send(fd, bytes, s->bytewise ? 1 : left, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		bytes += n;
		left -= (size_t)n;
		while (s->bytewise && !ioctl(fd, SIOCOUTQ, &unread) && unread)
			usleep(100);
	}
}

/* False: the connection is to end. */
static inline bool server_take(struct lane_server *s, struct lane_server_client *c, char *end)
{
	char *answer;

	pthread_mutex_lock(&s->lock);
	end[1] = '\0';
	if (s->n_requests < SERVER_REQUESTS) {
		s->requests[s->n_requests] = strdup(c->in);
		s->of[s->n_requests++] = c->which;
	}
	answer = s->answer(s->ctx, c->which, c->in);
	pthread_mutex_unlock(&s->lock);
	c->in_len -= (size_t)(end + 2 - c->in);
	memmove(c->in, end + 2, c->in_len + 1);
	if (answer)
		server_send(s, c->fd, answer);
	free(answer);
	return answer != NULL;
}

static inline void server_close(struct lane_server_client *c)
{
	close(c->fd);
	free(c->in);
	*c = (struct lane_server_client){.fd = -1};
}

static inline void server_read(struct lane_server *s, struct lane_server_client *c)
{
	char bytes[65536], *end;
	ssize_t n = 0;

	if (!s->rude || c->which != LANE_UAPI)
		n = recv(c->fd, bytes, sizeof(bytes), 0);

	if (n <= 0) {
		server_close(c);
		return;
	}
	c->in = realloc(c->in, c->in_len + (size_t)n + 1);
	memcpy(c->in + c->in_len, bytes, (size_t)n);
	c->in_len += (size_t)n;
	c->in[c->in_len] = '\0';
	while ((end = strstr(c->in, "\n\n"))) {
		if (!server_take(s, c, end)) {
			server_close(c);
			return;
		}
	}
}

static inline void server_accept(struct lane_server *s, enum lane_socket which)
{
	const int fd = accept4(s->listener[which], NULL, NULL, SOCK_CLOEXEC);

	for (int i = 0; fd >= 0 && i < SERVER_CLIENTS; i++) {
		if (s->clients[i].fd < 0) {
			s->clients[i] = (struct lane_server_client){.fd = fd, .which = which};
			return;
		}
	}
	close(fd);
}

static inline void *server_run(void *arg)
{
	struct lane_server *s = arg;

	for (;;) {
		struct pollfd p[3 + SERVER_CLIENTS] = {
			{.fd = s->stop[0], .events = POLLIN},
			{.fd = s->listener[LANE_UAPI], .events = POLLIN},
			{.fd = s->listener[LANE_CONTROL], .events = POLLIN},
		};

		for (int i = 0; i < SERVER_CLIENTS; i++)
			p[3 + i] = (struct pollfd){.fd = s->clients[i].fd, .events = POLLIN};
		poll(p, 3 + SERVER_CLIENTS, -1);
		if (p[0].revents)
			break;
		for (int i = 0; i < SERVER_CLIENTS; i++) {
			if (p[3 + i].revents)
				server_read(s, &s->clients[i]);
		}
		if (p[1].revents)
			server_accept(s, LANE_UAPI);
		if (p[2].revents)
			server_accept(s, LANE_CONTROL);
	}
	for (int i = 0; i < SERVER_CLIENTS; i++) {
		if (s->clients[i].fd >= 0)
			server_close(&s->clients[i]);
	}
	return NULL;
}

/* The test's half. */

static inline int server_listen(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, path);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, SERVER_CLIENTS), 0);
	return fd;
}

static inline void lane_server_start(struct lane_server *s, lane_server_answer answer, void *ctx)
{
	*s = (struct lane_server){
		.folder = "/tmp/lane_server.XXXXXX", .answer = answer, .ctx = ctx};
	assert_non_null(mkdtemp(s->folder));
	snprintf(s->path[LANE_UAPI], sizeof(s->path[0]), "%s/uapi.sock", s->folder);
	snprintf(s->path[LANE_CONTROL], sizeof(s->path[0]), "%s/control.sock", s->folder);
	for (int i = 0; i < 2; i++)
		s->listener[i] = server_listen(s->path[i]);
	for (int i = 0; i < SERVER_CLIENTS; i++)
		s->clients[i].fd = -1;
	assert_int_equal(pipe(s->stop), 0);
	pthread_mutex_init(&s->lock, NULL);
	assert_int_equal(pthread_create(&s->thread, NULL, server_run, s), 0);
}

static inline void lane_server_forget(struct lane_server *s)
{
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->n_requests; i++)
		free(s->requests[i]);
	s->n_requests = 0;
	pthread_mutex_unlock(&s->lock);
}

static inline void lane_server_stop(struct lane_server *s)
{
	assert_int_equal(write(s->stop[1], "", 1), 1);
	pthread_join(s->thread, NULL);
	lane_server_forget(s);
	pthread_mutex_destroy(&s->lock);
	for (int i = 0; i < 2; i++) {
		close(s->listener[i]);
		close(s->stop[i]);
		unlink(s->path[i]);
	}
	rmdir(s->folder);
}

/* A client with all the time in the world. */
static inline struct lane_client *lane_server_client(const struct lane_server *s)
{
	struct lane_client *c = NULL;
	bool uapi_only;

	assert_int_equal(lane_client_open_at(s->path[LANE_UAPI], s->path[LANE_CONTROL],
					     SERVER_PATIENCE_MS, &c, &uapi_only),
			 0);
	return c;
}

/* Request @i of those that begin with "set=1", or NULL. Good until lane_server_forget(). */
static inline const char *lane_server_set(struct lane_server *s, size_t i)
{
	const char *found = NULL;

	pthread_mutex_lock(&s->lock);
	for (size_t j = 0; j < s->n_requests && !found; j++) {
		if (!strncmp(s->requests[j], "set=1\n", 6) && !i--)
			found = s->requests[j];
	}
	pthread_mutex_unlock(&s->lock);
	return found;
}

static inline size_t lane_server_n_sets(struct lane_server *s)
{
	size_t n = 0;

	while (lane_server_set(s, n))
		n++;
	return n;
}

#endif
