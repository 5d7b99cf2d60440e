/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The devices of VXLAN ports in the simulation, and the hosts on them. What a lane
 * writes is checked as the kernel would have to, cut into single frames and kept.
 *
 * Node n has the VTEPs 10.0.0.(n+1) and fd00::(n+1); host h behind ports has the MAC
 * address 02:00:00:00:00:h and the addresses 172.16.0.h and fd01::h.
 */
#ifndef SEALANE_SIM_SIM_PORTS_H
#define SEALANE_SIM_SIM_PORTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "agent/lane/port.h"
#include "offload/vnet.h"

struct sim;
struct sim_node;

enum { SIM_VNI = 0x123456, SIM_BIG = 192 << 10, SIM_ALWAYS = 1000000 };

struct sim_frame {
	STAILQ_ENTRY(sim_frame) entry;
	struct vnet vnet; /* offsets from the Ethernet header */
	enum drop drop;	  /* the device could not describe it */
	uint32_t len;
	uint8_t data[];
};

STAILQ_HEAD(sim_frames, sim_frame);

/* A port's device. It is still there to be looked at when its port is gone. */
struct sim_port {
	STAILQ_ENTRY(sim_port) entry;
	struct sim_node *node;
	struct port *port; /* NULL: closed */
	uint8_t mac[6];	   /* of the overlay end */
	struct portdev_limits limits;
	struct sim_frames from_host, to_host; /* the latter single frames only */
	uint64_t kernel_drops;
	bool deleted;
	int merged_err; /* the kernel's answer to every superpacket */
	int write_err;	/* and to the next n_write_errs frames */
	unsigned n_write_errs;
	uint64_t frames, superpackets; /* that were written */
	uint32_t longest;	       /* of those */
};

STAILQ_HEAD(sim_port_list, sim_port);

extern const struct port_env sim_port_env;
/* Does what the daemon's loop does for ports. False: nothing was there to do. */
bool sim_ports_turn(struct sim_node *node);
void sim_ports_done(struct sim *sim);

struct vtep sim_vtep(unsigned node, int version);
/* Of a port of @node with SIM_VNI. */
struct port_config sim_port_config(unsigned node, int version);
/* Makes the port; its device takes up to SIM_BIG bytes a frame. */
struct sim_port *sim_port_new(struct sim *sim, unsigned node, const struct port_config *config);
/* One on each of the nodes 0 and 1, which know each other's host 1 and 2. */
void sim_port_pair(struct sim *sim, int version, struct sim_port *ret[2]);

void sim_port_send(struct sim_port *p, const struct sim_frame *frame);
void sim_port_send_bytes(struct sim_port *p, const void *frame, size_t len);
/* The next frame the host was given; NULL: none. The caller frees it. */
struct sim_frame *sim_port_take(struct sim_port *p);

/* The next frame of its flow (link layer, addresses, protocol, ports) that the host
 * was given is @frame, byte by byte; and it goes. */
void sim_expect_bytes(struct sim_port *p, const uint8_t *frame, size_t len);
/* The same for all that @sent is cut into, at its own size or at @gso_size. */
void sim_expect(struct sim_port *p, const struct sim_frame *sent);
void sim_expect_cut(struct sim_port *p, const struct sim_frame *sent, uint16_t gso_size);
void sim_expect_nothing(struct sim_port *p);

/* sim_frames.c: what hosts send. */

struct sim_frame_args {
	int version;	   /* 4, if not said */
	uint8_t proto;	   /* TCP, if not said; or UDP */
	unsigned src, dst; /* hosts; 0: 1 and 2 */
	unsigned n_tags;   /* one is 802.1Q, a second one is 802.1ad and comes first */
	uint8_t tos;
	bool df;
	uint16_t port; /* source; 0: 1000 */
	uint32_t seq;  /* where the flow is; payload is a function of that */
	uint32_t payload;
	uint16_t mss; /* 0: a single packet. Its checksum is partial, too */
};

/* The caller frees it. */
struct sim_frame *sim_frame_new(const struct sim_frame_args *args);
struct sim_frame *sim_frame_of_bytes(const void *frame, size_t len);
/* With a finished checksum, as another host would send it. */
struct sim_frame *sim_frame_finished(const struct sim_frame_args *args);
void sim_mac(unsigned host, uint8_t ret[6]);
/* VXLAN between the VTEPs of two nodes, SIM_VNI, checksum zero, as another VTEP makes
 * it of @frame; returns the length. */
size_t sim_vxlan(uint8_t *buf, int version, unsigned src, unsigned dst, uint8_t tos,
		 const void *frame, size_t len);
/* The Internet checksum over @len bytes and the pseudo header of the IP packet @ip,
 * the plain way. */
uint16_t sim_checksum(const uint8_t *ip, uint8_t proto, const uint8_t *p, size_t len);

#endif
