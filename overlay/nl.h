/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Netlink request and answer (libmnl), dumps, and the walk over attributes that
 * everyone uses who reads messages. The other kind of socket, which only listens,
 * is in monitor.h. Control thread; blocking, with a receive timeout of 5 s.
 */
#ifndef SEALANE_OVERLAY_NL_H
#define SEALANE_OVERLAY_NL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nl;
struct nlattr;
struct nlmsghdr;

enum { NL_ERRMSG_LEN = 160 };

/* NETLINK_ROUTE request socket, with NETLINK_EXT_ACK where there is. 0 or -errno. */
int nl_open(struct nl **ret);
/* NULL is fine. */
void nl_close(struct nl *nl);

/*
 * Called per answer message. Returns 0 to go on, -errno to stop (the rest of
 * the dump is drained; that error is returned by the call).
 */
typedef int (*nl_message_fn)(const struct nlmsghdr *nlh, void *arg);

/*
 * Sends @req (sequence number and NLM_F_ACK are set here) and waits for the
 * acknowledgement or, with NLM_F_DUMP, the end of the dump; @fn may be NULL and
 * must not use @nl. 0, the error of @fn, or -errno as the kernel gave it.
 *
 * A dump during which something changed is repeated, three times at most, then
 * -EINTR: @fn sees it from the beginning, so it must not mind to see the same
 * object again.
 *
 * -ETIMEDOUT and -ENOBUFS (the answer was lost) leave open whether the kernel did
 * what was asked; -EBADMSG and -EMSGSIZE (an answer of more than 1 MB) likewise.
 * The next call starts afresh.
 */
int nl_call(struct nl *nl, struct nlmsghdr *req, nl_message_fn fn, void *arg);

/* The kernel's words (NLMSGERR_ATTR_MSG) about the last failed call, "" if none.
 * Valid until the next call. */
const char *nl_errmsg(const struct nl *nl);

/* Attributes of a message or of a nest; borrows its bytes. Any thread. */
struct nl_attrs {
	const char *p;
	size_t left;
};

/* Those behind a family header of @header_len bytes; false: the message is too
 * short to hold that. Trusts only nlh->nlmsg_len. */
bool nl_attrs_begin(const struct nlmsghdr *nlh, size_t header_len, struct nl_attrs *ret);
/* NULL at the end and when the next one does not fit; then, and only then,
 * attrs->left is not 0. Payload sizes are the caller's to check. */
const struct nlattr *nl_attrs_next(struct nl_attrs *attrs);
/* A number in host order. False, *ret untouched: not of that size. */
bool nl_attr_u32(const struct nlattr *attr, uint32_t *ret);

#endif
