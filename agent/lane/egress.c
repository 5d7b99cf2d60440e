/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way out, top to bottom: device -> read -> parse -> peer -> session ->
 * number and seal -> send -> news for the timers. Every stage is a pass over the
 * batch; a packet that a stage refuses or takes elsewhere is skipped by the rest.
 */
#include "egress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "crypto/train.h"
#include "lane.h"
#include "offload/be.h"
#include "offload/ecn.h"
#include "offload/icmp.h"
#include "offload/ip.h"

static void stage_parse(struct lane *lane, struct packet *pkts, unsigned n);
static void stage_find_peer(struct lane *lane, struct packet *pkts, unsigned n);
static void stage_find_session(struct lane *lane, struct packet *pkts, unsigned n);
static void stage_seal(struct lane *lane, struct packet *pkts, unsigned n);
static void stage_send(struct lane *lane, struct packet *pkts, unsigned n);
static void stage_news(struct lane *lane, struct packet *pkts, unsigned n);

int egress_run(struct lane *lane)
{
	struct packet *pkts = lane->out.pkt;
	int n = lane->device.read(lane->device.ctx, pkts, BATCH_MAX);

	if (n <= 0)
		return n;
	lane_refresh_clock(lane);
	lane->stats.device_reads++;
	lane->stats.device_packets_in += (unsigned)n;

	stage_parse(lane, pkts, (unsigned)n);
	stage_find_peer(lane, pkts, (unsigned)n);
	stage_find_session(lane, pkts, (unsigned)n);
	stage_seal(lane, pkts, (unsigned)n);
	stage_send(lane, pkts, (unsigned)n);
	stage_news(lane, pkts, (unsigned)n);
	return n;
}

static void stage_parse(struct lane *lane, struct packet *pkts, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct packet *p = &pkts[i];

		p->taken = false;
		p->peer = NULL;
		p->keypair = NULL;
		if (!p->drop && !lane->up)
			p->drop = DROP_DEVICE_DOWN;
		if (p->drop)
			continue;
		if (!ip_parse(p->data, p->len, &p->view)) {
			p->drop = DROP_BAD_IP;
			continue;
		}
		p->len = p->view.total_len;
	}
}

/* At most 100 ICMP errors a second, 50 in a burst (kernel: icmp_msgs_*). */
static bool icmp_allowed(struct lane *lane)
{
	const uint64_t cost_ns = NSEC_PER_SEC / 100, burst_ns = 50 * cost_ns;

	lane->icmp_credit_ns += lane->now_ns - lane->icmp_last_ns;
	lane->icmp_last_ns = lane->now_ns;
	if (lane->icmp_credit_ns > burst_ns)
		lane->icmp_credit_ns = burst_ns;
	if (lane->icmp_credit_ns < cost_ns)
		return false;
	lane->icmp_credit_ns -= cost_ns;
	return true;
}

/*
 * Tells the sender. The error comes from the address that could not be reached:
 * one of our own would be a martian on its way back in, and this one has its
 * return route through the device, so it passes rp_filter; behind NAT conntrack
 * rewrites it together with the quoted packet.
 */
static void answer_unreachable(struct lane *lane, const struct packet *p, enum icmp_reason reason)
{
	uint8_t buf[PACKET_HEADROOM + ICMP_ERROR_MAX_LEN];
	struct packet err = {.buf = buf, .data = buf + PACKET_HEADROOM};

	err.len = (uint32_t)icmp_error(p->data, &p->view, reason, p->data + p->view.dst_off, 0,
				       err.data, ICMP_ERROR_MAX_LEN);
	if (!err.len || !icmp_allowed(lane))
		return;
	lane->device.write(lane->device.ctx, &err, 1);
	if (!err.drop)
		lane->stats.icmp_sent++;
}

/* A route for the endpoint that leads into the lane itself would wrap a packet
 * again and again. Our own datagram is known by its ports and destination. */
