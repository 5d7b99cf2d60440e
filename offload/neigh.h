/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ARP requests and IPv6 neighbour solicitations read from Ethernet frames, and the
 * answers to them. Pure; any thread.
 * Sources: RFC 826, RFC 5227 (probes), RFC 4861 4.3, 4.4, 7.1.1, 7.2.4;
 * drivers/net/vxlan/vxlan_core.c:arp_reduce(), neigh_reduce().
 */
#ifndef SEALANE_OFFLOAD_NEIGH_H
#define SEALANE_OFFLOAD_NEIGH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Who asks for whom. */
struct neigh_question {
	uint8_t addr_len;   /* 4: ARP, 16: IPv6 */
	uint8_t target[16]; /* whose MAC address is asked for */
	uint8_t asker[6];   /* MAC address the answer goes to */
	uint8_t l2_len;	    /* Ethernet header with VLAN tags (at most two) */
};

/* Longest answer: two VLAN tags, IPv6, advertisement with one option. */
enum { NEIGH_ANSWER_MAX_LEN = 14 + 8 + 40 + 32 };

/* May be one host's address on a wire: of 4 or 16 bytes, neither unspecified nor
 * loopback, multicast or 255.255.255.255. */
bool neigh_is_host(const uint8_t *addr, size_t addr_len);
/* Names one station: neither a group (broadcast is one) nor all zero. */
bool neigh_is_station(const uint8_t mac[6]);

/*
 * Is the Ethernet frame @frame a question that may be answered for somebody else?
 * Asker and target are hosts as neigh_is_host() has it and not the same (gratuitous
 * ARP), the asker's MAC addresses are stations'. A probe (sender 0.0.0.0) and a
 * duplicate address detection (source ::) are not answered: they ask whether anybody
 * else is there, and must travel.
 * ARP: Ethernet/IPv4 request. The answer goes to the sender hardware address.
 * IPv6: solicitation as RFC 4861 7.1.1 demands (hop limit 255, code 0, checksum
 * right, options whole), without extension headers. The answer goes to the source
 * link-layer option, if there is one, or to where the frame came from.
 * Frames behind VLAN tags, too. Broadcast or not: an asker that confirms what it
 * knows is answered. False: *ret untouched.
 */
bool neigh_parse(const uint8_t *frame, size_t len, struct neigh_question *ret)
	__attribute__((warn_unused_result));

/*
 * Writes the answer to @frame, of which neigh_parse() said @q: @mac has the target
 * address. To the asker's MAC address from @mac, VLAN tags kept; an advertisement
 * is solicited, not overriding, with a target link-layer option and the router flag
 * clear. @out has room for NEIGH_ANSWER_MAX_LEN bytes and does not overlap @frame.
 * Returns the length.
 */
size_t neigh_answer(const uint8_t *frame, size_t len, const struct neigh_question *q,
		    const uint8_t mac[6], uint8_t *out);

#endif
