/* SPDX-License-Identifier: Apache-2.0 */
#include "config_values_ip.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "overlay/ipaddr.h"

static bool in_network(const struct ip_addr *addr, const char *network)
{
	const struct ip_prefix host = ip_prefix_of_host(addr);
	struct ip_prefix prefix;

	return ip_prefix_parse(network, &prefix) && ip_prefix_covers(&prefix, &host);
}

static bool is_unspecified(const struct ip_addr *addr)
{
	return in_network(addr, "0.0.0.0/8") || in_network(addr, "::/128");
}

/* Of one host, be it this one or another: what packets may be sent to. */
static bool is_unicast(const struct ip_addr *addr)
{
	return !is_unspecified(addr) && !in_network(addr, "224.0.0.0/4") &&
	       !in_network(addr, "ff00::/8") && !in_network(addr, "255.255.255.255/32");
}

static bool is_of_host(const struct ip_addr *addr, struct config_why *why)
{
	if (is_unicast(addr) && !in_network(addr, "127.0.0.0/8") && !in_network(addr, "::1/128"))
		return true;
	return config_wrong(why, "is no address of a host");
}

bool value_address(const struct config_value *row, const char *text, void *ret,
		   struct config_why *why)
{
	struct ip_addr addr;

	(void)row;
	if (!ip_addr_parse(text, &addr))
		return config_wrong(why, "is no IP address");
	if (!is_of_host(&addr, why))
		return false;
	memcpy(ret, &addr, sizeof(addr));
	return true;
}

bool value_tunnel(const struct config_value *row, const char *text, void *ret,
		  struct config_why *why)
{
	struct ip_addr *slots = ret, addr = {0};

	if (!value_address(row, text, &addr, why))
		return false;
	if (slots[addr.len == 16].len)
		return config_wrong(why, addr.len == 16 ? "is a second IPv6 address"
							: "is a second IPv4 address");
	slots[addr.len == 16] = addr;
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
	if (!is_of_host(&prefix.addr, why))
		return false;
	memcpy(ret, &prefix, sizeof(prefix));
	return true;
}

bool value_network(const struct config_value *row, const char *text, void *ret,
		   struct config_why *why)
{
	struct ip_prefix prefix, network;

	(void)row;
	if (!ip_prefix_parse(text, &prefix))
		return config_wrong(why, "is no IP address with its length");
	network = ip_prefix_network(&prefix);
	if (!ip_prefix_equal(&prefix, &network)) {
		char meant[IP_PREFIX_TEXT_LEN];

		snprintf(why->allowed, sizeof(why->allowed), "%s, if that network is meant",
			 ip_prefix_format(&network, meant));
		return config_wrong(why, "has bits behind its length");
	}
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

/* @any: the unspecified address is one, too. */
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
	if (!is_unicast(&addr) && !(any && is_unspecified(&addr)))
		return config_wrong(why, "has an address that is no host's");
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
