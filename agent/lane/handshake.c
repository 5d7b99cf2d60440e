/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation: the walk in checks identity and mac1, the only checks
 * that need no state, and queues the message. Here it passes the load check
 * (mac2, rate limit), then the Noise step for its type, and only when it
 * authenticates does it touch a peer: endpoint, timers, session.
 */
#include "handshake.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "crypto/le.h"
#include "egress.h"
#include "lane.h"

/* How much longer the second of two crossed sessions lives before it is renewed. */
#define CROSSED_REKEY_DELAY_NS (10 * NSEC_PER_SEC)

int handshake_queue_init(struct handshake_queue *q)
{
	*q = (struct handshake_queue){0};
	q->items = calloc(HANDSHAKE_QUEUE_LEN, sizeof(*q->items));
	return q->items ? 0 : -ENOMEM;
}

void handshake_queue_done(struct handshake_queue *q)
{
	free(q->items);
	*q = (struct handshake_queue){0};
}

enum drop handshake_enqueue(struct lane *lane, enum message_type type, const uint8_t *msg,
			    uint32_t len, const struct endpoint *from)
{
	struct handshake_queue *q = &lane->handshakes;
	struct handshake_item *item;

	if (!lane->local.has_identity)
		return DROP_NO_IDENTITY;
	if (type != MESSAGE_COOKIE_REPLY && !cookie_check_mac1(&lane->cookie_checker, msg, len))
		return DROP_BAD_MAC1;
	lane_lock(lane);
	if (q->n == HANDSHAKE_QUEUE_LEN) {
		lane_unlock(lane);
		return DROP_HANDSHAKE_QUEUE;
	}
	item = &q->items[(q->head + q->n++) % HANDSHAKE_QUEUE_LEN];
	item->from = *from;
	item->len = (uint8_t)len;
	item->type = (uint8_t)type;
	memcpy(item->msg, msg, len);
	lane_unlock(lane);
	if (lane->wake)
		lane->wake(lane->wake_ctx);
	return DROP_NONE;
}

static bool send_message(struct lane *lane, const struct endpoint *to, const void *msg, size_t len)
{
	struct udp_run run = {
		.data = msg,
		.len = (uint32_t)len,
		.seg_len = (uint16_t)len,
		.n = 1,
		.tos = HANDSHAKE_DSCP_TOS,
		.to = *to,
	};

	if (to->dst.family == AF_UNSPEC)
		return false;
	lane->self.udp.send(lane->self.udp.ctx, &run, 1);
	if (run.n_dropped) {
		lane->self.stats.drop[run.drop]++;
		return false;
	}
	lane->self.stats.udp_runs_out++;
	lane->self.stats.udp_datagrams_out++;
	return true;
}

/* A handshake message to @peer: macs, send, account. */
static void send_handshake(struct lane *lane, struct peer *peer, void *msg, size_t len)
{
	const struct endpoint to = peer_endpoint(peer);

	cookie_add_macs(&peer->cookie, lane->self.now_ns, msg, len);
	timers_any_authenticated_packet_traversal(&peer->timers, lane->self.now_ns);
	timers_any_authenticated_packet_sent(&peer->timers);
	if (send_message(lane, &to, msg, len))
		peer_count_tx(peer, len);
}

void handshake_initiate(struct lane *lane, struct peer *peer, bool retry)
{
	struct message_initiation msg;
	uint8_t ephemeral[WG_KEY_LEN], stamp[WG_TAI64N_LEN];
	struct timespec wall;
	uint32_t index;
	bool built;

	if (!retry)
		timers_new_attempt(&peer->timers);
	if (!lane->up)
		return;
	if (!timers_may_initiate(&peer->timers, lane->self.now_ns)) {
		/* We answered the peer just now. If that answer is lost, this
		 * retry is all there is, so it must not end here. */
		if (retry)
			timers_retry_later(&peer->timers, lane_jitter(lane));
		return;
	}
	if (peer_endpoint(peer).dst.family == AF_UNSPEC || !lane->local.has_identity) {
		/* Nothing can be sent, but a persistent keepalive must come
		 * round again: an endpoint or a key may have appeared. */
		timers_any_authenticated_packet_traversal(&peer->timers, lane->self.now_ns);
		peer_reschedule(lane, peer);
		return;
	}

	peer_forget_handshake(lane, peer);
	index = lane_new_index(lane, peer);
	if (!index)
		return;
	lane->env->random(lane->env->ctx, ephemeral, sizeof(ephemeral));
	lane->env->wall_clock(lane->env->ctx, &wall);
	tai64n_next(&lane->tai64n, (uint64_t)wall.tv_sec, (uint32_t)wall.tv_nsec, stamp);
	built = noise_create_initiation(&peer->handshake, &lane->local, ephemeral, index, stamp,
					&msg);
	sodium_memzero(ephemeral, sizeof(ephemeral));
	if (!built) {
		/* A low-order public key: never a session, and no index kept. */
		indextab_remove(&lane->index, index);
		return;
	}
	send_handshake(lane, peer, &msg, sizeof(msg));
	timers_handshake_initiated(&peer->timers, lane->self.now_ns, lane_jitter(lane));
	lane->self.stats.handshakes_begun++;
	peer_reschedule(lane, peer);
}

