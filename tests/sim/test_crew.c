/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two lanes with four workers each, on real threads: numbered packets of several flows
 * both ways while sessions are renewed and the configuration changes. Nothing may be lost,
 * doubled or overtaken. Also run with ThreadSanitizer. Time goes on with the turns of the
 * lanes' own threads, as long as something is delivered, so that a slow machine sees the
 * same as a fast one.
 */
#include <errno.h>
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "agent/lane/crew.h"
#include "agent/lane/egress.h"
#include "agent/lane/ingress.h"
#include "sim.h"

enum {
	N_WORKERS = 4,
	N_FLOWS = 8, /* a way */
	IN_FLIGHT_MAX = 1000,
	PACKET_LEN = 200,
	NUMBER_OFF = 28,
	PATIENCE_S = 30,
};

struct item {
	STAILQ_ENTRY(item) entry;
	struct endpoint from;
	uint32_t len;
	uint8_t data[];
};

/* What waits for one worker to read. */
struct box {
	pthread_mutex_t lock;
	STAILQ_HEAD(, item) items;
	struct crew_source source;
};

struct node;

/* A worker's ends of device and sockets. */
struct end {
	struct node *node;
	unsigned id;
	struct box host, net;
};

struct flow {
	pthread_mutex_t lock;
	uint32_t next; /* number that must come */
	unsigned n_wrong;
};

struct world;

struct node {
	struct world *world;
	unsigned id;
	struct lane lane;
	struct lane_env env;
	struct crew *crew;
	struct end end[N_WORKERS], control;
	struct endpoint addr;
	uint8_t private_key[WG_KEY_LEN], public_key[WG_KEY_LEN];
	struct peer *peer;
	struct flow flow[N_FLOWS]; /* to this node */
};

#define START_NS (1000 * NSEC_PER_SEC)
/* Sessions are renewed after 120 s. */
#define DURATION_NS (300 * NSEC_PER_SEC)
#define TURN_NS	    (NSEC_PER_SEC / 4)

struct world {
	struct node node[2];
	uint64_t now_ns;	      /* atomic */
	unsigned n_sent, n_delivered; /* atomic */
	unsigned n_seen;	      /* of those, at the last turn */
	bool spread;		      /* a node's workers all receive, not just the first */
};

/* Boxes */

static void box_init(struct box *b, bool (*run)(struct crew_source *, struct worker *, uint32_t))
{
	pthread_mutex_init(&b->lock, NULL);
	STAILQ_INIT(&b->items);
	b->source = (struct crew_source){.fd = eventfd(0, EFD_NONBLOCK), .ctx = b, .run = run};
	assert_true(b->source.fd >= 0);
}

static void box_put(struct box *b, const struct endpoint *from, const void *data, size_t len)
{
	struct item *it = malloc(sizeof(*it) + len);

	assert_non_null(it);
	if (from)
		it->from = *from;
	it->len = (uint32_t)len;
	memcpy(it->data, data, len);
	pthread_mutex_lock(&b->lock);
	STAILQ_INSERT_TAIL(&b->items, it, entry);
	pthread_mutex_unlock(&b->lock);
	eventfd_write(b->source.fd, 1);
}

static struct item *box_take(struct box *b)
{
	struct item *it;

	pthread_mutex_lock(&b->lock);
	it = STAILQ_FIRST(&b->items);
	if (it)
		STAILQ_REMOVE_HEAD(&b->items, entry);
	pthread_mutex_unlock(&b->lock);
	return it;
}

static void box_done(struct box *b)
{
	struct item *it;

	while ((it = box_take(b)))
		free(it);
	close(b->source.fd);
	pthread_mutex_destroy(&b->lock);
}

static bool run_host(struct crew_source *s, struct worker *w, uint32_t events)
{
	eventfd_t n;

	(void)events;
	eventfd_read(s->fd, &n);
	return egress_run(w) > 0;
}

static bool run_net(struct crew_source *s, struct worker *w, uint32_t events)
{
	eventfd_t n;

	(void)events;
	eventfd_read(s->fd, &n);
	return ingress_run(w, AF_INET) > 0;
}

/* The two ends of a lane */

