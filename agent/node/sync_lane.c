/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * The lane's answer is compared with what is desired, which gives the device's keys
 * and a list of peers that are to change, each with what differs. All of it goes out
 * as one set; what is the same is not said, so the lane hears nothing of a right state
 * and a peer's sessions and other prefixes nothing of a change.
 *
 * An allowed-ip belongs to one peer, and the last writer has it. Desired ones are
 * disjoint, so whoever is to have one gets it, and nobody else writes it. What peers
 * lose is written after what all of them gain: a prefix that moves is never without an
 * owner, and the line that takes it from its former one finds it gone, which is fine.
 *
 * The lane applies a set line by line and stops at the first it refuses, with nothing
 * but an errno. All of that set is then said again in small ones, to which that line
 * answers alone.
 */
#include "sync.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#include "desired.h"
#include "keyfile.h"
#include "lane_client.h"
#include "lane_request.h"
#include "lane_state.h"
#include "lane_value.h"
#include "report.h"
#include "sync_lane_internal.h"

/* REJECT_AFTER_TIME: no session is older, so one that is has no word to say about
 * where its peer is. */
enum { SESSION_MAX_AGE_S = 180 };

enum device_field {
	DEVICE_PRIVATE_KEY = 1 << 0,
	DEVICE_LISTEN_PORT = 1 << 1,
	DEVICE_FWMARK = 1 << 2,
	DEVICE_ALL = DEVICE_PRIVATE_KEY | DEVICE_LISTEN_PORT | DEVICE_FWMARK,
};

enum peer_field {
	PEER_NEW = 1 << 0,
	PEER_PSK = 1 << 1,
	PEER_ENDPOINT = 1 << 2,
	PEER_KEEPALIVE = 1 << 3,
	PEER_ALLOWED_MORE = 1 << 4,
	PEER_ALLOWED_LESS = 1 << 5,
};

struct peer_change {
	const struct desired_peer *want;
	const struct lane_peer_state *have; /* NULL: new */
	struct sync_lane_memory_entry *memory;
	unsigned what; /* PEER_*; 0: nothing */
};

struct pass {
	struct lane_client *client;
	const struct desired *d;
	struct report *r;
	struct lane_state state;
	unsigned device; /* DEVICE_* */
	struct peer_change *peers;
	size_t n_peers;
};

/* Comparing */

/* The lane keeps a private key as X25519 uses it, whatever its three bits and two that
 * do not count were. */
static bool same_private_key(const uint8_t want[KEY_LEN], const uint8_t have[KEY_LEN])
{
	uint8_t clamped[KEY_LEN];
	bool same;

	memcpy(clamped, want, KEY_LEN);
	clamped[0] &= 0xf8;
	clamped[KEY_LEN - 1] = (uint8_t)((clamped[KEY_LEN - 1] & 0x7f) | 0x40);
	same = !sodium_memcmp(clamped, have, KEY_LEN);
	sodium_memzero(clamped, sizeof(clamped));
	return same;
}

static unsigned compare_device(const struct desired *d, const struct lane_state *s)
{
	const struct config *config = d->config;
	unsigned what = 0;

	if (!same_private_key(d->private_key, s->private_key))
		what |= DEVICE_PRIVATE_KEY;
	if (config->node.listen_port && config->node.listen_port != s->listen_port)
		what |= DEVICE_LISTEN_PORT;
	if (config->lane.fwmark != s->fwmark)
		what |= DEVICE_FWMARK;
	return what;
}

static const uint8_t *psk_of(const struct member *m)
{
	static const uint8_t none[KEY_LEN];

	return m->has_psk ? m->psk : none;
}

static bool is_recent(uint64_t handshake_s)
{
	const time_t now_s = time(NULL);

	/* A clock that was set back is no reason to move a peer. */
	return (uint64_t)now_s < handshake_s + SESSION_MAX_AGE_S;
}

/* The rule of sync.h. Also enters in @memory what is in place without being written. */
static bool needs_endpoint(const struct member *m, const struct lane_peer_state *have,
			   struct sync_lane_memory_entry *memory)
{
	if (m->endpoint.ss_family == AF_UNSPEC)
		return false;
	if (!have || have->endpoint.ss_family == AF_UNSPEC)
		return true;
	if (memory->endpoint.ss_family != AF_UNSPEC &&
	    lane_value_same_endpoint(&memory->endpoint, &m->endpoint))
		return false;
	if (!lane_value_same_endpoint(&have->endpoint, &m->endpoint) &&
	    (memory->endpoint.ss_family != AF_UNSPEC || !is_recent(have->handshake_s)))
		return true;
	memory->endpoint = m->endpoint;
	return false;
}

