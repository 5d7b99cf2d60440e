/* SPDX-License-Identifier: Apache-2.0 */
/* Ethernet frames and what VXLAN puts in front of them, built naively. */
#ifndef SEALANE_TESTS_OFFLOAD_VXLAN_FRAMES_H
#define SEALANE_TESTS_OFFLOAD_VXLAN_FRAMES_H

#include "offload/vxlan.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "superpacket.h"

#define N_ELEMENTS(a) (sizeof(a) / sizeof(*(a)))

/* A frame in memory of exactly its size and the headroom that was promised. */
struct frame {
	uint8_t *memory, *p;
	uint32_t len;
};

static inline struct frame frame_new(const uint8_t *bytes, uint32_t len)
{
	struct frame f = {.memory = malloc(VXLAN_OUTER_MAX_LEN + len), .len = len};

	assert_non_null(f.memory);
	memset(f.memory, 0xa5, VXLAN_OUTER_MAX_LEN);
	f.p = f.memory + VXLAN_OUTER_MAX_LEN;
	if (bytes)
		memcpy(f.p, bytes, len);
	return f;
}

static inline void frame_free(struct frame *f)
{
	free(f->memory);
}

/* MAC addresses, @tags VLAN tags, @ethertype. Returns the length. */
static inline uint32_t put_ethernet(uint8_t *p, unsigned tags, uint16_t ethertype)
{
	uint32_t at = 12;

	memcpy(p, "\x02\0\0\0\0\x02\x02\0\0\0\0\x01", 12);
	for (; tags; tags--, at += 4) {
		put16(p + at, tags > 1 ? 0x88a8 : 0x8100);
		put16(p + at + 2, 0x6000 + tags);
	}
	put16(p + at, ethertype);
	return at + 2;
}

static inline uint16_t family_ethertype(uint8_t family)
{
	return family == 4 ? 0x0800 : 0x86dd;
}

/* The packet of @s in a frame; its vnet header counts from the Ethernet header. */
static inline struct frame spec_frame(const struct spec *s, const uint8_t *payload, unsigned tags,
				      bool partial)
{
	struct frame f = frame_new(NULL, 14 + 4 * tags + spec_hdr_len(s) + s->payload_len);
	const uint32_t l3 = put_ethernet(f.p, tags,
					 family_ethertype(s->outer ? s->outer : s->family));

	spec_build(s, payload, partial, f.p + l3);
	return f;
}

static inline struct vnet spec_frame_vnet(const struct spec *s, unsigned tags)
{
	struct vnet v = spec_vnet(s);

	v.csum_start = (uint16_t)(v.csum_start + 14 + 4 * tags);
	if (s->outer) {
		v.outer_l4_off = (uint16_t)(v.outer_l4_off + 14 + 4 * tags);
		v.inner_l3_off = (uint16_t)(v.inner_l3_off + 14 + 4 * tags);
	}
	return v;
}

static inline struct vxlan_template template_v4(void)
{
	return (struct vxlan_template){
		.addr_len = 4,
		.local = {192, 0, 2, 1},
		.remote = {192, 0, 2, 2},
		.dst_port = 4789,
		.vni = 0xabcdef,
		.ip_id = 0xfffe, /* wraps within a train */
	};
}

static inline struct vxlan_template template_v6(void)
{
	return (struct vxlan_template){
		.addr_len = 16,
		.local = {0x20, 1, 0xd, 0xb8, [15] = 1},
		.remote = {0x20, 1, 0xd, 0xb8, [15] = 2},
		.dst_port = 4789,
		.vni = 0xabcdef,
		.ip_id = 0xfffe, /* means nothing */
	};
}

static inline uint32_t outer_len(const struct vxlan_template *t)
{
	return t->addr_len == 4 ? 36 : 56;
}

/* The whole packet, with finished checksums, into @out. */
static inline uint32_t naive_push(const struct vxlan_template *t, const struct frame *f,
				  uint8_t tos, uint16_t id, uint8_t *out)
{
	const uint32_t ip_len = t->addr_len == 4 ? 20 : 40, len = ip_len + 16 + f->len;
	uint8_t *udp = out + ip_len;

	memset(out, 0, ip_len + 16);
	memcpy(udp + 16, f->p, f->len);
	put16(udp, vxlan_source_port(f->p, f->len));
	put16(udp + 2, t->dst_port);
	put16(udp + 4, len - ip_len);
	udp[8] = 8;
	put32(udp + 12, t->vni * 256);
	if (t->addr_len == 4) {
		put32(out, 0x45000000 + ((uint32_t)tos << 16) + len);
		put32(out + 4, (uint32_t)id << 16);
		put32(out + 8, 0x40110000);
		memcpy(out + 12, t->local, 4);
		memcpy(out + 16, t->remote, 4);
		put16(out + 10, naive_checksum(out, 20));
	} else {
		put32(out, 0x60000000 + ((uint32_t)tos << 20));
		put32(out + 4, (len - 40) << 16 | 0x1140);
		memcpy(out + 8, t->local, 16);
		memcpy(out + 24, t->remote, 16);
	}
	if (t->checksum)
		put16(udp + 6, l4_check(out, 17, udp, len - ip_len, false));
	return len;
}

static inline void assert_plain(const struct vnet *v)
{
	assert_false(v->needs_csum || v->data_valid || v->ecn || v->tunnel_csum);
	assert_int_equal(v->gso, VNET_GSO_NONE);
	assert_int_equal(v->tunnel, VNET_TUNNEL_NONE);
	assert_int_equal(v->gso_size | v->hdr_len | v->csum_start | v->csum_offset, 0);
	assert_int_equal(v->outer_l4_off | v->inner_l3_off, 0);
}

/* Refused, and not a byte changed. */
static inline void assert_not_pushed(const struct vxlan_template *t, struct frame *f,
				     const struct vnet *v)
{
	const uint32_t whole = VXLAN_OUTER_MAX_LEN + f->len;
	uint8_t *before = malloc(whole);
	struct vnet after;

	memcpy(before, f->memory, whole);
	memcpy(&after, v, sizeof(after));
	assert_int_equal(vxlan_push(t, f->p, f->len, &after), 0);
	assert_memory_equal(f->memory, before, whole);
	assert_memory_equal(&after, v, sizeof(after));
	free(before);
}

#endif
