/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulation: up to three whole lanes in one process, between hosts whose
 * packets are made up here and a wire that loses, delays, doubles, reorders and
 * corrupts as told. The clock only moves from one event to the next and all
 * randomness comes from one seed, so a run repeats itself exactly.
 *
 * Node n is 192.0.2.(n+1) and 2001:db8::(n+1) on the wire, port SIM_PORT + n,
 * and 10.0.0.(n+1) and fd00::(n+1) inside.
 */
#ifndef SEALANE_SIM_SIM_H
#define SEALANE_SIM_SIM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/queue.h>

#include "agent/lane/lane.h"
#include "sim_ports.h"

enum {
	SIM_MAX_NODES = 3,
	SIM_STRANGER = SIM_MAX_NODES, /* sender of what was injected */
	SIM_PORT = 51820,
	SIM_MTU = 1420,
	SIM_PING_LEN = 84,
	SIM_PACKET_MAX = 2048,
};

struct sim;

struct sim_datagram {
	STAILQ_ENTRY(sim_datagram) entry;
	uint64_t sent_ns;
	unsigned from;
	struct endpoint src, dst;
	uint8_t tos;
	uint32_t len;
	uint8_t data[];
};

STAILQ_HEAD(sim_inbox, sim_datagram);

struct sim_packet {
	STAILQ_ENTRY(sim_packet) entry;
	enum drop drop; /* the device itself refuses it */
	struct vnet vnet;
	uint32_t len;
	uint8_t data[];
};

STAILQ_HEAD(sim_packets, sim_packet);

/* One direction between two nodes; chances are per thousand datagrams. */
struct sim_link {
	unsigned drop, duplicate, corrupt, reorder;
	uint64_t delay_ns, jitter_ns;
};

/* Numbered packets from one host to another. */
struct sim_flow {
	uint64_t sent, delivered, duplicates;
	uint64_t overtaken; /* came after one with a greater number */
	uint64_t next;	    /* greatest number delivered + 1 */
	uint8_t *seen;	    /* a bit per number */
	size_t seen_len;
};

/* What a node has put on the wire. */
struct sim_sent {
	uint64_t n[MESSAGE_DATA + 1]; /* by enum message_type */
	uint64_t last_ns[MESSAGE_DATA + 1];
	uint64_t keepalives; /* of the data messages */
};

struct sim_node {
	struct sim *sim;
	unsigned id;
	struct lane lane;
	struct lane_env env;
	uint8_t private_key[WG_KEY_LEN], public_key[WG_KEY_LEN];

	struct endpoint addr[2]; /* v4 and v6, as the wire sees the node */
	struct sim_inbox inbox[2];
	bool open;	   /* sockets */
	bool asleep;	   /* suspended: nothing runs, what arrives is lost */
	enum drop refuse;  /* the kernel's answer to every send */
	uint32_t path_mtu; /* of every way; 0: not known */
	struct sim_sent sent;

	struct sim_packets from_host;
	enum drop refuse_write; /* the device's answer to every packet */
	bool refuse_merged;	/* the kernel takes no superpackets */
	uint64_t merged_writes;
	bool echo; /* the host answers every numbered packet */
	uint64_t delivered;
	uint64_t others; /* delivered, but no numbered packet sent by us */
	bool capture;	 /* keep what is delivered */
	struct sim_packets captured;
	uint8_t last[SIM_PACKET_MAX];
	uint32_t last_len;

	struct port_env port_env;
	struct sim_port_list ports;

	int64_t wall_offset_ns;
};

struct sim_event {
	uint64_t at_ns, serial;
	void (*fire)(struct sim *sim, struct sim_event *ev);
	struct sim_datagram *datagram;
	unsigned from, to, len;
	uint64_t period_ns, until_ns;
};

struct sim {
	uint64_t seed, random_state;
	uint64_t now_ns;
	unsigned n_nodes;
	struct sim_node node[SIM_MAX_NODES];
	struct sim_link link[SIM_MAX_NODES + 1][SIM_MAX_NODES];
	struct sim_flow flow[SIM_MAX_NODES][SIM_MAX_NODES];

