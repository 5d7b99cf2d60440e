/* SPDX-License-Identifier: Apache-2.0 */
#include "http_client_internal.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "loop.h"

enum {
	KEEPALIVE_S = 30,	/* a connection without a byte is probed */
	KEEPALIVE_EVERY_S = 10, /* again and again */
	UNACKNOWLEDGED_MS = 30000,
	LOCAL_LEN = 64, /* of an address */
};
/* What libcurl tells */

static bool is_success(const struct http_request *r)
{
	long status = 0;

	curl_easy_getinfo(r->curl, CURLINFO_RESPONSE_CODE, &status);
	return status >= 200 && status < 300;
}

static bool make_room(struct http_request *r, size_t more)
{
	size_t room = r->room ? r->room : 4096;
	char *larger;

	while (room - r->len < more + 1)
		room *= 2;
	if (room == r->room)
		return true;
	larger = realloc(r->buf, room);
	if (!larger)
		return false;
	r->buf = larger;
	r->room = room;
	return true;
}

static void on_idle(uv_timer_t *timer);

static void is_alive(struct http_request *r)
{
	if (r->idle_ms)
		uv_timer_start(r->idle, on_idle, r->idle_ms, 0);
}

static size_t on_body(char *data, size_t size, size_t n, void *ctx)
{
	struct http_request *r = ctx;
	const size_t len = size * n;
	const bool is_kept = !r->chunk || !is_success(r);

	is_alive(r);
	if (is_kept && len > r->max_len - r->len)
		r->err = -EMSGSIZE;
	else if (!make_room(r, len))
		r->err = -ENOMEM;
	if (r->err)
		return 0; /* ends the transfer */
	memcpy(r->buf + r->len, data, len);
	r->len += len;
	return len;
}

static size_t on_header(char *data, size_t size, size_t n, void *ctx)
{
	(void)data;
	is_alive(ctx);
	return size * n;
}

static int on_socket_option(void *ctx, curl_socket_t fd, curlsocktype purpose)
{
	const int ms = UNACKNOWLEDGED_MS;

	(void)ctx;
	(void)purpose;
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
	return CURL_SOCKOPT_OK;
}

/* What the owners are told */

static const struct {
	CURLcode code;
	int err;
} errors[] = {
	{CURLE_UNSUPPORTED_PROTOCOL, -EINVAL},
	{CURLE_URL_MALFORMAT, -EINVAL},
	{CURLE_COULDNT_RESOLVE_HOST, -EHOSTUNREACH},
	{CURLE_COULDNT_CONNECT, -ECONNREFUSED},
	{CURLE_GOT_NOTHING, -ECONNRESET},
	{CURLE_PARTIAL_FILE, -ECONNRESET},
	{CURLE_RECV_ERROR, -ECONNRESET},
	{CURLE_SEND_ERROR, -ECONNRESET},
	{CURLE_OPERATION_TIMEDOUT, -ETIMEDOUT},
	{CURLE_OUT_OF_MEMORY, -ENOMEM},
	{CURLE_SSL_CONNECT_ERROR, -EACCES},
	{CURLE_SSL_CERTPROBLEM, -EACCES},
	{CURLE_SSL_CIPHER, -EACCES},
	{CURLE_SSL_CACERT_BADFILE, -EACCES},
	{CURLE_SSL_ISSUER_ERROR, -EACCES},
	{CURLE_PEER_FAILED_VERIFICATION, -EACCES},
};

static bool is_connected(const struct http_request *r)
{
	long port = 0;

	curl_easy_getinfo(r->curl, CURLINFO_LOCAL_PORT, &port);
	return port > 0;
}

static int error_of(const struct http_request *r)
{
	if (r->code == CURLE_OK)
		return 0;
	/* How libcurl calls it if what comes is no HTTP. */
	if (r->code == CURLE_UNSUPPORTED_PROTOCOL && is_connected(r))
		return -EPROTO;
	/* With TLS 1.3 a refused certificate is told when the connection stands already. */
	if (r->code == CURLE_RECV_ERROR && strstr(r->error, "SSL routines"))
		return -EACCES;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (errors[i].code == r->code)
			return errors[i].err;
	}
	return -EPROTO;
}

