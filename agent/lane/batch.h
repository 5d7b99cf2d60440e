/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The working memory of the two walks. Every stage is a pass over one of these
 * arrays. Allocated once, touched only as packets need it.
 */
#ifndef SEALANE_LANE_BATCH_H
#define SEALANE_LANE_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "crypto/messages.h"
#include "crypto/train.h"
#include "io.h"
#include "offload/gro.h"
#include "offload/gso.h"
#include "offload/ip.h"
#include "offload/udpseg.h"
#include "portdev.h"

struct keypair;
struct peer;
struct port_queue;

enum {
	/* out */
	SUPERS_MAX = 64,	    /* packets read before they are sent */
	READ_BYTES_MAX = 128 << 10, /* or as many bytes */
	READ_ARENA_LEN = READ_BYTES_MAX + IO_PACKET_MAX + IO_HEADROOM + 1,
	DATAGRAMS_MAX = 256, /* cut and sealed before they are sent */
	CUT_ARENA_LEN = 512 << 10,
	TRAIN_LEN = 16 << 10, /* sealed while it is in the nearest cache */
	RUNS_MAX = 64,
	/* in */
	MESSAGES_MAX = 16, /* receives per batch */
	MESSAGE_BUF_LEN = IO_PACKET_MAX + 1,
	PACKETS_MAX = GRO_PACKETS_MAX,
	/* ports */
	PORT_FRAMES_MAX = PORTDEV_BATCH_MAX,
	PORT_READ_BYTES = 512 << 10, /* what is read at a time, about: the caches' size */
	PORT_TURN_DATAGRAMS = 1024,  /* then it is others' turn: 1-2 ms */
	PORT_SEGMENTS_MAX = 2048,    /* of one frame: 192 KB in segments of 96 bytes */
};

/* A packet of the host on its way out, maybe a superpacket. */
struct super {
	struct io_read in;	 /* ip, len, vnet, drop */
	bool taken;		 /* staged: no longer ours */
	bool is_frame;		 /* of a port, in VXLAN */
	struct port_queue *port; /* which, while it is there to be answered */
	struct ip_view view;
	struct peer *peer;
	struct keypair *keypair;
	uint32_t n_sent; /* datagrams made of it */
};

static inline bool super_alive(const struct super *s)
{
	return s->in.drop == DROP_NONE && !s->taken;
}

struct out_batch {
	unsigned n;
	bool drained; /* the device had no more */
	struct super super[SUPERS_MAX];
	uint8_t *read_arena;
	uint8_t *cut_arena;
	uint32_t cut_used;
	unsigned n_datagrams;
	struct udpseg_item item[DATAGRAMS_MAX]; /* length and flow of each */
	struct out_flow {
		struct peer *peer;
		struct endpoint to;
		uint8_t tos;
	} flow[DATAGRAMS_MAX];
	uint32_t n_flows;
	struct train_car car[DATAGRAMS_MAX];
	/* numbered one after another under one session, to be sealed together */
	struct out_train {
		struct keypair *keypair;
		uint64_t first; /* counter */
		unsigned first_car, n;
		uint32_t begin; /* in cut_arena */
	} train;
	struct udp_run run[RUNS_MAX];
};

/* A datagram of the network on its way in. */
struct in_packet {
	uint8_t *msg;
	uint32_t len;
	enum drop drop;
	bool taken;   /* queued or done with */
	uint8_t type; /* enum message_type */
	const struct udp_message *from;
	struct peer *peer;
	struct keypair *keypair;
	uint64_t counter;
};

static inline bool in_packet_alive(const struct in_packet *p)
{
	return p->drop == DROP_NONE && !p->taken;
}

struct in_batch {
	unsigned n;
	struct udp_message message[MESSAGES_MAX];
	struct in_packet pkt[PACKETS_MAX];
	struct train_car car[PACKETS_MAX];
	uint8_t *memory;
	/* what is delivered */
	uint32_t n_inner;
	struct gro_packet inner[PACKETS_MAX];
	struct port_queue *port[PACKETS_MAX]; /* of each; NULL: the device */
	struct iovec frame[PACKETS_MAX];      /* of each that is a port's */
	unsigned n_port_packets;
	struct gro_super merged[PACKETS_MAX];
	struct gro gro;
	struct iovec iov[IO_IOV_MAX];
	uint8_t *scratch; /* a superpacket in one piece, to be cut again */
};

/* What was read from one port and is on its way out, a few datagrams a turn. */
struct port_out {
	unsigned n, next;
	size_t next_vtep, n_copies; /* of the next one, if it is being flooded */
	struct portdev_read frame[PORT_FRAMES_MAX];
	uint8_t *memory; /* little of it is touched unless there are long frames */
};

/* What ports add to the way in; one per lane, made with its first port. */
struct port_batch {
	struct gro_packet inner[PACKETS_MAX]; /* of one port among several */
	struct iovec frame_of[PACKETS_MAX];
	struct portdev_write write[PORT_FRAMES_MAX];
	const struct gro_super *written[PORT_FRAMES_MAX];
	unsigned n_write;
	struct iovec iov[PACKETS_MAX];
	unsigned n_iov;
	uint8_t *scratch; /* a superpacket in one piece, to be cut again */
};

/* 0 or -ENOMEM; done accepts half-built ones. */
int out_batch_new(struct out_batch **ret);
int in_batch_new(struct in_batch **ret);
void out_batch_free(struct out_batch *b);
void in_batch_free(struct in_batch *b);
int port_out_new(struct port_out **ret);
void port_out_free(struct port_out *b);
int port_batch_new(struct port_batch **ret);
void port_batch_free(struct port_batch *b);

#endif
