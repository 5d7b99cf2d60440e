/* SPDX-License-Identifier: Apache-2.0 */
#include "config_schema.h"

#include <errno.h>
#include <stdint.h>

#include "config.h"

#define TEXT(type, key)                                                                            \
	CYAML_FIELD_STRING_PTR(#key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct type, key,   \
			       0, CYAML_UNLIMITED)
/* NOLINTBEGIN(bugprone-macro-parentheses): the name of a member takes none. */
#define LIST(type, key, max)                                                                       \
	CYAML_FIELD_SEQUENCE_COUNT(#key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct type,    \
				   key.items, key.n, &text_schema, 0, max)
/* NOLINTEND(bugprone-macro-parentheses) */
#define MAPPING(type, key, fields)                                                                 \
	CYAML_FIELD_MAPPING_PTR(#key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct type, key,  \
				fields)
#define MAPPINGS(type, key, schema, max)                                                           \
	CYAML_FIELD_SEQUENCE_COUNT(#key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct type,    \
				   key, n_##key, schema, 0, max)

static const cyaml_schema_value_t text_schema = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char *, 0, CYAML_UNLIMITED),
};

static const cyaml_schema_field_t node_fields[] = {
	TEXT(raw_node, name),	     LIST(raw_node, tunnel_addresses, 2),
	TEXT(raw_node, listen_port), TEXT(raw_node, private_key_file),
	TEXT(raw_node, endpoint),    CYAML_FIELD_END,
};

static const cyaml_schema_field_t lane_fields[] = {
	TEXT(raw_lane, interface), TEXT(raw_lane, start),   TEXT(raw_lane, fwmark),
	TEXT(raw_lane, mtu),	   TEXT(raw_lane, program), CYAML_FIELD_END,
};

static const cyaml_schema_field_t overlay_fields[] = {
	TEXT(raw_overlay, name),      TEXT(raw_overlay, type),
	TEXT(raw_overlay, vni),	      TEXT(raw_overlay, udp_port),
	TEXT(raw_overlay, family),    LIST(raw_overlay, addresses, CONFIG_ADDRESSES_MAX),
	TEXT(raw_overlay, mtu),	      TEXT(raw_overlay, ttl),
	TEXT(raw_overlay, checksum),  TEXT(raw_overlay, learning),
	TEXT(raw_overlay, flood),     TEXT(raw_overlay, answer_neighbours),
	TEXT(raw_overlay, mac),	      TEXT(raw_overlay, gso_max_size),
	TEXT(raw_overlay, fdb_limit), CYAML_FIELD_END,
};

static const cyaml_schema_value_t overlay_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct raw_overlay, overlay_fields),
};

static const cyaml_schema_field_t peer_overlay_fields[] = {
	TEXT(raw_peer_overlay, name),
	LIST(raw_peer_overlay, addresses, CONFIG_ADDRESSES_MAX),
	LIST(raw_peer_overlay, routes, CONFIG_PREFIXES_MAX),
	TEXT(raw_peer_overlay, mac),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t peer_overlay_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct raw_peer_overlay, peer_overlay_fields),
};

static const cyaml_schema_field_t peer_fields[] = {
	TEXT(raw_peer, name),
	TEXT(raw_peer, public_key),
	TEXT(raw_peer, preshared_key_file),
	TEXT(raw_peer, endpoint),
	TEXT(raw_peer, keepalive_s),
	LIST(raw_peer, tunnel_addresses, 2),
	LIST(raw_peer, allowed_ips, CONFIG_PREFIXES_MAX),
	MAPPINGS(raw_peer, overlays, &peer_overlay_schema, CONFIG_OVERLAYS_MAX),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t peer_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct raw_peer, peer_fields),
};

static const cyaml_schema_field_t etcd_fields[] = {
	LIST(raw_etcd, endpoints, CONFIG_ENDPOINTS_MAX),
	TEXT(raw_etcd, prefix),
	TEXT(raw_etcd, ca_file),
	TEXT(raw_etcd, cert_file),
	TEXT(raw_etcd, key_file),
	TEXT(raw_etcd, username),
	TEXT(raw_etcd, password_file),
	TEXT(raw_etcd, lease_ttl),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t http_fields[] = {
	TEXT(raw_http, listen),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t config_fields[] = {
	MAPPING(raw_config, node, node_fields),
	MAPPING(raw_config, lane, lane_fields),
	MAPPINGS(raw_config, overlays, &overlay_schema, CONFIG_OVERLAYS_MAX),
	MAPPINGS(raw_config, peers, &peer_schema, CONFIG_PEERS_MAX),
	MAPPING(raw_config, etcd, etcd_fields),
	MAPPING(raw_config, http, http_fields),
	TEXT(raw_config, peer_directory),
	TEXT(raw_config, log_level),
	CYAML_FIELD_END,
};

const cyaml_schema_value_t config_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct raw_config, config_fields),
};

/* No log: what libcyaml has to say was told by the walk already, and better. */
static const cyaml_config_t loader = {.mem_fn = cyaml_mem, .flags = CYAML_CFG_NO_ALIAS};

int config_schema_load(const char *text, size_t len, struct raw_config **ret)
{
	cyaml_data_t *data = NULL;
	const cyaml_err_t err = cyaml_load_data((const uint8_t *)text, len, &loader, &config_schema,
						&data, NULL);

	if (err != CYAML_OK)
		return err == CYAML_ERR_OOM ? -ENOMEM : -EINVAL;
	if (!data) { /* libcyaml's answer to a mapping without keys */
		data = cyaml_mem(NULL, NULL, sizeof(struct raw_config));
		if (!data)
			return -ENOMEM;
		*(struct raw_config *)data = (struct raw_config){0};
	}
	*ret = data;
	return 0;
}

void config_schema_free(struct raw_config *raw)
{
	if (raw)
		cyaml_free(&loader, &config_schema, raw, 0);
}
