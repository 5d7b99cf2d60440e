/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "agent/cli/doctor.h"

#include "cli_world.h"

enum { BIG = 196608, SMALL = 65536, BRIDGE = 10 };

/* A device whose limits, of all four kinds, are @size. */
#define DEVICE(n, device_name, device_kind, device_role, size, device_master)                      \
	{                                                                                          \
		.role = device_role, .limits = {                                                   \
			.ifindex = n,                                                              \
			.name = device_name,                                                       \
			.kind = device_kind,                                                       \
			.up = true,                                                                \
			.master = device_master,                                                   \
			.gso_max_size = size,                                                      \
			.gro_max_size = size,                                                      \
			.gso_ipv4_max_size = size,                                                 \
			.gro_ipv4_max_size = size,                                                 \
			.tso_max_size = 524280,                                                    \
		}                                                                                  \
	}
#define LO		DEVICE(1, "lo", "", DOCTOR_OTHER, BIG, 0)
#define ETH		DEVICE(2, "eth0", "", DOCTOR_OTHER, SMALL, 0)
#define LANE		DEVICE(3, "sl0", "tun", DOCTOR_LANE, SMALL, 0)
#define BRIDGE_OF(size) DEVICE(BRIDGE, "br0", "bridge", DOCTOR_OTHER, size, 0)

static const struct doctor_kernel routes = {"6.18.0", 6, 18, true, true};
static const struct doctor_kernel newer_routes = {"7.0.0", 7, 0, true, true};
static const struct doctor_kernel old = {"6.1.0", 6, 1, false, false};
static const struct doctor_kernel no_routes = {"6.18.0", 6, 18, false, false};

struct limits_case {
	const char *what;
	const struct doctor_kernel *kernel;
	struct doctor_device devices[8];
	const char *wrong; /* what= of the only one that is wrong, NULL: none */
	const char *text;  /* in it */
	const char *cure;  /* in its cure */
	size_t n_notes;
};

