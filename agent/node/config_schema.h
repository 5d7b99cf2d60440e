/* SPDX-License-Identifier: Apache-2.0 */
/* The form of sealane.yaml as libcyaml takes it: every value is text; NULL or no
 * entries: not given. Control thread. */
#ifndef SEALANE_NODE_CONFIG_SCHEMA_H
#define SEALANE_NODE_CONFIG_SCHEMA_H

#include <cyaml/cyaml.h>

enum { CONFIG_ADDRESSES_MAX = 64, CONFIG_PREFIXES_MAX = 4096, CONFIG_ENDPOINTS_MAX = 16 };

struct raw_list {
	char **items;
	unsigned n;
};

struct raw_node {
	char *name;
	struct raw_list tunnel_addresses;
	char *listen_port, *private_key_file, *endpoint;
};

struct raw_lane {
	char *interface, *start, *fwmark, *mtu, *program;
};

struct raw_overlay {
	char *name, *type, *vni, *udp_port, *family;
	struct raw_list addresses;
	char *mtu, *ttl, *checksum, *learning, *flood, *answer_neighbours, *mac, *gso_max_size;
	char *fdb_limit;
};

struct raw_peer_overlay {
	char *name;
	struct raw_list addresses, routes;
	char *mac;
};

struct raw_peer {
	char *name, *public_key, *preshared_key_file, *endpoint, *keepalive_s;
	struct raw_list tunnel_addresses, allowed_ips;
	struct raw_peer_overlay *overlays;
	unsigned n_overlays;
};

struct raw_etcd {
	struct raw_list endpoints;
	char *prefix, *ca_file, *cert_file, *key_file, *username, *password_file, *lease_ttl;
};

struct raw_http {
	char *listen;
};

struct raw_config {
	struct raw_node *node;
	struct raw_lane *lane;
	struct raw_overlay *overlays;
	unsigned n_overlays;
	struct raw_peer *peers;
	unsigned n_peers;
	struct raw_etcd *etcd;
	struct raw_http *http;
	char *peer_directory, *log_level;
};

extern const cyaml_schema_value_t config_schema;

/* 0 with *ret, which config_schema_free() frees; -ENOMEM; -EINVAL: not of this form. */
int config_schema_load(const char *text, size_t len, struct raw_config **ret);
void config_schema_free(struct raw_config *raw); /* NULL is fine */

#endif
