/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way out, top to bottom: device -> read -> check (or: port -> read -> put into
 * VXLAN) -> peer -> session -> cut, number and seal -> send in runs -> news for the
 * timers. Everything that can be
 * is done once per superpacket; it becomes datagrams at the last moment, cut
 * straight into the memory they are sent from.
 */
#include "egress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lane.h"
#include "offload/be.h"
#include "offload/ecn.h"
#include "offload/icmp.h"
#include "pmtu.h"
#include "port_walk.h"

static int stage_read(struct worker *w, struct out_batch *b);
static void stage_check(struct worker *w, struct out_batch *b);
static void send_batch(struct worker *w, struct out_batch *b);
static void stage_find_peer(struct worker *w, struct out_batch *b);
static void stage_find_session(struct worker *w, struct out_batch *b);
static void stage_cut_and_seal(struct worker *w, struct out_batch *b);
static void stage_send(struct worker *w, struct out_batch *b);
static void stage_news(struct worker *w, struct out_batch *b);

int egress_run(struct worker *w)
{
	struct out_batch *b = w->out;
	int n = stage_read(w, b);

	if (n <= 0)
		return n;
	worker_refresh_clock(w);
	stage_check(w, b);
	send_batch(w, b);
	return n;
}

int egress_run_port(struct worker *w, struct port_queue *q)
{
	struct out_batch *b = w->out;
	unsigned n_datagrams = 0, n_made;

	if (!port_has_frames(q)) {
		int n = port_read(w, q);

		if (n <= 0)
			return n;
	}
	worker_refresh_clock(w);
	while (n_datagrams < PORT_TURN_DATAGRAMS && (n_made = port_forward(w, q, b))) {
		send_batch(w, b);
		n_datagrams += n_made;
		worker_refresh_clock(w);
	}
	return 1;
}

/* What both have in common: packets that may go out. */
static void send_batch(struct worker *w, struct out_batch *b)
{
	stage_find_peer(w, b);
	stage_find_session(w, b);
	stage_cut_and_seal(w, b);
	stage_send(w, b);
	stage_news(w, b);
}

static void super_reset(struct super *s)
{
	s->in.drop = DROP_NONE;
	s->taken = s->is_frame = false;
	s->port = NULL;
	s->peer = NULL;
	s->keypair = NULL;
	s->n_sent = 0;
}

/* Everything that is there, up to a batch; never waits for more. */
static int stage_read(struct worker *w, struct out_batch *b)
{
	uint32_t used = 0;
	int err = 1;

	b->n = 0;
	while (b->n < SUPERS_MAX && used < READ_BYTES_MAX) {
		struct super *s = &b->super[b->n];

		super_reset(s);
		s->in.ip = b->read_arena + used + IO_HEADROOM;
		err = w->device.read(w->device.ctx, &s->in);
		if (err <= 0)
			break;
		used += IO_HEADROOM + ((s->in.len + 15) & ~15U);
		b->n++;
		w->stats.device_bytes_in += s->in.len;
	}
	b->drained = err <= 0;
	if (!b->n)
		return err;
	w->stats.device_reads++;
	w->stats.device_packets_in += b->n;
	return (int)b->n;
}

static void stage_check(struct worker *w, struct out_batch *b)
{
	for (unsigned i = 0; i < b->n; i++) {
		struct super *s = &b->super[i];

		if (!s->in.drop && !w->lane->up)
			s->in.drop = DROP_DEVICE_DOWN;
		if (s->in.drop)
			continue;
		if (!ip_parse(s->in.ip, s->in.len, &s->view))
			s->in.drop = DROP_BAD_IP;
		else if (!vnet_check(&s->in.vnet, s->in.ip, s->in.len))
			s->in.drop = DROP_BAD_VNET;
		else if (s->in.vnet.gso == VNET_GSO_NONE)
			s->in.len = s->view.total_len;
	}
}

static bool may_answer(struct worker *w)
{
	bool ret;

	worker_begin_rare(w);
	ret = lane_icmp_allowed(w->lane);
	worker_end_rare(w);
	return ret;
}

