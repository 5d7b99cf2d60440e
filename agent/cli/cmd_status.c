/* SPDX-License-Identifier: Apache-2.0 */
/* sealane status: one screen about agent, lane and overlays. */
#include <inttypes.h>
#include <string.h>

#include "cli.h"
#include "json_out.h"
#include "reports.h"
#include "term.h"
#include "view.h"

/* Of faults and conflicts: the screen is for the rest, too. */
enum { LINES_MAX = 16 };

/* ---- Pieces of text ---- */

static void put_label(FILE *out, const char *label)
{
	fprintf(out, "%-10s ", label);
}

/* "what VALUE", with a comma before it if something is on the line already. */
static void put_word(FILE *out, bool *first, const char *what, const char *value)
{
	if (!value || !*value)
		return;
	fprintf(out, "%s%s", *first ? "" : ", ", what);
	term_put(out, value);
	*first = false;
}

static void put_number(FILE *out, bool *first, const char *what, int64_t value)
{
	if (value < 0)
		return;
	fprintf(out, "%s%s%" PRId64, *first ? "" : ", ", what, value);
	*first = false;
}

/* A list of texts, indented, the rest counted. */
static void put_lines(FILE *out, const json_t *root, const char *key)
{
	const size_t n = agent_count(root, key);

	for (size_t i = 0; i < n && i < LINES_MAX; i++) {
		fputs("  ", out);
		term_put(out, json_string_value(agent_item(root, key, i)));
		fputc('\n', out);
	}
	if (n > LINES_MAX)
		fprintf(out, "  and %zu more: see --json\n", n - LINES_MAX);
}

/* ---- Agent ---- */

static void put_agent_state(const json_t *root, FILE *out)
{
	const int64_t passes = agent_number(root, "passes", -1),
		      failed = agent_number(root, "failed_passes", -1);
	const char *error = agent_text(root, "config_error"), *reason = agent_text(root, "reason");
	/* What was in sync with a lane that does not answer now is in sync with nothing. */
	const bool synced = agent_flag(root, "synced", false) && agent_flag(root, "ready", true);

	put_label(out, "");
	fputs(synced ? "in sync" : "NOT in sync", out);
	if (!synced && reason && *reason) {
		fputs(" (", out);
		term_put(out, reason);
		fputc(')', out);
	}
	if (passes >= 0)
		fprintf(out, ", %" PRId64 " passes", passes);
	if (passes >= 0 && failed >= 0)
		fprintf(out, " of which %" PRId64 " failed", failed);
	fputc('\n', out);
	if (!error || !*error)
		return;
	put_label(out, "config");
	fputs("REFUSED, the one before it is in use:\n", out);
	term_put_lines(out, "  ", error);
}

static void put_agent(const struct view *v, int64_t now_s, FILE *out)
{
	const json_t *root = v->agent.root;
	const int64_t started = agent_number(root, "started", 0);
	char age[TERM_NUMBER_LEN];
	bool first = true;

	put_label(out, "agent");
	if (!v->has_agent) {
		term_put(out, v->agent_why);
		fputc('\n', out);
		return;
	}
	fputs("running: ", out);
	put_number(out, &first, "pid ", agent_number(root, "pid", v->agent.pid));
	put_word(out, &first, "version ", agent_text(root, "version"));
	put_word(out, &first, "node ", agent_text(root, "node"));
	if (started > 0 && started <= now_s)
		put_word(out, &first, "for ", term_age((uint64_t)(now_s - started), age));
	fputc('\n', out);
	put_agent_state(root, out);
}

/* "peers      from directory /etc/sealane/peers: 3" */
static void put_discovery(const struct view *v, FILE *out)
{
	const json_t *from;

	for (size_t i = 0; (from = agent_item(v->agent.root, "discovery", i)); i++) {
		put_label(out, "discovery");
		term_put(out, agent_text(from, "kind"));
		fputc(' ', out);
		term_put(out, agent_text(from, "where"));
		if (agent_flag(from, "synced", false))
			fprintf(out, ": %" PRId64 " peers\n", agent_number(from, "members", 0));
		else
			fputs(": NOT read yet\n", out);
		put_lines(out, from, "faults");
	}
}

