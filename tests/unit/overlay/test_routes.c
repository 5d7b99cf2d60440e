/* SPDX-License-Identifier: Apache-2.0 */
/* Routes as ip(8) shows what we put, and as we list what ip(8) put. */
#include "overlay/routes.h"

#include <net/if.h>

#include "netns.h"
#include "overlay/nl.h"
#include "overlay/nl_batch.h"
#include "overlay/owner.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

static struct fixture {
	struct nl *nl;
	struct nl_batch *b;
	int answer; /* of the last request */
	int ra, rb; /* the two ends of a veth pair */
} f;

static void on_answer(void *cookie, int err, void *arg)
{
	(void)cookie;
	*(int *)arg = err;
}

static int setup(void **state)
{
	(void)state;
	netns_enter();
	if (netns_skip_reason)
		return 0;
	/* No address comes by itself: a change in the middle of a dump repeats it. */
	if (system("ip link add ra type veth peer name rb && ip link set lo up && "
		   "ip link set ra addrgenmode none up && "
		   "ip link set rb addrgenmode none up && "
		   "ip address add 192.0.2.1/24 dev ra && "
		   "ip address add 2001:db8::1/64 dev ra nodad") ||
	    nl_open(&f.nl) || nl_batch_new(f.nl, on_answer, &f.answer, &f.b))
		return -1;
	f.ra = (int)if_nametoindex("ra");
	f.rb = (int)if_nametoindex("rb");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	nl_batch_free(f.b);
	nl_close(f.nl);
	return 0;
}

static struct ip_prefix prefix_of(const char *text)
{
	struct ip_prefix prefix;

	if (!ip_prefix_parse(text, &prefix))
		fail_msg("%s is no prefix", text);
	return prefix;
}

/* NULL: none. */
static struct ip_addr addr_of(const char *text)
{
	struct ip_addr addr = {.len = 0};

	if (text && !ip_addr_parse(text, &addr))
		fail_msg("%s is no address", text);
	return addr;
}

static struct route simple(const char *dst)
{
	return (struct route){.dst = prefix_of(dst), .protocol = OWNER_PROTOCOL, .oif = f.ra};
}

static int answer_of(int err)
{
	assert_int_equal(err, 0);
	f.answer = 1;
	assert_int_equal(nl_batch_flush(f.b), 0);
	return f.answer;
}

static int put(const struct route *route)
{
	return answer_of(route_put(f.b, route, NULL));
}

static int take_away(const struct route *route)
{
	return answer_of(route_remove(f.b, route, NULL));
}

/* One route, how it is made of ours, how of ip(8), and how ip(8) shows it. */
struct row {
	const char *dst;
	uint32_t table, metric;
	const char *via, *src;
	bool onlink, unreachable;
	uint32_t mtu;
	struct {
		const char *remote, *local; /* remote NULL: none */
		uint64_t id;
		uint8_t ttl, tos;
		bool csum;
	} encap;
	uint32_t listed_table, listed_metric;
	const char *ip_args; /* behind "ip route add proto 94" */
	const char *shown[4];
};

