/* SPDX-License-Identifier: Apache-2.0 */
#include "config_values_ip.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "overlay/ipaddr.h"
#include "special_net.h"

/* Of a host, be it this one or another. @link_local: that, too, where the device is known. */
static bool is_of_host(const struct ip_addr *addr, bool link_local, struct config_why *why)
{
	switch (special_net_of_host(addr)) {
	case SPECIAL_NONE:
		return true;
	case SPECIAL_LINK_LOCAL:
		return link_local || config_wrong(why, "is link-local, which every link has");
	case SPECIAL_MAPPED:
		return config_wrong(why, "is an IPv4 address in the form of IPv6");
	default:
		return config_wrong(why, "is no address of a host");
	}
}

static bool parse_address(const char *text, bool link_local, struct ip_addr *ret,
			  struct config_why *why)
{
	struct ip_addr addr;

	if (!ip_addr_parse(text, &addr))
		return config_wrong(why, "is no IP address");
	if (!is_of_host(&addr, link_local, why))
		return false;
	*ret = addr;
	return true;
}

bool value_address(const struct config_value *row, const char *text, void *ret,
		   struct config_why *why)
{
	(void)row;
	return parse_address(text, true, ret, why);
}

bool value_tunnel(const struct config_value *row, const char *text, void *ret,
		  struct config_why *why)
{
	struct ip_addr *slots = ret, addr = {0};

	(void)row;
	if (!parse_address(text, false, &addr, why))
		return false;
	if (slots[addr.len == 16].len)
		return config_wrong(why, addr.len == 16 ? "is a second IPv6 address"
							: "is a second IPv4 address");
	slots[addr.len == 16] = addr;
	return true;
}

/* An IPv4 network has two addresses that are no host's, if it has more than two. */
static bool is_between_ends(const struct ip_prefix *p, struct config_why *why)
{
	const struct ip_prefix network = ip_prefix_network(p);

	if (special_net_is_broadcast(&network, &p->addr))
		return config_wrong(why, "is the broadcast address of its network");
	if (p->addr.len == 4 && p->len < 31 && ip_prefix_equal(p, &network))
		return config_wrong(why, "is the network and not an address in it");
	return true;
}

bool value_own_address(const struct config_value *row, const char *text, void *ret,
		       struct config_why *why)
{
	struct ip_prefix prefix;

	(void)row;
	if (!ip_prefix_parse(text, &prefix))
		return config_wrong(why, "is no IP address with its length");
	if (!strchr(text, '/'))
		return config_wrong(why, "has no length");
	if (!is_of_host(&prefix.addr, true, why) || !is_between_ends(&prefix, why))
		return false;
	memcpy(ret, &prefix, sizeof(prefix));
	return true;
}

static bool parse_network(const char *text, struct ip_prefix *ret, struct config_why *why)
{
	struct ip_prefix prefix, network;

	if (!ip_prefix_parse(text, &prefix))
		return config_wrong(why, "is no IP address with its length");
	network = ip_prefix_network(&prefix);
	if (!ip_prefix_equal(&prefix, &network)) {
		char meant[IP_PREFIX_TEXT_LEN];

		snprintf(why->allowed, sizeof(why->allowed), "%s, if that network is meant",
			 ip_prefix_format(&network, meant));
		return config_wrong(why, "has bits behind its length");
	}
	*ret = prefix;
	return true;
}

static bool refuse_special(enum special_net special, struct config_why *why)
{
	snprintf(why->wrong, sizeof(why->wrong), "is %s", special_net_name(special));
	snprintf(why->allowed, sizeof(why->allowed), "networks of other hosts");
	return false;
}

/* 0.0.0.0/8 remains when the rest of IPv4 is written down in pieces. */
static bool is_piece_of_all(const struct ip_prefix *p)
{
	return p->len < 8 * p->addr.len;
}

bool value_network(const struct config_value *row, const char *text, void *ret,
		   struct config_why *why)
{
	struct ip_prefix prefix = {0};
	enum special_net special;

	(void)row;
	if (!parse_network(text, &prefix, why))
		return false;
	special = special_net_of(&prefix);
	if (special != SPECIAL_NONE &&
	    (special != SPECIAL_UNSPECIFIED || !is_piece_of_all(&prefix)))
		return refuse_special(special, why);
	memcpy(ret, &prefix, sizeof(prefix));
	return true;
}

