/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control socket's `set=1`: one command about one VXLAN port, or about the UDP ports of
 * tunnels, as lines of text, done as a whole at its end; the keys are described in sealaned(8). No
 * socket here. Control thread.
 */
#ifndef SEALANE_LANE_CONTROL_SET_H
#define SEALANE_LANE_CONTROL_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "encap_ports.h"
#include "port_change.h"

struct lane;

struct control_set {
	struct lane *lane;
	struct port_change change;
	struct encap_change encap;
	uint32_t line;		  /* number of the last one, the first after "set=1" is 1 */
	uint32_t seen;		  /* keys that were given, of those that may be given once */
	bool has_port, has_encap; /* what it is about, once that is clear */
	char error[PORT_ERR_LEN]; /* "": nothing was refused */
};

void control_set_begin(struct control_set *s, struct lane *lane);
/* One `key=value` line without its newline. 0, -EINVAL, -ENOSPC (too many
 * operations), -ENOMEM. Nothing is done yet. */
int control_set_line(struct control_set *s, const char *line, size_t len);
/* The empty line. As port_change_apply() or encap_change_apply(); -EINVAL also for an empty
 * command. */
int control_set_finish(struct control_set *s);
/* Why one of these two refused: what, where, and what would be right. */
const char *control_set_error(const struct control_set *s);
/* Frees what lines brought, whether or not it was done. */
void control_set_end(struct control_set *s);

#endif
