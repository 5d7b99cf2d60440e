/* SPDX-License-Identifier: Apache-2.0 */
/* The wire and the sockets on it. */
#include "sim.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct endpoint sim_endpoint(int family, unsigned host, uint16_t port)
{
	struct endpoint ep = {0};

	ep.dst.family = (sa_family_t)family;
	if (family == AF_INET) {
		ep.dst.in4.sin_port = htons(port);
		ep.dst.in4.sin_addr.s_addr = htonl(0xc0000200 | host);
	} else {
		ep.dst.in6.sin6_port = htons(port);
		ep.dst.in6.sin6_addr = (struct in6_addr){
			.s6_addr = {0x20, 0x01, 0x0d,
				    0xb8, [14] = (uint8_t)(host >> 8), [15] = (uint8_t)host}};
	}
	return ep;
}

void sim_wire_link_all(struct sim *sim, const struct sim_link *link)
{
	for (unsigned from = 0; from <= SIM_MAX_NODES; from++) {
		for (unsigned to = 0; to < SIM_MAX_NODES; to++)
			sim->link[from][to] = *link;
	}
}

static struct sim_datagram *copy_datagram(const struct sim_datagram *d)
{
	struct sim_datagram *copy = calloc(1, sizeof(*d) + d->len);

	assert_non_null(copy);
	memcpy(copy, d, sizeof(*d) + d->len);
	return copy;
}

static void record(struct sim *sim, const struct sim_datagram *d)
{
	if (!sim->eavesdrop)
		return;
	if (sim->n_records == sim->records_capacity) {
		sim->records_capacity = sim->records_capacity ? 2 * sim->records_capacity : 64;
		sim->record = reallocarray(sim->record, sim->records_capacity, sizeof(d));
		assert_non_null(sim->record);
	}
	sim->record[sim->n_records++] = copy_datagram(d);
}

const struct sim_datagram *sim_recorded(const struct sim *sim, unsigned from,
					enum message_type type)
{
	for (size_t i = sim->n_records; i-- > 0;) {
		const struct sim_datagram *d = sim->record[i];

		if (d->from == from && message_classify(d->data, d->len) == type)
			return d;
	}
	fail_msg("node %u sent no message of type %u", from, type);
	return NULL;
}

static struct sim_node *find_node(struct sim *sim, const struct endpoint *dst)
{
	for (unsigned i = 0; i < sim->n_nodes; i++) {
		struct sim_node *node = &sim->node[i];

		if (endpoint_same_dst(&node->addr[dst->dst.family == AF_INET6], dst))
			return node;
	}
	return NULL;
}

/* Whoever has the address when the datagram gets there receives it. */
static void arrive(struct sim *sim, struct sim_event *ev)
{
	struct sim_datagram *d = ev->datagram;
	struct sim_node *node = find_node(sim, &d->dst);

	ev->datagram = NULL;
	if (!node || !node->open || node->asleep)
		free(d);
	else
		STAILQ_INSERT_TAIL(&node->inbox[d->dst.dst.family == AF_INET6], d, entry);
}

