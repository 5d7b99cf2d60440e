/* SPDX-License-Identifier: Apache-2.0 */
#include "tunnel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <libmnl/libmnl.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "nl.h"
#include "owner.h"
#include "tunnel_internal.h"

/* The attributes of a nest by their types; more than any of ours has. */
enum { N_TYPES = 48 };

struct nest {
	const struct nlattr *attr[N_TYPES];
};

static void index_nest(const struct nlattr *data, struct nest *ret)
{
	struct nl_attrs attrs = {mnl_attr_get_payload(data), mnl_attr_get_payload_len(data)};
	const struct nlattr *attr;

	*ret = (struct nest){0};
	while ((attr = nl_attrs_next(&attrs))) {
		if (mnl_attr_get_type(attr) < N_TYPES)
			ret->attr[mnl_attr_get_type(attr)] = attr;
	}
}

/* A number of 1, 2 or 4 bytes in the order of this machine; 0 where there is none,
 * which nothing of ours has where it matters. */
static uint32_t number(const struct nest *nest, unsigned type)
{
	const struct nlattr *attr = nest->attr[type];
	uint16_t value = 0;

	switch (attr ? mnl_attr_get_payload_len(attr) : 0) {
	case sizeof(uint8_t):
		return mnl_attr_get_u8(attr);
	case sizeof(value):
		memcpy(&value, mnl_attr_get_payload(attr), sizeof(value));
		return value;
	case sizeof(uint32_t):
		return mnl_attr_get_u32(attr);
	default:
		return 0;
	}
}

static uint16_t number_be16(const struct nest *nest, unsigned type)
{
	return ntohs((uint16_t)number(nest, type));
}

/* Is there one, without a value (a flag) or with another than zero? */
static bool is_on(const struct nest *nest, unsigned type)
{
	const struct nlattr *attr = nest->attr[type];
	const uint8_t *p = attr ? mnl_attr_get_payload(attr) : NULL;
	const size_t len = attr ? mnl_attr_get_payload_len(attr) : 0;
	bool on = attr && !len;

	for (size_t i = 0; i < len; i++)
		on |= p[i] != 0;
	return on;
}

/* The types. Each returns what is there that tunnel_create() never makes, or NULL. */

static void read_local(const struct nest *nest, struct ip_addr *ret)
{
	static const struct {
		unsigned type;
		uint8_t len;
	} forms[] = {{IFLA_VXLAN_LOCAL, 4}, {IFLA_VXLAN_LOCAL6, 16}};

	for (size_t i = 0; i < 2; i++) {
		const struct nlattr *attr = nest->attr[forms[i].type];

		if (attr && mnl_attr_get_payload_len(attr) == forms[i].len) {
			*ret = (struct ip_addr){.len = forms[i].len};
			memcpy(ret->bytes, mnl_attr_get_payload(attr), ret->len);
		}
	}
}

static const char *vxlan_odd(const struct nest *nest)
{
	static const struct {
		unsigned type;
		const char *word;
	} off[] = {
		{IFLA_VXLAN_LEARNING, "learning"},
		{IFLA_VXLAN_COLLECT_METADATA, "external"},
		{IFLA_VXLAN_VNIFILTER, "vnifilter"},
		{IFLA_VXLAN_GROUP, "remote"},
		{IFLA_VXLAN_GROUP6, "remote"},
		{IFLA_VXLAN_TOS, "tos"},
		{IFLA_VXLAN_DF, "df"},
		{IFLA_VXLAN_LABEL, "flowlabel"},
		{IFLA_VXLAN_PORT_RANGE, "srcport"},
		{IFLA_VXLAN_LIMIT, "maxaddress"},
		{IFLA_VXLAN_PROXY, "proxy"},
		{IFLA_VXLAN_RSC, "rsc"},
		{IFLA_VXLAN_L2MISS, "l2miss"},
		{IFLA_VXLAN_L3MISS, "l3miss"},
		{IFLA_VXLAN_REMCSUM_TX, "remcsumtx"},
		{IFLA_VXLAN_REMCSUM_RX, "remcsumrx"},
		{IFLA_VXLAN_GBP, "gbp"},
		{IFLA_VXLAN_GPE, "gpe"},
	};

	for (size_t i = 0; i < sizeof(off) / sizeof(off[0]); i++) {
		if (is_on(nest, off[i].type))
			return off[i].word;
	}
	if (!is_on(nest, IFLA_VXLAN_TTL) && !is_on(nest, IFLA_VXLAN_TTL_INHERIT))
		return "ttl auto";
	if (is_on(nest, IFLA_VXLAN_UDP_ZERO_CSUM6_TX) == is_on(nest, IFLA_VXLAN_UDP_CSUM))
		return "udp6zerocsumtx";
	if (is_on(nest, IFLA_VXLAN_UDP_ZERO_CSUM6_RX) == is_on(nest, IFLA_VXLAN_UDP_CSUM))
		return "udp6zerocsumrx";
	return NULL;
}

