/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a port adds to the way in: the frame out of its VXLAN packet -> marks ->
 * may that address be there, learn it -> merge what is inside -> device. Outer
 * headers are gone before packets are merged, so neither a zero checksum nor the
 * kernel's tunnel offload is any question here.
 */
#include <errno.h>
#include <string.h>

#include "lane.h"
#include "offload/ecn.h"
#include "offload/ether.h"
#include "port_walk.h"
#include "shortlock.h"

enum { LIMITS_AGE_NS = 10000000 };

/* Congestion marks of the VXLAN packet go inside, as the kernel's vxlan does it
 * (INET_ECN_decapsulate(): a mark that the inside cannot carry drops the packet). */
static enum drop fold_ecn(struct gro_packet *p, uint8_t outer_ecn)
{
	switch (ecn_decap(outer_ecn, ip_ecn(&p->view))) {
	case ECN_MARK_CE:
		ip_set_ecn(p->ip, &p->view, ECN_CE);
		break;
	case ECN_MARK_ECT1:
		ip_set_ecn(p->ip, &p->view, ECN_ECT1);
		break;
	case ECN_KEEP_BROKEN:
		return DROP_PORT_ECN;
	case ECN_KEEP:
		break;
	}
	return DROP_NONE;
}

static enum drop learn_new(struct worker *w, struct port_queue *q, const uint8_t *mac,
			   const struct vtep *from)
{
	enum fdb_learned learned;

	shortlock_take(&q->port->fdb_lock);
	learned = fdb_learn(q->port->fdb, mac, from, w->now_ns);
	shortlock_give(&q->port->fdb_lock);
	switch (learned) {
	case FDB_REFUSED:
	case FDB_BAD:
		return DROP_PORT_SOURCE;
	case FDB_NEW:
		q->stats.learned++;
		break;
	case FDB_MOVED:
		q->stats.moved++;
		break;
	case FDB_FULL:
		q->stats.fdb_full++;
		break;
	case FDB_KNOWN:
		break;
	}
	return DROP_NONE;
}

/* A train comes from one address: it is looked up once. */
static enum drop learn(struct worker *w, struct port_queue *q, const uint8_t *mac,
		       const struct vtep *from)
{
	struct port_heard *h = &q->heard;

	if (h->at_ns != w->now_ns || memcmp(h->mac, mac, ETHER_MAC_LEN) != 0 ||
	    !vtep_equal(&h->from, from)) {
		*h = (struct port_heard){.at_ns = w->now_ns, .from = *from};
		memcpy(h->mac, mac, ETHER_MAC_LEN);
		h->drop = learn_new(w, q, mac, from);
	}
	return h->drop;
}

enum drop port_take(struct worker *w, struct port_queue *q, uint32_t frame_off,
		    struct gro_packet *ret, struct iovec *ret_frame)
{
	const struct ip_view outer = ret->view;
	const uint32_t len = outer.total_len - frame_off;
	uint8_t *frame = ret->ip + frame_off;
	struct vtep from = {.addr_len = outer.addr_len};
	enum drop drop = DROP_NONE;
	uint16_t type;

	memcpy(from.addr, ret->ip + outer.src_off, outer.addr_len);
	if (!memcmp(frame + ETHER_SRC_OFF, q->mac, ETHER_MAC_LEN))
		return DROP_PORT_LOOP;

	*ret_frame = (struct iovec){frame, len};
	ret->l2_len = (uint8_t)ether_l2_len(frame, len, &type);
	ret->ip = frame + ret->l2_len;
	ret->len = len - ret->l2_len;
	ret->zero_csum_allowed = false;
	if ((type != ETHER_IPV4 && type != ETHER_IPV6) || !ip_parse(ret->ip, ret->len, &ret->view))
		ret->view = (struct ip_view){0};
	else if (w->lane->offload.ecn)
		drop = fold_ecn(ret, ip_ecn(&outer));
	return drop ? drop : learn(w, q, frame + ETHER_SRC_OFF, &from);
}

