/* SPDX-License-Identifier: Apache-2.0 */
/* What http_client.c, the loop's side, and http_client_request.c, a request's, share. Control
 * thread. */
#ifndef SEALANE_NODE_HTTP_CLIENT_INTERNAL_H
#define SEALANE_NODE_HTTP_CLIENT_INTERNAL_H

#include <curl/curl.h>
#include <sys/queue.h>

#include "http_client.h"

struct http_request {
	struct http_client *client;
	CURL *curl;
	struct curl_slist *headers;
	uint32_t idle_ms;
	size_t max_len;
	void (*chunk)(void *ctx, const char *data, size_t len);
	void (*done)(void *ctx, const struct http_answer *answer);
	void *ctx;

	uv_timer_t *idle;
	char *buf; /* what came and is not told yet */
	size_t len, room;
	bool ended;
	int err; /* ours, before libcurl's */
	CURLcode code;
	char error[CURL_ERROR_SIZE];
	TAILQ_ENTRY(http_request) entry;
};

struct http_client {
	uv_loop_t *loop;
	CURLM *multi;
	uv_timer_t *timer;
	TAILQ_HEAD(, http_request) requests;
};

/* http_client_request.c: a request in its client's list, not begun. 0, -ENOMEM or -EINVAL, then
 * *ret may be set all the same. */
int http_request_new(struct http_client *c, const struct http_ask *ask, struct http_request **ret);
/* Takes it out of everything. */
void http_request_free(struct http_request *r);
/* Tells its owner the next thing there is; it may be gone then. False: there is none. */
bool http_request_tell(struct http_request *r);

/* http_client.c: all owners are told what there is. */
void http_client_tell(struct http_client *c);

#endif
