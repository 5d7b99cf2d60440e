/* SPDX-License-Identifier: Apache-2.0 */
/* Against a server on the same loop that plays a script: what it sends, after which pauses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <arpa/inet.h>
#include <signal.h>
#include <uv.h>
#include <cmocka.h>

#include "agent/node/http_client.h"

enum { STEPS_MAX = 6, GUARD_MS = 60000, PATIENCE_MS = 20000 };

struct step {
	const char *text; /* NULL: waits, for the client to end */
	unsigned after_ms;
};

static uv_loop_t loop;
static uv_tcp_t listener;
static uv_timer_t guard, pause_timer;
static uv_tcp_t *connection; /* the latest */
static unsigned n_connections, n_closed, next_step;
static struct step steps[STEPS_MAX];
static char request[65536], url[64];
static struct http_client *client;

/* The server */

static void on_closed(uv_handle_t *handle)
{
	if (handle == (uv_handle_t *)connection)
		connection = NULL;
	free(handle);
}

static void close_connection(uv_handle_t *handle)
{
	if (!uv_is_closing(handle))
		uv_close(handle, on_closed);
}

static void play(void);

static void on_pause(uv_timer_t *timer)
{
	uv_buf_t buf = {.base = (char *)(uintptr_t)steps[next_step].text,
			.len = strlen(steps[next_step].text)};

	(void)timer;
	next_step++;
	if (connection)
		assert_int_equal(uv_try_write((uv_stream_t *)connection, &buf, 1), buf.len);
	play();
}

static void play(void)
{
	if (next_step == STEPS_MAX || !steps[next_step].text) {
		if (!steps[next_step].after_ms && connection)
			close_connection((uv_handle_t *)connection);
		return;
	}
	uv_timer_start(&pause_timer, on_pause, steps[next_step].after_ms, 0);
}

static void on_alloc(uv_handle_t *handle, size_t wanted, uv_buf_t *buf)
{
	const size_t len = strlen(request);

	(void)handle;
	(void)wanted;
	*buf = uv_buf_init(request + len, (unsigned)(sizeof(request) - len - 1));
}

/* A request has its whole head, and as many bytes after it as that says. */
static bool is_whole(void)
{
	const char *end = strstr(request, "\r\n\r\n"), *len = strstr(request, "Content-Length: ");

	return end && strlen(end + 4) >= (len ? strtoul(len + 16, NULL, 10) : 0);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	if (n < 0) {
		n_closed++;
		close_connection((uv_handle_t *)stream);
		return;
	}
	buf->base[n] = '\0';
	if (is_whole())
		play();
}

static void on_connection(uv_stream_t *server, int status)
{
	assert_int_equal(status, 0);
	connection = calloc(1, sizeof(*connection));
	assert_non_null(connection);
	uv_tcp_init(&loop, connection);
	assert_int_equal(uv_accept(server, (uv_stream_t *)connection), 0);
	n_connections++;
	uv_read_start((uv_stream_t *)connection, on_alloc, on_read);
}

static void on_guard(uv_timer_t *timer)
{
	(void)timer;
	fail_msg("no end came in %d s", GUARD_MS / 1000);
}

static int begin(void **state)
{
	struct sockaddr_in address;
	int len = sizeof(address);

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	memset(steps, 0, sizeof(steps));
	memset(request, 0, sizeof(request));
	n_connections = n_closed = next_step = 0;
	uv_loop_init(&loop);
	uv_timer_init(&loop, &guard);
	uv_timer_init(&loop, &pause_timer);
	uv_timer_start(&guard, on_guard, GUARD_MS, 0);
	uv_tcp_init(&loop, &listener);
	uv_ip4_addr("127.0.0.1", 0, &address);
	uv_tcp_bind(&listener, (struct sockaddr *)&address, 0);
	uv_listen((uv_stream_t *)&listener, 8, on_connection);
	uv_tcp_getsockname(&listener, (struct sockaddr *)&address, &len);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/v3/x", ntohs(address.sin_port));
	return http_client_new(&loop, &client);
}

static int end(void **state)
{
	(void)state;
	http_client_free(client);
	uv_close((uv_handle_t *)&listener, NULL);
	uv_close((uv_handle_t *)&guard, NULL);
	uv_close((uv_handle_t *)&pause_timer, NULL);
	if (connection)
		close_connection((uv_handle_t *)connection);
	uv_run(&loop, UV_RUN_DEFAULT);
	return uv_loop_close(&loop);
}

/* A request and what came of it */

