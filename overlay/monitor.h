/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listens to changes of links, addresses and routes, and of neighbours for who asks.
 * The owner polls the file descriptor and calls monitor_read(). Control thread.
 */
#ifndef SEALANE_OVERLAY_MONITOR_H
#define SEALANE_OVERLAY_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "ipaddr.h"
#include "link.h"

struct monitor;
struct nlmsghdr;

enum monitor_kind {
	MONITOR_LINK,	   /* link valid: new or changed */
	MONITOR_LINK_GONE, /* link valid */
	MONITOR_ADDR_GONE, /* family, addr, ifindex valid */
	MONITOR_ADDR_NEW,  /* the same */
	MONITOR_ROUTE,	   /* some route or rule of `family` changed */
	MONITOR_NEIGH,	   /* family, ifindex, neigh valid */
	MONITOR_QDISC,	   /* ifindex valid, see monitor_watch_qdiscs() */
	MONITOR_OVERRUN,   /* events were lost (ENOBUFS): re-read everything */
};

/* A neighbour, or with the family AF_BRIDGE an FDB entry (neighbours.h). */
struct monitor_neigh {
	bool gone; /* else it is as told from now on */
	uint8_t mac[6];
	struct ip_addr addr; /* the neighbour's; of an FDB entry the tunnel's end */
	bool permanent;	     /* a neighbour */
	uint8_t protocol;    /* a neighbour's, 0: none */
	bool ours;	     /* an FDB entry, by its mark */
};

struct monitor_event {
	enum monitor_kind kind;
	struct link_info link;
	struct monitor_neigh neigh;
	int family; /* AF_INET or AF_INET6; of an FDB entry AF_BRIDGE */
	int ifindex;
	uint8_t addr[16]; /* our own, not the peer's; IPv4 fills the first 4 bytes */
};

/* 0 or -errno. Non-blocking, CLOEXEC, 1 MB receive buffer where allowed. */
int monitor_open(struct monitor **ret);
void monitor_close(struct monitor *m);
int monitor_fd(const struct monitor *m);
/*
 * From now on also MONITOR_NEIGH: a neighbour, or an FDB entry that leads to a tunnel's
 * end, is there, has changed, or is gone. Whoever made it: the kernel learns many by
 * itself, and has them come and go all the time. 0 or -errno.
 */
int monitor_watch_neighbours(struct monitor *m);
/* From now on also MONITOR_QDISC: a queueing discipline or a filter of a device was
 * taken away. 0 or -errno. */
int monitor_watch_qdiscs(struct monitor *m);

/*
 * Reads all that is there, calling @fn (which must not close @m) per event; 0 or
 * -errno (EAGAIN is 0). MONITOR_OVERRUN comes before the events that were kept,
 * which are older. Messages that make no sense are skipped.
 */
int monitor_read(struct monitor *m, void (*fn)(const struct monitor_event *ev, void *arg),
		 void *arg);

/* The event that one message means, whose nlmsg_len bytes are there. False: none.
 * Any thread. */
bool monitor_parse(const struct nlmsghdr *nlh, struct monitor_event *ret);

#endif