static const char *read_vxlan(const struct nest *nest, struct tunnel *t)
{
	t->vni = number(nest, IFLA_VXLAN_ID);
	t->udp_port = number_be16(nest, IFLA_VXLAN_PORT);
	read_local(nest, &t->local);
	t->link = (int)number(nest, IFLA_VXLAN_LINK);
	/* With the inner packet's the kernel does not look at its own. */
	if (!is_on(nest, IFLA_VXLAN_TTL_INHERIT))
		t->ttl = (uint8_t)number(nest, IFLA_VXLAN_TTL);
	t->csum = is_on(nest, IFLA_VXLAN_UDP_CSUM);
	return vxlan_odd(nest);
}

static const char *read_geneve(const struct nest *nest, struct tunnel *t)
{
	t->udp_port = number_be16(nest, IFLA_GENEVE_PORT);
	if (!is_on(nest, IFLA_GENEVE_COLLECT_METADATA))
		return "not external";
	if (is_on(nest, IFLA_GENEVE_INNER_PROTO_INHERIT))
		return "innerprotoinherit";
	return is_on(nest, IFLA_GENEVE_DF) ? "df" : NULL;
}

static const char *read_bareudp(const struct nest *nest, struct tunnel *t)
{
	t->udp_port = number_be16(nest, IFLA_BAREUDP_PORT);
	if (number_be16(nest, IFLA_BAREUDP_ETHERTYPE) != ETH_P_IP)
		return "ethertype";
	if (!is_on(nest, IFLA_BAREUDP_MULTIPROTO_MODE))
		return "not multiproto";
	return number(nest, IFLA_BAREUDP_SRCPORT_MIN) == TUNNEL_BAREUDP_SOURCE_PORT_MIN
		       ? NULL
		       : "srcportmin";
}

/* Finding */

static bool is_ours(const struct linkmsg *link)
{
	return !strncmp(link->alias, OWNER_ALIAS, sizeof(OWNER_ALIAS) - 1);
}

static void read_data(const struct linkmsg *link, struct tunnel_found *found)
{
	static const struct {
		enum tunnel_type type;
		const char *(*read)(const struct nest *nest, struct tunnel *t);
	} readers[] = {
		{TUNNEL_VXLAN, read_vxlan},
		{TUNNEL_GENEVE, read_geneve},
		{TUNNEL_BAREUDP, read_bareudp},
	};
	struct nest nest;

	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
		if (!link->data || strcmp(link->kind, tunnel_type_name(readers[i].type)) != 0)
			continue;
		index_nest(link->data, &nest);
		found->is_tunnel = true;
		found->tunnel.type = readers[i].type;
		found->odd = readers[i].read(&nest, &found->tunnel);
		/* Numbers of devices and sockets are that namespace's. */
		if (link->across)
			found->odd = "made in another namespace";
	}
}

