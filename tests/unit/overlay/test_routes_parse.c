/* SPDX-License-Identifier: Apache-2.0 */
/* Routes as messages and as values, without a kernel: what it would never send, and
 * what this one might refuse. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>

#include "overlay/routes_internal.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

static const struct route plain = {
	.dst = {{{10, 1}, 4}, 16},
	.protocol = 94,
	.oif = 3,
	.via = {{192, 0, 2, 7}, 4},
};

/* ---- Comparing ---- */

static void set_table_main(struct route *r)
{
	r->table = RT_TABLE_MAIN;
}

static void set_table(struct route *r)
{
	r->table = 255;
}

static void set_dst(struct route *r)
{
	r->dst.addr.bytes[1] = 2;
}

static void set_dst_len(struct route *r)
{
	r->dst.len = 17;
}

static void set_metric(struct route *r)
{
	r->metric = 1024;
}

static void set_protocol(struct route *r)
{
	r->protocol = 95;
}

static void set_unreachable(struct route *r)
{
	r->unreachable = true;
}

static void set_oif(struct route *r)
{
	r->oif = 4;
}

static void set_via(struct route *r)
{
	r->via.bytes[3] = 8;
}

static void set_onlink(struct route *r)
{
	r->onlink = true;
}

static void set_src(struct route *r)
{
	r->src = (struct ip_addr){{192, 0, 2, 1}, 4};
}

static void set_mtu(struct route *r)
{
	r->mtu = 1300;
}

static void set_encap(struct route *r)
{
	r->encap.present = true;
}

static void set_absent_encap(struct route *r)
{
	r->encap.id = 7;
}

static void test_compare(void **state)
{
	static const struct {
		const char *what;
		void (*change)(struct route *r);
		bool same_entry, equal;
	} rows[] = {
		{"main", set_table_main, true, true},
		{"table", set_table, false, false},
		{"dst", set_dst, false, false},
		{"dst_len", set_dst_len, false, false},
		{"metric", set_metric, false, false},
		{"protocol", set_protocol, true, false},
		{"unreachable", set_unreachable, true, false},
		{"oif", set_oif, true, false},
		{"via", set_via, true, false},
		{"onlink", set_onlink, true, false},
		{"src", set_src, true, false},
		{"mtu", set_mtu, true, false},
		{"encap", set_encap, true, false},
		{"absent encap", set_absent_encap, true, true},
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		struct route changed = plain;

		rows[i].change(&changed);
		if (route_same_entry(&plain, &changed) != rows[i].same_entry ||
		    route_same_entry(&changed, &plain) != rows[i].same_entry)
			fail_msg("%s: same entry?", rows[i].what);
		if (route_equal(&plain, &changed) != rows[i].equal ||
		    route_equal(&changed, &plain) != rows[i].equal)
			fail_msg("%s: equal?", rows[i].what);
	}
}

static void test_compare_encap(void **state)
{
	struct route a = plain, b;

	(void)state;
	a.encap = (struct route_encap){
		.present = true, .id = 7, .remote = {{9}, 4}, .local = {{8}, 4}, .ttl = 64};
	for (int i = 0; i < 7; i++) {
		b = a;
		b.encap.id += i == 1;
		b.encap.remote.bytes[2] += i == 2;
		b.encap.local.bytes[2] += i == 3;
		b.encap.ttl += i == 4;
		b.encap.tos += i == 5;
		b.encap.csum = i == 6;
		assert_int_equal(route_equal(&a, &b), i == 0);
	}
}

static void test_compare_special(void **state)
{
	struct route a = {.dst = {{{0xfd}, 16}, 64}, .protocol = 94, .oif = 3}, b = a;

	(void)state;
	b.metric = 1024; /* what the kernel makes of none */
	assert_true(route_same_entry(&a, &b));
	assert_true(route_equal(&a, &b));
	b = a;
	b.onlink = true; /* says nothing without a way */
	assert_true(route_equal(&a, &b));
	a.unreachable = b.unreachable = true;
	b.oif = 1; /* nor does the device here */
	assert_true(route_equal(&a, &b));
	b.protocol = 95;
	assert_false(route_equal(&a, &b));
}

/* ---- Requests ---- */

/* A walk of this file's own: payload of the attribute of this type, between @p and
 * @end. */
static const uint8_t *find(const uint8_t *p, const uint8_t *end, unsigned type, size_t *ret_len)
{
	while (end - p >= 4) {
		uint16_t head[2];

		memcpy(head, p, sizeof(head));
		assert_in_range(head[0], 4, end - p);
		if ((head[1] & 0x3fff) == type) {
			*ret_len = head[0] - 4u;
			return p + 4;
		}
		p += (head[0] + 3) / 4 * 4;
	}
	return NULL;
}

