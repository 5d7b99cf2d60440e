/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * A port is asked for with its tables, compared, and told the differences in one
 * command, of which the lane does all or nothing. If it refuses that, the parts of the
 * command are said one by one, and from a part about a table the line that the lane
 * names is left out, so that one entry that cannot be does not keep all others away.
 *
 * Two ports cannot have one VTEP, UDP port and VNI. A port that has what another is to
 * have now is taken away first; if it is desired itself, it is made again.
 */
#include "sync.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "desired.h"
#include "lane_client.h"
#include "lane_request.h"
#include "port_diff.h"
#include "port_state.h"
#include "report.h"

/* The first line of a command that may be left out: port=NAME is line 1. More such
 * lines than that are not a mistake in one entry. */
enum { LINE_FIRST_CUT = 2, CUTS_MAX = 16 };

struct pass {
	struct lane_client *client;
	const struct desired *d;
	struct report *r;
};

/* Asking */

/* All ports without their tables, or, with @name, that one with them. 0 or -errno, in
 * the report unless it made the connection useless; -ENODEV, never in it: no such port. */
static int fetch(const struct pass *p, const char *name, struct port_list *ret)
{
	char err_text[LANE_CLIENT_ERR_LEN], request[64] = "get=1\n", *answer;
	int err;

	if (name)
		snprintf(request, sizeof(request), "get=1\nport=%s\n", name);
	err = lane_client_ask(p->client, LANE_CONTROL, request, &answer, err_text);
	if (!err) {
		err = port_list_parse(answer, ret);
		lane_answer_free(answer);
		if (!err && name && ret->n != 1) {
			port_list_done(ret);
			err = -EPROTO;
		}
	}
	if (err && err != -ENODEV && lane_client_usable(p->client))
		report_fault(p->r, err, "the lane does not tell its ports%s%s%s%s",
			     name ? ", " : "", name ? name : "", *err_text ? ": " : "", err_text);
	return err;
}

/* Telling */

static void begin_command(struct lane_request *q, const char *name)
{
	lane_request_printf(q, "set=1\nport=%s\n", name);
}

static int send_command(const struct pass *p, const struct lane_request *q,
			char err_text[LANE_CLIENT_ERR_LEN])
{
	err_text[0] = '\0';
	if (q->failed)
		return -ENOMEM;
	return lane_client_ask(p->client, LANE_CONTROL, q->text, NULL, err_text);
}

/* "line 7: fdb: ...": *ret is 7. What stands behind it, or all of @text. */
static const char *line_named(const char *text, unsigned *ret)
{
	int len = 0;

	*ret = 0;
	if (sscanf(text, "line %u: %n", ret, &len) < 1 || !len)
		return text;
	return text + len;
}

/*
 * Commands @lines alone. @may_cut: without those that are refused. 0: what could be done
 * was; -errno: it could not. In the report in both cases, unless the connection is of
 * no use.
 */
static int command_part(const struct pass *p, const char *name, const struct lane_request *lines,
			bool may_cut)
{
	char err_text[LANE_CLIENT_ERR_LEN];
	struct lane_request q = {0};
	unsigned cuts = 0, line;
	int err = 0;

	if (!lines->len && !lines->failed)
		return 0;
	begin_command(&q, name);
	lane_request_append(&q, lines);
	do {
		const char *why;

		err = send_command(p, &q, err_text);
		if (!err || !lane_client_usable(p->client))
			break;
		why = line_named(err_text, &line);
		report_fault(p->r, err, "port %s%s%s", name, *why ? ": " : "", why);
		/* Line 1 comes after "set=1". */
	} while (may_cut && line >= LINE_FIRST_CUT && cuts++ < CUTS_MAX &&
		 lane_request_cut(&q, line));
	lane_request_done(&q);
	return err;
}

static int command_parts(const struct pass *p, const char *name, const struct port_diff *diff)
{
	const struct lane_request *tables[] = {&diff->fdb, &diff->flood, &diff->neighbours};
	int err = command_part(p, name, &diff->config, false);

	for (size_t i = 0; !err && i < sizeof(tables) / sizeof(tables[0]); i++) {
		err = command_part(p, name, tables[i], true);
		if (lane_client_usable(p->client))
			err = 0; /* is in the report, and the next may go well */
	}
	return lane_client_usable(p->client) ? 0 : err;
}

static void did_port(const struct pass *p, const struct port_state *want, bool is_new,
		     const struct port_diff *diff)
{
	struct report *r = p->r;

	if (is_new)
		report_did(r, &r->added,
			   "port %s: vni %u, %zu stations, %zu to flood to, %zu neighbours",
			   want->name, want->vni, diff->n_fdb, diff->n_flood, diff->n_neighbours);
	else
		report_did(r, &r->changed,
			   "port %s: changes: %zu settings, %zu stations, %zu to flood to, "
			   "%zu neighbours",
			   want->name, diff->n_config, diff->n_fdb, diff->n_flood,
			   diff->n_neighbours);
}

