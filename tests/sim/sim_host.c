/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hosts behind the devices. A numbered packet is a function of its number,
 * sender and receiver alone, so what is delivered is compared byte by byte with
 * what must have been sent.
 */
#include "sim.h"

#include <errno.h>
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
	static const struct vnet plain;

	sim_host_send_super(sim, from, data, len, &plain);
}

void sim_host_send_super(struct sim *sim, unsigned from, const void *data, size_t len,
			 const struct vnet *vnet)
{
	struct sim_packet *sp = calloc(1, sizeof(*sp) + len);

	assert_non_null(sp);
	sp->drop = DROP_NONE;
	sp->len = (uint32_t)len;
	sp->vnet = *vnet;
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
static bool recognise(struct sim_node *node, const uint8_t *p, uint32_t len, unsigned *ret_from,
		      uint64_t *ret_number)
{
	size_t at = IPV4_HDR_MIN_LEN + UDP_HDR_LEN;
	uint8_t expected[SIM_PACKET_MAX];
	unsigned from;

	if (len < at + MARK_LEN + NUMBER_LEN || len > sizeof(expected) ||
	    memcmp(p + at, MARK, MARK_LEN))
		return false;
	from = p[15] - 1U;
	memcpy(ret_number, p + at + MARK_LEN, NUMBER_LEN);
	if (from >= node->sim->n_nodes || *ret_number >= node->sim->flow[from][node->id].sent)
		return false;
	/* The wire may set CE on the way. */
	build_numbered(expected, from, node->id, p[1], len, *ret_number);
	*ret_from = from;
	return !memcmp(expected, p, len);
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

static void keep(struct sim_packets *list, const uint8_t *p, uint32_t len)
{
	struct sim_packet *sp = calloc(1, sizeof(*sp) + len);

	assert_non_null(sp);
	sp->len = len;
	memcpy(sp->data, p, len);
	STAILQ_INSERT_TAIL(list, sp, entry);
}

static void receive(struct sim_node *node, const uint8_t *p, uint32_t len)
{
	uint64_t number;
	unsigned from;

	if (node->capture)
		keep(&node->captured, p, len);
	node->delivered++;
	node->last_len = len < sizeof(node->last) ? len : (uint32_t)sizeof(node->last);
	memcpy(node->last, p, node->last_len);
	if (!recognise(node, p, len, &from, &number)) {
		node->others++;
		return;
	}
	note_number(&node->sim->flow[from][node->id], number);
	if (node->echo)
		sim_send(node->sim, node->id, from, len);
}

static int device_read(void *ctx, struct io_read *r)
{
	struct sim_node *node = ctx;
	struct sim_packet *sp = STAILQ_FIRST(&node->from_host);

	if (!sp)
		return 0;
	STAILQ_REMOVE_HEAD(&node->from_host, entry);
	r->len = sp->len;
	r->drop = sp->drop;
	r->vnet = sp->vnet;
	memset(r->ip - 14, 0xee, 14); /* a TAP puts its frame header there */
	memcpy(r->ip, sp->data, sp->len);
	free(sp);
	return 1;
}

static int errno_of(enum drop refusal)
{
	switch (refusal) {
	case DROP_DEVICE_DOWN:
		return -EIO;
	case DROP_SEND_FULL:
		return -ENOBUFS;
	default:
		return -EPERM;
	}
}

static int device_write(void *ctx, const struct vnet *vnet, const struct iovec *iov, unsigned n)
{
	static uint8_t whole[IO_PACKET_MAX], segment[IO_PACKET_MAX];
	struct sim_node *node = ctx;
	uint32_t len = 0;
	struct gso gso;

	if (node->refuse_write)
		return errno_of(node->refuse_write);
	if (node->refuse_merged && vnet->gso != VNET_GSO_NONE)
		return -EINVAL;
	for (unsigned i = 0; i < n; i++) {
		assert_true(len + iov[i].iov_len <= sizeof(whole));
		memcpy(whole + len, iov[i].iov_base, iov[i].iov_len);
		len += (uint32_t)iov[i].iov_len;
	}
	if (vnet->gso == VNET_GSO_NONE) {
		receive(node, whole, len);
		return 0;
	}
	/* The host cuts what was merged. */
	node->merged_writes++;
	assert_true(vnet_check(vnet, whole, len));
	assert_true(gso_begin(&gso, whole, len, vnet));
	while ((len = gso_next(&gso, segment)))
		receive(node, segment, len);
	return 0;
}

const struct device_io sim_device_io = {.read = device_read, .write = device_write};

static void empty(struct sim_packets *list)
{
	struct sim_packet *sp;

	while ((sp = STAILQ_FIRST(list))) {
		STAILQ_REMOVE_HEAD(list, entry);
		free(sp);
	}
}

void sim_host_done(struct sim *sim)
{
	for (unsigned i = 0; i < sim->n_nodes; i++) {
		empty(&sim->node[i].from_host);
		empty(&sim->node[i].captured);
		for (unsigned j = 0; j < SIM_MAX_NODES; j++)
			free(sim->flow[i][j].seen);
	}
}
