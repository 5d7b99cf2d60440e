/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof(*(a)))

static char letter_of(enum zero_csum_verdict verdict)
{
	switch (verdict) {
	case ZERO_CSUM_NEVER:
		return '-';
	case ZERO_CSUM_AS_TUNNEL:
		return 'T';
	case ZERO_CSUM_AS_UDP_L4:
		return 'U';
	case ZERO_CSUM_INNER:
		return 'I';
	}
	return '?';
}

/*
 * The nine answers to one question, as "auto on off" under each of the probe's
 * three states: "unprobed passed failed". '-' never, T as a tunnel superpacket, U as
 * plain UDP, I the inner frames.
 */
static void assert_answers(const char *what, struct zero_csum_question q, const char *expected)
{
	char is[sizeof("--- --- ---")], *p = is;
	int probe, knob;

	for (probe = ZERO_CSUM_UNPROBED; probe <= ZERO_CSUM_PROBE_FAILED; probe++) {
		for (knob = ZERO_CSUM_AUTO; knob <= ZERO_CSUM_OFF; knob++) {
			struct zero_csum_answer a;

			q.probe = (enum zero_csum_probe)probe;
			q.knob = (enum zero_csum_knob)knob;
			a = policy_zero_csum(&q);
			assert_non_null(a.reason);
			assert_true(*a.reason);
			*p++ = letter_of(a.verdict);
		}
		*p++ = probe == ZERO_CSUM_PROBE_FAILED ? '\0' : ' ';
	}
	if (strcmp(is, expected) != 0)
		fail_msg("%s: \"%s\" instead of \"%s\"", what, is, expected);
}

/* A fixed kernel, a broken one, and one whose number does not tell. */
#define HERE_FIXED    "UU- UU- ---"
#define HERE_BROKEN   "--- --- ---"
#define HERE_UNSURE   "--- UU- ---"
#define AWAY_FIXED    "-U- -U- ---"
#define AWAY_BROKEN   "--- --- ---"
#define AWAY_UNSURE   "--- -U- ---"
#define NEVER	      "--- --- ---"
#define ALWAYS_TUNNEL "TTT TTT TTT"
#define ALWAYS_INNER  "III III III"

static const struct {
	const char *release, *here, *away;
} releases[] = {
	{"5.10.214", HERE_BROKEN, AWAY_BROKEN},
	{"5.10.215", HERE_FIXED, AWAY_FIXED},
	{"5.11.0-rc1", HERE_BROKEN, AWAY_BROKEN},
	{"5.11.300", HERE_BROKEN, AWAY_BROKEN},
	{"5.15.153", HERE_BROKEN, AWAY_BROKEN},
	{"5.15.154", HERE_FIXED, AWAY_FIXED},
	{"5.16.0-rc1", HERE_BROKEN, AWAY_BROKEN},
	{"5.16.300", HERE_BROKEN, AWAY_BROKEN},
	{"6.1.84", HERE_BROKEN, AWAY_BROKEN},
	{"6.1.85", HERE_FIXED, AWAY_FIXED},
	{"6.2.0-rc1", HERE_BROKEN, AWAY_BROKEN},
	{"6.5.13", HERE_BROKEN, AWAY_BROKEN},
	{"6.6.25", HERE_BROKEN, AWAY_BROKEN},
	{"6.6.26", HERE_FIXED, AWAY_FIXED},
	{"6.7.0-rc1", HERE_BROKEN, AWAY_BROKEN},
	{"6.7.12", HERE_BROKEN, AWAY_BROKEN},
	{"6.7.12-amd64", HERE_BROKEN, AWAY_BROKEN},
	{"6.8.4", HERE_BROKEN, AWAY_BROKEN},
	{"6.8.5-rc1", HERE_BROKEN, AWAY_BROKEN},
	{"6.8.5", HERE_FIXED, AWAY_FIXED},
	{"6.8.0-31-generic", HERE_UNSURE, AWAY_UNSURE},
	{"6.8.12-5-pve", HERE_UNSURE, AWAY_UNSURE},
	{"6.9.0-rc1", HERE_BROKEN, AWAY_BROKEN},
	{"6.9.0-rc2", HERE_BROKEN, AWAY_BROKEN},
	{"6.9.0-rc3", HERE_FIXED, AWAY_FIXED},
	{"6.9", HERE_FIXED, AWAY_FIXED},
	{"6.12.43+deb13-amd64", HERE_FIXED, AWAY_FIXED},
	{"6.17", HERE_FIXED, AWAY_FIXED},
	{"7.0.0", HERE_FIXED, AWAY_FIXED},
	{"7.1.3", HERE_FIXED, AWAY_FIXED},
	{"6.1.0-35-amd64", HERE_UNSURE, AWAY_UNSURE},
	{"5.14.0-570.12.1.el9_6.x86_64", HERE_UNSURE, AWAY_UNSURE},
	{"unknown", HERE_UNSURE, AWAY_UNSURE},
};

