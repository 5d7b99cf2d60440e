/* SPDX-License-Identifier: Apache-2.0 */
#include "overlay/link.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "overlay/nl.h"
#include "overlay/tun.h"

static const char *skip_reason;

static void need_netns(void)
{
	if (skip_reason) {
		print_message("skipped: %s\n", skip_reason);
		skip();
	}
}

/* A device that lives as long as its descriptor, and a netlink socket. */
struct fixture {
	struct nl *nl;
	struct tun tun;
	int ifindex;
};

static void begin(struct fixture *f, enum tun_kind kind)
{
	const struct tun_open_args args = {.name = "sl%d", .kind = kind};

	need_netns();
	assert_int_equal(nl_open(&f->nl), 0);
	assert_int_equal(tun_open(&args, &f->tun), 0);
	f->ifindex = (int)if_nametoindex(f->tun.name);
	assert_true(f->ifindex > 0);
}

static void end(struct fixture *f)
{
	nl_close(f->nl);
	close(f->tun.fd);
}

/* What the device is like by the older interface, which is not netlink. */
static struct ifreq ask(const struct fixture *f, unsigned long request)
{
	struct ifreq ifr = {.ifr_ifindex = 0};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	memcpy(ifr.ifr_name, f->tun.name, sizeof(ifr.ifr_name));
	assert_int_equal(ioctl(fd, request, &ifr), 0);
	close(fd);
	return ifr;
}

static void test_get(void **state)
{
	struct link_info by_name, by_index;
	struct ifreq hwaddr;
	struct fixture f;

	(void)state;
	begin(&f, TUN_KIND_TAP);
	hwaddr = ask(&f, SIOCGIFHWADDR);
	assert_int_equal(link_get(f.nl, f.tun.name, &by_name), 0);
	assert_int_equal(link_get_index(f.nl, f.ifindex, &by_index), 0);
	assert_int_equal(by_name.ifindex, f.ifindex);
	assert_int_equal(by_index.ifindex, f.ifindex);
	assert_string_equal(by_index.name, f.tun.name);
	assert_string_equal(by_name.name, f.tun.name);
	assert_int_equal(by_name.mtu, ask(&f, SIOCGIFMTU).ifr_mtu);
	assert_int_equal(by_name.flags & 0xffff, (unsigned short)ask(&f, SIOCGIFFLAGS).ifr_flags);
	assert_true(by_name.has_mac);
	assert_memory_equal(by_name.mac, hwaddr.ifr_hwaddr.sa_data, 6);
	end(&f);
}

static void test_superpacket_limits(void **state)
{
	struct link_info link;
	char command[200];
	struct fixture f;

	(void)state;
	begin(&f, TUN_KIND_TAP);
	assert_int_equal(link_get_index(f.nl, f.ifindex, &link), 0);
	assert_int_equal(link.gso_max_size, 65536);
	assert_int_equal(link.gso_max_segs, 65535);
	snprintf(command, sizeof(command), "ip link set %s gso_max_size 30000 gso_max_segs 20",
		 f.tun.name);
	assert_int_equal(system(command), 0);
	assert_int_equal(link_get_index(f.nl, f.ifindex, &link), 0);
	assert_int_equal(link.gso_max_size, 30000);
	assert_int_equal(link.gso_max_segs, 20);
	/* Set along with the other by kernels that have it (6.3). */
	assert_true(!link.gso_ipv4_max_size || link.gso_ipv4_max_size == 30000);
	end(&f);
}

