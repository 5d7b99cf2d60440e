/* SPDX-License-Identifier: Apache-2.0 */
#include "ecn.h"

uint8_t ecn_encap(uint8_t inner)
{
	return inner == ECN_CE ? ECN_ECT0 : inner;
}

enum ecn_decap ecn_decap(uint8_t outer, uint8_t inner)
{
	if (outer == ECN_ECT1 && inner == ECN_ECT0)
		return ECN_MARK_ECT1;
	if (outer != ECN_CE || inner == ECN_CE)
		return ECN_KEEP;
	return inner == ECN_NOT_ECT ? ECN_KEEP_BROKEN : ECN_MARK_CE;
}
