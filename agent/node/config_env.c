/* SPDX-License-Identifier: Apache-2.0 */
#include "config_internal.h"
#include "config_values.h"

const char *config_env(const struct config_value *row, char *(*getenv_fn)(const char *name),
		       const char **ret_name)
{
	for (size_t i = 0; i < sizeof(row->env) / sizeof(row->env[0]) && row->env[i]; i++) {
		const char *value = getenv_fn(row->env[i]);

		if (value && value[0]) {
			*ret_name = row->env[i];
			return value;
		}
	}
	return NULL;
}
