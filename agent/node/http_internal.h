/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the HTTP server share: connections and their times (http_server.c), and
 * what is answered (http_pages.c). Control thread. */
#ifndef SEALANE_NODE_HTTP_INTERNAL_H
#define SEALANE_NODE_HTTP_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <uv.h>

#include <microhttpd.h>

#include "lane_waiter.h"
#include "status.h"

/* One connection, in a place of its own for its life. */
struct http_client {
	struct MHD_Connection *connection;
	int fd;
	uint64_t due_ms; /* it ends then */
	bool waits;	 /* for the lane: libmicrohttpd does not look at it meanwhile */
	TAILQ_ENTRY(http_client) entry;
};
TAILQ_HEAD(http_clients, http_client);

struct http_server {
	uv_loop_t *loop;
	const struct status_source *source;
	uint64_t patience_ms;
	struct MHD_Daemon *mhd;
	uv_poll_t *mhd_poll;

	int listen_fd;
	struct sockaddr_storage address;
	uv_poll_t *listen_poll;
	uint64_t pause_due_ms; /* no connection is accepted until then; 0: they are */

	struct http_client places[HTTP_CONNECTIONS_MAX];
	struct http_clients clients, unused; /* the former by when they are due */
	unsigned n_clients;
	uv_timer_t *timer;

	struct lane_waiter waiter; /* of all that wait */
	unsigned n_waiting;
	char *metrics;
	uint64_t metrics_ms; /* when they were made */
};

/* http_server.c, for tests: less patience. */
int http_server_start_with(uv_loop_t *loop, const struct sockaddr_storage *listen,
			   const struct status_source *source, uint64_t patience_ms,
			   struct http_server **ret);

/* libmicrohttpd gets a turn. */
void http_server_wake(struct http_server *s);

/* http_pages.c: libmicrohttpd's handler of requests, its context is the server. */
enum MHD_Result http_pages_answer(void *ctx, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_len, void **seen);
void http_pages_init(struct http_server *s);
/* Lets all that wait go on. */
void http_pages_stop(struct http_server *s);

#endif
