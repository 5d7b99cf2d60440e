/* SPDX-License-Identifier: Apache-2.0 */
#include "port.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crew.h"
#include "lane.h"
#include "log.h"
#include "offload/be.h"
#include "offload/neigh.h"
#include "offload/vxlan.h"

enum { VNI_MAX = (1 << 24) - 1, DSCP_MAX = 63, READ_MAX_FIRST = 8 };

void port_config_default(struct port_config *config)
{
	*config = (struct port_config){
		.kind = PORTDEV_AUTO,
		.udp_port = PORT_UDP_PORT,
		.ttl = PORT_TTL,
		.fdb = {.limit = PORT_FDB_LIMIT,
			.learned_limit = PORT_FDB_LIMIT,
			.learning = true,
			.age_ns = PORT_AGE_S * NSEC_PER_SEC},
	};
}

/* Finding */

static unsigned bucket_of(uint16_t udp_port, uint32_t vni)
{
	return (vni ^ vni >> 8 ^ udp_port) % PORT_BUCKETS;
}

struct port *port_find(const struct lane *lane, const char *name)
{
	struct port *port;

	TAILQ_FOREACH (port, &lane->ports.list, entry) {
		if (!strcmp(port->config.name, name))
			return port;
	}
	return NULL;
}

static struct port *find_key(const struct lane *lane, const struct vtep *local, uint16_t udp_port,
			     uint32_t vni)
{
	struct port *port = lane->ports.bucket[bucket_of(udp_port, vni)];

	while (port && (port->config.vni != vni || port->config.udp_port != udp_port ||
			!vtep_equal(&port->config.local, local)))
		port = port->next_in_bucket;
	return port;
}

static void enter_bucket(struct lane *lane, struct port *port)
{
	struct port **slot =
		&lane->ports.bucket[bucket_of(port->config.udp_port, port->config.vni)];

	port->next_in_bucket = *slot;
	*slot = port;
}

static void leave_bucket(struct lane *lane, struct port *port)
{
	struct port **slot =
		&lane->ports.bucket[bucket_of(port->config.udp_port, port->config.vni)];

	while (*slot != port)
		slot = &(*slot)->next_in_bucket;
	*slot = port->next_in_bucket;
}

static struct vtep destination(const uint8_t *ip, const struct ip_view *v)
{
	struct vtep ret = {.addr_len = v->addr_len};

	memcpy(ret.addr, ip + v->dst_off, v->addr_len);
	return ret;
}

struct port *port_match(const struct lane *lane, const uint8_t *ip, const struct ip_view *v,
			uint32_t *ret_off)
{
	const uint8_t *udp = ip + v->l4_off;
	struct vxlan_view vxlan;
	struct vtep local;
	struct port *port;
	uint16_t udp_port;

	if (v->proto != IP_PROTO_UDP || !v->has_l4 || v->fragment ||
	    v->total_len - v->l4_off < VXLAN_OUTER4_LEN - IPV4_HDR_MIN_LEN)
		return NULL;
	udp_port = be16_load(udp + 2);
	local = destination(ip, v);
	port = find_key(lane, &local, udp_port, be32_load(udp + 12) >> 8);
	if (!port || !vxlan_parse(ip, v, udp_port, &vxlan))
		return NULL;
	*ret_off = vxlan.frame_off;
	return port;
}

bool port_is_fragment(const struct lane *lane, const uint8_t *ip, const struct ip_view *v)
{
	const struct port *port;
	struct vtep local;

	if (!v->fragment || !v->first_fragment || !v->has_l4 || v->proto != IP_PROTO_UDP ||
	    v->total_len - v->l4_off < 4)
		return false;
	local = destination(ip, v);
	TAILQ_FOREACH (port, &lane->ports.list, entry) {
		if (port->config.udp_port == be16_load(ip + v->l4_off + 2) &&
		    vtep_equal(&port->config.local, &local))
			return true;
	}
	return false;
}

/* Checking */

static bool is_v4_mapped(const struct vtep *a)
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	return a->addr_len == 16 && !memcmp(a->addr, prefix, sizeof(prefix));
}

/* Names are the kernel's to judge; NULL: all is in range. */
static const char *out_of_range(const struct port_config *c)
{
	if (!neigh_is_host(c->local.addr, c->local.addr_len))
		return "vtep: must be the address of a host";
	if (is_v4_mapped(&c->local))
		return "vtep: an IPv4 address is written without ::ffff:";
	if (!c->udp_port)
		return "udp_port: must be 1 to 65535";
	if (c->vni > VNI_MAX)
		return "vni: must be 0 to 16777215";
	if (!c->ttl)
		return "ttl: must be 1 to 255";
	if (c->dscp > DSCP_MAX)
		return "dscp: must be 0 to 63";
	if (c->mtu && (c->mtu < PORT_MTU_MIN || c->mtu > PORT_MTU_MAX))
		return "mtu: must be 68 to 65535";
	if (!c->name[0])
		return "name: must not be empty";
	return NULL;
}

