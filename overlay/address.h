/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of network devices. Control thread. */
#ifndef SEALANE_OVERLAY_ADDRESS_H
#define SEALANE_OVERLAY_ADDRESS_H

#include <stdint.h>

#include "ipaddr.h"

struct nl;

struct address {
	int ifindex;
	struct ip_prefix prefix; /* the address itself and its length */
	uint8_t protocol;	 /* IFA_PROTO; 0: not told (older kernels tell none) */
};

/* Gives the device an address under @protocol; IPv6 without duplicate address
 * detection, so that it serves at once. An IPv4 one gets no broadcast address. 0,
 * -EINVAL for arguments that cannot be, or -errno from the kernel (-EEXIST: it has it
 * already, -ENODEV). */
int address_add(struct nl *nl, const struct address *address);
/* 0 or -errno (-EADDRNOTAVAIL: it has no such address). */
int address_delete(struct nl *nl, const struct address *address);

/* Takes away the link-local IPv6 address that the kernel gave the device by itself. 0, also
 * where there is none or the kernel (before Linux 5.18) does not tell which one is that; or
 * -errno. */
int address_delete_made_up(struct nl *nl, int ifindex);

/* Those of @ifindex, or with 0 of all devices, of both families. @fn returns 0 to go
 * on, else that ends the list and is returned. May show one twice (nl_call()). */
typedef int (*address_fn)(const struct address *address, void *arg);
int address_list(struct nl *nl, int ifindex, address_fn fn, void *arg);

#endif
