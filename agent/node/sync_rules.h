/* SPDX-License-Identifier: Apache-2.0 */
/* Which routes the tunnel's own datagrams do not see. Control thread. */
#ifndef SEALANE_NODE_SYNC_RULES_H
#define SEALANE_NODE_SYNC_RULES_H

#include <stdint.h>

struct nl;

/*
 * The table of the first rule of @family that leads every packet there but those with
 * @mark, which no other rule leads there either: what is routed in it does not apply to
 * the lane's datagrams. *ret is 0 where there is no such rule, or no mark. 0 or -errno.
 */
int sync_unmarked_table(struct nl *nl, int family, uint32_t mark, uint32_t *ret);

#endif
