/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof(*(a)))

/* An environment of up to two variables. */
struct environment {
	const char *name[2], *value[2];
};

static const char *lookup(void *ctx, const char *name)
{
	const struct environment *e = ctx;
	size_t i;

	for (i = 0; i < N_ELEMENTS(e->name); i++)
		if (e->name[i] && !strcmp(e->name[i], name))
			return e->value[i];
	return NULL;
}

static struct policy_state ask(enum offload o, const char *release, struct environment e)
{
	const struct kernel_release r = kernel_release_parse(release);
	const struct policy_state s = policy_offload(o, &r, lookup, &e);

	/* Nothing is cut off. */
	assert_in_range(strlen(s.reason), 1, POLICY_REASON_LEN - 2);
	return s;
}

static const struct {
	enum offload o;
	const char *name, *variables[2];
} offloads[] = {
	{OFFLOAD_VNET_HDR, "vnet_hdr", {"SEALANE_DISABLE_VNET_HDR"}},
	{OFFLOAD_TUN_GSO, "tun_gso", {"SEALANE_DISABLE_TUN_GSO"}},
	{OFFLOAD_TUN_TCP_GRO,
	 "tun_tcp_gro",
	 {"SEALANE_DISABLE_TUN_TCP_GRO", "TS_TUN_DISABLE_TCP_GRO"}},
	{OFFLOAD_TUN_UDP_GRO,
	 "tun_udp_gro",
	 {"SEALANE_DISABLE_TUN_UDP_GRO", "TS_TUN_DISABLE_UDP_GRO"}},
	{OFFLOAD_TUNNEL_GSO, "tunnel_gso", {"SEALANE_DISABLE_TUNNEL_GSO"}},
	{OFFLOAD_UDP_GSO, "udp_gso", {"SEALANE_DISABLE_UDP_GSO", "TS_DEBUG_DISABLE_UDP_GSO"}},
	{OFFLOAD_UDP_GRO, "udp_gro", {"SEALANE_DISABLE_UDP_GRO", "TS_DEBUG_DISABLE_UDP_GRO"}},
	{OFFLOAD_BIG_TCP, "big_tcp", {"SEALANE_DISABLE_BIG_TCP"}},
	{OFFLOAD_SIMD, "simd", {"SEALANE_DISABLE_SIMD"}},
	{OFFLOAD_ECN, "ecn", {"SEALANE_DISABLE_ECN"}},
};

static void test_names(void **state)
{
	size_t i;

	(void)state;
	assert_int_equal(N_ELEMENTS(offloads), N_OFFLOADS);
	for (i = 0; i < N_ELEMENTS(offloads); i++)
		assert_string_equal(offload_name(offloads[i].o), offloads[i].name);
	assert_string_equal(offload_name(N_OFFLOADS), "unknown");
	assert_string_equal(offload_name((enum offload) - 1), "unknown");
}

/* Every variable switches its own feature off and, but for the vnet header's, no other. */
static void test_switches(void **state)
{
	size_t i, j, v;

	(void)state;
	for (i = 0; i < N_ELEMENTS(offloads); i++)
		for (v = 0; v < 2 && offloads[i].variables[v]; v++)
			for (j = 0; j < N_ELEMENTS(offloads); j++) {
				const char *name = offloads[i].variables[v];
				const struct policy_state s =
					ask(offloads[j].o, "6.18.44",
					    (struct environment){{name}, {"1"}});
				const bool in_header = offloads[i].o == OFFLOAD_VNET_HDR &&
						       strstr(offloads[j].name, "tun") ==
							       offloads[j].name;

				assert_int_equal(s.on, i != j && !in_header);
				assert_int_equal(strstr(s.reason, name) != NULL, !s.on);
			}
}

static void test_values(void **state)
{
	static const struct {
		const char *value;
		bool on, said;
	} rows[] = {
		{"1", false, true},	 {"true", false, true}, {"TRUE", false, true},
		{"True", false, true},	 {"0", true, false},	{"false", true, false},
		{"FALSE", true, false},	 {"", true, false},	{NULL, true, false},
		{"yes", true, true},	 {"2", true, true},	{"11", true, true},
		{"1 ", true, true},	 {" true", true, true}, {"truee", true, true},
		{"tru", true, true},	 {"off", true, true},	{"00", true, true},
		{"\033[2J", true, true},
	};
	size_t i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(rows); i++) {
		const struct policy_state s =
			ask(OFFLOAD_UDP_GSO, "6.18.44",
			    (struct environment){{"SEALANE_DISABLE_UDP_GSO"}, {rows[i].value}});

		assert_int_equal(s.on, rows[i].on);
		assert_int_equal(strstr(s.reason, "SEALANE_DISABLE_UDP_GSO") != NULL, rows[i].said);
		assert_int_equal(strstr(s.reason, "ignored") != NULL, rows[i].on && rows[i].said);
		assert_null(strchr(s.reason, '\033'));
	}
}

