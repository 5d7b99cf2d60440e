/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way in, top to bottom: receive -> classify -> (handshakes: to the control
 * side) -> session by index -> open -> replay -> news of the peer -> inner packet
 * -> may it say that? -> device. Every stage is a pass over the batch.
 */
#include "ingress.h"

#include <string.h>

#include "crypto/le.h"
#include "crypto/train.h"
#include "egress.h"
#include "lane.h"
#include "offload/ecn.h"
#include "offload/ip.h"

/* Sessions that a promotion dropped while packets of the batch still name them. */
struct retired {
	struct keypair *kp[BATCH_MAX];
	unsigned n;
};

static void stage_classify(struct packet *pkts, unsigned n);
static void stage_handshakes(struct lane *lane, struct packet *pkts, unsigned n);
static void stage_find_session(struct lane *lane, struct packet *pkts, unsigned n);
static void stage_open(const struct lane *lane, struct packet *pkts, unsigned n);
static void stage_replay(struct packet *pkts, unsigned n);
static void stage_news(struct lane *lane, struct packet *pkts, unsigned n, struct retired *retired);
static void stage_inner(struct lane *lane, struct packet *pkts, unsigned n);
static void stage_source(struct lane *lane, struct packet *pkts, unsigned n);
static void stage_deliver(struct lane *lane, struct packet *pkts, unsigned n);

int ingress_run(struct lane *lane, int family)
{
	struct packet *pkts = lane->in.pkt;
	struct retired retired = {.n = 0};
	int received = lane->udp.receive(lane->udp.ctx, family, pkts, BATCH_MAX);
	unsigned n = (unsigned)received;

	if (received <= 0)
		return 0;
	lane_refresh_clock(lane);
	lane->stats.udp_reads++;
	lane->stats.udp_datagrams_in += n;

	stage_classify(pkts, n);
	stage_handshakes(lane, pkts, n);
	stage_find_session(lane, pkts, n);
	stage_open(lane, pkts, n);
	stage_replay(pkts, n);
	stage_news(lane, pkts, n, &retired);
	stage_inner(lane, pkts, n);
	stage_source(lane, pkts, n);
	stage_deliver(lane, pkts, n);

	for (unsigned i = 0; i < retired.n; i++)
		peer_drop_keypair(lane, retired.kp[i]);
	return received;
}

static void stage_classify(struct packet *pkts, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct packet *p = &pkts[i];

		p->taken = false;
		p->peer = NULL;
		p->keypair = NULL;
		if (p->drop)
			continue;
		p->type = message_classify(p->data, p->len);
		if (p->type == MESSAGE_INVALID)
			p->drop = DROP_BAD_MESSAGE;
	}
}

static void stage_handshakes(struct lane *lane, struct packet *pkts, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (packet_alive(&pkts[i]) && pkts[i].type != MESSAGE_DATA)
			handshake_enqueue(lane, &pkts[i]);
	}
}

static void stage_find_session(struct lane *lane, struct packet *pkts, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct packet *p = &pkts[i];
		const struct message_data *msg = (const void *)p->data;
		const struct indextab_entry *entry;

		if (!packet_alive(p))
			continue;
		entry = indextab_find(&lane->index, le32_load(msg->receiver_index_le32));
		if (!entry || !entry->keypair) {
			p->drop = DROP_UNKNOWN_INDEX;
		} else if (!keypair_can_receive(entry->keypair, lane->now_ns)) {
			p->drop = DROP_KEY_EXPIRED;
		} else {
			p->peer = entry->peer;
			p->keypair = entry->keypair;
			p->counter = le64_load(msg->counter_le64);
		}
	}
}

static void open_train(const struct lane *lane, struct packet *pkts, unsigned n)
{
	struct train_car cars[BATCH_MAX];

	for (unsigned i = 0; i < n; i++)
		cars[i] = (struct train_car){
			.msg = pkts[i].data,
			.text_len = pkts[i].len - MESSAGE_DATA_OVERHEAD,
			.counter = pkts[i].counter,
		};
	train_open(lane->train, pkts[0].keypair, cars, n);
	for (unsigned i = 0; i < n; i++) {
		if (!cars[i].ok)
			pkts[i].drop = DROP_AUTH;
	}
}

