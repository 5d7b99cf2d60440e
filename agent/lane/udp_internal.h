/* SPDX-License-Identifier: Apache-2.0 */
/* What udp.c (sockets) and udp_io.c (receive, send) share. */
#ifndef SEALANE_LANE_UDP_INTERNAL_H
#define SEALANE_LANE_UDP_INTERNAL_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "batch.h"
#include "udp.h"

enum {
	/* packet info of either family, TOS, UDP_SEGMENT or UDP_GRO */
	UDP_CONTROL_LEN = CMSG_SPACE(sizeof(struct in6_pktinfo)) + 2 * CMSG_SPACE(sizeof(int)),
	UDP_VECTOR = RUNS_MAX > MESSAGES_MAX ? RUNS_MAX : MESSAGES_MAX,
};

struct udp_control {
	_Alignas(struct cmsghdr) uint8_t bytes[UDP_CONTROL_LEN];
};

/* What a thread that receives and sends has for itself. */
struct udp_queue {
	struct udp *udp;
	unsigned i; /* which of the sockets */
	/* for one recvmmsg() or sendmmsg() */
	struct mmsghdr msg[UDP_VECTOR];
	struct iovec iov[UDP_VECTOR];
	struct sockaddr_storage name[UDP_VECTOR];
	struct udp_control control[UDP_VECTOR];
};

struct udp_pair {
	int fd4, fd6;
};

struct udp {
	struct nl *nl;
	unsigned n; /* pairs of sockets on the same port */
	struct udp_pair pair[UDP_QUEUES_MAX];
	uint32_t fwmark;
	bool gro; /* UDP_GRO on new sockets */
	void (*changed)(void *ctx);
	void *changed_ctx;
	struct udp_queue own;	 /* of the control thread, on the first pair */
	struct udp_queue *queue; /* of each worker; NULL: none */
};

int udp_queue_fd(const struct udp_queue *q, int family);
int udp_io_receive(void *ctx, int family, struct udp_message *msgs, unsigned max);
void udp_io_send(void *ctx, struct udp_run *runs, unsigned n);

#endif
