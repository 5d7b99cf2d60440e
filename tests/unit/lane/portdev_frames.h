/* SPDX-License-Identifier: Apache-2.0 */
/* Single frames of an experimental type in and out of either end of a port device. */
#ifndef SEALANE_TESTS_PORTDEV_FRAMES_H
#define SEALANE_TESTS_PORTDEV_FRAMES_H

#include "offload/be.h"
#include "overlay/packet.h"
#include "portdev_world.h"

static const enum portdev_kind kinds[] = {PORTDEV_VETH, PORTDEV_TAP};

enum { FRAME_LEN = 200, RAW_MAX = 4096 };

static const uint8_t broadcast[6] = {255, 255, 255, 255, 255, 255};
static const uint8_t group[6] = {0x01, 0, 0x5e, 0, 0, 1};
static const uint8_t mac_x[6] = {2, 0, 0, 0, 0, 0xaa}, mac_y[6] = {2, 0, 0, 0, 0, 0xbb};

/* A frame of FRAME_LEN bytes with tags and a type nobody uses. */
static inline size_t tagged_frame(uint8_t *p, const uint16_t *tags, const uint8_t *to)
{
	size_t off = 12;

	memcpy(p, to, 6);
	memcpy(p + 6, mac_y, 6);
	for (; tags && *tags; tags += 2, off += 4) {
		be16_store(p + off, tags[0]);
		be16_store(p + off + 2, tags[1]);
	}
	be16_store(p + off, 0x88b5); /* local experimental */
	for (size_t i = off + 2; i < FRAME_LEN; i++)
		p[i] = (uint8_t)(i * 7);
	return FRAME_LEN;
}

enum { TCP_PAYLOAD = 3000, TCP_MSS = 1000 };

/* Ethernet, @n_tags tags, IPv4, TCP, payload. The checksum field holds the sum of
 * the pseudo header: addresses, protocol 6, length. */
static inline size_t tcp_frame(uint8_t *p, unsigned n_tags, size_t payload)
{
	size_t off = 12, ip_len = 40 + payload;
	uint32_t sum = 0x0a09 + 0x0001 + 0x0a09 + 0x0002 + 6 + 20 + (uint32_t)payload;
	uint32_t ip_sum = 0x4500 + (uint32_t)(ip_len > 65535 ? 0 : ip_len) + 0x4000 + 0x4006 +
			  0x0a09 + 0x0001 + 0x0a09 + 0x0002;

	memset(p, 0, 14 + 4 * n_tags + ip_len);
	memcpy(p, mac_x, 6);
	memcpy(p + 6, mac_y, 6);
	for (unsigned i = 0; i < n_tags; i++, off += 4) {
		be16_store(p + off, i + 1 < n_tags ? 0x88a8 : 0x8100);
		be16_store(p + off + 2, (uint16_t)(10 + i));
	}
	be16_store(p + off, 0x0800);
	p += off + 2;
	while (ip_sum >> 16)
		ip_sum = (ip_sum & 0xffff) + (ip_sum >> 16);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	be16_store(p, 0x4500);
	be16_store(p + 2, (uint16_t)(ip_len > 65535 ? 0 : ip_len));
	be16_store(p + 6, 0x4000);
	be16_store(p + 8, 0x4006);
	be16_store(p + 10, (uint16_t)~ip_sum);
	memcpy(p + 12, (const uint8_t[]){10, 9, 0, 1, 10, 9, 0, 2}, 8);
	be16_store(p + 20, 1111);
	be16_store(p + 22, 2222);
	p[32] = 0x50;
	p[33] = 0x10;
	be16_store(p + 36, (uint16_t)sum);
	for (size_t i = 0; i < payload; i++)
		p[40 + i] = (uint8_t)(i * 11 + i / 256);
	return 14 + 4 * n_tags + ip_len;
}

static inline struct vnet tcp_vnet(unsigned n_tags)
{
	return (struct vnet){
		.needs_csum = true,
		.gso = VNET_GSO_TCP4,
		.gso_size = TCP_MSS,
		.hdr_len = (uint16_t)(14 + 4 * n_tags + 40),
		.csum_start = (uint16_t)(14 + 4 * n_tags + 20),
		.csum_offset = 16,
	};
}

/* A packet socket on a device in the overlay end's namespace. */
static inline int raw_socket_on(struct world *w, struct port *p, const char *name)
{
	struct packet packet;

	enter(p->netns);
	assert_int_equal(packet_open((int)if_nametoindex(name), &packet), 0);
	enter(w->home);
	return packet.fd;
}

static inline int raw_socket(struct world *w, struct port *p)
{
	return raw_socket_on(w, p, p->name);
}