static void stage_open(const struct lane *lane, struct packet *pkts, unsigned n)
{
	for (unsigned i = 0, end; i < n; i = end) {
		end = i + 1;
		if (!packet_alive(&pkts[i]))
			continue;
		while (end < n && packet_alive(&pkts[end]) && pkts[end].keypair == pkts[i].keypair)
			end++;
		open_train(lane, &pkts[i], end - i);
	}
}

static void stage_replay(struct packet *pkts, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (packet_alive(&pkts[i]) &&
		    !replay_accept(&pkts[i].keypair->replay, pkts[i].counter))
			pkts[i].drop = DROP_REPLAY;
	}
}

/* First data under `next`: the initiator has the session too. */
static void confirm_session(struct lane *lane, struct packet *p, struct retired *retired)
{
	struct keypair_dropped dropped = {.n = 0};

	if (!keypair_slots_confirm(&p->peer->slots, p->keypair, &dropped))
		return;
	for (unsigned i = 0; i < dropped.n; i++)
		retired->kp[retired->n++] = dropped.kp[i];
	timers_handshake_complete(&p->peer->timers);
	lane->env->wall_clock(lane->env->ctx, &p->peer->last_handshake);
	egress_send_staged(lane, p->peer);
}

/* One last handshake while the session we initiated can still be used. */
static void keep_key_fresh(struct lane *lane, struct peer *peer)
{
	if (!peer->slots.current || peer->timers.sent_lastminute_handshake ||
	    !keypair_wants_rekey_on_receive(peer->slots.current, lane->now_ns))
		return;
	peer->timers.sent_lastminute_handshake = true;
	handshake_initiate(lane, peer, false);
}

static void stage_news(struct lane *lane, struct packet *pkts, unsigned n, struct retired *retired)
{
	for (unsigned i = 0; i < n; i++) {
		struct packet *p = &pkts[i];

		if (!packet_alive(p))
			continue;
		peer_roam(lane, p->peer, &p->endpoint);
		confirm_session(lane, p, retired);
		keep_key_fresh(lane, p->peer);
		timers_any_authenticated_packet_received(&p->peer->timers);
		timers_any_authenticated_packet_traversal(&p->peer->timers, lane->now_ns);
		if (p->len == MESSAGE_DATA_OVERHEAD) {
			p->taken = true;
			p->peer->rx_bytes += p->len;
			lane->stats.keepalives_in++;
		} else {
			timers_data_received(&p->peer->timers, lane->now_ns);
		}
		peer_reschedule(lane, p->peer);
	}
}

/* Outer congestion marks go inside (offload/ecn.h). */
static void fold_ecn(struct lane *lane, struct packet *p)
{
	switch (ecn_decap(p->tos & 3, ip_ecn(&p->view))) {
	case ECN_MARK_CE:
		ip_set_ecn(p->data, &p->view, ECN_CE);
		break;
	case ECN_MARK_ECT1:
		ip_set_ecn(p->data, &p->view, ECN_ECT1);
		break;
	case ECN_KEEP_BROKEN:
		lane->stats.ecn_broken++;
		break;
	case ECN_KEEP:
		break;
	}
}

static void stage_inner(struct lane *lane, struct packet *pkts, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct packet *p = &pkts[i];
		uint8_t *ip = p->data + MESSAGE_DATA_HEADER_SIZE;

		if (!packet_alive(p))
			continue;
		if (!ip_parse(ip, p->len - MESSAGE_DATA_OVERHEAD, &p->view)) {
			p->drop = DROP_BAD_INNER;
			continue;
		}
		p->wire_len = p->len;
		p->data = ip;
		p->len = p->view.total_len; /* trims the padding */
		fold_ecn(lane, p);
	}
}

static void stage_source(struct lane *lane, struct packet *pkts, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct packet *p = &pkts[i];

		if (!packet_alive(p))
			continue;
		if (allowedips_lookup(&lane->allowed, p->data + p->view.src_off,
				      p->view.addr_len) != &p->peer->allowed)
			p->drop = DROP_SPOOFED;
		else
			p->peer->rx_bytes += p->wire_len;
	}
}

static void stage_deliver(struct lane *lane, struct packet *pkts, unsigned n)
{
	lane->device.write(lane->device.ctx, pkts, n);

	for (unsigned i = 0; i < n; i++) {
		if (pkts[i].drop)
			lane->stats.drop[pkts[i].drop]++;
		else if (!pkts[i].taken)
			lane->stats.device_packets_out++;
	}
}
