/* SPDX-License-Identifier: Apache-2.0 */
#include "ipaddr.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static uint8_t mask_of_byte(uint8_t prefix_len, size_t byte);

int ip_addr_family(const struct ip_addr *addr)
{
	switch (addr->len) {
	case 4:
		return AF_INET;
	case 16:
		return AF_INET6;
	default:
		return AF_UNSPEC;
	}
}

bool ip_addr_from_bytes(const void *bytes, size_t len, struct ip_addr *ret)
{
	if (len != 4 && len != 16)
		return false;
	*ret = (struct ip_addr){.len = (uint8_t)len};
	memcpy(ret->bytes, bytes, len);
	return true;
}

int ip_addr_compare(const struct ip_addr *a, const struct ip_addr *b)
{
	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

bool ip_addr_equal(const struct ip_addr *a, const struct ip_addr *b)
{
	return !ip_addr_compare(a, b);
}

int ip_prefix_compare(const struct ip_prefix *a, const struct ip_prefix *b)
{
	const int order = ip_addr_compare(&a->addr, &b->addr);

	return order ? order : (int)a->len - (int)b->len;
}

bool ip_prefix_equal(const struct ip_prefix *a, const struct ip_prefix *b)
{
	return !ip_prefix_compare(a, b);
}

bool ip_prefix_covers(const struct ip_prefix *outer, const struct ip_prefix *inner)
{
	if (outer->addr.len != inner->addr.len || !outer->addr.len || outer->len > inner->len)
		return false;
	for (size_t i = 0; i < outer->addr.len; i++) {
		if ((outer->addr.bytes[i] ^ inner->addr.bytes[i]) & mask_of_byte(outer->len, i))
			return false;
	}
	return true;
}

struct ip_prefix ip_prefix_network(const struct ip_prefix *prefix)
{
	struct ip_prefix network = *prefix;

	for (size_t i = 0; i < sizeof(network.addr.bytes); i++)
		network.addr.bytes[i] &= mask_of_byte(prefix->len, i);
	return network;
}

struct ip_prefix ip_prefix_of_host(const struct ip_addr *addr)
{
	return (struct ip_prefix){.addr = *addr, .len = (uint8_t)(8 * addr->len)};
}

bool ip_addr_parse(const char *text, struct ip_addr *ret)
{
	uint8_t bytes[16];

	/* Neither takes a zone, nor the IPv4 forms with fewer than four numbers or
	 * with a leading zero that others read as octal. */
	if (inet_pton(AF_INET, text, bytes) == 1)
		return ip_addr_from_bytes(bytes, 4, ret);
	if (inet_pton(AF_INET6, text, bytes) == 1)
		return ip_addr_from_bytes(bytes, 16, ret);
	return false;
}

/* One to three digits, at most @max, without leading zeros. */
static bool parse_len(const char *text, unsigned max, uint8_t *ret)
{
	unsigned value = 0;
	size_t n = 0;

	for (; text[n] >= '0' && text[n] <= '9' && n < 3; n++)
		value = value * 10 + (unsigned)(text[n] - '0');
	if (!n || text[n] || (n > 1 && text[0] == '0') || value > max)
		return false;
	*ret = (uint8_t)value;
	return true;
}

bool ip_prefix_parse(const char *text, struct ip_prefix *ret)
{
	const char *slash = strchr(text, '/');
	const size_t addr_len = slash ? (size_t)(slash - text) : strlen(text);
	char addr_text[IP_ADDR_TEXT_LEN];
	struct ip_prefix prefix = {.len = 0};

	if (addr_len >= sizeof(addr_text))
		return false;
	memcpy(addr_text, text, addr_len);
	addr_text[addr_len] = '\0';
	if (!ip_addr_parse(addr_text, &prefix.addr))
		return false;

	prefix.len = (uint8_t)(8 * prefix.addr.len);
	if (slash && !parse_len(slash + 1, prefix.len, &prefix.len))
		return false;
	*ret = prefix;
	return true;
}

const char *ip_addr_format(const struct ip_addr *addr, char buf[IP_ADDR_TEXT_LEN])
{
	if (!inet_ntop(ip_addr_family(addr), addr->bytes, buf, IP_ADDR_TEXT_LEN))
		snprintf(buf, IP_ADDR_TEXT_LEN, "none");
	return buf;
}

const char *ip_prefix_format(const struct ip_prefix *prefix, char buf[IP_PREFIX_TEXT_LEN])
{
	size_t len;

	ip_addr_format(&prefix->addr, buf);
	len = strlen(buf);
	if (prefix->addr.len)
		snprintf(buf + len, IP_PREFIX_TEXT_LEN - len, "/%u", prefix->len);
	return buf;
}

/* The bits of byte number @byte that a prefix of this length leaves to the network. */
static uint8_t mask_of_byte(uint8_t prefix_len, size_t byte)
{
	const size_t before = 8 * byte;

	if (prefix_len <= before)
		return 0;
	if (prefix_len >= before + 8)
		return 0xff;
	return (uint8_t)(0xff << (before + 8 - prefix_len));
}
