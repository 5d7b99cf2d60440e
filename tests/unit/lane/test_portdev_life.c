/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a port device: how it is made, refused and followed. (Its end: test_portdev_gone.c.)
 */
#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "agent/lane/portdev.h"
#include "overlay/features.h"
#include "portdev_frames.h"

enum { SECOND_NS = 1000000000 };

static void test_lane_end(void **state)
{
	struct link_info lane;
	struct world w;
	char name[IFNAMSIZ];
	FILE *file;
	char line[200];

	(void)state;
	begin(&w, PORTDEV_VETH, 65536);
	assert_int_equal(link_get_index(w.nl, portdev_lane_ifindex(w.a.d), &lane), 0);
	assert_int_equal(lane.flags & (IFF_UP | IFF_NOARP), IFF_UP | IFF_NOARP);
	if_indextoname((unsigned)lane.ifindex, name);
	file = fopen("/proc/self/net/if_inet6", "re");
	while (file && fgets(line, sizeof(line), file))
		assert_null(strstr(line, name));
	if (file)
		fclose(file);
	assert_string_not_equal(portdev_reason(w.a.d), "");
	end(&w);
}

static void test_down_and_up(void **state)
{
	(void)state;
	for (size_t k = 0; k < 2; k++) {
		const struct vnet plain = {0};
		uint8_t frame[FRAME_LEN], got[RAW_MAX], hdr[PACKET_VNET_HDR_LEN];
		struct world w;
		int raw;

		begin(&w, kinds[k], 65536);
		tagged_frame(frame, NULL, mac_x);
		run_in(w.b.netns, w.home, "ip link set slb down");
		assert_int_equal(port_send(&w.b, &plain, frame, sizeof(frame)), -ENOBUFS);
		run_in(w.b.netns, w.home, "ip link set slb up");
		raw = raw_socket(&w, &w.b);
		assert_int_equal(port_send(&w.b, &plain, frame, sizeof(frame)), 0);
		assert_int_equal(raw_receive(raw, hdr, got), sizeof(frame));

		/* What one frame of a batch meets says nothing of the others. */
		{
			struct vnet bad = {.gso = VNET_GSO_TCP4, .needs_csum = true};
			struct iovec iov = {frame, sizeof(frame)};
			struct portdev_write out[3] = {
				{plain, &iov, 1, 1}, {bad, &iov, 1, 1}, {plain, &iov, 1, 1}};

			portdev_write(w.b.d, out, 3);
			assert_int_equal(out[0].err, 0);
			assert_int_equal(out[1].err, -EINVAL);
			assert_int_equal(out[2].err, 0);
			assert_int_equal(raw_count(&w.b, raw), 2);
		}
		close(raw);
		end(&w);
	}
}

/* Everything that the host of the overlay end may do to it, in its namespace. */
static const char *const changes[] = {
	"ip link set sla down && ip link set sla up",
	"ip link set sla down && ip link set sla name other && ip link set other up",
	"ip link set other mtu 1280",
	"ip link set other mtu 9000",
	"ip link set other gso_max_size 30000 gro_max_size 30000",
	"ip link set other address 02:00:00:00:00:77",
	"ip link set other promisc on",
	"ip link set other down && ip link set other name sla && ip link set sla up",
};

static void expect_both_ways(struct world *w, struct port *p, const char *what)
{
	const struct vnet plain = {0};
	uint8_t frame[FRAME_LEN], got[RAW_MAX], hdr[PACKET_VNET_HDR_LEN];
	const struct portdev_read *r;
	int raw = raw_socket(w, p);

	tagged_frame(frame, NULL, mac_x);
	raw_send(raw, NULL, frame, sizeof(frame));
	r = port_receive(w, p);
	if (!r || r->len != sizeof(frame) || memcmp(r->frame, frame, sizeof(frame)))
		fail_msg("%s: not read", what);
	if (port_send(p, &plain, frame, sizeof(frame)) ||
	    raw_receive(raw, hdr, got) != sizeof(frame) || memcmp(got, frame, sizeof(frame)))
		fail_msg("%s: not written", what);
	close(raw);
}

