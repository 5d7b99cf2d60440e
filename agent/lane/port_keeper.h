/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks after a port's device when netlink tells of a change: what the port needs is put
 * back at once, with a line in the log, but not ever faster against somebody who keeps
 * changing it (pace.h). Control thread.
 */
#ifndef SEALANE_LANE_PORT_KEEPER_H
#define SEALANE_LANE_PORT_KEEPER_H

#include <stdbool.h>
#include <uv.h>

#include "pace.h"

struct lane;
struct portdev;

/* Begins as {0}. */
struct port_keeper {
	struct lane *lane;
	const char *name; /* of the port */
	struct portdev *device;
	uv_timer_t *timer; /* runs while what may be wrong has to wait */
	struct pace pace;
	bool told; /* that it cannot be put back */
};

/* @lane, whose lock is taken to look, @name and @device are borrowed until port_keeper_close(). 0
 * or -errno. */
int port_keeper_open(struct port_keeper *k, struct lane *lane, uv_loop_t *loop, const char *name,
		     struct portdev *device);
void port_keeper_close(struct port_keeper *k); /* also one that was never opened */
/* Something may have changed. */
void port_keeper_look(struct port_keeper *k);

#endif
