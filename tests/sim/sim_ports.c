/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_ports.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/lane/egress.h"
#include "offload/ether.h"
#include "offload/gso.h"
#include "offload/ip.h"
#include "sim.h"

enum { BATCHES_PER_WAKEUP = 4, JUMBO_LEN = 8 };

/* The device */

/* A tag comes apart from the frame and a jumbo header with it: both move its
 * beginning (portdev.h). */
static uint8_t *place(const struct portdev_read *r, const struct sim_frame *f)
{
	uint16_t type = 0;

	if (f->len >= ETHER_HDR_LEN)
		ether_l2_len(f->data, f->len, &type);
	if (type == ETHER_IPV6 && f->len > IO_PACKET_MAX)
		return r->frame + JUMBO_LEN;
	if (f->len >= ETHER_HDR_LEN && f->data[12] != 0x08 && f->data[12] != 0x86)
		return r->frame - ETHER_TAG_LEN;
	return r->frame;
}

static int device_read(void *ctx, struct portdev_read *r, unsigned max)
{
	struct sim_port *p = ctx;
	struct sim_frame *f;
	unsigned n;

	if (p->deleted)
		return -ENODEV;
	for (n = 0; n < max && (f = STAILQ_FIRST(&p->from_host)); n++) {
		STAILQ_REMOVE_HEAD(&p->from_host, entry);
		assert_true(f->len <= PORTDEV_FRAME_MAX);
		memset(r[n].frame - PORTDEV_HEADROOM, 0xee, PORTDEV_HEADROOM);
		r[n].frame = place(&r[n], f);
		memcpy(r[n].frame, f->data, f->len);
		r[n].len = f->drop ? 0 : f->len;
		r[n].vnet = f->vnet;
		r[n].drop = f->drop;
		free(f);
	}
	return (int)n;
}

static void keep(struct sim_port *p, const uint8_t *l2, uint32_t len, const uint8_t *packet,
		 uint32_t packet_len)
{
	struct sim_frame *f = calloc(1, sizeof(*f) + len + packet_len);

	assert_non_null(f);
	f->len = len + packet_len;
	memcpy(f->data, l2, len);
	memcpy(f->data + len, packet, packet_len);
	STAILQ_INSERT_TAIL(&p->to_host, f, entry);
}

/* The host cuts it where it must, so it must be possible. */
static void receive_super(struct sim_port *p, const uint8_t *frame, uint32_t len,
			  const struct vnet *vnet)
{
	static uint8_t segment[IO_PACKET_MAX];
	struct vnet v = *vnet;
	uint32_t l2_len, max;
	struct gso gso;
	uint16_t type;

	l2_len = ether_l2_len(frame, len, &type);
	max = type == ETHER_IPV4 ? p->limits.max_len4 : p->limits.max_len6;
	assert_in_range(len, l2_len + 1, max);
	assert_int_equal(v.tunnel, VNET_TUNNEL_NONE);
	assert_true(v.csum_start > l2_len && v.hdr_len > v.csum_start);
	v.csum_start = (uint16_t)(v.csum_start - l2_len);
	assert_true(vnet_check(&v, frame + l2_len, len - l2_len));
	assert_true(gso_begin(&gso, frame + l2_len, len - l2_len, &v));
	assert_in_range(gso.n_segments, 2, p->limits.max_segs);
	p->superpackets++;
	while ((len = gso_next(&gso, segment)))
		keep(p, frame, l2_len, segment, len);
}

static int refusal(struct sim_port *p, const struct portdev_write *w)
{
	if (p->deleted)
		return -ENODEV;
	if (p->merged_err && w->vnet.gso != VNET_GSO_NONE)
		return p->merged_err;
	if (!p->n_write_errs)
		return 0;
	if (p->n_write_errs != SIM_ALWAYS)
		p->n_write_errs--;
	return p->write_err;
}

static void write_one(struct sim_port *p, struct portdev_write *w)
{
	static const struct vnet plain;
	static uint8_t whole[PORTDEV_FRAME_MAX];
	uint32_t len = 0;

	w->err = refusal(p, w);
	if (w->err)
		return;
	for (unsigned i = 0; i < w->n_iov; i++) {
		assert_true(len + w->iov[i].iov_len <= sizeof(whole));
		memcpy(whole + len, w->iov[i].iov_base, w->iov[i].iov_len);
		len += (uint32_t)w->iov[i].iov_len;
	}
	p->frames++;
	if (len > p->longest)
		p->longest = len;
	if (w->vnet.gso != VNET_GSO_NONE) {
		receive_super(p, whole, len, &w->vnet);
		return;
	}
	assert_memory_equal(&w->vnet, &plain, sizeof(plain));
	keep(p, whole, len, whole, 0);
}

