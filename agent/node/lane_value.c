/* SPDX-License-Identifier: Apache-2.0 */
#include "lane_value.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include <sodium.h>

bool lane_value_number(const char *text, uint64_t max, uint64_t *ret)
{
	uint64_t number = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		const uint64_t digit = (uint64_t)(*text - '0');

		if (*text < '0' || *text > '9' || digit > max || number > (max - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	*ret = number;
	return true;
}

bool lane_value_bool(const char *text, bool *ret)
{
	if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
		return false;
	*ret = *text == 't';
	return true;
}

bool lane_value_key(const char *hex, uint8_t ret[KEY_LEN])
{
	uint8_t key[KEY_LEN];
	const char *end;
	size_t len;
	bool ok = strlen(hex) == 2 * (size_t)KEY_LEN &&
		  !sodium_hex2bin(key, sizeof(key), hex, 2 * (size_t)KEY_LEN, NULL, &len, &end) &&
		  len == KEY_LEN;

	if (ok)
		memcpy(ret, key, KEY_LEN);
	sodium_memzero(key, sizeof(key));
	return ok;
}

bool lane_value_mac(const char *text, uint8_t ret[6])
{
	uint8_t mac[6];
	const char *end;
	size_t len;

	if (strlen(text) != LANE_MAC_TEXT_LEN - 1 ||
	    sodium_hex2bin(mac, sizeof(mac), text, LANE_MAC_TEXT_LEN - 1, ":", &len, &end) != 0 ||
	    len != sizeof(mac) || *end)
		return false;
	memcpy(ret, mac, sizeof(mac));
	return true;
}

const char *lane_value_format_mac(const uint8_t mac[6], char buf[LANE_MAC_TEXT_LEN])
{
	snprintf(buf, LANE_MAC_TEXT_LEN, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
		 mac[3], mac[4], mac[5]);
	return buf;
}

/* Endpoints */

/* A device may be called "7": names come first, as in getaddrinfo(). */
static bool parse_zone(const char *zone, uint32_t *ret)
{
	const unsigned ifindex = if_nametoindex(zone);
	uint64_t number = ifindex;

	if (!ifindex && !lane_value_number(zone, UINT32_MAX, &number))
		return false;
	*ret = (uint32_t)number;
	return true;
}

/* @host is what stands between the brackets, and is written to. */
static bool parse_in6(char *host, uint16_t port, struct sockaddr_storage *ret)
{
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	char *zone = strchr(host, '%');

	if (zone) {
		*zone++ = '\0';
		if (!parse_zone(zone, &in6.sin6_scope_id))
			return false;
	}
	if (inet_pton(AF_INET6, host, &in6.sin6_addr) != 1)
		return false;
	*ret = (struct sockaddr_storage){0};
	memcpy(ret, &in6, sizeof(in6));
	return true;
}

static bool parse_in4(const char *host, uint16_t port, struct sockaddr_storage *ret)
{
	struct sockaddr_in in4 = {.sin_family = AF_INET, .sin_port = htons(port)};

	if (inet_pton(AF_INET, host, &in4.sin_addr) != 1)
		return false;
	*ret = (struct sockaddr_storage){0};
	memcpy(ret, &in4, sizeof(in4));
	return true;
}

bool lane_value_endpoint(const char *text, struct sockaddr_storage *ret)
{
	char host[LANE_ENDPOINT_TEXT_LEN];
	const char *colon = strrchr(text, ':');
	size_t len;
	uint64_t port;

	if (!colon || !lane_value_number(colon + 1, UINT16_MAX, &port))
		return false;
	len = (size_t)(colon - text);
	if (len < 2 || len >= sizeof(host))
		return false;
	memcpy(host, text, len);
	host[len] = '\0';
	if (host[0] != '[')
		return parse_in4(host, (uint16_t)port, ret);
	if (host[len - 1] != ']')
		return false;
	host[len - 1] = '\0';
	return parse_in6(host + 1, (uint16_t)port, ret);
}

static void format_in6(const struct sockaddr_in6 *in6, char buf[LANE_ENDPOINT_TEXT_LEN])
{
	char address[INET6_ADDRSTRLEN], name[IF_NAMESIZE];

	inet_ntop(AF_INET6, &in6->sin6_addr, address, sizeof(address));
	if (!in6->sin6_scope_id)
		snprintf(buf, LANE_ENDPOINT_TEXT_LEN, "[%s]:%u", address, ntohs(in6->sin6_port));
	else if (if_indextoname(in6->sin6_scope_id, name))
		snprintf(buf, LANE_ENDPOINT_TEXT_LEN, "[%s%%%s]:%u", address, name,
			 ntohs(in6->sin6_port));
	else
		snprintf(buf, LANE_ENDPOINT_TEXT_LEN, "[%s%%%u]:%u", address, in6->sin6_scope_id,
			 ntohs(in6->sin6_port));
}

const char *lane_value_format_endpoint(const struct sockaddr_storage *ep,
				       char buf[LANE_ENDPOINT_TEXT_LEN])
{
	char address[INET_ADDRSTRLEN];
	struct sockaddr_in6 in6;
	struct sockaddr_in in4;

	buf[0] = '\0';
	if (ep->ss_family == AF_INET) {
		memcpy(&in4, ep, sizeof(in4));
		inet_ntop(AF_INET, &in4.sin_addr, address, sizeof(address));
		snprintf(buf, LANE_ENDPOINT_TEXT_LEN, "%s:%u", address, ntohs(in4.sin_port));
	} else if (ep->ss_family == AF_INET6) {
		memcpy(&in6, ep, sizeof(in6));
		format_in6(&in6, buf);
	}
	return buf;
}

bool lane_value_same_endpoint(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	struct sockaddr_in6 x6, y6;
	struct sockaddr_in x4, y4;

	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET) {
		memcpy(&x4, a, sizeof(x4));
		memcpy(&y4, b, sizeof(y4));
		return x4.sin_port == y4.sin_port && x4.sin_addr.s_addr == y4.sin_addr.s_addr;
	}
	if (a->ss_family != AF_INET6)
		return true;
	memcpy(&x6, a, sizeof(x6));
	memcpy(&y6, b, sizeof(y6));
	return x6.sin6_port == y6.sin6_port && x6.sin6_scope_id == y6.sin6_scope_id &&
	       !memcmp(&x6.sin6_addr, &y6.sin6_addr, sizeof(x6.sin6_addr));
}
