/* SPDX-License-Identifier: Apache-2.0 */
/* lane_client.c for tests: sockets elsewhere, less patience. Control thread. */
#ifndef SEALANE_NODE_LANE_CLIENT_INTERNAL_H
#define SEALANE_NODE_LANE_CLIENT_INTERNAL_H

#include <stdbool.h>

struct lane_client;

/* As lane_client_open() and lane_client_connect(); also -ENAMETOOLONG. */
int lane_client_open_at(const char *uapi_path, const char *control_path, int timeout_ms,
			struct lane_client **ret, bool *ret_uapi_only);
int lane_client_connect_at(const char *uapi_path, const char *control_path, int timeout_ms,
			   struct lane_client **ret, bool *ret_uapi_only);

#endif
