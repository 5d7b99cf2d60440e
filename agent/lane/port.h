/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A VXLAN port: an Ethernet device of the host whose frames the lane itself puts
 * into VXLAN and takes out again, superpackets whole. The port knows which VTEP has
 * which MAC address (fdb.h), floods what it does not know, and answers for known
 * neighbours. Its two walks are in port_egress.c and port_ingress.c.
 *
 * A port takes what is addressed to its VTEP, UDP port and VNI; all else goes to
 * the tunnel device. Lane's thread.
 */
#ifndef SEALANE_LANE_PORT_H
#define SEALANE_LANE_PORT_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "fdb.h"
#include "neightab.h"
#include "offload/gro.h"
#include "offload/ip.h"
#include "portdev.h"

struct lane;
struct port;
struct port_out;

enum { PORTS_MAX = 1024, PORT_BUCKETS = 256, PORT_ERR_LEN = 200 };

/* Defaults of what a command does not say. */
enum {
	PORT_UDP_PORT = 4789,
	PORT_TTL = 64,
	PORT_FDB_LIMIT = 65536,
	PORT_AGE_S = 300,
	PORT_NEIGHBOURS_MAX = 65536,
	PORT_MTU_MIN = 68,
	PORT_MTU_MAX = 65535,
};

struct port_config {
	char name[IFNAMSIZ]; /* of the overlay end, as it was created */
	/* fixed once created */
	enum portdev_kind kind;
	uint32_t mtu; /* of the overlay end at the start: it is the host's device */
	bool has_mac;
	uint8_t mac[6];
	uint32_t gso_max_size; /* of the overlay end at the start; 0: port_env's choice */
	/* these may change */
	struct vtep local;
	uint16_t udp_port;
	uint32_t vni; /* 24 bits */
	uint8_t ttl;
	uint8_t dscp; /* 6 bits */
	bool inherit_dscp;
	bool checksum; /* a real outer UDP checksum; IPv6: the default */
	bool answer_neighbours;
	struct fdb_config fdb;
};

/* X(field, help) */
#define PORT_STATS_LIST(X)                                                                         \
	X(reads, "batches read from the port")                                                     \
	X(frames_in, "frames read from the port, superpackets counted once")                       \
	X(bytes_in, "bytes of Ethernet read from the port")                                        \
	X(writes, "batches written to the port")                                                   \
	X(frames_out, "frames written to the port, superpackets counted once")                     \
	X(bytes_out, "bytes of Ethernet written to the port")                                      \
	X(packets_merged, "frames that went to the port as part of another")                       \
	X(merges_refused, "superpackets the kernel did not take, delivered singly")                \
	X(flooded, "frames sent to all of the flooding list")                                      \
	X(copies, "copies sent for those")                                                         \
	X(answered, "ARP requests and neighbour solicitations answered here")                      \
	X(learned, "addresses learned")                                                            \
	X(moved, "learned addresses that moved to another VTEP")                                   \
	X(fdb_full, "addresses not learned because the table is full")

struct port_stats {
#define X(field, help) uint64_t field;
	PORT_STATS_LIST(X)
#undef X
};

/* The device behind a port: portdev.h, or the simulation's. */
struct port_io {
	void *ctx;
	/* As portdev_read(), portdev_write(), portdev_limits(), portdev_take_drops(). The
	 * context of the first two and the last is the queue's: with workers beside the
	 * lane's own thread, each has a device end of its own. */
	int (*read)(void *ctx, struct portdev_read *r, unsigned max);
	void (*write)(void *ctx, struct portdev_write *w, unsigned n);
	struct portdev_limits (*limits)(void *ctx, uint64_t now_ns);
	uint64_t (*take_drops)(void *ctx);
	/* MAC address of the overlay end, to know our own frames that come back. */
	void (*mac)(void *ctx, uint8_t mac[6]);
	/* For people: "veth" or "tap", and why. */
	const char *(*kind)(void *ctx);
	const char *(*reason)(void *ctx);
};