bool tunnel_parse(const struct nlmsghdr *nlh, struct tunnel_found *ret)
{
	struct tunnel_found found = {0};
	struct linkmsg link;

	if (!linkmsg_parse(nlh, &link))
		return false;
	found.ifindex = link.ifindex;
	found.ours = is_ours(&link);
	found.up = link.flags & IFF_UP;
	strncpy(found.kind, link.kind, sizeof(found.kind) - 1);
	strncpy(found.tunnel.name, link.name, sizeof(found.tunnel.name) - 1);
	found.tunnel.mtu = link.mtu;
	memcpy(found.tunnel.mac, link.mac, sizeof(link.mac));
	read_data(&link, &found);
	*ret = found;
	return true;
}

static int on_found(const struct nlmsghdr *nlh, void *arg)
{
	return tunnel_parse(nlh, arg) ? 0 : -EBADMSG;
}

int tunnel_find(struct nl *nl, const char *name, struct tunnel_found *ret)
{
	struct tunnel_found found = {0};
	const size_t len = strlen(name);
	union linkmsg_request req;
	int err;

	/* No device has such a name. */
	if (!len || len >= IFNAMSIZ)
		return -ENODEV;
	linkmsg_begin(&req, RTM_GETLINK, 0);
	mnl_attr_put_strz(&req.nlh, IFLA_IFNAME, name);
	err = nl_call(nl, &req.nlh, on_found, &found);
	if (err)
		return err;
	if (!found.ifindex)
		return -EBADMSG;
	*ret = found;
	return 0;
}

struct listing {
	owned_fn fn;
	void *arg;
};

static int on_listed(const struct nlmsghdr *nlh, void *arg)
{
	const struct listing *listing = arg;
	struct linkmsg link;

	if (!linkmsg_parse(nlh, &link))
		return -EBADMSG;
	return is_ours(&link) ? listing->fn(link.ifindex, link.name, link.kind, listing->arg) : 0;
}

int tunnel_list_owned(struct nl *nl, owned_fn fn, void *arg)
{
	struct listing listing = {fn, arg};
	union linkmsg_request req;

	linkmsg_begin_dump(&req);
	return nl_call(nl, &req.nlh, on_listed, &listing);
}

/* Comparing */

/* "none" instead of an address of no length. */
static const char *address_text(const struct ip_addr *addr, char buf[IP_ADDR_TEXT_LEN])
{
	const char *text = NULL;

	if (addr->len)
		text = inet_ntop(addr->len == 4 ? AF_INET : AF_INET6, addr->bytes, buf,
				 IP_ADDR_TEXT_LEN);
	return text ? text : "none";
}

static bool vxlan_differs(const struct tunnel *is, const struct tunnel *want, char *buf,
			  size_t buf_len)
{
	char is_text[IP_ADDR_TEXT_LEN], want_text[IP_ADDR_TEXT_LEN];

	if (is->vni != want->vni)
		snprintf(buf, buf_len, "vni %u, not %u", is->vni, want->vni);
	else if (memcmp(&is->local, &want->local, sizeof(is->local)) != 0)
		snprintf(buf, buf_len, "local %s, not %s", address_text(&is->local, is_text),
			 address_text(&want->local, want_text));
	else if (is->link != want->link)
		snprintf(buf, buf_len, "link %d, not %d", is->link, want->link);
	else if (is->ttl != want->ttl)
		snprintf(buf, buf_len, "ttl %u, not %u", is->ttl, want->ttl);
	else if (is->csum != want->csum)
		snprintf(buf, buf_len, is->csum ? "a checksum" : "no checksum");
	else
		return false;
	return true;
}

const char *tunnel_differs(const struct tunnel_found *found, const struct tunnel *want, char *buf,
			   size_t buf_len)
{
	const struct tunnel *is = &found->tunnel;

	if (!found->is_tunnel || is->type != want->type)
		snprintf(buf, buf_len, "type %s, not %s", found->kind[0] ? found->kind : "none",
			 tunnel_type_name(want->type));
	else if (is->udp_port != want->udp_port)
		snprintf(buf, buf_len, "port %u, not %u", is->udp_port, want->udp_port);
	else if (found->odd)
		snprintf(buf, buf_len, "%s", found->odd);
	else if (want->type != TUNNEL_VXLAN || !vxlan_differs(is, want, buf, buf_len))
		return NULL;
	return buf;
}
