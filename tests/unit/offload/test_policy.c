/* SPDX-License-Identifier: Apache-2.0 */
/* policy_kernel.c: release texts and the tables over releases. */
#include "offload/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof(*(a)))

static void assert_release(const char *text, struct kernel_release is,
			   const struct kernel_release *expected)
{
	if (is.major == expected->major && is.minor == expected->minor &&
	    is.patch == expected->patch && is.rc == expected->rc && is.known == expected->known &&
	    is.vendor_numbered == expected->vendor_numbered)
		return;
	fail_msg("\"%s\": %u.%u.%u-rc%u known %d vendor %d", text ? text : "(null)", is.major,
		 is.minor, is.patch, is.rc, is.known, is.vendor_numbered);
}

#define EXACT(major, minor, patch, rc)                                                             \
	{                                                                                          \
		(major), (minor), (patch), (rc), false, true                                       \
	}
#define VENDOR(major, minor, patch, rc)                                                            \
	{                                                                                          \
		(major), (minor), (patch), (rc), true, true                                        \
	}
#define UNKNOWN                                                                                    \
	{                                                                                          \
		0, 0, 0, 0, false, false                                                           \
	}

static void test_parse(void **state)
{
	static const struct {
		const char *text;
		struct kernel_release expected;
	} rows[] = {
		{"6.18.44", EXACT(6, 18, 44, 0)},
		{"6.9", EXACT(6, 9, 0, 0)},
		{"6.9.0", EXACT(6, 9, 0, 0)},
		{"5.15.154", EXACT(5, 15, 154, 0)},
		{"4.9.337", EXACT(4, 9, 337, 0)},
		{"7.1.0-rc5", EXACT(7, 1, 0, 5)},
		{"6.12-rc6", EXACT(6, 12, 0, 6)},
		{"6.12.0-rc10", EXACT(6, 12, 0, 10)},
		/* Debian: the patch level is upstream's, unless it is 0. */
		{"6.12.43+deb13-amd64", EXACT(6, 12, 43, 0)},
		{"6.12.107+deb13-cloud-amd64", EXACT(6, 12, 107, 0)},
		{"6.12.95+deb13-cloud-arm64", EXACT(6, 12, 95, 0)},
		{"6.12.74+deb13+1-amd64", EXACT(6, 12, 74, 0)},
		{"6.12.9+bpo-rt-amd64", EXACT(6, 12, 9, 0)},
		{"6.7.12-amd64", EXACT(6, 7, 12, 0)},
		{"6.6.13-1-amd64", EXACT(6, 6, 13, 0)},
		{"6.1.0-35-amd64", VENDOR(6, 1, 0, 0)},
		{"6.1.0-0.deb11.21-amd64", VENDOR(6, 1, 0, 0)},
		{"6.12-amd64", VENDOR(6, 12, 0, 0)},
		{"6.12-rc6-amd64", VENDOR(6, 12, 0, 6)},
		{"6.12.43+deb13", VENDOR(6, 12, 43, 0)},
		{"6.12.43-amd64-custom", VENDOR(6, 12, 43, 0)},
		{"6.12.43-1", VENDOR(6, 12, 43, 0)},
		{"6.12.43-amd6", VENDOR(6, 12, 43, 0)},
		{"6.12.43amd64", VENDOR(6, 12, 43, 0)},
		/* Everybody else. */
		{"6.8.0-31-generic", VENDOR(6, 8, 0, 0)},
		{"7.0.14-pve", VENDOR(7, 0, 14, 0)},
		{"7.0.2-6-pve", VENDOR(7, 0, 2, 0)},
		{"6.18.5-200.fc43.x86_64", VENDOR(6, 18, 5, 0)},
		{"7.1.0-0.rc3.30.fc45.x86_64", VENDOR(7, 1, 0, 0)},
		{"5.14.0-570.12.1.el9_6.x86_64", VENDOR(5, 14, 0, 0)},
		{"6.6.87.2-microsoft-standard-WSL2", VENDOR(6, 6, 87, 0)},
		{"6.18.3-arch1-1", VENDOR(6, 18, 3, 0)},
		{"6.6.87+", VENDOR(6, 6, 87, 0)},
		{"6.1.", VENDOR(6, 1, 0, 0)},
		{"6.1.x", VENDOR(6, 1, 0, 0)},
		{"7.1.0-rc", VENDOR(7, 1, 0, 0)},
		{"7.1.0-rc0", VENDOR(7, 1, 0, 0)},
		{"7.1.0-rc5 ", VENDOR(7, 1, 0, 5)},
		{"7.1.0~rc5", VENDOR(7, 1, 0, 0)},
		/* No release at all. */
		{NULL, UNKNOWN},
		{"", UNKNOWN},
		{"6", UNKNOWN},
		{"6.", UNKNOWN},
		{"6.x", UNKNOWN},
		{"6-1", UNKNOWN},
		{".6.1", UNKNOWN},
		{" 6.1.2", UNKNOWN},
		{"+6.1.2", UNKNOWN},
		{"-6.1.2", UNKNOWN},
		{"v6.1.2", UNKNOWN},
		{"generic", UNKNOWN},
		/* Limits of a number, and one past. */
		{"99999.99999.99999", EXACT(99999, 99999, 99999, 0)},
		{"100000.1.1", UNKNOWN},
		{"1.100000.1", UNKNOWN},
		{"1.1.100000", VENDOR(1, 1, 0, 0)},
		{"4294967302.1.2", UNKNOWN},
		{"18446744073709551622.1.2", UNKNOWN},
	};
	size_t i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(rows); i++)
		assert_release(rows[i].text, kernel_release_parse(rows[i].text), &rows[i].expected);
}

