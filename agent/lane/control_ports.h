/* SPDX-License-Identifier: Apache-2.0 */
/*
 * VXLAN ports in answers of the control socket, in the keys that control_set.c takes;
 * keys that are only told begin with port_. Control thread.
 */
#ifndef SEALANE_LANE_CONTROL_PORTS_H
#define SEALANE_LANE_CONTROL_PORTS_H

struct lane;
struct port;
struct textbuf;

/* Their number, then a block each, oldest first. */
void control_ports_put(const struct lane *lane, struct textbuf *out);
/* The answer to a get with @lines: port=NAME, with its tables. Whole, with errno. */
void control_ports_get(const struct lane *lane, const char *lines, struct textbuf *out);

#endif