static void test_two_variables(void **state)
{
	struct environment e = {{"SEALANE_DISABLE_UDP_GRO", "TS_DEBUG_DISABLE_UDP_GRO"},
				{"0", "true"}};
	struct policy_state s;

	(void)state;
	s = ask(OFFLOAD_UDP_GRO, "6.18.44", e);
	assert_false(s.on);
	assert_non_null(strstr(s.reason, "TS_DEBUG_DISABLE_UDP_GRO"));

	/* A value that means nothing does not hide one that does. */
	e.value[0] = "maybe";
	assert_false(ask(OFFLOAD_UDP_GRO, "6.18.44", e).on);

	e.value[1] = "maybe";
	s = ask(OFFLOAD_UDP_GRO, "6.18.44", e);
	assert_true(s.on);
	assert_non_null(strstr(s.reason, "ignored"));
}

/* What the release forbids, no variable allows. */
static void test_release(void **state)
{
	static const char *const values[] = {NULL, "0", "false", "perhaps"};
	size_t i, j;

	(void)state;
	for (i = 0; i < N_ELEMENTS(values); i++) {
		const struct policy_state s =
			ask(OFFLOAD_TUN_UDP_GRO, "6.1.104",
			    (struct environment){{"SEALANE_DISABLE_TUN_UDP_GRO"}, {values[i]}});

		assert_false(s.on);
		assert_int_equal(strstr(s.reason, "ignored") != NULL, i == 3);
	}
	assert_non_null(strstr(ask(OFFLOAD_TUN_TCP_GRO, "6.1.104", (struct environment){0}).reason,
			       "e269d79c7d35"));
	for (j = 0; j < N_OFFLOADS; j++)
		assert_true(ask((enum offload)j, "unknown", (struct environment){0}).on);
	/* The longest reasons there are, each with a note behind it. */
	for (j = 0; j < N_ELEMENTS(offloads); j++)
		for (i = 0; i < 2 && offloads[j].variables[i]; i++) {
			const struct environment e = {{offloads[j].variables[i]}, {"?"}};

			ask(offloads[j].o, "3.10", e);
			ask(offloads[j].o, "5.15.165", e);
		}
}

static void test_no_environment(void **state)
{
	const struct kernel_release r = kernel_release_parse("6.18.44");

	(void)state;
	assert_true(policy_offload(OFFLOAD_TUN_GSO, &r, NULL, NULL).on);
}

static const char *const known[] = {
	"SEALANE_DISABLE_TUN_TCP_GRO",
	"SEALANE_DISABLE_TUN_UDP_GRO",
	"SEALANE_DISABLE_TUN_GSO",
	"SEALANE_DISABLE_TUNNEL_GSO",
	"SEALANE_DISABLE_UDP_GSO",
	"SEALANE_DISABLE_UDP_GRO",
	"SEALANE_DISABLE_IO_URING",
	"SEALANE_DISABLE_BIG_TCP",
	"SEALANE_DISABLE_VNET_HDR",
	"SEALANE_DISABLE_SIMD",
	"SEALANE_DISABLE_ECN",
	"SEALANE_ZERO_CSUM_GRO",
	"SEALANE_ENCAP_PORTS",
	"SEALANE_DEVICE",
	"SEALANE_WORKERS",
	"SEALANE_FAIL_OPEN",
	"SEALANE_PORT",
	"SEALANE_CACHE",
	"SEALANE_SECONDS",
	"SEALANE_FUZZ_SECONDS",
	"SEALANE_TEST_TIMEOUT",
	"SEALANE_KERNEL",
	"SEALANE_SOURCE_DIR",
};

