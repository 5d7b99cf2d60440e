/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way in, top to bottom: receive and unbundle -> classify -> (handshakes: to
 * the control side) -> session by index -> open -> replay -> news of the peer ->
 * inner packet -> may it say that? -> (a port's VXLAN: the frame) -> merge ->
 * device or port. Every stage is a pass over
 * the batch; merging spans all of it and never waits for more.
 */
#include "ingress.h"

#include <errno.h>
#include <string.h>

#include "crypto/le.h"
#include "egress.h"
#include "lane.h"
#include "log.h"
#include "offload/be.h"
#include "offload/ecn.h"
#include "port_walk.h"
#include "shortlock.h"

static void stage_unbundle(struct in_batch *b, unsigned n_messages);
static void stage_classify(struct in_batch *b);
static void stage_handshakes(struct worker *w, struct in_batch *b);
static void stage_find_session(struct worker *w, struct in_batch *b);
static void stage_open(struct worker *w, struct in_batch *b);
static void stage_replay(struct in_batch *b);
static void stage_news(struct worker *w, struct in_batch *b);

static void stage_inner(struct worker *w, struct in_batch *b);
static void stage_deliver_ports(struct worker *w, struct in_batch *b);
static void stage_deliver(struct worker *w, struct in_batch *b);
static void stage_count(struct worker *w, struct in_batch *b);

int ingress_run(struct worker *w, int family)
{
	struct in_batch *b = w->in;
	int n = w->udp.receive(w->udp.ctx, family, b->message, MESSAGES_MAX);

	if (n <= 0)
		return 0;
	worker_refresh_clock(w);
	stage_unbundle(b, (unsigned)n);
	w->stats.udp_reads++;
	w->stats.udp_messages_in += (unsigned)n;
	w->stats.udp_datagrams_in += b->n;

	stage_classify(b);
	stage_handshakes(w, b);
	stage_find_session(w, b);
	stage_open(w, b);
	stage_replay(b);
	stage_news(w, b);
	stage_inner(w, b);
	stage_deliver_ports(w, b);
	stage_deliver(w, b);
	stage_count(w, b);
	return n;
}

static void add_packet(struct in_batch *b, const struct udp_message *m, uint8_t *msg, uint32_t len)
{
	if (b->n == PACKETS_MAX)
		return;
	b->pkt[b->n++] = (struct in_packet){.msg = msg, .len = len, .from = m, .drop = m->drop};
}

static void stage_unbundle(struct in_batch *b, unsigned n_messages)
{
	b->n = 0;
	for (unsigned i = 0; i < n_messages; i++) {
		const struct udp_message *m = &b->message[i];
		unsigned n = udpseg_split(m->len, m->gso_size);
		uint8_t *msg = m->buf;

		for (unsigned k = 0; k < n; k++) {
			uint32_t len = udpseg_split_len(m->len, m->gso_size, k);

			add_packet(b, m, msg, len);
			msg += len;
		}
	}
}

static void stage_classify(struct in_batch *b)
{
	for (unsigned i = 0; i < b->n; i++) {
		struct in_packet *p = &b->pkt[i];

		if (p->drop)
			continue;
		p->type = message_classify(p->msg, p->len);
		if (p->type == MESSAGE_INVALID)
			p->drop = DROP_BAD_MESSAGE;
	}
}

static void stage_handshakes(struct worker *w, struct in_batch *b)
{
	for (unsigned i = 0; i < b->n; i++) {
		struct in_packet *p = &b->pkt[i];

		if (!in_packet_alive(p) || p->type == MESSAGE_DATA)
			continue;
		p->drop = handshake_enqueue(w->lane, p->type, p->msg, p->len, &p->from->from);
		p->taken = true;
	}
}

static void stage_find_session(struct worker *w, struct in_batch *b)
{
	struct indextab_entry entry = {0};
	uint32_t last = 0;
	bool found = false;

	for (unsigned i = 0; i < b->n; i++) {
		struct in_packet *p = &b->pkt[i];
		const struct message_data *msg = (const void *)p->msg;
		uint32_t index;

		if (!in_packet_alive(p))
			continue;
		index = le32_load(msg->receiver_index_le32);
		if (index != last || !found)
			found = indextab_get(&w->lane->index, index, &entry);
		last = index;
		if (!found || !entry.keypair) {
			p->drop = DROP_UNKNOWN_INDEX;
		} else if (!keypair_can_receive(entry.keypair, w->now_ns)) {
			p->drop = DROP_KEY_EXPIRED;
		} else {
			p->peer = entry.peer;
			p->keypair = entry.keypair;
			p->counter = le64_load(msg->counter_le64);
		}
	}
}

static void open_train(struct worker *w, struct in_batch *b, unsigned begin, unsigned end)
{
	unsigned n = end - begin;

	for (unsigned i = 0; i < n; i++)
		b->car[i] = (struct train_car){
			.msg = b->pkt[begin + i].msg,
			.text_len = b->pkt[begin + i].len - MESSAGE_DATA_OVERHEAD,
			.counter = b->pkt[begin + i].counter,
		};
	train_open(w->train, b->pkt[begin].keypair, b->car, n);
	for (unsigned i = 0; i < n; i++) {
		if (!b->car[i].ok)
			b->pkt[begin + i].drop = DROP_AUTH;
	}
}

static void stage_open(struct worker *w, struct in_batch *b)
{
	for (unsigned i = 0, end; i < b->n; i = end) {
		end = i + 1;
		if (!in_packet_alive(&b->pkt[i]))
			continue;
		while (end < b->n && in_packet_alive(&b->pkt[end]) &&
		       b->pkt[end].keypair == b->pkt[i].keypair)
			end++;
		open_train(w, b, i, end);
	}
}

static void stage_replay(struct in_batch *b)
{
	struct keypair *locked = NULL;

	for (unsigned i = 0; i < b->n; i++) {
		struct in_packet *p = &b->pkt[i];

		if (!in_packet_alive(p))
			continue;
		if (p->keypair != locked) {
			if (locked)
				shortlock_give(&locked->replay_lock);
			locked = p->keypair;
			shortlock_take(&locked->replay_lock);
		}
		if (!replay_accept(&locked->replay, p->counter))
			p->drop = DROP_REPLAY;
	}
	if (locked)
		shortlock_give(&locked->replay_lock);
}

/* First data under `next`: the initiator has the session too. */
static void confirm_session(struct worker *w, struct in_packet *p)
{
	struct keypair_dropped dropped;

	if (!keypair_slots_confirm(&p->peer->slots, p->keypair, &dropped))
		return;
	for (unsigned i = 0; i < dropped.n; i++)
		peer_drop_keypair(w->lane, dropped.kp[i]);
	timers_handshake_complete(&p->peer->timers);
	peer_note_handshake(w->lane, p->peer);
	egress_send_staged(w->lane, p->peer);
}

/* One last handshake while the session we initiated can still be used. */
static bool wants_fresh_key(const struct worker *w, const struct peer *peer)
{
	const struct keypair *kp = keypair_current(&peer->slots);

	return kp && !timers_sent_lastminute(&peer->timers) &&
	       keypair_wants_rekey_on_receive(kp, w->now_ns);
}

static void keep_key_fresh(struct worker *w, struct peer *peer)
{
	if (!wants_fresh_key(w, peer))
		return;
	timers_note_lastminute(&peer->timers);
	handshake_initiate(w->lane, peer, false);
}

static void rare_news(struct worker *w, struct in_packet *p)
{
	worker_begin_rare(w);
	peer_roam(p->peer, &p->from->from);
	confirm_session(w, p);
	keep_key_fresh(w, p->peer);
	worker_end_rare(w);
}

static void reschedule(struct worker *w, struct peer *peer)
{
	worker_begin_rare(w);
	peer_reschedule(w->lane, peer);
	worker_end_rare(w);
}

/* What a run of packets of one session, all of one message, tells of its peer. */
static void peer_news(struct worker *w, struct in_packet *p, bool data)
{
	if (peer_would_roam(p->peer, &p->from->from) ||
	    keypair_is_next(&p->peer->slots, p->keypair) || wants_fresh_key(w, p->peer))
		rare_news(w, p);
	timers_any_authenticated_packet_received(&p->peer->timers);
	timers_any_authenticated_packet_traversal(&p->peer->timers, w->now_ns);
	if (data)
		timers_data_received(&p->peer->timers, w->now_ns);
	if (peer_wants_reschedule(p->peer))
		reschedule(w, p->peer);
}

static void stage_news(struct worker *w, struct in_batch *b)
{
	for (unsigned i = 0, end; i < b->n; i = end) {
		struct in_packet *first = &b->pkt[i];
		bool data = false;

		end = i + 1;
		if (!in_packet_alive(first))
			continue;
		for (end = i;
		     end < b->n && in_packet_alive(&b->pkt[end]) &&
		     b->pkt[end].keypair == first->keypair && b->pkt[end].from == first->from;
		     end++) {
			struct in_packet *p = &b->pkt[end];

			data |= p->len > MESSAGE_DATA_OVERHEAD;
		}
		peer_news(w, first, data);
	}
}

/* Outer congestion marks go inside (offload/ecn.h). */
static void fold_ecn(struct worker *w, uint8_t outer_tos, struct gro_packet *inner)
{
	switch (ecn_decap(outer_tos & 3, ip_ecn(&inner->view))) {
	case ECN_MARK_CE:
		ip_set_ecn(inner->ip, &inner->view, ECN_CE);
		break;
	case ECN_MARK_ECT1:
		ip_set_ecn(inner->ip, &inner->view, ECN_ECT1);
		break;
	case ECN_KEEP_BROKEN:
		w->stats.ecn_broken++;
		break;
	case ECN_KEEP:
		break;
	}
}

/*
 * A UDP datagram without checksum may be merged only if it ends on this host, for
 * its bytes will change (offload/policy.h); one to a tunnel end that the device
 * takes as a tunnel superpacket keeps its zero and needs no asking.
 */
static bool zero_csum_allowed(struct worker *w, const struct gro_packet *p)
{
	const struct ip_view *v = &p->view;

	if (w->gro->zero_csum == GRO_ZERO_CSUM_NEVER)
		return false;
	if (w->lane->offload.zero_csum_forwarded)
		return true;
	return v->version == 4 && v->has_l4 && v->proto == IP_PROTO_UDP &&
	       v->l4_off + 8U <= p->len && !be16_load(p->ip + v->l4_off + 6) &&
	       localdst_ends_here(w, p->ip + v->dst_off);
}

/* The IP packet inside; trims the padding. May its source come from this peer? */
static enum drop take_inner(struct worker *w, const struct in_packet *p, struct gro_packet *ret)
{
	uint8_t *ip = p->msg + MESSAGE_DATA_HEADER_SIZE;
	struct ip_view view;

	if (!ip_parse(ip, p->len - MESSAGE_DATA_OVERHEAD, &view))
		return DROP_BAD_INNER;
	if (allowedips_lookup(&w->lane->allowed, ip + view.src_off, view.addr_len) !=
	    &p->peer->allowed)
		return DROP_SPOOFED;
	ret->ip = ip;
	ret->len = view.total_len;
	ret->l2_len = 0;
	ret->view = view;
	ret->zero_csum_allowed = zero_csum_allowed(w, ret);
	if (w->lane->offload.ecn)
		fold_ecn(w, p->from->tos, ret);
	return DROP_NONE;
}

/* Is it one of our ports' VXLAN? Then what is inside takes its place. */
static enum drop decapsulate(struct worker *w, struct in_batch *b, uint32_t i)
{
	struct gro_packet *inner = &b->inner[i];
	uint32_t frame_off;
	struct port *port;

	b->port[i] = NULL;
	if (!w->lane->ports.n)
		return DROP_NONE;
	if (port_is_fragment(w->lane, inner->ip, &inner->view))
		return DROP_PORT_FRAGMENT;
	port = port_match(w->lane, inner->ip, &inner->view, &frame_off);
	if (!port)
		return DROP_NONE;
	b->port[i] = &port->queue[w->id];
	return port_take(w, b->port[i], frame_off, inner, &b->frame[i]);
}

/* Received bytes are added up per train, for the sum is everybody's. */
struct rx_count {
	struct peer *peer;
	uint64_t n_bytes;
};

/* @p NULL: that was all. */
static void count_rx(struct rx_count *c, const struct in_packet *p)
{
	if (c->peer && (!p || p->peer != c->peer)) {
		peer_count_rx(c->peer, c->n_bytes);
		c->n_bytes = 0;
	}
	c->peer = p ? p->peer : NULL;
	c->n_bytes += p ? p->len : 0;
}

static void stage_inner(struct worker *w, struct in_batch *b)
{
	struct rx_count counted = {0};

	b->n_inner = b->n_port_packets = 0;
	for (unsigned i = 0; i < b->n; i++) {
		struct in_packet *p = &b->pkt[i];

		if (!in_packet_alive(p))
			continue;
		if (p->len == MESSAGE_DATA_OVERHEAD) {
			w->stats.keepalives_in++;
		} else {
			p->drop = take_inner(w, p, &b->inner[b->n_inner]);
			if (!p->drop)
				p->drop = decapsulate(w, b, b->n_inner);
			if (p->drop)
				continue;
			if (b->port[b->n_inner]) {
				b->port[b->n_inner]->n_in_batch++;
				b->n_port_packets++;
			}
			b->n_inner++;
		}
		count_rx(&counted, p);
	}
	count_rx(&counted, NULL);
}

/* Pieces of a superpacket: the head packet whole, then payloads. */
static unsigned gather(struct in_batch *b, const struct gro_super *super)
{
	uint32_t i = super->first;
	unsigned n = 0;

	b->iov[n++] = (struct iovec){b->inner[i].ip, b->inner[i].len};
	while ((i = b->inner[i].next) != GRO_END && n < IO_IOV_MAX) {
		const struct gro_packet *p = &b->inner[i];

		b->iov[n++] = (struct iovec){p->ip + p->payload_off, p->len - p->payload_off};
	}
	return n;
}

static enum drop write_error(int err)
{
	switch (err) {
	case -EIO:
		return DROP_DEVICE_DOWN;
	case -EAGAIN:
	case -ENOBUFS:
	case -ENOMEM:
		return DROP_SEND_FULL;
	default:
		return DROP_DEVICE_WRITE;
	}
}

static void write_plain(struct worker *w, const struct iovec *iov)
{
	static const struct vnet plain;
	int err = w->device.write(w->device.ctx, &plain, iov, 1);

	if (err) {
		w->stats.drop[write_error(err)]++;
		return;
	}
	w->stats.device_packets_out++;
	w->stats.device_bytes_out += iov->iov_len;
}

/* The kernel refused a merged packet: cut it again, deliver piece by piece. */
static void write_singly(struct worker *w, struct in_batch *b, const struct gro_super *super,
			 unsigned n_iov)
{
	uint8_t segment[IO_PACKET_MAX];
	uint32_t len = 0;
	struct gso gso;

	for (unsigned i = 0; i < n_iov; i++) {
		memcpy(b->scratch + len, b->iov[i].iov_base, b->iov[i].iov_len);
		len += (uint32_t)b->iov[i].iov_len;
	}
	if (!gso_begin(&gso, b->scratch, len, &super->vnet)) {
		w->stats.drop[DROP_DEVICE_WRITE] += super->n;
		return;
	}
	while (gso.next < gso.n_segments) {
		struct iovec iov = {.iov_base = segment};

		iov.iov_len = gso_next(&gso, segment);
		write_plain(w, &iov);
	}
}

static void deliver(struct worker *w, struct in_batch *b, const struct gro_super *super)
{
	unsigned n = gather(b, super);
	int err = w->device.write(w->device.ctx, &super->vnet, b->iov, n);

	if (!err) {
		w->stats.device_packets_out++;
		w->stats.device_bytes_out += super->len;
		w->stats.packets_merged += super->n - 1;
	} else if (err == -EINVAL && super->n > 1) {
		lane_withdraw_merging(w, &super->vnet);
		write_singly(w, b, super, n);
	} else {
		w->stats.drop[write_error(err)] += super->n;
	}
}

/* Takes the ports' packets out of the batch, once they were delivered. */
static void keep_device_packets(struct in_batch *b)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < b->n_inner; i++) {
		if (!b->port[i])
			b->inner[n++] = b->inner[i];
	}
	b->n_inner = n;
}

static void stage_deliver_ports(struct worker *w, struct in_batch *b)
{
	struct port *port;

	if (!b->n_port_packets)
		return;
	TAILQ_FOREACH (port, &w->lane->ports.list, entry) {
		if (port->queue[w->id].n_in_batch)
			port_deliver(w, b, &port->queue[w->id]);
	}
	keep_device_packets(b);
}

static void stage_deliver(struct worker *w, struct in_batch *b)
{
	uint32_t n = gro_merge(&b->gro, w->gro, b->inner, b->n_inner, b->merged);

	for (uint32_t i = 0; i < n; i++)
		deliver(w, b, &b->merged[i]);
}

static void stage_count(struct worker *w, struct in_batch *b)
{
	for (unsigned i = 0; i < b->n; i++)
		w->stats.drop[b->pkt[i].drop]++;
	w->stats.drop[DROP_NONE] = 0;
}
