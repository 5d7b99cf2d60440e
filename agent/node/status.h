/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agent tells about itself: JSON on a unix socket for the sealane command
 * (STATUS_SOCKET; one document per connection, then the end), and over HTTP /metrics
 * (Prometheus' text format), /healthz and /readyz. Runs on the agent's loop; no
 * request changes anything, and no key but a public one is ever told. Control thread.
 */
#ifndef SEALANE_NODE_STATUS_H
#define SEALANE_NODE_STATUS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "lane_client.h"

struct config;
struct discovery;
struct lane_waiter;
struct reconcile;

#define STATUS_SOCKET "/run/sealane/agent.sock"

/* What nobody else knows. Times are seconds since 1970, 0: never. */
struct status_agent {
	const char *config_path;
	int64_t started_s;
	int64_t config_loaded_s, config_failed_s; /* last good, last bad reading */
	const char *config_error; /* of the last reading, lines; NULL: it was good */
	pid_t lane_pid;		  /* of a lane we started; 0: none */
};

/* Where all comes from. Before there is a reconciliation, reconcile() is NULL, and discovery(),
 * which may be none at all, as well. */
struct status_source {
	const struct config *(*config)(void *ctx);
	struct reconcile *(*reconcile)(void *ctx);
	const struct discovery *(*discovery)(void *ctx);
	const struct status_agent *(*agent)(void *ctx);
	/* Has the lane tell news without waiting for it, and calls the waiter when they are
	 * there or cannot be had, which may be at once; reconcile_lane_refresh(). */
	void (*refresh)(void *ctx, struct lane_waiter *waiter);
	void (*forget)(void *ctx, struct lane_waiter *waiter); /* it is not called any more */
	/* Such news, while a waiter is being called: 0 after @take had them, which it may take
	 * apart in place and must not keep; or -ENOTCONN (no lane that answers), -ENOMEM. */
	int (*ask_lane)(void *ctx, enum lane_socket which, void (*take)(char *answer, void *arg),
			void *arg);
	void *ctx;
};

enum { STATUS_REASON_LEN = 384 };
/* Is the lane there, and all as it should be? If not, why, in @reason. */
bool status_ready(const struct status_source *source, char reason[STATUS_REASON_LEN]);
/* The document, malloc'd; NULL: no memory. To be made by a waiter. sealane-agent(8) describes
 * its keys. */
char *status_json(const struct status_source *source);
/* The text, malloc'd; NULL: no memory. To be made by a waiter. */
char *status_metrics(const struct status_source *source);

/* At most STATUS_CLIENTS_MAX readers at a time, each for STATUS_PATIENCE_MS. */
enum { STATUS_CLIENTS_MAX = 16, STATUS_PATIENCE_MS = 10000 };
struct status_server;
/* SIGPIPE must be ignored. The unix socket has mode 0600, its folder is made 0755. A stale one is
 * replaced. 0; -EADDRINUSE: an agent answers there; -EEXIST: something else is there; or -errno. */
int status_server_start(uv_loop_t *loop, const char *path, const struct status_source *source,
			struct status_server **ret);
/* NULL is fine. Removes the socket, if it is still ours. */
void status_server_stop(struct status_server *s);

/*
 * Metrics are made anew after so long: readers cannot keep agent and lane busy. A connection
 * ends if no request of its comes and is answered in HTTP_PATIENCE_MS, however busily it does
 * so, and if there are HTTP_CONNECTIONS_MAX the one that did nothing for longest makes room for
 * the next. At most HTTP_WAITING_MAX of them wait for the lane at a time.
 */
enum {
	HTTP_METRICS_KEPT_MS = 250,
	HTTP_CONNECTIONS_MAX = 64,
	HTTP_WAITING_MAX = 32,
	HTTP_PATIENCE_MS = 10000,
};
struct http_server;
struct sockaddr_storage;
/* libmicrohttpd without threads, its descriptor on @loop. 0 or -errno (-EADDRINUSE). */
int http_server_start(uv_loop_t *loop, const struct sockaddr_storage *listen,
		      const struct status_source *source, struct http_server **ret);
/* NULL is fine. */
void http_server_stop(struct http_server *s);
/* Where it listens: a port of 0 became a real one. */
void http_server_address(const struct http_server *s, struct sockaddr_storage *ret);

#endif
