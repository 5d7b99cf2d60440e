/* SPDX-License-Identifier: Apache-2.0 */
#include "sim.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "agent/lane/egress.h"
#include "agent/lane/ingress.h"

/* As the daemon's loop has them (agent/lane/daemon.c). */
enum { BATCHES_PER_WAKEUP = 4, HANDSHAKES_PER_TURN = 32 };

/* More turns without the clock moving mean that a lane never comes to rest. */
enum { TURNS_MAX = 100000 };

#define WALL_CLOCK_START_NS (1700000000 * NSEC_PER_SEC)

static struct sim *alive; /* for sim_teardown() */

/* Randomness: splitmix64. */

uint64_t sim_random(struct sim *sim)
{
	uint64_t z = sim->random_state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

bool sim_chance(struct sim *sim, unsigned per_thousand)
{
	return per_thousand && sim_random(sim) % 1000 < per_thousand;
}

static void env_random(void *ctx, void *buf, size_t len)
{
	struct sim_node *node = ctx;
	uint8_t *p = buf;

	while (len--)
		*p++ = (uint8_t)(sim_random(node->sim) >> 32);
}

static uint64_t env_now_ns(void *ctx)
{
	return ((struct sim_node *)ctx)->sim->now_ns;
}

static void env_wall_clock(void *ctx, struct timespec *ret)
{
	struct sim_node *node = ctx;
	uint64_t wall_ns = WALL_CLOCK_START_NS + node->sim->now_ns + (uint64_t)node->wall_offset_ns;

	ret->tv_sec = (time_t)(wall_ns / NSEC_PER_SEC);
	ret->tv_nsec = (long)(wall_ns % NSEC_PER_SEC);
}

/* Nodes */

static void start_lane(struct sim_node *node)
{
	struct device_io device = sim_device_io;
	struct udp_io udp = sim_udp_io;

	device.ctx = udp.ctx = node;
	assert_int_equal(lane_init(&node->lane, &node->env, &device, &udp, SIM_MTU), 0);
	/* All that a new kernel offers. */
	node->lane.offload.udp_segments = UDPSEG_SEGMENTS_SAFE;
	node->lane.offload.gro.tcp4 = node->lane.offload.gro.tcp6 = true;
	node->lane.offload.gro.udp = node->lane.offload.gro.tunnel = true;
	node->lane.offload.gro.zero_csum = GRO_ZERO_CSUM_UDP_L4;
	node->lane.offload.zero_csum_forwarded = true;
	node->lane.offload.port_gro.tcp4 = node->lane.offload.port_gro.tcp6 = true;
	node->lane.offload.port_gro.udp = true;
	node->lane.port_env = &node->port_env;
	lane_set_private_key(&node->lane, node->private_key);
	assert_int_equal(lane_set_up(&node->lane, true), 0);
}

static void node_init(struct sim *sim, unsigned id)
{
	struct sim_node *node = &sim->node[id];
	const uint16_t port = (uint16_t)(SIM_PORT + id);

	node->sim = sim;
	node->id = id;
	node->env = (struct lane_env){
		.ctx = node,
		.now_ns = env_now_ns,
		.wall_clock = env_wall_clock,
		.random = env_random,
	};
	node->port_env = sim_port_env;
	node->port_env.ctx = node;
	STAILQ_INIT(&node->ports);
	node->addr[0] = sim_endpoint(AF_INET, id + 1, port);
	node->addr[1] = sim_endpoint(AF_INET6, id + 1, port);
	STAILQ_INIT(&node->inbox[0]);
	STAILQ_INIT(&node->inbox[1]);
	STAILQ_INIT(&node->from_host);
	STAILQ_INIT(&node->captured);
	env_random(node, node->private_key, sizeof(node->private_key));
	crypto_scalarmult_base(node->public_key, node->private_key);
	start_lane(node);
}

struct sim *sim_new(uint64_t seed, unsigned n)
{
	struct sim *sim = calloc(1, sizeof(*sim));

	assert_non_null(sim);
	assert_true(n <= SIM_MAX_NODES);
	assert_null(alive);
	alive = sim;
	sim->seed = sim->random_state = seed;
	sim->now_ns = 1000 * NSEC_PER_SEC;
	sim->n_nodes = n;
	sim_wire_link_all(sim, &(struct sim_link){.delay_ns = NSEC_PER_MSEC});
	for (unsigned i = 0; i < n; i++)
		node_init(sim, i);
	return sim;
}

void sim_free(struct sim *sim)
{
	for (unsigned i = 0; i < sim->n_nodes; i++)
		lane_done(&sim->node[i].lane);
	sim_host_done(sim);
	sim_ports_done(sim);
	sim_wire_done(sim);
	for (size_t i = 0; i < sim->n_events; i++) {
		free(sim->events[i]->datagram);
		free(sim->events[i]);
	}
	free(sim->events);
	alive = NULL;
	free(sim);
}

int sim_teardown(void **state)
{
	(void)state;
	sim_malloc_failures = 0;
	if (!alive)
		return 0;
	print_error("failed with seed %llu at %.6f s of simulated time\n",
		    (unsigned long long)alive->seed, (double)alive->now_ns / 1e9 - 1000);
	sim_free(alive);
	return 0;
}

struct peer *sim_peer(struct sim *sim, unsigned a, unsigned b)
{
	return peer_find(&sim->node[a].lane, sim->node[b].public_key);
}

struct peer *sim_introduce(struct sim *sim, unsigned a, unsigned b, int family)
{
	struct lane *lane = &sim->node[a].lane;
	uint8_t in4[4] = {10, 0, 0, (uint8_t)(b + 1)};
	uint8_t in6[16] = {0xfd, [15] = (uint8_t)(b + 1)};
	struct peer *peer = NULL;

	lane_refresh_clock(lane);
	assert_int_equal(peer_new(lane, sim->node[b].public_key, &peer), 0);
	assert_int_equal(allowedips_insert(&lane->allowed, in4, 4, 32, &peer->allowed), 0);
	assert_int_equal(allowedips_insert(&lane->allowed, in6, 16, 128, &peer->allowed), 0);
	if (family != AF_UNSPEC)
		peer_set_endpoint(peer, &sim->node[b].addr[family == AF_INET6]);
	return peer;
}

void sim_connect(struct sim *sim, unsigned a, unsigned b, int family)
{
	sim_introduce(sim, a, b, family);
	sim_introduce(sim, b, a, family);
}

void sim_restart(struct sim *sim, unsigned a)
{
	lane_done(&sim->node[a].lane);
	start_lane(&sim->node[a]);
}

/* Events: a binary heap, ties in the order they were made. */

static bool earlier(const struct sim_event *a, const struct sim_event *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->serial < b->serial;
}

static void swap_events(struct sim *sim, size_t a, size_t b)
{
	struct sim_event *ev = sim->events[a];

	sim->events[a] = sim->events[b];
	sim->events[b] = ev;
}

static void push_event(struct sim *sim, struct sim_event *ev)
{
	size_t i = sim->n_events++;

	if (sim->n_events > sim->events_capacity) {
		sim->events_capacity = 2 * sim->n_events;
		sim->events = reallocarray(sim->events, sim->events_capacity, sizeof(ev));
		assert_non_null(sim->events);
	}
	ev->serial = sim->next_serial++;
	sim->events[i] = ev;
	for (; i && earlier(sim->events[i], sim->events[(i - 1) / 2]); i = (i - 1) / 2)
		swap_events(sim, i, (i - 1) / 2);
}

static struct sim_event *pop_event(struct sim *sim)
{
	struct sim_event *first = sim->events[0];
	size_t i = 0, child;

	sim->events[0] = sim->events[--sim->n_events];
	while ((child = 2 * i + 1) < sim->n_events) {
		if (child + 1 < sim->n_events &&
		    earlier(sim->events[child + 1], sim->events[child]))
			child++;
		if (!earlier(sim->events[child], sim->events[i]))
			break;
		swap_events(sim, i, child);
		i = child;
	}
	return first;
}

struct sim_event *sim_event_at(struct sim *sim, uint64_t at_ns,
			       void (*fire)(struct sim *sim, struct sim_event *ev))
{
	struct sim_event *ev = calloc(1, sizeof(*ev));

	assert_non_null(ev);
	ev->at_ns = at_ns;
	ev->fire = fire;
	push_event(sim, ev);
	return ev;
}

static void fire_due(struct sim *sim)
{
	while (sim->n_events && sim->events[0]->at_ns <= sim->now_ns) {
		struct sim_event *ev = pop_event(sim);

		ev->fire(sim, ev);
		if (ev->period_ns && ev->at_ns + ev->period_ns < ev->until_ns) {
			ev->at_ns += ev->period_ns;
			push_event(sim, ev);
		} else {
			free(ev);
		}
	}
}

/* The loop */

static bool drain_sockets(struct lane *lane, int family)
{
	bool busy = false;

	for (int i = 0; i < BATCHES_PER_WAKEUP && ingress_run(&lane->self, family) > 0; i++)
		busy = true;
	return busy;
}

static bool turn(struct sim_node *node)
{
	struct lane *lane = &node->lane;
	bool busy;

	if (node->asleep)
		return false;
	busy = drain_sockets(lane, AF_INET);
	busy |= drain_sockets(lane, AF_INET6);
	busy |= egress_run(&lane->self) > 0;
	busy |= sim_ports_turn(node);
	if (lane_next_deadline(lane) <= node->sim->now_ns) {
		lane_expire(lane);
		busy = true;
	}
	if (lane->handshakes.n) {
		handshake_run(lane, HANDSHAKES_PER_TURN);
		busy = true;
	}
	lane_reap(lane);
	return busy;
}

void sim_settle(struct sim *sim)
{
	unsigned turns = 0;
	bool busy;

	do {
		busy = false;
		fire_due(sim);
		for (unsigned i = 0; i < sim->n_nodes; i++)
			busy |= turn(&sim->node[i]);
		assert_true(++turns < TURNS_MAX);
	} while (busy || (sim->n_events && sim->events[0]->at_ns <= sim->now_ns));
}

static uint64_t next_event(const struct sim *sim)
{
	uint64_t next_ns = sim->n_events ? sim->events[0]->at_ns : UINT64_MAX;

	for (unsigned i = 0; i < sim->n_nodes; i++) {
		uint64_t at_ns = lane_next_deadline(&sim->node[i].lane);

		if (!sim->node[i].asleep && at_ns < next_ns)
			next_ns = at_ns;
	}
	return next_ns;
}

void sim_run(struct sim *sim, uint64_t duration_ns)
{
	const uint64_t end_ns = sim->now_ns + duration_ns;
	uint64_t next_ns;

	sim_settle(sim);
	while ((next_ns = next_event(sim)) <= end_ns) {
		if (next_ns > sim->now_ns)
			sim->now_ns = next_ns;
		sim_settle(sim);
	}
	sim->now_ns = end_ns;
}
