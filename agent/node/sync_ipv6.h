/* SPDX-License-Identifier: Apache-2.0 */
/* Why the kernel takes nothing of IPv6 for a device. Control thread. */
#ifndef SEALANE_NODE_SYNC_IPV6_H
#define SEALANE_NODE_SYNC_IPV6_H

enum { SYNC_IPV6_WHY_LEN = 160, SYNC_IPV6_MTU_MIN = 1280 /* RFC 8200, section 5 */ };

/* What is wrong with the device and what to do about it, where an address, a route or a
 * neighbour of IPv6 was refused with @err; "" if IPv6 is not the reason. Returns @buf. */
const char *sync_ipv6_why(int ifindex, int err, char buf[SYNC_IPV6_WHY_LEN]);

#endif
