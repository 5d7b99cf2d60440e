/* SPDX-License-Identifier: Apache-2.0 */
#include "peer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "egress.h"
#include "lane.h"

int peer_new(struct lane *lane, const uint8_t public_key[WG_KEY_LEN], struct peer **ret)
{
	struct peer *peer;
	int err;

	if (peer_find(lane, public_key))
		return -EEXIST;
	if (lane->n_peers >= LANE_MAX_PEERS)
		return -ENOSPC;
	/* Reserved here so that scheduling a timer can never fail later. */
	err = deadlines_reserve(&lane->deadlines, lane->n_peers + 1);
	if (err)
		return err;
	peer = calloc(1, sizeof(*peer));
	if (!peer)
		return -ENOMEM;

	noise_handshake_init(&peer->handshake, &lane->local, public_key);
	cookie_maker_init(&peer->cookie, public_key);
	STAILQ_INIT(&peer->staged);

	err = keytab_insert(&lane->peers_by_key, peer);
	if (err) {
		noise_handshake_wipe(&peer->handshake);
		free(peer);
		return err;
	}
	TAILQ_INSERT_TAIL(&lane->peers, peer, entry);
	lane->n_peers++;
	if (lane->up)
		peer_start(lane, peer);
	*ret = peer;
	return 0;
}

void peer_remove(struct lane *lane, struct peer *peer)
{
	peer_stop(lane, peer);
	allowedips_remove_owner(&lane->allowed, &peer->allowed);
	keytab_remove(&lane->peers_by_key, peer->handshake.remote_static);
	TAILQ_REMOVE(&lane->peers, peer, entry);
	lane->n_peers--;
	noise_handshake_wipe(&peer->handshake);
	cookie_maker_wipe(&peer->cookie);
	free(peer);
}

struct peer *peer_find(const struct lane *lane, const uint8_t public_key[WG_KEY_LEN])
{
	return keytab_find(&lane->peers_by_key, public_key);
}

void peer_set_preshared_key(struct peer *peer, const uint8_t psk[WG_KEY_LEN])
{
	/* The next handshake uses it; the session at hand goes on. */
	memcpy(peer->handshake.preshared_key, psk, WG_KEY_LEN);
}

/* 0 is no generation of lane->route_generation. */
static void forget_path(struct peer *peer)
{
	__atomic_store_n(&peer->path_generation, 0, __ATOMIC_RELAXED);
}

struct endpoint peer_endpoint(const struct peer *peer)
{
	return endpoint_cell_load(&peer->endpoint);
}

void peer_set_endpoint(struct peer *peer, const struct endpoint *ep)
{
	const struct endpoint has = peer_endpoint(peer);
	struct endpoint wanted = *ep;

	if (endpoint_same_dst(&has, ep))
		return;
	wanted.has_source = false;
	endpoint_cell_store(&peer->endpoint, &wanted);
	forget_path(peer);
}

void peer_forget_source(struct peer *peer)
{
	struct endpoint ep = peer_endpoint(peer);

	if (!ep.has_source)
		return;
	ep.has_source = false;
	endpoint_cell_store(&peer->endpoint, &ep);
}

void peer_set_keepalive(struct lane *lane, struct peer *peer, uint16_t interval_s)
{
	timers_set_persistent(&peer->timers, interval_s, lane->self.now_ns);
	peer_reschedule(lane, peer);
}

void peer_start(struct lane *lane, struct peer *peer)
{
	timers_start(&peer->timers, lane->self.now_ns);
	peer_reschedule(lane, peer);
}

void peer_stop(struct lane *lane, struct peer *peer)
{
	timers_stop(&peer->timers);
	peer->timers.last_sent_handshake_ns = 0;
	deadlines_set(&lane->deadlines, &peer->deadline, UINT64_MAX);
	peer_purge_staged(lane, peer);
	peer_zero_sessions(lane, peer);
	peer_forget_handshake(lane, peer);
}

void peer_rebase(struct lane *lane, struct peer *peer)
{
	peer_forget_handshake(lane, peer);
	noise_handshake_rebase(&peer->handshake, &lane->local);
	peer->timers.last_sent_handshake_ns = 0;
	keypair_end_sending(keypair_current(&peer->slots));
	keypair_end_sending(peer->slots.next);
}

void peer_roam(struct peer *peer, const struct endpoint *from)
{
	const struct endpoint has = peer_endpoint(peer);

	if (!endpoint_same_dst(&has, from))
		forget_path(peer);
	endpoint_cell_store(&peer->endpoint, from);
}

bool peer_would_roam(const struct peer *peer, const struct endpoint *from)
{
	const struct endpoint has = peer_endpoint(peer);

	return !endpoint_same(&has, from);
}

void peer_count_rx(struct peer *peer, uint64_t n_bytes)
{
	__atomic_fetch_add(&peer->rx_bytes, n_bytes, __ATOMIC_RELAXED);
}

