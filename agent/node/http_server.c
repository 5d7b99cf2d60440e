/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation: libmicrohttpd has all its descriptors in one epoll instance,
 * which is watched on the agent's loop; a timer carries its next timeout. It runs in
 * turns of ours and has no thread.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <microhttpd.h>

#include "loop.h"
#include "status.h"

enum {
	BACKLOG = 32,
	CONNECTION_MEMORY_LEN = 16 << 10,
	LEFT_ALONE_MS = 1000,
};

struct http_server {
	uv_loop_t *loop;
	const struct status_source *source;
	struct MHD_Daemon *mhd;
	uv_poll_t *poll;
	uv_timer_t *timer;
	char *metrics;
	uint64_t metrics_ms; /* when they were made */
	struct sockaddr_storage address;
};

static const char plain[] = "text/plain; charset=utf-8";
static const char exposition[] = "text/plain; version=0.0.4; charset=utf-8";

/* Answers */

struct answer {
	unsigned status;
	const char *type, *text;
};

static struct answer get_metrics(struct http_server *s, char *buf)
{
	const uint64_t now = uv_now(s->loop);

	(void)buf;
	if (!s->metrics || now - s->metrics_ms >= HTTP_METRICS_KEPT_MS) {
		free(s->metrics);
		s->metrics = status_metrics(s->source);
		s->metrics_ms = now;
	}
	if (!s->metrics)
		return (struct answer){MHD_HTTP_INTERNAL_SERVER_ERROR, plain, "no memory\n"};
	return (struct answer){MHD_HTTP_OK, exposition, s->metrics};
}

static struct answer get_healthz(struct http_server *s, char *buf)
{
	(void)s;
	(void)buf;
	return (struct answer){MHD_HTTP_OK, plain, "ok\n"};
}

static struct answer get_readyz(struct http_server *s, char *buf)
{
	if (status_ready(s->source, buf))
		return (struct answer){MHD_HTTP_OK, plain, "ok\n"};
	/* The caller's buffer has room for it. */
	memcpy(buf + strlen(buf), "\n", 2);
	return (struct answer){MHD_HTTP_SERVICE_UNAVAILABLE, plain, buf};
}

static bool is_allowed(const char *method)
{
	return !strcmp(method, MHD_HTTP_METHOD_GET) || !strcmp(method, MHD_HTTP_METHOD_HEAD);
}

static struct answer find_answer(struct http_server *s, const char *method, const char *url,
				 char *buf)
{
	static const struct {
		const char *url;
		struct answer (*get)(struct http_server *s, char *buf);
	} pages[] = {
		{"/metrics", get_metrics},
		{"/healthz", get_healthz},
		{"/readyz", get_readyz},
	};

	if (!is_allowed(method))
		return (struct answer){MHD_HTTP_METHOD_NOT_ALLOWED, plain, "GET and HEAD only\n"};
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
		if (!strcmp(url, pages[i].url))
			return pages[i].get(s, buf);
	}
	return (struct answer){MHD_HTTP_NOT_FOUND, plain, "/metrics, /healthz, /readyz\n"};
}

static enum MHD_Result send_answer(struct MHD_Connection *connection, const struct answer *a)
{
	/* Copied: libmicrohttpd will not write to it, but its type does not say so. */
	struct MHD_Response *response = MHD_create_response_from_buffer(
		strlen(a->text), (void *)(uintptr_t)a->text, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, a->type);
	if (a->status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = MHD_queue_response(connection, a->status, response);
	MHD_destroy_response(response);
	return result;
}

/*
 * Called when the headers are there, and again when the body is. What is not allowed is
 * answered at once, which ends the connection, so that no body is ever read.
 */
static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_len, void **seen)
{
	struct http_server *s = ctx;
	char buf[STATUS_REASON_LEN + 2];
	struct answer a;

	(void)version;
	(void)upload;
	if (!*seen && is_allowed(method)) {
		*seen = s;
		return MHD_YES;
	}
	if (*seen && *upload_len) {
		*upload_len = 0; /* the body of a GET, of no interest */
		return MHD_YES;
	}
	a = find_answer(s, method, url, buf);
	return send_answer(connection, &a);
}

/* Running */

static void on_timer(uv_timer_t *timer);

/*
 * What one run ends, the next puts away: a connection it refused, or its not accepting
 * any while there were too many. It asks for that by neither descriptor nor timeout, so
 * it is run twice, and while there are connections never left alone for long.
 */
static void run(struct http_server *s)
{
	const union MHD_DaemonInfo *info;
	MHD_UNSIGNED_LONG_LONG timeout_ms;

	MHD_run(s->mhd);
	MHD_run(s->mhd);
	if (MHD_get_timeout(s->mhd, &timeout_ms) != MHD_YES || timeout_ms > LEFT_ALONE_MS)
		timeout_ms = LEFT_ALONE_MS;
	info = MHD_get_daemon_info(s->mhd, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
	if (info && info->num_connections)
		uv_timer_start(s->timer, on_timer, timeout_ms, 0);
	else
		uv_timer_stop(s->timer);
}

static void on_timer(uv_timer_t *timer)
{
	run(timer->data);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	run(poll->data);
}

/* Ours and not libmicrohttpd's, which does not tell why it cannot. */
static int open_socket(struct http_server *s, const struct sockaddr_storage *listen_on)
{
	const socklen_t addr_len = listen_on->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
								    : sizeof(struct sockaddr_in);
	int fd = socket(listen_on->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t len = sizeof(s->address);
	const int on = 1;
	int err = 0;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (const struct sockaddr *)listen_on, addr_len) < 0 || listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, (struct sockaddr *)&s->address, &len) < 0)
		err = -errno;
	if (err)
		close(fd);
	return err ? err : fd;
}

static int start_mhd(struct http_server *s, int fd)
{
	const union MHD_DaemonInfo *info;

	s->mhd = MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, on_request, s,
				  MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
				  (unsigned)HTTP_CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
				  (unsigned)HTTP_PATIENCE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
				  (size_t)CONNECTION_MEMORY_LEN, MHD_OPTION_END);
	if (!s->mhd) {
		close(fd);
		return -ENOMEM;
	}
	info = MHD_get_daemon_info(s->mhd, MHD_DAEMON_INFO_EPOLL_FD);
	if (!info || info->epoll_fd < 0)
		return -ENOTSUP;
	return loop_poll_new(s->loop, info->epoll_fd, on_readable, s, &s->poll);
}

int http_server_start(uv_loop_t *loop, const struct sockaddr_storage *listen_on,
		      const struct status_source *source, struct http_server **ret)
{
	struct http_server *s = calloc(1, sizeof(*s));
	int fd, err;

	if (!s)
		return -ENOMEM;
	s->loop = loop;
	s->source = source;
	s->timer = loop_timer_new(loop, s);
	err = fd = s->timer ? open_socket(s, listen_on) : -ENOMEM;
	if (fd >= 0)
		err = start_mhd(s, fd);
	if (err) {
		http_server_stop(s);
		return err;
	}
	*ret = s;
	return 0;
}

void http_server_stop(struct http_server *s)
{
	if (!s)
		return;
	loop_poll_free(&s->poll);
	loop_timer_free(&s->timer);
	if (s->mhd)
		MHD_stop_daemon(s->mhd);
	free(s->metrics);
	free(s);
}

void http_server_address(const struct http_server *s, struct sockaddr_storage *ret)
{
	*ret = s->address;
}
