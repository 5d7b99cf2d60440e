/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The devices of VXLAN ports and their place on the loop (port.h's port_env). A
 * port whose device was deleted by the host is taken away at the end of the turn.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crew.h"
#include "daemon_internal.h"
#include "egress.h"
#include "log.h"
#include "overlay/nl.h"
#include "overlay/tun.h"
#include "overlay/vxlan.h"
#include "port_keeper.h"
#include "port_walk.h"

enum {
	BATCHES_PER_WAKEUP = 4,
	GSO_SIZE_LEGACY = 65536,
	GSO_SIZE_BIG = 196608, /* 192 KB: what was shown to work best */
};

/* An end of a port's device: the only one, or one of a worker. */
struct port_end {
	struct daemon_port *p;
	struct portdev *device;
	struct crew_source source;
};

/* A port's device, on the loop or with the crew. */
struct daemon_port {
	struct daemon *d;
	struct port *port;
	struct portdev *device;
	struct watch watch; /* without a crew */
	struct port_keeper keeper;
	unsigned n_ends;
	struct port_end end[];
};

static struct daemon_port *port_of(void *io_ctx)
{
	return ((struct port_end *)io_ctx)->p;
}

/* port_io */

static int io_read(void *ctx, struct portdev_read *r, unsigned max)
{
	struct port_end *end = ctx;

	return portdev_read(end->device, r, max);
}

static void io_write(void *ctx, struct portdev_write *w, unsigned n)
{
	struct port_end *end = ctx;

	portdev_write(end->device, w, n);
}

static struct portdev_limits io_limits(void *ctx, uint64_t now_ns)
{
	struct daemon_port *p = port_of(ctx);

	return portdev_limits(p->device, now_ns);
}

static uint64_t io_take_drops(void *ctx)
{
	struct port_end *end = ctx;

	return portdev_take_drops(end->device);
}

static void io_mac(void *ctx, uint8_t mac[6])
{
	struct daemon_port *p = port_of(ctx);

	portdev_mac_get(p->device, mac);
}

static const char *io_kind(void *ctx)
{
	struct daemon_port *p = port_of(ctx);

	return portdev_kind_of(p->device) == PORTDEV_VETH ? "veth" : "tap";
}

static const char *io_reason(void *ctx)
{
	struct daemon_port *p = port_of(ctx);

	return portdev_reason(p->device);
}

/* As long as there is something, but not longer than a turn that is used up. True: frames
 * that were read wait for the next. */
static bool run_queue(struct worker *w, struct port_queue *q)
{
	for (int i = 0; i < BATCHES_PER_WAKEUP && !port_is_gone(q->port); i++) {
		int n = egress_run_port(w, q);

		if (n == -ENODEV)
			port_note_gone(q->port);
		if (port_has_frames(q))
			return true;
		if (n <= 0 || w->out->drained)
			break;
	}
	return false;
}

/* On the loop, or while no worker is within a walk. */
static void run_port(struct daemon *d, struct port *port)
{
	d->ports_pending |= run_queue(&d->lane.self, &port->queue[d->lane.self.id]);
}

/* In a worker's thread. */
static bool run_end(struct crew_source *s, struct worker *w, uint32_t events)
{
	const struct port_end *end = s->ctx;

	(void)events;
	return run_queue(w, &end->p->port->queue[w->id]);
}

bool daemon_ports_run_pending(struct daemon *d)
{
	struct port *port;

	if (!d->ports_pending)
		return false;
	d->ports_pending = false;
	TAILQ_FOREACH (port, &d->lane.ports.list, entry) {
		if (port_has_frames(&port->queue[d->lane.self.id]))
			run_port(d, port);
	}
	return d->ports_pending;
}

static void on_port(uv_poll_t *poll, int status, int events)
{
	struct daemon_port *p = poll->data;

	(void)events;
	run_port(p->d, p->port);
	/* libuv stops to watch a socket with an error (its end of the pair was down
	 * for a moment, say), which reading has taken off by now. */
	if (status < 0 && !port_is_gone(p->port))
		uv_poll_start(poll, UV_READABLE, on_port);
}

/* port_env */

/* Room for the outer headers on the tunnel device. */
static uint32_t default_mtu(const struct lane *lane, const struct port_config *c)
{
	const uint32_t outer_len = c->local.addr_len == 4 ? 50 : 70;

	return lane->mtu > outer_len + PORT_MTU_MIN ? lane->mtu - outer_len : PORT_MTU_MIN;
}

static uint32_t gso_max_size(const struct daemon *d, const struct port_config *c)
{
	const bool big = d->offloads.state[OFFLOAD_BIG_TCP].on;

	if (!c->gso_max_size)
		return big ? GSO_SIZE_BIG : GSO_SIZE_LEGACY;
	/* A word in a command counts more than the release, not more than the
	 * environment's. */
	if (c->gso_max_size > GSO_SIZE_LEGACY && d->offloads.big_tcp_forbidden)
		return GSO_SIZE_LEGACY;
	return c->gso_max_size;
}

static struct portdev_args device_args(const struct daemon *d, const struct port_config *c)
{
	struct portdev_args args = {
		.name = c->name,
		.kind = c->kind == PORTDEV_AUTO ? d->offloads.port_kind : c->kind,
		.mtu = c->mtu ? c->mtu : default_mtu(&d->lane, c),
		.has_mac = c->has_mac,
		.gso_max_size = gso_max_size(d, c),
	};

	memcpy(args.mac, c->mac, sizeof(args.mac));
	/* Tunnel superpackets are not asked for: the kernel cuts those itself. */
	if (d->offloads.state[OFFLOAD_TUN_GSO].on)
		args.offloads = TUN_OFFLOAD_CSUM | TUN_OFFLOAD_TSO | TUN_OFFLOAD_USO;
	return args;
}

static int check(void *ctx, const struct port_config *c, char err_text[PORT_ERR_LEN])
{
	struct daemon *d = ctx;
	char name[IFNAMSIZ];
	int n = vxlan_listens(d->nl, c->local.addr, c->local.addr_len, c->udp_port, name);

	if (n > 0) {
		snprintf(err_text, PORT_ERR_LEN,
			 "the kernel's VXLAN device %s has this VTEP and UDP port", name);
		return -EADDRINUSE;
	}
	if (n < 0)
		snprintf(err_text, PORT_ERR_LEN, "cannot list VXLAN devices: %s", strerror(-n));
	return n;
}

static int give_to_loop(struct daemon_port *p)
{
	int err = watch_open(p->d, &p->watch, portdev_fd(p->device), on_port);

	p->end[0].device = p->device;
	if (!err)
		p->watch.poll->data = p;
	return err;
}

/* A device with one end is read by the first worker and written by all. */
static int give_end(struct daemon_port *p, unsigned i)
{
	struct port_end *end = &p->end[i];
	int err = i ? portdev_open_queue(p->device, &end->device) : 0;

	if (!i || err == -EOPNOTSUPP)
		end->device = p->device;
	if (err == -EOPNOTSUPP)
		return 0;
	end->source = (struct crew_source){
		.fd = err ? -1 : portdev_fd(end->device), .ctx = end, .run = run_end};
	return err ? err : crew_watch(p->d->crew, i, &end->source);
}

static int give_to_crew(struct daemon_port *p)
{
	int err = 0;

	for (unsigned i = 0; i < p->n_ends && !err; i++)
		err = give_end(p, i);
	return err;
}

static void take_from_crew(struct daemon_port *p)
{
	for (unsigned i = 0; i < p->n_ends; i++) {
		struct port_end *end = &p->end[i];

		crew_unwatch(p->d->crew, i, &end->source);
		if (end->device != p->device)
			portdev_close_queue(end->device);
	}
}

static int open_device(struct daemon_port *p, char err_text[PORT_ERR_LEN])
{
	const struct portdev_args args = device_args(p->d, &p->port->config);
	int err = portdev_open(&args, p->d->nl, &p->device, err_text);

	if (err)
		return err;
	err = port_keeper_open(&p->keeper, &p->d->lane, &p->d->loop, p->port->config.name,
			       p->device);
	if (!err)
		err = p->d->crew ? give_to_crew(p) : give_to_loop(p);
	if (err) {
		snprintf(err_text, PORT_ERR_LEN, "cannot watch the device: %s", strerror(-err));
		return err;
	}
	log_info("port %s: %s (%s)", args.name, io_kind(&p->end[0]), portdev_reason(p->device));
	return 0;
}

static void close_port(void *ctx, struct port_io *io)
{
	struct daemon_port *p = port_of(io->ctx);
	const struct daemon *d = ctx;

	watch_close(&p->watch);
	if (d->crew)
		take_from_crew(p);
	port_keeper_close(&p->keeper);
	if (d->leave_ports && p->device)
		portdev_leave(p->device);
	else
		portdev_close(p->device);
	free(p);
}

static struct daemon_port *new_port(struct daemon *d, struct port *port)
{
	const unsigned n = port->lane->n_workers;
	struct daemon_port *p = calloc(1, sizeof(*p) + n * sizeof(p->end[0]));

	if (!p)
		return NULL;
	p->d = d;
	p->port = port;
	p->n_ends = n;
	for (unsigned i = 0; i < n; i++) {
		p->end[i].p = p;
		port->queue[i].io_ctx = &p->end[i];
	}
	return p;
}

static int open_port(void *ctx, struct port *port, struct port_io *ret, char err_text[PORT_ERR_LEN])
{
	struct daemon_port *p;
	int err = check(ctx, &port->config, err_text);

	if (err)
		return err;
	p = new_port(ctx, port);
	if (!p) {
		snprintf(err_text, PORT_ERR_LEN, "out of memory");
		return -ENOMEM;
	}
	*ret = (struct port_io){
		.ctx = &p->end[0],
		.read = io_read,
		.write = io_write,
		.limits = io_limits,
		.take_drops = io_take_drops,
		.mac = io_mac,
		.kind = io_kind,
		.reason = io_reason,
	};
	err = open_device(p, err_text);
	if (err)
		close_port(ctx, ret);
	return err;
}

void daemon_ports_link_gone(struct daemon *d, int ifindex)
{
	struct port *port;

	TAILQ_FOREACH (port, &d->lane.ports.list, entry) {
		const struct daemon_port *p = port_of(port->io.ctx);

		if (portdev_lane_ifindex(p->device) == ifindex)
			run_port(d, port);
	}
}

void daemon_ports_link_changed(struct daemon *d, int ifindex)
{
	struct port *port;

	TAILQ_FOREACH (port, &d->lane.ports.list, entry) {
		struct daemon_port *p = port_of(port->io.ctx);

		if (!port_is_gone(port) && (!ifindex || portdev_has_end(p->device, ifindex)))
			port_keeper_look(&p->keeper);
	}
}

void daemon_ports_qdisc_changed(struct daemon *d, int ifindex)
{
	struct port *port;

	TAILQ_FOREACH (port, &d->lane.ports.list, entry) {
		const struct daemon_port *p = port_of(port->io.ctx);
		int held;

		if (ifindex && portdev_lane_ifindex(p->device) != ifindex)
			continue;
		held = portdev_hold(p->device);
		if (held > 0)
			log_info("port %s: somebody opened its lane end to the host's stack; "
				 "closed again",
				 port->config.name);
		else if (held < 0 && held != -ENODEV)
			log_error("port %s: its lane end is open to the host's stack and cannot "
				  "be closed: %s",
				  port->config.name, strerror(-held));
	}
}

void daemon_ports_start(struct daemon *d)
{
	d->port_env =
		(struct port_env){.ctx = d, .open = open_port, .close = close_port, .check = check};
	d->lane.port_env = &d->port_env;
}
