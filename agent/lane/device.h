/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lane's tunnel device: TUN, or TAP used as a layer-3 device (only a TAP can take
 * UDP-tunnel superpackets on writes). On a TAP the kernel addresses
 * frames to the device's own MAC (arp off) and takes ours if they do the same.
 * Control thread, but for reading and writing.
 */
#ifndef SEALANE_LANE_DEVICE_H
#define SEALANE_LANE_DEVICE_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "io.h"
#include "overlay/tun.h"

struct device;
struct nl;
struct link_info;

enum {
	DEVICE_DEFAULT_MTU = 1420,
	DEVICE_SINGLES_TXQLEN = 4000, /* where tunnels come in single packets */
};

enum { DEVICE_QUEUES_MAX = 64 };

enum device_choice { DEVICE_AUTO, DEVICE_TAP, DEVICE_TUN };

struct device_args {
	const char *name;
	enum device_choice choice;
	int tun_fd;   /* WG_TUN_FD, or -1 */
	bool persist; /* the device outlives us, and is taken over with MTU and MAC */
	bool vnet_hdr;
	bool want_tunnel_gso; /* auto takes a TAP only for these */
	unsigned offloads;    /* TUN_OFFLOAD_*: what reads may bring */
	unsigned n_queues;    /* wanted, at most DEVICE_QUEUES_MAX; 0 is 1 */
};

/*
 * Opens (or takes over) the device and sets what a tunnel needs: MTU 1420, no
 * ARP, no IPv6 link-local address, a MAC of our own. 0, or -errno with one line
 * for a person in @err.
 */
int device_open(const struct device_args *args, struct nl *nl, struct device **ret, char err[200]);
void device_close(struct device *d); /* NULL is fine */

/*
 * Queues: as many as were wanted, or one where the device was there already with one, or
 * was given. Each is for one worker to read. A packet may be written by any of them, and
 * goes in by the queue that its flow belongs to: the kernel then gives the flow's packets
 * in the other direction to that one (drivers/net/tun.c: tun_flow_update()).
 */
unsigned device_n_queues(const struct device *d);
/* What worker @i uses; beyond the last queue there is never anything to read. */
struct device_io device_io_of_queue(struct device *d, unsigned i);
int device_queue_fd(const struct device *d, unsigned i); /* -1: no such queue */

struct device_io device_io_of(struct device *d); /* the first queue */
int device_fd(const struct device *d);
const char *device_name(const struct device *d);
enum tun_kind device_kind(const struct device *d);
/* Does the kernel take such a superpacket from us? Tried with a small one on the
 * device while it is down (accepted: EIO, refused: EINVAL). */
enum device_merge { DEVICE_MERGE_TCP4, DEVICE_MERGE_TCP6, DEVICE_MERGE_UDP, DEVICE_MERGE_TUNNEL };
bool device_probe_merge(const struct device *d, enum device_merge kind);

/* Length of the vnet header (0: none) and the offloads the kernel granted. */
unsigned device_vnet_hdr_len(const struct device *d);
unsigned device_offloads(const struct device *d);

/* Why this kind, for the control socket. */
const char *device_reason(const struct device *d);

/* Is this device the one the kernel tells about? Follows index, name and MAC. */
bool device_follow(struct device *d, const struct link_info *link);

/* Still there? False once it was deleted. */
bool device_exists(const struct device *d);
/* Descriptor of the network namespace the device is in now, or -errno. */
int device_netns(const struct device *d);
/* The device was found again (moved or renamed): its new place. @nl, of the
 * namespace it is in, is kept for questions until the next call. */
int device_refind(struct device *d, struct nl *nl, struct link_info *ret);

#endif
