/* SPDX-License-Identifier: Apache-2.0 */
#include "etcd_record.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "config_internal.h"
#include "keyfile.h"
#include "lane_value.h"

/* Writing */

static json_t *texts_of_tunnel(const struct config *c)
{
	json_t *array = json_array();
	char text[IP_ADDR_TEXT_LEN];

	for (unsigned i = 0; i < 2; i++) {
		if (c->node.tunnel[i].len)
			json_array_append_new(
				array, json_string(ip_addr_format(&c->node.tunnel[i], text)));
	}
	return array;
}

static json_t *overlay_of(const struct config_overlay *o)
{
	json_t *object = json_object(), *addresses = json_array();
	char text[IP_ADDR_TEXT_LEN], mac[LANE_MAC_TEXT_LEN];

	json_object_set_new(object, "name", json_string(o->name));
	for (size_t i = 0; i < o->n_addresses; i++)
		json_array_append_new(addresses,
				      json_string(ip_addr_format(&o->addresses[i].addr, text)));
	json_object_set_new(object, "addresses", addresses);
	if (o->has_mac) {
		json_object_set_new(object, "mac", json_string(lane_value_format_mac(o->mac, mac)));
	}
	return object;
}

char *etcd_record_format(const struct config *config, const uint8_t public_key[NODE_KEY_LEN],
			 const struct sockaddr_storage *endpoint, uint64_t since)
{
	json_t *root = json_object(), *overlays = json_array();
	char key[KEY_TEXT_LEN], text[LANE_ENDPOINT_TEXT_LEN];
	char *record;

	json_object_set_new(root, "public_key", json_string(key_format(public_key, key)));
	if (endpoint->ss_family)
		json_object_set_new(root, "endpoint",
				    json_string(lane_value_format_endpoint(endpoint, text)));
	json_object_set_new(root, "tunnel_addresses", texts_of_tunnel(config));
	for (size_t i = 0; i < config->n_overlays; i++)
		json_array_append_new(overlays, overlay_of(&config->overlays[i]));
	json_object_set_new(root, "overlays", overlays);
	json_object_set_new(root, "since", json_integer((json_int_t)since));
	record = json_dumps(root, JSON_COMPACT);
	json_decref(root);
	return record;
}

/* Reading */

static bool has_overlay(const struct config *c, const char *name)
{
	for (size_t i = 0; name && i < c->n_overlays; i++) {
		if (!strcmp(c->overlays[i].name, name))
			return true;
	}
	return false;
}

/* Nodes need not have the same overlays. What is no name at all is left to be refused. */
static json_t *known_overlays(const json_t *overlays, const struct config *c)
{
	json_t *known = json_array(), *overlay;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)overlays, i, overlay)
	{
		const json_t *name = json_object_get(overlay, "name");

		if (!json_is_string(name) || has_overlay(c, json_string_value(name)))
			json_array_append(known, overlay);
	}
	return known;
}

/*
 * The same as a text of `peers`: JSON is YAML. Keys are picked, so that no record has this node
 * read a file of its own.
 */
static char *as_peers(const json_t *record, const char *name, const struct config *c)
{
	static const char *const keys[] = {"public_key", "endpoint", "keepalive_s",
					   "tunnel_addresses", "allowed_ips"};
	json_t *peer = json_object(), *root, *overlays = json_object_get(record, "overlays");
	char *text;

	json_object_set_new(peer, "name", json_string(name));
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		json_object_set(peer, keys[i], json_object_get(record, keys[i]));
	if (json_is_array(overlays))
		json_object_set_new(peer, "overlays", known_overlays(overlays, c));
	else
		json_object_set(peer, "overlays", overlays);
	root = json_pack("{s:[o]}", "peers", peer);
	text = json_dumps(root, JSON_COMPACT);
	json_decref(root);
	return text;
}

static json_t *load(const char *text, size_t len, json_error_t *why)
{
	return json_loadb(text, len, JSON_REJECT_DUPLICATES, why);
}

static uint64_t since_of(const json_t *record)
{
	const json_t *since = json_object_get(record, "since");

	return json_is_integer(since) && json_integer_value(since) > 0
		       ? (uint64_t)json_integer_value(since)
		       : 0;
}

static int parse_peer(const char *text, const char *where, const struct config *config,
		      struct member *ret, struct config_faults *faults)
{
	struct config_reading r = {.file = where, .faults = faults};
	struct member *members = NULL;
	size_t n = 0;
	int err = config_parse_peers(text, strlen(text), where, config, &members, &n, faults);

	if (err)
		return err;
	if (n == 1) {
		*ret = members[0];
	} else {
		config_fault_file(&r, "is this node's own under another key");
		err = -EINVAL;
	}
	if (members)
		sodium_memzero(members, n * sizeof(*members));
	free(members);
	return err;
}

int etcd_record_parse(const char *text, size_t len, const char *name, const char *where,
		      const struct config *config, struct member *ret, struct config_faults *faults)
{
	struct config_reading r = {.file = where, .faults = faults};
	json_error_t why;
	json_t *record = len > ETCD_RECORD_MAX ? NULL : load(text, len, &why);
	char *peers;
	int err;

	if (!json_is_object(record)) {
		if (len > ETCD_RECORD_MAX)
			config_fault_file(&r, "is too long; allowed: %d bytes", ETCD_RECORD_MAX);
		else
			config_fault_file(&r, "is no JSON object: %s", record ? "" : why.text);
		json_decref(record);
		return -EINVAL;
	}
	peers = as_peers(record, name, config);
	err = peers ? parse_peer(peers, where, config, ret, faults) : -ENOMEM;
	if (!err)
		ret->since = since_of(record);
	free(peers);
	json_decref(record);
	return err;
}

bool etcd_record_identity(const char *text, size_t len, uint8_t ret_public_key[NODE_KEY_LEN],
			  uint64_t *ret_since)
{
	json_error_t why;
	json_t *record = load(text, len, &why);
	const char *key = json_string_value(json_object_get(record, "public_key"));
	const bool ok = key && key_parse(key, ret_public_key) && since_of(record);

	if (ok)
		*ret_since = since_of(record);
	json_decref(record);
	return ok;
}