static void test_changed_elsewhere(void **state)
{
	(void)state;
	for (size_t k = 0; k < 2; k++) {
		struct world w;
		int netns, ifindex;

		begin(&w, kinds[k], 65536);
		ifindex = portdev_lane_ifindex(w.a.d);
		for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
			run_in(w.a.netns, w.home, changes[i]);
			w.a.name = strstr(changes[i], "other") ? "other" : "sla";
			if (strstr(changes[i], "name sla"))
				w.a.name = "sla";
			expect_both_ways(&w, &w.a, changes[i]);
		}

		/* on to a third namespace, and the second goes */
		assert_int_equal(unshare(CLONE_NEWNET), 0);
		netns = netns_here();
		enter(w.a.netns);
		{
			struct nl *nl;

			assert_int_equal(nl_open(&nl), 0);
			move_to(nl, "sla", netns);
			nl_close(nl);
		}
		enter(w.home);
		close(w.a.netns);
		w.a.netns = netns;
		run_in(netns, w.home, "ip link set sla up");
		expect_both_ways(&w, &w.a, "a third namespace");
		if (kinds[k] == PORTDEV_VETH) {
			run_in(netns, w.home, "ip link set sla gso_max_size 20000");
			assert_int_equal(portdev_limits(w.a.d, 5ULL * SECOND_NS).max_len4, 19999);
			assert_int_equal(portdev_lane_ifindex(w.a.d), ifindex);
		}
		end(&w);
	}
}

static void expect_mac(struct portdev *d, const uint8_t want[6])
{
	uint8_t mac[6] = {0};

	portdev_mac_get(d, mac);
	assert_memory_equal(mac, want, sizeof(mac));
}

static void test_mac(void **state)
{
	static const uint8_t given[6] = {2, 0x11, 0x22, 0x33, 0x44, 0x55};
	static const uint8_t changed[6] = {2, 0, 0, 0, 0, 0x77}, moved[6] = {2, 0, 0, 0, 0, 0x78};

	(void)state;
	need_netns();
	for (size_t k = 0; k < 2; k++) {
		struct portdev_args args = {.name = "slm",
					    .kind = kinds[k],
					    .mtu = 1500,
					    .gso_max_size = 65536,
					    .has_mac = true};
		struct link_info link;
		char err_text[200];
		struct portdev *d;
		int home = netns_here(), netns;
		struct nl *nl;

		memcpy(args.mac, given, sizeof(given));
		assert_int_equal(nl_open(&nl), 0);
		assert_int_equal(portdev_open(&args, nl, &d, err_text), 0);
		expect_mac(d, given);
		assert_int_equal(link_get(nl, "slm", &link), 0);
		assert_memory_equal(link.mac, given, sizeof(given));
		run("ip link set slm address 02:00:00:00:00:77");
		expect_mac(d, given);
		(void)portdev_limits(d, 5ULL * SECOND_NS);
		expect_mac(d, changed);

		assert_int_equal(unshare(CLONE_NEWNET), 0);
		netns = netns_here();
		enter(home);
		move_to(nl, "slm", netns);
		run_in(netns, home, "ip link set slm address 02:00:00:00:00:78");
		(void)portdev_limits(d, 6ULL * SECOND_NS);
		/* Of a TAP elsewhere netlink tells nothing. */
		expect_mac(d, kinds[k] == PORTDEV_VETH ? moved : changed);
		portdev_close(d);

		/* one of our own */
		args.has_mac = false;
		assert_int_equal(portdev_open(&args, nl, &d, err_text), 0);
		assert_int_equal(link_get(nl, "slm", &link), 0);
		expect_mac(d, link.mac);
		assert_int_equal(link.mac[0] & 3, 2);
		portdev_close(d);
		close(netns);
		close(home);
		nl_close(nl);
	}
}

