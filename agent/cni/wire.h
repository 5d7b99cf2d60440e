/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wire between a container and its host: a veth pair, routed. Neither end asks for
 * addresses: each side has the other's MAC address as a permanent neighbour, so there
 * is no proxy ARP, and the gateway 169.254.1.1 / fe80::1 is on no device. All routes,
 * addresses and neighbours carry OWNER_CNI_PROTOCOL and go with the pair.
 */
#ifndef SEALANE_CNI_WIRE_H
#define SEALANE_CNI_WIRE_H

#include "attachment.h"
#include "netns.h"
#include "result.h"

struct wire {
	struct nl *nl; /* of the host; borrowed */
	struct netns netns;
	struct attachment attachment;
	int host_ifindex, container_ifindex;
};

/*
 * Makes the pair, both ends down: the host's marked, the container's in w->netns as
 * @ifname. Fills in the two interfaces of @ret but for the sandbox.
 * CNI_ALREADY_ATTACHED: one of the names is taken, nothing has changed;
 * CNI_KERNEL_REFUSED, nothing is left.
 */
int wire_make(struct wire *w, const char *ifname, const struct cni_config *c, uint32_t mtu,
	      struct result *ret, struct cni_error *e);
/* Both ends up, addresses, neighbours and routes of @r, forwarding on. CNI_KERNEL_REFUSED:
 * some of it may be there, and goes with wire_remove(). */
int wire_configure(struct wire *w, const struct result *r, struct cni_error *e);
/* Removes the pair of this attachment, and none that is not marked as it; none there
 * is no error. CNI_KERNEL_REFUSED. */
int wire_remove(struct nl *nl, const struct attachment *a, struct cni_error *e);
/* Superpackets on a veth's end as long as this kernel is known to carry. 0 or -errno. */
int wire_set_limits(struct nl *nl, int ifindex);

#endif
