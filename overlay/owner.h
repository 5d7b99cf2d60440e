/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the kernel's objects are known to be ours: what is not marked so is somebody
 * else's and never changed or removed.
 *
 *  routes, rules, addresses, neighbours  OWNER_PROTOCOL (rtm_protocol, IFA_PROTO,
 *                                        NDA_PROTOCOL); ip(8) shows "proto 94"
 *  FDB entries                           NTF_EXT_LEARNED on a device that is ours
 *  devices                               their alias begins with OWNER_ALIAS
 */
#ifndef SEALANE_OVERLAY_OWNER_H
#define SEALANE_OVERLAY_OWNER_H

enum { OWNER_PROTOCOL = 94 };
#define OWNER_ALIAS "sealane"
/* With its name behind it: of a lane's own device, by which it is found under another. */
#define OWNER_LANE_ALIAS OWNER_ALIAS " lane "
/* With the port's name behind it: of the lane end of a port's veth pair, by which the
 * overlay end is found whatever its name is by then. */
#define OWNER_PORT_ALIAS OWNER_ALIAS " port "

/*
 * What the CNI plugin makes for containers goes with them, whatever agents do: it has marks of
 * its own, which no agent takes for its own. The alias, of the host end of a container's veth
 * pair, has hashes of the network and the attachment behind it (agent/cni/attachment.h).
 */
enum { OWNER_CNI_PROTOCOL = 95 };
#define OWNER_CNI_ALIAS "cni " OWNER_ALIAS " "

#endif
