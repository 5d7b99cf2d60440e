/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For those of this folder that drive a request socket themselves: what nl_call()
 * does step by step. Control thread.
 */
#ifndef SEALANE_OVERLAY_NL_INTERNAL_H
#define SEALANE_OVERLAY_NL_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

struct nl;
struct nl_batch;

int nl_fd(const struct nl *nl);
uint32_t nl_portid(const struct nl *nl);
/* The first of @n sequence numbers that no other request has. */
uint32_t nl_take_seq(struct nl *nl, uint32_t n);

/* Before a request is sent: forgets the last call's words and throws away what it
 * left on the socket. */
void nl_begin(struct nl *nl);
/* What an NLMSG_ERROR says, 0 or -errno; keeps the words of a failure for
 * nl_errmsg(). Trusts nlh->nlmsg_len. -EBADMSG: too short. */
int nl_read_error(struct nl *nl, const struct nlmsghdr *nlh);

/* As nl_batch_add(), but where the kernel answers @fine (-errno) it is told as 0. */
int nl_batch_add_fine(struct nl_batch *b, const struct nlmsghdr *req, int fine, void *cookie);

/* Is it about a neighbour or FDB entry, there or gone? */
static inline bool nl_is_neighbour(const struct nlmsghdr *nlh)
{
	return nlh->nlmsg_type == RTM_NEWNEIGH || nlh->nlmsg_type == RTM_DELNEIGH;
}

#endif