static const struct limits_case limits_cases[] = {
	{.what = "a host as it comes", .kernel = &routes, .devices = {LO, ETH, LANE}},
	{.what = "two ports in a bridge",
	 .kernel = &no_routes,
	 .devices = {BRIDGE_OF(BIG), DEVICE(4, "ov0", "veth", DOCTOR_PORT, BIG, BRIDGE),
		     DEVICE(5, "pod", "veth", DOCTOR_OTHER, BIG, BRIDGE)}},
	{.what = "a port feeds a vxlan in its bridge",
	 .kernel = &no_routes,
	 .devices = {BRIDGE_OF(SMALL), DEVICE(4, "ov0", "veth", DOCTOR_PORT, BIG, BRIDGE),
		     DEVICE(5, "vx0", "vxlan", DOCTOR_TUNNEL, SMALL, BRIDGE)},
	 .wrong = "path to vx0",
	 .text = "at most 65536 bytes, bridge br0 gives it longer ones from ov0 (196608): a third "
		 "to a half of the throughput is lost",
	 .cure = "ip link set dev ov0 gso_max_size 65536 gro_max_size 65536\n"},
	{.what = "so does the bridge itself",
	 .kernel = &no_routes,
	 .devices = {BRIDGE_OF(BIG), DEVICE(5, "vx0", "vxlan", DOCTOR_TUNNEL, SMALL, BRIDGE)},
	 .wrong = "path to vx0",
	 .text = "from br0 (196608)",
	 .cure = "dev br0 "},
	{.what = "another bridge does not",
	 .kernel = &no_routes,
	 .devices = {BRIDGE_OF(SMALL), DEVICE(11, "br1", "bridge", DOCTOR_OTHER, BIG, 0),
		     DEVICE(4, "pod", "veth", DOCTOR_OTHER, BIG, 11),
		     DEVICE(5, "vx0", "vxlan", DOCTOR_TUNNEL, SMALL, BRIDGE)}},
	{.what = "a network card feeds the lane's device by a route",
	 .kernel = &routes,
	 .devices = {DEVICE(2, "eth0", "", DOCTOR_OTHER, BIG, 0), LANE},
	 .wrong = "path to sl0",
	 .text = "forwarding gives it longer ones from eth0 (196608)",
	 .cure = "ip link set dev eth0 gso_max_size 65536 gro_max_size 65536\n"},
	{.what = "without forwarding it does not",
	 .kernel = &no_routes,
	 .devices = {DEVICE(2, "eth0", "", DOCTOR_OTHER, BIG, 0), LANE}},
	{.what = "where overlays carry the traffic, that is a note",
	 .kernel = &newer_routes,
	 .devices = {DEVICE(2, "eth0", "", DOCTOR_OTHER, BIG, 0), LANE,
		     DEVICE(4, "ov0", "veth", DOCTOR_PORT, BIG, 0)},
	 .n_notes = 1},
	{.what = "neither the lane's end of a port nor the loopback feeds",
	 .kernel = &routes,
	 .devices = {LO, LANE, DEVICE(6, "slport0", "veth", DOCTOR_PORT_LANE, BIG, 0)}},
	{.what = "a pod feeds a geneve",
	 .kernel = &routes,
	 .devices = {DEVICE(4, "pod", "veth", DOCTOR_OTHER, BIG, 0),
		     DEVICE(5, "gv0", "geneve", DOCTOR_TUNNEL, SMALL, 0)},
	 .wrong = "path to gv0",
	 .text = "from pod (196608)",
	 .cure = "dev pod "},
	{.what = "one limit in between",
	 .kernel = &no_routes,
	 .devices = {BRIDGE_OF(SMALL), DEVICE(4, "ov0", "veth", DOCTOR_PORT, 131072, BRIDGE),
		     DEVICE(5, "ov1", "veth", DOCTOR_PORT, BIG, BRIDGE)},
	 .wrong = "path to ov0",
	 .text = "from ov1 (196608)",
	 .cure = "ip link set dev ov1 gso_max_size 131072 gro_max_size 131072\n"
		 "ip link set dev ov1 gso_ipv4_max_size 131072 gro_ipv4_max_size 131072\n"},
	{.what = "a small limit of its own is somebody's wish",
	 .kernel = &no_routes,
	 .devices = {BRIDGE_OF(SMALL), DEVICE(4, "ov0", "veth", DOCTOR_PORT, SMALL, BRIDGE),
		     DEVICE(5, "vx0", "vxlan", DOCTOR_TUNNEL, 30000, BRIDGE)}},
	{.what = "a port and a card are as long as their owners say",
	 .kernel = &old,
	 .devices = {DEVICE(2, "eth0", "", DOCTOR_OTHER, BIG, 0),
		     DEVICE(4, "ov0", "veth", DOCTOR_PORT, BIG, 0)}},
	{.what = "a vxlan that was made longer than this kernel can",
	 .kernel = &no_routes,
	 .devices = {DEVICE(5, "vx0", "vxlan", DOCTOR_TUNNEL, BIG, 0)},
	 .wrong = "device vx0",
	 .text = "up to 196608 bytes, of which this kernel cannot carry more than 65536 at a time: "
		 "nearly all of the throughput is lost",
	 .cure = "ip link set dev vx0 gso_max_size 65536 gro_max_size 65536"},
};

static size_t count_devices(const struct doctor_device *devices)
{
	size_t n = 0;

	while (n < 8 && devices[n].limits.ifindex)
		n++;
	return n;
}

static const struct finding *first_of(const struct findings *f, enum finding_level level)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->list[i].level == level)
			return &f->list[i];
	return NULL;
}

static void test_paths(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(limits_cases) / sizeof(*limits_cases); i++) {
		const struct limits_case *c = &limits_cases[i];
		const struct finding *wrong;
		struct findings f = {0};

		doctor_limits(c->devices, count_devices(c->devices), c->kernel, &f);
		wrong = first_of(&f, FINDING_WRONG);
		if (findings_count(&f, FINDING_WRONG) != !!c->wrong)
			fail_msg("%s: %zu are wrong: %s", c->what,
				 findings_count(&f, FINDING_WRONG), wrong ? wrong->text : "");
		if (findings_count(&f, FINDING_NOTE) != c->n_notes)
			fail_msg("%s: %zu notes", c->what, findings_count(&f, FINDING_NOTE));
		if (c->wrong) {
			assert_string_equal(wrong->what, c->wrong);
			if (!strstr(wrong->text, c->text))
				fail_msg("%s: %s", c->what, wrong->text);
			if (!strstr(wrong->cure, c->cure))
				fail_msg("%s: %s", c->what, wrong->cure);
		}
		findings_free(&f);
	}
}

