/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of kernel_probe.h: the packets and who they are for. */
#ifndef SEALANE_LANE_KERNEL_PROBE_INTERNAL_H
#define SEALANE_LANE_KERNEL_PROBE_INTERNAL_H

#include <stdint.h>

#include "kernel_probe.h"
#include "offload/ip.h"

enum {
	PROBE_OUTER_PORT = 4789,
	PROBE_INNER_PORT = 4000,
	PROBE_VNI = 1,
	PROBE_UDP_LEN = 8,
	PROBE_VXLAN_LEN = 8,
	PROBE_ETHER_LEN = 14,
	PROBE_HEAD_LEN = IPV4_HDR_MIN_LEN + PROBE_UDP_LEN,
	PROBE_INNER_LEN = PROBE_VXLAN_LEN + PROBE_ETHER_LEN + PROBE_HEAD_LEN,
	PROBE_PAYLOAD_LEN = 32,
	PROBE_SEGMENT_LEN = PROBE_INNER_LEN + PROBE_PAYLOAD_LEN,
	PROBE_LAST_SHORTER = 7, /* some releases refuse a short last segment */
	PROBE_PACKET_MAX = PROBE_HEAD_LEN + KERNEL_PROBE_DATAGRAMS * PROBE_SEGMENT_LEN,
	PROBE_SINGLE = KERNEL_PROBE_DATAGRAMS, /* number of the one sent alone */
};

/* Our ends; documentation addresses, all of prefix length 24. */
extern const uint8_t kernel_probe_tun[4], kernel_probe_vxlan[4], kernel_probe_mac[6];

/*
 * An IP packet with @n VXLAN datagrams behind one UDP header, as the merger leaves it
 * (offload/gro.h): the checksum field holds the pseudo header's sum, whatever the
 * datagrams had in it. Each carries bytes that all are its number, from @first on;
 * the last of several is shorter. Writes at most PROBE_PACKET_MAX bytes to @p, and
 * returns how many.
 */
uint32_t kernel_probe_build(uint8_t *p, uint8_t first, uint32_t n);

#endif
