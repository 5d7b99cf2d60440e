/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes away what the agent made in this network namespace and nothing else: what
 * bears our marks (overlay/owner.h). Routes, then neighbours, addresses, devices; the
 * lane's own device last, with which the lane ends and its ports go; and the sockets of
 * a lane that was killed. One thread.
 */
#ifndef SEALANE_CLI_CLEANUP_H
#define SEALANE_CLI_CLEANUP_H

#include <stdbool.h>

enum cleanup_kind {
	CLEANUP_ROUTE,
	CLEANUP_NEIGHBOUR,
	CLEANUP_ADDRESS,
	CLEANUP_DEVICE,
	CLEANUP_PORT, /* of a lane that ended for its device's going */
	CLEANUP_SOCKET,
	N_CLEANUP_KINDS
};

const char *cleanup_kind_name(enum cleanup_kind kind); /* "route" */

/* A device that had routes, neighbours or addresses of ours and does not bear our mark
 * (any more): it is left as it is, for it may be somebody else's by now. */
struct cleanup_left {
	const char *name, *kind, *alias; /* the callback's while it runs */
};

struct cleanup {
	bool dry_run; /* only looks */
	/* Called for each thing, in words; @err: 0 it is gone (or would go), else -errno.
	 * May be NULL. */
	void (*tell)(enum cleanup_kind kind, const char *text, int err, void *arg);
	void (*tell_left)(const struct cleanup_left *left, void *arg); /* may be NULL */
	void *arg;
	unsigned left;
	/* What it did: something that was gone already counts as neither. */
	unsigned removed[N_CLEANUP_KINDS], failed[N_CLEANUP_KINDS];
};

/* 0; or -errno where something could not be looked at, the rest is done all the same:
 * *ret_what says what it was. */
int cleanup_run(struct cleanup *c, const char **ret_what);

#endif
