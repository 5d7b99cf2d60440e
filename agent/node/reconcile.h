/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps lane and kernel as they are desired, for ever: a full comparison when the
 * configuration or a member changes, when the lane comes back, when the kernel tells
 * of a change that may concern us (gathered for RECONCILE_SETTLE_MS), after lost
 * events, and every RECONCILE_PERIOD_MS. Runs on the agent's loop. Control thread.
 */
#ifndef SEALANE_NODE_RECONCILE_H
#define SEALANE_NODE_RECONCILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "lane_client.h"
#include "member.h"
#include "report.h"

struct config;
struct desired;
struct desired_facts;
struct lane_waiter;
struct monitor;
struct monitor_event;
struct nl;
struct reconcile;
struct station_watch;
struct sync_lane_memory;

enum {
	RECONCILE_PERIOD_MS = 60000,
	RECONCILE_SETTLE_MS = 100,	 /* events of the kernel are gathered so long */
	RECONCILE_LANE_RETRY_MS = 200,	 /* a lane that is not there is looked for so often */
	RECONCILE_FAULT_RETRY_MS = 5000, /* after a pass with failures; doubles to */
	RECONCILE_FAULT_RETRY_MAX_MS = 60000,
	RECONCILE_LANE_ANSWER_MS = 2000, /* a lane that tells nothing for so long is silent */
	RECONCILE_LANE_PULSE_MS = 2000,	 /* one that answered is asked again after so long */
};

enum { LANE_REASON_LEN = 128 };

/* For status, metrics and health. Times are of uv_now(), 0: never. */
struct reconcile_state {
	bool lane_there;     /* and answers */
	bool lane_owned;     /* somebody holds its sockets, whether it answers or not */
	bool lane_silent;    /* that one does not answer */
	bool lane_uapi_only; /* a WireGuard without ports answers under that name */
	char lane_reason[LANE_REASON_LEN]; /* why there is none: "is awaited" */
	bool synced;			   /* the last pass did all, with the lane that is there */
	uint64_t synced_ms, pass_ms;	   /* last pass without failures; last pass */
	uint64_t n_passes, n_failed_passes;
	uint64_t n_added, n_changed, n_removed; /* of all passes */
	uint64_t n_conflicts;			/* claims that lost, now */
	uint64_t n_overruns;			/* netlink events lost */
	uint64_t n_lane_returns;
	double last_pass_s;
	struct report last; /* of the last pass */
};

/*
 * What a pass does, as functions: reconcile_system is the real thing (sync.h,
 * desired.h, lane_client.h, station_watch.h, overlay/monitor.h), tests have their own. Stages of
 * the kernel's tables come in the order in which they are added.
 */
typedef void (*reconcile_kernel_fn)(struct nl *nl, const struct desired *d, struct report *r);
struct reconcile_stage {
	reconcile_kernel_fn add, remove;
};
enum { RECONCILE_STAGES = 4 }; /* devices, addresses, stations, routes */

struct reconcile_ops {
	int (*build)(const struct config *config, const struct member *members, size_t n_members,
		     const struct desired_facts *facts, struct desired **ret);
	void (*desired_free)(struct desired *d);
	uint32_t (*path_mtu)(struct nl *nl, const struct member *members, size_t n_members,
			     uint32_t fwmark, const char *lane_ifname);

	struct sync_lane_memory *(*memory_new)(void);
	void (*memory_free)(struct sync_lane_memory *m);
	int (*lane_connect)(const char *ifname, struct lane_client **ret, bool *ret_uapi_only);
	void (*lane_close)(struct lane_client *c);
	int (*lane_fd)(const struct lane_client *c, enum lane_socket which);
	int (*lane_look)(struct lane_client *c, enum lane_socket which);
	int (*lane_look_more)(struct lane_client *c, enum lane_socket which, char **ret);
	int (*lane_add)(struct lane_client *c, const struct desired *d,
			struct sync_lane_memory *memory, struct report *r);
	int (*lane_remove)(struct lane_client *c, const struct desired *d,
			   struct sync_lane_memory *memory, struct report *r);
	int (*ports_add)(struct lane_client *c, const struct desired *d, struct report *r);
	int (*ports_remove)(struct lane_client *c, const struct desired *d, struct report *r);
	/* Before all: what is ours and keeps something that is desired from being made. */
	reconcile_kernel_fn make_way;
	struct reconcile_stage kernel[RECONCILE_STAGES];

	/* After a pass: which news about neighbours want another. */
	int (*watch_new)(struct nl *nl, const struct desired *d, struct station_watch **ret);
	void (*watch_free)(struct station_watch *w);
	bool (*watch_wants_pass)(const struct station_watch *w, const struct monitor_event *ev);

	int (*monitor_open)(struct monitor **ret); /* neighbours, too */
	void (*monitor_close)(struct monitor *m);
	int (*monitor_fd)(const struct monitor *m);
	int (*monitor_read)(struct monitor *m,
			    void (*fn)(const struct monitor_event *ev, void *arg), void *arg);
};
extern const struct reconcile_ops reconcile_system;

/* In milliseconds; those of the enum above if all are 0. */
struct reconcile_times {
	uint64_t period, settle, lane_retry, fault_retry, fault_retry_max;
};
struct reconcile_lane_times {
	uint64_t answer, pulse;
};

struct reconcile_args {
	uv_loop_t *loop;
	const struct reconcile_ops *ops;
	struct reconcile_times times;
	struct reconcile_lane_times lane_times;
	uint8_t private_key[NODE_KEY_LEN];
	/* Called after every pass: readiness may have changed. */
	void (*on_pass)(void *ctx);
	/* May be NULL. Called when lane_owned changed, also before reconcile_start() is over. */
	void (*on_lane)(void *ctx);
	void *ctx;
};

/* @config is borrowed until reconcile_config() replaces it. 0 or -errno. */
int reconcile_start(const struct reconcile_args *args, const struct config *config,
		    struct reconcile **ret);
/* Until the pass, which follows at once, reconcile_desired() is NULL: the old @config
 * is free to go. */
void reconcile_config(struct reconcile *r, const struct config *config);
/* Replaces all members of discovery; copied. Passes follow at once. 0 or -ENOMEM. */
int reconcile_members(struct reconcile *r, const struct member *members, size_t n_members);
/* While held no pass is made: what is there stays, be it right or not. */
void reconcile_hold(struct reconcile *r, bool held);
/* Leaves everything as it is in lane and kernel. */
void reconcile_stop(struct reconcile *r);

const struct reconcile_state *reconcile_state(const struct reconcile *r);
/* What the last pass was for; NULL before the first. Good until the loop runs again. */
const struct desired *reconcile_desired(const struct reconcile *r);
/*
 * Has the lane tell news, without waiting for it: calls the waiter when they are there, or no
 * longer to be expected, or at once where there is no lane that answers. forget: it is not
 * called, if it still waits.
 */
void reconcile_lane_refresh(struct reconcile *r, struct lane_waiter *waiter);
void reconcile_lane_forget(struct reconcile *r, struct lane_waiter *waiter);
/* What they are, while waiters are called: answers to a get; NULL: none. */
const char *reconcile_lane_news(const struct reconcile *r, enum lane_socket which);
/* The connection to the lane was found to be of no use. */
void reconcile_lane_lost(struct reconcile *r, int err);

#endif