static int device_read(void *ctx, struct io_read *r)
{
	struct end *end = ctx;
	struct item *it = box_take(&end->host);

	if (!it)
		return 0;
	memcpy(r->ip, it->data, it->len);
	r->len = it->len;
	r->vnet = (struct vnet){0};
	r->drop = DROP_NONE;
	free(it);
	return 1;
}

static int device_write(void *ctx, const struct vnet *vnet, const struct iovec *iov, unsigned n)
{
	struct node *node = ((struct end *)ctx)->node;
	const uint8_t *ip = iov->iov_base;
	struct flow *f = &node->flow[ip[NUMBER_OFF + 4] % N_FLOWS];
	uint32_t number;

	assert_int_equal(vnet->gso, VNET_GSO_NONE);
	assert_int_equal(n, 1);
	memcpy(&number, ip + NUMBER_OFF, sizeof(number));
	pthread_mutex_lock(&f->lock);
	f->n_wrong += number != f->next;
	f->next = number + 1;
	pthread_mutex_unlock(&f->lock);
	__atomic_fetch_add(&node->world->n_delivered, 1, __ATOMIC_RELAXED);
	return 0;
}

static int udp_receive(void *ctx, int family, struct udp_message *msgs, unsigned max)
{
	struct end *end = ctx;
	struct item *it;
	unsigned n = 0;

	(void)family;
	while (n < max && (it = box_take(&end->net))) {
		uint8_t *buf = msgs[n].buf;

		memcpy(buf, it->data, it->len);
		msgs[n++] = (struct udp_message){.buf = buf, .len = it->len, .from = it->from};
		free(it);
	}
	return (int)n;
}

/* As SO_REUSEPORT does it, all of a peer goes to one worker, unless they are to be spread. */
static void udp_send(void *ctx, struct udp_run *runs, unsigned n)
{
	struct end *from = ctx;
	struct node *node = from->node, *to = &node->world->node[!node->id];
	struct box *box = &to->end[node->world->spread ? from->id : 0].net;

	for (unsigned i = 0; i < n; i++) {
		for (uint32_t off = 0; off < runs[i].len; off += runs[i].seg_len) {
			uint32_t len = runs[i].len - off;

			box_put(box, &node->addr, runs[i].data + off,
				len < runs[i].seg_len ? len : runs[i].seg_len);
		}
	}
}

static int udp_open(void *ctx, uint16_t *port, uint32_t fwmark)
{
	(void)ctx;
	(void)fwmark;
	*port = SIM_PORT;
	return 0;
}

static void udp_close(void *ctx)
{
	(void)ctx;
}

static uint64_t now_ns(void *ctx)
{
	return __atomic_load_n(&((struct node *)ctx)->world->now_ns, __ATOMIC_RELAXED);
}

static void wall_clock(void *ctx, struct timespec *ret)
{
	const uint64_t ns = now_ns(ctx);

	ret->tv_sec = (time_t)(1700000000 + ns / NSEC_PER_SEC);
	ret->tv_nsec = (long)(ns % NSEC_PER_SEC);
}

static void random_bytes(void *ctx, void *buf, size_t len)
{
	(void)ctx;
	randombytes_buf(buf, len);
}

/* Nodes */

static struct device_io device_of(struct end *end)
{
	return (struct device_io){.ctx = end, .read = device_read, .write = device_write};
}

static struct udp_io udp_of(struct end *end)
{
	return (struct udp_io){.ctx = end,
			       .receive = udp_receive,
			       .send = udp_send,
			       .open = udp_open,
			       .close = udp_close};
}

static void end_init(struct node *node, struct end *end, unsigned id)
{
	end->node = node;
	end->id = id;
	box_init(&end->host, run_host);
	box_init(&end->net, run_net);
}

static void crew_init(struct node *node)
{
	assert_int_equal(crew_new(&node->lane, N_WORKERS, &node->crew), 0);
	for (unsigned i = 0; i < N_WORKERS; i++) {
		struct worker *w = crew_worker(node->crew, i);

		end_init(node, &node->end[i], i);
		w->device = device_of(&node->end[i]);
		w->udp = udp_of(&node->end[i]);
		assert_int_equal(crew_watch(node->crew, i, &node->end[i].host.source), 0);
		assert_int_equal(crew_watch(node->crew, i, &node->end[i].net.source), 0);
	}
}

