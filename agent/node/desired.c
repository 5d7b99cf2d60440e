/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation. Members are gone through once, the one with the best right
 * first (desired_claims_order). Each takes what it claims and nobody before it has:
 * its key, or it is no peer; its tunnel addresses and allowed-ips; then, overlay by
 * overlay, its MAC, or it is no station there; its addresses and its routes. Nobody
 * loses anything to one who comes after, so what a member has got is final, and a
 * station that is left out claims nothing. This node goes before all.
 *
 * Thus the result depends on who the members are, not on how they are ordered; what
 * is in it is sorted at the end.
 */
#include "desired.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "desired_arena.h"
#include "desired_claims.h"

enum {
	ETHERNET_LEN = 14,
	UDP_LEN = 8,
	TUNNEL_LEN = 8, /* VXLAN; Geneve without options */
	IPV4_LEN = 20,
	IPV6_LEN = 40,
	MTU_MIN = 68, /* RFC 791; devices take no less */
};

struct build {
	const struct config *config;
	const struct desired_facts *facts;
	struct desired *d;
	struct desired_arena *arena;
	struct desired_claims *claims;
	const struct member **order; /* without ourselves */
	size_t n_order;
};

/* What a member got of its two tunnel addresses. */
struct tunnel_ends {
	bool has[2];
};

uint32_t desired_overhead(enum config_type type, bool outer6)
{
	uint32_t len = (outer6 ? IPV6_LEN : IPV4_LEN) + UDP_LEN;

	switch (type) {
	case CONFIG_PORT:
	case CONFIG_VXLAN:
	case CONFIG_GENEVE:
		return len + TUNNEL_LEN + ETHERNET_LEN;
	case CONFIG_BAREUDP:
		return len;
	}
	return len;
}

void desired_mac(const uint8_t public_key[NODE_KEY_LEN], uint32_t vni, uint8_t ret[6])
{
	static const uint8_t personal[crypto_generichash_blake2b_PERSONALBYTES] = "sealane-mac";
	const uint8_t vni_be[4] = {(uint8_t)(vni >> 24), (uint8_t)(vni >> 16), (uint8_t)(vni >> 8),
				   (uint8_t)vni};
	uint8_t input[NODE_KEY_LEN + sizeof(vni_be)], hash[crypto_generichash_blake2b_BYTES_MIN];

	memcpy(input, public_key, NODE_KEY_LEN);
	memcpy(input + NODE_KEY_LEN, vni_be, sizeof(vni_be));
	crypto_generichash_blake2b_salt_personal(hash, sizeof(hash), input, sizeof(input), NULL, 0,
						 NULL, personal);
	memcpy(ret, hash, 6);
	ret[0] = (ret[0] | 2) & 0xfe;
}

static uint32_t lane_mtu(const struct config_lane *lane, uint32_t path_mtu)
{
	if (lane->mtu)
		return lane->mtu;
	if (!path_mtu)
		return DESIRED_LANE_MTU_DEFAULT;
	if (path_mtu < DESIRED_LANE_MTU_MIN)
		return DESIRED_LANE_MTU_MIN;
	return path_mtu < DESIRED_LANE_MTU_MAX ? path_mtu : DESIRED_LANE_MTU_MAX;
}

/* Never more than fits, also not for the sake of IPv6, which needs 1280: a VTEP need
 * not put fragments together again. */
static uint32_t overlay_mtu(const struct config_overlay *overlay, uint32_t lane)
{
	uint32_t overhead = desired_overhead(overlay->type, overlay->outer6);

	if (overlay->mtu)
		return overlay->mtu;
	return lane > overhead + MTU_MIN ? lane - overhead : MTU_MIN;
}

static bool wants_csum(const struct config_overlay *overlay)
{
	if (overlay->checksum == CONFIG_CHECKSUM_AUTO)
		return overlay->outer6;
	return overlay->checksum == CONFIG_CHECKSUM_ON;
}

/* NULL: the member is not on that overlay. */
static const struct member_overlay *find_attachment(const struct member *member, const char *name)
{
	for (size_t i = 0; i < member->n_overlays; i++) {
		if (!strcmp(member->overlays[i].name, name))
			return &member->overlays[i];
	}
	return NULL;
}

/* The overlay without its stations, but with room for them. 0 or -ENOMEM; adds to
 * *n_claims how many there may be. */
static int prepare_overlay(struct build *b, const struct config_overlay *config,
			   struct desired_overlay *ret, size_t *n_claims)
{
	size_t n_stations = 0;

	*ret = (struct desired_overlay){
		.config = config,
		.vtep = b->config->node.tunnel[config->outer6],
		.mtu = overlay_mtu(config, b->d->lane_mtu),
		.csum = wants_csum(config),
	};
	if (config->has_mac)
		memcpy(ret->mac, config->mac, sizeof(ret->mac));
	else
		desired_mac(b->facts->public_key, config->vni, ret->mac);
	*n_claims += 1 + 2 * config->n_addresses;
	for (size_t i = 0; i < b->n_order; i++) {
		const struct member_overlay *a = find_attachment(b->order[i], config->name);

		if (!a)
			continue;
		n_stations++;
		*n_claims += 1 + a->n_addresses + a->n_routes;
	}
	ret->stations = desired_arena_alloc(&b->arena, n_stations, sizeof(*ret->stations));
	return ret->stations ? 0 : -ENOMEM;
}

