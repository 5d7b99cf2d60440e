/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer: identity, handshake, sessions, timers, endpoint, waiting packets. Owned by
 * the lane that made it and changed under its lock; what walks look at without it is
 * atomic, or named below.
 */
#ifndef SEALANE_LANE_PEER_H
#define SEALANE_LANE_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <time.h>

#include "allowedips.h"
#include "crypto/cookie.h"
#include "crypto/keypair.h"
#include "crypto/noise.h"
#include "crypto/timers.h"
#include "deadlines.h"
#include "endpoint_cell.h"
#include "offload/ip.h"
#include "offload/vnet.h"

struct lane;
struct super;

/* A packet that waits for a session. */
struct staged_packet {
	STAILQ_ENTRY(staged_packet) entry;
	struct vnet vnet; /* a superpacket waits as such */
	struct ip_view view;
	bool is_frame; /* batch.h */
	uint32_t len;
	uint8_t data[];
};

STAILQ_HEAD(staged_list, staged_packet);

struct peer {
	TAILQ_ENTRY(peer) entry;
	struct noise_handshake handshake; /* remote_static is the identity */
	struct keypair_slots slots;
	struct timers timers;
	struct deadline deadline; /* earliest of the timers, or earlier */
	struct cookie_maker cookie;
	struct endpoint_cell endpoint;
	uint32_t path_generation; /* of lane->route_generation: path was looked at; atomic */
	uint32_t path_mtu;	  /* longest inner packet the path takes whole; 0: any
				     the device gives (pmtu.h); atomic */
	bool single_sends;	  /* no runs of datagrams on this path; atomic */
	struct allowedips_owner allowed;
	struct staged_list staged;
	unsigned n_staged;
	bool holds_back; /* some wait or are just being sent: what comes waits behind them;
			    atomic */
	uint64_t rx_bytes, tx_bytes;	/* atomic */
	struct timespec last_handshake; /* wall clock, as it was then; 0: never */
	uint64_t last_handshake_ns;	/* the same on env's now_ns, which nobody sets */
};

#define peer_of_owner(o)    ((struct peer *)((char *)(o)-offsetof(struct peer, allowed)))
#define peer_of_deadline(d) ((struct peer *)((char *)(d)-offsetof(struct peer, deadline)))

/* A new peer in @lane's tables, timers running when the lane is up. -EEXIST,
 * -ENOSPC (LANE_MAX_PEERS), -ENOMEM; *ret untouched then. */
int peer_new(struct lane *lane, const uint8_t public_key[WG_KEY_LEN], struct peer **ret);
/* Takes it out of every table, wipes and frees it. */
void peer_remove(struct lane *lane, struct peer *peer);
struct peer *peer_find(const struct lane *lane, const uint8_t public_key[WG_KEY_LEN]);

/* Configuration; each takes effect at once. */
void peer_set_preshared_key(struct peer *peer, const uint8_t psk[WG_KEY_LEN]);
void peer_set_endpoint(struct peer *peer, const struct endpoint *ep);
void peer_set_keepalive(struct lane *lane, struct peer *peer, uint16_t interval_s);

/* Device came up / goes down (sessions and staged packets are dropped). */
void peer_start(struct lane *lane, struct peer *peer);
void peer_stop(struct lane *lane, struct peer *peer);

/* A handshake is complete. */
void peer_note_handshake(const struct lane *lane, struct peer *peer);
/* When that was last, by the wall clock as it is set now, so that its age is right after
 * a step of the clock, too. 0: never. */
void peer_handshake_time(const struct lane *lane, const struct peer *peer, struct timespec *ret);

/* Our private key changed: new static-static, nothing more is sent under the
 * old sessions (they may still receive). */
void peer_rebase(struct lane *lane, struct peer *peer);

/* Where it is now. Any thread. */
struct endpoint peer_endpoint(const struct peer *peer);
/* Authenticated traffic from @from. */
void peer_roam(struct peer *peer, const struct endpoint *from);
/* Is it news that it is there? Any thread. */
bool peer_would_roam(const struct peer *peer, const struct endpoint *from);
/* The host no longer has the address it was told to send from. */
void peer_forget_source(struct peer *peer);

/* Any thread. */
void peer_count_rx(struct peer *peer, uint64_t n_bytes);
void peer_count_tx(struct peer *peer, uint64_t n_bytes);

/* Moves the peer's place in the deadline heap forward if a timer now fires
 * earlier; a later one is found out when the heap's entry comes up. */
void peer_reschedule(struct lane *lane, struct peer *peer);
/* Would it move? Any thread. */
bool peer_wants_reschedule(const struct peer *peer);

/* Sessions: unindexes; wiped and freed by lane_reap(). */
void peer_drop_keypair(struct lane *lane, struct keypair *kp);
void peer_zero_sessions(struct lane *lane, struct peer *peer);
/* Forgets the handshake in flight and its index. */
void peer_forget_handshake(struct lane *lane, struct peer *peer);

/* Keeps a copy of a packet until there is a session; the oldest of
 * MAX_STAGED_PACKETS makes room (counted). */
void peer_stage(struct lane *lane, struct peer *peer, const struct super *s);
void peer_purge_staged(struct lane *lane, struct peer *peer);
/* Must what comes now wait behind others? Any thread. */
bool peer_holds_back(const struct peer *peer);
/* All that waited was sent: nobody needs to wait any more. */
void peer_let_pass(struct peer *peer);

#endif
