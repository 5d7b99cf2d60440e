/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's configuration: YAML text, then environment, then checks; typed and
 * complete, or refused with every fault that was found. sealane.yaml(5) describes it.
 * Control thread.
 */
#ifndef SEALANE_NODE_CONFIG_H
#define SEALANE_NODE_CONFIG_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "member.h"

enum config_start { CONFIG_START_AUTO, CONFIG_START_ALWAYS, CONFIG_START_NEVER };
enum config_type { CONFIG_PORT, CONFIG_VXLAN, CONFIG_GENEVE, CONFIG_BAREUDP };
enum config_checksum { CONFIG_CHECKSUM_AUTO, CONFIG_CHECKSUM_ON, CONFIG_CHECKSUM_OFF };

enum {
	CONFIG_OVERLAYS_MAX = 64,
	CONFIG_PEERS_MAX = 20000,
	CONFIG_PATH_LEN = 108 + 148,
	CONFIG_URL_LEN = 256,
};

/* `node` */
struct config_node {
	char name[NODE_NAME_LEN]; /* the host's name if not given */
	struct ip_addr tunnel[2]; /* `tunnel_addresses`: [0] IPv4, [1] IPv6; len 0: none */
	uint16_t listen_port;	  /* 51820 */
	char private_key_file[CONFIG_PATH_LEN];
	/* Where others reach this node, told to them by discovery; ss_family 0: found out. */
	struct sockaddr_storage endpoint;
};

/* `lane` */
struct config_lane {
	char interface[IFNAMSIZ]; /* sealane0 */
	enum config_start start;
	uint32_t fwmark;	       /* 0: none */
	uint32_t mtu;		       /* 0: follows the paths to the peers */
	char program[CONFIG_PATH_LEN]; /* sealaned beside the agent, else in PATH */
};

/* One of `overlays` */
struct config_overlay {
	char name[IFNAMSIZ]; /* of the device */
	enum config_type type;
	uint32_t vni;
	uint16_t udp_port;	     /* 4789, 6081, 6635 by type */
	bool outer6;		     /* `family: ipv6`: which tunnel address carries it */
	struct ip_prefix *addresses; /* of this node on it, host bits kept */
	size_t n_addresses;
	uint32_t mtu;		       /* 0: the lane's less the outer headers */
	uint8_t ttl;		       /* 64 */
	enum config_checksum checksum; /* auto: zero over IPv4, real over IPv6 */
	bool learning;		       /* port only, default false */
	bool flood;		       /* to every member; true */
	bool answer_neighbours;	       /* port only; true */
	bool has_mac;
	uint8_t mac[6];
	uint32_t gso_max_size; /* 0: as much as is known to work */
	uint32_t fdb_limit;    /* port only; 65536 */
};

struct config_url {
	char text[CONFIG_URL_LEN]; /* http or https, of an authority alone: no / at its end */
};

/* `etcd` */
struct config_etcd {
	struct config_url *endpoints;
	size_t n_endpoints;	      /* 0: no etcd */
	char prefix[CONFIG_PATH_LEN]; /* /sealane */
	char ca_file[CONFIG_PATH_LEN], cert_file[CONFIG_PATH_LEN], key_file[CONFIG_PATH_LEN];
	char username[64], password_file[CONFIG_PATH_LEN]; /* "": none, as with the files */
	uint32_t lease_ttl;				   /* seconds, a day */
};

/* `http` */
struct config_http {
	bool on;
	struct sockaddr_storage listen; /* 127.0.0.1:9586 */
};

enum config_log { CONFIG_LOG_ERROR, CONFIG_LOG_INFO, CONFIG_LOG_DEBUG };

struct config {
	struct config_node node;
	struct config_lane lane;
	struct config_overlay *overlays;
	size_t n_overlays;
	struct member *peers; /* `peers`: the static provider's members; the last is the newest */
	size_t n_peers;
	char peer_directory[CONFIG_PATH_LEN]; /* "": none */
	struct config_etcd etcd;
	struct config_http http;
	enum config_log log;
};

/*
 * Faults, one line each: "FILE:LINE: KEY: what is wrong; what is allowed", or
 * "VARIABLE=VALUE: ..." for the environment. All that can be found are told, not the
 * first alone, up to a bound. Begins as {0}.
 */
struct config_faults {
	char *text; /* lines, each with its newline; NULL: none */
	size_t n;
};
void config_faults_free(struct config_faults *f); /* and zeroes */
void config_faults_append(struct config_faults *f, const struct config_faults *more);

/*
 * Reads @path and the environment variables of @getenv_fn (getenv itself, or a test's).
 * 0; -EINVAL with @faults filled; -ENOMEM; or -errno of reading the file, which is a
 * fault, too. *ret is untouched on failure.
 */
int config_load(const char *path, char *(*getenv_fn)(const char *name), struct config **ret,
		struct config_faults *faults);
/* The same from memory; @path is for the faults. Key files of the peers
 * (`preshared_key_file`) are read. */
int config_parse(const char *text, size_t len, const char *path,
		 char *(*getenv_fn)(const char *name), struct config **ret,
		 struct config_faults *faults);
/*
 * A file of peers alone: `peers` in the configuration's grammar, and no other key. They are
 * checked against @config, which they are to be peers in; of them, one that is this node is left
 * out. *ret is an array of members; not of their since. Otherwise as config_load().
 */
int config_load_peers(const char *path, const struct config *config, struct member **ret,
		      size_t *ret_n, struct config_faults *faults);
/* The same from memory. */
int config_parse_peers(const char *text, size_t len, const char *path, const struct config *config,
		       struct member **ret, size_t *ret_n, struct config_faults *faults);
/* Wipes and frees; NULL is fine. */
void config_free(struct config *c);

const char *config_type_name(enum config_type type); /* "port", "vxlan", ... */

#endif
