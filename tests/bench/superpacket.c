/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <string.h>

#include "superpacket.h"

enum { IP_LEN = 20, UDP_LEN = 8, VXLAN_LEN = 8, ETHER_LEN = 14, TCP_LEN = 20 };
enum { TUNNEL_LEN = IP_LEN + UDP_LEN + VXLAN_LEN + ETHER_LEN };
enum { PROTO_TCP = 6, PROTO_UDP = 17 };

static void put_be16(uint8_t *p, size_t value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

static uint32_t sum_words(const uint8_t *p, size_t len)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < len; i += 2)
		sum += (uint32_t)p[i] << 8 | p[i + 1];
	return sum;
}

static uint16_t fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static void put_ipv4(uint8_t *p, size_t total_len, uint8_t proto)
{
	static const uint8_t addresses[] = {10, 9, 0, 1, 10, 9, 0, 2};

	p[0] = 0x45;
	put_be16(p + 2, total_len);
	p[6] = 0x40; /* DF */
	p[8] = 64;
	p[9] = proto;
	memcpy(p + 12, addresses, sizeof(addresses));
	put_be16(p + 10, (uint16_t)~fold(sum_words(p, IP_LEN)));
}

/* The checksum is the pseudo header's alone, as the kernel leaves it. */
static void put_tcp(uint8_t *p, const uint8_t *ip, size_t len)
{
	put_be16(p, 40000);
	put_be16(p + 2, 5201);
	p[12] = TCP_LEN / 4 << 4;
	p[13] = 0x10; /* ACK */
	put_be16(p + 14, 501);
	put_be16(p + 16, fold(sum_words(ip + 12, 8) + PROTO_TCP + (uint32_t)len));
}

static void put_tunnel(uint8_t *p, size_t total_len)
{
	put_ipv4(p, total_len, PROTO_UDP);
	put_be16(p + IP_LEN, 50000);
	put_be16(p + IP_LEN + 2, 4789);
	put_be16(p + IP_LEN + 4, total_len - IP_LEN);
	p[IP_LEN + UDP_LEN] = 0x08; /* a VNI is there */
	p[IP_LEN + UDP_LEN + 6] = 42;
	p[TUNNEL_LEN - ETHER_LEN] = 2;
	p[TUNNEL_LEN - ETHER_LEN + 6] = 2;
	put_be16(p + TUNNEL_LEN - 2, 0x0800);
}

void superpacket_make(struct superpacket *s, bool vxlan, unsigned n, uint16_t payload_len)
{
	size_t inner = vxlan ? TUNNEL_LEN : 0, tcp = inner + IP_LEN, payload = tcp + TCP_LEN;

	s->name = vxlan ? "tcp4_in_vxlan" : "tcp4";
	s->len = payload + (size_t)n * payload_len;
	assert(s->len <= SUPERPACKET_MAX);
	memset(s->bytes, 0, payload);
	for (size_t i = payload; i < s->len; i++)
		s->bytes[i] = (uint8_t)(i * 37 + 11);
	if (vxlan)
		put_tunnel(s->bytes, s->len);
	put_ipv4(s->bytes + inner, s->len - inner, PROTO_TCP);
	put_tcp(s->bytes + tcp, s->bytes + inner, s->len - tcp);
	s->vnet = (struct vnet){
		.needs_csum = true,
		.gso = VNET_GSO_TCP4,
		.tunnel = vxlan ? VNET_TUNNEL_V4 : VNET_TUNNEL_NONE,
		.gso_size = payload_len,
		.hdr_len = (uint16_t)payload,
		.csum_start = (uint16_t)tcp,
		.csum_offset = 16,
		.outer_l4_off = vxlan ? IP_LEN : 0,
		.inner_l3_off = (uint16_t)inner,
	};
}
