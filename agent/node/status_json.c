/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "desired.h"
#include "discovery.h"
#include "keyfile.h"
#include "lane_peers.h"
#include "lane_value.h"
#include "reconcile.h"
#include "status.h"

/* Values. Jansson hands a failure through: what has no memory is missing. */

static void put(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

/* Words of the kernel and names of others may not be UTF-8. */
static json_t *text(const char *s)
{
	json_t *value = json_string(s);
	char *ascii = value ? NULL : strdup(s);

	for (char *p = ascii; p && *p; p++) {
		if ((unsigned char)*p >= 0x80)
			*p = '?';
	}
	if (ascii)
		value = json_string(ascii);
	free(ascii);
	return value;
}

static json_t *text_or_null(const char *s)
{
	return s && *s ? text(s) : json_null();
}

static json_t *number(uint64_t n)
{
	return json_integer((json_int_t)n);
}

static json_t *time_or_null(int64_t seconds)
{
	return seconds ? json_integer(seconds) : json_null();
}

static json_t *public_key(const uint8_t key[KEY_LEN])
{
	char buf[KEY_TEXT_LEN];

	return json_string(key_format(key, buf));
}

static json_t *mac(const uint8_t bytes[6])
{
	char buf[LANE_MAC_TEXT_LEN];

	return json_string(lane_value_format_mac(bytes, buf));
}

static json_t *address(const struct ip_addr *addr)
{
	char buf[IP_ADDR_TEXT_LEN];

	return addr->len ? json_string(ip_addr_format(addr, buf)) : json_null();
}

static json_t *prefixes(const struct ip_prefix *list, size_t n)
{
	json_t *array = json_array();
	char buf[IP_PREFIX_TEXT_LEN];

	for (size_t i = 0; i < n; i++)
		json_array_append_new(array, json_string(ip_prefix_format(&list[i], buf)));
	return array;
}

/* The agent */

static void put_agent(json_t *root, const struct status_source *source)
{
	const struct status_agent *a = source->agent(source->ctx);
	char reason[STATUS_REASON_LEN];

	put(root, "version", json_string(SEALANE_VERSION));
	put(root, "pid", json_integer(getpid()));
	put(root, "started", json_integer(a->started_s));
	put(root, "node", text(source->config(source->ctx)->node.name));
	put(root, "config_file", text_or_null(a->config_path));
	put(root, "config_loaded", time_or_null(a->config_loaded_s));
	put(root, "config_failed", time_or_null(a->config_failed_s));
	put(root, "config_error", text_or_null(a->config_error));
	put(root, "ready", json_boolean(status_ready(source, reason)));
	put(root, "reason", text_or_null(reason));
}

static void put_state(json_t *root, const struct reconcile_state *s)
{
	const unsigned n = s->last.failed < REPORT_FAULTS_MAX ? s->last.failed : REPORT_FAULTS_MAX;
	json_t *faults = json_array();

	put(root, "synced", json_boolean(s->synced));
	put(root, "passes", number(s->n_passes));
	put(root, "failed_passes", number(s->n_failed_passes));
	put(root, "last_pass_seconds", json_real(s->last_pass_s));
	put(root, "added", number(s->n_added));
	put(root, "changed", number(s->n_changed));
	put(root, "removed", number(s->n_removed));
	put(root, "overruns", number(s->n_overruns));
	for (unsigned i = 0; i < n; i++)
		json_array_append_new(faults, text(s->last.faults[i]));
	put(root, "n_faults", number(s->last.failed));
	put(root, "faults", faults);
}

static void put_conflicts(json_t *root, const struct desired *d)
{
	json_t *conflicts = json_array();

	for (size_t i = 0; d && i < d->n_conflicts; i++)
		json_array_append_new(conflicts, text(d->conflicts[i]));
	put(root, "conflicts", conflicts);
}

/* Discovery */

static json_t *lines(const char *s)
{
	json_t *array = json_array();

	while (s && *s) {
		const size_t len = strcspn(s, "\n");
		char *line = strndup(s, len);

		if (line)
			json_array_append_new(array, text(line));
		free(line);
		s += len + (s[len] == '\n');
	}
	return array;
}

static void put_discovery(json_t *root, const struct discovery *d)
{
	json_t *array = json_array();
	struct discovery_view view;
	size_t cursor = 0;

	while (d && discovery_next(d, &cursor, &view)) {
		json_t *object = json_object();

		put(object, "kind", json_string(view.kind));
		put(object, "where", text(view.where));
		put(object, "synced", json_boolean(view.synced));
		put(object, "last_synced", time_or_null(view.synced_s));
		put(object, "members", number(view.n_members));
		put(object, "faults", lines(view.faults));
		json_array_append_new(array, object);
	}
	put(root, "discovery", array);
}

/* The lane */

/* "NAME on|off REASON" */
static json_t *capability(char *value)
{
	char *state = strchr(value, ' '), *reason;
	json_t *c = json_object();

	if (state)
		*state++ = '\0';
	reason = state ? strchr(state, ' ') : NULL;
	if (reason)
		*reason++ = '\0';
	put(c, "name", text(value));
	put(c, "on", json_boolean(state && !strcmp(state, "on")));
	put(c, "reason", text_or_null(reason));
	return c;
}

static void put_lane_value(json_t *lane, const char *key, const char *value)
{
	static const struct {
		const char *key, *name;
		bool is_number;
	} told[] = {
		{"sealane", "version", false}, {"device_kind", "device_kind", false},
		{"mtu", "mtu", true},	       {"listen_port", "listen_port", true},
		{"ports", "ports", true},
	};
	uint64_t n;

	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		if (strcmp(key, told[i].key) != 0)
			continue;
		if (!told[i].is_number)
			put(lane, told[i].name, text(value));
		else if (lane_value_number(value, UINT32_MAX, &n))
			put(lane, told[i].name, number(n));
	}
	if (!strcmp(key, "up"))
		put(lane, "up", json_boolean(!strcmp(value, "1")));
}