/* A bridge hands on what this host sends into it, and receives nothing itself. */
static void test_bridge_receives_nothing(void **state)
{
	struct doctor_device devices[] = {BRIDGE_OF(SMALL),
					  DEVICE(5, "vx0", "vxlan", DOCTOR_TUNNEL, SMALL, BRIDGE)};
	struct findings f = {0};

	(void)state;
	devices[0].limits.gro_max_size = devices[0].limits.gro_ipv4_max_size = BIG;
	doctor_limits(devices, 2, &no_routes, &f);
	assert_int_equal(findings_count(&f, FINDING_WRONG), 0);
	findings_free(&f);
}

/* The limits of the two families are apart. */
static void test_families(void **state)
{
	struct doctor_kernel kernel = routes;
	struct doctor_device devices[] = {DEVICE(2, "eth0", "", DOCTOR_OTHER, SMALL, 0), LANE};
	static const struct {
		uint32_t gro, gro4;
		bool forwards4, forwards6;
		size_t want;
	} cases[] = {
		{BIG, SMALL, true, false, 0}, {BIG, SMALL, false, true, 1},
		{SMALL, BIG, true, false, 1}, {SMALL, BIG, false, true, 0},
		{BIG, 0, true, false, 0}, /* before 6.3 */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct findings f = {0};

		kernel.forwards4 = cases[i].forwards4;
		kernel.forwards6 = cases[i].forwards6;
		devices[0].limits.gro_max_size = cases[i].gro;
		devices[0].limits.gro_ipv4_max_size = cases[i].gro4;
		doctor_limits(devices, 2, &kernel, &f);
		assert_int_equal(findings_count(&f, FINDING_WRONG), cases[i].want);
		findings_free(&f);
	}
}

static void test_down(void **state)
{
	struct doctor_device devices[] = {BRIDGE_OF(SMALL),
					  DEVICE(4, "ov0", "veth", DOCTOR_PORT, BIG, BRIDGE),
					  DEVICE(5, "vx0", "vxlan", DOCTOR_TUNNEL, SMALL, BRIDGE)};

	(void)state;
	for (size_t down = 0; down < 3; down++) {
		struct findings f = {0};

		devices[down].limits.up = false;
		doctor_limits(devices, 3, &no_routes, &f);
		/* A bridge that is down forwards nothing of this host alone. */
		assert_int_equal(findings_count(&f, FINDING_WRONG), down == 0);
		devices[down].limits.up = true;
		findings_free(&f);
	}
}

/* On a TUN nothing longer comes through, whatever the kernel. */
static void test_on_tun(void **state)
{
	const struct doctor_kernel newer = {"7.3.0", 7, 3, false, false};
	struct doctor_device vx = DEVICE(5, "vx0", "vxlan", DOCTOR_TUNNEL, BIG, 0);
	struct findings f = {0};

	(void)state;
	doctor_limits(&vx, 1, &newer, &f);
	assert_int_equal(findings_count(&f, FINDING_WRONG), 0);
	findings_free(&f);
	vx.on_tun = true;
	doctor_limits(&vx, 1, &newer, &f);
	assert_int_equal(findings_count(&f, FINDING_WRONG), 1);
	assert_non_null(
		strstr(first_of(&f, FINDING_WRONG)->text,
		       "a TUN or TAP below it hands on no more than 65536 at a time: a third to "));
	findings_free(&f);
}

/* The text stays whole, and every feeder is counted. */
static void test_many_feeders(void **state)
{
	struct doctor_device devices[40];
	const struct finding *wrong;
	struct findings f = {0};

	(void)state;
	for (int i = 0; i < 40; i++) {
		devices[i] = (struct doctor_device)DEVICE(i + 20, "", "veth", DOCTOR_OTHER, BIG, 0);
		snprintf(devices[i].limits.name, IFNAMSIZ, "fifteen-name-%02d", i);
	}
	devices[39] = (struct doctor_device)DEVICE(5, "vx0", "vxlan", DOCTOR_TUNNEL, SMALL, 0);
	doctor_limits(devices, 40, &routes, &f);
	wrong = first_of(&f, FINDING_WRONG);
	assert_non_null(strstr(wrong->text, "fifteen-name-03 (196608) and 35 more: a third to "));
	assert_non_null(strstr(wrong->cure, "namespace of a pod"));
	findings_free(&f);
}

/* ---- Forwarded IPv6 above 64 KB ---- */

enum { POD_MTU = 1500, OVERLAY_MTU = 1390 };

