/* SPDX-License-Identifier: Apache-2.0 */
#include "neigh.h"

#include <assert.h>
#include <string.h>

#include "be.h"
#include "checksum.h"
#include "cursor.h"
#include "ether.h"
#include "ip.h"

enum { MAC_LEN = ETHER_MAC_LEN, ETHERTYPE_ARP = 0x0806 };
enum { ND_SOLICITATION = 135, ND_ADVERTISEMENT = 136, ND_HOP_LIMIT = 255, ND_SOLICITED = 0x40 };
enum { ND_SOURCE_MAC = 1, ND_TARGET_MAC = 2, ND_OPTION_UNIT = 8 };

/* RFC 826, for Ethernet and IPv4. */
struct arp {
	uint8_t kind[8]; /* address types, their lengths, operation */
	uint8_t sender_mac[MAC_LEN];
	uint8_t sender[4];
	uint8_t target_mac[MAC_LEN];
	uint8_t target[4];
};
static_assert(sizeof(struct arp) == 28, "RFC 826");

/* Hardware 1 and protocol 0x0800, of 6 and 4 bytes; request 1, reply 2. */
static const uint8_t arp_request[8] = {0, 1, 8, 0, 6, 4, 0, 1};
static const uint8_t arp_reply[8] = {0, 1, 8, 0, 6, 4, 0, 2};

/* RFC 4861 4.3 and 4.4. */
struct nd_message {
	uint8_t type, code, checksum[2];
	uint8_t flags, reserved[3];
	uint8_t target[16];
};
static_assert(sizeof(struct nd_message) == 24, "RFC 4861 4.3");

/* RFC 4861 4.6.1, on Ethernet (RFC 2464 6). */
struct nd_mac_option {
	uint8_t type, n_units;
	uint8_t mac[MAC_LEN];
};
static_assert(sizeof(struct nd_mac_option) == ND_OPTION_UNIT, "RFC 4861 4.6.1");

static_assert(NEIGH_ANSWER_MAX_LEN == ETHER_L2_MAX + IPV6_HDR_LEN + sizeof(struct nd_message) +
					      sizeof(struct nd_mac_option),
	      "room for an advertisement");

bool neigh_is_host(const uint8_t *addr, size_t addr_len)
{
	static const uint8_t zero[15];

	switch (addr_len) {
	case 4: /* 224/4 is multicast */
		return be32_load(addr) && addr[0] != 127 && addr[0] >> 4 != 14 &&
		       be32_load(addr) != UINT32_MAX;
	case 16: /* :: is all zero, ::1 but for the last byte */
		return addr[0] != 0xff && (memcmp(addr, zero, 15) != 0 || addr[15] > 1);
	default:
		return false;
	}
}

bool neigh_is_station(const uint8_t mac[6])
{
	static const uint8_t zero[MAC_LEN];

	return !(mac[0] & 1) && memcmp(mac, zero, MAC_LEN) != 0;
}

/* Takes the Ethernet header with its tags. A third tag is not looked behind. */
static bool take_ethernet(struct cursor *c, uint8_t ret_src[ETHER_MAC_LEN], uint16_t *ret_ethertype)
{
	const uint8_t *hdr = c->p;

	if (c->left < ETHER_HDR_LEN || !neigh_is_station(hdr + ETHER_SRC_OFF))
		return false;
	(void)take(c, ether_l2_len(hdr, (uint32_t)c->left, ret_ethertype));
	memcpy(ret_src, hdr + ETHER_SRC_OFF, ETHER_MAC_LEN);
	return true;
}

static bool may_ask(const uint8_t *sender, const uint8_t *target, size_t addr_len)
{
	return neigh_is_host(sender, addr_len) && neigh_is_host(target, addr_len) &&
	       memcmp(sender, target, addr_len) != 0;
}

/* What is left behind the request is padding: the shortest frame has 60 bytes. */
static bool parse_arp(struct cursor c, struct neigh_question *q)
{
	const struct arp *arp = (const struct arp *)take(&c, sizeof(*arp));

	if (!arp || memcmp(arp->kind, arp_request, sizeof(arp_request)) != 0)
		return false;
	if (!neigh_is_station(arp->sender_mac) || !may_ask(arp->sender, arp->target, 4))
		return false;
	memcpy(q->asker, arp->sender_mac, MAC_LEN);
	memcpy(q->target, arp->target, 4);
	q->addr_len = 4;
	return true;
}

/* Are the options whole? Source link-layer options say where the answer goes: the
 * first one does. */