static inline void raw_send(int fd, const uint8_t *hdr, const uint8_t *frame, size_t len)
{
	static const uint8_t plain[PACKET_VNET_HDR_LEN];
	uint8_t copy[PACKET_VNET_HDR_LEN];
	struct iovec iov[2] = {{copy, sizeof(copy)}, {(void *)(uintptr_t)frame, len}};
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2};

	memcpy(copy, hdr ? hdr : plain, sizeof(copy));
	assert_int_equal(sendmsg(fd, &msg, 0), (ssize_t)(len + sizeof(copy)));
}

/* The next frame from mac_y, with its tag put back; 0: it does not come. */
static inline size_t raw_receive(int fd, uint8_t hdr[PACKET_VNET_HDR_LEN], uint8_t *frame)
{
	_Alignas(struct cmsghdr) uint8_t control[PACKET_CONTROL_LEN];
	struct iovec iov[2] = {{hdr, PACKET_VNET_HDR_LEN}, {frame + 4, RAW_MAX - 4}};
	struct msghdr msg = {.msg_iov = iov,
			     .msg_iovlen = 2,
			     .msg_control = control,
			     .msg_controllen = sizeof(control)};
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	struct packet_vlan vlan;
	ssize_t len;

	for (;;) {
		msg.msg_controllen = sizeof(control);
		if (poll(&ready, 1, WAIT_MS) <= 0)
			return 0;
		len = recvmsg(fd, &msg, 0) - PACKET_VNET_HDR_LEN;
		if (len > 14 && !memcmp(frame + 4 + 6, mac_y, 6))
			break;
	}
	vlan = packet_vlan_of(&msg);
	if (!vlan.present) {
		memmove(frame, frame + 4, (size_t)len);
		return (size_t)len;
	}
	memmove(frame, frame + 4, 12);
	be16_store(frame + 12, vlan.tpid);
	be16_store(frame + 14, vlan.tci);
	return (size_t)len + 4;
}

/* The next frame from mac_y; NULL: it does not come. It lives until the next read. */
static inline const struct portdev_read *port_receive(struct world *w, struct port *p)
{
	static struct portdev_read r[PORTDEV_BATCH_MAX];
	struct pollfd ready = {.fd = portdev_fd(p->d), .events = POLLIN};

	while (poll(&ready, 1, WAIT_MS) > 0) {
		int n = read_batch(w, p, r);

		assert_true(n >= 0);
		for (int i = 0; i < n; i++) {
			if (r[i].drop != DROP_NONE ||
			    (r[i].len > 14 && !memcmp(r[i].frame + 6, mac_y, 6)))
				return &r[i];
		}
	}
	return NULL;
}

static inline int port_send(struct port *p, const struct vnet *vnet, uint8_t *frame, size_t len)
{
	struct iovec iov = {frame, len};
	struct portdev_write out = {.vnet = *vnet, .iov = &iov, .n_iov = 1, .err = 1};

	portdev_write(p->d, &out, 1);
	return out.err;
}

/* After this one there is nothing of what was sent before. */
static inline void marker_frame(uint8_t *p)
{
	tagged_frame(p, NULL, mac_x);
	be16_store(p + 12, 0x88b6);
}

static inline bool is_marker(const uint8_t *p)
{
	return !memcmp(p + 6, mac_y, 6) && be16_load(p + 12) == 0x88b6;
}

/* How many frames from mac_y came out of the overlay end. */
static inline unsigned raw_count(struct port *p, int raw)
{
	const struct vnet plain = {0};
	uint8_t frame[RAW_MAX], hdr[PACKET_VNET_HDR_LEN];
	unsigned n = 0;

	marker_frame(frame);
	assert_int_equal(port_send(p, &plain, frame, FRAME_LEN), 0);
	for (;; n++) {
		assert_true(raw_receive(raw, hdr, frame) > 14);
		if (is_marker(frame))
			return n;
	}
}

/* How many frames from mac_y that went into the overlay end by @raw came out. */
static inline unsigned port_count(struct world *w, struct port *p, int raw)
{
	struct portdev_read r[PORTDEV_BATCH_MAX];
	struct pollfd ready = {.fd = portdev_fd(p->d), .events = POLLIN};
	uint8_t frame[FRAME_LEN];
	unsigned n_ours = 0;

	marker_frame(frame);
	raw_send(raw, NULL, frame, sizeof(frame));
	while (poll(&ready, 1, WAIT_MS) > 0) {
		int n = read_batch(w, p, r);

		assert_true(n >= 0);
		for (int i = 0; i < n; i++) {
			if (r[i].len > 14 && is_marker(r[i].frame))
				return n_ours;
			n_ours += r[i].len > 14 && !memcmp(r[i].frame + 6, mac_y, 6);
		}
	}
	fail_msg("the last frame does not come");
	return 0;
}

#endif