static void test_limits(void **state)
{
	const uint32_t max_len4 = kernel_at_least(6, 3) ? 196607 : 65535;
	struct portdev_limits limits;
	struct world w;

	(void)state;
	begin(&w, PORTDEV_VETH, 196608);
	limits = portdev_limits(w.b.d, 5ULL * SECOND_NS);
	assert_int_equal(limits.max_len4, max_len4);
	assert_int_equal(limits.max_len6, kernel_at_least(7, 0) ? 196607 : 65535);
	assert_int_equal(limits.max_segs, 65535);

	/* renamed in its namespace, and lowered there */
	run_in(w.b.netns, w.home,
	       "ip link set slb down && ip link set slb name other && ip link set other up && "
	       "ip link set other gro_max_size 40000");
	limits = portdev_limits(w.b.d, 5ULL * SECOND_NS + PORTDEV_LIMITS_AGE_NS - 1);
	assert_int_equal(limits.max_len4, max_len4);
	limits = portdev_limits(w.b.d, 5ULL * SECOND_NS + PORTDEV_LIMITS_AGE_NS);
	assert_int_equal(limits.max_len4, 39999);
	assert_int_equal(limits.max_len6, 39999);
	run_in(w.b.netns, w.home, "ip link set other gro_max_size 65536 gso_max_size 30000");
	limits = portdev_limits(w.b.d, 7ULL * SECOND_NS);
	assert_int_equal(limits.max_len4, 29999);
	end(&w);

	begin(&w, PORTDEV_TAP, 196608);
	limits = portdev_limits(w.b.d, 5ULL * SECOND_NS);
	assert_int_equal(limits.max_len4, 65535);
	assert_int_equal(limits.max_len6, 65535);
	end(&w);
}

static void test_limits_of_tap(void **state)
{
	const struct portdev_args args = {.name = "slt", .kind = PORTDEV_TAP, .mtu = 1500};
	struct portdev_limits limits;
	char err_text[200];
	struct portdev *d;
	struct nl *nl;

	(void)state;
	need_netns();
	assert_int_equal(nl_open(&nl), 0);
	assert_int_equal(portdev_open(&args, nl, &d, err_text), 0);
	run("ip link set slt gso_max_size 30000");
	limits = portdev_limits(d, 5ULL * SECOND_NS);
	assert_int_equal(limits.max_len4, 29999);
	assert_int_equal(limits.max_len6, 29999);
	portdev_close(d);
	nl_close(nl);
}

static void test_features(void **state)
{
	static const struct {
		const char *name;
		unsigned offloads;
		bool want;
	} cases[] = {
		{"tx-tcp-segmentation", TUN_OFFLOAD_CSUM | TUN_OFFLOAD_TSO, true},
		{"tx-udp-segmentation", TUN_OFFLOAD_CSUM | TUN_OFFLOAD_TSO | TUN_OFFLOAD_USO, true},
		{"tx-udp-segmentation", TUN_OFFLOAD_CSUM | TUN_OFFLOAD_TSO, false},
		{"tx-udp_tnl-segmentation", TUN_OFFLOAD_ALL, true},
		{"tx-udp_tnl-segmentation", TUN_OFFLOAD_ALL & ~TUN_OFFLOAD_TUNNEL, false},
		{"tx-tcp-segmentation", TUN_OFFLOAD_CSUM, false},
		{"tx-checksum-ip-generic", TUN_OFFLOAD_CSUM, true},
		{"tx-checksum-ip-generic", 0, false},
		{"tx-checksum-sctp", TUN_OFFLOAD_ALL, false},
		{"tx-sctp-segmentation", TUN_OFFLOAD_ALL, false},
		{"tx-gso-list", TUN_OFFLOAD_ALL, false},
		{"tx-gre-segmentation", TUN_OFFLOAD_ALL, false},
		{"tx-ipxip4-segmentation", TUN_OFFLOAD_ALL, false},
	};
	struct nl *nl;

	(void)state;
	need_netns();
	assert_int_equal(nl_open(&nl), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct portdev_args args = {.name = "slf",
						  .kind = PORTDEV_VETH,
						  .mtu = 1500,
						  .gso_max_size = 65536,
						  .offloads = cases[i].offloads};
		char err_text[200];
		struct portdev *d;
		bool on;

		assert_int_equal(portdev_open(&args, nl, &d, err_text), 0);
		assert_int_equal(features_get("slf", cases[i].name, &on), 0);
		/* What the vnet header cannot say before Linux 6.2. */
		if (!strcmp(cases[i].name, "tx-udp-segmentation") && !kernel_at_least(6, 2))
			assert_false(on);
		else if (on != cases[i].want)
			fail_msg("%s with %#x: %d", cases[i].name, cases[i].offloads, on);
		portdev_close(d);
	}
	nl_close(nl);
}

