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
	bool persist; /* TUNSETPERSIST: outlives the process */
};

struct tun {
	int fd; /* non-blocking, CLOEXEC; the caller closes it */
	enum tun_kind kind;
	char name[IFNAMSIZ];
};

/*
 * Errors: -ENOENT no /dev/net/tun, -ENODEV the node is there but no driver,
 * -EPERM device cgroup or no CAP_NET_ADMIN, -EBUSY the name is taken by a device
 * that is in use or of another type, -EINVAL bad name, or others from the
 * kernel. *ret is untouched then.
 */
int tun_open(const struct tun_open_args *args, struct tun *ret);

/*
 * Takes over an open descriptor (WG_TUN_FD): reads name and kind from it, sets
 * non-blocking and CLOEXEC. -EBADF: not open; -ENOTTY or -EBADFD: not a TUN/TAP;
 * -EINVAL: it has IFF_VNET_HDR, and so another packet format. The descriptor and
 * *ret are untouched then. That it was opened with IFF_NO_PI cannot be checked.
 */
int tun_adopt(int fd, struct tun *ret);

/* True when this kernel's TAP can carry UDP-tunnel GSO (offload mask 0x1ff is
 * accepted with a 24-byte vnet header); asked on a throw-away device, in a network
 * namespace of its own where that is permitted. -errno as tun_open. */
int tun_has_tunnel_gso(bool *ret);

/* One line for a person: what the error (either sign) of tun_open() means and what
 * to do. Returns @buf; 240 bytes hold every line. */
const char *tun_strerror(int err, const char *name, char *buf, unsigned long buf_len);

#endif
