/* SPDX-License-Identifier: Apache-2.0 */
/* What is read of a tunnel device, and what is a difference: messages made here, as the
 * kernel writes them, so that no kernel need have the types. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "overlay/tunnel_internal.h"

static const struct tunnel vxlan = {
	.name = "t0",
	.type = TUNNEL_VXLAN,
	.vni = 0xabcdef,
	.udp_port = 8472,
	.local = {.bytes = {192, 0, 2, 77}, .len = 4},
	.ttl = 64,
	.mtu = 1370,
	.mac = {2, 3, 4, 5, 6, 7},
};
static const struct tunnel geneve = {
	.name = "t0",
	.type = TUNNEL_GENEVE,
	.udp_port = 6081,
	.outer6 = true,
	.mtu = 1350,
	.mac = {2, 3, 4, 5, 6, 8},
};
static const struct tunnel bareudp = {
	.name = "t0",
	.type = TUNNEL_BAREUDP,
	.udp_port = 6635,
	.mtu = 1380,
};
static const struct ip_addr local6 = {
	.bytes = {0x20, 0x01, 0x0d, 0xb8, [15] = 7},
	.len = 16,
};

/* ---- answers */

struct answer_attr {
	uint16_t type, len;
	const char *bytes;
};

enum { N_ANSWER_ATTRS = 16 };

/* What the kernel says of the three above. */
static const struct answer_attr vxlan_attrs[N_ANSWER_ATTRS] = {
	{IFLA_VXLAN_ID, 4, "\xef\xcd\xab\0"},
	{IFLA_VXLAN_LOCAL, 4, "\xc0\0\2\x4d"},
	{IFLA_VXLAN_TTL, 1, "\x40"},
	{IFLA_VXLAN_TTL_INHERIT, 1, "\0"},
	{IFLA_VXLAN_TOS, 1, "\0"},
	{IFLA_VXLAN_LABEL, 4, "\0\0\0\0"},
	{IFLA_VXLAN_LEARNING, 1, "\0"},
	{IFLA_VXLAN_COLLECT_METADATA, 1, "\0"},
	{IFLA_VXLAN_AGEING, 4, "\x2c\1\0\0"},
	{IFLA_VXLAN_PORT, 2, "\x21\x18"},
	{IFLA_VXLAN_UDP_CSUM, 1, "\0"},
	{IFLA_VXLAN_UDP_ZERO_CSUM6_TX, 1, "\1"},
	{IFLA_VXLAN_UDP_ZERO_CSUM6_RX, 1, "\1"},
	{IFLA_VXLAN_PORT_RANGE, 4, "\0\0\0\0"},
};
static const struct answer_attr geneve_attrs[N_ANSWER_ATTRS] = {
	{IFLA_GENEVE_ID, 4, "\0\0\0\0"},
	{IFLA_GENEVE_TTL, 1, "\0"},
	{IFLA_GENEVE_DF, 1, "\0"},
	{IFLA_GENEVE_PORT, 2, "\x17\xc1"},
	{IFLA_GENEVE_COLLECT_METADATA, 0, ""},
	{IFLA_GENEVE_UDP_ZERO_CSUM6_RX, 1, "\1"},
	{IFLA_GENEVE_TTL_INHERIT, 1, "\0"},
};
static const struct answer_attr bareudp_attrs[N_ANSWER_ATTRS] = {
	{IFLA_BAREUDP_PORT, 2, "\x19\xeb"},
	{IFLA_BAREUDP_ETHERTYPE, 2, "\x08\0"},
	{IFLA_BAREUDP_SRCPORT_MIN, 2, "\0\xc0"},
	{IFLA_BAREUDP_MULTIPROTO_MODE, 0, ""},
};

static const struct answer_attr *const attrs_of[] = {vxlan_attrs, geneve_attrs, bareudp_attrs};

union answer {
	struct nlmsghdr nlh;
	uint8_t bytes[1024];
};

struct answer_args {
	const char *alias;
	const struct answer_attr *attrs, *changed; /* instead of, or after, the one of its type */
	bool without;				   /* that one, rather */
	bool across;
};