static void test_uname(void **state)
{
	static const struct {
		const char *release, *version;
		struct kernel_release expected;
	} rows[] = {
		{"6.1.0-35-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.137-1 (2025-05-07)",
		 EXACT(6, 1, 137, 0)},
		{"6.1.0-25-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.106-3 (2024-08-26)",
		 EXACT(6, 1, 106, 0)},
		{"6.1.0-17-cloud-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.69-1 (2023-12-30)",
		 EXACT(6, 1, 69, 0)},
		{"6.12.74+deb12-amd64",
		 "#1 SMP PREEMPT_DYNAMIC Debian 6.12.74-2~bpo12+1 (2026-03-13)",
		 EXACT(6, 12, 74, 0)},
		{"6.12.48+deb13-amd64",
		 "#1 SMP PREEMPT_DYNAMIC Debian 6.12.48-deb13u1 (2025-10-30)", EXACT(6, 12, 48, 0)},
		{"6.1.0-0-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1~rc7-1~exp1 (2022-12-01)",
		 EXACT(6, 1, 0, 7)},
		{"6.17-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.17-1~exp1 (2025-09-30)",
		 EXACT(6, 17, 0, 0)},
		/* The word may stand elsewhere first. */
		{"6.1.0-35-amd64", "#1 Debian kernel, Debian 6.1.137-1", EXACT(6, 1, 137, 0)},
		{"6.1.0-35-amd64", "#1 for Debian 6.1, Debian 6.1.137-1", EXACT(6, 1, 137, 0)},
		/* No number to be had, or one that is not this kernel's. */
		{"6.1.0-35-amd64", "#1 SMP PREEMPT_DYNAMIC", VENDOR(6, 1, 0, 0)},
		{"6.1.0-35-amd64", "", VENDOR(6, 1, 0, 0)},
		{"6.1.0-35-amd64", NULL, VENDOR(6, 1, 0, 0)},
		{"6.1.0-35-amd64", "#1 SMP Debian 6.1.137", VENDOR(6, 1, 0, 0)},
		{"6.1.0-35-amd64", "#1 SMP Debian 6.1.137.2-1", VENDOR(6, 1, 0, 0)},
		{"6.1.0-35-amd64", "#1 SMP Debian ", VENDOR(6, 1, 0, 0)},
		{"6.1.0-35-amd64", "#1 SMP Debian", VENDOR(6, 1, 0, 0)},
		{"6.1.0-35-amd64", "#1 SMP Debian 6.2.137-1", VENDOR(6, 1, 0, 0)},
		{"6.1.0-35-amd64", "#1 SMP Debian 5.1.137-1", VENDOR(6, 1, 0, 0)},
		{"6.8.0-31-generic", "#31-Ubuntu SMP PREEMPT_DYNAMIC Sat Apr 20 00:40:06 UTC 2024",
		 VENDOR(6, 8, 0, 0)},
		{"7.0.2-6-pve", "#1 SMP PREEMPT_DYNAMIC PMX 7.0.2-6 (2026-05-20T08:55Z)",
		 VENDOR(7, 0, 2, 0)},
		{"6.12.25+rpt-rpi-v8", "#1 SMP PREEMPT Debian 1:6.12.25-1+rpt1 (2025-04-30)",
		 VENDOR(6, 12, 25, 0)},
		{"6.18.44", "#1 SMP PREEMPT_DYNAMIC", EXACT(6, 18, 44, 0)},
		{NULL, "#1 SMP Debian 6.1.137-1", UNKNOWN},
		{"what", "#1 SMP Debian 6.1.137-1", UNKNOWN},
		{NULL, NULL, UNKNOWN},
	};
	size_t i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(rows); i++)
		assert_release(rows[i].version,
			       kernel_release_from_uname(rows[i].release, rows[i].version),
			       &rows[i].expected);
}