static bool parse_options(struct cursor c, uint8_t asker[MAC_LEN])
{
	const struct nd_mac_option *source = NULL;

	while (c.left) {
		const uint8_t *option = c.p;

		if (c.left < 2 || !option[1] || !take(&c, (size_t)option[1] * ND_OPTION_UNIT))
			return false;
		if (option[0] != ND_SOURCE_MAC)
			continue;
		if (option[1] != 1)
			return false; /* no Ethernet address */
		if (!source)
			source = (const struct nd_mac_option *)option;
	}
	if (!source)
		return true;
	memcpy(asker, source->mac, MAC_LEN);
	return neigh_is_station(asker);
}

/* An extension header before the message is refused: fragments are not accepted
 * (RFC 6980 5), and others nobody sends. */
static bool parse_solicitation(struct cursor c, struct neigh_question *q)
{
	const uint8_t *ip = take(&c, IPV6_HDR_LEN);
	const struct nd_message *m;
	uint64_t sum;

	if (!ip || ip[0] >> 4 != 6 || ip[6] != IP_PROTO_ICMP6 || ip[7] != ND_HOP_LIMIT ||
	    be16_load(ip + 4) > c.left)
		return false;
	c.left = be16_load(ip + 4);
	sum = checksum_pseudo(ip + 8, ip + 24, 16, IP_PROTO_ICMP6, (uint32_t)c.left);
	sum = checksum_add(sum, c.p, c.left);
	m = (const struct nd_message *)take(&c, sizeof(*m));
	if (!m || m->type != ND_SOLICITATION || m->code != 0 || checksum_finish(sum) != 0)
		return false;
	if (!may_ask(ip + 8, m->target, 16) || !parse_options(c, q->asker))
		return false;
	memcpy(q->target, m->target, 16);
	q->addr_len = 16;
	return true;
}

bool neigh_parse(const uint8_t *frame, size_t len, struct neigh_question *ret)
{
	struct cursor c = {frame, len};
	struct neigh_question q = {0};
	uint16_t ethertype;

	if (!take_ethernet(&c, q.asker, &ethertype))
		return false;
	q.l2_len = (uint8_t)(len - c.left);
	switch (ethertype) {
	case ETHERTYPE_ARP:
		if (!parse_arp(c, &q))
			return false;
		break;
	case ETHER_IPV6:
		if (!parse_solicitation(c, &q))
			return false;
		break;
	default:
		return false;
	}
	*ret = q;
	return true;
}

static size_t put_arp(const uint8_t *asked, const struct neigh_question *q, const uint8_t *mac,
		      uint8_t *out)
{
	const struct arp *request = (const struct arp *)asked;
	struct arp *reply = (struct arp *)out;

	memcpy(reply->kind, arp_reply, sizeof(arp_reply));
	memcpy(reply->sender_mac, mac, MAC_LEN);
	memcpy(reply->sender, q->target, 4);
	memcpy(reply->target_mac, q->asker, MAC_LEN);
	memcpy(reply->target, request->sender, 4);
	return sizeof(*reply);
}

static size_t put_advertisement(const uint8_t *asked, const struct neigh_question *q,
				const uint8_t *mac, uint8_t *out)
{
	struct nd_message *m = (struct nd_message *)(out + IPV6_HDR_LEN);
	struct nd_mac_option *option = (struct nd_mac_option *)(m + 1);
	const uint16_t len = sizeof(*m) + sizeof(*option);
	uint8_t *src = out + 8, *dst = out + 24;
	uint64_t sum;

	memset(out, 0, IPV6_HDR_LEN + len);
	out[0] = 6 << 4;
	be16_store(out + 4, len);
	out[6] = IP_PROTO_ICMP6;
	out[7] = ND_HOP_LIMIT;
	memcpy(src, q->target, 16);
	memcpy(dst, asked + 8, 16);

	m->type = ND_ADVERTISEMENT;
	/* Not overriding: the target itself knows better (RFC 4861 7.2.8). */
	m->flags = ND_SOLICITED;
	memcpy(m->target, q->target, 16);
	option->type = ND_TARGET_MAC;
	option->n_units = 1;
	memcpy(option->mac, mac, MAC_LEN);
	sum = checksum_pseudo(src, dst, 16, IP_PROTO_ICMP6, len);
	be16_store(m->checksum, checksum_finish(checksum_add(sum, (const uint8_t *)m, len)));
	return IPV6_HDR_LEN + (size_t)len;
}

size_t neigh_answer(const uint8_t *frame, size_t len, const struct neigh_question *q,
		    const uint8_t mac[6], uint8_t *out)
{
	const uint8_t *asked = frame + q->l2_len;

	assert(len >= q->l2_len + (q->addr_len == 4 ? sizeof(struct arp) : IPV6_HDR_LEN));
	(void)len;
	memcpy(out, frame, q->l2_len);
	memcpy(out, q->asker, MAC_LEN);
	memcpy(out + MAC_LEN, mac, MAC_LEN);
	out += q->l2_len;
	return q->l2_len + (q->addr_len == 4 ? put_arp(asked, q, mac, out)
					     : put_advertisement(asked, q, mac, out));
}