struct refused_case {
	const char *what;
	unsigned major, minor;
	bool forwards6;
	uint32_t pod_mtu, overlay_mtu;
	uint32_t size, other; /* of the pod's device, and of its other end; 0: not seen */
	enum doctor_role role;
	bool down;
	bool wrong;
};

static const struct refused_case refused_cases[] = {
	{"a pod", 6, 18, true, 1500, 1390, BIG, 0, DOCTOR_OTHER, false, true},
	{"the last kernel that does it", 6, 99, true, 1500, 1390, BIG, 0, DOCTOR_OTHER, false,
	 true},
	{"a kernel without the option", 7, 0, true, 1500, 1390, BIG, 0, DOCTOR_OTHER, false, false},
	{"a kernel of no known release", 0, 0, true, 1500, 1390, BIG, 0, DOCTOR_OTHER, false,
	 false},
	{"no forwarding", 6, 18, false, 1500, 1390, BIG, 0, DOCTOR_OTHER, false, false},
	{"segments of the same MTU", 6, 18, true, 1390, 1390, BIG, 0, DOCTOR_OTHER, false, true},
	{"one byte too many", 6, 18, true, 1383, 1390, BIG, 0, DOCTOR_OTHER, false, true},
	{"with the option they fit", 6, 18, true, 1382, 1390, BIG, 0, DOCTOR_OTHER, false, false},
	{"no MTU is known", 6, 18, true, 0, 0, BIG, 0, DOCTOR_OTHER, false, true},
	{"64 KB", 6, 18, true, 1500, 1390, SMALL, 0, DOCTOR_OTHER, false, false},
	{"a little more", 6, 18, true, 1500, 1390, SMALL + 1, 0, DOCTOR_OTHER, false, true},
	{"a pod's own end alone", 6, 18, true, 1500, 1390, SMALL, BIG, DOCTOR_OTHER, false, true},
	{"both ends have 64 KB", 6, 18, true, 1500, 1390, SMALL, SMALL, DOCTOR_OTHER, false, false},
	{"another port", 6, 18, true, 1500, 1390, BIG, 0, DOCTOR_PORT, false, false},
	{"a pod whose end is down", 6, 18, true, 1500, 1390, BIG, 0, DOCTOR_OTHER, true, false},
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refused_cases) / sizeof(*refused_cases); i++) {
		const struct refused_case *c = &refused_cases[i];
		const struct doctor_kernel kernel = {"x", c->major, c->minor, true, c->forwards6};
		struct doctor_device devices[] = {DEVICE(4, "pod0", "veth", c->role, c->size, 0),
						  DEVICE(5, "ov0", "veth", DOCTOR_PORT, BIG, 0)};
		/* The other way round: test_pods(). */
		const bool cut = c->role == DOCTOR_OTHER && !c->down && c->size < BIG;
		struct findings f = {0};

		devices[0].mtu = c->pod_mtu;
		devices[1].mtu = c->overlay_mtu;
		devices[0].limits.up = !c->down;
		devices[0].other = (struct doctor_end){!!c->other, 0, c->other, c->other};
		doctor_limits(devices, 2, &kernel, &f);
		if (findings_count(&f, FINDING_WRONG) != c->wrong ||
		    findings_count(&f, FINDING_NOTE) != cut)
			fail_msg("%s: %zu wrong", c->what, findings_count(&f, FINDING_WRONG));
		findings_free(&f);
	}
}

