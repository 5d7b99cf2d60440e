/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "doctor.h"
#include "term.h"
#include "view.h"

enum { FAULTS_TOLD = 16, NAME_LEN = 64, CAPABILITY_NET_ADMIN = 12, CAPABILITY_NET_RAW = 13 };

/* ---- Agent ---- */

static void add_texts(const json_t *root, const char *key, enum finding_level level,
		      const char *what, struct findings *f)
{
	const size_t n = agent_count(root, key);

	for (size_t i = 0; i < n && i < FAULTS_TOLD; i++) {
		const char *text = json_string_value(agent_item(root, key, i));

		finding_add(f, level, what, "%s", text ? text : "?");
	}
	if (n > FAULTS_TOLD)
		finding_add(f, level, what, "and %zu more: see sealane status --json",
			    n - FAULTS_TOLD);
}

/* Each fault is a line. */
static void add_config_error(const char *error, struct findings *f)
{
	while (error && *error) {
		const size_t len = strcspn(error, "\n");

		finding_add(f, FINDING_WRONG, "agent", "configuration refused: %.*s", (int)len,
			    error);
		error += len + (error[len] == '\n');
	}
}

static void look_at_discovery(const json_t *root, struct findings *f)
{
	const json_t *from;

	for (size_t i = 0; (from = agent_item(root, "discovery", i)); i++) {
		const char *where = agent_text(from, "where");

		add_texts(from, "faults", FINDING_WRONG, "discovery", f);
		if (agent_flag(from, "synced", false) && !agent_count(from, "faults"))
			finding_add(f, FINDING_RIGHT, "discovery", "%s: %" PRId64 " peers",
				    where ? where : "?", agent_number(from, "members", 0));
		else if (!agent_count(from, "faults"))
			finding_add(f, FINDING_WRONG, "discovery", "%s: peers are awaited",
				    where ? where : "?");
	}
}

void doctor_agent(const struct view *v, struct findings *f)
{
	const json_t *root = v->agent.root;
	const char *reason = agent_text(root, "reason");

	if (!v->has_agent) {
		finding_add(f, v->agent_broken ? FINDING_WRONG : FINDING_NOTE, "agent", "%s",
			    v->agent_why);
		return;
	}
	add_config_error(agent_text(root, "config_error"), f);
	look_at_discovery(root, f);
	add_texts(root, "faults", FINDING_WRONG, "agent", f);
	add_texts(root, "conflicts", FINDING_NOTE, "conflict", f);
	if (agent_flag(root, "synced", false))
		finding_add(f, FINDING_RIGHT, "agent", "runs, in sync");
	else if (!agent_count(root, "faults"))
		finding_add(f, FINDING_WRONG, "agent",
			    "runs, but lane and kernel are not as configured%s%s",
			    reason && *reason ? ": " : "", reason ? reason : "");
}

/* ---- Lane ---- */

static void look_at_capabilities(const struct view *v, struct findings *f)
{
	char name[NAME_LEN], state[8], what[NAME_LEN + 16];
	const char *value, *rest;
	size_t cursor = 0;

	while ((value = lane_doc_next(&v->control, "capability", &cursor))) {
		rest = lane_doc_word(value, name, sizeof(name));
		rest = rest ? lane_doc_word(rest, state, sizeof(state)) : NULL;
		if (!rest)
			continue;
		snprintf(what, sizeof(what), "capability %s", name);
		if (!strcmp(state, "on"))
			finding_add(f, FINDING_RIGHT, what, "on%s%s", *rest ? ": " : "", rest);
		else
			finding_add(f, FINDING_NOTE, what, "%s%s%s", state, *rest ? ": " : "",
				    rest);
	}
}

/* Drops that a setting somewhere causes, and not the weather. */
static void look_at_drops(const struct view *v, struct findings *f)
{
	static const struct {
		const char *name, *text, *cure;
	} rows[] = {
		{"port_fragment", "fragments of VXLAN came, which no VTEP puts together",
		 "a lower MTU on the sender's overlay device: at most its tunnel's less 50 (IPv4) "
		 "or 70 (IPv6)"},
		{"loop", "datagrams to a peer were routed into the tunnel itself",
		 "a route to the peer's endpoint that leads round the tunnel"},
		{"spoofed", "a peer sent from addresses that its allowed-ips do not have",
		 "add them to the peer's allowed-ips, or find out who sends"},
		{"old_timestamp", "a peer's handshakes are older than its last",
		 "set that peer's clock"},
		{"bad_vnet",
		 "the kernel handed over superpackets that are not as it described them",
		 "SEALANE_DISABLE_TUN_GSO=1 goes without them"},
	};
	char name[NAME_LEN];
	const char *value, *count;
	uint64_t number;
	size_t cursor = 0;

	while ((value = lane_doc_next(&v->control, "drop", &cursor))) {
		count = lane_doc_word(value, name, sizeof(name));
		if (!count || !term_number(count, &number) || !number)
			continue;
		for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
			if (strcmp(rows[i].name, name) != 0)
				continue;
			finding_add(f, FINDING_NOTE, "drops", "%s: %" PRIu64 ": %s", name, number,
				    rows[i].text);
			finding_cure(f, "%s", rows[i].cure);
		}
	}
}