static void device_write(void *ctx, struct portdev_write *w, unsigned n)
{
	assert_in_range(n, 1, PORTDEV_BATCH_MAX);
	for (unsigned i = 0; i < n; i++)
		write_one(ctx, &w[i]);
}

static struct portdev_limits device_limits(void *ctx, uint64_t now_ns)
{
	struct sim_port *p = ctx;

	assert_int_equal(now_ns, p->node->sim->now_ns);
	return p->limits;
}

static uint64_t device_take_drops(void *ctx)
{
	struct sim_port *p = ctx;
	uint64_t n = p->kernel_drops;

	p->kernel_drops = 0;
	return n;
}

static void device_mac(void *ctx, uint8_t mac[6])
{
	memcpy(mac, ((struct sim_port *)ctx)->mac, 6);
}

static const char *device_text(void *ctx)
{
	(void)ctx;
	return "simulated";
}

static int env_open(void *ctx, struct port *port, struct port_io *ret, char err_text[PORT_ERR_LEN])
{
	struct sim_port *p = calloc(1, sizeof(*p));

	(void)err_text;
	assert_non_null(p);
	p->node = ctx;
	p->port = port;
	p->limits = (struct portdev_limits){SIM_BIG, SIM_BIG, GRO_PIECES_MAX};
	memcpy(p->mac, (const uint8_t[6]){2, 0xff, [5] = (uint8_t)p->node->id}, 6);
	STAILQ_INIT(&p->from_host);
	STAILQ_INIT(&p->to_host);
	STAILQ_INSERT_TAIL(&p->node->ports, p, entry);
	*ret = (struct port_io){
		.ctx = p,
		.read = device_read,
		.write = device_write,
		.limits = device_limits,
		.take_drops = device_take_drops,
		.mac = device_mac,
		.kind = device_text,
		.reason = device_text,
	};
	return 0;
}

static void env_close(void *ctx, struct port_io *io)
{
	struct sim_port *p = io->ctx;

	(void)ctx;
	assert_non_null(p->port);
	p->port = NULL;
}

static int env_check(void *ctx, const struct port_config *config, char err_text[PORT_ERR_LEN])
{
	(void)ctx;
	(void)config;
	(void)err_text;
	return 0;
}

const struct port_env sim_port_env = {.open = env_open, .close = env_close, .check = env_check};

static bool run_batches(struct lane *lane, struct port *port)
{
	bool busy = false;

	for (int i = 0; i < BATCHES_PER_WAKEUP && !port->gone; i++) {
		int n = egress_run_port(&lane->self, &port->queue[0]);

		if (n == -ENODEV)
			port->gone = true;
		if (n <= 0)
			break;
		busy = true;
	}
	return busy;
}

bool sim_ports_turn(struct sim_node *node)
{
	struct lane *lane = &node->lane;
	struct port *port;
	bool busy = false;

	TAILQ_FOREACH (port, &lane->ports.list, entry)
		busy |= run_batches(lane, port);
	port_reap(lane);
	return busy;
}

static void empty(struct sim_frames *list)
{
	struct sim_frame *f;

	while ((f = STAILQ_FIRST(list))) {
		STAILQ_REMOVE_HEAD(list, entry);
		free(f);
	}
}

void sim_ports_done(struct sim *sim)
{
	struct sim_port *p;

	for (unsigned i = 0; i < sim->n_nodes; i++) {
		while ((p = STAILQ_FIRST(&sim->node[i].ports))) {
			STAILQ_REMOVE_HEAD(&sim->node[i].ports, entry);
			empty(&p->from_host);
			empty(&p->to_host);
			free(p);
		}
	}
}

/* Making ports */

struct vtep sim_vtep(unsigned node, int version)
{
	if (version == 4)
		return (struct vtep){.addr = {10, 0, 0, (uint8_t)(node + 1)}, .addr_len = 4};
	return (struct vtep){.addr = {0xfd, [15] = (uint8_t)(node + 1)}, .addr_len = 16};
}

struct port_config sim_port_config(unsigned node, int version)
{
	struct port_config c;

	port_config_default(&c);
	c.local = sim_vtep(node, version);
	c.vni = SIM_VNI;
	c.checksum = version == 6;
	return c;
}

struct sim_port *sim_port_new(struct sim *sim, unsigned node, const struct port_config *config)
{
	struct lane *lane = &sim->node[node].lane;
	struct port_config c = *config;
	char err_text[PORT_ERR_LEN] = "";
	struct port *port = NULL;