/* What is for @q, in order: the batch's own arrays when that is all of it. */
static uint32_t select_packets(struct port_batch *pb, struct in_batch *b,
			       const struct port_queue *q, struct gro_packet **ret_packets,
			       struct iovec **ret_frames)
{
	uint32_t n = 0;

	if (q->n_in_batch == b->n_inner) {
		*ret_packets = b->inner;
		*ret_frames = b->frame;
		return b->n_inner;
	}
	for (uint32_t i = 0; i < b->n_inner; i++) {
		if (b->port[i] != q)
			continue;
		pb->inner[n] = b->inner[i];
		pb->frame_of[n++] = b->frame[i];
	}
	*ret_packets = pb->inner;
	*ret_frames = pb->frame_of;
	return n;
}

static bool is_congestion(int err)
{
	return err == -ENOBUFS || err == -EAGAIN || err == -ENOMEM;
}

static enum drop write_error(struct port_queue *q, int err)
{
	switch (err) {
	case -ENODEV:
		port_note_gone(q->port);
		return DROP_DEVICE_DOWN;
	default:
		return is_congestion(err) ? DROP_SEND_FULL : DROP_DEVICE_WRITE;
	}
}

/* Cuts a superpacket again that was not taken, delivers it piece by piece. */
static void write_singly(struct worker *w, struct port_queue *q, const struct gro_super *super,
			 const struct portdev_write *pw, uint8_t l2_len)
{
	static const struct vnet plain;
	uint8_t segment[IO_PACKET_MAX], *scratch = w->port_batch->scratch;
	enum drop drop = DROP_NONE;
	uint32_t len = 0;
	struct gso gso;

	for (unsigned i = 0; i < pw->n_iov; i++) {
		memcpy(scratch + len, pw->iov[i].iov_base, pw->iov[i].iov_len);
		len += (uint32_t)pw->iov[i].iov_len;
	}
	if (!gso_begin(&gso, scratch + l2_len, len - l2_len, &super->vnet)) {
		w->stats.drop[DROP_DEVICE_WRITE] += super->n;
		return;
	}
	while (gso.next < gso.n_segments) {
		const uint32_t segment_len = gso_next(&gso, segment);
		const struct iovec iov[] = {{scratch, l2_len}, {segment, segment_len}};
		struct portdev_write one = {.vnet = plain, .iov = iov, .n_iov = 2};

		q->port->io.write(q->io_ctx, &one, 1);
		if (one.err) {
			drop = write_error(q, one.err);
			w->stats.drop[drop]++;
			/* Full or gone: no better for the others. */
			if (one.err != -EINVAL && one.err != -EMSGSIZE)
				break;
			continue;
		}
		q->stats.frames_out++;
		q->stats.bytes_out += iov[0].iov_len + iov[1].iov_len;
	}
	w->stats.drop[drop] += gso.n_segments - gso.next; /* 0 unless it broke off */
}

/*
 * A full device is tried once more. ENOBUFS may also mean that the kernel would have
 * to cut the superpacket itself (net/core/dev.c:__dev_direct_xmit()), because a
 * limit has just become lower: its pieces are taken then.
 */
static void after_write(struct worker *w, struct port_queue *q, struct portdev_write *pw,
			const struct gro_super *super, uint8_t l2_len)
{
	if (is_congestion(pw->err))
		q->port->io.write(q->io_ctx, pw, 1);
	if (!pw->err) {
		q->stats.frames_out++;
		q->stats.bytes_out += super->len + l2_len;
		q->stats.packets_merged += super->n - 1;
	} else if (pw->err == -EINVAL && super->n > 1) {
		port_withdraw_merging(q, &super->vnet);
		write_singly(w, q, super, pw, l2_len);
	} else if (is_congestion(pw->err) && super->n > 1) {
		write_singly(w, q, super, pw, l2_len);
	} else {
		w->stats.drop[write_error(q, pw->err)] += super->n;
	}
}

