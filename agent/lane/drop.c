/* SPDX-License-Identifier: Apache-2.0 */
#include "drop.h"

static const struct {
	const char *name, *help;
} reasons[N_DROP_REASONS] = {[DROP_NONE] = {"", ""},
#define X(id, name, help) [DROP_##id] = {name, help},
			     DROP_LIST(X)
#undef X
};

const char *drop_name(enum drop reason)
{
	return reasons[reason].name;
}

const char *drop_help(enum drop reason)
{
	return reasons[reason].help;
}
