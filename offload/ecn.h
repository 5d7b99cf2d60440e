/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ECN across the tunnel, as the kernel's WireGuard does it
 * (include/net/inet_ecn.h; RFC 6040 normal mode on the way in). Pure.
 */
#ifndef SEALANE_OFFLOAD_ECN_H
#define SEALANE_OFFLOAD_ECN_H

#include <stdint.h>

enum ecn { ECN_NOT_ECT = 0, ECN_ECT1 = 1, ECN_ECT0 = 2, ECN_CE = 3 };

/* Outer ECN bits for a packet with @inner bits: the same, but CE becomes ECT(0)
 * (INET_ECN_encapsulate: the outer path starts unmarked). */
uint8_t ecn_encap(uint8_t inner);

enum ecn_decap {
	ECN_KEEP,	 /* leave the inner header alone */
	ECN_MARK_CE,	 /* set inner CE */
	ECN_MARK_ECT1,	 /* outer ECT(1) on inner ECT(0): set inner ECT(1) */
	ECN_KEEP_BROKEN, /* outer CE on inner Not-ECT: deliver, but count it */
};

enum ecn_decap ecn_decap(uint8_t outer, uint8_t inner);

#endif
