/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a port adds to the way out: read frames -> answer for neighbours -> look up
 * the VTEP -> outer headers right before the frame, which is then a packet like any
 * other (egress.c). A superpacket stays one: gso cuts it, outer headers and all.
 *
 * One frame may become very many datagrams, and whoever sends it is not to be
 * trusted with everybody's time: what was read waits in q->out, and a turn takes
 * some of it.
 */
#include <errno.h>
#include <string.h>

#include "lane.h"
#include "offload/be.h"
#include "offload/ether.h"
#include "offload/icmp.h"
#include "offload/neigh.h"
#include "offload/vxlan.h"
#include "port_walk.h"
#include "shortlock.h"

static void count_frames(struct worker *w, struct port_queue *q, const struct port_out *po)
{
	q->stats.reads++;
	q->stats.frames_in += po->n;
	for (unsigned i = 0; i < po->n; i++)
		q->stats.bytes_in += po->frame[i].len;
	w->stats.drop[DROP_PORT_KERNEL] += q->port->io.take_drops(q->io_ctx);
}

/* Long frames are read a few at a time, so that they are still in the caches when
 * they are sealed. */
static void adapt_read(struct port_queue *q, const struct port_out *po)
{
	uint32_t bytes = 1;

	for (unsigned i = 0; i < po->n; i++)
		bytes += po->frame[i].len;
	q->read_max = PORT_READ_BYTES / (bytes / po->n + 1);
	if (q->read_max < 1)
		q->read_max = 1;
	if (q->read_max > PORT_FRAMES_MAX)
		q->read_max = PORT_FRAMES_MAX;
}

bool port_has_frames(const struct port_queue *q)
{
	return q->out->next < q->out->n;
}

int port_read(struct worker *w, struct port_queue *q)
{
	const size_t room = PORTDEV_HEADROOM + PORTDEV_FRAME_MAX;
	struct port_out *po = q->out;
	const unsigned max = q->read_max;
	int n;

	for (unsigned i = 0; i < max; i++)
		po->frame[i] =
			(struct portdev_read){.frame = po->memory + i * room + PORTDEV_HEADROOM};
	n = q->port->io.read(q->io_ctx, po->frame, max);
	w->out->drained = n < (int)max;
	if (n <= 0)
		return n;
	po->n = (unsigned)n;
	po->next = 0;
	po->next_vtep = po->n_copies = 0;
	count_frames(w, q, po);
	adapt_read(q, po);
	return n;
}

static void write_plain(struct port_queue *q, uint8_t *frame, size_t len)
{
	struct iovec iov = {frame, len};
	struct portdev_write w = {.iov = &iov, .n_iov = 1};

	q->port->io.write(q->io_ctx, &w, 1);
	if (w.err == -ENODEV)
		port_note_gone(q->port);
}

static bool answer_neighbour(struct port_queue *q, const struct portdev_read *f)
{
	uint8_t out[NEIGH_ANSWER_MAX_LEN];
	const struct neighbour *known;
	struct neigh_question question;

	if (!q->port->config.answer_neighbours || f->vnet.gso != VNET_GSO_NONE ||
	    !neigh_parse(f->frame, f->len, &question))
		return false;
	known = neightab_find(q->port->neighbours, question.target, question.addr_len);
	if (!known)
		return false;
	write_plain(q, out, neigh_answer(f->frame, f->len, &question, known->mac, out));
	q->stats.answered++;
	return true;
}

/* vxlan_push() says how long all is, which the length fields cannot beyond 64 KB,
 * so the view is written down instead of parsed. */
static struct ip_view outer_view(const uint8_t *ip, uint32_t len, uint8_t addr_len)
{
	const bool v4 = addr_len == 4;

	return (struct ip_view){
		.version = v4 ? 4 : 6,
		.tos = v4 ? ip[1] : (uint8_t)(ip[0] << 4 | ip[1] >> 4),
		.proto = IP_PROTO_UDP,
		.first_fragment = true,
		.has_l4 = true,
		.addr_len = addr_len,
		.src_off = v4 ? 12 : 8,
		.dst_off = v4 ? 16 : 24,
		.l4_off = v4 ? IPV4_HDR_MIN_LEN : IPV6_HDR_LEN,
		.total_len = len,
	};
}

