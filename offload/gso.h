/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts a superpacket into the packets that go on the wire: TCP and UDP, plain or
 * inside a UDP tunnel, checksums finished. Pure; one thread per struct.
 * Sources: net/ipv4/{tcp,udp}_offload.c and their IPv6 twins,
 * skb_udp_tunnel_segment(); Documentation/networking/segmentation-offloads.rst.
 *
 * Rules: headers up to and with the innermost L4 header are copied to every
 * segment; lengths, IPv4 IDs (first + i, outer and inner), TCP sequence numbers
 * and all checksums are made anew; FIN and PSH only on the last segment, CWR only
 * on the first; a UDP checksum that comes out as 0 is sent as 0xffff; an outer
 * UDP checksum of 0 without tunnel_csum stays 0. The number of segments is not
 * limited.
 *
 * What the checksum fields of a superpacket hold counts: the pseudo header's sum
 * (innermost L4; outer UDP with tunnel_csum), which may be of other addresses
 * than the IP header's, as with a routing header. One field is the exception: an
 * outer checksum that is neither 0 nor announced by tunnel_csum. The kernel makes
 * those by mistake (NAT of a tunnel without checksums adjusts the 0) and sends
 * them on, wrong; here they are computed from the addresses.
 */
#ifndef SEALANE_OFFLOAD_GSO_H
#define SEALANE_OFFLOAD_GSO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vnet.h"

struct gso {
	const uint8_t *pkt; /* borrowed until the last segment was cut */
	struct vnet vnet;
	uint32_t hdr_len;     /* through the innermost L4 header; 0 without GSO */
	uint32_t payload_len; /* behind it */
	uint32_t seg_payload; /* payload of all but the last segment */
	uint32_t n_segments;  /* >= 1 */
	uint32_t next;	      /* segment gso_next() writes */
	/* Partial sums of the pseudo headers, without the length. */
	uint64_t l4_pseudo;
	uint64_t outer_pseudo;
	bool outer_csum; /* the outer UDP checksum is computed */
};

/*
 * @v describes @pkt of @len bytes and was checked by vnet_check(). A packet
 * without GSO is one segment whose checksum, if partial, is finished. False: the
 * L4 header does not fit (TCP data offset), or a segment would be longer than IP
 * can say; *ret untouched.
 */
bool gso_begin(struct gso *ret, const uint8_t *pkt, size_t len, const struct vnet *v)
	__attribute__((warn_unused_result));

/* Length of segment @i in bytes of IP packet. */
uint32_t gso_segment_len(const struct gso *g, uint32_t i);

/* Writes the next segment at @dst (room for gso_segment_len() bytes; must not
 * overlap the superpacket). Returns its length, 0 when all are cut. */
uint32_t gso_next(struct gso *g, uint8_t *dst);

#endif