/* What comes out of a port is cut where a pod takes less of IPv4. */
static void test_pods(void **state)
{
	static const struct {
		const char *what;
		uint32_t port4, pod4, pod6;
		const char *kind;
		bool forwards4, down;
		int master;
		bool told, below;
	} cases[] = {
		{"what the tunnel goes through", BIG, SMALL, SMALL, "veth", true, false, 0, false,
		 true},
		{"as both come", BIG, SMALL, SMALL, "veth", true, false, 0, true, false},
		{"IPv6 does not count", BIG, BIG, SMALL, "veth", true, false, 0, false, false},
		{"nor can it help", BIG, SMALL, BIG, "veth", true, false, 0, true, false},
		{"a little less", BIG, BIG - 1, SMALL, "veth", true, false, 0, true, false},
		{"a port of 64 KB", SMALL, 30000, 30000, "veth", true, false, 0, false, false},
		{"a kernel before 6.3", 0, 0, SMALL, "veth", true, false, 0, false, false},
		{"no forwarding", BIG, SMALL, SMALL, "veth", false, false, 0, false, false},
		{"down", BIG, SMALL, SMALL, "veth", true, true, 0, false, false},
		{"a network card", BIG, SMALL, SMALL, "", true, false, 0, false, false},
		{"in a bridge", BIG, SMALL, SMALL, "veth", true, false, BRIDGE, false, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct doctor_kernel kernel = newer_routes;
		struct doctor_device devices[] = {DEVICE(4, "pod0", "veth", DOCTOR_OTHER, SMALL, 0),
						  DEVICE(5, "ov0", "veth", DOCTOR_PORT, BIG, 0)};
		const struct finding *note;
		struct findings f = {0};

		kernel.forwards4 = cases[i].forwards4;
		strcpy(devices[0].limits.kind, cases[i].kind);
		devices[0].limits.up = !cases[i].down;
		devices[0].below = cases[i].below;
		devices[0].limits.master = cases[i].master;
		devices[0].limits.gso_ipv4_max_size = cases[i].pod4;
		devices[0].limits.gso_max_size = cases[i].pod6;
		devices[1].limits.gro_ipv4_max_size = cases[i].port4;
		doctor_limits(devices, 2, &kernel, &f);
		note = first_of(&f, FINDING_NOTE);
		if (!note != !cases[i].told)
			fail_msg("%s: %s", cases[i].what, note ? note->text : "not told");
		if (note) {
			assert_string_equal(note->what, "path from ov0");
			assert_string_equal(note->cure,
					    "ip link set dev pod0 gso_ipv4_max_size 196608\n"
					    "takes iproute2 6.3");
		}
		findings_free(&f);
	}
}

static void test_many_pods(void **state)
{
	struct doctor_device devices[40];
	const struct finding *note;
	struct findings f = {0};

	(void)state;
	for (int i = 0; i < 40; i++) {
		devices[i] = (struct doctor_device)DEVICE(i + 20, "", "veth", DOCTOR_OTHER, SMALL,
							  0);
		snprintf(devices[i].limits.name, IFNAMSIZ, "fifteen-name-%02d", i);
	}
	devices[39] = (struct doctor_device)DEVICE(5, "ov0", "veth", DOCTOR_PORT, BIG, 0);
	doctor_limits(devices, 40, &newer_routes, &f);
	note = first_of(&f, FINDING_NOTE);
	assert_non_null(note);
	assert_non_null(strstr(note->text,
			       "forwarded to fifteen-name-00, fifteen-name-01, "
			       "fifteen-name-02, fifteen-name-03 and 35 more: a fifth"));
	assert_non_null(strstr(note->cure, "fifteen-name-03 gso_ipv4_max_size 196608\ntakes "));
	assert_null(strstr(note->cure, "fifteen-name-04"));
	findings_free(&f);
}

static void test_refused_is_told(void **state)
{
	struct doctor_device devices[] = {DEVICE(4, "pod0", "veth", DOCTOR_OTHER, BIG, 0),
					  DEVICE(5, "ov0", "veth", DOCTOR_PORT, BIG, 0)};
	const struct finding *wrong;
	struct findings f = {0};

	(void)state;
	devices[0].mtu = POD_MTU;
	devices[1].mtu = OVERLAY_MTU;
	doctor_limits(devices, 2, &routes, &f);
	wrong = first_of(&f, FINDING_WRONG);
	assert_string_equal(wrong->what, "path to ov0");
	assert_non_null(strstr(wrong->text, "counts 8 bytes too many against the MTU and refuses "
					    "those from pod0 (196608): 99 % of the throughput of "
					    "IPv6 is lost"));
	assert_string_equal(wrong->cure,
			    "ip link set dev pod0 gso_max_size 65536 gro_max_size 65536\n"
			    "ip link set dev pod0 gso_ipv4_max_size 196608 gro_ipv4_max_size "
			    "196608\n"
			    "both ends of a veth pair, so also inside the namespace of a pod; what "
			    "keeps IPv4 long takes iproute2 6.3\n"
			    "or, instead, an MTU of at most 1382 there");
	findings_free(&f);
}

/* IPv4 gets no more than the overlay takes, and none of it above 64 KB no command; no MTU
 * below what IPv6 needs is proposed. */
static void test_refused_cures(void **state)
{
	struct doctor_device devices[] = {DEVICE(4, "pod0", "veth", DOCTOR_OTHER, 131072, 0),
					  DEVICE(5, "ov0", "veth", DOCTOR_PORT, BIG, 0)};
	const struct finding *wrong;
	struct findings f = {0};

	(void)state;
	devices[1].mtu = 1287;
	doctor_limits(devices, 2, &routes, &f);
	wrong = first_of(&f, FINDING_WRONG);
	assert_non_null(strstr(wrong->cure, " gso_ipv4_max_size 131072 gro_ipv4_max_size 131072"));
	assert_null(strstr(wrong->cure, "MTU"));
	findings_free(&f);
	devices[1].mtu = 1288;
	devices[0].limits.gso_ipv4_max_size = devices[0].limits.gro_ipv4_max_size = SMALL;
	doctor_limits(devices, 2, &routes, &f);
	wrong = first_of(&f, FINDING_WRONG);
	assert_null(strstr(wrong->cure, "gso_ipv4_max_size"));
	assert_non_null(strstr(wrong->cure, "an MTU of at most 1280 there"));
	findings_free(&f);
}

/* An overlay that takes less of IPv4: that is a mixed path besides, and both cures say so. */
static void test_refused_beside_mixed(void **state)
{
	struct doctor_device devices[] = {DEVICE(4, "pod0", "veth", DOCTOR_OTHER, BIG, 0),
					  DEVICE(5, "ov0", "veth", DOCTOR_PORT, BIG, 0)};
	struct findings f = {0};

	(void)state;
	devices[1].limits.gso_ipv4_max_size = 131072;
	doctor_limits(devices, 2, &routes, &f);
	assert_int_equal(findings_count(&f, FINDING_WRONG), 2);
	assert_non_null(strstr(f.list[f.n - 2].cure, "pod0 gso_max_size 196608 gro_max_size 196608"
						     "\nip link set dev pod0 gso_ipv4_max_size "
						     "131072 gro_ipv4_max_size 131072\n"));
	assert_non_null(strstr(f.list[f.n - 1].cure, "pod0 gso_max_size 65536 gro_max_size 65536"
						     "\nip link set dev pod0 gso_ipv4_max_size "
						     "131072 gro_ipv4_max_size 131072\n"));
	findings_free(&f);
}

/* Where the path is mixed as well, the cure of that is the one. */
static void test_refused_and_mixed(void **state)
{
	struct doctor_device devices[] = {DEVICE(4, "pod0", "veth", DOCTOR_OTHER, BIG, 0),
					  DEVICE(5, "vx0", "vxlan", DOCTOR_TUNNEL, SMALL, 0)};
	static const char loss[] = "is lost, and nearly all of IPv6's";
	const struct finding *wrong;
	struct findings f = {0};

	(void)state;
	devices[0].mtu = 1382;
	devices[1].mtu = OVERLAY_MTU;
	doctor_limits(devices, 2, &routes, &f);
	assert_null(strstr(first_of(&f, FINDING_WRONG)->text, loss));
	findings_free(&f);
	devices[0].mtu = POD_MTU;
	doctor_limits(devices, 2, &routes, &f);
	assert_int_equal(findings_count(&f, FINDING_WRONG), 1);
	wrong = first_of(&f, FINDING_WRONG);
	assert_non_null(strstr(wrong->text, loss));
	assert_null(strstr(wrong->cure, "196608"));
	findings_free(&f);
}

/* The cure stays whole with four of the longest names. */
static void test_refused_many(void **state)
{
	struct doctor_device devices[7];
	const struct finding *wrong;
	struct findings f = {0};

	(void)state;
	for (int i = 0; i < 6; i++) {
		devices[i] = (struct doctor_device)DEVICE(i + 20, "", "veth", DOCTOR_OTHER, BIG, 0);
		snprintf(devices[i].limits.name, IFNAMSIZ, "fifteen-name-%02d", i);
	}
	devices[6] = (struct doctor_device)DEVICE(5, "ov0", "veth", DOCTOR_PORT, BIG, 0);
	devices[6].mtu = OVERLAY_MTU;
	doctor_limits(devices, 7, &routes, &f);
	wrong = first_of(&f, FINDING_WRONG);
	assert_non_null(strstr(wrong->text, "fifteen-name-03 (196608) and 2 more: 99 %"));
	assert_non_null(strstr(wrong->cure, "dev fifteen-name-03 gso_ipv4_max_size 196608 "));
	assert_non_null(strstr(wrong->cure, "at most 1382 there"));
	findings_free(&f);
}

/* ---- The other end of a pair ---- */

static void test_other_end(void **state)
{
	struct doctor_device devices[] = {DEVICE(4, "pod0", "veth", DOCTOR_OTHER, SMALL, 0),
					  DEVICE(5, "vx0", "vxlan", DOCTOR_TUNNEL, SMALL, 0)};
	struct findings f = {0};

	(void)state;
	/* Of IPv4 alone. */
	devices[0].other = (struct doctor_end){true, 0, SMALL, BIG};
	doctor_limits(devices, 2, &routes, &f);
	assert_int_equal(findings_count(&f, FINDING_WRONG), 1);
	assert_non_null(
		strstr(first_of(&f, FINDING_WRONG)->text, "from pod0's other end (196608): "));
	findings_free(&f);
	/* Of IPv6, beside a long limit of IPv4 at this end. */
	devices[0].other = (struct doctor_end){true, 0, BIG, BIG};
	devices[0].limits.gso_ipv4_max_size = BIG;
	devices[1].limits.gso_max_size = devices[1].limits.gso_ipv4_max_size = BIG;
	devices[1].role = DOCTOR_PORT;
	doctor_limits(devices, 2, &routes, &f);
	assert_int_equal(findings_count(&f, FINDING_WRONG), 1);
	assert_non_null(strstr(first_of(&f, FINDING_WRONG)->text,
			       "those from pod0's other end (196608): "));
	findings_free(&f);
	/* What this end may send is not what comes from there. */
	devices[1].limits.gso_max_size = devices[1].limits.gso_ipv4_max_size = SMALL;
	devices[0].other = (struct doctor_end){true, 0, SMALL, SMALL};
	devices[0].limits.gso_max_size = devices[0].limits.gso_ipv4_max_size = BIG;
	doctor_limits(devices, 2, &routes, &f);
	assert_int_equal(findings_count(&f, FINDING_WRONG), 0);
	findings_free(&f);
}

static void test_other_end_unseen(void **state)
{
	struct doctor_device devices[] = {DEVICE(4, "pod0", "veth", DOCTOR_OTHER, SMALL, 0),
					  DEVICE(5, "pod1", "veth", DOCTOR_OTHER, SMALL, 0),
					  DEVICE(6, "vx0", "vxlan", DOCTOR_TUNNEL, SMALL, 0)};
	struct findings f = {0};

	(void)state;
	devices[0].other.err = devices[1].other.err = -EPERM;
	doctor_limits(devices, 3, &routes, &f);
	assert_int_equal(findings_count(&f, FINDING_WRONG), 0);
	assert_int_equal(findings_count(&f, FINDING_NOTE), 1);
	assert_string_equal(first_of(&f, FINDING_NOTE)->text,
			    "the other end of pod0 and of 1 more could not be looked at (Operation "
			    "not permitted): taken to have the limits of the end here");
	findings_free(&f);
	/* One that is down hands on nothing. */
	devices[0].limits.up = devices[1].limits.up = false;
	doctor_limits(devices, 3, &routes, &f);
	assert_int_equal(findings_count(&f, FINDING_NOTE), 0);
	findings_free(&f);
}

static void test_each_device_is_told(void **state)
{
	const struct doctor_device devices[] = {ETH, LANE};
	struct findings f = {0};

	(void)state;
	doctor_limits(devices, 2, &routes, &f);
	assert_int_equal(findings_count(&f, FINDING_RIGHT), 2);
	assert_string_equal(f.list[0].what, "device eth0");
	assert_string_equal(f.list[0].text,
			    "hardware, superpackets out 65536 (IPv4 65536), in 65536 (IPv4 65536), "
			    "driver 524280");
	findings_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bridge_receives_nothing),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_families),
		cmocka_unit_test(test_down),
		cmocka_unit_test(test_on_tun),
		cmocka_unit_test(test_many_feeders),
		cmocka_unit_test(test_pods),
		cmocka_unit_test(test_many_pods),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_refused_is_told),
		cmocka_unit_test(test_refused_cures),
		cmocka_unit_test(test_refused_beside_mixed),
		cmocka_unit_test(test_refused_and_mixed),
		cmocka_unit_test(test_refused_many),
		cmocka_unit_test(test_other_end),
		cmocka_unit_test(test_other_end_unseen),
		cmocka_unit_test(test_each_device_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
