/* SPDX-License-Identifier: Apache-2.0 */
#include "env_names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "config_values.h"
#include "offload/policy.h"

#define PREFIX "SEALANE_"

enum { NAME_LEN = 64, NAMES_MAX = 64 };

/* The agent's, with NULL behind the last: its socket, and the keys of its configuration. */
static void list_names(const char *names[NAMES_MAX + 1])
{
	size_t n = 0;

	names[n++] = PREFIX "AGENT_SOCKET";
	for (size_t i = 0; i < SECTION_COUNT; i++) {
		for (size_t j = 0; j < config_sections[i].n; j++) {
			const struct config_value *row = &config_sections[i].values[j];

			for (size_t k = 0; k < 2 && row->env[k] && n < NAMES_MAX; k++)
				names[n++] = row->env[k];
		}
	}
	names[n] = NULL;
}

/* The beginning of a name that is longer than all of ours is as telling as the whole. */
void env_names_check(char *const *environment, void (*tell)(const char *name, const char *nearest))
{
	const char *names[NAMES_MAX + 1], *nearest;
	char name[NAME_LEN];
	bool known;

	list_names(names);
	for (; environment && *environment; environment++) {
		if (strncmp(*environment, PREFIX, sizeof(PREFIX) - 1) != 0)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(*environment, "="), *environment);
		nearest = policy_nearest_variable(name, names, &known);
		if (!known)
			tell(name, nearest);
	}
}
