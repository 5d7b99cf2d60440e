/* SPDX-License-Identifier: Apache-2.0 */
#include "sync.h"

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>

#include "member.h"
#include "overlay/ipaddr.h"
#include "overlay/route.h"
#include "sync_kernel.h"

/* IP, UDP and WireGuard's own 32 bytes. */
enum { PATH_HEADERS4 = 60, PATH_HEADERS6 = 80 };

/* What is left of the way's MTU, or 0: there is no way, or it is the lane itself, which
 * would be a loop. */
static uint32_t usable_mtu(struct nl *nl, const struct ip_addr *endpoint, uint32_t fwmark,
			   int lane_ifindex)
{
	const uint32_t headers = endpoint->len == 4 ? PATH_HEADERS4 : PATH_HEADERS6;
	struct route_way way;

	if (route_get_way(nl, ip_addr_family(endpoint), endpoint->bytes, fwmark, &way) < 0 ||
	    way.oif == lane_ifindex || way.mtu <= headers)
		return 0;
	return way.mtu - headers;
}

uint32_t sync_path_mtu(struct nl *nl, const struct member *members, size_t n_members,
		       uint32_t fwmark, const char *lane_ifname)
{
	uint32_t smallest = 0;
	int lane_ifindex = 0;

	/* Without an answer no index is the lane's. */
	(void)sync_ifindex(nl, lane_ifname, &lane_ifindex);
	for (size_t i = 0; i < n_members; i++) {
		struct ip_addr endpoint;
		uint32_t mtu;

		if (!sync_endpoint(&members[i], &endpoint))
			continue;
		mtu = usable_mtu(nl, &endpoint, fwmark, lane_ifindex);
		if (mtu && (!smallest || mtu < smallest))
			smallest = mtu;
	}
	return smallest;
}