/*
 * What of the sorted @a is not in the sorted @b. Calls @found for each, if not NULL, and
 * returns how many.
 */
static size_t each_missing(const struct ip_prefix *a, size_t n_a, const struct ip_prefix *b,
			   size_t n_b,
			   void (*found)(struct lane_request *q, const struct ip_prefix *),
			   struct lane_request *q)
{
	size_t n = 0, j = 0;

	for (size_t i = 0; i < n_a; i++) {
		while (j < n_b && ip_prefix_compare(&b[j], &a[i]) < 0)
			j++;
		if (j < n_b && ip_prefix_equal(&b[j], &a[i]))
			continue;
		if (found)
			found(q, &a[i]);
		n++;
	}
	return n;
}

static unsigned compare_allowed(const struct desired_peer *want, const struct lane_peer_state *have)
{
	unsigned what = 0;

	if (each_missing(want->allowed, want->n_allowed, have->allowed, have->n_allowed, NULL,
			 NULL))
		what |= PEER_ALLOWED_MORE;
	if (each_missing(have->allowed, have->n_allowed, want->allowed, want->n_allowed, NULL,
			 NULL))
		what |= PEER_ALLOWED_LESS;
	return what;
}

static unsigned compare_peer(const struct desired_peer *want, const struct lane_peer_state *have,
			     struct sync_lane_memory_entry *memory)
{
	static const struct lane_peer_state nothing;
	const struct member *m = want->member;
	unsigned what = have ? 0 : PEER_NEW;

	if (needs_endpoint(m, have, memory))
		what |= PEER_ENDPOINT;
	if (!have)
		have = &nothing;
	if (sodium_memcmp(psk_of(m), have->psk, KEY_LEN) != 0)
		what |= PEER_PSK;
	if (m->keepalive_s != have->keepalive_s)
		what |= PEER_KEEPALIVE;
	return what | compare_allowed(want, have);
}

/* Writing */

static void put_device(struct lane_request *q, const struct desired *d, unsigned what)
{
	if (what & DEVICE_PRIVATE_KEY)
		lane_request_hex(q, "private_key", d->private_key, KEY_LEN);
	if (what & DEVICE_LISTEN_PORT)
		lane_request_printf(q, "listen_port=%u\n", d->config->node.listen_port);
	if (what & DEVICE_FWMARK)
		lane_request_printf(q, "fwmark=%u\n", d->config->lane.fwmark);
}

static void put_more(struct lane_request *q, const struct ip_prefix *prefix)
{
	char text[IP_PREFIX_TEXT_LEN];

	lane_request_printf(q, "allowed_ip=%s\n", ip_prefix_format(prefix, text));
}

static void put_less(struct lane_request *q, const struct ip_prefix *prefix)
{
	char text[IP_PREFIX_TEXT_LEN];

	lane_request_printf(q, "allowed_ip=-%s\n", ip_prefix_format(prefix, text));
}

static void put_peer_begin(struct lane_request *q, const struct peer_change *p)
{
	lane_request_hex(q, "public_key", p->want->member->public_key, KEY_LEN);
	if (!(p->what & PEER_NEW))
		lane_request_printf(q, "update_only=true\n");
}

/* All but what it loses. */
static void put_peer(struct lane_request *q, const struct peer_change *p)
{
	const struct member *m = p->want->member;
	const struct lane_peer_state *have = p->have;
	char endpoint[LANE_ENDPOINT_TEXT_LEN];

	if (!(p->what & ~(unsigned)PEER_ALLOWED_LESS))
		return;
	put_peer_begin(q, p);
	if (p->what & PEER_PSK)
		lane_request_hex(q, "preshared_key", psk_of(m), KEY_LEN);
	if (p->what & PEER_ENDPOINT)
		lane_request_printf(q, "endpoint=%s\n",
				    lane_value_format_endpoint(&m->endpoint, endpoint));
	if (p->what & PEER_KEEPALIVE)
		lane_request_printf(q, "persistent_keepalive_interval=%u\n", m->keepalive_s);
	each_missing(p->want->allowed, p->want->n_allowed, have ? have->allowed : NULL,
		     have ? have->n_allowed : 0, put_more, q);
}

