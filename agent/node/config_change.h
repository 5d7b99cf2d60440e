/* SPDX-License-Identifier: Apache-2.0 */
/* From one configuration to the next while the agent runs. Pure; any thread. */
#ifndef SEALANE_NODE_CONFIG_CHANGE_H
#define SEALANE_NODE_CONFIG_CHANGE_H

#include <stdbool.h>
#include <stddef.h>

struct config;

/* What cannot change keeps in @next the value it has in @now. The keys for which that
 * made a difference are in @buf, with commas between; false: none. */
bool config_change_keep(const struct config *now, struct config *next, char *buf, size_t buf_len);
/* Must the HTTP server listen elsewhere, or begin or cease to? */
bool config_change_http(const struct config *now, const struct config *next);

#endif
