/* SPDX-License-Identifier: Apache-2.0 */
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
	 .text = "at most 65536 bytes, bridge br0 gives it longer ones from ov0 (196608): 70 to 97 "
		 "% "
		 "of",
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
	 .kernel = &routes,
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
	 .cure = "gro_max_size 131072 gso_ipv4_max_size 131072 gro_ipv4_max_size 131072"},
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
	 .text = "up to 196608 bytes, of which this kernel cannot carry more than 65536",
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
	assert_non_null(strstr(first_of(&f, FINDING_WRONG)->text, "a TUN or TAP below it"));
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
	assert_non_null(strstr(wrong->text, "fifteen-name-03 (196608) and 35 more: 70 to 97 %"));
	assert_non_null(strstr(wrong->cure, "namespace of a pod"));
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
		cmocka_unit_test(test_each_device_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
