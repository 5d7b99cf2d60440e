/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two ends of a lane: the device (where the host's packets come from) and
 * the UDP sockets. Real ones are in device.c and udp.c; the simulation brings
 * its own. All calls come from the lane's thread and never block.
 */
#ifndef SEALANE_LANE_IO_H
#define SEALANE_LANE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "drop.h"
#include "endpoint.h"
#include "offload/vnet.h"

/* Longest packet a device gives or takes, bytes of IP. */
enum { IO_PACKET_MAX = 65535, IO_IOV_MAX = 1000 };

/* One packet read from the device, maybe a superpacket. */
struct io_read {
	uint8_t *ip; /* set by the caller: IO_PACKET_MAX bytes of room, and
			IO_HEADROOM before them the device may use */
	uint32_t len;
	struct vnet vnet; /* decoded, not yet checked against the packet */
	enum drop drop;	  /* refused by the device (not IP, bad vnet header) */
};

enum { IO_HEADROOM = 64 };

struct device_io {
	void *ctx;
	/* 1: a packet; 0: nothing there; -EBADFD: the device is gone. */
	int (*read)(void *ctx, struct io_read *r);
	/*
	 * Writes one packet or superpacket gathered from @n <= IO_IOV_MAX pieces,
	 * the first of which begins with the IP header. 0, or -errno: -EINVAL the
	 * kernel does not take what @vnet says, -EIO the device is down,
	 * -EAGAIN/-ENOBUFS/-ENOMEM no room, or others.
	 */
	int (*write)(void *ctx, const struct vnet *vnet, const struct iovec *iov, unsigned n);
	/* Is the IPv4 address (4 bytes) one of the host behind the device? NULL:
	 * unknown. */
	bool (*is_local)(void *ctx, const uint8_t *addr);
};

/* What one receive brought: one datagram, or several of one sender. */
struct udp_message {
	uint8_t *buf; /* set by the caller: IO_PACKET_MAX bytes */
	uint32_t len;
	uint32_t gso_size; /* length of all but the last datagram; 0: one */
	uint8_t tos;
	enum drop drop;
	struct endpoint from; /* with the sticky source */
};

/* One send: @n datagrams of one destination back to back in memory, all
 * @seg_len long but the last, which may be shorter. */
struct udp_run {
	const uint8_t *data;
	uint32_t len;
	uint16_t seg_len;
	uint16_t n;
	uint8_t tos;
	struct endpoint to;
	/* result */
	uint16_t n_dropped; /* datagrams that were not sent, for reason `drop` */
	enum drop drop;
	bool source_lost; /* the kernel no longer has the source address */
	int refused;	  /* errno for which a run of several went out singly */
};

struct udp_io {
	void *ctx;
	/* Fills up to @max messages. @family AF_INET or AF_INET6. Returns how
	 * many, 0 when there is nothing. */
	int (*receive)(void *ctx, int family, struct udp_message *msgs, unsigned max);
	/*
	 * Sends @n runs in order. A run of several that the kernel refuses as a
	 * whole goes out singly, in order, nothing lost or doubled.
	 */
	void (*send)(void *ctx, struct udp_run *runs, unsigned n);
	/*
	 * (Re)opens the sockets on *port (0: any; the chosen one is written back)
	 * with @fwmark. On failure (-EADDRINUSE, -EACCES, ...) the sockets that
	 * were open stay as they are.
	 */
	int (*open)(void *ctx, uint16_t *port, uint32_t fwmark);
	void (*close)(void *ctx);
	/* Could *port be had? Used while the device is down. 0 or -errno. */
	int (*probe)(void *ctx, uint16_t port);
	/*
	 * After a change of routes: does the way to the endpoint still leave by
	 * the interface its source belongs to? NULL: always.
	 */
	bool (*source_valid)(void *ctx, const struct endpoint *ep);
	/* MTU of the way to the endpoint as the kernel knows it, 0 unknown. NULL:
	 * never known. */
	uint32_t (*path_mtu)(void *ctx, const struct endpoint *ep);
	/* Changes the mark of open sockets. 0 or -errno. */
	int (*set_fwmark)(void *ctx, uint32_t fwmark);
};

#endif