/* clang-format off */
static const struct row rows[] = {
	{"10.1.0.0/16", .listed_table = 254, .ip_args = "10.1.0.0/16 dev ra",
	 .shown = {"10.1.0.0/16 dev ra proto 94 scope link \n"}},
	{"10.2.0.0/16", .table = 254, .via = "192.0.2.7", .metric = 9, .src = "192.0.2.1",
	 .listed_table = 254, .listed_metric = 9,
	 .ip_args = "10.2.0.0/16 via 192.0.2.7 dev ra metric 9 src 192.0.2.1",
	 .shown = {"10.2.0.0/16 via 192.0.2.7 dev ra proto 94 src 192.0.2.1 metric 9 \n"}},
	{"10.3.4.5/32", .table = 255, .via = "172.16.0.1", .onlink = true, .mtu = 1300,
	 .listed_table = 255, .ip_args = "10.3.4.5 table 255 via 172.16.0.1 dev ra onlink mtu 1300",
	 .shown = {"10.3.4.5 via 172.16.0.1 dev ra ", " proto 94 ", " onlink", " mtu 1300 "}},
	{"10.4.0.0/16", .table = 100000, .via = "fe80::7", .listed_table = 100000,
	 .ip_args = "10.4.0.0/16 table 100000 via inet6 fe80::7 dev ra",
	 .shown = {"10.4.0.0/16 via inet6 fe80::7 dev ra ", " proto 94 "}},
	{"0.0.0.0/0", .table = 77, .via = "192.0.2.7", .listed_table = 77,
	 .ip_args = "default table 77 via 192.0.2.7 dev ra",
	 .shown = {"default via 192.0.2.7 dev ra ", " proto 94 "}},
	{"10.5.0.0/16", .unreachable = true, .metric = 70, .listed_table = 254,
	 .listed_metric = 70, .ip_args = "unreachable 10.5.0.0/16 metric 70",
	 .shown = {"unreachable 10.5.0.0/16 proto 94 metric 70 \n"}},
	{"fd01::/64", .listed_table = 254, .listed_metric = 1024, .ip_args = "fd01::/64 dev ra",
	 .shown = {"fd01::/64 dev ra proto 94 metric 1024 "}},
	{"fd02::/64", .via = "2001:db8::7", .metric = 9, .src = "2001:db8::1", .mtu = 1290,
	 .listed_table = 254, .listed_metric = 9,
	 .ip_args = "fd02::/64 via 2001:db8::7 dev ra metric 9 src 2001:db8::1 mtu 1290",
	 .shown = {"fd02::/64 via 2001:db8::7 dev ra ", " src 2001:db8::1 ", " metric 9 ",
		   " mtu 1290 "}},
	{"fd03::5/128", .table = 70000, .via = "fd99::1", .onlink = true, .listed_table = 70000,
	 .listed_metric = 1024, .ip_args = "fd03::5 table 70000 via fd99::1 dev ra onlink",
	 .shown = {"fd03::5 via fd99::1 dev ra ", " proto 94 ", " onlink"}},
	{"::/0", .table = 77, .via = "2001:db8::7", .listed_table = 77, .listed_metric = 1024,
	 .ip_args = "::/0 table 77 via 2001:db8::7 dev ra",
	 .shown = {"default via 2001:db8::7 dev ra ", " proto 94 "}},
	{"fd04::/64", .unreachable = true, .metric = 70, .listed_table = 254, .listed_metric = 70,
	 .ip_args = "unreachable fd04::/64 metric 70",
	 .shown = {"unreachable fd04::/64 dev lo proto 94 metric 70 "}},
};

/* As they are put on devices in external mode. Last, as a kernel may refuse them. */
static const struct row encap_rows[] = {
	{"10.6.0.0/16", .listed_table = 254,
	 .encap = {"203.0.113.9", "192.0.2.1", 0xabcdef, 63, 4, true},
	 .ip_args = "10.6.0.0/16 encap ip id 11259375 dst 203.0.113.9 src 192.0.2.1 ttl 63 tos 4 "
		    "key csum dev ra",
	 .shown = {"10.6.0.0/16  encap ip id 11259375 src 192.0.2.1 dst 203.0.113.9 ttl 63 tos 4 ",
		   " key ", " csum "}},
	{"10.7.0.0/16", .via = "10.255.0.1", .onlink = true, .listed_table = 254,
	 .encap = {"2001:db8::9", NULL, 7, 62, 8, false},
	 .ip_args = "10.7.0.0/16 encap ip6 id 7 dst 2001:db8::9 hoplimit 62 tc 8 key "
		    "via 10.255.0.1 dev ra onlink",
	 .shown = {"10.7.0.0/16  encap ip6 id 7 src :: dst 2001:db8::9 hoplimit 62 tc 8 ",
		   " key via 10.255.0.1 dev ra ", " onlink"}},
	{"fd06::/64", .listed_table = 254, .listed_metric = 1024,
	 .encap = {"2001:db8::9", "2001:db8::1", 0xfedcba9876543210, 61, 0, true},
	 .ip_args = "fd06::/64 encap ip6 id 18364758544493064720 dst 2001:db8::9 "
		    "src 2001:db8::1 hoplimit 61 key csum dev ra",
	 .shown = {"fd06::/64  encap ip6 id 18364758544493064720 src 2001:db8::1 dst 2001:db8::9 "
		   "hoplimit 61 tc 0 ", " csum "}},
	{"fd07::/64", .listed_table = 254, .listed_metric = 1024,
	 .encap = {"203.0.113.9", NULL, 0, 64, 0, false},
	 .ip_args = "fd07::/64 encap ip id 0 dst 203.0.113.9 ttl 64 key dev ra",
	 .shown = {"fd07::/64  encap ip id 0 src 0.0.0.0 dst 203.0.113.9 ttl 64 tos 0 key ",
		   " dev ra "}},
};
/* clang-format on */