static void put_data(struct nlmsghdr *nlh, const struct answer_args *a)
{
	struct nlattr *data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);

	for (const struct answer_attr *attr = a->attrs; attr->type; attr++) {
		if (!a->changed || attr->type != a->changed->type)
			mnl_attr_put(nlh, attr->type, attr->len, attr->bytes);
	}
	if (a->changed && !a->without)
		mnl_attr_put(nlh, a->changed->type, a->changed->len, a->changed->bytes);
	mnl_attr_nest_end(nlh, data);
}

static void build_answer(union answer *ret, const struct tunnel *t, const struct answer_args *a)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(memset(ret, 0, sizeof(*ret)));
	struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
	struct nlattr *info;

	nlh->nlmsg_type = RTM_NEWLINK;
	ifi->ifi_index = 17;
	ifi->ifi_flags = IFF_UP | IFF_BROADCAST;
	mnl_attr_put_strz(nlh, IFLA_IFNAME, t->name);
	mnl_attr_put_u32(nlh, IFLA_MTU, t->mtu);
	if (t->type != TUNNEL_BAREUDP)
		mnl_attr_put(nlh, IFLA_ADDRESS, 6, t->mac);
	if (a->alias)
		mnl_attr_put_strz(nlh, IFLA_IFALIAS, a->alias);
	if (a->across)
		mnl_attr_put_u32(nlh, IFLA_LINK_NETNSID, 0);
	info = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, tunnel_type_name(t->type));
	put_data(nlh, a);
	mnl_attr_nest_end(nlh, info);
}

static void assert_same(const struct tunnel *is, const struct tunnel *want)
{
	assert_string_equal(is->name, want->name);
	assert_int_equal(is->type, want->type);
	assert_int_equal(is->udp_port, want->udp_port);
	assert_int_equal(is->mtu, want->mtu);
	assert_memory_equal(is->mac, want->mac, 6);
	if (want->type != TUNNEL_VXLAN)
		return;
	assert_int_equal(is->vni, want->vni);
	assert_memory_equal(&is->local, &want->local, sizeof(is->local));
	assert_int_equal(is->link, want->link);
	assert_int_equal(is->ttl, want->ttl);
	assert_int_equal(is->csum, want->csum);
}

static void test_parse(void **state)
{
	static const struct tunnel *const wants[] = {&vxlan, &geneve, &bareudp};
	struct tunnel_found found;
	union answer answer;
	char buf[64];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		build_answer(&answer, wants[i], &(struct answer_args){.attrs = attrs_of[i]});
		assert_true(tunnel_parse(&answer.nlh, &found));
		assert_int_equal(found.ifindex, 17);
		assert_true(found.is_tunnel && found.up && !found.ours);
		assert_null(found.odd);
		assert_string_equal(found.kind, tunnel_type_name(wants[i]->type));
		assert_same(&found.tunnel, wants[i]);
		assert_null(tunnel_differs(&found, wants[i], buf, sizeof(buf)));
	}
}

static void test_parse_alias(void **state)
{
	static const struct {
		const char *alias;
		bool want;
	} cases[] = {
		{"sealane", true}, {"sealane of mine", true}, {"sealan", false},
		{"", false},	   {"a sealane", false},
	};
	struct tunnel_found found;
	union answer answer;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		build_answer(&answer, &geneve,
			     &(struct answer_args){.alias = cases[i].alias, .attrs = geneve_attrs});
		assert_true(tunnel_parse(&answer.nlh, &found));
		assert_int_equal(found.ours, cases[i].want);
	}
}

