/* SPDX-License-Identifier: Apache-2.0 */
/* What somebody changes at the ends of a port's pair, and how it is afterwards. */
#include "overlay/features.h"
#include "portdev_world.h"

struct pair {
	struct nl *nl;
	struct portdev *d;
	char lane[IFNAMSIZ]; /* name of the lane end */
};

static const struct portdev_args args = {.name = "sla",
					 .kind = PORTDEV_VETH,
					 .mtu = 1500,
					 .gso_max_size = 65536,
					 .offloads = PLAIN_OFFLOADS};

static void begin_pair(struct pair *p)
{
	char err_text[200];

	need_netns();
	assert_int_equal(nl_open(&p->nl), 0);
	if (portdev_open(&args, p->nl, &p->d, err_text))
		fail_msg("%s", err_text);
	assert_non_null(if_indextoname((unsigned)portdev_lane_ifindex(p->d), p->lane));
	run("ip link set sla up");
}

static void end_pair(struct pair *p)
{
	portdev_close(p->d);
	nl_close(p->nl);
}

/* What ip(8) says of the lane end, but for counters of what happened to it. */
static void describe(const struct pair *p, char *ret, size_t len)
{
	char command[128];
	FILE *f;
	size_t n;

	snprintf(command, sizeof(command), "ip -d link show dev %s; ip -o addr show dev %s",
		 p->lane, p->lane);
	f = popen(command, "re");
	assert_non_null(f);
	n = fread(ret, 1, len - 1, f);
	ret[n] = '\0';
	pclose(f);
}

#define DEV "dev $(ip -o link | sed -n 's/^[0-9]*: \\([^@]*\\)@sla.*/\\1/p')"

static const struct spoilt {
	const char *what, *command;
	const char *words; /* in what is told */
} spoilt[] = {
	{"down", "ip link set " DEV " down", "lane end down"},
	{"down and open to the host's stack",
	 "ip link set " DEV " down; tc qdisc del " DEV " clsact 2>/dev/null || true",
	 "lane end down"},
	{"MTU", "ip link set " DEV " mtu 1400", "MTU to 1400"},
	{"MTU too low for IPv6", "ip link set " DEV " mtu 600", "MTU to 600"},
	{"such an MTU for a moment", "ip link set " DEV " mtu 600; ip link set " DEV " mtu 65535",
	 "IPv6 anew"},
	{"down, with such an MTU", "ip link set " DEV " down mtu 600", "MTU to 600"},
	{"ARP", "ip link set " DEV " arp on", "ARP on"},
	{"name", "ip link set " DEV " down && ip link set " DEV " name other0", "name to other0"},
	{"alias", "ip link set " DEV " alias mine", "alias"},
	{"all",
	 "ip link set " DEV " down mtu 1400 arp on alias mine && ip link set " DEV " name other0",
	 "name to other0"},
};

static void test_lane_end(void **state)
{
	char before[2000], after[2000], what[PORTDEV_KEPT_LEN];
	struct pair p;

	(void)state;
	begin_pair(&p);
	describe(&p, before, sizeof(before));
	assert_non_null(strstr(before, "NOARP,UP"));
	assert_int_equal(portdev_keep(p.d, what), 0);
	for (size_t i = 0; i < sizeof(spoilt) / sizeof(spoilt[0]); i++) {
		const struct spoilt *s = &spoilt[i];
		int kept;

		run("%s", s->command);
		kept = portdev_keep(p.d, what);
		if (kept != 1 || !strstr(what, s->words))
			fail_msg("%s: %d, %s", s->what, kept, what);
		describe(&p, after, sizeof(after));
		if (strcmp(before, after) != 0)
			fail_msg("%s: was\n%s\nis\n%s", s->what, before, after);
		run("tc filter show dev %s ingress | grep -q bpf || nft list ruleset | grep -q %s",
		    p.lane, p.lane);
		assert_int_equal(portdev_keep(p.d, what), 0);
		assert_string_equal(what, "");
	}
	end_pair(&p);
}

