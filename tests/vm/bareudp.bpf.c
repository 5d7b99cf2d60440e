/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a bareudp device makes of IPv4, superpackets as well, for a kernel without
 * one: packets from 10.10.0.x to 10.10.0.y leave in UDP to port 5556 from 10.9.0.x
 * to 10.9.0.y. Runs where a TAP's packets leave the host's stack.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/pkt_cls.h>
#include <linux/udp.h>

#define BE16(n) ((__u16)((n) << 8 | (n) >> 8))

static long (*load_bytes)(const void *skb, __u32 offset, void *to,
			  __u32 len) = (void *)BPF_FUNC_skb_load_bytes;
static long (*store_bytes)(struct __sk_buff *skb, __u32 offset, const void *from, __u32 len,
			   __u64 flags) = (void *)BPF_FUNC_skb_store_bytes;
static long (*adjust_room)(struct __sk_buff *skb, __s32 len, __u32 mode,
			   __u64 flags) = (void *)BPF_FUNC_skb_adjust_room;

struct headers {
	struct iphdr ip;
	struct udphdr udp;
};

static __u16 ip_checksum(const struct iphdr *ip)
{
	const __u16 *word = (const __u16 *)ip;
	__u32 sum = 0;

	for (int i = 0; i < 10; i++)
		sum += word[i];
	sum = (sum & 0xffff) + (sum >> 16);
	return (__u16) ~(sum + (sum >> 16));
}

__attribute__((section("tc"), used)) int encapsulate(struct __sk_buff *skb)
{
	const __u64 flags = BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_ENCAP_L3_IPV4 |
			    BPF_F_ADJ_ROOM_ENCAP_L4_UDP;
	const __u16 len = (__u16)(skb->len - ETH_HLEN);
	struct iphdr inner;
	struct headers out = {
		.ip = {.version = 4, .ihl = 5, .ttl = 64, .protocol = 17, .frag_off = BE16(0x4000)},
		.udp = {.source = BE16(50000), .dest = BE16(5556)},
	};
	__u8 *from = (__u8 *)&out.ip.saddr, *to = (__u8 *)&out.ip.daddr;

	if (skb->protocol != BE16(ETH_P_IP) || load_bytes(skb, ETH_HLEN, &inner, sizeof(inner)))
		return TC_ACT_OK;
	if ((inner.daddr & BE16(0xffff)) != (10 | 10 << 8))
		return TC_ACT_OK;
	from[0] = to[0] = 10;
	from[1] = to[1] = 9;
	from[3] = (__u8)(inner.saddr >> 24);
	to[3] = (__u8)(inner.daddr >> 24);
	out.ip.tot_len = BE16((__u16)(len + sizeof(out)));
	out.udp.len = BE16((__u16)(len + sizeof(out.udp)));
	out.ip.check = ip_checksum(&out.ip);
	if (adjust_room(skb, sizeof(out), BPF_ADJ_ROOM_MAC, flags) ||
	    store_bytes(skb, ETH_HLEN, &out, sizeof(out), 0))
		return TC_ACT_SHOT;
	return TC_ACT_OK;
}