/* A device that cannot write tunnel superpackets, or contents that none can hold. */
static void test_plain_udp(void **state)
{
	size_t i;
	int device;

	(void)state;
	for (i = 0; i < N_ELEMENTS(releases); i++) {
		for (device = 0; device < 3; device++) {
			struct zero_csum_question q = {
				.release = kernel_release_parse(releases[i].release),
				.tunnel_writes = device == 1,
				.inner_mergeable = device == 2,
			};

			q.ends_here = true;
			assert_answers(releases[i].release, q, releases[i].here);
			q.ends_here = false;
			assert_answers(releases[i].release, q, releases[i].away);
			q.ipv6 = true;
			assert_answers(releases[i].release, q, NEVER);
			q.ends_here = true;
			assert_answers(releases[i].release, q, NEVER);
		}
	}
}

/* Neither family nor kernel nor knob nor destination matter where the checksum
 * stays what it is. */
static void test_tunnel_and_lane(void **state)
{
	size_t i;
	int family, ends_here, device;

	(void)state;
	for (i = 0; i < N_ELEMENTS(releases); i++)
		for (family = 0; family < 2; family++)
			for (ends_here = 0; ends_here < 2; ends_here++) {
				struct zero_csum_question q = {
					.release = kernel_release_parse(releases[i].release),
					.ipv6 = family,
					.ends_here = ends_here,
					.tunnel_writes = true,
					.inner_mergeable = true,
				};

				assert_answers(releases[i].release, q, ALWAYS_TUNNEL);
				q.terminated_in_lane = true;
				for (device = 0; device < 4; device++) {
					q.tunnel_writes = device & 1;
					q.inner_mergeable = device & 2;
					assert_answers(releases[i].release, q, ALWAYS_INNER);
				}
			}
}

/* Debian's own kernels are known exactly once uname's version is there. */
static void test_debian(void **state)
{
	struct zero_csum_question q = {.ends_here = true};

	(void)state;
	q.release = kernel_release_from_uname("6.1.0-18-amd64", "#1 SMP Debian 6.1.76-1");
	assert_answers("6.1.76-1", q, HERE_BROKEN);
	q.release = kernel_release_from_uname("6.1.0-20-amd64", "#1 SMP Debian 6.1.85-1");
	assert_answers("6.1.85-1", q, HERE_FIXED);
}

static const struct {
	const char *release;
	struct zero_csum_question q;
	const char *part; /* of the reason */
} reasons[] = {
	{"6.17", {.terminated_in_lane = true}, "ends in the lane"},
	{"6.17", {.tunnel_writes = true, .inner_mergeable = true}, "288f30435132"},
	{"6.17", {.knob = ZERO_CSUM_OFF, .ends_here = true}, "SEALANE_ZERO_CSUM_GRO=off"},
	{"6.17", {.ipv6 = true, .ends_here = true}, "IPv6"},
	{"6.17", {.ends_here = true}, "3d010c8031e3"},
	{"6.8.5", {.ends_here = true}, "35fe0e0b5c00"},
	{"6.6.26", {.ends_here = true}, "3001e7aa43d6"},
	{"6.1.85", {.ends_here = true}, "d12245080cb2"},
	{"5.15.154", {.ends_here = true}, "d49ae15a5767"},
	{"5.10.215", {.ends_here = true}, "3391b157780b"},
	{"6.8.4", {.ends_here = true}, "3d010c8031e3 is missing"},
	{"6.8.4", {.knob = ZERO_CSUM_ON}, "3d010c8031e3 is missing"},
	{"6.8.0-31-generic", {.ends_here = true}, "vendor"},
	{"6.8.0-31-generic", {.ends_here = true, .probe = ZERO_CSUM_PROBE_PASSED}, "probe passed"},
	{"6.17", {.ends_here = true, .probe = ZERO_CSUM_PROBE_FAILED}, "probe failed"},
	{"6.17", {.ends_here = false}, "forwarded to another host"},
	{"6.17", {.knob = ZERO_CSUM_ON}, "SEALANE_ZERO_CSUM_GRO=on"},
};