/* @self: the port it is for, NULL when that is still to be made. */
static int check_config(const struct lane *lane, const struct port_config *config,
			const struct port *self, char err_text[PORT_ERR_LEN])
{
	const char *wrong = out_of_range(config);
	const struct port *other;

	if (wrong) {
		snprintf(err_text, PORT_ERR_LEN, "%s", wrong);
		return -EINVAL;
	}
	other = find_key(lane, &config->local, config->udp_port, config->vni);
	if (other && other != self) {
		snprintf(err_text, PORT_ERR_LEN, "port %s has this VTEP, UDP port and VNI already",
			 other->config.name);
		return -EEXIST;
	}
	if (!self && port_find(lane, config->name)) {
		snprintf(err_text, PORT_ERR_LEN, "there is a port %s already", config->name);
		return -EEXIST;
	}
	return 0;
}

/* Making and removing */

/* The flow-independent half of what its device takes; limits come with each
 * delivery (port_ingress.c). */
static int init_queue(struct port *port, struct port_queue *q)
{
	q->port = port;
	q->read_max = READ_MAX_FIRST;
	/* Numbers of two workers are far apart, for a packet may be fragmented. */
	q->ip_id = (uint16_t)((q - port->queue) * (1 << 16) / port->lane->n_workers);
	q->gro = port->lane->offload.port_gro;
	q->gro.encap = &port->lane->encap;
	return port_out_new(&q->out);
}

static int make_queues(struct port *port)
{
	const unsigned n = port->lane->n_workers;
	int err = 0;

	port->queue = calloc(n, sizeof(*port->queue));
	if (!port->queue)
		return -ENOMEM;
	for (unsigned i = 0; i < n && !err; i++)
		err = init_queue(port, &port->queue[i]);
	return err;
}

static int make_tables(struct port *port)
{
	const struct lane *lane = port->lane;
	uint8_t hash_key[16];
	int err;

	lane->env->random(lane->env->ctx, hash_key, sizeof(hash_key));
	err = fdb_new(&port->config.fdb, hash_key, &port->fdb);
	if (err)
		return err;
	err = make_queues(port);
	if (err)
		return err;
	lane->env->random(lane->env->ctx, hash_key, sizeof(hash_key));
	return neightab_new(PORT_NEIGHBOURS_MAX, hash_key, &port->neighbours);
}

static void free_port(struct port *port)
{
	fdb_free(port->fdb);
	neightab_free(port->neighbours);
	for (unsigned i = 0; port->queue && i < port->lane->n_workers; i++)
		port_out_free(port->queue[i].out);
	free(port->queue);
	free(port);
}

static int open_device(struct port *port, char err_text[PORT_ERR_LEN])
{
	const struct port_env *env = port->lane->port_env;
	int err = env->open(env->ctx, port, &port->io, err_text);

	if (err)
		return err;
	for (unsigned i = 0; i < port->lane->n_workers; i++) {
		struct port_queue *q = &port->queue[i];

		port_mac(port, q->mac);
		if (!q->io_ctx)
			q->io_ctx = port->io.ctx;
	}
	return 0;
}

static int make_batch(struct worker *w)
{
	return w->port_batch ? 0 : port_batch_new(&w->port_batch);
}

static int make_batches(struct lane *lane)
{
	int err = make_batch(&lane->self);

	for (unsigned i = 0; i < crew_len(lane->crew) && !err; i++)
		err = make_batch(crew_worker(lane->crew, i));
	return err;
}

static int new_checked(struct lane *lane, const struct port_config *config, struct port **ret,
		       char err_text[PORT_ERR_LEN])
{
	struct port *port;
	int err = make_batches(lane);

	port = err ? NULL : calloc(1, sizeof(*port));
	if (!port) {
		snprintf(err_text, PORT_ERR_LEN, "out of memory");
		return -ENOMEM;
	}
	port->lane = lane;
	port->config = *config;
	err = make_tables(port);
	if (err)
		snprintf(err_text, PORT_ERR_LEN, "tables of %zu entries: %s", config->fdb.limit,
			 strerror(-err));
	else
		err = open_device(port, err_text);
	if (err) {
		free_port(port);
		return err;
	}
	*ret = port;
	return 0;
}