static unsigned count_links(void)
{
	struct if_nameindex *all = if_nameindex();
	unsigned n = 0;

	while (all[n].if_index)
		n++;
	if_freenameindex(all);
	return n;
}

static void test_refused(void **state)
{
	static const struct {
		const char *what;
		struct portdev_args args;
		int want_err;
	} cases[] = {
		{"name taken", {.name = "slx", .kind = PORTDEV_VETH, .mtu = 1500}, -EEXIST},
		{"name taken, any", {.name = "slx", .kind = PORTDEV_AUTO, .mtu = 1500}, -EEXIST},
		{"name taken, tap", {.name = "slx", .kind = PORTDEV_TAP, .mtu = 1500}, -EBUSY},
		{"bad name", {.name = "a/b", .kind = PORTDEV_VETH, .mtu = 1500}, -EINVAL},
		{"no name", {.name = "", .kind = PORTDEV_AUTO, .mtu = 1500}, -EINVAL},
		{"counting name", {.name = "sl%d", .kind = PORTDEV_VETH, .mtu = 1500}, -EINVAL},
		{"MTU", {.name = "sly", .kind = PORTDEV_VETH, .mtu = 1}, -EINVAL},
		{"superpackets",
		 {.name = "sly", .kind = PORTDEV_VETH, .mtu = 1500, .gso_max_size = 524281},
		 -EINVAL},
	};
	struct portdev *d = (void *)&skip_reason;
	char err_text[200];
	struct nl *nl;

	(void)state;
	need_netns();
	assert_int_equal(nl_open(&nl), 0);
	run("ip link add slx type veth peer name slz");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned before = count_links();
		struct portdev_args args = cases[i].args;
		int err;

		if (!args.gso_max_size)
			args.gso_max_size = 65536;
		err = portdev_open(&args, nl, &d, err_text);
		if (err != cases[i].want_err || !err_text[0])
			fail_msg("%s: %d, %s", cases[i].what, err, err_text);
		assert_int_equal(count_links(), before);
		assert_ptr_equal(d, &skip_reason);
	}
	run("ip link del slx");
	nl_close(nl);
}

static void forget_net_raw(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	syscall(SYS_capget, &head, data);
	data[0].effective &= ~(1U << CAP_NET_RAW);
	syscall(SYS_capset, &head, data);
}

/* In a process of its own, which may lose its rights: 0 when all is well. */
static int open_without_net_raw(enum portdev_kind kind)
{
	const struct portdev_args args = {.name = "slc",
					  .kind = kind,
					  .mtu = 1500,
					  .gso_max_size = 65536,
					  .offloads = TUN_OFFLOAD_CSUM};
	unsigned before = count_links();
	char err_text[200] = "";
	struct portdev *d;
	struct nl *nl;
	int err, ret = 0;

	if (nl_open(&nl))
		return 1;
	forget_net_raw();
	err = portdev_open(&args, nl, &d, err_text);
	if (kind == PORTDEV_VETH && (err != -EPERM || !strstr(err_text, "CAP_NET_RAW")))
		ret = 2;
	if (kind == PORTDEV_AUTO &&
	    (err || portdev_kind_of(d) != PORTDEV_TAP || !strstr(portdev_reason(d), "CAP_NET_RAW")))
		ret = 3;
	if (!err)
		portdev_close(d);
	if (count_links() != before)
		ret = 4;
	nl_close(nl);
	return ret;
}

static void test_without_net_raw(void **state)
{
	static const enum portdev_kind tried[] = {PORTDEV_VETH, PORTDEV_AUTO};

	(void)state;
	need_netns();
	for (size_t i = 0; i < 2; i++) {
		int status = 0;
		pid_t child = fork();

		if (!child)
			_exit(open_without_net_raw(tried[i]));
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lane_end),
		cmocka_unit_test(test_down_and_up),
		cmocka_unit_test(test_changed_elsewhere),
		cmocka_unit_test(test_mac),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_limits_of_tap),
		cmocka_unit_test(test_features),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_without_net_raw),
	};

	stay_on_this_cpu();
	return world_main(tests, sizeof(tests) / sizeof(tests[0]));
}
