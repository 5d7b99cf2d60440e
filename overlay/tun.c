/* SPDX-License-Identifier: Apache-2.0 */
#include "tun.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/if_tun.h>

#define TUN_PATH   "/dev/net/tun"
#define PROBE_NAME "sealaneprobe%d"

/* The vnet header that has room for the two tunnel offsets (Linux 6.17). */
enum { VNET_HDR_TUNNEL_LEN = 24 };

struct probe {
	bool own_netns; /* in: only in a namespace of its own; out: got it */
	bool has_tunnel_gso;
	int err;
};

static bool name_valid(const char *name);
static int open_node(void);
static int attach(int fd, const char *name, int flags, struct ifreq *ret_ifr);
static int attach_whole(int fd, const struct tun_open_args *args, int flags, struct ifreq *ret_ifr);
static int negotiate(struct tun *t, bool vnet_hdr, unsigned offloads);
static void *probe_thread(void *arg);
static int probe_tunnel_gso(bool *ret);

int tun_open(const struct tun_open_args *args, struct tun *ret)
{
	const int flags = (args->kind == TUN_KIND_TAP ? IFF_TAP : IFF_TUN) | IFF_NO_PI |
			  (args->vnet_hdr ? IFF_VNET_HDR : 0);
	struct tun t = {.kind = args->kind};
	struct ifreq ifr = {0};
	int fd, err;

	if (!name_valid(args->name))
		return -EINVAL;

	fd = open_node();
	if (fd < 0)
		return fd;

	t.fd = fd;
	err = attach_whole(fd, args, flags, &ifr);
	if (!err)
		err = negotiate(&t, args->vnet_hdr, args->offloads);
	if (!err && args->persist && ioctl(fd, TUNSETPERSIST, 1) < 0)
		err = -errno;
	if (err) {
		close(fd);
		return err;
	}

	t.multi_queue = ifr.ifr_flags & IFF_MULTI_QUEUE;
	memcpy(t.name, ifr.ifr_name, sizeof(t.name));
	*ret = t;
	return 0;
}

