/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UDP ports of tunnels as a lane knows them, from three sources: the known ones
 * (encap_table_default()), those that a command on the control socket set, and those of the
 * environment. Of two that name one port the later in this order counts. Lane's thread,
 * between two packets.
 */
#ifndef SEALANE_LANE_ENCAP_PORTS_H
#define SEALANE_LANE_ENCAP_PORTS_H

#include <stdbool.h>
#include <stdint.h>

#include "offload/encap.h"
#include "port.h"

struct lane;
struct textbuf;

enum { ENCAP_OPS_MAX = 2 * ENCAP_PORTS_MAX };

/* ENCAP_NONE: what was set for the port is taken back. */
struct encap_op {
	uint32_t line; /* for people: where it was read */
	uint16_t port;
	enum encap_kind kind;
};

/* One command. Begins as {0}. */
struct encap_change {
	bool replace; /* first, all that was set is taken back */
	struct encap_op op[ENCAP_OPS_MAX];
	unsigned n;
};

/* False: too many operations. */
bool encap_change_add(struct encap_change *c, const struct encap_op *op);
/* In their order. 0; with nothing changed and one line in @err_text: -ENOENT (nothing was
 * set for the port), -ENOSPC (more than ENCAP_PORTS_MAX, those of the other sources
 * included). */
int encap_change_apply(struct lane *lane, const struct encap_change *c,
		       char err_text[PORT_ERR_LEN]);

/* Is there room for the known ones and @environment? Else it may not be given to: */
bool encap_ports_fit(const struct encap_table *environment);
void encap_ports_environment(struct lane *lane, const struct encap_table *environment);

/* "encap=PORT KIND SOURCE" for each, by source in the order above: default, set,
 * environment. */
void encap_ports_put(const struct lane *lane, struct textbuf *out);

#endif