int port_new(struct lane *lane, const struct port_config *config, struct port **ret,
	     char err_text[PORT_ERR_LEN])
{
	int err = check_config(lane, config, NULL, err_text);

	if (err)
		return err;
	if (!lane->port_env) {
		snprintf(err_text, PORT_ERR_LEN, "this lane makes no ports");
		return -EOPNOTSUPP;
	}
	if (lane->ports.n >= PORTS_MAX) {
		snprintf(err_text, PORT_ERR_LEN, "a lane has at most %d ports", PORTS_MAX);
		return -ENOSPC;
	}
	err = new_checked(lane, config, ret, err_text);
	if (err)
		return err;
	TAILQ_INSERT_TAIL(&lane->ports.list, *ret, entry);
	enter_bucket(lane, *ret);
	lane->ports.n++;
	return 0;
}

void port_remove(struct lane *lane, struct port *port)
{
	TAILQ_REMOVE(&lane->ports.list, port, entry);
	leave_bucket(lane, port);
	lane->ports.n--;
	lane->port_env->close(lane->port_env->ctx, &port->io);
	free_port(port);
}

void port_remove_all(struct lane *lane)
{
	struct port *port;

	while ((port = TAILQ_FIRST(&lane->ports.list)))
		port_remove(lane, port);
}

void port_note_gone(struct port *port)
{
	struct lane *lane = port->lane;

	__atomic_store_n(&port->gone, true, __ATOMIC_RELAXED);
	if (lane->wake)
		lane->wake(lane->wake_ctx);
}

bool port_is_gone(const struct port *port)
{
	return __atomic_load_n(&port->gone, __ATOMIC_RELAXED);
}

static void reap(struct lane *lane, struct port *port)
{
	log_info("port %s: its device was deleted", port->config.name);
	lane_begin_change(lane);
	port_remove(lane, port);
	lane_end_change(lane);
}

void port_reap(struct lane *lane)
{
	struct port *port, *next;

	for (port = TAILQ_FIRST(&lane->ports.list); port; port = next) {
		next = TAILQ_NEXT(port, entry);
		if (port_is_gone(port))
			reap(lane, port);
	}
}

/* Changing */

static bool fixed_differs(const struct port_config *a, const struct port_config *b)
{
	return strcmp(a->name, b->name) != 0 || a->kind != b->kind || a->mtu != b->mtu ||
	       a->has_mac != b->has_mac || memcmp(a->mac, b->mac, sizeof(a->mac)) != 0 ||
	       a->gso_max_size != b->gso_max_size;
}

static bool key_differs(const struct port_config *a, const struct port_config *b)
{
	return a->vni != b->vni || a->udp_port != b->udp_port || !vtep_equal(&a->local, &b->local);
}

static int check_change(struct port *port, const struct port_config *config,
			char err_text[PORT_ERR_LEN])
{
	const struct port_env *env = port->lane->port_env;
	int err;

	if (fixed_differs(&port->config, config)) {
		snprintf(err_text, PORT_ERR_LEN,
			 "kind, mtu, mac and gso_max_size are given when a port is created; later "
			 "they are the device's (ip link set %s ...)",
			 port->config.name);
		return -EINVAL;
	}
	err = check_config(port->lane, config, port, err_text);
	if (!err && key_differs(&port->config, config))
		err = env->check(env->ctx, config, err_text);
	return err;
}

int port_configure(struct port *port, const struct port_config *config, char err_text[PORT_ERR_LEN])
{
	int err = check_change(port, config, err_text);

	if (err)
		return err;
	fdb_forget_aged(port->fdb, port->lane->self.now_ns);
	err = fdb_configure(port->fdb, &config->fdb);
	if (err) {
		snprintf(err_text, PORT_ERR_LEN, "fdb_limit, learned_limit or age_s: %s",
			 err == -ENOSPC ? "more static entries than that" : strerror(-err));
		return err;
	}
	leave_bucket(port->lane, port);
	port->config = *config;
	enter_bucket(port->lane, port);
	return 0;
}

struct port_stats port_sum_stats(const struct port *port)
{
	struct port_stats sum = {0};

	for (unsigned i = 0; i < port->lane->n_workers; i++) {
		const struct port_stats *s = &port->queue[i].stats;

#define X(field, help) sum.field += s->field;
		PORT_STATS_LIST(X)
#undef X
	}
	return sum;
}

void port_mac(const struct port *port, uint8_t mac[6])
{
	port->io.mac(port->io.ctx, mac);
}

void port_withdraw_merging(struct port_queue *q, const struct vnet *v)
{
	struct gro_config *gro = &q->gro;
	bool *on = v->gso == VNET_GSO_UDP    ? &gro->udp
		   : v->gso == VNET_GSO_TCP4 ? &gro->tcp4
					     : &gro->tcp6;

	q->stats.merges_refused++;
	if (*on)
		log_info("port %s: the kernel refused a merged %s packet: they are delivered "
			 "singly from now on",
			 q->port->config.name,
			 v->gso == VNET_GSO_UDP	   ? "UDP"
			 : v->gso == VNET_GSO_TCP4 ? "IPv4 TCP"
						   : "IPv6 TCP");
	*on = false;
}
