/* SPDX-License-Identifier: Apache-2.0 */
/*
 * VXLAN as the lane's own ports speak it: the outer headers put in front of a
 * frame, and the strict check of what comes in. Pure; any thread.
 * Sources: RFC 7348 sections 4.3, 5; RFC 6040 and drivers/net/vxlan for ECN, TTL
 * and the source port.
 */
#ifndef SEALANE_OFFLOAD_VXLAN_H
#define SEALANE_OFFLOAD_VXLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ip.h"
#include "vnet.h"

enum {
	VXLAN_ETHER_LEN = 14,
	VXLAN_OUTER4_LEN = 20 + 8 + 8,
	VXLAN_OUTER6_LEN = 40 + 8 + 8,
	VXLAN_OUTER_MAX_LEN = VXLAN_OUTER6_LEN,
	VXLAN_SOURCE_PORT_MIN = 49152, /* RFC 6335 dynamic range, RFC 7348 5 */
};

/* What a port puts in front of every frame to one destination. */
struct vxlan_template {
	uint8_t addr_len; /* 4 or 16 */
	uint8_t local[16], remote[16];
	uint16_t dst_port; /* host order */
	uint32_t vni;	   /* 24 bits */
	uint8_t ttl;	   /* 0: 64 */
	uint8_t dscp;	   /* of the outer header, 6 bits */
	bool inherit_dscp; /* take the inner packet's instead, 0 if it is not IP */
	uint16_t ip_id;	   /* of the outer IPv4 header; a superpacket's segments count
			      on from it. GRO wants consecutive ones: a port that
			      gives all packets the same keeps receivers from merging */
	bool checksum;	   /* a real outer UDP checksum (IPv6: zero only when false
			      and both ends agreed) */
};

/*
 * Writes the outer headers right before the Ethernet frame @frame of @len bytes
 * (VXLAN_OUTER_MAX_LEN bytes are free there) and turns *v, which described the
 * frame (offsets from the Ethernet header; need not be checked), into the
 * description of the packet (offsets from the outer IP header):
 *
 *  single       All checksums are finished, the inner one in place if it was
 *               partial; *v becomes all zero.
 *  superpacket  A tunnel superpacket, which vnet_check() accepts and gso_begin(),
 *               unless it refuses a data offset or a segment's length, cuts into
 *               what pushing each segment would give, with outer IPv4 IDs t->ip_id,
 *               the next and so on. The outer lengths are those of the whole
 *               packet, 0 where they do not fit; the outer checksum is partial.
 *
 * The outer IPv4 header has no DF, the IPv6 header no flow label. ECN:
 * the inner bits, CE becoming ECT(0), as ip_tunnel does for a packet that starts
 * here; they and the DSCP are found behind up to two VLAN tags, and are 0 when the
 * frame is not IP.
 *
 * Returns the outer length put in front, or 0, nothing changed, for: a frame
 * shorter than an Ethernet header; a single packet that is too long for IP or whose
 * partial checksum lies outside or starts before the L4 header can; a superpacket that *v does not
 * describe as plain TCP or UDP behind the Ethernet header. The last is above all the superpacket of
 * a nested tunnel, whether *v says so or, as a packet socket reads it, gives a csum_start behind a
 * second IP header: the caller cuts it with gso.h first, as a tunnel superpacket, and pushes each
 * segment.
 */
uint32_t vxlan_push(const struct vxlan_template *t, uint8_t *frame, uint32_t len, struct vnet *v);

/* Source port of the frame's flow, in [VXLAN_SOURCE_PORT_MIN, 65535]: a hash over
 * addresses, protocol and ports of what is inside (the ports of TCP, UDP, UDP-Lite,
 * SCTP and DCCP; fragments: addresses alone), or over the MAC addresses when that is
 * not IP. The same for a superpacket and each of its segments. */
uint16_t vxlan_source_port(const uint8_t *frame, uint32_t len);

struct vxlan_view {
	uint32_t vni;
	uint16_t dst_port;
	uint32_t frame_off; /* Ethernet header, from the outer IP header */
};

/*
 * Is the packet @p parsed as @v (not a fragment) VXLAN to UDP port @dst_port? The
 * I flag set, UDP length exact, room for an Ethernet header, checksum valid or
 * zero. All other flags and reserved bytes are ignored, as RFC 7348 section 5 has
 * it; the kernel's driver refuses what it does not know, since a flag may mean that
 * something else than a frame follows (VXLAN-GPE). The RFC is followed here so
 * that a sender with an extension is still understood: it has been configured, by
 * VTEP, port and VNI, to send frames.
 */
bool vxlan_parse(const uint8_t *p, const struct ip_view *v, uint16_t dst_port,
		 struct vxlan_view *ret) __attribute__((warn_unused_result));

#endif