static const struct {
	enum tunnel_type type;
	struct answer_attr changed;
	bool without;
	const char *want; /* NULL: nothing odd */
} odd_cases[] = {
	{TUNNEL_VXLAN, {IFLA_VXLAN_LEARNING, 1, "\1"}, false, "learning"},
	{TUNNEL_VXLAN, {IFLA_VXLAN_COLLECT_METADATA, 1, "\1"}, false, "external"},
	{TUNNEL_VXLAN, {IFLA_VXLAN_VNIFILTER, 1, "\1"}, false, "vnifilter"},
	{TUNNEL_VXLAN, {IFLA_VXLAN_GROUP, 4, "\xc0\0\2\1"}, false, "remote"},
	{TUNNEL_VXLAN,
	 {IFLA_VXLAN_GROUP6, 16, "\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1"},
	 false,
	 "remote"},
	{TUNNEL_VXLAN, {IFLA_VXLAN_TOS, 1, "\1"}, false, "tos"},
	{TUNNEL_VXLAN, {IFLA_VXLAN_DF, 1, "\1"}, false, "df"},
	{TUNNEL_VXLAN, {IFLA_VXLAN_LABEL, 4, "\0\0\0\1"}, false, "flowlabel"},
	{TUNNEL_VXLAN, {IFLA_VXLAN_PORT_RANGE, 4, "\xc0\0\xff\xff"}, false, "srcport"},
	{TUNNEL_VXLAN, {IFLA_VXLAN_LIMIT, 4, "\1\0\0\0"}, false, "maxaddress"},
	{TUNNEL_VXLAN, {IFLA_VXLAN_PROXY, 1, "\1"}, false, "proxy"},
	{TUNNEL_VXLAN, {IFLA_VXLAN_RSC, 1, "\1"}, false, "rsc"},
	{TUNNEL_VXLAN, {IFLA_VXLAN_L2MISS, 1, "\1"}, false, "l2miss"},
	{TUNNEL_VXLAN, {IFLA_VXLAN_L3MISS, 1, "\1"}, false, "l3miss"},
	{TUNNEL_VXLAN, {IFLA_VXLAN_REMCSUM_TX, 1, "\1"}, false, "remcsumtx"},
	{TUNNEL_VXLAN, {IFLA_VXLAN_REMCSUM_RX, 1, "\1"}, false, "remcsumrx"},
	{TUNNEL_VXLAN, {IFLA_VXLAN_GBP, 0, ""}, false, "gbp"},
	{TUNNEL_VXLAN, {IFLA_VXLAN_GPE, 0, ""}, false, "gpe"},
	{TUNNEL_VXLAN, {IFLA_VXLAN_TTL, 1, "\0"}, false, "ttl auto"},
	{TUNNEL_VXLAN, {IFLA_VXLAN_TTL_INHERIT, 1, "\1"}, false, NULL},
	{TUNNEL_VXLAN, {IFLA_VXLAN_AGEING, 4, "\0\0\0\0"}, false, NULL},
	{TUNNEL_VXLAN, {IFLA_VXLAN_UDP_ZERO_CSUM6_TX, 1, "\0"}, false, "udp6zerocsumtx"},
	{TUNNEL_VXLAN, {IFLA_VXLAN_UDP_ZERO_CSUM6_RX, 1, "\0"}, false, "udp6zerocsumrx"},
	{TUNNEL_VXLAN, {63, 4, "\1\1\1\1"}, false, NULL}, /* of a kernel to come */
	{TUNNEL_GENEVE, {IFLA_GENEVE_COLLECT_METADATA, 0, ""}, true, "not external"},
	{TUNNEL_GENEVE, {IFLA_GENEVE_INNER_PROTO_INHERIT, 0, ""}, false, "innerprotoinherit"},
	{TUNNEL_GENEVE, {IFLA_GENEVE_DF, 1, "\1"}, false, "df"},
	/* What the kernel says here does not follow what it was told. */
	{TUNNEL_GENEVE, {IFLA_GENEVE_UDP_ZERO_CSUM6_RX, 1, "\0"}, false, NULL},
	{TUNNEL_BAREUDP, {IFLA_BAREUDP_ETHERTYPE, 2, "\x86\xdd"}, false, "ethertype"},
	{TUNNEL_BAREUDP, {IFLA_BAREUDP_ETHERTYPE, 2, "\0\x08"}, false, "ethertype"},
	{TUNNEL_BAREUDP, {IFLA_BAREUDP_MULTIPROTO_MODE, 0, ""}, true, "not multiproto"},
	{TUNNEL_BAREUDP, {IFLA_BAREUDP_SRCPORT_MIN, 2, "\0\0"}, false, "srcportmin"},
};

