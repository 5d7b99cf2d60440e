/* SPDX-License-Identifier: Apache-2.0 */
#include "config_values.h"

#include "config.h"
#include "config_schema.h"

#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))
#define SIZE(s, member) sizeof(((struct s *)NULL)->member)

/* Key @k, @of_kind, of the raw struct @raw and the typed struct @s. */
#define ONE(raw, s, k, member, of_kind)                                                            \
	.key = #k, .kind = (of_kind), .raw_at = offsetof(struct raw, k),                           \
	.at = offsetof(struct s, member), .size = SIZE(s, member)
#define SLOTS(raw, s, k, member, of_kind) ONE(raw, s, k, member, of_kind), .shape = SHAPE_SLOTS
#define LIST(raw, s, k, of_kind)                                                                   \
	.key = #k, .kind = (of_kind), .shape = SHAPE_LIST, .raw_at = offsetof(struct raw, k),      \
	.at = offsetof(struct s, k), .beside = offsetof(struct s, n_##k),                          \
	.size = sizeof(*((struct s *)NULL)->k)
#define ENV(...)   .env = {__VA_ARGS__}
#define ONLY(type) (1u << (type))

static const struct config_word starts[] = {
	{"auto", CONFIG_START_AUTO, false},
	{"always", CONFIG_START_ALWAYS, false},
	{"never", CONFIG_START_NEVER, false},
	{0},
};

static const struct config_word types[] = {
	{"port", CONFIG_PORT, false},
	{"vxlan", CONFIG_VXLAN, false},
	{"geneve", CONFIG_GENEVE, false},
	{"bareudp", CONFIG_BAREUDP, false},
	{0},
};

static const struct config_word families[] = {
	{"ipv4", false, false},
	{"ipv6", true, false},
	{0},
};

static const struct config_word checksums[] = {
	{"auto", CONFIG_CHECKSUM_AUTO, false},
	{"on", CONFIG_CHECKSUM_ON, false},
	{"off", CONFIG_CHECKSUM_OFF, false},
	{0},
};

/* LOG_LEVEL is the lane's variable, too, and may hold the lane's words. */
static const struct config_word levels[] = {
	{"error", CONFIG_LOG_ERROR, false},
	{"info", CONFIG_LOG_INFO, false},
	{"debug", CONFIG_LOG_DEBUG, false},
	{"silent", CONFIG_LOG_ERROR, true},
	{"warn", CONFIG_LOG_ERROR, true},
	{"verbose", CONFIG_LOG_DEBUG, true},
	{0},
};

static const struct config_value top[] = {
	{ONE(raw_config, config, peer_directory, peer_directory, KIND_PATH),
	 ENV("SEALANE_PEER_DIRECTORY")},
	{ONE(raw_config, config, log_level, log, KIND_WORD), .words = levels, .preset = "info",
	 ENV("LOG_LEVEL")},
};

/* The name's preset is the host's (config_check.c). */
static const struct config_value node[] = {
	{ONE(raw_node, config_node, name, name, KIND_NAME), ENV("SEALANE_NODE_NAME", "NODE_NAME")},
	{SLOTS(raw_node, config_node, tunnel_addresses, tunnel, KIND_TUNNEL), .required = true,
	 ENV("SEALANE_NODE_TUNNEL_ADDRESSES")},
	{ONE(raw_node, config_node, listen_port, listen_port, KIND_NUMBER), .preset = "51820",
	 .max = 65535, ENV("SEALANE_NODE_LISTEN_PORT")},
	{ONE(raw_node, config_node, private_key_file, private_key_file, KIND_PATH),
	 .preset = "/var/lib/sealane/private-key",
	 ENV("SEALANE_NODE_PRIVATE_KEY_FILE", "WIREGUARD_KEY_FILE")},
	{ONE(raw_node, config_node, endpoint, endpoint, KIND_ENDPOINT),
	 ENV("SEALANE_NODE_ENDPOINT")},
};

static const struct config_value lane[] = {
	{ONE(raw_lane, config_lane, interface, interface, KIND_IFNAME), .preset = "sealane0",
	 ENV("SEALANE_LANE_INTERFACE")},
	{ONE(raw_lane, config_lane, start, start, KIND_WORD), .words = starts, .preset = "auto",
	 ENV("SEALANE_LANE_START")},
	{ONE(raw_lane, config_lane, fwmark, fwmark, KIND_MARK), .max = UINT32_MAX,
	 ENV("SEALANE_LANE_FWMARK")},
	{ONE(raw_lane, config_lane, mtu, mtu, KIND_NUMBER), .or_zero = true, .min = 576,
	 .max = 65535, ENV("SEALANE_LANE_MTU")},
	{ONE(raw_lane, config_lane, program, program, KIND_PATH), ENV("SEALANE_LANE_PROGRAM")},
};

/* udp_port's preset goes by type (config_check.c). */
static const struct config_value overlay[] = {
	{ONE(raw_overlay, config_overlay, name, name, KIND_IFNAME), .required = true},
	{ONE(raw_overlay, config_overlay, type, type, KIND_WORD), .words = types, .preset = "port"},
	{ONE(raw_overlay, config_overlay, vni, vni, KIND_NUMBER), .max = (1 << 24) - 1,
	 .required = true},
	{ONE(raw_overlay, config_overlay, udp_port, udp_port, KIND_NUMBER), .min = 1, .max = 65535},
	{ONE(raw_overlay, config_overlay, family, outer6, KIND_WORD), .words = families,
	 .preset = "ipv4"},
	{LIST(raw_overlay, config_overlay, addresses, KIND_OWN_ADDRESS)},
	{ONE(raw_overlay, config_overlay, mtu, mtu, KIND_NUMBER), .or_zero = true, .min = 576,
	 .max = 65535},
	{ONE(raw_overlay, config_overlay, ttl, ttl, KIND_NUMBER), .min = 1, .max = 255,
	 .preset = "64"},
	{ONE(raw_overlay, config_overlay, checksum, checksum, KIND_WORD), .words = checksums,
	 .preset = "auto"},
	{ONE(raw_overlay, config_overlay, learning, learning, KIND_BOOL),
	 .types = ONLY(CONFIG_PORT)},
	{ONE(raw_overlay, config_overlay, flood, flood, KIND_BOOL), .preset = "true",
	 .types = ONLY(CONFIG_PORT) | ONLY(CONFIG_VXLAN) | ONLY(CONFIG_GENEVE)},
	{ONE(raw_overlay, config_overlay, answer_neighbours, answer_neighbours, KIND_BOOL),
	 .preset = "true", .types = ONLY(CONFIG_PORT)},
	{ONE(raw_overlay, config_overlay, mac, mac, KIND_MAC),
	 .beside = offsetof(struct config_overlay, has_mac),
	 .types = ONLY(CONFIG_PORT) | ONLY(CONFIG_VXLAN) | ONLY(CONFIG_GENEVE)},
	{ONE(raw_overlay, config_overlay, gso_max_size, gso_max_size, KIND_NUMBER), .or_zero = true,
	 .min = 65536, .max = 196608},
	{ONE(raw_overlay, config_overlay, fdb_limit, fdb_limit, KIND_NUMBER), .min = 1,
	 .max = 1 << 20, .preset = "65536", .types = ONLY(CONFIG_PORT)},
};

static const struct config_value peer[] = {
	{ONE(raw_peer, member, name, name, KIND_NAME), .required = true},
	{ONE(raw_peer, member, public_key, public_key, KIND_KEY), .required = true},
	{ONE(raw_peer, member, preshared_key_file, psk, KIND_KEY_FILE),
	 .beside = offsetof(struct member, has_psk)},
	{ONE(raw_peer, member, endpoint, endpoint, KIND_ENDPOINT)},
	{ONE(raw_peer, member, keepalive_s, keepalive_s, KIND_NUMBER), .max = 65535},
	{SLOTS(raw_peer, member, tunnel_addresses, tunnel, KIND_TUNNEL)},
	{LIST(raw_peer, member, allowed_ips, KIND_ALLOWED_IP)},
};

static const struct config_value peer_overlay[] = {
	{ONE(raw_peer_overlay, member_overlay, name, name, KIND_IFNAME), .required = true},
	{LIST(raw_peer_overlay, member_overlay, addresses, KIND_ADDRESS)},
	{LIST(raw_peer_overlay, member_overlay, routes, KIND_NETWORK)},
	{ONE(raw_peer_overlay, member_overlay, mac, mac, KIND_MAC),
	 .beside = offsetof(struct member_overlay, has_mac)},
};

static const struct config_value etcd[] = {
	{LIST(raw_etcd, config_etcd, endpoints, KIND_URL), ENV("SEALANE_ETCD_ENDPOINTS")},
	{ONE(raw_etcd, config_etcd, prefix, prefix, KIND_PATH), .preset = "/sealane",
	 ENV("SEALANE_ETCD_PREFIX")},
	{ONE(raw_etcd, config_etcd, ca_file, ca_file, KIND_PATH), ENV("SEALANE_ETCD_CA_FILE")},
	{ONE(raw_etcd, config_etcd, cert_file, cert_file, KIND_PATH),
	 ENV("SEALANE_ETCD_CERT_FILE")},
	{ONE(raw_etcd, config_etcd, key_file, key_file, KIND_PATH), ENV("SEALANE_ETCD_KEY_FILE")},
	{ONE(raw_etcd, config_etcd, username, username, KIND_NAME), ENV("SEALANE_ETCD_USERNAME")},
	{ONE(raw_etcd, config_etcd, password_file, password_file, KIND_PATH),
	 ENV("SEALANE_ETCD_PASSWORD_FILE")},
	{ONE(raw_etcd, config_etcd, lease_ttl, lease_ttl, KIND_NUMBER), .min = 5, .max = 31536000,
	 .preset = "86400", ENV("SEALANE_ETCD_LEASE_TTL")},
};

static const struct config_value http[] = {
	{.key = "listen",
	 .kind = KIND_LISTEN,
	 .raw_at = offsetof(struct raw_http, listen),
	 .size = sizeof(struct config_http),
	 .preset = "127.0.0.1:9586",
	 ENV("SEALANE_HTTP_LISTEN")},
};

const struct config_section config_sections[SECTION_COUNT] = {
	[SECTION_TOP] = {top, COUNT(top)},
	[SECTION_NODE] = {node, COUNT(node)},
	[SECTION_LANE] = {lane, COUNT(lane)},
	[SECTION_OVERLAY] = {overlay, COUNT(overlay)},
	[SECTION_PEER] = {peer, COUNT(peer)},
	[SECTION_PEER_OVERLAY] = {peer_overlay, COUNT(peer_overlay)},
	[SECTION_ETCD] = {etcd, COUNT(etcd)},
	[SECTION_HTTP] = {http, COUNT(http)},
};