static void test_alias(void **state)
{
	char long_alias[LINK_ALIAS_LEN + 1];
	struct link_info link;
	struct fixture f;

	(void)state;
	begin(&f, TUN_KIND_TAP);
	memset(long_alias, 'a', LINK_ALIAS_LEN);
	long_alias[LINK_ALIAS_LEN] = '\0';
	assert_int_equal(link_get_index(f.nl, f.ifindex, &link), 0);
	assert_string_equal(link.alias, "");
	assert_int_equal(link_set_alias(f.nl, f.ifindex, "sealane port x"), 0);
	assert_int_equal(link_set_alias(f.nl, f.ifindex, long_alias), -EINVAL);
	assert_int_equal(link_get_index(f.nl, f.ifindex, &link), 0);
	assert_string_equal(link.alias, "sealane port x");
	assert_int_equal(link_set_alias(f.nl, 99999, "x"), -ENODEV);
	/* The kernel takes longer ones; their beginning is told. */
	{
		char command[400];

		snprintf(command, sizeof(command), "ip link set %s alias %s%s", f.tun.name,
			 long_alias, long_alias);
		assert_int_equal(system(command), 0);
	}
	assert_int_equal(link_get_index(f.nl, f.ifindex, &link), 0);
	assert_int_equal(strlen(link.alias), LINK_ALIAS_LEN - 1);
	end(&f);
}

/* Up or down: it is what it was. */
static void test_rename(void **state)
{
	static const char *const names[] = {"slfoo", "slbar"};
	struct link_change change = {.set_up = true};
	struct link_info link;
	struct fixture f;

	(void)state;
	begin(&f, TUN_KIND_TAP);
	for (int up = 0; up < 2; up++) {
		change.up = up;
		assert_int_equal(link_set(f.nl, f.ifindex, &change), 0);
		assert_int_equal(link_rename(f.nl, f.ifindex, names[up]), 0);
		assert_int_equal(link_get_index(f.nl, f.ifindex, &link), 0);
		assert_string_equal(link.name, names[up]);
		assert_int_equal(!!(link.flags & IFF_UP), up);
		assert_int_equal(link_rename(f.nl, f.ifindex, "lo"), -EEXIST);
		assert_int_equal(link_rename(f.nl, f.ifindex, "a/b"), -EINVAL);
		assert_int_equal(link_rename(f.nl, f.ifindex, ""), -EINVAL);
		assert_int_equal(link_rename(f.nl, f.ifindex, "a-name-of-16-let"), -EINVAL);
		assert_int_equal(link_get_index(f.nl, f.ifindex, &link), 0);
		assert_string_equal(link.name, names[up]);
		assert_int_equal(!!(link.flags & IFF_UP), up);
	}
	assert_int_equal(link_rename(f.nl, 99999, "slx"), -ENODEV);
	assert_int_equal(link_rename(f.nl, 0, "slx"), -EINVAL);
	end(&f);
}

struct seen {
	unsigned lo, tap, n;
	int tap_ifindex, stop_after;
};

static int see(const struct link_info *link, void *arg)
{
	struct seen *seen = arg;

	seen->lo += !strcmp(link->name, "lo");
	seen->tap += link->ifindex == seen->tap_ifindex;
	return (int)++seen->n == seen->stop_after ? 17 : 0;
}

static void test_list(void **state)
{
	struct seen seen = {0}, stopped = {.stop_after = 1};
	struct fixture f;

	(void)state;
	begin(&f, TUN_KIND_TAP);
	seen.tap_ifindex = f.ifindex;
	assert_int_equal(link_list(f.nl, see, &seen), 0);
	assert_int_equal(seen.lo, 1);
	assert_int_equal(seen.tap, 1);
	assert_int_equal(link_list(f.nl, see, &stopped), 17);
	assert_int_equal(stopped.n, 1);
	end(&f);
}

static void test_get_tun_has_no_mac(void **state)
{
	struct link_info link;
	struct fixture f;

	(void)state;
	begin(&f, TUN_KIND_TUN);
	assert_int_equal(link_get(f.nl, f.tun.name, &link), 0);
	assert_false(link.has_mac);
	assert_true(link.flags & IFF_NOARP);
	end(&f);
}

