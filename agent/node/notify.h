/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a service manager is told (sd_notify(3)'s protocol) over the unix datagram
 * socket NOTIFY_SOCKET, whose name may be an abstract one. Control thread; waits
 * NOTIFY_PATIENCE_MS for a manager that does not read.
 */
#ifndef SEALANE_NODE_NOTIFY_H
#define SEALANE_NODE_NOTIFY_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { NOTIFY_PATIENCE_MS = 500, NOTIFY_STATUS_LEN = 256 };

struct notify {
	struct sockaddr_un addr;
	socklen_t addr_len;   /* 0: nobody is to be told, and every call is fine */
	uint64_t watchdog_us; /* WATCHDOG=1 is awaited so often; 0: not */
	char status[NOTIFY_STATUS_LEN];
};

/* NOTIFY_SOCKET, and WATCHDOG_USEC where WATCHDOG_PID is ours or not set. 0, or
 * -EINVAL: the socket's name is none, or of another kind (vsock). */
int notify_init(struct notify *n, char *(*getenv_fn)(const char *name));

/* 0 or -errno. */
int notify_ready(const struct notify *n);
int notify_reloading(const struct notify *n); /* notify_ready() ends it */
int notify_stopping(const struct notify *n);
int notify_watchdog(const struct notify *n);
/* One line for a person; only told if it is not the last one. */
int notify_status(struct notify *n, const char *text);

#endif
