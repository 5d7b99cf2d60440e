/* SPDX-License-Identifier: Apache-2.0 */
#include "special_net.h"

#include <stddef.h>

#include "overlay/ipaddr.h"

static const struct {
	struct ip_prefix network;
	enum special_net special;
} rows[] = {
	{{{{0}, 4}, 8}, SPECIAL_UNSPECIFIED},
	{{{{0}, 16}, 128}, SPECIAL_UNSPECIFIED},
	{{{{127}, 4}, 8}, SPECIAL_LOOPBACK},
	{{{{[15] = 1}, 16}, 128}, SPECIAL_LOOPBACK},
	{{{{0xfe, 0x80}, 16}, 10}, SPECIAL_LINK_LOCAL},
	{{{{224}, 4}, 4}, SPECIAL_MULTICAST},
	{{{{0xff}, 16}, 8}, SPECIAL_MULTICAST},
	{{{{255, 255, 255, 255}, 4}, 32}, SPECIAL_BROADCAST},
	{{{{[10] = 0xff, [11] = 0xff}, 16}, 96}, SPECIAL_MAPPED},
};

enum special_net special_net_of(const struct ip_prefix *network)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (ip_prefix_covers(&rows[i].network, network))
			return rows[i].special;
	}
	return SPECIAL_NONE;
}

enum special_net special_net_of_host(const struct ip_addr *addr)
{
	const struct ip_prefix host = ip_prefix_of_host(addr);

	return special_net_of(&host);
}

bool special_net_is_broadcast(const struct ip_prefix *network, const struct ip_addr *addr)
{
	struct ip_addr last = ip_prefix_network(network).addr;

	if (last.len != 4 || network->len > 30)
		return false;
	for (unsigned bit = network->len; bit < 32; bit++)
		last.bytes[bit / 8] |= (uint8_t)(0x80u >> bit % 8);
	return ip_addr_equal(&last, addr);
}

const char *special_net_name(enum special_net special)
{
	static const char *const names[] = {
		[SPECIAL_NONE] = "",
		[SPECIAL_UNSPECIFIED] = "unspecified",
		[SPECIAL_LOOPBACK] = "loopback",
		[SPECIAL_LINK_LOCAL] = "link-local",
		[SPECIAL_MULTICAST] = "multicast",
		[SPECIAL_BROADCAST] = "broadcast",
		[SPECIAL_MAPPED] = "IPv4 in the form of IPv6",
	};

	return names[special];
}