static void test_reasons(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(reasons); i++) {
		struct zero_csum_question q = reasons[i].q;
		const char *is;

		q.release = kernel_release_parse(reasons[i].release);
		is = policy_zero_csum(&q).reason;
		if (!strstr(is, reasons[i].part))
			fail_msg("%s: \"%s\" does not say \"%s\"", reasons[i].release, is,
				 reasons[i].part);
	}
}

/* Non-zero checksums towards a local tunnel: the same gate, without knob or family. */
static void test_encap_udp_l4(void **state)
{
	static const struct {
		const char *release, *expected; /* unprobed, passed, failed */
	} rows[] = {
		{"5.10.214", "---"},
		{"5.10.215", "UU-"},
		{"5.15.153", "---"},
		{"5.15.154", "UU-"},
		{"6.1.84", "---"},
		{"6.1.85", "UU-"},
		{"6.5.13", "---"},
		{"6.6.25", "---"},
		{"6.6.26", "UU-"},
		{"6.7.12", "---"},
		{"6.8.4", "---"},
		{"6.8.5", "UU-"},
		{"6.8.0-31-generic", "-U-"},
		{"6.9", "UU-"},
		{"6.17", "UU-"},
		{"7.2.0", "UU-"},
		{"unknown", "-U-"},
	};
	size_t i;
	int probe;

	(void)state;
	for (i = 0; i < N_ELEMENTS(rows); i++) {
		const struct kernel_release r = kernel_release_parse(rows[i].release);

		for (probe = ZERO_CSUM_UNPROBED; probe <= ZERO_CSUM_PROBE_FAILED; probe++) {
			const struct zero_csum_answer a =
				policy_encap_udp_l4(&r, (enum zero_csum_probe)probe);

			assert_non_null(a.reason);
			if (letter_of(a.verdict) != rows[i].expected[probe])
				fail_msg("%s, probe %d: %c", rows[i].release, probe,
					 letter_of(a.verdict));
		}
	}
}

static void test_knob(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		enum zero_csum_knob expected;
	} rows[] = {
		{NULL, true, ZERO_CSUM_AUTO},
		{"", true, ZERO_CSUM_AUTO},
		{"auto", true, ZERO_CSUM_AUTO},
		{"AUTO", true, ZERO_CSUM_AUTO},
		{"on", true, ZERO_CSUM_ON},
		{"On", true, ZERO_CSUM_ON},
		{"off", true, ZERO_CSUM_OFF},
		{"oFF", true, ZERO_CSUM_OFF},
		{"of", false, 0},
		{"offf", false, 0},
		{"o", false, 0},
		{"1", false, 0},
		{"true", false, 0},
		{" on", false, 0},
		{"on ", false, 0},
	};
	const enum zero_csum_knob untouched = (enum zero_csum_knob)7;
	size_t i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(rows); i++) {
		enum zero_csum_knob is = untouched;

		assert_int_equal(zero_csum_knob_parse(rows[i].text, &is), rows[i].ok);
		assert_int_equal(is, rows[i].ok ? rows[i].expected : untouched);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_udp),    cmocka_unit_test(test_tunnel_and_lane),
		cmocka_unit_test(test_debian),	     cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_encap_udp_l4), cmocka_unit_test(test_knob),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