static struct route route_of(const struct row *row)
{
	struct route route = {
		.dst = prefix_of(row->dst),
		.table = row->table,
		.metric = row->metric,
		.protocol = OWNER_PROTOCOL,
		.unreachable = row->unreachable,
		.oif = row->unreachable ? 0 : f.ra,
		.via = addr_of(row->via),
		.onlink = row->onlink,
		.src = addr_of(row->src),
		.mtu = row->mtu,
	};

	if (row->encap.remote)
		route.encap = (struct route_encap){
			.present = true,
			.id = row->encap.id,
			.remote = addr_of(row->encap.remote),
			.local = addr_of(row->encap.local),
			.ttl = row->encap.ttl,
			.tos = row->encap.tos,
			.csum = row->encap.csum,
		};
	return route;
}

static int family_of(const struct row *row)
{
	return strchr(row->dst, ':') ? 6 : 4;
}

static void show_command(const struct row *row, char command[96])
{
	snprintf(command, 96, "ip -%d route show table %u exact %s", family_of(row),
		 row->table ? row->table : 254, row->dst);
}

static void check_put_and_remove(const struct row *row)
{
	const struct route route = route_of(row);
	char command[96];

	assert_int_equal(put(&route), 0);
	show_command(row, command);
	for (size_t k = 0; k < N(row->shown) && row->shown[k]; k++)
		assert_shows(command, row->shown[k]);
	assert_int_equal(put(&route), 0);
	assert_int_equal(line_count(command), 1);
	assert_int_equal(take_away(&route), 0);
	assert_int_equal(line_count(command), 0);
	assert_int_equal(take_away(&route), -ESRCH);
}

static void test_put_and_remove(void **state)
{
	(void)state;
	need_netns();
	for (size_t i = 0; i < N(rows); i++)
		check_put_and_remove(&rows[i]);
}

struct seen {
	struct route routes[64];
	size_t n, stop_at;
};

static int keep(const struct route *route, void *arg)
{
	struct seen *seen = arg;

	assert_true(seen->n < N(seen->routes));
	seen->routes[seen->n++] = *route;
	return seen->n == seen->stop_at ? 42 : 0;
}

static struct seen list(uint8_t protocol)
{
	struct seen seen = {.n = 0};

	assert_int_equal(route_list(f.nl, protocol, keep, &seen), 0);
	return seen;
}

static void assert_same_encap(const struct route_encap *got, const struct row *row)
{
	const struct ip_addr remote = addr_of(row->encap.remote), local = addr_of(row->encap.local);

	assert_int_equal(got->present, row->encap.remote != NULL);
	assert_int_equal(got->id, row->encap.id);
	assert_memory_equal(&got->remote, &remote, sizeof(remote));
	assert_memory_equal(&got->local, &local, sizeof(local));
	assert_int_equal(got->ttl, row->encap.ttl);
	assert_int_equal(got->tos, row->encap.tos);
	assert_int_equal(got->csum, row->encap.csum);
}

static void check_list(const struct row *row)
{
	const struct ip_prefix dst = prefix_of(row->dst);
	const struct ip_addr via = addr_of(row->via), src = addr_of(row->src);
	const struct route *got, want = route_of(row);
	char command[256];
	struct seen seen;

	snprintf(command, sizeof(command), "ip -%d route add proto 94 %s", family_of(row),
		 row->ip_args);
	run(command);
	seen = list(OWNER_PROTOCOL);
	assert_int_equal(seen.n, 1);
	got = &seen.routes[0];
	assert_memory_equal(&got->dst, &dst, sizeof(dst));
	assert_int_equal(got->table, row->listed_table);
	assert_int_equal(got->metric, row->listed_metric);
	assert_int_equal(got->protocol, 94);
	assert_int_equal(got->unreachable, row->unreachable);
	assert_int_equal(got->oif, row->unreachable ? 0 : f.ra);
	assert_memory_equal(&got->via, &via, sizeof(via));
	assert_memory_equal(&got->src, &src, sizeof(src));
	assert_int_equal(got->onlink, row->onlink);
	assert_int_equal(got->mtu, row->mtu);
	assert_same_encap(&got->encap, row);

	/* What is wanted and what is there are the same to the comparing caller. */
	assert_true(route_equal(got, &want));
	assert_int_equal(take_away(got), 0);
	assert_int_equal(list(OWNER_PROTOCOL).n, 0);
}

