/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Network devices as netlink shows them: read, follow, and the few changes a
 * tunnel device needs. All functions: control thread, 0 or -errno from the
 * kernel, nothing changed on failure of the argument checks.
 */
#ifndef SEALANE_OVERLAY_LINK_H
#define SEALANE_OVERLAY_LINK_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

struct nl;
struct nlmsghdr;

enum { LINK_ALIAS_LEN = 64 };

struct link_info {
	int ifindex;
	char name[IFNAMSIZ];
	uint32_t mtu;
	uint32_t flags; /* IFF_* */
	uint8_t mac[6];
	bool has_mac;
	char alias[LINK_ALIAS_LEN]; /* IFLA_IFALIAS, its beginning; "" when it has none */
	bool addr_gen;		    /* IPv6 makes up a link-local address when it comes up */
	/* Limits of superpackets, 0 when the kernel does not tell; the IPv4 one
	 * came with Linux 6.3. */
	uint32_t gso_max_size, gso_ipv4_max_size, gso_max_segs;
};

/* -ENODEV when there is none. */
int link_get(struct nl *nl, const char *name, struct link_info *ret);
int link_get_index(struct nl *nl, int ifindex, struct link_info *ret);
/* Every device of this namespace. @fn returns 0 to go on, else that ends the list and
 * is returned. May show one twice (nl_call()). */
typedef int (*link_fn)(const struct link_info *link, void *arg);
int link_list(struct nl *nl, link_fn fn, void *arg);

/*
 * Fields to change; the rest stay. One RTM_NEWLINK per call, with
 * set_addr_gen_none up to three; where there is no IPv6 that one is no error, as
 * nothing generates addresses then. The kernel applies fields one by one: those
 * before a refused one stay changed. -EINVAL also for a MAC that is not unicast.
 */
struct link_change {
	bool set_mtu, set_txqlen, set_up, set_arp, set_mac;
	bool set_addr_gen_none; /* IPv6 makes up no link-local address */
	uint32_t mtu;
	uint32_t txqlen; /* packets the device may hold until they are read */
	bool up;	 /* IFF_UP */
	bool arp;	 /* false: IFF_NOARP on */
	uint8_t mac[6];	 /* unicast */
};
int link_set(struct nl *nl, int ifindex, const struct link_change *change);
int link_delete(struct nl *nl, int ifindex);
/*
 * Another name. Before Linux 6.2 a device that is up keeps its name: there it is taken
 * down for it and up again, and loses IPv6 addresses and routes. -EEXIST: the name is
 * taken, -EINVAL: it is none.
 */
int link_rename(struct nl *nl, int ifindex, const char *name);
/* A word about it that ip(8) shows. -EINVAL: LINK_ALIAS_LEN bytes or more. */
int link_set_alias(struct nl *nl, int ifindex, const char *alias);

/*
 * Parses an RTM_NEWLINK/RTM_DELLINK message whose nlmsg_len bytes are there. Any
 * thread. -EBADMSG when malformed, without a name or an MTU, or one family's view
 * of a link: a bridge announces with AF_BRIDGE and RTM_DELLINK that a port left.
 */
int link_parse(const struct nlmsghdr *nlh, struct link_info *ret);

#endif