static void test_parse_odd(void **state)
{
	static const struct tunnel *const tunnels[] = {&vxlan, &geneve, &bareudp};

	(void)state;
	for (size_t i = 0; i < sizeof(odd_cases) / sizeof(odd_cases[0]); i++) {
		const enum tunnel_type type = odd_cases[i].type;
		const char *want = odd_cases[i].want;
		const struct answer_args args = {.attrs = attrs_of[type],
						 .changed = &odd_cases[i].changed,
						 .without = odd_cases[i].without};
		struct tunnel_found found;
		union answer answer;
		char buf[64];

		build_answer(&answer, tunnels[type], &args);
		assert_true(tunnel_parse(&answer.nlh, &found));
		if (want ? !found.odd || strcmp(found.odd, want) : found.odd != NULL)
			fail_msg("case %zu: %s", i, found.odd ? found.odd : "nothing");
		if (want)
			assert_string_equal(tunnel_differs(&found, tunnels[type], buf, sizeof(buf)),
					    want);
	}
}

/* The kernel keeps a number beside it and does not look at that. */
static void test_parse_ttl_inherit(void **state)
{
	static const struct answer_attr inherit = {IFLA_VXLAN_TTL_INHERIT, 1, "\1"};
	struct tunnel_found found;
	union answer answer;

	(void)state;
	build_answer(&answer, &vxlan,
		     &(struct answer_args){.attrs = vxlan_attrs, .changed = &inherit});
	assert_true(tunnel_parse(&answer.nlh, &found));
	assert_int_equal(found.tunnel.ttl, 0);
}

static void test_parse_elsewhere(void **state)
{
	struct tunnel_found found;
	union answer answer;

	(void)state;
	build_answer(&answer, &vxlan, &(struct answer_args){.attrs = vxlan_attrs, .across = true});
	assert_true(tunnel_parse(&answer.nlh, &found));
	assert_string_equal(found.odd, "made in another namespace");
}

static void test_parse_others(void **state)
{
	const struct answer_args args = {.attrs = vxlan_attrs};
	struct tunnel_found found = {.ifindex = 7};
	struct ifinfomsg *ifi;
	union answer answer;
	struct tunnel t = vxlan;

	(void)state;
	build_answer(&answer, &vxlan, &args);
	answer.nlh.nlmsg_type = RTM_DELLINK;
	assert_false(tunnel_parse(&answer.nlh, &found));
	build_answer(&answer, &vxlan, &args);
	ifi = mnl_nlmsg_get_payload(&answer.nlh);
	ifi->ifi_family = AF_BRIDGE;
	assert_false(tunnel_parse(&answer.nlh, &found));
	t.name[0] = '\0';
	build_answer(&answer, &t, &args);
	assert_false(tunnel_parse(&answer.nlh, &found));
	assert_int_equal(found.ifindex, 7);
}

/* A text without its end is none, even where a zero happens to follow. */
static void test_parse_unended(void **state)
{
	static const uint16_t types[] = {IFLA_IFNAME, IFLA_IFALIAS};
	struct tunnel_found found;
	union answer answer;
	struct nlattr *info;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		build_answer(&answer, &vxlan, &(struct answer_args){.attrs = vxlan_attrs});
		mnl_attr_put_str(&answer.nlh, types[i], "t0");
		assert_false(tunnel_parse(&answer.nlh, &found));
	}
	build_answer(&answer, &vxlan, &(struct answer_args){.attrs = vxlan_attrs});
	info = mnl_attr_nest_start(&answer.nlh, IFLA_LINKINFO);
	mnl_attr_put_str(&answer.nlh, IFLA_INFO_KIND, "vxlan");
	mnl_attr_nest_end(&answer.nlh, info);
	assert_false(tunnel_parse(&answer.nlh, &found));
}

/* Whatever the bytes are, nothing behind them is read (the copy ends where they do). */
static void test_parse_broken(void **state)
{
	struct tunnel_found found;
	union answer answer;
	uint32_t n_parsed = 0;

	(void)state;
	build_answer(&answer, &vxlan,
		     &(struct answer_args){.alias = "sealane", .attrs = vxlan_attrs});
	for (uint32_t len = sizeof(struct nlmsghdr); len < answer.nlh.nlmsg_len; len++) {
		struct nlmsghdr *copy = malloc(len);

		memcpy(copy, &answer, len);
		copy->nlmsg_len = len;
		n_parsed += tunnel_parse(copy, &found);
		free(copy);
	}
	/* After the name, or a whole attribute behind it. */
	assert_in_range(n_parsed, 1, 10);
	for (uint32_t i = sizeof(struct nlmsghdr); i < answer.nlh.nlmsg_len; i++) {
		for (uint32_t value = 0; value < 256; value += 5) {
			uint8_t *copy = malloc(answer.nlh.nlmsg_len);

			memcpy(copy, &answer, answer.nlh.nlmsg_len);
			copy[i] = (uint8_t)value;
			(void)tunnel_parse((struct nlmsghdr *)copy, &found);
			free(copy);
		}
	}
}

