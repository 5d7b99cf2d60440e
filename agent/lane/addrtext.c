/* SPDX-License-Identifier: Apache-2.0 */
#include "addrtext.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static_assert((int)ADDRTEXT_IP_LEN >= (int)INET6_ADDRSTRLEN, "room for every address");

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int addrtext_parse_mac(const char *text, uint8_t ret[FDB_MAC_LEN])
{
	uint8_t mac[FDB_MAC_LEN];

	if (strlen(text) != ADDRTEXT_MAC_LEN - 1)
		return -EINVAL;
	for (int i = 0; i < FDB_MAC_LEN; i++) {
		const char *p = text + 3 * (size_t)i;
		const int high = hex_digit(p[0]), low = hex_digit(p[1]);

		if (high < 0 || low < 0 || p[2] != (i == FDB_MAC_LEN - 1 ? '\0' : ':'))
			return -EINVAL;
		mac[i] = (uint8_t)(high << 4 | low);
	}
	memcpy(ret, mac, sizeof(mac));
	return 0;
}

const char *addrtext_format_mac(const uint8_t mac[FDB_MAC_LEN], char buf[ADDRTEXT_MAC_LEN])
{
	snprintf(buf, ADDRTEXT_MAC_LEN, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
		 mac[3], mac[4], mac[5]);
	return buf;
}

int addrtext_parse_ip(const char *text, struct vtep *ret)
{
	const bool v6 = strchr(text, ':');
	struct vtep addr = {.addr_len = v6 ? 16 : 4};

	if (inet_pton(v6 ? AF_INET6 : AF_INET, text, addr.addr) != 1)
		return -EINVAL;
	*ret = addr;
	return 0;
}

const char *addrtext_format_ip(const uint8_t *addr, uint8_t addr_len, char buf[ADDRTEXT_IP_LEN])
{
	inet_ntop(addr_len == 4 ? AF_INET : AF_INET6, addr, buf, ADDRTEXT_IP_LEN);
	return buf;
}
