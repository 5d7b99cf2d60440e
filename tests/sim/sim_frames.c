/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "offload/be.h"
#include "offload/checksum.h"
#include "offload/ether.h"
#include "offload/ip.h"
#include "sim.h"

enum { TCP_LEN = 20, UDP_LEN = 8, MAC_LAST = 5 };

void sim_mac(unsigned host, uint8_t ret[6])
{
	memset(ret, 0, 6);
	ret[0] = 2;
	ret[MAC_LAST] = (uint8_t)host;
}

static struct sim_frame_args completed(const struct sim_frame_args *args)
{
	struct sim_frame_args a = *args;

	a.version = a.version ? a.version : 4;
	a.proto = a.proto ? a.proto : IP_PROTO_TCP;
	a.src = a.src ? a.src : 1;
	a.dst = a.dst ? a.dst : 2;
	a.port = a.port ? a.port : 1000;
	return a;
}

static uint32_t ip_hdr_len(const struct sim_frame_args *a)
{
	return a->version == 4 ? IPV4_HDR_MIN_LEN : IPV6_HDR_LEN;
}

static uint32_t l4_hdr_len(const struct sim_frame_args *a)
{
	return a->proto == IP_PROTO_TCP ? TCP_LEN : UDP_LEN;
}

static uint32_t l2_len(const struct sim_frame_args *a)
{
	return ETHER_HDR_LEN + a->n_tags * ETHER_TAG_LEN;
}

static uint8_t *put_l2(uint8_t *p, const struct sim_frame_args *a)
{
	sim_mac(a->dst, p);
	sim_mac(a->src, p + 6);
	p += 12;
	for (unsigned i = a->n_tags; i; i--, p += ETHER_TAG_LEN) {
		be16_store(p, i == 2 ? 0x88a8 : 0x8100);
		be16_store(p + 2, (uint16_t)(0x2000 | i * 100));
	}
	be16_store(p, a->version == 4 ? 0x0800 : 0x86dd);
	return p + 2;
}

/* 0 where it does not fit: BIG TCP. */
static uint16_t len16(uint32_t len)
{
	return len <= UINT16_MAX ? (uint16_t)len : 0;
}

static void put_ip4(uint8_t *ip, const struct sim_frame_args *a, uint32_t len)
{
	ip[0] = 0x45;
	ip[1] = a->tos;
	be16_store(ip + 2, len16(len));
	be16_store(ip + 4, (uint16_t)(a->seq / 1000));
	ip[6] = a->df ? 0x40 : 0;
	ip[8] = 64;
	ip[9] = a->proto;
	memcpy(ip + 12, (const uint8_t[]){172, 16, 0, (uint8_t)a->src}, 4);
	memcpy(ip + 16, (const uint8_t[]){172, 16, 0, (uint8_t)a->dst}, 4);
	be16_store(ip + 10, checksum_finish(checksum_add(0, ip, IPV4_HDR_MIN_LEN)));
}

static void put_ip6(uint8_t *ip, const struct sim_frame_args *a, uint32_t len)
{
	be32_store(ip, 6U << 28 | (uint32_t)a->tos << 20 | 0x54321);
	be16_store(ip + 4, len16(len - IPV6_HDR_LEN));
	ip[6] = a->proto;
	ip[7] = 64;
	memcpy(ip + 8, (const uint8_t[16]){0xfd, 1, [15] = (uint8_t)a->src}, 16);
	memcpy(ip + 24, (const uint8_t[16]){0xfd, 1, [15] = (uint8_t)a->dst}, 16);
}

/* @len from here to the end of the packet. */
static void put_l4(uint8_t *l4, const struct sim_frame_args *a, const uint8_t *ip, uint32_t len)
{
	const uint8_t *src = ip + (a->version == 4 ? 12 : 8);
	const size_t addr_len = a->version == 4 ? 4 : 16;
	const uint16_t partial = (uint16_t)~checksum_finish(
		checksum_pseudo(src, src + addr_len, addr_len, a->proto, len));

	be16_store(l4, a->port);
	be16_store(l4 + 2, 2000);
	if (a->proto == IP_PROTO_UDP) {
		be16_store(l4 + 4, len16(len));
		be16_store(l4 + 6, partial);
		return;
	}
	be32_store(l4 + 4, a->seq);
	be32_store(l4 + 8, 5);
	l4[12] = 5 << 4;
	l4[13] = 0x10;
	be16_store(l4 + 14, 500);
	be16_store(l4 + 16, partial);
}

