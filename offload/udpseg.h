/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UDP_SEGMENT and UDP_GRO on sockets: planning runs of datagrams that one
 * sendmsg() may carry, and splitting what one recvmsg() brought. Pure.
 * Sources: net/ipv4/udp.c:udp_send_skb(), udp_cmsg_send(); udp(7).
 */
#ifndef SEALANE_OFFLOAD_UDPSEG_H
#define SEALANE_OFFLOAD_UDPSEG_H

#include <stdbool.h>
#include <stdint.h>

enum {
	UDPSEG_SEGMENTS_SAFE = 64,  /* every kernel with UDP_SEGMENT; 63 before 5.16 */
	UDPSEG_SEGMENTS_MAX = 128,  /* 6.9 and later */
	UDPSEG_RUN_LEN_MAX = 64700, /* stays whole below gso_max_size 65536 with all
				       headers, IPv6 and Ethernet included */
};

/* One datagram as the planner sees it. @flow is the caller's number for what
 * must be equal within a run (destination, source, TOS). */
struct udpseg_item {
	uint32_t len;
	uint32_t flow;
};

/*
 * Length in datagrams of the run that starts at items[0]: all of one flow, all
 * as long as the first but the last, which may be shorter (not empty), at most
 * @max_segments and UDPSEG_RUN_LEN_MAX bytes. @n >= 1; returns >= 1. With
 * @never_equal (kernels 7.0.0 to 7.0.10, see policy.h) a run of two or more never
 * ends with a full segment. Cutting the last one off would leave a multiple of the
 * segment size again, so such a run is 1: the datagrams before a short tail go
 * alone until the rest of the train fits into one run with it.
 */
unsigned udpseg_run(const struct udpseg_item *items, unsigned n, unsigned max_segments,
		    bool never_equal);

/* How many datagrams a receive of @len bytes with cmsg UDP_GRO = @gso_size holds
 * (0 or >= @len: one). */
unsigned udpseg_split(uint32_t len, uint32_t gso_size);
/* Length of the @i-th of them; 0 when there is none. */
uint32_t udpseg_split_len(uint32_t len, uint32_t gso_size, unsigned i);

#endif
