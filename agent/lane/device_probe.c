/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tries whether the kernel takes superpackets from us: some releases grant the
 * offloads and then refuse the writes. The device is still down, so nothing is
 * delivered; a header the kernel likes ends in EIO, one it does not in EINVAL
 * (drivers/net/tun.c:tun_get_user() checks the header first).
 */
#include <errno.h>
#include <string.h>

#include "device.h"
#include "offload/be.h"
#include "offload/checksum.h"
#include "offload/ip.h"

enum {
	PROBE_MSS = 32,
	PROBE_PAYLOAD = 3 * PROBE_MSS - 1, /* a short last segment, too */
	TCP_LEN = 20,
	UDP_LEN = 8,
	VXLAN_ETHER_LEN = 8 + 14,
	PROBE_MAX = 2 * (40 + TCP_LEN) + VXLAN_ETHER_LEN + PROBE_PAYLOAD,
};

/* An IP header over @payload bytes of @proto; returns its length. The addresses
 * are documentation ones: even a device that came up would deliver to nobody. */
static uint32_t put_ip(uint8_t *p, int version, uint8_t proto, uint32_t payload)
{
	static const uint8_t v6[16] = {0x20, 0x01, 0x0d, 0xb8};
	static const uint8_t v4[4] = {192, 0, 2, 1};

	if (version == 6) {
		p[0] = 0x60;
		be16_store(p + 4, (uint16_t)payload);
		p[6] = proto;
		p[7] = 1;
		memcpy(p + 8, v6, sizeof(v6));
		memcpy(p + 24, v6, sizeof(v6));
		return IPV6_HDR_LEN;
	}
	p[0] = 0x45;
	be16_store(p + 2, (uint16_t)(IPV4_HDR_MIN_LEN + payload));
	p[8] = 1;
	p[9] = proto;
	memcpy(p + 12, v4, sizeof(v4));
	memcpy(p + 16, v4, sizeof(v4));
	be16_store(p + 10, checksum_finish(checksum_add(0, p, IPV4_HDR_MIN_LEN)));
	return IPV4_HDR_MIN_LEN;
}

static uint32_t put_tcp(uint8_t *p)
{
	p[12] = TCP_LEN / 4 << 4;
	p[13] = 0x10; /* ACK */
	return TCP_LEN;
}

static uint32_t put_udp(uint8_t *p, uint16_t port, uint32_t payload)
{
	be16_store(p, port);
	be16_store(p + 2, port);
	be16_store(p + 4, (uint16_t)(UDP_LEN + payload));
	return UDP_LEN;
}

static uint32_t build_plain(enum device_merge kind, uint8_t *p, struct vnet *v)
{
	bool udp = kind == DEVICE_MERGE_UDP;
	uint32_t l4 = udp ? UDP_LEN : TCP_LEN;
	uint32_t ip = put_ip(p, kind == DEVICE_MERGE_TCP6 ? 6 : 4,
			     udp ? IP_PROTO_UDP : IP_PROTO_TCP, l4 + PROBE_PAYLOAD);

	v->gso = udp ? VNET_GSO_UDP : kind == DEVICE_MERGE_TCP6 ? VNET_GSO_TCP6 : VNET_GSO_TCP4;
	v->csum_start = (uint16_t)ip;
	v->csum_offset = udp ? 6 : 16;
	if (udp)
		put_udp(p + ip, 9, PROBE_PAYLOAD);
	else
		put_tcp(p + ip);
	return ip + l4 + PROBE_PAYLOAD;
}

/* IPv4, UDP, VXLAN, Ethernet, IPv4, TCP. */
static uint32_t build_tunnel(uint8_t *p, struct vnet *v)
{
	uint32_t inner = IPV4_HDR_MIN_LEN + TCP_LEN + PROBE_PAYLOAD;
	uint32_t off = put_ip(p, 4, IP_PROTO_UDP, UDP_LEN + VXLAN_ETHER_LEN + inner);

	v->tunnel = VNET_TUNNEL_V4;
	v->gso = VNET_GSO_TCP4;
	v->outer_l4_off = (uint16_t)off;
	off += put_udp(p + off, 4789, VXLAN_ETHER_LEN + inner);
	p[off] = 0x08;
	be16_store(p + off + VXLAN_ETHER_LEN - 2, 0x0800);
	off += VXLAN_ETHER_LEN;
	v->inner_l3_off = (uint16_t)off;
	off += put_ip(p + off, 4, IP_PROTO_TCP, TCP_LEN + PROBE_PAYLOAD);
	v->csum_start = (uint16_t)off;
	v->csum_offset = 16;
	off += put_tcp(p + off);
	return off + PROBE_PAYLOAD;
}

bool device_probe_merge(const struct device *d, enum device_merge kind)
{
	struct device_io io = device_io_of((struct device *)(uintptr_t)d);
	uint8_t p[PROBE_MAX] = {0};
	struct vnet v = {.needs_csum = true, .gso_size = PROBE_MSS};
	struct iovec iov = {.iov_base = p};
	int err;

	if (!device_vnet_hdr_len(d))
		return false;
	iov.iov_len = kind == DEVICE_MERGE_TUNNEL ? build_tunnel(p, &v) : build_plain(kind, p, &v);
	v.hdr_len = (uint16_t)(iov.iov_len - PROBE_PAYLOAD);
	err = io.write(io.ctx, &v, &iov, 1);
	/* 0: given up already (WG_TUN_FD), and taken. */
	return !err || err == -EIO;
}
