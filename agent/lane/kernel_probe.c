/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   a thread's own network namespace
 *
 *   us -> TUN 192.0.2.1 -> IP, UDP 4789 -> VXLAN device 198.51.100.1 -> UDP socket -> us
 *
 * One datagram goes first, alone: where not even that arrives, something else than
 * the kernel's handling of superpackets is wrong, and nothing is said about it.
 */
#include "kernel_probe_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "offload/vnet.h"
#include "overlay/address.h"
#include "overlay/link.h"
#include "overlay/nl.h"
#include "overlay/tun.h"
#include "overlay/vxlan.h"

enum { TIMEOUT_MS = 1000 };

struct probe {
	enum kernel_probe_write how;
	struct kernel_probe *ret;
	struct nl *nl;
	struct tun tun;
	int sock;
};

static void say(struct probe *p, enum zero_csum_probe result, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void *probe_thread(void *arg);
static bool set_up(struct probe *p);
static void try_writes(struct probe *p);

void kernel_probe_run(enum kernel_probe_write how, struct kernel_probe *ret)
{
	struct probe p = {.how = how, .ret = ret, .tun.fd = -1, .sock = -1};
	pthread_t thread;
	int err;

	say(&p, ZERO_CSUM_UNPROBED, "not tried");
	err = pthread_create(&thread, NULL, probe_thread, &p);
	if (err)
		say(&p, ZERO_CSUM_UNPROBED, "no thread to run it in: %s", strerror(err));
	else
		pthread_join(thread, NULL);
}

static void say(struct probe *p, enum zero_csum_probe result, const char *fmt, ...)
{
	va_list ap;

	p->ret->result = result;
	va_start(ap, fmt);
	vsnprintf(p->ret->reason, sizeof(p->ret->reason), fmt, ap);
	va_end(ap);
}

/* The namespace goes with the thread, and all that is in it. */
static void *probe_thread(void *arg)
{
	struct probe *p = arg;

	if (unshare(CLONE_NEWNET) < 0)
		say(p, ZERO_CSUM_UNPROBED, "no network namespace of its own: %s%s", strerror(errno),
		    errno == EPERM ? " (run as root)" : "");
	else if (set_up(p))
		try_writes(p);
	if (p->sock >= 0)
		close(p->sock);
	if (p->tun.fd >= 0)
		close(p->tun.fd);
	nl_close(p->nl);
	return NULL;
}

/* ---- The way from us to us ---- */

/* False, and said so, for a step of setting up that failed. */
static bool done(struct probe *p, int err, const char *what)
{
	if (err)
		say(p, ZERO_CSUM_UNPROBED, "%s: %s", what, strerror(-err));
	return !err;
}

static int configure(struct nl *nl, const char *name, const uint8_t address[4])
{
	const struct link_change change = {.set_up = true, .up = true, .set_addr_gen_none = true};
	struct address addr = {.prefix.len = 24};
	struct link_info link;
	int err = link_get(nl, name, &link);

	if (!err) {
		addr.ifindex = link.ifindex;
		ip_addr_from_bytes(address, 4, &addr.prefix.addr);
		err = address_add(nl, &addr);
	}
	return err ? err : link_set(nl, link.ifindex, &change);
}

static bool open_tun(struct probe *p)
{
	const struct tun_open_args args = {
		.name = "tun0",
		.kind = TUN_KIND_TUN,
		.vnet_hdr = true,
		.offloads = TUN_OFFLOAD_CSUM | TUN_OFFLOAD_TSO | TUN_OFFLOAD_USO,
	};
	int err = tun_open(&args, &p->tun);

	if (err) {
		char text[240];

		tun_strerror(err, "TUN device", text, sizeof(text));
		say(p, ZERO_CSUM_UNPROBED, "%s", text);
		return false;
	}
	if (p->tun.offloads & TUN_OFFLOAD_USO)
		return true;
	say(p, ZERO_CSUM_UNPROBED, "this kernel's TUN has no UDP superpackets (it takes 6.2)");
	return false;
}

static int open_socket(int *ret)
{
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(PROBE_INNER_PORT)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	*ret = fd;
	memcpy(&addr.sin_addr, kernel_probe_vxlan, sizeof(kernel_probe_vxlan));
	return bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0 ? -errno : 0;
}

static bool set_up(struct probe *p)
{
	struct vxlan_args vxlan = {.name = "vxlan0", .vni = PROBE_VNI, .port = PROBE_OUTER_PORT};

	memcpy(vxlan.local, kernel_probe_tun, sizeof(vxlan.local));
	memcpy(vxlan.mac, kernel_probe_mac, sizeof(vxlan.mac));
	return done(p, nl_open(&p->nl), "no netlink socket") && open_tun(p) &&
	       done(p, configure(p->nl, p->tun.name, kernel_probe_tun),
		    "cannot configure a TUN device") &&
	       done(p, vxlan_create(p->nl, &vxlan), "cannot create a VXLAN device") &&
	       done(p, configure(p->nl, vxlan.name, kernel_probe_vxlan),
		    "cannot configure a VXLAN device") &&
	       done(p, open_socket(&p->sock), "cannot open a UDP socket");
}

/* ---- What is written ---- */

/* 0 or -errno; a short write does not happen on a TUN. */
static int write_packet(const struct probe *p, uint8_t first, uint32_t n)
{
	struct vnet v = {.needs_csum = true, .csum_start = IPV4_HDR_MIN_LEN, .csum_offset = 6};
	uint8_t bytes[VNET_LEN_TUNNEL + PROBE_PACKET_MAX];
	uint32_t hdr_len = p->tun.vnet_hdr_len, len = kernel_probe_build(bytes + hdr_len, first, n);

	if (n > 1 && p->how == KERNEL_PROBE_SUPERPACKET) {
		v.gso = VNET_GSO_UDP;
		v.gso_size = PROBE_SEGMENT_LEN;
		v.hdr_len = PROBE_HEAD_LEN;
	}
	if (!vnet_encode(&v, bytes, hdr_len, 0))
		return -EINVAL;
	return write(p->tun.fd, bytes, hdr_len + len) < 0 ? -errno : 0;
}

/* ---- What arrives ---- */

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* The bit of a datagram's number, or 0 for what is none of ours, or damaged. */
static uint32_t receive_one(const struct probe *p)
{
	uint8_t bytes[PROBE_PAYLOAD_LEN + 1];
	ssize_t len = recv(p->sock, bytes, sizeof(bytes), 0);

	if (len < PROBE_PAYLOAD_LEN - PROBE_LAST_SHORTER || len > PROBE_PAYLOAD_LEN ||
	    bytes[0] > PROBE_SINGLE)
		return 0;
	for (ssize_t i = 1; i < len; i++) {
		if (bytes[i] != bytes[0])
			return 0;
	}
	return 1u << bytes[0];
}

/* Until all of @wanted are there or the time is over; the bits of those seen. */
static uint32_t receive(const struct probe *p, uint32_t wanted)
{
	const int64_t deadline = now_ms() + TIMEOUT_MS;
	uint32_t seen = 0;

	while ((seen & wanted) != wanted) {
		struct pollfd fd = {.fd = p->sock, .events = POLLIN};
		int64_t left = deadline - now_ms();

		if (left <= 0)
			break;
		if (poll(&fd, 1, (int)left) > 0)
			seen |= receive_one(p);
	}
	return seen & wanted;
}

static void try_writes(struct probe *p)
{
	const uint32_t all = (1u << KERNEL_PROBE_DATAGRAMS) - 1, single = 1u << PROBE_SINGLE;
	int err = write_packet(p, PROBE_SINGLE, 1), n;

	if (!done(p, err, "the TUN device does not take a datagram"))
		return;
	if (receive(p, single) != single) {
		say(p, ZERO_CSUM_UNPROBED, "not even a single datagram arrives");
		return;
	}
	err = write_packet(p, 0, KERNEL_PROBE_DATAGRAMS);
	if (!done(p, err, "the TUN device does not take a UDP superpacket"))
		return;
	n = __builtin_popcount(receive(p, all));
	say(p, n == KERNEL_PROBE_DATAGRAMS ? ZERO_CSUM_PROBE_PASSED : ZERO_CSUM_PROBE_FAILED,
	    "%d of the %d datagrams of one superpacket arrived", n, KERNEL_PROBE_DATAGRAMS);
}