void peer_count_tx(struct peer *peer, uint64_t n_bytes)
{
	__atomic_fetch_add(&peer->tx_bytes, n_bytes, __ATOMIC_RELAXED);
}

bool peer_wants_reschedule(const struct peer *peer)
{
	const uint64_t at_ns = deadline_at_ns(&peer->deadline);

	return !at_ns || timers_next(&peer->timers) < at_ns;
}

void peer_reschedule(struct lane *lane, struct peer *peer)
{
	if (peer_wants_reschedule(peer))
		deadlines_set(&lane->deadlines, &peer->deadline, timers_next(&peer->timers));
}

void peer_drop_keypair(struct lane *lane, struct keypair *kp)
{
	if (!kp)
		return;
	indextab_remove(&lane->index, kp->local_index);
	kp->next_retired = lane->retired;
	lane->retired = kp;
}

void peer_zero_sessions(struct lane *lane, struct peer *peer)
{
	const struct keypair_dropped dropped = keypair_slots_clear(&peer->slots);

	for (unsigned i = 0; i < dropped.n; i++)
		peer_drop_keypair(lane, dropped.kp[i]);
}

void peer_forget_handshake(struct lane *lane, struct peer *peer)
{
	if (peer->handshake.local_index)
		indextab_remove(&lane->index, peer->handshake.local_index);
	noise_handshake_clear(&peer->handshake);
	peer->handshake.local_index = 0;
}

void peer_note_handshake(const struct lane *lane, struct peer *peer)
{
	lane->env->wall_clock(lane->env->ctx, &peer->last_handshake);
	peer->last_handshake_ns = lane->env->now_ns(lane->env->ctx);
}

static int64_t ns_of(const struct timespec *ts)
{
	return (int64_t)ts->tv_sec * (int64_t)NSEC_PER_SEC + ts->tv_nsec;
}

void peer_handshake_time(const struct lane *lane, const struct peer *peer, struct timespec *ret)
{
	const int64_t then_ns = ns_of(&peer->last_handshake);
	struct timespec wall;
	int64_t told_ns;

	*ret = peer->last_handshake;
	if (!then_ns)
		return;
	lane->env->wall_clock(lane->env->ctx, &wall);
	told_ns = ns_of(&wall) -
		  (int64_t)(lane->env->now_ns(lane->env->ctx) - peer->last_handshake_ns);
	/* Both clocks go equally fast, but are not read at once: without a step of the clock
	 * it is to be the same time whenever it is asked for. */
	if (llabs(told_ns - then_ns) < (int64_t)NSEC_PER_SEC)
		return;
	/* A handshake before 1970 would be none. */
	if (told_ns < (int64_t)NSEC_PER_SEC)
		told_ns = NSEC_PER_SEC;
	ret->tv_sec = (time_t)(told_ns / (int64_t)NSEC_PER_SEC);
	ret->tv_nsec = (long)(told_ns % (int64_t)NSEC_PER_SEC);
}

void peer_stage(struct lane *lane, struct peer *peer, const struct super *s)
{
	struct staged_packet *sp = malloc(sizeof(*sp) + s->in.len);

	if (!sp) {
		lane->self.stats.drop[DROP_STAGE_MEMORY]++;
		return;
	}
	sp->len = s->in.len;
	sp->vnet = s->in.vnet;
	sp->view = s->view;
	sp->is_frame = s->is_frame;
	if (sp->len) /* a keepalive has nothing to copy from */
		memcpy(sp->data, s->in.ip, sp->len);
	STAILQ_INSERT_TAIL(&peer->staged, sp, entry);
	peer->n_staged++;
	__atomic_store_n(&peer->holds_back, true, __ATOMIC_RELAXED);

	if (peer->n_staged > MAX_STAGED_PACKETS) {
		sp = STAILQ_FIRST(&peer->staged);
		STAILQ_REMOVE_HEAD(&peer->staged, entry);
		free(sp);
		peer->n_staged--;
		lane->self.stats.drop[DROP_STAGE_FULL]++;
	}
}

void peer_purge_staged(struct lane *lane, struct peer *peer)
{
	struct staged_packet *sp;

	while ((sp = STAILQ_FIRST(&peer->staged))) {
		STAILQ_REMOVE_HEAD(&peer->staged, entry);
		if (sp->len)
			lane->self.stats.drop[DROP_STAGE_PURGED]++;
		free(sp);
	}
	peer->n_staged = 0;
	peer_let_pass(peer);
}

bool peer_holds_back(const struct peer *peer)
{
	return __atomic_load_n(&peer->holds_back, __ATOMIC_ACQUIRE);
}

void peer_let_pass(struct peer *peer)
{
	__atomic_store_n(&peer->holds_back, false, __ATOMIC_RELEASE);
}
