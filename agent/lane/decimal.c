/* SPDX-License-Identifier: Apache-2.0 */
#include "decimal.h"

#include <errno.h>

int decimal_parse(const char *text, uint32_t max, uint32_t *ret)
{
	uint64_t number = 0;

	if (!*text)
		return -EINVAL;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -EINVAL;
		number = number * 10 + (uint64_t)(*text - '0');
		if (number > max)
			return -EINVAL;
	}
	*ret = (uint32_t)number;
	return 0;
}
