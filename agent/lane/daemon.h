/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lane in the real world: the event loop (libuv) around a struct lane, its
 * device, sockets, netlink and the two configuration sockets. Its functions are called by
 * one thread; what others there are, it makes itself.
 */
#ifndef SEALANE_LANE_DAEMON_H
#define SEALANE_LANE_DAEMON_H

#include "cpus.h"
#include "device.h"

struct daemon;

struct daemon_args {
	struct device_args device;
	unsigned n_workers; /* threads that carry packets; 1: the loop does it itself */
	char workers_reason[CPUS_REASON_LEN];
	int uapi_fd; /* WG_UAPI_FD, or -1 */
};

enum { DAEMON_ERR_LEN = 256 };

/* Of the words that SEALANE_WORKERS takes: NULL or "": 1; "auto": cpus.h; or a number up to
 * CREW_MAX (crew.h). 0 or -EINVAL, then nothing is written. */
int daemon_workers_parse(const char *text, unsigned *ret, char reason[CPUS_REASON_LEN]);

/* The parts that must exist before the process goes to the background: the
 * device. On failure -errno and one line in @err. */
int daemon_new(const struct daemon_args *args, struct daemon **ret, char err[DAEMON_ERR_LEN]);
/* Loop, sockets, netlink, timers; after this the lane answers. The same errors. */
int daemon_start(struct daemon *d, char err[DAEMON_ERR_LEN]);
/* Until SIGTERM, SIGINT, SIGHUP, or the device or the UAPI socket's file is gone. */
void daemon_run(struct daemon *d);
/* Closes everything and frees; NULL and half-built are fine. */
void daemon_free(struct daemon *d);

#endif
