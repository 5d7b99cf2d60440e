/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs of virtual Ethernet devices, and the superpacket limits of a device
 * wherever it is. Control thread; 0 or -errno from the kernel.
 */
#ifndef SEALANE_OVERLAY_VETH_H
#define SEALANE_OVERLAY_VETH_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

struct nl;

/* One end. Queues: 0 leaves the kernel's choice. */
struct veth_end_args {
	const char *name; /* the peer's may hold %d; NULL there: the kernel's choice */
	uint32_t mtu;
	bool has_mac;
	uint8_t mac[6];
	uint32_t n_queues;
	bool elsewhere; /* the peer's alone: it is made in the namespace of @netns_fd */
	int netns_fd;
};

struct veth_args {
	struct veth_end_args end, peer;
};

/* Makes the pair, both ends down, and tells the indexes. -EEXIST: a name is taken;
 * -EINVAL: bad name or MAC; -EOPNOTSUPP: this kernel has no veth. */
int veth_create(struct nl *nl, const struct veth_args *args, int *ret_ifindex,
		int *ret_peer_ifindex);

/* Where a device's other end is. */
struct veth_peer {
	int ifindex;
	bool elsewhere; /* in another namespace, which @nl knows as: */
	int netnsid;
};
/* -ENODEV: no such device. -ENOTUNIQ: a device without another end. */
int veth_peer(struct nl *nl, int ifindex, struct veth_peer *ret);

/*
 * Superpacket limits, bytes with the Ethernet header; IPv4's are 0 on kernels
 * before 6.3, where the others hold for IPv6, and IPv4 stays at 64 KB. And the
 * device's MAC address, which the same answer tells.
 */
struct veth_limits {
	uint32_t gso_max_size, gro_max_size;
	uint32_t gso_ipv4_max_size, gro_ipv4_max_size;
	uint32_t gso_max_segs;
	bool has_mac;
	uint8_t mac[6];
};

/*
 * @netnsid: of the namespace the device is in, as veth_peer() tells it, or -1 for
 * the one @nl is in. Besides -ENODEV, -EINVAL (the namespace is gone) or -EPERM
 * (not ours to look into).
 */
int veth_limits_get(struct nl *nl, int ifindex, int netnsid, struct veth_limits *ret);

/*
 * Sets gso and gro, IPv6 and IPv4, to @max_size. In this order: the kernel lets a
 * main attribute of at most 65536 overwrite its IPv4 twin. -EINVAL: more than the
 * device takes. What was set before a refused one stays.
 */
int veth_limits_set(struct nl *nl, int ifindex, uint32_t max_size);

#endif
