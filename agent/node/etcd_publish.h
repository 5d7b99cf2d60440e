/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This node's own record in etcd: put with a lease, which is kept alive, made again where it is
 * no more, and put again where somebody removed or changed it. It stays when the agent ends, as
 * the lane does, until the lease does. Control thread.
 */
#ifndef SEALANE_NODE_ETCD_PUBLISH_H
#define SEALANE_NODE_ETCD_PUBLISH_H

#include <uv.h>

#include "backoff.h"
#include "etcd_session.h"

struct etcd_publish {
	struct etcd_session session;
	void (*told)(void *ctx); /* fault may be another one; the owner sets it */
	void *ctx;
	uv_timer_t *timer;
	struct http_request *request;
	struct backoff backoff;
	uint8_t public_key[NODE_KEY_LEN];
	int64_t lease; /* 0: none */
	char *record;  /* what is to be there; NULL: not known yet */
	bool is_put;
	uint64_t since;
	uint32_t ttl; /* of the lease */
	char fault[ETCD_FAULT_LEN];
};

/* 0 or -ENOMEM. @client and @config are borrowed. */
int etcd_publish_init(struct etcd_publish *p, uv_loop_t *loop, struct http_client *client,
		      const struct config *config, const uint8_t public_key[NODE_KEY_LEN]);
/*
 * What etcd has now: @text, NULL: none. @local is the address that this node has towards etcd,
 * which is where others reach it if the configuration says nothing and it leads anywhere; NULL: as
 * before.
 */
void etcd_publish_seen(struct etcd_publish *p, const char *text, size_t len, const char *local);
/* The configuration is another one; etcd_publish_seen() follows. */
void etcd_publish_config(struct etcd_publish *p, const struct config *config);
void etcd_publish_done(struct etcd_publish *p);

#endif
