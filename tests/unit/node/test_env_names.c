/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/env_names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/node/config_values.h"

static char told[1000];

static void tell(const char *name, const char *nearest)
{
	const size_t len = strlen(told);

	snprintf(told + len, sizeof(told) - len, "%s>%s;", name, nearest ? nearest : "");
}

static void check(const char *want, char *const *environment)
{
	told[0] = '\0';
	env_names_check(environment, tell);
	assert_string_equal(told, want);
}

static void check_one(const char *variable, const char *want)
{
	char text[300], *environment[] = {text, NULL};

	snprintf(text, sizeof(text), "%s", variable);
	check(want, environment);
}

static void test_names(void **state)
{
	static const struct {
		const char *variable, *told;
	} cases[] = {
		/* The agent's. */
		{"SEALANE_NODE_NAME=x", ""},
		{"SEALANE_NODE_TUNNEL_ADDRESSES=x", ""},
		{"SEALANE_HTTP_LISTEN=off", ""},
		{"SEALANE_LANE_MTU=1400", ""},
		{"SEALANE_AGENT_SOCKET=/x", ""},
		{"SEALANE_AGENT_SOCKET=", ""},
		/* A lane's. */
		{"SEALANE_DISABLE_ECN=1", ""},
		{"SEALANE_DISABLE_TUN_TCP_GRO=1", ""},
		{"SEALANE_DEVICE=tap", ""},
		{"SEALANE_PORT=tap", ""},
		{"SEALANE_ZERO_CSUM_GRO=on", ""},
		/* Others'. */
		{"SEALANED=x", ""},
		{"SEALANE=x", ""},
		{"sealane_x=y", ""},
		{"PATH=/bin", ""},
		{"TS_TUN_DISABLE_UDP_GRO=1", ""},
		{"NOSEALANE_X=1", ""},

		{"SEALANE_NODE_NAM=x", "SEALANE_NODE_NAM>SEALANE_NODE_NAME;"},
		{"SEALANE_node_name=x", "SEALANE_node_name>SEALANE_NODE_NAME;"},
		{"SEALANE_HTTP_LISTENS=x=y", "SEALANE_HTTP_LISTENS>SEALANE_HTTP_LISTEN;"},
		{"SEALANE_AGENT_SOCK=/x", "SEALANE_AGENT_SOCK>SEALANE_AGENT_SOCKET;"},
		{"SEALANE_DISABLE_TUN_GS0=1", "SEALANE_DISABLE_TUN_GS0>SEALANE_DISABLE_TUN_GSO;"},
		{"SEALANE_DISABLE_UDP_GSP=1", "SEALANE_DISABLE_UDP_GSP>SEALANE_DISABLE_UDP_GSO;"},
		{"SEALANE_DISABEL_SIMD=1", "SEALANE_DISABEL_SIMD>SEALANE_DISABLE_SIMD;"},
		{"SEALANE_PROT=tap", "SEALANE_PROT>SEALANE_PORT;"},
		{"SEALANE_COLOUR=blue", "SEALANE_COLOUR>;"},
		{"SEALANE_=", "SEALANE_>;"},
		{"SEALANE_0123456789012345678901234567890123456789012345678901234567890=",
		 "SEALANE_0123456789012345678901234567890123456789012345678901234>;"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_one(cases[i].variable, cases[i].told);
}

static void test_all_are_told(void **state)
{
	char one[] = "SEALANE_ONE=1", path[] = "PATH=", two[] = "SEALANE_TWO=2";
	char *environment[] = {one, path, two, NULL}, *nothing[] = {NULL};

	(void)state;
	check("SEALANE_ONE>;SEALANE_TWO>;", environment);
	check("", nothing);
	check("", NULL);
}

static void test_every_key(void **state)
{
	unsigned n = 0;

	(void)state;
	for (size_t i = 0; i < SECTION_COUNT; i++) {
		for (size_t j = 0; j < config_sections[i].n; j++) {
			const struct config_value *row = &config_sections[i].values[j];

			for (size_t k = 0; k < 2 && row->env[k]; k++, n++)
				check_one(row->env[k], "");
		}
	}
	assert_true(n > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_all_are_told),
		cmocka_unit_test(test_every_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
