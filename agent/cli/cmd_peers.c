/* SPDX-License-Identifier: Apache-2.0 */
/* sealane peers: the lane's peers, with the names that the agent has for them. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "json_out.h"
#include "reports.h"
#include "term.h"
#include "view.h"

/* ---- Text ---- */

static const char *handshake_text(const struct wg_peer *peer, int64_t now_s,
				  char buf[TERM_NUMBER_LEN])
{
	const uint64_t now = now_s < 0 ? 0 : (uint64_t)now_s;

	if (!peer->last_handshake_s)
		return "never";
	/* The clock was set back. */
	return term_age(peer->last_handshake_s < now ? now - peer->last_handshake_s : 0, buf);
}

/* "10.9.0.2/32,fd00::/64", malloc'd; NULL: no memory. */
static char *join(const char *const *texts, size_t n)
{
	size_t len = 1;
	char *ret, *to;

	for (size_t i = 0; i < n; i++)
		len += strlen(texts[i]) + 1;
	ret = malloc(len);
	if (!ret)
		return NULL;
	to = ret;
	for (size_t i = 0; i < n; i++) {
		if (i)
			*to++ = ',';
		to = stpcpy(to, texts[i]);
	}
	*to = '\0';
	return ret;
}

static int put_row(struct term_table *table, const struct view *view, const struct wg_peer *peer,
		   int64_t now_s)
{
	const char *name = view_peer_name(view, peer->public_key);
	char *allowed = join(peer->allowed_ips, peer->n_allowed_ips);
	char text[TERM_NUMBER_LEN];

	if (!allowed)
		return CLI_WRONG;
	term_table_cell(table, name ? name : peer->public_key);
	term_table_cell(table, peer->endpoint);
	term_table_cell(table, handshake_text(peer, now_s, text));
	term_table_cell(table, term_bytes(peer->rx_bytes, text));
	term_table_cell(table, term_bytes(peer->tx_bytes, text));
	term_table_cell(table, *allowed ? allowed : NULL);
	free(allowed);
	return CLI_FINE;
}

int peers_print(const struct view *view, int64_t now_s, FILE *out)
{
	static const char *const head[] = {"PEER",     "ENDPOINT", "HANDSHAKE",
					   "RECEIVED", "SENT",	   "ALLOWED IPS"};
	struct term_table table;
	int status = CLI_FINE;

	if (!view->wg.n_peers) {
		fputs("no peers\n", out);
		return CLI_FINE;
	}
	term_table_init(&table, sizeof(head) / sizeof(*head));
	for (size_t i = 0; i < sizeof(head) / sizeof(*head); i++)
		term_table_cell(&table, head[i]);
	for (size_t i = 0; i < view->wg.n_peers && status == CLI_FINE; i++)
		status = put_row(&table, view, &view->wg.peers[i], now_s);
	return term_table_print(&table, out) ? CLI_WRONG : status;
}

/* ---- JSON ---- */

static json_t *peer_json(const struct view *view, const struct wg_peer *peer, int64_t now_s)
{
	json_t *allowed = json_array();

	for (size_t i = 0; i < peer->n_allowed_ips; i++)
		(void)json_array_append_new(allowed, json_out_text(peer->allowed_ips[i]));
	return json_pack(
		"{s:o, s:s, s:o, s:o, s:b, s:I, s:I, s:I, s:o}", "name",
		json_out_text(view_peer_name(view, peer->public_key)), "public_key",
		peer->public_key, "endpoint", json_out_text(peer->endpoint), "last_handshake",
		peer->last_handshake_s ? json_integer((json_int_t)peer->last_handshake_s)
				       : json_null(),
		"alive", wg_peer_alive(peer, now_s), "receive_bytes", (json_int_t)peer->rx_bytes,
		"transmit_bytes", (json_int_t)peer->tx_bytes, "persistent_keepalive",
		(json_int_t)peer->keepalive_s, "allowed_ips", allowed);
}

json_t *peers_json(const struct view *view, int64_t now_s)
{
	json_t *peers = json_array();

	for (size_t i = 0; i < view->wg.n_peers; i++)
		(void)json_array_append_new(peers, peer_json(view, &view->wg.peers[i], now_s));
	return json_pack("{s:o, s:o}", "interface", json_out_text(view->lane), "peers", peers);
}

int cmd_peers(const struct cli *cli)
{
	int status = CLI_FINE;
	struct view view;

	view_open(cli->options.lane, &view);
	if (!view.has_lane) {
		view_complain(&view, cli, "peers");
		status = CLI_WRONG;
	} else if (cli->options.given & OPTION_JSON) {
		json_out(peers_json(&view, cli->now_s), cli->out);
	} else {
		status = peers_print(&view, cli->now_s, cli->out);
	}
	view_close(&view);
	return status;
}
