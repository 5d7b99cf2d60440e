/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration socket's answer, as lane_doc.h has it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/node/lane_client.h"
#include "lane_doc.h"
#include "term.h"

struct parser {
	struct wg_doc doc;
	size_t room;	     /* of doc.peers */
	size_t allowed_room; /* of the last peer's allowed_ips */
};

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static bool parse_hex_key(const char *text, uint8_t ret[KEY_LEN])
{
	if (strlen(text) != 2 * KEY_LEN)
		return false;
	for (size_t i = 0; i < KEY_LEN; i++) {
		const int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		ret[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static int take_private_key(struct parser *p, const char *value)
{
	uint8_t private_key[KEY_LEN], public_key[KEY_LEN];
	const bool valid = parse_hex_key(value, private_key);

	if (valid) {
		key_public(private_key, public_key);
		key_format(public_key, p->doc.public_key);
		p->doc.has_key = true;
	}
	explicit_bzero(private_key, sizeof(private_key));
	return valid ? 0 : -EPROTO;
}

static int begin_peer(struct parser *p, const char *value)
{
	struct wg_doc *doc = &p->doc;
	uint8_t key[KEY_LEN];

	if (!parse_hex_key(value, key))
		return -EPROTO;
	if (doc->n_peers == p->room) {
		const size_t room = p->room ? 2 * p->room : 16;
		struct wg_peer *peers = reallocarray(doc->peers, room, sizeof(*peers));

		if (!peers)
			return -ENOMEM;
		doc->peers = peers;
		p->room = room;
	}
	doc->peers[doc->n_peers] = (struct wg_peer){.endpoint = NULL};
	key_format(key, doc->peers[doc->n_peers++].public_key);
	p->allowed_room = 0;
	return 0;
}

static int take_allowed_ip(struct parser *p, struct wg_peer *peer, const char *value)
{
	if (peer->n_allowed_ips == p->allowed_room) {
		const size_t room = p->allowed_room ? 2 * p->allowed_room : 4;
		const char **list = reallocarray(peer->allowed_ips, room, sizeof(*list));

		if (!list)
			return -ENOMEM;
		peer->allowed_ips = list;
		p->allowed_room = room;
	}
	peer->allowed_ips[peer->n_allowed_ips++] = value;
	return 0;
}

/* A number that is none is as if it were not told. */
static int take_peer_line(struct parser *p, const char *key, const char *value)
{
	struct wg_peer *peer = &p->doc.peers[p->doc.n_peers - 1];

	if (!strcmp(key, "endpoint"))
		peer->endpoint = value;
	else if (!strcmp(key, "last_handshake_time_sec"))
		(void)term_number(value, &peer->last_handshake_s);
	else if (!strcmp(key, "rx_bytes"))
		(void)term_number(value, &peer->rx_bytes);
	else if (!strcmp(key, "tx_bytes"))
		(void)term_number(value, &peer->tx_bytes);
	else if (!strcmp(key, "persistent_keepalive_interval"))
		(void)term_number(value, &peer->keepalive_s);
	else if (!strcmp(key, "allowed_ip"))
		return take_allowed_ip(p, peer, value);
	return 0;
}

static int take_line(struct parser *p, const char *key, const char *value)
{
	if (!strcmp(key, "public_key"))
		return begin_peer(p, value);
	if (p->doc.n_peers)
		return take_peer_line(p, key, value);
	if (!strcmp(key, "private_key"))
		return take_private_key(p, value);
	if (!strcmp(key, "listen_port"))
		(void)term_number(value, &p->doc.listen_port);
	else if (!strcmp(key, "fwmark"))
		(void)term_number(value, &p->doc.fwmark);
	return 0;
}

int wg_doc_parse(char *text, struct wg_doc *ret)
{
	struct lane_lines lines = {text};
	struct parser p = {0};
	char *key, *value;
	int err = 0;

	while (!err && lane_lines_next(&lines, &key, &value))
		err = take_line(&p, key, value);
	if (err)
		wg_doc_done(&p.doc);
	else
		*ret = p.doc;
	return err;
}

void wg_doc_done(struct wg_doc *doc)
{
	for (size_t i = 0; i < doc->n_peers; i++)
		free(doc->peers[i].allowed_ips);
	free(doc->peers);
	*doc = (struct wg_doc){0};
}

bool wg_peer_alive(const struct wg_peer *peer, int64_t now_s)
{
	const uint64_t now = now_s < 0 ? 0 : (uint64_t)now_s;

	/* A handshake that lies ahead is one of a clock that was set back. */
	return peer->last_handshake_s &&
	       (peer->last_handshake_s > now || now - peer->last_handshake_s < WG_ALIVE_S);
}

size_t wg_doc_alive(const struct wg_doc *doc, int64_t now_s)
{
	size_t n = 0;

	for (size_t i = 0; i < doc->n_peers; i++)
		n += wg_peer_alive(&doc->peers[i], now_s);
	return n;
}