static struct vxlan_template template_of(const struct port_queue *q, const struct vtep *to)
{
	const struct port_config *c = &q->port->config;
	struct vxlan_template t = {
		.addr_len = c->local.addr_len,
		.dst_port = c->udp_port,
		.vni = c->vni,
		.ttl = c->ttl,
		.dscp = c->dscp,
		.inherit_dscp = c->inherit_dscp,
		.checksum = c->checksum,
		.ip_id = q->ip_id,
	};

	memcpy(t.local, c->local.addr, sizeof(t.local));
	memcpy(t.remote, to->addr, sizeof(t.remote));
	return t;
}

static unsigned segments_of(const struct super *s)
{
	const struct vnet *v = &s->in.vnet;

	if (v->gso == VNET_GSO_NONE || s->in.len <= v->hdr_len)
		return 1;
	return (s->in.len - v->hdr_len + v->gso_size - 1) / v->gso_size;
}

/* A packet of @f to @to; how many datagrams it makes, 0: none, counted. @f stays as
 * it is, but for checksums that are finished. */
static unsigned encapsulate(struct worker *w, struct port_queue *q, struct portdev_read *f,
			    const struct vtep *to, struct super *s)
{
	const struct vxlan_template t = template_of(q, to);
	struct vnet v = f->vnet;
	uint32_t outer_len = vxlan_push(&t, f->frame, f->len, &v);
	unsigned n;

	if (!outer_len) {
		w->stats.drop[DROP_BAD_VNET]++;
		return 0;
	}
	if (v.gso == VNET_GSO_NONE)
		f->vnet = v;
	*s = (struct super){.is_frame = true, .port = q};
	s->in.ip = f->frame - outer_len;
	s->in.len = f->len + outer_len;
	s->in.vnet = v;
	s->view = outer_view(s->in.ip, s->in.len, t.addr_len);
	n = segments_of(s);
	if (n > PORT_SEGMENTS_MAX) {
		w->stats.drop[DROP_PORT_SEGMENTS]++;
		return 0;
	}
	q->ip_id = (uint16_t)(q->ip_id + n);
	return n;
}

static enum drop check_frame(const struct worker *w, const struct portdev_read *f)
{
	if (f->drop)
		return f->drop;
	if (!w->lane->up)
		return DROP_DEVICE_DOWN;
	return f->len < ETHER_HDR_LEN ? DROP_PORT_FRAME : DROP_NONE;
}

/* The next VTEP of the list that the frame at hand goes to; NULL: no more. */
static const struct vtep *next_vtep(const struct port_queue *q, struct port_out *po)
{
	const struct vtep *list;
	const size_t n = fdb_flood_list(q->port->fdb, &list);

	while (po->next_vtep < n) {
		const struct vtep *to = &list[po->next_vtep++];

		/* All nodes may share one list: our own place in it is left out. */
		if (!vtep_equal(to, &q->port->config.local))
			return to;
	}
	return NULL;
}

static void finish_frame(struct port_out *po)
{
	po->next++;
	po->next_vtep = po->n_copies = 0;
}

/* One more copy of the frame at hand, or none and on to the next frame. */
static unsigned flood(struct worker *w, struct port_queue *q, struct portdev_read *f,
		      struct super *s)
{
	struct port_out *po = q->out;
	const struct vtep *to = next_vtep(q, po);
	unsigned n = to ? encapsulate(w, q, f, to, s) : 0;

	if (n) {
		po->n_copies++;
		q->stats.copies++;
		return n;
	}
	if (po->n_copies)
		q->stats.flooded++;
	else if (!to)
		w->stats.drop[DROP_PORT_UNKNOWN]++;
	finish_frame(po);
	return 0;
}

/* A frame whose destination is known. */
static unsigned forward(struct worker *w, struct port_queue *q, struct portdev_read *f,
			const struct vtep *to, struct super *s)
{
	finish_frame(q->out);
	if (!vtep_equal(to, &q->port->config.local))
		return encapsulate(w, q, f, to, s);
	w->stats.drop[DROP_PORT_HAIRPIN]++;
	return 0;
}

/* Not for the wire: refused, or answered here. */
static bool is_done_with(struct worker *w, struct port_queue *q, const struct portdev_read *f)
{
	enum drop drop = check_frame(w, f);

	if (drop)
		w->stats.drop[drop]++;
	return drop || (!q->out->next_vtep && answer_neighbour(q, f));
}

