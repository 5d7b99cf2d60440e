/* SPDX-License-Identifier: Apache-2.0 */
#include "lane.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "crew.h"
#include "egress.h"
#include "log.h"

static int init_tables(struct lane *lane)
{
	uint8_t hash_key[16];
	int err;

	lane->env->random(lane->env->ctx, hash_key, sizeof(hash_key));
	err = keytab_init(&lane->peers_by_key,
			  offsetof(struct peer, handshake) +
				  offsetof(struct noise_handshake, remote_static),
			  hash_key);
	if (err)
		return err;
	err = indextab_init(&lane->index);
	if (err)
		return err;
	err = handshake_queue_init(&lane->handshakes);
	if (err)
		return err;

	lane->ratelimiter = malloc(sizeof(*lane->ratelimiter));
	if (!lane->ratelimiter)
		return -ENOMEM;
	lane->env->random(lane->env->ctx, hash_key, sizeof(hash_key));
	ratelimiter_init(lane->ratelimiter, hash_key);
	return 0;
}

/* Recursive: a rare step of a walk may need another one. */
static int init_lock(struct lane *lane)
{
	pthread_mutexattr_t attr;
	int err = pthread_mutexattr_init(&attr);

	if (err)
		return -err;
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	err = pthread_mutex_init(&lane->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	return -err;
}

void lane_lock(struct lane *lane)
{
	pthread_mutex_lock(&lane->lock);
}

void lane_unlock(struct lane *lane)
{
	pthread_mutex_unlock(&lane->lock);
}

void lane_begin_change(struct lane *lane)
{
	crew_pause(lane->crew);
	lane_lock(lane);
}

void lane_end_change(struct lane *lane)
{
	lane_unlock(lane);
	crew_resume(lane->crew);
}

/* False: there is none. @ret NULL: only tells. */
static bool take_retired(struct lane *lane, struct keypair **ret)
{
	struct keypair *kp;

	lane_lock(lane);
	kp = lane->retired;
	if (kp && ret) {
		lane->retired = kp->next_retired;
		*ret = kp;
	}
	lane_unlock(lane);
	return kp;
}

void lane_reap(struct lane *lane)
{
	struct keypair *kp;

	if (!take_retired(lane, NULL))
		return;
	lane_begin_change(lane);
	while (take_retired(lane, &kp)) {
		keypair_wipe(kp);
		free(kp);
	}
	lane_end_change(lane);
}

int lane_init(struct lane *lane, const struct lane_env *env, const struct device_io *device,
	      const struct udp_io *udp, uint32_t mtu)
{
	int err;

	*lane = (struct lane){.env = env, .mtu = mtu, .route_generation = 1, .n_workers = 1};
	TAILQ_INIT(&lane->peers);
	TAILQ_INIT(&lane->ports.list);
	encap_table_default(&lane->encap);
	lane->offload = (struct lane_offload){
		.gro = {.max_len4 = IO_PACKET_MAX,
			.max_len6 = IO_PACKET_MAX,
			.max_segments = GRO_PIECES_MAX,
			.encap = &lane->encap},
		.port_gro = {.max_segments = GRO_PIECES_MAX},
		.udp_segments = 1,
		.ecn = true,
	};
	noise_local_set(&lane->local, (const uint8_t[WG_KEY_LEN]){0});
	err = init_lock(lane);
	if (err)
		return err;

	err = worker_init(&lane->self, lane, device, udp);
	if (!err) {
		lane_refresh_clock(lane);
		err = init_tables(lane);
	}
	if (err)
		lane_done(lane);
	return err;
}

void lane_done(struct lane *lane)
{
	if (lane->up)
		lane_set_up(lane, false);
	port_remove_all(lane);
	lane_remove_all_peers(lane);
	lane_reap(lane);
	allowedips_done(&lane->allowed);
	deadlines_done(&lane->deadlines);
	handshake_queue_done(&lane->handshakes);
	keytab_done(&lane->peers_by_key);
	indextab_done(&lane->index);
	free(lane->ratelimiter);
	worker_done(&lane->self);
	noise_local_wipe(&lane->local);
	cookie_checker_wipe(&lane->cookie_checker);
	pthread_mutex_destroy(&lane->lock);
	*lane = (struct lane){0};
}

void lane_refresh_clock(struct lane *lane)
{
	worker_refresh_clock(&lane->self);
}

uint64_t lane_next_deadline(const struct lane *lane)
{
	return deadlines_next(&lane->deadlines);
}

/* In the order timers.h asks for. */
static void carry_out(struct lane *lane, struct peer *peer, unsigned actions)
{
	if (actions & TIMER_ZERO_KEYS) {
		peer_zero_sessions(lane, peer);
		/* A handshake under way is not old: after a suspend it may have
		 * begun just before this long overdue timer was looked at. */
		if (!peer->timers.retransmit_handshake_ns)
			peer_forget_handshake(lane, peer);
	}
	if (actions & TIMER_GIVE_UP)
		peer_purge_staged(lane, peer);
	if (actions & TIMER_CLEAR_SOURCE)
		peer_forget_source(peer);
	if (actions & TIMER_SEND_INITIATION)
		handshake_initiate(lane, peer, true);
	if (actions & TIMER_SEND_KEEPALIVE)
		egress_keepalive(lane, peer);
}

void lane_expire(struct lane *lane)
{
	struct deadline *due;

	lane_refresh_clock(lane);
	while ((due = deadlines_pop(&lane->deadlines, lane->self.now_ns))) {
		struct peer *peer = peer_of_deadline(due);

		carry_out(lane, peer, timers_expire(&peer->timers, lane->self.now_ns));
		peer_reschedule(lane, peer);
	}
}

static int bring_up(struct lane *lane)
{
	struct peer *peer;
	int err = lane->self.udp.open(lane->self.udp.ctx, &lane->listen_port, lane->fwmark);

	if (err)
		return err;
	lane->up = true;
	TAILQ_FOREACH (peer, &lane->peers, entry)
		peer_start(lane, peer);
	return 0;
}

int lane_set_up(struct lane *lane, bool up)
{
	struct peer *peer;

	lane->wanted_up = up;
	if (up == lane->up)
		return 0;
	lane_refresh_clock(lane);
	if (up)
		return bring_up(lane);

	lane->up = false;
	TAILQ_FOREACH (peer, &lane->peers, entry)
		peer_stop(lane, peer);
	lane->self.udp.close(lane->self.udp.ctx);
	return 0;
}

void lane_set_mtu(struct lane *lane, uint32_t mtu)
{
	lane->mtu = mtu;
}

void lane_set_gso_limits(struct lane *lane, uint32_t max_size, uint32_t max_segs)
{
	enum { FRAME_HDR_LEN = 14 };
	struct gro_config *gro = &lane->offload.gro;

	gro->max_len4 = IO_PACKET_MAX;
	if (max_size > FRAME_HDR_LEN + 1 && max_size - FRAME_HDR_LEN - 1 < gro->max_len4)
		gro->max_len4 = max_size - FRAME_HDR_LEN - 1;
	gro->max_len6 = gro->max_len4;
	gro->max_segments = GRO_PIECES_MAX;
	if (max_segs && max_segs < gro->max_segments)
		gro->max_segments = max_segs;
}

void lane_set_private_key(struct lane *lane, const uint8_t key[WG_KEY_LEN])
{
	struct noise_local local;
	struct peer *peer;
	bool same;

	noise_local_set(&local, key);
	same = !sodium_memcmp(local.private_key, lane->local.private_key, WG_KEY_LEN);
	if (!same)
		lane->local = local;
	noise_local_wipe(&local);
	if (same)
		return;

	if (lane->local.has_identity) {
		peer = peer_find(lane, lane->local.public_key);
		if (peer)
			peer_remove(lane, peer);
	}
	cookie_checker_init(&lane->cookie_checker, lane->local.public_key);
	TAILQ_FOREACH (peer, &lane->peers, entry)
		peer_rebase(lane, peer);
}

static void forget_sources(struct lane *lane)
{
	struct peer *peer;

	TAILQ_FOREACH (peer, &lane->peers, entry)
		peer_forget_source(peer);
}

int lane_set_listen_port(struct lane *lane, uint16_t port)
{
	int err;

	/* The same again is a wish to try again where it could not be had. */
	if (port && port == lane->listen_port && lane->up == lane->wanted_up)
		return 0;
	if (lane->up)
		err = lane->self.udp.open(lane->self.udp.ctx, &port, lane->fwmark);
	else
		/* Nothing listens while the device is down; but a port that
		 * cannot be had is better refused now than at link up. */
		err = port ? lane->self.udp.probe(lane->self.udp.ctx, port) : 0;
	if (err)
		return err;

	lane->listen_port = port;
	forget_sources(lane);
	/* The device is up but its old port could not be had: this one can. */
	if (lane->wanted_up && !lane->up)
		err = bring_up(lane);
	return err;
}

int lane_set_fwmark(struct lane *lane, uint32_t fwmark)
{
	int err = lane->up ? lane->self.udp.set_fwmark(lane->self.udp.ctx, fwmark) : 0;

	if (err)
		return err;
	lane->fwmark = fwmark;
	forget_sources(lane);
	return 0;
}

void lane_remove_all_peers(struct lane *lane)
{
	struct peer *peer, *next;

	for (peer = TAILQ_FIRST(&lane->peers); peer; peer = next) {
		next = TAILQ_NEXT(peer, entry);
		peer_remove(lane, peer);
	}
}

uint32_t lane_new_index(struct lane *lane, struct peer *peer)
{
	uint32_t index;
	int err;

	do {
		lane->env->random(lane->env->ctx, &index, sizeof(index));
		/* 0 means "none" in struct noise_handshake. */
		err = index ? indextab_insert(&lane->index, index, peer, NULL) : -EEXIST;
	} while (err == -EEXIST);
	return err ? 0 : index;
}

static void add_stats(struct stats *sum, const struct stats *s)
{
#define X(field, help) sum->field += s->field;
	STATS_LIST(X)
#undef X
	for (unsigned i = 0; i < N_DROP_REASONS; i++)
		sum->drop[i] += s->drop[i];
}

void lane_sum_stats(const struct lane *lane, struct stats *ret)
{
	*ret = lane->self.stats;
	for (unsigned i = 0; i < crew_len(lane->crew); i++)
		add_stats(ret, &crew_worker(lane->crew, i)->stats);
}

uint64_t lane_jitter(const struct lane *lane)
{
	uint32_t r;

	lane->env->random(lane->env->ctx, &r, sizeof(r));
	return (uint64_t)r * (REKEY_TIMEOUT_JITTER_MAX_NS + 1) >> 32;
}

void lane_withdraw_merging(struct worker *w, const struct vnet *v)
{
	struct gro_config *gro = w->gro;
	const char *what = "TCP";
	bool was_on;

	w->stats.merges_refused++;
	if (v->tunnel != VNET_TUNNEL_NONE) {
		was_on = gro->tunnel;
		gro->tunnel = false;
		what = "UDP-tunnel";
	} else if (v->gso == VNET_GSO_UDP) {
		was_on = gro->udp;
		gro->udp = false;
		what = "UDP";
	} else {
		was_on = gro->tcp4 || gro->tcp6;
		gro->tcp4 = gro->tcp6 = false;
	}
	if (was_on)
		log_info("the kernel refused a merged %s packet: they are delivered singly from "
			 "now on",
			 what);
}

void lane_routes_changed(struct lane *lane)
{
	const uint32_t next = lane->route_generation + 1;

	__atomic_store_n(&lane->route_generation, next ? next : 1, __ATOMIC_RELAXED);
}

uint32_t lane_route_generation(const struct lane *lane)
{
	return __atomic_load_n(&lane->route_generation, __ATOMIC_RELAXED);
}

/* kernel: icmp_msgs_per_sec, icmp_msgs_burst */
bool lane_icmp_allowed(struct lane *lane)
{
	const uint64_t cost_ns = NSEC_PER_SEC / 100, burst_ns = 50 * cost_ns;

	lane->icmp_credit_ns += lane->self.now_ns - lane->icmp_last_ns;
	lane->icmp_last_ns = lane->self.now_ns;
	if (lane->icmp_credit_ns > burst_ns)
		lane->icmp_credit_ns = burst_ns;
	if (lane->icmp_credit_ns < cost_ns)
		return false;
	lane->icmp_credit_ns -= cost_ns;
	return true;
}