static void node_init(struct world *world, unsigned id)
{
	struct node *node = &world->node[id];
	struct device_io device = device_of(&node->control);
	struct udp_io udp = udp_of(&node->control);

	node->world = world;
	node->id = id;
	node->env = (struct lane_env){node, now_ns, wall_clock, random_bytes};
	node->addr = sim_endpoint(AF_INET, id + 1, SIM_PORT);
	end_init(node, &node->control, 0);
	for (unsigned i = 0; i < N_FLOWS; i++)
		pthread_mutex_init(&node->flow[i].lock, NULL);
	randombytes_buf(node->private_key, sizeof(node->private_key));
	crypto_scalarmult_base(node->public_key, node->private_key);
	assert_int_equal(lane_init(&node->lane, &node->env, &device, &udp, SIM_MTU), 0);
	lane_set_private_key(&node->lane, node->private_key);
	assert_int_equal(lane_set_up(&node->lane, true), 0);
	crew_init(node);
}

static void allow(struct node *node)
{
	const uint8_t inside[4] = {10, 0, 0, (uint8_t)(!node->id + 1)};

	assert_int_equal(
		allowedips_insert(&node->lane.allowed, inside, 4, 32, &node->peer->allowed), 0);
}

static void introduce(struct node *node)
{
	const struct node *other = &node->world->node[!node->id];

	assert_int_equal(peer_new(&node->lane, other->public_key, &node->peer), 0);
	peer_set_endpoint(node->peer, &other->addr);
	allow(node);
}

static struct world *world_new(bool spread)
{
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	world->now_ns = START_NS;
	world->spread = spread;
	for (unsigned i = 0; i < 2; i++)
		node_init(world, i);
	for (unsigned i = 0; i < 2; i++)
		introduce(&world->node[i]);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(crew_start(world->node[i].crew), 0);
	return world;
}

static void world_free(struct world *world)
{
	for (unsigned i = 0; i < 2; i++)
		crew_free(world->node[i].crew);
	for (unsigned i = 0; i < 2; i++) {
		struct node *node = &world->node[i];

		lane_done(&node->lane);
		for (unsigned k = 0; k < N_WORKERS; k++) {
			box_done(&node->end[k].host);
			box_done(&node->end[k].net);
		}
		box_done(&node->control.host);
		box_done(&node->control.net);
	}
	free(world);
}

/* What is done to them */

static void send_numbered(struct world *world, unsigned from, unsigned flow, uint32_t number)
{
	struct node *node = &world->node[from];
	uint8_t ip[PACKET_LEN];

	sim_build(ip, 4, from + 1, !from + 1, 0, sizeof(ip));
	memcpy(ip + NUMBER_OFF, &number, sizeof(number));
	ip[NUMBER_OFF + 4] = (uint8_t)flow;
	box_put(&node->end[flow % N_WORKERS].host, NULL, ip, sizeof(ip));
	world->n_sent++;
}

static unsigned delivered(const struct world *world)
{
	return __atomic_load_n(&world->n_delivered, __ATOMIC_RELAXED);
}

/* What the lane's own thread does at each turn of its loop. */
static void turn(struct world *world)
{
	for (unsigned i = 0; i < 2; i++) {
		struct lane *lane = &world->node[i].lane;

		lane_lock(lane);
		if (lane_next_deadline(lane) <= now_ns(&world->node[i]))
			lane_expire(lane);
		lane_unlock(lane);
		handshake_run(lane, 32);
		lane_reap(lane);
	}
	if (delivered(world) == world->n_seen)
		return;
	world->n_seen = delivered(world);
	__atomic_fetch_add(&world->now_ns, TURN_NS, __ATOMIC_RELAXED);
}

/* Something of everything that may be set while packets are on their way, and that loses
 * none of them. */