static void test_get_none(void **state)
{
	static const char *const names[] = {"", "nosuch", "sixteen-letters-",
					    "a-name-of-many-letters"};
	static const int indexes[] = {0, -1, 99999};
	struct link_info link = {.ifindex = 4711};
	struct fixture f;

	(void)state;
	begin(&f, TUN_KIND_TUN);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(link_get(f.nl, names[i], &link), -ENODEV);
	for (size_t i = 0; i < sizeof(indexes) / sizeof(indexes[0]); i++)
		assert_int_equal(link_get_index(f.nl, indexes[i], &link), -ENODEV);
	assert_int_equal(link.ifindex, 4711);
	end(&f);
}

static void test_set_each_field(void **state)
{
	static const uint8_t mac[6] = {0x02, 0x11, 0x22, 0x33, 0x44, 0x55};
	struct link_change change = {
		.set_mtu = true, .mtu = 1400, .set_txqlen = true, .txqlen = 1234};
	struct ifreq before;
	struct fixture f;

	(void)state;
	begin(&f, TUN_KIND_TAP);
	before = ask(&f, SIOCGIFHWADDR);

	assert_int_equal(link_set(f.nl, f.ifindex, &change), 0);
	assert_int_equal(ask(&f, SIOCGIFMTU).ifr_mtu, 1400);
	assert_int_equal(ask(&f, SIOCGIFTXQLEN).ifr_qlen, 1234);
	assert_false(ask(&f, SIOCGIFFLAGS).ifr_flags & (IFF_UP | IFF_NOARP));
	assert_memory_equal(ask(&f, SIOCGIFHWADDR).ifr_hwaddr.sa_data, before.ifr_hwaddr.sa_data,
			    6);

	change = (struct link_change){.set_up = true, .up = true};
	assert_int_equal(link_set(f.nl, f.ifindex, &change), 0);
	assert_true(ask(&f, SIOCGIFFLAGS).ifr_flags & IFF_UP);
	assert_int_equal(ask(&f, SIOCGIFMTU).ifr_mtu, 1400);

	change = (struct link_change){.set_arp = true, .arp = false};
	assert_int_equal(link_set(f.nl, f.ifindex, &change), 0);
	assert_int_equal(ask(&f, SIOCGIFFLAGS).ifr_flags & (IFF_UP | IFF_NOARP),
			 IFF_UP | IFF_NOARP);

	change = (struct link_change){.set_arp = true, .arp = true, .set_up = true, .up = false};
	assert_int_equal(link_set(f.nl, f.ifindex, &change), 0);
	assert_false(ask(&f, SIOCGIFFLAGS).ifr_flags & (IFF_UP | IFF_NOARP));

	change = (struct link_change){.set_mac = true};
	memcpy(change.mac, mac, sizeof(mac));
	assert_int_equal(link_set(f.nl, f.ifindex, &change), 0);
	assert_memory_equal(ask(&f, SIOCGIFHWADDR).ifr_hwaddr.sa_data, mac, 6);
	end(&f);
}

static void test_set_refused(void **state)
{
	static const struct {
		const char *what;
		int ifindex; /* 0: the TUN device, -1: 0 */
		struct link_change change;
		int want_err;
	} cases[] = {
		{"no index", -1, {.set_up = true, .up = true}, -EINVAL},
		{"no such index", 99999, {.set_up = true, .up = true}, -ENODEV},
		{"zero MAC", 0, {.set_mac = true, .set_mtu = true, .mtu = 1300}, -EINVAL},
		{"group MAC",
		 0,
		 {.set_mac = true, .mac = {3}, .set_mtu = true, .mtu = 1300},
		 -EINVAL},
		{"MAC of a TUN", 0, {.set_mac = true, .mac = {2}}, -EOPNOTSUPP},
		{"MAC of a TUN, and IPv6",
		 0,
		 {.set_mac = true, .mac = {2}, .set_addr_gen_none = true},
		 -EOPNOTSUPP},
		{"no such index, IPv6", 99999, {.set_addr_gen_none = true}, -ENODEV},
		{"MTU below 68", 0, {.set_mtu = true, .mtu = 67}, -EINVAL},
	};
	struct fixture f;
	int mtu;

	(void)state;
	begin(&f, TUN_KIND_TUN);
	mtu = ask(&f, SIOCGIFMTU).ifr_mtu;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int ifindex = cases[i].ifindex ? cases[i].ifindex : f.ifindex;
		int err = link_set(f.nl, ifindex == -1 ? 0 : ifindex, &cases[i].change);

		if (err != cases[i].want_err)
			fail_msg("%s: %d, not %d", cases[i].what, err, cases[i].want_err);
	}
	assert_string_not_equal(nl_errmsg(f.nl), ""); /* about the MTU */
	assert_int_equal(ask(&f, SIOCGIFMTU).ifr_mtu, mtu);
	assert_false(ask(&f, SIOCGIFFLAGS).ifr_flags & IFF_UP);
	end(&f);
}