/* Makes the port like @want; @have NULL: makes it. */
static int change_port(const struct pass *p, const struct port_state *want,
		       const struct port_state *have)
{
	char err_text[LANE_CLIENT_ERR_LEN];
	struct lane_request q = {0};
	struct port_diff diff;
	unsigned failed = p->r->failed;
	int err = 0;

	port_diff_make(&diff, want, have);
	if (!port_diff_is_empty(&diff)) {
		begin_command(&q, want->name);
		lane_request_append(&q, &diff.config);
		lane_request_append(&q, &diff.fdb);
		lane_request_append(&q, &diff.flood);
		lane_request_append(&q, &diff.neighbours);
		err = send_command(p, &q, err_text);
		if (err && lane_client_usable(p->client))
			err = command_parts(p, want->name, &diff);
		if (!err && failed == p->r->failed)
			did_port(p, want, !have, &diff);
	}
	lane_request_done(&q);
	port_diff_done(&diff);
	return err;
}

/* *ret_gone: it is not there (any more). 0, or the error that made the connection
 * useless. */
static int remove_port(const struct pass *p, const char *name, bool *ret_gone)
{
	char err_text[LANE_CLIENT_ERR_LEN];
	struct lane_request q = {0};
	int err;

	begin_command(&q, name);
	lane_request_printf(&q, "remove=true\n");
	err = send_command(p, &q, err_text);
	lane_request_done(&q);
	*ret_gone = !err || err == -ENODEV;
	if (!lane_client_usable(p->client))
		return err;
	if (!err)
		report_did(p->r, &p->r->removed, "port %s", name);
	else if (err != -ENODEV)
		report_fault(p->r, err, "removing port %s: %s", name, err_text);
	return 0;
}

/* Ports */

static bool is_port(const struct desired_overlay *o)
{
	return o->config->type == CONFIG_PORT;
}

/* Does @have keep a desired port, or a device of another kind, from being made? */
static bool in_the_way(const struct desired *d, const struct port_state *have)
{
	for (size_t i = 0; i < d->n_overlays; i++) {
		const struct desired_overlay *o = &d->overlays[i];
		const bool same_name = !strcmp(o->config->name, have->name);

		if (!is_port(o) && same_name)
			return true;
		if (is_port(o) && !same_name && o->config->vni == have->vni &&
		    o->config->udp_port == have->udp_port && ip_addr_equal(&o->vtep, &have->vtep))
			return true;
	}
	return false;
}

static int make_way(const struct pass *p, const struct port_list *list)
{
	bool gone;
	int err = 0;

	for (size_t i = 0; !err && i < list->n; i++) {
		if (in_the_way(p->d, &list->ports[i]))
			err = remove_port(p, list->ports[i].name, &gone);
	}
	return err;
}

static int update_port(const struct pass *p, const struct port_state *want)
{
	struct port_list list = {0};
	bool gone = false;
	int err = fetch(p, want->name, &list);

	if (err && err != -ENODEV)
		return lane_client_usable(p->client) ? 0 : err;
	if (err) /* was in the way, or went by itself */
		return change_port(p, want, NULL);
	if (!port_diff_needs_new(want, &list.ports[0])) {
		err = change_port(p, want, &list.ports[0]);
	} else {
		err = remove_port(p, want->name, &gone);
		if (!err && gone)
			err = change_port(p, want, NULL);
	}
	port_list_done(&list);
	return err;
}

static int add_overlay(const struct pass *p, const struct port_list *list,
		       const struct desired_overlay *o)
{
	struct port_state want;
	int err = port_state_want(o, &want);

	if (err) {
		report_fault(p->r, err, "port %s", o->config->name);
		return 0;
	}
	if (port_list_find(list, want.name))
		err = update_port(p, &want);
	else
		err = change_port(p, &want, NULL);
	port_state_done(&want);
	return err;
}

int sync_ports_add(struct lane_client *c, const struct desired *d, struct report *r)
{
	const struct pass p = {.client = c, .d = d, .r = r};
	struct port_list list = {0};
	int err = sync_encap(c, d, r);

	if (!err)
		err = fetch(&p, NULL, &list);
	if (err)
		return lane_client_usable(c) ? 0 : err;
	err = make_way(&p, &list);
	for (size_t i = 0; !err && i < d->n_overlays; i++) {
		if (is_port(&d->overlays[i]))
			err = add_overlay(&p, &list, &d->overlays[i]);
	}
	port_list_done(&list);
	return err;
}

static bool is_desired(const struct desired *d, const char *name)
{
	for (size_t i = 0; i < d->n_overlays; i++) {
		if (is_port(&d->overlays[i]) && !strcmp(d->overlays[i].config->name, name))
			return true;
	}
	return false;
}

int sync_ports_remove(struct lane_client *c, const struct desired *d, struct report *r)
{
	const struct pass p = {.client = c, .d = d, .r = r};
	struct port_list list = {0};
	bool gone;
	int err = fetch(&p, NULL, &list);

	if (err)
		return lane_client_usable(c) ? 0 : err;
	for (size_t i = 0; !err && i < list.n; i++) {
		if (!is_desired(d, list.ports[i].name))
			err = remove_port(&p, list.ports[i].name, &gone);
	}
	port_list_done(&list);
	return err;
}
