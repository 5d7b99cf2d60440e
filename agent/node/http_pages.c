/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation: metrics need what the lane tells, for which nobody may wait in a turn
 * of the loop. A request for them is suspended until they are made, and so are those that
 * come meanwhile; all are answered with the same text.
 */
#include <stdlib.h>
#include <string.h>

#include "http_internal.h"

static const char plain[] = "text/plain; charset=utf-8";
static const char exposition[] = "text/plain; version=0.0.4; charset=utf-8";

struct answer {
	unsigned status;
	const char *type, *text;
};

/* Pages */

static struct answer get_metrics(struct http_server *s, char *buf)
{
	(void)buf;
	if (!s->metrics)
		return (struct answer){MHD_HTTP_SERVICE_UNAVAILABLE, plain,
				       "no memory, or too many who ask\n"};
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

static const struct page {
	const char *url;
	bool is_metrics;
	struct answer (*get)(struct http_server *s, char *buf);
} pages[] = {
	{"/metrics", true, get_metrics},
	{"/healthz", false, get_healthz},
	{"/readyz", false, get_readyz},
};

static const struct page *find_page(const char *url)
{
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
		if (!strcmp(url, pages[i].url))
			return &pages[i];
	}
	return NULL;
}

static bool is_allowed(const char *method)
{
	return !strcmp(method, MHD_HTTP_METHOD_GET) || !strcmp(method, MHD_HTTP_METHOD_HEAD);
}

/* Waiting for the lane */

static void on_told(void *ctx)
{
	struct http_server *s = ctx;
	struct http_client *c;

	free(s->metrics);
	s->metrics = status_metrics(s->source);
	s->metrics_ms = uv_now(s->loop);
	TAILQ_FOREACH (c, &s->clients, entry) {
		if (!c->waits)
			continue;
		c->waits = false;
		s->n_waiting--;
		MHD_resume_connection(c->connection);
	}
	http_server_wake(s); /* for what was resumed */
}

static bool are_fresh(const struct http_server *s)
{
	return s->metrics && uv_now(s->loop) - s->metrics_ms < HTTP_METRICS_KEPT_MS;
}

/* True: the request goes on when there are new metrics. False: those that are there have to
 * do. */
static bool wait_for_metrics(struct http_server *s, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info;
	struct http_client *c;

	if (are_fresh(s) || s->n_waiting >= HTTP_WAITING_MAX)
		return false;
	info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	c = info ? info->socket_context : NULL;
	if (!c)
		return false;
	if (!s->waiter.waits)
		s->source->refresh(s->source->ctx, &s->waiter);
	if (!s->waiter.waits)
		return false;
	c->waits = true;
	s->n_waiting++;
	MHD_suspend_connection(connection);
	return true;
}

/* Answers */

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

static enum MHD_Result send_page(struct http_server *s, struct MHD_Connection *connection,
				 const struct page *page)
{
	struct answer a = {MHD_HTTP_NOT_FOUND, plain, "/metrics, /healthz, /readyz\n"};
	char buf[STATUS_REASON_LEN + 2];

	if (page)
		a = page->get(s, buf);
	return send_answer(connection, &a);
}

/*
 * Called when the headers are there, again when the body is, and again after a wait. What is
 * not allowed is answered at once, which ends the connection, so that no body is ever read.
 */
enum MHD_Result http_pages_answer(void *ctx, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_len, void **seen)
{
	static const struct answer refusal = {MHD_HTTP_METHOD_NOT_ALLOWED, plain,
					      "GET and HEAD only\n"};
	static char has_headers, has_waited; /* whose addresses say it */
	struct http_server *s = ctx;
	const struct page *page = find_page(url);

	(void)version;
	(void)upload;
	if (!is_allowed(method))
		return send_answer(connection, &refusal);
	if (!*seen) {
		*seen = &has_headers;
		return MHD_YES;
	}
	if (*upload_len) {
		*upload_len = 0; /* the body of a GET, of no interest */
		return MHD_YES;
	}
	if (page && page->is_metrics && *seen != &has_waited && wait_for_metrics(s, connection)) {
		*seen = &has_waited;
		return MHD_YES;
	}
	return send_page(s, connection, page);
}

void http_pages_init(struct http_server *s)
{
	s->waiter.told = on_told;
	s->waiter.ctx = s;
}

void http_pages_stop(struct http_server *s)
{
	struct http_client *c;

	if (s->waiter.waits)
		s->source->forget(s->source->ctx, &s->waiter);
	TAILQ_FOREACH (c, &s->clients, entry) {
		if (c->waits)
			MHD_resume_connection(c->connection);
		c->waits = false;
	}
}
