/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

#include <errno.h>
#include <linux/if_tun.h>
#include <net/ethernet.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "batch.h"
#include "offload/be.h"
#include "overlay/link.h"

struct device {
	struct tun tun;
	int ifindex;
	uint8_t mac[ETH_ALEN];
	char reason[120];
};

/* Opening */

static enum tun_kind choose_kind(enum device_choice choice, char reason[120])
{
	bool tunnel_gso = false;
	int err;

	if (choice != DEVICE_AUTO) {
		snprintf(reason, 120, "SEALANE_DEVICE=%s", choice == DEVICE_TAP ? "tap" : "tun");
		return choice == DEVICE_TAP ? TUN_KIND_TAP : TUN_KIND_TUN;
	}
	err = tun_has_tunnel_gso(&tunnel_gso);
	if (err)
		snprintf(reason, 120, "could not probe the kernel (%s)", strerror(-err));
	else
		snprintf(reason, 120, "this kernel's TAP %s carry UDP-tunnel superpackets",
			 tunnel_gso ? "can" : "cannot");
	return tunnel_gso ? TUN_KIND_TAP : TUN_KIND_TUN;
}

static int open_tun(const struct device_args *args, struct device *d, char err_text[200])
{
	struct tun_open_args open_args = {.name = args->name};
	int err;

	if (args->tun_fd >= 0) {
		err = tun_adopt(args->tun_fd, &d->tun);
		snprintf(d->reason, sizeof(d->reason), "given by WG_TUN_FD");
		if (err)
			snprintf(err_text, 200, "WG_TUN_FD=%d is not a TUN or TAP descriptor: %s",
				 args->tun_fd, strerror(-err));
		return err;
	}
	open_args.kind = choose_kind(args->choice, d->reason);
	err = tun_open(&open_args, &d->tun);
	if (err)
		tun_strerror(err, args->name, err_text, 200);
	return err;
}

static int configure(struct device *d, struct nl *nl)
{
	struct link_info link;
	struct link_change change = {
		.set_mtu = true,
		.mtu = DEVICE_DEFAULT_MTU,
		.set_addr_gen_none = true,
	};
	int err = link_get(nl, d->tun.name, &link);

	if (err)
		return err;
	d->ifindex = link.ifindex;
	if (d->tun.kind == TUN_KIND_TAP) {
		/* Locally administered, unicast; set by us because udev may
		 * replace one the kernel drew. */
		randombytes_buf(d->mac, sizeof(d->mac));
		d->mac[0] = (uint8_t)((d->mac[0] & 0xfc) | 0x02);
		change.set_mac = true;
		memcpy(change.mac, d->mac, sizeof(change.mac));
		change.set_arp = true;
		change.arp = false;
	}
	return link_set(nl, d->ifindex, &change);
}

int device_open(const struct device_args *args, struct nl *nl, struct device **ret,
		char err_text[200])
{
	struct device *d = calloc(1, sizeof(*d));
	int err;

	if (!d) {
		snprintf(err_text, 200, "out of memory");
		return -ENOMEM;
	}
	d->tun.fd = -1;
	err = open_tun(args, d, err_text);
	if (!err) {
		err = configure(d, nl);
		if (err)
			snprintf(err_text, 200, "cannot configure device %s: %s", d->tun.name,
				 strerror(-err));
	}
	if (err) {
		device_close(d);
		return err;
	}
	*ret = d;
	return 0;
}

void device_close(struct device *d)
{
	if (!d)
		return;
	if (d->tun.fd >= 0)
		close(d->tun.fd);
	free(d);
}

/* Reading and writing */

/* A TAP gives an Ethernet frame; what is not IP is refused here. */
static void strip_ethernet(struct packet *p)
{
	uint16_t type;

	if (p->len < ETH_HLEN) {
		p->drop = DROP_NOT_IP;
		return;
	}
	type = be16_load(p->data - 2);
	p->len -= ETH_HLEN;
	if (type != ETHERTYPE_IP && type != ETHERTYPE_IPV6)
		p->drop = DROP_NOT_IP;
}

