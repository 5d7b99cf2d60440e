/* SPDX-License-Identifier: Apache-2.0 */
/* MAC and IP addresses in configuration text. */
#ifndef SEALANE_LANE_ADDRTEXT_H
#define SEALANE_LANE_ADDRTEXT_H

#include <stdint.h>

#include "fdb.h"

enum { ADDRTEXT_MAC_LEN = 18, ADDRTEXT_IP_LEN = 46 }; /* with the terminating NUL */

/* Six pairs of hexadecimal digits with colons between. 0 or -EINVAL. */
int addrtext_parse_mac(const char *text, uint8_t ret[FDB_MAC_LEN]);
/* Returns @buf. */
const char *addrtext_format_mac(const uint8_t mac[FDB_MAC_LEN], char buf[ADDRTEXT_MAC_LEN]);

/* IPv4 or IPv6, no zone. 0 or -EINVAL. */
int addrtext_parse_ip(const char *text, struct vtep *ret);
/* Of @addr_len 4 or 16. Returns @buf. */
const char *addrtext_format_ip(const uint8_t *addr, uint8_t addr_len, char buf[ADDRTEXT_IP_LEN]);

#endif
