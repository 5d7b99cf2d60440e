/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the HTTP server share: a server on a loop, with a lane that answers when
 * a test says. */
#ifndef SEALANE_TESTS_NODE_HTTP_WORLD_H
#define SEALANE_TESTS_NODE_HTTP_WORLD_H

#include "loop_reader.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "agent/node/http_internal.h"
#include "agent/node/status.h"

/* Take the place of the real ones. */
static void fake_refresh(void *ctx, struct lane_waiter *waiter);
static void fake_forget(void *ctx, struct lane_waiter *waiter);
static const struct status_source source = {.refresh = fake_refresh, .forget = fake_forget};
static struct lane_waiter *waiting; /* for the lane */
static bool is_lane_slow;
static unsigned n_refreshes;
static bool is_ready;
static unsigned n_metrics;

char *status_metrics(const struct status_source *s)
{
	assert_ptr_equal(s, &source);
	n_metrics++;
	return strdup("a_metric 1\n");
}

bool status_ready(const struct status_source *s, char reason[STATUS_REASON_LEN])
{
	assert_ptr_equal(s, &source);
	snprintf(reason, STATUS_REASON_LEN, "%s", is_ready ? "" : "lane sl0 has ended");
	return is_ready;
}

static void fake_refresh(void *ctx, struct lane_waiter *waiter)
{
	assert_null(ctx);
	assert_false(waiter->waits);
	n_refreshes++;
	if (is_lane_slow) {
		waiting = waiter;
		waiter->waits = true;
	} else {
		waiter->told(waiter->ctx);
	}
}

static void fake_forget(void *ctx, struct lane_waiter *waiter)
{
	assert_null(ctx);
	assert_ptr_equal(waiting, waiter);
	waiting = NULL;
	waiter->waits = false;
}

static inline void tell_waiting(void)
{
	struct lane_waiter *waiter = waiting;

	assert_non_null(waiter);
	waiting = NULL;
	waiter->waits = false;
	waiter->told(waiter->ctx);
}

struct world {
	uv_loop_t loop;
	struct http_server *server;
	struct sockaddr_storage address;
};

static inline struct sockaddr_storage localhost(uint16_t port)
{
	struct sockaddr_storage ss = {0};
	struct sockaddr_in *in = (struct sockaddr_in *)&ss;

	in->sin_family = AF_INET;
	in->sin_port = htons(port);
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return ss;
}

/* A patience that no test outlasts, and one that ends in its course. */
enum { LONG_MS = 10 * READER_GUARD_MS, SHORT_MS = 300 };

static inline int start_at(struct world *w, const struct sockaddr_storage *address,
			   uint64_t patience_ms)
{
	int err;

	memset(w, 0, sizeof(*w));
	assert_int_equal(uv_loop_init(&w->loop), 0);
	err = http_server_start_with(&w->loop, address, &source, patience_ms, &w->server);
	if (!err)
		http_server_address(w->server, &w->address);
	is_ready = true;
	is_lane_slow = false;
	waiting = NULL;
	n_metrics = n_refreshes = 0;
	return err;
}

static inline void begin_with(struct world *w, uint64_t patience_ms)
{
	const struct sockaddr_storage any_port = localhost(0);

	assert_int_equal(start_at(w, &any_port, patience_ms), 0);
}

static inline void begin(struct world *w)
{
	begin_with(w, LONG_MS);
}

static inline void end(struct world *w)
{
	http_server_stop(w->server);
	uv_run(&w->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&w->loop), 0);
}

static inline int connect_to(const struct sockaddr_storage *address)
{
	int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)address, sizeof(*address)), 0);
	return fd;
}

static inline void ask(struct world *w, const char *request, struct reader *r)
{
	int fd = connect_to(&w->address);

	assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
	reader_begin(r, &w->loop, fd);
	reader_wait(r);
}

#define REST " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

#endif
