/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation: libcurl says which sockets it waits for and until when, and the loop tells
 * it what happened (curl_multi_socket_action()). What it has to say meanwhile is only noted, and
 * told to the owners of the requests after it has returned: from within its callbacks they could
 * not start or cancel anything.
 */
#include "http_client_internal.h"

#include <errno.h>
#include <stdlib.h>

#include "loop.h"
/* True: one was told something, and any may have come or gone. */
static bool tell_one(struct http_client *c)
{
	struct http_request *r;

	TAILQ_FOREACH (r, &c->requests, entry) {
		if (http_request_tell(r))
			return true;
	}
	return false;
}

void http_client_tell(struct http_client *c)
{
	while (tell_one(c))
		;
}

static void note_ends(struct http_client *c)
{
	const CURLMsg *msg;
	int n_left;

	while ((msg = curl_multi_info_read(c->multi, &n_left))) {
		struct http_request *r = NULL;

		if (msg->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, (char **)&r);
		r->code = msg->data.result;
		r->ended = true;
	}
}

/* The loop */

static void act(struct http_client *c, curl_socket_t fd, int what)
{
	int n_running;

	curl_multi_socket_action(c->multi, fd, what, &n_running);
	note_ends(c);
	http_client_tell(c);
}
static void on_timer(uv_timer_t *timer)
{
	act(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

static int on_timeout(CURLM *multi, long ms, void *ctx)
{
	struct http_client *c = ctx;

	(void)multi;
	if (ms < 0)
		uv_timer_stop(c->timer);
	else
		uv_timer_start(c->timer, on_timer, (uint64_t)ms, 0);
	return 0;
}

/* What is watched of a socket. */
struct watched {
	struct http_client *client;
	uv_poll_t *poll;
	curl_socket_t fd;
};

static void on_poll(uv_poll_t *poll, int status, int events)
{
	const struct watched *w = poll->data;
	int what = 0;

	if (status < 0)
		what = CURL_CSELECT_ERR;
	if (events & UV_READABLE)
		what |= CURL_CSELECT_IN;
	if (events & UV_WRITABLE)
		what |= CURL_CSELECT_OUT;
	act(w->client, w->fd, what);
}

static struct watched *watch(struct http_client *c, curl_socket_t fd)
{
	struct watched *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->client = c;
	w->fd = fd;
	if (loop_poll_new(c->loop, fd, on_poll, w, &w->poll)) {
		free(w);
		return NULL;
	}
	curl_multi_assign(c->multi, fd, w);
	return w;
}

static int on_socket(CURL *curl, curl_socket_t fd, int what, void *ctx, void *socket_ctx)
{
	struct http_client *c = ctx;
	struct watched *w = socket_ctx;
	int events = 0;

	(void)curl;
	if (what == CURL_POLL_REMOVE) {
		if (w)
			loop_poll_free(&w->poll);
		free(w);
		curl_multi_assign(c->multi, fd, NULL);
		return 0;
	}
	if (!w)
		w = watch(c, fd);
	if (!w)
		return -1;
	if (what & CURL_POLL_IN)
		events |= UV_READABLE;
	if (what & CURL_POLL_OUT)
		events |= UV_WRITABLE;
	uv_poll_start(w->poll, events, on_poll);
	return 0;
}
int http_client_start(struct http_client *c, const struct http_ask *ask, struct http_request **ret)
{
	struct http_request *r = NULL;
	int err = http_request_new(c, ask, &r);

	if (!err)
		*ret = r;
	else if (r)
		http_request_free(r);
	return err;
}

void http_client_cancel(struct http_request **request)
{
	if (*request)
		http_request_free(*request);
	*request = NULL;
}

/* Life */

int http_client_new(uv_loop_t *loop, struct http_client **ret)
{
	struct http_client *c;

	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		return -ENOMEM;
	c = calloc(1, sizeof(*c));
	if (!c) {
		curl_global_cleanup();
		return -ENOMEM;
	}
	c->loop = loop;
	TAILQ_INIT(&c->requests);
	c->timer = loop_timer_new(loop, c);
	c->multi = curl_multi_init();
	if (!c->timer || !c->multi) {
		http_client_free(c);
		return -ENOMEM;
	}
	curl_multi_setopt(c->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(c->multi, CURLMOPT_SOCKETDATA, c);
	curl_multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, on_timeout);
	curl_multi_setopt(c->multi, CURLMOPT_TIMERDATA, c);
	*ret = c;
	return 0;
}

void http_client_free(struct http_client *c)
{
	struct http_request *r;

	if (!c)
		return;
	while ((r = TAILQ_FIRST(&c->requests)))
		http_request_free(r);
	if (c->multi) {
		curl_multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, NULL);
		curl_multi_cleanup(c->multi);
	}
	loop_timer_free(&c->timer);
	free(c);
	curl_global_cleanup();
}