static bool has_ipv6_addr(const char *name)
{
	FILE *file = fopen("/proc/self/net/if_inet6", "re");
	char line[128];
	bool found = false;

	while (file && fgets(line, sizeof(line), file)) {
		char dev[IFNAMSIZ];

		if (sscanf(line, "%*s %*s %*s %*s %*s %15s", dev) == 1 && !strcmp(dev, name))
			found = true;
	}
	if (file)
		fclose(file);
	return found;
}

static void need_ipv6(void)
{
	if (access("/proc/self/net/if_inet6", F_OK)) {
		print_message("skipped: this kernel has no IPv6\n");
		skip();
	}
}

static void test_addr_gen_none(void **state)
{
	for (int none = 0; none <= 1; none++) {
		const struct link_change change = {
			.set_up = true, .up = true, .set_addr_gen_none = none};
		struct fixture f;

		(void)state;
		need_ipv6();
		begin(&f, TUN_KIND_TAP);
		assert_int_equal(link_set(f.nl, f.ifindex, &change), 0);
		assert_int_equal(has_ipv6_addr(f.tun.name), !none);
		end(&f);
	}
}

/* A device with an MTU below 1280 has no IPv6, and the kernel says so as one
 * without IPv6 says it. */
static void test_addr_gen_without_ipv6(void **state)
{
	struct link_change change = {.set_mtu = true, .mtu = 1000, .set_up = true, .up = true};
	struct fixture f;

	(void)state;
	begin(&f, TUN_KIND_TAP);
	assert_int_equal(link_set(f.nl, f.ifindex, &change), 0);

	change = (struct link_change){
		.set_mtu = true, .mtu = 900, .set_arp = true, .set_addr_gen_none = true};
	assert_int_equal(link_set(f.nl, f.ifindex, &change), 0);
	assert_int_equal(ask(&f, SIOCGIFMTU).ifr_mtu, 900);
	assert_true(ask(&f, SIOCGIFFLAGS).ifr_flags & IFF_NOARP);

	/* Nor for a device that gets IPv6 by the same call. */
	change = (struct link_change){.set_up = true, .up = false};
	assert_int_equal(link_set(f.nl, f.ifindex, &change), 0);
	change = (struct link_change){.set_mtu = true,
				      .mtu = 1500,
				      .set_up = true,
				      .up = true,
				      .set_addr_gen_none = true};
	assert_int_equal(link_set(f.nl, f.ifindex, &change), 0);
	assert_int_equal(ask(&f, SIOCGIFMTU).ifr_mtu, 1500);
	assert_true(ask(&f, SIOCGIFFLAGS).ifr_flags & IFF_UP);
	assert_false(has_ipv6_addr(f.tun.name));
	end(&f);
}

static void test_delete(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, TUN_KIND_TUN);
	assert_int_equal(link_delete(f.nl, 0), -EINVAL);
	assert_int_equal(link_delete(f.nl, -1), -EINVAL);
	assert_int_equal(link_delete(f.nl, f.ifindex), 0);
	assert_int_equal(if_nametoindex(f.tun.name), 0);
	assert_int_equal(link_delete(f.nl, f.ifindex), -ENODEV);
	end(&f);
}