static void assert_attr(const uint8_t *p, size_t len, unsigned type, const void *want,
			size_t want_len)
{
	size_t got_len = 0;
	const uint8_t *got = find(p, p + len, type, &got_len);

	if (!got)
		fail_msg("no attribute %u", type);
	assert_int_equal(got_len, want_len);
	assert_memory_equal(got, want, want_len);
}

/* Numbers as in the kernel's documentation of its interface, not by name. */
static void test_put_request(void **state)
{
	static const uint8_t dst[4] = {10, 1, 0, 0}, tag[8] = {0, 0, 0, 0, 0, 0xab, 0xcd, 0xef};
	static const uint8_t remote[4] = {203, 0, 113, 9}, local[4] = {192, 0, 2, 1};
	static const uint8_t via[18] = {10, 0, 0xfe, 0x80, [17] = 7}; /* AF_INET6, little-endian */
	static const uint8_t flags[2] = {0, 5};			      /* key, checksum */
	static const uint8_t ttl = 63, tos = 4;
	const uint32_t table = 100000, metric = 9, oif = 3, mtu = 1300;
	const uint16_t encap_ip = 2;
	struct route route = plain;
	union route_request req;
	const uint8_t *attrs = req.bytes + 16 + 12, *nest;
	size_t len, nest_len = 0;

	(void)state;
	route.table = table;
	route.metric = metric;
	route.mtu = mtu;
	route.onlink = true;
	route.via = (struct ip_addr){{0xfe, 0x80, [15] = 7}, 16};
	route.encap = (struct route_encap){
		true, 0xabcdef, {{203, 0, 113, 9}, 4}, {{192, 0, 2, 1}, 4}, ttl, tos, true};
	assert_true(route_build_put(&route, &req));
	assert_int_equal(req.nlh.nlmsg_type, 24);
	assert_int_equal(req.nlh.nlmsg_flags & 0xff00, 0x0500); /* create, replace */
	/* family, dst_len, src_len, tos, table, protocol, scope, type */
	assert_memory_equal(req.bytes + 16, "\x02\x10\0\0\0\x5e\0\x01", 8);
	assert_memory_equal(req.bytes + 24, &(uint32_t){4}, 4); /* onlink */

	len = req.nlh.nlmsg_len - 28;
	assert_attr(attrs, len, 1, dst, 4);
	assert_attr(attrs, len, 15, &table, 4);
	assert_attr(attrs, len, 6, &metric, 4);
	assert_attr(attrs, len, 4, &oif, 4);
	if (htons(1) != 1)
		assert_attr(attrs, len, 18, via, sizeof(via));
	assert_attr(attrs, len, 21, &encap_ip, 2);
	nest = find(attrs, attrs + len, 8, &nest_len);
	assert_non_null(nest);
	assert_attr(nest, nest_len, 2, &mtu, 4);
	nest = find(attrs, attrs + len, 22, &nest_len);
	assert_non_null(nest);
	assert_attr(nest, nest_len, 1, tag, 8);
	assert_attr(nest, nest_len, 2, remote, 4);
	assert_attr(nest, nest_len, 3, local, 4);
	assert_attr(nest, nest_len, 4, &ttl, 1);
	assert_attr(nest, nest_len, 5, &tos, 1);
	assert_attr(nest, nest_len, 6, flags, 2);
}

static void assert_refused(const char *what, const struct route *route, bool remove_too)
{
	union route_request req;

	if (route_build_put(route, &req) || route_build_remove(route, &req) != !remove_too)
		fail_msg("%s", what);
}

static void test_impossible_routes(void **state)
{
	struct route r = plain;
	union route_request req;

	(void)state;
	assert_true(route_build_put(&r, &req));
	r.protocol = 0;
	assert_refused("no protocol", &r, true);
	r = plain;
	r.dst.addr.len = 0;
	assert_refused("no family", &r, true);
	r = plain;
	r.dst.len = 33;
	assert_refused("a prefix too long", &r, true);
	r = plain;
	r.dst.addr.bytes[2] = 1;
	assert_refused("host bits", &r, true);
	r = plain;
	r.oif = 0;
	assert_refused("no device", &r, false);
	r = plain;
	r.via.len = 5;
	assert_refused("no way", &r, false);
	r = plain;
	r.src = (struct ip_addr){{0xfd}, 16};
	assert_refused("a source of the other family", &r, false);
	r = plain;
	r.encap.present = true;
	assert_refused("no remote", &r, false);
	r.encap.remote = (struct ip_addr){{1}, 4};
	assert_true(route_build_put(&r, &req));
	r.encap.local = (struct ip_addr){{0xfd}, 16};
	assert_refused("ends of two families", &r, false);
}

/* ---- Reading ---- */

