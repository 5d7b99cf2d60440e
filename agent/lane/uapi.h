/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The WireGuard cross-platform configuration protocol, as text in and out; no
 * socket here. Control thread. Behaviour follows wireguard-go, whose users must
 * notice no difference.
 */
#ifndef SEALANE_LANE_UAPI_H
#define SEALANE_LANE_UAPI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "crypto/messages.h"

struct lane;
struct textbuf;

/*
 * State of one `set` operation. The section's peer is kept by its key and looked
 * up at every line: between two lines somebody else may remove it.
 */
struct uapi_set {
	struct lane *lane;
	uint8_t public_key[WG_KEY_LEN]; /* of the section being read */
	bool in_peer;			/* a public_key line was seen */
	bool applies;			/* the section's lines do something; else they
					   are only checked */
	bool created;			/* this section made the peer */
	bool keepalive_on;		/* this section turned persistent keepalive on */
};

void uapi_set_begin(struct uapi_set *s, struct lane *lane);
/* One `key=value` line without its newline. 0 or a negative errno: -EPROTO no
 * '=', -EINVAL bad key or value, -EADDRINUSE a port or fwmark that cannot be had
 * for whatever reason (the log has it), -ENOSPC too many peers, -ENOMEM. What
 * earlier lines did stays. */
int uapi_set_line(struct uapi_set *s, const char *line, size_t len);
/* The blank line, or the end by an error: finishes the peer in hand. */
void uapi_set_end(struct uapi_set *s);

/* The whole reply to `get=1` up to and with "errno=0\n\n". */
void uapi_get(const struct lane *lane, struct textbuf *out);

#endif
