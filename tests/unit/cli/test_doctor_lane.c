/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cli/doctor.h"

#include "canned.h"
#include "cli_world.h"

/* The findings as they are printed. */
static void assert_findings(struct findings *f, const char *want)
{
	struct printed p;

	printed_begin(&p);
	findings_print(f, true, p.out);
	assert_printed(&p, want);
	findings_free(f);
}

static void agent_of(const char *agent, struct findings *f)
{
	struct canned c;

	canned_begin(&c, agent, NULL, NULL);
	doctor_agent(&c.view, f);
	canned_end(&c);
}

static void test_agent(void **state)
{
	struct findings f = {0};

	(void)state;
	agent_of(NULL, &f);
	assert_findings(&f, "note   agent: not running\n0 wrong, 1 notes, 0 right\n");
	agent_of("{\"synced\": true}", &f);
	assert_findings(&f, "right  agent: runs, in sync\n0 wrong, 0 notes, 1 right\n");
	agent_of("{}", &f);
	assert_findings(&f, "WRONG  agent: runs, but lane and kernel are not as configured\n"
			    "1 wrong, 0 notes, 0 right\n");
	agent_of("{\"synced\": false, \"reason\": \"no lane\"}", &f);
	assert_findings(&f,
			"WRONG  agent: runs, but lane and kernel are not as configured: no lane\n"
			"1 wrong, 0 notes, 0 right\n");
	agent_of("{\"synced\": false, \"config_error\": \"line 3\\nline 9\","
		 " \"faults\": [\"one\", 2],"
		 " \"conflicts\": [\"beta's\"]}",
		 &f);
	assert_findings(&f, "WRONG  agent: configuration refused: line 3\n"
			    "WRONG  agent: configuration refused: line 9\n"
			    "WRONG  agent: one\n"
			    "WRONG  agent: ?\n"
			    "note   conflict: beta's\n"
			    "4 wrong, 1 notes, 0 right\n");
}

static void test_agent_broken(void **state)
{
	struct findings f = {0};
	struct canned c;

	(void)state;
	canned_begin(&c, NULL, NULL, NULL);
	c.view.agent_broken = true;
	doctor_agent(&c.view, &f);
	canned_end(&c);
	assert_findings(&f, "WRONG  agent: not running\n1 wrong, 0 notes, 0 right\n");
}

static void lane_of(const char *control, const char *wg, struct findings *f)
{
	struct canned c;

	canned_begin(&c, NULL, control, wg);
	doctor_lane(&c.view, NOW_S, f);
	canned_end(&c);
}

static void test_lane(void **state)
{
	static const char key[] = "private_key=" ALICE_HEX "\n" CANNED_WG;
	struct findings f = {0};

	(void)state;
	lane_of(CANNED_CONTROL, key, &f);
	assert_findings(
		&f, "right  lane: sl0 is up\n"
		    "right  peers: 2, 1 with a handshake within 180 s\n"
		    "right  capability tun_gso: on: nothing known against it\n"
		    "note   capability simd: off: switched off by SEALANE_DISABLE_SIMD\n"
		    "right  port ov0: on a veth: a packet socket is permitted\n"
		    "note   drops: port_fragment: 3: fragments of VXLAN came, which no VTEP puts "
		    "together\n"
		    "       -> a lower MTU on the sender's overlay device: at most its tunnel's "
		    "less 50 (IPv4) or 70 (IPv6)\n"
		    "0 wrong, 2 notes, 4 right\n");
}

static void test_lane_wrong(void **state)
{
	struct findings f = {0};

	(void)state;
	lane_of(NULL, NULL, &f);
	assert_findings(&f, "WRONG  lane: not there\n1 wrong, 0 notes, 0 right\n");
	lane_of("up=0\ncapability=odd\ncapability=ecn on\ndrop=spoofed 0\ndrop=bad_vnet 1\n"
		"port=ov0\nport_kind=tap\n",
		"", &f);
	assert_findings(&f,
			"WRONG  lane: sl0 is down, or its port is taken\n"
			"       -> ip link set dev sl0 up\n"
			"WRONG  lane: sl0 has no private key\n"
			"note   peers: 0, 0 with a handshake within 180 s\n"
			"right  capability ecn: on\n"
			"note   port ov0: on a tap: ?\n"
			"note   drops: bad_vnet: 1: the kernel handed over superpackets that are "
			"not as it described them\n"
			"       -> SEALANE_DISABLE_TUN_GSO=1 goes without them\n"
			"2 wrong, 3 notes, 1 right\n");
}

static void test_foreign_wireguard(void **state)
{
	struct findings f = {0};
	struct canned c;

	(void)state;
	canned_begin(&c, NULL, NULL, NULL);
	c.view.uapi_only = true;
	snprintf(c.view.lane, sizeof(c.view.lane), "wg0");
	doctor_lane(&c.view, NOW_S, &f);
	canned_end(&c);
	assert_findings(&f, "note   lane: wg0: not there\n0 wrong, 1 notes, 0 right\n");
}

/* CapEff as capabilities(7) numbers them: NET_ADMIN is 12, NET_RAW 13. */
static void test_process(void **state)
{
	static const struct {
		const char *status;
		bool has_ports;
		enum finding_level want;
	} cases[] = {
		{"Name:\tsealaned\nPid:\t1\nCapEff:\t0000000000003000\n", true, FINDING_RIGHT},
		{"Name:\tsealaned\nCapEff:\t000001ffffffffff\n", true, FINDING_RIGHT},
		{"Name:\tsealaned\nCapEff:\t0000000000001000\n", true, FINDING_WRONG},
		{"Name:\tsealaned\nCapEff:\t0000000000001000\n", false, FINDING_NOTE},
		{"Name:\tsealaned\nCapEff:\t0000000000002000\n", false, FINDING_WRONG},
		{"Name:\tsealaned\nCapPrm:\t0000000000003000\n", false, FINDING_NOTE},
		{"Name:\tsealaned-x\nCapEff:\t0000000000000000\n", true, FINDING_NOTE},
		{"Name:\tsystemd\nCapEff:\t0000000000000000\n", true, FINDING_NOTE},
		{"Name:\tsealaned\nCapEffx:\t0\nCapEff:\t0000000000003000\n", true, FINDING_RIGHT},
		{"", true, FINDING_NOTE},
		{NULL, true, FINDING_NOTE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct findings f = {0};

		doctor_lane_process(cases[i].status, cases[i].has_ports, &f);
		assert_int_equal(f.n, 1);
		assert_int_equal(f.list[0].level, cases[i].want);
		findings_free(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_agent),
		cmocka_unit_test(test_agent_broken),
		cmocka_unit_test(test_lane),
		cmocka_unit_test(test_lane_wrong),
		cmocka_unit_test(test_foreign_wireguard),
		cmocka_unit_test(test_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