static void look_at_ports(const struct view *v, struct findings *f)
{
	const struct lane_item *port;
	char what[NAME_LEN];
	size_t cursor = 0;

	while ((port = lane_doc_next_port(&v->control, &cursor))) {
		const char *kind = lane_doc_port_value(&v->control, port, "port_kind");
		const char *reason = lane_doc_port_value(&v->control, port, "port_reason");

		snprintf(what, sizeof(what), "port %s", port->value);
		/* A TAP carries no superpacket above 64 KB and one a system call. */
		finding_add(f, kind && !strcmp(kind, "tap") ? FINDING_NOTE : FINDING_RIGHT, what,
			    "on a %s: %s", kind ? kind : "?", reason ? reason : "?");
	}
}

static void look_at_peers(const struct view *v, int64_t now_s, struct findings *f)
{
	const size_t alive = wg_doc_alive(&v->wg, now_s);

	/* A peer that nobody talks to needs no handshake. */
	finding_add(f, alive ? FINDING_RIGHT : FINDING_NOTE, "peers",
		    "%zu, %zu with a handshake within %d s", v->wg.n_peers, alive, WG_ALIVE_S);
}

void doctor_lane(const struct view *v, int64_t now_s, struct findings *f)
{
	const char *up = lane_doc_value(&v->control, "up");

	if (!v->has_lane) {
		finding_add(f, v->uapi_only ? FINDING_NOTE : FINDING_WRONG, "lane", "%s%s%s",
			    v->lane, *v->lane ? ": " : "", v->lane_why);
		return;
	}
	if (up && !strcmp(up, "1"))
		finding_add(f, FINDING_RIGHT, "lane", "%s is up", v->lane);
	else
		finding_add(f, FINDING_WRONG, "lane", "%s is down, or its port is taken", v->lane);
	if (!up || strcmp(up, "1") != 0)
		finding_cure(f, "ip link set dev %s up", v->lane);
	if (!v->wg.has_key)
		finding_add(f, FINDING_WRONG, "lane", "%s has no private key", v->lane);
	look_at_peers(v, now_s, f);
	look_at_capabilities(v, f);
	look_at_ports(v, f);
	look_at_drops(v, f);
}

/* ---- Its process ---- */

/* The line "KEY:\tVALUE"; its value, or NULL. */
static const char *status_value(const char *status, const char *key)
{
	const size_t len = strlen(key);

	while (status && *status) {
		if (!strncmp(status, key, len) && status[len] == ':')
			return status + len + 1 + strspn(status + len + 1, " \t");
		status = strchr(status, '\n');
		status = status ? status + 1 : NULL;
	}
	return NULL;
}

void doctor_lane_process(const char *proc_status, bool has_ports, struct findings *f)
{
	const char *name = status_value(proc_status, "Name"),
		   *effective = status_value(proc_status, "CapEff");
	uint64_t mask;
	char *end;

	if (!effective || !name || strncmp(name, "sealaned\n", 9) != 0) {
		finding_add(f, FINDING_NOTE, "lane", "its capabilities(7) are not to be seen");
		return;
	}
	mask = strtoull(effective, &end, 16);
	if (end == effective)
		return;
	if (!(mask >> CAPABILITY_NET_ADMIN & 1))
		finding_add(f, FINDING_WRONG, "lane", "runs without CAP_NET_ADMIN");
	else if (!(mask >> CAPABILITY_NET_RAW & 1))
		finding_add(f, has_ports ? FINDING_WRONG : FINDING_NOTE, "lane",
			    "runs without CAP_NET_RAW: VXLAN ports are TAPs");
	else
		finding_add(f, FINDING_RIGHT, "lane", "has CAP_NET_ADMIN and CAP_NET_RAW");
}