/* Routing protocols send to groups and from link-local addresses, which the lane lets
 * through to the peer that has them among its allowed-ips. */
bool value_allowed_ip(const struct config_value *row, const char *text, void *ret,
		      struct config_why *why)
{
	struct ip_prefix prefix = {0};
	enum special_net special;

	if (!parse_network(text, &prefix, why))
		return false;
	special = special_net_of(&prefix);
	if (special != SPECIAL_MULTICAST && special != SPECIAL_LINK_LOCAL)
		return value_network(row, text, ret, why);
	memcpy(ret, &prefix, sizeof(prefix));
	return true;
}

static bool parse_port(const char *text, uint16_t *ret)
{
	const struct config_value row = {.kind = KIND_NUMBER, .size = 2, .min = 1, .max = 65535};
	struct config_why why;

	return config_value_parse(&row, text, ret, &why);
}

/* Copies the address before the port to @host and returns the port's text; NULL: told. */
static const char *split(const char *text, char host[IP_ADDR_TEXT_LEN], struct config_why *why)
{
	const bool bracket = text[0] == '[';
	const char *colon = strrchr(text, ':'), *end = colon;

	if (bracket) {
		text++;
		end = strchr(text, ']');
		colon = end && end[1] == ':' ? end + 1 : NULL;
	}
	if (!colon) {
		config_wrong(why, "has no port");
		return NULL;
	}
	if (!bracket && memchr(text, ':', (size_t)(end - text))) {
		config_wrong(why, "has an IPv6 address without brackets");
		return NULL;
	}
	if (end - text >= IP_ADDR_TEXT_LEN) {
		config_wrong(why, "has no IP address (names are not looked up)");
		return NULL;
	}
	memcpy(host, text, (size_t)(end - text));
	host[end - text] = '\0';
	return colon + 1;
}

static void to_sockaddr(const struct ip_addr *addr, uint16_t port, struct sockaddr_storage *ret)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

	memset(ret, 0, sizeof(*ret));
	if (addr->len == 4) {
		memcpy(&in.sin_addr, addr->bytes, 4);
		memcpy(ret, &in, sizeof(in));
	} else {
		memcpy(&in6.sin6_addr, addr->bytes, 16);
		memcpy(ret, &in6, sizeof(in6));
	}
}

/* What a socket can be bound to or send to. @any: the unspecified address, too. */
static bool is_of_socket(const struct ip_addr *addr, bool any, struct config_why *why)
{
	switch (special_net_of_host(addr)) {
	case SPECIAL_NONE:
	case SPECIAL_LOOPBACK:
		return true;
	case SPECIAL_LINK_LOCAL:
		return config_wrong(why, "has a link-local address, which would need a zone");
	case SPECIAL_MAPPED:
		return config_wrong(why, "has an IPv4 address in the form of IPv6");
	case SPECIAL_UNSPECIFIED:
		return any || config_wrong(why, "has an address that is no host's");
	default:
		return config_wrong(why, "has an address that is no host's");
	}
}

static bool parse_socket(const char *text, bool any, struct sockaddr_storage *ret,
			 struct config_why *why)
{
	char host[IP_ADDR_TEXT_LEN];
	struct ip_addr addr;
	uint16_t port;
	const char *port_text = split(text, host, why);

	if (!port_text)
		return false;
	if (strchr(host, '%'))
		return config_wrong(why, "has a zone");
	if (!ip_addr_parse(host, &addr) || (addr.len == 16) != (text[0] == '['))
		return config_wrong(why, "has no IP address (names are not looked up)");
	if (!is_of_socket(&addr, any, why))
		return false;
	if (!parse_port(port_text, &port))
		return config_wrong(why, "has a port that is not 1 to 65535");
	to_sockaddr(&addr, port, ret);
	return true;
}

bool value_endpoint(const struct config_value *row, const char *text, void *ret,
		    struct config_why *why)
{
	(void)row;
	return parse_socket(text, false, ret, why);
}

bool value_listen(const struct config_value *row, const char *text, void *ret,
		  struct config_why *why)
{
	struct config_http *http = ret;

	(void)row;
	if (!strcmp(text, "off")) {
		*http = (struct config_http){0};
		return true;
	}
	if (!parse_socket(text, true, &http->listen, why))
		return false;
	http->on = true;
	return true;
}
