/* SPDX-License-Identifier: Apache-2.0 */
/* Values of the lane's line grammar that are neither addresses nor prefixes
 * (overlay/ipaddr.h). Parsers leave *ret untouched where they say false. Any thread. */
#ifndef SEALANE_NODE_LANE_VALUE_H
#define SEALANE_NODE_LANE_VALUE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "keyfile.h"

enum { LANE_MAC_TEXT_LEN = 18, LANE_ENDPOINT_TEXT_LEN = 80 }; /* with the NUL */

/* Decimal digits alone, at most @max. */
bool lane_value_number(const char *text, uint64_t max, uint64_t *ret);
bool lane_value_bool(const char *text, bool *ret); /* "true", "false" */
bool lane_value_key(const char *hex, uint8_t ret[KEY_LEN]);

bool lane_value_mac(const char *text, uint8_t ret[6]);
const char *lane_value_format_mac(const uint8_t mac[6], char buf[LANE_MAC_TEXT_LEN]);

/* "192.0.2.1:51820", "[2001:db8::1]:51820", "[fe80::1%eth0]:51820" (or its number). */
bool lane_value_endpoint(const char *text, struct sockaddr_storage *ret);
/* "": neither IPv4 nor IPv6. Returns @buf. */
const char *lane_value_format_endpoint(const struct sockaddr_storage *ep,
				       char buf[LANE_ENDPOINT_TEXT_LEN]);
/* Family, address, port and zone; two without a family are the same. */
bool lane_value_same_endpoint(const struct sockaddr_storage *a, const struct sockaddr_storage *b);

#endif
