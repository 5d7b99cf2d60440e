/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A raw packet socket on one device, with a vnet header in front of every frame
 * both ways, so that superpackets pass whole. Opened by the control thread, used by
 * the lane's.
 */
#ifndef SEALANE_OVERLAY_PACKET_H
#define SEALANE_OVERLAY_PACKET_H

#include <stdbool.h>
#include <stdint.h>

/* A superpacket is charged with its memory, so the default buffer holds one. */
enum { PACKET_BUFFER_LEN = 16 << 20, PACKET_VNET_HDR_LEN = 10 };

struct packet {
	int fd;			  /* non-blocking, CLOEXEC; the caller closes it */
	unsigned receive_buf_len; /* granted; the kernel counts double what is asked */
};

/*
 * Sees all frames that arrive at the device and none that we send. Sending
 * skips the queueing discipline. -EPERM: no CAP_NET_RAW, or others from the kernel.
 */
int packet_open(int ifindex, struct packet *ret);

/*
 * Shares what arrives at the device among several sockets: all frames of a flow go
 * to one of them, and each frame to one only. @group: PACKET_FANOUT_NEW has the
 * kernel choose a number that is free in this network namespace and returns it, for
 * the others to join. The device must be up, and until a socket has joined it sees
 * everything, so nothing should arrive before that. A socket stays in its group
 * until it is closed.
 *
 * The number (0 is one, too), or -EINVAL: the device is down, or that is a group of
 * another device; -EALREADY: the socket is in a group; or others from the kernel.
 */
enum { PACKET_FANOUT_NEW = -1 };
int packet_join_fanout(int fd, int group);

/* Is the socket still bound to its device? False once that was deleted. */
bool packet_attached(int fd);

/*
 * Waits until a deletion of the device that has begun is far enough for
 * packet_attached() to tell. The kernel reports the device as down (ENETDOWN) first,
 * unbinds the socket later, and reports nothing then. Waits for whoever changes
 * network devices just now: for after an ENETDOWN only.
 */
void packet_settle(int fd);

/* Does any packet socket of this network namespace read device @ifindex? 1, 0, or
 * -errno from /proc. */
int packet_is_read(int ifindex);

/* Frames the kernel could not queue since the last call. */
uint32_t packet_take_drops(int fd);

/* The VLAN tag that the kernel took out of a frame. */
struct packet_vlan {
	bool present;
	uint16_t tpid, tci;
};

struct msghdr;
/* Room for what the kernel tells about a frame. */
enum { PACKET_CONTROL_LEN = 64 };
struct packet_vlan packet_vlan_of(struct msghdr *msg);

#endif
