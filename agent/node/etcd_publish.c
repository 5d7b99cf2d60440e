/* SPDX-License-Identifier: Apache-2.0 */
#include "etcd_publish.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <sodium.h>

#include "etcd_record.h"
#include "log.h"
#include "loop.h"

enum {
	FIRST_MS = 500,
	MAX_MS = 15000,
	ALIVE_MAX_MS = 300000, /* however long the lease is */
	AGAIN_MS = 1000,       /* after somebody changed it: two nodes of one name do not race */
};

static void on_timer(uv_timer_t *timer);

static void plan(struct etcd_publish *p, uint64_t ms)
{
	uv_timer_start(p->timer, on_timer, ms, 0);
}

static void fail(struct etcd_publish *p)
{
	etcd_session_rotate(&p->session);
	plan(p, backoff_next_ms(&p->backoff, randombytes_random()));
	p->told(p->ctx);
}

/* Its lease is kept at thirds of its time. */
static void went_well(struct etcd_publish *p)
{
	const uint64_t third_ms = (uint64_t)p->ttl * 1000 / 3;

	backoff_reset(&p->backoff);
	if (p->fault[0]) {
		p->fault[0] = '\0';
		p->told(p->ctx);
	}
	if (!p->is_put) /* somebody removed it meanwhile */
		plan(p, AGAIN_MS);
	else
		plan(p, third_ms < ALIVE_MAX_MS ? third_ms : ALIVE_MAX_MS);
}

static void misunderstood(struct etcd_publish *p)
{
	snprintf(p->fault, sizeof(p->fault), "%s: this is no answer of etcd",
		 etcd_session_url(&p->session));
	fail(p);
}

static void on_token(void *ctx, const struct http_answer *answer)
{
	struct etcd_publish *p = ctx;

	p->request = NULL;
	if (etcd_session_take_token(&p->session, answer, p->fault))
		plan(p, 0);
	else
		fail(p);
}

static void on_granted(void *ctx, const struct http_answer *answer)
{
	struct etcd_publish *p = ctx;

	p->request = NULL;
	if (!etcd_session_judge(&p->session, answer, p->fault))
		fail(p);
	else if (!etcd_wire_parse_grant(answer->body, answer->len, &p->lease))
		misunderstood(p);
	else
		plan(p, 0);
}

static void on_put(void *ctx, const struct http_answer *answer)
{
	struct etcd_publish *p = ctx;

	p->request = NULL;
	if (!answer->err && answer->status == 404) { /* the lease is unknown */
		p->lease = 0;
		plan(p, AGAIN_MS);
	} else if (!etcd_session_judge(&p->session, answer, p->fault)) {
		fail(p);
	} else {
		p->is_put = true;
		log_info("this node's record is in etcd");
		went_well(p);
	}
}

static void on_alive(void *ctx, const struct http_answer *answer)
{
	struct etcd_publish *p = ctx;
	int64_t ttl;

	p->request = NULL;
	if (!etcd_session_judge(&p->session, answer, p->fault)) {
		fail(p);
	} else if (!etcd_wire_parse_keepalive(answer->body, answer->len, &ttl)) {
		misunderstood(p);
	} else if (ttl > 0) {
		went_well(p);
	} else {
		log_info("the lease of this node's record has ended, it gets another");
		p->lease = 0;
		p->is_put = false;
		plan(p, 0);
	}
}

static char *own_key(const struct config *config)
{
	char *key;

	return asprintf(&key, "%s/nodes/%s", config->etcd.prefix, config->node.name) < 0 ? NULL
											 : key;
}

static void ask(struct etcd_publish *p, const char *path, char *body,
		void (*done)(void *ctx, const struct http_answer *answer))
{
	const struct etcd_ask a = {.path = path, .body = body, .done = done, .ctx = p};

	const int err = etcd_session_ask(&p->session, &a, &p->request);

	if (err) {
		snprintf(p->fault, sizeof(p->fault), "%s: %s", etcd_session_url(&p->session),
			 strerror(-err));
		fail(p);
	}
}

static void step(struct etcd_publish *p)
{
	char *key;

	if (p->request || !p->record)
		return;
	if (etcd_session_needs_token(&p->session)) {
		if (etcd_session_ask_token(&p->session, on_token, p, &p->request, p->fault))
			fail(p);
	} else if (!p->lease) {
		p->ttl = p->session.config->etcd.lease_ttl;
		ask(p, "/v3/lease/grant", etcd_wire_grant(p->ttl), on_granted);
	} else if (!p->is_put) {
		key = own_key(p->session.config);
		ask(p, "/v3/kv/put", key ? etcd_wire_put(key, p->record, p->lease) : NULL, on_put);
		free(key);
	} else {
		ask(p, "/v3/lease/keepalive", etcd_wire_keepalive(p->lease), on_alive);
	}
}

static void on_timer(uv_timer_t *timer)
{
	step(timer->data);
}

/* Where others reach this node */

static bool parse_address(const char *text, struct sockaddr_storage *ret)
{
	struct sockaddr_in *in = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;

	memset(ret, 0, sizeof(*ret));
	if (inet_pton(AF_INET, text, &in->sin_addr) == 1)
		in->sin_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1)
		in6->sin6_family = AF_INET6;
	return ret->ss_family;
}