static struct vnet describe(const struct sim_frame_args *a)
{
	struct vnet v = {
		.needs_csum = true,
		.csum_start = (uint16_t)(l2_len(a) + ip_hdr_len(a)),
		.csum_offset = a->proto == IP_PROTO_TCP ? 16 : 6,
	};

	if (!a->mss)
		return v;
	v.gso = a->proto == IP_PROTO_UDP ? VNET_GSO_UDP
		: a->version == 4	 ? VNET_GSO_TCP4
					 : VNET_GSO_TCP6;
	v.gso_size = a->mss;
	v.hdr_len = (uint16_t)(v.csum_start + l4_hdr_len(a));
	return v;
}

struct sim_frame *sim_frame_new(const struct sim_frame_args *args)
{
	const struct sim_frame_args a = completed(args);
	const uint32_t l4_len = l4_hdr_len(&a) + a.payload;
	struct sim_frame *f = calloc(1, sizeof(*f) + l2_len(&a) + ip_hdr_len(&a) + l4_len);
	uint8_t *ip, *l4;

	assert_non_null(f);
	f->vnet = describe(&a);
	f->len = l2_len(&a) + ip_hdr_len(&a) + l4_len;
	ip = put_l2(f->data, &a);
	l4 = ip + ip_hdr_len(&a);
	if (a.version == 4)
		put_ip4(ip, &a, ip_hdr_len(&a) + l4_len);
	else
		put_ip6(ip, &a, ip_hdr_len(&a) + l4_len);
	put_l4(l4, &a, ip, l4_len);
	for (uint32_t i = 0; i < a.payload; i++) {
		const uint32_t at = a.seq + i;

		l4[l4_hdr_len(&a) + i] = (uint8_t)(at * 7 + (at >> 8) + (at >> 16));
	}
	return f;
}

struct sim_frame *sim_frame_finished(const struct sim_frame_args *args)
{
	struct sim_frame *f = sim_frame_new(args);
	uint8_t *l4 = f->data + f->vnet.csum_start;

	assert_int_equal(f->vnet.gso, VNET_GSO_NONE);
	be16_store(l4 + f->vnet.csum_offset,
		   checksum_finish(checksum_add(0, l4, f->len - f->vnet.csum_start)));
	f->vnet = (struct vnet){0};
	return f;
}

struct sim_frame *sim_frame_of_bytes(const void *frame, size_t len)
{
	struct sim_frame *f = calloc(1, sizeof(*f) + len);

	assert_non_null(f);
	f->len = (uint32_t)len;
	memcpy(f->data, frame, len);
	return f;
}

size_t sim_vxlan(uint8_t *buf, int version, unsigned src, unsigned dst, uint8_t tos,
		 const void *frame, size_t len)
{
	const struct vtep from = sim_vtep(src, version), to = sim_vtep(dst, version);
	const uint32_t outer_len = version == 4 ? IPV4_HDR_MIN_LEN : IPV6_HDR_LEN;
	const uint32_t udp_len = (uint32_t)(UDP_LEN + 8 + len);
	struct sim_frame_args a = {.version = version, .proto = IP_PROTO_UDP, .tos = tos};
	uint8_t *udp = buf + outer_len;

	memset(buf, 0, outer_len + UDP_LEN + 8);
	if (version == 4) {
		put_ip4(buf, &a, outer_len + udp_len);
		memcpy(buf + 12, from.addr, 4);
		memcpy(buf + 16, to.addr, 4);
		be16_store(buf + 10, 0);
		be16_store(buf + 10, checksum_finish(checksum_add(0, buf, IPV4_HDR_MIN_LEN)));
	} else {
		put_ip6(buf, &a, outer_len + udp_len);
		memcpy(buf + 8, from.addr, 16);
		memcpy(buf + 24, to.addr, 16);
	}
	be16_store(udp, 50000);
	be16_store(udp + 2, 4789);
	be16_store(udp + 4, len16(udp_len));
	be32_store(udp + 8, 0x08000000);
	be32_store(udp + 12, (uint32_t)SIM_VNI << 8);
	memcpy(udp + 16, frame, len);
	return outer_len + udp_len;
}

uint16_t sim_checksum(const uint8_t *ip, uint8_t proto, const uint8_t *p, size_t len)
{
	const unsigned at = ip[0] >> 4 == 4 ? 12 : 8, n = ip[0] >> 4 == 4 ? 8 : 32;
	uint64_t sum = proto + len;

	for (unsigned i = 0; i < n; i += 2)
		sum += (uint64_t)ip[at + i] << 8 | ip[at + i + 1];
	for (size_t i = 0; i < len; i++)
		sum += i % 2 ? p[i] : (uint64_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}