int tun_open_queue(const struct tun *t)
{
	const int flags = (t->kind == TUN_KIND_TAP ? IFF_TAP : IFF_TUN) | IFF_NO_PI |
			  IFF_MULTI_QUEUE | (t->vnet_hdr_len ? IFF_VNET_HDR : 0);
	int fd = open_node(), err;
	struct ifreq ifr;

	if (fd < 0)
		return fd;
	err = attach(fd, t->name, flags, &ifr);
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

int tun_adopt(int fd, unsigned offloads, struct tun *ret)
{
	struct ifreq ifr = {0};
	struct tun t = {.fd = fd};
	int fd_flags, status, err;

	if (ioctl(fd, TUNGETIFF, &ifr) < 0)
		return -errno;
	t.kind = ifr.ifr_flags & IFF_TAP ? TUN_KIND_TAP : TUN_KIND_TUN;
	memcpy(t.name, ifr.ifr_name, sizeof(t.name));
	t.name[sizeof(t.name) - 1] = '\0';
	/* IFF_NO_PI has to be taken on trust: here its bit means IFF_NOFILTER and
	 * is always set. */
	err = negotiate(&t, ifr.ifr_flags & IFF_VNET_HDR, offloads);
	if (err)
		return err;

	fd_flags = fcntl(fd, F_GETFD);
	status = fcntl(fd, F_GETFL);
	if (fd_flags < 0 || status < 0 || fcntl(fd, F_SETFD, fd_flags | FD_CLOEXEC) < 0 ||
	    fcntl(fd, F_SETFL, status | O_NONBLOCK) < 0)
		return -errno;
	*ret = t;
	return 0;
}

/*
 * A device that shows up for a moment wakes up udev and everybody else who
 * follows links. A thread may leave for a network namespace of its own, which
 * goes away with it; that takes CAP_SYS_ADMIN, so there is a fallback.
 */
int tun_has_tunnel_gso(bool *ret)
{
	struct probe probe = {0};
	pthread_t thread;

	if (!pthread_create(&thread, NULL, probe_thread, &probe))
		pthread_join(thread, NULL);
	if (!probe.own_netns)
		probe.err = probe_tunnel_gso(&probe.has_tunnel_gso);

	if (!probe.err)
		*ret = probe.has_tunnel_gso;
	return probe.err;
}

const char *tun_strerror(int err, const char *name, char *buf, unsigned long buf_len)
{
	const char *text;

	err = abs(err);
	switch (err) {
	case ENOENT:
		text = "there is no " TUN_PATH ": load the module (modprobe tun); "
		       "a container must be given this device";
		break;
	case ENODEV:
		text = TUN_PATH " has no driver behind it: load the module (modprobe tun) "
				"or use a kernel with CONFIG_TUN";
		break;
	case EPERM:
		text = "not permitted: run as root or with CAP_NET_ADMIN; "
		       "in a container the device cgroup must allow " TUN_PATH;
		break;
	case EBUSY:
		text = "the name is taken by a device that is in use or of another type: "
		       "stop its owner, delete it or choose another name";
		break;
	case EINVAL:
		text = "not a usable name: 1 to 15 characters without '/', ':' and spaces, "
		       "not \".\" or \"..\", at most one %d";
		break;
	default:
		text = strerror(err);
	}
	snprintf(buf, buf_len, "%s: %s", name && *name ? name : "\"\"", text);
	return buf;
}

static bool name_valid(const char *name)
{
	size_t len = name ? strnlen(name, IFNAMSIZ) : 0;
	bool numbered = false;

	if (!len || len >= IFNAMSIZ || !strcmp(name, ".") || !strcmp(name, ".."))
		return false;

	for (const char *p = name; *p; p++) {
		/* Control characters would pass, but names end up in logs. */
		if ((unsigned char)*p <= ' ' || *p == 0x7f || *p == '/' || *p == ':')
			return false;
		if (*p != '%')
			continue;
		if (numbered || *++p != 'd')
			return false;
		numbered = true;
	}
	return true;
}

static int open_node(void)
{
	int fd = open(TUN_PATH, O_RDWR | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0)
		return fd;

	switch (errno) {
	case ENXIO: /* no driver for the major number at all */
		return -ENODEV;
	case EACCES: /* the mode of the node */
		return -EPERM;
	default:
		return -errno;
	}
}

static int attach(int fd, const char *name, int flags, struct ifreq *ret_ifr)
{
	struct ifreq ifr = {.ifr_flags = (short)flags};
	int err;

	memcpy(ifr.ifr_name, name, strlen(name));
	if (!ioctl(fd, TUNSETIFF, &ifr)) {
		*ret_ifr = ifr;
		return 0;
	}

	err = errno;
	/* The driver says EINVAL both for nonsense and for a device that exists
	 * but is not of this kind, or has many queues and we want one, or the other way round. */
	if (err == EEXIST || (err == EINVAL && if_nametoindex(name)))
		return -EBUSY;
	return -err;
}

/*
 * Nobody else's: anybody may join a device of many queues, and would take some of its
 * packets. One of the other sort, which was left by somebody who wanted it so, is taken as
 * it is.
 */
static int attach_whole(int fd, const struct tun_open_args *args, int flags, struct ifreq *ret_ifr)
{
	const int wanted = args->multi_queue ? IFF_MULTI_QUEUE : 0;
	bool exists = if_nametoindex(args->name);
	int err;

	if (exists && tun_queues_in_use(args->name) > 0)
		return -EBUSY;
	err = attach(fd, args->name, flags | wanted, ret_ifr);
	if (err == -EBUSY && exists)
		err = attach(fd, args->name, flags | (wanted ^ IFF_MULTI_QUEUE), ret_ifr);
	return err;
}

/* Header size first: with tunnel offloads on and a header too short for them,
 * every read fails. A persistent device keeps size and mask of its last owner, so
 * both are set in every case. */
static int negotiate(struct tun *t, bool vnet_hdr, unsigned offloads)
{
	static const unsigned masks[] = {0x1ff, 0x67, 0x07, 0x01, 0};
	static const int sizes[] = {24, 12, 10};

	for (size_t i = 0; vnet_hdr && !t->vnet_hdr_len && i < sizeof(sizes) / sizeof(sizes[0]);
	     i++) {
		if (!ioctl(t->fd, TUNSETVNETHDRSZ, &sizes[i]))
			t->vnet_hdr_len = (unsigned)sizes[i];
	}
	if (vnet_hdr && !t->vnet_hdr_len)
		return -errno;

	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		unsigned mask = masks[i] & (vnet_hdr ? offloads : 0);

		if (t->vnet_hdr_len < VNET_HDR_TUNNEL_LEN)
			mask &= ~(unsigned)TUN_OFFLOAD_TUNNEL;
		if (!(mask & TUN_OFFLOAD_CSUM))
			mask = 0;
		if (!ioctl(t->fd, TUNSETOFFLOAD, mask)) {
			t->offloads = mask;
			return 0;
		}
	}
	return -errno;
}

static void *probe_thread(void *arg)
{
	struct probe *probe = arg;

	if (unshare(CLONE_NEWNET) < 0)
		return NULL;
	probe->own_netns = true;
	probe->err = probe_tunnel_gso(&probe->has_tunnel_gso);
	return NULL;
}

/* In the network namespace of the calling thread. */
static int probe_tunnel_gso(bool *ret)
{
	int vnet_hdr_len = VNET_HDR_TUNNEL_LEN;
	struct ifreq ifr;
	int fd, err;

	fd = open_node();
	if (fd < 0)
		return fd;

	err = attach(fd, PROBE_NAME, IFF_TAP | IFF_NO_PI | IFF_VNET_HDR, &ifr);
	if (err)
		goto out;

	if (!ioctl(fd, TUNSETVNETHDRSZ, &vnet_hdr_len) &&
	    !ioctl(fd, TUNSETOFFLOAD, TUN_OFFLOAD_ALL))
		*ret = true;
	else if (errno == EINVAL)
		*ret = false;
	else
		err = -errno;
out:
	close(fd);
	return err;
}
