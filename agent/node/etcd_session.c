/* SPDX-License-Identifier: Apache-2.0 */
#include "etcd_session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

enum {
	CONNECT_MS = 5000,
	ANSWER_MS = 30000,
	/* A watch without a word may be one of a server that is cut off from the others, and it
	 * does not tell: another is begun then, elsewhere. */
	WATCH_SILENT_MS = 60000,
	PASSWORD_MAX = 1024,
};

const char *etcd_session_url(const struct etcd_session *s)
{
	const struct config_etcd *e = &s->config->etcd;

	return e->endpoints[s->endpoint % e->n_endpoints].text;
}

void etcd_session_rotate(struct etcd_session *s)
{
	s->endpoint = (s->endpoint + 1) % s->config->etcd.n_endpoints;
}

bool etcd_session_needs_token(const struct etcd_session *s)
{
	return s->config->etcd.username[0] && !s->token[0];
}

static const char *or_null(const char *text)
{
	return text[0] ? text : NULL;
}

static int start(struct etcd_session *s, const struct etcd_ask *ask, const char *url,
		 const char *authorization, struct http_request **ret)
{
	const struct config_etcd *e = &s->config->etcd;
	const char *headers[2] = {"Content-Type: application/json", authorization};
	const struct http_ask http = {
		.method = "POST",
		.url = url,
		.headers = headers,
		.n_headers = authorization ? 2 : 1,
		.body = ask->body,
		.body_len = strlen(ask->body),
		.ca_file = or_null(e->ca_file),
		.cert_file = or_null(e->cert_file),
		.key_file = or_null(e->key_file),
		.connect_ms = CONNECT_MS,
		.idle_ms = ask->is_stream ? WATCH_SILENT_MS : ANSWER_MS,
		.total_ms = ask->is_stream ? 0 : ANSWER_MS,
		.max_len = ETCD_ANSWER_MAX,
		.chunk = ask->chunk,
		.done = ask->done,
		.ctx = ask->ctx,
	};

	return http_client_start(s->client, &http, ret);
}

int etcd_session_ask(struct etcd_session *s, const struct etcd_ask *ask, struct http_request **ret)
{
	char url[CONFIG_URL_LEN + 64], *authorization = NULL;
	int err = ask->body ? 0 : -ENOMEM;

	snprintf(url, sizeof(url), "%s%s", etcd_session_url(s), ask->path);
	/* Without "Bearer": etcd's own way. */
	if (!err && s->token[0] && asprintf(&authorization, "Authorization: %s", s->token) < 0) {
		authorization = NULL;
		err = -ENOMEM;
	}
	if (!err)
		err = start(s, ask, url, authorization, ret);
	if (authorization)
		sodium_memzero(authorization, strlen(authorization));
	free(authorization);
	if (ask->body)
		sodium_memzero(ask->body, strlen(ask->body)); /* passwords */
	free(ask->body);
	return err;
}

bool etcd_session_judge(struct etcd_session *s, const struct http_answer *answer,
			char fault[ETCD_FAULT_LEN])
{
	char words[ETCD_ERROR_LEN];

	if (!answer->err && answer->status == 200)
		return true;
	/* An old token is told of as 401, but also as 400 after a change of users. */
	if (!answer->err && answer->status >= 400 && answer->status <= 403)
		sodium_memzero(s->token, sizeof(s->token));
	if (answer->err) {
		snprintf(fault, ETCD_FAULT_LEN, "%s: %s", etcd_session_url(s), answer->error);
	} else {
		etcd_wire_parse_error(answer->body, answer->len, words);
		snprintf(fault, ETCD_FAULT_LEN, "%s: status %u%s%s", etcd_session_url(s),
			 answer->status, words[0] ? ": " : "", words);
	}
	return false;
}

/* One line of a file that may be no longer; -errno. */
static int read_password(const char *path, char password[PASSWORD_MAX])
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, password, PASSWORD_MAX - 1);
	if (n < 0)
		n = -errno;
	close(fd);
	if (n < 0)
		return (int)n;
	password[n] = '\0';
	password[strcspn(password, "\r\n")] = '\0';
	return 0;
}

int etcd_session_ask_token(struct etcd_session *s,
			   void (*done)(void *ctx, const struct http_answer *answer), void *ctx,
			   struct http_request **ret, char fault[ETCD_FAULT_LEN])
{
	const struct config_etcd *e = &s->config->etcd;
	struct etcd_ask ask = {.path = "/v3/auth/authenticate", .done = done, .ctx = ctx};
	char password[PASSWORD_MAX];
	int err = read_password(e->password_file, password);

	if (err) {
		snprintf(fault, ETCD_FAULT_LEN, "%s: cannot be read: %s", e->password_file,
			 strerror(-err));
		return err;
	}
	ask.body = etcd_wire_authenticate(e->username, password);
	sodium_memzero(password, sizeof(password));
	err = etcd_session_ask(s, &ask, ret);
	if (err)
		snprintf(fault, ETCD_FAULT_LEN, "%s: %s", etcd_session_url(s), strerror(-err));
	return err;
}

bool etcd_session_take_token(struct etcd_session *s, const struct http_answer *answer,
			     char fault[ETCD_FAULT_LEN])
{
	if (!etcd_session_judge(s, answer, fault))
		return false;
	if (etcd_wire_parse_token(answer->body, answer->len, s->token, sizeof(s->token)))
		return true;
	snprintf(fault, ETCD_FAULT_LEN, "%s: no token came", etcd_session_url(s));
	return false;
}