struct outcome {
	bool is_done;
	int err;
	unsigned status, n_chunks;
	int64_t retry_after_s;
	char body[4096], stream[4096], error[HTTP_CLIENT_ERROR_LEN], local[64];
	struct http_request *request;
	bool cancel_at_chunk;
};

static void on_done(void *ctx, const struct http_answer *answer)
{
	struct outcome *o = ctx;

	assert_false(o->is_done);
	o->is_done = true;
	o->err = answer->err;
	o->status = answer->status;
	o->retry_after_s = answer->retry_after_s;
	assert_int_equal(strlen(answer->body), answer->len);
	snprintf(o->body, sizeof(o->body), "%s", answer->body);
	snprintf(o->error, sizeof(o->error), "%s", answer->error);
	snprintf(o->local, sizeof(o->local), "%s", answer->local_address);
}

static void on_chunk(void *ctx, const char *data, size_t len)
{
	struct outcome *o = ctx;

	o->n_chunks++;
	snprintf(o->stream + strlen(o->stream), sizeof(o->stream) - strlen(o->stream), "%.*s",
		 (int)len, data);
	if (o->cancel_at_chunk) {
		http_client_cancel(&o->request);
		o->is_done = true;
	}
}

static struct http_ask get(struct outcome *o)
{
	return (struct http_ask){
		.method = "GET",
		.url = url,
		.connect_ms = PATIENCE_MS,
		.idle_ms = PATIENCE_MS,
		.max_len = 1000,
		.done = on_done,
		.ctx = o,
	};
}

static void await(struct outcome *o)
{
	while (!o->is_done)
		uv_run(&loop, UV_RUN_ONCE);
}

static void run(struct outcome *o, const struct http_ask *ask)
{
	assert_int_equal(http_client_start(client, ask, &o->request), 0);
	assert_false(o->is_done); /* not from within */
	await(o);
}

