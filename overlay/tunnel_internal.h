/* SPDX-License-Identifier: Apache-2.0 */
/* What a tunnel device is made with and read from: messages, without a kernel, for
 * tunnel.c, tunnel_read.c and their test. Any thread. */
#ifndef SEALANE_OVERLAY_TUNNEL_INTERNAL_H
#define SEALANE_OVERLAY_TUNNEL_INTERNAL_H

#include <stdbool.h>

#include "linkmsg.h"
#include "tunnel.h"

/* The lowest source port of bare UDP. Without one the kernel would take any, and
 * those below 49152 belong to somebody (RFC 6335 section 6). */
enum { TUNNEL_BAREUDP_SOURCE_PORT_MIN = 49152 };

/* The request that makes @t, which is valid. */
void tunnel_request(const struct tunnel *t, union linkmsg_request *ret);

/* What an RTM_NEWLINK tells. False: malformed. */
bool tunnel_parse(const struct nlmsghdr *nlh, struct tunnel_found *ret);

#endif
