/* SPDX-License-Identifier: Apache-2.0 */
#include "event_gate.h"

void event_gate_init(struct event_gate *g, uint64_t settle_ms, uint64_t now_ms)
{
	*g = (struct event_gate){
		.settle_ms = settle_ms,
		.gap_ms = EVENT_GATE_GAP_MS,
		.full_ms = now_ms,
		.credit = EVENT_GATE_BURST,
	};
}

void event_gate_event(struct event_gate *g, uint64_t now_ms)
{
	if (g->pending)
		return;
	g->pending = true;
	g->first_ms = now_ms;
}

uint64_t event_gate_due_ms(const struct event_gate *g)
{
	const uint64_t settled = g->first_ms + g->settle_ms, earned = g->full_ms + g->gap_ms;

	if (!g->pending)
		return UINT64_MAX;
	return g->credit || settled > earned ? settled : earned;
}

static void earn(struct event_gate *g, uint64_t now_ms)
{
	while (g->credit < EVENT_GATE_BURST && now_ms - g->full_ms >= g->gap_ms) {
		g->credit++;
		g->full_ms += g->gap_ms;
	}
	if (g->credit == EVENT_GATE_BURST)
		g->full_ms = now_ms;
}

void event_gate_passed(struct event_gate *g, uint64_t begin_ms, uint64_t took_ms)
{
	const uint64_t gap_ms = EVENT_GATE_SHARE * took_ms;

	earn(g, begin_ms);
	if (g->pending && g->credit)
		g->credit--;
	g->pending = false;
	g->gap_ms = gap_ms > EVENT_GATE_GAP_MS ? gap_ms : EVENT_GATE_GAP_MS;
}