static void test_whole(void **state)
{
	static const char *const headers[] = {"Content-Type: application/json"};
	struct outcome o = {0};
	struct http_ask ask = get(&o);

	(void)state;
	steps[0] = (struct step){"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 0};
	ask.method = "PATCH";
	ask.headers = headers;
	ask.n_headers = 1;
	ask.bearer = "secret";
	ask.body = "{\"a\":1}";
	ask.body_len = 7;
	run(&o, &ask);
	assert_int_equal(o.err, 0);
	assert_int_equal(o.status, 200);
	assert_string_equal(o.body, "hello");
	assert_string_equal(o.local, "127.0.0.1");
	assert_ptr_equal(strstr(request, "PATCH /v3/x HTTP/1.1\r\n"), request);
	assert_non_null(strstr(request, "\r\nContent-Type: application/json\r\n"));
	assert_non_null(strstr(request, "\r\nAuthorization: Bearer secret\r\n"));
	assert_non_null(strstr(request, "\r\n\r\n{\"a\":1}"));
	assert_null(strstr(request, "Expect"));
}

static void test_status_and_retry_after(void **state)
{
	struct outcome o = {0};
	struct http_ask ask = get(&o);

	(void)state;
	steps[0] = (struct step){"HTTP/1.1 429 Slow Down\r\nRetry-After: 7\r\n"
				 "Content-Length: 4\r\n\r\nlate",
				 0};
	ask.chunk = on_chunk;
	run(&o, &ask);
	assert_int_equal(o.err, 0);
	assert_int_equal(o.status, 429);
	assert_int_equal(o.retry_after_s, 7);
	/* Of a stream, what is no success is no chunk. */
	assert_int_equal(o.n_chunks, 0);
	assert_string_equal(o.body, "late");
}

static void test_stream(void **state)
{
	struct outcome o = {0};
	struct http_ask ask = get(&o);

	(void)state;
	steps[0] = (struct step){"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 0};
	steps[1] = (struct step){"6\r\n{\"a\":1\r\n", 50};
	steps[2] = (struct step){"2\r\n}\n\r\n", 50};
	steps[3] = (struct step){"0\r\n\r\n", 50};
	ask.chunk = on_chunk;
	ask.max_len = 1; /* bounds no stream */
	run(&o, &ask);
	assert_int_equal(o.err, 0);
	assert_string_equal(o.stream, "{\"a\":1}\n");
	assert_true(o.n_chunks >= 1);
	assert_string_equal(o.body, "");
}

/* What came before the end is told before it. */
static void test_stream_that_breaks(void **state)
{
	struct outcome o = {0};
	struct http_ask ask = get(&o);

	(void)state;
	steps[0] = (struct step){"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
				 "3\r\nabc\r\n",
				 0};
	ask.chunk = on_chunk;
	run(&o, &ask);
	assert_int_equal(o.err, -ECONNRESET);
	assert_string_equal(o.stream, "abc");
}

static void test_oversized(void **state)
{
	struct outcome o = {0};
	struct http_ask ask = get(&o);

	(void)state;
	steps[0] = (struct step){"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world", 0};
	ask.max_len = 10;
	run(&o, &ask);
	assert_int_equal(o.err, -EMSGSIZE);
	assert_string_equal(o.error, "the answer is longer than 10 bytes");
}

static void test_broken(void **state)
{
	static const struct {
		const char *text;
		int err;
	} cases[] = {
		{"220 this is mail\r\n", -EPROTO},
		{"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello", -ECONNRESET},
		{"", -ECONNRESET},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct outcome o = {0};
		struct http_ask ask = get(&o);

		if (i) {
			end(state);
			begin(state);
		}
		if (cases[i].text[0])
			steps[0] = (struct step){cases[i].text, 0};
		ask.url = url;
		run(&o, &ask);
		assert_int_equal(o.err, cases[i].err);
		assert_true(o.error[0]);
	}
}

static void test_idle(void **state)
{
	struct outcome o = {0};
	struct http_ask ask = get(&o);

	(void)state;
	steps[0] = (struct step){"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 0};
	steps[1] = (struct step){NULL, 1};
	ask.chunk = on_chunk;
	ask.idle_ms = 200;
	run(&o, &ask);
	assert_int_equal(o.err, -ETIMEDOUT);
	assert_int_equal(o.status, 200);
	while (!n_closed)
		uv_run(&loop, UV_RUN_ONCE); /* the server sees it */
}

/* Bytes now and then keep a stream, but not a whole answer beyond its time. */
static void test_total(void **state)
{
	struct outcome o = {0};
	struct http_ask ask = get(&o);

	(void)state;
	steps[0] = (struct step){"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", 0};
	steps[1] = (struct step){"h", 100};
	steps[2] = (struct step){"e", 30000};
	ask.total_ms = 300;
	run(&o, &ask);
	assert_int_equal(o.err, -ETIMEDOUT);
}

static void test_refused(void **state)
{
	struct outcome o = {0};
	struct http_ask ask = get(&o);

	(void)state;
	ask.url = "http://127.0.0.1:1/";
	run(&o, &ask);
	assert_int_equal(o.err, -ECONNREFUSED);
	assert_string_equal(o.error, "no connection: Connection refused");
	memset(&o, 0, sizeof(o));
	ask.url = "ftp://127.0.0.1/";
	run(&o, &ask);
	assert_int_equal(o.err, -EINVAL);
}

static void test_cancel(void **state)
{
	struct outcome o = {.cancel_at_chunk = true};
	struct http_ask ask = get(&o);

	(void)state;
	steps[0] = (struct step){"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
				 "3\r\nabc\r\n",
				 0};
	steps[1] = (struct step){NULL, 1};
	ask.chunk = on_chunk;
	run(&o, &ask);
	assert_null(o.request);
	while (!n_closed)
		uv_run(&loop, UV_RUN_ONCE);
	memset(&o, 0, sizeof(o));
	assert_int_equal(http_client_start(client, &ask, &o.request), 0);
	http_client_cancel(&o.request); /* before anything happened */
	assert_int_equal(http_client_start(client, &ask, &o.request), 0);
	/* and one is left to http_client_free() */
}

/* A connection is used again. */
static void test_keeps_connection(void **state)
{
	struct outcome o = {0};
	struct http_ask ask = get(&o);

	(void)state;
	steps[0] = (struct step){"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", 0};
	steps[1] = (struct step){NULL, 1};
	run(&o, &ask);
	memset(request, 0, sizeof(request));
	next_step = 0;
	memset(&o, 0, sizeof(o));
	run(&o, &ask);
	assert_string_equal(o.body, "a");
	assert_int_equal(n_connections, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_whole, begin, end),
		cmocka_unit_test_setup_teardown(test_status_and_retry_after, begin, end),
		cmocka_unit_test_setup_teardown(test_stream, begin, end),
		cmocka_unit_test_setup_teardown(test_stream_that_breaks, begin, end),
		cmocka_unit_test_setup_teardown(test_oversized, begin, end),
		cmocka_unit_test_setup_teardown(test_broken, begin, end),
		cmocka_unit_test_setup_teardown(test_idle, begin, end),
		cmocka_unit_test_setup_teardown(test_total, begin, end),
		cmocka_unit_test_setup_teardown(test_refused, begin, end),
		cmocka_unit_test_setup_teardown(test_cancel, begin, end),
		cmocka_unit_test_setup_teardown(test_keeps_connection, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
