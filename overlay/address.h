/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of network devices. Control thread. */
#ifndef SEALANE_OVERLAY_ADDRESS_H
#define SEALANE_OVERLAY_ADDRESS_H

#include <stdint.h>

struct nl;

/* Gives the device an IPv4 address (network order) with its prefix. 0, -EINVAL for
 * arguments that cannot be, or -errno from the kernel (-EEXIST: it has it already,
 * -ENODEV). */
int address_add4(struct nl *nl, int ifindex, const uint8_t address[4], unsigned prefix_len);

#endif
