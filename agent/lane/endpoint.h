/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a peer is reached, and the local address it reached us at (the sticky
 * source: replies leave from the address the peer talks to).
 */
#ifndef SEALANE_LANE_ENDPOINT_H
#define SEALANE_LANE_ENDPOINT_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct endpoint {
	union {
		sa_family_t family; /* AF_UNSPEC: no endpoint */
		struct sockaddr sa;
		struct sockaddr_in in4;
		struct sockaddr_in6 in6;
	} dst;
	bool has_source;
	int source_ifindex; /* interface the peer's last packet came in on */
	union {
		struct in_addr in4;
		struct in6_addr in6;
	} source;
};

enum { ENDPOINT_STRLEN = 80, ENDPOINT_COOKIE_LEN_MAX = 18 };

/*
 * "192.0.2.1:51820", "[2001:db8::1]:51820", "[fe80::1%eth0]:51820" or with a
 * numeric zone. Numeric addresses only. 0 or -EINVAL (also an unknown zone).
 */
int endpoint_parse(const char *text, struct endpoint *ret);
/* The same form; "" for AF_UNSPEC. Zones as wg prints them: interface name, or
 * the number when it has none. Returns @buf. */
const char *endpoint_format(const struct endpoint *ep, char buf[ENDPOINT_STRLEN]);

/* Same address, port and scope (sources not compared). */
bool endpoint_same_dst(const struct endpoint *a, const struct endpoint *b);
/* The source, too. */
bool endpoint_same(const struct endpoint *a, const struct endpoint *b);
socklen_t endpoint_dst_len(const struct endpoint *ep);

/* What a cookie binds to: address bytes and port, network order. Returns the
 * length written (6 or 18). */
size_t endpoint_cookie_bytes(const struct endpoint *ep, uint8_t ret[ENDPOINT_COOKIE_LEN_MAX]);

#endif
