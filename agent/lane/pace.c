/* SPDX-License-Identifier: Apache-2.0 */
#include "pace.h"

uint32_t pace_wait_ms(const struct pace *p, uint64_t now_ms)
{
	const uint64_t since_ms = now_ms - p->last_ms;

	return since_ms < p->pause_ms ? p->pause_ms - (uint32_t)since_ms : 0;
}

void pace_mended(struct pace *p, uint64_t now_ms)
{
	if (!p->pause_ms || now_ms - p->last_ms >= PACE_FORGET_MS)
		p->pause_ms = PACE_FIRST_MS;
	else if (p->pause_ms < PACE_MAX_MS / 2)
		p->pause_ms *= 2;
	else
		p->pause_ms = PACE_MAX_MS;
	p->last_ms = now_ms;
}