static int prepare(struct build *b)
{
	const struct config *config = b->config;
	struct desired *d = b->d;
	size_t n_claims = 2;

	d->config = config;
	memcpy(d->private_key, b->facts->private_key, NODE_KEY_LEN);
	memcpy(d->public_key, b->facts->public_key, NODE_KEY_LEN);
	d->lane_mtu = lane_mtu(&config->lane, b->facts->path_mtu);
	d->peers = desired_arena_alloc(&b->arena, b->n_order, sizeof(*d->peers));
	d->overlays = desired_arena_alloc(&b->arena, config->n_overlays, sizeof(*d->overlays));
	if (!d->peers || !d->overlays)
		return -ENOMEM;
	for (; d->n_overlays < config->n_overlays; d->n_overlays++) {
		size_t i = d->n_overlays;

		if (prepare_overlay(b, &config->overlays[i], &d->overlays[i], &n_claims) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < b->n_order; i++)
		n_claims += 3 + b->order[i]->n_allowed_ips;
	b->claims = desired_claims_new(n_claims, &b->arena);
	return b->claims ? 0 : -ENOMEM;
}

static bool claim_host(struct build *b, struct claimant by, const struct ip_addr *addr)
{
	struct ip_prefix host = ip_prefix_of_host(addr);

	return desired_claim_prefix(b->claims, by, &host);
}

static void claim_ours(struct build *b)
{
	for (int i = 0; i < 2; i++) {
		const struct ip_addr *addr = &b->config->node.tunnel[i];

		if (addr->len)
			claim_host(b, (struct claimant){0}, addr);
	}
	for (size_t i = 0; i < b->d->n_overlays; i++) {
		const struct desired_overlay *overlay = &b->d->overlays[i];
		const struct config_overlay *config = overlay->config;
		const struct claimant by = {.overlay = config};

		desired_claim_mac(b->claims, by, overlay->mac);
		for (size_t j = 0; j < config->n_addresses; j++) {
			struct ip_prefix network = ip_prefix_network(&config->addresses[j]);

			desired_claim_address(b->claims, by, &config->addresses[j].addr);
			desired_claim_prefix(b->claims, by, &network);
		}
	}
}

/* Those of @prefixes that the claimant gets, into @ret. */
static void claim_prefixes(struct build *b, struct claimant by, const struct ip_prefix *prefixes,
			   size_t n, struct ip_prefix *ret, size_t *ret_n)
{
	for (size_t i = 0; i < n; i++) {
		struct ip_prefix network = ip_prefix_network(&prefixes[i]);

		if (desired_claim_prefix(b->claims, by, &network))
			ret[(*ret_n)++] = network;
	}
}

static int compare_prefixes(const void *a, const void *b)
{
	return ip_prefix_compare(a, b);
}

static int compare_addresses(const void *a, const void *b)
{
	return ip_addr_compare(a, b);
}

static int add_peer(struct build *b, const struct member *member, struct tunnel_ends *ends)
{
	struct desired_peer *peer = &b->d->peers[b->d->n_peers];
	const struct claimant by = {.member = member};

	peer->allowed = desired_arena_alloc(&b->arena, 2 + member->n_allowed_ips,
					    sizeof(*peer->allowed));
	if (!peer->allowed)
		return -ENOMEM;
	peer->member = member;
	b->d->n_peers++;
	for (int i = 0; i < 2; i++) {
		const struct ip_addr *addr = &member->tunnel[i];

		ends->has[i] = addr->len && claim_host(b, by, addr);
		if (ends->has[i])
			peer->allowed[peer->n_allowed++] = ip_prefix_of_host(addr);
	}
	claim_prefixes(b, by, member->allowed_ips, member->n_allowed_ips, peer->allowed,
		       &peer->n_allowed);
	qsort(peer->allowed, peer->n_allowed, sizeof(*peer->allowed), compare_prefixes);
	return 0;
}

static int claim_station(struct build *b, struct desired_station *station, struct claimant by)
{
	const struct member_overlay *a = station->attachment;

	station->addresses = desired_arena_alloc(&b->arena, a->n_addresses,
						 sizeof(*station->addresses));
	station->routes = desired_arena_alloc(&b->arena, a->n_routes, sizeof(*station->routes));
	if (!station->addresses || !station->routes)
		return -ENOMEM;
	for (size_t i = 0; i < a->n_addresses; i++) {
		if (desired_claim_address(b->claims, by, &a->addresses[i]))
			station->addresses[station->n_addresses++] = a->addresses[i];
	}
	claim_prefixes(b, by, a->routes, a->n_routes, station->routes, &station->n_routes);
	qsort(station->addresses, station->n_addresses, sizeof(*station->addresses),
	      compare_addresses);
	qsort(station->routes, station->n_routes, sizeof(*station->routes), compare_prefixes);
	return 0;
}

/* Not on that overlay, or to be left out there: nothing is added. 0 or -ENOMEM. */
static int add_station(struct build *b, struct desired_overlay *overlay,
		       const struct member *member, const struct tunnel_ends *ends)
{
	const struct config_overlay *config = overlay->config;
	const struct claimant by = {.member = member, .overlay = config};
	const struct member_overlay *a = find_attachment(member, config->name);
	struct desired_station *station;

	if (!a)
		return 0;
	if (!ends->has[config->outer6]) {
		desired_claims_note(b->claims, "%s has no IPv%d tunnel address for %s",
				    member->name, config->outer6 ? 6 : 4, config->name);
		return 0;
	}
	station = &overlay->stations[overlay->n_stations];
	station->member = member;
	station->attachment = a;
	station->vtep = member->tunnel[config->outer6];
	if (a->has_mac)
		memcpy(station->mac, a->mac, sizeof(station->mac));
	else
		desired_mac(member->public_key, config->vni, station->mac);
	/* There is no Ethernet in bareudp. */
	if (config->type != CONFIG_BAREUDP && !desired_claim_mac(b->claims, by, station->mac))
		return 0;
	overlay->n_stations++;
	return claim_station(b, station, by);
}

static int add_members(struct build *b)
{
	for (size_t i = 0; i < b->n_order; i++) {
		const struct member *member = b->order[i];
		const struct claimant by = {.member = member};
		struct tunnel_ends ends;

		if (!desired_claim_key(b->claims, by, member->public_key))
			continue;
		if (add_peer(b, member, &ends) < 0)
			return -ENOMEM;
		for (size_t j = 0; j < b->d->n_overlays; j++) {
			if (add_station(b, &b->d->overlays[j], member, &ends) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

static int compare_peers(const void *a, const void *b)
{
	const struct desired_peer *left = a, *right = b;

	return memcmp(left->member->public_key, right->member->public_key, NODE_KEY_LEN);
}

static int compare_stations(const void *a, const void *b)
{
	const struct desired_station *left = a, *right = b;

	return memcmp(left->member->public_key, right->member->public_key, NODE_KEY_LEN);
}

bool desired_floods(const struct desired_overlay *overlay)
{
	return overlay->config->flood && (overlay->config->type != CONFIG_PORT ||
					  overlay->n_stations <= DESIRED_PORT_FLOOD_MAX);
}

static void note_floods(struct build *b)
{
	for (size_t i = 0; i < b->d->n_overlays; i++) {
		const struct desired_overlay *overlay = &b->d->overlays[i];

		if (overlay->config->flood && !desired_floods(overlay))
			desired_claims_note(b->claims,
					    "%s: more than the %d members that a port can flood "
					    "to: it floods to none, as with `flood: false`",
					    overlay->config->name, DESIRED_PORT_FLOOD_MAX);
	}
}

static int build(struct build *b)
{
	struct desired *d = b->d;

	if (prepare(b) < 0)
		return -ENOMEM;
	claim_ours(b);
	if (add_members(b) < 0)
		return -ENOMEM;
	note_floods(b);
	qsort(d->peers, d->n_peers, sizeof(*d->peers), compare_peers);
	for (size_t i = 0; i < d->n_overlays; i++)
		qsort(d->overlays[i].stations, d->overlays[i].n_stations,
		      sizeof(*d->overlays[i].stations), compare_stations);
	return desired_claims_lines(b->claims, &d->conflicts, &d->n_conflicts);
}

/* The members in the order of their right, without ourselves. */
static int put_in_order(struct build *b, const struct member *members, size_t n_members)
{
	b->order = calloc(n_members + 1, sizeof(const struct member *));
	if (!b->order)
		return -ENOMEM;
	for (size_t i = 0; i < n_members; i++) {
		if (memcmp(members[i].public_key, b->facts->public_key, NODE_KEY_LEN) != 0)
			b->order[b->n_order++] = &members[i];
	}
	qsort(b->order, b->n_order, sizeof(const struct member *), desired_claims_order);
	return 0;
}

int desired_build(const struct config *config, const struct member *members, size_t n_members,
		  const struct desired_facts *facts, struct desired **ret)
{
	struct build b = {.config = config, .facts = facts};
	int err = -ENOMEM;

	b.d = calloc(1, sizeof(*b.d));
	if (b.d && !put_in_order(&b, members, n_members))
		err = build(&b);
	desired_claims_free(b.claims);
	free(b.order);
	if (b.d)
		b.d->arena = b.arena;
	if (err)
		desired_free(b.d);
	else
		*ret = b.d;
	return err;
}

void desired_free(struct desired *d)
{
	struct desired_arena *arena;

	if (!d)
		return;
	arena = d->arena;
	desired_arena_free(&arena);
	sodium_memzero(d, sizeof(*d));
	free(d);
}