static bool is_on(const char *name)
{
	bool on = false;

	assert_int_equal(features_get("sla", name, &on), 0);
	return on;
}

static void test_offloads(void **state)
{
	static const char *const sctp[] = {"tx-checksum-sctp", NULL};
	static const char *const tcp[] = {"tx-tcp-segmentation", NULL};
	char what[PORTDEV_KEPT_LEN];
	struct pair p;

	(void)state;
	begin_pair(&p);
	assert_false(is_on(sctp[0]));
	assert_int_equal(features_on("sla", sctp), 0);
	assert_true(is_on(sctp[0]));
	assert_int_equal(portdev_keep(p.d, what), 1);
	assert_non_null(strstr(what, "offloads of sla"));
	assert_false(is_on(sctp[0]));
	assert_int_equal(portdev_keep(p.d, what), 0);
	/* What the lane can take is its owner's choice. */
	assert_int_equal(features_off("sla", tcp), 0);
	assert_int_equal(portdev_keep(p.d, what), 0);
	assert_false(is_on(tcp[0]));
	end_pair(&p);
}

/* So are its name, its MTU and its being up. */
static void test_overlay_end_is_its_owners(void **state)
{
	char what[PORTDEV_KEPT_LEN], name[IFNAMSIZ];
	struct pair p;

	(void)state;
	begin_pair(&p);
	run("ip link set sla down mtu 1300 && ip link set sla name foo");
	assert_int_equal(portdev_keep(p.d, what), 0);
	run("ip link show dev foo | grep -q 'mtu 1300 .*state DOWN'");
	/* The lane end has no carrier then, and is up all the same. */
	run("ip link show dev %s | grep -q NO-CARRIER,BROADCAST,MULTICAST,NOARP,UP", p.lane);
	assert_non_null(if_indextoname(if_nametoindex("foo"), name));
	end_pair(&p);
}

static void test_which_ends(void **state)
{
	char what[PORTDEV_KEPT_LEN];
	int overlay, home, netns;
	struct pair p;

	(void)state;
	begin_pair(&p);
	overlay = (int)if_nametoindex("sla");
	assert_true(portdev_has_end(p.d, portdev_lane_ifindex(p.d)));
	assert_true(portdev_has_end(p.d, overlay));
	assert_false(portdev_has_end(p.d, 1));
	assert_false(portdev_has_end(p.d, 0));

	home = netns_here();
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	netns = netns_here();
	enter(home);
	move_to(p.nl, "sla", netns);
	assert_int_equal(portdev_keep(p.d, what), 0);
	assert_false(portdev_has_end(p.d, overlay));
	run("ip link set %s down", p.lane);
	assert_int_equal(portdev_keep(p.d, what), 1);
	run("ip link show dev %s | grep -q NOARP,UP", p.lane);
	end_pair(&p);
	close(netns);
	close(home);
}

static void test_gone(void **state)
{
	char what[PORTDEV_KEPT_LEN];
	struct pair p;

	(void)state;
	begin_pair(&p);
	run("ip link del sla");
	assert_int_equal(portdev_keep(p.d, what), -ENODEV);
	end_pair(&p);
}

static void test_tap(void **state)
{
	struct portdev_args tap = args;
	char what[PORTDEV_KEPT_LEN], err_text[200];
	struct portdev *d;
	struct nl *nl;

	(void)state;
	need_netns();
	tap.kind = PORTDEV_TAP;
	assert_int_equal(nl_open(&nl), 0);
	assert_int_equal(portdev_open(&tap, nl, &d, err_text), 0);
	assert_int_equal(portdev_keep(d, what), 0);
	assert_string_equal(what, "");
	portdev_close(d);
	nl_close(nl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lane_end),
		cmocka_unit_test(test_offloads),
		cmocka_unit_test(test_overlay_end_is_its_owners),
		cmocka_unit_test(test_which_ends),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_tap),
	};

	return world_main(tests, sizeof(tests) / sizeof(tests[0]));
}