/*
 * Tells the sender. The error comes from the address that could not be reached:
 * one of our own would be a martian on its way back in, and this one has its
 * return route through the device, so it passes rp_filter; behind NAT conntrack
 * rewrites it together with the quoted packet.
 */
static void answer(struct worker *w, const struct super *s, enum icmp_reason reason, uint32_t mtu)
{
	static const struct vnet plain;
	uint8_t buf[ICMP_ERROR_MAX_LEN];
	struct iovec iov = {.iov_base = buf};

	iov.iov_len = icmp_error(s->in.ip, &s->view, reason, s->in.ip + s->view.dst_off, mtu, buf,
				 sizeof(buf));
	if (!iov.iov_len || !may_answer(w))
		return;
	if (!w->device.write(w->device.ctx, &plain, &iov, 1))
		w->stats.icmp_sent++;
}

/* A route for the endpoint that leads into the lane itself would wrap a packet
 * again and again. Our own datagram is known by its ports and destination. */
static bool is_own_datagram(const struct worker *w, const struct super *s,
			    const struct endpoint *ep)
{
	const struct ip_view *v = &s->view;
	const uint8_t *udp = s->in.ip + v->l4_off;
	const void *dst = v->version == 4 ? (const void *)&ep->dst.in4.sin_addr
					  : (const void *)&ep->dst.in6.sin6_addr;

	if (v->proto != IP_PROTO_UDP || !v->has_l4 || v->l4_off + 4U > s->in.len ||
	    be16_load(udp) != w->lane->listen_port)
		return false;
	/* sin_port and sin6_port share their place. */
	return ep->dst.family == (v->version == 4 ? AF_INET : AF_INET6) &&
	       !memcmp(udp + 2, &ep->dst.in4.sin_port, 2) &&
	       !memcmp(s->in.ip + v->dst_off, dst, v->addr_len);
}

/* NULL: what has no peer, or one nobody knows how to reach, ends here. */
static enum drop find_peer(struct worker *w, struct super *s)
{
	struct allowedips_owner *owner =
		allowedips_lookup(&w->lane->allowed, s->in.ip + s->view.dst_off, s->view.addr_len);
	struct endpoint ep;

	if (!owner) {
		if (!s->is_frame)
			answer(w, s, ICMP_NO_PEER, 0);
		return DROP_NO_PEER;
	}
	s->peer = peer_of_owner(owner);
	ep = peer_endpoint(s->peer);
	if (ep.dst.family == AF_UNSPEC) {
		if (!s->is_frame)
			answer(w, s, ICMP_NO_ENDPOINT, 0);
		return DROP_NO_ENDPOINT;
	}
	return is_own_datagram(w, s, &ep) ? DROP_LOOP : DROP_NONE;
}

static void stage_find_peer(struct worker *w, struct out_batch *b)
{
	for (unsigned i = 0; i < b->n; i++) {
		struct super *s = &b->super[i];

		if (super_alive(s))
			s->in.drop = find_peer(w, s);
	}
}

/* Its peer has no session, or others wait for it already. */
static void wait_for_session(struct worker *w, struct super *s)
{
	peer_stage(w->lane, s->peer, s);
	s->taken = true;
	handshake_initiate(w->lane, s->peer, false);
}

/* Under the lock it may turn out that there is a session just now. */
static struct keypair *session_or_wait(struct worker *w, struct super *s)
{
	struct keypair *kp;

	worker_begin_rare(w);
	kp = keypair_current(&s->peer->slots);
	if (s->peer->n_staged || !keypair_can_send(kp, w->now_ns)) {
		wait_for_session(w, s);
		kp = NULL;
	}
	worker_end_rare(w);
	return kp;
}

static void check_path(struct worker *w, struct peer *peer)
{
	if (!pmtu_path_changed(w->lane, peer))
		return;
	worker_begin_rare(w);
	pmtu_check_path(w->lane, peer);
	worker_end_rare(w);
}

