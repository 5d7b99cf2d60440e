/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The view of one IP packet: parsed once, then passed along as offsets. Pure;
 * any thread. Sources: RFC 791, RFC 8200.
 */
#ifndef SEALANE_OFFLOAD_IP_H
#define SEALANE_OFFLOAD_IP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	IP_PROTO_ICMP = 1,
	IP_PROTO_TCP = 6,
	IP_PROTO_UDP = 17,
	IP_PROTO_ICMP6 = 58,
	IP_PROTO_NONE = 59, /* IPv6: no next header */
};
enum { IPV4_HDR_MIN_LEN = 20, IPV6_HDR_LEN = 40 };

struct ip_view {
	uint8_t version;     /* 4 or 6 */
	uint8_t tos;	     /* DSCP << 2 | ECN */
	uint8_t proto;	     /* of the upper layer, after extension headers */
	bool fragment;	     /* any fragment, the first one included */
	bool first_fragment; /* or not a fragment: the L4 header is here */
	bool has_l4;	     /* proto/l4_off describe an upper-layer header
				(false: not the first fragment, extension chain
				unreadable or no next header; they tell then
				where the walk stopped). Not that any of its
				bytes are there: l4_off may equal total_len */
	uint8_t addr_len;    /* 4 or 16 */
	uint8_t src_off, dst_off;
	uint16_t l4_off;
	uint32_t total_len; /* by the header, <= the bytes given */
};

/*
 * Parses @p. False: not IPv4/IPv6, header truncated, IPv4 header length < 20 or
 * beyond total length, total length beyond @len; *ret is untouched then.
 * Extension headers of IPv6 (hop-by-hop, routing, fragment, destination, AH,
 * mobility, HIP, shim6) are walked with every length checked; a chain that runs
 * out of the packet or is longer than 16 headers leaves has_l4 false and is
 * still a valid packet for routing (the addresses are known).
 */
bool ip_parse(const uint8_t *p, size_t len, struct ip_view *ret)
	__attribute__((warn_unused_result));

/* Reads / replaces the two ECN bits of a parsed packet; set keeps the IPv4
 * header checksum right by incremental update (RFC 1624). */
uint8_t ip_ecn(const struct ip_view *v);
void ip_set_ecn(uint8_t *p, struct ip_view *v, uint8_t ecn);

#endif