static void test_list(void **state)
{
	(void)state;
	need_netns();
	for (size_t i = 0; i < N(rows); i++)
		check_list(&rows[i]);
}

static void test_encap(void **state)
{
	struct route route;

	(void)state;
	need_netns();
	route = route_of(&encap_rows[0]);
	if (put(&route) == -EOPNOTSUPP) {
		print_message("skipped: this kernel gives routes no tunnel metadata\n");
		skip();
	}
	assert_int_equal(take_away(&route), 0);
	for (size_t i = 0; i < N(encap_rows); i++) {
		check_put_and_remove(&encap_rows[i]);
		check_list(&encap_rows[i]);
	}
}

static void test_list_takes_its_own(void **state)
{
	struct seen seen, stopped = {.stop_at = 2};

	(void)state;
	need_netns();
	run("ip route add 10.1.0.0/16 dev ra proto 94");
	run("ip route add 10.2.0.0/16 dev ra proto 95");
	run("ip route add 10.3.0.0/16 dev rb proto 94 table 300");
	run("ip -6 route add fd01::/64 dev ra proto 94");
	run("ip -6 route add fd02::/64 dev ra proto static");
	/* Ours by number, but nothing that we could have put. */
	run("ip route add blackhole 10.4.0.0/16 proto 94");
	run("ip route add 10.5.0.0/16 tos 0x10 dev ra proto 94");
	run("ip -6 route add fd05::/64 from fd06::/64 dev ra proto 94 || true");

	seen = list(94);
	assert_int_equal(seen.n, 3);
	for (size_t i = 0; i < seen.n; i++) {
		char text[IP_PREFIX_TEXT_LEN];

		ip_prefix_format(&seen.routes[i].dst, text);
		assert_true(!strcmp(text, "10.1.0.0/16") || !strcmp(text, "10.3.0.0/16") ||
			    !strcmp(text, "fd01::/64"));
		assert_int_equal(seen.routes[i].oif, strcmp(text, "10.3.0.0/16") ? f.ra : f.rb);
	}
	assert_int_equal(list(95).n, 1);
	assert_int_equal(list(77).n, 0);

	assert_int_equal(route_list(f.nl, 94, keep, &stopped), 42);
	assert_int_equal(stopped.n, 2);
	run("ip route flush table all proto 94 && ip route flush proto 95 && "
	    "ip -6 route flush table all proto 94 && ip -6 route del fd02::/64");
}

static void test_several_next_hops(void **state)
{
	static const char *const families[] = {
		"ip route add 10.1.0.0/16 proto 94 mtu 1280 nexthop via 192.0.2.7 dev ra "
		"nexthop via 10.9.9.9 dev rb onlink",
		"ip -6 route add fd01::/64 proto 94 mtu 1280 nexthop via 2001:db8::7 dev ra "
		"nexthop via fd99::9 dev rb onlink",
	};
	static const char *const ways[] = {"192.0.2.7", "2001:db8::7"};

	(void)state;
	need_netns();
	for (size_t i = 0; i < 2; i++) {
		const struct ip_addr via = addr_of(ways[i]);
		struct seen seen;

		run(families[i]);
		seen = list(94);
		assert_int_equal(seen.n, 1);
		assert_int_equal(seen.routes[0].oif, f.ra);
		assert_memory_equal(&seen.routes[0].via, &via, sizeof(via));
		assert_false(seen.routes[0].onlink);
		assert_int_equal(seen.routes[0].mtu, 1280);
		run(i ? "ip -6 route flush proto 94" : "ip route flush proto 94");
	}
}