/* Of the world outside of this host and of the tunnel? */
static bool leads_here(const struct config *c, const struct sockaddr_storage *ss)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)ss;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)ss;
	struct ip_addr addr = {.len = ss->ss_family == AF_INET ? 4 : 16};

	if (ss->ss_family == AF_INET) {
		memcpy(addr.bytes, &in->sin_addr, 4);
		if (ntohl(in->sin_addr.s_addr) >> 24 == 127 || !in->sin_addr.s_addr)
			return false;
	} else {
		memcpy(addr.bytes, &in6->sin6_addr, 16);
		if (IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr) ||
		    IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr) ||
		    IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr))
			return false;
	}
	for (unsigned i = 0; i < 2; i++) {
		if (ip_addr_equal(&addr, &c->node.tunnel[i]))
			return false;
	}
	for (size_t i = 0; i < c->n_overlays; i++) {
		for (size_t j = 0; j < c->overlays[i].n_addresses; j++) {
			if (ip_addr_equal(&addr, &c->overlays[i].addresses[j].addr))
				return false;
		}
	}
	return true;
}

/* The source that the kernel would take for somewhere far away: 192.0.2.0/24 is nobody's
 * (RFC 5737). Nothing is sent. */
static bool source_of_default_route(struct sockaddr_storage *ret)
{
	struct sockaddr_in far = {.sin_family = AF_INET, .sin_port = htons(9)};
	socklen_t len = sizeof(*ret);
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool ok;

	if (fd < 0)
		return false;
	inet_pton(AF_INET, "192.0.2.254", &far.sin_addr);
	ok = !connect(fd, (const struct sockaddr *)&far, sizeof(far)) &&
	     !getsockname(fd, (struct sockaddr *)ret, &len);
	close(fd);
	return ok;
}

static void find_endpoint(const struct config *c, const char *local, struct sockaddr_storage *ret)
{
	if (c->node.endpoint.ss_family) {
		*ret = c->node.endpoint;
		return;
	}
	if (!(parse_address(local, ret) && leads_here(c, ret)) &&
	    !(source_of_default_route(ret) && leads_here(c, ret))) {
		memset(ret, 0, sizeof(*ret));
		return;
	}
	if (ret->ss_family == AF_INET)
		((struct sockaddr_in *)ret)->sin_port = htons(c->node.listen_port);
	else
		((struct sockaddr_in6 *)ret)->sin6_port = htons(c->node.listen_port);
}

/* What is there, and what should be */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* That of the record that is there, if it is of this node's key: a restart makes it no newer. */
static void find_since(struct etcd_publish *p, const char *text, size_t len)
{
	uint8_t key[NODE_KEY_LEN];
	uint64_t since;

	if (p->since)
		return;
	p->since = text && etcd_record_identity(text, len, key, &since) &&
				   !memcmp(key, p->public_key, sizeof(key))
			   ? since
			   : now_ns();
}

static void set_record(struct etcd_publish *p, const char *local)
{
	struct sockaddr_storage endpoint;
	char *record;

	find_endpoint(p->session.config, local, &endpoint);
	record = etcd_record_format(p->session.config, p->public_key, &endpoint, p->since);
	if (!record)
		return;
	if (!p->record || strcmp(record, p->record) != 0)
		p->is_put = false;
	free(p->record);
	p->record = record;
}

void etcd_publish_seen(struct etcd_publish *p, const char *text, size_t len, const char *local)
{
	const bool is_first = !p->record;
	bool same;

	find_since(p, text, len);
	if (local)
		set_record(p, local);
	same = text && p->record && strlen(p->record) == len && !memcmp(p->record, text, len);
	/* What is on its way there is seen a moment later. */
	if (p->request && !p->is_put && !is_first)
		return;
	p->is_put = p->is_put && same;
	if (!p->is_put)
		plan(p, is_first ? 0 : AGAIN_MS);
}

void etcd_publish_config(struct etcd_publish *p, const struct config *config)
{
	http_client_cancel(&p->request);
	p->session.config = config;
	p->session.endpoint = 0;
	sodium_memzero(p->session.token, sizeof(p->session.token));
	p->is_put = false;
	p->lease = 0; /* of another time, or another etcd */
}

int etcd_publish_init(struct etcd_publish *p, uv_loop_t *loop, struct http_client *client,
		      const struct config *config, const uint8_t public_key[NODE_KEY_LEN])
{
	*p = (struct etcd_publish){
		.session = {.client = client, .config = config},
		.backoff = {.first_ms = FIRST_MS, .max_ms = MAX_MS},
	};
	memcpy(p->public_key, public_key, sizeof(p->public_key));
	p->timer = loop_timer_new(loop, p);
	return p->timer ? 0 : -ENOMEM;
}

void etcd_publish_done(struct etcd_publish *p)
{
	http_client_cancel(&p->request);
	loop_timer_free(&p->timer);
	free(p->record);
	sodium_memzero(p->session.token, sizeof(p->session.token));
}
