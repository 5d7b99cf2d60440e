/* SPDX-License-Identifier: Apache-2.0 */
/* What one pass over the desired state did and could not do. */
#ifndef SEALANE_NODE_REPORT_H
#define SEALANE_NODE_REPORT_H

#include <stdbool.h>
#include <stddef.h>

enum { REPORT_TEXT_LEN = 256, REPORT_FAULTS_MAX = 16 };

struct report {
	unsigned added, changed, removed;
	unsigned failed;
	/* There is no lane now: its devices are awaited, and not missed. The pass sets it. */
	bool lane_away;
	unsigned awaited; /* things that come by themselves: no faults, but not done either */
	/* The first few failures in words: "route 10.244.2.0/24 via 10.10.0.2 dev ov0:
	 * Network is unreachable". */
	char faults[REPORT_FAULTS_MAX][REPORT_TEXT_LEN];
	/* What it did in words, for the log at level debug, or, of a device or peer, info. */
	void (*log)(const char *text, void *arg); /* may be NULL */
	void *log_arg;
};

/* @err is 0 or -errno; 0 leaves the error's name away. Counts and keeps. */
void report_fault(struct report *r, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void report_did(struct report *r, unsigned *counter, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
