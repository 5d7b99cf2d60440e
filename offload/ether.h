/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The link layer of an Ethernet frame: MAC addresses and VLAN tags in front of the
 * packet. Pure; any thread. Sources: IEEE 802.3, 802.1Q.
 */
#ifndef SEALANE_OFFLOAD_ETHER_H
#define SEALANE_OFFLOAD_ETHER_H

#include <stdbool.h>
#include <stdint.h>

#include "be.h"

enum { ETHER_MAC_LEN = 6, ETHER_SRC_OFF = 6, ETHER_HDR_LEN = 14 };
enum { ETHER_TAG_LEN = 4, ETHER_TAGS_MAX = 2, ETHER_L2_MAX = 14 + 2 * 4 };
enum { ETHER_IPV4 = 0x0800, ETHER_IPV6 = 0x86dd, ETHER_VLAN = 0x8100, ETHER_QINQ = 0x88a8 };

static inline bool ether_is_multicast(const uint8_t *mac)
{
	return mac[0] & 1;
}

/* Length of the link layer, up to two VLAN tags looked through, and the type of
 * what follows. @len >= ETHER_HDR_LEN. */
static inline uint32_t ether_l2_len(const uint8_t *frame, uint32_t len, uint16_t *ret_type)
{
	uint32_t off = ETHER_HDR_LEN;
	uint16_t type = be16_load(frame + off - 2);
	unsigned n;

	for (n = 0; n < ETHER_TAGS_MAX && (type == ETHER_VLAN || type == ETHER_QINQ) &&
		    len - off >= ETHER_TAG_LEN;
	     n++) {
		off += ETHER_TAG_LEN;
		type = be16_load(frame + off - 2);
	}
	*ret_type = type;
	return off;
}

#endif