static void put_troubles(const struct view *v, FILE *out)
{
	static const struct {
		const char *key, *label, *text;
	} rows[] = {
		{"faults", "faults", "of the last pass"},
		{"conflicts", "conflicts", "claims that another node won"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const size_t n = agent_count(v->agent.root, rows[i].key);

		if (!n)
			continue;
		put_label(out, rows[i].label);
		fprintf(out, "%zu, %s:\n", n, rows[i].text);
		put_lines(out, v->agent.root, rows[i].key);
	}
}

/* ---- Lane ---- */

static void put_lane(const struct view *v, int64_t now_s, FILE *out)
{
	const char *up = lane_doc_value(&v->control, "up");
	const char *port = lane_doc_value(&v->control, "listen_port");
	bool first = true;

	put_label(out, "lane");
	if (*v->lane) {
		term_put(out, v->lane);
		fputs(": ", out);
	}
	if (!v->has_lane) {
		term_put(out, v->lane_why);
		fputc('\n', out);
		return;
	}
	put_word(out, &first, "", up && !strcmp(up, "1") ? "up" : "DOWN");
	put_word(out, &first, "", lane_doc_value(&v->control, "device_kind"));
	put_word(out, &first, "mtu ", lane_doc_value(&v->control, "mtu"));
	if (port && strcmp(port, "0") != 0)
		put_word(out, &first, "port ", port);
	if (v->lane_pid > 0)
		put_number(out, &first, "pid ", v->lane_pid);
	put_word(out, &first, "version ", lane_doc_value(&v->control, "sealane"));
	fputc('\n', out);
	put_label(out, "peers");
	fprintf(out, "%zu", v->wg.n_peers);
	if (v->wg.n_peers)
		fprintf(out, ", %zu with a handshake within %d s", wg_doc_alive(&v->wg, now_s),
			WG_ALIVE_S);
	fputc('\n', out);
}

/* ---- Overlays ---- */

static void put_overlay_of_agent(const json_t *o, FILE *out)
{
	bool first = true;

	fputs("  ", out);
	term_put(out, agent_text(o, "name"));
	fputs(": ", out);
	put_word(out, &first, "", agent_text(o, "type"));
	put_number(out, &first, "vni ", agent_number(o, "vni", -1));
	put_number(out, &first, "udp ", agent_number(o, "udp_port", -1));
	put_number(out, &first, "mtu ", agent_number(o, "mtu", -1));
	put_word(out, &first, "mac ", agent_text(o, "mac"));
	put_word(out, &first, "vtep ", agent_text(o, "vtep"));
	fprintf(out, "%s%zu stations\n", first ? "" : ", ", agent_count(o, "stations"));
}

static void put_port_of_lane(const struct lane_doc *doc, const struct lane_item *port, FILE *out)
{
	const char *mtu = lane_doc_port_value(doc, port, "mtu");
	bool first = true;

	fputs("  ", out);
	term_put(out, port->value);
	fputs(": ", out);
	put_word(out, &first, "port on a ", lane_doc_port_value(doc, port, "port_kind"));
	put_word(out, &first, "vni ", lane_doc_port_value(doc, port, "vni"));
	put_word(out, &first, "udp ", lane_doc_port_value(doc, port, "udp_port"));
	if (mtu && strcmp(mtu, "0") != 0) /* 0: it follows the lane's */
		put_word(out, &first, "mtu ", mtu);
	put_word(out, &first, "mac ", lane_doc_port_value(doc, port, "mac"));
	put_word(out, &first, "vtep ", lane_doc_port_value(doc, port, "vtep"));
	fputc('\n', out);
}

/* The agent's view has more in it; without one there are the lane's ports. */
static void put_overlays(const struct view *v, FILE *out)
{
	const size_t n = agent_count(v->agent.root, "overlays");
	const struct lane_item *port;
	size_t cursor = 0;

	if (!n && !lane_doc_next_port(&v->control, &cursor))
		return;
	fputs("overlays\n", out);
	for (size_t i = 0; i < n; i++)
		put_overlay_of_agent(agent_item(v->agent.root, "overlays", i), out);
	cursor = 0;
	while (!n && (port = lane_doc_next_port(&v->control, &cursor)))
		put_port_of_lane(&v->control, port, out);
}

int status_print(const struct view *v, int64_t now_s, FILE *out)
{
	put_agent(v, now_s, out);
	put_lane(v, now_s, out);
	put_discovery(v, out);
	put_overlays(v, out);
	put_troubles(v, out);
	return v->has_agent || v->has_lane || v->uapi_only ? CLI_FINE : CLI_WRONG;
}

/* ---- JSON ---- */

static json_t *port_json(const struct lane_doc *doc, const struct lane_item *port)
{
	static const char *const keys[] = {"port_kind", "vni", "udp_port", "mtu", "mac", "vtep"};
	json_t *ret = json_pack("{s:o}", "name", json_out_text(port->value));

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		(void)json_object_set_new(ret, keys[i],
					  json_out_word(lane_doc_port_value(doc, port, keys[i])));
	return ret;
}

static json_t *lane_json(const struct view *v, int64_t now_s)
{
	const char *up = lane_doc_value(&v->control, "up");
	const struct lane_item *port;
	json_t *ports = json_array();
	size_t cursor = 0;

	while ((port = lane_doc_next_port(&v->control, &cursor)))
		(void)json_array_append_new(ports, port_json(&v->control, port));
	return json_pack("{s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:o}", "interface",
			 json_out_text(v->lane), "version",
			 json_out_text(lane_doc_value(&v->control, "sealane")), "up",
			 up && !strcmp(up, "1"), "device_kind",
			 json_out_text(lane_doc_value(&v->control, "device_kind")), "mtu",
			 json_out_word(lane_doc_value(&v->control, "mtu")), "listen_port",
			 json_out_word(lane_doc_value(&v->control, "listen_port")), "public_key",
			 json_out_text(v->wg.has_key ? v->wg.public_key : NULL), "pid",
			 v->lane_pid > 0 ? json_integer(v->lane_pid) : json_null(), "peers",
			 (json_int_t)v->wg.n_peers, "peers_alive",
			 (json_int_t)wg_doc_alive(&v->wg, now_s), "ports", ports);
}

json_t *status_json_of(const struct view *v, int64_t now_s)
{
	return json_pack("{s:o, s:o}", "agent",
			 v->has_agent ? json_incref(v->agent.root) : json_null(), "lane",
			 v->has_lane ? lane_json(v, now_s) : json_null());
}

int cmd_status(const struct cli *cli)
{
	int status = CLI_FINE;
	struct view view;

	view_open(cli->options.lane, &view);
	if (cli->options.given & OPTION_JSON) {
		json_out(status_json_of(&view, cli->now_s), cli->out);
		status = view.has_agent || view.has_lane || view.uapi_only ? CLI_FINE : CLI_WRONG;
	} else {
		status = status_print(&view, cli->now_s, cli->out);
	}
	view_close(&view);
	return status;
}