/* What a release forbids: one letter per feature, "." is allowed. */
static void test_forbidden(void **state)
{
	static const struct {
		enum offload o;
		char letter;
	} letters[] = {
		{OFFLOAD_VNET_HDR, 'v'},    {OFFLOAD_TUN_GSO, 'g'},    {OFFLOAD_TUN_TCP_GRO, 't'},
		{OFFLOAD_TUN_UDP_GRO, 'u'}, {OFFLOAD_TUNNEL_GSO, 'T'}, {OFFLOAD_UDP_GSO, 's'},
		{OFFLOAD_UDP_GRO, 'r'},	    {OFFLOAD_SIMD, 'x'},       {OFFLOAD_ECN, 'e'},
		{OFFLOAD_BIG_TCP, 'b'},
	};
	static const struct {
		const char *release, *expected; /* vgtuTsrxeb */
	} rows[] = {
		{"4.17.19", "...uTsr..b"},
		{"4.18.0-rc1", "...uT.r..b"},
		{"4.18", "...uT.r..b"},
		{"5.10.260", "...uT.r..b"},
		{"5.11.22", "...uT.r..b"},
		{"5.12.0-rc1", "...uT....b"},
		{"5.12", "...uT....b"},
		{"5.15.164", "...uT....b"},
		{"5.15.165-rc1", "...uT....b"},
		{"5.15.165", "..tuT....b"},
		{"5.15.166", "..tuT....b"},
		{"5.15.167", "...uT....b"},
		{"6.1.102", "...uT....b"},
		{"6.1.103", "..tuT....b"},
		{"6.1.106", "..tuT....b"},
		{"6.1.107", "...uT....b"},
		{"6.1.137", "...uT....b"},
		{"6.2.0-rc1", "....T....b"},
		{"6.2", "....T....b"},
		{"6.6.43", "....T....b"},
		{"6.6.44", "..tuT....b"},
		{"6.6.45", "..tuT....b"},
		{"6.6.46", "....T....b"},
		{"6.8.5", "....T....b"},
		{"6.8.0-31-generic", "....T....b"},
		{"6.10.2", "....T....b"},
		{"6.10.3", "..tuT....b"},
		{"6.10.4", "..tuT....b"},
		{"6.10.5", "....T....b"},
		{"6.11", "....T....b"},
		{"6.16.12", "....T....b"},
		{"6.17.0-rc1", ".........b"},
		{"6.17", ".........b"},
		{"6.17.99", ".........b"},
		{"6.18.0-rc1", ".........."},
		{"6.18.44", ".........."},
		{"7.0.0", ".........."},
		{"7.3.1", ".........."},
		/* A vendor's number is a lower bound: it has what its base has. */
		{"5.14.0-570.12.1.el9_6.x86_64", "...uT....b"},
		{"6.6.44-flatcar", "..tuT....b"},
		{"6.17.0-14-generic", ".........b"},
		/* What is unknown is for the probes. */
		{"unknown", ".........."},
	};
	size_t i, j;

	(void)state;
	for (i = 0; i < N_ELEMENTS(rows); i++) {
		const struct kernel_release r = kernel_release_parse(rows[i].release);
		char is[N_ELEMENTS(letters) + 1] = {0};

		for (j = 0; j < N_ELEMENTS(letters); j++)
			is[j] = policy_release_forbids(letters[j].o, &r) ? letters[j].letter : '.';
		if (strcmp(is, rows[i].expected) != 0)
			fail_msg("%s: %s instead of %s", rows[i].release, is, rows[i].expected);
	}
	assert_int_equal(N_ELEMENTS(letters), N_OFFLOADS);
}

