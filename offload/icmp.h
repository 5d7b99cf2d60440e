/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ICMP and ICMPv6 errors built from the packet that caused them. Pure.
 * Sources: RFC 792, RFC 1122 3.2.2, RFC 1812 4.3.2, RFC 4443 2.4 and 3.
 */
#ifndef SEALANE_OFFLOAD_ICMP_H
#define SEALANE_OFFLOAD_ICMP_H

#include <stddef.h>
#include <stdint.h>

#include "ip.h"

enum icmp_reason {
	ICMP_NO_PEER,	     /* v4 host unreachable (3/1), v6 address unreachable (1/3) */
	ICMP_NO_ENDPOINT,    /* the same codes: what the kernel's WireGuard sends */
	ICMP_PACKET_TOO_BIG, /* v4 3/4 with next-hop MTU, v6 type 2 */
};

/* Enough for any error built here. */
enum { ICMP_ERROR_MAX_LEN = 1280 };

/*
 * Builds in @out (of @out_size >= ICMP_ERROR_MAX_LEN bytes) the error about the
 * packet @p described by @v, from @src (address of the same family that the
 * error comes from; v->addr_len bytes) to the packet's source. @mtu is used by
 * ICMP_PACKET_TOO_BIG only. Quotes at most 548 bytes of an IPv4 packet and up to
 * the 1280-byte limit of an IPv6 one.
 *
 * Returns the length, or 0 when no error may be sent about this packet: it is an
 * ICMP error itself (or an ICMP whose type cannot be read), a fragment other
 * than the first, its source is unspecified, loopback (v4), multicast or
 * broadcast, or its destination is multicast or broadcast (ICMPv6 packet too
 * big is allowed for a multicast destination), its IPv6 extension chain is
 * unreadable (an error may hide behind it), or @out_size is too small. Whether
 * an IPv4 packet may be fragmented instead is the caller's question.
 */
size_t icmp_error(const uint8_t *p, const struct ip_view *v, enum icmp_reason reason,
		  const uint8_t *src, uint32_t mtu, uint8_t *out, size_t out_size);

#endif
