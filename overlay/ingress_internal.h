/* SPDX-License-Identifier: Apache-2.0 */
/* What ingress_drop.c needs of ingress_nft.c. */
#ifndef SEALANE_OVERLAY_INGRESS_INTERNAL_H
#define SEALANE_OVERLAY_INGRESS_INTERNAL_H

/* A socket that owns a table with the chain on @ifname; closing it removes both.
 * -errno otherwise. */
int ingress_nft_open(int ifindex, const char *ifname);

#endif
