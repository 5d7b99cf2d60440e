/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lane's control socket: `get=1` answers with version=, state, capabilities,
 * counters, what drop reasons mean, and VXLAN ports (control_ports.h) in the UAPI's line
 * grammar; `set=1` changes ports (control_set.h). Control thread.
 */
#ifndef SEALANE_LANE_CONTROL_H
#define SEALANE_LANE_CONTROL_H

#include <stdbool.h>

struct lane;
struct textbuf;

enum { CONTROL_VERSION = 1, CAPABILITY_MAX = 24 };

/* What this lane can do and why (or why not); filled at start-up. */
struct capability {
	const char *name;
	bool on;
	char reason[120];
};

struct control_info {
	const char *ifname;
	const char *device_kind; /* "tun" or "tap" */
	struct capability capability[CAPABILITY_MAX];
	unsigned n_capabilities;
};

/* Enters @name, or replaces what was said of it. Never more than
 * CAPABILITY_MAX. */
void capability_note(struct control_info *info, const char *name, bool on, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

void control_get(const struct lane *lane, const struct control_info *info, struct textbuf *out);

#endif
