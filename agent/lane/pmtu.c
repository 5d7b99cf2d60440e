/* SPDX-License-Identifier: Apache-2.0 */
#include "pmtu.h"

#include <string.h>

#include "lane.h"
#include "log.h"
#include "port_walk.h"

enum {
	IPV4_UDP_LEN = 20 + 8,
	IPV6_UDP_LEN = 40 + 8,
	PATH_MTU_MIN = 576,  /* what every IPv4 host takes; a route saying less is
				not to be believed */
	IPV6_MTU_MIN = 1280, /* RFC 8200 5: no sender goes below */
	TCP_PAYLOAD_MIN = 8, /* finest cut; the kernel's TCP_MIN_GSO_SIZE */
};

/* Longest inner packet whose message goes unfragmented over @mtu bytes. */
static uint32_t inner_mtu(const struct endpoint *ep, uint32_t mtu)
{
	return mtu - (ep->dst.family == AF_INET ? IPV4_UDP_LEN : IPV6_UDP_LEN) -
	       MESSAGE_DATA_OVERHEAD;
}

static void learn_mtu(struct lane *lane, struct peer *peer)
{
	const struct udp_io *udp = &lane->self.udp;
	const struct endpoint ep = peer_endpoint(peer);
	uint32_t mtu = udp->path_mtu ? udp->path_mtu(udp->ctx, &ep) : 0;

	__atomic_store_n(&peer->path_mtu, mtu >= PATH_MTU_MIN ? inner_mtu(&ep, mtu) : 0,
			 __ATOMIC_RELAXED);
}

bool pmtu_path_changed(const struct lane *lane, const struct peer *peer)
{
	return __atomic_load_n(&peer->path_generation, __ATOMIC_RELAXED) !=
	       lane_route_generation(lane);
}

static void set_single_sends(struct peer *peer, bool on)
{
	__atomic_store_n(&peer->single_sends, on, __ATOMIC_RELAXED);
}

bool pmtu_single_sends(const struct peer *peer)
{
	return __atomic_load_n(&peer->single_sends, __ATOMIC_RELAXED);
}

void pmtu_check_path(struct lane *lane, struct peer *peer)
{
	const struct udp_io *udp = &lane->self.udp;
	const struct endpoint ep = peer_endpoint(peer);

	if (!pmtu_path_changed(lane, peer))
		return; /* another worker was first */
	__atomic_store_n(&peer->path_generation, lane->route_generation, __ATOMIC_RELAXED);
	set_single_sends(peer, false);
	if (ep.has_source && udp->source_valid && !udp->source_valid(udp->ctx, &ep))
		peer_forget_source(peer);
	learn_mtu(lane, peer);
}

void pmtu_run_refused(struct lane *lane, struct peer *peer, uint32_t len, int err)
{
	uint32_t before = peer->path_mtu;
	const struct endpoint ep = peer_endpoint(peer);
	char text[ENDPOINT_STRLEN];

	lane->self.stats.runs_refused++;
	learn_mtu(lane, peer);
	/* What was cut before the way became narrower is too long for it, which is
	 * no word against runs. */
	if (peer->path_mtu != before || peer->single_sends ||
	    len > pmtu_inner(lane, peer) + MESSAGE_DATA_OVERHEAD)
		return;
	set_single_sends(peer, true);
	log_info("sends of several datagrams to %s are refused (%s): singly from now on, until "
		 "routes change",
		 endpoint_format(&ep, text), strerror(err));
}

uint32_t pmtu_inner(const struct lane *lane, const struct peer *peer)
{
	const uint32_t path_mtu = __atomic_load_n(&peer->path_mtu, __ATOMIC_RELAXED);

	return path_mtu && path_mtu < lane->mtu ? path_mtu : lane->mtu;
}

static bool is_tcp(const struct vnet *v)
{
	return v->gso == VNET_GSO_TCP4 || v->gso == VNET_GSO_TCP6;
}

/* Headers through the innermost TCP header; vnet_check() saw that they exist. */
static uint32_t tcp_headers_len(const struct super *s)
{
	const struct vnet *v = &s->in.vnet;

	return v->csum_start + (uint32_t)(s->in.ip[v->csum_start + 12] >> 4) * 4;
}

static void cut_finer(struct super *s, uint32_t limit)
{
	uint32_t headers = tcp_headers_len(s);

	if (headers + s->in.vnet.gso_size > limit && headers + TCP_PAYLOAD_MIN <= limit)
		s->in.vnet.gso_size = (uint16_t)(limit - headers);
}

bool pmtu_exceeded(struct worker *w, struct super *s, uint32_t *ret_mtu)
{
	const struct lane *lane = w->lane;
	uint32_t limit = pmtu_inner(lane, s->peer), len = s->in.len;
	const struct vnet *v = &s->in.vnet;

	/* What the device gives fits it; what a port gives has grown. */
	if (limit == lane->mtu && !s->is_frame)
		return false;
	if (is_tcp(v)) {
		cut_finer(s, limit);
		return false;
	}
	if (v->gso == VNET_GSO_UDP && v->csum_start + 8U + v->gso_size < len)
		len = v->csum_start + 8U + v->gso_size;

	if (s->is_frame)
		return len > limit && port_too_big(w, s, limit);
	if (s->view.version == 6 && limit < IPV6_MTU_MIN)
		limit = IPV6_MTU_MIN;
	*ret_mtu = limit;
	/* IPv4 may be fragmented unless DF is set; IPv6 never on the way. */
	return len > limit && (s->view.version == 6 || (s->in.ip[6] & 0x40));
}