static void stage_find_session(struct worker *w, struct out_batch *b)
{
	for (unsigned i = 0; i < b->n; i++) {
		struct super *s = &b->super[i];

		if (!super_alive(s))
			continue;
		s->keypair = keypair_current(&s->peer->slots);
		if (peer_holds_back(s->peer) || !keypair_can_send(s->keypair, w->now_ns))
			s->keypair = session_or_wait(w, s);
		if (s->keypair)
			check_path(w, s->peer);
	}
}

/* Room for one more datagram of @len bytes of IP? */
static bool has_room(const struct out_batch *b, uint32_t len)
{
	return b->n_datagrams < DATAGRAMS_MAX &&
	       b->cut_used + len + WG_PADDING_MULTIPLE + MESSAGE_DATA_OVERHEAD <= CUT_ARENA_LEN;
}

/* Cuts the next segment to where it will be sent from, pads it. */
static void cut_one(struct out_batch *b, struct gso *gso, uint32_t mtu)
{
	uint8_t *msg = b->cut_arena + b->cut_used;
	uint8_t *text = msg + MESSAGE_DATA_HEADER_SIZE;
	uint32_t len = gso_next(gso, text);
	size_t padded = message_padded_len(len, mtu);
	struct train_car *car = &b->car[b->n_datagrams];

	memset(text + len, 0, padded - len);
	*car = (struct train_car){.msg = msg, .text_len = padded};
	b->item[b->n_datagrams] = (struct udpseg_item){
		.len = (uint32_t)padded + MESSAGE_DATA_OVERHEAD,
		.flow = b->n_flows - 1,
	};
	b->cut_used += (uint32_t)padded + MESSAGE_DATA_OVERHEAD;
	b->n_datagrams++;
}

/* Datagrams of one destination and mark follow one another: one flow. */
static void open_flow(struct out_batch *b, struct peer *peer, uint8_t tos)
{
	struct out_flow *last = b->n_flows ? &b->flow[b->n_flows - 1] : NULL;

	if (!last || last->peer != peer || last->tos != tos)
		b->flow[b->n_flows++] = (struct out_flow){
			.peer = peer,
			.to = peer_endpoint(peer),
			.tos = tos,
		};
}

static uint8_t outer_tos(const struct worker *w, const struct super *s)
{
	return s->in.len && w->lane->offload.ecn ? ecn_encap(ip_ecn(&s->view)) : 0;
}

static void seal_train(struct worker *w, struct out_batch *b)
{
	struct out_train *t = &b->train;

	if (!t->n)
		return;
	train_seal(w->train, t->keypair, t->first, &b->car[t->first_car], t->n);
	w->stats.trains_sealed++;
	t->n = 0;
}

/* @next goes behind the train if they are the next of its session: small
 * packets are sealed many at a time. */
static void couple(struct worker *w, struct out_batch *b, const struct out_train *next)
{
	struct out_train *t = &b->train;

	if (t->n && (t->keypair != next->keypair || t->first + t->n != next->first))
		seal_train(w, b);
	if (t->n)
		t->n += next->n;
	else
		*t = *next;
	if (b->cut_used - t->begin >= TRAIN_LEN)
		seal_train(w, b);
}

/* As many segments as there is room for. False: the session cannot number them. */
static bool cut_train(struct worker *w, struct out_batch *b, struct super *s, struct gso *gso)
{
	const uint32_t mtu = pmtu_inner(w->lane, s->peer);
	const uint32_t used_before = b->cut_used, flows_before = b->n_flows;
	const unsigned first_car = b->n_datagrams;
	unsigned n = 0;
	uint64_t first;

	open_flow(b, s->peer, outer_tos(w, s));
	while (gso->next < gso->n_segments && has_room(b, gso_segment_len(gso, gso->next))) {
		cut_one(b, gso, mtu);
		n++;
	}
	if (!keypair_reserve(s->keypair, n, &first)) {
		/* The few numbers left stay unused: the packet would be sent here
		 * again and again otherwise. */
		keypair_end_sending(s->keypair);
		b->n_datagrams = first_car;
		b->cut_used = used_before;
		b->n_flows = flows_before;
		return false;
	}
	couple(w, b,
	       &(struct out_train){.keypair = s->keypair,
				   .first = first,
				   .first_car = first_car,
				   .n = n,
				   .begin = used_before});
	s->n_sent += n;
	return true;
}