#define NAME                                                                                       \
	{                                                                                          \
		IFLA_IFNAME, 5, "sl42"                                                             \
	}
#define MTU                                                                                        \
	{                                                                                          \
		IFLA_MTU, 4, mtu_1420                                                              \
	}

static const char mtu_1420[] = {0x8c, 0x05, 0, 0}; /* little-endian; see test_parse() */
static const char twenty[20] = {2, 1, 2, 3, 4, 5, 6};

static const struct parse_case {
	const char *what;
	struct {
		uint16_t type;
		uint16_t len;
		const char *data;
	} attrs[4];
	uint16_t type;
	uint8_t family;
	int ifindex;
	int cut; /* bytes missing at the end, or more of them */
	bool want_ok, want_mac;
} parse_cases[] = {
	{"new", {NAME, MTU}, RTM_NEWLINK, AF_UNSPEC, 7, 0, true, false},
	{"gone", {NAME, MTU}, RTM_DELLINK, AF_UNSPEC, 7, 0, true, false},
	{"order", {MTU, NAME}, RTM_NEWLINK, AF_UNSPEC, 7, 0, true, false},
	{"MAC", {NAME, MTU, {IFLA_ADDRESS, 6, twenty}}, RTM_NEWLINK, AF_UNSPEC, 7, 0, true, true},
	{"IPv4 tunnel",
	 {NAME, MTU, {IFLA_ADDRESS, 4, twenty}},
	 RTM_NEWLINK,
	 AF_UNSPEC,
	 7,
	 0,
	 true,
	 false},
	{"InfiniBand",
	 {NAME, MTU, {IFLA_ADDRESS, 20, twenty}},
	 RTM_NEWLINK,
	 AF_UNSPEC,
	 7,
	 0,
	 true,
	 false},
	{"empty MAC",
	 {NAME, MTU, {IFLA_ADDRESS, 0, ""}},
	 RTM_NEWLINK,
	 AF_UNSPEC,
	 7,
	 0,
	 true,
	 false},
	{"unknown", {NAME, MTU, {999, 3, "abc"}}, RTM_NEWLINK, AF_UNSPEC, 7, 0, true, false},
	{"15 letters",
	 {{IFLA_IFNAME, 16, "fifteen-letters"}, MTU},
	 RTM_NEWLINK,
	 AF_UNSPEC,
	 7,
	 0,
	 true,
	 false},
	{"16 letters",
	 {{IFLA_IFNAME, 17, "sixteen-letters-"}, MTU},
	 RTM_NEWLINK,
	 AF_UNSPEC,
	 7,
	 0,
	 false,
	 false},
	{"name without its 0", {{IFLA_IFNAME, 4, "sl42"}, MTU}, RTM_NEWLINK, 0, 7, 0, false, false},
	{"no letters", {{IFLA_IFNAME, 1, ""}, MTU}, RTM_NEWLINK, AF_UNSPEC, 7, 0, false, false},
	{"empty name", {{IFLA_IFNAME, 0, ""}, MTU}, RTM_NEWLINK, AF_UNSPEC, 7, 0, false, false},
	{"no name", {MTU}, RTM_NEWLINK, AF_UNSPEC, 7, 0, false, false},
	{"no MTU", {NAME}, RTM_NEWLINK, AF_UNSPEC, 7, 0, false, false},
	{"short MTU", {NAME, {IFLA_MTU, 2, mtu_1420}}, RTM_NEWLINK, 0, 7, 0, false, false},
	{"long MTU", {NAME, {IFLA_MTU, 8, twenty}}, RTM_NEWLINK, AF_UNSPEC, 7, 0, false, false},
	{"other type", {NAME, MTU}, RTM_NEWADDR, AF_UNSPEC, 7, 0, false, false},
	{"a bridge's port", {NAME, MTU}, RTM_DELLINK, AF_BRIDGE, 7, 0, false, false},
	{"IPv6's view", {NAME, MTU}, RTM_NEWLINK, AF_INET6, 7, 0, false, false},
	{"index 0", {NAME, MTU}, RTM_NEWLINK, AF_UNSPEC, 0, 0, false, false},
	{"index -1", {NAME, MTU}, RTM_NEWLINK, AF_UNSPEC, -1, 0, false, false},
	{"cut attribute", {NAME, MTU}, RTM_NEWLINK, AF_UNSPEC, 7, 1, false, false},
	{"cut unknown attribute", {NAME, MTU, {999, 4, "abc"}}, RTM_NEWLINK, 0, 7, 1, false, false},
	{"cut attribute header", {NAME, MTU}, RTM_NEWLINK, AF_UNSPEC, 7, 5, false, false},
	{"cut family header", {{0, 0, NULL}}, RTM_NEWLINK, AF_UNSPEC, 7, 1, false, false},
	{"no family header", {{0, 0, NULL}}, RTM_NEWLINK, AF_UNSPEC, 7, 16, false, false},
};

