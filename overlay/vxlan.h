/* SPDX-License-Identifier: Apache-2.0 */
/* VXLAN devices of the kernel. Control thread. */
#ifndef SEALANE_OVERLAY_VXLAN_H
#define SEALANE_OVERLAY_VXLAN_H

#include <net/if.h>
#include <stddef.h>
#include <stdint.h>

struct nl;

struct vxlan_args {
	const char *name; /* at most IFNAMSIZ - 1 characters */
	uint32_t vni;	  /* 24 bits */
	uint16_t port;	  /* UDP, host order */
	uint8_t local[4]; /* IPv4 address of this end, network order */
	uint8_t mac[6];	  /* unicast */
};

/*
 * Creates a VXLAN device that is down, learns no addresses and has no remote end:
 * what it is to reach is the forwarding table's to say. 0, -EINVAL for arguments
 * that cannot be, or -errno from the kernel: -EEXIST the name is taken,
 * -EOPNOTSUPP there is no VXLAN in this kernel.
 */
int vxlan_create(struct nl *nl, const struct vxlan_args *args);

/*
 * Does a VXLAN device of this network namespace listen on @local (4 or 16 bytes)
 * and UDP port @port (host order)? One without a local address listens on all. 1
 * with its name, 0, or -errno.
 */
int vxlan_listens(struct nl *nl, const uint8_t *local, size_t local_len, uint16_t port,
		  char ret_name[IFNAMSIZ]);

#endif
