/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes with a lane: its ports, as it tells of them while it runs, and the sockets of one
 * that was killed. One thread.
 */
#ifndef SEALANE_CLI_CLEANUP_LANE_H
#define SEALANE_CLI_CLEANUP_LANE_H

#include <net/if.h>

struct link_info;

/* The name that a lane made its device with, which is that of its sockets, whatever the device
 * is called by now. */
void cleanup_lane_name(const struct link_info *device, char ret[IFNAMSIZ]);

/* The ports of a lane that answers; none of another. 0, or what @fn returned if not 0. */
int cleanup_lane_ports(const char *lane, int (*fn)(const char *port, void *arg), void *arg);

/* Calls @fn with the path of each of the lane's sockets that nobody listens on. */
void cleanup_lane_sockets(const char *lane, void (*fn)(const char *path, void *arg), void *arg);

#endif
