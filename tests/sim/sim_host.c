/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hosts behind the devices. A numbered packet is a function of its number,
 * sender and receiver alone, so what is delivered is compared byte by byte with
 * what must have been sent.
 */
#include "sim.h"

#include <stdlib.h>
#include <string.h>

#include "offload/be.h"
#include "offload/checksum.h"
#include "offload/ip.h"

#define MARK "numbered"

enum { UDP_HDR_LEN = 8, MARK_LEN = 8, NUMBER_LEN = 8 };

unsigned sim_malloc_failures;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_malloc(size_t size)
{
	if (sim_malloc_failures) {
		sim_malloc_failures--;
		return NULL;
	}
	return __real_malloc(size);
}

static size_t build_ip4(uint8_t *p, unsigned src, unsigned dst, uint8_t tos, size_t len)
{
	p[0] = 0x45;
	p[1] = tos;
	be16_store(p + 2, (uint16_t)len);
	p[8] = 64;
	p[9] = IP_PROTO_UDP;
	p[12] = p[16] = 10;
	p[15] = (uint8_t)src;
	p[19] = (uint8_t)dst;
	be16_store(p + 10, checksum_finish(checksum_add(0, p, IPV4_HDR_MIN_LEN)));
	return IPV4_HDR_MIN_LEN;
}

static size_t build_ip6(uint8_t *p, unsigned src, unsigned dst, uint8_t tos, size_t len)
{
	p[0] = (uint8_t)(0x60 | tos >> 4);
	p[1] = (uint8_t)(tos << 4);
	be16_store(p + 4, (uint16_t)(len - IPV6_HDR_LEN));
	p[6] = IP_PROTO_UDP;
	p[7] = 64;
	p[8] = p[24] = 0xfd;
	p[23] = (uint8_t)src;
	p[39] = (uint8_t)dst;
	return IPV6_HDR_LEN;
}

size_t sim_build(uint8_t *buf, int version, unsigned src, unsigned dst, uint8_t tos, size_t len)
{
	size_t l4;

	memset(buf, 0, len);
	l4 = version == 4 ? build_ip4(buf, src, dst, tos, len) : build_ip6(buf, src, dst, tos, len);
	be16_store(buf + l4, 7);
	be16_store(buf + l4 + 2, 9);
	be16_store(buf + l4 + 4, (uint16_t)(len - l4));
	return len;
}

static void build_numbered(uint8_t *p, unsigned from, unsigned to, uint8_t tos, size_t len,
			   uint64_t number)
{
	size_t at = IPV4_HDR_MIN_LEN + UDP_HDR_LEN;

	sim_build(p, 4, from + 1, to + 1, tos, len);
	memcpy(p + at, MARK, MARK_LEN);
	memcpy(p + at + MARK_LEN, &number, NUMBER_LEN);
	for (size_t i = at + MARK_LEN + NUMBER_LEN; i < len; i++)
		p[i] = (uint8_t)(number * 31 + i);
}

void sim_host_send(struct sim *sim, unsigned from, const void *data, size_t len)
{
	struct sim_packet *sp = calloc(1, sizeof(*sp) + len);

	assert_non_null(sp);
	sp->drop = DROP_NONE;
	sp->len = (uint32_t)len;
	memcpy(sp->data, data, len);
	STAILQ_INSERT_TAIL(&sim->node[from].from_host, sp, entry);
}

void sim_send(struct sim *sim, unsigned from, unsigned to, unsigned len)
{
	struct sim_flow *flow = &sim->flow[from][to];
	uint8_t packet[SIM_PACKET_MAX];

	assert_true(len <= sizeof(packet) &&
		    len >= IPV4_HDR_MIN_LEN + UDP_HDR_LEN + MARK_LEN + NUMBER_LEN);
	build_numbered(packet, from, to, 0, len, flow->sent++);
	sim_host_send(sim, from, packet, len);
}

static void send_next(struct sim *sim, struct sim_event *ev)
{
	sim_send(sim, ev->from, ev->to, ev->len);
}

void sim_traffic(struct sim *sim, unsigned from, unsigned to, unsigned len, uint64_t period_ns,
		 uint64_t duration_ns)
{
	struct sim_event *ev = sim_event_at(sim, sim->now_ns, send_next);

	ev->from = from;
	ev->to = to;
	ev->len = len;
	ev->period_ns = period_ns;
	ev->until_ns = sim->now_ns + duration_ns;
}

