/* SPDX-License-Identifier: Apache-2.0 */
/* IP addresses and prefixes as values, of either family. Pure; any thread. */
#ifndef SEALANE_OVERLAY_IPADDR_H
#define SEALANE_OVERLAY_IPADDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes in network order; those behind the address are zero, so that two equal
 * addresses are equal in memory. */
struct ip_addr {
	uint8_t bytes[16];
	uint8_t len; /* 4, 16, or 0: none */
};

struct ip_prefix {
	struct ip_addr addr; /* may have host bits: an interface's address */
	uint8_t len;	     /* <= 8 * addr.len */
};

enum { IP_ADDR_TEXT_LEN = 46, IP_PREFIX_TEXT_LEN = 50 }; /* with the NUL */

int ip_addr_family(const struct ip_addr *addr); /* AF_INET, AF_INET6, AF_UNSPEC */
/* Of 4 or 16 bytes. False: another length, *ret untouched. */
bool ip_addr_from_bytes(const void *bytes, size_t len, struct ip_addr *ret);
bool ip_addr_equal(const struct ip_addr *a, const struct ip_addr *b);
/* < 0, 0, > 0: IPv4 before IPv6, then by bytes. For qsort() and bsearch(). */
int ip_addr_compare(const struct ip_addr *a, const struct ip_addr *b);
int ip_prefix_compare(const struct ip_prefix *a, const struct ip_prefix *b);
bool ip_prefix_equal(const struct ip_prefix *a, const struct ip_prefix *b);
/* Does @outer hold @inner, or the same? */
bool ip_prefix_covers(const struct ip_prefix *outer, const struct ip_prefix *inner);
/* The prefix without host bits. */
struct ip_prefix ip_prefix_network(const struct ip_prefix *prefix);
/* /32 or /128. */
struct ip_prefix ip_prefix_of_host(const struct ip_addr *addr);

/* "10.0.0.1", "fd00::1"; no zone, no leading zeros. False: *ret untouched. */
bool ip_addr_parse(const char *text, struct ip_addr *ret);
/* "10.0.0.1/24"; without "/N" the whole address. False: *ret untouched. */
bool ip_prefix_parse(const char *text, struct ip_prefix *ret);
/* Return @buf; "none" for no address. */
const char *ip_addr_format(const struct ip_addr *addr, char buf[IP_ADDR_TEXT_LEN]);
const char *ip_prefix_format(const struct ip_prefix *prefix, char buf[IP_PREFIX_TEXT_LEN]);

#endif
