/* SPDX-License-Identifier: Apache-2.0 */
/* How long a container's packets may be. */
#ifndef SEALANE_CNI_MTU_H
#define SEALANE_CNI_MTU_H

#include <stdint.h>

struct cni_config;
struct cni_error;
struct nl;

/* The configured one, else that of the configured device; 0: neither. @nl: of the host.
 * CNI_TRY_AGAIN_LATER: the device is not there; CNI_KERNEL_REFUSED. */
int mtu_find(const struct cni_config *c, struct nl *nl, uint32_t *ret, struct cni_error *e);

#endif