	struct sim_event **events; /* a heap */
	size_t n_events, events_capacity;
	uint64_t next_serial;

	/* Sees every datagram a lane sends, before the link; may change it and
	 * its delay. False: lost. */
	bool (*filter)(struct sim *sim, struct sim_datagram *d, uint64_t *delay_ns);
	uint64_t filter_arg;

	bool eavesdrop;
	struct sim_datagram **record;
	size_t n_records, records_capacity;
};

/* @n nodes, up, strangers to each other; links with 1 ms of delay. */
struct sim *sim_new(uint64_t seed, unsigned n);
void sim_free(struct sim *sim);
/* A teardown for every test: a simulation that is still there was left by a
 * failed assertion; says how to repeat it. */
int sim_teardown(void **state);

/* Makes @b known to @a, with keys, addresses and (@family not AF_UNSPEC) endpoint. */
struct peer *sim_introduce(struct sim *sim, unsigned a, unsigned b, int family);
void sim_connect(struct sim *sim, unsigned a, unsigned b, int family); /* both ways */
/* @a's idea of @b, NULL when there is none. */
struct peer *sim_peer(struct sim *sim, unsigned a, unsigned b);
/* The daemon of @a ends and starts again, without peers. */
void sim_restart(struct sim *sim, unsigned a);

uint64_t sim_random(struct sim *sim);
bool sim_chance(struct sim *sim, unsigned per_thousand);
void sim_run(struct sim *sim, uint64_t duration_ns);
/* Lets everything happen that is due now. */
void sim_settle(struct sim *sim);
struct sim_event *sim_event_at(struct sim *sim, uint64_t at_ns,
			       void (*fire)(struct sim *sim, struct sim_event *ev));

/* sim_wire.c */
extern const struct udp_io sim_udp_io;
struct endpoint sim_endpoint(int family, unsigned host, uint16_t port);
void sim_wire_link_all(struct sim *sim, const struct sim_link *link);
/* A datagram that reaches @to at this moment, seemingly from @src. */
void sim_inject(struct sim *sim, unsigned to, const struct endpoint *src, const void *data,
		size_t len);
/* The latest recorded datagram of @type sent by @from, which must exist. */
const struct sim_datagram *sim_recorded(const struct sim *sim, unsigned from,
					enum message_type type);
void sim_wire_done(struct sim *sim);

/* sim_host.c */
extern const struct device_io sim_device_io;
/* Sends the next numbered packet of @len bytes. */
void sim_send(struct sim *sim, unsigned from, unsigned to, unsigned len);
/* The same every @period_ns from now on. */
void sim_traffic(struct sim *sim, unsigned from, unsigned to, unsigned len, uint64_t period_ns,
		 uint64_t duration_ns);
bool sim_delivered(const struct sim *sim, unsigned from, unsigned to, uint64_t number);
/* Whatever the host comes up with. */
void sim_host_send(struct sim *sim, unsigned from, const void *data, size_t len);
/* The same with a vnet header in front. */
void sim_host_send_super(struct sim *sim, unsigned from, const void *data, size_t len,
			 const struct vnet *vnet);
/* A valid IPv4 or IPv6/UDP packet between inside addresses, for sim_host_send().
 * Host numbers are the addresses' last bytes; UDP ports 7 and 9. */
size_t sim_build(uint8_t *buf, int version, unsigned src, unsigned dst, uint8_t tos, size_t len);
void sim_host_done(struct sim *sim);
/* How many calls of malloc fail from now on. The simulation itself uses calloc. */
extern unsigned sim_malloc_failures;

/* sim_attack.c: messages a stranger or a traitor could make. */

/* An initiation of random content with a mac1 that is right for @to. */
void sim_forge_initiation(struct sim *sim, unsigned to, struct message_initiation *ret);
/* @n of those, each from another address, at once. */
void sim_flood(struct sim *sim, unsigned to, unsigned n);
/* Seals @text under @from's current session with @to. Returns the length. */
size_t sim_seal(struct sim *sim, unsigned from, unsigned to, const void *text, size_t len,
		uint8_t *ret);
uint64_t sim_drops(const struct sim_node *node); /* all reasons */

#endif