	if (!c.name[0])
		snprintf(c.name, sizeof(c.name), "port%u", lane->ports.n);
	lane_refresh_clock(lane);
	if (port_new(lane, &c, &port, err_text))
		fail_msg("port_new: %s", err_text);
	return port->io.ctx;
}

void sim_port_pair(struct sim *sim, int version, struct sim_port *ret[2])
{
	uint8_t mac[6];

	for (unsigned i = 0; i < 2; i++) {
		const struct port_config c = sim_port_config(i, version);
		const struct vtep other = sim_vtep(!i, version);

		ret[i] = sim_port_new(sim, i, &c);
		sim_mac(!i + 1, mac);
		assert_int_equal(fdb_set(ret[i]->port->fdb, mac, &other), 0);
		assert_int_equal(fdb_flood_add(ret[i]->port->fdb, &other), 0);
	}
}

/* Sending and expecting */

void sim_port_send(struct sim_port *p, const struct sim_frame *frame)
{
	struct sim_frame *copy = sim_frame_of_bytes(frame->data, frame->len);

	copy->vnet = frame->vnet;
	copy->drop = frame->drop;
	STAILQ_INSERT_TAIL(&p->from_host, copy, entry);
}

void sim_port_send_bytes(struct sim_port *p, const void *frame, size_t len)
{
	struct sim_frame *f = sim_frame_of_bytes(frame, len);

	STAILQ_INSERT_TAIL(&p->from_host, f, entry);
}

struct sim_frame *sim_port_take(struct sim_port *p)
{
	struct sim_frame *f = STAILQ_FIRST(&p->to_host);

	if (f)
		STAILQ_REMOVE_HEAD(&p->to_host, entry);
	return f;
}

/* The link layer, and of IP what gro.h says a flow is. */
static bool same_flow(const struct sim_frame *a, const uint8_t *frame, size_t len)
{
	uint16_t type, other_type;
	uint32_t l2_len, proto, from, n;

	if (a->len < ETHER_HDR_LEN || len < ETHER_HDR_LEN)
		return false;
	l2_len = ether_l2_len(frame, (uint32_t)len, &type);
	if (ether_l2_len(a->data, a->len, &other_type) != l2_len ||
	    memcmp(a->data, frame, l2_len) != 0)
		return false;
	if (type != ETHER_IPV4 && type != ETHER_IPV6)
		return true;
	proto = l2_len + (type == ETHER_IPV4 ? 9 : 6);
	from = l2_len + (type == ETHER_IPV4 ? 12 : 8);
	n = type == ETHER_IPV4 ? 8 + 4 : 32 + 4; /* addresses, ports */
	if (len < from + n || a->len < from + n)
		return true;
	return a->data[proto] == frame[proto] && !memcmp(a->data + from, frame + from, n);
}

void sim_expect_bytes(struct sim_port *p, const uint8_t *frame, size_t len)
{
	struct sim_frame *f;

	STAILQ_FOREACH (f, &p->to_host, entry) {
		if (same_flow(f, frame, len))
			break;
	}
	assert_non_null(f);
	assert_int_equal(f->len, len);
	assert_memory_equal(f->data, frame, len);
	STAILQ_REMOVE(&p->to_host, f, sim_frame, entry);
	free(f);
}

void sim_expect(struct sim_port *p, const struct sim_frame *sent)
{
	sim_expect_cut(p, sent, sent->vnet.gso_size);
}

void sim_expect_cut(struct sim_port *p, const struct sim_frame *sent, uint16_t gso_size)
{
	static uint8_t segment[ETHER_L2_MAX + IO_PACKET_MAX];
	struct vnet v = sent->vnet;
	struct gso gso;
	uint32_t l2_len, len;
	uint16_t type;

	if (!v.needs_csum) {
		sim_expect_bytes(p, sent->data, sent->len);
		return;
	}
	l2_len = ether_l2_len(sent->data, sent->len, &type);
	memcpy(segment, sent->data, l2_len);
	v.gso_size = gso_size;
	v.csum_start = (uint16_t)(v.csum_start - l2_len);
	assert_true(gso_begin(&gso, sent->data + l2_len, sent->len - l2_len, &v));
	while ((len = gso_next(&gso, segment + l2_len)))
		sim_expect_bytes(p, segment, l2_len + len);
}

void sim_expect_nothing(struct sim_port *p)
{
	assert_true(STAILQ_EMPTY(&p->to_host));
}