/* Is it a numbered packet for this node, exactly as it was sent? */
static bool recognise(struct sim_node *node, const struct packet *p, unsigned *ret_from,
		      uint64_t *ret_number)
{
	size_t at = IPV4_HDR_MIN_LEN + UDP_HDR_LEN;
	uint8_t expected[SIM_PACKET_MAX];
	unsigned from;

	if (p->len < at + MARK_LEN + NUMBER_LEN || p->len > sizeof(expected) ||
	    memcmp(p->data + at, MARK, MARK_LEN))
		return false;
	from = p->data[15] - 1U;
	memcpy(ret_number, p->data + at + MARK_LEN, NUMBER_LEN);
	if (from >= node->sim->n_nodes || *ret_number >= node->sim->flow[from][node->id].sent)
		return false;
	/* The wire may set CE on the way. */
	build_numbered(expected, from, node->id, p->data[1], p->len, *ret_number);
	*ret_from = from;
	return !memcmp(expected, p->data, p->len);
}

static void note_number(struct sim_flow *flow, uint64_t number)
{
	uint8_t bit = (uint8_t)(1 << number % 8);
	size_t at = (size_t)(number / 8);

	if (at >= flow->seen_len) {
		size_t len = 2 * at + 64;

		flow->seen = realloc(flow->seen, len);
		assert_non_null(flow->seen);
		memset(flow->seen + flow->seen_len, 0, len - flow->seen_len);
		flow->seen_len = len;
	}
	if (flow->seen[at] & bit) {
		flow->duplicates++;
		return;
	}
	flow->seen[at] |= bit;
	flow->delivered++;
	if (number < flow->next)
		flow->overtaken++;
	else
		flow->next = number + 1;
}

bool sim_delivered(const struct sim *sim, unsigned from, unsigned to, uint64_t number)
{
	const struct sim_flow *flow = &sim->flow[from][to];

	return number / 8 < flow->seen_len && flow->seen[number / 8] >> number % 8 & 1;
}

static void receive(struct sim_node *node, struct packet *p)
{
	uint64_t number;
	unsigned from;

	node->delivered++;
	node->last_len = p->len < sizeof(node->last) ? p->len : (uint32_t)sizeof(node->last);
	memcpy(node->last, p->data, node->last_len);
	if (!recognise(node, p, &from, &number)) {
		node->others++;
		return;
	}
	note_number(&node->sim->flow[from][node->id], number);
	if (node->echo)
		sim_send(node->sim, node->id, from, p->len);
}

static int device_read(void *ctx, struct packet *pkts, unsigned max)
{
	struct sim_node *node = ctx;
	struct sim_packet *sp;
	unsigned n = 0;

	while (n < max && (sp = STAILQ_FIRST(&node->from_host))) {
		struct packet *p = &pkts[n++];

		STAILQ_REMOVE_HEAD(&node->from_host, entry);
		p->data = p->buf + PACKET_HEADROOM;
		p->len = sp->len;
		p->drop = sp->drop;
		memcpy(p->data, sp->data, sp->len);
		memset(p->data + sp->len, 0xee, PACKET_TAILROOM); /* what was there before */
		free(sp);
	}
	return (int)n;
}

static void device_write(void *ctx, struct packet *pkts, unsigned n)
{
	struct sim_node *node = ctx;

	for (unsigned i = 0; i < n; i++) {
		if (!packet_alive(&pkts[i]))
			continue;
		/* A TAP would put its frame header there. */
		memset(pkts[i].data - 14, 0xee, 14);
		if (node->refuse_write)
			pkts[i].drop = node->refuse_write;
		else
			receive(node, &pkts[i]);
	}
}

const struct device_io sim_device_io = {.read = device_read, .write = device_write};

void sim_host_done(struct sim *sim)
{
	struct sim_packet *sp;

	for (unsigned i = 0; i < sim->n_nodes; i++) {
		while ((sp = STAILQ_FIRST(&sim->node[i].from_host))) {
			STAILQ_REMOVE_HEAD(&sim->node[i].from_host, entry);
			free(sp);
		}
		for (unsigned j = 0; j < SIM_MAX_NODES; j++)
			free(sim->flow[i][j].seen);
	}
}
