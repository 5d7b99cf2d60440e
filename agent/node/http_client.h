/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.1 requests, over TLS where the URL says https, on the agent's loop: libcurl's multi
 * interface. Each connection is made with what the files of certificates and keys say then; one
 * that is kept open may be used again for the same files. No proxy, no redirect is followed.
 * The process must ignore SIGPIPE. Control thread.
 */
#ifndef SEALANE_NODE_HTTP_CLIENT_H
#define SEALANE_NODE_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct http_client;
struct http_request;

enum { HTTP_CLIENT_ERROR_LEN = 256 };

/* How a request ended. What is pointed to is good until the callback returns. */
struct http_answer {
	/*
	 * 0: an answer came whole, of whatever status. Else:
	 * -EINVAL        this is no URL of http or https
	 * -EHOSTUNREACH  the host's name is not known
	 * -ECONNREFUSED  no connection
	 * -ECONNRESET    it ended before the answer did
	 * -EPROTO        what came is no HTTP
	 * -EACCES        TLS: a file, or the other's certificate
	 * -ETIMEDOUT     one of the times below
	 * -EMSGSIZE      longer than max_len
	 * -ENOMEM
	 */
	int err;
	const char *error;     /* the same in words, without what differs from time to time */
	unsigned status;       /* 0: none came */
	int64_t retry_after_s; /* the header of this name; 0: none */
	const char *body;      /* NUL-terminated; of a stream: what no chunk was of */
	size_t len;
	const char *local_address; /* of the connection, numeric; "": there was none */
};

/* All is copied, but for ctx. */
struct http_ask {
	const char *method; /* "GET", "POST", ... */
	const char *url;
	const char *const *headers; /* "Name: value" each */
	size_t n_headers;
	const char *bearer; /* a token: "Authorization: Bearer TOKEN"; NULL: none */
	const char *body;   /* NULL: none */
	size_t body_len;

	const char *ca_file; /* who may sign the server's certificate; NULL: the system's */
	const char *cert_file, *key_file; /* ours; NULL: none */

	uint32_t connect_ms; /* until there is a connection, TLS included; 0: 300 s */
	uint32_t idle_ms;    /* without a byte of the answer, connecting included; 0: any time */
	uint32_t total_ms;   /* for all of it; 0: any time, as for a stream */
	size_t max_len;	     /* of the body that is kept */

	/*
	 * A stream's: what came of the body of a 2xx answer, in pieces of any size, which are not
	 * kept. The body of another status is. NULL: the answer is wanted as a whole.
	 */
	void (*chunk)(void *ctx, const char *data, size_t len);
	/* The end, once; not called if it was cancelled. The request is gone then. */
	void (*done)(void *ctx, const struct http_answer *answer);
	void *ctx;
};

/* 0 or -ENOMEM. */
int http_client_new(uv_loop_t *loop, struct http_client **ret);
/* Cancels what there is. Not from within a callback. NULL is fine. */
void http_client_free(struct http_client *c);

/*
 * Begins a request; callbacks come from the loop, never from within. They may start and cancel
 * requests. 0; -ENOMEM; -EINVAL: what libcurl cannot take.
 */
int http_client_start(struct http_client *c, const struct http_ask *ask, struct http_request **ret);
/* No callback comes any more; its connection is closed. Sets the pointer to NULL; NULL is fine. */
void http_client_cancel(struct http_request **request);

#endif