static bool begin_cut(struct worker *w, struct super *s, struct gso *gso)
{
	static const struct vnet plain;
	uint32_t mtu;

	if (!s->in.len) { /* keepalive: nothing to cut */
		*gso = (struct gso){.pkt = s->in.ip, .n_segments = 1, .vnet = plain};
		return true;
	}
	if (pmtu_exceeded(w, s, &mtu)) {
		if (!s->is_frame) /* else told already */
			answer(w, s, ICMP_PACKET_TOO_BIG, mtu);
		s->in.drop = DROP_TOO_BIG;
		return false;
	}
	if (!gso_begin(gso, s->in.ip, s->in.len, &s->in.vnet)) {
		s->in.drop = DROP_BAD_VNET;
		return false;
	}
	return true;
}

static void stage_cut_and_seal(struct worker *w, struct out_batch *b)
{
	b->cut_used = b->n_datagrams = b->n_flows = b->train.n = 0;

	for (unsigned i = 0; i < b->n; i++) {
		struct super *s = &b->super[i];
		struct gso gso;

		if (!super_alive(s) || !begin_cut(w, s, &gso))
			continue;
		while (gso.next < gso.n_segments) {
			if (!has_room(b, gso_segment_len(&gso, gso.next)))
				stage_send(w, b);
			if (!cut_train(w, b, s, &gso)) {
				worker_begin_rare(w);
				wait_for_session(w, s);
				worker_end_rare(w);
				break;
			}
		}
	}
}

/* What the kernel would have to fragment must go singly. */
static unsigned max_segments(const struct worker *w, const struct peer *peer, uint32_t len)
{
	if (pmtu_single_sends(peer) || len > pmtu_inner(w->lane, peer) + MESSAGE_DATA_OVERHEAD)
		return 1;
	return w->lane->offload.udp_segments;
}

/* Bytes of a run that went out; which of its datagrams did not is not known, but
 * all are of one length, or the whole run failed. */
static uint32_t sent_len(const struct udp_run *run)
{
	return run->n_dropped ? (uint32_t)(run->n - run->n_dropped) * run->seg_len : run->len;
}

static void after_refusal(struct worker *w, struct peer *peer, const struct udp_run *run)
{
	worker_begin_rare(w);
	if (run->source_lost)
		peer_forget_source(peer);
	if (run->refused)
		pmtu_run_refused(w->lane, peer, run->seg_len, run->refused);
	worker_end_rare(w);
}

/* What became of the runs: counters, and what the kernel taught us. */
static void after_send(struct worker *w, struct out_batch *b, unsigned n_runs,
		       const unsigned *run_flow)
{
	for (unsigned i = 0; i < n_runs; i++) {
		struct udp_run *run = &b->run[i];
		struct peer *peer = b->flow[run_flow[i]].peer;

		w->stats.udp_runs_out++;
		w->stats.udp_datagrams_out += run->n - run->n_dropped;
		w->stats.drop[run->drop] += run->n_dropped;
		peer_count_tx(peer, sent_len(run));
		if (run->source_lost || run->refused)
			after_refusal(w, peer, run);
	}
}

static void stage_send(struct worker *w, struct out_batch *b)
{
	unsigned run_flow[RUNS_MAX], n_runs = 0;
	const uint8_t *data = b->cut_arena;

	seal_train(w, b);
	for (unsigned i = 0, n; i < b->n_datagrams; i += n) {
		const struct out_flow *flow = &b->flow[b->item[i].flow];
		struct udp_run *run = &b->run[n_runs];

		n = udpseg_run(&b->item[i], b->n_datagrams - i,
			       max_segments(w, flow->peer, b->item[i].len),
			       w->lane->offload.udp_never_equal);
		*run = (struct udp_run){
			.data = data,
			.seg_len = (uint16_t)b->item[i].len,
			.n = (uint16_t)n,
			.len = b->item[i].len * (n - 1) + b->item[i + n - 1].len,
			.tos = flow->tos,
			.to = flow->to,
		};
		data += run->len;
		run_flow[n_runs++] = b->item[i].flow;
		if (n_runs == RUNS_MAX) {
			w->udp.send(w->udp.ctx, b->run, n_runs);
			after_send(w, b, n_runs, run_flow);
			n_runs = 0;
		}
	}
	if (n_runs) {
		w->udp.send(w->udp.ctx, b->run, n_runs);
		after_send(w, b, n_runs, run_flow);
	}
	b->cut_used = b->n_datagrams = b->n_flows = 0;
}