/* ---- differences */

static void test_differs(void **state)
{
	const struct tunnel_found as_wanted = {.is_tunnel = true, .tunnel = vxlan, .kind = "vxlan"};
	struct tunnel_found found;
	char buf[128];
#define DIFFERS(change, text)                                                                      \
	do {                                                                                       \
		found = as_wanted;                                                                 \
		change;                                                                            \
		memset(buf, 'x', sizeof(buf));                                                     \
		assert_ptr_equal(tunnel_differs(&found, &vxlan, buf, sizeof(buf)), buf);           \
		assert_string_equal(buf, text);                                                    \
	} while (0)

	(void)state;
	assert_null(tunnel_differs(&as_wanted, &vxlan, buf, sizeof(buf)));
	DIFFERS(found.tunnel.vni = 7, "vni 7, not 11259375");
	DIFFERS(found.tunnel.udp_port = 4789, "port 4789, not 8472");
	DIFFERS(found.tunnel.local.bytes[3] = 78, "local 192.0.2.78, not 192.0.2.77");
	DIFFERS(found.tunnel.local = local6, "local 2001:db8::7, not 192.0.2.77");
	DIFFERS(found.tunnel.local = (struct ip_addr){0}, "local none, not 192.0.2.77");
	DIFFERS(found.tunnel.link = 3, "link 3, not 0");
	DIFFERS(found.tunnel.ttl = 1, "ttl 1, not 64");
	DIFFERS(found.tunnel.csum = true, "a checksum");
	DIFFERS(found.odd = "learning", "learning");
	DIFFERS(found.tunnel.type = TUNNEL_GENEVE;
		strcpy(found.kind, "geneve"), "type geneve, not vxlan");
	DIFFERS(found.is_tunnel = false; strcpy(found.kind, "dummy"), "type dummy, not vxlan");
	DIFFERS(found.is_tunnel = false; found.kind[0] = '\0', "type none, not vxlan");
#undef DIFFERS
	found = as_wanted;
	found.tunnel.mtu = 9000;
	found.tunnel.mac[5] ^= 1;
	found.up = true;
	assert_null(tunnel_differs(&found, &vxlan, buf, sizeof(buf)));
	/* A short buffer is not run over. */
	found.tunnel.vni = 7;
	memset(buf, 'x', sizeof(buf));
	assert_ptr_equal(tunnel_differs(&found, &vxlan, buf, 6), buf);
	assert_string_equal(buf, "vni 7");
	assert_int_equal(buf[6], 'x');
}

/* What the kernel does not tell, or has no meaning for the type, is no difference. */
static void test_differs_not(void **state)
{
	struct tunnel_found found = {.is_tunnel = true, .tunnel = geneve, .kind = "geneve"};
	struct tunnel want = geneve;
	char buf[64];

	(void)state;
	want.csum = true;
	want.outer6 = !want.outer6;
	want.vni = 9;
	want.ttl = 9;
	want.link = 9;
	want.local = local6;
	assert_null(tunnel_differs(&found, &want, buf, sizeof(buf)));
	want.udp_port++;
	assert_string_equal(tunnel_differs(&found, &want, buf, sizeof(buf)), "port 6081, not 6082");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),		cmocka_unit_test(test_parse_alias),
		cmocka_unit_test(test_parse_odd),	cmocka_unit_test(test_parse_ttl_inherit),
		cmocka_unit_test(test_parse_elsewhere), cmocka_unit_test(test_parse_unended),
		cmocka_unit_test(test_parse_others),	cmocka_unit_test(test_parse_broken),
		cmocka_unit_test(test_differs),		cmocka_unit_test(test_differs_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