/* libcurl's own words have times and ports in them, but are needed where TLS fails. */
static void describe(struct http_request *r, int err, char text[HTTP_CLIENT_ERROR_LEN])
{
	long number = 0;

	text[0] = '\0';
	if (err == -EMSGSIZE)
		snprintf(text, HTTP_CLIENT_ERROR_LEN, "the answer is longer than %zu bytes",
			 r->max_len);
	else if (err == -ENOMEM)
		snprintf(text, HTTP_CLIENT_ERROR_LEN, "%s", strerror(ENOMEM));
	else if (err == -ETIMEDOUT)
		snprintf(text, HTTP_CLIENT_ERROR_LEN, "no answer in time");
	else if (err == -ECONNREFUSED &&
		 curl_easy_getinfo(r->curl, CURLINFO_OS_ERRNO, &number) == CURLE_OK && number)
		snprintf(text, HTTP_CLIENT_ERROR_LEN, "no connection: %s", strerror((int)number));
	else if (err == -EACCES && r->error[0])
		snprintf(text, HTTP_CLIENT_ERROR_LEN, "TLS: %.200s", r->error);
	else if (err)
		snprintf(text, HTTP_CLIENT_ERROR_LEN, "%s", curl_easy_strerror(r->code));
}

void http_request_free(struct http_request *r)
{
	TAILQ_REMOVE(&r->client->requests, r, entry);
	if (r->curl) {
		curl_multi_remove_handle(r->client->multi, r->curl);
		curl_easy_cleanup(r->curl);
	}
	curl_slist_free_all(r->headers);
	loop_timer_free(&r->idle);
	free(r->buf);
	free(r);
}

static void fill_answer(struct http_request *r, struct http_answer *answer,
			char error[HTTP_CLIENT_ERROR_LEN], char local[LOCAL_LEN])
{
	curl_off_t retry_after_s = 0;
	const char *address = NULL;
	long status = 0;

	curl_easy_getinfo(r->curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(r->curl, CURLINFO_RETRY_AFTER, &retry_after_s);
	curl_easy_getinfo(r->curl, CURLINFO_LOCAL_IP, &address);
	snprintf(local, LOCAL_LEN, "%s", address ? address : "");
	*answer = (struct http_answer){
		.err = r->err ? r->err : error_of(r),
		.error = error,
		.status = (unsigned)status,
		.retry_after_s = retry_after_s,
		.body = r->buf ? r->buf : "",
		.len = r->len,
		.local_address = local,
	};
	describe(r, answer->err, error);
	if (r->buf)
		r->buf[r->len] = '\0';
}

static void tell_end(struct http_request *r)
{
	void (*done)(void *ctx, const struct http_answer *answer) = r->done;
	char error[HTTP_CLIENT_ERROR_LEN], local[LOCAL_LEN], *body = r->buf;
	struct http_answer answer;
	void *ctx = r->ctx;

	fill_answer(r, &answer, error, local);
	r->buf = NULL;
	http_request_free(r);
	done(ctx, &answer);
	free(body);
}

static void tell_chunk(struct http_request *r)
{
	char *data = r->buf;
	const size_t len = r->len;

	/* The owner may cancel it. */
	r->buf = NULL;
	r->len = r->room = 0;
	r->chunk(r->ctx, data, len);
	free(data);
}

static bool has_chunk(const struct http_request *r)
{
	return r->chunk && r->len && is_success(r);
}
bool http_request_tell(struct http_request *r)
{
	if (has_chunk(r))
		tell_chunk(r);
	else if (r->ended)
		tell_end(r);
	else
		return false;
	return true;
}

static void on_idle(uv_timer_t *timer)
{
	struct http_request *r = timer->data;

	r->err = -ETIMEDOUT;
	r->ended = true;
	http_client_tell(r->client);
}
/* A request */

static bool add_header(struct http_request *r, const char *header)
{
	struct curl_slist *longer = curl_slist_append(r->headers, header);

	if (longer)
		r->headers = longer;
	return longer;
}

static bool set_headers(struct http_request *r, const struct http_ask *ask)
{
	char *bearer = NULL;
	/* Bodies are short: nobody is asked before one is sent. */
	bool ok = add_header(r, "Expect:");

	for (size_t i = 0; ok && i < ask->n_headers; i++)
		ok = add_header(r, ask->headers[i]);
	if (ok && ask->bearer) {
		ok = asprintf(&bearer, "Authorization: Bearer %s", ask->bearer) >= 0 &&
		     add_header(r, bearer);
		free(bearer);
	}
	return ok && !curl_easy_setopt(r->curl, CURLOPT_HTTPHEADER, r->headers);
}

/* It alone: libcurl would trust the system's besides. */
static CURLcode set_ca(CURL *curl, const char *file)
{
	const CURLcode code = curl_easy_setopt(curl, CURLOPT_CAINFO, file);

	return code ? code : curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
}

static CURLcode set_request(struct http_request *r, const struct http_ask *ask)
{
	CURL *curl = r->curl;
	CURLcode code = curl_easy_setopt(curl, CURLOPT_URL, ask->url);

	if (!code && ask->body) {
		curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)ask->body_len);
		code = curl_easy_setopt(curl, CURLOPT_COPYPOSTFIELDS, ask->body);
	}
	if (!code)
		code = curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, ask->method);
	if (!code && ask->ca_file)
		code = set_ca(curl, ask->ca_file);
	if (!code && ask->cert_file)
		code = curl_easy_setopt(curl, CURLOPT_SSLCERT, ask->cert_file);
	if (!code && ask->key_file)
		code = curl_easy_setopt(curl, CURLOPT_SSLKEY, ask->key_file);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)ask->connect_ms);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)ask->total_ms);
	return code;
}