static void put_peer_losses(struct lane_request *q, const struct peer_change *p)
{
	if (!(p->what & PEER_ALLOWED_LESS))
		return;
	put_peer_begin(q, p);
	each_missing(p->have->allowed, p->have->n_allowed, p->want->allowed, p->want->n_allowed,
		     put_less, q);
}

/* Sends and empties @q. 0 or -errno, also of the lane. */
static int send_request(struct lane_client *c, struct lane_request *q)
{
	char err_text[LANE_CLIENT_ERR_LEN];
	const int err = q->failed ? -ENOMEM
				  : lane_client_ask(c, LANE_UAPI, q->text, NULL, err_text);

	lane_request_done(q);
	return err;
}

/* What was done */

static void did_device(const struct pass *p, unsigned what)
{
	struct report *r = p->r;

	if (what & DEVICE_PRIVATE_KEY)
		report_did(r, &r->changed, "the lane has its private key");
	if (what & DEVICE_LISTEN_PORT)
		report_did(r, &r->changed, "the lane listens on port %u",
			   p->d->config->node.listen_port);
	if (what & DEVICE_FWMARK)
		report_did(r, &r->changed, "the lane's datagrams have mark %u",
			   p->d->config->lane.fwmark);
}

static void did_peer(const struct pass *p, const struct peer_change *change)
{
	const struct member *m = change->want->member;
	struct report *r = p->r;
	char key[KEY_TEXT_LEN];

	key_format(m->public_key, key);
	if (change->what & PEER_ENDPOINT)
		change->memory->endpoint = m->endpoint;
	if (change->what & PEER_NEW)
		report_did(r, &r->added, "peer %s (%s)", m->name, key);
	else
		report_did(r, &r->changed, "peer %s (%s):%s%s%s%s", m->name, key,
			   change->what & PEER_PSK ? " preshared key" : "",
			   change->what & PEER_ENDPOINT ? " endpoint" : "",
			   change->what & PEER_KEEPALIVE ? " keepalive" : "",
			   change->what & (PEER_ALLOWED_MORE | PEER_ALLOWED_LESS) ? " allowed-ips"
										  : "");
}

/* One key or peer a set, after the lane refused one with all of them. */

static int set_device_singly(const struct pass *p)
{
	static const char *const names[] = {"private key", "listen port", "fwmark"};
	struct lane_request q;

	for (unsigned i = 0; 1U << i & DEVICE_ALL; i++) {
		int err;

		if (!(p->device & 1U << i))
			continue;
		q = (struct lane_request){0};
		lane_request_printf(&q, "set=1\n");
		put_device(&q, p->d, 1U << i);
		err = send_request(p->client, &q);
		if (!lane_client_usable(p->client))
			return err;
		if (err)
			report_fault(p->r, err, "the lane's %s", names[i]);
		else
			did_device(p, 1U << i);
	}
	return 0;
}

static int set_peers_singly(const struct pass *p)
{
	char key[KEY_TEXT_LEN];

	for (size_t i = 0; i < p->n_peers; i++) {
		const struct peer_change *change = &p->peers[i];
		struct lane_request q = {0};
		int err;

		lane_request_printf(&q, "set=1\n");
		put_peer(&q, change);
		put_peer_losses(&q, change);
		err = send_request(p->client, &q);
		if (!lane_client_usable(p->client))
			return err;
		if (err)
			report_fault(p->r, err, "peer %s (%s)", change->want->member->name,
				     key_format(change->want->member->public_key, key));
		else
			did_peer(p, change);
	}
	return 0;
}

/* Passes */

/* 0 or -errno, which is in the report unless it made the connection useless. */
static int fetch(struct lane_client *c, struct report *r, struct lane_state *ret)
{
	char err_text[LANE_CLIENT_ERR_LEN], *answer;
	int err = lane_client_ask(c, LANE_UAPI, "get=1\n", &answer, err_text);

	if (err) {
		if (lane_client_usable(c))
			report_fault(r, err, "the lane does not tell its peers");
		return err;
	}
	err = lane_state_parse(answer, ret);
	lane_answer_free(answer);
	if (err)
		report_fault(r, err, "the lane's peers");
	return err;
}