/* The reason is the row's own: it names the commit and the release. */
static void test_forbidden_reasons(void **state)
{
	static const struct {
		const char *release;
		enum offload o;
		const char *commit, *where;
	} rows[] = {
		{"4.17.19", OFFLOAD_UDP_GSO, "bec1f6f69736", "4.18"},
		{"5.11.22", OFFLOAD_UDP_GRO, "98184612aca0", "5.12"},
		{"6.1.137", OFFLOAD_TUN_UDP_GRO, "399e0827642f", "6.2"},
		{"6.16.12", OFFLOAD_TUNNEL_GSO, "288f30435132", "6.17"},
		{"5.15.165", OFFLOAD_TUN_TCP_GRO, "e269d79c7d35", "5.15.165-166"},
		{"6.1.103", OFFLOAD_TUN_TCP_GRO, "e269d79c7d35", "6.1.103-106"},
		{"6.6.44", OFFLOAD_TUN_UDP_GRO, "e269d79c7d35", "6.6.44-45"},
		{"6.10.4", OFFLOAD_TUN_UDP_GRO, "e269d79c7d35", "6.10.3-4"},
		{"6.12.43", OFFLOAD_BIG_TCP, "64 KB", "6.18"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(rows); i++) {
		const struct kernel_release r = kernel_release_parse(rows[i].release);
		const char *why = policy_release_forbids(rows[i].o, &r);

		assert_non_null(why);
		assert_non_null(strstr(why, rows[i].commit));
		assert_non_null(strstr(why, rows[i].where));
	}
}

static void test_udp_runs(void **state)
{
	static const struct {
		const char *release;
		unsigned segments;
		bool never_equal;
	} rows[] = {
		{"unknown", 63, false},	    {"0.0-rc1", 63, false},
		{"0.0", 63, false},	    {"4.19.300", 63, false},
		{"5.15.200", 63, false},    {"5.16.0-rc8", 63, false},
		{"5.16", 64, false},	    {"6.1.137", 64, false},
		{"6.8.12", 64, false},	    {"6.8.0-31-generic", 64, false},
		{"6.9.0-rc7", 64, false},   {"6.9", 128, false},
		{"6.18.44", 128, false},    {"6.19.99", 128, false},
		{"7.0.0-rc1", 128, true},   {"7.0.0-rc7", 128, true},
		{"7.0", 128, true},	    {"7.0.0-22-generic", 128, true},
		{"7.0.2-6-pve", 128, true}, {"7.0.10", 128, true},
		{"7.0.11", 128, false},	    {"7.0.14-pve", 128, false},
		{"7.1.0-rc1", 128, true},   {"7.1.0-rc4", 128, true},
		{"7.1.0-rc5", 128, false},  {"7.1.0", 128, false},
		{"7.1.4", 128, false},	    {"7.1.5", 128, false},
		{"7.2.0-rc1", 128, false},  {"8.0", 128, false},
	};
	size_t i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(rows); i++) {
		const struct kernel_release r = kernel_release_parse(rows[i].release);

		if (policy_udp_segments(&r) != rows[i].segments ||
		    policy_udp_never_equal(&r) != rows[i].never_equal)
			fail_msg("%s: %u segments, never equal %d", rows[i].release,
				 policy_udp_segments(&r), policy_udp_never_equal(&r));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),	  cmocka_unit_test(test_uname),
		cmocka_unit_test(test_forbidden), cmocka_unit_test(test_forbidden_reasons),
		cmocka_unit_test(test_udp_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
