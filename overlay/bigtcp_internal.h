/* SPDX-License-Identifier: Apache-2.0 */
/* The four limits as values, for bigtcp.c, veth.c and their tests. Control thread. */
#ifndef SEALANE_OVERLAY_BIGTCP_INTERNAL_H
#define SEALANE_OVERLAY_BIGTCP_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

struct nl;
struct nlattr;

struct bigtcp_sizes {
	uint32_t gso, gro, gso_ipv4, gro_ipv4;
};

/* Takes over what a link's attribute says of them; false: not a number. */
bool bigtcp_take_size(const struct nlattr *attr, struct bigtcp_sizes *sizes);

/* 0 or -errno; what was set before a refused one stays. */
int bigtcp_put_sizes(struct nl *nl, int ifindex, const struct bigtcp_sizes *sizes);

/* The same, from @before; those are back after a failure. */
int bigtcp_change_sizes(struct nl *nl, int ifindex, const struct bigtcp_sizes *before,
			const struct bigtcp_sizes *sizes);

#endif
