/* SPDX-License-Identifier: Apache-2.0 */
/* The container's network namespace. This program has one thread. */
#ifndef SEALANE_CNI_NETNS_H
#define SEALANE_CNI_NETNS_H

struct cni_env;
struct cni_error;
struct nl;

struct netns {
	int fd;	       /* of the namespace, -1: not open */
	struct nl *nl; /* a request socket in it */
};

/*
 * Opens CNI_NETNS; our own namespace is left only for as long as it takes to open the
 * socket. CNI_UNKNOWN_CONTAINER: there is no such file; CNI_INVALID_ENVIRONMENT: it is
 * no network namespace, or ours without CNI_NETNS_OVERRIDE; CNI_KERNEL_REFUSED. Close
 * it in either case.
 */
int netns_open(const struct cni_env *env, struct netns *ret, struct cni_error *e);
void netns_close(struct netns *n);

#endif
