/* SPDX-License-Identifier: Apache-2.0 */
/* Input: a variable's value, NUL, a variable's name. */
#include "offload/policy.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static const char *same_value(void *ctx, const char *name)
{
	must(!strncmp(name, "SEALANE_", 8) || !strncmp(name, "TS_", 3));
	return ctx;
}

static void check_name(const char *name)
{
	bool is_known, nearest_known;
	const char *nearest = policy_nearest_variable(name, NULL, &is_known);

	must(nearest || !is_known);
	must(!is_known || !strncmp(name, nearest, strlen(nearest)));
	must(!nearest || (policy_nearest_variable(nearest, NULL, &nearest_known) == nearest));
	must(!nearest || nearest_known);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const struct kernel_release r = kernel_release_parse("5.15.165");
	char value[256] = {0};
	struct policy_state s, unset;

	if (len > sizeof(value) - 2)
		return 0;
	memcpy(value, data, len);
	for (int o = 0; o < N_OFFLOADS; o++) {
		s = policy_offload(o, &r, same_value, value);
		unset = policy_offload(o, &r, NULL, NULL);
		/* The environment only takes away, and says what it did. */
		must(!s.on || unset.on);
		must(s.on == unset.on || strstr(s.reason, "switched off by SEALANE_"));
		must(*s.reason && strlen(s.reason) < POLICY_REASON_LEN - 1);
	}
	check_name(value + strlen(value) + 1);
	return 0;
}
