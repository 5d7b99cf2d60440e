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
#include <sys/uio.h>
#include <unistd.h>

#include "offload/be.h"
#include "offload/ip.h"
#include "overlay/link.h"
#include "overlay/owner.h"
#include "overlay/route.h"

/* More fragments, or an offset (RFC 791). */
enum { IPV4_FRAGMENT_MASK = 0x3fff };

struct device_queue {
	struct device *device;
	int fd; /* -1: none */
};

struct device {
	struct tun tun;
	struct device_queue queue[DEVICE_QUEUES_MAX]; /* the first is tun.fd */
	unsigned n_queues;
	int ifindex;
	uint8_t mac[ETH_ALEN];
	char reason[120];
	struct nl *nl; /* of the namespace the device is in; borrowed */
};

/* Opening */

static enum tun_kind choose_kind(const struct device_args *args, char reason[120])
{
	enum device_choice choice = args->choice;
	bool tunnel_gso = false;
	int err;

	if (choice != DEVICE_AUTO) {
		snprintf(reason, 120, "SEALANE_DEVICE=%s", choice == DEVICE_TAP ? "tap" : "tun");
		return choice == DEVICE_TAP ? TUN_KIND_TAP : TUN_KIND_TUN;
	}
	if (!args->want_tunnel_gso) {
		snprintf(reason, 120, "UDP-tunnel superpackets are switched off");
		return TUN_KIND_TUN;
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
	struct tun_open_args open_args = {
		.name = args->name,
		.persist = args->persist,
		.vnet_hdr = args->vnet_hdr,
		.offloads = args->offloads,
		.multi_queue = args->n_queues > 1,
	};
	int err;

	if (args->tun_fd >= 0) {
		err = tun_adopt(args->tun_fd, args->offloads, &d->tun);
		snprintf(d->reason, sizeof(d->reason), "given by WG_TUN_FD");
		if (err)
			snprintf(err_text, 200, "WG_TUN_FD=%d is not a TUN or TAP descriptor: %s",
				 args->tun_fd, strerror(-err));
		return err;
	}
	open_args.kind = choose_kind(args, d->reason);
	err = tun_open(&open_args, &d->tun);
	if (err)
		tun_strerror(err, args->name, err_text, 200);
	return err;
}

/* Locally administered, unicast; set by us because udev may replace one that the
 * kernel drew. */
static void choose_mac(struct device *d, struct link_change *change)
{
	randombytes_buf(d->mac, sizeof(d->mac));
	d->mac[0] = (uint8_t)((d->mac[0] & 0xfc) | 0x02);
	change->set_mac = true;
	memcpy(change->mac, d->mac, sizeof(change->mac));
}

/* One that a lane left behind keeps what is stacked on it: MTU and MAC stay. */
static int configure(struct device *d, struct nl *nl, bool persist)
{
	struct link_change change = {
		.mtu = DEVICE_DEFAULT_MTU,
		.txqlen = DEVICE_SINGLES_TXQLEN,
		.set_addr_gen_none = true,
	};
	char alias[LINK_ALIAS_LEN];
	struct link_info link;
	int err = link_get(nl, d->tun.name, &link);
	bool left;

	if (err)
		return err;
	d->ifindex = link.ifindex;
	snprintf(alias, sizeof(alias), OWNER_LANE_ALIAS "%s", d->tun.name);
	/* The short one is of a release that knew no other. */
	left = persist && (!strcmp(link.alias, alias) || !strcmp(link.alias, OWNER_ALIAS));
	memcpy(d->mac, link.mac, sizeof(d->mac));
	change.set_mtu = !left;
	/* The kernel cuts what goes into a tunnel before it reaches us: a burst is
	 * 45 times as many packets, and a full queue drops (bbr over VXLAN: 6,000
	 * to 9,000 retransmits in 3 s with 500, none with 4,000). */
	change.set_txqlen = !(d->tun.offloads & TUN_OFFLOAD_TUNNEL);
	if (d->tun.kind == TUN_KIND_TAP) {
		if (!left)
			choose_mac(d, &change);
		change.set_arp = true;
		change.arp = false;
	}
	err = link_set(nl, d->ifindex, &change);
	if (!err && persist && !left)
		err = link_set_alias(nl, d->ifindex, alias);
	return err;
}

static int open_queues(struct device *d, unsigned wanted, char err_text[200])
{
	d->queue[0].fd = d->tun.fd;
	d->n_queues = 1;
	while (d->tun.multi_queue && d->n_queues < wanted && d->n_queues < DEVICE_QUEUES_MAX) {
		int fd = tun_open_queue(&d->tun);

		if (fd < 0) {
			snprintf(err_text, 200, "queue %u of device %s: %s", d->n_queues,
				 d->tun.name, strerror(-fd));
			return fd;
		}
		d->queue[d->n_queues++].fd = fd;
	}
	return 0;
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
	d->nl = nl;
	for (unsigned i = 0; i < DEVICE_QUEUES_MAX; i++)
		d->queue[i] = (struct device_queue){.device = d, .fd = -1};
	err = open_tun(args, d, err_text);
	if (!err)
		err = open_queues(d, args->n_queues, err_text);
	if (!err) {
		err = configure(d, nl, args->persist);
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
	for (unsigned i = 1; i < d->n_queues; i++)
		close(d->queue[i].fd);
	if (d->tun.fd >= 0)
		close(d->tun.fd);
	free(d);
}

/* Reading and writing */

static size_t ether_len(const struct device *d)
{
	return d->tun.kind == TUN_KIND_TAP ? ETH_HLEN : 0;
}

/* A TAP gives an Ethernet frame in front of the packet; what is not IP is refused
 * here. */
static enum drop check_ethernet(const uint8_t *ip)
{
	uint16_t type = be16_load(ip - 2);

	return type == ETHERTYPE_IP || type == ETHERTYPE_IPV6 ? DROP_NONE : DROP_NOT_IP;
}

/* @len bytes were read: what are they? */
static void take_packet(const struct device *d, const uint8_t *hdr, size_t len, struct io_read *r)
{
	size_t before = d->tun.vnet_hdr_len + ether_len(d);

	r->drop = DROP_NONE;
	r->vnet = (struct vnet){0};
	r->len = len > before ? (uint32_t)(len - before) : 0;
	if (!r->len)
		r->drop = DROP_NOT_IP;
	else if (ether_len(d))
		r->drop = check_ethernet(r->ip);
	if (!r->drop && d->tun.vnet_hdr_len &&
	    !vnet_decode(hdr, d->tun.vnet_hdr_len, ether_len(d), &r->vnet))
		r->drop = DROP_BAD_VNET;
}

static int io_read(void *ctx, struct io_read *r)
{
	const struct device_queue *q = ctx;
	const struct device *d = q->device;
	size_t ether = ether_len(d);
	uint8_t hdr[VNET_LEN_TUNNEL];
	struct iovec iov[] = {
		{hdr, d->tun.vnet_hdr_len},
		{r->ip - ether, IO_PACKET_MAX + ether},
	};
	ssize_t len;

	if (q->fd < 0)
		return 0;
	do {
		len = readv(q->fd, iov, 2);
	} while (len < 0 && errno == EINTR);
	if (len < 0)
		return errno == EBADFD ? -EBADFD : 0;
	take_packet(d, hdr, (size_t)len, r);
	return 1;
}

/* vnet and Ethernet header of a packet that starts with byte @first. */
static size_t put_headers(const struct device *d, const struct vnet *vnet, uint8_t first,
			  uint8_t *hdr)
{
	size_t len = d->tun.vnet_hdr_len;

	if (len && !vnet_encode(vnet, hdr, len, ether_len(d)))
		return 0;
	if (!ether_len(d))
		return len;
	memcpy(hdr + len, d->mac, ETH_ALEN);
	memcpy(hdr + len + ETH_ALEN, d->mac, ETH_ALEN);
	be16_store(hdr + len + 2 * ETH_ALEN, first >> 4 == 4 ? ETHERTYPE_IP : ETHERTYPE_IPV6);
	return len + ETH_HLEN;
}

/* The same for both directions of a flow, and for all fragments of a packet. */
static uint32_t flow_hash(const uint8_t *ip, size_t len)
{
	const bool v4 = ip[0] >> 4 == 4;
	const unsigned addrs_off = v4 ? 12 : 8, addrs_len = v4 ? 8 : 32;
	const unsigned l4_off = v4 ? (ip[0] & 15U) * 4 : IPV6_HDR_LEN;
	const uint8_t proto = v4 ? ip[9] : ip[6];
	uint32_t hash = 0;

	if (len < addrs_off + addrs_len)
		return 0;
	for (unsigned i = 0; i < addrs_len; i += 4)
		hash ^= be32_load(ip + addrs_off + i);
	if ((proto == IP_PROTO_TCP || proto == IP_PROTO_UDP) && len >= l4_off + 4 &&
	    !(v4 && be16_load(ip + 6) & IPV4_FRAGMENT_MASK))
		hash ^= (uint32_t)(be16_load(ip + l4_off) ^ be16_load(ip + l4_off + 2)) << 8;
	hash *= 0x9e3779b1U;
	return hash ^ hash >> 15;
}

static int queue_of_flow(const struct device *d, const struct iovec *first)
{
	if (d->n_queues == 1)
		return d->tun.fd;
	return d->queue[flow_hash(first->iov_base, first->iov_len) % d->n_queues].fd;
}

static int io_write(void *ctx, const struct vnet *vnet, const struct iovec *iov, unsigned n)
{
	const struct device *d = ((const struct device_queue *)ctx)->device;
	uint8_t hdr[VNET_LEN_TUNNEL + ETH_HLEN];
	struct iovec all[1 + IO_IOV_MAX];
	size_t hdr_len = put_headers(d, vnet, *(const uint8_t *)iov->iov_base, hdr);
	ssize_t written;

	if (!hdr_len && (d->tun.vnet_hdr_len || ether_len(d)))
		return -EINVAL;
	if (!d->tun.vnet_hdr_len && vnet->gso != VNET_GSO_NONE)
		return -EINVAL;
	all[0] = (struct iovec){hdr, hdr_len};
	memcpy(&all[1], iov, n * sizeof(*iov));
	do {
		written = writev(queue_of_flow(d, iov), all, (int)n + 1);
	} while (written < 0 && errno == EINTR);
	return written < 0 ? -errno : 0;
}

static bool io_is_local(void *ctx, const uint8_t *addr)
{
	const struct device *d = ((const struct device_queue *)ctx)->device;
	struct route_way way;

	return d->nl && !route_get_way(d->nl, AF_INET, addr, 0, &way) && way.local;
}

struct device_io device_io_of_queue(struct device *d, unsigned i)
{
	return (struct device_io){
		.ctx = &d->queue[i], .read = io_read, .write = io_write, .is_local = io_is_local};
}

struct device_io device_io_of(struct device *d)
{
	return device_io_of_queue(d, 0);
}

unsigned device_n_queues(const struct device *d)
{
	return d->n_queues;
}

int device_queue_fd(const struct device *d, unsigned i)
{
	return i < d->n_queues ? d->queue[i].fd : -1;
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

unsigned device_vnet_hdr_len(const struct device *d)
{
	return d->tun.vnet_hdr_len;
}

unsigned device_offloads(const struct device *d)
{
	return d->tun.offloads;
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
	d->nl = nl;
	device_follow(d, &link);
	*ret = link;
	return 0;
}
