/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many netlink changes with few system calls: requests are gathered and sent
 * together, and the kernel's answers are told one by one. Control thread.
 */
#ifndef SEALANE_OVERLAY_NL_BATCH_H
#define SEALANE_OVERLAY_NL_BATCH_H

struct nl;
struct nl_batch;
struct nlmsghdr;

/* Called for each request in order with what the kernel said: 0 or -errno. @cookie
 * is the one that nl_batch_add() was given. Must not use the batch or its nl. */
typedef void (*nl_batch_answer_fn)(void *cookie, int err, void *arg);

/* @nl is borrowed and must not be used for anything else between an add and the
 * flush that follows. @fn may be NULL. 0 or -ENOMEM. */
int nl_batch_new(struct nl *nl, nl_batch_answer_fn fn, void *arg, struct nl_batch **ret);
/* Copies the request (no dumps; sequence number and NLM_F_ACK are set here); sends
 * what is gathered when it is full. 0; -EMSGSIZE: longer than a batch holds; or, as
 * nl_batch_flush(), an error of the socket in sending what was gathered before. After
 * an error this request is not gathered and there will be no answer to it. */
int nl_batch_add(struct nl_batch *b, const struct nlmsghdr *req, void *cookie);
/* Sends the rest and waits for all answers. 0, or -errno when the socket failed:
 * the requests without an answer are then answered with it, and whether the kernel
 * did them is open (-ENOBUFS: it did; -ETIMEDOUT). The batch is empty in any case.
 * nl_errmsg() has the words about the last failure of the last send. */
int nl_batch_flush(struct nl_batch *b);
/* Requests not flushed are not sent. NULL is fine. */
void nl_batch_free(struct nl_batch *b);

#endif
