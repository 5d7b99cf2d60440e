/* SPDX-License-Identifier: Apache-2.0 */
/* What the probe writes: VXLAN datagrams that carry UDP over IPv4. */
#include <string.h>

#include "kernel_probe_internal.h"
#include "offload/be.h"
#include "offload/checksum.h"

const uint8_t kernel_probe_tun[4] = {192, 0, 2, 1};
const uint8_t kernel_probe_vxlan[4] = {198, 51, 100, 1};
const uint8_t kernel_probe_mac[6] = {2, 0, 0, 0, 0, 1};

/* The far ends, which only exist as senders. */
static const uint8_t tun_there[4] = {192, 0, 2, 2};
static const uint8_t vxlan_there[4] = {198, 51, 100, 2};
static const uint8_t mac_there[6] = {2, 0, 0, 0, 0, 2};

static uint32_t put_ip_udp(uint8_t *p, const uint8_t src[4], const uint8_t dst[4], uint16_t port,
			   uint32_t payload)
{
	uint8_t *udp = p + IPV4_HDR_MIN_LEN;

	memset(p, 0, IPV4_HDR_MIN_LEN + PROBE_UDP_LEN);
	p[0] = 0x45;
	be16_store(p + 2, (uint16_t)(IPV4_HDR_MIN_LEN + PROBE_UDP_LEN + payload));
	p[8] = 64;
	p[9] = IP_PROTO_UDP;
	memcpy(p + 12, src, 4);
	memcpy(p + 16, dst, 4);
	be16_store(p + 10, checksum_finish(checksum_add(0, p, IPV4_HDR_MIN_LEN)));
	be16_store(udp, port);
	be16_store(udp + 2, port);
	be16_store(udp + 4, (uint16_t)(PROBE_UDP_LEN + payload));
	return IPV4_HDR_MIN_LEN + PROBE_UDP_LEN;
}

/* What one VXLAN datagram carries: a frame whose payload tells its number. */
static uint32_t put_segment(uint8_t *p, uint8_t number, uint32_t payload)
{
	uint8_t *ether = p + PROBE_VXLAN_LEN, *ip = ether + PROBE_ETHER_LEN;

	memset(p, 0, PROBE_VXLAN_LEN);
	p[0] = 0x08; /* the VNI is there */
	be32_store(p + 4, PROBE_VNI << 8);
	memcpy(ether, kernel_probe_mac, 6);
	memcpy(ether + 6, mac_there, 6);
	be16_store(ether + 12, 0x0800);
	ip += put_ip_udp(ip, vxlan_there, kernel_probe_vxlan, PROBE_INNER_PORT, payload);
	memset(ip, number, payload);
	return PROBE_INNER_LEN + payload;
}

uint32_t kernel_probe_build(uint8_t *p, uint8_t first, uint32_t n)
{
	uint32_t len = PROBE_HEAD_LEN, l4_len;

	for (uint32_t i = 0; i < n; i++)
		len += put_segment(p + len, (uint8_t)(first + i),
				   i && i == n - 1 ? PROBE_PAYLOAD_LEN - PROBE_LAST_SHORTER
						   : PROBE_PAYLOAD_LEN);
	l4_len = len - IPV4_HDR_MIN_LEN;
	put_ip_udp(p, tun_there, kernel_probe_tun, PROBE_OUTER_PORT, l4_len - PROBE_UDP_LEN);
	be16_store(p + IPV4_HDR_MIN_LEN + 6, (uint16_t)~checksum_finish(checksum_pseudo(
						     p + 12, p + 16, 4, IP_PROTO_UDP, l4_len)));
	return len;
}
