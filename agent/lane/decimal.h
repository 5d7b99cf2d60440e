/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in configuration text. */
#ifndef SEALANE_LANE_DECIMAL_H
#define SEALANE_LANE_DECIMAL_H

#include <stdint.h>

/* Decimal digits and nothing else: no sign, no blanks; leading zeros are
 * harmless. 0 or -EINVAL, also above @max (at most UINT32_MAX). */
int decimal_parse(const char *text, uint32_t max, uint32_t *ret);

#endif
