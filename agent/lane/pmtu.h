/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths narrower than the device. The kernel knows the MTU of a way; we ask it
 * once per peer and change of routes, cut TCP superpackets to fit, and tell the
 * sender of what is too long and may not be fragmented. What may be goes out
 * singly and is fragmented by the kernel (outer packets carry no DF). Per peer:
 * another peer's path is another matter.
 */
#ifndef SEALANE_LANE_PMTU_H
#define SEALANE_LANE_PMTU_H

#include <stdbool.h>
#include <stdint.h>

struct lane;
struct peer;
struct super;
struct worker;

/* Have routes or the peer's endpoint changed since its way was looked at? Any thread. */
bool pmtu_path_changed(const struct lane *lane, const struct peer *peer);
/* Looks at the way again if they have: sticky source, MTU. Before sending. */
void pmtu_check_path(struct lane *lane, struct peer *peer);

/* The kernel refused a run of several datagrams of @len bytes to @peer with @err
 * (they went out singly): look at the path, or use no more runs on it until it
 * changes. */
void pmtu_run_refused(struct lane *lane, struct peer *peer, uint32_t len, int err);

/* Are there to be no runs of datagrams to @peer? Any thread. */
bool pmtu_single_sends(const struct peer *peer);

/* Longest inner packet that needs no fragments on the way to @peer. Any
 * thread. */
uint32_t pmtu_inner(const struct lane *lane, const struct peer *peer);

/*
 * Is the packet (or each segment of the superpacket) too long for the way and
 * forbidden to be fragmented? *ret_mtu is then what its sender is to be told. A
 * TCP superpacket is made to be cut finer instead, and fits.
 */
bool pmtu_exceeded(struct worker *w, struct super *s, uint32_t *ret_mtu);

#endif
