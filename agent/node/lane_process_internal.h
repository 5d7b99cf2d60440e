/* SPDX-License-Identifier: Apache-2.0 */
/* lane_process.c for tests. Control thread. */
#ifndef SEALANE_NODE_LANE_PROCESS_INTERNAL_H
#define SEALANE_NODE_LANE_PROCESS_INTERNAL_H

#include <stddef.h>

struct config_lane;

/* What to execute: the configured program, else `sealaned` in the folder of @own_path (the
 * agent's executable) if there is one, else that word, for PATH. Returns @buf, cut off if
 * it is too short. */
const char *lane_process_program(const struct config_lane *lane, const char *own_path, char *buf,
				 size_t len);

#endif