static void set_manners(struct http_request *r)
{
	CURL *curl = r->curl;

	curl_easy_setopt(curl, CURLOPT_PRIVATE, r);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, r->error);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, r);
	curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(curl, CURLOPT_HEADERDATA, r);
	curl_easy_setopt(curl, CURLOPT_SOCKOPTFUNCTION, on_socket_option);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_PROXY, "");
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	/* So that a request has its connection for itself, and cancelling ends it. */
	curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "sealane-agent/" SEALANE_VERSION);
	curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(curl, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_S);
	curl_easy_setopt(curl, CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_EVERY_S);
	/* Certificates get replaced: libcurl would keep those who sign for a day, and a session
	 * taken up again shows none. */
	curl_easy_setopt(curl, CURLOPT_CA_CACHE_TIMEOUT, 0L);
	curl_easy_setopt(curl, CURLOPT_SSL_SESSIONID_CACHE, 0L);
	/* A name that is being looked up, in a thread of libcurl's, is not waited for. */
	curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L);
}

static int prepare(struct http_request *r, const struct http_ask *ask)
{
	CURLcode code;

	r->curl = curl_easy_init();
	r->idle = loop_timer_new(r->client->loop, r);
	if (!r->curl || !r->idle || !set_headers(r, ask))
		return -ENOMEM;
	set_manners(r);
	code = set_request(r, ask);
	if (code)
		return code == CURLE_OUT_OF_MEMORY ? -ENOMEM : -EINVAL;
	/* Callbacks come when its time runs out, which is at once, but in the loop. */
	return curl_multi_add_handle(r->client->multi, r->curl) == CURLM_OK ? 0 : -ENOMEM;
}
int http_request_new(struct http_client *c, const struct http_ask *ask, struct http_request **ret)
{
	struct http_request *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->client = c;
	r->idle_ms = ask->idle_ms;
	r->max_len = ask->max_len;
	r->chunk = ask->chunk;
	r->done = ask->done;
	r->ctx = ask->ctx;
	TAILQ_INSERT_TAIL(&c->requests, r, entry);
	*ret = r;
	err = prepare(r, ask);
	if (!err)
		is_alive(r);
	return err;
}
