/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines are counted first, so that what holds keys is allocated once and never
 * moves. The device's section comes before the first peer's, as in the UAPI.
 */
#include "lane_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "lane_client.h"
#include "lane_value.h"

struct parse {
	struct lane_state s;
	size_t n_prefixes;
};

struct value_handler {
	const char *key;
	bool (*take)(struct parse *p, const char *value);
};

static struct lane_peer_state *peer(struct parse *p)
{
	return &p->s.peers[p->s.n_peers - 1];
}

static bool take_private_key(struct parse *p, const char *value)
{
	return lane_value_key(value, p->s.private_key);
}

static bool take_listen_port(struct parse *p, const char *value)
{
	uint64_t port = 0;
	const bool ok = lane_value_number(value, UINT16_MAX, &port);

	p->s.listen_port = (uint16_t)port;
	return ok;
}

static bool take_fwmark(struct parse *p, const char *value)
{
	uint64_t mark = 0;
	const bool ok = lane_value_number(value, UINT32_MAX, &mark);

	p->s.fwmark = (uint32_t)mark;
	return ok;
}

static bool take_public_key(struct parse *p, const char *value)
{
	p->s.n_peers++;
	peer(p)->allowed = p->s.prefixes + p->n_prefixes;
	return lane_value_key(value, peer(p)->public_key);
}

static bool take_psk(struct parse *p, const char *value)
{
	return lane_value_key(value, peer(p)->psk);
}

static bool take_endpoint(struct parse *p, const char *value)
{
	return lane_value_endpoint(value, &peer(p)->endpoint);
}

static bool take_handshake(struct parse *p, const char *value)
{
	return lane_value_number(value, INT64_MAX, &peer(p)->handshake_s);
}

static bool take_keepalive(struct parse *p, const char *value)
{
	uint64_t interval_s = 0;
	const bool ok = lane_value_number(value, UINT16_MAX, &interval_s);

	peer(p)->keepalive_s = (uint16_t)interval_s;
	return ok;
}

static bool take_allowed_ip(struct parse *p, const char *value)
{
	if (!ip_prefix_parse(value, &p->s.prefixes[p->n_prefixes]))
		return false;
	p->n_prefixes++;
	peer(p)->n_allowed++;
	return true;
}

static const struct value_handler device_keys[] = {
	{"private_key", take_private_key},
	{"listen_port", take_listen_port},
	{"fwmark", take_fwmark},
	{"public_key", take_public_key},
	{NULL, NULL},
};

static const struct value_handler peer_keys[] = {
	{"public_key", take_public_key},
	{"preshared_key", take_psk},
	{"endpoint", take_endpoint},
	{"last_handshake_time_sec", take_handshake},
	{"persistent_keepalive_interval", take_keepalive},
	{"allowed_ip", take_allowed_ip},
	{NULL, NULL},
};

static size_t count(const char *text, const char *word)
{
	size_t n = 0;

	while ((text = strstr(text, word))) {
		text += strlen(word);
		n++;
	}
	return n;
}

static int compare_peers(const void *a, const void *b)
{
	const struct lane_peer_state *x = a, *y = b;

	return memcmp(x->public_key, y->public_key, KEY_LEN);
}

static int compare_prefixes(const void *a, const void *b)
{
	return ip_prefix_compare(a, b);
}

static bool take_lines(struct parse *p, char *answer)
{
	struct lane_lines lines = {.next = answer};
	char *key, *value;

	while (lane_lines_next(&lines, &key, &value)) {
		const struct value_handler *h = p->s.n_peers ? peer_keys : device_keys;

		while (h->key && strcmp(h->key, key) != 0)
			h++;
		if (h->key && !h->take(p, value))
			return false;
	}
	return true;
}

static void sort_all(struct lane_state *s)
{
	for (size_t i = 0; i < s->n_peers; i++)
		qsort(s->peers[i].allowed, s->peers[i].n_allowed, sizeof(struct ip_prefix),
		      compare_prefixes);
	qsort(s->peers, s->n_peers, sizeof(*s->peers), compare_peers);
}

int lane_state_parse(char *answer, struct lane_state *ret)
{
	struct parse p = {0};
	bool ok;

	p.s.peers = calloc(count(answer, "public_key=") + 1, sizeof(*p.s.peers));
	p.s.prefixes = calloc(count(answer, "allowed_ip=") + 1, sizeof(*p.s.prefixes));
	if (!p.s.peers || !p.s.prefixes) {
		lane_state_done(&p.s);
		return -ENOMEM;
	}
	ok = take_lines(&p, answer);
	if (ok) {
		sort_all(&p.s);
		*ret = p.s;
	} else {
		lane_state_done(&p.s);
	}
	sodium_memzero(&p, sizeof(p));
	return ok ? 0 : -EPROTO;
}

void lane_state_done(struct lane_state *s)
{
	if (s->peers)
		sodium_memzero(s->peers, s->n_peers * sizeof(*s->peers));
	free(s->peers);
	free(s->prefixes);
	sodium_memzero(s, sizeof(*s));
}

const struct lane_peer_state *lane_state_find(const struct lane_state *s,
					      const uint8_t public_key[KEY_LEN])
{
	struct lane_peer_state key = {0};

	memcpy(key.public_key, public_key, KEY_LEN);
	return bsearch(&key, s->peers, s->n_peers, sizeof(*s->peers), compare_peers);
}