/* In memory of the exact length, so that a sanitizer sees every byte too far. */
static struct nlmsghdr *build(const struct parse_case *c)
{
	char buf[256] __attribute__((aligned(4)));
	struct nlmsghdr *nlh, *ret;
	struct ifinfomsg *ifi;

	memset(buf, 0, sizeof(buf));
	nlh = mnl_nlmsg_put_header(buf);
	nlh->nlmsg_type = c->type;
	ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
	ifi->ifi_family = c->family;
	ifi->ifi_index = c->ifindex;
	ifi->ifi_flags = IFF_UP | IFF_NOARP;
	for (size_t i = 0; i < 4 && c->attrs[i].data; i++)
		mnl_attr_put(nlh, c->attrs[i].type, c->attrs[i].len, c->attrs[i].data);
	nlh->nlmsg_len -= (uint32_t)c->cut;

	ret = malloc(nlh->nlmsg_len);
	assert_non_null(ret);
	memcpy(ret, nlh, nlh->nlmsg_len);
	return ret;
}

static void test_parse(void **state)
{
	uint32_t mtu;

	(void)state;
	memcpy(&mtu, mtu_1420, sizeof(mtu)); /* netlink is in host order */
	for (size_t i = 0; i < sizeof(parse_cases) / sizeof(parse_cases[0]); i++) {
		const struct parse_case *c = &parse_cases[i];
		struct nlmsghdr *nlh = build(c);
		struct link_info link = {.ifindex = 4711};
		int err = link_parse(nlh, &link);

		if (err != (c->want_ok ? 0 : -EBADMSG))
			fail_msg("%s: %d", c->what, err);
		assert_int_equal(link.ifindex, c->want_ok ? c->ifindex : 4711);
		assert_int_equal(link.has_mac, c->want_mac);
		if (c->want_ok) {
			assert_int_equal(link.flags, IFF_UP | IFF_NOARP);
			assert_int_equal(link.mtu, mtu);
			if (c->attrs[0].type == IFLA_IFNAME)
				assert_string_equal(link.name, c->attrs[0].data);
		}
		if (c->want_mac)
			assert_memory_equal(link.mac, twenty, 6);
		free(nlh);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_get),
		cmocka_unit_test(test_superpacket_limits),
		cmocka_unit_test(test_alias),
		cmocka_unit_test(test_rename),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_get_tun_has_no_mac),
		cmocka_unit_test(test_get_none),
		cmocka_unit_test(test_set_each_field),
		cmocka_unit_test(test_set_refused),
		cmocka_unit_test(test_addr_gen_none),
		cmocka_unit_test(test_addr_gen_without_ipv6),
		cmocka_unit_test(test_delete),
		cmocka_unit_test(test_parse),
	};

	if (unshare(CLONE_NEWNET) < 0)
		skip_reason = "no network namespace of our own: run as root";
	else if (access("/dev/net/tun", R_OK | W_OK))
		skip_reason = "no /dev/net/tun to make devices with";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