/* A route that can be read, and its parts to be spoilt. */
struct message {
	struct nlmsghdr nlh;
	struct rtmsg rt;
	struct {
		struct nlattr head;
		uint8_t addr[4];
	} dst;
	struct {
		struct nlattr head;
		uint32_t index;
	} oif;
	struct {
		struct nlattr head;
		struct rtnexthop hop;
		struct nlattr gateway;
		uint8_t addr[4];
	} multipath;
	struct {
		struct nlattr type_head;
		uint16_t type, pad;
		struct nlattr head, ttl_head;
		uint8_t ttl[4];
	} encap;
};

static struct message readable(void)
{
	return (struct message){
		.nlh = {.nlmsg_len = sizeof(struct message), .nlmsg_type = RTM_NEWROUTE},
		.rt = {.rtm_family = AF_INET,
		       .rtm_dst_len = 16,
		       .rtm_table = 254,
		       .rtm_protocol = 94,
		       .rtm_type = RTN_UNICAST},
		.dst = {{8, RTA_DST}, {10, 1, 0, 0}},
		.oif = {{8, RTA_OIF}, 3},
		.multipath = {{4 + 8 + 8, RTA_MULTIPATH},
			      {.rtnh_len = 8 + 8, .rtnh_ifindex = 5},
			      {8, RTA_GATEWAY},
			      {192, 0, 2, 7}},
		.encap = {{6, RTA_ENCAP_TYPE}, 2, 0, {4 + 8, RTA_ENCAP}, {5, 4}, {63}},
	};
}

static void test_parse(void **state)
{
	struct message m = readable();
	struct route r;

	(void)state;
	assert_true(route_parse(&m.nlh, &r));
	assert_memory_equal(&r.dst, &plain.dst, sizeof(r.dst));
	assert_int_equal(r.table, 254);
	assert_int_equal(r.oif, 5); /* the last that is told */
	assert_memory_equal(&r.via, &plain.via, sizeof(r.via));
	assert_true(r.encap.present);
	assert_int_equal(r.encap.ttl, 63);
	assert_false(r.onlink);

	m.multipath.hop.rtnh_flags = RTNH_F_ONLINK;
	assert_true(route_parse(&m.nlh, &r));
	assert_true(r.onlink);

	/* A next hop that does not fit is no next hop. */
	m.multipath.hop.rtnh_len = 8 + 9;
	assert_true(route_parse(&m.nlh, &r));
	assert_int_equal(r.oif, 3);
	assert_int_equal(r.via.len, 0);
	m.multipath.hop.rtnh_len = 7;
	assert_true(route_parse(&m.nlh, &r));
	assert_int_equal(r.oif, 3);
}

static void test_parse_odd(void **state)
{
	static const uint8_t types[] = {RTN_BLACKHOLE, RTN_PROHIBIT, RTN_THROW};
	struct message m = readable();
	struct route r, same;

	(void)state;
	assert_true(route_parse(&m.nlh, &same));
	assert_false(same.odd);
	for (size_t i = 0; i < sizeof(types); i++) {
		m.rt.rtm_type = types[i];
		assert_true(route_parse(&m.nlh, &r));
		assert_true(r.odd);
		assert_true(route_same_entry(&r, &same));
		assert_false(route_equal(&r, &same));
		assert_false(route_equal(&r, &r));
	}
	m = readable();
	m.encap.type = 1; /* MPLS */
	assert_true(route_parse(&m.nlh, &r));
	assert_true(r.odd);
}

static void test_parse_refuses(void **state)
{
	struct route r, before;

	(void)state;
	memset(&r, 0x5a, sizeof(r));
	before = r;
	for (int i = 0; i < 12; i++) {
		struct message m = readable();

		switch (i) {
		case 0:
			m.nlh.nlmsg_type = RTM_DELROUTE;
			break;
		case 1:
			m.nlh.nlmsg_len = 16 + 11;
			break;
		case 2:
			m.rt.rtm_family = AF_INET6; /* but four bytes */
			break;
		case 3:
			m.rt.rtm_family = 28; /* MPLS */
			break;
		case 4:
			m.rt.rtm_dst_len = 33;
			break;
		case 5:
			m.rt.rtm_type = RTN_LOCAL;
			break;
		case 6:
			m.rt.rtm_tos = 4;
			break;
		case 7:
			m.rt.rtm_src_len = 8;
			break;
		case 8:
			m.rt.rtm_flags = RTM_F_CLONED;
			break;
		case 9:
			m.rt.rtm_type = RTN_MULTICAST;
			break;
		case 10:
			m.encap.head.nla_len++; /* past the end */
			break;
		case 11:
			m.dst.head.nla_len = 3;
			break;
		}
		if (route_parse(&m.nlh, &r))
			fail_msg("case %d was taken", i);
		assert_memory_equal(&r, &before, sizeof(r));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compare),		  cmocka_unit_test(test_compare_encap),
		cmocka_unit_test(test_compare_special),	  cmocka_unit_test(test_put_request),
		cmocka_unit_test(test_impossible_routes), cmocka_unit_test(test_parse),
		cmocka_unit_test(test_parse_odd),	  cmocka_unit_test(test_parse_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
