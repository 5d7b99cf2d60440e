/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The UDP ports of the overlays, which the lane is told that it may know their packets as
 * tunnels. Of what it says itself only those are ours that were set; what it knows by default
 * it need not be told.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "desired.h"
#include "lane_client.h"
#include "lane_request.h"
#include "lane_value.h"
#include "report.h"
#include "sync.h"
#include "sync_kernel.h"

enum { ENCAP_KIND_LEN = 16 };

struct encap {
	uint16_t port;
	char kind[ENCAP_KIND_LEN];
};

struct encap_state {
	struct sync_list known, set; /* by default; by us; struct encap */
};

static void state_done(struct encap_state *s)
{
	sync_list_done(&s->known);
	sync_list_done(&s->set);
}

static const struct encap *find(const struct sync_list *list, uint16_t port)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct encap *e = sync_list_at(list, i);

		if (e->port == port)
			return e;
	}
	return NULL;
}

static bool is_in(const struct sync_list *list, const struct encap *e)
{
	const struct encap *is = find(list, e->port);

	return is && !strcmp(is->kind, e->kind);
}

/* "14789 vxlan set". */
static int take(struct encap_state *s, char *value)
{
	const char *port_text = strsep(&value, " "), *kind = strsep(&value, " ");
	struct encap e = {.port = 0};
	uint64_t port;

	if (!kind || !value || !lane_value_number(port_text, UINT16_MAX, &port) ||
	    strlen(kind) >= sizeof(e.kind))
		return -EPROTO;
	e.port = (uint16_t)port;
	memcpy(e.kind, kind, strlen(kind) + 1);
	if (!strcmp(value, "default"))
		return sync_list_add(&s->known, &e);
	return strcmp(value, "set") ? 0 : sync_list_add(&s->set, &e);
}

static int parse(char *answer, struct encap_state *s)
{
	struct lane_lines lines = {.next = answer};
	char *key, *value;
	int err = 0;

	while (!err && lane_lines_next(&lines, &key, &value)) {
		if (!strcmp(key, "encap"))
			err = take(s, value);
	}
	return err;
}

/* What the lane calls it. Bare UDP of ours carries IPv4 and IPv6, never MPLS. */
static const char *kind_of(enum config_type type)
{
	switch (type) {
	case CONFIG_PORT:
	case CONFIG_VXLAN:
		return "vxlan";
	case CONFIG_GENEVE:
		return "geneve";
	case CONFIG_BAREUDP:
		return "ip";
	}
	return "vxlan";
}

/* None twice. Two types have one port only if one is over IPv4 and the other over IPv6; then
 * a device of the kernel goes before a port, which looks after its own packets itself. */
static int want(const struct desired *d, struct sync_list *ret)
{
	int err = 0;

	for (int ports = 0; ports < 2; ports++) {
		for (size_t i = 0; !err && i < d->n_overlays; i++) {
			const struct config_overlay *o = d->overlays[i].config;
			struct encap e = {.port = o->udp_port};

			if ((o->type == CONFIG_PORT) != ports || find(ret, e.port))
				continue;
			snprintf(e.kind, sizeof(e.kind), "%s", kind_of(o->type));
			err = sync_list_add(ret, &e);
		}
	}
	return err;
}

/* The differences, as lines of a command. How many. */
static unsigned compare(const struct sync_list *wanted, const struct encap_state *s,
			struct lane_request *q)
{
	unsigned n = 0;

	for (size_t i = 0; i < s->set.n; i++) {
		const struct encap *e = sync_list_at(&s->set, i), *w = find(wanted, e->port);

		if (w && !is_in(&s->known, w))
			continue;
		lane_request_printf(q, "encap_remove=%u\n", e->port);
		n++;
	}
	for (size_t i = 0; i < wanted->n; i++) {
		const struct encap *w = sync_list_at(wanted, i);

		if (is_in(&s->known, w) || is_in(&s->set, w))
			continue;
		lane_request_printf(q, "encap=%u %s\n", w->port, w->kind);
		n++;
	}
	return n;
}

static int tell(struct lane_client *c, const struct sync_list *wanted, const struct encap_state *s,
		struct report *r)
{
	char err_text[LANE_CLIENT_ERR_LEN] = "";
	struct lane_request q = {0};
	unsigned n;
	int err = 0;

	lane_request_printf(&q, "set=1\n");
	n = compare(wanted, s, &q);
	if (n)
		err = q.failed ? -ENOMEM : lane_client_ask(c, LANE_CONTROL, q.text, NULL, err_text);
	lane_request_done(&q);
	if (!lane_client_usable(c))
		return err;
	if (err)
		report_fault(r, err, "the lane and UDP ports of tunnels%s%s", *err_text ? ": " : "",
			     err_text);
	else if (n)
		report_did(r, &r->changed, "lane: %u UDP port%s of tunnels", n, n == 1 ? "" : "s");
	return 0;
}

/* Every lane has known these. */
static bool is_everywhere(const struct encap *e)
{
	static const struct encap all[] = {{4789, "vxlan"}, {8472, "vxlan"}, {6081, "geneve"}};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (e->port == all[i].port && !strcmp(e->kind, all[i].kind))
			return true;
	}
	return false;
}

/* A lane that is older than this carries all the same, but merges less. */
static void tell_unknown(struct lane_client *c, const struct sync_list *wanted, struct report *r)
{
	bool matters = false;

	for (size_t i = 0; i < wanted->n; i++)
		matters |= !is_everywhere(sync_list_at(wanted, i));
	if (matters && r->log && lane_client_notes(c, LANE_NOTE_NO_ENCAP))
		r->log("lane is of a version that cannot be told UDP ports of tunnels: see "
		       "SEALANE_ENCAP_PORTS in sealaned(8)",
		       r->log_arg);
}

int sync_encap(struct lane_client *c, const struct desired *d, struct report *r)
{
	struct encap_state s = {.known = {.item_len = sizeof(struct encap)},
				.set = {.item_len = sizeof(struct encap)}};
	struct sync_list wanted = {.item_len = sizeof(struct encap)};
	char err_text[LANE_CLIENT_ERR_LEN], *answer;
	int err = lane_client_ask(c, LANE_CONTROL, "get=1\n", &answer, err_text);

	if (err)
		return lane_client_usable(c) ? 0 : err; /* told where ports are asked for */
	err = parse(answer, &s);
	lane_answer_free(answer);
	if (!err)
		err = want(d, &wanted);
	if (err)
		report_fault(r, err, "the lane's UDP ports of tunnels");
	else if (!s.known.n)
		tell_unknown(c, &wanted, r);
	else
		err = tell(c, &wanted, &s, r);
	sync_list_done(&wanted);
	state_done(&s);
	return lane_client_usable(c) ? 0 : err;
}