static void flush(struct worker *w, struct port_queue *q, const struct gro_packet *packets)
{
	struct port_batch *pb = w->port_batch;

	if (!pb->n_write)
		return;
	q->port->io.write(q->io_ctx, pb->write, pb->n_write);
	q->stats.writes++;
	for (unsigned i = 0; i < pb->n_write; i++) {
		const struct gro_super *super = pb->written[i];

		after_write(w, q, &pb->write[i], super, packets[super->first].l2_len);
	}
	pb->n_write = pb->n_iov = 0;
}

/* Offsets of a frame count from its Ethernet header. */
static struct vnet vnet_of_frame(const struct gro_super *super, uint8_t l2_len)
{
	struct vnet v = super->vnet;

	if (v.gso != VNET_GSO_NONE) {
		v.csum_start = (uint16_t)(v.csum_start + l2_len);
		v.hdr_len = (uint16_t)(v.hdr_len + l2_len);
	}
	return v;
}

/* The frame of the head whole, padding and all, then payloads. */
static void put(struct port_batch *pb, const struct gro_packet *packets, const struct iovec *frames,
		const struct gro_super *super)
{
	struct portdev_write *pw = &pb->write[pb->n_write];
	uint32_t i = super->first;

	*pw = (struct portdev_write){
		.vnet = vnet_of_frame(super, packets[i].l2_len),
		.iov = &pb->iov[pb->n_iov],
		.n_iov = super->n,
	};
	pb->iov[pb->n_iov++] = frames[i];
	while ((i = packets[i].next) != GRO_END) {
		const struct gro_packet *p = &packets[i];

		pb->iov[pb->n_iov++] = (struct iovec){p->ip + p->payload_off,
						      p->len - p->payload_off};
	}
	pb->written[pb->n_write++] = super;
}

/* Lengths of IP that a frame of @max_len leaves. */
static uint32_t ip_len_max(uint32_t max_len)
{
	return max_len > PORTDEV_FRAME_MAX ? PORTDEV_FRAME_MAX - ETHER_L2_MAX
	       : max_len > ETHER_L2_MAX	   ? max_len - ETHER_L2_MAX
					   : 0;
}

/* Several workers ask in turn, and not for every batch. */
static bool limits_are_new(const struct worker *w, const struct port_queue *q)
{
	return w != &w->lane->self && q->limits_at_ns &&
	       w->now_ns - q->limits_at_ns < LIMITS_AGE_NS;
}

static void follow_limits(struct worker *w, struct port_queue *q)
{
	const struct port_io *io = &q->port->io;
	struct gro_config *gro = &q->gro;
	struct portdev_limits limits;

	if (limits_are_new(w, q))
		return;
	q->limits_at_ns = w->now_ns;
	lane_lock(w->lane);
	limits = io->limits(io->ctx, w->now_ns);
	io->mac(io->ctx, q->mac);
	lane_unlock(w->lane);
	gro->max_len4 = ip_len_max(limits.max_len4);
	gro->max_len6 = ip_len_max(limits.max_len6);
	gro->max_segments = limits.max_segs && limits.max_segs < GRO_PIECES_MAX ? limits.max_segs
										: GRO_PIECES_MAX;
}

void port_deliver(struct worker *w, struct in_batch *b, struct port_queue *q)
{
	struct port_batch *pb = w->port_batch;
	struct gro_packet *packets;
	struct iovec *frames;
	uint32_t n = select_packets(pb, b, q, &packets, &frames);

	q->n_in_batch = 0;
	follow_limits(w, q);
	n = gro_merge(&b->gro, &q->gro, packets, n, b->merged);
	pb->n_write = pb->n_iov = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (pb->n_write == PORT_FRAMES_MAX)
			flush(w, q, packets);
		put(pb, packets, frames, &b->merged[i]);
	}
	flush(w, q, packets);
}
