/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /dev/net/tun: creates or attaches to a TUN or TAP device. Control thread, at
 * start-up. Source of the ioctl rules: drivers/net/tun.c.
 */
#ifndef SEALANE_OVERLAY_TUN_H
#define SEALANE_OVERLAY_TUN_H

#include <net/if.h>
#include <stdbool.h>

enum tun_kind { TUN_KIND_TUN, TUN_KIND_TAP };

struct tun_open_args {
	const char *name; /* may hold %d; at most IFNAMSIZ - 1 characters */
	enum tun_kind kind;
	bool persist;	   /* TUNSETPERSIST: outlives the process */
	bool vnet_hdr;	   /* IFF_VNET_HDR: a header in front of every packet */
	unsigned offloads; /* TUN_F_* bits that may be asked for; with vnet_hdr */
	bool multi_queue;  /* IFF_MULTI_QUEUE, for tun_open_queue(); one that is there
			      already stays as it is */
};

/* The offload bits of Linux 6.17, newer than the headers we may be built with. */
enum {
	TUN_OFFLOAD_CSUM = 0x01,
	TUN_OFFLOAD_TSO = 0x06,
	TUN_OFFLOAD_USO = 0x60,
	TUN_OFFLOAD_TUNNEL = 0x180,
	TUN_OFFLOAD_ALL = 0x1ff,
};

struct tun {
	int fd; /* non-blocking, CLOEXEC; the caller closes it */
	enum tun_kind kind;
	char name[IFNAMSIZ];
	unsigned vnet_hdr_len; /* 0, 10, 12 or 24 */
	unsigned offloads;     /* granted: what the kernel may hand out on reads */
	bool multi_queue;
};

/*
 * Opens and negotiates: the longest vnet header (24, 12, 10), then the widest of
 * the offload masks 0x1ff, 0x67, 0x07, 0x01, 0 within args->offloads.
 * Errors: -ENOENT no /dev/net/tun, -ENODEV the node is there but no driver,
 * -EPERM device cgroup or no CAP_NET_ADMIN, -EBUSY the name is taken by a device
 * that is in use or of another type, -EINVAL bad name, or others from the
 * kernel. *ret is untouched then.
 */
int tun_open(const struct tun_open_args *args, struct tun *ret);

/*
 * One more queue of @t, which must be multi_queue: the kernel spreads the flows it gives
 * among those that are open. Everything else is the device's. The descriptor, or -errno:
 * -E2BIG (256 of them), or others.
 */
int tun_open_queue(const struct tun *t);

/* How many queues of the multi-queue device @name are open; 0 also for a device of
 * another type. -ENODEV, or others of nl.h. */
int tun_queues_in_use(const char *name);

/*
 * Takes over an open descriptor (WG_TUN_FD): reads name, kind and whether it has
 * a vnet header from it, negotiates within @offloads, sets non-blocking and
 * CLOEXEC. -EBADF: not open; -ENOTTY or -EBADFD: not a TUN/TAP. *ret is untouched
 * then. That it was opened with IFF_NO_PI cannot be checked.
 */
int tun_adopt(int fd, unsigned offloads, struct tun *ret);

/* True when this kernel's TAP can carry UDP-tunnel GSO (offload mask 0x1ff is
 * accepted with a 24-byte vnet header); asked on a throw-away device, in a network
 * namespace of its own where that is permitted. -errno as tun_open. */
int tun_has_tunnel_gso(bool *ret);

/* One line for a person: what the error (either sign) of tun_open() means and what
 * to do. Returns @buf; 240 bytes hold every line. */
const char *tun_strerror(int err, const char *name, char *buf, unsigned long buf_len);

#endif
