/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges the packets of one received batch into superpackets: TCP, UDP, and TCP
 * or UDP inside a UDP tunnel. One call per batch, so nothing ever waits. Payloads
 * are not copied: a superpacket is a list of pieces of the input packets. Pure;
 * one thread per struct gro.
 * Rules: those of net/core/gro.c and its offload callbacks, stricter wherever the
 * kernel's cutting (see gso.h) would not give back every byte: window, flow label
 * and reserved bits equal, IPv4 IDs consecutive whether DF is set or not, header
 * checksums right.
 */
#ifndef SEALANE_OFFLOAD_GRO_H
#define SEALANE_OFFLOAD_GRO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "encap.h"
#include "ip.h"
#include "vnet.h"

enum {
	GRO_PACKETS_MAX = 2048, /* of one call */
	GRO_SLOTS_MAX = 2048,	/* of the flow table, a power of two */
	GRO_SEGMENTS_UDP = 64,	/* all kernels accept that many */
	GRO_PIECES_MAX = 1000,	/* stays below IOV_MAX with headers */
};

/* How a zero-checksum UDP datagram towards a tunnel port may be merged (policy.h).
 * Towards other ports, and inside a tunnel, it never is. */
enum gro_zero_csum {
	GRO_ZERO_CSUM_NEVER,
	GRO_ZERO_CSUM_UDP_L4, /* as plain UDP superpacket: the kernel will write
				 checksums; IPv4 only */
};

struct gro_config {
	bool tcp4, tcp6, udp; /* superpackets the device takes on writes */
	bool tunnel;	      /* UDP-tunnel superpackets too */
	/* Longest superpacket in bytes of IP, by the outermost IP version. Above
	 * 65535 (BIG TCP) it holds for plain TCP alone: UDP and tunnel superpackets
	 * have length fields that must be right and stay at 65535. */
	uint32_t max_len4, max_len6;
	uint32_t max_segments;
	const struct encap_table *encap; /* NULL: no port is a tunnel's */
	/* UDP towards a tunnel port (the inner one of a nested tunnel, too) that
	 * cannot go as a tunnel superpacket: merge as UDP_L4? (non-zero
	 * checksum / zero checksum) */
	bool encap_udp_l4;
	enum gro_zero_csum zero_csum;
};

struct gro_packet {
	uint8_t *ip;  /* whole packet, no padding; headers are rewritten when
			 it becomes the head of a superpacket */
	uint32_t len; /* of IP */
	/* Bytes right in front of @ip that belong to the packet: a port's Ethernet
	 * header and VLAN tags; 0: none. Equal, bit for bit, in all packets of a
	 * superpacket, as packets that differ in them are of different flows. The
	 * head's piece is ip - l2_len to the end; all lengths and offsets are those
	 * of IP. */
	uint8_t l2_len;
	struct ip_view view;	/* by ip_parse(); version 0: it is not IP. Not
				   updated when the headers are rewritten */
	bool zero_csum_allowed; /* config->zero_csum holds for this packet: it ends
				   on this host, or nobody minds */
	/* result */
	uint32_t next;	      /* next packet of the same superpacket, GRO_END */
	uint16_t payload_off; /* of a packet that is not the head: its piece is
				 ip + payload_off to the end */
};

#define GRO_END UINT32_MAX

struct gro_super {
	uint32_t first; /* index of its head packet */
	uint32_t last;
	uint32_t n;	  /* packets in it; 1: written as it came */
	uint32_t len;	  /* bytes of IP in all; the head's l2_len comes on top */
	struct vnet vnet; /* all zero when n == 1 */
};

/* From here to gro_merge(): the state of one call, nobody else's business. */
struct gro_layer {
	uint16_t l3_off, l4_off; /* in the packet */
	uint8_t version, proto;
};

struct gro_segment {		   /* a packet as the merging sees it */
	struct gro_layer layer[2]; /* outermost first */
	uint8_t n_layers;	   /* 2: to be merged as a tunnel superpacket */
	uint8_t l2_len;		   /* in front of the packet */
	bool barrier;		   /* may hold a packet of any flow of its tunnel */
	uint16_t hdr_len;	   /* through the innermost L4 header */
	uint16_t payload_len;
	uint32_t hash; /* of the flow */
};

struct gro_flow {
	struct gro_segment head; /* of its newest superpacket, or the packet
				    that made the flow known */
	uint32_t first;		 /* index of that packet */
	uint32_t super;		 /* index in out[] */
	uint32_t next;		 /* chain of its hash slot */
	uint32_t barrier;	 /* 1 + index of the last barrier, 0 if none */
	bool closed;		 /* nothing may be appended */
	bool checked;		 /* checksums of the head were verified */
};

struct gro {
	struct gro_config config;
	uint32_t slot[GRO_SLOTS_MAX];
	struct gro_flow flow[GRO_PACKETS_MAX];
	uint32_t slot_mask;
	uint32_t n_flows;
	uint32_t n_sealed;   /* flows that are no longer in the table */
	uint32_t n_barriers; /* since then */
};

/*
 * Merges @n <= GRO_PACKETS_MAX packets, in order. @out has room for @n. Returns
 * how many superpackets there are (n >= 1 packets each, every packet in exactly
 * one), ordered by their first packet; the order within a flow is kept: whatever
 * cannot be merged closes the superpacket its flow had open (a TCP segment without
 * payload does not: nothing depends on its place). A fragment or a packet that
 * cannot be read closes all. Checksums (L4, and IPv4 headers) are verified before a
 * packet takes part in a merge; one that fails goes alone, untouched. @g needs no
 * preparation.
 */
uint32_t gro_merge(struct gro *g, const struct gro_config *config, struct gro_packet *pkts,
		   uint32_t n, struct gro_super *out);

#endif
