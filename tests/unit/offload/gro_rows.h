/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of packets and of what is merged of them. */
#ifndef SEALANE_TESTS_OFFLOAD_GRO_ROWS_H
#define SEALANE_TESTS_OFFLOAD_GRO_ROWS_H

#include "gro_batch.h"

#define N_ELEMENTS(a) (sizeof(a) / sizeof(*(a)))

enum { EMPTY = -1, PACKETS_MAX = 12 };

/* Left out: IPv4, TCP, 100 bytes, flag ACK. Segment k of a flow has IPv4 ID
 * base + k and sequence number base + 100 k. */
struct packet {
	uint8_t v, proto;
	uint8_t flow; /* its source port */
	uint32_t k;
	int len;
	uint8_t flags, options;
	uint8_t ip_at, l4_at; /* 16-bit words changed by xor, checksums right */
	uint16_t ip_xor, l4_xor;
	bool corrupt; /* a payload bit, after the checksums */
	uint8_t padding;
	/* tunnels */
	uint8_t encap, outer;
	bool csum;
	uint8_t outer_at, outer_flow;
	uint16_t outer_xor;
};

enum { NO_TCP4 = 1, NO_TCP6 = 2, NO_UDP = 4, NO_TUNNEL = 8, ENCAP_L4 = 16, ZERO_L4 = 32 };

struct row {
	const char *name;
	unsigned config;
	uint32_t max_len, max_segments;
	struct packet p[PACKETS_MAX];
	const char *expected; /* see batch_groups() */
};

static struct batch batch;

static inline void xor16(uint8_t *p, uint16_t mask)
{
	pkt_put16(p, pkt_get16(p) ^ mask);
}

static inline void add(struct batch *b, const struct packet *d)
{
	static uint8_t p[PKT_MAX_LEN];
	const struct pkt_shape s = {
		.encap = d->encap,
		.outer = d->outer ? d->outer : 4,
		.outer_csum = d->csum,
		.version = d->v ? d->v : 4,
		.proto = d->proto ? d->proto : PKT_TCP,
		.options = d->options,
	};
	const unsigned len = d->len == EMPTY ? 0 : d->len ? (unsigned)d->len : 100;
	struct pkt_offsets o = pkt_write(p, &s, d->k, len);

	if (s.proto == PKT_TCP) {
		pkt_put32(p + o.l4 + 4, 0xffffff80 + 100 * d->k);
		p[o.l4 + 13] = d->flags ? d->flags : ACK;
	}
	p[o.l4 + 1] = d->flow;
	xor16(p + o.l3 + d->ip_at, d->ip_xor);
	xor16(p + o.l4 + d->l4_at, d->l4_xor);
	xor16(p + d->outer_at, d->outer_xor);
	if (o.tunnel)
		p[o.outer_l4 + 1] = d->outer_flow;
	pkt_fix(p, &o, s.proto, s.outer_csum);
	if (d->corrupt)
		p[o.len - 1] ^= 1;
	memset(p + o.len, 0, d->padding);
	batch_add(b, p, o.len + d->padding);
}

/* Each packet of a row is a digit of what is expected. */
static inline uint32_t n_packets(const struct row *r)
{
	uint32_t n = 0;

	for (const char *c = r->expected; *c; c++)
		n += *c != ' ';
	assert_true(n <= PACKETS_MAX);
	return n;
}

static inline void run_row(const struct row *r)
{
	char groups[3 * PACKETS_MAX];
	uint32_t i;

	batch_init(&batch);
	batch.config.tcp4 = !(r->config & NO_TCP4);
	batch.config.tcp6 = !(r->config & NO_TCP6);
	batch.config.udp = !(r->config & NO_UDP);
	batch.config.tunnel = !(r->config & NO_TUNNEL);
	batch.config.encap_udp_l4 = r->config & ENCAP_L4;
	batch.config.zero_csum = r->config & ZERO_L4 ? GRO_ZERO_CSUM_UDP_L4 : GRO_ZERO_CSUM_NEVER;
	if (r->max_len)
		batch.config.max_len4 = batch.config.max_len6 = r->max_len;
	if (r->max_segments)
		batch.config.max_segments = r->max_segments;
	for (i = 0; i < n_packets(r); i++)
		add(&batch, &r->p[i]);
	batch_run(&batch);
	batch_groups(&batch, groups);
	if (strcmp(groups, r->expected) != 0)
		print_error("%s\n", r->name);
	assert_string_equal(groups, r->expected);
	batch_done(&batch);
}

static inline void run_rows(const struct row *rows, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		run_row(&rows[i]);
}

#define UDP4 .v = 4, .proto = PKT_UDP
#define UDP6 .v = 6, .proto = PKT_UDP
#define TCP4 .v = 4
#define TCP6 .v = 6

static inline void check_groups(const char *expected)
{
	char groups[40];

	batch_run(&batch);
	batch_groups(&batch, groups);
	assert_string_equal(groups, expected);
	batch_done(&batch);
}

#endif