/* False: no memory. */
static bool plan(struct pass *p, struct sync_lane_memory *memory)
{
	p->device = compare_device(p->d, &p->state);
	p->n_peers = 0;
	p->peers = calloc(p->d->n_peers + 1, sizeof(*p->peers));
	if (!p->peers || !sync_lane_memory_follow(memory, p->d))
		return false;
	for (size_t i = 0; i < p->d->n_peers; i++) {
		const struct desired_peer *want = &p->d->peers[i];
		struct peer_change change = {.want = want};

		change.have = lane_state_find(&p->state, want->member->public_key);
		change.memory = sync_lane_memory_find(memory, want->member->public_key);
		change.what = compare_peer(want, change.have, change.memory);
		if (change.what)
			p->peers[p->n_peers++] = change;
	}
	return true;
}

static int apply(struct pass *p)
{
	struct lane_request q = {0};
	int err;

	if (!p->device && !p->n_peers)
		return 0;
	lane_request_printf(&q, "set=1\n");
	put_device(&q, p->d, p->device);
	for (size_t i = 0; i < p->n_peers; i++)
		put_peer(&q, &p->peers[i]);
	for (size_t i = 0; i < p->n_peers; i++)
		put_peer_losses(&q, &p->peers[i]);
	err = send_request(p->client, &q);
	if (!lane_client_usable(p->client))
		return err;
	if (err) {
		err = set_device_singly(p);
		return err ? err : set_peers_singly(p);
	}
	did_device(p, p->device);
	for (size_t i = 0; i < p->n_peers; i++)
		did_peer(p, &p->peers[i]);
	return 0;
}

int sync_lane_add(struct lane_client *c, const struct desired *d, struct sync_lane_memory *memory,
		  struct report *r)
{
	struct pass p = {.client = c, .d = d, .r = r};
	int err = fetch(c, r, &p.state);

	if (err)
		return lane_client_usable(c) ? 0 : err;
	if (plan(&p, memory))
		err = apply(&p);
	else
		report_fault(r, -ENOMEM, "the lane's peers");
	free(p.peers);
	lane_state_done(&p.state);
	return err;
}

/* Removing */

static void put_removal(struct lane_request *q, const struct lane_peer_state *peer)
{
	lane_request_hex(q, "public_key", peer->public_key, KEY_LEN);
	lane_request_printf(q, "remove=true\n");
}

static void did_removal(struct report *r, const struct lane_peer_state *peer)
{
	char key[KEY_TEXT_LEN];

	report_did(r, &r->removed, "peer %s", key_format(peer->public_key, key));
}

static int remove_singly(const struct pass *p, const struct lane_peer_state *const *gone, size_t n)
{
	char key[KEY_TEXT_LEN];

	for (size_t i = 0; i < n; i++) {
		struct lane_request q = {0};
		int err;

		lane_request_printf(&q, "set=1\n");
		put_removal(&q, gone[i]);
		err = send_request(p->client, &q);
		if (!lane_client_usable(p->client))
			return err;
		if (err)
			report_fault(p->r, err, "removing peer %s",
				     key_format(gone[i]->public_key, key));
		else
			did_removal(p->r, gone[i]);
	}
	return 0;
}

static int remove_all(const struct pass *p, const struct lane_peer_state *const *gone, size_t n)
{
	struct lane_request q = {0};
	int err;

	if (!n)
		return 0;
	lane_request_printf(&q, "set=1\n");
	for (size_t i = 0; i < n; i++)
		put_removal(&q, gone[i]);
	err = send_request(p->client, &q);
	if (!lane_client_usable(p->client))
		return err;
	if (err)
		return remove_singly(p, gone, n);
	for (size_t i = 0; i < n; i++)
		did_removal(p->r, gone[i]);
	return 0;
}

int sync_lane_remove(struct lane_client *c, const struct desired *d,
		     struct sync_lane_memory *memory, struct report *r)
{
	struct pass p = {.client = c, .d = d, .r = r};
	const struct lane_peer_state **gone;
	size_t n = 0;
	int err = fetch(c, r, &p.state);

	if (err)
		return lane_client_usable(c) ? 0 : err;
	gone = calloc(p.state.n_peers + 1, sizeof(*gone));
	/* Which holds the desired ones, sorted. */
	if (gone && sync_lane_memory_follow(memory, d)) {
		for (size_t i = 0; i < p.state.n_peers; i++) {
			if (!sync_lane_memory_find(memory, p.state.peers[i].public_key))
				gone[n++] = &p.state.peers[i];
		}
		err = remove_all(&p, gone, n);
	} else {
		report_fault(r, -ENOMEM, "the lane's peers");
	}
	free(gone);
	lane_state_done(&p.state);
	return err;
}
