/* SPDX-License-Identifier: Apache-2.0 */
#include "config_change.h"

#include <stdio.h>
#include <string.h>

#include "config.h"
#include "lane_value.h"

bool config_change_keep(const struct config *now, struct config *next, char *buf, size_t buf_len)
{
	const struct {
		const char *key, *now;
		char *next;
		size_t len;
	} fixed[] = {
		{"lane.interface", now->lane.interface, next->lane.interface,
		 sizeof(next->lane.interface)},
		{"node.private_key_file", now->node.private_key_file, next->node.private_key_file,
		 sizeof(next->node.private_key_file)},
	};
	bool differs = false;

	buf[0] = '\0';
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		const size_t used = strlen(buf);

		if (!strcmp(fixed[i].now, fixed[i].next))
			continue;
		snprintf(buf + used, buf_len - used, "%s%s", differs ? ", " : "", fixed[i].key);
		snprintf(fixed[i].next, fixed[i].len, "%s", fixed[i].now);
		differs = true;
	}
	return differs;
}

bool config_change_http(const struct config *now, const struct config *next)
{
	if (now->http.on != next->http.on)
		return true;
	return next->http.on && !lane_value_same_endpoint(&now->http.listen, &next->http.listen);
}
