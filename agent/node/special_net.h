/* SPDX-License-Identifier: Apache-2.0 */
/* Networks with a meaning of their own (RFC 6890), as far as it matters here. Pure; any
 * thread. */
#ifndef SEALANE_NODE_SPECIAL_NET_H
#define SEALANE_NODE_SPECIAL_NET_H

#include <stdbool.h>

struct ip_addr;
struct ip_prefix;

enum special_net {
	SPECIAL_NONE,
	SPECIAL_UNSPECIFIED, /* 0.0.0.0/8, :: */
	SPECIAL_LOOPBACK,
	SPECIAL_LINK_LOCAL, /* IPv6: of each link, so it says nothing without a device */
	SPECIAL_MULTICAST,
	SPECIAL_BROADCAST,
	SPECIAL_MAPPED, /* ::ffff:0:0/96: an IPv4 address, which no IPv6 packet has */
};

/* The one that @network lies in as a whole; what only contains one is not special. */
enum special_net special_net_of(const struct ip_prefix *network);
enum special_net special_net_of_host(const struct ip_addr *addr);
/* Is @addr the last of the IPv4 network that @network is, or is an address of? Networks
 * of one or two addresses have no such. */
bool special_net_is_broadcast(const struct ip_prefix *network, const struct ip_addr *addr);
/* "loopback"; "" for SPECIAL_NONE. */
const char *special_net_name(enum special_net special);

#endif
