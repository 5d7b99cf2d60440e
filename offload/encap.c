/* SPDX-License-Identifier: Apache-2.0 */
#include "encap.h"

#include <string.h>

#include "be.h"
#include "cursor.h"

enum {
	UDP_HDR_LEN = 8,
	ETHERNET_HDR_LEN = 14,
	ETHERNET_TYPE_OFF = 12,
	VXLAN_FLAG_I = 0x08,
	GENEVE_HDR_LEN = 8,
	MPLS_LABEL_LEN = 4,
	MPLS_LABELS_MAX = 8,
};

enum { ETHERTYPE_IPV4 = 0x0800, ETHERTYPE_IPV6 = 0x86dd, ETHERTYPE_TEB = 0x6558 };

static struct encap_port *find_port(struct encap_table *t, uint16_t port)
{
	unsigned i;

	for (i = 0; i < t->n; i++)
		if (t->port[i].port == port)
			return &t->port[i];
	return NULL;
}

void encap_table_default(struct encap_table *t)
{
	*t = (struct encap_table){
		.port = {{VXLAN_PORT, ENCAP_VXLAN},
			 {VXLAN_PORT_LINUX, ENCAP_VXLAN},
			 {GENEVE_PORT, ENCAP_GENEVE},
			 {BAREUDP_MPLS_PORT, ENCAP_BAREUDP_MPLS}},
		.n = 4,
	};
}

bool encap_table_set(struct encap_table *t, uint16_t port, enum encap_kind kind)
{
	struct encap_port *row = find_port(t, port);

	if (!row) {
		if (t->n == ENCAP_PORTS_MAX)
			return false;
		row = &t->port[t->n++];
		row->port = port;
	}
	row->kind = (uint8_t)kind;
	return true;
}

bool encap_table_remove(struct encap_table *t, uint16_t port)
{
	struct encap_port *row = find_port(t, port);

	if (!row)
		return false;
	*row = t->port[--t->n];
	return true;
}

bool encap_table_merge(struct encap_table *t, const struct encap_table *from)
{
	struct encap_table merged = *t;
	unsigned i;

	for (i = 0; i < from->n; i++)
		if (!encap_table_set(&merged, from->port[i].port,
				     (enum encap_kind)from->port[i].kind))
			return false;
	*t = merged;
	return true;
}

enum encap_kind encap_table_find(const struct encap_table *t, uint16_t port)
{
	unsigned i;

	for (i = 0; i < t->n; i++)
		if (t->port[i].port == port)
			return (enum encap_kind)t->port[i].kind;
	return ENCAP_NONE;
}

/* Takes "PORT=" off *text. 0: it does not begin with that. */
static uint16_t take_port(const char **text)
{
	const char *p = *text;
	uint32_t port = 0;

	for (; *p >= '0' && *p <= '9' && port <= UINT16_MAX; p++)
		port = port * 10 + (uint32_t)(*p - '0');
	if (*p != '=' || port > UINT16_MAX)
		return 0;
	*text = p + 1;
	return (uint16_t)port;
}

static const struct {
	const char *name;
	enum encap_kind kind;
} kinds[] = {
	{"vxlan", ENCAP_VXLAN},
	{"geneve", ENCAP_GENEVE},
	{"ip", ENCAP_BAREUDP_IP},
	{"mpls", ENCAP_BAREUDP_MPLS},
};

const char *encap_kind_name(enum encap_kind kind)
{
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (kinds[i].kind == kind)
			return kinds[i].name;
	return NULL;
}

enum encap_kind encap_kind_of(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strlen(kinds[i].name) == len && !memcmp(kinds[i].name, name, len))
			return kinds[i].kind;
	return ENCAP_NONE;
}

/* Takes the name of a kind, which a comma or the end follows, off *text. */
static enum encap_kind take_kind(const char **text)
{
	const size_t len = strcspn(*text, ",");
	const enum encap_kind kind = encap_kind_of(*text, len);

	*text += kind == ENCAP_NONE ? 0 : len;
	return kind;
}

