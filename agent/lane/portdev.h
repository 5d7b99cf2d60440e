/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device end of a VXLAN port: an Ethernet device for the host (the overlay
 * end) whose frames the lane reads and writes, superpackets whole. Two kinds:
 *
 *  veth  a pair whose other end (the lane end) is read and written by a packet
 *        socket with PACKET_VNET_HDR: many frames a call, up to 192 KB and more
 *        with BIG TCP. The lane end has no address, no ARP, no IPv6, and all that
 *        arrives there is dropped at netdev ingress, after the socket's tap.
 *  tap   where that is not permitted (no CAP_NET_RAW): 64 KB.
 *
 * The overlay end may be moved into another network namespace. Control thread,
 * except read and write (lane's thread).
 */
#ifndef SEALANE_LANE_PORTDEV_H
#define SEALANE_LANE_PORTDEV_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "io.h"

struct nl;
struct portdev;

enum portdev_kind { PORTDEV_AUTO, PORTDEV_VETH, PORTDEV_TAP };

/* Longest frame read or written: BIG TCP of 8 * 65535 is more than any of ours. */
enum { PORTDEV_FRAME_MAX = 200 << 10, PORTDEV_HEADROOM = 128, PORTDEV_BATCH_MAX = 32 };

struct portdev_args {
	const char *name; /* of the overlay end */
	enum portdev_kind kind;
	uint32_t mtu;
	bool has_mac;
	uint8_t mac[6];
	uint32_t gso_max_size; /* wanted on both ends; 65536, or BIG TCP up to 196608 */
	unsigned offloads;     /* TUN_OFFLOAD_*: which superpackets may come */
};

/* One frame read. */
struct portdev_read {
	uint8_t *frame; /* set by the caller: PORTDEV_HEADROOM free before,
			   PORTDEV_FRAME_MAX after; result: the Ethernet header,
			   which a VLAN tag that was put back moves 4 bytes down
			   and a jumbo header that was taken out 8 bytes up */
	uint32_t len;
	struct vnet vnet; /* offsets from the Ethernet header, checked against nothing */
	enum drop drop;	  /* DROP_BAD_VNET (len 0): a frame the kernel could not
			     describe or that was longer than PORTDEV_FRAME_MAX */
};

struct portdev_write {
	struct vnet vnet;
	const struct iovec *iov; /* the first piece begins with the Ethernet header */
	unsigned n_iov;
	int err; /* result: 0 or -errno */
};

/*
 * Creates the device (overlay end down), sets both ends up as above, opens it. 0 or
 * -errno with one line in @err_text. @nl is borrowed until portdev_close() and
 * belongs to the calling thread's network namespace. PORTDEV_AUTO takes a TAP when
 * the veth kind is not possible, for the reason that portdev_reason() tells. A pair
 * that a lane left (portdev_leave(), or it was killed) under that name is taken over
 * with all its overlay end has, but for MTU and superpacket limits, and its MAC address
 * if one is given, which become those of @args where the end was not moved to another
 * namespace. Any other device of that name is -EEXIST. The overlay end is found through
 * the lane end: its name may change and it may be moved.
 */
int portdev_open(const struct portdev_args *args, struct nl *nl, struct portdev **ret,
		 char err_text[200]);
/*
 * One more end of @first for another worker: what arrives is shared among them, all frames
 * of a flow to one (PACKET_FANOUT_HASH). Only read, write, drops and fd may be used of it;
 * to be closed by portdev_close_queue() before @first. Before the overlay end is up if it
 * is to miss none of the first frames. 0, -EOPNOTSUPP (a TAP: all use @first), or -errno.
 */
int portdev_open_queue(struct portdev *first, struct portdev **ret);
void portdev_close_queue(struct portdev *q); /* NULL is fine */
/* Deletes the device, wherever its overlay end is. NULL is fine. */
void portdev_close(struct portdev *d);
/* Leaves a veth pair for the next lane: what the overlay end sends is dropped until
 * then. A TAP goes. */
void portdev_leave(struct portdev *d);
/* Sees that nothing the overlay end sends gets into the host's stack, after somebody
 * changed the queueing disciplines of the lane end. 1: it had become open; 0: all is
 * well; -errno: it is open and cannot be closed. */
int portdev_hold(struct portdev *d);
/* Is it one of the ends, as far as they are in this network namespace? */
bool portdev_has_end(const struct portdev *d, int ifindex);
/* Puts back what somebody changed at the ends and the port cannot do without, after netlink
 * told of a change of one: the lane end's being up, MTU and name, offloads of the overlay end.
 * 1: @what tells what had been set; 0: all was well; -errno: @what is, and stays. -ENODEV: it
 * is gone. */
enum { PORTDEV_KEPT_LEN = 200 };
int portdev_keep(struct portdev *d, char what[PORTDEV_KEPT_LEN]);

/* Poll it for reading. An error there (a frame that could not be described, an end
 * that went down) is one more reason to read, and the last one only if
 * portdev_read() says -ENODEV. */
int portdev_fd(const struct portdev *d);
enum portdev_kind portdev_kind_of(const struct portdev *d);
const char *portdev_reason(const struct portdev *d); /* why this kind */
/*
 * Of the lane end: index, for following it by netlink; when it is gone, so is the
 * overlay end. Who hears of its deletion there calls portdev_read() until it finds
 * nothing, for one that somebody had set down before ends without a sign at
 * portdev_fd(). A TAP has only one end: then that of the device, which may have
 * been moved and not deleted (portdev_read() knows).
 */
int portdev_lane_ifindex(const struct portdev *d);

/* MAC address of the overlay end, as it was created or as it was last read together
 * with the limits. A device that netlink cannot look into keeps its last one. */
void portdev_mac_get(const struct portdev *d, uint8_t mac[6]);

/*
 * Up to @max frames without waiting; 0: nothing there (poll() knows better: an end
 * that went down is told before the frames that wait); -ENODEV: gone. VLAN tags
 * are back in the frame (PACKET_AUXDATA), an IPv6 jumbo hop-by-hop header of a
 * BIG TCP superpacket is taken out (payload length 0 then), offsets adjusted.
 */
int portdev_read(struct portdev *d, struct portdev_read *r, unsigned max);

/* Writes the frames in order; each gets its err: -EINVAL the kernel does not take
 * what the vnet says, -EMSGSIZE a single frame beyond 65535 bytes of payload,
 * -ENOBUFS/-EAGAIN/-ENOMEM the other end is full or down, -ENODEV it is gone.
 * A superpacket has more payload than gso_size: one segment that says to be one is
 * also -ENOBUFS. */
void portdev_write(struct portdev *d, struct portdev_write *w, unsigned n);

/* Longest frame, with its Ethernet header, the overlay end may be given as one
 * superpacket now, for IPv4 and IPv6 (gro/gso limits of both ends and what this
 * kernel was shown to take); read again when older than PORTDEV_LIMITS_AGE_NS. A
 * VLAN-tagged one of IPv6 is held to the smaller of both. Control thread.
 *
 * The kernel sends no event when a limit changes, and what is written above a
 * lowered one is lost or cut up, so they are read often. Reading them took 10 us for
 * a veth, whose overlay end was elsewhere, and 3 us for a TAP (Linux 6.18, nobody
 * else changing devices: it waits for those). */
enum { PORTDEV_LIMITS_AGE_NS = 100000000 };
struct portdev_limits {
	uint32_t max_len4, max_len6, max_segs;
};
struct portdev_limits portdev_limits(struct portdev *d, uint64_t now_ns);

/* Frames the kernel dropped before we read them (PACKET_STATISTICS), since the
 * last call; 0 on a TAP, where the device's tx_dropped counts them. */
uint64_t portdev_take_drops(struct portdev *d);

#endif