static void follow_timers(struct worker *w, struct peer *peer, bool rekey)
{
	worker_begin_rare(w);
	if (rekey)
		handshake_initiate(w->lane, peer, false);
	peer_reschedule(w->lane, peer);
	worker_end_rare(w);
}

/* Once per packet of the host: what was sent starts and stops timers and may ask
 * for a new session. A datagram the kernel refused counts as sent: it may as well
 * have been lost on the way, and the timers are there for that. */
static void stage_news(struct worker *w, struct out_batch *b)
{
	for (unsigned i = 0; i < b->n; i++) {
		struct super *s = &b->super[i];
		struct peer *peer = s->peer;
		bool rekey;

		if (s->in.drop)
			w->stats.drop[s->in.drop]++;
		if (!s->n_sent)
			continue;
		timers_any_authenticated_packet_traversal(&peer->timers, w->now_ns);
		timers_any_authenticated_packet_sent(&peer->timers);
		/* Randomness is a system call: only if it is needed. */
		if (s->in.len && !timers_answer_awaited(&peer->timers))
			timers_data_sent(&peer->timers, w->now_ns, lane_jitter(w->lane));
		rekey = keypair_wants_rekey_on_send(s->keypair, w->now_ns);
		if (rekey || peer_wants_reschedule(peer))
			follow_timers(w, peer, rekey);
	}
}

/* The waiting packets of @taken, up to a batch, into the way out. They are sent
 * from where they were kept. */
static void unstage(struct out_batch *b, struct peer *peer, struct keypair *kp,
		    struct staged_list *taken)
{
	struct staged_packet *sp;

	b->n = 0;
	while (b->n < SUPERS_MAX && (sp = STAILQ_FIRST(&peer->staged))) {
		struct super *s = &b->super[b->n++];

		STAILQ_REMOVE_HEAD(&peer->staged, entry);
		STAILQ_INSERT_TAIL(taken, sp, entry);
		peer->n_staged--;
		super_reset(s);
		s->peer = peer;
		s->keypair = kp;
		s->in.ip = sp->data;
		s->in.len = sp->len;
		s->in.vnet = sp->vnet;
		s->view = sp->view;
		s->is_frame = sp->is_frame;
	}
}

static void free_taken(struct staged_list *taken)
{
	struct staged_packet *sp;

	while ((sp = STAILQ_FIRST(taken))) {
		STAILQ_REMOVE_HEAD(taken, entry);
		free(sp);
	}
}

void egress_send_staged(struct lane *lane, struct peer *peer)
{
	struct worker *w = &lane->self;
	struct out_batch *b = w->out;

	while (peer->n_staged) {
		struct staged_list taken = STAILQ_HEAD_INITIALIZER(taken);
		struct keypair *kp = keypair_current(&peer->slots);

		if (!keypair_can_send(kp, w->now_ns)) {
			handshake_initiate(lane, peer, false);
			return;
		}
		unstage(b, peer, kp, &taken);
		pmtu_check_path(lane, peer);
		stage_cut_and_seal(w, b);
		stage_send(w, b);
		stage_news(w, b);
		free_taken(&taken);
	}
	peer_let_pass(peer);
}

void egress_keepalive(struct lane *lane, struct peer *peer)
{
	static const struct super empty;

	if (!lane->up)
		return;
	if (!peer->n_staged)
		peer_stage(lane, peer, &empty);
	egress_send_staged(lane, peer);
}
