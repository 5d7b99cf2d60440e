/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a lane answers on its two sockets, taken apart: the control socket's lines and
 * those of the configuration socket. Both borrow the answer's text, which is changed,
 * for their life. Unknown keys are kept or skipped, never refused. One thread.
 */
#ifndef SEALANE_CLI_LANE_DOC_H
#define SEALANE_CLI_LANE_DOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/node/keyfile.h"

/* ---- Control socket ---- */

struct lane_item {
	const char *key, *value;
};

struct lane_doc {
	struct lane_item *items;
	size_t n_items;
	size_t n_own; /* the lane's; a port's begin with its port= */
};

/* 0 or -ENOMEM. */
int lane_doc_parse(char *text, struct lane_doc *ret);
void lane_doc_done(struct lane_doc *doc);

/* The first of the lane's own lines with @key; NULL: none. */
const char *lane_doc_value(const struct lane_doc *doc, const char *key);
/* One after another of the lane's own; *cursor begins as 0. NULL: no more. */
const char *lane_doc_next(const struct lane_doc *doc, const char *key, size_t *cursor);

/* The first line of the next port, which lane_doc_port_value() is asked of; *cursor
 * begins as 0. NULL: no more. */
const struct lane_item *lane_doc_next_port(const struct lane_doc *doc, size_t *cursor);
/* Of the port that begins at @port: NULL: not told. */
const char *lane_doc_port_value(const struct lane_doc *doc, const struct lane_item *port,
				const char *key);

/* A value of several words: copies the first into @word and returns what follows it, ""
 * at the end. NULL: there is no word, or a longer one. */
const char *lane_doc_word(const char *value, char *word, size_t word_len);

/* ---- Configuration socket ---- */

struct wg_peer {
	char public_key[KEY_TEXT_LEN];
	const char *endpoint;	   /* NULL: none */
	uint64_t last_handshake_s; /* since 1970, 0: never */
	uint64_t rx_bytes, tx_bytes, keepalive_s;
	const char **allowed_ips;
	size_t n_allowed_ips;
};

struct wg_doc {
	bool has_key;
	char public_key[KEY_TEXT_LEN]; /* of the lane */
	uint64_t listen_port, fwmark;
	struct wg_peer *peers;
	size_t n_peers;
};

/* 0; -EPROTO: a key that is none; -ENOMEM. Keeps no private or preshared key. */
int wg_doc_parse(char *text, struct wg_doc *ret);
void wg_doc_done(struct wg_doc *doc);

/* WireGuard gives a session up after that long: no newer handshake, no way to the peer. */
enum { WG_ALIVE_S = 180 };
bool wg_peer_alive(const struct wg_peer *peer, int64_t now_s);
size_t wg_doc_alive(const struct wg_doc *doc, int64_t now_s);

#endif
