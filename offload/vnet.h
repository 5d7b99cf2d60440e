/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The virtio-net header in front of every packet on a TUN/TAP: codec and
 * checks. Three sizes: 10 (v1 without num_buffers), 12, and 24 bytes, which alone
 * can describe UDP-tunnel superpackets. Pure; any thread.
 * Source: include/uapi/linux/virtio_net.h, include/linux/virtio_net.h.
 *
 * Offsets here count from the first byte of the IP packet; on the wire of a TAP
 * they count from the Ethernet header, which is what @l2_len is for.
 */
#ifndef SEALANE_OFFLOAD_VNET_H
#define SEALANE_OFFLOAD_VNET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { VNET_LEN_MIN = 10, VNET_LEN_V1 = 12, VNET_LEN_TUNNEL = 24 };

enum vnet_gso { VNET_GSO_NONE, VNET_GSO_TCP4, VNET_GSO_TCP6, VNET_GSO_UDP };
enum vnet_tunnel { VNET_TUNNEL_NONE, VNET_TUNNEL_V4, VNET_TUNNEL_V6 }; /* outer */

struct vnet {
	bool needs_csum; /* checksum at csum_start + csum_offset is partial */
	bool data_valid; /* the checksums were verified */
	bool ecn;	 /* TCP superpacket with CWR on its first segment */
	enum vnet_gso gso;
	enum vnet_tunnel tunnel;
	bool tunnel_csum; /* the outer UDP checksum is to be computed, too */
	uint16_t gso_size;
	uint16_t hdr_len;      /* a hint on reads, never trusted */
	uint16_t csum_start;   /* innermost L4 header */
	uint16_t csum_offset;  /* 16 TCP, 6 UDP */
	uint16_t outer_l4_off; /* tunnel only: outer UDP header */
	uint16_t inner_l3_off; /* tunnel only: inner IP header */
};

/* Decodes @hdr of @hdr_len (10, 12 or 24) bytes. Bytes 10-23 are ignored unless
 * a tunnel bit is set (old kernels leak stack there). False: unknown gso_type or
 * flags, both tunnel bits, tunnel bits in a short header, ECN on what is not TCP, an
 * offset that lies before the IP packet; *ret untouched. Fields that mean nothing
 * for this packet are 0. */
bool vnet_decode(const uint8_t *hdr, size_t hdr_len, size_t l2_len, struct vnet *ret)
	__attribute__((warn_unused_result));

/*
 * Is @v a possible description of the IP packet @p of @len bytes? Everything a
 * later stage relies on. A superpacket: needs_csum set, gso_size not 0 (nor
 * 0xffff), no fragment; the length fields of IP and UDP say what @len says, or 0
 * where that is beyond 65535; protocol and family as claimed; the innermost L4
 * header really is at csum_start (behind IPv4 options and IPv6 hop-by-hop,
 * routing and destination headers; other extension headers are refused), the
 * outer UDP header at outer_l4_off, an IP header at inner_l3_off >= outer_l4_off
 * + 8, which must be the innermost; csum_offset right for the protocol. A single
 * packet: only that the checksum field lies inside.
 */
bool vnet_check(const struct vnet *v, const uint8_t *p, size_t len)
	__attribute__((warn_unused_result));

/* Encodes into @hdr of @hdr_len bytes, all of which are written. A plain packet
 * (all-zero struct) gives all zeroes. hdr_len and offsets get @l2_len added.
 * False: a tunnel superpacket in a header shorter than 24, an offset that passes
 * 65535 with @l2_len; @hdr untouched. */
bool vnet_encode(const struct vnet *v, uint8_t *hdr, size_t hdr_len, size_t l2_len)
	__attribute__((warn_unused_result));

#endif