bool encap_table_parse(struct encap_table *t, const char *text)
{
	struct encap_table parsed = *t;
	enum encap_kind kind;
	uint16_t port;

	while (*text) {
		port = take_port(&text);
		kind = port ? take_kind(&text) : ENCAP_NONE;
		if (kind == ENCAP_NONE || !encap_table_set(&parsed, port, kind))
			return false;
		if (*text && !*++text) /* nothing behind the comma */
			return false;
	}
	*t = parsed;
	return true;
}

/* The version an ethertype promises; 0: not IP. */
static uint8_t ip_version(uint16_t ethertype)
{
	switch (ethertype) {
	case ETHERTYPE_IPV4:
		return 4;
	case ETHERTYPE_IPV6:
		return 6;
	default:
		return 0;
	}
}

static uint8_t skip_ethernet(struct cursor *c)
{
	const uint8_t *hdr = take(c, ETHERNET_HDR_LEN);

	return hdr ? ip_version(be16_load(hdr + ETHERNET_TYPE_OFF)) : 0;
}

/* Any other flag is an extension (GPE, group policy) whose fields depend on the
 * packet in ways that are not known here. */
static uint8_t skip_vxlan(struct cursor *c)
{
	const uint8_t *hdr = take(c, VXLAN_HDR_LEN);

	if (!hdr || be32_load(hdr) != (uint32_t)VXLAN_FLAG_I << 24 || hdr[7])
		return 0;
	return skip_ethernet(c);
}

/* Version (2 bits) and option length in words (6), O and C bits and six that
 * are reserved, protocol type, VNI (RFC 8926 3.4). */
static uint8_t skip_geneve(struct cursor *c)
{
	const uint8_t *hdr = take(c, GENEVE_HDR_LEN);
	uint16_t type;

	if (!hdr || hdr[0] >> 6 || hdr[1] & 0xc0 || !take(c, (hdr[0] & 0x3fu) * 4))
		return 0;
	type = be16_load(hdr + 2);
	return type == ETHERTYPE_TEB ? skip_ethernet(c) : ip_version(type);
}

static uint8_t peek_version(const struct cursor *c)
{
	return c->left ? c->p[0] >> 4 : 0;
}

static uint8_t skip_mpls(struct cursor *c)
{
	const uint8_t *label;
	unsigned n;

	for (n = 0; n < MPLS_LABELS_MAX; n++) {
		label = take(c, MPLS_LABEL_LEN);
		if (!label)
			return 0;
		if (label[2] & 1) /* bottom of stack */
			return peek_version(c);
	}
	return 0;
}

/* Moves the cursor to the inner packet; returns the IP version that its tunnel
 * header promises, 0 for none. */
static uint8_t skip_tunnel(enum encap_kind kind, struct cursor *c)
{
	switch (kind) {
	case ENCAP_VXLAN:
		return skip_vxlan(c);
	case ENCAP_GENEVE:
		return skip_geneve(c);
	case ENCAP_BAREUDP_IP:
		return peek_version(c);
	case ENCAP_BAREUDP_MPLS:
		return skip_mpls(c);
	case ENCAP_NONE:
		break;
	}
	return 0;
}

bool encap_parse(const struct encap_table *t, const uint8_t *p, const struct ip_view *v,
		 struct encap_view *ret)
{
	struct encap_view e = {.outer_l4_off = v->l4_off};
	struct cursor c = {p + v->l4_off, v->total_len - v->l4_off};
	const uint32_t udp_len = v->total_len - v->l4_off;
	const uint8_t *udp;
	uint8_t version;

	if (!v->has_l4 || v->fragment || v->proto != IP_PROTO_UDP)
		return false;
	udp = take(&c, UDP_HDR_LEN);
	if (!udp || be16_load(udp + 4) != udp_len)
		return false;
	e.kind = encap_table_find(t, be16_load(udp + 2));
	version = skip_tunnel(e.kind, &c);
	if (!version || !ip_parse(c.p, c.left, &e.inner) || e.inner.version != version)
		return false;
	e.inner_l3_off = (uint16_t)(c.p - p);
	*ret = e;
	return true;
}