static void test_known(void **state)
{
	char entry[64];
	size_t i, j;
	bool is_known;

	(void)state;
	for (i = 0; i < N_ELEMENTS(known); i++) {
		is_known = false;
		assert_string_equal(policy_nearest_variable(known[i], NULL, &is_known), known[i]);
		assert_true(is_known);
		/* As it stands in environ. */
		assert_in_range(snprintf(entry, sizeof(entry), "%s=SEALANE", known[i]), 1, 63);
		is_known = false;
		assert_string_equal(policy_nearest_variable(entry, NULL, &is_known), known[i]);
		assert_true(is_known);
	}
	for (i = 0; i < N_ELEMENTS(offloads); i++) {
		is_known = false;
		policy_nearest_variable(offloads[i].variables[0], NULL, &is_known);
		assert_true(is_known);
		for (j = 0; j < N_ELEMENTS(known); j++)
			if (!strcmp(known[j], offloads[i].variables[0]))
				break;
		assert_in_range(j, 0, N_ELEMENTS(known) - 1);
	}
}

static void test_nearest(void **state)
{
	static const struct {
		const char *name, *expected;
	} rows[] = {
		/* One letter left out, put in, taken for another, two swapped. */
		{"SEALANE_WORKER", "SEALANE_WORKERS"},
		{"SEALANE_DISABLED_SIMD", "SEALANE_DISABLE_SIMD"},
		{"SEALANE_DEVISE", "SEALANE_DEVICE"},
		{"SEALANE_DISABLE_UPD_GRO", "SEALANE_DISABLE_UDP_GRO"},
		{"SAELANE_PORT", "SEALANE_PORT"},
		{"SEALANE_DISABLE_ENC", "SEALANE_DISABLE_ECN"},
		{"SEALANE_DISABLE_IOURING", "SEALANE_DISABLE_IO_URING"},
		{"SEALANE_DISABLE_TUN_GRO", "SEALANE_DISABLE_TUN_GSO"},
		{"SEALANE_ZEROCSUMGRO", "SEALANE_ZERO_CSUM_GRO"},
		{"SEALANE_ZERO_CHECKSUM_GRO", "SEALANE_ZERO_CSUM_GRO"},
		{"SEALANE_ENCAP_PORT", "SEALANE_ENCAP_PORTS"},
		{"SEALANE_NO_UDP_GSO", NULL},
		{"SEALANE_DISABLE_UDPGSO=1", "SEALANE_DISABLE_UDP_GSO"},
		/* In another case. */
		{"SEALANE_Workers", "SEALANE_WORKERS"},
		{"SEALANE_disable_udp_gro", "SEALANE_DISABLE_UDP_GRO"},
		/* The bounds: a third of the name, but one letter of a short one. */
		{"SEALANE_DISABLE_UDXX_GSO", "SEALANE_DISABLE_UDP_GSO"},
		{"SEALANE_DISABLE_UXXX_GSO", NULL},
		{"SEALANE_XERO_XSUM_XRO", "SEALANE_ZERO_CSUM_GRO"},
		{"SEALANE_XXRO_XXUM_GRO", "SEALANE_ZERO_CSUM_GRO"},
		{"SEALANE_XXRO_XXXM_GRO", NULL},
		{"SEALANE_DEXIXE", "SEALANE_DEVICE"},
		{"SEALANE_XEXIXE", NULL},
		{"SEALANE_PART", "SEALANE_PORT"},
		{"SEALANE_PARK", NULL},
		{"SEALANE_DISABLE_SINK", NULL},
		{"SEALANE_DISABLE_GRO", NULL},
		/* Nothing near. */
		{"SEALANE_", NULL},
		{"SEALANE_DISABLE_", NULL},
		{"SEALANE_SERVICE_HOST", NULL},
		{"SEALANE_PORT_51820_UDP_ADDR", NULL},
		{"", NULL},
		{"=", NULL},
		{"PATH", NULL},
		{"SEALANE_DISABLE_AAAAAAAAAAAAAAAAAAAAAAAA", NULL},  /* 40 */
		{"SEALANE_DISABLE_AAAAAAAAAAAAAAAAAAAAAAAAA", NULL}, /* 41 */
	};
	size_t i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(rows); i++) {
		bool is_known = true;
		const char *is = policy_nearest_variable(rows[i].name, NULL, &is_known);

		assert_false(is_known);
		if (!is != !rows[i].expected || (is && strcmp(is, rows[i].expected) != 0))
			fail_msg("%s: %s", rows[i].name, is ? is : "(none)");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),	cmocka_unit_test(test_switches),
		cmocka_unit_test(test_values),	cmocka_unit_test(test_two_variables),
		cmocka_unit_test(test_release), cmocka_unit_test(test_no_environment),
		cmocka_unit_test(test_known),	cmocka_unit_test(test_nearest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