/*
 * Both sides initiated at once and both sessions stand: each sends under its own.
 * Both would then renew at the same moment and cross again for ever, so the side
 * with the greater key leaves the other the first turn.
 */
static void note_crossing(const struct lane *lane, struct peer *peer, struct keypair *kp)
{
	if (!kp->initiator || !peer->slots.next)
		return;
	kp->crossed = peer->slots.next->crossed = true;
	if (memcmp(lane->local.public_key, peer->handshake.remote_static, WG_KEY_LEN) > 0)
		kp->rekey_delay_ns = CROSSED_REKEY_DELAY_NS;
}

/* Turns a finished handshake into a session in its slot. */
static bool begin_session(struct lane *lane, struct peer *peer, struct noise_handshake *hs)
{
	uint32_t index = hs->local_index;
	struct keypair *kp = calloc(1, sizeof(*kp));
	struct keypair_dropped dropped;

	if (!kp)
		return false;
	if (!noise_begin_session(hs, kp, lane->self.now_ns)) {
		free(kp);
		return false;
	}
	note_crossing(lane, peer, kp);
	indextab_promote(&lane->index, index, kp);
	dropped = keypair_slots_add(&peer->slots, kp);
	for (unsigned i = 0; i < dropped.n; i++)
		peer_drop_keypair(lane, dropped.kp[i]);
	timers_session_derived(&peer->timers, lane->self.now_ns);
	lane->self.stats.handshakes_done++;
	return true;
}

static void authenticated(struct lane *lane, struct peer *peer, const struct handshake_item *item)
{
	peer_roam(peer, &item->from);
	peer_count_rx(peer, item->len);
	timers_any_authenticated_packet_received(&peer->timers);
	timers_any_authenticated_packet_traversal(&peer->timers, lane->self.now_ns);
}

static void send_response(struct lane *lane, struct peer *peer, struct noise_handshake *hs)
{
	struct message_response msg;
	uint8_t ephemeral[WG_KEY_LEN];
	uint32_t index = lane_new_index(lane, peer);
	bool built;

	if (!index)
		return;
	lane->env->random(lane->env->ctx, ephemeral, sizeof(ephemeral));
	built = noise_create_response(hs, ephemeral, index, &msg);
	sodium_memzero(ephemeral, sizeof(ephemeral));
	if (!built || !begin_session(lane, peer, hs)) {
		indextab_remove(&lane->index, index);
		return;
	}
	send_handshake(lane, peer, &msg, sizeof(msg));
	timers_response_sent(&peer->timers, lane->self.now_ns);
}

static enum drop drop_of(enum noise_verdict verdict)
{
	switch (verdict) {
	case NOISE_REPLAY:
		return DROP_OLD_TIMESTAMP;
	case NOISE_FLOOD:
		return DROP_FLOOD;
	default:
		return DROP_BAD_HANDSHAKE;
	}
}

static enum drop on_initiation(struct lane *lane, const struct handshake_item *item)
{
	const struct message_initiation *msg = (const void *)item->msg;
	struct noise_handshake answering;
	struct noise_incoming in;
	enum noise_verdict verdict;
	struct peer *peer;

	if (!noise_open_initiation(&lane->local, msg, &in))
		return DROP_BAD_HANDSHAKE;
	peer = peer_find(lane, in.remote_static);
	if (!peer) {
		sodium_memzero(&in, sizeof(in));
		return DROP_UNKNOWN_PEER;
	}

	/* On a copy, so that our own initiation in flight goes on: when two cross,
	 * both get their response and there is a session after one round trip. */
	answering = peer->handshake;
	verdict = noise_accept_initiation(&answering, &lane->local, msg, &in, lane->self.now_ns);
	if (verdict == NOISE_OK) {
		noise_handshake_take_stamp(&peer->handshake, &answering);
		authenticated(lane, peer, item);
		send_response(lane, peer, &answering);
		peer_reschedule(lane, peer);
	}
	noise_handshake_wipe(&answering);
	return verdict == NOISE_OK ? DROP_NONE : drop_of(verdict);
}