static void test_put_replaces(void **state)
{
	static const struct {
		const char *dst, *via, *other_via;
	} families[] = {
		{"10.1.0.0/16", "192.0.2.7", "192.0.2.8"},
		{"fd01::/64", "2001:db8::7", "2001:db8::8"},
	};

	(void)state;
	need_netns();
	for (size_t i = 0; i < 2; i++) {
		struct route route = simple(families[i].dst);
		char command[96];

		snprintf(command, sizeof(command), "ip -%d route show exact %s", i ? 6 : 4,
			 families[i].dst);
		route.via = addr_of(families[i].via);
		assert_int_equal(put(&route), 0);
		route.via = addr_of(families[i].other_via);
		route.mtu = 1300;
		assert_int_equal(put(&route), 0);
		assert_int_equal(line_count(command), 1);
		assert_shows(command, families[i].other_via);
		assert_shows(command, " mtu 1300 ");

		/* The kind of way does not matter, nor that there is none. */
		route.via.len = 0;
		memset(route.via.bytes, 0, sizeof(route.via.bytes));
		assert_int_equal(put(&route), 0);
		assert_int_equal(line_count(command), 1);
		assert_shows_not(command, families[i].other_via);
		route.unreachable = true;
		assert_int_equal(put(&route), 0);
		assert_int_equal(line_count(command), 1);
		assert_shows(command, "unreachable ");
		route.unreachable = false;
		route.via = addr_of(families[i].via);
		assert_int_equal(put(&route), 0);
		assert_int_equal(line_count(command), 1);
		assert_shows(command, families[i].via);

		/* Another metric is another entry. */
		route.metric = 2000;
		assert_int_equal(put(&route), 0);
		assert_int_equal(line_count(command), 2);
		assert_int_equal(take_away(&route), 0);
		route.metric = 0;
		assert_int_equal(take_away(&route), 0);
		assert_int_equal(line_count(command), 0);
	}
}

/* IPv4 refuses with EEXIST to replace by what is there behind another. */
static void test_put_of_a_second(void **state)
{
	struct route route;

	(void)state;
	need_netns();
	run("ip route add 10.1.0.0/16 via 192.0.2.7 dev ra proto 94");
	run("ip route append 10.1.0.0/16 via 192.0.2.8 dev ra proto 94");
	route = simple("10.1.0.0/16");
	route.via = addr_of("192.0.2.8");
	assert_int_equal(put(&route), 0);
	run("ip route flush proto 94");
}

/* What differs in protocol, device or IPv6 metric is not ours to remove. */
static void test_remove_is_exact(void **state)
{
	struct route v4, v6;

	(void)state;
	need_netns();
	run("ip route add 10.1.0.0/16 dev ra proto 95 && "
	    "ip -6 route add fd01::/64 dev ra proto 95");
	v4 = simple("10.1.0.0/16");
	v6 = simple("fd01::/64");
	assert_int_equal(take_away(&v4), -ESRCH);
	assert_int_equal(take_away(&v6), -ESRCH);
	run("ip route change 10.1.0.0/16 dev ra proto 94 && "
	    "ip -6 route change fd01::/64 dev ra proto 94");
	v4.oif = v6.oif = f.rb;
	assert_int_equal(take_away(&v4), -ESRCH);
	assert_int_equal(take_away(&v6), -ESRCH);
	v4.oif = v6.oif = f.ra;
	v4.metric = v6.metric = 5;
	assert_int_equal(take_away(&v4), -ESRCH);
	assert_int_equal(take_away(&v6), -ESRCH);
	v4.metric = v6.metric = 0;
	v4.table = v6.table = 300;
	assert_int_equal(take_away(&v4), -ESRCH);
	assert_int_equal(take_away(&v6), -ESRCH);
	v4.table = v6.table = 0;
	v4.oif = v6.oif = 0; /* whatever device */
	assert_int_equal(take_away(&v4), 0);
	assert_int_equal(take_away(&v6), 0);

	run("ip -6 route add fd01::/64 dev ra proto 94 metric 5");
	assert_int_equal(take_away(&v6), -ESRCH);
	v6.metric = 5;
	assert_int_equal(take_away(&v6), 0);
}

static void test_many(void **state)
{
	struct route route;

	(void)state;
	need_netns();
	route = simple("10.0.0.0/32");
	for (unsigned i = 0; i < 300; i++) {
		route.dst.addr.bytes[2] = (uint8_t)(i >> 8);
		route.dst.addr.bytes[3] = (uint8_t)i;
		assert_int_equal(route_put(f.b, &route, NULL), 0);
	}
	assert_int_equal(nl_batch_flush(f.b), 0);
	assert_int_equal(line_count("ip route show proto 94"), 300);
	run("ip route flush proto 94");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_put_and_remove),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_list_takes_its_own),
		cmocka_unit_test(test_several_next_hops),
		cmocka_unit_test(test_put_replaces),
		cmocka_unit_test(test_put_of_a_second),
		cmocka_unit_test(test_remove_is_exact),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_encap),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
