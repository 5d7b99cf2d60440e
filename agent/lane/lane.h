/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lane: everything one tunnel device is made of. Knows no event loop, clock or
 * file descriptor: those come in through lane_env, device_io and udp_io, so the
 * simulation runs the same code over a scripted wire.
 *
 * Threads. Configuration (device, keys, peers, allowed-ips, ports) is changed by the
 * lane's own thread while no worker is within a walk. What happens by itself (handshakes,
 * timers, roaming, waiting packets) is changed under the lane's lock, by whatever thread
 * it happens in; walks look at it without. A session that falls out of its slot is kept
 * until no walk can have it in hand.
 */
#ifndef SEALANE_LANE_LANE_H
#define SEALANE_LANE_LANE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "allowedips.h"
#include "crypto/cookie.h"
#include "crypto/noise.h"
#include "crypto/ratelimiter.h"
#include "crypto/tai64n.h"
#include "deadlines.h"
#include "env.h"
#include "handshake.h"
#include "indextab.h"
#include "io.h"
#include "peer.h"
#include "port.h"
#include "worker.h"

enum { LANE_MAX_PEERS = 1 << 20 };

struct crew;

TAILQ_HEAD(peer_list, peer);

/* What is used of the kernel's and the CPU's offers; set at start-up, withdrawn
 * as the kernel refuses. */
struct lane_offload {
	struct gro_config gro;	    /* merging towards the device */
	struct gro_config port_gro; /* and towards a new port */
	unsigned udp_segments;	    /* datagrams per send; 1: no UDP_SEGMENT */
	bool udp_never_equal;	    /* policy.h */
	bool zero_csum_forwarded;   /* gro.zero_csum holds for packets that go on
				       to another host, too */
	bool ecn;		    /* carry marks across */
};

struct lane {
	const struct lane_env *env;
	pthread_mutex_t lock; /* recursive; lane_lock() */
	struct lane_offload offload;
	struct encap_table encap; /* in force (encap_ports.h) */
	struct encap_table encap_set, encap_environment;

	struct worker self; /* the lane's own thread */
	struct crew *crew;  /* other threads that carry its packets; NULL: it does so itself */
	unsigned n_workers; /* that carry packets */
	/* Wakes the lane's own thread after another one left it work; NULL: there is none. */
	void (*wake)(void *ctx);
	void *wake_ctx;
	struct keypair *retired; /* fell out of their slots; lane_reap() */

	bool up;	/* device up, sockets open */
	bool wanted_up; /* device up; differs when the port could not be had */
	uint32_t mtu;

	uint16_t listen_port; /* 0: none chosen yet */
	uint32_t fwmark;
	struct noise_local local;
	struct cookie_checker cookie_checker;
	struct ratelimiter *ratelimiter;
	struct tai64n_clock tai64n;

	struct peer_list peers; /* oldest first */
	unsigned n_peers;
	struct keytab peers_by_key;
	struct indextab index;
	struct allowedips allowed;
	struct deadlines deadlines;
	struct handshake_queue handshakes;
	uint64_t loaded_until_ns;  /* under load is sticky for a second */
	uint32_t route_generation; /* grows when routes change; never 0; atomic */
	uint64_t icmp_credit_ns, icmp_last_ns;

	const struct port_env *port_env; /* the owner's; NULL: no ports */
	struct port_table ports;
};

/* 0 or -ENOMEM; on failure nothing is left behind. @device and @udp are
 * copied. The lane starts down. */
int lane_init(struct lane *lane, const struct lane_env *env, const struct device_io *device,
	      const struct udp_io *udp, uint32_t mtu);
/* Closes the sockets, removes all peers, wipes all keys. */
void lane_done(struct lane *lane);

/* Every function below and in peer.h and handshake.h is called with the lock held if
 * there are workers besides the lane's own thread. It may be taken again by its holder. */
void lane_lock(struct lane *lane);
void lane_unlock(struct lane *lane);

/* Around a change of what walks read without a lock: no worker is within a walk meanwhile,
 * and the lock is held. May nest. The lane's own thread, which does not hold the lock. */
void lane_begin_change(struct lane *lane);
void lane_end_change(struct lane *lane);

/* Wipes and frees the sessions that fell out of their slots until now. The caller is not
 * within a walk and holds no lock. */
void lane_reap(struct lane *lane);

/* Reads the clock; called at every entry from outside. */
void lane_refresh_clock(struct lane *lane);

/* Earliest timer, UINT64_MAX when none; fire everything due. */
uint64_t lane_next_deadline(const struct lane *lane);
void lane_expire(struct lane *lane);

/* The device went up or down. Up opens the sockets: 0 or -errno (the lane stays
 * down then). */
int lane_set_up(struct lane *lane, bool up);
void lane_set_mtu(struct lane *lane, uint32_t mtu);

/* The device's own limits of superpackets, Ethernet header included (0: not told):
 * nothing longer is written, or the kernel would cut it down to single segments
 * (net/core/dev.c:gso_features_check()). */
void lane_set_gso_limits(struct lane *lane, uint32_t max_size, uint32_t max_segs);

/* Configuration, as wg gives it. */

/* All zero: no identity. Removes a peer that has our own public key. */
void lane_set_private_key(struct lane *lane, const uint8_t key[WG_KEY_LEN]);
/* 0: any free port, chosen now when up. -EADDRINUSE, -EACCES...: the old port is
 * kept. */
int lane_set_listen_port(struct lane *lane, uint16_t port);
/* 0 or -errno; the old mark is kept on failure. */
int lane_set_fwmark(struct lane *lane, uint32_t fwmark);
void lane_remove_all_peers(struct lane *lane);

/* Routes or addresses changed: every peer's path is looked at again before its
 * next send. */
void lane_routes_changed(struct lane *lane);
/* Which change that was. Any thread. */
uint32_t lane_route_generation(const struct lane *lane);

/* The kernel refused a superpacket of this kind on the device: this worker merges no
 * more of them. */
void lane_withdraw_merging(struct worker *w, const struct vnet *v);

/* May one more ICMP error be written? At most 100 a second, 50 in a burst. */
bool lane_icmp_allowed(struct lane *lane);

/* A random receiver index that is not in use, entered for @peer. 0 on failure
 * (no memory). */
uint32_t lane_new_index(struct lane *lane, struct peer *peer);

/* What all workers have counted. Within a change, or where there is but one thread. */
void lane_sum_stats(const struct lane *lane, struct stats *ret);

/* Uniform in [0, REKEY_TIMEOUT_JITTER_MAX_NS], for timers.h. */
uint64_t lane_jitter(const struct lane *lane);

#endif
