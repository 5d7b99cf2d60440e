/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages about links: how a request begins, and what of an answer more than one
 * file here reads. Internal; any thread, no system calls.
 */
#ifndef SEALANE_OVERLAY_LINKMSG_H
#define SEALANE_OVERLAY_LINKMSG_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/netlink.h>

/* The largest, a tunnel device's creation, takes about 250 bytes. */
enum { LINKMSG_REQUEST_LEN = 512 };

union linkmsg_request {
	struct nlmsghdr nlh;
	uint8_t bytes[LINKMSG_REQUEST_LEN];
};

/* @type: RTM_*LINK. @ifindex 0: other attributes tell which. */
void linkmsg_begin(union linkmsg_request *req, uint16_t type, int ifindex);
/* All links, without their statistics. */
void linkmsg_begin_dump(union linkmsg_request *req);

/* Borrows the message. Texts are "" where the link has none. */
struct linkmsg {
	int ifindex;
	int master; /* of its bridge or bond, 0: none */
	uint32_t flags, mtu;
	const char *name, *alias, *kind;
	const struct nlattr *data; /* IFLA_INFO_DATA, or NULL */
	bool has_mac;
	uint8_t mac[6];
	bool across; /* what it is tied to is in another namespace */
};

/* False: no RTM_NEWLINK with a name, or malformed, or one family's view of a link. */
bool linkmsg_parse(const struct nlmsghdr *nlh, struct linkmsg *ret);

#endif