static void change_configuration(struct world *world, unsigned n)
{
	struct node *node = &world->node[n % 2];
	const struct node *other = &world->node[!(n % 2)];

	crew_pause(node->crew);
	lane_lock(&node->lane);
	lane_refresh_clock(&node->lane);
	allowedips_remove_owner(&node->lane.allowed, &node->peer->allowed);
	allow(node);
	peer_set_keepalive(&node->lane, node->peer, (uint16_t)(n % 3));
	peer_set_endpoint(node->peer, &other->addr);
	lane_set_mtu(&node->lane, SIM_MTU - n % 2);
	lane_routes_changed(&node->lane);
	lane_unlock(&node->lane);
	crew_resume(node->crew);
}

static void tell_drops_of(const struct worker *w)
{
	for (unsigned i = DROP_NONE + 1; i < N_DROP_REASONS; i++) {
		if (w->stats.drop[i])
			print_error("%s: %llu\n", drop_name((enum drop)i),
				    (unsigned long long)w->stats.drop[i]);
	}
}

static void tell_drops(const struct world *world)
{
	for (unsigned i = 0; i < 2; i++) {
		tell_drops_of(&world->node[i].lane.self);
		for (unsigned k = 0; k < N_WORKERS; k++)
			tell_drops_of(crew_worker(world->node[i].crew, k));
	}
}

/* What was lost never comes. */
static void wait_until(struct world *world, unsigned n_in_flight)
{
	const uint64_t end_s = (uint64_t)time(NULL) + PATIENCE_S;

	turn(world);
	while (world->n_sent - delivered(world) > n_in_flight) {
		turn(world);
		sched_yield();
		if ((uint64_t)time(NULL) < end_s)
			continue;
		tell_drops(world);
		fail_msg("%u of %u packets", delivered(world), world->n_sent);
	}
}

static void carry(struct world *world)
{
	/* Where workers receive that may be behind one another, packets of a session may
	 * come after two others have replaced it, unless they are few. */
	const unsigned n_in_flight = world->spread ? IN_FLIGHT_MAX / 10 : IN_FLIGHT_MAX;

	uint32_t number;

	for (number = 0; now_ns(world->node) < START_NS + DURATION_NS; number++) {
		for (unsigned flow = 0; flow < N_FLOWS; flow++)
			send_numbered(world, 0, flow, number);
		if (!number)
			wait_until(world, 0);
		for (unsigned flow = 0; flow < N_FLOWS; flow++)
			send_numbered(world, 1, flow, number);
		wait_until(world, n_in_flight);
		if (number % 16 == 0)
			change_configuration(world, number / 16);
	}
	wait_until(world, 0);
}

/* @order: also among packets that waited for a session and those that came later. */
static void check(const struct world *world, bool order)
{
	const uint64_t seconds = (world->now_ns - START_NS) / NSEC_PER_SEC;

	for (unsigned i = 0; i < 2; i++) {
		const struct node *node = &world->node[i];

		for (unsigned k = 0; k < N_WORKERS; k++) {
			struct worker *w = crew_worker(node->crew, k);

			assert_true(w->stats.trains_sealed > 0);
			assert_int_equal(w->stats.udp_datagrams_in > 0, world->spread || !k);
		}
		for (unsigned f = 0; f < N_FLOWS && order; f++) {
			assert_int_equal(node->flow[f].n_wrong, 0);
			assert_int_equal(node->flow[f].next, world->n_sent / (2 * N_FLOWS));
		}
	}
	/* Renewed by the initiator every 120 s, 10 s later if two crossed. */
	assert_true(world->node[0].lane.self.stats.handshakes_done >= seconds / 130);
	assert_true(world->node[1].lane.self.stats.handshakes_done >= seconds / 130);
}

static void test_order(void **state)
{
	struct world *world = world_new(false);

	(void)state;
	carry(world);
	crew_pause(world->node[0].crew);
	crew_pause(world->node[1].crew);
	check(world, true);
	crew_resume(world->node[0].crew);
	crew_resume(world->node[1].crew);
	world_free(world);
}

/* Four workers open and number under the same sessions at once. */
static void test_spread(void **state)
{
	struct world *world = world_new(true);

	(void)state;
	carry(world);
	crew_pause(world->node[0].crew);
	crew_pause(world->node[1].crew);
	check(world, false);
	crew_resume(world->node[0].crew);
	crew_resume(world->node[1].crew);
	world_free(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_spread),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