static void travel(struct sim *sim, const struct sim_datagram *d, const struct sim_link *link,
		   uint64_t delay_ns)
{
	struct sim_datagram *copy = copy_datagram(d);

	if (link->jitter_ns)
		delay_ns += sim_random(sim) % link->jitter_ns;
	if (sim_chance(sim, link->reorder))
		delay_ns += 3 * link->delay_ns + 10 * NSEC_PER_MSEC;
	if (sim_chance(sim, link->corrupt)) {
		uint64_t bit = sim_random(sim) % (8 * (uint64_t)copy->len);

		copy->data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	sim_event_at(sim, sim->now_ns + delay_ns, arrive)->datagram = copy;
}

static void count_sent(struct sim_node *node, const struct sim_datagram *d)
{
	enum message_type type = message_classify(d->data, d->len);

	node->sent.n[type]++;
	node->sent.last_ns[type] = d->sent_ns;
	if (type == MESSAGE_DATA && d->len == MESSAGE_DATA_MIN_SIZE)
		node->sent.keepalives++;
}

static void put_on_wire(struct sim_node *node, struct sim_datagram *d)
{
	struct sim *sim = node->sim;
	const struct sim_node *to = find_node(sim, &d->dst);
	const struct sim_link *link = to ? &sim->link[node->id][to->id] : NULL;
	uint64_t delay_ns = link ? link->delay_ns : 0;

	record(sim, d);
	count_sent(node, d);
	if (sim->filter && !sim->filter(sim, d, &delay_ns))
		return;
	if (!link || sim_chance(sim, link->drop))
		return;
	travel(sim, d, link, delay_ns);
	if (sim_chance(sim, link->duplicate))
		travel(sim, d, link, delay_ns);
}

void sim_inject(struct sim *sim, unsigned to, const struct endpoint *src, const void *data,
		size_t len)
{
	struct sim_datagram *d = calloc(1, sizeof(*d) + len);

	assert_non_null(d);
	d->sent_ns = sim->now_ns;
	d->from = SIM_STRANGER;
	d->src = *src;
	d->dst = sim->node[to].addr[src->dst.family == AF_INET6];
	d->len = (uint32_t)len;
	memcpy(d->data, data, len);
	sim_event_at(sim, sim->now_ns, arrive)->datagram = d;
}

/* Does the node still have the address that the endpoint wants to send from? */
static bool source_there(const struct sim_node *node, const struct endpoint *ep)
{
	if (ep->dst.family == AF_INET)
		return ep->source.in4.s_addr == node->addr[0].dst.in4.sin_addr.s_addr;
	return !memcmp(&ep->source.in6, &node->addr[1].dst.in6.sin6_addr, 16);
}

static void send_datagram(struct sim_node *node, const struct udp_run *run, const uint8_t *data,
			  uint32_t len)
{
	struct sim_datagram *d = calloc(1, sizeof(*d) + len);

	assert_non_null(d);
	d->sent_ns = node->sim->now_ns;
	d->from = node->id;
	d->src = node->addr[run->to.dst.family == AF_INET6];
	d->dst.dst = run->to.dst;
	d->tos = run->tos;
	d->len = len;
	memcpy(d->data, data, len);
	put_on_wire(node, d);
	free(d);
}

static void udp_send(void *ctx, struct udp_run *runs, unsigned n)
{
	struct sim_node *node = ctx;

	for (unsigned i = 0; i < n; i++) {
		struct udp_run *run = &runs[i];
		uint32_t offset = 0;

		assert_true(node->open);
		if (node->refuse) {
			run->drop = node->refuse;
			run->n_dropped = run->n;
			continue;
		}
		run->source_lost = run->to.has_source && !source_there(node, &run->to);
		for (unsigned k = 0; k < run->n; k++) {
			uint32_t len = k + 1U < run->n ? run->seg_len : run->len - offset;

			assert_true(len && len <= run->seg_len);
			send_datagram(node, run, run->data + offset, len);
			offset += len;
		}
		assert_int_equal(offset, run->len);
	}
}

static void fill_message(struct udp_message *m, const struct sim_datagram *d)
{
	m->len = d->len;
	m->gso_size = 0;
	m->drop = DROP_NONE;
	m->tos = d->tos;
	memcpy(m->buf, d->data, d->len);
	m->from = d->src;
	m->from.has_source = true;
	m->from.source_ifindex = 1;
	if (d->dst.dst.family == AF_INET)
		m->from.source.in4 = d->dst.dst.in4.sin_addr;
	else
		m->from.source.in6 = d->dst.dst.in6.sin6_addr;
}

/* As UDP_GRO does it: the same sender and mark, equal lengths, the last may be
 * shorter. */
static bool joins(const struct udp_message *m, const struct sim_datagram *d)
{
	uint32_t seg = m->gso_size ? m->gso_size : m->len;

	return m->len % seg == 0 && d->len && d->len <= seg && m->len / seg < 64 &&
	       m->len + d->len <= IO_PACKET_MAX && d->tos == m->tos &&
	       endpoint_same_dst(&m->from, &d->src);
}

static int udp_receive(void *ctx, int family, struct udp_message *msgs, unsigned max)
{
	struct sim_node *node = ctx;
	struct sim_inbox *inbox = &node->inbox[family == AF_INET6];
	struct sim_datagram *d;
	unsigned n = 0;

	while (node->open && (d = STAILQ_FIRST(inbox))) {
		struct udp_message *last = n ? &msgs[n - 1] : NULL;

		if (last && last->len && joins(last, d)) {
			last->gso_size = last->gso_size ? last->gso_size : last->len;
			memcpy(last->buf + last->len, d->data, d->len);
			last->len += d->len;
		} else if (n < max) {
			fill_message(&msgs[n++], d);
		} else {
			break;
		}
		STAILQ_REMOVE_HEAD(inbox, entry);
		free(d);
	}
	return (int)n;
}

static int udp_open(void *ctx, uint16_t *port, uint32_t fwmark)
{
	struct sim_node *node = ctx;

	(void)fwmark;
	if (!*port)
		*port = (uint16_t)(SIM_PORT + node->id);
	node->open = true;
	return 0;
}

static void empty_inboxes(struct sim_node *node)
{
	struct sim_datagram *d;

	for (unsigned i = 0; i < 2; i++) {
		while ((d = STAILQ_FIRST(&node->inbox[i]))) {
			STAILQ_REMOVE_HEAD(&node->inbox[i], entry);
			free(d);
		}
	}
}

static void udp_close(void *ctx)
{
	struct sim_node *node = ctx;

	node->open = false;
	empty_inboxes(node);
}

static int udp_probe(void *ctx, uint16_t port)
{
	(void)ctx;
	(void)port;
	return 0;
}

static int udp_set_fwmark(void *ctx, uint32_t fwmark)
{
	(void)ctx;
	(void)fwmark;
	return 0;
}

static uint32_t udp_path_mtu(void *ctx, const struct endpoint *ep)
{
	(void)ep;
	return ((const struct sim_node *)ctx)->path_mtu;
}

const struct udp_io sim_udp_io = {
	.receive = udp_receive,
	.send = udp_send,
	.open = udp_open,
	.close = udp_close,
	.probe = udp_probe,
	.path_mtu = udp_path_mtu,
	.set_fwmark = udp_set_fwmark,
};

void sim_wire_done(struct sim *sim)
{
	for (unsigned i = 0; i < sim->n_nodes; i++)
		empty_inboxes(&sim->node[i]);
	for (size_t i = 0; i < sim->n_records; i++)
		free(sim->record[i]);
	free(sim->record);
}
