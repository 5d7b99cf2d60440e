/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where other nodes are known from besides the configuration's `peers`: providers, each of
 * which keeps a list of members right for as long as it runs. What one cannot tell now stays as
 * it told it last, and before it has told everything once (it is not synced) nothing that
 * members may need is taken away: the agent makes no pass. Control thread.
 */
#ifndef SEALANE_NODE_DISCOVERY_H
#define SEALANE_NODE_DISCOVERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "config.h"
#include "member.h"

/* What a provider shows of itself. The arrays are its own, good until the loop runs again. */
struct discovery_view {
	const char *kind;  /* "directory", "etcd" */
	const char *where; /* what it reads from */
	bool synced;	   /* everything was told once */
	int64_t synced_s;  /* since 1970: the last time all could be read; 0: never */
	const struct member *members;
	size_t n_members;
	const char *faults; /* lines, NULL: none. What they concern is as it was before */
};

/*
 * A kind of provider. Its state begins with start() and ends with stop(); changed() is its word
 * that view() tells something else now, which it must not say from within start().
 */
struct discovery_ops {
	/* Does the configuration ask for one? */
	bool (*wanted)(const struct config *config);
	/* 0 or -errno (memory, descriptors), then *ret is untouched. What cannot be read is no
	 * failure. @config is borrowed until reconfigure() replaces it. */
	int (*start)(uv_loop_t *loop, const struct config *config, void (*changed)(void *ctx),
		     void *ctx, void **ret);
	void (*reconfigure)(void *provider, const struct config *config);
	void (*view)(const void *provider, struct discovery_view *ret);
	void (*stop)(void *provider);
};
extern const struct discovery_ops discovery_directory, discovery_etcd;

enum { DISCOVERY_KINDS = 2 };

struct discovery;

/* Starts those that @config, borrowed as above, asks for. @changed may be called from the loop,
 * not from within. 0 or -errno. */
int discovery_start(uv_loop_t *loop, const struct config *config, void (*changed)(void *ctx),
		    void *ctx, struct discovery **ret);
/* Starts, stops and changes what differs. 0 or -errno: what could not be started is not there. */
int discovery_config(struct discovery *d, const struct config *config);
void discovery_stop(struct discovery *d); /* NULL is fine */

/* Has every provider told everything once? */
bool discovery_synced(const struct discovery *d);
/* The members of all: shallow copies, whose array alone is freed (and wiped) by
 * discovery_members_free(). 0 or -ENOMEM. */
int discovery_members(const struct discovery *d, struct member **ret, size_t *ret_n);
void discovery_members_free(struct member *members, size_t n);
/* One after another; *cursor begins as 0. False: no more. */
bool discovery_next(const struct discovery *d, size_t *cursor, struct discovery_view *ret);

#endif