/* Makes devices for ports; the daemon's, or the simulation's. */
struct port_env {
	void *ctx;
	/*
	 * Creates the device of @port (its config is filled in), with an end for each of its
	 * queues whose io_ctx it sets, or one for all, ret->ctx, and watches it:
	 * egress_run_port() when there is something to read. 0 or -errno with one
	 * line in @err_text: -EEXIST the name is taken, -EADDRINUSE a kernel VXLAN
	 * device has this VTEP and UDP port, or what the kernel says.
	 */
	int (*open)(void *ctx, struct port *port, struct port_io *ret, char err_text[PORT_ERR_LEN]);
	/* Deletes the device, wherever its overlay end is. */
	void (*close)(void *ctx, struct port_io *io);
	/* Could the VTEP and UDP port of @config be had? As open(). */
	int (*check)(void *ctx, const struct port_config *config, char err_text[PORT_ERR_LEN]);
};

/* The source of the last frame that came in, and what became of it. */
struct port_heard {
	uint64_t at_ns; /* a batch has one time; 0: nothing heard yet */
	uint8_t mac[6];
	struct vtep from;
	enum drop drop;
};

/* What a worker has of a port for itself. */
struct port_queue {
	struct port *port;
	void *io_ctx;	       /* for port->io's read, write and take_drops */
	struct gro_config gro; /* what its device takes */
	uint64_t limits_at_ns; /* when it was told */
	uint8_t mac[6];	       /* of the overlay end */
	struct port_heard heard;
	struct port_out *out; /* batch.h */
	unsigned n_in_batch;  /* packets that came in for it and are not delivered yet */
	uint16_t ip_id;	      /* of the next outer IPv4 header */
	unsigned read_max;    /* frames asked for at a time */
	struct port_stats stats;
};

struct port {
	TAILQ_ENTRY(port) entry;
	struct port *next_in_bucket;
	struct lane *lane;
	struct port_config config;
	struct port_io io;
	bool gone;	   /* its device was deleted; port_reap() takes it away; atomic */
	uint32_t fdb_lock; /* shortlock.h: walks learn, others look up */
	struct fdb *fdb;
	struct neightab *neighbours;
	struct port_queue *queue; /* of each worker, by its id */
};

TAILQ_HEAD(port_list, port);

struct port_table {
	struct port_list list; /* oldest first */
	unsigned n;
	struct port *bucket[PORT_BUCKETS]; /* by UDP port and VNI */
};

void port_config_default(struct port_config *config);

/*
 * A new port, its device created (down). On failure nothing is left behind and
 * @err_text names what was wrong: -EEXIST (a port of that name, or one with the
 * same VTEP, UDP port and VNI), -EINVAL (a value out of range; VTEP no host's
 * address), -ENOSPC (PORTS_MAX), -ENOMEM, -EOPNOTSUPP (this lane makes no ports),
 * or what port_env->open() says.
 */
int port_new(struct lane *lane, const struct port_config *config, struct port **ret,
	     char err_text[PORT_ERR_LEN]);
/* Deletes its device, too. */
void port_remove(struct lane *lane, struct port *port);
void port_remove_all(struct lane *lane);
/* Its device was deleted. Any thread. */
void port_note_gone(struct port *port);
bool port_is_gone(const struct port *port);
/* Removes ports whose device was deleted; called outside of the walks, without a lock. */
void port_reap(struct lane *lane);

struct port *port_find(const struct lane *lane, const char *name);

/* Takes over what may change of @config. As port_new(); with nothing changed:
 * -EINVAL also when a fixed value differs, -ENOSPC more static entries than the
 * new limit. */
int port_configure(struct port *port, const struct port_config *config,
		   char err_text[PORT_ERR_LEN]);

/* The port that @ip, seen as @v, is for; NULL: none. The frame begins at *ret_off. */
struct port *port_match(const struct lane *lane, const uint8_t *ip, const struct ip_view *v,
			uint32_t *ret_off);
/* Is it a fragment of what might be for a port (its first, which has the UDP
 * port)? VTEPs never fragment (RFC 7348 4.3), and the lane does not reassemble. */
bool port_is_fragment(const struct lane *lane, const uint8_t *ip, const struct ip_view *v);

/* What its workers have counted, together. */
struct port_stats port_sum_stats(const struct port *port);
/* MAC address of the overlay end, as it was last read (portdev.h). */
void port_mac(const struct port *port, uint8_t mac[6]);

/* The kernel refused a superpacket of this kind on the port. */
void port_withdraw_merging(struct port_queue *q, const struct vnet *v);

#endif