/* False: to be flooded, as is what has begun to be. */
static bool destination_of(const struct worker *w, const struct port_queue *q,
			   const struct portdev_read *f, struct vtep *ret)
{
	const struct vtep *to;

	if (q->out->next_vtep || ether_is_multicast(f->frame))
		return false;
	shortlock_take(&q->port->fdb_lock);
	to = fdb_lookup(q->port->fdb, f->frame, w->now_ns);
	if (to)
		*ret = *to;
	shortlock_give(&q->port->fdb_lock);
	return to;
}

unsigned port_forward(struct worker *w, struct port_queue *q, struct out_batch *b)
{
	struct port_out *po = q->out;
	unsigned n_datagrams = 0, n;

	b->n = 0;
	while (po->next < po->n && n_datagrams < PORT_TURN_DATAGRAMS) {
		struct portdev_read *f = &po->frame[po->next];
		struct vtep to;
		bool known;

		if (is_done_with(w, q, f)) {
			finish_frame(po);
			continue;
		}
		known = destination_of(w, q, f, &to);
		if (!known && b->n)
			break; /* a copy goes alone */
		n = known ? forward(w, q, f, &to, &b->super[b->n])
			  : flood(w, q, f, &b->super[b->n]);
		b->n += n > 0;
		n_datagrams += n;
		if (!known && n)
			break;
	}
	return n_datagrams;
}

/* Too big */

enum { IPV6_MTU_MIN = 1280, IPV4_MTU_MIN = 68 };

struct inner_packet {
	const uint8_t *frame;
	uint32_t l2_len, off; /* from the frame, from the outer IP header */
	struct ip_view view;
};

/* The IP packet in @s; a superpacket's length fields tell nothing, so its first
 * segment is looked at. */
static bool find_inner(const struct super *s, struct inner_packet *ret)
{
	const uint32_t outer_len = s->view.l4_off + 16u; /* UDP, VXLAN */
	const uint8_t *frame = s->in.ip + outer_len;
	uint32_t len = s->in.len - outer_len, l2_len;
	uint8_t hdrs[ICMP_ERROR_MAX_LEN];
	uint16_t type;

	l2_len = ether_l2_len(frame, len, &type);
	ret->frame = frame;
	ret->l2_len = l2_len;
	ret->off = outer_len + l2_len;
	len -= l2_len;
	if (type != ETHER_IPV4 && type != ETHER_IPV6)
		return false;
	if (s->in.vnet.gso == VNET_GSO_NONE)
		return ip_parse(frame + l2_len, len, &ret->view);
	if (len > sizeof(hdrs))
		len = sizeof(hdrs);
	memcpy(hdrs, frame + l2_len, len);
	if (hdrs[0] >> 4 == 4)
		be16_store(hdrs + 2, (uint16_t)len);
	else
		be16_store(hdrs + 4, (uint16_t)(len - IPV6_HDR_LEN));
	return ip_parse(hdrs, len, &ret->view);
}

static void answer_too_big(struct worker *w, struct port_queue *q, const struct inner_packet *in,
			   uint32_t mtu)
{
	const uint8_t *ip = in->frame + in->l2_len;
	uint8_t out[ETHER_L2_MAX + ICMP_ERROR_MAX_LEN];
	size_t len = icmp_error(ip, &in->view, ICMP_PACKET_TOO_BIG, ip + in->view.dst_off, mtu,
				out + in->l2_len, ICMP_ERROR_MAX_LEN);

	if (!len || !lane_icmp_allowed(w->lane))
		return;
	memcpy(out, in->frame, in->l2_len);
	memcpy(out, in->frame + ETHER_SRC_OFF, ETHER_MAC_LEN);
	memcpy(out + ETHER_SRC_OFF, in->frame, ETHER_MAC_LEN);
	write_plain(q, out, in->l2_len + len);
	w->stats.icmp_sent++;
}

bool port_too_big(struct worker *w, struct super *s, uint32_t limit)
{
	struct inner_packet in;
	uint32_t mtu;

	if (!s->port || !find_inner(s, &in) || limit <= in.off + IPV4_MTU_MIN)
		return false;
	mtu = limit - in.off;
	if (in.view.version == 6) {
		if (mtu < IPV6_MTU_MIN) /* no sender goes below: sent in fragments */
			return false;
	} else if (!(in.frame[in.l2_len + 6] & 0x40)) {
		return false;
	}
	answer_too_big(w, s->port, &in, mtu);
	return true;
}
