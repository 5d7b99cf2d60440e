/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to one of etcd's servers, with the certificates and the token they need. Control
 * thread. */
#ifndef SEALANE_NODE_ETCD_SESSION_H
#define SEALANE_NODE_ETCD_SESSION_H

#include "config.h"
#include "etcd_wire.h"
#include "http_client.h"

enum {
	ETCD_PAGE = 200,	    /* records of a range: answers of etcd's own bound of 4 MiB */
	ETCD_ANSWER_MAX = 64 << 20, /* records may be long */
	ETCD_FAULT_LEN = 512,
};

struct etcd_session {
	struct http_client *client;
	const struct config *config; /* borrowed */
	char token[4096];	     /* "": none */
	size_t endpoint;	     /* which of config's */
};

/* What was asked, and who hears of it. */
struct etcd_ask {
	const char *path; /* "/v3/kv/range" */
	char *body;	  /* malloc'd, freed here; NULL: there was no memory for it */
	bool is_stream;
	void (*chunk)(void *ctx, const char *data, size_t len);
	void (*done)(void *ctx, const struct http_answer *answer);
	void *ctx;
};

/* 0, -ENOMEM or -EINVAL as of http_client_start(). */
int etcd_session_ask(struct etcd_session *s, const struct etcd_ask *ask, struct http_request **ret);
const char *etcd_session_url(const struct etcd_session *s); /* of the server */
void etcd_session_rotate(struct etcd_session *s);	    /* the next one */
bool etcd_session_needs_token(const struct etcd_session *s);

/* Asks for one, by name and password; *fault says why it could not. 0 or -errno. Its answer goes
 * to the next: false: *fault says why there is no token. */
int etcd_session_ask_token(struct etcd_session *s,
			   void (*done)(void *ctx, const struct http_answer *answer), void *ctx,
			   struct http_request **ret, char fault[ETCD_FAULT_LEN]);
bool etcd_session_take_token(struct etcd_session *s, const struct http_answer *answer,
			     char fault[ETCD_FAULT_LEN]);

/* Was it answered with success? Else *fault says why, and a token that may be to blame is gone. */
bool etcd_session_judge(struct etcd_session *s, const struct http_answer *answer,
			char fault[ETCD_FAULT_LEN]);

#endif
