/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bodies of etcd's JSON gateway, v3: keys and values are base64, each int64 is a string, and
 * fields that are zero are left out (etcd's Documentation/dev-guide/api_grpc_gateway, and
 * api/etcdserverpb/rpc.proto for the names). Pure.
 */
#ifndef SEALANE_NODE_ETCD_WIRE_H
#define SEALANE_NODE_ETCD_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ETCD_ERROR_LEN = 160 };

/* Requests: malloc'd; NULL: no memory. */

/* The keys that begin with @prefix, from @from on (NULL: the first), as they were at @revision
 * (0: are now). */
char *etcd_wire_range(const char *prefix, const char *from, unsigned limit, int64_t revision);
char *etcd_wire_watch(const char *prefix, int64_t revision);
char *etcd_wire_put(const char *key, const char *value, int64_t lease);
char *etcd_wire_grant(uint32_t ttl);
char *etcd_wire_keepalive(int64_t lease);
char *etcd_wire_authenticate(const char *name, const char *password);

/* One key, good until the callback returns. */
struct etcd_kv {
	const char *key; /* without a NUL in it; keys with one are left out */
	const char *value;
	size_t len;
	bool deleted;
};
typedef void (*etcd_kv_fn)(void *ctx, const struct etcd_kv *kv);

struct etcd_range {
	int64_t revision;
	bool more;
};

/* What a line of a watch says besides its events. */
struct etcd_watch {
	int64_t revision, compact_revision;
	bool created, canceled;
	char reason[ETCD_ERROR_LEN]; /* why it was canceled, or an error's words */
	bool failed;		     /* an error took the result's place */
};

/* Answers. False: this is no such answer; then some of the keys may have been told. */
bool etcd_wire_parse_range(const char *text, size_t len, etcd_kv_fn fn, void *ctx,
			   struct etcd_range *ret);
bool etcd_wire_parse_watch(const char *line, size_t len, etcd_kv_fn fn, void *ctx,
			   struct etcd_watch *ret);
bool etcd_wire_parse_grant(const char *text, size_t len, int64_t *ret_lease);
/* *ret_ttl: seconds, 0: the lease is no more. */
bool etcd_wire_parse_keepalive(const char *text, size_t len, int64_t *ret_ttl);
bool etcd_wire_parse_token(const char *text, size_t len, char *token, size_t room);
/* The words of a refusal, on one line; "": none. */
void etcd_wire_parse_error(const char *text, size_t len, char error[ETCD_ERROR_LEN]);

#endif
