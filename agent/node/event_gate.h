/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a pass is due because something changed. Changes are gathered for a moment;
 * a few passes may follow each other closely, so that what somebody breaks is right
 * again soon; but a host whose routes never rest, or another program that wants the
 * opposite of what we want, gets one pass a second, and less where passes are long.
 * Our own changes, too, come as events: the pass they cause changes nothing, and so
 * is the last. A value; times are arguments. Any thread.
 */
#ifndef SEALANE_NODE_EVENT_GATE_H
#define SEALANE_NODE_EVENT_GATE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	EVENT_GATE_BURST = 4,
	EVENT_GATE_GAP_MS = 1000,
	EVENT_GATE_SHARE = 10, /* a pass takes at most one of so many parts of the time */
};

struct event_gate {
	uint64_t settle_ms, gap_ms;
	uint64_t first_ms; /* of the events that wait for a pass */
	uint64_t full_ms;  /* when `credit` last was, or grew */
	unsigned credit;   /* passes that may follow at once */
	bool pending;
};

void event_gate_init(struct event_gate *g, uint64_t settle_ms, uint64_t now_ms);
void event_gate_event(struct event_gate *g, uint64_t now_ms);
/* When the pass is due, UINT64_MAX: none is. */
uint64_t event_gate_due_ms(const struct event_gate *g);
/* A pass, for whatever reason, that began at @begin_ms and took @took_ms. */
void event_gate_passed(struct event_gate *g, uint64_t begin_ms, uint64_t took_ms);

#endif