static int io_read(void *ctx, struct packet *pkts, unsigned max)
{
	const struct device *d = ctx;
	size_t ether = d->tun.kind == TUN_KIND_TAP ? ETH_HLEN : 0;
	unsigned n = 0;

	while (n < max) {
		struct packet *p = &pkts[n];
		ssize_t len;

		p->data = p->buf + PACKET_HEADROOM;
		len = read(d->tun.fd, p->data - ether, PACKET_MAX_LEN + ether);
		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0 && errno == EBADFD && !n)
			return -EBADFD;
		if (len <= 0)
			break;
		p->len = (uint32_t)len;
		p->drop = DROP_NONE;
		if (ether)
			strip_ethernet(p);
		n++;
	}
	return (int)n;
}

static enum drop write_error(int err)
{
	switch (err) {
	case EIO:
		return DROP_DEVICE_DOWN;
	case EAGAIN:
	case ENOBUFS:
	case ENOMEM:
		return DROP_SEND_FULL;
	default:
		return DROP_DEVICE_WRITE;
	}
}

static void put_ethernet(const struct device *d, struct packet *p)
{
	uint8_t *eth = p->data - ETH_HLEN;

	memcpy(eth, d->mac, ETH_ALEN);
	memcpy(eth + ETH_ALEN, d->mac, ETH_ALEN);
	be16_store(eth + 2 * ETH_ALEN, p->data[0] >> 4 == 4 ? ETHERTYPE_IP : ETHERTYPE_IPV6);
}

static void io_write(void *ctx, struct packet *pkts, unsigned n)
{
	const struct device *d = ctx;
	size_t ether = d->tun.kind == TUN_KIND_TAP ? ETH_HLEN : 0;

	for (unsigned i = 0; i < n; i++) {
		struct packet *p = &pkts[i];
		ssize_t written;

		if (!packet_alive(p))
			continue;
		if (ether)
			put_ethernet(d, p);
		do {
			written = write(d->tun.fd, p->data - ether, p->len + ether);
		} while (written < 0 && errno == EINTR);
		if (written < 0)
			p->drop = write_error(errno);
	}
}

struct device_io device_io_of(struct device *d)
{
	return (struct device_io){.ctx = d, .read = io_read, .write = io_write};
}

int device_fd(const struct device *d)
{
	return d->tun.fd;
}

const char *device_name(const struct device *d)
{
	return d->tun.name;
}

enum tun_kind device_kind(const struct device *d)
{
	return d->tun.kind;
}

const char *device_reason(const struct device *d)
{
	return d->reason;
}

/* Following */

bool device_follow(struct device *d, const struct link_info *link)
{
	if (link->ifindex != d->ifindex)
		return false;
	memcpy(d->tun.name, link->name, sizeof(d->tun.name));
	if (link->has_mac)
		memcpy(d->mac, link->mac, sizeof(d->mac));
	return true;
}

bool device_exists(const struct device *d)
{
	struct ifreq ifr = {0};

	return !ioctl(d->tun.fd, TUNGETIFF, &ifr);
}

int device_netns(const struct device *d)
{
	int fd = ioctl(d->tun.fd, TUNGETDEVNETNS);

	return fd < 0 ? -errno : fd;
}

int device_refind(struct device *d, struct nl *nl, struct link_info *ret)
{
	struct ifreq ifr = {0};
	struct link_info link;
	int err;

	if (ioctl(d->tun.fd, TUNGETIFF, &ifr))
		return -errno;
	ifr.ifr_name[IFNAMSIZ - 1] = '\0';
	err = link_get(nl, ifr.ifr_name, &link);
	if (err)
		return err;
	d->ifindex = link.ifindex;
	device_follow(d, &link);
	*ret = link;
	return 0;
}
