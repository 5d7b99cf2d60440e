/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tunnel devices of the kernel: VXLAN, Geneve and bare UDP, created, read back and
 * compared. What a kernel would choose by itself is always said, so that two
 * kernels, and two releases of iproute2, make the same device. Control thread.
 * Sources: drivers/net/{vxlan,geneve,bareudp}, include/uapi/linux/if_link.h.
 */
#ifndef SEALANE_OVERLAY_TUNNEL_H
#define SEALANE_OVERLAY_TUNNEL_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipaddr.h"

struct nl;

enum tunnel_type { TUNNEL_VXLAN, TUNNEL_GENEVE, TUNNEL_BAREUDP };

/* "vxlan", "geneve", "bareudp": the kernel's names. */
const char *tunnel_type_name(enum tunnel_type type);

/*
 * VXLAN: never learns; its forwarding table says where to. Geneve and bare UDP are
 * in external mode: routes say where to (routes.h, struct route_encap). Bare UDP
 * carries IPv4 and IPv6 (its multiproto mode) and has no MAC address.
 */
struct tunnel {
	char name[IFNAMSIZ];
	enum tunnel_type type;
	uint32_t vni;	      /* VXLAN only: in external mode the routes tell it */
	uint16_t udp_port;    /* host order, never 0 */
	struct ip_addr local; /* VXLAN; its family is the outer one */
	int link;	      /* VXLAN: the device below, 0: any */
	uint8_t ttl;	      /* VXLAN; 0: the inner packet's */
	bool outer6;	      /* Geneve: IPv6 outside (VXLAN: @local tells) */
	/* A real outer UDP checksum, or zero, and what is taken when it comes: over IPv4
	 * either is, over IPv6 zero only where @csum is false. VXLAN: in external mode
	 * the routes say what is sent, and either is taken whatever the device is told. */
	bool csum;
	uint32_t mtu;
	uint8_t mac[6]; /* VXLAN, Geneve: unicast */
};

/*
 * Makes it, down, with the alias that marks it as ours (owner.h). 0; -EINVAL for
 * what cannot be; or from the kernel: -EEXIST the name is taken, -EOPNOTSUPP this
 * kernel has no such type, -EADDRINUSE another device has VNI and port (VXLAN) or
 * the port (the others). A socket that has the port is seen when the device comes
 * up: link_set() is -EADDRINUSE then.
 */
int tunnel_create(struct nl *nl, const struct tunnel *t, int *ret_ifindex);

/* What is found under a name. */
struct tunnel_found {
	int ifindex;
	bool ours;	/* its alias says so */
	bool is_tunnel; /* of one of our types; @tunnel is valid, with link and mtu */
	bool up;
	/* Name, MTU and MAC of any device. The kernel does not tell @outer6, and @csum
	 * of VXLAN only: false elsewhere. */
	struct tunnel tunnel;
	/* What it has and tunnel_create() never gives, as iproute2 calls it ("learning");
	 * static text, or NULL. */
	const char *odd;
	char kind[32]; /* IFLA_INFO_KIND, "" for a device without one */
};
/* 0, -ENODEV, or -errno. */
int tunnel_find(struct nl *nl, const char *name, struct tunnel_found *ret);

/*
 * What of @found cannot be changed in place and is not as @want says: a word or two
 * for the log ("vni 7, not 42") in @buf, or NULL when nothing is. MTU, MAC and being
 * up are not looked at: link_set() changes them.
 */
const char *tunnel_differs(const struct tunnel_found *found, const struct tunnel *want, char *buf,
			   size_t buf_len);

/*
 * Are superpackets cut right that have gone through a device of @type? Before 7.2.11
 * bare UDP calls all that it carries over IPv4 IPv4, and what it carries over IPv6
 * nothing: what is then to be cut below it is dropped without a word. Pure.
 */
bool tunnel_cuts_right(enum tunnel_type type, unsigned major, unsigned minor, unsigned patch);
/* Has the kernel cut them on their way into bare UDP device @ifname instead, but for
 * those that it cuts right, whatever was outside before. @ret_changed: it did not do so
 * before. 0 or -errno. */
int tunnel_cut_before(const char *ifname, bool outer6, bool *ret_changed);

/* Calls @fn with name and kind (its until it returns) of every device of this network
 * namespace whose alias marks it as ours. As route_list() otherwise. */
typedef int (*owned_fn)(int ifindex, const char *name, const char *kind, void *arg);
int tunnel_list_owned(struct nl *nl, owned_fn fn, void *arg);

#endif
