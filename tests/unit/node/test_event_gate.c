/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/event_gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { SETTLE = 100, START = 10000 };

static uint64_t event(struct event_gate *g, uint64_t at)
{
	event_gate_event(g, at);
	return event_gate_due_ms(g);
}

static void test_events_are_gathered(void **state)
{
	struct event_gate g;

	(void)state;
	event_gate_init(&g, SETTLE, START);
	assert_int_equal(event_gate_due_ms(&g), UINT64_MAX);
	assert_int_equal(event(&g, START + 5), START + 105);
	/* One that follows does not put it off, however many come. */
	assert_int_equal(event(&g, START + 90), START + 105);
	assert_int_equal(event(&g, START + 200), START + 105);
	event_gate_passed(&g, START + 200, 1);
	assert_int_equal(event_gate_due_ms(&g), UINT64_MAX);
}

/* Events all the time: EVENT_GATE_BURST passes at once, then one a second. */
static void test_a_host_that_never_rests(void **state)
{
	struct event_gate g;
	uint64_t now = START;

	(void)state;
	event_gate_init(&g, SETTLE, START);
	for (int i = 0; i < EVENT_GATE_BURST; i++) {
		assert_int_equal(event(&g, now), now + SETTLE);
		now += SETTLE;
		event_gate_passed(&g, now, 1);
	}
	assert_int_equal(event(&g, now), START + 100 + 1000);
	now = START + 100 + 1000;
	for (int i = 0; i < 5; i++) {
		event_gate_passed(&g, now, 1);
		assert_int_equal(event(&g, now), now + 1000);
		now += 1000;
	}
}

static void test_rest_earns_credit(void **state)
{
	struct event_gate g;
	uint64_t now = START;

	(void)state;
	event_gate_init(&g, SETTLE, START);
	for (int i = 0; i < EVENT_GATE_BURST; i++) {
		event(&g, now);
		now += SETTLE;
		event_gate_passed(&g, now, 1);
	}
	/* Quiet for a minute: as at the beginning, and not more than that. */
	now += 60000;
	for (int i = 0; i < EVENT_GATE_BURST; i++) {
		assert_int_equal(event(&g, now), now + SETTLE);
		now += SETTLE;
		event_gate_passed(&g, now, 1);
	}
	assert_true(event(&g, now) > now + SETTLE);
}

static void test_long_passes_come_less_often(void **state)
{
	struct event_gate g;
	uint64_t now = START;

	(void)state;
	event_gate_init(&g, SETTLE, START);
	for (int i = 0; i < EVENT_GATE_BURST; i++) {
		event(&g, now);
		now += SETTLE;
		event_gate_passed(&g, now, 500);
	}
	/* 500 ms are a tenth of 5 s, counted from the first. */
	assert_int_equal(event(&g, now), START + SETTLE + 5000);
}

static void test_other_passes_cost_nothing(void **state)
{
	struct event_gate g;

	(void)state;
	event_gate_init(&g, SETTLE, START);
	for (uint64_t i = 0; i < 20; i++)
		event_gate_passed(&g, START + i, 1);
	assert_int_equal(event(&g, START + 20), START + 20 + SETTLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events_are_gathered),
		cmocka_unit_test(test_a_host_that_never_rests),
		cmocka_unit_test(test_rest_earns_credit),
		cmocka_unit_test(test_long_passes_come_less_often),
		cmocka_unit_test(test_other_passes_cost_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