static bool is_own_datagram(const struct lane *lane, const struct packet *p,
			    const struct endpoint *ep)
{
	const uint8_t *udp = p->data + p->view.l4_off;
	const void *dst = p->view.version == 4 ? (const void *)&ep->dst.in4.sin_addr
					       : (const void *)&ep->dst.in6.sin6_addr;

	if (p->view.proto != IP_PROTO_UDP || !p->view.has_l4 ||
	    p->view.l4_off + 4U > p->view.total_len || be16_load(udp) != lane->listen_port)
		return false;
	/* sin_port and sin6_port share their place. */
	return ep->dst.family == (p->view.version == 4 ? AF_INET : AF_INET6) &&
	       !memcmp(udp + 2, &ep->dst.in4.sin_port, 2) &&
	       !memcmp(p->data + p->view.dst_off, dst, p->view.addr_len);
}

static void stage_find_peer(struct lane *lane, struct packet *pkts, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct packet *p = &pkts[i];
		struct allowedips_owner *owner;

		if (!packet_alive(p))
			continue;
		owner = allowedips_lookup(&lane->allowed, p->data + p->view.dst_off,
					  p->view.addr_len);
		if (!owner) {
			p->drop = DROP_NO_PEER;
			answer_unreachable(lane, p, ICMP_NO_PEER);
			continue;
		}
		p->peer = peer_of_owner(owner);
		if (p->peer->endpoint.dst.family == AF_UNSPEC) {
			p->drop = DROP_NO_ENDPOINT;
			answer_unreachable(lane, p, ICMP_NO_ENDPOINT);
		} else if (is_own_datagram(lane, p, &p->peer->endpoint)) {
			p->drop = DROP_LOOP;
		}
	}
}

static void wait_for_session(struct lane *lane, struct packet *p)
{
	peer_stage(lane, p->peer, p->data, p->len);
	p->taken = true;
	handshake_initiate(lane, p->peer, false);
}

static void stage_find_session(struct lane *lane, struct packet *pkts, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct packet *p = &pkts[i];

		if (!packet_alive(p))
			continue;
		if (keypair_can_send(p->peer->slots.current, lane->now_ns))
			p->keypair = p->peer->slots.current;
		else
			wait_for_session(lane, p);
	}
}

static void check_source(struct lane *lane, struct peer *peer)
{
	if (peer->source_generation == lane->source_generation)
		return;
	peer->source_generation = lane->source_generation;
	if (peer->endpoint.has_source && lane->udp.source_valid &&
	    !lane->udp.source_valid(lane->udp.ctx, &peer->endpoint))
		peer->endpoint.has_source = false;
}

/* Pads the text and makes room for the header in front of it. */
static void prepare_car(const struct lane *lane, struct packet *p, struct train_car *car)
{
	size_t padded = message_padded_len(p->len, lane->mtu);

	p->tos = p->len ? ecn_encap(ip_ecn(&p->view)) : 0;
	memset(p->data + p->len, 0, padded - p->len);
	car->msg = p->data - MESSAGE_DATA_HEADER_SIZE;
	car->text_len = padded;
}

/* One train: @n packets in a row under one session. */
static void seal_train(struct lane *lane, struct packet *pkts, unsigned n)
{
	struct keypair *kp = pkts[0].keypair;
	struct peer *peer = pkts[0].peer;
	struct train_car cars[BATCH_MAX];
	uint64_t first;

	if (!keypair_reserve(kp, n, &first)) {
		/* The few numbers left stay unused: the packets would be sent
		 * here again and again otherwise. */
		__atomic_store_n(&kp->send_counter, REJECT_AFTER_MESSAGES, __ATOMIC_RELAXED);
		for (unsigned i = 0; i < n; i++)
			wait_for_session(lane, &pkts[i]);
		return;
	}
	check_source(lane, peer);
	for (unsigned i = 0; i < n; i++)
		prepare_car(lane, &pkts[i], &cars[i]);
	train_seal(lane->train, kp, first, cars, n);
	for (unsigned i = 0; i < n; i++) {
		pkts[i].data = cars[i].msg;
		pkts[i].len = (uint32_t)(cars[i].text_len + MESSAGE_DATA_OVERHEAD);
		pkts[i].endpoint = peer->endpoint;
	}
	lane->stats.trains_sealed++;
}

