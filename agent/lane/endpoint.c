/* SPDX-License-Identifier: Apache-2.0 */
#include "endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "decimal.h"

/* An interface may be called "7": names come first, as in getaddrinfo(). */
static int parse_zone(const char *zone, uint32_t *ret)
{
	unsigned ifindex = 0;
	uint32_t number;

	if (strlen(zone) < IF_NAMESIZE)
		ifindex = if_nametoindex(zone);
	if (ifindex) {
		*ret = ifindex;
		return 0;
	}
	if (decimal_parse(zone, UINT32_MAX, &number) < 0 || !number)
		return -EINVAL;
	*ret = number;
	return 0;
}

static int parse_in4(const char *host, uint16_t port, struct endpoint *ret)
{
	ret->dst.in4.sin_family = AF_INET;
	ret->dst.in4.sin_port = htons(port);
	return inet_pton(AF_INET, host, &ret->dst.in4.sin_addr) == 1 ? 0 : -EINVAL;
}

/* @host is what stands between the brackets, and is written to. */
static int parse_in6(char *host, uint16_t port, struct endpoint *ret)
{
	char *zone = strchr(host, '%');

	if (zone) {
		*zone++ = '\0';
		if (parse_zone(zone, &ret->dst.in6.sin6_scope_id) < 0)
			return -EINVAL;
	}
	ret->dst.in6.sin6_family = AF_INET6;
	ret->dst.in6.sin6_port = htons(port);
	return inet_pton(AF_INET6, host, &ret->dst.in6.sin6_addr) == 1 ? 0 : -EINVAL;
}

int endpoint_parse(const char *text, struct endpoint *ret)
{
	struct endpoint ep = {0};
	char host[ENDPOINT_STRLEN];
	const char *colon = strrchr(text, ':');
	size_t host_len;
	uint32_t port;
	int err;

	if (!colon || decimal_parse(colon + 1, UINT16_MAX, &port) < 0)
		return -EINVAL;
	host_len = (size_t)(colon - text);
	if (host_len < 2 || host_len >= sizeof(host))
		return -EINVAL;
	memcpy(host, text, host_len);
	host[host_len] = '\0';

	if (host[0] == '[') {
		if (host[host_len - 1] != ']')
			return -EINVAL;
		host[host_len - 1] = '\0';
		err = parse_in6(host + 1, (uint16_t)port, &ep);
	} else {
		err = parse_in4(host, (uint16_t)port, &ep);
	}
	if (err)
		return err;
	*ret = ep;
	return 0;
}

static void format_in6(const struct sockaddr_in6 *in6, char buf[ENDPOINT_STRLEN])
{
	char address[INET6_ADDRSTRLEN], zone[1 + IF_NAMESIZE] = "", name[IF_NAMESIZE];

	inet_ntop(AF_INET6, &in6->sin6_addr, address, sizeof(address));
	if (in6->sin6_scope_id) {
		if (if_indextoname(in6->sin6_scope_id, name))
			snprintf(zone, sizeof(zone), "%%%s", name);
		else
			snprintf(zone, sizeof(zone), "%%%u", in6->sin6_scope_id);
	}
	snprintf(buf, ENDPOINT_STRLEN, "[%s%s]:%u", address, zone, ntohs(in6->sin6_port));
}

const char *endpoint_format(const struct endpoint *ep, char buf[ENDPOINT_STRLEN])
{
	char address[INET_ADDRSTRLEN];

	buf[0] = '\0';
	switch (ep->dst.family) {
	case AF_INET:
		inet_ntop(AF_INET, &ep->dst.in4.sin_addr, address, sizeof(address));
		snprintf(buf, ENDPOINT_STRLEN, "%s:%u", address, ntohs(ep->dst.in4.sin_port));
		break;
	case AF_INET6:
		format_in6(&ep->dst.in6, buf);
		break;
	default:
		break;
	}
	return buf;
}

bool endpoint_same_dst(const struct endpoint *a, const struct endpoint *b)
{
	if (a->dst.family != b->dst.family)
		return false;
	switch (a->dst.family) {
	case AF_INET:
		return a->dst.in4.sin_port == b->dst.in4.sin_port &&
		       a->dst.in4.sin_addr.s_addr == b->dst.in4.sin_addr.s_addr;
	case AF_INET6:
		return a->dst.in6.sin6_port == b->dst.in6.sin6_port &&
		       a->dst.in6.sin6_scope_id == b->dst.in6.sin6_scope_id &&
		       IN6_ARE_ADDR_EQUAL(&a->dst.in6.sin6_addr, &b->dst.in6.sin6_addr);
	default:
		return true;
	}
}

bool endpoint_same(const struct endpoint *a, const struct endpoint *b)
{
	if (!endpoint_same_dst(a, b) || a->has_source != b->has_source)
		return false;
	if (!a->has_source)
		return true;
	if (a->source_ifindex != b->source_ifindex)
		return false;
	return a->dst.family == AF_INET ? a->source.in4.s_addr == b->source.in4.s_addr
					: IN6_ARE_ADDR_EQUAL(&a->source.in6, &b->source.in6);
}

socklen_t endpoint_dst_len(const struct endpoint *ep)
{
	switch (ep->dst.family) {
	case AF_INET:
		return sizeof(ep->dst.in4);
	case AF_INET6:
		return sizeof(ep->dst.in6);
	default:
		return 0;
	}
}

size_t endpoint_cookie_bytes(const struct endpoint *ep, uint8_t ret[ENDPOINT_COOKIE_LEN_MAX])
{
	const struct sockaddr_in6 *in6 = &ep->dst.in6;
	const struct sockaddr_in *in4 = &ep->dst.in4;

	switch (ep->dst.family) {
	case AF_INET:
		memcpy(ret, &in4->sin_addr, sizeof(in4->sin_addr));
		memcpy(ret + sizeof(in4->sin_addr), &in4->sin_port, sizeof(in4->sin_port));
		return sizeof(in4->sin_addr) + sizeof(in4->sin_port);
	case AF_INET6:
		memcpy(ret, &in6->sin6_addr, sizeof(in6->sin6_addr));
		memcpy(ret + sizeof(in6->sin6_addr), &in6->sin6_port, sizeof(in6->sin6_port));
		return sizeof(in6->sin6_addr) + sizeof(in6->sin6_port);
	default:
		return 0;
	}
}