static void take_lane(char *answer, void *arg)
{
	struct lane_lines lines = {answer};
	json_t *lane = arg;
	json_t *capabilities = json_array();
	char *key, *value;

	while (lane_lines_next(&lines, &key, &value)) {
		if (!strcmp(key, "port"))
			break; /* what follows is the ports' */
		if (!strcmp(key, "capability"))
			json_array_append_new(capabilities, capability(value));
		else
			put_lane_value(lane, key, value);
	}
	put(lane, "capabilities", capabilities);
}

static void put_lane(json_t *root, const struct status_source *source,
		     const struct reconcile_state *s)
{
	const pid_t pid = source->agent(source->ctx)->lane_pid;
	json_t *lane = json_object();

	put(lane, "interface", text(source->config(source->ctx)->lane.interface));
	put(lane, "there", json_boolean(s && s->lane_there));
	put(lane, "silent", json_boolean(s && s->lane_silent));
	put(lane, "uapi_only", json_boolean(s && s->lane_uapi_only));
	put(lane, "reason", text_or_null(s ? s->lane_reason : NULL));
	put(lane, "pid", pid ? json_integer(pid) : json_null());
	put(lane, "returns", number(s ? s->n_lane_returns : 0));
	source->ask_lane(source->ctx, LANE_CONTROL, take_lane, lane);
	put(root, "lane", lane);
}

/* What is desired */

static json_t *station(const struct desired_station *s)
{
	json_t *object = json_object(), *addresses = json_array();

	put(object, "name", text(s->member->name));
	put(object, "vtep", address(&s->vtep));
	put(object, "mac", mac(s->mac));
	for (size_t i = 0; i < s->n_addresses; i++)
		json_array_append_new(addresses, address(&s->addresses[i]));
	put(object, "addresses", addresses);
	put(object, "routes", prefixes(s->routes, s->n_routes));
	return object;
}

static json_t *overlay(const struct desired_overlay *o)
{
	json_t *object = json_object(), *stations = json_array();

	put(object, "name", text(o->config->name));
	put(object, "type", json_string(config_type_name(o->config->type)));
	put(object, "vni", number(o->config->vni));
	put(object, "udp_port", number(o->config->udp_port));
	put(object, "vtep", address(&o->vtep));
	put(object, "mac", mac(o->mac));
	put(object, "mtu", number(o->mtu));
	put(object, "checksum", json_boolean(o->csum));
	put(object, "addresses", prefixes(o->config->addresses, o->config->n_addresses));
	for (size_t i = 0; i < o->n_stations; i++)
		json_array_append_new(stations, station(&o->stations[i]));
	put(object, "stations", stations);
	return object;
}

static json_t *peer(const struct desired_peer *p, const struct lane_peer *now)
{
	json_t *object = json_object();

	put(object, "name", text(p->member->name));
	put(object, "public_key", public_key(p->member->public_key));
	put(object, "allowed_ips", prefixes(p->allowed, p->n_allowed));
	put(object, "endpoint", text_or_null(now ? now->endpoint : NULL));
	put(object, "last_handshake", time_or_null(now ? (int64_t)now->handshake_s : 0));
	put(object, "receive_bytes", number(now ? now->received_bytes : 0));
	put(object, "transmit_bytes", number(now ? now->transmitted_bytes : 0));
	return object;
}

static void take_peers(char *answer, void *arg)
{
	(void)lane_peers_parse(answer, arg); /* without memory as without a lane */
}

static void put_desired(json_t *root, const struct status_source *source, const struct desired *d)
{
	json_t *overlays = json_array(), *peers = json_array();
	struct lane_peers now = {0};

	source->ask_lane(source->ctx, LANE_UAPI, take_peers, &now);
	for (size_t i = 0; d && i < d->n_overlays; i++)
		json_array_append_new(overlays, overlay(&d->overlays[i]));
	for (size_t i = 0; d && i < d->n_peers; i++)
		json_array_append_new(
			peers,
			peer(&d->peers[i], lane_peers_find(&now, d->peers[i].member->public_key)));
	lane_peers_done(&now);
	put(root, "public_key", d ? public_key(d->public_key) : json_null());
	put(root, "overlays", overlays);
	put(root, "peers", peers);
}

char *status_json(const struct status_source *source)
{
	const struct reconcile *r = source->reconcile(source->ctx);
	const struct reconcile_state *s = r ? reconcile_state(r) : NULL;
	json_t *root = json_object();
	char *document;

	put_agent(root, source);
	if (s)
		put_state(root, s);
	put_discovery(root, source->discovery ? source->discovery(source->ctx) : NULL);
	put_lane(root, source, s);
	put_conflicts(root, r ? reconcile_desired(r) : NULL);
	put_desired(root, source, r ? reconcile_desired(r) : NULL);
	document = json_dumps(root, JSON_COMPACT);
	json_decref(root);
	return document;
}