static void stage_seal(struct lane *lane, struct packet *pkts, unsigned n)
{
	for (unsigned i = 0, end; i < n; i = end) {
		end = i + 1;
		if (!packet_alive(&pkts[i]))
			continue;
		while (end < n && packet_alive(&pkts[end]) && pkts[end].keypair == pkts[i].keypair)
			end++;
		seal_train(lane, &pkts[i], end - i);
	}
}

static void stage_send(struct lane *lane, struct packet *pkts, unsigned n)
{
	lane->udp.send(lane->udp.ctx, pkts, n);

	for (unsigned i = 0; i < n; i++) {
		struct packet *p = &pkts[i];

		if (p->drop)
			lane->stats.drop[p->drop]++;
		if (!packet_alive(p))
			continue;
		lane->stats.udp_datagrams_out++;
		p->peer->tx_bytes += p->len;
		if (p->peer->endpoint.has_source && !p->endpoint.has_source)
			p->peer->endpoint.has_source = false;
	}
}

/* Once per train: what was sent starts and stops timers and may ask for a new
 * session. A datagram the kernel refused counts as sent: it may as well have
 * been lost on the way, and the timers are there for that. */
static void stage_news(struct lane *lane, struct packet *pkts, unsigned n)
{
	for (unsigned i = 0, end; i < n; i = end) {
		struct peer *peer = pkts[i].peer;
		struct keypair *kp = pkts[i].keypair;
		bool data = false;

		end = i + 1;
		if (!kp || pkts[i].taken)
			continue;
		for (end = i; end < n && pkts[end].keypair == kp && !pkts[end].taken; end++)
			data |= pkts[end].len > MESSAGE_DATA_OVERHEAD;

		timers_any_authenticated_packet_traversal(&peer->timers, lane->now_ns);
		timers_any_authenticated_packet_sent(&peer->timers);
		if (data)
			timers_data_sent(&peer->timers, lane->now_ns, lane_jitter(lane));
		if (keypair_wants_rekey_on_send(kp, lane->now_ns))
			handshake_initiate(lane, peer, false);
		peer_reschedule(lane, peer);
	}
}

/* Moves up to a batch of waiting packets into the way out. */
static unsigned unstage(struct lane *lane, struct peer *peer)
{
	struct staged_packet *sp;
	unsigned n = 0;

	while (n < BATCH_MAX && (sp = STAILQ_FIRST(&peer->staged))) {
		struct packet *p = &lane->out.pkt[n++];

		STAILQ_REMOVE_HEAD(&peer->staged, entry);
		peer->n_staged--;
		p->data = p->buf + PACKET_HEADROOM;
		p->len = sp->len;
		memcpy(p->data, sp->data, sp->len);
		p->drop = DROP_NONE;
		p->taken = false;
		p->peer = peer;
		p->keypair = NULL;
		if (sp->len && !ip_parse(p->data, p->len, &p->view))
			p->drop = DROP_BAD_IP;
		free(sp);
	}
	return n;
}

void egress_send_staged(struct lane *lane, struct peer *peer)
{
	struct packet *pkts = lane->out.pkt;
	unsigned n;

	while (peer->n_staged) {
		if (!keypair_can_send(peer->slots.current, lane->now_ns)) {
			handshake_initiate(lane, peer, false);
			return;
		}
		n = unstage(lane, peer);
		stage_find_session(lane, pkts, n);
		stage_seal(lane, pkts, n);
		stage_send(lane, pkts, n);
		stage_news(lane, pkts, n);
	}
}

void egress_keepalive(struct lane *lane, struct peer *peer)
{
	if (!lane->up)
		return;
	if (!peer->n_staged)
		peer_stage(lane, peer, NULL, 0);
	egress_send_staged(lane, peer);
}
