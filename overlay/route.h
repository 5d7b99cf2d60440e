/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to the kernel's routing. Control thread. */
#ifndef SEALANE_OVERLAY_ROUTE_H
#define SEALANE_OVERLAY_ROUTE_H

#include <stdint.h>

struct nl;

/* Interface by which a packet with @fwmark to @dst (4 or 16 bytes by @family)
 * leaves. 0, or -errno from the kernel (-ENETUNREACH: no route). */
int route_get_oif(struct nl *nl, int family, const void *dst, uint32_t fwmark, int *ret_oif);

#endif