static enum drop on_response(struct lane *lane, const struct handshake_item *item)
{
	const struct message_response *msg = (const void *)item->msg;
	const struct indextab_entry *entry;
	struct peer *peer;

	entry = indextab_find(&lane->index, le32_load(msg->receiver_index_le32));
	if (!entry || entry->keypair)
		return DROP_UNKNOWN_INDEX;
	peer = entry->peer;
	if (!noise_consume_response(&peer->handshake, &lane->local, msg))
		return DROP_BAD_HANDSHAKE;

	authenticated(lane, peer, item);
	if (begin_session(lane, peer, &peer->handshake)) {
		timers_handshake_complete(&peer->timers);
		peer_note_handshake(lane, peer);
		/* What waits, or an empty message: the key confirmation. */
		egress_keepalive(lane, peer);
	}
	peer_reschedule(lane, peer);
	return DROP_NONE;
}

static enum drop on_cookie_reply(struct lane *lane, const struct handshake_item *item)
{
	const struct message_cookie_reply *msg = (const void *)item->msg;
	const struct indextab_entry *entry;

	entry = indextab_find(&lane->index, le32_load(msg->receiver_index_le32));
	if (!entry)
		return DROP_UNKNOWN_INDEX;
	return cookie_consume_reply(&entry->peer->cookie, lane->self.now_ns, msg) ? DROP_NONE
										  : DROP_BAD_COOKIE;
}

static bool under_load(struct lane *lane)
{
	if (lane->handshakes.n >= HANDSHAKE_QUEUE_LOADED)
		lane->loaded_until_ns = lane->self.now_ns + NSEC_PER_SEC;
	return lane->self.now_ns < lane->loaded_until_ns;
}

static void send_cookie_reply(struct lane *lane, const struct handshake_item *item,
			      const uint8_t *src, size_t src_len)
{
	struct message_cookie_reply reply;
	uint8_t nonce[WG_COOKIE_NONCE_LEN], secret[WG_KEY_LEN];

	lane->env->random(lane->env->ctx, nonce, sizeof(nonce));
	lane->env->random(lane->env->ctx, secret, sizeof(secret));
	cookie_make_reply(&lane->cookie_checker, lane->self.now_ns, item->msg, item->len, src,
			  src_len, nonce, secret, &reply);
	sodium_memzero(secret, sizeof(secret));
	if (send_message(lane, &item->from, &reply, sizeof(reply)))
		lane->self.stats.cookies_sent++;
}

/* Under load only whoever proves to own his address may make us work. */
static enum drop check_load(struct lane *lane, const struct handshake_item *item, bool loaded)
{
	uint8_t src[ENDPOINT_COOKIE_LEN_MAX];
	size_t src_len;

	if (!loaded || item->type == MESSAGE_COOKIE_REPLY)
		return DROP_NONE;
	src_len = endpoint_cookie_bytes(&item->from, src);
	if (!cookie_check_mac2(&lane->cookie_checker, lane->self.now_ns, item->msg, item->len, src,
			       src_len)) {
		send_cookie_reply(lane, item, src, src_len);
		return DROP_NEED_COOKIE;
	}
	if (!ratelimiter_allow(lane->ratelimiter, lane->self.now_ns,
			       item->from.dst.family == AF_INET ? 4 : 6, src))
		return DROP_RATE_LIMIT;
	return DROP_NONE;
}

static enum drop handle(struct lane *lane, const struct handshake_item *item, bool loaded)
{
	enum drop drop;

	/* Both may have changed since the message came. */
	if (!lane->up)
		return DROP_DEVICE_DOWN;
	if (!lane->local.has_identity)
		return DROP_NO_IDENTITY;
	drop = check_load(lane, item, loaded);
	if (drop)
		return drop;
	switch (item->type) {
	case MESSAGE_INITIATION:
		return on_initiation(lane, item);
	case MESSAGE_RESPONSE:
		return on_response(lane, item);
	default:
		return on_cookie_reply(lane, item);
	}
}

/* False: that was the last one. */
static bool run_one(struct lane *lane)
{
	struct handshake_queue *q = &lane->handshakes;
	const struct handshake_item *item = &q->items[q->head];
	bool loaded;

	if (!q->n)
		return false;
	lane_refresh_clock(lane);
	loaded = under_load(lane);
	lane->self.stats.drop[handle(lane, item, loaded)]++;
	q->head = (q->head + 1) % HANDSHAKE_QUEUE_LEN;
	q->n--;
	return q->n;
}

bool handshake_run(struct lane *lane, unsigned budget)
{
	bool more = true;

	while (more && budget--) {
		lane_lock(lane);
		more = run_one(lane);
		lane_unlock(lane);
	}
	return more;
}
